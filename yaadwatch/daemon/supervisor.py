"""Restart crashed parts of the daemon, track what is degraded, and write the log.

An exception restarts the part, and `Fatal` ends the process. Everything may be caught here, so that
no other module needs to. `Health` keeps what is degraded and the command that repairs it. The log
has one masked JSON object per line and is rotated.
"""

import asyncio
import json
import logging
import os
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final, TextIO

from yaadwatch.model.errors import YaadError


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that does not work as it should: what, in words, and the command that mends it.

    `project`: of which project alone; '' when it is of none.
    """

    what: str
    mend: str
    project: str = ""


class Health:
    """The present problems, one for each part of the daemon. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._problems: dict[str, Problem] = {}

    def degraded(self, part: str, what: str, *, mend: str, project: str = "") -> None:
        """Note that `part` is degraded; logged when it is news."""
        problem = Problem(what=what, mend=mend, project=project)
        with self._lock:
            known = self._problems.get(part)
            self._problems[part] = problem
        if known != problem:
            _log.warning("health.degraded", extra={"part": part, "what": what, "mend": mend})

    def well(self, part: str) -> None:
        """Note that `part` works; logged when it did not before."""
        with self._lock:
            known = self._problems.pop(part, None)
        if known is not None:
            _log.info("health.restored", extra={"part": part})

    def keep_only(self, projects: Collection[str]) -> None:
        """Drop the problems of projects that are not among `projects`."""
        with self._lock:
            self._problems = {
                part: problem
                for part, problem in self._problems.items()
                if not problem.project or problem.project in projects
            }

    def problems(self) -> list[Problem]:
        """Return what is degraded now, in the order of the parts' names."""
        with self._lock:
            return [problem for _, problem in sorted(self._problems.items())]


_log: Final = logging.getLogger(__name__)

RESTARTS_MAX: Final = 5
"""A service that crashes more often than this, without a healthy time in between, is given up."""
HEALTHY_AFTER_S: Final = 60.0
BACK_OFF_MAX_S: Final = 60.0


class Fatal(Exception):
    """The process must end, with exit status `status`. The message says why."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A loop meant to run for as long as the daemon; `run` is called again after a crash."""

    name: str
    run: Callable[[], Awaitable[None]]


async def attempt(work: Awaitable[object]) -> Exception | None:
    """Do `work`; return what it raised, None when it went well. `Fatal` passes through."""
    try:
        await work
    except Fatal:
        raise
    except Exception as error:  # noqa: BLE001  (this module is the one place that may)
        return error
    return None


def error_in_words(error: Exception) -> str:
    """Return `error` in one line for people."""
    if isinstance(error, YaadError):
        return error.message
    return f"{type(error).__name__}: {error}".rstrip(": ")


def log_crash(event: str, error: Exception, **fields: object) -> None:
    """Log `error` under the name `event`; with its traceback unless such things are expected."""
    if not isinstance(error, YaadError):
        fields["traceback"] = "".join(traceback.format_exception(error))
    _log.error(event, extra={**fields, "error": error_in_words(error)})


async def supervise(
    services: Sequence[Service],
    *,
    health: Health,
    monotonic_s: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Keep `services` running until cancelled.

    Raises:
        Fatal: from a service; the others are ended first.
    """
    tasks = [
        asyncio.create_task(_keep(service, health, monotonic_s, sleep), name=service.name)
        for service in services
    ]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _keep(
    service: Service,
    health: Health,
    monotonic_s: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    crashes = 0
    while True:
        started = monotonic_s()
        error = await attempt(service.run()) or RuntimeError("it ended without being asked to")
        log_crash("service.crashed", error, service=service.name)
        crashes = 1 if monotonic_s() - started >= HEALTHY_AFTER_S else crashes + 1
        if crashes > RESTARTS_MAX:
            health.degraded(
                f"service {service.name}",
                f"The part `{service.name}` of the daemon was given up after {RESTARTS_MAX} "
                f"restarts: {error_in_words(error)}.",
                mend="yaadwatch restart",
            )
            return
        await sleep(min(2.0 ** (crashes - 1), BACK_OFF_MAX_S))


BYTES_MAX: Final = 1_000_000

Fields = dict[str, object]
Mask = Callable[[Fields], Fields]
"""Takes the secrets out of every text in an object."""

_PLAIN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def begin(path: Path, mask: Mask, *, echo: TextIO | None) -> list[logging.Handler]:
    """Send what is logged to the file at `path`; return what has to be given to `end`.

    Args:
        path: the file; its folder is there.
        mask: what is written passes through it.
        echo: where warnings and errors are printed as well; None for nowhere.

    Raises:
        OSError: the file cannot be written, or is none (a folder, a link, a pipe).
    """
    writing = _Private(path, maxBytes=BYTES_MAX, backupCount=3, encoding="utf-8")
    path.chmod(0o600)
    writing.setFormatter(JsonLines(mask))
    handlers: list[logging.Handler] = [writing]
    if echo is not None:
        echoing = logging.StreamHandler(echo)
        echoing.setLevel(logging.WARNING)
        echoing.setFormatter(Words(mask))
        handlers.append(echoing)
    for handler in handlers:
        logging.getLogger().addHandler(handler)
    logging.getLogger("yaadwatch").setLevel(logging.INFO)
    # It warns at each beat for which a job is still busy: a poll that waits for a disk, for hours.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    return handlers


def end(handlers: Iterable[logging.Handler]) -> None:
    """Write out and close what `begin` opened."""
    for handler in handlers:
        logging.getLogger().removeHandler(handler)
        handler.close()


class _Private(RotatingFileHandler):
    """Creates its files readable for their owner only, whatever the umask is, and creates the
    current one again when it was deleted.
    """

    def shouldRollover(self, record: logging.LogRecord) -> int:  # noqa: N802
        """Return whether the file is full; called before each line."""
        if self.stream is not None and self._is_gone(self.stream):
            opened = self._open()
            self.stream.close()
            self.stream = opened
        return super().shouldRollover(record)

    def _is_gone(self, stream: TextIOWrapper) -> bool:
        """Return whether our file is no longer at its path and can be created there."""
        path = Path(self.baseFilename)
        try:
            return not os.path.samestat(os.fstat(stream.fileno()), path.lstat())
        except FileNotFoundError:
            return path.parent.is_dir()

    def doRollover(self) -> None:  # noqa: N802
        """Rotate the logs; where that fails, truncate the same file."""
        try:
            super().doRollover()
        except OSError:
            if self.stream is None:
                self.stream = self._open()
            self.stream.truncate(0)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Pass over a line for which there is no room: a traceback on stderr would be the next."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)

    def _open(self) -> TextIOWrapper:
        # Refuses what is no file: a pipe would make us wait for a reader.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(self.baseFilename, flags, 0o600)
        return os.fdopen(descriptor, "a", encoding=self.encoding)


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON: at, level, event, where, and its fields."""

    def __init__(self, mask: Mask) -> None:
        super().__init__()
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC)
        line: Fields = {
            "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "where": record.name,
        }
        return json.dumps(self._mask(line | self.fields(record)), ensure_ascii=False)

    def fields(self, record: logging.LogRecord) -> Fields:
        """Return the `extra` fields of a record, and its traceback if there is one."""
        fields = {name: _plain(value) for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return fields


class Words(JsonLines):
    """Renders a record in one line for people; a traceback stays in the file."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = self._mask({"event": record.getMessage()} | self.fields(record))
        fields.pop("traceback", None)
        event = fields.pop("event")
        words = ", ".join(f"{name}: {value}" for name, value in fields.items())
        return f"yaadwatch: {event}" + (f" ({words})" if words else "")


def _plain(value: object) -> object:
    """Return `value` as JSON can hold it; a path or an exception becomes its text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    # Names of files need not be text; what is written must be.
    return str(value).encode("utf-8", "replace").decode("utf-8")
