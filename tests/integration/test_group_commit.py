"""Changes that wait share one transaction: none fails for another one, none is answered before."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from yaadwatch.db import history
from yaadwatch.db.database import Database
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event

ROOT = Path(__file__).parents[2]
KILLS = 20 if os.environ.get("YAAD_SOAK") else 4
NOW = datetime(2026, 11, 21, tzinfo=UTC)
PATIENCE_S = 20.0


def happened(subject, size=0):
    return Event(kind="node.created", at=NOW, subject=subject, body={"filler": "x" * size})


def subjects(db):
    return [event.subject for event in db.read(history.after, 0, 10_000)]


class Store:
    """A store that counts its commits, and can be kept busy while others come."""

    def __init__(self, folder):
        self.commits = []
        self.db = Database.open(
            folder / "store" / "yaad.db",
            role="project",
            project="p1",
            create=True,
            on_commit=lambda: self.commits.append(threading.get_ident()),
        )

    def together(self, *changes):
        """Have changes made that all came while another one was made; return their futures."""
        began, go_on = threading.Event(), threading.Event()

        def slow(conn):
            began.set()
            assert go_on.wait(PATIENCE_S)
            history.append(conn, happened("slow"))

        with ThreadPoolExecutor(len(changes) + 1) as threads:
            first = threads.submit(self.db.write, slow)
            assert began.wait(PATIENCE_S)
            waiting = []
            for number, change in enumerate(changes, 1):
                waiting.append(threads.submit(self.db.write, change))
                self._until_queued(number)
            go_on.set()
            first.result(PATIENCE_S)
        return waiting

    def _until_queued(self, number):
        end = time.monotonic() + PATIENCE_S
        while len(self.db._group._queue) < number:
            assert time.monotonic() < end
            time.sleep(0.001)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path)
    with closing(store.db):
        yield store


def _append(subject, size=0):
    return lambda conn: history.append(conn, happened(subject, size))


def test_changes_that_wait_share_one_transaction_in_the_order_they_came(store):
    waiting = store.together(*(_append(f"n{number}") for number in range(12)))

    assert [one.result() for one in waiting] == list(range(2, 14))
    assert subjects(store.db) == ["slow", *(f"n{number}" for number in range(12))]
    assert len(store.commits) == 2


def test_a_change_behind_a_whole_group_is_made_too(store):
    before = [store.db._group.join(_append(f"n{number}")) for number in range(64)]

    assert store.db.write(_append("last")) == 65
    assert [one.outcome.result() for one in before] == list(range(1, 65))
    assert len(store.commits) == 1


def test_a_change_that_fails_takes_nothing_from_the_others_and_leaves_nothing(store):
    def bad(conn):
        history.append(conn, happened("half"))
        raise ValueError("not this one")

    waiting = store.together(_append("a"), bad, _append("b"))

    assert [waiting[0].result(), waiting[2].result()] == [2, 3]
    with pytest.raises(ValueError, match="not this one"):
        waiting[1].result()
    assert subjects(store.db) == ["slow", "a", "b"]
    assert len(store.commits) == 2


def test_a_refused_row_is_the_fault_of_its_own_change_only(store):
    def twice(conn):
        conn.execute("INSERT INTO meta (key, value) VALUES ('role', 'again')")

    waiting = store.together(_append("a"), twice, _append("b"))

    assert waiting[1].exception() is not None
    assert subjects(store.db) == ["slow", "a", "b"]


def test_when_all_fail_nothing_is_committed_and_nobody_is_told(store):
    def bad(_conn):
        raise KeyError("no")

    waiting = store.together(bad, bad)

    assert [type(one.exception()) for one in waiting] == [KeyError, KeyError]
    assert subjects(store.db) == ["slow"]
    assert len(store.commits) == 1


def test_a_change_for_which_there_is_no_space_does_not_fail_the_others(store):
    """The limit of the file stands for a disk that is nearly full."""

    def limit(conn):
        return conn.pragma("max_page_count", conn.pragma("page_count") + 4)

    store.db.write(limit)

    waiting = store.together(_append("a"), _append("large", 200_000), _append("b"))

    error = waiting[1].exception()
    assert isinstance(error, YaadError)
    assert error.code is Code.UNAVAILABLE
    assert "space" in error.message
    assert subjects(store.db) == ["slow", "a", "b"]
    assert store.db.read(lambda conn: conn.pragma("integrity_check")) == "ok"


def test_no_change_is_answered_before_others_can_read_it(store):
    wrong = []

    def work(number):
        for step in range(30):
            seq = store.db.write(_append(f"{number}-{step}"))
            if store.db.read(history.last) < seq:
                wrong.append(seq)

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(work, range(12)))

    assert wrong == []
    assert len(subjects(store.db)) == 360


def test_a_store_that_is_closed_tells_everybody_who_waits(store):
    began, go_on = threading.Event(), threading.Event()

    def slow(_conn):
        began.set()
        assert go_on.wait(PATIENCE_S)

    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(store.db.write, slow)
        assert began.wait(PATIENCE_S)
        waiting = [threads.submit(store.db.write, _append("late")) for _ in range(3)]
        store._until_queued(3)
        store.db.close()
        go_on.set()
        first.result(PATIENCE_S)

    assert [one.exception().code for one in waiting] == [Code.UNAVAILABLE] * 3


WRITER = textwrap.dedent(
    """
    import os, sys, threading
    from datetime import UTC, datetime
    from pathlib import Path

    from yaadwatch.model.events import Event
    from yaadwatch.db import history as events
    from yaadwatch.db.database import Database

    NOW = datetime(2026, 11, 21, tzinfo=UTC)
    db = Database.open(Path(sys.argv[1]), role="project", project="p1", create=True)

    def work(name):
        for number in range(100_000):
            subject = f"{sys.argv[2]}-{name}-{number}"
            db.write(events.append, Event(kind="node.created", at=NOW, subject=subject))
            os.write(1, f"{subject}\\n".encode())

    for name in range(6):
        threading.Thread(target=work, args=(name,)).start()
    """
)


@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost_when_many_write_and_the_process_is_killed(tmp_path):
    path = tmp_path / "store" / "yaad.db"
    acknowledged = set()
    for run in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(run)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        with child:
            lines = [child.stdout.readline() for _ in range(50 + 37 * run)]
            os.kill(child.pid, signal.SIGKILL)
            lines += child.stdout.readlines()
        acknowledged |= {line.strip() for line in lines if line.endswith("\n")}

        with closing(Database.open(path, role="project", project="p1")) as db:
            assert acknowledged <= set(subjects_of(db))
            assert db.read(lambda conn: conn.pragma("integrity_check")) == "ok"
    assert len(acknowledged) >= 50 * KILLS


def subjects_of(db):
    return [event.subject for event in db.read(history.after, 0, 1_000_000)]
