"""An older store is upgraded as a whole, or stays as it was."""

import hashlib
from pathlib import Path

import pytest
from refusals import refusal

from yaadwatch.db import connections, migrations
from yaadwatch.db.migrations import Step
from yaadwatch.model.errors import Code, YaadError

FIRST = Step(version=1, sql="CREATE TABLE rules (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;")
SECOND = Step(
    version=2,
    sql="""
    ALTER TABLE rules ADD COLUMN tier INTEGER NOT NULL DEFAULT 2;
    UPDATE rules SET tier = 1 WHERE text LIKE 'Use %';
    """,
)
REBUILD = Step(
    version=3,
    sql="""
    CREATE TABLE places (rule TEXT NOT NULL REFERENCES rules (id) ON DELETE CASCADE) STRICT;
    INSERT INTO places (rule) VALUES ('r1');
    CREATE TABLE rules_new (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
    INSERT INTO rules_new (id, text) SELECT id, text FROM rules;
    DROP TABLE rules;
    ALTER TABLE rules_new RENAME TO rules;
    """,
)
BROKEN = Step(version=3, sql="DELETE FROM rules; INSERT INTO nowhere (id) VALUES (1);")
DANGLING = Step(
    version=3,
    sql="""
    CREATE TABLE places (rule TEXT NOT NULL REFERENCES rules (id)) STRICT;
    INSERT INTO places (rule) VALUES ('nobody');
    """,
)


@pytest.fixture
def old(tmp_path):
    """A store of version 1 with one row, and a connection to it."""
    path = tmp_path / "yaad.db"
    path.touch()
    conn = connections.writer(path)
    conn.pragma("application_id", connections.APPLICATION_ID)
    migrations.run(conn, [FIRST])
    conn.execute("INSERT INTO rules (id, text) VALUES ('r1', 'Use jose')")
    yield path, conn
    conn.close()


def _dump(conn):
    schema = conn.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    return (
        conn.pragma("user_version"),
        schema,
        conn.execute("SELECT id, text FROM rules").fetchall(),
    )


def test_the_steps_have_increasing_numbers():
    versions = [step.version for step in migrations.chain()]

    assert versions[0] == 1
    assert versions == sorted(set(versions))


def test_all_steps_are_taken_in_order(old):
    path, conn = old

    migrations.upgrade(conn, path, [FIRST, SECOND, REBUILD])

    assert conn.pragma("user_version") == 3
    assert conn.execute("SELECT id, text FROM rules").fetchall() == [("r1", "Use jose")]
    assert conn.execute("SELECT rule FROM places").fetchall() == [("r1",)]
    assert conn.pragma("foreign_keys") == 1


def test_the_newest_store_is_left_alone(old):
    path, conn = old

    before = _dump(conn)

    migrations.upgrade(conn, path, [FIRST])

    assert _dump(conn) == before


@pytest.mark.parametrize("bad", [BROKEN, DANGLING], ids=["breaks", "leaves a dangling row"])
def test_a_step_that_does_not_go_through_leaves_the_store_as_it_was(old, bad):
    path, conn = old
    before = _dump(conn)

    error = refusal(migrations.upgrade, conn, path, [FIRST, SECOND, bad])

    assert error.code is Code.UNAVAILABLE
    assert "from version 1 to 3" in error.message
    assert _dump(conn) == before
    assert conn.execute("PRAGMA integrity_check").get == "ok"


def test_a_newer_store_is_refused_and_untouched(old):
    path, conn = old
    conn.pragma("user_version", 7)
    conn.pragma("wal_checkpoint", "truncate")
    before = hashlib.sha256(path.read_bytes()).digest()

    with pytest.raises(YaadError, match="version 7, and this program knows versions up to 2"):
        migrations.upgrade(conn, path, [FIRST, SECOND])

    assert hashlib.sha256(path.read_bytes()).digest() == before


def test_the_schema_is_found_beside_the_module_that_reads_it():
    files = sorted((Path(migrations.__file__).parent / "schema").iterdir())

    assert [step.version for step in migrations.chain()] == [int(path.name[:4]) for path in files]
