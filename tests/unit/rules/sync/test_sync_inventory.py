"""What a person's own file says: statements come, stay, move, are hidden, and go."""

from datetime import UTC, datetime

from bridges.rules import Statement
from yaadwatch.model.memories import Provenance
from yaadwatch.sync.inventory import Inventory, Paused, take_stock
from yaadwatch.text.words import text_hash

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = {"n0": "Use tabs", "n1": "Use jose", "n2": "Ask first", "n3": "Test first"}


def rows(*nodes, hidden=()):
    return [
        Provenance(
            node=node,
            worktree=1,
            path="CLAUDE.md",
            position=position,
            line=None if node in hidden else position + 1,
            since=SINCE,
        )
        for position, node in enumerate(nodes)
    ]


def statements(*texts):
    return [Statement(text=text, line=i, end_line=i) for i, text in enumerate(texts, 1)]


def stock(then, now, **options):
    texts = {row.node: TEXTS[row.node] for row in then}
    result = take_stock(then, now, texts, lambda text: text.replace("hunter2", "***"), **options)
    assert isinstance(result, Inventory)
    return result


def said(inventory):
    return [(place.node, place.line) for place in inventory.places]


def test_what_stands_there_as_before_is_kept():
    result = stock(rows("n0", "n1"), statements("Use tabs.", "Use jose"))

    assert said(result) == [("n0", 1), ("n1", 2)]
    assert [place.since for place in result.places] == [SINCE, SINCE]
    assert result.new == result.gone == result.hidden == ()


def test_a_statement_that_moved_is_the_same_one():
    result = stock(rows("n0", "n1"), statements("Use jose", "Own words", "Use tabs"))

    assert said(result) == [("n1", 1), (None, 2), ("n0", 3)]
    assert [place.statement.text for place in result.new] == ["Own words"]


def test_words_below_another_heading_keep_their_memory():
    now = [
        Statement(text="Backend > Use tabs", line=1, end_line=1, lead="Backend"),
        Statement(text="Backend > Use jose", line=2, end_line=2, lead="Backend"),
        Statement(text="Backend > Ask", line=3, end_line=3, lead="Backend"),
    ]

    result = stock(rows("n0", "n1", "n2"), now)

    assert [place.was for place in result.new] == ["n0", "n1", None]
    assert result.gone == ("n0", "n1", "n2")


def test_a_file_whose_headings_all_changed_is_not_paused():
    texts = {node: f"Server > {text}" for node, text in TEXTS.items()}
    now = [
        Statement(text=f"Backend > {text}", line=i, end_line=i, lead="Backend")
        for i, text in enumerate(TEXTS.values(), 1)
    ]

    result = take_stock(rows(*TEXTS), now, texts, str)

    assert isinstance(result, Inventory)
    assert [place.was for place in result.new] == [*TEXTS]


def test_a_statement_that_is_gone_loses_its_place():
    result = stock(rows("n0", "n1"), statements("Use jose"))

    assert said(result) == [("n1", 1)]
    assert result.gone == ("n0",)


def test_one_of_two_places_may_go():
    result = stock(rows("n0", "n1", "n0"), statements("Use jose", "Use tabs"))

    assert said(result) == [("n1", 1), ("n0", 2)]
    assert result.gone == ()


def test_a_changed_statement_is_gone_and_another_one_is_new():
    result = stock(rows("n0"), statements("Use spaces"))

    assert result.gone == ("n0",)
    assert [place.statement.text for place in result.new] == ["Use spaces"]


def test_a_statement_that_moved_into_the_block_is_not_gone():
    result = stock(rows("n0", "n1"), statements("Use jose"), inside={text_hash("Use tabs")})

    assert said(result) == [("n1", 1)]
    assert result.gone == ()


def test_what_git_takes_away_is_hidden_and_what_it_brings_back_is_shown():
    away = stock(rows("n0", "n1"), statements("Use jose", "Ask first"), from_git=True)
    assert said(away) == [("n1", 1), (None, 2), ("n0", None)]
    assert away.hidden == ("n0",)
    assert away.gone == ()

    back = stock(rows("n1", "n0", hidden=["n0"]), statements("Use tabs"), from_git=True)
    assert said(back) == [("n0", 1), ("n1", None)]
    assert back.new == ()


def test_what_git_hides_is_not_gone_when_a_person_edits_the_rest():
    result = stock(rows("n1", "n0", hidden=["n0"]), statements("Ask first"))

    assert said(result) == [(None, 1), ("n0", None)]
    assert result.gone == ("n1",)
    assert [place.position for place in result.places] == [0, 1]


def test_most_of_a_file_at_once_is_not_believed():
    then, now = rows("n0", "n1", "n2", "n3"), statements("Use tabs")

    assert isinstance(take_stock(then, now, TEXTS, str), Paused)
    assert stock(then, now, from_git=True).gone == ()
    assert stock(then, now, accept_deletions=True).gone == ("n1", "n2", "n3")


def test_a_file_that_is_gone_is_not_believed_for_a_single_statement():
    assert isinstance(take_stock(rows("n0"), None, TEXTS, str), Paused)
    assert stock(rows("n0"), None, from_git=True).hidden == ("n0",)
    assert stock([], None).places == ()


def test_a_secret_is_compared_as_the_graph_holds_it():
    then = rows("n0")

    result = take_stock(
        then,
        statements("Key is hunter2"),
        {"n0": "Key is ***"},
        lambda text: text.replace("hunter2", "***"),
    )

    assert isinstance(result, Inventory)
    assert result.new == ()
