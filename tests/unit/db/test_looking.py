"""How a store is, told without opening it."""

from contextlib import closing

import apsw
import pytest

from yaadwatch.db import checks
from yaadwatch.db.database import Database


@pytest.mark.parametrize(
    ("make", "state", "said"),
    [
        (lambda path: None, "absent", ""),
        (lambda path: path.touch(), "damaged", "it is empty"),
        (lambda path: path.mkdir(), "unusable", "it is no file"),
        (lambda path: path.symlink_to("/dev/null"), "unusable", "it is no file"),
        (lambda path: path.write_text("no database"), "damaged", "file is not a database"),
    ],
    ids=["nothing", "an empty file", "a folder", "a link", "a text"],
)
def test_what_stands_in_the_place_of_a_store_is_told_and_left_alone(tmp_path, make, state, said):
    path = tmp_path / "yaad.db"
    make(path)

    found = checks.inspect_store(path, "user")

    assert (found.state, found.said) == (state, said)
    assert sorted(tmp_path.iterdir()) == ([path] if state != "absent" else [])


def test_a_store_from_which_a_table_was_taken_is_damaged(tmp_path):
    path = tmp_path / "yaad.db"
    Database.open(path, role="user", create=True).close()
    assert checks.inspect_store(path, "user").state == "ok"
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("PRAGMA foreign_keys = OFF; DROP TABLE claims")

    found = checks.inspect_store(path, "user")

    assert (found.state, found.said) == ("damaged", "it has no table claims")
