"""Dispatch requests to the functions of `VERBS`, on threads that belong to each folder.

This is the only place on the wire that catches every exception: the caller always gets an answer,
and a fault of ours is logged.

A network file system whose server is gone blocks every thread that touches it until it is
unmounted, and a blocked thread cannot be ended. So each folder has a few threads of its own.
"""

import asyncio
import contextlib
import logging
import os
import time
import traceback
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
)
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Final, TypeVar, cast

from yaadwatch.api.codec import Request
from yaadwatch.api.frames import answer, encode, failure
from yaadwatch.api.message import Message
from yaadwatch.api.messages.memories import Stale
from yaadwatch.api.messages.store import Hello, Subscribe
from yaadwatch.api.operations import BY_NAME
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import REQUESTS_AT_ONCE_MAX
from yaadwatch.workspace.workspace import PERSON, Call, Home, origin_of

THREADS_MAX: Final = 64
"""Threads of all folders together: some folders on disks that hang keep no other waiting."""
PATIENCE_S: Final = 2.0
"""A disk that has not answered by then counts as hung."""

R = TypeVar("R")


@dataclass(slots=True, eq=False)
class _Lane:
    room: asyncio.Semaphore
    users: int = 0
    running_since: list[float] = field(default_factory=list)


class Workers:
    """Runs blocking work in threads. Used on the loop.

    Args:
        per_key: pieces of work with the same key that run at the same time; others wait.
        threads_max: pieces of work that run at the same time.
    """

    def __init__(self, per_key: int = REQUESTS_AT_ONCE_MAX, threads_max: int = THREADS_MAX) -> None:
        self._per_key = per_key
        self._pool = ThreadPoolExecutor(threads_max, thread_name_prefix="verb")
        self._lanes: dict[Hashable, _Lane] = {}

    @property
    def busy(self) -> bool:
        """Return whether something runs or waits, also if its caller does not wait any more."""
        return bool(self._lanes)

    def late(self, seconds: float) -> list[Hashable]:
        """Return the keys of which something has run for longer than `seconds`. Any thread."""
        until = time.monotonic() - seconds
        lanes = tuple(self._lanes.items())
        return [key for key, lane in lanes if any(since < until for since in lane.running_since)]

    async def run(self, key: Hashable, work: Callable[[], R]) -> R:
        """Return what `work` returns. If cancelled before `work` began, it is not begun."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(asyncio.Semaphore(self._per_key))
        lane.users += 1
        loop = asyncio.get_running_loop()
        found: asyncio.Future[R] = loop.create_future()

        def begin() -> R | None:
            return None if found.cancelled() else work()

        def end(done: "Future[R | None]") -> None:
            lane.running_since.remove(since)
            lane.room.release()
            self._leave(key, lane)
            if found.done() or done.cancelled():
                return
            error = done.exception()
            if error is not None:
                found.set_exception(error)
            else:
                found.set_result(done.result())  # type: ignore[arg-type]

        def ended(done: "Future[R | None]") -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(end, done)

        try:
            await lane.room.acquire()
            submitted = self._pool.submit(begin)
        except BaseException:
            self._leave(key, lane)
            raise
        since = time.monotonic()
        lane.running_since.append(since)
        submitted.add_done_callback(ended)
        return await found

    def close(self) -> None:
        """Begin nothing more; what runs already runs on to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self, key: Hashable, lane: _Lane) -> None:
        lane.users -= 1
        if not lane.users:
            del self._lanes[key]


@dataclass(slots=True, eq=False)
class _Question:
    place: str
    answered: "asyncio.Future[None]"
    is_overdue: bool = False


class Disks:
    """Knows which disks do not answer. Used on the loop.

    Args:
        networks: the places at or below a folder that are on network file systems.
        around: the folders that an operation in a folder may touch besides, each before anything
            in it is looked at; the disks of those before it have answered by then.
        look: asks the disk that a folder is on for anything that only it can tell.
        patience_s: so long an answer is waited for.
    """

    def __init__(
        self,
        networks: Callable[[Path], Collection[Path]] = lambda _: (),
        around: Callable[[Path], Iterable[Path]] = lambda _: (),
        look: Callable[[str], object] = os.statvfs,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._networks = networks
        self._around = around
        self._look = look
        self._patience_s = patience_s
        self._questions: dict[str, _Question] = {}

    def hanging_at(self, folder: str) -> str:
        """Return the place at or above `folder` whose disk is known not to answer; '': none."""
        for question in self._questions.values():
            at = question.place.rstrip("/")
            if question.is_overdue and (folder == question.place or folder.startswith(f"{at}/")):
                return question.place
        return ""

    async def hanging_around(self, folder: str) -> str:
        """Probe the disks that an operation in `folder` may need; return the one that hangs, or ''.

        They are the network disks at, above and below the folder, its work trees and its
        repository. Each folder has at most one probe at a time, in a separate thread.
        """
        question = self._questions.get(folder)
        if question is None:
            loop = asyncio.get_running_loop()
            question = self._questions[folder] = _Question(folder, loop.create_future())
            question.answered.add_done_callback(lambda _: self._questions.pop(folder, None))
            Thread(
                target=self._ask, args=(folder, question, loop), name="disk", daemon=True
            ).start()
        if not question.is_overdue:
            await asyncio.wait([question.answered], timeout=self._patience_s)
        question.is_overdue = not question.answered.done()
        return question.place if question.is_overdue else ""

    def _ask(self, folder: str, question: _Question, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for every disk in question, in a separate thread."""
        with contextlib.suppress(OSError):
            for place in self._in_question(Path(folder), question):
                question.place = str(place)
                with contextlib.suppress(OSError):  # an error is an answer
                    self._look(question.place)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(question.answered.set_result, None)

    def _in_question(self, folder: Path, question: _Question) -> Iterator[Path]:
        everywhere = self._networks(Path("/"))
        for one in chain((folder,), _later(self._around, folder)):
            yield from (place for place in everywhere if one.is_relative_to(place))
            question.place = str(one)  # a link in its name may lead to a disk that hangs
            yield from self._networks(one)


def _later(around: Callable[[Path], Iterable[Path]], folder: Path) -> Iterator[Path]:
    """Yield the paths around a folder, looked up only when the first is requested."""
    yield from around(folder)


Answer = dict[str, object]
Verb = Callable[..., Answer]
"""`verb(home, call, ask)`, or `verb(home, call)` where the request has no fields."""
Line = Callable[[int | str, "Answer | YaadError"], bytes]
"""Given the id of a request and what became of it, the line that says so."""
USER_STORE: Final = ""
"""The name of the user store in events."""
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
        # Not by a look into sys.modules: it has modules that another thread is still importing.
        return cast("Verb", getattr(import_module(f"yaadwatch.{self.module}"), self.name))

    def __call__(self, home: Home, call: Call, *ask: Message) -> Answer:
        """Call the verb."""
        return self.find()(home, call, *ask)


VERBS: Final[Mapping[str, Late]] = {
    "remember": Late("remember.remember", "remember"),
    "recall": Late("recall.recall", "recall"),
    "context": Late("sessions.context", "context"),
    "show": Late("remember.curate", "show"),
    "forget": Late("remember.curate", "forget"),
    "erase": Late("projects.erasing", "erase"),
    "restore": Late("remember.history", "restore"),
    "history": Late("remember.history", "history"),
    "confirm": Late("remember.curate", "confirm"),
    "update": Late("remember.edit", "update"),
    "reanchor": Late("remember.edit", "reanchor"),
    "pin": Late("remember.curate", "pin"),
    "unpin": Late("remember.curate", "unpin"),
    "tag": Late("remember.curate", "tag"),
    "stale": Late("staleness.stale", "stale"),
    "impact": Late("remember.history", "impact"),
    "link": Late("remember.links", "link"),
    "unlink": Late("remember.links", "unlink"),
    "close_link": Late("remember.links", "close_link"),
    "subgraph": Late("recall.walks", "subgraph"),
    "traverse": Late("recall.walks", "traverse"),
    "inject": Late("remember.inject", "inject"),
    "graph_stats": Late("recall.walks", "graph_stats"),
    "delete_node": Late("remember.curate", "delete_node"),
    "delete_edge": Late("remember.links", "delete_edge"),
    "tasks": Late("sessions.tasks", "tasks"),
    "task_update": Late("sessions.tasks", "task_update"),
    "skills": Late("sessions.tasks", "skills"),
    "skill_add": Late("sessions.tasks", "skill_add"),
    "sessions": Late("sessions.sessions", "sessions"),
    "session_start": Late("sessions.sessions", "session_start"),
    "session_note": Late("sessions.sessions", "session_note"),
    "session_end": Late("sessions.sessions", "session_end"),
    "handoff": Late("sessions.news", "handoff"),
    "session_news": Late("sessions.news", "session_news"),
    "session_touched": Late("sessions.news", "session_touched"),
    "claims": Late("memory.claims", "claims"),
    "add_claim": Late("memory.claims", "add_claim"),
    "end_claim": Late("memory.claims", "end_claim"),
    "contradictions": Late("memory.contradictions", "contradictions"),
    "resolve": Late("memory.claims", "resolve"),
    "gaps": Late("memory.gaps", "gaps"),
    "approve_gap": Late("memory.gaps", "approve_gap"),
    "drop_gap": Late("memory.gaps", "drop_gap"),
    "review": Late("remember.review", "review"),
    "decide": Late("remember.review", "decide"),
    "feedback": Late("remember.edit", "feedback"),
    "check": Late("staleness.stale", "check"),
    "add": Late("projects.projects", "add"),
    "remove": Late("projects.projects", "remove"),
    "projects": Late("projects.projects", "projects"),
    "files": Late("sync.files", "files"),
    "files_diff": Late("sync.files", "files_diff"),
    "files_sync": Late("sync.files", "files_sync"),
    "files_adopt": Late("sync.files", "files_adopt"),
    "files_statements": Late("sync.sharing", "statements"),
    "files_share": Late("sync.sharing", "files_share"),
    "files_release": Late("sync.files", "files_release"),
    "files_history": Late("sync.sharing", "files_history"),
    "files_restore": Late("sync.files", "files_restore"),
    "status": Late("projects.projects", "status"),
    "config": Late("projects.projects", "config"),
    "health": Late("workspace.lookup", "health"),
    "upkeep": Late("projects.upkeep", "upkeep"),
    "export": Late("projects.exporting", "export"),
    "import": Late("projects.importing", "import_file"),
    "imports": Late("projects.importing", "list_imports"),
    "verify": Late("projects.verifying", "verify"),
    "compact": Late("projects.exporting", "compact"),
    "backup": Late("projects.exporting", "backup"),
    "embed_status": Late("recall.vectors", "embed_status"),
    "embed_enable": Late("recall.vectors", "embed_enable"),
    "embed_disable": Late("recall.vectors", "embed_disable"),
    "embed_rebuild": Late("recall.vectors", "embed_rebuild"),
    "embed_rollback": Late("recall.vectors", "embed_rollback"),
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
    """Return whether a request only reads the stores."""
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
        on_left: called for an agent whose session has ended.
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
            YaadError: NOT_FOUND when it is not watched, UNAVAILABLE when its disk does not answer.
        """
        found: list[Answer | YaadError] = []

        def keep(identity: int | str, answer: Answer | YaadError) -> bytes:  # noqa: ARG001
            found.append(answer)
            return b""

        # As a job, so that a hung disk does not block the loop here either.
        request = Request(id=0, operation=BY_NAME["subscribe"], message=Subscribe(), project=None)
        await self.answer(hello, request, keep, verb=_stores_of)
        answer = found[0]
        if isinstance(answer, YaadError):
            raise answer
        return frozenset(cast("list[str]", answer["stores"]))

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
        except Exception as error:  # noqa: BLE001  (the subscriber gets the reason)
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
        """Return the answer line, encoded in the verb's thread, so that a long
        answer does not block the loop.
        """
        name = request.operation.name
        try:
            do = verb or self._verbs[name]
            if name in CAUSES and call.origin == PERSON and isinstance(do, Late):
                do = partial(_announcing, do)
            ask = (request.message,) if request.message.FIELDS else ()
            return line(request.id, do(self._home, call, *ask))
        except BaseException as error:  # noqa: BLE001  (the thread goes on; the caller gets it)
            return line(request.id, self.failure_of(name, error))

    def failure_of(self, operation: str, error: BaseException) -> YaadError:
        """Return the error for the client; log `error` unless it is expected."""
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
    """Return a verb's answer with the agent files it changed."""
    # Loads what syncs agent files, which most daemons that are just asked something never need.
    from yaadwatch.sync.tree import sync_for_command

    began = home.clock.now()
    return do(home, call, *ask) | sync_for_command(home, call, began)


def _stores_of(home: Home, call: Call, ask: Message) -> Answer:  # noqa: ARG001
    """Return the stores with events about the folder of a call."""
    project, _ = home.project_at(call.folder)
    return {"stores": [project.id, USER_STORE]}


@lru_cache(maxsize=256)
def _call(folder: str, agent: str | None, session: str) -> Call:
    origin = PERSON if agent is None else origin_of(agent)
    return Call(folder=Path(folder), origin=origin, session=session)
