"""Dispatch requests to the functions of `VERBS`, on threads of each folder or network disk.

This is the only place on the wire that catches every exception: the caller always gets an answer,
and a fault of ours is logged.

A network file system whose server is gone blocks every thread that touches it until it is
unmounted, and a blocked thread cannot be ended. So all folders of a network disk share a few
threads, and each other folder has as many of its own.
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
    Hashable,
    Mapping,
)
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from yaadwatch.api.codec import Request
from yaadwatch.api.frames import answer, encode, failure
from yaadwatch.api.message import Message
from yaadwatch.api.messages.memories import Stale
from yaadwatch.api.messages.store import Hello
from yaadwatch.api.operations import BY_NAME
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import REQUESTS_AT_ONCE_MAX
from yaadwatch.system.clock import PATIENCE_STEPS
from yaadwatch.system.files import near
from yaadwatch.text import privacy
from yaadwatch.workspace.workspace import PERSON, Call, Home, origin_of

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

    # Threads of all folders together: some folders on disks that hang keep no other waiting.
    def __init__(self, per_key: int = REQUESTS_AT_ONCE_MAX, threads_max: int = 64) -> None:
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


Answer = dict[str, object]
Verb = Callable[..., Answer]
"""`verb(home, call, ask)`, or `verb(home, call)` where the request has no fields."""
Line = Callable[[int | str, "Answer | YaadError"], bytes]
"""Given the id of a request and what became of it, the line that says so."""
Events = Callable[[str | None], AsyncIterator[Answer]]
"""Given a cursor, that cursor and the events after it; without one, from now on."""

LOOK_S: Final = 2.0
"""The disk of a request that takes longer than this is asked for something, and has as long."""

MEND: Final = "umount --lazy the disk that hangs, then: yaadwatch restart"
WAIT: Final = "Wait and ask again; findmnt --target names the disk of a folder."

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Late:
    """The verb `name` of a feature's module, which is imported when it is first asked for."""

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


_MODULES: Final = {
    "remember.remember": "remember",
    "recall.recall": "recall",
    "sessions.context": "context",
    "remember.curate": "show forget confirm pin unpin tag delete_node",
    "projects.erasing": "erase",
    "projects.facts": "facts",
    "remember.history": "restore history impact",
    "remember.edit": "update reanchor",
    "staleness.stale": "stale check",
    "remember.links": "link unlink close_link delete_edge",
    "recall.walks": "subgraph traverse graph_stats",
    "remember.inject": "inject",
    "sessions.tasks": "tasks task_update skills skill_add",
    "sessions.sessions": "sessions session_start session_note session_end",
    "sessions.news": "handoff session_news session_touched",
    "memory.claims": "claims add_claim end_claim resolve",
    "memory.contradictions": "contradictions",
    "memory.gaps": "gaps approve_gap drop_gap",
    "remember.review": "review decide",
    "projects.projects": "add remove projects status config",
    "sync.files": "files files_diff files_sync files_adopt files_release files_restore",
    "sync.sharing": "files_statements=statements files_share files_history",
    "workspace.lookup": "health",
    "projects.upkeep": "upkeep",
    "projects.exporting": "export compact backup",
    "projects.importing": "import=import_file imports=list_imports",
    "projects.verifying": "verify",
    "recall.vectors": "embed_status embed_enable embed_disable",
}
"""The verbs of each module, called like their operations; else `operation=function`."""

VERBS: Final[Mapping[str, Late]] = {
    verb.partition("=")[0]: Late(module, verb.rpartition("=")[2])
    for module, verbs in _MODULES.items()
    for verb in verbs.split()
}
"""Without `subscribe` and `shutdown`, which the server answers with what the daemon handed it."""

MAY_CHANGE_FILES: Final = frozenset(
    {
        *("remember", "forget", "erase", "restore", "confirm", "update", "reanchor", "pin"),
        *("unpin", "link", "unlink", "close_link", "inject", "delete_node", "delete_edge"),
        *("resolve", "upkeep", "import"),
    }
)
"""Operations about memories that may change agent files: a person hears which in the answer."""


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
        workers: the threads, a few for each disk.
        disk_of: returns the network disk that a folder is on, or the folder itself.
        look: asks the disk that a folder is on for anything that only it can tell.
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
        disk_of: Callable[[str], str] = str,
        look: Callable[[str], object] = os.statvfs,
        look_s: float = LOOK_S,
    ) -> None:
        self._home = home
        self._mask = mask
        self._verbs = verbs
        self._on_left = on_left
        self._workers = workers or Workers()
        self._disk_of = disk_of
        self._look = look
        self._look_s = look_s
        self._looks = Workers(1, 16)  # none of which waits for the threads of verbs
        self._looking: dict[str, asyncio.Future[object]] = {}

    def at_once(self, hello: Hello, request: Request) -> bytes | None:
        """Return the line that answers `request`, if that needs no thread."""
        # It looks at nothing but memory, and is answered where it is heard.
        if request.operation.name != "health":
            return None
        return self.run_verb(_call(request.project or hello.cwd, hello.agent, ""), request)

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

        A request whose disk does not answer is given up while its thread still waits. If this is
        cancelled, a verb that has not begun is not begun.

        Args:
            hello: who asks.
            request: what is asked.
            line: serialises the answer.
            session: names the connection of an agent that stays; see `left`.
            verb: what answers it instead of the verb of its operation.
        """
        call = _call(request.project or hello.cwd, hello.agent, session)
        name, folder = request.operation.name, str(call.folder)
        disk = self._disk_of(folder)
        key = (disk, _reads_what_is_known(request))  # what is known waits for no check
        running = asyncio.ensure_future(
            self._workers.run(key, partial(self.run_verb, call, request, line, verb))
        )
        try:
            while not (await asyncio.wait([running], timeout=self._look_s))[0]:
                if disk not in self._looking:
                    look = self._looks.run(disk, partial(self._look, folder))
                    self._looking[disk] = asyncio.ensure_future(look)
                    self._looking[disk].add_done_callback(partial(self._looked, disk))
                if not await self._answers(running, self._looking[disk]):
                    what = f"The disk at {folder} does not answer; `{name}` may still be done."
                    reason = self._mask(what)
                    _log.warning("request.given_up", extra={"operation": name, "reason": reason})
                    hint = WAIT if near([Path(folder)]) else MEND
                    error = YaadError(Code.UNAVAILABLE, what, hint=hint)
                    return line(request.id, self.failure_of(name, error))
            return running.result()
        finally:
            running.cancel()

    async def _answers(self, *either: "asyncio.Future[Any]") -> bool:
        """Return whether a verb or the look at its disk ends in time."""
        for _ in range(PATIENCE_STEPS):
            step_s = self._look_s / PATIENCE_STEPS
            done, _ = await asyncio.wait(
                either, timeout=step_s, return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return True
        return False

    def _looked(self, disk: str, looking: "asyncio.Future[object]") -> None:
        """Forget a question that a disk has answered; an error is an answer, too."""
        del self._looking[disk]
        if not looking.cancelled():
            looking.exception()

    async def is_watched(self, hello: Hello) -> bool:
        """Return whether the folder of a client is in a watched project, or may be."""
        found: list[Answer | YaadError] = []

        def keep(identity: int | str, answer: Answer | YaadError) -> bytes:  # noqa: ARG001
            found.append(answer)
            return b""

        def look(home: Home, call: Call) -> Answer:
            return {"id": home.project_at(call.folder)[0].id}

        # As a job, so that a hung disk does not block the loop here either.
        operation = BY_NAME["health"]
        request = Request(id=0, operation=operation, message=operation.request(), project=None)
        await self.answer(hello, request, keep, verb=look)
        answer = found[0]
        return not (isinstance(answer, YaadError) and answer.code is Code.NOT_FOUND)

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
                    line = encode({"jsonrpc": "2.0", "method": "event", "params": event})
                    yield privacy.mask_tokens(line)
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
        self._looks.close()

    def run_verb(
        self, call: Call, request: Request, line: Line = as_rpc, verb: Verb | None = None
    ) -> bytes:
        """Run a verb in this thread and return the line that answers its caller.

        It is encoded here, so that a long answer does not block the loop.
        """
        name = request.operation.name
        try:
            do = verb or self._verbs[name]
            if name in MAY_CHANGE_FILES and call.origin == PERSON and isinstance(do, Late):
                do = partial(_and_sync, do)
            if "[masked:" in str(call.folder):
                call = self._home.unmasked(call)
            ask = (request.message,) if request.message.FIELDS else ()
            return privacy.mask_tokens(line(request.id, do(self._home, call, *ask)))
        except BaseException as error:  # noqa: BLE001  (the thread goes on; the caller gets it)
            return line(request.id, self.failure_of(name, error))

    def failure_of(self, operation: str, error: BaseException) -> YaadError:
        """Return the error for the client; log `error` unless it is expected."""
        if isinstance(error, YaadError):
            masked = YaadError(error.code, self._mask(error.message), self._mask(error.hint))
        elif isinstance(error, ValueError):
            masked = YaadError(Code.BAD_REQUEST, self._mask(f"The request was not done: {error}."))
        else:
            masked = YaadError(
                Code.INTERNAL,
                f"`{operation}` ran into a bug in yaadwatch: {type(error).__name__}.",
                hint="The daemon's log has the details.",
            )
        if masked.code is Code.INTERNAL or not isinstance(error, YaadError):
            _log.error(
                "operation.crashed",
                extra={
                    "operation": operation,
                    "code": str(masked.code),
                    "traceback": self._mask("".join(traceback.format_exception(error))),
                },
            )
        return masked


def _and_sync(do: Verb, home: Home, call: Call, *ask: Message) -> Answer:
    """Run a verb, then sync the agent files; return its answer with those that were written."""
    # Loads what syncs agent files, which most daemons that are just asked something never need.
    from yaadwatch.sync.tree import sync_for_command

    began = home.clock.now()
    return do(home, call, *ask) | sync_for_command(home, call, began)


@lru_cache(maxsize=256)
def _call(folder: str, agent: str | None, session: str) -> Call:
    origin = PERSON if agent is None else origin_of(agent)
    return Call(folder=Path(folder), origin=origin, session=session)
