"""The lines that the shim relays: open requests, and answers of its own.

Standard library only, and little of it, because every session starts the shim.
"""

import json
import time

from yaadwatch import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


HANDSHAKE_TIME_S = 8.0
"""A handshake is answered after this at the latest, by us if need be."""
ANSWER_TIME_S = 120.0
"""Any other request, likewise."""
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
WIDE_READS = {
    "yaad_graph": ("traverse", "graph_stats", "export"),
    "yaad_curate": ("show", "history", "claims", "contradictions", "gaps"),
}
"""What of the wide tools changes nothing: the rest of them is asked once."""
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


class PendingRequest:
    """A request that waits for its answer."""

    __slots__ = ("due_s", "frame", "line", "method", "params", "patience_s", "tries")

    def __init__(self, frame: "dict[str, Any]", line: bytes) -> None:
        self.frame = frame
        self.line = line
        self.method = str(frame["method"])
        self.params = params_of(frame)
        self.tries = 0
        opens = self.method in {"initialize", "server/discover"}
        self.patience_s = HANDSHAKE_TIME_S if opens else ANSWER_TIME_S
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
