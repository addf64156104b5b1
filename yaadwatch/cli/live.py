"""`status --watch`: in place on a terminal, one after the other where there is none, until Ctrl-C.

On a terminal it takes the other screen, as a pager does, and gives everything back however it ends.
"""

import io
import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from yaadwatch.cli.terminal import UNLIMITED, Terminal, columns, styled
from yaadwatch.client.connection import Ended, NobodyListens
from yaadwatch.model.errors import YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.client.connection import Client

Answer = dict[str, Any]
Tell = Callable[[Answer, Terminal], None]

ASK_S = 10.0
"""Without news the daemon is asked this often; it may have died, and problems are no events."""
APART_S = 0.5
"""However much happens, two questions are so far apart."""
DRAW_S = 1.0
"""What is shown tells how long ago things were."""
LOOK_S = 0.2

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"
"""The other screen, no cursor, and lines that are cut off rather than wrapped."""
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_TOP, _REST_OF_LINE, _BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


def keep_showing(
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
        BrokenPipeError: whoever read it has left.
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
    """Says whether anything was told since it was last asked; hears it in a thread."""

    def __init__(self, client: "Client") -> None:
        self._client = client.beside()
        self._told = threading.Event()
        self._closed = threading.Event()
        threading.Thread(target=self._listen, name="news", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait for news, at most so long; return whether there is any."""
        return self._told.wait(seconds)

    def forget(self) -> None:
        """Take what was told so far for known."""
        self._told.clear()

    def close(self) -> None:
        """Listen no more, once what is heard now is over."""
        self._closed.set()

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                for _ in self._client.events():
                    self._told.set()
            except YaadError:  # no daemon now: the state says so, and who comes next is heard
                self._client.close()
            self._told.set()
            self._closed.wait(DRAW_S)


class _States:
    """The states one after the other, each as soon as it is known."""

    def __init__(self, ask: Callable[[], Answer], news: News) -> None:
        self._ask = ask
        self._news = news
        self._asked_s = time.monotonic()
        self.last = ask()

    def next(self) -> Answer:
        """Return the state, asked for anew if there are news or it is old; take a moment."""
        heard = self._news.wait(LOOK_S)
        age_s = time.monotonic() - self._asked_s
        if (heard and age_s >= APART_S) or age_s >= ASK_S:
            self._news.forget()
            try:
                self.last = self._ask()
            except Ended:  # it ended under our question; the next one finds out
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
                _tell(state, tell, terminal)
            terminal.flush()
            shown = kept
        if _is_left(terminal):
            raise BrokenPipeError
        state = states.next()


def _is_left(terminal: Terminal) -> bool:
    """Tell whether nobody reads what we print any more; writing would tell only with a change."""
    if terminal.out is not sys.stdout:
        return False
    looked = select.poll()
    looked.register(terminal.out.fileno(), 0)
    return bool(looked.poll(0))


def _of_interest(state: Answer) -> Answer:
    """Return a state without what changes all the time and is no news."""
    return {**state, "daemon": {**state["daemon"], "rss_bytes": None}}


def _draw(states: _States, tell: Tell, terminal: Terminal) -> NoReturn:
    """Show the state in place, and anew when it, the time or the size of the window changed."""
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
    """Return what fills the window: as much of the state as fits, and a last line that says so."""
    width, height = size
    lines = _lines(lambda paper: _tell(state, tell, paper), terminal, width)
    room = max(height - 1, 1)
    hidden = len(lines) - room
    more = f", {hidden} more lines: yaadwatch status" if hidden > 0 else ""
    last = styled(f"{_clock()}, Ctrl-C ends{more}", "dim")
    foot = _lines(lambda paper: paper.line(last), terminal, UNLIMITED)
    shown = [*lines[:room], *[""] * min(-hidden, 1), *foot]
    return _TOP + "\n".join(f"{line}{_REST_OF_LINE}" for line in shown) + _BELOW


def _tell(state: Answer, tell: Tell, terminal: Terminal) -> None:
    try:
        tell(state, terminal)
    except (NobodyListens, Ended) as error:
        terminal.line(styled(error.message, "red"))


def _lines(write: Callable[[Terminal], object], terminal: Terminal, width: int) -> list[str]:
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
    """Take the other screen of the terminal; give back the first one, also when we are ended."""

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
        os.kill(os.getpid(), number)  # Ctrl-Z: we stand still here, until somebody goes on with us
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
