"""How a store is, told without opening it."""

import pytest

from yaadwatch.store.whole import looking


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

    found = looking.look(path, "user")

    assert (found.state, found.said) == (state, said)
    assert sorted(tmp_path.iterdir()) == ([path] if state != "absent" else [])
