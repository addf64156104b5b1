"""Words taken out of files that somebody may be appending to, such as our logs."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path


def holds(path: Path, words: Iterable[bytes]) -> bool:
    """Return whether a file contains one of `words`; a link, or what is no file, does not.

    Raises:
        OSError: it cannot be read.
    """
    data = _read(path)
    return any(word in data for word in words)


def take_out(path: Path, words: Iterable[bytes], instead: bytes) -> bool:
    """Put `instead` where a file contains `words`; return whether it did.

    It stays the same file, because whoever writes to a log has it open.

    Raises:
        OSError: it cannot be read or written.
    """
    old = new = _read(path)
    for word in words:
        new = new.replace(word, instead)
    if new == old:
        return False
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(new)
        stream.truncate()
        stream.flush()
        os.fsync(stream.fileno())
    return True


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and its folders, sorted; links are not followed."""
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(here, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _read(path: Path) -> bytes:
    if path.is_symlink() or not path.is_file():
        return b""
    return path.read_bytes()
