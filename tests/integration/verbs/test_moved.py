"""Following a repository that was moved: by the id that it bears, wherever it is."""

import logging
import shutil
import threading
from datetime import timedelta
from itertools import pairwise

import pytest
from refusals import refusal
from verb_world import FIVE_TRIES, Tree

from yaadwatch.db import projects
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.projects import projects as projects_verbs
from yaadwatch.repo import layout
from yaadwatch.staleness import stale
from yaadwatch.workspace import identity
from yaadwatch.workspace.workspace import Call


def registered(world):
    return [row.root for row in world.home.user.read(projects.everything)]


def test_a_moved_repository_is_followed_by_whatever_is_asked_in_it(world):
    tree = world.repo()
    first = tree.add()
    memory = tree.remember()
    there = tree.moved_to("elsewhere")

    assert there.show(memory)["id"] == memory

    assert registered(world) == [there.path]
    there.write("src/net.py", FIVE_TRIES)
    assert there.verdict(memory) == "changed"
    assert there.add()["id"] == first["id"]


def test_a_linked_work_tree_of_a_moved_repository_keeps_its_verdicts(world):
    """A daemon follows at once; `git worktree repair` comes after that."""
    tree = world.repo("code/shop")
    tree.add()
    side = Tree(world, world.folder / "side")
    tree.git("worktree", "add", "-q", "-b", "side", str(side.path))
    side.add()
    before = {row.path: (row.id, row.head) for row in tree.worktrees()}

    there = tree.moved_to("code/store")
    there.memories()
    there.git("worktree", "repair")
    side.memories()

    after = {row.path: (row.id, row.head) for row in there.worktrees()}
    assert after == {there.path: before[tree.path], side.path: before[side.path]}


def test_a_repository_that_is_found_nowhere_is_gone_until_it_is_back(world):
    tree = world.repo("code/shop")
    project = tree.add()["id"]
    (world.folder / "away").mkdir()
    there = tree.moved_to("away/shop")
    identity.note_places(world.home)
    since = world.home.user.read(projects.get, project).gone_at
    world.clock.advance(timedelta(days=2))
    identity.note_places(world.home)

    assert since is not None
    assert world.home.user.read(projects.get, project).gone_at == since
    there.moved_to("code/shop")
    identity.note_places(world.home)
    assert world.home.user.read(projects.get, project).gone_at is None


@pytest.fixture
def three(world):
    """Three watched repositories with a memory each that says which one it is."""
    trees = [world.repo(f"code/{name}") for name in ("one", "two", "three")]
    for tree in trees:
        tree.add()
        tree.remember(f"This is {tree.path.name}.")
    return trees


def turned(*trees):
    """Put each of some repositories into the place of the next one."""
    aside = trees[0].path.with_name("aside")
    trees[-1].path.rename(aside)
    for tree, there in reversed(list(pairwise(trees))):
        tree.path.rename(there.path)
    aside.rename(trees[0].path)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("ask", [Tree.memories, Tree.add, Tree.remove])
def test_repositories_that_changed_places_keep_their_memories(three, count, ask):
    turned(*three[:count])
    names = [tree.path.name for tree in three]
    said = dict(zip(names[1:count] + names[:1], names[:count], strict=True))

    ask(three[0])

    for tree in three[ask is Tree.remove : count]:
        assert tree.memories() == [f"This is {said[tree.path.name]}."]
        assert [row.path for row in tree.worktrees()] == [tree.path]
        assert tree.add()["again"]


def test_a_repository_that_moved_is_followed_once(world, caplog):
    tree = world.repo()
    tree.add()
    there = tree.moved_to("elsewhere")

    with caplog.at_level(logging.INFO):
        askers = [threading.Thread(target=there.memories) for _ in range(4)]
        for one in askers:
            one.start()
        for one in askers:
            one.join()

    assert [record.message for record in caplog.records].count("project.followed") == 1


def test_a_project_whose_place_another_repository_took_is_not_checked_there(three):
    one, two, _ = three
    project, home = one.project, one.home
    with home.space(one.call) as space:
        worktree = space.worktree.id
    shutil.rmtree(one.path)
    two.path.rename(one.path)

    assert refusal(stale.check_tree, home, project, worktree, None).code is Code.NOT_FOUND
    assert one.memories() == ["This is two."]


def test_a_project_that_was_removed_meanwhile_stays_removed(world):
    tree = world.repo()
    tree.add()
    config = tree.read(".git/config")
    tree.remove()
    tree.write(".git/config", config)  # the id is there still, as in a copy
    there = tree.moved_to("elsewhere")

    identity.note_places(world.home)

    assert world.home.follow(layout.find(there.path)) is None
    assert registered(world) == []


def test_a_repository_without_a_commit_is_followed_and_its_first_commit_is_noted(world):
    tree = world.tree("young")
    tree.git("init", "-q", "-b", "main")
    project = tree.add()["id"]
    tree.remember("Said before the first commit.")
    there = tree.moved_to("grown")
    assert there.memories() == ["Said before the first commit."]

    first = there.commit("first", {"a.py": "a = 1\n"})
    identity.note_places(world.home)

    assert world.home.user.read(projects.get, project).root_commit == first


def test_a_folder_that_says_it_is_a_watched_submodule_is_told_nothing_of_it(world):
    """Its `.git` is a file that anybody can write; the submodule says where it is."""
    source, whole = world.repo("source"), world.repo("code/Whole")
    whole.git("submodule", "add", "-q", str(source.path), "sub")
    whole.commit("a submodule")
    sub = Tree(world, whole.path / "sub")
    sub.add()
    sub.remember("Ours.")
    stranger = world.tree("stranger")
    stranger.write(".git", f"gitdir: {whole.path}/.git/modules/sub\n")

    for ask in (stranger.stale, stranger.add):
        with pytest.raises(YaadError, match="not in a git repository"):
            ask()

    assert sub.memories() == ["Ours."]
    assert [row.path for row in sub.worktrees()] == [sub.path]


def test_a_submodule_that_was_moved_with_or_without_git_keeps_its_memories(world):
    source, whole = world.repo("source"), world.repo("code/Whole")
    whole.git("submodule", "add", "-q", str(source.path), "sub")
    whole.commit("a submodule")
    sub = Tree(world, whole.path / "sub")
    sub.add()
    sub.remember("Ours.")

    whole.git("mv", "sub", "by-git")
    assert Tree(world, whole.path / "by-git").memories() == ["Ours."]
    (whole.path / "by-git").rename(whole.path / "by-hand")
    assert Tree(world, whole.path / "by-hand").memories() == ["Ours."]
    there = whole.moved_to("code/Elsewhere")
    assert Tree(world, there.path / "by-hand").memories() == ["Ours."]


def test_a_submodule_that_git_emptied_is_missing_and_keeps_its_memories(world):
    source, whole = world.repo("source"), world.repo("whole")
    whole.git("submodule", "add", "-q", str(source.path), "sub")
    whole.commit("a submodule")
    sub = Tree(world, whole.path / "sub")
    sub.add()
    sub.remember("Ours.")

    whole.git("submodule", "deinit", "-q", "-f", "sub")
    (row,) = projects_verbs.projects(world.home, Call(folder=sub.path, origin="cli"))["projects"]
    whole.git("submodule", "update", "-q", "--init")

    assert (row["state"], row["memories"]) == ("missing", 1)
    assert "git submodule deinit" in row["reason"]
    assert sub.memories() == ["Ours."]
