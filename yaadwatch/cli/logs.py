"""The command `logs`."""

import errno
import json
import os
import stat
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator

from yaadwatch.cli.commands import command, option, whole_number
from yaadwatch.cli.terminal import Terminal, folder, styled, when
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.places import log_file, start_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, BinaryIO

    from yaadwatch.client.connection import Client


LEVELS = ("debug", "info", "warning", "error", "critical")
_PAUSE_S = 0.25


@command(
    "logs",
    options=[
        option(
            "--lines",
            "-n",
            type=whole_number,
            default=50,
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
    """Show the log of the daemon.

    Secrets are masked before a line is written. Works without a daemon.
    For a diagnosis instead of a log: yaadwatch doctor

    examples:
      yaadwatch logs                              the last 50 lines
      yaadwatch logs --level warning --lines 200  what went wrong lately
      yaadwatch logs --follow                     and every new line, until Ctrl-C
      yaadwatch logs --json                       the lines as they are, in JSON
    """
    path, least = log_file(), LEVELS.index(args.level)
    last = _lines(path, args.lines, least)
    for line in last:
        _print_entry(line, terminal, as_json=args.json)
    if not args.json:
        if not last and not args.follow:
            terminal.line(f"The log has no such lines ({folder(path)}).")
        _print_start(path, terminal)
    for line in _following(path) if args.follow else ():
        if _level(_entry(line)) >= least:
            _print_entry(line, terminal, as_json=args.json)
            terminal.flush()
    return 0


def _lines(path: "Path", count: int, least: int) -> list[str]:
    """Return the last `count` lines of level `least`, from this file and those before it."""
    found: list[str] = []
    for number in range(10):
        try:
            stream = _open(path.with_name(f"{path.name}.{number}") if number else path)
        except YaadError:
            if not number:
                raise
            continue
        if stream is None or len(found) >= count:
            break
        with stream:
            lines = _texts(filter(None, stream.read().split(b"\n")))
        found = [line for line in lines if _level(_entry(line)) >= least] + found
    return found[-count:] if count > 0 else []


def _following(path: "Path") -> Iterator[str]:
    """Yield lines as they are written, also across a log rotation."""
    stream, rest = _open(path), b""
    if stream is not None:
        stream.seek(0, 2)
    while True:
        # Asked before the rest is read: after that, nothing is written to a rotated file.
        is_current = stream is not None and _is_open(path, stream.fileno())
        for chunk in iter(stream.read, b"") if stream is not None else ():
            *lines, rest = (rest + chunk).split(b"\n")
            yield from _texts(lines)
        newer = None if is_current else _open(path)
        if newer is None:
            time.sleep(_PAUSE_S)
            continue
        if stream is not None:
            stream.close()
        stream, rest = newer, b""


def _open(path: "Path") -> "BinaryIO | None":
    """Open a log; None when it is not there.

    Raises:
        YaadError: UNAVAILABLE when it is no plain file, or may not be read.
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


def _is_open(path: "Path", descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _texts(lines: Iterable[bytes]) -> Iterator[str]:
    """Return lines as text, split at line feeds only."""
    return (line.decode("utf-8", "replace") for line in lines)


def _entry(line: str) -> "dict[str, Any]":
    try:
        found = json.loads(line)
        is_ours = isinstance(found, dict) and isinstance(found["event"], str)
        when(found["at"] if is_ours else None)
    except (ValueError, KeyError, RecursionError):
        is_ours = False  # half a line after a crash, or not written by us
    return found if is_ours else {"level": "info", "event": line}


def _level(entry: "dict[str, Any]") -> int:
    level = entry.get("level")
    return LEVELS.index(level if level in LEVELS else "info")


def _print_entry(line: str, terminal: Terminal, *, as_json: bool) -> None:
    if as_json:
        terminal.write(f"{line}\n")
        return
    entry = _entry(line)
    moment, level = when(entry.pop("at", None)), str(entry.pop("level", ""))
    event, traceback = str(entry.pop("event", "")), str(entry.pop("traceback", None) or "")
    entry.pop("where", None)
    clock = moment.astimezone().strftime("%Y-%m-%d %H:%M:%S") if moment is not None else " " * 19
    fields = ", ".join(f"{name}: {value}" for name, value in entry.items())
    colour = {"warning": "yellow", "error": "red", "critical": "red"}.get(level, "")
    terminal.line(
        styled(clock, "dim"),
        "  ",
        styled(f"{level:<8}", colour),
        styled(event, "bold"),
        f"  {fields}" if fields else "",
        hang=4,
    )
    for more in traceback.splitlines():
        terminal.line(styled(more, "dim"), indent=8)


def _print_start(path: "Path", terminal: Terminal) -> None:
    """Print errors of a start that failed before the log was open."""
    complaints = start_log()
    try:
        if path.exists() and complaints.stat().st_mtime < path.stat().st_mtime:
            return
        lines = complaints.read_bytes()[-4096:].decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return
    if lines:
        terminal.line(styled(f"The last start complained ({folder(complaints)}):", "bold"))
        for line in lines[-8:]:
            terminal.line(line, indent=2)
