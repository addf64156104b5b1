"""The composition root: every part of the daemon is made here, and given what it needs.

Nothing else in the program knows more than its neighbours.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from yaadwatch import places
from yaadwatch.client.hooks import log as hook_log
from yaadwatch.core import privacy, text_cache
from yaadwatch.daemon import records
from yaadwatch.daemon.follower import Follower
from yaadwatch.daemon.health import Health
from yaadwatch.daemon.lookback_worker import Looker
from yaadwatch.daemon.renewal import Renewal
from yaadwatch.daemon.scheduler import Scheduler
from yaadwatch.daemon.stream import Stream
from yaadwatch.daemon.supervisor import Service, attempt, in_words
from yaadwatch.daemon.vector_filler import Filler, Verbs
from yaadwatch.daemon.watching.intake import Intake
from yaadwatch.daemon.watching.trees import Engine
from yaadwatch.engine import compose, watch_list
from yaadwatch.engine.agent_files import finding, reading
from yaadwatch.engine.inout import own_store
from yaadwatch.engine.vectors import vector_fill
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model import times
from yaadwatch.model.errors import YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.settings import LONG_REST, STORE_IDLE, Settings
from yaadwatch.servers.dispatch import MEND, Dispatcher
from yaadwatch.servers.local_socket import LocalSocket
from yaadwatch.servers.workers import Disks, Workers
from yaadwatch.system import mounts, processes
from yaadwatch.system.clock import Clock
from yaadwatch.system.distribution import Installation
from yaadwatch.system.git.layout import stands_at
from yaadwatch.system.supervision import Manager

if TYPE_CHECKING:
    from yaadwatch.engine.doubts.flagging import Checked

SOCKET_LOOK_S: Final = 5.0
"""Time between two looks at whether the socket's file is still there."""
_SOCKET: Final = "socket"
LATER: Final = (
    "yaadwatch.engine.visibility",
    "yaadwatch.engine.syncing.lookback",
    "yaadwatch.engine.moved",
    "yaadwatch.engine.stale",
    "yaadwatch.engine.syncing.tree",
    "yaadwatch.engine.upkeep",
    "yaadwatch.engine.sessions.ending",
    "yaadwatch.engine.sessions.prepared",
)
"""What the first check and the end need, but neither an answer nor watching. It is imported before
it is needed: once an upgrade has replaced our modules, the new ones would not fit.
"""


class Bell:
    """Carries the news that a store was written from any thread to the loop it was made in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._open = True
        self._hear: Callable[[str], None] = _nobody

    def ring(self, store: str) -> None:
        """Report that a store was written; does nothing once the daemon ends."""
        with self._lock:
            if self._open:
                self._loop.call_soon_threadsafe(self._hear, store)

    def answer(self, hear: Callable[[str], None]) -> None:
        """Have `hear` called on the loop for each store that is written from now on."""
        self._hear = hear

    def close(self) -> None:
        """Stop calling listeners."""
        with self._lock:
            self._open = False


def _nobody(store: str) -> None:
    """Hear nothing: the parts are still being made."""


class Pulse:
    """What the running daemon knows of itself; see `engine.workspace.Pulse`. Any thread."""

    def __init__(
        self,
        *,
        intake: Intake,
        scheduler: Scheduler,
        health: Health,
        started_at: datetime,
        socket: Path,
        now: Callable[[], datetime],
    ) -> None:
        self._intake = intake
        self._scheduler = scheduler
        self._health = health
        self._since = times.told(started_at)  # made once: `health` is asked often
        self._socket = socket
        self._now = now

    def watch(self, project: str) -> tuple[str, int | None]:
        """Return how the project is watched, and the time the last check took to come, in ms."""
        return self._intake.mode(project), self._intake.lag_ms(project)

    def hangs(self, project: str) -> bool:
        """Return whether a disk that the project is on does not answer."""
        return self._intake.hangs(project)

    def problems(self) -> list[dict[str, str]]:
        """Return what is degraded, and how many hooks sent their agent nothing."""
        found = [
            {"what": one.what, "mend": one.mend, "project": one.project}
            for one in self._health.problems()
        ]
        found += [
            {"what": what, "mend": MEND, "project": project}
            for what, project in self._intake.stuck()
        ]
        hooks = privacy.mask(hook_log.count(places.hook_log(), self._now()).in_words()).text
        return [*found, {"what": hooks, "mend": "yaadwatch doctor"}] if hooks else found

    def next_runs(self) -> dict[str, datetime]:
        """Return when each job runs next."""
        return self._scheduler.next_runs()

    def since(self) -> str:
        """Return when the daemon was started, as answers tell it."""
        return self._since

    def socket(self) -> str:
        """Return the path that the daemon listens on."""
        return str(self._socket)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything the daemon consists of."""

    bell: Bell
    home: Home
    health: Health
    dispatcher: Dispatcher
    socket: LocalSocket
    intake: Intake
    own_list: own_store.KeptList
    services: tuple[Service, ...]


def build(
    settings: Settings,
    manager: Manager,
    *,
    holds_lock: Callable[[], bool],
    on_shutdown: Callable[[], None],
) -> Parts:
    """Make every part; nothing runs yet. Called on the loop.

    Args:
        settings: what the person set.
        manager: what the service manager handed over.
        holds_lock: says whether this process is still the daemon.
        on_shutdown: called when a client asks the daemon to end.

    Raises:
        YaadError: neither the user store nor anything in its place can be had.
    """
    bell, health, clock = Bell(), Health(), Clock()
    own = own_store.open_own(on_commit=lambda: bell.ring(records.USER))
    if own.told:
        health.degraded("user store", own.told, mend=own.mend)
    home = compose.open_home(settings, user=own.db, clock=clock, on_commit=bell.ring)
    stream = Stream(records.logs_of(home))
    intake = _intake(home, bell, health)
    filler = _filler(home, health)
    looker = Looker(partial(_look_back, home), intake.anchors_changed)
    follower = _follower(home, intake, filler, health)
    own_list = own_store.KeptList()
    scheduler = _scheduler(home, intake, own_list, health)

    workers = Workers()
    leaving: set[asyncio.Future[None]] = set()

    def left(call: Call) -> None:
        loop = asyncio.get_running_loop()

        def end() -> None:
            from yaadwatch.engine.sessions import ending

            home.left(call)
            loop.call_soon_threadsafe(intake.quiet, call.folder.resolve())
            ending.left(home, call)

        # No client waits for it: git takes its time, and a disk that hangs keeps it for ever.
        ending_now = asyncio.ensure_future(workers.run((str(call.folder), "left"), end))
        leaving.add(ending_now)
        ending_now.add_done_callback(leaving.discard)

    disks = Disks(mounts.networks, stands_at)
    dispatcher = Dispatcher(home, mask, on_left=left, workers=workers, disks=disks)
    path = manager.path or places.default_socket()
    socket = LocalSocket(
        path,
        dispatcher,
        version=places.VERSION,
        events=stream.events,
        on_shutdown=on_shutdown,
        wide=settings.mcp.wide,
        now=clock.now,
        listening=manager.listening,
    )
    renewal = Renewal(
        replaced=Installation().was_replaced,
        holds_lock=holds_lock,
        stale_store=own_store.Standing(own, clock.now).why_begin_again,
        rss_bytes=processes.own_rss_bytes,
        memory_mib=settings.daemon.memory_mib,
        busy=lambda: dispatcher.busy,
        health=health,
        mark=places.renewed(),
        now=clock.now,
    )
    home.pulse = Pulse(
        intake=intake,
        scheduler=scheduler,
        health=health,
        started_at=clock.now(),
        socket=path,
        now=clock.now,
    )

    def written(store: str) -> None:
        stream.wake(store)
        if store == records.USER:
            intake.registry_changed()
            filler.user_store_written()
        else:
            follower.wake(store)
            looker.wake(store)
            intake.store_written(store)

    bell.answer(written)
    return Parts(
        bell=bell,
        home=home,
        health=health,
        dispatcher=dispatcher,
        socket=socket,
        intake=intake,
        own_list=own_list,
        services=(
            Service(name="intake", run=intake.run),
            Service(name="follower", run=follower.run),
            Service(name="filler", run=filler.run),
            Service(name="looker", run=looker.run),
            Service(name="scheduler", run=scheduler.run),
            Service(name="socket", run=keeper(socket.renew, health)),
            Service(name="renewal", run=renewal.run),
        ),
    )


def mask(text: str) -> str:
    """Return `text` without its secrets."""
    return privacy.mask(text).text


def _intake(home: Home, bell: Bell, health: Health) -> Intake:
    def trees(project: str | None) -> list[watch_list.WatchedTree]:
        if not records.are_in_place(home, project):
            from yaadwatch.engine import moved

            moved.seek(home, project)
        return watch_list.watched(home, project)

    def check(project: str, worktree: int, paths: frozenset[str] | None) -> "Checked":
        from yaadwatch.engine import stale

        try:
            return stale.check_tree(home, project, worktree, paths)
        finally:
            # The check at start wakes the follower for what was left undone, written or not.
            bell.ring(project)

    def sync(project: str, worktree: int, paths: frozenset[str] | None) -> bool:
        from yaadwatch.engine import visibility
        from yaadwatch.engine.sessions import prepared
        from yaadwatch.engine.syncing import tree as syncing

        visibility.find_landed(home, project, worktree)
        done = syncing.sync_tree(home, project, worktree, paths)
        prepared.prepare(home, project, worktree, anew=paths is None)
        return done.waiting or done.watching

    def is_rule(path: str) -> bool:
        try:
            return reading.formats(home).is_below(path)
        except YaadError:  # a setting that is no pattern: `status` tells, no file is read
            return False

    def is_place(path: str) -> bool:
        try:
            return path in reading.formats(home).places
        except YaadError:
            return False

    return Intake(
        Engine(
            trees=trees,
            projects=lambda: records.where(home),
            check=check,
            sync=sync,
            is_rule=is_rule,
            is_passed=finding.is_passed,
            is_place=is_place,
        ),
        settings=home.settings.watch,
        health=health,
        monotonic_s=home.clock.monotonic_s,
        silent=mounts.networks,
    )


def _look_back(home: Home, project: str) -> bool:
    from yaadwatch.engine.syncing import lookback

    try:
        return lookback.go_on(home, project)
    finally:
        processes.give_back()


def _filler(home: Home, health: Health) -> Filler:
    verbs = Verbs(
        user=vector_fill.USER,
        wanted=partial(vector_fill.wanted, home),
        stores=partial(vector_fill.stores, home),
        batch=partial(vector_fill.batch, home),
        skip=partial(vector_fill.skip, home),
        these=partial(vector_fill.these, home),
        take_over=partial(vector_fill.take_over, home),
        tidy=partial(vector_fill.tidy, home),
    )
    return Filler(verbs, health)


def _follower(home: Home, intake: Intake, filler: Filler, health: Health) -> Follower:
    async def check(project: str, event: Event) -> None:
        worktree = event.body.get("worktree")
        if isinstance(worktree, int):
            await intake.check_now(project, worktree)

    async def watch(project: str, event: Event) -> None:
        intake.anchors_changed(project)
        intake.rules_changed(project)
        filler.remembered(project, event.subject)

    async def carry(project: str, event: Event) -> None:  # noqa: ARG001
        intake.rules_changed(project)

    handlers = {"check": check, "watch": watch, "carry": carry}
    return Follower(records.journal_of(home), handlers, health)


def _scheduler(
    home: Home,
    intake: Intake,
    own_list: own_store.KeptList,
    health: Health,
) -> Scheduler:
    async def keep() -> None:
        from yaadwatch.engine import upkeep
        from yaadwatch.engine.sessions import ending

        try:
            await asyncio.to_thread(upkeep.run_daily, home)
        finally:
            await asyncio.to_thread(ending.expire, home, everywhere=True)

    async def expire() -> None:
        from yaadwatch.engine.sessions import ending

        await asyncio.to_thread(ending.expire, home)

    async def poll() -> None:
        await intake.poll()
        await asyncio.to_thread(rest, home)
        await asyncio.to_thread(own_list.keep, home)

    async def back_up() -> None:
        await asyncio.to_thread(_keeping().back_up_all, home)

    async def trim() -> None:
        await asyncio.to_thread(_keeping().trim_all, home)

    return Scheduler(
        {
            "upkeep": keep,
            "backup": back_up,
            "trim": trim,
            "sweep": intake.sweep,
            "poll": poll,
            "sessions": expire,
        },
        records.runs_of(home, mask),
        clock=home.clock,
        settings=home.settings.watch,
        health=health,
        on_jump=intake.sweep,
    )


def rest(home: Home) -> None:
    """Close idle stores, drop caches after a long rest, and return free memory to the system."""
    home.stores.rest(STORE_IDLE)
    if home.stores.begins_long_rest(LONG_REST):
        home.git.rest()
        text_cache.forget()
    processes.give_back()


def _keeping() -> ModuleType:
    """Return what backs up and trims; a daemon that has nothing of that to do goes without it."""
    return import_module("yaadwatch.engine.inout.backups")


def keeper(
    renew: Callable[[], Awaitable[object]],
    health: Health,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Callable[[], Awaitable[None]]:
    """Return what sees to it that the socket can be reached, for as long as the daemon runs.

    However often that goes wrong it is tried again: a part that is given up would leave a daemon
    that nobody can reach, and that keeps the next one from starting.
    """

    async def keep() -> None:
        while True:
            await sleep(SOCKET_LOOK_S)
            error = await attempt(renew())
            if error is None:
                health.well(_SOCKET)
            else:
                health.degraded(
                    _SOCKET,
                    f"The socket is gone and cannot be made anew: {in_words(error)}",
                    mend="yaadwatch restart",
                )

    return keep
