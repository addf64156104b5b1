"""A store on a real disk: safe settings, whole transactions, and a file that is hard to lose."""

import hashlib
import os
import shutil
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest
from refusals import refusal

from yaadwatch.db import connections, history, rows
from yaadwatch.db import database as db_database
from yaadwatch.db.database import Database
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event

DEADLINE_S = 20.0
HAPPENED = Event(kind="node.created", at=datetime(2026, 11, 21, tzinfo=UTC), subject="n1")
ENDINGS = ("", "-wal", "-shm")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop" / ".yaad" / "yaad.db"


@pytest.fixture
def db(path):
    with closing(_made(path)) as opened:
        yield opened


def _made(path, **given):
    return Database.open(path, role="project", project="p1", create=True, **given)


def _opened(path, **given):
    return Database.open(path, **{"role": "project", "project": "p1"} | given)


def _count(conn):
    return conn.execute("SELECT count(*) FROM events WHERE kind = 'node.created'").get


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _unavailable(caught):
    assert caught.value.code is Code.UNAVAILABLE
    return caught.value.message


def _is_sound(path):
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as conn:
        return conn.pragma("integrity_check") == "ok"


# Settings and permissions


@pytest.mark.parametrize(
    ("name", "writing", "reading"),
    [
        ("journal_mode", "wal", "wal"),
        ("synchronous", 1, 1),
        ("foreign_keys", 1, 1),
        ("trusted_schema", 0, 0),
        ("busy_timeout", 5000, 5000),
        ("cache_size", -2048, -256),
        ("temp_store", 2, 2),
        ("mmap_size", 0, 0),
    ],
)
def test_every_connection_is_set_as_it_should_be(db, name, writing, reading):
    assert db.write(lambda conn: conn.pragma(name)) == writing
    assert db.read(lambda conn: conn.pragma(name)) == reading


def test_a_setting_that_does_not_take_is_told():
    """A file system that keeps no write-ahead log is like a database in memory."""
    with pytest.raises(YaadError) as caught:
        connections.writer(Path(":memory:"))

    assert "journal_mode is memory, not wal" in _unavailable(caught)


def test_no_statement_can_damage_the_schema(db):
    with pytest.raises(apsw.SQLError):
        db.write(lambda conn: conn.execute("DELETE FROM sqlite_schema"))


def test_each_new_store_is_what_the_steps_of_the_schema_lead_to(tmp_path):
    def shape(conn):
        rows = conn.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2")
        names = ("user_version", "page_size", "encoding", "auto_vacuum", "integrity_check")
        return rows.fetchall(), [conn.pragma(name) for name in names]

    with closing(rows.scratch()) as conn:
        expected = shape(conn)
    for name in ("first", "second"):
        with closing(
            Database.open(tmp_path / name, role="project", project=name, create=True)
        ) as db:
            assert db.read(shape) == expected
            assert db.read(db_database.get_meta, "project") == name
            assert db.read(lambda conn: conn.execute("SELECT count(*) FROM meta").get) == 2


def test_files_are_for_us_alone_whatever_the_umask_says(path):
    before = os.umask(0)
    try:
        with closing(_made(path)) as db:
            db.write(history.append, HAPPENED)
            db.read(history.last)
            db.backup(path.parents[1] / "backups" / "p1" / "one.db")

            assert {_mode(path.with_name(path.name + ending)) for ending in ENDINGS} == {0o600}
            assert _mode(path.parents[1] / "backups" / "p1" / "one.db") == 0o600
    finally:
        os.umask(before)
    assert _mode(path.parent) == 0o700
    assert _mode(path.parents[1] / "backups") == _mode(path.parents[1] / "backups" / "p1") == 0o700


def test_a_store_that_others_could_read_is_closed_to_them(path):
    _made(path).close()
    path.chmod(0o644)

    _opened(path).close()

    assert _mode(path) == 0o600


def test_links_in_the_folders_above_are_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "disk")

    with closing(_made(tmp_path / "home" / "yaad.db")) as db:
        db.write(history.append, HAPPENED)

    assert (tmp_path / "disk" / "yaad.db").exists()


# Reading and writing


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_change_that_stops_in_the_middle_never_happened(db, fault):
    def change(conn):
        history.append(conn, HAPPENED)
        raise fault

    with pytest.raises(fault):
        db.write(change)

    assert db.read(history.last) == 0
    assert db.write(history.append, HAPPENED) == 1


def test_a_reader_cannot_write(db):
    with pytest.raises(YaadError) as caught:
        db.read(history.append, HAPPENED)

    assert "may not be written to" in _unavailable(caught)
    assert db.read(history.last) == 0


def test_a_write_inside_a_write_is_a_fault_and_neither_happens(db):
    def change(conn):
        history.append(conn, HAPPENED)
        db.write(history.append, HAPPENED)

    with pytest.raises(RuntimeError):
        db.write(change)

    assert db.read(history.last) == 0


def test_somebody_is_told_of_each_commit_and_of_nothing_else(path):
    told = []
    with closing(_made(path, on_commit=lambda: told.append("commit"))) as db:
        db.write(history.append, HAPPENED)
        with pytest.raises(ZeroDivisionError):
            db.write(lambda _conn: 1 // 0)
        db.read(history.last)

    assert told == ["commit"]


def test_twelve_threads_write_and_read_and_none_fails(db):
    def work(_number):
        return [(db.write(history.append, HAPPENED), db.read(_count)) for _ in range(40)]

    with ThreadPoolExecutor(12) as threads:
        results = [pair for pairs in threads.map(work, range(12)) for pair in pairs]

    assert sorted(seq for seq, _ in results) == list(range(1, 481))
    assert all(count >= seq for seq, count in results)
    assert db.read(_count) == 480


def test_a_reader_sees_one_snapshot_while_a_writer_commits(db):
    db.write(history.append, HAPPENED)
    with ThreadPoolExecutor(1) as other:

        def look(conn):
            before = _count(conn)
            other.submit(db.write, history.append, HAPPENED).result(DEADLINE_S)
            return before, _count(conn)

        assert db.read(look) == (1, 1)
    assert db.read(_count) == 2


def test_readers_do_not_wait_for_a_writer_and_see_nothing_half_done(db):
    with ThreadPoolExecutor(3) as others:

        def change(conn):
            history.append(conn, HAPPENED)
            looks = [others.submit(db.read, _count) for _ in range(3)]
            return [look.result(DEADLINE_S) for look in looks]

        assert db.write(change) == [0, 0, 0]


def test_what_is_known_is_asked_again_after_each_change_and_never_of_a_closed_store(db):
    asked = []

    def look(conn):
        asked.append(1)
        return _count(conn)

    assert [db.known(look), db.known(look), len(asked)] == [0, 0, 1]
    db.write(history.append, HAPPENED)
    assert [db.known(look), db.known(look), len(asked)] == [1, 1, 2]

    def undone(conn):
        history.append(conn, HAPPENED)
        raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        db.write(undone)
    assert db.known(look) == 1

    db.close()

    assert refusal(db.known, look).code is Code.UNAVAILABLE


def test_nothing_counts_as_known_while_a_write_may_have_been_committed_already(db):
    asked = []

    def look(conn):
        asked.append(1)
        return _count(conn)

    def meanwhile(conn):
        history.append(conn, HAPPENED)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(db.known, look).result() == 0

    db.known(look)
    db.write(meanwhile)

    assert len(asked) == 2
    assert [db.known(look), db.known(look), len(asked)] == [1, 1, 3]


def test_a_lock_of_another_program_is_told_and_changes_nothing(db, path):
    db.write(lambda conn: conn.pragma("busy_timeout", 10))
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(YaadError) as caught:
            db.write(history.append, HAPPENED)

    assert "locked" in _unavailable(caught)
    assert db.write(history.append, HAPPENED) == 1


# Closing


def test_a_closed_store_says_so(db):
    db.close()
    db.close()

    for use in (db.read, db.write):
        with pytest.raises(YaadError) as caught:
            use(_count)
        assert "closed" in _unavailable(caught)
    with pytest.raises(YaadError):
        db.backup(db.path.with_name("copy.db"))


@pytest.mark.parametrize("kind", ["read", "write"])
def test_what_is_in_progress_goes_on_to_its_end_when_the_store_is_closed(db, path, kind):
    began, go_on = threading.Event(), threading.Event()

    def slow(conn):
        began.set()
        assert go_on.wait(DEADLINE_S)
        return _count(conn)

    with ThreadPoolExecutor(1) as other:
        running = other.submit(getattr(db, kind), slow)
        assert began.wait(DEADLINE_S)
        db.close()
        go_on.set()

        assert running.result(DEADLINE_S) == 0
    assert [found.name for found in path.parent.iterdir()] == ["yaad.db"]


# What is refused, and left as it was


def test_a_store_that_is_not_there_is_not_made_by_asking(path):
    with pytest.raises(YaadError) as caught:
        _opened(path)

    assert str(path) in _unavailable(caught)
    assert not path.parent.exists()


def _foreign(path):
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("CREATE TABLE songs (id INTEGER PRIMARY KEY); PRAGMA user_version = 1")


def _newer(path):
    _made(path).close()
    with closing(apsw.Connection(str(path))) as conn:
        conn.pragma("user_version", 99)


def _scribbled(path):
    _made(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))


def _truncated(path):
    _made(path).close()
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_text("not a database, but long enough\n" * 200), "no database"),
        (lambda path: path.write_bytes(b"x"), "no database"),
        (lambda path: path.touch(), "empty"),
        (_foreign, "not a yaadwatch store"),
        (_newer, "version 99"),
        (_scribbled, "damaged"),
        (_truncated, "damaged"),
    ],
    ids=["text", "a byte", "empty", "foreign", "newer", "scribbled over", "truncated"],
)
def test_what_is_no_store_of_ours_is_told_and_left_as_it_was(path, spoil, words):
    path.parent.mkdir(parents=True)
    spoil(path)
    before = _digest(path)

    for create in (False, True):
        with pytest.raises(YaadError) as caught:
            _opened(path, create=create)
        assert words in _unavailable(caught)
        assert str(path) in caught.value.message
        assert caught.value.hint

    assert _digest(path) == before


def test_looking_at_a_foreign_database_leaves_no_file_beside_it(path):
    path.parent.mkdir(parents=True)
    _foreign(path)
    with pytest.raises(YaadError):
        _opened(path)

    assert [found.name for found in path.parent.iterdir()] == ["yaad.db"]


def test_a_link_is_refused_and_what_it_points_to_is_left_alone(path, tmp_path):
    theirs = tmp_path / "theirs.db"
    _made(theirs).close()
    before = _digest(theirs)
    path.parent.mkdir(parents=True)
    path.symlink_to(theirs)

    for create in (False, True):
        assert refusal(_opened, path, create=create).code is Code.REFUSED

    assert _digest(theirs) == before
    assert path.is_symlink()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_told(path, make):
    path.parent.mkdir(parents=True)
    make(path)

    with pytest.raises(YaadError) as caught:
        _opened(path)

    assert "no file" in _unavailable(caught)


def test_the_store_of_another_project_or_role_is_refused(path):
    _made(path).close()

    for wrong in ({"project": "p2"}, {"role": "user", "project": ""}):
        assert refusal(_opened, path, **wrong).code is Code.REFUSED
    with closing(_opened(path, project="")) as db:
        assert db.read(db_database.get_meta, "project") == "p1"


def test_what_a_crash_left_of_a_store_in_the_making_is_not_in_the_way(path):
    path.parent.mkdir(parents=True)
    path.with_name("yaad.db.new").write_bytes(b"half")

    _made(path).close()

    assert [found.name for found in path.parent.iterdir()] == ["yaad.db"]


@contextmanager
def _as_nobody():
    """Run in a folder that anyone can enter, and tell what a process of another user gets."""
    if os.geteuid() != 0:
        if "uid" in os.environ.get("YAAD_REQUIRE", "").split(","):
            pytest.fail("another user is required, and we are not root")
        pytest.skip("only root can become another user")
    folder = Path("/tmp") / f"yaad-uid-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _code_for_nobody(path):
    """Open `path` as another user, in a child; return the code of the error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        answer = "opened"
        try:
            os.setgid(65534)
            os.setuid(65534)
            _opened(path).close()
        except YaadError as error:
            answer = error.code.value
        except BaseException as error:
            answer = repr(error)
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    return answer


def test_a_store_of_another_user_is_refused():
    with _as_nobody() as folder:
        _made(folder / "yaad.db").close()
        (folder / "yaad.db").chmod(0o644)

        assert _code_for_nobody(folder / "yaad.db") == "refused"


# A file that is deleted, moved or replaced underneath


def _deleted(path):
    shutil.rmtree(path.parent)


def _log_deleted(path):
    path.with_name(f"{path.name}-wal").unlink()


def _moved(path):
    path.rename(path.with_name("aside.db"))


def _folder_moved(path):
    path.parent.rename(path.parents[1] / "aside")


def _replaced(path):
    shutil.rmtree(path.parent)
    _made(path).close()


def _linked(path):
    path.rename(path.with_name("aside.db"))
    path.symlink_to(path.with_name("aside.db"))


@pytest.mark.parametrize(
    "change", [_deleted, _log_deleted, _moved, _folder_moved, _replaced, _linked]
)
def test_nothing_is_written_into_a_file_that_is_not_where_it_was_opened(db, path, change):
    db.write(history.append, HAPPENED)
    change(path)
    before = {each: each.read_bytes() for each in path.parents[1].rglob("*.db*")}

    with pytest.raises(YaadError) as caught:
        db.write(history.append, HAPPENED)

    assert "nothing was changed" in _unavailable(caught)
    assert not db.is_in_place()
    db.close()
    kept = {each: each.read_bytes() for each in before if each.exists() and each.suffix == ".db"}
    assert kept.items() <= before.items()


def test_a_store_that_is_closed_after_it_was_replaced_leaves_the_new_one_whole(db, path):
    """To close the last connection writes the log into the file at that path, whichever it is."""
    for _ in range(3):
        db.write(history.append, HAPPENED)
    for ending in ("", "-shm"):
        path.with_name(path.name + ending).unlink()
    theirs = path.with_name("theirs.db")
    _made(theirs).close()
    theirs.rename(path)

    db.close()

    with closing(_opened(path)) as again:
        assert again.read(_count) == 0
    assert _is_sound(path)


# Copies, and disks that are full


def test_a_backup_is_the_whole_store_at_one_moment(db, path, tmp_path):
    db.write(history.append, HAPPENED)
    target = tmp_path / "backups" / "one.db"

    db.backup(target)
    db.write(history.append, HAPPENED)

    assert [found.name for found in target.parent.iterdir()] == ["one.db"]
    with closing(_opened(target)) as copy:
        assert copy.read(_count) == 1


def test_a_later_backup_replaces_an_earlier_one(db, tmp_path):
    target = tmp_path / "backups" / "one.db"
    db.backup(target)
    db.write(history.append, HAPPENED)

    db.backup(target)

    with closing(_opened(target)) as copy:
        assert copy.read(_count) == 1


def _append_much(conn, rows=40):
    for _ in range(rows):
        history.append(conn, Event(kind="node.created", at=HAPPENED.at, subject="x" * 4000))


def test_a_store_that_may_not_grow_says_so_changes_nothing_and_goes_on_later(db, path):
    db.write(history.append, HAPPENED)
    pages = db.write(lambda conn: conn.pragma("page_count"))
    db.write(lambda conn: conn.pragma("max_page_count", pages + 4))

    with pytest.raises(YaadError) as caught:
        db.write(_append_much)

    assert "no space left" in _unavailable(caught)
    assert db.read(_count) == 1
    db.write(lambda conn: conn.pragma("max_page_count", 2**30))
    db.write(_append_much)
    assert db.read(_count) == 41
    assert db.read(lambda conn: conn.pragma("integrity_check")) == "ok"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        if "mount" in os.environ.get("YAAD_REQUIRE", "").split(","):
            pytest.fail("a mount is required, and was not to be had")
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_nothing_is_half_written_and_it_goes_on_later(small_disk):
    filler = small_disk / "filler"
    with closing(_made(small_disk / ".yaad" / "yaad.db")) as db:
        db.write(history.append, HAPPENED)
        filler.write_bytes(b"x" * 600_000)
        written = 1
        refusal = None
        while refusal is None:
            try:
                db.write(_append_much, 5)
                written += 5
            except YaadError as error:
                refusal = error

        assert refusal.code is Code.UNAVAILABLE
        assert "space" in refusal.message
        assert db.read(_count) == written
        with pytest.raises(YaadError) as caught:
            db.backup(small_disk / "backups" / "one.db")
        assert "no backup was made" in _unavailable(caught)
        filler.unlink()
        db.write(_append_much, 5)
        assert db.read(_count) == written + 5
    assert _is_sound(small_disk / ".yaad" / "yaad.db")


def test_a_disk_that_cannot_be_written_to_is_told(small_disk):
    _made(small_disk / "yaad.db").close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    for create in (False, True):
        with pytest.raises(YaadError) as caught:
            _opened(small_disk / "yaad.db", create=create)
        assert "yaad.db" in _unavailable(caught)
    with pytest.raises(YaadError) as caught:
        _made(small_disk / "other.db")
    assert "no store was made" in _unavailable(caught)


def test_a_store_cannot_be_made_on_a_full_disk_and_leaves_nothing(small_disk):
    (small_disk / "filler").write_bytes(b"x" * 1_000_000)

    with pytest.raises(YaadError) as caught:
        _made(small_disk / "yaad.db")

    assert "space" in _unavailable(caught)
    assert [found.name for found in small_disk.iterdir()] == ["filler"]


def test_opening_a_store_waits_for_those_that_are_closing_it(tmp_path):
    path = tmp_path / "store" / "yaad.db"
    Database.open(path, role="project", project="p", create=True).close()
    refused = []

    def come_and_go():
        for _ in range(40):
            try:
                database = Database.open(path, role="project", project="p")
                database.write(db_database.put_meta, "visited", "yes")
                database.close()
            except YaadError as error:
                refused.append(error.message)

    visitors = [threading.Thread(target=come_and_go) for _ in range(3)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()

    assert refused == []


def test_who_closes_a_store_can_wait_for_what_is_in_progress_in_it(db):
    begun, over = threading.Event(), threading.Event()

    def look(conn):
        begun.set()
        assert over.wait(DEADLINE_S)

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(db.read, look)
        assert begun.wait(DEADLINE_S)
        db.close()
        early = db.wait_until_unused(0.01)
        over.set()

        assert (early, db.wait_until_unused(DEADLINE_S)) == (False, True)
        reading.result(DEADLINE_S)
