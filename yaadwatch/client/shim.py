"""Relays lines between an agent and the daemon: what `yaadwatch mcp` is.

An agent starts it with every session and keeps it until it ends; the daemon may come and go. So it
knows which requests are not answered yet: after a restart it shakes hands again and asks them anew,
where that does no harm (docs/contracts.md); of others it says that they may be done. Only when no
daemon can be had it answers by itself. Run as a file, `python -I -S .../yaadwatch/client/shim.py`,
it needs nothing but the standard library and the folder it lies in.
"""

import os
import select
import sys
import time

if not __package__:  # run as a file
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120

from yaadwatch import places
from yaadwatch.client import quick_json as json
from yaadwatch.client.reach import reach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Sequence
    from subprocess import Popen
    from typing import Any

LINE_BYTES_MAX = 4 * 1024 * 1024
"""What the daemon takes as one line."""
HANDSHAKE_TIME_S = 8.0
"""A handshake is answered after this at the latest, by us if need be."""
ANSWER_TIME_S = 120.0
"""Any other request, likewise."""
GREETING_TIME_S = 5.0
"""From connecting to the daemon's first line."""
TRIES_MAX = 3
"""Connections that may break while a request waits; after that it is not asked again."""
PAUSE_S = 5.0
"""After no daemon could be had, we answer by ourselves for so long before we look again."""
END_TIME_S = 10.0
"""When the agent has closed its side, answers that are due are waited for this long."""
PEEK_S = 2.0
"""Without a daemon, and with nothing to ask but subscriptions, we look for one so often."""
UNSENT_BYTES_MAX = 1024 * 1024
"""With more than this for the daemon we do not read on."""
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
WIDE_READS = {
    "yaad_graph": ("traverse", "graph_stats", "export"),
    "yaad_curate": ("show", "history", "claims", "contradictions", "gaps"),
}
"""What of the wide tools changes nothing: the rest of them is asked once."""
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"

_RPC = {"jsonrpc": "2.0"}
_REPLAY = "yaadwatch-replay-"
_STREAM_KEY = "io.modelcontextprotocol/subscriptionId"
_BUSY_S = 0.05
_CHUNK = 65536
_UNDECIDED = (
    "The daemon ended before it answered. This may be done, or not: look, before you ask again."
)
_START = (
    "import sys; sys.path.append(sys.argv[1]); from yaadwatch.client import autostart;"
    " sys.exit(autostart.main())"
)


class Asked:
    """A request that waits for its answer."""

    __slots__ = ("frame", "line", "since_s", "tries")

    def __init__(self, frame: "dict[str, Any]", line: bytes) -> None:
        self.frame = frame
        self.line = line
        self.tries = 0
        self.since_s = time.monotonic()

    @property
    def method(self) -> str:
        """Return what is asked for."""
        return str(self.frame["method"])

    @property
    def is_harmless(self) -> bool:
        """Whether nothing more is done when it is asked twice."""
        params = self.frame.get("params")
        if self.method != "tools/call" or not isinstance(params, dict):
            return True
        name, given = params.get("name"), params.get("arguments")
        given = given if isinstance(given, dict) else {}
        if name == "yaad_task_update":
            return given.get("id") is not None
        return not isinstance(name, str) or given.get("do") in WIDE_READS.get(
            name, (given.get("do"),)
        )

    @property
    def due_s(self) -> float:
        """Return when, by the monotonic clock, an answer must be there."""
        opens = self.method in {"initialize", "server/discover"}
        return self.since_s + (HANDSHAKE_TIME_S if opens else ANSWER_TIME_S)


class Lines:
    """Bytes in, whole lines out."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in `chunk`, each with its line feed."""
        self._rest += chunk
        if b"\n" not in chunk:
            return []
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        return [bytes(line) + b"\n" for line in lines]


class Shim:
    """One agent on `agent_in` and `agent_out`, and the daemon, whenever there is one.

    Args:
        folder: what the agent works on; absolute.
        agent: its name; None leaves that to the handshake.
        agent_in: descriptor that the agent's lines come from.
        agent_out: descriptor that they are answered on.
    """

    def __init__(
        self, folder: str, agent: str | None = None, *, agent_in: int = 0, agent_out: int = 1
    ) -> None:
        self._hello = {
            "protocol": places.PROTOCOL,
            "client": f"yaadwatch-mcp/{places.VERSION}",
            "cwd": folder,
            "agent": agent,
            "speaks": "mcp",
        }
        self._in = agent_in
        self._out = agent_out
        self._agent_lines = Lines()
        self._ends_s: float | None = None
        self._pending: dict[int | str, Asked] = {}
        self._subscribed: dict[str, Asked] = {}  # by resource, in the era of the handshake
        self._streams: dict[int | str, Asked] = {}  # subscriptions without: what was acknowledged
        self._opening: Asked | None = None
        self._opened_alone = False
        self._initialized = b""
        self._daemon: socket | None = None
        self._daemon_lines = Lines()
        self._unsent = bytearray()
        self._greeted = False
        self._greeting_due_s = 0.0
        self._replays = 0
        self._replayed: dict[str, str] = {}  # resources that are subscribed to again
        self._peek_again_s = 0.0
        self._starter: Popen[bytes] | None = None
        self._reason = ""
        self._alone_until_s = 0.0
        self._look_again_s = 0.0

    def run(self) -> None:
        """Relay until the agent is gone."""
        while self._ends_s is None or (self._pending and time.monotonic() < self._ends_s):
            self._keep_times()
            if self._daemon is None and self._starter is None:
                if self._pending:
                    self._look_for_daemon()
                elif self._subscribed or self._streams:
                    self._peek_for_daemon()
            self._wait()
        self._leave()

    def _wait(self) -> None:
        """Sleep until something can be read or written, or a time is over; then deal with it."""
        poll = select.poll()
        if self._ends_s is None and len(self._unsent) < UNSENT_BYTES_MAX:
            poll.register(self._in, select.POLLIN)
        daemon = self._daemon.fileno() if self._daemon is not None else -1
        if daemon >= 0:
            poll.register(daemon, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        starter = self._starter.stdout.fileno() if self._starter and self._starter.stdout else -1
        if starter >= 0:
            poll.register(starter, select.POLLIN)
        for descriptor, event in poll.poll(self._sleep_ms()):
            if descriptor == self._in:
                self._read_agent()
            elif descriptor == starter:
                self._starter_ended()
            elif self._daemon is not None:
                if event & select.POLLOUT:
                    self._flush()
                if event & ~select.POLLOUT:
                    self._read_daemon()

    def _sleep_ms(self) -> int | None:
        """Return how long nothing needs to be done, in milliseconds; None: without end."""
        times = [asked.due_s for asked in self._pending.values()]
        if self._ends_s is not None:
            times.append(self._ends_s)
        if self._daemon is not None and not self._greeted:
            times.append(self._greeting_due_s)
        if self._daemon is None and self._starter is None:
            if self._pending:
                times.append(self._look_again_s)
            elif self._subscribed or self._streams:
                times.append(self._peek_again_s)
        if not times:
            return None
        return max(0, int((min(times) - time.monotonic()) * 1000) + 1)

    def _keep_times(self) -> None:
        """Answer what waited too long; leave a daemon that does not greet us."""
        now = time.monotonic()
        if self._daemon is not None and not self._greeted and now >= self._greeting_due_s:
            self._part(f"The daemon did not greet us within {GREETING_TIME_S:g} s.")
        for asked in [asked for asked in self._pending.values() if now >= asked.due_s]:
            waited = f"The daemon did not answer within {now - asked.since_s:.0f} s."
            self._answer_alone(asked, self._reason or waited)

    # The agent.

    def _read_agent(self) -> None:
        try:
            chunk = os.read(self._in, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self._ends_s = time.monotonic() + END_TIME_S
            return
        for line in self._agent_lines.feed(chunk):
            if line.strip():
                self._from_agent(line)

    def _from_agent(self, line: bytes) -> None:
        frame = _decoded(line)
        if frame is None:
            self._refuse(None, -32700, "A line must be one JSON object.")
            return
        method, identity = frame.get("method"), frame.get("id")
        if len(line) > LINE_BYTES_MAX:
            told = f"The line has {len(line)} bytes; {LINE_BYTES_MAX} is the limit."
            self._refuse(identity, -32600, told)
        elif not isinstance(method, str):
            self._to_daemon(line)
        elif "id" not in frame:
            self._notice(method, frame, line)
        elif isinstance(identity, bool) or not isinstance(identity, int | str):
            self._refuse(None, -32600, "id must be a number or text.")
        else:
            self._ask(identity, Asked(frame, line))

    def _notice(self, method: str, frame: "dict[str, Any]", line: bytes) -> None:
        if method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            params = frame.get("params")
            cancelled = params.get("requestId") if isinstance(params, dict) else None
            if isinstance(cancelled, int | str):
                self._pending.pop(cancelled, None)
                self._streams.pop(cancelled, None)
        self._to_daemon(line)

    def _ask(self, identity: int | str, asked: Asked) -> None:
        if asked.method == "initialize":
            self._opening, self._opened_alone, self._initialized = asked, False, b""
            self._subscribed.clear()
        self._pending[identity] = asked
        if self._daemon is not None:
            self._to_daemon(asked.line)
        elif time.monotonic() < self._alone_until_s:
            self._answer_alone(asked, self._reason)

    def _to_agent(self, line: bytes) -> None:
        while line:
            try:
                line = line[os.write(self._out, line) :]
            except BlockingIOError:
                writable = select.poll()
                writable.register(self._out, select.POLLOUT)
                writable.poll()

    def _refuse(self, identity: object, code: int, told: str) -> None:
        self._to_agent(_line(_RPC | {"id": identity, "error": {"code": code, "message": told}}))

    # The daemon.

    def _peek_for_daemon(self) -> None:
        """Connect to a daemon that somebody else started: to hear of changes, none is started."""
        if time.monotonic() >= self._peek_again_s:
            self._peek_again_s = time.monotonic() + PEEK_S
            self._look_for_daemon(starts=False)

    def _look_for_daemon(self, *, starts: bool = True) -> None:
        """Connect to the daemon, or have one started; then say again what it does not know."""
        if time.monotonic() < self._look_again_s:
            return
        try:
            self._daemon = reach()
        except BlockingIOError:
            self._look_again_s = time.monotonic() + _BUSY_S
            return
        except PermissionError as error:
            self._give_up(str(error))
            return
        if self._daemon is None:
            if starts:
                self._start_daemon()
            return
        self._daemon.setblocking(False)
        self._daemon_lines = Lines()
        self._greeted = False
        self._greeting_due_s = time.monotonic() + GREETING_TIME_S
        self._unsent = bytearray(_line(self._hello))
        self._shake_hands_again()
        for asked in [*self._streams.values(), *self._pending.values()]:
            self._to_daemon(asked.line)

    def _shake_hands_again(self) -> None:
        """Replay the handshake on a new connection, under an id that no agent has."""
        opening = self._opening
        if opening is None or opening.frame["id"] in self._pending:
            return
        self._replay(opening)
        self._unsent += self._initialized
        self._replayed = {self._replay(one): uri for uri, one in self._subscribed.items()}

    def _replay(self, asked: Asked) -> str:
        self._replays += 1
        identity = f"{_REPLAY}{self._replays}"
        self._unsent += _line(asked.frame | {"id": identity})
        return identity

    def _to_daemon(self, line: bytes) -> None:
        """Send `line`; without a daemon it is lost, unless it is a request that waits."""
        if self._daemon is not None:
            self._unsent += line
            self._flush()

    def _flush(self) -> None:
        if self._daemon is None:
            return
        try:
            while self._unsent:
                del self._unsent[: self._daemon.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            # What it said before it ended can still be read; then we see the end.
            self._unsent.clear()

    def _read_daemon(self) -> None:
        if self._daemon is None:
            return
        try:
            chunk = self._daemon.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._daemon_ended()
            return
        for line in self._daemon_lines.feed(chunk):
            if self._daemon is None:
                return
            self._from_daemon(line)

    def _from_daemon(self, line: bytes) -> None:
        frame = _decoded(line) or {}
        if not self._greeted:
            error = frame.get("error")
            if error is not None:
                self._part(_told(error))
                return
            self._greeted, self._reason, self._alone_until_s = True, "", 0.0
            return
        if "method" in frame:
            self._from_stream(frame, line)
            return
        identity = frame.get("id")
        if identity is None:
            self._reason = _told(frame.get("error"))
        elif isinstance(identity, str) and identity.startswith(_REPLAY):
            self._replay_answered(identity, frame)
        elif identity in self._pending:
            self._note_subscription(self._pending.pop(identity), frame)
            self._to_agent(line)

    def _replay_answered(self, identity: str, frame: "dict[str, Any]") -> None:
        """Take the answer to what the agent does not know we asked."""
        if identity in self._replayed:
            uri = self._replayed.pop(identity)
            if "result" in frame:
                self._tell_changed([uri], {})
            else:
                self._subscribed.pop(uri, None)
        elif self._opened_alone:
            self._opened_alone = False
            self._to_agent(_line(_RPC | {"method": "notifications/tools/list_changed"}))

    def _note_subscription(self, asked: Asked, frame: "dict[str, Any]") -> None:
        params = asked.frame.get("params")
        uri = params.get("uri") if isinstance(params, dict) else None
        if not isinstance(uri, str) or "result" not in frame:
            return
        if asked.method == "resources/subscribe":
            self._subscribed[uri] = asked
        elif asked.method == "resources/unsubscribe":
            self._subscribed.pop(uri, None)

    def _from_stream(self, frame: "dict[str, Any]", line: bytes) -> None:
        """Relay what the daemon tells unasked. A stream that was opened again is no news, but what
        it is about may have changed meanwhile.
        """
        if frame["method"] != "notifications/subscriptions/acknowledged":
            self._to_agent(line)
            return
        identity = frame["params"]["_meta"][_STREAM_KEY]
        asked = self._pending.pop(identity, None)
        if asked is not None:
            self._streams[identity] = asked
            self._to_agent(line)
        elif identity in self._streams:
            uris = frame["params"]["notifications"].get("resourceSubscriptions", [])
            self._tell_changed(uris, {"_meta": {_STREAM_KEY: identity}})

    def _tell_changed(self, uris: "Sequence[str]", more: "dict[str, Any]") -> None:
        for uri in uris:
            updated = {"method": "notifications/resources/updated", "params": {"uri": uri} | more}
            self._to_agent(_line(_RPC | updated))

    def _daemon_ended(self) -> None:
        """Ask again what it did not answer, unless that may be what ends it, or be done twice."""
        self._drop_daemon()
        if not self._greeted:
            # On its way out: it has read nothing of ours.
            self._look_again_s = time.monotonic() + _BUSY_S
            return
        for asked in self._pending.values():
            asked.tries += 1
        for asked in [asked for asked in self._pending.values() if not asked.is_harmless]:
            self._answer_alone(asked, self._reason, _UNDECIDED)
        for asked in [asked for asked in self._pending.values() if asked.tries >= TRIES_MAX]:
            told = f"The daemon ended {asked.tries} times before it answered this."
            self._answer_alone(asked, self._reason or told)

    def _part(self, reason: str) -> None:
        self._drop_daemon()
        self._give_up(reason)

    def _drop_daemon(self) -> None:
        if self._daemon is not None:
            self._daemon.close()
        self._daemon = None
        self._unsent.clear()

    def _start_daemon(self) -> None:
        """Have a daemon started by a process that ends then, so that it is no child of ours."""
        from subprocess import DEVNULL, PIPE, STDOUT, Popen

        parent = os.path.dirname(os.path.dirname(os.path.abspath(places.__file__)))  # noqa: PTH100, PTH120
        try:
            self._starter = Popen(
                [sys.executable, "-I", "-c", _START, parent],
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            self._give_up(f"The daemon could not be started: {error.strerror}.")

    def _starter_ended(self) -> None:
        """Hear what the starter says; at its end there is a daemon, or a reason."""
        if self._starter is None:
            return
        said, _ = self._starter.communicate()
        status, self._starter = self._starter.returncode, None
        if status != 0:
            told = said.decode("utf-8", "replace").strip()
            self._give_up(told or f"The daemon could not be started (status {status}).")

    # Without a daemon.

    def _give_up(self, reason: str) -> None:
        """Answer by ourselves what waits, and what comes within the next seconds."""
        if reason != self._reason:
            sys.stderr.write(f"yaadwatch: {reason}\n")
        self._reason = reason
        self._alone_until_s = time.monotonic() + PAUSE_S
        for asked in list(self._pending.values()):
            self._answer_alone(asked, reason)

    def _answer_alone(self, asked: Asked, reason: str, told: str = "") -> None:
        """Say that there is no daemon, or what is `told`, in the way in which the agent asked."""
        identity = asked.frame["id"]
        del self._pending[identity]
        if asked is self._opening:
            self._opened_alone = True
        told = told or f"yaadwatch cannot be asked now: {reason} Work on without it."
        self._to_agent(_line(_RPC | {"id": identity} | _alone(asked.frame, told)))

    def _leave(self) -> None:
        self._drop_daemon()
        if self._starter is not None and self._starter.stdout is not None:
            self._starter.stdout.close()


def _alone(frame: "dict[str, Any]", told: str) -> "dict[str, Any]":
    """Return `result` or `error` for a request that no daemon will answer."""
    params = frame.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    stateless = isinstance(meta, dict) and VERSION_KEY in meta
    method = frame["method"]
    if method == "initialize":
        asked = params.get("protocolVersion")
        return {
            "result": {
                "protocolVersion": asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "yaadwatch", "version": places.VERSION},
                "instructions": told,
            }
        }
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        extra = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return {"result": {"tools": []} | (extra if stateless else {})}
    if method == "tools/call":
        result = {"content": [{"type": "text", "text": told}], "isError": True}
        return {"result": result | ({"resultType": "complete"} if stateless else {})}
    return {"error": {"code": -32601, "message": f"{method} cannot be answered now. {told}"}}


def _line(frame: "dict[str, Any]") -> bytes:
    return json.dumps(frame).encode("utf-8", "replace") + b"\n"


def _decoded(line: bytes) -> "dict[str, Any] | None":
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return frame if isinstance(frame, dict) else None


def _told(error: object) -> str:
    """Return the words of an error object of the daemon."""
    if not isinstance(error, dict):
        return "The daemon refused the connection and gave no reason."
    return f"{error.get('message', '')} {error.get('hint') or ''}".strip()


def main(argv: "Sequence[str]") -> int:
    """Be the shim for the agent on standard input and output; return the exit status.

    Args:
        argv: `--project DIR` and `--agent NAME`, both optional; what else there is, is told on
            standard error and makes no difference.
    """
    given = {"--project": "", "--agent": ""}
    left = list(argv)
    while left:
        name = left.pop(0)
        if name in given and left:
            given[name] = left.pop(0)
        else:
            sys.stderr.write(f"yaadwatch: mcp takes no {name}; it was left out of account.\n")
    folder = given["--project"] or os.environ.get("CLAUDE_PROJECT_DIR") or "."
    try:
        Shim(_absolute(folder), given["--agent"] or None).run()
    except (BrokenPipeError, KeyboardInterrupt):
        # The agent is gone, or tells us to go.
        return 0
    return 0


def _absolute(folder: str) -> str:
    try:
        return os.path.abspath(folder)  # noqa: PTH100
    except FileNotFoundError:  # the folder that we were started in
        return "/"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
