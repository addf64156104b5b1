"""A store that is opened read-only, beside the process that writes it or after it was killed."""

import os
import shutil
import tempfile
from pathlib import Path

import apsw
import pytest
from refusals import refusal

from yaadwatch.db import checks, database
from yaadwatch.db.database import Database
from yaadwatch.model.errors import YaadError

NOBODY = 65_534


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "home" / "yaad.db"
    with_one(Database.open(path, role="user", create=True)).close()
    return path


def with_one(db):
    db.write(database.put_meta, "one", "1")
    return db


def read_only(path):
    return Database.open(path, role="user", read_only=True)


def killed(path):
    """Leave a copy of the folder as a process that is killed leaves it: with a log and no more."""
    writer = Database.open(path, role="user")
    writer.write(database.put_meta, "one", "last")
    left = path.parent.parent / "left"
    shutil.copytree(path.parent, left)
    writer.close()
    (left / "yaad.db-shm").unlink()
    return left / "yaad.db"


def test_a_store_at_rest_is_read_without_a_file_beside_it(path):
    db = read_only(path)

    assert db.read(database.get_meta, "one") == "1"
    assert os.listdir(path.parent) == ["yaad.db"]
    db.close()
    assert os.listdir(path.parent) == ["yaad.db"]


def test_what_another_process_has_just_committed_is_read(path):
    writer = Database.open(path, role="user")
    db = read_only(path)

    writer.write(database.put_meta, "two", "2")

    assert db.read(database.get_meta, "two") == "2"
    db.close()
    writer.write(database.put_meta, "three", "3")
    assert writer.read(database.get_meta, "three") == "3"
    writer.close()


def put_many(writer, value):
    for number in range(3):
        writer.write(database.put_meta, f"long {number}", value * 20_000)


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("read", ["read", "examine"])
def test_store_that_a_process_writes_during_a_read_gives_no_answer(path, read, is_closed):
    put_many(writer := Database.open(path, role="user"), "a")
    writer.close()
    writers = []

    def look(conn):
        database.get_meta(conn, "long 0")
        writers.append(Database.open(path, role="user"))
        put_many(writers[0], "b")
        if is_closed:
            writers[0].close()
        return database.get_meta(conn, "long 2")

    db = read_only(path)
    with pytest.raises(YaadError, match="was written to meanwhile; nothing was read"):
        getattr(db, read)(look)

    assert getattr(db, read)(lambda conn: database.get_meta(conn, "long 2"))[0] == "b"
    db.close()
    writers[0].close()


def test_what_a_process_wrote_between_two_reads_is_read(path):
    put_many(writer := Database.open(path, role="user"), "a")
    writer.close()
    db = read_only(path)
    db.read(database.get_meta, "long 2")

    put_many(writer := Database.open(path, role="user"), "b")
    assert db.read(database.get_meta, "long 2")[0] == "b"
    writer.close()
    assert db.read(database.get_meta, "long 1")[0] == "b"
    db.close()


def test_store_written_during_its_inspection_is_not_called_damaged(path, monkeypatch):
    faults = checks._faults

    def write_and_look(*arguments):
        put_many(writer := Database.open(path, role="user"), "b")
        writer.close()
        return [*faults(*arguments), "a page of another state"]

    monkeypatch.setattr(checks, "_faults", write_and_look)

    assert checks.inspect_store(path, "user").state == "unusable"


def test_the_log_of_a_process_that_was_killed_is_read_and_stays(path):
    left = killed(path)
    log = left.with_name("yaad.db-wal").read_bytes()
    db = read_only(left)

    assert db.read(database.get_meta, "one") == "last"
    db.close()
    assert left.with_name("yaad.db-wal").read_bytes() == log


def test_store_with_a_log_in_a_read_only_folder_is_read_from_a_copy(path, tmp_path, monkeypatch):
    left = killed(path)
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as copies:
        monkeypatch.setattr(tempfile, "tempdir", copies)
        os.chmod(copies, 0o777)
        place = shutil.copytree(left.parent, f"{folder}/home")
        for file in (folder, place, *(f"{place}/{name}" for name in os.listdir(place))):
            os.chmod(file, 0o500)
            if is_root:  # root may write into every folder
                os.chown(file, NOBODY, NOBODY)
        try:
            os.seteuid(NOBODY if is_root else os.geteuid())
            db = read_only(Path(place, "yaad.db"))
            found = db.read(database.get_meta, "one")
            db.close()
        finally:
            if is_root:
                os.seteuid(0)
            os.chmod(place, 0o700)

        assert found == "last"
        assert os.listdir(copies) == []


def test_writes_are_refused_and_change_nothing(path):
    before = path.read_bytes()
    db = read_only(path)

    with pytest.raises(YaadError, match="only read without the daemon; nothing was changed"):
        db.write(database.put_meta, "one", "2")

    db.close()
    assert path.read_bytes() == before


def test_a_store_of_an_older_version_is_not_upgraded(path):
    with_version = apsw.Connection(str(path))
    with_version.pragma("user_version", 0)
    with_version.close()

    assert refusal(read_only, path).hint == "The daemon upgrades it when it starts: yaadwatch start"


def test_permissions_of_the_file_stay_as_they_are(path):
    path.chmod(0o400)

    read_only(path).close()

    assert path.stat().st_mode & 0o777 == 0o400
