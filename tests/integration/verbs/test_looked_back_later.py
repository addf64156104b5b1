"""Between `add` and the look back anything may happen: nothing is lost, and nothing is made up."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest
from verb_world import NET, World

from yaadwatch.daemon import follower
from yaadwatch.db import anchors
from yaadwatch.db.anchors import Lookback
from yaadwatch.model.errors import YaadError
from yaadwatch.model.settings import Git, Settings
from yaadwatch.projects import projects
from yaadwatch.system import files
from yaadwatch.workspace import stores

RULES = """# Rules

- The limit lives in `src/limits.py`; `MAX_RETRIES` is 3.
- Tokens are read from `config/api.toml`.
"""
BOTH = {"The": "changed", "Tokens": "gone"}


def make(world: World):
    """A repository with two rules that are false since, and a branch from before the rules."""
    tree = world.tree()
    tree.git("init", "-q", "-b", "main")
    tree.commit("nothing said", {"src/net.py": NET})
    tree.git("branch", "before")
    tree.write("src/limits.py", "MAX_RETRIES = 3\n")
    tree.write("config/api.toml", "token = 1\n")
    tree.write("CLAUDE.md", RULES)
    tree.commit("rules")
    tree.git("branch", "rules")
    tree.commit("five", {"src/limits.py": "MAX_RETRIES = 5\n"})
    tree.commit("no tokens", gone=["config/api.toml"])
    return tree


@pytest.fixture
def old(world):
    """That repository, watched; nothing looked up."""
    tree = make(world)
    assert tree.add()["looking"] == 2
    return tree


@pytest.fixture
def failing(tmp_path, monkeypatch):
    """Have the commands of git that begin with a word fail, or hang, from now on."""
    real = next(
        Path(folder, "git")
        for folder in os.environ["PATH"].split(os.pathsep)
        if Path(folder, "git").is_file()
    )
    folder = tmp_path / "bin"

    def fail(word: str, how: str = "exit 128") -> Path:
        folder.mkdir(exist_ok=True)
        program = folder / "git"
        case = f'case " $* " in *" {word} "*) {how};; esac'
        program.write_text(f'#!/bin/sh\n{case}\nexec {real} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return program

    return fail


def test_while_its_disk_does_not_answer_other_projects_need_not_wait(old, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(files, "networks", lambda _: frozenset({old.path}))
        patch.setattr(stores, "_disks", SimpleNamespace(ask=lambda *_: None))
        assert old.look_back_once() is False
        assert follower.unread(old.home, old.project, None) == []

    assert follower.unread(old.home, old.project, None) != []
    old.look_back()
    assert flagged(old) == BOTH


def flagged(tree):
    return {row["text"].split(" ")[0]: row["verdict"] for row in tree.stale()["stale"]}


class TestAnotherBranch:
    @pytest.mark.parametrize("branch", ["before", "rules"])
    def test_what_is_checked_out_meanwhile_changes_nothing(self, old, branch):
        old.git("checkout", "-q", branch)
        old.sync()
        old.look_back()
        assert flagged(old) == {}
        old.git("checkout", "-q", "main")
        old.sync()
        assert flagged(old) == BOTH
        assert (old.stale()["looking"], old.stale()["not_looked"]) == (0, None)

    def test_what_moved_before_it_was_read_is_no_second_place_where_it_has_not(self, old):
        old.git("checkout", "-q", "-b", "moved", "rules")
        old.git("mv", "src/limits.py", "src/bounds.py")
        old.write("CLAUDE.md", RULES + "- See `src/bounds.py` or `src/limits.py`.\n")
        old.commit("moved, and both are named")
        old.look_back()
        old.git("checkout", "-q", "rules")
        old.sync()
        old.look_back()
        assert flagged(old) == {}

    def test_a_commit_meanwhile_that_rewords_a_rule_leaves_the_other(self, old):
        old.commit("say five", {"CLAUDE.md": RULES.replace("is 3", "is 5")})
        old.look_back()
        old.sync()
        old.look_back()
        assert flagged(old) == {"Tokens": "gone"}

    def test_where_the_commit_it_was_read_in_is_gone_that_is_told(self, old):
        old.git("commit", "-q", "--amend", "-m", "amended")
        old.git("reflog", "expire", "--expire=now", "--all")
        old.git("gc", "-q", "--prune=now")
        old.look_back()
        assert old.stale()["not_looked"]["why"]


class TestGitThatFails:
    @pytest.mark.parametrize("word", ["blame", "ls-tree"])
    def test_what_git_cannot_compare_is_told_until_add_compares_it_again(self, old, failing, word):
        program = failing(word)
        old.look_back()
        answer = old.stale()
        assert (answer["looking"], answer["not_looked"]["memories"]) == (0, 2)
        assert word in answer["not_looked"]["why"]
        (problem,) = projects.status(old.home, old.call)["problems"]
        assert f"{old.path}: " in problem["what"]
        assert problem["mend"].endswith(f"yaadwatch add {old.path}")
        program.unlink()
        assert old.add()["looking"] == 2
        old.look_back()
        assert flagged(old) == BOTH
        assert old.stale()["not_looked"] is None

    def test_a_clone_that_lacks_old_contents_says_how_to_get_them(self, world):
        source = make(world)
        source.git("config", "uploadpack.allowFilter", "true")
        tree = world.tree("clone")
        tree.git("clone", "-q", "--filter=blob:none", f"file://{source.path}", ".")
        tree.add()
        tree.look_back()
        (problem,) = projects.status(tree.home, tree.call)["problems"]
        command, again = problem["mend"].split(" (this clone lacks older contents), then ")
        assert command.startswith(f"git -C {tree.path} ")
        assert again == f"yaadwatch add {tree.path}"
        tree.git(*command.split()[3:])
        assert tree.add()["looking"] == 2
        tree.look_back()
        assert flagged(tree) == BOTH
        assert projects.status(tree.home, tree.call)["problems"] == []

    def test_what_a_person_confirmed_is_not_told_as_not_looked_into(self, old, failing):
        failing("blame")
        old.look_back()
        for row in old.living():
            old.confirm(row.id)
        assert old.stale()["not_looked"] is None
        assert projects.status(old.home, old.call)["problems"] == []

    def test_a_command_that_takes_too_long_is_told(self, old, failing):
        failing("blame", "sleep 600")
        old.world.settings = Settings(git=Git(timeout_ms=1_000))
        old.world.reopen()
        old.look_back()
        assert "took longer than" in old.stale()["not_looked"]["why"]

    def test_a_daemon_that_ends_in_the_middle_leaves_it_to_the_next_one(self, old):
        old.home.git.close()
        with pytest.raises(YaadError, match="stopping"):
            old.look_back_once()
        old.world.reopen()
        assert old.look_back_once()
        assert flagged(old) == BOTH

    def test_what_was_found_is_pending_until_what_is_flagged_is_told(self, old):
        stop = "BEFORE INSERT ON main.stale_flags BEGIN SELECT RAISE(ABORT, 'killed'); END"
        with old.db() as db:  # of this connection alone: a trigger in the file would be dropped
            db.write(lambda conn: conn.execute(f"CREATE TEMP TRIGGER stopping {stop}"))
        with pytest.raises(apsw.ConstraintError, match="killed"):
            old.look_back_once()
        answer = old.stale(check=False)
        assert (answer["stale"], answer["looking"]) == ([], 2)
        with old.db() as db:
            db.write(lambda conn: conn.execute("DROP TRIGGER stopping"))
        old.world.reopen()
        old.look_back()
        assert (flagged(old), old.stale(check=False)["looking"]) == (BOTH, 0)

    def test_without_git_it_waits(self, old, monkeypatch, tmp_path):
        path = os.environ["PATH"]
        project = old.project
        monkeypatch.setenv("PATH", str(tmp_path))
        for _ in range(9):
            with pytest.raises(YaadError, match="not installed"):
                old.look_back_once()
        monkeypatch.setenv("PATH", path)
        assert old.project == project
        old.look_back()
        assert flagged(old) == BOTH


class TestStore:
    def test_memories_from_many_files_are_all_compared(self, old):
        with old.db() as db:
            for number in range(3):
                db.write(
                    anchors.add_lookback, 1, [f"{number}-{at}" for at in range(256)], old.head()
                )
            assert db.read(anchors.lookback_of, 1).left == 3 * 256 + 2
        old.look_back()
        assert (flagged(old), old.stale()["looking"]) == (BOTH, 0)

    def test_names_of_commits_from_elsewhere_are_no_options(self, old):
        odd = Lookback(pending={"--output=x": [row.id for row in old.living()]}, total=2)
        with old.db() as db:
            db.write(anchors.put_lookback, 1, odd)
        old.look_back()
        assert not (old.path / "x").exists()
        assert old.stale()["not_looked"]["memories"] == 2

    def test_two_that_add_at_once_lose_nothing(self, world):
        tree = make(world)
        tree.commit("more", {"AGENTS.md": "# More\n\n- Calls are in `src/net.py`.\n"})
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: tree.add(), range(2)))
        assert tree.stale()["looking"] == 3
        tree.look_back()
        assert flagged(tree) == BOTH
