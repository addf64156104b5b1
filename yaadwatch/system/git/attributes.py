"""Does a repository itself say which of its files are texts?

A search of git's asks the attributes of the work tree, whichever commit it searches; those of the
commit may count, too, which depends on git's version and settings.
"""

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol

from yaadwatch.system import files
from yaadwatch.system.git.layout import Layout
from yaadwatch.system.git.named import Named
from yaadwatch.system.git.words.texts import may_be_text

_NAME: Final = ".gitattributes"
_BYTES_MAX: Final = 1024 * 1024
_TREES_KEPT: Final = 2
_TELLS: Final = re.compile(r"[-!]?(?:binary|diff)(?:=.*)?", re.DOTALL)
_BUILT_IN: Final = frozenset(
    f"diff={name}"
    for name in (
        *("ada", "bash", "bibtex", "cpp", "csharp", "css", "dts", "elixir", "fortran", "fountain"),
        *("golang", "html", "java", "kotlin", "markdown", "matlab", "objc", "pascal", "perl"),
        *("php", "python", "ruby", "rust", "scheme", "tex"),
    )
)
_ENDING: Final = re.compile(r".*\.\w+")


class Asked(Protocol):
    """What is asked of a repository; a `Repository` is one."""

    layout: Layout

    def tracked(self, folder: str = "") -> list[str]: ...  # noqa: D102
    def blob_at(self, commit: str, path: str) -> str | None: ...  # noqa: D102
    def read_blob(self, blob: str, bytes_max: int = ...) -> bytes | None: ...  # noqa: D102


def tell_texts(repository: Asked, commit: str, named: Named | None) -> bool:
    """Return whether attributes may make a file of the commit a text, or no text.

    Args:
        repository: whose.
        commit: of which files.
        named: its files by name; None: files of attributes are those that are tracked now.
            Those of the work tree count besides, also new and ignored ones.

    Raises:
        YaadError: from git.
    """
    tracked = repository.tracked()
    others = [] if named is None else named.perhaps(_NAME)
    if tell_texts_here(repository.layout, (*tracked, *others)):
        return True
    paths = dict.fromkeys((_NAME, *_among(tracked), *others))
    blobs = {repository.blob_at(commit, path) for path in paths}
    return any(
        data is None or name_texts(data)
        for data in (repository.read_blob(blob, _BYTES_MAX) for blob in blobs if blob is not None)
    )


def tell_texts_here(layout: Layout, paths: Iterable[str]) -> bool:
    """Return whether attributes in the work tree may make one of its files a text, or no text.

    Args:
        layout: the repository.
        paths: its files; in their folders attributes count, whether git tracks them or not.
    """
    places: list[tuple[Path, str]] = [(layout.common_dir, "info/attributes")]
    if layout.root is not None:
        top = str(layout.root)
        here = (f"{folder}{_NAME}" for folder in _folders(tuple(paths)))
        places += [(layout.root, path) for path in here if os.path.lexists(f"{top}/{path}")]
    for folder, path in places:
        found = files.observe(folder, path, bytes_max=_BYTES_MAX, now_ns=0)
        if found.kind == "too_large" or (found.data is not None and name_texts(found.data)):
            return True
    return False


def name_texts(data: bytes) -> bool:
    """Return whether lines of attributes say what is a text.

    That a file is compared as a language git knows by itself says nothing of that.
    """
    for line in data.decode("utf-8", "replace").splitlines():
        name, *given = line.split() or [""]
        if name.startswith("#"):
            continue
        plain = _ENDING.fullmatch(name) is not None and may_be_text(name)
        for one in given:
            if _TELLS.fullmatch(one) and not (plain and one in _BUILT_IN):
                return True
    return False


def _among(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path.endswith("/" + _NAME)]


@lru_cache(maxsize=_TREES_KEPT)
def _folders(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders above some files, each once and with its '/'; '' is the top."""
    found = {"": None}
    for path in paths:
        folder = path[: path.rfind("/") + 1]
        while folder not in found:
            found[folder] = None
            folder = folder[: folder.rfind("/", 0, -1) + 1]
    return tuple(found)
