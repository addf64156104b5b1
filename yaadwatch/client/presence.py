"""Check whether a daemon runs, whether it can still answer, and whether it is a service.

The lock shows that a daemon runs, because its pid may belong to another process by now. Only Linux
shows what another process does; elsewhere waiting ends at its time limit.

The receipt shows what `yaadwatch install` wrote. A service manager that cannot be reached, as in a
container that shares the home folder, counts as none.
"""

import fcntl
import os
import sys
import time

from yaadwatch import places
from yaadwatch.model.errors import Code, YaadError

_PAUSE_S = 0.02


def daemon_holds_lock() -> bool:
    """Say whether a process holds the daemon's lock now.

    It is probed with a shared lock for an instant; a daemon tries for longer than that to take it.
    """
    try:
        descriptor = os.open(places.lock_file(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _holds_lock(pid: int) -> bool:
    """Return whether a process has the daemon's lock, as the kernel numbers processes for us.

    Raises:
        OSError: the kernel does not say.
    """
    file = os.stat(places.lock_file()).st_ino  # noqa: PTH116
    with open("/proc/locks", "rb") as stream:  # noqa: PTH123
        rows = [line.split() for line in stream]
    # A device has another number there on some file systems, so that only the file's counts.
    return any(
        row[1] == b"FLOCK" and int(row[4]) == pid and row[5].endswith(b":%d" % file)
        for row in rows
        if len(row) >= 6 and row[1] != b"->"
    )


def suspended() -> int | None:
    """Return the pid of the daemon when it is suspended now, by Ctrl-Z or `kill -STOP`.

    None where that is not seen: it is gone, this is not Linux, or its pid is that of another
    process here, as it is when the daemon runs in a container.
    """
    pid = places.announced_pid()
    try:
        if pid is None or not _holds_lock(pid):
            return None
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123
            return pid if stream.read().rpartition(b")")[2].split()[0] == b"T" else None
    except (OSError, IndexError, ValueError):
        return None


def holder(pid: int | None = None) -> tuple[str, str]:
    """Return the holder of the lock, and the command that ends it, for a message.

    Without a known pid there is no such command: other processes may have the file open, too.

    Args:
        pid: as its file said before; else what it says now.
    """
    pid = places.announced_pid() if pid is None else pid
    if pid is not None and pid == suspended():
        return f"Process {pid}, which is suspended,", f"kill {pid}; kill -CONT {pid}"
    if pid is not None:
        return f"Process {pid}", f"kill {pid}"
    import shlex

    return (
        "A process that its file does not name",
        f"see which process has it open (fuser {shlex.quote(str(places.lock_file()))}), kill that",
    )


def still_there(what: str, pid: int | None = None) -> YaadError:
    """Return the error that a daemon cannot be ended: `what` it does, and the command that ends it.

    `pid`: as for `holder`.
    """
    who, end = holder(pid)
    return YaadError(
        Code.UNAVAILABLE,
        f"{who} holds the daemon's lock and {what}; it was left alone.",
        hint=f"Its log says what it does. To end it: {end}",
    )


def wait_for_exit(seconds: float) -> bool:
    """Wait until the lock is free, `seconds` at most; return whether it is.

    The last that a daemon does is to let its lock go.
    """
    deadline = time.monotonic() + seconds
    while daemon_holds_lock():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


SERVICE = "yaadwatch.service"
SOCKET = "yaadwatch.socket"
LABEL = "dev.yaadwatch.daemon"
"""Of the launchd agent."""
RECEIPT_PART = "service"
"""The key of the service in the receipt."""


def manager() -> str | None:
    """Return the name of the manager that the service was installed with, or None.

    The receipt in a copy of a data folder is about the service of the original.
    """
    import json

    try:
        said = json.loads(places.receipt().read_bytes())[RECEIPT_PART]
        found, home = said["manager"], said.get("home")
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if not isinstance(found, str) or not isinstance(home, str):
        return None
    return found if os.path.realpath(home) == os.path.realpath(places.data_folder()) else None


def environment() -> dict[str, str]:
    """Return the variables to ask a manager with; a shell by `su` or cron does not have all."""
    found = dict(os.environ)
    runtime = f"/run/user/{os.getuid()}"
    if sys.platform != "darwin" and not found.get("XDG_RUNTIME_DIR") and os.path.isdir(runtime):  # noqa: PTH112
        found["XDG_RUNTIME_DIR"] = runtime
    return found


def ask_to_start() -> bool:
    """Ask the manager to start the service, if there is one; say whether it said that it would."""
    named = manager()
    if named == "systemd":
        # Both: a socket whose file was deleted looks well to the manager, but has no path until
        # the daemon has made it again.
        return _ran("systemctl", "--user", "start", "--no-block", SOCKET, SERVICE)
    if named == "launchd":
        domain = f"gui/{os.getuid()}"
        plist = os.path.expanduser(f"~/Library/LaunchAgents/{LABEL}.plist")  # noqa: PTH111
        return _ran("launchctl", "kickstart", f"{domain}/{LABEL}") or _ran(
            "launchctl", "bootstrap", domain, plist
        )
    return False


def _ran(*command: str) -> bool:
    import subprocess

    try:
        status = subprocess.call(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
            cwd="/",
            timeout=10.0,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return status == 0
