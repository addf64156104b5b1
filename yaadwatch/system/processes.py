"""What the system says of processes, and temporary files that are lent to child processes."""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final, cast

from yaadwatch.model.errors import Code, YaadError


def own_rss_bytes(*, anonymous: bool = False) -> int:
    """Return the resident memory of this process in bytes; cheap enough to ask all the time.

    Args:
        anonymous: without pages of files, such as packs of git, which the kernel takes back when it
            needs them. Only Linux tells them apart.
    """
    if sys.platform != "linux":
        return rss_bytes()
    import resource

    descriptor = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _, resident, of_files, *_ = map(int, os.read(descriptor, 256).split())
    finally:
        os.close(descriptor)
    return (resident - of_files * anonymous) * resource.getpagesize()


def rss_bytes(pid: int | None = None) -> int:
    """Return the resident memory of a process, by default this one, in bytes; 0 when it is gone."""
    import psutil  # 1.5 MB, needed only here

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def allocate_from_one_heap() -> None:
    """Have the C library keep one heap for all threads, and large blocks out of it, if it can.

    With a heap for each thread, 20 projects at rest took 57 MiB instead of 45. By itself the
    library puts blocks of up to 32 MiB into the heap once one was freed: then what git printed
    leaves holes between what stays.
    """
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and sys.platform == "linux":
        mallopt(-8, 1)  # M_ARENA_MAX, in malloc.h
        mallopt(-3, 256 * 1024)  # M_MMAP_THRESHOLD


def give_back() -> bool:
    """Return free memory of this process to the system; False if the C library cannot.

    The C libraries of macOS and musl cannot.
    """
    if sys.platform != "linux":
        return False
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True


def is_running_below(name: str, folders: Sequence[Path]) -> bool | None:
    """Return whether a process whose name begins so runs in one of some folders or below it.

    None when that cannot be known: on other systems than Linux, or where such a process belongs to
    another user.
    """
    if sys.platform != "linux":
        return None
    known: bool | None = False
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if not (process / "comm").read_text(errors="replace").startswith(name):
                continue
            place = (process / "cwd").readlink()
        except PermissionError:
            known = None
            continue
        except OSError:  # it has just ended
            continue
        if any(place.is_relative_to(folder) for folder in folders):
            return True
    return known


def cpu_s(pid: int) -> float:
    """Return the processor time of a process so far, of all its threads, in seconds.

    On Linux in nanoseconds, elsewhere in the ticks of the system; 0 when it is gone.
    """
    if sys.platform == "linux":
        try:
            # The kernel makes the clock of a process of its id and 2: the time it ran.
            return time.clock_gettime(~pid << 3 | 2)
        except OSError:
            return 0.0
    import psutil

    try:
        spent = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(spent.user + spent.system)


_MEMORY: Final = Path("/dev/shm")  # noqa: S108  (below it each folder is of its own, and private)
_PREFIX: Final = "yaadwatch-"


@contextlib.contextmanager
def holding(data: bytes) -> Iterator[IO[bytes]]:
    """Lend an open file that holds `data`, at its beginning: in memory, where the system can.

    Raises:
        YaadError: UNAVAILABLE when there is no room for it.
    """
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(_opened())
            stream.write(data)
            stream.seek(0)
        except OSError as error:
            raise _no_room(error) from error
        yield stream


@contextlib.contextmanager
def folder(fill: Callable[[Path], object]) -> Iterator[Path]:
    """Lend a private folder that `fill` has put something into; it is gone afterwards.

    It is where temporary files belong, or in memory when there is no room there.

    Raises:
        YaadError: UNAVAILABLE when there is room nowhere.
    """
    with contextlib.ExitStack() as stack:
        try:
            place = _filled(stack, fill, None)
        except OSError as error:
            if not _MEMORY.is_dir():
                raise _no_room(error) from error
            try:
                place = _filled(stack, fill, _MEMORY)
            except OSError:
                raise _no_room(error) from error
        yield place


def _opened() -> IO[bytes]:
    if sys.platform == "linux" and hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):  # where a sandbox does not know it
            return os.fdopen(os.memfd_create(_PREFIX, os.MFD_CLOEXEC), "w+b")
    return cast("IO[bytes]", tempfile.TemporaryFile())


def _filled(
    stack: contextlib.ExitStack, fill: Callable[[Path], object], where: Path | None
) -> Path:
    with contextlib.ExitStack() as own:
        made = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=where, ignore_cleanup_errors=True)
        place = Path(own.enter_context(made))
        fill(place)
        stack.push(own.pop_all())
    return place


def _no_room(error: OSError) -> YaadError:
    return YaadError(
        Code.UNAVAILABLE,
        f"What git is to compare found no room for a moment ({error.strerror}).",
        hint="Free some space in the folder of temporary files (TMPDIR, else /tmp).",
    )
