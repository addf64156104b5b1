"""The daemon's composition root: builds every part and passes in what it needs."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import Any, Final

from yaadwatch import places
from yaadwatch.client import hook_log
from yaadwatch.daemon import follower
from yaadwatch.daemon.connection import Serving
from yaadwatch.daemon.dispatch import MEND, WAIT, Dispatcher, Workers
from yaadwatch.daemon.follower import USER, Follower, Logs, Stream
from yaadwatch.daemon.intake import Intake
from yaadwatch.daemon.local_socket import LocalSocket
from yaadwatch.daemon.process import Manager
from yaadwatch.daemon.scheduler import Renewal, Rest, Runs, Scheduler
from yaadwatch.daemon.supervisor import Health, Service, attempt, error_in_words
from yaadwatch.daemon.trees import HERE, Engine
from yaadwatch.daemon.vector_filler import Filler, Looker
from yaadwatch.model.events import Event, time_text
from yaadwatch.model.settings import LONG_REST, STORE_IDLE, Settings
from yaadwatch.projects import verifying
from yaadwatch.system import files, processes
from yaadwatch.system.clock import Clock
from yaadwatch.system.job_processes import JobProcesses
from yaadwatch.system.settings_files import Installation
from yaadwatch.text import privacy, words
from yaadwatch.workspace import lookup
from yaadwatch.workspace.workspace import Call, DaemonState, Home

LATER: Final = (
    "yaadwatch.memory.visibility",
    "yaadwatch.sync.lookback",
    "yaadwatch.sync.tree",
    "yaadwatch.projects.upkeep",
    "yaadwatch.sessions.ending",
    "yaadwatch.sessions.context",
)
"""What the first check and the end need, but neither an answer nor watching. It is imported before
it is needed: once an upgrade has replaced our modules, the new ones would not fit.
"""

JOBS: Final = "from yaadwatch.workspace.large_jobs import answer_jobs; answer_jobs()"


class WriteSignal:
    """Carries the news that a store was written from any thread to the loop it was made in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._open = True
        self._hear: Callable[[str], None] | None = None

    def send(self, store: str) -> None:
        """Report that a store was written; does nothing once the daemon ends."""
        with self._lock:
            if self._open and self._hear is not None:
                self._loop.call_soon_threadsafe(self._hear, store)

    def listen(self, hear: Callable[[str], None]) -> None:
        """Have `hear` called on the loop for each store that is written from now on."""
        self._hear = hear

    def close(self) -> None:
        """Stop calling listeners."""
        with self._lock:
            self._open = False


def problems(intake: Intake, health: Health, now: Callable[[], datetime]) -> list[dict[str, str]]:
    """Return what is degraded, and how many hooks sent their agent nothing. Any thread."""
    found = [
        {"what": mask(one.what), "mend": one.mend, "project": one.project}
        for one in health.problems()
    ]
    found += [
        {"what": what, "mend": WAIT if project == HERE else MEND, "project": project}
        for what, project in intake.stuck()
    ]
    hooks = mask(hook_log.count(places.hook_log(), now()).in_words())
    return [*found, {"what": hooks, "mend": "yaadwatch doctor"}] if hooks else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything the daemon consists of."""

    signal: WriteSignal
    home: Home
    health: Health
    dispatcher: Dispatcher
    socket: LocalSocket
    intake: Intake
    follower: Follower
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
        YaadError: the user store cannot be had.
    """
    signal, health, clock = WriteSignal(), Health(), Clock()
    user, notice = verifying.open_user_store(on_commit=lambda: signal.send(USER))
    if notice:
        mend = "yaadwatch restart, when you have read this"
        health.degraded("user store", notice, mend=mend)
    home = lookup.open_home(settings, user=user, clock=clock, on_commit=signal.send)
    home.job_processes = JobProcesses(JOBS)
    stream = Stream(Logs(home))
    intake = Intake(
        Engine(home, signal.send),
        settings=settings.watch,
        health=health,
        monotonic_s=clock.monotonic_s,
        silent=files.networks,
    )
    filler = Filler(home, health)
    looker = Looker(partial(_look_back, home), intake.anchors_changed)
    following = Follower(partial(follower.unread, home), partial(_react, intake, filler))
    rest = Rest(
        user,
        now=clock.now,
        memory_mib=lambda: processes.own_rss_bytes() / 2**20,
        clients=lambda: socket.connections,
    )
    scheduler = _scheduler(home, intake, health, rest)
    workers = Workers()
    dispatcher = Dispatcher(
        home,
        mask,
        on_left=partial(_leave, home, intake, workers, set()),
        workers=workers,
        disk_of=intake.trees.disk_of,
    )
    path = manager.path or places.default_socket()
    serving = Serving(
        dispatcher=dispatcher,
        version=places.VERSION,
        now=clock.now,
        events=stream.events,
        on_shutdown=on_shutdown,
        wide=settings.mcp.wide,
    )
    socket = LocalSocket(path, serving, listening=manager.listening)
    renewal = Renewal(
        replaced=Installation().was_replaced,
        holds_lock=holds_lock,
        other_reason=lambda: rest.reason or verifying.restart_reason(user),
        memory_mib=lambda: processes.own_rss_bytes(anonymous=True) / 2**20,
        limit_mib=settings.daemon.memory_mib,
        busy=lambda: dispatcher.busy,
        health=health,
    )
    home.daemon_state = DaemonState(
        watch=lambda project: (intake.mode(project), intake.lag_ms(project)),
        problems=partial(problems, intake, health, clock.now),
        next_runs=scheduler.next_runs,
        since=time_text(clock.now()),
        socket=str(path),
    )

    def written(store: str) -> None:
        stream.wake(store)
        if store == USER:
            intake.registry_changed()
            filler.wake(store)
        else:
            following.wake(store)
            looker.wake(store)
            intake.store_written(store)

    signal.listen(written)
    return Parts(
        signal=signal,
        home=home,
        health=health,
        dispatcher=dispatcher,
        socket=socket,
        intake=intake,
        follower=following,
        services=(
            Service(name="intake", run=intake.run),
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


def _react(intake: Intake, filler: Filler, project: str, event: Event | None) -> None:
    """Do what `REACTIONS` says of an event; everything when any may have been missed (None)."""
    reaction = "anchors" if event is None else follower.reaction_to(event)
    if reaction == "head" and event is not None:
        worktree = event.body.get("worktree")
        if isinstance(worktree, int):
            intake.head_moved(project, worktree)
        return
    if reaction == "anchors":
        intake.anchors_changed(project)
        filler.wake(project)
    intake.rules_changed(project)


def _leave(
    home: Home, intake: Intake, workers: Workers, leaving: "set[asyncio.Future[None]]", call: Call
) -> None:
    """End an agent's session. No client waits for it: git takes its time, and a disk may hang."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        from yaadwatch.sessions import ending

        home.left(call)
        loop.call_soon_threadsafe(intake.quiet, call.folder.resolve())
        ending.end_of_agent(home, call)

    disk = intake.trees.disk_of(str(call.folder))
    ending_now = asyncio.ensure_future(workers.run((disk, "left"), end))
    leaving.add(ending_now)
    ending_now.add_done_callback(leaving.discard)


def _look_back(home: Home, project: str) -> bool:
    from yaadwatch.sync import lookback

    try:
        return lookback.compare_next(home, project)
    finally:
        processes.give_back()


def _scheduler(home: Home, intake: Intake, health: Health, rest: Rest) -> Scheduler:
    async def run(module: str, verb: str, **options: Any) -> None:
        """Run a job in a thread; its module is imported when it is first due."""
        job = getattr(import_module(f"yaadwatch.{module}"), verb)
        await asyncio.to_thread(job, home, **options)

    async def upkeep() -> None:
        try:
            await run("projects.upkeep", "run_daily")
        finally:
            await run("sessions.ending", "expire", everywhere=True)

    async def poll() -> None:
        await intake.poll()
        if await asyncio.to_thread(release_idle, home):
            await asyncio.to_thread(rest.begin)

    return Scheduler(
        {
            "upkeep": upkeep,
            "backup": partial(run, "projects.exporting", "back_up_all"),
            "trim": partial(run, "projects.exporting", "trim_all"),
            "sweep": intake.sweep,
            "poll": poll,
            "sessions": partial(run, "sessions.ending", "expire"),
        },
        Runs(home),
        clock=home.clock,
        settings=home.settings.watch,
        health=health,
        on_jump=intake.sweep,
    )


def release_idle(home: Home) -> bool:
    """Close idle stores and return free memory to the system; return whether a long rest begins.

    Then caches are dropped, too.
    """
    home.stores.rest(STORE_IDLE)
    begins = home.stores.begins_long_rest(LONG_REST)
    if begins:
        home.git.rest()
        words.clear_caches()
        gc.collect()
    processes.give_back()
    return begins


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
            # Time between two looks at whether the socket's file is still there.
            await sleep(5.0)
            error = await attempt(renew())
            if error is None:
                health.well("socket")
            else:
                what = f"The socket is gone and cannot be made again: {error_in_words(error)}"
                health.degraded("socket", what, mend="yaadwatch restart")

    return keep
