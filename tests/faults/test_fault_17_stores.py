"""Fault 17: what happens to a work tree, a store that is deleted, and an archive from elsewhere.

Case by case: `tests/integration/verbs/test_hostile_store.py` and `test_projects_verb.py`.
"""

import shutil
import time

import apsw
from living_daemon import Living, Shop, source
from refusals import refusal

from yaadwatch.model.errors import Code


def kept(shop):
    return {shop.ask("show", id=one)["id"] for one in shop.said.values()}


HARMLESS = {
    "git clean": lambda shop: shop.git("clean", "-xfdq"),
    "mv and back": lambda shop: _there_and_back(shop.root),
    "cp -r": lambda shop: shutil.copytree(shop.root, shop.root.with_name("copy"), symlinks=True),
    "clone": lambda shop: shop.git("clone", "-q", str(shop.root), str(shop.root.with_name("two"))),
    "rm -rf and a copy back": lambda shop: _deleted_and_back(shop.root),
}


def _there_and_back(root):
    root.rename(root.with_name("aside"))
    root.with_name("aside").rename(root)


def _deleted_and_back(root):
    backup = root.with_name("backup")
    shutil.copytree(root, backup, symlinks=True)
    shutil.rmtree(root)
    shutil.copytree(backup, root, symlinks=True)


def test_whatever_happens_to_the_work_tree_every_memory_stays_where_it_is(machine, shop):
    store = shop.store
    for turn, act in enumerate((*HARMLESS.values(), *HARMLESS.values())):
        act(shop)
        for name in ("copy", "two", "backup"):
            shutil.rmtree(shop.root.with_name(name), ignore_errors=True)
        shop.edit(turn % shop.FILES, 7 + turn)
        shop.settles()
        answer = shop.ask("remember", text=f"Said after that for the {turn}. time")
        assert shop.ask("show", id=answer["id"])["text"] == answer["text"]
    assert shop.store == store
    assert oct(store.stat().st_mode)[-3:] == "600"
    assert oct(store.parent.stat().st_mode)[-3:] == "700"
    assert [path.name for path in shop.root.iterdir() if "yaad" in path.name] == []
    machine.stop()
    HARMLESS["git clean"](shop)
    assert shop.is_sound() == "ok"
    machine.live()
    assert kept(shop) == set(shop.said.values())


def test_a_daemon_in_a_container_that_sees_the_same_work_tree_has_memories_of_its_own(
    machine, shop, tmp_path, monkeypatch
):
    """Its data folder is its own; the repository bears one id for both."""
    inside = tmp_path / "container"
    inside.mkdir()
    with monkeypatch.context() as patch:
        other = Living(inside, patch)
        other.live()
        other.call("add", cwd=shop.root)
        other.call("remember", cwd=shop.root, text="Said in the container")
    shop.ask("remember", text="Said on the host")
    named = shop.git("config", "yaad.project").strip()
    for turn in range(3):
        shop.edit(turn, 7)
    shop.settles()
    other.process.terminate()
    other.process.wait()
    machine.stop()

    texts = {}
    for home in (machine.home, other.home):
        path = home / "yaad" / "projects" / named / "yaad.db"
        conn = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        assert conn.pragma("integrity_check") == "ok"
        texts[home] = {text for (text,) in conn.execute("SELECT text FROM nodes")}
        conn.close()
    other.end()
    assert "Said on the host" in texts[machine.home] - texts[other.home]
    assert "Said in the container" in texts[other.home] - texts[machine.home]


def test_a_store_that_was_deleted_comes_back_from_its_backup(machine, shop):
    shop.ask("backup")
    machine.stop()
    for path in shop.store.parent.glob("yaad.db*"):
        path.unlink()
    machine.live()

    error = refusal(shop.ask, "recall", query="which rate is applied")
    assert "yaadwatch add --restore" in error.hint
    shop.ask("add", restore=True)
    assert kept(shop) == set(shop.said.values())
    assert shop.is_sound() == "ok"


def test_an_older_store_that_is_put_in_place_is_followed_from_then_on(machine, shop):
    """Its events have smaller numbers than those of the store that it replaces."""
    number = Shop.FILES
    shop.commit("one more", {shop.path(number): source(number)})
    copy = shop.store.with_name("copy")
    conn = apsw.Connection(str(shop.store), flags=apsw.SQLITE_OPEN_READONLY)
    conn.execute("VACUUM INTO ?", (str(copy),))
    conn.close()
    for turn in range(20):
        shop.ask("remember", text=f"Said after the copy, for the {turn}. time")
    time.sleep(
        1
    )  # until the events are followed; if it was too short, nothing is shown by this test
    for ending in ("-wal", "-shm"):
        shop.store.with_name(f"yaad.db{ending}").unlink(missing_ok=True)
    copy.replace(shop.store)

    shop.remember(number)
    shop.edit(number, 7)
    shop.settles()


def test_a_store_that_is_no_database_any_more_is_said_and_the_others_work(machine, shop):
    other = Shop.new(machine, "other", files=2)
    machine.stop()
    for path in shop.store.parent.glob("yaad.db*"):
        path.unlink()
    shop.store.write_bytes(b"not a database at all" * 100)
    machine.live()

    assert refusal(shop.ask, "recall", query="which rate is applied").code is Code.UNAVAILABLE
    assert shop.store.read_bytes() == b"not a database at all" * 100
    other.edit(0, 7)
    other.settles()
    assert machine.logged("service.crashed") == 0


def test_an_archive_that_brings_the_id_of_another_project_is_told_nothing(machine, shop):
    named = shop.git("config", "yaad.project").strip()
    hostile = Shop(machine.home / "code" / "hostile", machine)
    hostile.commit("theirs", {"a.py": "a = 1\n"})
    hostile.git("config", "yaad.project", named)
    hostile.git("remote", "add", "origin", "https://evil.example/x.git")

    for verb, fields in (("recall", {"query": "rate"}), ("context", {}), ("stale", {})):
        assert refusal(hostile.ask, verb, **fields).code is Code.NOT_FOUND
    added = hostile.ask("add")

    assert added["id"] != named
    assert hostile.ask("recall", query="which rate is applied")["results"] == []
    assert kept(shop) == set(shop.said.values())


def test_settings_that_it_brings_may_set_little_and_the_rest_is_said(machine):
    """A team may track `.yaad/config.toml`; it is no way to the daemon's own settings."""
    machine.live()
    shop = Shop(machine.home / "code" / "ours", machine)
    shop.write(
        ".yaad/config.toml",
        '[git]\ntimeout_ms = 600000\n[watch]\npoll_s = 3600\n[mcp]\nwide = ["all"]\n',
    )
    shop.write("a.py", "a = 1\n")
    shop.git("add", "-f", ".")
    shop.git("commit", "-qm", "theirs")
    shop.ask("add")

    answer = shop.ask("config")
    rows = {row["key"]: row["value"] for row in answer["settings"]}
    assert rows["git.timeout_ms"] == 10_000
    assert rows["watch.poll_s"] == 60
    assert rows["mcp.wide"] == []
    assert len(answer["warnings"]) >= 3
