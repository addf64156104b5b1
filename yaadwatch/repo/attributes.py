"""Read git attributes: which files are text, how git converts them on checkout, which are in LFS.

A git search uses the attributes of the work tree, whichever commit it searches; those of the commit
may count, too, depending on git's version and settings. Where attributes only mark some files as
binary, git can be asked about those few. Filters of a repository are never run: a filter may be any
program.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final, Protocol

from yaadwatch.repo.command import Git
from yaadwatch.repo.layout import Layout
from yaadwatch.repo.words import may_be_text
from yaadwatch.system import files

_NAME: Final = ".gitattributes"
_BYTES_MAX: Final = 1024 * 1024
_TAKES: Final = frozenset(("binary", "-diff"))
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
_NONE: Final = frozenset((b"unspecified", b"unset", b"set", b""))
_IDENT: Final = re.compile(rb"\$Id:[^$\n]*\$")
_NUMBERS: Final = re.compile(rb"(\w+): (\d+)(?::(\d+))?")
_WORD: Final = 1 << 32
"""The index holds sizes and numbers of files as 32 bits."""


class TextAttributes(IntEnum):
    """The effect of attributes on which files are texts; the greater value wins."""

    NOTHING = 0
    LESS = 1
    """Some files may be binary, whatever their bytes."""
    MORE = 2
    """Some files may be texts, whatever their bytes and names."""


class AttributeSource(Protocol):
    """The queries to a repository; a `Repository` implements it."""

    layout: Layout

    def tracked_attributes(self) -> tuple[str, ...]: ...  # noqa: D102
    def blob_at(self, commit: str, path: str) -> str | None: ...  # noqa: D102
    def read_blob(self, blob: str, bytes_max: int = ...) -> bytes | None: ...  # noqa: D102


def text_attributes(repository: AttributeSource, commit: str) -> TextAttributes:
    """Return the effect of the attributes of a commit, and of those tracked now.

    Untracked attribute files in other folders are ignored: finding them costs a look at each
    folder; see `folder_attributes`.

    Raises:
        YaadError: from git.
    """
    tracked = repository.tracked_attributes()
    here = worktree_attributes(repository.layout, tracked)
    if here is TextAttributes.MORE:
        return here
    paths = dict.fromkeys((_NAME, *tracked))
    blobs = {repository.blob_at(commit, path) for path in paths}
    return max(
        (here, *(_said(repository.read_blob(blob, _BYTES_MAX)) for blob in blobs if blob)),
    )


def worktree_attributes(layout: Layout, tracked: Iterable[str]) -> TextAttributes:
    """Return the effect of the tracked attribute files in the work tree, and of those at its top.

    Args:
        layout: the repository.
        tracked: the attribute files that git tracks. Untracked ones in other folders are ignored:
            finding them costs a look at each folder; see `folder_attributes`.
    """
    tracked = tuple(tracked)
    return _said_of(layout, _above(tracked), tracked)


def among(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the attribute files among some files."""
    end = f"/{_NAME}"
    return tuple(path for path in paths if path == _NAME or path.endswith(end))


def _said_of(layout: Layout, folders: Iterable[str], tracked: Iterable[str]) -> TextAttributes:
    found = _said_in(layout, folders)
    if layout.root is None:
        return found
    # Some commands of git take those that are not there from the index, and others do not.
    top = str(layout.root)
    here = all(os.path.lexists(f"{top}/{path}") for path in tracked)
    return found if here else TextAttributes.MORE


def folder_attributes(layout: Layout, paths: Iterable[str]) -> TextAttributes:
    """Return the effect of the attributes in the folders of a few files of the work tree.

    Files of an older commit may be in folders without any tracked file now.
    """
    return _said_in(layout, _above(paths))


def _said_in(layout: Layout, folders: Iterable[str]) -> TextAttributes:
    places: list[tuple[Path, str]] = []
    if os.path.lexists(f"{layout.common_dir}/info/attributes"):
        places.append((layout.common_dir, "info/attributes"))
    if layout.root is not None:
        top = str(layout.root)
        here = (f"{folder}{_NAME}" for folder in folders)
        # Git follows no link here either; to ask only whether it is there is half as much work.
        places += [(layout.root, path) for path in here if os.access(f"{top}/{path}", os.F_OK)]
    found = TextAttributes.NOTHING
    for folder, path in places:
        seen = files.observe(folder, path, bytes_max=_BYTES_MAX, now_ns=0)
        # Git follows a link in its own folder, and in the work tree it does not.
        unread = seen.kind == "too_large" or (seen.kind == "link" and folder == layout.common_dir)
        found = max(found, TextAttributes.MORE if unread else parsed_attributes(seen.data or b""))
    return found


def parsed_attributes(data: bytes) -> TextAttributes:
    """Return the effect of lines of attributes.

    A diff driver that is built into git has no effect on which files are texts.
    """
    found = TextAttributes.NOTHING
    for line in data.decode("utf-8", "replace").splitlines():
        name, *given = line.split() or [""]
        if name.startswith("#"):
            continue
        plain = _ENDING.fullmatch(name) is not None and may_be_text(name)
        for one in given:
            if one in _TAKES:
                found = max(found, TextAttributes.LESS)
            elif _TELLS.fullmatch(one) and not (plain and one in _BUILT_IN):
                return TextAttributes.MORE
    return found


def no_texts(output: bytes) -> set[str]:
    """Return the paths that `git check-attr -z diff` marks as binary."""
    fields = output.split(b"\0")
    rows = zip(fields[::3], fields[2::3], strict=False)
    return {os.fsdecode(path) for path, value in rows if value == b"unset"}


def _said(data: bytes | None) -> TextAttributes:
    return TextAttributes.MORE if data is None else parsed_attributes(data)


def _above(paths: Iterable[str]) -> dict[str, None]:
    """Return the folders above some files, each once and with its '/'; '' is the top."""
    found = {"": None}
    for path in paths:
        folder = path[: path.rfind("/") + 1]
        while folder not in found:
            found[folder] = None
            folder = folder[: folder.rfind("/", 0, -1) + 1]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversions:
    """How git converts one file.

    Args:
        filter: the name of a filter that has a program; '' when there is none.
        ident: whether git expands `$Id$`.
        encoding: the encoding of the file in the work tree; '' for that of its blob.
    """

    filter: str = ""
    ident: bool = False
    encoding: str = ""

    def cleaned(self, data: bytes) -> bytes:
        """Return bytes of the work tree as the blob has them, as far as that needs no program."""
        return _IDENT.sub(b"$Id$", data) if self.ident else data


def conversions_of(git: Git, path: str) -> Conversions:
    """Return how git converts a file.

    Raises:
        YaadError: from git.
    """
    told = git.ask(["check-attr", "-z", "filter", "ident", "working-tree-encoding", "--", path])
    fields = told.split(b"\0")
    values = dict(zip(fields[1::3], fields[2::3], strict=False))
    name = values.get(b"filter", b"")
    encoding = values.get(b"working-tree-encoding", b"")
    return Conversions(
        filter=_with_program(git, "" if name in _NONE else os.fsdecode(name)),
        ident=values.get(b"ident") == b"set",
        encoding="" if encoding in _NONE else encoding.decode("ascii", "replace"),
    )


def _with_program(git: Git, name: str) -> str:
    """Return the name of a filter if the settings name a program for it, else ''."""
    for key in ("clean", "smudge", "process") if name else ():
        if git.ask(["config", "--get", f"filter.{name}.{key}"], allowed=(0, 1)).strip():
            return name
    return ""


def is_as_staged(git: Git, root: Path, path: str) -> bool:
    """Return whether a file is what git last wrote or staged, by the times and size in the index.

    Raises:
        YaadError: from git.
    """
    told = git.ask(["ls-files", "--debug", "-z", "--", path])
    name, _, about = told.partition(b"\0")
    if name != os.fsencode(path):
        return False
    known = {key: (int(first), int(rest or 0)) for key, first, rest in _NUMBERS.findall(about)}
    try:
        found = (root / path).lstat()
    except OSError:
        return False
    second, nanosecond = known.get(b"mtime", (0, 0))
    return (
        second == found.st_mtime_ns // 1_000_000_000
        and nanosecond in (0, found.st_mtime_ns % 1_000_000_000)
        and known.get(b"size", (0, 0))[0] == found.st_size % _WORD
        and known.get(b"ino", (0, 0))[0] in (0, found.st_ino % _WORD)
    )


_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\r?\n(?:[a-z0-9.-]+ [^\n]*\r?\n){0,16}?"
    rb"oid sha256:([0-9a-f]{64})\r?\n(?:[a-z0-9.-]+ [^\n]*\r?\n?){0,16}\s*"
)
BYTES_MAX = 1024
"""The largest pointer, according to the specification of Git LFS."""


def object_id(data: bytes) -> str:
    """Return the SHA-256 of the content behind a pointer; '' for anything else."""
    found = _POINTER.fullmatch(data) if len(data) < BYTES_MAX else None
    return found[1].decode() if found else ""
