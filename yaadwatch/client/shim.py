"""Relay lines between an agent and the daemon: the command `yaadwatch mcp`.

The agent keeps the shim for a whole session; the daemon may restart meanwhile. So the shim keeps
the unanswered requests: after a restart it repeats the handshake and sends again those that are
safe to repeat (docs/contracts.md), and answers the others with an error that says they may be done.
It answers by itself only when no daemon can be started. Run as a file, `python -I -S
.../yaadwatch/client/shim.py`, it needs only the standard library and its own folder.
"""

import json
import os
import select
import sys
import time

if not __package__:  # run as a file
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120

from yaadwatch import places
from yaadwatch.client.connection import DaemonUnresponsive, hello, reach_daemon
from yaadwatch.model.errors import YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from socket import socket
    from subprocess import Popen
    from typing import Any


LINE_BYTES_MAX = 4 * 1024 * 1024
"""What the daemon takes as one line."""
GREETING_TIME_S = 5.0
"""From connecting to the daemon's first line."""
TRIES_MAX = 3
"""Connections that may break while a request waits; after that it is not asked again."""
LOOK_S = 2.0
"""Without a daemon, and with nothing to ask, we look for one so often to hear what is new."""

_IN, _OUT = 0, 1
_RPC = {"jsonrpc": "2.0"}
_REPLAY = "yaadwatch-replay"
"""The id of a repeated handshake. No agent uses it, and no agent gets the answer."""
_CHUNK = 65536
_UNDECIDED = (
    "The daemon ended before it answered. This may be done, or not: look, before you ask again."
)


HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
WIDE_READS = {
    "yaad_graph": ("traverse", "graph_stats", "export"),
    "yaad_curate": ("show", "history", "claims", "contradictions", "facts", "gaps"),
}
"""What of the wide tools changes nothing: the rest of them is asked once."""
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


class Batch:
    """Messages that came as one list, and the answers to them so far.

    `waits`: the answers that are missing, and 1 while its messages are still being read.
    """

    __slots__ = ("answers", "waits")

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.waits = 1

    def whole(self) -> bytes:
        """Return the line with all answers; empty while one is missing, or when none is due."""
        if self.waits or not self.answers:
            return b""
        return b"[" + b",".join(self.answers) + b"]\n"


class PendingRequest:
    """A request that waits for its answer."""

    __slots__ = ("batch", "due_s", "frame", "line", "method", "params", "patience_s", "tries")

    def __init__(self, frame: "dict[str, Any]", line: bytes, batch: "Batch | None" = None) -> None:
        self.frame = frame
        self.batch = batch
        if batch is not None:
            batch.waits += 1
        self.line = line
        self.method = str(frame["method"])
        self.params = params_of(frame)
        self.tries = 0
        opens = self.method in {"initialize", "server/discover"}
        # A handshake is answered after this at the latest, by us if need be.
        self.patience_s = 8.0 if opens else 120.0
        self.due_s = time.monotonic() + self.patience_s

    @property
    def is_harmless(self) -> bool:
        """Whether nothing more is done when it is asked twice."""
        name, given = self.params.get("name"), self.params.get("arguments")
        if self.method != "tools/call" or not isinstance(name, str):
            return True
        given = given if isinstance(given, dict) else {}
        if name == "yaad_task_update":
            return given.get("id") is not None
        return name not in WIDE_READS or given.get("do") in WIDE_READS[name]


def alone_answer(asked: PendingRequest, message: str) -> "dict[str, Any]":
    """Return `result` or `error` for a request that no daemon will answer."""
    meta = asked.params.get("_meta")
    stateless = isinstance(meta, dict) and VERSION_KEY in meta
    whole = {"resultType": "complete"} if stateless else {}
    kept = whole | {"ttlMs": 0, "cacheScope": "private"} if stateless else {}
    version = asked.params.get("protocolVersion")
    results = {
        "initialize": {
            "protocolVersion": version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "yaadwatch", "version": places.VERSION},
            "instructions": message,
        },
        "ping": {},
        "tools/list": {"tools": []} | kept,
        "tools/call": {"content": [{"type": "text", "text": message}], "isError": True} | whole,
    }
    if asked.method in results:
        return {"result": results[asked.method]}
    return {
        "error": {"code": -32601, "message": f"{asked.method} cannot be answered now. {message}"}
    }


def read_some(read: "Callable[[], bytes]") -> bytes | None:
    """Return what there is to read: b"" at the end, None when there is nothing yet."""
    try:
        return read()
    except BlockingIOError:
        return None
    except OSError:
        return b""


def lines_of(rest: bytearray, chunk: bytes) -> list[bytes]:
    """Return the lines that end in `chunk`, each with its line feed; `rest` keeps what follows."""
    rest += chunk
    if b"\n" not in chunk:
        return []
    *lines, left = rest.split(b"\n")
    rest[:] = left
    return [bytes(line) + b"\n" for line in lines]


def line_of(frame: "dict[str, Any]") -> bytes:
    """Return a message as one line; what an agent sent that is not quite JSON stays as it is."""
    text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def frame_of(line: bytes) -> "Any":
    """Return the message in a line, or the list of a batch; None when it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def params_of(frame: "dict[str, Any]") -> "dict[str, Any]":
    """Return the parameters of a message; none where they are no object."""
    params = frame.get("params")
    return params if isinstance(params, dict) else {}


def words_of(error: object) -> str:
    """Return the words of an error object of the daemon."""
    if not isinstance(error, dict):
        return "The daemon refused the connection and gave no reason."
    return f"{error.get('message', '')} {error.get('hint') or ''}".strip()


class Shim:
    """One agent on standard input and output, and the daemon, whenever there is one.

    Args:
        folder: what the agent works on; absolute.
        agent: its name; None leaves that to the handshake.
    """

    def __init__(self, folder: str, agent: str | None) -> None:
        self._hello = hello("yaadwatch-mcp", folder, agent, "mcp")
        self._agent_rest = bytearray()
        self._ends_s: float | None = None
        self._pending: dict[int | str, PendingRequest] = {}
        self._held: list[PendingRequest] = []
        self._opening: PendingRequest | None = None
        self._opened_alone = False
        self._initialized = b""
        self._daemon: socket | None = None
        self._daemon_rest = bytearray()
        self._unsent = bytearray()
        self._greeted = False
        self._greeting_due_s = 0.0
        self._starter: Popen[bytes] | None = None
        self._look_at_s = 0.0
        self._reason = ""
        self._alone_until_s = 0.0

    def run(self) -> None:
        """Relay until the agent is gone."""
        os.set_blocking(_OUT, True)
        while self._ends_s is None or (self._pending and time.monotonic() < self._ends_s):
            times = sorted(self._times(), key=lambda planned: planned[0])
            if times and times[0][0] <= time.monotonic():
                times[0][1]()
            else:
                self._wait(times[0][0] if times else None)
        self._drop_daemon()

    def _times(self) -> "list[tuple[float, Callable[[], None]]]":
        """Return due times on the monotonic clock, with what to do then."""
        times: list[tuple[float, Callable[[], None]]] = []
        if self._ends_s is not None:
            times.append((self._ends_s, self._drop_daemon))
        if self._pending:
            asked = min(self._pending.values(), key=lambda one: one.due_s)
            why = self._reason or f"The daemon did not answer within {asked.patience_s:g} s."
            times.append((asked.due_s, lambda: self._answer_alone(asked, why)))
        if self._daemon is not None:
            if not self._greeted:
                late = f"The daemon did not greet us within {GREETING_TIME_S:g} s."
                times.append((self._greeting_due_s, lambda: self._give_up(late)))
        elif self._starter is None and (self._pending or self._opened_alone):
            times.append((self._look_at_s, self._look_for_daemon))
        return times

    def _wait(self, until_s: float | None) -> None:
        """Wait for input, output or a time limit, and handle it."""
        reads: dict[int, Callable[[], None]] = {}
        # With more than this for the daemon, we do not read on.
        if self._ends_s is None and len(self._unsent) < 1024 * 1024:
            reads[_IN] = self._read_agent
        if self._daemon is not None:
            reads[self._daemon.fileno()] = self._read_daemon
        if self._starter is not None and self._starter.stdout is not None:
            reads[self._starter.stdout.fileno()] = self._starter_ended
        poll = select.poll()
        for descriptor in reads:
            poll.register(descriptor, select.POLLIN)
        if self._daemon is not None and self._unsent:
            poll.modify(self._daemon.fileno(), select.POLLIN | select.POLLOUT)
        left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
        for descriptor, event in poll.poll(None if left_s is None else int(left_s * 1000) + 1):
            if event & select.POLLOUT:
                self._flush()
            if event & ~select.POLLOUT:
                reads[descriptor]()

    # The agent.

    def _read_agent(self) -> None:
        chunk = read_some(lambda: os.read(_IN, _CHUNK))
        if chunk == b"":
            # Answers that are due are waited for this long.
            self._ends_s = time.monotonic() + 10.0
        for line in lines_of(self._agent_rest, chunk or b""):
            if line.strip():
                self._from_agent(line)

    def _from_agent(self, line: bytes) -> None:
        frame = frame_of(line)
        if isinstance(frame, list) and frame:
            self._take_batch(frame)
        elif isinstance(frame, dict):
            self._take(frame, line)
        else:
            self._refuse(None, -32700, "A line must be one JSON object.")

    def _take_batch(self, frames: "list[Any]") -> None:
        """Take the messages one by one; their answers are one line, a list.

        Versions of the protocol up to 2025-03-26 have batches.
        """
        batch = Batch()
        for frame in frames:
            if isinstance(frame, dict):
                self._take(frame, line_of(frame), batch)
            else:
                self._refuse(None, -32600, "A message must be an object.", batch)
        batch.waits -= 1
        self._to_agent(batch.whole())

    def _take(self, frame: "dict[str, Any]", line: bytes, batch: "Batch | None" = None) -> None:
        method, identity = frame.get("method"), frame.get("id")
        if len(line) > LINE_BYTES_MAX:
            message = f"The line has {len(line)} bytes; {LINE_BYTES_MAX} is the limit."
            self._refuse(identity, -32600, message, batch)
        elif not isinstance(method, str):
            self._to_daemon(line)
        elif "id" not in frame:
            self._notice(method, frame, line)
        elif isinstance(identity, bool) or not isinstance(identity, int | str):
            self._refuse(None, -32600, "id must be a number or text.", batch)
        else:
            asked = PendingRequest(frame, line, batch)
            if identity in self._pending:
                self._held.append(asked)  # an id that is in use: asked once the first is answered
            else:
                self._ask(identity, asked)

    def _notice(self, method: str, frame: "dict[str, Any]", line: bytes) -> None:
        if method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            cancelled = params_of(frame).get("requestId")
            if isinstance(cancelled, int | str):
                self._to_daemon(line)
                if cancelled in self._pending:
                    self._reply(self._pending[cancelled], b"")
                return
        self._to_daemon(line)

    def _ask(self, identity: int | str, asked: PendingRequest) -> None:
        if asked.method == "initialize":
            self._opening, self._opened_alone, self._initialized = asked, False, b""
        self._pending[identity] = asked
        if time.monotonic() < self._alone_until_s:
            self._answer_alone(asked, self._reason)
        else:
            self._look_at_s = 0.0
            self._to_daemon(asked.line)

    def _to_agent(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(_OUT, line) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            sys.stderr.write(
                f"yaadwatch: Standard output cannot be written ({error.strerror}); mcp ends.\n"
            )
            # As any command whose output cannot be written.
            raise SystemExit(3) from None

    def _tell_agent(self, frame: "dict[str, Any]") -> None:
        self._to_agent(line_of(_RPC | frame))

    def _refuse(
        self, identity: object, code: int, message: str, batch: "Batch | None" = None
    ) -> None:
        frame = {"id": identity, "error": {"code": code, "message": message}}
        if batch is None:
            self._tell_agent(frame)
        else:
            batch.answers.append(line_of(_RPC | frame).strip())

    def _reply(self, asked: PendingRequest, line: bytes) -> None:
        """Answer an open request, or drop it (b""); then send the held requests."""
        identity = asked.frame["id"]
        del self._pending[identity]
        if asked.batch is None:
            self._to_agent(line)
        else:
            asked.batch.waits -= 1
            asked.batch.answers += [line.strip()] if line else []
            self._to_agent(asked.batch.whole())
        held = next((one for one in self._held if one.frame["id"] == identity), None)
        if held is not None:
            self._held.remove(held)
            self._ask(identity, held)

    # The daemon.

    def _look_for_daemon(self) -> None:
        """Connect to the daemon, and send again what it does not know.

        A waiting request starts a daemon if there is none.
        """
        self._look_at_s = time.monotonic() + (0.05 if self._pending else LOOK_S)
        try:
            self._daemon = reach_daemon(waits=False)
        except DaemonUnresponsive:
            return
        except YaadError as error:
            self._give_up(error.message)
            return
        if self._daemon is None:
            if self._pending:
                self._start_daemon()
            return
        self._daemon.setblocking(False)
        self._daemon_rest.clear()
        self._greeted = False
        self._greeting_due_s = time.monotonic() + GREETING_TIME_S
        self._unsent = bytearray(line_of(self._hello))
        opening = self._opening
        if opening is not None and opening.frame["id"] not in self._pending:
            self._unsent += line_of(opening.frame | {"id": _REPLAY}) + self._initialized
        for asked in self._pending.values():
            self._to_daemon(asked.line)

    def _to_daemon(self, line: bytes) -> None:
        """Send `line`; without a daemon it is dropped, unless it is an open request."""
        if self._daemon is not None:
            self._unsent += line
            self._flush()

    def _flush(self) -> None:
        try:
            while self._unsent and self._daemon is not None:
                del self._unsent[: self._daemon.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            # What it said before it ended can still be read; then we see the end.
            self._unsent.clear()

    def _read_daemon(self) -> None:
        daemon = self._daemon
        if daemon is None:
            return
        chunk = read_some(lambda: daemon.recv(_CHUNK))
        if chunk == b"":
            self._daemon_ended()
        for line in lines_of(self._daemon_rest, chunk or b""):
            if self._daemon is not None:
                self._from_daemon(line)

    def _from_daemon(self, line: bytes) -> None:
        frame = frame_of(line) or {}
        if not self._greeted:
            error = frame.get("error")
            if error is not None:
                self._give_up(words_of(error))
                return
            self._greeted, self._reason, self._alone_until_s = True, "", 0.0
            return
        if "method" in frame:
            self._to_agent(line)
            return
        identity = frame.get("id")
        if identity is None:
            self._reason = words_of(frame.get("error"))
        elif identity == _REPLAY and self._opened_alone:
            self._opened_alone = False
            self._tell_agent({"method": "notifications/tools/list_changed"})
        elif identity in self._pending:
            self._reply(self._pending[identity], line)

    def _daemon_ended(self) -> None:
        """Send open requests again, unless they may have ended the daemon or be done twice."""
        self._drop_daemon()
        if not self._greeted:
            # On its way out: it has read nothing of ours.
            self._look_at_s = time.monotonic() + (0.05 if self._pending else LOOK_S)
            return
        self._look_at_s = 0.0
        for asked in list(self._pending.values()):
            asked.tries += 1
            if not asked.is_harmless:
                self._answer_alone(asked, self._reason, _UNDECIDED)
            elif asked.tries >= TRIES_MAX:
                message = f"The daemon ended {asked.tries} times before it answered this."
                self._answer_alone(asked, self._reason or message)

    def _drop_daemon(self) -> None:
        if self._daemon is not None:
            self._daemon.close()
        self._daemon = None
        self._unsent.clear()

    def _start_daemon(self) -> None:
        """Start the daemon through a process that then exits, so that it is not our child."""
        from subprocess import DEVNULL, PIPE, STDOUT, Popen

        starter = os.path.join(os.path.dirname(os.path.abspath(__file__)), "autostart.py")  # noqa: PTH100, PTH118, PTH120
        try:
            self._starter = Popen(
                [sys.executable, "-I", starter],
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            self._give_up(f"The daemon could not be started: {error.strerror}.")

    def _starter_ended(self) -> None:
        """Read the starter's output; at its end there is a daemon, or a reason."""
        if self._starter is None:
            return
        said, _ = self._starter.communicate()
        status, self._starter = self._starter.returncode, None
        self._look_at_s = 0.0
        if status != 0:
            message = said.decode("utf-8", "replace").strip()
            self._give_up(message or f"The daemon could not be started (status {status}).")

    # Without a daemon.

    def _give_up(self, reason: str) -> None:
        """Answer open requests, and those of the next seconds, without a daemon."""
        self._drop_daemon()
        if reason != self._reason:
            sys.stderr.write(f"yaadwatch: {reason}\n")
        self._reason = reason
        # For so long we answer by ourselves before we look again.
        self._alone_until_s = time.monotonic() + 5.0
        for asked in list(self._pending.values()):
            self._answer_alone(asked, reason)

    def _answer_alone(self, asked: PendingRequest, reason: str, message: str = "") -> None:
        """Answer that there is no daemon, or with `message`, in the form that the request needs."""
        if asked is self._opening:
            self._opened_alone = True
        message = message or f"yaadwatch cannot be asked now: {reason} Work on without it."
        self._reply(asked, line_of(_RPC | {"id": asked.frame["id"]} | alone_answer(asked, message)))


def main(argv: "Sequence[str]") -> int:
    """Be the shim for the agent on standard input and output; return the exit status.

    Args:
        argv: `--project DIR` and `--agent NAME`, both optional; what else there is, is told on
            standard error and makes no difference.
    """
    given = {"--project": "", "--agent": ""}
    left = iter(argv)
    for name in left:
        if name in given:
            given[name] = next(left, "")
        else:
            sys.stderr.write(f"yaadwatch: mcp takes no {name}; it was ignored.\n")
    folder = given["--project"] or os.environ.get("CLAUDE_PROJECT_DIR") or "."
    try:
        folder = os.path.abspath(folder)  # noqa: PTH100
    except FileNotFoundError:  # the folder that we were started in
        folder = "/"
    try:
        Shim(folder, given["--agent"] or None).run()
    except (BrokenPipeError, KeyboardInterrupt):
        # The agent is gone, or ends us.
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
