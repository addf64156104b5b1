"""A store that was put back while its repository was being deleted goes, once that is gone."""

import shutil
import subprocess

import pytest

from yaadwatch import places
from yaadwatch.daemon import wiring
from yaadwatch.engine.stores.open_stores import Stores
from yaadwatch.model.errors import YaadError
from yaadwatch.model.settings import STORE_IDLE, STORE_RETURNED_S
from yaadwatch.store import meta

IDLE_S = STORE_IDLE.total_seconds()
SAID = "Retry five times"


@pytest.fixture
def returned(world):
    """A project whose store was deleted and put back."""
    tree = world.repo()
    tree.add()
    tree.remember(SAID)
    shutil.rmtree(tree.store.parent)
    tree.remember("Said afterwards")
    assert tree.store.exists()
    return tree


def delete_all_else(tree):
    """Leave only what came back."""
    for one in tree.path.iterdir():
        if one.is_dir() and one != tree.store.parent:
            shutil.rmtree(one)
        elif not one.is_dir():
            one.unlink()


def copies(tree, project):
    return sorted(places.backups(project).glob("*.db"))


def project_of(tree):
    return tree.home.project_at(tree.path)[0].id


def test_one_that_is_deleted_while_it_is_opened_for_the_first_time_is_put_back(world):
    tree = world.repo("code/shop")
    tree.add()
    project, _ = tree.home.project_at(tree.path)
    world.home.stores.close_one(project.id)
    stores = Stores(lambda _: None, world.clock)
    db = stores._open_store(project)
    shutil.rmtree(tree.store.parent)

    db.write(meta.put, "said", "then")

    assert tree.store.exists()
    db.close()


def test_it_goes_into_a_backup(world, returned):
    project = project_of(returned)
    before = copies(returned, project)
    delete_all_else(returned)

    assert world.home.stores.withdraw() == 1

    assert not returned.store.parent.exists()
    assert len(copies(returned, project)) == len(before) + 1
    assert world.home.stores.withdraw() == 0


def test_what_it_held_can_be_had_back(world, returned):
    source = returned.copy("source")
    delete_all_else(returned)
    world.home.stores.withdraw()
    shutil.rmtree(returned.path)
    returned.path.mkdir()
    returned.git("clone", "-q", f"file://{source.path}", ".")

    returned.add(restore=True)

    assert sorted(returned.memories()) == [SAID, "Said afterwards"]


def test_what_else_is_in_its_folder_stays(world, returned):
    other = returned.store.parent / "config.toml"
    other.write_text("")
    delete_all_else(returned)

    world.home.stores.withdraw()

    assert list(returned.store.parent.iterdir()) == [other]


def test_it_stays_while_the_repository_is_there(world, returned):
    assert world.home.stores.withdraw() == 0
    assert sorted(returned.memories()) == [SAID, "Said afterwards"]


def test_it_stays_when_the_repository_only_moved_for_a_while(world, returned):
    git, away = returned.path / ".git", returned.path / "away"
    git.rename(away)

    assert world.home.stores.withdraw() == 0
    assert returned.store.exists()

    away.rename(git)
    assert sorted(returned.memories()) == [SAID, "Said afterwards"]


def test_one_that_was_never_deleted_stays_when_the_repository_goes(world):
    """As it did before: who deletes `.git` alone may still want what is beside it."""
    tree = world.repo()
    tree.add()
    tree.remember(SAID)
    shutil.rmtree(tree.path / ".git")

    assert world.home.stores.withdraw() == 0
    assert tree.store.exists()


def test_it_stays_when_git_alone_is_deleted_to_begin_anew(world, returned):
    (returned.path / "notes.txt").write_text("kept\n")
    shutil.rmtree(returned.path / ".git")

    assert world.home.stores.withdraw() == 0
    world.reopen()

    assert returned.store.exists()
    returned.git("init", "-q")
    returned.add()
    assert sorted(returned.memories()) == [SAID, "Said afterwards"]


def test_it_stays_where_a_branch_without_the_submodule_is_looked_at(world):
    source, outer = world.repo("source"), world.repo("outer")
    outer.git("branch", "without")
    allowed = ("-c", "protocol.file.allow=always")
    outer.git(*allowed, "submodule", "--quiet", "add", f"file://{source.path}", "inner")
    outer.commit("inner")
    inner = world.tree("outer/inner")
    inner.add()
    inner.remember(SAID)
    shutil.rmtree(inner.store.parent)
    inner.remember("Said afterwards")

    outer.git("-c", "submodule.recurse=true", "checkout", "-q", "without")
    assert list(inner.path.iterdir()) == [inner.store.parent]
    assert world.home.stores.withdraw() == 0
    world.reopen()

    outer.git("-c", "submodule.recurse=true", "checkout", "-q", "main")
    assert sorted(inner.memories()) == [SAID, "Said afterwards"]


def test_it_is_not_closed_before_it_shows_whether_the_repository_stays(world, returned):
    project = project_of(returned)

    world.clock.wait(STORE_RETURNED_S - 1)
    wiring.rest(world.home)
    before = world.home.stores.opened(project)
    world.clock.wait(1)
    wiring.rest(world.home)

    assert before is not None
    assert world.home.stores.opened(project) is None
    assert returned.store.exists()


def test_who_ends_takes_it_away_too(world, returned):
    delete_all_else(returned)

    world.reopen()

    assert not returned.store.parent.exists()


def test_it_stays_where_no_copy_can_be_made(world, returned):
    project = project_of(returned)
    backups = places.backups(project)
    shutil.rmtree(backups, ignore_errors=True)
    backups.parent.mkdir(parents=True, exist_ok=True)
    backups.write_text("no folder")
    delete_all_else(returned)

    assert world.home.stores.withdraw() == 0
    assert returned.store.exists()
    assert world.home.stores.opened(project) is not None

    backups.unlink()
    assert world.home.stores.withdraw() == 1
    assert not returned.store.exists()


def test_one_that_cannot_be_deleted_is_open_still(world, returned):
    project = project_of(returned)
    delete_all_else(returned)
    done = subprocess.run(["chattr", "+i", returned.store], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no file can be made unchangeable here")
    try:
        assert world.home.stores.withdraw() == 0
    finally:
        subprocess.run(["chattr", "-i", returned.store], check=True)

    assert world.home.stores.opened(project) is not None
    assert world.home.stores.withdraw() == 1


def test_it_stays_while_it_is_in_use(world, returned):
    project = world.home.project_at(returned.path)[0]
    with world.home.stores.use(project):
        delete_all_else(returned)
        assert world.home.stores.withdraw() == 0
        assert returned.store.exists()

    assert world.home.stores.withdraw() == 1


def test_one_that_is_deleted_again_while_the_daemon_stops_is_kept(world, returned):
    shutil.rmtree(returned.store.parent)
    world.home.stores.keep_deleted()
    assert returned.store.exists()
    shutil.rmtree(returned.store.parent)

    world.home.stores.wait_no_more()
    world.reopen()

    if not returned.store.exists():
        returned.add(restore=True)
    assert sorted(returned.memories()) == [SAID, "Said afterwards"]


def test_one_that_is_closed_while_the_daemon_stops_keeps_no_other_from_being_kept(world):
    closed, deleted = world.repo("closed"), world.repo("deleted")
    for tree in (closed, deleted):
        tree.add()
        tree.remember(SAID)
    project = project_of(deleted)
    world.home.stores.opened(project_of(closed)).close()
    shutil.rmtree(deleted.path)
    before = copies(deleted, project)

    world.home.stores.keep_deleted()

    assert len(copies(deleted, project)) == len(before) + 1


def test_nothing_is_put_back_where_the_repository_has_lost_what_each_has(world):
    tree = world.repo()
    tree.add()
    tree.remember(SAID)
    shutil.rmtree(tree.store.parent)
    shutil.rmtree(tree.path / ".git" / "objects")

    with pytest.raises(YaadError):
        tree.remember("Said afterwards")

    assert not tree.store.parent.exists()
