"""Which folders hold a repository's objects: its own, and those that it borrows from.

`git clone --shared` and `--reference` leave objects where they are, and name that place in
`objects/info/alternates`; see gitrepository-layout(5).
"""

import os
import re
import stat
from typing import Final

FOLDERS_MAX: Final = 16
DEPTH_MAX: Final = 5
"""Git and libgit2 follow no longer chain."""
_BYTES_MAX: Final = 64 * 1024
_PLAIN: Final = re.compile(r"[^\"\0\r\t]+")
"""A line that git does not take for a quoted one."""


def folders(own: str) -> tuple[str, ...] | None:
    """Return a folder of objects and all that it borrows from, itself first.

    A place that is not there is left out, as git does.

    Returns:
        None where something is to be opened that is no plain file, belongs to neither us nor the
        system's administrator, or is named in a way that not every reader takes alike.

    Raises:
        OSError: one cannot be looked at.
    """
    found: dict[tuple[int, int], str] = {}
    pending = [(own, 0)]
    while pending:
        path, depth = pending.pop(0)
        try:
            there = os.stat(path)  # noqa: PTH116  (a path from a repository may hold anything)
        except (FileNotFoundError, NotADirectoryError):
            continue
        if (there.st_dev, there.st_ino) in found:
            continue
        if there.st_uid not in (os.geteuid(), 0) or not stat.S_ISDIR(there.st_mode):
            return None
        found[there.st_dev, there.st_ino] = path
        lines = _lines(f"{path}/info/alternates")
        if lines is None or len(found) > FOLDERS_MAX or (lines and depth == DEPTH_MAX):
            return None
        for line in lines:
            # What is relative further down, or does not begin with a dot, is taken from there by
            # git, and by libgit2 from the folder that this process runs in.
            if not _PLAIN.fullmatch(line) or not line.startswith("/" if depth else ("/", ".")):
                return None
            pending.append((os.path.join(path, line), depth + 1))  # noqa: PTH118
    return tuple(found.values())


def _lines(path: str) -> list[str] | None:
    """Return the places that a file of alternates names; None when it is odd.

    Raises:
        OSError: it cannot be looked at.
    """
    try:
        looks = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    if not stat.S_ISREG(looks.st_mode) or looks.st_size > _BYTES_MAX:
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, _BYTES_MAX)
    finally:
        os.close(descriptor)
    return [line for line in os.fsdecode(data).split("\n") if line and not line.startswith("#")]
