"""Lines of the Model Context Protocol: what one must be, which era it is of, and what is written.

A request with the envelope of 2026-07-28 is stateless; any other belongs to the handshake. Which
requests there are, and what they do, is in `mcp`.
"""

import re
from typing import Final

from yaadwatch.api import frames
from yaadwatch.api.messages.wire import AGENT_FORM
from yaadwatch.servers.dispatch import Answer

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS: Final = ("2026-07-28",)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002
UNSUPPORTED_VERSION: Final = -32022

_PREFIX = "io.modelcontextprotocol/"
_VERSION, _CLIENT, _CAPABILITIES, _SERVER = (
    f"{_PREFIX}protocolVersion",
    f"{_PREFIX}clientInfo",
    f"{_PREFIX}clientCapabilities",
    f"{_PREFIX}serverInfo",
)
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")

Params = dict[str, object]


class Refused(Exception):
    """A request that the protocol has an error for."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def line(self, identity: int | str | None) -> bytes:
        """Return the line that refuses the request of this id."""
        said = {"code": self.code, "message": self.message}
        if self.data is not None:
            said["data"] = self.data
        return frames.encode({"jsonrpc": "2.0", "id": identity, "error": said})


def decoded(line: bytes) -> dict[str, object]:
    """Return the message in a line.

    Raises:
        Refused: it is none.
    """
    if line.lstrip()[:1] == b"[":
        raise Refused(INVALID_REQUEST, "Batches are not served; send one message a line.")
    try:
        frame = frames.decode(line)
    except ValueError as error:
        raise Refused(PARSE_ERROR, f"{error}") from None
    if frame.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, 'jsonrpc must be "2.0"')
    return frame


def params_of(found: object) -> Params:
    """Return what a request brings along.

    Raises:
        Refused: it is no object.
    """
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Refused(INVALID_PARAMS, f"params must be an object, got {frames.kind_of(found)}")
    return found


def is_stateless(params: Params) -> bool:
    """Say whether a request brings the envelope of the stateless era.

    Raises:
        Refused: it brings one that we cannot serve, or a half one.
    """
    meta = params.get("_meta")
    if not isinstance(meta, dict) or _VERSION not in meta:
        return False
    spoken = meta[_VERSION]
    if not isinstance(spoken, str) or _CAPABILITIES not in meta:
        raise Refused(INVALID_PARAMS, f"_meta must hold {_VERSION}, a text, and {_CAPABILITIES}")
    if spoken not in STATELESS_VERSIONS:
        raise Refused(
            UNSUPPORTED_VERSION,
            f"Protocol {spoken} is not spoken here.",
            {"supported": [*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS], "requested": spoken},
        )
    return True


def client_of(params: Params) -> object:
    """Return how the client describes itself in a request; None when it does not."""
    meta = params.get("_meta")
    told = meta.get(_CLIENT) if isinstance(meta, dict) else None
    return told or params.get("clientInfo")


def agent_name(client: object) -> str:
    """Return the name in a client's description of itself, in the form that our own clients use."""
    given = client.get("name") if isinstance(client, dict) else None
    name = _NO_NAME.sub("-", given if isinstance(given, str) else "").strip("-._")[:64]
    return name if AGENT_FORM.fullmatch(name) else "mcp"


def answered(identity: int | str, result: Answer) -> bytes:
    """Return the line that answers the request of this id."""
    return frames.encode(frames.answer(identity, result))


def dressed(result: Answer, server: Answer, keep_ms: int | None = None) -> Answer:
    """Return a result as the stateless era wants it.

    Args:
        result: what is answered.
        server: who answers.
        keep_ms: how long it may be kept; None where nothing is said of that.
    """
    whole: Answer = result | {"resultType": "complete", "_meta": {_SERVER: server}}
    return whole if keep_ms is None else whole | {"ttlMs": keep_ms, "cacheScope": "private"}
