"""Serve the Model Context Protocol on one connection.

Both eras are served, request by request: with the handshake (2024-11-05 to 2025-11-25) and
stateless (2026-07-28), where each request has its own envelope. Each tool is an operation. The
module is imported with the first client that speaks the protocol.

Editors start the servers of their user settings in the user's home folder. Such a client is asked
for the roots of its workspace with the first request that needs a project.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Final

from yaadwatch.api import codec, frames
from yaadwatch.api.frames import lenient_id
from yaadwatch.api.messages.store import Hello
from yaadwatch.api.operations import BY_NAME
from yaadwatch.daemon.dispatch import Answer, Dispatcher, Line
from yaadwatch.daemon.mcp_messages import (
    BY_PROMPT,
    BY_URI,
    HANDSHAKE_VERSIONS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PROMPTS,
    RESOURCE_NOT_FOUND,
    RESOURCES,
    STATELESS_VERSIONS,
    Params,
    Refused,
    agent_name,
    answered,
    client_of,
    decoded,
    dressed,
    is_stateless,
    params_of,
)
from yaadwatch.daemon.mcp_tools import TOOLS, WIDE, Tool, WideTool, accepted, folder_of, object_of
from yaadwatch.model.errors import Code, YaadError

ROOTS_TIME_S: Final = 3.0
"""How long a client may take to answer."""
_ID: Final = "yaadwatch-roots"

IsWatched = Callable[[str], Awaitable[bool]]


class Roots:
    """The folder that a client works on.

    Args:
        folder: that its server was started in, or was given.
        send: hands a line to the client.
        is_watched: says whether a folder is in a watched project.
    """

    def __init__(
        self, folder: str, send: Callable[[bytes], Awaitable[None]], is_watched: IsWatched
    ) -> None:
        self._start = folder
        self._send = send
        self._is_watched = is_watched
        self._offers = False
        self._is_ready = False
        self._asked = 0
        self._answer: asyncio.Future[object] | None = None
        self._finding: asyncio.Task[str] | None = None

    @property
    def offers(self) -> bool:
        """Return whether the client offers roots."""
        return self._offers

    def begin(self, capabilities: object) -> None:
        """Take note of what a client offers when it shakes hands."""
        self._offers = isinstance(capabilities, dict) and "roots" in capabilities
        self._is_ready = False
        self._finding = None

    def ready(self) -> None:
        """Take note that the handshake is over: from now on the client may be asked."""
        self._is_ready = True

    def changed(self) -> None:
        """Take note that the client has other roots now."""
        self._finding = None

    def hear(self, frame: Mapping[str, object]) -> bool:
        """Take an answer of the client; return whether it was ours to take."""
        if self._answer is None or frame.get("id") != f"{_ID}-{self._asked}":
            return False
        if not self._answer.done():
            self._answer.set_result(frame.get("result"))
        return True

    async def folder(self) -> str:
        """Return the folder that the client works on."""
        if not (self._offers and self._is_ready):
            return self._start
        if self._finding is None:
            self._finding = asyncio.ensure_future(self._find())
        # A request that is cancelled does not end the question for the others.
        return await asyncio.shield(self._finding)

    async def _find(self) -> str:
        is_home = self._start in (os.path.expanduser("~"), "/")  # noqa: PTH111
        if not is_home and await self._is_watched(self._start):
            return self._start
        roots = await self._ask()
        for root in roots:
            if await self._is_watched(root):
                _log.info("mcp.root_used", extra={"folder": root})
                return root
        if await self._is_watched(self._start):
            return self._start
        return roots[0] if roots else self._start

    async def _ask(self) -> list[str]:
        """Return the roots that the client names; none when it does not answer in time."""
        self._asked += 1
        self._answer = asyncio.get_running_loop().create_future()
        asked: dict[str, object] = {
            "jsonrpc": "2.0",
            "id": f"{_ID}-{self._asked}",
            "method": "roots/list",
        }
        try:
            await self._send(frames.encode(asked))
            found = await asyncio.wait_for(self._answer, ROOTS_TIME_S)
        except TimeoutError:
            _log.info("mcp.no_roots")
            return []
        finally:
            self._answer = None
        listed = found.get("roots") if isinstance(found, dict) else None
        uris = [one.get("uri") for one in listed or () if isinstance(one, dict)][:64]
        folders = (folder_of(uri) for uri in uris if isinstance(uri, str))
        return [one for one in folders if os.path.isabs(one)]  # noqa: PTH117


INSTRUCTIONS_CHARS_MAX: Final = 2_000
"""Some clients cut what is longer."""

_USAGE = (
    "Before you change code you do not know, ask yaad_recall. Keep decisions, conventions and fixes"
    " with yaad_remember. yaad_stale lists what may no longer be true, yaad_context all of the"
    " above."
)
_BY_ROOTS: Final = (
    "yaadwatch was not started in a watched repository. Its tools use the repository that is"
    " open in the client's workspace."
)
_BY_PROJECT: Final = (
    "For a certain repository, give each tool `project`: its absolute path, or its file:// URI."
)
_BRIEF: Final = {"tokens_max": 600, "chars_max": INSTRUCTIONS_CHARS_MAX - 300, "wait_ms": 300}
_CAPABILITIES_OURS: Final[dict[str, object]] = {
    "tools": {"listChanged": False},
    "prompts": {"listChanged": False},
    "resources": {"subscribe": False, "listChanged": False},
}

_log: Final = logging.getLogger(__name__)


class Session:
    """The session of one client, and its open requests.

    Args:
        hello: the first line of the connection.
        dispatcher: answers the operations.
        version: of this server.
        at_once: operations that run for this client at the same time; the others wait.
        start: begins work on the loop, in the order in which it is given, and keeps it in view.
        send: hands a line to the client.
        wide: which wide tools are listed besides the others.
        line_bytes_max: the longest line that is sent.
    """

    def __init__(
        self,
        hello: Hello,
        dispatcher: Dispatcher,
        *,
        version: str,
        at_once: int,
        start: Callable[[Coroutine[object, object, None]], "asyncio.Task[None]"],
        send: Callable[[bytes], Awaitable[None]],
        wide: Sequence[str],
        line_bytes_max: int,
    ) -> None:
        self._hello = hello
        self._dispatcher = dispatcher
        self._server: Answer = {"name": "yaadwatch", "title": "yaadwatch", "version": version}
        self._places = asyncio.Semaphore(at_once)
        self._start = start
        self._send = send
        self._line_bytes_max = line_bytes_max
        tools: list[Tool | WideTool] = [*TOOLS, *(WIDE[name] for name in wide)]
        self._tools = {tool.name: tool for tool in tools}
        self._roots = Roots(hello.cwd, send, self._is_watched)
        self._client: object = None
        self._shook_hands = False
        self._waiting: dict[int | str, asyncio.Task[None]] = {}

    @property
    def name(self) -> str:
        """What this session is called, as no other that is open."""
        return f"mcp {id(self):x}"

    @property
    def agent(self) -> str:
        """Who this is, as far as it is known by now."""
        return self._agent({})

    def hear(self, line: bytes) -> None:
        """Take one line: begin to answer a request, heed a notification."""
        try:
            frame = decoded(line)
        except Refused as error:
            identity = codec.request_id({"id": lenient_id(line)})
            if identity in self._waiting:
                identity = None  # the request of that id gets its own answer
            self._start(self._refuse(identity, error))
            return
        identity = codec.request_id(frame)
        if "method" not in frame and ("result" in frame or "error" in frame):
            if not self._roots.hear(frame):
                _log.debug("mcp.unasked_answer")
        elif not isinstance(frame.get("method"), str):
            self._start(self._refuse(identity, Refused(INVALID_REQUEST, "method must be text")))
        elif "id" not in frame:
            self._heed(str(frame["method"]), frame.get("params"))
        elif identity is None or identity in self._waiting:
            what = "is being answered already" if identity is not None else "must be number or text"
            self._start(self._refuse(None, Refused(INVALID_REQUEST, f"id {what}")))
        else:
            task = self._start(self._serve(identity, str(frame["method"]), frame.get("params")))
            self._waiting[identity] = task
            task.add_done_callback(lambda _: self._waiting.pop(identity, None))

    def _heed(self, method: str, params: object) -> None:
        """Take a notification: the handshake is over, other roots are open, a request is cancelled.

        A running verb still runs to its end, without an answer.
        """
        if method == "notifications/initialized":
            self._roots.ready()
        elif method == "notifications/roots/list_changed":
            self._roots.changed()
        if method == "notifications/cancelled" and isinstance(params, dict):
            identity = codec.request_id({"id": params.get("requestId")})
            if identity in self._waiting:
                self._waiting[identity].cancel()

    async def _refuse(self, identity: int | str | None, error: Refused) -> None:
        await self._send(error.line(identity))

    async def _serve(self, identity: int | str, method: str, params: object) -> None:
        """Answer a request. Until the first await nothing else is served: a handshake is over
        before what was sent behind it begins.
        """
        try:
            line = await self._reply(identity, method, params_of(params))
        except Refused as error:
            line = error.line(identity)
        except Exception as error:  # noqa: BLE001  (the client waits for an answer)
            failed = self._dispatcher.failure_of(method, error)
            line = Refused(INTERNAL_ERROR, f"{failed.message} {failed.hint}").line(identity)
        await self._send(line)

    async def _reply(self, identity: int | str, method: str, params: Params) -> bytes:
        if method == "ping":
            return answered(identity, {})
        if method == "initialize":
            return await self._shake_hands(identity, params)
        stateless = is_stateless(params)
        if method == "server/discover" and stateless:
            return await self._discover(identity, params)
        listed = self._list(method)
        serve = {
            "tools/call": self._call,
            "prompts/get": self._prompt,
            "resources/read": self._read,
        }.get(method)
        if listed is None and serve is None:
            raise Refused(METHOD_NOT_FOUND, f"There is no method {method!r} here.")
        if not stateless and not self._shook_hands:
            raise Refused(
                INVALID_REQUEST,
                f"{method!r} came before `initialize`, and without the envelope of"
                f" {STATELESS_VERSIONS[-1]}.",
            )
        if serve is not None:
            return await serve(identity, params, stateless=stateless)
        answer = listed or {}
        # A client may remember a list for so long: it changes with the program only.
        return answered(identity, self._dressed(answer, 3_600_000) if stateless else answer)

    def _list(self, method: str) -> Answer | None:
        """Return the answer of a listing method, or None for another method."""
        match method:
            case "tools/list":
                return {"tools": [tool.listed() for tool in self._tools.values()]}
            case "prompts/list":
                return {"prompts": [prompt.listed() for prompt in PROMPTS]}
            case "resources/list":
                return {"resources": [resource.listed() for resource in RESOURCES]}
            case "resources/templates/list":
                return {"resourceTemplates": []}
        return None

    async def _shake_hands(self, identity: int | str, params: Params) -> bytes:
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise Refused(INVALID_PARAMS, "protocolVersion must be text")
        self._client = params.get("clientInfo")
        self._shook_hands = True
        self._roots.begin(params.get("capabilities"))
        spoken = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        _log.info("mcp.opened", extra={"agent": self._agent(params), "protocol": spoken})
        answer: Answer = {
            "protocolVersion": spoken,
            "capabilities": _CAPABILITIES_OURS,
            "serverInfo": self._server,
        }
        return await self._with_instructions(identity, params, answer)

    async def _discover(self, identity: int | str, params: Params) -> bytes:
        _log.info(
            "mcp.opened", extra={"agent": self._agent(params), "protocol": STATELESS_VERSIONS[-1]}
        )
        answer: Answer = {
            "supportedVersions": list(STATELESS_VERSIONS),
            "capabilities": _CAPABILITIES_OURS,
        }
        return await self._with_instructions(identity, params, self._dressed(answer, 0))

    async def _with_instructions(
        self, identity: int | str, params: Params, answer: Answer
    ) -> bytes:
        """Return the line with `answer` and the instructions for an agent in this folder."""

        def render(identity: int | str, found: "Answer | YaadError") -> bytes:
            said = _instructions(found, offers_roots=self._roots.offers)
            return answered(identity, answer | {"instructions": said})

        request = codec.Request(
            id=identity,
            operation=BY_NAME["context"],
            message=codec.message(BY_NAME["context"].request, _BRIEF),
            project=None,
        )
        return await self._ask(params, request, render)

    async def _call(self, identity: int | str, params: Params, *, stateless: bool) -> bytes:
        name, arguments = params.get("name"), params.get("arguments")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            meant = codec.nearest(str(name), self._tools)
            raise Refused(
                INVALID_PARAMS,
                f"Unknown tool: {name}." + (f" The nearest one is {meant}." if meant else ""),
            )
        arguments = object_of(arguments)
        if arguments is not None and not isinstance(arguments, dict):
            raise Refused(INVALID_PARAMS, "arguments must be an object")

        def render(identity: int | str, found: "Answer | YaadError") -> bytes:
            result = tool.result(found)
            return answered(identity, self._dressed(result) if stateless else result)

        # Models write null for what they leave out.
        given = {key: value for key, value in (arguments or {}).items() if value is not None}
        try:
            operation, fields = tool.asked(given)
            fields = accepted(BY_NAME[operation].request, fields)
            request = codec.request(_asking(identity, operation, fields))
        except YaadError as error:
            return render(identity, error)
        line = await self._ask(params, request, render)
        if len(line) <= self._line_bytes_max:
            return line
        too_large = YaadError(
            Code.TOO_LARGE,
            f"The answer has {len(line)} bytes; {self._line_bytes_max} is the limit.",
            hint="Ask for less at a time.",
        )
        return render(identity, too_large)

    async def _prompt(self, identity: int | str, params: Params, *, stateless: bool) -> bytes:
        name, arguments = params.get("name"), params.get("arguments") or {}
        prompt = BY_PROMPT.get(name) if isinstance(name, str) else None
        if prompt is None:
            raise Refused(INVALID_PARAMS, f"Unknown prompt: {name}.")
        if not isinstance(arguments, dict) or not arguments.keys() <= prompt.arguments.keys():
            known = ", ".join(prompt.arguments)
            raise Refused(INVALID_PARAMS, f"arguments must be an object; there is: {known}")
        given = {key: value for key, value in arguments.items() if value not in (None, "")}
        missing = [key for key in prompt.needed if key not in given]
        if missing:
            raise Refused(INVALID_PARAMS, f"{missing[0]} must be given")

        def render(identity: int | str, found: "Answer | YaadError") -> bytes:
            result = prompt.result(found)
            return answered(identity, self._dressed(result) if stateless else result)

        return await self._asked(identity, params, prompt.operation, given, render)

    async def _read(self, identity: int | str, params: Params, *, stateless: bool) -> bytes:
        uri = params.get("uri")
        if not isinstance(uri, str) or uri not in BY_URI:
            raise Refused(RESOURCE_NOT_FOUND, f"Unknown resource: {uri}.", {"uri": uri})
        resource = BY_URI[uri]

        def render(identity: int | str, found: "Answer | YaadError") -> bytes:
            if isinstance(found, YaadError):
                message = f"{found.message} {found.hint}".strip()
                return Refused(INTERNAL_ERROR, message).line(identity)
            result = resource.result(found)
            return answered(identity, self._dressed(result, 0) if stateless else result)

        return await self._asked(identity, params, resource.operation, resource.fields, render)

    async def _is_watched(self, folder: str) -> bool:
        return await self._dispatcher.is_watched(self._hello.but(cwd=folder))

    async def _asked(
        self,
        identity: int | str,
        params: Params,
        operation: str,
        fields: "Mapping[str, object]",
        render: Line,
    ) -> bytes:
        """Call an operation with fields from a client; errors become its answer."""
        try:
            request = codec.request(_asking(identity, operation, fields))
        except YaadError as error:
            return render(identity, error)
        return await self._ask(params, request, render)

    async def _ask(self, params: Params, request: codec.Request, render: Line) -> bytes:
        folder = await self._roots.folder()
        hello = self._hello.but(agent=self._agent(params), cwd=folder)
        async with self._places:
            return await self._dispatcher.answer(hello, request, render, session=self.name)

    def _agent(self, params: Params) -> str:
        """Return the agent's name: from the connection, else the request, else the handshake."""
        if self._hello.agent is not None:
            return self._hello.agent
        return agent_name(client_of(params) or self._client)

    def _dressed(self, result: Answer, keep_ms: int | None = None) -> Answer:
        return dressed(result, self._server, keep_ms)


def _asking(identity: int | str, operation: str, fields: Mapping[str, object]) -> Params:
    return {"jsonrpc": "2.0", "id": identity, "method": operation, "params": dict(fields)}


def _instructions(found: "Answer | YaadError", *, offers_roots: bool) -> str:
    """Return the instructions of the handshake: warnings first, then how to use yaadwatch."""
    if not isinstance(found, YaadError):
        text = str(found["brief"])
    elif found.code is Code.NOT_FOUND and offers_roots:
        return f"{_BY_ROOTS} {_BY_PROJECT}\n\n{_USAGE}"
    else:
        text = f"yaadwatch remembers nothing here: {found.message} {found.hint}".strip()
        if found.code is Code.NOT_FOUND:
            return f"{text} {_BY_PROJECT}"  # without it, its tools would answer the same
    return (f"{text}\n\n" if text else "") + _USAGE
