"""A store at rest is looked into without a trace, and never where that could tell a lie."""

import os
import shutil
from contextlib import closing

import apsw
import pytest

from yaadwatch.db import database
from yaadwatch.db.database import Database


def opened(path, **given):
    return Database.open(path, **{"role": "project", "project": "p1"} | given)


@pytest.fixture
def path(tmp_path):
    """A store that was written to and closed."""
    path = tmp_path / "shop" / ".yaad" / "yaad.db"
    with closing(opened(path, create=True)) as db:
        db.write(database.put_meta, "asked", "yes")
    return path


def asked(conn):
    return database.get_meta(conn, "asked")


def _written(folder):
    """What a write would change of each file; not when it was last read, which a look may."""
    found = {each: each.stat() for each in folder.iterdir()}
    return {
        each: (stat.st_ino, stat.st_mode, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        for each, stat in found.items()
    }


def test_what_was_written_last_is_told_and_no_file_appears(path):
    before = _written(path.parent)

    assert database.read_in_place(path, "p1", asked) == "yes"
    assert _written(path.parent) == before


def test_what_is_still_in_a_log_is_not_passed_over(path):
    with closing(opened(path)) as db:
        db.write(database.put_meta, "asked", "again")
        left = path.parent.parent / "left"
        shutil.copytree(path.parent, left)

    assert database.read_in_place(left / path.name, "p1", asked) is None
    with closing(opened(left / path.name)) as db:
        assert db.read(asked) == "again"


def test_what_changed_while_it_was_looked_at_is_not_told(path):
    def meanwhile(conn):
        found = asked(conn)
        with closing(opened(path)) as db:
            db.write(database.put_meta, "asked", "no")
        return found

    assert database.read_in_place(path, "p1", meanwhile) is None
    assert database.read_in_place(path, "p1", asked) == "no"


def test_nothing_can_be_written(path):
    assert (
        database.read_in_place(path, "p1", lambda conn: database.put_meta(conn, "asked", "no"))
        is None
    )
    assert database.read_in_place(path, "p1", asked) == "yes"


def _header(at, value):
    def change(path):
        with path.open("r+b") as stream:
            stream.seek(at)
            stream.write(value.to_bytes(4, "big"))

    return change


def _role(path):
    with closing(opened(path)) as db:
        db.write(database.put_meta, "role", "user")


def _link(path):
    path.rename(path.with_name("other.db"))
    path.symlink_to("other.db")


def _folder(path):
    path.unlink()
    path.mkdir()


def _theirs(path):
    path.unlink()
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("CREATE TABLE meta (key, value)")
    path.chmod(0o600)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_header(60, 0), id="older"),
        pytest.param(_header(60, 999), id="newer"),
        pytest.param(_header(68, 7), id="another program's number"),
        pytest.param(_role, id="another role"),
        pytest.param(_link, id="link"),
        pytest.param(_folder, id="folder"),
        pytest.param(_theirs, id="another program's"),
        pytest.param(os.remove, id="gone"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(b"garbage" * 1000), id="garbage"),
        pytest.param(lambda path: path.chmod(0o644), id="open to others"),
        pytest.param(lambda path: path.with_name("yaad.db-journal").touch(), id="journal"),
    ],
)
def test_whatever_is_not_as_a_store_at_rest_is_left_to_those_who_open_it(path, change):
    change(path)

    assert database.read_in_place(path, "p1", asked) is None


def test_the_store_of_another_project_is_not_read(path):
    assert database.read_in_place(path, "p2", asked) is None
