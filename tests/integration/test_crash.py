"""A process that is killed loses nothing it had acknowledged, and leaves nothing half done."""

import os
import random
import signal
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from yaadwatch.db import connections, history, migrations, nodes
from yaadwatch.db.database import Database
from yaadwatch.db.migrations import Step

ROOT = Path(__file__).parents[2]
KILLS = 100 if os.environ.get("YAAD_SOAK") else 10
STRIDE = 17

WRITER = textwrap.dedent(
    """
    import sys
    from datetime import UTC, datetime
    from pathlib import Path

    from yaadwatch.model.events import NODE_CREATED, Event
    from yaadwatch.model.memories import Node
    from yaadwatch.db import history as events
    from yaadwatch.db import fulltext
    from yaadwatch.db import nodes
    from yaadwatch.db.database import Database

    NOW = datetime(2026, 11, 21, tzinfo=UTC)

    def remember(conn, id):
        text = f"Use jose, not jsonwebtoken, says {id} " + "and again " * (len(id) * 7)
        node = Node(
            id=id, kind="convention", tier=1, scope="project", text=text, text_hash=id,
            summary=text[:160], origin="cli", confidence=0.5, confirmed_at=NOW, created_at=NOW,
            updated_at=NOW,
        )
        number = nodes.insert(conn, node)
        fulltext.index(conn, [(number, text, "", "")])
        events.append(conn, Event(kind=NODE_CREATED, at=NOW, subject=id))

    db = Database.open(Path(sys.argv[1]), role="project", project="p1", create=True)
    begun = db.read(nodes.count)
    for number in range(begun, begun + 100_000):
        db.write(remember, f"n{number}")
        print(f"n{number}", flush=True)
    """
)


def _acknowledged_before_it_was_killed(path, after):
    """Let a process write; kill it when it has acknowledged `after` rows; return all it has."""
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with child:
        lines = [child.stdout.readline() for _ in range(after)]
        os.kill(child.pid, signal.SIGKILL)
        lines += child.stdout.readlines()
    assert child.returncode == -signal.SIGKILL
    return {line.strip() for line in lines if line.endswith("\n")}


@pytest.mark.timeout(1200)
def test_nothing_acknowledged_is_lost_however_often_the_process_is_killed(tmp_path):
    path = tmp_path / "store" / "yaad.db"
    chance = random.Random(20261121)
    acknowledged = set()
    for _ in range(KILLS):
        acknowledged |= _acknowledged_before_it_was_killed(path, chance.randrange(1, 200))

        with closing(Database.open(path, role="project", project="p1")) as db:
            stored = set(db.read(nodes.many, acknowledged))
            told = {event.subject for event in db.read(history.after, 0, 1_000_000)}
            counted = db.read(nodes.count)
            indexed = db.read(lambda conn: conn.execute("SELECT count(*) FROM nodes_fts").get)
            sound = db.read(lambda conn: conn.pragma("integrity_check"))

        assert stored == acknowledged <= told
        assert counted == indexed == len(told)
        assert sound == "ok"
    assert len(acknowledged) > KILLS


def _killed_at_call(number, work, *args):
    """Run `work` in a child that is killed at its call number `number`; tell whether it was."""
    child = os.fork()
    if child == 0:
        left = [number]

        def count(_frame, kind, _argument):
            if kind in {"call", "c_call"}:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        try:
            work(*args)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _at_many_calls(tmp_path, prepare, work, stride=STRIDE):
    """Yield what `prepare` made in a new folder after `work` on it was killed, later each time."""
    number, killed = 1, True
    while killed:
        path = tmp_path / str(number) / "store" / "yaad.db"
        path.parent.mkdir(parents=True)
        prepared = prepare(path)
        killed = _killed_at_call(number, work, path, prepared)
        yield path
        number += stride
    assert number > 10 * stride


def _is_sound(path):
    with closing(apsw.Connection(str(path))) as conn:
        return conn.pragma("integrity_check") == "ok"


def test_a_process_killed_while_it_makes_a_store_leaves_a_whole_one_or_none(tmp_path):
    def make(path, _prepared):
        Database.open(path, role="project", project="p1", create=True)

    for path in _at_many_calls(tmp_path, lambda _path: None, make):
        if path.exists():
            Database.open(path, role="project", project="p1").close()
        Database.open(path, role="project", project="p1", create=True).close()

        assert _is_sound(path)
        assert [found.name for found in path.parent.glob("*.new*")] == []


def test_a_process_killed_while_it_upgrades_a_store_leaves_the_old_or_the_new(tmp_path):
    first = Step(version=1, sql="CREATE TABLE rules (text TEXT NOT NULL) STRICT;")
    second = Step(version=2, sql="ALTER TABLE rules ADD COLUMN tier INTEGER NOT NULL DEFAULT 2;")

    def prepare(path):
        path.touch()
        with closing(connections.writer(path)) as conn:
            migrations.run(conn, [first])
            conn.execute("INSERT INTO rules (text) VALUES ('Use jose')")

    def upgrade(path, _prepared):
        migrations.upgrade(connections.writer(path), path, [first, second])

    for path in _at_many_calls(tmp_path, prepare, upgrade, stride=3):
        with closing(connections.writer(path)) as conn:
            columns = conn.execute("SELECT name FROM pragma_table_info('rules') ORDER BY cid").get
            assert (conn.pragma("user_version"), columns) in [(1, "text"), (2, ["text", "tier"])]
            assert conn.execute("SELECT text FROM rules").get == "Use jose"
        assert _is_sound(path)
