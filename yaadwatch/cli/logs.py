"""The command `logs`: what the daemon wrote about what it did."""

import errno
import json
import os
import stat
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator

from yaadwatch.cli.commands import command, option, whole_number
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import folder, when
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.places import log_file, start_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, BinaryIO

    from yaadwatch.client.connection import Client

    Line = tuple[str, dict[str, Any]]
    """One as it stands, and what it says."""

LINES = 50
LEVELS = ("debug", "info", "warning", "error", "critical")
_COLOURS = {"warning": "yellow", "error": "red", "critical": "red"}
_PAUSE_S = 0.25
_PLAIN = ("at", "level", "event", "where", "traceback")
_START_BYTES = 4096


def _count(text: str) -> int:
    number = whole_number(text)
    if not 0 <= number <= 1_000_000:
        raise ArgumentTypeError(f"{text} is not within 0 and 1000000")
    return number


@command(
    "logs",
    "show the log of the daemon",
    examples=[
        ("yaadwatch logs", f"the last {LINES} lines"),
        ("yaadwatch logs --level warning --lines 200", "what went wrong lately"),
        ("yaadwatch logs --follow", "and every new line, until Ctrl-C"),
        ("yaadwatch logs --json", "the lines as they are, in JSON"),
    ],
    more="Secrets are masked before a line is written. Works without a daemon.\n"
    "For a diagnosis instead of a log: yaadwatch doctor",
    options=[
        option(
            "--lines",
            "-n",
            type=_count,
            default=LINES,
            help="show the last LINES lines (default: 50)",
        ),
        option("--follow", "-f", action="store_true", help="go on with new lines"),
        option(
            "--level",
            choices=LEVELS,
            default="debug",
            help="only lines of this level and above (default: debug)",
        ),
    ],
    starts_daemon=False,
)
def logs(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Print the end of the log, and go on with it if asked to."""
    path = log_file()
    least = LEVELS.index(args.level)
    last, passed_over = _lines(path, args.lines, least)
    for error in passed_over:
        terminal.err.write(f"yaadwatch: {error.message} The lines before it are shown.\n")
    for line, entry in last:
        _tell(line, entry, terminal, as_json=args.json)
    if not args.json:
        if not last and not args.follow:
            terminal.line(f"The log has no such lines ({folder(path)}).")
        _tell_start(path, terminal)
    if args.follow:
        for line in _following(path):
            entry = _entry(line)
            if _level(entry) >= least:
                _tell(line, entry, terminal, as_json=args.json)
                terminal.flush()
    return 0


def _lines(path: "Path", count: int, least: int) -> "tuple[list[Line], list[YaadError]]":
    """Return the last `count` lines that matter so much, from this file and those before it; and
    why some of those before it could not be read.
    """
    found: list[Line] = []
    passed_over: list[YaadError] = []
    read: set[tuple[int, int]] = set()
    for one in _files(path):
        try:
            stream = _open(one)
        except YaadError as error:
            if one == path:
                raise
            passed_over.append(error)
            continue
        if stream is None:
            break
        with stream:
            place = _place(os.fstat(stream.fileno()))
            data = b"" if place in read else stream.read()  # it may just have been moved on
        read.add(place)
        entries = [(line, _entry(line)) for line in _texts(data.split(b"\n")) if line]
        found = [pair for pair in entries if _level(pair[1]) >= least] + found
        if len(found) >= count:
            break
    return found[-count:] if count else [], passed_over


def _following(path: "Path") -> Iterator[str]:
    """Yield lines as they are written, also when the log begins anew, however often."""
    stream = _open(path)
    if stream is not None:
        stream.seek(0, 2)
    rest = b""
    try:
        while True:
            # Asked before the rest is read: what is written to a file that was moved on, was so
            # before, or while we read.
            moved_on = stream is None or not _is_open(path, stream.fileno())
            for chunk in iter(stream.read, b"") if stream is not None else ():
                *lines, rest = (rest + chunk).split(b"\n")
                yield from _texts(lines)
            if not moved_on:
                time.sleep(_PAUSE_S)
                continue
            following = _next(path, stream)
            if following is None:
                time.sleep(_PAUSE_S)
                continue
            if stream is not None:
                stream.close()
            stream, rest = following, b""
    finally:
        if stream is not None:
            stream.close()


def _next(path: "Path", stream: "BinaryIO | None") -> "BinaryIO | None":
    """Return the log that was begun after `stream`, or the present one; None when there is none."""
    if stream is not None:
        newer = path
        for one in _files(path):
            if _is_open(one, stream.fileno()):
                return _open(newer)
            if _is_plain(one):
                newer = one
    return _open(path)


def _files(path: "Path") -> "list[Path]":
    """Return where the logs are, the present one first."""
    return [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, 10))]


def _open(path: "Path") -> "BinaryIO | None":
    """Open a log; None when it is not there.

    Raises:
        YaadError: UNAVAILABLE when no plain file stands there, or it may not be read.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    why = "it is no plain file"
    try:
        descriptor = os.open(path, flags)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = why if error.errno == errno.ELOOP else str(error.strerror)
    raise YaadError(
        Code.UNAVAILABLE,
        f"{path} cannot be read: {why}.",
        hint="A daemon that starts puts it aside and begins a new one: yaadwatch restart",
    )


def _is_plain(path: "Path") -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _is_open(path: "Path", descriptor: int) -> bool:
    try:
        return _place(path.lstat()) == _place(os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _texts(lines: Iterable[bytes]) -> Iterator[str]:
    """Return lines as text. They end where a line feed is, and at nothing else that ends a line."""
    return (line.decode("utf-8", "replace") for line in lines)


def _place(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _entry(line: str) -> "dict[str, Any]":
    try:
        found = json.loads(line)
        is_ours = isinstance(found, dict) and isinstance(found["event"], str)
        when(found["at"] if is_ours else None)
    except (ValueError, KeyError, RecursionError):
        is_ours = False  # half a line, after a crash; or somebody else's
    return found if is_ours else {"level": "info", "event": line}


def _level(entry: "dict[str, Any]") -> int:
    level = entry.get("level")
    return LEVELS.index(level) if level in LEVELS else LEVELS.index("info")


def _tell(line: str, entry: "dict[str, Any]", terminal: Terminal, *, as_json: bool) -> None:
    if as_json:
        terminal.write(f"{line}\n")
        return
    moment = when(entry.get("at"))
    clock = moment.astimezone().strftime("%Y-%m-%d %H:%M:%S") if moment is not None else " " * 19
    level = str(entry.get("level", ""))
    fields = ", ".join(f"{name}: {value}" for name, value in entry.items() if name not in _PLAIN)
    terminal.line(
        styled(clock, "dim"),
        "  ",
        styled(f"{level:<8}", _COLOURS.get(level, "")),
        styled(str(entry.get("event", "")), "bold"),
        f"  {fields}" if fields else "",
        hang=4,
    )
    for more in str(entry.get("traceback") or "").splitlines():
        terminal.line(styled(more, "dim"), indent=8)


def _tell_start(path: "Path", terminal: Terminal) -> None:
    """Show what a start complained of after the log ended: it did not come so far as to log it."""
    complaints = start_log()
    try:
        if path.exists() and complaints.stat().st_mtime < path.stat().st_mtime:
            return
        said = complaints.read_bytes()[-_START_BYTES:].decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return
    if said:
        terminal.line(styled(f"The last start complained ({folder(complaints)}):", "bold"))
        for line in said[-8:]:
            terminal.line(line, indent=2)
