"""What git changes in a file on its way into the work tree, and what its index says of the file.

No filter of a repository is ever run: it may be any program.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yaadwatch.system.git.question import Git

_NONE: Final = frozenset((b"unspecified", b"unset", b"set", b""))
_IDENT: Final = re.compile(rb"\$Id:[^$\n]*\$")
_NUMBERS: Final = re.compile(rb"(\w+): (\d+)(?::(\d+))?")
_WORD: Final = 1 << 32
"""The index holds sizes and numbers of files as 32 bits."""


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


def of_file(git: Git, path: str) -> Conversions:
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
