"""The daemon's parts together, with a real watcher and real git; the verbs are recorded only."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from yaadwatch.daemon.intake import CHECKS_AT_ONCE, Intake
from yaadwatch.daemon.supervisor import Health
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import Watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux")

DEADLINE_S = 20.0
TURNS = 2_000
"""Of the loop, during which whoever waits in it without a pause does so hundreds of times."""
QUIET_MS = 50
PATHS = frozenset({"a.py", "src/auth/jwt.py", "new/deep/er/x.py"})


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A work tree as `WatchedTree` describes one."""

    project: str
    worktree: int
    root: Path
    git_dir: Path
    common_dir: Path
    paths: frozenset[str] = PATHS

    @property
    def registered(self) -> Path:
        return self.common_dir


@dataclass(frozen=True, kw_only=True)
class Done:
    raised: int = 0
    cleared: int = 0


@dataclass
class RecordingEngine:
    """Knows some work trees, and writes down when it was asked to check which."""

    there: list[Tree] = field(default_factory=list)
    checks: list[tuple[str, int, frozenset[str] | None]] = field(default_factory=list)
    syncs: list[frozenset[str] | None] = field(default_factory=list)
    error: Exception | None = None
    waiting: bool = False
    answer: Done = Done()
    before: Callable[[], None] = lambda: None
    seen: dict[str, str | None] = field(default_factory=dict)
    places: dict[str, Path] = field(default_factory=dict)
    agent_files: frozenset[str] = frozenset()

    def trees(self, project: str | None) -> list[Tree]:
        return [tree for tree in self.there if project in (None, tree.project)]

    def registered(self) -> dict[str, Path]:
        return {tree.project: tree.common_dir for tree in self.there} | self.places

    def formats(self) -> SimpleNamespace:
        return SimpleNamespace(places=self.agent_files, is_below=lambda _: False)

    def sync(self, project: str, worktree: int, paths: frozenset[str] | None) -> bool:
        self.syncs.append(paths)
        return self.waiting

    def check(self, project: str, worktree: int, paths: frozenset[str] | None) -> Done:
        self.before()
        self.checks.append((project, worktree, paths))
        (tree,) = [one for one in self.there if (one.project, one.worktree) == (project, worktree)]
        for path in tree.paths if paths is None else paths & tree.paths:
            self.seen[path] = _text(tree.root / path)
        self.seen = {path: text for path, text in self.seen.items() if path in tree.paths}
        if self.error is not None:
            raise self.error
        return self.answer


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def repository(root: Path, project: str = "p") -> Tree:
    """Make a repository with two of the three anchored files in it."""
    (root / "src/auth").mkdir(parents=True)
    (root / "a.py").write_text("a")
    (root / "src/auth/jwt.py").write_text("b")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return Tree(
        project=project,
        worktree=1,
        root=root,
        git_dir=root / ".git",
        common_dir=root / ".git",
    )


@dataclass
class World:
    intake: Intake
    engine: RecordingEngine
    health: Health

    @property
    def checks(self) -> list[tuple[str, int, frozenset[str] | None]]:
        return self.engine.checks

    async def until(self, true: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE_S
        while not true():
            assert time.monotonic() < end, self.checks[-20:]
            await asyncio.sleep(0.005)

    async def settled(self) -> None:
        """Wait until every event so far was told, and nothing is left to be checked."""
        watcher = self.intake.trees.watcher
        quiet_since, events = time.monotonic(), watcher.events
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() - quiet_since < 4 * QUIET_MS / 1000:
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
            if watcher.events != events or not self.intake.idle:
                quiet_since, events = time.monotonic(), watcher.events

    async def quiet(self) -> None:
        """Wait until everything is checked, then forget it."""
        await self.settled()
        self.checks.clear()

    def looked_at(self, path: str) -> bool:
        return any(paths is None or path in paths for _, _, paths in self.checks)


def far(folder: Path) -> list[Path]:
    """Return the folders called `remote` at, above or below a folder: they are on the network."""
    if "remote" in folder.parts or folder == Path("/"):
        return [folder]
    return [one for one in folder.rglob("remote") if one.is_dir()]


@asynccontextmanager
async def watching(
    engine: RecordingEngine, clock: Callable[[], float] = time.monotonic, **settings: int
) -> AsyncIterator[World]:
    health = Health()
    intake = Intake(
        engine,
        settings=Watch(quiet_ms=QUIET_MS, **settings),
        health=health,
        monotonic_s=clock,
        silent=far,
    )
    await intake.start()
    running = asyncio.create_task(intake.run())
    try:
        yield World(intake, engine, health)
        assert not running.done(), running.exception()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await intake.stop()


def story(told: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    """Run an asynchronous test with a watched repository."""

    def test(tmp_path: Path) -> None:
        async def run() -> None:
            tree = repository(tmp_path / "r")
            async with watching(RecordingEngine([tree])) as world:
                await world.until(lambda: world.checks == [("p", 1, None)])
                await world.quiet()
                await told(world, tree)

        asyncio.run(run())

    test.__name__ = told.__name__
    test.__doc__ = told.__doc__
    return test


@story
async def test_at_start_everything_is_checked_once_and_everything_is_watched(world, tree):
    assert world.intake.mode("p") == "full"
    assert world.intake.mode("unheard of") == "off"
    assert world.intake.lag_ms("p") is None
    assert world.health.problems() == []


@story
async def test_a_saved_file_is_checked_once(world, tree):
    (tree.root / "a.py").write_text("new")
    await world.settled()

    assert world.checks == [("p", 1, frozenset({"a.py"}))]
    assert world.intake.lag_ms("p") >= QUIET_MS


@story
async def test_an_atomic_save_is_checked_once(world, tree):
    (tree.root / "src/auth/jwt.py~").write_text("new")
    (tree.root / "src/auth/jwt.py~").replace(tree.root / "src/auth/jwt.py")
    await world.settled()

    assert world.checks == [("p", 1, frozenset({"src/auth/jwt.py"}))]


@story
async def test_files_on_which_nothing_rests_cause_no_check(world, tree):
    for number in range(200):
        (tree.root / "src" / f"other{number}.py").write_text("x")
    (tree.root / "node_modules/deep").mkdir(parents=True)
    (tree.root / "node_modules/deep/a.py").write_text("x")
    await world.settled()

    assert world.checks == []


@story
async def test_our_own_git_calls_cause_no_check(world, tree):
    git(tree.root, "config", "yaad.project", "0199b1c2-7d3e-7f00-8a11-5c01f2e4ab37")
    (tree.root / "src/auth/untracked.py").touch()
    for command in (["status"], ["diff", "HEAD"], ["log", "-1"], ["ls-files"], ["blame", "a.py"]):
        git(tree.root, "--no-optional-locks", *command)
    await world.settled()

    assert world.checks == []


@story
async def test_a_commit_is_one_check(world, tree):
    (tree.root / "src/auth/unrelated.py").touch()
    git(tree.root, "add", ".")
    await world.quiet()

    git(tree.root, "commit", "-qm", "second")
    await world.settled()

    assert len(world.checks) == 1


@pytest.mark.parametrize(
    "command",
    [
        ["checkout", "-q", "-b", "feature/deep/er"],
        ["checkout", "-q", "--detach"],
        ["reset", "-q", "--soft", "HEAD~1"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["update-ref", "refs/heads/main", "HEAD~1"],
        ["-c", "core.logAllRefUpdates=false", "commit", "-q", "--allow-empty", "-m", "x"],
    ],
    ids=" ".join,
)
def test_every_way_to_move_head_is_noticed(tmp_path, command):
    @story
    async def run(world, tree):
        git(tree.root, "commit", "-q", "--allow-empty", "-m", "second")
        await world.quiet()

        git(tree.root, *command)
        await world.until(lambda: bool(world.checks))

    run(tmp_path)


@story
async def test_a_commit_on_a_branch_in_a_new_folder_of_branches_is_noticed(world, tree):
    git(tree.root, "config", "core.logAllRefUpdates", "false")
    git(tree.root, "checkout", "-q", "-b", "team/feature")
    await world.quiet()

    git(tree.root, "commit", "-q", "--allow-empty", "-m", "second")
    await world.until(lambda: bool(world.checks))


@story
async def test_a_checkout_of_five_thousand_files_is_two_checks_at_most(world, tree):
    git(tree.root, "checkout", "-q", "-b", "large")
    for folder in range(50):
        (tree.root / f"src/d{folder}").mkdir()
        for file in range(100):
            (tree.root / f"src/d{folder}/f{file}.py").write_text(f"{folder} {file}")
    (tree.root / "a.py").write_text("large")
    git(tree.root, "add", ".")
    git(tree.root, "commit", "-qm", "large")
    git(tree.root, "checkout", "-q", "main")
    await world.quiet()

    git(tree.root, "checkout", "-q", "large")
    await world.settled()

    assert world.looked_at("a.py")
    assert len(world.checks) <= 2


@story
async def test_fifteen_cherry_picks_are_three_checks_at_most(world, tree):
    git(tree.root, "checkout", "-q", "-b", "side")
    for number in range(15):
        (tree.root / f"f{number}.py").write_text("x")
        git(tree.root, "add", ".")
        git(tree.root, "commit", "-qm", f"number {number}")
    git(tree.root, "checkout", "-q", "main")
    await world.quiet()

    git(tree.root, "cherry-pick", "main..side")
    await world.settled()

    assert 1 <= len(world.checks) <= 3


def test_while_there_is_no_room_for_a_check_the_loop_rests(tmp_path):
    """At a start all projects wait for two threads; to look for room all the time cost more."""
    trees = [repository(tmp_path / f"r{at}", f"p{at}") for at in range(CHECKS_AT_ONCE + 2)]
    begun, go_on, looks = threading.Semaphore(0), threading.Event(), []

    def clock() -> float:
        looks.append(None)
        return time.monotonic()

    def wait() -> None:
        begun.release()
        assert go_on.wait(DEADLINE_S)

    async def run() -> int:
        async with watching(RecordingEngine(trees, before=wait), clock) as world:
            for _ in range(CHECKS_AT_ONCE):
                assert await asyncio.to_thread(begun.acquire, timeout=DEADLINE_S)
            before = len(looks)
            for _ in range(TURNS):
                await asyncio.sleep(0)
            looked = len(looks) - before
            go_on.set()
            await world.settled()
            assert {project for project, _, _ in world.checks} == {one.project for one in trees}
            return looked

    assert asyncio.run(run()) < TURNS / 10


@story
async def test_while_git_holds_the_index_nothing_is_checked(world, tree):
    (tree.git_dir / "index.lock").touch()
    (tree.root / "a.py").write_text("new")
    await asyncio.sleep(QUIET_MS / 1000 * 6)
    during = list(world.checks)

    (tree.git_dir / "index.lock").unlink()
    await world.settled()

    assert during == []
    assert world.checks == [("p", 1, frozenset({"a.py"}))]


@story
async def test_a_folder_that_is_moved_away_takes_its_files_with_it(world, tree):
    (tree.root / "src").rename(tree.root / "lib")
    await world.until(lambda: world.looked_at("src/auth/jwt.py"))
    await world.quiet()

    (tree.root / "lib/auth/jwt.py").write_text("elsewhere")
    await world.settled()

    assert world.checks == []


@story
async def test_a_repository_whose_parent_is_moved_never_reports_from_its_new_place(world, tree):
    tree.root.parent.rename(tree.root.parent.with_name("elsewhere"))
    await world.until(lambda: world.looked_at("a.py"))
    await world.quiet()

    (tree.root.parent.with_name("elsewhere") / "r/a.py").write_text("new")
    await world.settled()

    assert world.intake.mode("p") == "off"
    assert world.checks == []


def mounted(what: Path, where: Path) -> bool:
    """Have `what` stand at `where` too, as a disk that was put in; return whether that can be."""
    command = ["mount", "--bind", str(what), str(where)]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_disk_that_is_taken_out_is_told_and_the_next_poll_finds_it_back(tmp_path):
    async def run() -> None:
        disk, place = tmp_path / "disk", tmp_path / "r"
        tree = repository(disk)
        place.mkdir()
        if not mounted(disk, place):
            pytest.skip("nothing can be mounted here")
        here = replace(tree, root=place, git_dir=place / ".git", common_dir=place / ".git")
        try:
            async with watching(RecordingEngine([here])) as world:
                await world.quiet()
                subprocess.run(["umount", str(place)], check=True)
                await world.intake.poll()
                await world.settled()
                without = world.intake.mode("p")
                (disk / "a.py").write_text("written elsewhere")
                mounted(disk, place)
                await world.intake.poll()
                await world.settled()
                back = world.engine.seen["a.py"]
                (place / "src/auth/jwt.py").write_text("here again")
                await world.until(lambda: world.engine.seen["src/auth/jwt.py"] == "here again")

                assert without == "off"
                assert back == "written elsewhere"
                assert world.intake.mode("p") == "full"
        finally:
            subprocess.run(["umount", "-l", str(place)], capture_output=True)

    asyncio.run(run())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_disk_that_is_put_in_or_out_below_a_work_tree_is_watched_from_the_next_poll_on(tmp_path):
    """Nobody is told when a disk hides a folder: those who watch go on watching what is hidden."""

    async def run() -> None:
        tree = repository(tmp_path / "r")
        place, disk = tree.root / "src", tmp_path / "disk"
        (disk / "auth").mkdir(parents=True)
        (disk / "auth/jwt.py").write_text("on the disk")
        async with watching(RecordingEngine([tree])) as world:
            await world.quiet()
            if not mounted(disk, place):
                pytest.skip("nothing can be mounted here")
            try:
                await world.intake.poll()
                await world.settled()
                put_in = world.engine.seen["src/auth/jwt.py"]
                (place / "auth/jwt.py").write_text("edited there")
                await world.until(lambda: world.engine.seen["src/auth/jwt.py"] == "edited there")
            finally:
                subprocess.run(["umount", "-l", str(place)], check=True)
            await world.intake.poll()
            await world.until(lambda: world.engine.seen["src/auth/jwt.py"] == "b")
            await world.settled()
            (place / "auth/jwt.py").write_text("edited here")
            await world.until(lambda: world.engine.seen["src/auth/jwt.py"] == "edited here")

            assert put_in == "on the disk"
            assert world.intake.mode("p") == "full"
            assert world.health.problems() == []

    asyncio.run(run())


@story
async def test_lost_hints_end_in_a_check_of_everything(world, tree):
    world.intake.hints.overflow()
    await world.until(lambda: world.checks == [("p", 1, None)])
    await world.settled()

    assert world.health.problems() == []


@story
async def test_what_the_watcher_missed_is_found_by_polling(world, tree):
    world.intake.trees.watcher.close()
    (tree.root / "a.py").write_text("unseen")
    git(tree.root, "commit", "-qam", "unseen")

    await world.intake.poll()
    await world.until(lambda: world.checks == [("p", 1, frozenset({"a.py"}))])

    world.checks.clear()
    await world.intake.poll()
    await world.settled()
    assert world.checks == []


class Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)


@story
async def test_a_check_of_a_project_that_is_being_removed_is_no_error(world, tree):
    kept = Kept()
    logging.getLogger("yaadwatch").addHandler(kept)
    world.engine.error = YaadError(Code.UNAVAILABLE, "The store is not there.")
    (tree.root / "a.py").write_text("new")
    await world.until(lambda: bool(world.checks))
    world.engine.there.clear()
    world.intake.registry_changed()
    await world.until(lambda: world.intake.mode("p") == "off")
    await world.settled()
    logging.getLogger("yaadwatch").removeHandler(kept)

    assert world.health.problems() == []
    assert [one.message for one in kept.records if one.levelno > logging.INFO] == []


@story
async def test_changes_while_agent_files_wait_add_no_looks_of_their_own(world, tree):
    world.engine.waiting = True
    for number in range(8):
        (tree.root / "a.py").write_text(str(number))
        await world.settled()
    planned = asyncio.get_running_loop()._scheduled
    looks = [one for one in planned if "_again" in repr(one) and not one.cancelled()]

    assert len(looks) == 1


@story
async def test_many_saves_while_checks_fail_are_tried_again_together(world, tree):
    world.engine.error = OSError("a fault")
    for path in ("a.py", "src/auth/jwt.py", "a.py", "src/auth/jwt.py"):
        (tree.root / path).write_text("new")
        await world.settled()
    planned = asyncio.get_running_loop()._scheduled
    assert sum("_again" in repr(one) and not one.cancelled() for one in planned) <= 1

    world.engine.error = None
    world.checks.clear()
    (tree.root / "a.py").write_text("newer")
    await world.until(lambda: world.looked_at("src/auth/jwt.py"))
    await world.settled()
    assert world.health.problems() == []


@story
async def test_two_that_learn_at_once_that_work_trees_are_gone_do_not_fail(world, tree):
    for worktree in (2, 3, 4):
        world.engine.there.append(replace(tree, worktree=worktree))
    await world.intake.sweep()
    await world.settled()
    assert len(world.intake.trees.known) == 4

    world.engine.there.clear()
    await asyncio.gather(world.intake.sweep(), world.intake.poll(), world.intake.sweep())

    assert world.intake.mode("p") == "off"


@story
async def test_a_fault_in_a_check_stops_nothing(world, tree):
    world.engine.error = ZeroDivisionError("a fault")
    (tree.root / "a.py").write_text("new")
    await world.until(lambda: bool(world.health.problems()))
    world.engine.error = None
    (tree.root / "src/auth/jwt.py").write_text("new")
    await world.until(lambda: not world.health.problems())

    assert world.looked_at("src/auth/jwt.py")


@story
async def test_a_tree_that_is_not_there_is_left_alone(world, tree):
    world.engine.error = YaadError(Code.NOT_FOUND, "It is not there.")
    (tree.root / "a.py").write_text("new")
    await world.until(lambda: bool(world.checks))
    await world.settled()
    world.intake.head_moved("p", 1)
    await world.settled()

    assert world.health.problems() == []


@story
async def test_a_check_that_found_no_folder_is_done_when_the_folder_is_there_again(world, tree):
    world.engine.error = YaadError(Code.NOT_FOUND, "It is not there.")
    (tree.root / "a.py").write_text("new")
    await world.until(lambda: bool(world.checks))
    await world.settled()
    world.engine.error = None
    world.checks.clear()

    await world.intake.poll()
    await world.until(lambda: world.checks == [("p", 1, None)])
    world.checks.clear()
    await world.intake.poll()
    await world.settled()
    assert world.checks == []


async def _began_to_matter_while_away(world: World, tree: Tree, path: str) -> None:
    """Have what rests on `path` learnt while the folder of `tree` is not there; then it is."""
    world.engine.places["p"] = tree.common_dir
    world.engine.there.clear()
    world.intake.anchors_changed("p")
    await world.settled()
    world.engine.there.append(replace(tree, paths=PATHS | {path}))


@story
async def test_a_file_that_began_to_matter_while_the_folder_was_away_is_checked_at_a_change(
    world, tree
):
    """A memory was said, and the folder moved away before it was learnt what it rests on."""
    await _began_to_matter_while_away(world, tree, "later.py")

    (tree.root / "a.py").write_text("new")

    await world.until(lambda: world.looked_at("later.py"))


@story
async def test_a_file_that_began_to_matter_while_the_folder_was_away_is_checked_by_a_poll(
    world, tree
):
    await _began_to_matter_while_away(world, tree, "later.py")

    await world.intake.poll()

    await world.until(lambda: world.looked_at("later.py"))


@story
async def test_one_tree_is_never_checked_twice_at_once_and_few_are_at_all(world, tree):
    lock, now, most = threading.Lock(), [], []

    def work() -> None:
        with lock:
            now.append(1)
            most.append(len(now))
        time.sleep(0.02)
        with lock:
            now.pop()

    world.engine.before = work
    others = [repository(tree.root.parent / f"r{n}", project=f"p{n}") for n in range(6)]
    world.engine.there += others
    await world.intake.sweep()
    for _ in range(10):
        (tree.root / "a.py").write_text("new")
        await asyncio.sleep(0.02)
    await world.until(lambda: {project for project, _, _ in world.checks} >= {"p", "p5"})
    await world.settled()

    assert max(most) == CHECKS_AT_ONCE


def test_a_repository_on_a_network_file_system_is_polled(tmp_path):
    async def run() -> None:
        tree = repository(tmp_path / "remote" / "r")
        async with watching(RecordingEngine([tree])) as world:
            await world.quiet()

            (tree.root / "a.py").write_text("new")
            await world.settled()
            told = list(world.checks)
            await world.intake.poll()
            await world.settled()

            assert world.intake.mode("p") == "poll"
            assert told == []
            assert world.checks == [("p", 1, frozenset({"a.py"}))]

    asyncio.run(run())


def test_of_a_repository_with_a_network_file_system_in_it_that_part_is_polled(tmp_path):
    async def run() -> None:
        tree = repository(tmp_path / "r")
        (tree.root / "remote").mkdir()
        (tree.root / "remote/shared.py").write_text("c")
        both = replace(tree, paths=frozenset({"a.py", "remote/shared.py"}))
        async with watching(RecordingEngine([both])) as world:
            await world.quiet()

            (tree.root / "remote/shared.py").write_text("new")
            await world.settled()
            told = list(world.checks)
            (tree.root / "a.py").write_text("new")
            await world.until(lambda: world.looked_at("a.py"))
            watched = world.intake.trees.watcher.folders
            await world.intake.poll()
            await world.settled()

            assert world.intake.mode("p") == "poll"
            assert told == []
            assert tree.root / "remote" not in watched
            assert world.looked_at("remote/shared.py")

    asyncio.run(run())


def test_a_work_tree_whose_repository_is_on_a_network_file_system_is_polled_and_watched(tmp_path):
    async def run() -> None:
        main = repository(tmp_path / "remote" / "r")
        git(main.root, "worktree", "add", "-q", str(tmp_path / "w"))
        tree = replace(main, root=tmp_path / "w", git_dir=main.git_dir / "worktrees" / "w")
        async with watching(RecordingEngine([tree])) as world:
            await world.quiet()
            watched = world.intake.trees.watcher.folders
            (tree.root / "a.py").write_text("new")
            await world.until(lambda: world.looked_at("a.py"))
            git(tree.root, "commit", "-qam", "new")
            await world.settled()
            world.checks.clear()
            await world.intake.poll()
            await world.settled()

            assert world.intake.mode("p") == "poll"
            assert not any("remote" in folder.parts for folder in watched)
            assert world.checks

    asyncio.run(run())
