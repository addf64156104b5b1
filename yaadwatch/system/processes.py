"""What this process costs, and which processes it has started."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_SCHEDULED: Final = 2
"""The clock of what a process ran; the kernel makes clocks of processes of this and their ids."""


def own_rss_bytes() -> int:
    """Return the resident memory of this process in bytes; cheap enough to ask all the time."""
    if sys.platform != "linux":
        return rss_bytes()
    import resource

    descriptor = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return int(os.read(descriptor, 256).split()[1]) * resource.getpagesize()
    finally:
        os.close(descriptor)


def rss_bytes(pid: int | None = None) -> int:
    """Return the resident memory of a process, by default this one, in bytes; 0 when it is gone."""
    import psutil  # 1.5 MB, needed by those who ask only

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def give_back() -> bool:
    """Give memory that is free in this process back to the system; say whether the C library can.

    That of macOS and musl cannot be told to.
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
            return time.clock_gettime(~pid << 3 | _SCHEDULED)
        except OSError:
            return 0.0
    import psutil

    try:
        spent = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(spent.user + spent.system)
