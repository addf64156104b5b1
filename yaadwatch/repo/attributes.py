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
from typing import Final

from yaadwatch.repo.command import Git
from yaadwatch.repo.layout import Layout
from yaadwatch.repo.words import may_be_text
from yaadwatch.system import files

_NAME: Final = ".gitattributes"
ATTRIBUTES_BYTES_MAX: Final = 1024 * 1024
_ON_TEXTS: Final = re.compile(r"[-!]?(?:binary|diff)(?:=.*)?", re.DOTALL)
_BUILT_IN: Final = frozenset(
    f"diff={name}"
    for name in (
        *("ada", "bash", "bibtex", "cpp", "csharp", "css", "dts", "elixir", "fortran", "fountain"),
        *("golang", "html", "java", "kotlin", "markdown", "matlab", "objc", "pascal", "perl"),
        *("php", "python", "ruby", "rust", "scheme", "tex"),
    )
)
_NONE: Final = frozenset((b"unspecified", b"unset", b"set", b""))


class TextAttributes(IntEnum):
    """The effect of attributes on which files are texts; the greater value wins."""

    NOTHING = 0
    LESS = 1
    """Some files may be binary, whatever their bytes."""
    MORE = 2
    """Some files may be texts, whatever their bytes and names."""


def text_attributes(
    layout: Layout, tracked: Iterable[str], at_commit: Iterable[bytes | None]
) -> TextAttributes:
    """Return the effect of all attributes that may count for a search of a commit.

    Args:
        layout: the repository.
        tracked: the attribute files that git tracks now. Untracked ones in folders are ignored:
            finding them costs a look at each folder.
        at_commit: the content of those of the commit; None for one that cannot be read.
    """
    places = [(layout.common_dir, "info/attributes")]
    paths = dict.fromkeys((_NAME, *tracked)) if layout.root is not None else ()
    places += [(layout.root, path) for path in paths if layout.root is not None]
    found = TextAttributes.NOTHING
    for folder, path in places:
        seen = files.observe(folder, path, bytes_max=ATTRIBUTES_BYTES_MAX, now_ns=0)
        # Git follows a link in its own folder, and in the work tree it does not. Some commands of
        # git take a tracked file that is not there from the index, and others do not.
        is_unread = seen.kind == "too_large" or (seen.kind == "link" and folder != layout.root)
        if is_unread or (seen.kind == "absent" and path in tracked):
            return TextAttributes.MORE
        found = max(found, parsed_attributes(seen.data or b""))
    effects = (TextAttributes.MORE if one is None else parsed_attributes(one) for one in at_commit)
    return max((found, *effects))


def among(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the attribute files among some files."""
    return tuple(path for path in paths if path == _NAME or path.endswith(f"/{_NAME}"))


def parsed_attributes(data: bytes) -> TextAttributes:
    """Return the effect of lines of attributes.

    A diff driver that is built into git has no effect on which files are texts. Nor has `diff` on
    files whose ending is that of texts: only one with a zero byte would be a text by that alone.
    """
    found = TextAttributes.NOTHING
    for line in data.decode("utf-8", "replace").splitlines():
        name, *given = line.split() or [""]
        if name.startswith("#"):
            continue
        plain = re.fullmatch(r".*\.\w+", name) is not None and may_be_text(name)
        for one in given:
            if one in ("binary", "-diff"):
                found = max(found, TextAttributes.LESS)
            elif _ON_TEXTS.fullmatch(one) and not (plain and (one in _BUILT_IN or one == "diff")):
                return TextAttributes.MORE
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
        return re.sub(rb"\$Id:[^$\n]*\$", b"$Id$", data) if self.ident else data


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


def is_as_indexed(git: Git, root: Path, path: str, blob: str = "") -> bool:
    """Return whether a file is as git last wrote or staged it, by the times and size in the index.

    The bytes may differ where a filter or a setting of line ends applies.

    Args:
        git: of the repository.
        root: the work tree.
        path: the file.
        blob: what the index must have of it; '' for anything.

    Raises:
        YaadError: from git.
    """
    output = git.ask(["ls-files", "-s", "--debug", "-z", "--", path])
    staged, _, about = output.partition(b"\0")
    entry, _, name = staged.partition(b"\t")
    if name != os.fsencode(path) or (blob and entry.split()[1].decode() != blob):
        return False
    numbers = re.findall(rb"\b(\w+): (\d+)(?::(\d+))?", about)
    known = {key: (int(first), int(rest or 0)) for key, first, rest in numbers}
    try:
        found = (root / path).lstat()
    except OSError:
        return False
    second, nanosecond = known.get(b"mtime", (0, 0))
    return (
        second == found.st_mtime_ns // 1_000_000_000
        and nanosecond in (0, found.st_mtime_ns % 1_000_000_000)
        # The index holds sizes and numbers of files as 32 bits.
        and known.get(b"size", (0, 0))[0] == found.st_size % (1 << 32)
        and known.get(b"ino", (0, 0))[0] in (0, found.st_ino % (1 << 32))
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
