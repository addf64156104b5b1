"""Whose work the trunk holds by other commits is found out bit by bit, and never in a question."""

import itertools

import pytest

from yaadwatch.model.errors import YaadError
from yaadwatch.repo import branches
from yaadwatch.repo.branches import LOOK_S, PatchIdCache
from yaadwatch.repo.command import Git, GitRunner
from yaadwatch.repo.layout import Head


@pytest.fixture
def git(repo):
    """A trunk that took in the first of three branches, squashed."""
    repo.add("start.py", "a = 1\n", "start")
    for name in ("one", "two", "three"):
        repo.git("switch", "-q", "-c", name, "main")
        repo.add(f"{name}.py", f"{name} = 1\n", f"{name}, one half")
        repo.add(f"{name}.py", f"{name} = 1\ny = 2\n", f"{name}, the other half")
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--squash", "one")
    repo.commit("one, squashed")
    runner = GitRunner(repo.TIMEOUT)
    yield Git(repo.layout, runner)
    runner.close()


@pytest.fixture
def asked(git, monkeypatch):
    """Every command that git is asked, as it comes."""
    commands = []
    ask = Git.ask

    def note(self, arguments, **options):
        commands.append(arguments)
        return ask(self, arguments, **options)

    monkeypatch.setattr(Git, "ask", note)
    return commands


def commits(repo, name):
    return repo.git("rev-list", f"main..{name}").split()


def head(repo):
    commit, branch = repo.git("rev-parse", "HEAD", "--abbrev-ref", "HEAD").split()
    return Head(commit=commit, branch=branch)


def still():
    return 1.0


def later():
    return 2.0 + branches.KEPT_S


def look(git, repo, landed, wanted, monotonic_s=still):
    landed.look(repo.layout, git, head(repo), wanted, monotonic_s)
    return known(git, repo, landed, wanted, monotonic_s)


def known(git, repo, landed, wanted, monotonic_s=still):
    return landed.known(repo.layout, git, head(repo), wanted, monotonic_s())


def test_a_squashed_branch_has_landed_with_every_commit_of_it_and_no_other_has(git, repo):
    wanted = [*commits(repo, "one"), *commits(repo, "two")]

    assert look(git, repo, PatchIdCache(), wanted) == frozenset(commits(repo, "one"))


def test_branches_that_hold_nothing_of_what_is_asked_are_not_compared(git, repo, asked):
    look(git, repo, PatchIdCache(), commits(repo, "two")[-1:])

    compared = {command[1] for command in asked if command[0] == "merge-base"}
    assert compared == set(commits(repo, "two"))


def test_what_was_found_out_is_not_asked_again_while_the_branches_stand(git, repo, asked):
    landed = PatchIdCache()
    wanted = [*commits(repo, "one"), *commits(repo, "two")]
    look(git, repo, landed, wanted)
    asked.clear()

    assert look(git, repo, landed, wanted, later) == frozenset(commits(repo, "one"))
    assert [command for command in asked if command[0] == "merge-base"] == []


def test_a_look_ends_in_time_and_the_next_one_goes_on(git, repo, asked):
    landed = PatchIdCache()
    wanted = [*commits(repo, "one"), *commits(repo, "two"), *commits(repo, "three")]
    times = itertools.count(0, 0.3 * LOOK_S)
    asked.clear()
    look(git, repo, landed, wanted, times.__next__)
    first = [command for command in asked if command[0] == "merge-base"]
    for _ in wanted:
        known = look(git, repo, landed, wanted, times.__next__)

    assert 0 < len(first) < len([command for command in asked if command[0] == "merge-base"])
    assert known == frozenset(commits(repo, "one"))


def test_what_a_trunk_held_it_holds_when_it_has_grown(git, repo):
    landed = PatchIdCache()
    wanted = commits(repo, "one")
    look(git, repo, landed, [*wanted, *commits(repo, "two")])

    repo.add("start.py", "a = 2\n", "more")

    assert known(git, repo, landed, wanted) == frozenset(wanted)


def test_what_a_trunk_held_it_holds_however_much_came_to_the_same_files(git, repo, monkeypatch):
    monkeypatch.setattr("yaadwatch.repo.branches.TRUNK_MAX", 2)
    landed = PatchIdCache()
    wanted = commits(repo, "one")
    assert look(git, repo, landed, wanted) == frozenset(wanted)

    for number in range(3):
        repo.add("one.py", f"one = 1\ny = {number}\n", "more")

    assert look(git, repo, landed, wanted) == frozenset(wanted)


def test_a_grown_trunk_is_compared_only_with_what_it_may_have_brought(git, repo, asked):
    landed = PatchIdCache()
    wanted = [*commits(repo, "two"), *commits(repo, "three")]
    assert look(git, repo, landed, wanted) == frozenset()
    repo.add("start.py", "a = 2\n", "more")
    asked.clear()
    assert look(git, repo, landed, wanted) == frozenset()
    assert [command for command in asked if command[0] == "log"] == []

    repo.git("merge", "-q", "--squash", "two")
    repo.commit("two, squashed")

    assert look(git, repo, landed, wanted) == frozenset(commits(repo, "two"))


def test_a_trunk_that_lost_the_work_holds_it_no_more(git, repo):
    landed = PatchIdCache()
    wanted = commits(repo, "one")
    assert look(git, repo, landed, wanted) == frozenset(wanted)

    repo.git("reset", "-q", "--hard", "HEAD~1")

    assert known(git, repo, landed, wanted) == frozenset()
    assert look(git, repo, landed, wanted) == frozenset()


@pytest.mark.parametrize("seen", [True, False])
def test_a_squash_that_was_reverted_has_not_landed_until_it_comes_again(git, repo, seen):
    landed = PatchIdCache()
    wanted = commits(repo, "one")
    assert not seen or look(git, repo, landed, wanted) == frozenset(wanted)

    repo.git("revert", "--no-edit", "HEAD")
    assert look(git, repo, landed, wanted) == frozenset()

    repo.git("revert", "--no-edit", "HEAD")
    assert look(git, repo, landed, wanted) == frozenset(wanted)


def test_a_rebased_work_that_was_taken_back_in_one_has_not_landed(git, repo):
    wanted = commits(repo, "two")
    repo.git("cherry-pick", *reversed(wanted))
    assert look(git, repo, PatchIdCache(), wanted) == frozenset(wanted)

    repo.git("revert", "--no-commit", "HEAD", "HEAD~1")
    repo.commit("without two")

    assert look(git, repo, PatchIdCache(), wanted) == frozenset()


def test_what_one_trunk_reverted_another_one_still_holds(git, repo):
    repo.git("switch", "-q", "-c", "here")
    repo.git("revert", "--no-edit", "HEAD")
    wanted = commits(repo, "one")

    assert look(git, repo, PatchIdCache(), wanted) == frozenset(wanted)


def test_that_no_branch_can_be_read_is_known_for_a_while(git, repo, asked):
    lost = repo.git("rev-parse", "two~1").strip()
    for name in ("one", "three"):
        repo.git("branch", "-q", "-D", name)
    repo.git("switch", "-q", "--detach", "main")
    repo.git("branch", "-q", "-D", "main")
    (repo.path / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    unmerged = branches.Unmerged()
    counts = []

    for now_s in (1.0, 2.0, 1.0 + branches.KEPT_S):
        asked.clear()
        with pytest.raises(YaadError):
            unmerged.commits(repo.layout, git, head(repo), (), now_s)
        counts.append(len(asked))

    assert counts[1] == 0
    assert counts[0] == counts[2] > 0


def test_a_work_whose_texts_are_lost_has_not_landed_and_holds_up_no_other(git, repo):
    lost = repo.git("rev-parse", "two:two.py").strip()
    (repo.path / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    wanted = [*commits(repo, "two"), *commits(repo, "one")]

    assert look(git, repo, PatchIdCache(), wanted) == frozenset(commits(repo, "one"))
