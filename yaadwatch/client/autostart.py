"""Start the daemon: by its service manager, else as a detached background process.

A detached daemon gets its own session, working folder and clean environment, so that the caller's
sandbox, terminal and variables do not reach it. Two clients may start one at the same time; the
lock decides which daemon stays.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

if not __package__:  # run as a file
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from yaadwatch import places
from yaadwatch.client.connection import Client, DaemonNotRunning, DaemonUnresponsive
from yaadwatch.client.presence import ask_to_start, daemon_holds_lock
from yaadwatch.model.errors import Code, YaadError

DAEMON = (sys.executable, "-I", "-m", "yaadwatch", "daemon")
LOCK_IS_HELD = 4
"""Exit status of a daemon that found another running, which may have been ending."""
LOG_BYTES_MAX = 256 * 1024
"""The log of starts is truncated when it is longer than this."""

_KEPT = frozenset({"HOME", "USER", "LOGNAME", "PATH", "LANG", "TZ"})
_KEPT_PREFIXES = ("LC_", "XDG_", "YAAD_")
_PAUSE_S = 0.02


def start(
    command: Sequence[str] = DAEMON,
    *,
    time_s: float = 15.0,
    on_wait: Callable[[int], object] | None = None,
) -> None:
    """Start the daemon and return when one answers: as a service if it is one, else by `command`.

    Args:
        command: program and arguments.
        time_s: how long to wait for an answer, in seconds.
        on_wait: called once a second with the seconds waited so far.

    Raises:
        YaadError: unavailable, with the last lines that the daemon wrote, when none answers;
            DaemonUnresponsive, when one holds the lock and hangs.
    """
    log = places.start_log()
    begin = _begin_log(log)
    started = None if ask_to_start() else _spawn(command, log)
    as_service = " as a service" if started is None else ""
    waited_from = time.monotonic()
    reported_s = 0
    while (answering := _answering()) is None:
        waited_s = time.monotonic() - waited_from
        if waited_s >= time_s:
            raise _did_not_start(f"{as_service} and did not answer within {time_s:g} s", log, begin)
        has_ended = started is not None and started.poll() is not None
        if started is not None and has_ended and not daemon_holds_lock() and _answering() is None:
            if started.returncode != LOCK_IS_HELD:
                raise _did_not_start(f" and ended with status {started.returncode}", log, begin)
            started = _spawn(command, log)
        if on_wait is not None and int(waited_s) > reported_s:
            reported_s = int(waited_s)
            on_wait(reported_s)
        time.sleep(_PAUSE_S)
    if started is not None and answering != started.pid:
        # Ours came too late, and ends when it finds the lock taken. Unseen, it would replace the
        # other daemon if that was being stopped this very moment.
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(3.0)


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what of `environment` the daemon should know: the user, the places, the language.

    It works in another folder than we do, so relative places are made absolute.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }
    return kept | {
        name: str(Path(kept[name]).expanduser().absolute())
        for name in ("HOME", "YAAD_HOME")
        if kept.get(name)
    }


def _spawn(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _cannot_write(log, error) from None
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            cwd="/",
            env=clean_environment(os.environ),
            start_new_session=True,
        )
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"The daemon could not be started: {error.strerror}: {command[0]}.",
        ) from None
    finally:
        os.close(descriptor)


def _begin_log(log: Path) -> int:
    """Create the folder of `log`; return the offset at which the lines of this start begin."""
    _refuse_anothers(places.data_folder())
    try:
        for folder in (places.data_folder(), log.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        size = log.stat().st_size
        if size <= LOG_BYTES_MAX:
            return size
        log.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise _cannot_write(log, error) from None
    return 0


def _refuse_anothers(home: Path) -> None:
    """Refuse a data folder of another user, as `sudo` may leave us with.

    What root writes there, its owner could not use any more.
    """
    with contextlib.suppress(OSError):  # opening the log gives the better error
        owner = home.stat().st_uid
        if owner != os.geteuid():
            raise YaadError(
                Code.REFUSED,
                f"{home} belongs to user {owner}, not to {os.geteuid()}; the daemon was not"
                " started, and nothing was written.",
                hint="Run it as that user, or set YAAD_HOME to a folder of your own.",
            )


def _cannot_write(log: Path, error: OSError) -> YaadError:
    return YaadError(
        Code.UNAVAILABLE,
        f"{log} cannot be written: {error.strerror}. The daemon was not started.",
        hint="Look at its disk and its permissions, or set YAAD_HOME to a folder of your own.",
    )


def _answering() -> int | None:
    """Return the pid of the daemon that answers, None when there is none.

    Raises:
        Silent: there is one, which hangs: no other can take its place.
    """
    client = Client(cwd="/")
    try:
        client.connect()
    except DaemonUnresponsive:
        if daemon_holds_lock():
            raise
        return None  # the manager of a service that does not come up
    except DaemonNotRunning:
        return None
    finally:
        client.close()
    return client.pid


def _did_not_start(what: str, log: Path, begin: int) -> YaadError:
    said: list[str] = []
    with contextlib.suppress(FileNotFoundError), log.open("rb") as stream:
        stream.seek(begin)
        said = stream.read(LOG_BYTES_MAX).decode("utf-8", "replace").splitlines()
    lines = "".join(f"\n    {line}" for line in said[-8:])
    return YaadError(
        Code.UNAVAILABLE,
        f"The daemon was started{what}." + (f" It wrote:{lines}" if lines else ""),
        hint=f"All it wrote is in {log}",
    )


def main() -> int:
    """Start the daemon for a process that cannot wait; return 0 when one answers.

    The reason for a failure is printed on standard output.
    """
    try:
        start()
    except YaadError as error:
        sys.stdout.write(f"{error.message} {error.hint}".strip() + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
