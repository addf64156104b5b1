"""The daemon's log: one JSON object a line, an event name and its fields, masked and rotated."""

import json
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final, TextIO

from yaadwatch.system import files

BYTES_MAX: Final = 1_000_000
KEPT: Final = 3
"""Older logs beside the present one."""

Fields = dict[str, object]
Mask = Callable[[Fields], Fields]
"""Takes the secrets out of every text in an object."""

_PLAIN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def begin(path: Path, mask: Mask, *, echo: TextIO | None) -> list[logging.Handler]:
    """Send what is logged to the file at `path`; return what has to be given to `end`.

    Args:
        path: the file; its folder is there.
        mask: what is written passes through it.
        echo: where warnings and errors are told to people as well; None for nowhere.

    What stands there and is no plain file (a folder, a link, a pipe) is put aside.

    Raises:
        OSError: the file cannot be written.
    """
    writing = _Private(path, maxBytes=BYTES_MAX, backupCount=KEPT, encoding="utf-8")
    path.chmod(0o600)
    writing.setFormatter(JsonLines(mask))
    handlers: list[logging.Handler] = [writing]
    if echo is not None:
        telling = logging.StreamHandler(echo)
        telling.setLevel(logging.WARNING)
        telling.setFormatter(Words(mask))
        handlers.append(telling)
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
    """Makes its files readable for their owner only, whatever the umask is, and makes the present
    one again when somebody took it away.
    """

    def shouldRollover(self, record: logging.LogRecord) -> int:  # noqa: N802
        """Return whether the file is full; called before each line."""
        if self.stream is not None and _is_gone(self.stream, self.baseFilename):
            opened = self._open()
            self.stream.close()
            self.stream = opened
        return super().shouldRollover(record)

    def doRollover(self) -> None:  # noqa: N802
        """Move the logs on; where that cannot be done, begin anew in the same file."""
        try:
            for number in range(1, self.backupCount + 1):
                _put_aside_what_is_odd(f"{self.baseFilename}.{number}")
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
        _put_aside_what_is_odd(self.baseFilename)
        # Whoever puts something there now has it refused: a pipe would make us wait for a reader.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(self.baseFilename, flags, 0o600)
        return os.fdopen(descriptor, "a", encoding=self.encoding)


def _is_gone(stream: TextIOWrapper, path: str) -> bool:
    """Tell whether what `stream` writes to is no longer at `path`, and can be made there again."""
    try:
        return not os.path.samestat(os.fstat(stream.fileno()), os.lstat(path))
    except FileNotFoundError:
        return os.path.isdir(os.path.dirname(path))  # noqa: PTH112, PTH120


def _put_aside_what_is_odd(path: str) -> None:
    """Give what is no plain file the first free name `PATH.odd`, `PATH.odd2` ...: nothing is lost.

    `logs` does not read it either: it may lead to what is no log, or never end.
    """
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):
            return
    except FileNotFoundError:
        return
    Path(path).rename(files.free_name(f"{path}.odd"))


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
        return json.dumps(self._mask(line | _fields(record)), ensure_ascii=False)


class Words(logging.Formatter):
    """Tells a record in one line for people; a traceback stays in the file."""

    def __init__(self, mask: Mask) -> None:
        super().__init__()
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        told = self._mask({"event": record.getMessage()} | _fields(record))
        told.pop("traceback", None)
        event = told.pop("event")
        words = ", ".join(f"{name}: {value}" for name, value in told.items())
        return f"yaadwatch: {event}" + (f" ({words})" if words else "")


def _fields(record: logging.LogRecord) -> Fields:
    """Return what was given as `extra`, and the traceback if there is one."""
    fields = {name: _plain(value) for name, value in vars(record).items() if name not in _PLAIN}
    if record.exc_info:
        fields["traceback"] = logging.Formatter().formatException(record.exc_info)
    return fields


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
