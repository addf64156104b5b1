"""Open and read regular files only, within a limit: no pipe, device, link or huge file can block.

What is inside a repository is read with these two functions, or with `files.observe`, which uses
them. Standard library only: clients import this module with every hook.
"""

import errno
import os
import stat

# ruff: noqa: PTH118

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_plain(
    path: str | os.PathLike[str], *, links: bool = False, folder: int | None = None
) -> int:
    """Return a descriptor of a regular file, for reading.

    Args:
        path: the file; relative to `folder`, if that is given.
        links: whether a link at `path` is followed; links above it are.
        folder: the descriptor of a folder.

    Raises:
        OSError: it is no regular file (EINVAL), a link (ELOOP), or cannot be opened.
        ValueError: no file can have such a name.
    """
    # Looked at first: opening a device may have an effect, and opening a pipe wakes its writer.
    _require_regular(os.stat(path, dir_fd=folder, follow_symlinks=links), path)
    descriptor = os.open(path, _FLAGS if links else _FLAGS | os.O_NOFOLLOW, dir_fd=folder)
    try:
        _require_regular(os.fstat(descriptor), path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_plain(path: str | os.PathLike[str], bytes_max: int, *, links: bool = False) -> bytes:
    """Return the content of a regular file of at most `bytes_max` bytes.

    Raises:
        OSError: as `open_plain`; EFBIG when it is larger.
        ValueError: no file can have such a name.
    """
    descriptor = open_plain(path, links=links)
    try:
        return read_open(descriptor, bytes_max, path)
    finally:
        os.close(descriptor)


def read_open(descriptor: int, bytes_max: int, path: str | os.PathLike[str] = "") -> bytes:
    """Return the content of an open regular file, which `path` names in errors.

    Raises:
        OSError: EFBIG when it has more than `bytes_max` bytes; or it cannot be read.
    """
    chunks = []
    left = bytes_max + 1
    if os.fstat(descriptor).st_size < left:
        while left > 0 and (chunk := os.read(descriptor, min(left, 1024 * 1024))):
            chunks.append(chunk)
            left -= len(chunk)
    else:
        left = 0
    if left <= 0:
        raise OSError(errno.EFBIG, f"it is larger than {bytes_max // 1024} KiB", os.fspath(path))
    return b"".join(chunks)


def _require_regular(found: os.stat_result, path: str | os.PathLike[str]) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "it is a link", os.fspath(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no plain file", os.fspath(path))


def walk(top: str) -> "Iterator[tuple[str, list[str], list[str]]]":
    """Yield each folder below `top`, and itself, with the names of its folders and of all else.

    Both are sorted, links count as no folders, and those that are taken out of the list are not
    entered. `os.walk` does the same by recursion, which ends at 1,000 levels.
    """
    waiting = [top]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        folders: list[str] = []
        names: list[str] = []
        for entry in entries:
            (folders if entry.is_dir(follow_symlinks=False) else names).append(entry.name)
        yield here, folders, names
        waiting += [os.path.join(here, name) for name in reversed(folders)]
