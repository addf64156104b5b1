"""The command `logs`, and `status --watch`, which refreshes until Ctrl-C.

`status --watch` redraws in place on a terminal, on its alternate screen as a pager does, and
restores the terminal however it ends. Elsewhere it prints one state after the other.
"""

import errno
import io
import json
import os
import select
import shutil
import signal
import stat
import sys
import threading
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from yaadwatch.cli.commands import command, option, whole_number
from yaadwatch.cli.terminal import UNLIMITED, Terminal, columns, folder, styled, when
from yaadwatch.client.connection import ConnectionEnded, DaemonNotRunning
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.places import log_file, start_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from yaadwatch.client.connection import Client


if TYPE_CHECKING:
    Line = tuple[str, dict[str, Any]]
    """A line as it is in the log, and its fields."""

LINES = 50
LEVELS = ("debug", "info", "warning", "error", "critical")
_COLOURS = {"warning": "yellow", "error": "red", "critical": "red"}
_PAUSE_S = 0.25
_PLAIN = ("at", "level", "event", "where", "traceback")


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
        _print_entry(line, entry, terminal, as_json=args.json)
    if not args.json:
        if not last and not args.follow:
            terminal.line(f"The log has no such lines ({folder(path)}).")
        _print_start(path, terminal)
    if args.follow:
        for line in _following(path):
            entry = _entry(line)
            if _level(entry) >= least:
                _print_entry(line, entry, terminal, as_json=args.json)
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
    """Yield lines as they are written, also across log rotations."""
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
    """Return the log that follows `stream`, or the current one; None when there is none."""
    if stream is not None:
        newer = path
        for one in _files(path):
            if _is_open(one, stream.fileno()):
                return _open(newer)
            if _is_plain(one):
                newer = one
    return _open(path)


def _files(path: "Path") -> "list[Path]":
    """Return the paths of the logs, the current one first."""
    return [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, 10))]


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
    """Return lines as text, split at line feeds only."""
    return (line.decode("utf-8", "replace") for line in lines)


def _place(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


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
    return LEVELS.index(level) if level in LEVELS else LEVELS.index("info")


def _print_entry(line: str, entry: "dict[str, Any]", terminal: Terminal, *, as_json: bool) -> None:
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


def _print_start(path: "Path", terminal: Terminal) -> None:
    """Print errors of a start that failed before the log was open."""
    complaints = start_log()
    try:
        if path.exists() and complaints.stat().st_mtime < path.stat().st_mtime:
            return
        said = complaints.read_bytes()[-4096:].decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return
    if said:
        terminal.line(styled(f"The last start complained ({folder(complaints)}):", "bold"))
        for line in said[-8:]:
            terminal.line(line, indent=2)


Answer = dict[str, Any]
Tell = Callable[[Answer, Terminal], None]

ASK_S = 10.0
"""Without news the daemon is asked this often; it may have died, and problems are no events."""
APART_S = 0.5
"""However much happens, two questions are so far apart."""
DRAW_S = 1.0
"""Ages on the screen change as time passes."""
LOOK_S = 0.2

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"
"""The other screen, no cursor, and lines that are cut off rather than wrapped."""
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_TOP, _REST_OF_LINE, _BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


def refresh_until_interrupted(
    ask: Callable[[], Answer], tell: Tell, client: "Client", terminal: Terminal, *, as_json: bool
) -> NoReturn:
    """Show the state again whenever it changes, until Ctrl-C.

    Args:
        ask: returns the state.
        tell: prints it.
        client: hears of what happens, over a connection of its own.
        terminal: where it is shown.
        as_json: as a line for each state instead.

    Raises:
        KeyboardInterrupt: the way in which it ends.
        BrokenPipeError: the reader is gone.
    """
    news = News(client)
    try:
        states = _States(ask, news)
        if terminal.out.isatty() and not as_json and os.environ.get("TERM", "dumb") != "dumb":
            with _other_screen(terminal):
                _draw(states, tell, terminal)
        _print(states, tell, terminal, as_json=as_json)
    finally:
        news.close()


class News:
    """Reports whether events arrived since the last call; listens in a thread."""

    def __init__(self, client: "Client") -> None:
        self._client = client.beside()
        self._arrived = threading.Event()
        self._closed = threading.Event()
        threading.Thread(target=self._listen, name="news", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait for news, at most so long; return whether there is any."""
        return self._arrived.wait(seconds)

    def forget(self) -> None:
        """Mark the events so far as seen."""
        self._arrived.clear()

    def close(self) -> None:
        """Listen no more, once what is heard now is over."""
        self._closed.set()

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                for _ in self._client.events():
                    self._arrived.set()
            except YaadError:  # no daemon now: the state says so, and who comes next is heard
                self._client.close()
            self._arrived.set()
            self._closed.wait(DRAW_S)


class _States:
    """The states one after the other, each as soon as it is known."""

    def __init__(self, ask: Callable[[], Answer], news: News) -> None:
        self._ask = ask
        self._news = news
        self._asked_s = time.monotonic()
        self.last = ask()

    def next(self) -> Answer:
        """Return the state, fetched again if there are news or it is old; waits a moment."""
        heard = self._news.wait(LOOK_S)
        age_s = time.monotonic() - self._asked_s
        if (heard and age_s >= APART_S) or age_s >= ASK_S:
            self._news.forget()
            try:
                self.last = self._ask()
            except ConnectionEnded:  # it ended under our question; the next one finds out
                return self.last
            self._asked_s = time.monotonic()
        elif heard:
            time.sleep(LOOK_S)
        return self.last


def _print(states: _States, tell: Tell, terminal: Terminal, *, as_json: bool) -> NoReturn:
    """Print each state that differs from the one before."""
    shown = None
    state = states.last
    while True:
        if (kept := _of_interest(state)) != shown:
            if as_json:
                terminal.json(state)
            else:
                terminal.line(f"--- {_clock()}")
                _print_state(state, tell, terminal)
            terminal.flush()
            shown = kept
        if _is_left(terminal):
            raise BrokenPipeError
        state = states.next()


def _is_left(terminal: Terminal) -> bool:
    """Return whether the reader of our output is gone; a write would show it only at a change."""
    if terminal.out is not sys.stdout:
        return False
    looked = select.poll()
    looked.register(terminal.out.fileno(), 0)
    return bool(looked.poll(0))


def _of_interest(state: Answer) -> Answer:
    """Return a state without the values that always change."""
    return {**state, "daemon": {**state["daemon"], "rss_bytes": None}}


def _draw(states: _States, tell: Tell, terminal: Terminal) -> NoReturn:
    """Redraw in place when the state, the time or the window size changed."""
    drawn: Answer | None = None
    drawn_size, drawn_s = (0, 0), 0.0
    state = states.last
    while True:
        size, now_s = _size(terminal), time.monotonic()
        if state is not drawn or size != drawn_size or now_s - drawn_s >= DRAW_S:
            drawn, drawn_size, drawn_s = state, size, now_s
            terminal.write(_frame(state, tell, terminal, size))
            terminal.flush()
        state = states.next()


def _frame(state: Answer, tell: Tell, terminal: Terminal, size: tuple[int, int]) -> str:
    """Return the lines that fit the window, and a last line when some are left out."""
    width, height = size
    lines = _drawn_lines(lambda paper: _print_state(state, tell, paper), terminal, width)
    room = max(height - 1, 1)
    hidden = len(lines) - room
    more = f", {hidden} more lines: yaadwatch status" if hidden > 0 else ""
    last = styled(f"{_clock()}, Ctrl-C ends{more}", "dim")
    foot = _drawn_lines(lambda paper: paper.line(last), terminal, UNLIMITED)
    shown = [*lines[:room], *[""] * min(-hidden, 1), *foot]
    return _TOP + "\n".join(f"{line}{_REST_OF_LINE}" for line in shown) + _BELOW


def _print_state(state: Answer, tell: Tell, terminal: Terminal) -> None:
    try:
        tell(state, terminal)
    except (DaemonNotRunning, ConnectionEnded) as error:
        terminal.line(styled(error.message, "red"))


def _drawn_lines(write: Callable[[Terminal], object], terminal: Terminal, width: int) -> list[str]:
    """Return the lines that `write` prints, as they look on `terminal`."""
    paper = io.StringIO()
    write(Terminal(paper, terminal.err, width=width, colour=terminal.colour))
    return paper.getvalue().lstrip("\n").splitlines()


def _size(terminal: Terminal) -> tuple[int, int]:
    """Return the columns to print for and the rows of the window."""
    height = shutil.get_terminal_size((80, 24)).lines
    width = columns() if terminal.out is sys.stdout else terminal.width
    return width, height


def _clock() -> str:
    return time.strftime("%H:%M:%S")


@contextmanager
def _other_screen(terminal: Terminal) -> Iterator[None]:
    """Switch to the alternate screen; restore the terminal, also on a signal."""

    def enter() -> None:
        terminal.out.write(_ENTER)
        terminal.out.flush()

    def leave() -> None:
        terminal.out.write(_LEAVE)
        terminal.out.flush()

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    def pause(number: int, _: FrameType | None) -> None:
        leave()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # Ctrl-Z: we stop here until SIGCONT
        signal.signal(number, pause)
        enter()

    handlers = {signal.SIGTERM: end, signal.SIGHUP: end, signal.SIGTSTP: pause}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        enter()
        yield
    finally:
        leave()
        for number, handler in before.items():
            signal.signal(number, handler)
