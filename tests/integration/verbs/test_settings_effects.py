"""What settings do that no other test shows: meaning, quiet, a model's process, a project's own."""

import asyncio
import os
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from refusals import refusal
from tiny_model import build, complete
from verb_world import World

from yaadwatch.daemon import arming
from yaadwatch.daemon.intake import Intake
from yaadwatch.daemon.supervisor import Health
from yaadwatch.memory.flags import Checked
from yaadwatch.model.errors import Code
from yaadwatch.model.settings import Memory, Recall, Settings, Store, Vectors, Watch
from yaadwatch.projects import projects
from yaadwatch.recall import recall, vectors
from yaadwatch.workspace import agent_files
from yaadwatch.workspace.workspace import Call

CAR = "The red car is in the queue"
TESTS = "We log the tests"
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def home(environment, tmp_path):
    return tmp_path


@pytest.fixture
def world(home):
    world = World(home / "work")
    yield world
    world.close()


def with_model(world, folder):
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    pytest.importorskip("tokenizers", reason="the extra `onnx` is not installed")
    tree = world.repo()
    tree.add()
    tree.remember(CAR)
    tree.remember(TESTS)
    vectors.embed_enable(tree.home, tree.call, model=str(build(folder / "one")))
    complete(tree.home)
    return tree


def test_how_much_the_meaning_counts_is_a_setting(world, home):
    tree = with_model(world, home)

    def scores(weight):
        tree.home.settings = replace(Settings(), recall=Recall(semantic_weight=weight))
        found = recall.recall(tree.home, tree.call, query="the red car")
        return {row["text"]: row["score"] for row in found["results"]}

    assert TESTS not in scores(0.0)
    assert TESTS in scores(1.0)


def test_how_long_the_process_of_a_model_stays_is_a_setting(home):
    world = World(home / "work", settings=Settings(vectors=Vectors(idle_s=1)))
    tree = with_model(world, home)

    def state():
        return vectors.embed_status(tree.home, tree.call)["models"][0]["worker"]["state"]

    end = time.monotonic() + 60
    while state() != "cold":
        assert time.monotonic() < end
        time.sleep(0.05)
    world.close()


@pytest.mark.parametrize(("quiet_ms", "checked"), [(50, True), (1500, False)])
def test_how_long_a_burst_must_be_quiet_is_a_setting(home, quiet_ms, checked):
    """Time stands still but for half a second after a save."""
    clock = [100.0]
    checks = []

    def check(project, worktree, paths):
        checks.append(paths)
        return Checked()

    async def story():
        tree = home / "tree"
        (tree / ".git").mkdir(parents=True)
        (tree / "a.py").write_text("a")
        intake = Intake(
            SimpleNamespace(
                trees=lambda project: [_Tree(tree)],
                registered=lambda: {"p": tree / ".git"},
                check=check,
                sync=lambda project, worktree, paths: False,
                formats=agent_files.formats,
            ),
            settings=Watch(quiet_ms=quiet_ms),
            health=Health(),
            monotonic_s=lambda: clock[0],
            silent=lambda folder: (),
        )
        await intake.start()
        running = asyncio.create_task(intake.run())
        try:
            await _advance_until(clock, lambda: checks and intake.idle)
            checks.clear()
            seen = intake.trees.watcher.events
            (tree / "a.py").write_text("b")
            await _until(lambda: intake.trees.watcher.events > seen)
            await asyncio.sleep(0.2)
            clock[0] += 0.5
            for _ in range(100):
                await asyncio.sleep(0.02)
                if checks:
                    break
            assert bool(checks) is checked
            await _advance_until(clock, lambda: checks)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await intake.stop()

    asyncio.run(story())


async def _until(true):
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def _advance_until(clock, true):
    def further():
        clock[0] += 0.1
        return true()

    await _until(further)


class _Tree:
    """A work tree with one anchored file, as `arming.WatchedTree`."""

    def __init__(self, root):
        self.project, self.worktree, self.root = "p", 1, Path(root)
        self.git_dir = self.common_dir = self.root / ".git"
        self.paths = frozenset({"a.py"})
        self.files = frozenset()
        self.agent_files = frozenset()


def test_how_many_folders_are_watched_is_a_setting():
    assert arming.budget(Watch(directories_max=7)) == 7
    assert arming.budget(Watch(directories_max=0)) == 0


class TestOfAProject:
    """`.yaad/config.toml`: half-lives and the budget, for this project, and nothing else."""

    @pytest.fixture
    def tree(self, world):
        tree = world.repo()
        tree.add()
        (tree.path / ".yaad").mkdir()
        return tree

    def write(self, tree, text):
        path = tree.path / ".yaad" / "config.toml"
        path.write_text(text)
        os.utime(path, (1_700_000_000, 1_700_000_000))

    def told(self, tree):
        answer = projects.config(tree.home, tree.call)
        return {row["key"]: row for row in answer["settings"]}, answer["warnings"]

    def test_its_budget_holds_for_its_store_alone(self, tree, world):
        other = world.repo("other")
        other.add()
        tree.home.settings = replace(Settings(), store=Store(budget_mib=0))
        self.write(tree, "[store]\nbudget_mib = 17\n")

        assert self.told(tree)[0]["store.budget_mib"]["value"] == 17
        assert self.told(other)[0]["store.budget_mib"]["value"] == 0
        size = projects.status(tree.home, tree.call)["projects"]
        assert sorted(row["size"]["budget_bytes"] or 0 for row in size) == [0, 17 * 1024 * 1024]

    def test_its_half_lives_hold_for_its_memories(self, tree, world):
        other = world.repo("other")
        other.add()
        for one in (tree, other):
            one.remember("The cache is in src/net.py", kind="spec")
        self.write(tree, "[memory]\nhalf_life_days = 3\n")
        world.clock.advance(timedelta(days=12))
        archived = tree.upkeep()["archived"]

        assert [row["project"] for row in archived] == [str(tree.path)]

    def test_where_each_is_from_is_told(self, tree):
        tree.home.set_by = {"memory.half_lives": "YAAD_MEMORY_HALF_LIVES"}
        tree.home.settings = replace(Settings(), memory=Memory(half_lives=("task=3",)))
        self.write(tree, "[memory]\nhalf_lives = ['task=9']\nhalf_life_days = 12\n")

        rows, warnings = self.told(tree)

        assert warnings == []
        assert rows["memory.half_lives"]["from"] == "YAAD_MEMORY_HALF_LIVES"
        assert rows["memory.half_lives"]["value"] == ["task=3"]
        assert rows["memory.half_life_days"]["from"] == str(tree.path / ".yaad" / "config.toml")
        assert rows["memory.half_life_days"]["value"] == 12
        assert rows["watch.poll_s"]["from"] == "default"

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[git]\ntimeout_ms = 600000\n", "git.timeout_ms cannot be set by a project"),
            ("[store]\nbudget_mb = 5\n", "Did you mean store.budget_mib?"),
            ("[store]\nbudget_mib = -1\n", "store.budget_mib must be within"),
            ("[memory]\nhalf_lives = 5\n", "memory.half_lives must be a list of texts"),
            ("[memory\n", "is not TOML"),
            ("x" * 3_000, "no plain file of at most"),
            ("a = " + "[" * 1_900, "is not TOML"),
            ("[store]\nbudget_mib = 0x" + "f" * 900, "got one of more than 300 digits"),
            ("[memory]\nhalf_life_days = 0x" + "f" * 400, "got one of more than 300 digits"),
            ("[memory]\nhalf_life_days = 1e-300\n", "half_life_days must be within"),
            ("[memory]\nhalf_lives = ['spec=1e-300']\n", "half_lives must be days from"),
            ("[memory]\nhalf_lives = [0x" + "f" * 900 + "]\n", "half_lives must be a list"),
            ("[memory]\nhalf_life_days = 2.9\n", "half-life of at least 3 days, got 2.9"),
            ("[memory]\nhalf_lives = ['task=1.3']\n", "of the kind task must keep"),
            ("[memory]\nhalf_lives = ['note=0.5']\n", "of the kind note must keep"),
            ("[store]\nbudget_mib = 0\n", "is refused: a project's must be within 16 and 1024"),
            ("[store]\nbudget_mib = 15\n", "within 16 and 1024, got 15"),
            ("[store]\nbudget_mib = 1025\n", "within 16 and 1024, got 1025"),
        ],
        ids=lambda given: given[:40],
    )
    def test_what_a_stranger_writes_there_is_told_and_not_used(self, tree, text, words):
        self.write(tree, text)

        rows, warnings = self.told(tree)

        assert len(warnings) == 1
        assert words in warnings[0]
        assert {row["from"] for row in rows.values()} == {"default"}
        problems = projects.status(tree.home, tree.call)["problems"]
        assert warnings[0] in [problem["what"] for problem in problems]
        tree.remember(CAR)
        assert tree.upkeep()["skipped"] == []

    def test_a_secret_that_stands_there_is_not_told(self, tree):
        self.write(tree, f"[store]\nbudget_mib = '{TOKEN}'\n")

        _, warnings = self.told(tree)

        assert "'[masked:github-token]'" in warnings[0]
        problems = projects.status(tree.home, tree.call)["problems"]
        assert warnings[0] in [problem["what"] for problem in problems]

    def test_one_bad_value_leaves_the_others(self, tree):
        self.write(tree, "[store]\nbudget_mib = 1\n[memory]\nhalf_life_days = 4\n")

        rows, warnings = self.told(tree)

        assert len(warnings) == 1
        assert rows["memory.half_life_days"]["value"] == 4
        assert rows["store.budget_mib"]["value"] == 1024

    def test_what_the_person_made_longer_is_not_made_short_by_leaving_it_out(self, tree):
        own = Memory(half_life_days=20, half_lives=("decision=3650",))
        tree.home.settings = replace(Settings(), memory=own)
        self.write(tree, "[memory]\nhalf_lives = []\n")

        rows, (warning,) = self.told(tree)

        assert rows["memory.half_lives"]["value"] == ["decision=3650"]
        assert "of the kind decision must keep a half-life of at least 365 days" in warning

    def test_a_person_with_less_may_have_a_project_with_as_much(self, tree):
        own = replace(Settings(), store=Store(budget_mib=8), memory=Memory(half_life_days=0.5))
        tree.home.settings = own
        self.write(tree, "[store]\nbudget_mib = 8\n[memory]\nhalf_life_days = 0.5\n")

        assert self.told(tree)[1] == []

    def test_a_link_there_is_not_followed(self, tree, home):
        (home / "elsewhere.toml").write_text("[store]\nbudget_mib = 17\n")
        (tree.path / ".yaad" / "config.toml").symlink_to(home / "elsewhere.toml")

        rows, warnings = self.told(tree)

        assert rows["store.budget_mib"]["value"] == 1024
        assert "no plain file" in warnings[0]

    def test_a_change_holds_at_once(self, tree):
        self.write(tree, "[store]\nbudget_mib = 17\n")
        assert self.told(tree)[0]["store.budget_mib"]["value"] == 17
        (tree.path / ".yaad" / "config.toml").write_text("[store]\nbudget_mib = 18\n")
        assert self.told(tree)[0]["store.budget_mib"]["value"] == 18
        (tree.path / ".yaad" / "config.toml").unlink()
        assert self.told(tree)[0]["store.budget_mib"]["value"] == 1024

    def test_outside_of_projects_the_persons_own_hold(self, world, home):
        answer = projects.config(world.home, Call(folder=home, origin="cli"))

        assert answer["project"] is None
        assert answer["warnings"] == []
        error = refusal(recall.recall, world.home, Call(folder=home, origin="cli"), query="x")
        assert error.code is Code.NOT_FOUND
