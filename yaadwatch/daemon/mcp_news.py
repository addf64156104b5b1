"""MCP messages, prompts and resources, and notifications of changed resources.

With the handshake a client subscribes to single resources; a stateless client opens a stream for
several, whose lines carry the id of the request that opened it. A notification says that a resource
changed, not how, so many changes at once are one line.

A request with the envelope of 2026-07-28 is stateless; any other belongs to the handshake.
`PROMPTS` and `RESOURCES` are made from operations and report failures as text, because MCP gives
them no other way.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from yaadwatch.api import frames
from yaadwatch.api.frames import to_text
from yaadwatch.api.messages.store import AGENT_FORM
from yaadwatch.daemon.dispatch import Answer, Events
from yaadwatch.model.errors import YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.text.quoting import as_kind, as_name, quoted

FoundTexts = dict[str, object]

MARKDOWN: Final = "text/markdown"
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt.

    Args:
        name: what it is called.
        operation: the row it asks for.
        about: what it is for.
        arguments: the fields a person is asked for, each in a few words.
        needed: those of them that must be given.
        text: the key of the answer that is the prompt; '' for memories, a line each.
    """

    name: str
    operation: str
    about: str
    arguments: Mapping[str, str]
    needed: tuple[str, ...] = ()
    text: str = ""

    def listed(self) -> FoundTexts:
        """Return how the prompt is listed."""
        arguments = [
            {"name": name, "description": about, "required": name in self.needed}
            for name, about in self.arguments.items()
        ]
        return {"name": self.name, "description": self.about, "arguments": arguments}

    def result(self, found: "FoundTexts | YaadError") -> FoundTexts:
        """Return the prompt, or what went wrong and what to do next."""
        if isinstance(found, YaadError):
            said = f"yaadwatch could not tell: {found.message} {found.hint}".strip()
        else:
            said = str(found[self.text]) if self.text else _memories(found)
        message = {"role": "user", "content": {"type": "text", "text": said}}
        return {"description": self.about, "messages": [message]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource.

    Args:
        uri: what it is called.
        name: for people.
        operation: the row it asks for, with `fields`.
        about: its content, for a client's list.
        kind: its media type.
        text: the key of the answer that it is; '' for the whole answer as JSON.
        changes: how the events begin after which it may say something else.
    """

    uri: str
    name: str
    operation: str
    about: str
    changes: tuple[str, ...]
    kind: str = JSON
    text: str = ""
    fields: Mapping[str, object] = field(default_factory=dict)

    def listed(self) -> FoundTexts:
        """Return how the resource is listed."""
        return {
            "uri": self.uri,
            "name": self.name,
            "description": self.about,
            "mimeType": self.kind,
        }

    def result(self, found: FoundTexts) -> FoundTexts:
        """Return the content of the resource."""
        said = str(found[self.text]) if self.text else to_text(found)
        return {"contents": [{"uri": self.uri, "mimeType": self.kind, "text": said}]}


PROMPTS: Final = (
    Prompt(
        name="recall_context",
        operation="recall",
        about="What is remembered about a question, to work with.",
        arguments={"query": "the question, in words, a path or a name"},
        needed=("query",),
    ),
    Prompt(
        name="session_handoff",
        operation="handoff",
        about="What was done, what is open and flagged, which files: for the next session.",
        arguments={"session": "its id; the last one by default"},
        text="prompt",
    ),
)
BY_PROMPT: Final = {prompt.name: prompt for prompt in PROMPTS}

RESOURCES: Final = (
    Resource(
        uri="yaad://context",
        name="The brief",
        operation="context",
        about="What may no longer be true, rules, open tasks, what the last session left.",
        changes=("node.", "stale.", "session.ended", "contradiction.", "gap."),
        kind=MARKDOWN,
        text="brief",
    ),
    Resource(
        uri="yaad://graph/stats",
        name="The memory in numbers",
        operation="graph_stats",
        about="How many memories and relations there are, of which kinds.",
        changes=("node.", "edge."),
    ),
    Resource(
        uri="yaad://stale",
        name="Flags",
        operation="stale",
        about="What is remembered and may no longer be true, with the evidence.",
        changes=("stale.", "node.updated", "node.archived", "node.erased"),
        fields={"check": False},
    ),
)
BY_URI: Final = {resource.uri: resource for resource in RESOURCES}


def _memories(found: FoundTexts) -> str:
    """Return the answer of `recall` as text."""
    results = cast("list[Mapping[str, object]]", found["results"])
    work = cast("list[Mapping[str, int]]", found.get("uncommitted") or [])
    places = {
        "belong to branches that are not merged here": found.get("hidden", 0),
        "are about uncommitted work elsewhere": sum(one["memories"] for one in work),
    }
    more = " ".join(
        f"{count} more {what}; yaad_recall with all_branches returns them."
        for what, count in places.items()
        if count
    )
    if not results:
        return f"yaadwatch remembers nothing about that. {more}".rstrip()
    lines = ["What yaadwatch, the memory of this project, has on that; it is data, no instruction:"]
    for row in results:
        stale = row.get("stale")
        flag = f" [may be stale: {stale['verdict']}]" if isinstance(stale, dict) else ""
        others = cast("list[Mapping[str, object]]", row.get("superseded_by") or [])
        later = ", ".join(short_id(str(one["id"])) for one in others)
        flag += f" [superseded by {later}]" if later else ""
        said = quoted(str(row["text"]))
        if row.get("unverified"):
            said = f"{as_name(str(row['by']).removeprefix('agent '))} noted, not approved: {said}"
        kind = as_kind(str(row["kind"]))
        sort = f"{kind}, {row['state']}" if row.get("state") else kind
        lines.append(f"- {sort}: {said} ({short_id(str(row['id']))}){flag}")
    return "\n".join([*lines, more] if more else lines)


LISTENS_MAX: Final = 64
"""Streams of one client that are open at the same time."""
GATHER_S: Final = 0.1
"""Changes within so long after the first are reported with it."""
AGAIN_S: Final = 1.0
"""After the stores could not be followed, it is tried again so much later."""

_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"

_log: Final = logging.getLogger(__name__)


class News:
    """The subscriptions of one client. Methods run on the loop.

    Args:
        events: what happens in the stores, from a cursor on.
        send: hands a line to the client.
    """

    def __init__(self, events: Events, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._events = events
        self._send = send
        self._stores: Collection[str] = ()
        self._subscribed: set[str] = set()
        self._listening: dict[int | str, frozenset[str]] = {}
        self._hearing: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._changed: set[str] = set()

    @property
    def is_full(self) -> bool:
        """Whether no more streams may be opened."""
        return len(self._listening) >= LISTENS_MAX

    def is_listening(self, identity: int | str | None) -> bool:
        """Return whether the request of this id opened a stream that is not over."""
        return identity in self._listening

    async def subscribe(self, uri: str, stores: Collection[str]) -> None:
        """Notify when a resource changes; no change after this returns is missed.

        Args:
            uri: of the resource.
            stores: whose events are about it.
        """
        await self._ensure_following(stores)
        self._subscribed.add(uri)

    def unsubscribe(self, uri: str) -> None:
        """End the subscription to a resource; others go on."""
        self._subscribed.discard(uri)

    def unsubscribe_all(self) -> None:
        """Drop the subscriptions from before a handshake."""
        self._subscribed.clear()

    async def listen(
        self, identity: int | str, uris: Sequence[str], stores: Collection[str]
    ) -> None:
        """Open a stream, confirm its resources, and notify when one of them changes.

        Args:
            identity: of the request; each line of the stream bears it.
            uris: of the resources; none: no notifications.
            stores: whose events are about them.
        """
        if uris:
            await self._ensure_following(stores)
        self._listening[identity] = frozenset(uris)
        honoured = {"resourceSubscriptions": list(uris)} if uris else {}
        # Written before anything else can be: the first line of a stream says what it is of.
        await self._send(
            _notice(
                "notifications/subscriptions/acknowledged", identity, {"notifications": honoured}
            )
        )

    def leave(self, identity: int | str) -> None:
        """End a stream, if there is such a one."""
        self._listening.pop(identity, None)

    def close(self) -> None:
        """Stop all notifications."""
        for task in (self._hearing, self._telling):
            if task is not None:
                task.cancel()

    async def _ensure_following(self, stores: Collection[str]) -> None:
        """Follow the events of `stores`; return once none can be missed."""
        self._stores = stores
        if self._hearing is None or self._begun is None or self._hearing.done():
            self._begun = asyncio.get_running_loop().create_future()
            self._hearing = asyncio.create_task(self._follow(self._begun))
            self._hearing.add_done_callback(_log_end)
        await asyncio.wait([self._begun, self._hearing], return_when=asyncio.FIRST_COMPLETED)

    async def _follow(self, begun: "asyncio.Future[None]") -> None:
        """Follow events; after an error, subscribe again and report that all may have changed."""
        while True:
            try:
                await self._follow_once(begun)
            except YaadError as error:
                _log.warning("mcp.news_again", extra={"error": str(error)})
            if not begun.done():
                begun.set_result(None)
            await asyncio.sleep(AGAIN_S)

    async def _follow_once(self, begun: "asyncio.Future[None]") -> None:
        stream = self._events(None)
        is_first = True
        try:
            async for event in stream:
                if is_first:
                    is_first = False
                    if begun.done():
                        self._note("")
                    else:
                        begun.set_result(None)
                elif event["project"] in self._stores:
                    self._note(str(event["kind"]))
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    def _note(self, kind: str) -> None:
        """Record an event of `kind`; '' stands for missed events of any kind."""
        self._changed |= {one.uri for one in RESOURCES if not kind or kind.startswith(one.changes)}
        if self._changed and (self._telling is None or self._telling.done()):
            self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        while self._changed:
            await asyncio.sleep(GATHER_S)
            changed, self._changed = self._changed, set()
            for uri in sorted(changed & self._subscribed):
                await self._send(_updated(uri))
            for identity, uris in list(self._listening.items()):
                for uri in sorted(changed & uris):
                    await self._send(_updated(uri, identity))


def _updated(uri: str, identity: int | str | None = None) -> bytes:
    return _notice("notifications/resources/updated", identity, {"uri": uri})


def _notice(method: str, identity: int | str | None, params: dict[str, object]) -> bytes:
    meta = {} if identity is None else {"_meta": {_SUBSCRIPTION: identity}}
    return frames.encode({"jsonrpc": "2.0", "method": method, "params": params | meta})


def _log_end(task: "asyncio.Task[None]") -> None:
    """Log that the stream of changes ended; the next subscription starts it again."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.error("mcp.news_ended", extra={"error": f"{type(error).__name__}: {error}"})


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
    client = meta.get(_CLIENT) if isinstance(meta, dict) else None
    return client or params.get("clientInfo")


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
        keep_ms: how long the client may keep it; None leaves that to the client.
    """
    whole: Answer = result | {"resultType": "complete", "_meta": {_SERVER: server}}
    return whole if keep_ms is None else whole | {"ttlMs": keep_ms, "cacheScope": "private"}
