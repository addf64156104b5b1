"""Following a repository that was moved: only the very same one, and only when it is sure."""

import contextlib
import logging
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import pairwise

import pytest
from engine_world import FIVE_TRIES, Tree

from yaadwatch.engine import identity, moved, projects
from yaadwatch.engine import stale as checking
from yaadwatch.engine.inout import backups
from yaadwatch.engine.stores.open_stores import Stores
from yaadwatch.engine.workspace import Call
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store import meta, nodes
from yaadwatch.store import projects as registry
from yaadwatch.store.sqlite.database import Database
from yaadwatch.system.git import layout as layouts


@pytest.fixture
def follower(world):
    """A world whose daemon follows; `reopen` makes one that does not."""
    world.home.follow = partial(moved.follow, world.home)
    return world


def places(world):
    return [row.root for row in world.home.user.read(registry.everything)]


def project_at(tree):
    return tree.home.project_at(tree.path)[0]


def not_watched(tree):
    with pytest.raises(YaadError) as refused:
        tree.stale()
    return refused.value.code is Code.NOT_FOUND


def registered(world, **fields):
    """Have the one project be registered in another way."""
    (project,) = world.home.user.read(registry.everything)
    world.home.user.write(registry.replace, replace(project, **fields))
    return project


def test_one_that_moved_is_followed_by_whatever_is_asked_in_it(follower):
    tree = follower.repo()
    first = tree.add()
    memory = tree.remember()

    there = tree.moved_to("elsewhere")
    there.write("src/net.py", FIVE_TRIES)

    assert there.verdict(memory) == "changed"
    assert places(follower) == [there.path]
    assert [row.path for row in there.worktrees()] == [there.path]
    assert there.add()["id"] == first["id"]


def test_one_that_moved_is_removed_from_where_it_is(follower):
    tree = follower.repo()
    tree.add()
    there = tree.moved_to("elsewhere")

    assert there.remove()["path"] == str(there.path)
    assert not there.store.parent.exists()
    assert places(follower) == []


def test_a_linked_work_tree_of_one_that_moved_is_known_as_before(follower):
    tree = follower.repo()
    tree.add()
    side = follower.folder / "side"
    tree.git("worktree", "add", "-q", "-b", "side", str(side))
    projects.add(follower.home, Call(folder=side, origin="cli"))

    there = tree.moved_to("elsewhere")
    there.git("worktree", "repair")
    there.stale()

    assert sorted(row.path for row in there.worktrees()) == [there.path, side]


@pytest.mark.parametrize("which", ["one", "all"])
def test_one_that_got_another_name_is_found_beside_its_former_place(world, which):
    tree = world.repo("code/shop")
    project = tree.add()["id"]
    there = tree.moved_to("code/store")

    moved.seek(world.home, project if which == "one" else None)

    assert places(world) == [there.path]


def test_one_that_moved_is_found_beside_another_that_is_watched(world):
    world.repo("work/other").add()
    tree = world.repo("code/shop")
    tree.add()
    there = tree.moved_to("work/shop")

    moved.seek(world.home)

    assert there.path in places(world)


def test_one_that_is_still_there_is_not_looked_for(world):
    tree = world.repo("code/shop")
    tree.add()
    tree.copy("code/copy")

    moved.seek(world.home)

    assert places(world) == [tree.path]


def test_a_copy_in_the_place_of_the_former_one_is_not_followed(follower):
    tree = follower.repo("code/shop")
    tree.add()
    copy = tree.copy("code/copy")
    shutil.rmtree(tree.path)

    moved.seek(follower.home)

    assert places(follower) == [tree.path]
    assert not_watched(copy)


def test_a_repository_that_got_the_number_of_one_that_is_gone_is_not_followed(follower):
    """A deleted folder's number is given to the next one."""
    tree = follower.repo()
    tree.add()
    shutil.rmtree(tree.path)
    other = follower.repo("other")
    found = (other.path / ".git").stat()
    registered(follower, device=found.st_dev, inode=found.st_ino)

    assert not_watched(other)
    assert places(follower) == [tree.path]


def test_one_that_brings_the_store_of_another_is_not_followed(follower):
    tree = follower.repo()
    tree.add()
    with tree.db() as db:
        db.write(meta.put, "project", "0199b1c2-7d3e-7f00-8a11-5c01f2e4ab37")

    assert not_watched(tree.moved_to("elsewhere"))


def test_one_whose_store_became_a_link_is_refused(follower):
    tree = follower.repo()
    tree.add()
    follower.home.stores.close()
    there = tree.moved_to("elsewhere")
    (there.path / ".yaad").rename(follower.folder / "store")
    (there.path / ".yaad").symlink_to(follower.folder / "store")

    with pytest.raises(YaadError) as refused:
        there.stale()

    assert refused.value.code is Code.REFUSED
    assert places(follower) == [tree.path]


def cloned(tree, name):
    """Clone a repository to a place, which was another's a moment ago."""
    clone = tree.world.tree(name)
    tree.git("clone", "-q", str(tree.path), str(clone.path))
    return clone


def test_one_that_got_another_name_before_a_clone_took_its_place_is_found(world):
    tree = world.repo("code/shop")
    tree.add()
    memory = tree.remember()
    there = tree.moved_to("code/store")
    clone = cloned(there, "code/shop")

    moved.seek(world.home)

    assert places(world) == [there.path]
    assert there.verdict(memory) == "fresh"
    assert not_watched(clone)


def test_a_clone_in_the_place_of_one_that_moved_has_its_memories_never(follower):
    tree = follower.repo("code/shop")
    tree.add()
    tree.remember()
    there = tree.moved_to("elsewhere")
    clone = cloned(there, "code/shop")

    assert not_watched(clone)
    assert there.stale()["stale"] == []


def test_a_clone_in_the_place_of_one_that_was_deleted_has_its_memories_never(follower):
    """Whether or not the system gives its folder the number of the former one."""
    tree = follower.repo("code/shop")
    tree.add()
    tree.remember()
    other = follower.repo("other")
    shutil.rmtree(tree.path)
    clone = cloned(other, "code/shop")
    found = (clone.path / ".git").stat()
    registered(follower, device=found.st_dev, inode=found.st_ino)

    assert not_watched(clone)
    (row,) = projects.projects(follower.home, clone.call)["projects"]
    assert row["state"] == "missing"
    assert "add --restore" in row["hint"]


def test_a_clone_that_is_added_in_the_place_of_one_that_moved_takes_nothing_from_it(follower):
    tree = follower.repo("code/shop")
    first = tree.add()["id"]
    memory = tree.remember()
    there = tree.moved_to("code/store")
    clone = cloned(there, "code/shop")

    assert clone.add()["id"] != first

    assert clone.memories() == []
    assert there.verdict(memory) == "fresh"


def test_a_clone_is_not_touched_when_the_one_that_was_there_is_removed(world):
    tree = world.repo("code/shop")
    tree.add()
    tree.remember()
    there = tree.moved_to("elsewhere")
    clone = cloned(there, "code/shop")
    before = sorted(clone.path.rglob("*"))

    assert tree.remove()["memories"] == 1

    assert sorted(clone.path.rglob("*")) == before


def test_one_whose_disk_got_another_number_is_known_by_that(world):
    """After a restart it may: a copy would else be taken for the one, and the one for nobody's."""
    tree = world.repo("code/shop")
    first = tree.add()["id"]
    registered(world, device=(tree.path / ".git").stat().st_dev + 1)

    moved.seek(world.home)
    copy = tree.copy("code/copy")

    assert copy.add()["id"] != first
    assert tree.add()["id"] == first
    assert sorted(places(world)) == [copy.path, tree.path]


def test_one_whose_disk_got_another_number_is_put_back_before_anybody_noticed_that(world):
    tree = world.repo("code/shop")
    tree.add()
    project = registered(world, device=(tree.path / ".git").stat().st_dev + 1)
    world.home.stores.close_one(project.id)
    tree.remember("Said before")

    shutil.rmtree(tree.store.parent)
    tree.remember("Said afterwards")

    assert tree.store.is_file()
    assert sorted(tree.memories()) == ["Said afterwards", "Said before"]


def test_whoever_looks_whose_a_store_is_puts_none_back_that_is_just_deleted(world):
    """Nobody else would know of that file: what was open would count as replaced by another."""
    tree = world.repo("code/shop")
    tree.add()
    project = registered(world)
    world.home.stores.close_one(project.id)
    copy = tree.store.with_name("copy")
    shutil.copy(tree.store, copy)
    for number in range(60):
        shutil.copy(copy, tree.store)
        deleting = threading.Timer(number * 50e-6, tree.store.unlink)
        deleting.start()
        with contextlib.suppress(YaadError):
            while identity.is_store_of(project, tree.store):
                pass
        deleting.join()
        assert not tree.store.exists()


@pytest.fixture
def three(follower):
    """Three watched repositories with a memory each that says which one it is."""
    trees = [follower.repo(f"code/{name}") for name in ("one", "two", "three")]
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
def test_those_that_changed_places_are_known_by_what_their_stores_say(three, count, ask):
    turned(*three[:count])
    names = [tree.path.name for tree in three]
    said = dict(zip(names[1:count] + names[:1], names[:count], strict=True))

    ask(three[0])

    for tree in three[ask is Tree.remove : count]:
        assert tree.memories() == [f"This is {said[tree.path.name]}."]
        assert [row.path for row in tree.worktrees()] == [tree.path]
        assert tree.add()["again"]


@pytest.mark.parametrize("ask", [Tree.memories, Tree.add, Tree.remove])
def test_one_in_the_place_of_one_that_got_another_name_takes_nothing_from_it(three, ask):
    one, two, _ = three
    gone = one.moved_to("code/one.old")
    two.path.rename(one.path)

    ask(one)

    assert gone.memories() == ["This is one."]
    if ask is not Tree.remove:
        assert one.memories() == ["This is two."]


def test_those_that_changed_places_are_followed_once(three, caplog):
    turned(*three)

    with caplog.at_level(logging.INFO, logger=moved.__name__):
        moved.seek(three[0].home)

    followed = [record.project for record in caplog.records if record.msg == "project.followed"]
    assert sorted(followed) == sorted(tree.project for tree in three)


def test_whoever_reads_in_one_that_changes_its_place_just_then_lets_nobody_read_the_wrong_one(
    three,
):
    one, two, _ = three
    with one.home.space(one.call):
        turned(one, two)

        assert one.memories() == ["This is two."]
        assert two.memories() == ["This is one."]


def test_one_that_is_open_where_it_was_is_not_looked_for_whatever_its_number(follower):
    """Some file systems number their folders anew all the time: each request would write that."""
    tree = follower.repo("code/shop")
    tree.add()
    number = (tree.path / ".git").stat().st_ino + 1
    registered(follower, inode=number)

    assert tree.memories() == []

    (row,) = follower.home.user.read(registry.everything)
    assert row.inode == number


def test_one_whose_place_another_has_and_that_is_not_found_is_told_nothing_of_that_other(
    world, three
):
    one, two, _ = three
    far = Tree(world, world.tree("far/away").path / "one")
    before = {row.id: row.inode for row in one.home.user.read(registry.everything)}
    one.moved_to("far/away/one")
    two.path.rename(one.path)

    moved.seek(one.home)

    assert {row.id: row.inode for row in one.home.user.read(registry.everything)} == before
    for ask in (one.stale, one.remove):
        with pytest.raises(YaadError) as refused:
            ask()
        assert refused.value.code is Code.REFUSED
    assert one.add()["again"]
    assert one.memories() == ["This is two."]
    with pytest.raises(YaadError, match="whose place another one took") as refused:
        far.add()
    assert "add --trust" in refused.value.hint
    far.add(trust=True)
    assert far.memories() == ["This is one."]


def test_one_whose_git_folder_was_made_anew_is_kept_out_of_git_again(world):
    tree = world.repo("code/shop")
    tree.add()
    tree.remember()
    shutil.rmtree(tree.path / ".git")
    tree.git("init", "-q")

    moved.seek(world.home)

    assert ".yaad" not in tree.git("status", "--porcelain", "-uall")
    assert len(tree.memories()) == 1


def test_one_whose_git_folder_became_a_file_keeps_its_id(world):
    tree = world.repo("code/shop")
    first = tree.add()["id"]
    tree.git("init", "-q", "--separate-git-dir", str(world.folder / "shop.git"))

    moved.seek(world.home)

    assert tree.add()["id"] == first


def test_one_that_was_removed_meanwhile_stays_removed(world):
    tree = world.repo("code/shop")
    tree.add()
    (project,) = world.home.user.read(registry.everything)
    tree.remove()
    removed = world.home.user.read(registry.get, project.id)

    world.home.user.write(registry.renumber, [replace(project, device=1, inode=2)])
    world.home.user.write(registry.exclude, project.id, "/.yaad/\n")
    assert world.home.user.write(registry.move, [project]) == set()

    assert world.home.user.read(registry.get, project.id) == removed
    assert places(world) == []


def test_a_clone_gets_the_memories_of_the_one_that_was_deleted_when_it_is_told_to(world):
    """No copy was made of them so far: the open store is the last that has them."""
    source = world.repo("source")
    tree = cloned(source, "code/shop")
    tree.add()
    memory = tree.remember()
    shutil.rmtree(tree.path)
    clone = cloned(source, "code/shop")

    clone.add(restore=True)

    assert clone.verdict(memory) == "fresh"


def test_what_was_said_since_the_last_copy_is_not_lost_to_it(world):
    tree = world.repo("code/shop")
    tree.add()
    tree.remember("Retry three times.")
    backups.back_up_all(world.home)
    tree.remember("Retry with a pause.")
    shutil.rmtree(tree.path / ".yaad")

    tree.add(restore=True)

    assert sorted(tree.memories()) == ["Retry three times.", "Retry with a pause."]


def copies_of(world, text):
    """Return the backups of any project that hold a memory."""
    return [path for path in (world.folder / "home" / "backups").rglob("*.db") if holds(path, text)]


def holds(path, text):
    with closing(Database.open(path, role="project")) as db:
        batch = db.read(nodes.batch, after="", limit=100, archived=False)
    return any(node.text == text for node in batch)


@pytest.mark.parametrize("same_number", [False, True])
def test_one_in_the_place_of_one_that_was_deleted_is_told_nothing_of_it(three, same_number):
    """The open store still has what the deleted one held."""
    one, two, _ = three
    home = one.home
    shutil.rmtree(one.path)
    two.path.rename(one.path)
    if same_number:
        found = (one.path / ".git").stat()
        (row,) = [row for row in home.user.read(registry.everything) if row.root == one.path]
        home.user.write(registry.replace, replace(row, inode=found.st_ino))

    for ask in (one.memories, one.stale, one.remove):
        with pytest.raises(YaadError, match="belongs to another project") as refused:
            ask()
        assert "yaadwatch add" in refused.value.hint
    assert one.add()["id"] != row.id if same_number else one.add()["again"]

    assert one.memories() == ["This is two."]
    assert len(copies_of(one.world, "This is one.")) == 1


def test_nothing_is_made_where_a_repository_was_until_just_now(follower):
    """`mv` back would else move it into what we made there, or refuse to."""
    tree = follower.repo("code/shop")
    tree.add()
    project = project_at(tree)
    layout = layouts.find(tree.path)
    tree.moved_to("code/store")

    for ask in (
        lambda: identity.exclude(tree.home, project),
        lambda: identity.identify(tree.home, layout, tree.path / ".yaad", trust=False),
        lambda: identity.located(project, layout, tree.path / ".yaad"),
    ):
        with pytest.raises(YaadError) as refused:
            ask()
        assert refused.value.code is Code.UNAVAILABLE

    assert not tree.path.exists()
    assert places(follower) == [tree.path]  # it is not taken for one that was removed


def rests(stores):
    assert stores.rest(timedelta(0)) == 2


def is_stopped(stores):
    stores.keep_deleted()
    stores.close()


@pytest.mark.parametrize("over", [rests, is_stopped, Stores.close])
@pytest.mark.parametrize("file", ["with its folder", "alone"])
def test_what_only_the_open_store_has_is_kept_when_another_file_stands_at_its_place(
    three, over, file
):
    """Nobody asked there since, so nobody saw it."""
    one, two, _ = three
    two.home.stores.close_one(project_at(two).id)
    store = ".yaad/yaad.db"
    if file == "alone":
        (two.path / store).replace(one.path / store)
    else:
        shutil.rmtree(one.path)
        two.path.rename(one.path)

    over(one.home.stores)

    assert len(copies_of(one.world, "This is one.")) == 1
    assert holds(one.path / store, "This is two.")


def test_those_who_ask_there_at_once_have_it_kept_once(three):
    one, two, _ = three
    project = project_at(one)
    shutil.rmtree(one.path)
    two.path.rename(one.path)
    all_there = threading.Barrier(8)

    def ask():
        all_there.wait()
        one.home.stores.keep_replaced(project)
        return one.home.stores.opened(project.id)

    with ThreadPoolExecutor(8) as threads:
        asking = [threads.submit(ask) for _ in range(8)]

    assert [one_asked.result() for one_asked in asking] == [None] * 8
    assert len(copies_of(one.world, "This is one.")) == 1


def test_a_project_that_another_one_took_the_place_of_is_not_checked_there(three):
    one, two, _ = three
    home = one.home
    with home.space(one.call) as space:
        project, tree = space.project.id, space.worktree.id
    shutil.rmtree(one.path)
    two.path.rename(one.path)

    with pytest.raises(YaadError, match="belongs to another project"):
        checking.check_tree(home, project, tree, None)

    assert len(copies_of(one.world, "This is one.")) == 1


def test_an_older_copy_in_the_place_of_one_that_was_deleted_is_used_and_a_backup_keeps_the_rest(
    follower,
):
    tree = follower.repo("code/shop")
    tree.add()
    tree.remember("Before.")
    older = tree.copy("code/older")
    tree.remember("Later.")
    shutil.rmtree(tree.path)
    older.path.rename(tree.path)

    moved.seek(follower.home)

    assert tree.memories() == ["Before."]
    tree.remember("After.")
    assert len(copies_of(follower, "Later.")) == 1


def test_what_only_the_open_store_holds_is_kept_when_a_copy_is_added_elsewhere(world):
    tree = world.repo("code/shop")
    tree.add()
    copy = tree.copy("code/copy")
    tree.remember("Later.")
    shutil.rmtree(tree.path)

    assert copy.add()["again"]

    assert copy.memories() == []
    assert len(copies_of(world, "Later.")) == 1


def test_a_store_that_was_put_into_another_repository_is_not_read_in_its_own_any_more(follower):
    tree, other = follower.repo("code/shop"), follower.repo("code/other")
    tree.add()
    tree.remember("Ours.")
    (tree.path / ".yaad").rename(other.path / ".yaad")

    other.add()
    other.remember("Theirs.")

    with pytest.raises(YaadError, match="is not at") as refused:
        tree.memories()
    assert refused.value.code is Code.UNAVAILABLE


@pytest.mark.parametrize("again", [False, True])
def test_an_older_backup_is_brought_back_where_the_last_one_that_was_there_has_none(world, again):
    tree = world.repo("code/shop")
    tree.add()
    tree.remember("Ours.")
    tree.remove()
    tree.add()
    shutil.rmtree(tree.path / ".yaad")
    world.home.stores.close_one(world.home.user.read(registry.everything)[0].id)

    if again:  # as the message says when nothing can be restored
        tree.add()

    tree.add(restore=True)

    assert tree.memories() == ["Ours."]
    assert [row.root for row in world.home.user.read(registry.everything)] == [tree.path]


def test_a_linked_work_tree_is_known_as_before_when_git_finds_it_again_only_later(follower):
    """A daemon follows at once; `git worktree repair` comes after that."""
    tree = follower.repo("code/shop")
    tree.add()
    side = Tree(follower, follower.folder / "side")
    tree.git("worktree", "add", "-q", "-b", "side", str(side.path))
    side.add()
    before = {row.path: (row.id, row.head) for row in tree.worktrees()}

    there = tree.moved_to("code/store")
    moved.seek(follower.home)
    there.git("worktree", "repair")
    side.memories()

    after = {row.path: (row.id, row.head) for row in there.worktrees()}
    assert after == {there.path: before[tree.path], side.path: before[side.path]}


def test_a_folder_that_says_it_is_a_watched_submodule_is_told_nothing_of_it(follower):
    """Its `.git` is a file that anybody can write; the submodule says where it is."""
    source, whole = follower.repo("source"), follower.repo("code/Whole")
    whole.git("submodule", "add", "-q", str(source.path), "sub")
    whole.commit("a submodule")
    sub = Tree(follower, whole.path / "sub")
    sub.add()
    sub.remember("Ours.")
    stranger = follower.tree("stranger")
    stranger.write(".git", f"gitdir: {whole.path}/.git/modules/sub\n")

    for ask in (stranger.stale, stranger.add):
        with pytest.raises(YaadError, match="not in a git repository"):
            ask()

    assert sub.memories() == ["Ours."]
    assert [row.path for row in sub.worktrees()] == [sub.path]


def test_a_submodule_that_was_moved_with_or_without_git_is_known_as_before(follower):
    source, whole = follower.repo("source"), follower.repo("code/Whole")
    whole.git("submodule", "add", "-q", str(source.path), "sub")
    whole.commit("a submodule")
    sub = Tree(follower, whole.path / "sub")
    sub.add()
    sub.remember("Ours.")

    whole.git("mv", "sub", "by-git")
    assert Tree(follower, whole.path / "by-git").memories() == ["Ours."]
    (whole.path / "by-git").rename(whole.path / "by-hand")
    assert Tree(follower, whole.path / "by-hand").memories() == ["Ours."]
    there = whole.moved_to("code/Elsewhere")
    assert Tree(follower, there.path / "by-hand").memories() == ["Ours."]
