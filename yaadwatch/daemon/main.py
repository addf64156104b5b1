"""The daemon process: start in a fixed order, serve, and end within two seconds."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

from yaadwatch import places
from yaadwatch.model.errors import Code, YaadError

if TYPE_CHECKING:
    import socket
    from asyncio import AbstractEventLoop
    from pathlib import Path

    from yaadwatch.daemon.process import DaemonLock, Manager
    from yaadwatch.daemon.wiring import Parts
    from yaadwatch.system.config import Loaded


UNUSABLE: Final = 3
"""The data folder or the settings cannot be used, or a part of the daemon failed."""
LOCK_IS_HELD: Final = 4
"""Another daemon runs."""
OTHER_ENDS_S: Final = 10.0
"""Started by a service manager, we wait so long for a daemon that runs without one."""


def run(
    *,
    foreground: bool,
    on_ready: Callable[[], None] | None = None,
    begin_again: Callable[[], object] | None = None,
) -> int:
    """Run the daemon until it is stopped; return the exit status.

    0: stopped; 3: the data folder or the settings cannot be used; 4: another daemon
    runs; 75: it wants to be started again (`scheduler.Renewal`). A failed start is reported
    on stderr, and to clients of a socket that was handed to us.

    Args:
        foreground: print warnings on stderr too.
        on_ready: called once, when the daemon answers and watches.
        begin_again: becomes a new process, where no service manager restarts status 75. The caller
            calls it, too; here it is called when a thread that does not end prevents the return.
    """
    os.umask(0o077)
    _import_without_libraries()
    from yaadwatch.daemon import process
    from yaadwatch.daemon.process import DaemonLock
    from yaadwatch.system import processes

    processes.allocate_from_one_heap()

    lock = DaemonLock()
    manager = process.Manager()
    try:
        manager = process.take_over(os.environ)
        patience_s = 0.0 if manager.listening is None else OTHER_ENDS_S
        lock.acquire(manager.path or places.default_socket(), patience_s=patience_s)
        return _run_locked(lock, manager, foreground, on_ready, begin_again)
    except (YaadError, OSError, RuntimeError) as error:
        lock.close()
        return _did_not_start(error, manager)
    finally:
        lock.close()


def _did_not_start(error: Exception, manager: "Manager") -> int:
    """Send the reason to every waiting client; return the exit status."""
    if not isinstance(error, YaadError):
        error = YaadError(Code.UNAVAILABLE, f"The daemon did not start: {error}.")
    _print_line(error)
    if manager.listening is not None and manager.listening.fileno() >= 0:
        manager.tell(STATUS=error.message.splitlines()[0])
        refuse_clients(manager.listening, error)
    return LOCK_IS_HELD if error.code is Code.CONFLICT else UNUSABLE


def _run_locked(
    lock: "DaemonLock",
    manager: "Manager",
    foreground: bool,
    on_ready: Callable[[], None] | None,
    begin_again: Callable[[], object] | None,
) -> int:
    from yaadwatch.daemon import supervisor
    from yaadwatch.system.files import private_folder
    from yaadwatch.text import privacy

    loaded = _settings()
    private_folder(places.log_file().parent)
    opened = supervisor.begin(
        places.log_file(), privacy.mask_tree, echo=sys.stderr if foreground else None
    )
    try:
        return _on_a_loop(partial(_live, loaded, lock, manager, on_ready), Ending(begin_again))
    finally:
        supervisor.end(opened)


def _settings() -> "Loaded":
    """Return what the person sets now.

    Raises:
        YaadError: as `system.config.load`.
    """
    from yaadwatch.system import config
    from yaadwatch.workspace import agent_files

    loaded = config.load(_settings_file(), os.environ)
    try:
        agent_files.formats(loaded.settings.agent_files.also)
    except YaadError as error:
        loaded = loaded.without(config.ALSO, error.message)
    return loaded


class Ending:
    """Ends the process in time, whatever hangs: a disk,
    a busy thread, a part of the daemon. Every store is left as after a crash: whole.

    Args:
        begin_again: becomes a new process; see `run`.
    """

    def __init__(self, begin_again: Callable[[], object] | None) -> None:
        self._begin_again = begin_again
        self._timer: threading.Timer | None = None

    def begin(self, status: int) -> None:
        """Note that the process is to end with `status`; its time runs from the first call on."""
        if self._timer is None:
            # What has not ended by itself after so long is cut off: the process is gone after 2 s.
            self._timer = threading.Timer(1.8, self._cut, [status])
            self._timer.daemon = True
            self._timer.start()

    def over(self) -> None:
        """Note that all has ended by itself."""
        if self._timer is not None:
            self._timer.cancel()

    def _cut(self, status: int) -> None:
        from yaadwatch.daemon.scheduler import AGAIN

        logging_thread = threading.Thread(target=_log_cut, daemon=True)
        logging_thread.start()
        # To write down what was cut off may take so long.
        logging_thread.join(0.1)  # a disk that hangs keeps that from being written, too
        try:
            if status == AGAIN and self._begin_again is not None:
                self._begin_again()
        finally:
            os._exit(status)


def _log_cut() -> None:
    import logging

    left = [thread.name for thread in _threads_left()]
    logging.getLogger(__name__).warning("daemon.cut_short", extra={"threads": left})
    sys.stdout.flush()
    sys.stderr.flush()


def _on_a_loop(main: Callable[[Ending], Coroutine[None, None, int]], ending: Ending) -> int:
    """Run `main` on a new loop; wait for busy threads, but not for long.

    The caller reports what `main` raises. The time limit of the process applies meanwhile,
    as long as a thread is left: Python itself would wait for it at exit.
    """
    import asyncio

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        status = loop.run_until_complete(main(ending))
        ending.begin(status)
    except BaseException:
        ending.begin(UNUSABLE)
        raise
    finally:
        _cancel_all(loop)
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.close()
        for thread in _threads_left():
            # An idle thread ends within this, once stopped.
            thread.join(0.1)
        if not _threads_left():
            ending.over()
    for thread in _threads_left():
        thread.join()
    ending.over()
    return status


def _threads_left() -> list[threading.Thread]:
    """Return the threads that Python waits for, besides the current one."""
    return [
        thread
        for thread in threading.enumerate()
        if thread is not threading.current_thread() and not thread.daemon
    ]


def _import_without_libraries() -> None:
    """Import modules as if Python had been built without OpenSSL, bzip2 and xz, which is allowed.

    The daemon needs no TLS and no such archives, and Python has its own digests. It saves 7 MiB.
    A later import of ssl, as by libgit2's binding, still works.
    """
    missing = [name for name in ("ssl", "_hashlib", "bz2", "lzma") if name not in sys.modules]
    for name in missing:
        sys.modules[name] = None  # type: ignore[assignment]
    for user in ("asyncio", "hashlib", "hmac", "shutil", "zipfile"):
        import_module(user)
    for name in missing:
        del sys.modules[name]


def _cancel_all(loop: "AbstractEventLoop") -> None:
    import asyncio

    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


def refuse_clients(listening: "socket.socket", error: YaadError, *, seconds: float = 10.0) -> int:
    """Answer every client that connects within `seconds` with the reason; return how many.

    The manager, which sees clients wait, would otherwise start the daemon again and again.
    """
    import select
    import time

    from yaadwatch.api.frames import encode, failure

    line = encode(failure(None, error))
    until = time.monotonic() + seconds
    answered = 0
    listening.setblocking(False)
    while (left := until - time.monotonic()) > 0:
        if not select.select([listening], [], [], left)[0]:
            break
        try:
            visitor, _ = listening.accept()
        except OSError:
            continue
        with visitor:
            answered += _send_refusal(visitor, line)
    return answered


def _send_refusal(visitor: "socket.socket", line: bytes) -> bool:
    from yaadwatch.api.frames import require_same_user

    # A client has so long to send its first line; closing unread may lose the answer.
    visitor.settimeout(0.2)
    try:
        require_same_user(visitor)
        visitor.recv(65_536)
        visitor.sendall(line)
    except (OSError, YaadError):
        return False
    return True


async def _live(
    loaded: "Loaded",
    lock: "DaemonLock",
    manager: "Manager",
    on_ready: Callable[[], None] | None,
    ending: Ending,
) -> int:
    """Serve until stopped, also while still starting; return the exit status."""
    import asyncio
    import logging

    from yaadwatch.daemon import wiring
    from yaadwatch.daemon.scheduler import AGAIN
    from yaadwatch.daemon.supervisor import Fatal
    from yaadwatch.system.config import PREFIX
    from yaadwatch.text import privacy

    log = logging.getLogger(__name__)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    parts = wiring.build(loaded.settings, manager, holds_lock=lock.renew, on_shutdown=stopping.set)
    parts.home.set_by, parts.home.not_set = loaded.sources, loaded.warnings
    parts.home.settings_now = _settings
    for warning in map(privacy.mask_tree, loaded.warnings):
        if warning.startswith(PREFIX):
            mend = "Correct it where the daemon's environment is set, then: yaadwatch restart"
        else:
            mend = f"Correct it in {_settings_file()}, then: yaadwatch restart"
        parts.health.degraded(f"settings {warning}", warning, mend=mend)
    beating = asyncio.create_task(_beat(manager))
    serving = asyncio.create_task(_serve(parts, manager, on_ready))
    stopped = asyncio.create_task(stopping.wait())
    status = UNUSABLE
    try:
        await asyncio.wait([stopped, serving], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
            log.error("daemon.without_services")
            return status
        status = 0
        ending.begin(status)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    except Fatal as error:
        status = error.status
        if error.status == AGAIN:
            log.info("daemon.begins_again", extra={"why": str(error)})
        else:
            log.error("daemon.fatal", extra={"error": str(error)})
        return status
    finally:
        ending.begin(status)
        manager.tell(STOPPING=1, STATUS="Stops.")
        beating.cancel()
        await _stop(parts)
        log.info("daemon.ended")
    return status


async def _beat(manager: "Manager") -> None:
    """Notify the service manager's watchdog while the loop runs."""
    import asyncio

    while manager.watchdog_s is not None:
        manager.tell(WATCHDOG=1)
        # So many signs of life within the time after which we are taken for dead.
        await asyncio.sleep(manager.watchdog_s / 3)


async def _serve(parts: "Parts", manager: "Manager", on_ready: Callable[[], None] | None) -> None:
    """Answer, watch, check everything once, and keep the services running."""
    import asyncio
    import logging

    from yaadwatch.daemon import wiring
    from yaadwatch.daemon.supervisor import supervise

    await parts.socket.start()
    manager.tell(READY=1, STATUS="Answers; looks at what is watched.")
    await parts.intake.start()
    manager.tell(STATUS="Watches.")
    fields = {"version": places.VERSION, "pid": os.getpid(), "socket": str(parts.socket.path)}
    logging.getLogger(__name__).info("daemon.ready", extra=fields)
    if on_ready is not None:
        on_ready()
    for module in wiring.LATER:  # one by one, so that a daemon that stops waits for one at most
        await asyncio.to_thread(import_module, module)
    await supervise(parts.services, health=parts.health, monotonic_s=parts.home.clock.monotonic_s)


async def _stop(parts: "Parts") -> None:
    """Finish what is being answered, end git's children, close the stores."""
    import asyncio
    from datetime import timedelta

    from yaadwatch.daemon.supervisor import attempt, log_crash
    from yaadwatch.projects import upkeep
    from yaadwatch.sessions import ending

    parts.signal.close()
    parts.follower.stop()
    await parts.intake.stop()
    # At shutdown, requests in flight have this long to finish.
    await parts.socket.close(timedelta(seconds=1.0))
    # Threads that wait for git get an error now, and end.
    parts.home.git.close()
    parts.dispatcher.close()
    for flush in (upkeep.flush, ending.flush):
        flushing = asyncio.to_thread(flush, parts.home)
        error = await attempt(asyncio.wait_for(flushing, 0.3))
        if error is not None:
            effect = "what was shown lately is not counted"
            log_crash("daemon.not_flushed", error, effect=effect)
    parts.home.close()


def _settings_file() -> "Path":
    return places.data_folder() / "config.toml"


def _print_line(error: YaadError) -> None:
    sys.stderr.write(f"yaadwatch: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"  {error.hint}\n")
