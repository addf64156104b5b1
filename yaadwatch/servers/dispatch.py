"""VERBS: which function answers each operation; and how a request becomes a result or an error.

The only place on the wires that catches everything: whatever a verb raises, the one who asked gets
an answer, and a fault of ours gets a line in the log.
"""

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from yaadwatch.api.codec import Request
from yaadwatch.api.frames import answer, encode, failure
from yaadwatch.api.message import Message
from yaadwatch.api.messages.memories import Stale
from yaadwatch.api.messages.wire import Hello, Subscribe
from yaadwatch.api.operations import BY_NAME
from yaadwatch.engine.workspace import PERSON, Call, Home, origin_of
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.servers.workers import Disks, Workers

Answer = dict[str, object]
Verb = Callable[..., Answer]
"""`verb(home, call, ask)`, or `verb(home, call)` where the request has no fields."""
Line = Callable[[int | str, "Answer | YaadError"], bytes]
"""Given the id of a request and what became of it, the line that says so."""
USER_STORE: Final = ""
"""What the user store is called where events are told."""
Events = Callable[[str | None], AsyncIterator[Answer]]
"""Given a cursor, that cursor and the events after it; without one, from now on."""

LOOK_S: Final = 2.0
"""The disks of a request that takes longer than this are asked whether they answer."""

MEND: Final = "umount --lazy the disk that hangs, then: yaadwatch restart"

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Late:
    """The verb `name` of an engine module, which is imported when it is first asked for."""

    module: str
    name: str

    @cache  # noqa: B019  (VERBS holds them all, for as long as the process lives)
    def find(self) -> Verb:
        """Return the verb itself."""
        # Not by a look into sys.modules: what another thread is just importing stands there, too.
        return cast("Verb", getattr(import_module(f"yaadwatch.engine.{self.module}"), self.name))

    def __call__(self, home: Home, call: Call, *ask: Message) -> Answer:
        """Call the verb."""
        return self.find()(home, call, *ask)


VERBS: Final[Mapping[str, Late]] = {
    "remember": Late("remember.verb", "remember"),
    "recall": Late("recall", "recall"),
    "context": Late("context", "context"),
    "show": Late("memories.curate", "show"),
    "forget": Late("memories.curate", "forget"),
    "erase": Late("inout.erasing", "erase"),
    "restore": Late("memories.history", "restore"),
    "history": Late("memories.history", "history"),
    "confirm": Late("memories.curate", "confirm"),
    "update": Late("memories.mend", "update"),
    "reanchor": Late("memories.mend", "reanchor"),
    "pin": Late("memories.curate", "pin"),
    "unpin": Late("memories.curate", "unpin"),
    "tag": Late("memories.curate", "tag"),
    "stale": Late("stale", "stale"),
    "impact": Late("memories.impact", "impact"),
    "link": Late("memories.links", "link"),
    "unlink": Late("memories.links", "unlink"),
    "close_link": Late("memories.links", "close_link"),
    "subgraph": Late("memories.walks", "subgraph"),
    "traverse": Late("memories.walks", "traverse"),
    "inject": Late("memories.inject", "inject"),
    "graph_stats": Late("memories.walks", "graph_stats"),
    "delete_node": Late("memories.deleting", "delete_node"),
    "delete_edge": Late("memories.links", "delete_edge"),
    "tasks": Late("sessions.tasks", "tasks"),
    "task_update": Late("sessions.tasks", "task_update"),
    "skills": Late("sessions.skills", "skills"),
    "skill_add": Late("sessions.skills", "skill_add"),
    "sessions": Late("sessions.verbs", "sessions"),
    "session_start": Late("sessions.verbs", "session_start"),
    "session_note": Late("sessions.verbs", "session_note"),
    "session_end": Late("sessions.verbs", "session_end"),
    "handoff": Late("sessions.handoffs", "handoff"),
    "session_news": Late("sessions.news", "session_news"),
    "session_touched": Late("sessions.news", "session_touched"),
    "claims": Late("truth.claims", "claims"),
    "add_claim": Late("truth.claims", "add_claim"),
    "end_claim": Late("truth.claims", "end_claim"),
    "contradictions": Late("truth.contradictions", "contradictions"),
    "resolve": Late("truth.resolving", "resolve"),
    "gaps": Late("truth.gaps", "gaps"),
    "approve_gap": Late("truth.gaps", "approve_gap"),
    "drop_gap": Late("truth.gaps", "drop_gap"),
    "review": Late("memories.review", "review"),
    "decide": Late("memories.review", "decide"),
    "feedback": Late("memories.mend", "feedback"),
    "check": Late("stale", "check"),
    "add": Late("projects", "add"),
    "remove": Late("projects", "remove"),
    "projects": Late("projects", "projects"),
    "files": Late("syncing.verbs", "files"),
    "files_diff": Late("syncing.verbs", "files_diff"),
    "files_sync": Late("syncing.verbs", "files_sync"),
    "files_adopt": Late("syncing.verbs", "files_adopt"),
    "files_statements": Late("syncing.sharing", "statements"),
    "files_share": Late("syncing.sharing", "files_share"),
    "files_release": Late("syncing.verbs", "files_release"),
    "files_history": Late("syncing.history", "files_history"),
    "files_restore": Late("syncing.verbs", "files_restore"),
    "status": Late("report", "status"),
    "config": Late("report", "config"),
    "health": Late("health", "health"),
    "upkeep": Late("upkeep", "upkeep"),
    "export": Late("inout.exporting", "export"),
    "import": Late("inout.importing", "take_in"),
    "imports": Late("inout.importing", "listed"),
    "verify": Late("inout.verifying", "verify"),
    "compact": Late("inout.backups", "compact"),
    "backup": Late("inout.backups", "backup"),
    "embed_status": Late("vectors.verbs", "embed_status"),
    "embed_enable": Late("vectors.verbs", "embed_enable"),
    "embed_disable": Late("vectors.verbs", "embed_disable"),
    "embed_rebuild": Late("vectors.verbs", "embed_rebuild"),
    "embed_rollback": Late("vectors.verbs", "embed_rollback"),
}
"""Without `subscribe` and `shutdown`, which the server answers with what the daemon handed it."""

CAUSES: Final = frozenset(
    {
        *("remember", "forget", "erase", "restore", "confirm", "update", "reanchor", "pin"),
        *("unpin", "link", "unlink", "close_link", "inject", "delete_node", "delete_edge"),
        *("resolve", "feedback", "upkeep", "import"),
    }
)
"""Operations about memories that may change agent files: a person hears which in the answer."""

AT_ONCE: Final = frozenset({"health"})
"""Verbs that look at nothing but memory: they are answered where they are heard."""


def as_rpc(identity: int | str, found: "Answer | YaadError") -> bytes:
    """Return the line of our own protocol for what became of a request."""
    if isinstance(found, YaadError):
        return encode(failure(identity, found))
    return encode(answer(identity, found))


def _reads_what_is_known(request: Request) -> bool:
    """Return whether a request reads the stores, and looks at no file."""
    name = request.operation.name
    return name in {"status", "projects"} or (
        isinstance(request.message, Stale) and not request.message.check
    )


class Dispatcher:
    """Runs verbs in threads and turns what they raise into error objects.

    Args:
        home: what verbs may reach.
        mask: takes secrets out of a text; every error and log line passes through it.
        verbs: the function for each operation.
        on_left: told of an agent whose session has ended.
        workers: the threads, a few for each folder.
        disks: knows which disks do not answer.
        look_s: see `LOOK_S`.
    """

    def __init__(
        self,
        home: Home,
        mask: Callable[[str], str],
        *,
        verbs: Mapping[str, Verb] = VERBS,
        on_left: Callable[[Call], None] | None = None,
        workers: Workers | None = None,
        disks: Disks | None = None,
        look_s: float = LOOK_S,
    ) -> None:
        self._home = home
        self._mask = mask
        self._verbs = verbs
        self._on_left = on_left
        self._workers = workers or Workers()
        self._disks = disks or Disks()
        self._look_s = look_s

    def at_once(self, hello: Hello, request: Request) -> bytes | None:
        """Return the line that answers `request`, if that needs no thread."""
        if request.operation.name not in AT_ONCE:
            return None
        return self.answered(_call(request.project or hello.cwd, hello.agent, ""), request)

    async def answer(
        self,
        hello: Hello,
        request: Request,
        line: Line = as_rpc,
        *,
        session: str = "",
        verb: Verb | None = None,
    ) -> bytes:
        """Return the line that answers `request`; nothing that its verb does makes this raise.

        A request whose disk does not answer is refused, or given up while its thread still waits.
        If this is cancelled, a verb that has not begun is not begun.

        Args:
            hello: who asks.
            request: what is asked.
            line: serialises the answer.
            session: names the connection of an agent that stays; see `left`.
            verb: what answers it instead of the verb of its operation.
        """
        call = _call(request.project or hello.cwd, hello.agent, session)
        name, folder = request.operation.name, str(call.folder)
        began = False

        def work() -> bytes:
            nonlocal began
            began = True
            return self.answered(call, request, line, verb)

        def unanswered(place: str) -> bytes:
            seems = f"`{name}` seems to wait for it, and may still be done once it does"
            effect = seems if began else f"`{name}` was not begun"
            what = f"The disk at {place} does not answer; {effect}."
            reason = self._mask(what)
            _log.warning("request.given_up", extra={"operation": name, "reason": reason})
            error = YaadError(Code.UNAVAILABLE, what, hint=MEND)
            return line(request.id, self.failure_of(name, error))

        if place := self._disks.hanging_at(folder):
            return unanswered(place)
        key = (folder, _reads_what_is_known(request))  # what is known waits for no check
        running = asyncio.ensure_future(self._workers.run(key, work))
        asking: asyncio.Future[str] | None = None
        try:
            while not (await asyncio.wait([running], timeout=self._look_s))[0]:
                asking = asyncio.ensure_future(self._disks.hanging_around(folder))
                await asyncio.wait([running, asking], return_when=asyncio.FIRST_COMPLETED)
                if not running.done() and (place := asking.result()):
                    return unanswered(place)
            return running.result()
        finally:
            running.cancel()
            if asking is not None:
                asking.cancel()

    async def stores_at(self, hello: Hello) -> frozenset[str]:
        """Return the stores whose events are about the folder of a client: the project's, and the
        user's own.

        Raises:
            YaadError: NOT_FOUND when nobody watches it, UNAVAILABLE when its disk does not answer.
        """
        found: list[Answer | YaadError] = []

        def keep(identity: int | str, told: Answer | YaadError) -> bytes:  # noqa: ARG001
            found.append(told)
            return b""

        # As a job, so that a disk which does not answer keeps nobody waiting here, either.
        request = Request(id=0, operation=BY_NAME["subscribe"], message=Subscribe(), project=None)
        await self.answer(hello, request, keep, verb=_told_of)
        told = found[0]
        if isinstance(told, YaadError):
            raise told
        return frozenset(cast("list[str]", told["stores"]))

    def left(self, hello: Hello, agent: str, session: str) -> None:
        """Note that an agent has ended its session."""
        if self._on_left is not None:
            self._on_left(Call(folder=Path(hello.cwd), origin=origin_of(agent), session=session))

    async def follow(
        self, identity: int | str, events: Events, after: str | None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the answer to a `subscribe`, then the line of each event after the cursor.

        When `events` breaks, the reason comes last.
        """
        asked: int | str | None = identity
        stream = events(after)
        try:
            async for event in stream:
                if asked is not None:
                    yield encode(answer(asked, {"subscribed": True, "cursor": event["cursor"]}))
                    asked = None
                else:
                    yield encode({"jsonrpc": "2.0", "method": "event", "params": event})
        except Exception as error:  # noqa: BLE001  (whoever listens must hear why it ended)
            yield encode(failure(asked, self.failure_of("subscribe", error)))
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    @property
    def busy(self) -> bool:
        """Return whether a verb runs or waits, also one whose request was given up."""
        return self._workers.busy

    def close(self) -> None:
        """Drop what waits for its turn; what runs already runs on to its end."""
        self._workers.close()

    def answered(
        self, call: Call, request: Request, line: Line = as_rpc, verb: Verb | None = None
    ) -> bytes:
        """Return the line that answers a request: encoded where its verb runs, because a long
        answer keeps nobody else waiting there.
        """
        name = request.operation.name
        try:
            do = verb or self._verbs[name]
            if name in CAUSES and call.origin == PERSON and isinstance(do, Late):
                do = partial(_announcing, do)
            ask = (request.message,) if request.message.FIELDS else ()
            return line(request.id, do(self._home, call, *ask))
        except BaseException as error:  # noqa: BLE001  (the thread goes on, and whoever asked hears)
            return line(request.id, self.failure_of(name, error))

    def failure_of(self, operation: str, error: BaseException) -> YaadError:
        """Return what may be said of `error`; log it unless it is one that we expect."""
        if isinstance(error, YaadError):
            said = YaadError(error.code, self._mask(error.message), self._mask(error.hint))
        elif isinstance(error, ValueError):
            said = YaadError(Code.BAD_REQUEST, self._mask(f"The request was not done: {error}."))
        else:
            said = YaadError(
                Code.INTERNAL,
                f"`{operation}` ran into a bug in yaadwatch: {type(error).__name__}.",
                hint="The daemon's log has the details.",
            )
        if said.code is Code.INTERNAL or not isinstance(error, YaadError):
            _log.error(
                "operation.crashed",
                extra={
                    "operation": operation,
                    "code": str(said.code),
                    "traceback": self._mask("".join(traceback.format_exception(error))),
                },
            )
        return said


def _announcing(do: Verb, home: Home, call: Call, *ask: Message) -> Answer:
    """Return what a verb answers, and which agent files it changed."""
    # Loads what syncs agent files, which most daemons that are just asked something never need.
    from yaadwatch.engine.syncing.announcing import announced

    began = home.clock.now()
    return do(home, call, *ask) | announced(home, call, began)


def _told_of(home: Home, call: Call, ask: Message) -> Answer:  # noqa: ARG001
    """Return the stores whose events are about the folder of a call."""
    project, _ = home.project_at(call.folder)
    return {"stores": [project.id, USER_STORE]}


@lru_cache(maxsize=256)
def _call(folder: str, agent: str | None, session: str) -> Call:
    origin = PERSON if agent is None else origin_of(agent)
    return Call(folder=Path(folder), origin=origin, session=session)
