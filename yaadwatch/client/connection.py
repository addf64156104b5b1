"""Connect to the daemon, send requests, and return answers as dicts or exceptions.

Synchronous and small, because every hook and every command imports it. `agent_of` detects the
coding agent that runs a command by the variables that agents set in their shells.
"""

import os
import socket
import time
from collections.abc import Callable, Mapping

from yaadwatch import places
from yaadwatch.api.frames import Stopping, at_address, decode, encode, peer_uid, to_error
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any


ANSWER_TIME_S = 60.0
SLOW_ANSWER_TIMES_S = {
    "add": 900.0,
    "check": 900.0,
    "upkeep": 900.0,
    "remove": 300.0,
} | dict.fromkeys(("verify", "compact", "backup", "export", "import"), 900.0)
"""Operations that may look at everything there is."""
GREETING_TIME_S = 20.0
"""A service manager may just be starting the daemon, on a machine that has much to do."""

RESTART_TIME_S = 10.0
"""While a service manager restarts the daemon, requests are repeated for so long."""

_HELLO = "hello"
_TICK_S = 1.0
_QUEUE_TRIES = 200
_QUEUE_PAUSE_S = 0.02


class DaemonNotRunning(YaadError):
    """No daemon answers on any socket we know of."""

    def __init__(self) -> None:
        super().__init__(
            Code.UNAVAILABLE,
            "No daemon is running; nothing was done.",
            hint="Start it: yaadwatch start",
        )


class DaemonUnresponsive(DaemonNotRunning):
    """A process listens but does not greet: a hung daemon, or the manager of a service
    that cannot start.
    """

    def __init__(self, waited_s: float, suspended: int | None = None) -> None:
        what = f"The daemon did not answer within {waited_s:g} s"
        hint = "What keeps it: yaadwatch doctor"
        if suspended is not None:
            what, hint = f"The daemon (process {suspended}) is suspended", _go_on(suspended)
        YaadError.__init__(self, Code.UNAVAILABLE, f"{what}; nothing was done.", hint=hint)


class ConnectionEnded(YaadError):
    """The daemon went away before it answered."""

    def __init__(self, operation: str) -> None:
        super().__init__(
            Code.UNAVAILABLE,
            f"The daemon ended the connection before it answered `{operation}`;"
            " it may or may not have been done.",
            hint="Whether it came in whole: yaadwatch import --list"
            if operation == "import"
            else "See whether it runs: yaadwatch status",
        )


class Client:
    """One connection to the daemon, opened on first use and again after it broke.

    Args:
        cwd: the folder that requests are about, unless they name a `project`; absolute.
        agent: the name of the coding agent on whose behalf we ask; None for a person.
        start: starts a daemon and returns when it answers; without it a missing daemon is an error.
        on_wait: called once a second with the seconds waited for an answer.
        patience_s: an answer is waited for this long; None: as long as the operation usually takes.
    """

    def __init__(
        self,
        *,
        cwd: str,
        agent: str | None = None,
        start: Callable[[], object] | None = None,
        on_wait: Callable[[int], object] | None = None,
        patience_s: float | None = None,
    ) -> None:
        self._patience_s = patience_s
        self._cwd = cwd
        self._agent = agent
        self._start = start
        self._on_wait = on_wait
        self._socket: socket.socket | None = None
        self._read = bytearray()
        self._asked = 0
        self.wrote: dict[str, None] = {}
        """The agent files that its calls wrote."""
        self.unreachable: YaadError | None = None
        """Why there is no daemon: it hangs, or cannot be started."""
        self._greeted_at = ("", 0.0)
        self.pid: int | None = None
        """Of the daemon, once connected."""

    def call(self, operation: str, /, **fields: object) -> "dict[str, Any]":
        """Ask for `operation` and return its answer.

        An ending daemon answers what it has not done; those requests go to the next daemon. So
        does, once, an interrupted request that changes nothing.

        Raises:
            DaemonNotRunning: no daemon runs and there is no `start` function.
            YaadError: what the daemon says went wrong; unavailable, when it went away before it
                answered; timeout, when it did not answer in time.
        """
        until_s = time.monotonic() + RESTART_TIME_S
        again = True
        while True:
            try:
                return self._exchange(self.connect(), operation, fields)
            except ConnectionEnded:
                if not (again and _changes_nothing(operation)):
                    raise
                again = False
            except Stopping:
                self.close()
                if operation == "shutdown" or time.monotonic() >= until_s:
                    raise
                time.sleep(_QUEUE_PAUSE_S)

    def _exchange(
        self, connected: socket.socket, operation: str, fields: dict[str, object]
    ) -> "dict[str, Any]":
        self._asked += 1
        frame = {"jsonrpc": "2.0", "id": self._asked, "method": operation, "params": fields}
        try:
            _send(connected, frame)
            usual_s = SLOW_ANSWER_TIMES_S.get(operation, ANSWER_TIME_S)
            time_s = usual_s if self._patience_s is None else self._patience_s
            found = self._next(connected, operation, time_s)
        except BaseException:
            # What comes next on this connection would answer a question that we gave up.
            self.close()
            raise
        if found.get("id") != self._asked:
            # A frame that we did not ask for: why the connection is being ended.
            self.close()
            raise to_error(found.get("error"))
        if "error" in found:
            raise to_error(found["error"])
        result = found.get("result")
        if not isinstance(result, dict):
            raise _nonsense(operation)
        self.wrote |= dict.fromkeys(result.get("wrote", ()))
        return result

    def connect(self) -> socket.socket:
        """Return a connection on which the daemon has greeted us; `call` does this by itself.

        Raises:
            DaemonNotRunning, YaadError: as for `call`.
        """
        if self._socket is not None and _is_over(self._socket):
            self.close()
        try:
            connected = self._socket or self._greeted()
        except DaemonUnresponsive as error:
            self.unreachable = error
            raise
        if connected is None and self._start is not None:
            try:
                self._start()
            except YaadError as error:
                self.unreachable = error
                raise
            connected = self._greeted()
        if connected is None:
            raise DaemonNotRunning
        return connected

    def now(self) -> "datetime":
        """Return the present time by the daemon's clock, as in its answers.

        Raises:
            DaemonNotRunning, YaadError: as for `call`.
        """
        from datetime import datetime, timedelta

        self.connect()
        at, since_s = self._greeted_at
        return datetime.fromisoformat(at) + timedelta(seconds=time.monotonic() - since_s)

    def beside(self, patience_s: float | None = None) -> "Client":
        """Return another client for the same folder and agent, with a connection of its own."""
        return Client(
            cwd=self._cwd,
            agent=self._agent,
            start=self._start,
            on_wait=self._on_wait,
            patience_s=patience_s,
        )

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._read.clear()

    def _greeted(self) -> socket.socket | None:
        """Return a connection after the greeting, or None when no daemon greets us.

        An ending daemon reads nothing. Its successor on the socket is the next daemon, or
        a service manager that is about to start it.
        """
        until_s = time.monotonic() + RESTART_TIME_S
        while (connected := reach_daemon()) is not None:
            try:
                self._greet(connected)
            except ConnectionEnded:
                self.close()
                if time.monotonic() >= until_s:
                    return None
                time.sleep(_QUEUE_PAUSE_S)
            except BaseException:
                self.close()
                raise
            else:
                return connected
        return None

    def _greet(self, connected: socket.socket) -> None:
        self._socket = connected
        _send(connected, hello("yaadwatch", self._cwd, self._agent))
        greeting = self._next(connected, _HELLO, GREETING_TIME_S)
        if "error" in greeting:
            raise to_error(greeting["error"])
        pid = greeting.get("pid")
        self.pid = pid if isinstance(pid, int) else None
        self._greeted_at = (str(greeting.get("at")), time.monotonic())

    def _next(self, connected: socket.socket, operation: str, time_s: float) -> dict[str, object]:
        """Return the next frame within `time_s`."""
        connected.settimeout(_TICK_S)
        searched, waited_s, suspended = 0, 0.0, None
        while (end := self._read.find(b"\n", searched)) < 0:
            searched = len(self._read)
            # Twice what the daemon sends at most.
            if searched > 8 * 1024 * 1024:
                raise _nonsense(operation)
            try:
                chunk = connected.recv(65536)
            except TimeoutError:
                waited_s += _TICK_S
                before, suspended = suspended, _suspended()
                is_suspended = suspended is not None and suspended == before
                if is_suspended or waited_s >= time_s:
                    pid = suspended if is_suspended else None
                    raise _not_answered(operation, time_s, pid) from None
                if self._on_wait is not None:
                    self._on_wait(int(waited_s))
                continue
            except ConnectionError:
                chunk = b""
            if not chunk:
                raise ConnectionEnded(operation)
            self._read += chunk
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        try:
            return decode(line)
        except ValueError:
            raise _nonsense(operation) from None


def hello(client: str, folder: str, agent: str | None, speaks: str = "rpc") -> dict[str, object]:
    """Return the first line of a connection: who asks, and from which folder."""
    return {
        "protocol": places.PROTOCOL,
        "client": f"{client}/{places.VERSION}",
        "cwd": folder,
        "agent": agent,
        "speaks": speaks,
    }


def _suspended() -> int | None:
    from yaadwatch.client.presence import suspended

    return suspended()


def _not_answered(operation: str, waited_s: float, suspended: int | None) -> YaadError:
    """Return the error of a daemon that was waited for; `suspended` is its pid if it is."""
    if operation == _HELLO:
        return DaemonUnresponsive(waited_s, suspended)
    if suspended is not None:
        return YaadError(
            Code.TIMEOUT,
            f"The daemon (process {suspended}) is suspended and has not answered "
            f"`{operation}`; it may yet be done.",
            hint=_go_on(suspended),
        )
    return YaadError(
        Code.TIMEOUT,
        f"The daemon did not answer `{operation}` within {waited_s:g} s; it may yet be done.",
        hint="See what it does: yaadwatch status",
    )


def _go_on(pid: int) -> str:
    return f"Have it go on: kill -CONT {pid} (after Ctrl-Z: fg in its terminal)"


def _changes_nothing(operation: str) -> bool:
    from yaadwatch.api.operations import BY_NAME

    known = BY_NAME.get(operation)
    return known is not None and known.kind == "read"


def reach_daemon(*, waits: bool = True) -> socket.socket | None:
    """Return a connection to a process of our own user that listens where a daemon would, or None.

    Args:
        waits: whether to wait for a place in the queue of a daemon that is busy.

    Raises:
        DaemonUnresponsive: the queue of the listener stayed full.
        YaadError: unavailable, when the socket cannot be reached; refused, when it is another
            user's.
    """
    for path in places.sockets():
        connected = _reach(path, _QUEUE_TRIES if waits else 1)
        if connected is not None:
            return connected
    return None


def _reach(path: str, tries: int) -> socket.socket | None:
    """Connect; retry while the listener's queue is full, where the kernel fails at once."""
    connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connecting.setblocking(False)
    try:
        while True:
            try:
                at_address(path, connecting.connect)
                break
            except BlockingIOError:
                tries -= 1
                if not tries:
                    raise DaemonUnresponsive(_QUEUE_TRIES * _QUEUE_PAUSE_S, _suspended()) from None
                time.sleep(_QUEUE_PAUSE_S)
        uid = peer_uid(connecting)
        if uid != os.geteuid():
            raise YaadError(
                Code.REFUSED,
                f"The process that listens on {path} belongs to user {uid}; nothing was sent to"
                " it.",
                hint="Run the command as that user, or set YAAD_HOME to a folder of your own.",
            )
    except (FileNotFoundError, NotADirectoryError, ConnectionError):
        connecting.close()
        return None
    except OSError as error:
        connecting.close()
        raise YaadError(
            Code.UNAVAILABLE,
            f"The socket {path} cannot be reached: {error.strerror or error}. Nothing was done.",
        ) from None
    except YaadError:
        connecting.close()
        raise
    return connecting


def _send(connected: socket.socket, frame: dict[str, object]) -> None:
    connected.settimeout(GREETING_TIME_S)
    try:
        connected.sendall(encode(frame))
    except TimeoutError:
        raise YaadError(
            Code.TIMEOUT, f"The daemon did not read the request for {GREETING_TIME_S:g} s."
        ) from None
    except ConnectionError:
        # The daemon may have sent why it ended the connection; the next read returns it.
        return


def _is_over(connected: socket.socket) -> bool:
    """Return whether the daemon has closed this connection meanwhile."""
    connected.setblocking(False)
    try:
        return connected.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _nonsense(operation: str) -> YaadError:
    return YaadError(
        Code.INTERNAL,
        f"What the daemon answered to `{operation}` makes no sense to this version.",
        hint="Run: yaadwatch stop, then the command again.",
    )


SIGNS = (
    ("CLAUDECODE", "claude"),
    ("CLAUDE_CODE_ENTRYPOINT", "claude"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex"),
    ("CODEX_THREAD_ID", "codex"),
    ("CODEX_CI", "codex"),
    ("GEMINI_CLI", "gemini"),
    ("CURSOR_AGENT", "cursor"),
    ("OPENCODE", "opencode"),
    ("OPENCODE_CLIENT", "opencode"),
    ("CLINE_ACTIVE", "cline"),
    ("COPILOT_CLI", "copilot"),
    ("COPILOT_AGENT", "copilot"),
    ("QWEN_CODE", "qwen"),
    ("AUGMENT_AGENT", "augment"),
    ("GOOSE_TERMINAL", "goose"),
    ("ANTIGRAVITY_AGENT", "antigravity"),
)
"""Variables that an agent sets for the commands it runs, and its name."""
NAMED = ("AI_AGENT", "AGENT")
"""Variables that some agents set to their own name."""
_UNSET = frozenset({"", "0", "false", "no"})


def agent_of(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the agent that runs us and the variable that says so; None for a person or a script.

    What an agent types in a shell of its own is its word, and not a person's.
    """
    for variable, name in SIGNS:
        if environ.get(variable, "").strip().lower() not in _UNSET:
            return name, variable
    for variable in NAMED:
        given = environ.get(variable, "").strip().lower()
        if given not in _UNSET:
            return _plain(given), variable
    return None


def _plain(given: str) -> str:
    """Return a name in the form of an agent's name."""
    name = "".join(one if one.isascii() and one.isalnum() else "-" for one in given).strip("-")
    return name[:64].strip("-") or "agent"
