"""Is there a daemon? Asked of the lock it holds, because a pid may belong to anybody by now."""

import fcntl
import os
import time

from yaadwatch import places

_PAUSE_S = 0.02


def daemon_holds_lock() -> bool:
    """Say whether a process holds the daemon's lock now.

    It is probed with a shared lock for an instant; a daemon tries for longer than that to take it.
    """
    try:
        descriptor = os.open(places.lock_file(), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def holder(pid: int | None = None) -> tuple[str, str]:
    """Return who holds the lock, and how it is ended, for a message.

    Where nobody knows its pid no command is given that ends it: others may have the file open, too.

    Args:
        pid: as its file said before; else what it says now.
    """
    pid = places.announced_pid() if pid is None else pid
    if pid is not None:
        return f"Process {pid}", f"kill {pid}"
    import shlex

    return (
        "A process that its file does not name",
        f"see which process has it open (fuser {shlex.quote(str(places.lock_file()))}), kill that",
    )


def wait_until_gone(seconds: float) -> bool:
    """Wait until nobody holds the lock, `seconds` at most; say whether nobody does."""
    deadline = time.monotonic() + seconds
    while daemon_holds_lock():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE_S)
    return True
