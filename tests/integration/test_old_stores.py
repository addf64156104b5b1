"""A store of any released version becomes the newest with all that was in it, or stays usable."""

import hashlib
import os
import shutil
import signal
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "store"))

import old_stores

from yaadwatch.core.text import text_hash
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.store import events
from yaadwatch.store.sqlite import migrations
from yaadwatch.store.sqlite.database import Database
from yaadwatch.store.truth import versions

NEWEST = old_stores.versions()[-1]
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
older = pytest.mark.parametrize("version", old_stores.versions()[:-1])


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".yaad" / "yaad.db"


def _opened(path):
    return Database.open(path, role="project", project="p1")


def _content(path):
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as conn:
        return old_stores.content(conn)


DERIVED = {"begins"}
"""Columns that can be worked out again."""


def _same(old, new):
    """Tell whether what was in the old tables is in those of the same name now."""
    for table, rows in old.items():
        names = {name for name in rows[0] if name in new[table][0]} - DERIVED
        kept = [{name: row[name] for name in row if name in names} for row in new[table]]
        known = [{name: row[name] for name in row if name in names} for row in rows]
        assert sorted(kept, key=repr) == sorted(known, key=repr), table
    return True


@pytest.mark.parametrize("version", old_stores.versions())
def test_a_store_of_any_version_can_be_filled_and_is_whole(path, version):
    content = old_stores.make(path, version)

    assert {len(rows) for name, rows in content.items() if name != "meta"} == {old_stores.ROWS}
    with closing(apsw.Connection(str(path))) as conn:
        assert conn.pragma("user_version") == version
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        assert conn.pragma("integrity_check") == "ok"


@older
def test_an_older_store_has_all_its_rows_after_it_was_opened(path, version):
    before = old_stores.make(path, version)

    with closing(_opened(path)) as db:
        assert db.read(lambda conn: conn.pragma("user_version")) == NEWEST
        assert _same(before, db.read(old_stores.content))
        assert db.read(lambda conn: conn.execute("PRAGMA foreign_key_check").fetchall()) == []
        assert db.read(lambda conn: conn.pragma("integrity_check")) == "ok"


@pytest.mark.parametrize("version", range(old_stores.versions()[0], 13))
def test_how_memories_begin_is_worked_out_anew_after_an_upgrade(path, version):
    """The thirteenth step makes the numbers in another way."""
    old_stores.make(path, version)

    with closing(_opened(path)) as db:
        assert db.read(lambda conn: conn.execute("SELECT max(begins) FROM nodes").get) is None


def _hash(said, version):
    """Return what `version` has for a text that ends without its full stops."""
    return hashlib.sha256(said.encode()).hexdigest()[: 32 if version >= 9 else 64]


@pytest.mark.parametrize("version", range(old_stores.versions()[0], 14))
def test_a_full_stop_that_is_a_word_counts_after_an_upgrade(path, version):
    """The fourteenth step hashes those texts anew, and each can be said beside the other."""
    old_stores.make(path, version)
    said = {1: "Run eslint .", 2: "Run go test ./...", 3: "Run tox ."}
    had = {1: "Run eslint", 2: "Run go test ./"}
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("UPDATE nodes SET archived_ms = NULL, text_hash = id")
        for num, text in said.items():
            digest = _hash(had[num], version) if num in had else "f" * len(_hash("", version))
            conn.execute(
                "UPDATE nodes SET text = ?, text_hash = ? WHERE num = ?", (text, digest, num)
            )
        if version >= 2:
            conn.execute("DELETE FROM tombstones")
            conn.execute(
                "INSERT INTO tombstones SELECT min(id), 'A.md', ?, 7 FROM worktrees",
                (_hash("Run eslint", version),),
            )

    with closing(_opened(path)) as db:
        found = db.read(lambda conn: dict(conn.execute("SELECT num, text_hash FROM nodes")))
        buried = db.read(lambda conn: list(conn.execute("SELECT text_hash, at_ms FROM tombstones")))
        functions = "SELECT count(*) FROM pragma_function_list WHERE name LIKE 'hash_1%'"
        assert db.write(lambda conn: conn.execute(functions).get) == 0
    apart = "f" * 32  # as that of one that was kept beside another which says the same
    assert found == {1: text_hash(said[1]), 2: text_hash(said[2]), 3: apart}
    assert found[1] != text_hash("Run eslint")
    if version >= 2:
        digests = [text_hash("Run eslint"), text_hash("Run eslint .")]
        assert sorted(buried) == sorted((digest, 7) for digest in digests)


@pytest.mark.parametrize("version", range(old_stores.versions()[0], 16))
def test_words_inside_texts_without_spaces_are_found_after_an_upgrade(path, version):
    """The sixteenth step indexes their letters, of memories and of sessions."""
    old_stores.make(path, version)
    said = "データベースの接続はGetConnで30秒"
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute(
            "UPDATE nodes SET kind = 'rule', archived_ms = NULL, text = ? WHERE num = 1", (said,)
        )
        conn.execute("DELETE FROM nodes_fts WHERE rowid = 1")
        conn.execute("INSERT INTO nodes_fts (rowid, text) VALUES (1, ?)", (said,))
        conn.execute("""UPDATE nodes SET kind = 'rule', tags = '["障害対応"]' WHERE num = 2""")
        conn.execute("UPDATE nodes SET kind = 'rule', archived_ms = 7, text = '接続' WHERE num = 3")
        conn.execute("DELETE FROM nodes_fts WHERE rowid = 3")
        if version >= 4:
            conn.execute(
                "INSERT INTO sessions_fts (rowid, summary, notes) VALUES (1, 'Plain words', ?)",
                (said,),
            )

    def found(conn, table, match):
        return conn.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (match,)).fetchall()

    with closing(_opened(path)) as db:
        for match in ('"接 続"', '"get conn"', "getconn"):
            assert db.read(found, "nodes_fts", match) == [(1,)]
        assert db.read(found, "nodes_fts", '"障 害"') == [(2,)]
        assert db.read(found, "nodes_fts", '"text 2"') == [(2,)]
        functions = "SELECT count(*) FROM pragma_function_list WHERE name LIKE '%_16'"
        assert db.write(lambda conn: conn.execute(functions).get) == 0
        if version >= 4:
            assert db.read(found, "sessions_fts", '"接 続"') == [(1,)]
            assert db.read(found, "sessions_fts", "words") == [(1,)]
            db.write(lambda conn: conn.execute("DELETE FROM sessions WHERE num = 1"))
            assert db.read(found, "sessions_fts", "words") == []


@older
def test_what_a_memory_said_before_and_says_now_is_known_after_an_upgrade(path, version):
    old_stores.make(path, version)
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("UPDATE node_versions SET text = 'other words' WHERE version = 2")
        nodes_of = dict(conn.execute("SELECT version, node FROM node_versions"))
        now = dict(conn.execute("SELECT id, text FROM nodes"))

    with closing(_opened(path)) as db:
        said = {
            number: db.read(versions.of_node, node)[0].text for number, node in nodes_of.items()
        }
        assert said == {number: now[node] for number, node in nodes_of.items()} | {2: "other words"}

        db.write(lambda conn: conn.execute("UPDATE nodes SET text = 'newer', text_hash = id"))

        again = {
            number: db.read(versions.of_node, node)[0].text for number, node in nodes_of.items()
        }
        assert again == said


@pytest.mark.parametrize("version", range(old_stores.versions()[0], 15))
@pytest.mark.parametrize("left", [0, 1])
def test_no_number_of_an_event_is_given_out_twice_after_an_upgrade(path, version, left):
    """Up to the fourteenth version the last event could be deleted, and followers had read it."""
    old_stores.make(path, version)
    with closing(apsw.Connection(str(path))) as conn:
        last = conn.execute("SELECT max(seq) FROM events").get
        conn.execute("DELETE FROM events WHERE seq > ?", (left,))

    with closing(_opened(path)) as db:
        assert db.read(events.last) == last
        kept = [event.seq for event in db.read(events.after, 0, 9)]
        assert kept == [*range(1, left + 1), last]
        new = Event(kind="node.updated", at=NOW, subject="a")
        assert db.write(events.append, new) == last + 1


@pytest.mark.parametrize("version", range(old_stores.versions()[0], 15))
def test_the_same_open_edge_stays_one_after_an_upgrade(path, version):
    old_stores.make(path, version)
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("UPDATE edges SET valid_until_ms = NULL")

    again = """
        INSERT INTO edges (from_node, to_node, kind, created_ms, updated_ms, valid_from_ms,
                           valid_until_ms)
        SELECT from_node, to_node, kind, 1, 1, 1, ? FROM edges WHERE id = 1
    """
    with closing(_opened(path)) as db:
        db.write(lambda conn: conn.execute(again, (5,)))
        db.write(lambda conn: conn.execute(again, (5,)))
        with pytest.raises(apsw.ConstraintError):
            db.write(lambda conn: conn.execute(again, (None,)))


@older
def test_the_copy_of_an_older_store_is_that_store_and_can_be_opened_again(path, version):
    before = old_stores.make(path, version)
    _opened(path).close()

    copy = path.with_name(f"yaad.db.v{version}")
    assert _content(copy) == before
    shutil.copyfile(copy, path)
    with closing(_opened(path)) as db:
        assert _same(before, db.read(old_stores.content))


def test_a_store_of_a_later_version_is_refused_and_left_as_it_was(path):
    before = old_stores.make(path, NEWEST)
    with closing(apsw.Connection(str(path))) as conn:
        conn.pragma("user_version", NEWEST + 1)

    with pytest.raises(YaadError) as caught:
        _opened(path)

    assert caught.value.code is Code.UNAVAILABLE
    assert "Install the newer yaadwatch" in caught.value.hint
    assert _content(path) == before


def _killed_at_line(number, path):
    """Open the store in a child that is killed in the middle of the chain; tell whether it was."""
    child = os.fork()
    if child == 0:
        left = [number]

        def count(frame, _kind, _argument):
            if frame.f_code.co_filename == migrations.__file__:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return count

        sys.settrace(count)
        try:
            _opened(path)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.timeout(300)
@older
def test_a_process_killed_anywhere_in_the_chain_leaves_the_old_store_or_the_new(tmp_path, version):
    number, killed = 1, True
    old = tmp_path / "old"
    before = old_stores.make(old, version)
    while killed:
        path = tmp_path / str(number) / ".yaad" / "yaad.db"
        path.parent.mkdir(parents=True)
        shutil.copy(old, path)
        killed = _killed_at_line(number, path)

        with closing(apsw.Connection(str(path))) as conn:
            found = conn.pragma("user_version")
            assert found in (version, NEWEST)
            assert _same(before, old_stores.content(conn))
        with closing(_opened(path)) as db:
            assert _same(before, db.read(old_stores.content))
            assert db.read(lambda conn: conn.pragma("integrity_check")) == "ok"
        number += 5
    assert number > 20
