"""The daemon's composition root: builds every part and passes in what it needs."""

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
from yaadwatch.client import hook_log
from yaadwatch.daemon import follower as daemon_follower
from yaadwatch.daemon.dispatch import MEND, Disks, Dispatcher, Workers
from yaadwatch.daemon.follower import Follower, Stream
from yaadwatch.daemon.intake import Intake
from yaadwatch.daemon.local_socket import LocalSocket
from yaadwatch.daemon.scheduler import Renewal, Scheduler
from yaadwatch.daemon.supervisor import Health, Service, attempt, error_in_words
from yaadwatch.daemon.trees import Engine
from yaadwatch.daemon.vector_filler import Filler, Looker, Verbs
from yaadwatch.model import events
from yaadwatch.model.errors import YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.settings import LONG_REST, STORE_IDLE, Settings
from yaadwatch.projects import verifying
from yaadwatch.recall import vectors
from yaadwatch.repo.layout import place_names
from yaadwatch.staleness import stale
from yaadwatch.system import files, processes
from yaadwatch.system.clock import Clock
from yaadwatch.system.processes import Manager
from yaadwatch.system.settings_files import Installation
from yaadwatch.text import privacy, words
from yaadwatch.workspace import agent_files, lookup
from yaadwatch.workspace.workspace import Call, Home

if TYPE_CHECKING:
    from yaadwatch.memory.flags import Checked


SOCKET_LOOK_S: Final = 5.0
"""Time between two looks at whether the socket's file is still there."""
_SOCKET: Final = "socket"
LATER: Final = (
    "yaadwatch.memory.visibility",
    "yaadwatch.sync.lookback",
    "yaadwatch.workspace.lookup",
    "yaadwatch.staleness.stale",
    "yaadwatch.sync.tree",
    "yaadwatch.projects.upkeep",
    "yaadwatch.sessions.ending",
    "yaadwatch.sessions.context",
)
"""What the first check and the end need, but neither an answer nor watching. It is imported before
it is needed: once an upgrade has replaced our modules, the new ones would not fit.
"""


class WriteSignal:
    """Carries the news that a store was written from any thread to the loop it was made in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._open = True
        self._hear: Callable[[str], None] = _ignore

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


def _ignore(store: str) -> None:
    """Ignore a signal while the parts are still being built."""


class DaemonState:
    """The state of the running daemon, for `status` and answers. Any thread."""

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
        self._since = events.time_text(started_at)  # made once: `health` is asked often
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
        """Return when the daemon was started, in the form of answers."""
        return self._since

    def socket(self) -> str:
        """Return the path that the daemon listens on."""
        return str(self._socket)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything the daemon consists of."""

    bell: WriteSignal
    home: Home
    health: Health
    dispatcher: Dispatcher
    socket: LocalSocket
    intake: Intake
    own_list: verifying.ProjectListKeeper
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
    bell, health, clock = WriteSignal(), Health(), Clock()
    own = verifying.open_own(on_commit=lambda: bell.ring(daemon_follower.USER))
    if own.notice:
        health.degraded("user store", own.notice, mend=own.mend)
    home = lookup.open_home(settings, user=own.db, clock=clock, on_commit=bell.ring)
    stream = Stream(daemon_follower.logs_of(home))
    intake = _intake(home, bell, health)
    filler = _filler(home, health)
    looker = Looker(partial(_look_back, home), intake.anchors_changed)
    follower = _follower(home, intake, filler, health)
    own_list = verifying.ProjectListKeeper()
    scheduler = _scheduler(home, intake, own_list, health)

    workers = Workers()
    leaving: set[asyncio.Future[None]] = set()

    def left(call: Call) -> None:
        loop = asyncio.get_running_loop()

        def end() -> None:
            from yaadwatch.sessions import ending

            home.left(call)
            loop.call_soon_threadsafe(intake.quiet, call.folder.resolve())
            ending.end_of_agent(home, call)

        # No client waits for it: git takes its time, and a disk that hangs keeps it for ever.
        ending_now = asyncio.ensure_future(workers.run((str(call.folder), "left"), end))
        leaving.add(ending_now)
        ending_now.add_done_callback(leaving.discard)

    disks = Disks(files.networks, place_names)
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
        stale_store=verifying.UserStoreHealth(own, clock.now).restart_reason,
        rss_bytes=processes.own_rss_bytes,
        memory_mib=settings.daemon.memory_mib,
        busy=lambda: dispatcher.busy,
        health=health,
        mark=places.renewed(),
        now=clock.now,
    )
    home.pulse = DaemonState(
        intake=intake,
        scheduler=scheduler,
        health=health,
        started_at=clock.now(),
        socket=path,
        now=clock.now,
    )

    def written(store: str) -> None:
        stream.wake(store)
        if store == daemon_follower.USER:
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


def _intake(home: Home, bell: WriteSignal, health: Health) -> Intake:
    def trees(project: str | None) -> list[stale.WatchedTree]:
        if not daemon_follower.are_in_place(home, project):
            from yaadwatch.workspace import lookup

            lookup.seek(home, project)
        return stale.watched(home, project)

    def check(project: str, worktree: int, paths: frozenset[str] | None) -> "Checked":
        from yaadwatch.staleness import stale

        try:
            return stale.check_tree(home, project, worktree, paths)
        finally:
            # The check at start wakes the follower for what was left undone, written or not.
            bell.ring(project)

    def sync(project: str, worktree: int, paths: frozenset[str] | None) -> bool:
        from yaadwatch.memory import visibility
        from yaadwatch.sessions import context
        from yaadwatch.sync import tree

        visibility.find_merged_elsewhere(home, project, worktree)
        done = tree.sync_tree(home, project, worktree, paths)
        context.prepare(home, project, worktree, force=paths is None)
        return done.waiting or done.watching

    def is_rule(path: str) -> bool:
        try:
            return agent_files.known_formats(home).is_below(path)
        except YaadError:  # a setting that is no pattern: `status` reports it, no file is read
            return False

    def is_place(path: str) -> bool:
        try:
            return path in agent_files.known_formats(home).places
        except YaadError:
            return False

    return Intake(
        Engine(
            trees=trees,
            projects=lambda: daemon_follower.where(home),
            check=check,
            sync=sync,
            is_rule=is_rule,
            is_passed=agent_files.is_skipped_folder,
            is_place=is_place,
        ),
        settings=home.settings.watch,
        health=health,
        monotonic_s=home.clock.monotonic_s,
        silent=files.networks,
    )


def _look_back(home: Home, project: str) -> bool:
    from yaadwatch.sync import lookback

    try:
        return lookback.compare_next(home, project)
    finally:
        processes.give_back()


def _filler(home: Home, health: Health) -> Filler:
    verbs = Verbs(
        user=vectors.USER,
        wanted=partial(vectors.wanted, home),
        stores=partial(vectors.stores, home),
        batch=partial(vectors.batch, home),
        skip=partial(vectors.skip, home),
        these=partial(vectors.these, home),
        take_over=partial(vectors.take_over, home),
        tidy=partial(vectors.tidy, home),
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
    return Follower(daemon_follower.journal_of(home), handlers, health)


def _scheduler(
    home: Home,
    intake: Intake,
    own_list: verifying.ProjectListKeeper,
    health: Health,
) -> Scheduler:
    async def keep() -> None:
        from yaadwatch.projects import upkeep
        from yaadwatch.sessions import ending

        try:
            await asyncio.to_thread(upkeep.run_daily, home)
        finally:
            await asyncio.to_thread(ending.expire, home, everywhere=True)

    async def expire() -> None:
        from yaadwatch.sessions import ending

        await asyncio.to_thread(ending.expire, home)

    async def poll() -> None:
        await intake.poll()
        await asyncio.to_thread(release_idle, home)
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
        daemon_follower.runs_of(home, mask),
        clock=home.clock,
        settings=home.settings.watch,
        health=health,
        on_jump=intake.sweep,
    )


def release_idle(home: Home) -> None:
    """Close idle stores, drop caches after a long rest, and return free memory to the system."""
    home.stores.rest(STORE_IDLE)
    if home.stores.begins_long_rest(LONG_REST):
        home.git.rest()
        words.clear_caches()
    processes.give_back()


def _keeping() -> ModuleType:
    """Import the module for backups and trimming, which most daemons never need."""
    return import_module("yaadwatch.projects.exporting")


def keeper(
    renew: Callable[[], Awaitable[object]],
    health: Health,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Callable[[], Awaitable[None]]:
    """Return the service that keeps the socket reachable while the daemon runs.

    It retries without limit: giving up would leave a daemon
    that no client can reach, and that keeps the next one from starting.
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
                    f"The socket is gone and cannot be made again: {error_in_words(error)}",
                    mend="yaadwatch restart",
                )

    return keep
