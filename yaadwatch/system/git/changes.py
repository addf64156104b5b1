"""What git prints about whole trees: the files of a commit, and those that differ between two."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

_ABOUT = re.compile(rb":(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*")
_REGULAR = (b"100644", b"100755", b"100664")


class Change(NamedTuple):
    """What became of one file between two commits.

    `old` is None for a file that is new, `new` for one that is gone; both are there, and differ,
    for one that was renamed. The blobs are '' where there is no regular file.
    """

    old: str | None
    new: str | None
    old_blob: str = ""
    new_blob: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A commit that removed `path` (`to` is None) or renamed it."""

    commit: str
    path: str
    to: str | None


def parsed(output: bytes) -> list[Change]:
    """Return the changes of `git diff-tree -r -z --raw --no-abbrev`; odd names are left out.

    A file that was renamed from or to an odd name is new, or gone.
    """
    fields = output.split(b"\0")
    found = []
    position = 0
    while position < len(fields):
        about = _ABOUT.fullmatch(fields[position])
        position += 1
        if about is None:
            continue
        old_mode, new_mode, old_blob, new_blob, status = about.groups()
        names = fields[position : position + (2 if status in b"RC" else 1)]
        position += len(names)
        texts = path_texts(names)
        if not any(texts):
            continue
        found.append(
            Change(
                old=None if status == b"A" else texts[0] or None,
                new=None if status == b"D" else texts[-1] or None,
                old_blob=old_blob.decode() if old_mode in _REGULAR else "",
                new_blob=new_blob.decode() if new_mode in _REGULAR else "",
            )
        )
    return found


def path_texts(fields: Iterable[bytes]) -> list[str]:
    """Return paths as text; '' for one that is not UTF-8, which cannot be named here."""
    texts = []
    for field in fields:
        try:
            texts.append(field.decode("utf-8"))
        except UnicodeDecodeError:
            texts.append("")
    return texts


def paths_in(output: bytes) -> list[str]:
    """Return the paths of a NUL-separated list; those that are not UTF-8 cannot be named here."""
    try:
        return [path for path in output.decode("utf-8").split("\0") if path]
    except UnicodeDecodeError:
        pass  # one of them is not
    return [path for path in path_texts(output.split(b"\0")) if path]


def files_in(output: bytes) -> list[tuple[str, str]]:
    """Return path and blob of the files of `git ls-tree -r -z`; odd names are left out.

    The blob is '' where there is no regular file.
    """
    found = []
    for row in output.split(b"\0"):
        about, _, name = row.partition(b"\t")
        blob = about.split()[2].decode() if about[:6] in _REGULAR else ""
        found += [(path, blob) for path in path_texts([name]) if path]
    return found


def renamed_pairs(output: bytes) -> dict[str, str]:
    """Return the renames of `git diff-tree -z -M --name-status`, old path to new path."""
    fields = path_texts(output.split(b"\0"))
    return {
        old: new
        for status, old, new in zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
        if status.startswith("R") and old and new
    }


def by_commit(output: bytes) -> list[tuple[str, list[Change]]]:
    """Return the changes of each commit of `git diff-tree --stdin -r -z --raw --no-abbrev`."""
    found: list[tuple[str, list[Change]]] = []
    commit, fields = "", list[bytes]()
    names = 0
    for field in [*output.split(b"\0"), b""]:
        about = _ABOUT.fullmatch(field) if not names else None
        if names or about is not None:
            fields.append(field)
            names = names - 1 if names else (2 if about and about[5] in b"RC" else 1)
            continue
        if fields:
            found.append((commit, parsed(b"\0".join(fields))))
            fields = []
        commit = field.strip().decode("ascii", "replace") or commit
    return found
