"""What agent files wait for is reported, and how far the first comparison of rules is."""

import os
import shutil
import subprocess
import time
from datetime import timedelta

import psutil
import pytest
from waiting import wait_until

from yaadwatch.projects import projects
from yaadwatch.repo.command import TimedOut
from yaadwatch.sessions import context
from yaadwatch.sync import files as sync_files
from yaadwatch.sync import lookback
from yaadwatch.workspace.workspace import AGENT, Call

HOUR_S = 3600


def pause_in(repo, name, age_s, *, folder=False):
    path = repo.path / ".git" / name
    path.mkdir() if folder else path.write_text("")
    then = time.time() - age_s
    os.utime(path, (then, then))
    return path


def status(repo):
    answer = projects.status(repo.home, repo.call)
    (row,) = [row for row in answer["projects"] if row["path"] == str(repo.path)]
    return row, [one for one in answer["problems"] if "waiting for" in one["what"]]


class TestLocks:
    def test_a_lock_without_a_git_process_is_called_left_over(self, repo):
        path = pause_in(repo, "index.lock", HOUR_S)

        row, (problem,) = status(repo)

        assert (row["pause"]["for"], row["pause"]["left_over"]) == (".git/index.lock", True)
        assert "waiting for .git/index.lock since" in problem["what"]
        assert "it is left over" in problem["what"]
        assert problem["mend"] == f"rm {path}"
        files = sync_files.files(repo.home, repo.call)
        assert files["pause"]["what"] == row["pause"]["what"]

    def test_a_lock_of_a_git_process_that_runs_is_not_left_over(self, repo, tmp_path):
        pause_in(repo, "index.lock", HOUR_S)
        program = tmp_path / "git"
        shutil.copy("/bin/sleep", program)
        running = subprocess.Popen([program, "30"], cwd=repo.path / "src")
        try:
            wait_until(lambda: psutil.Process(running.pid).name() == "git")
            _, (problem,) = status(repo)
        finally:
            running.kill()
            running.wait()

        assert "left over" not in problem["what"]
        assert problem["mend"] == "end the git command that holds it, or wait for it"

    def test_a_young_lock_is_not_reported(self, repo):
        pause_in(repo, "index.lock", 5)

        row, problems = status(repo)

        assert (row["pause"], problems) == (None, [])

    def test_the_pause_is_over_when_the_lock_is_gone(self, repo):
        pause_in(repo, "index.lock", HOUR_S).unlink()

        assert status(repo)[0]["pause"] is None
        assert sync_files.files(repo.home, repo.call)["pause"] is None

    @pytest.mark.parametrize(("name", "folder"), [("rebase-merge", True), ("MERGE_HEAD", False)])
    def test_an_unfinished_operation_is_reported_and_is_no_problem(self, repo, name, folder):
        pause_in(repo, name, HOUR_S, folder=folder)

        row, problems = status(repo)

        assert row["pause"]["for"] == f".git/{name}"
        assert problems == []


def test_git_commands_that_took_too_long_are_reported_for_an_hour(repo):
    for command in ("grep", "grep", "diff-tree"):
        repo.home.git.timed_out.append(TimedOut(command, repo.path, repo.world.clock.now()))
    problems = projects.status(repo.home, repo.call)["problems"]
    (late,) = [one["what"] for one in problems if one["what"].startswith("git took longer")]
    assert f"in {repo.path} and was ended, 3 times since" in late
    assert "(diff-tree, grep)" in late

    repo.world.clock.advance(timedelta(hours=2))

    problems = projects.status(repo.home, repo.call)["problems"]
    assert not any(one["what"].startswith("git took longer") for one in problems)


class TestComparing:
    @pytest.fixture
    def ruled(self, world):
        """Return a repository whose rules are older than its HEAD, not added yet."""
        tree = world.repo("ruled")
        rules = "".join(f"- Rule {number} is about src/net.py\n" for number in range(30))
        tree.commit("rules", {"CLAUDE.md": rules})
        tree.commit("later", {"src/other.py": "x = 1\n"})
        return tree

    def test_it_is_reported_until_it_is_done(self, ruled):
        call = Call(folder=ruled.path, origin="cli")
        added = projects.add(ruled.world.home, call)
        home = ruled.world.home
        row = projects.projects(home, call)["projects"][0]
        assert row["comparing"] == {"done": 0, "total": 30}
        assert ruled.stale()["comparing"] == {"done": 0, "total": 30}
        agent = Call(folder=ruled.path, origin=f"{AGENT}codex")
        shown = context.context(home, agent)
        assert shown["comparing"] == {"done": 0, "total": 30}
        assert "0 of 30 done; more may turn out stale" in shown["brief"]

        home.compared[added["id"], 1] += 12
        assert ruled.stale()["comparing"] == {"done": 12, "total": 30}
        while lookback.compare_next(home, added["id"]):
            pass

        assert ruled.stale()["comparing"] is None
        assert context.context(home, agent)["comparing"] is None
        assert "of 30 done" not in context.context(home, agent)["brief"]

    def test_a_definition_that_holds_a_number_of_a_rule_is_guarded(self, world):
        tree = world.repo("counted")
        tree.commit("rules", {"CLAUDE.md": "- Downloads are tried three times, in src/net.py\n"})

        added = projects.add(world.home, Call(folder=tree.path, origin="cli"))

        assert added["guards"] == {"memories": 1, "definitions": 1, "files": 1}

    def test_add_says_what_it_guards(self, ruled):
        ruled.write("AGENTS.md", "- `fetch_with_retry` is in src/net.py\n- Be brief\n")

        added = projects.add(ruled.world.home, Call(folder=ruled.path, origin="cli"))

        assert added["guards"] == {"memories": 31, "definitions": 1, "files": 1}
