"""Linked work trees: one store, and an answer of its own for each."""

import shutil

import pytest
from refusals import refusal
from verb_world import FIVE_TRIES, NET, RETRY, Tree, table

from yaadwatch.model.errors import Code
from yaadwatch.staleness import stale
from yaadwatch.workspace import agent_files


@pytest.fixture
def linked(repo):
    """A work tree of the same repository, on a branch of its own."""
    path = repo.path.parent / "linked"
    repo.git("worktree", "add", "-q", str(path), "-b", "topic")
    return Tree(repo.world, path)


def test_both_see_the_same_memories(repo, linked):
    memory = repo.remember()

    assert linked.show(memory)["text"] == RETRY
    assert linked.store == repo.store
    other = linked.remember("Said in the linked one, see src/net.py")
    assert repo.show(other)["id"] == other


def test_each_has_flags_of_its_own(repo, linked):
    memory = repo.remember()
    linked.commit("five tries", {"src/net.py": FIVE_TRIES})

    assert linked.flag_of(memory)["branch"] == "topic"
    assert repo.verdict(memory) == "fresh"
    repo.git("mv", "src/net.py", "src/http.py")
    assert repo.verdict(memory) == "moved"
    assert linked.verdict(memory) == "changed"
    repo.git("merge", "-q", "topic", check=False)
    assert linked.verdict(memory) == "changed"


def test_a_confirmation_in_one_is_judged_anew_in_the_other(repo, linked):
    memory = repo.remember()
    linked.commit("five tries", {"src/net.py": FIVE_TRIES})
    assert linked.verdict(memory) == "changed"
    assert repo.verdict(memory) == "fresh"

    linked.confirm(memory)

    assert linked.verdict(memory) == "fresh"
    assert repo.verdict(memory) == "changed"


def test_a_memory_of_one_branch_is_flagged_where_its_file_is_not(repo, linked):
    linked.commit("brand new", {"src/brand_new.py": NET})
    memory = linked.remember("See src/brand_new.py")

    assert linked.verdict(memory) == "fresh"
    flag = repo.flag_of(memory)
    assert flag["verdict"] == "gone"
    assert flag["evidence"][0]["commit"]["subject"] == "brand new"
    assert "not checked out here" in flag["evidence"][0]["summary"]


def test_a_work_tree_that_is_removed_takes_its_flags_along(repo, linked):
    memory = repo.remember()
    linked.write("src/net.py", FIVE_TRIES)
    assert linked.verdict(memory) == "changed"

    repo.git("worktree", "remove", "--force", str(linked.path))
    repo.add()

    assert [row.path for row in repo.worktrees()] == [repo.path]
    with repo.db() as db:
        assert table(db, "stale_flags") == []


def test_a_work_tree_that_vanished_is_an_error_that_says_so(repo, linked):
    memory = repo.remember()
    linked.verdict(memory)
    rows = {row.path: row.id for row in repo.worktrees()}
    shutil.rmtree(linked.path)

    project = repo.home.project_at(repo.path)[0].id
    error = refusal(stale.check_tree, repo.home, project, rows[linked.path], None)

    assert error.code is Code.NOT_FOUND
    assert str(linked.path) in error.message
    assert "nothing was checked" in error.message
    assert [tree.root for tree in stale.watched(repo.home)] == [repo.path]


def test_what_is_watched_names_the_files_of_each(repo, linked):
    memory = repo.remember()
    linked.write("src/other.py", "")
    linked.move("src/net.py", "src/http.py")
    assert linked.verdict(memory) == "moved"

    watched = {tree.root: tree for tree in stale.watched(repo.home)}

    assert watched[repo.path].paths - agent_files.formats().places == {"src/net.py"}
    assert watched[linked.path].paths - agent_files.formats().places == {
        "src/net.py",
        "src/http.py",
    }
    assert watched[linked.path].common_dir == repo.path / ".git"
    assert watched[linked.path].git_dir == repo.path / ".git/worktrees/linked"
    assert watched[repo.path].project == watched[linked.path].project
    assert [tree.root for tree in stale.watched(repo.home, "another-id")] == []
