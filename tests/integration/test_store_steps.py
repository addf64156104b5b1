"""A store, with a fault at each system call and each allocation of what writes to it."""

import errno
import os
import shutil

import apsw
import pytest
from stepping import CAN_FAIL, Stepped, require_stepping

from yaadwatch.db.database import Database, get_meta, put_meta
from yaadwatch.model.errors import YaadError

require_stepping()

SOAK = os.environ.get("YAAD_SOAK") == "1"
EACH = 1 if SOAK else 17
"""Every one of so many calls is tried; all are before a release."""


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "made" / "yaad.db"
    with_store(path, lambda db: db.write(put_meta, "word", "old"), create=True)
    return path.parent


def with_store(path, work, *, create=False):
    db = Database.open(path, role="user", create=create)
    try:
        return work(db)
    finally:
        db.close()


def write(path):
    with_store(path, lambda db: db.write(put_meta, "word", "new"))


def rewrite(path):
    def work(db):
        db.write(put_meta, "word", "new")
        db.scrub()

    with_store(path, work)


def back_up(path):
    with_store(path, lambda db: db.backup(path.parent / "copy.db"))


def looks_sound(path):
    """Return the word in the store, which opens, is whole and takes a write."""

    def look(db):
        assert db.examine(lambda conn: conn.execute("PRAGMA integrity_check").get) == "ok"
        word = db.read(get_meta, "word")
        db.write(put_meta, "word", "newer")
        return word

    return with_store(path, look)


@pytest.mark.skipif(not CAN_FAIL, reason="calls are failed on x86-64 Linux only")
@pytest.mark.parametrize("work", [write, rewrite, back_up])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, None], ids=["full", "broken", "killed"])
def test_a_fault_at_any_system_call_leaves_the_old_word_or_the_new_one(made, tmp_path, work, error):
    path = tmp_path / "tried" / "yaad.db"
    for number in range(0, 4_000, EACH):
        shutil.rmtree(path.parent, ignore_errors=True)
        shutil.copytree(made, path.parent)
        with Stepped(lambda: work(path), expected=(YaadError,)) as child:
            if not child.to_call(number):
                assert number > 30
                return
            if error is None:
                child.kill()
                done = False
            elif child.name() in (None, "close", "fcntl"):
                continue
            else:
                child.fail(error)
                done = child.end() == 0

        copy = path.with_name("copy.db")
        if copy.exists():
            assert looks_sound(copy) == "old", number
        assert done is False or work is not back_up or copy.exists(), number
        word = looks_sound(path)
        assert word == "new" if done and work is not back_up else word in ("old", "new"), number
    raise AssertionError("there is no end to it")


def test_an_allocation_that_fails_changes_nothing_and_the_next_write_is_done(made):
    """SQLite is given a little more memory each time, until it is enough."""

    def tried(db):
        refused = 0
        for more in range(0, 1_000_000, 256 if SOAK else 4_096):
            db.write(put_meta, "word", "old")
            apsw.hard_heap_limit(apsw.memory_used() + more)
            try:
                db.write(lambda conn: [put_meta(conn, f"{n}", "x" * 900) for n in range(90)])
            except YaadError:
                refused += 1
            else:
                return refused
            finally:
                apsw.hard_heap_limit(0)
            assert db.read(get_meta, "7") is None
        raise AssertionError("it is never enough")

    assert with_store(made / "yaad.db", tried) > 3
    assert looks_sound(made / "yaad.db") == "old"
