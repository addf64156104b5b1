"""Fault 8: a project moves, vanishes, comes back, or becomes something else."""

import shutil

import pytest
from living_daemon import Shop
from refusals import refusal
from waiting import wait_until

from yaadwatch.model.errors import Code, YaadError


@pytest.fixture
def shop(machine):
    machine.live()
    return Shop.new(machine, files=3)


@pytest.fixture(autouse=True)
def nothing_crashed(machine):
    yield
    assert machine.logged("service.crashed") == 0


def watched(machine, root):
    rows = {row["path"]: row["watch"] for row in machine.call("status")["projects"]}
    return rows.get(str(root))


def gone(machine, root):
    wait_until(lambda: watched(machine, root) == "off", "a project that is watched no more")


def followed(machine, root):
    wait_until(lambda: watched(machine, root) == "full", "a project that is watched where it is")


@pytest.fixture
def afar(machine):
    folder = machine.folder / "afar"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("daemon", ["running", "stopped"])
def test_one_that_moved_is_followed_when_it_is_asked_about(machine, shop, afar, daemon):
    old, new = shop.root, afar / "moved"
    if daemon == "stopped":
        machine.stop()
    old.rename(new)
    if daemon == "stopped":
        machine.live()
    gone(machine, old)
    shop.root = new

    assert shop.flags() == {}
    shop.edit(0, 7)

    shop.settles()
    assert shop.false == {0}
    assert watched(machine, old) is None
    assert machine.logged("project.followed") == 1


def test_one_whose_copy_is_all_that_is_left_is_followed_there(machine, shop, afar):
    """Moved to another disk, a repository is a copy whose original was deleted."""
    new = afar / "copy"
    shutil.copytree(shop.root, new, symlinks=True)
    shutil.rmtree(shop.root)
    gone(machine, shop.root)
    shop.root = new

    assert shop.flags() == {}
    shop.edit(0, 7)

    shop.settles()
    assert shop.false == {0}


def test_a_copy_is_watched_beside_the_original_with_verdicts_of_its_own(machine, shop, afar):
    copy = Shop(afar / "copy", machine)
    shutil.copytree(shop.root, copy.root, symlinks=True, dirs_exist_ok=True)
    copy.said = shop.said
    assert copy.flags() == {}

    copy.edit(0, 7)
    shop.edit(1, 7)

    copy.settles()
    shop.settles()
    assert (copy.false, shop.false) == ({0}, {1})
    (row,) = machine.call("status")["projects"]
    assert (row["path"], row["watch"]) == (str(shop.root), "full")


def test_one_that_moved_away_and_back_is_watched_as_before(machine, shop, afar):
    away = afar / "away"
    shop.root.rename(away)
    gone(machine, shop.root)
    (away / shop.path(0)).write_text("rate = 0\n")
    away.rename(shop.root)

    shop.settles()
    assert shop.false == {0}
    shop.edit(1, 7)
    shop.settles()


def test_one_that_was_deleted_is_said_to_be_gone_and_its_memories_wait_for_a_clone(machine, shop):
    bundle = machine.folder / "bundle"
    shop.git("bundle", "create", "-q", str(bundle), "main")
    shutil.rmtree(shop.root)
    gone(machine, shop.root)

    def reason():
        (row,) = machine.call("status")["projects"]
        return row.get("reason", "")

    wait_until(lambda: reason().startswith("gone since "), "that it is gone, and since when")
    assert not shop.root.exists()

    shop.root.mkdir()
    shop.git("init", "-q", "-b", "main")
    shop.git("pull", "-q", str(bundle), "main")
    assert refusal(machine.call, "add", cwd=shop.root).code is Code.CONFLICT
    machine.call("add", cwd=shop.root, adopt=True)

    shop.edit(0, 7)
    shop.settles()
    assert shop.false == {0}


def test_one_that_a_clone_took_the_place_of_at_once_is_followed_and_the_clone_is_not_watched(
    machine, shop
):
    old, new = shop.root, shop.root.with_name("shop.old")
    old.rename(new)
    shop.root = new
    shop.git("clone", "-q", str(new), str(old))
    assert shop.flags() == {}
    followed(machine, new)
    shop.edit(0, 7)

    shop.settles()
    assert shop.false == {0}
    with pytest.raises(YaadError, match="not watched"):
        machine.call("recall", cwd=old, query="rate")


def test_one_that_took_the_place_of_a_deleted_one_is_told_nothing_of_it(machine, shop):
    other = Shop.new(machine, "other", files=1)
    (said,) = [row["text"] for row in other.ask("recall", query="rate")["results"]]
    shutil.rmtree(shop.root)
    other.root.rename(shop.root)

    assert [row["text"] for row in shop.ask("recall", query="rate")["results"]] == [said]
    assert shop.ask("add")["again"]
    followed(machine, shop.root)


def test_one_that_a_link_took_the_place_of_is_found_through_it(machine, shop):
    away = shop.root.with_name("away")
    shop.root.rename(away)
    shop.root.symlink_to(away, target_is_directory=True)
    shop.edit(0, 7)
    machine.call("add", cwd=shop.root)

    shop.settles()
    assert shop.false == {0}
    assert len(machine.call("projects")["projects"]) == 1


def test_one_that_a_link_to_somewhere_else_took_the_place_of_is_not_followed(machine, shop):
    """Somebody else's files would be judged as ours."""
    elsewhere = Shop.new(machine, "elsewhere", files=1)
    trees = {path: path.read_bytes() for path in elsewhere.root.rglob("*.py")}
    away = shop.root.with_name("away")
    shop.root.rename(away)
    shop.root.symlink_to(elsewhere.root, target_is_directory=True)
    wait_until(
        lambda: watched(machine, shop.root) == "off" or watched(machine, away) == "full",
        "a project that is watched there no more",
    )

    elsewhere.edit(0, 7)
    elsewhere.settles()
    assert set(elsewhere.root.rglob("*.py")) == set(trees)


def test_a_work_tree_that_comes_is_judged_and_one_that_goes_leaves_nothing(machine, shop):
    beside = shop.root.with_name("beside")
    shop.git("worktree", "add", "-q", "-b", "side", str(beside))
    machine.call("add", cwd=beside)
    (beside / shop.path(0)).write_text("rate = 0\n")

    def flagged():
        rows = machine.call("stale", cwd=beside, all=True, check=False)["stale"]
        return {row["id"] for row in rows}

    wait_until(lambda: flagged() == {shop.said[0]}, "a flag in the linked work tree")
    assert shop.flags() == {}

    shop.git("worktree", "remove", "--force", str(beside))
    shop.edit(1, 7)
    shop.settles()
    assert shop.false == {1}
    wait_until(lambda: machine.call("status")["problems"] == [], "no problem left")


def test_one_whose_git_folder_became_a_file_is_the_same(machine, shop):
    shop.git("init", "-q", "--separate-git-dir", str(shop.root.with_name("shop.git")))
    assert (shop.root / ".git").is_file()

    machine.call("add", cwd=shop.root)
    shop.edit(0, 7)

    shop.settles()
    assert shop.false == {0}
