"""An object that stands in a file of its own: read without libgit2, in a fifth of the time.

What was committed lately is not packed yet, and that is most of what a check asks for.
"""

import os
import re
import stat
import zlib
from dataclasses import dataclass

_FILE_BYTES_MAX = 1024 * 1024
"""What is compressed in a larger file is libgit2's, which reads it piece by piece."""
_HEAD_BYTES = 64
_HEAD = re.compile(rb"(commit|tree|blob|tag) (\d{1,18})\0")
_KINDS = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}


class Odd(Exception):
    """Something stands there that is no plain file, and is not opened."""


@dataclass(frozen=True, slots=True)
class Loose:
    """An object: its kind as a number of git's, its size, and its bytes if they were wanted."""

    kind: int
    size: int
    data: bytes | None


def read(folder: str, id: str, bytes_max: int) -> Loose | None:
    """Return the object `id` from its own file.

    Args:
        folder: where a repository keeps its objects.
        id: 40 or 64 hexadecimal digits.
        bytes_max: the bytes of a larger object are left out; 0: only its head is read.

    Returns:
        None when there is no such file, or it cannot be told here what is in it.

    Raises:
        Odd: a pipe, a link, a folder or a device stands in its place.
    """
    path = f"{folder}/{id[:2]}/{id[2:]}"
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise Odd
    if found.st_size > _FILE_BYTES_MAX:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        packed = os.read(descriptor, found.st_size)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    try:
        return _unpacked(packed, bytes_max)
    except zlib.error:
        return None


def _unpacked(packed: bytes, bytes_max: int) -> Loose | None:
    """Return what is compressed in `packed`; no more than `bytes_max` of it is ever unpacked."""
    stream = zlib.decompressobj()
    begin = stream.decompress(packed, _HEAD_BYTES)
    head = _HEAD.match(begin)
    if head is None:
        return None
    kind, size = _KINDS[head[1]], int(head[2])
    if size > bytes_max:
        return Loose(kind, size, None)
    data = begin[head.end() :]
    if len(data) > size:
        return None
    # One byte more than there should be, so that the end, with its checksum, is reached.
    data += stream.decompress(stream.unconsumed_tail, size + 1 - len(data))
    return Loose(kind, size, data) if stream.eof and len(data) == size else None
