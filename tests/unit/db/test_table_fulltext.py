"""Words find living memories, the best first."""

import apsw
import pytest
from store_samples import NOW, empty_store, node

from yaadwatch.db import fulltext, nodes
from yaadwatch.model.queries import Filter


@pytest.fixture
def conn():
    return empty_store()


def _remember(conn, id, text, sub="", tags="", **given):
    number = nodes.insert(conn, node(id, **given))
    fulltext.index(conn, [(number, text, sub, tags)])
    return number


def search(conn, match, limit):
    """Return the ids of what matches, the best first."""
    names = dict(iter(conn.execute("SELECT num, id FROM nodes")))
    return [names[row.num] for row in fulltext.search(conn, match, limit)]


def test_the_best_comes_first_and_its_score_is_the_greatest(conn):
    _remember(conn, "a", "tokens are signed with jose in the auth service of the shop")
    _remember(conn, "b", "jose jose jose")
    _remember(conn, "c", "tabs in Makefiles")

    found = fulltext.search(conn, '"jose" OR "tokens"', 5)

    assert set(search(conn, '"jose" OR "tokens"', 5)) == {"a", "b"}
    scores = [row.bm25 for row in found]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    assert {row.num: row.words for row in found} == {1: 12, 2: 3}


def test_text_weighs_more_than_tags_and_tags_more_than_parts_of_names(conn):
    for filler in range(20):
        _remember(conn, f"x{filler}", "something else")
    _remember(conn, "a", "words", sub="jose")
    _remember(conn, "b", "words", tags="jose")
    _remember(conn, "c", "jose")

    assert search(conn, '"jose"', 5) == ["c", "b", "a"]


def test_equals_come_in_the_order_in_which_they_were_stored_and_no_more_than_asked_for(conn):
    for name in ("c", "a", "b"):
        _remember(conn, name, "jose")

    assert search(conn, '"jose"', 5) == ["c", "a", "b"]
    assert search(conn, '"jose"', 2) == ["c", "a"]


def test_words_are_found_in_other_forms_and_without_accents(conn):
    _remember(conn, "a", "Migrations of the résumé service")

    assert search(conn, '"migration"', 5) == ["a"]
    assert search(conn, '"resume"', 5) == ["a"]


def test_what_passes_no_filter_is_not_found(conn):
    _remember(conn, "a", "jose", archived_at=NOW)
    _remember(conn, "b", "jose", kind="bug")
    _remember(conn, "c", "jose", kind="decision")

    found = fulltext.search(conn, '"jose"', 5, Filter(kinds=("decision", "bug")))

    assert [row.num for row in found] == [2, 3]


def test_new_words_replace_the_old_ones(conn):
    number = _remember(conn, "a", "jsonwebtoken")

    fulltext.index(conn, [(number, "jose", "", "")])

    assert search(conn, '"jsonwebtoken"', 5) == []
    assert search(conn, '"jose"', 5) == ["a"]


def test_an_expression_that_is_none_is_an_error(conn):
    with pytest.raises(apsw.SQLError):
        fulltext.search(conn, 'foo"bar', 5)
