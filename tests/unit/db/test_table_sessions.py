"""The tables of sessions: what is kept of one, found again, and gone with it."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import NOW, empty_store, instants, node, texts

from yaadwatch.db import nodes, projects, sessions
from yaadwatch.model.projects import LEARNED, SHOWN, USED, Facts, Session, SessionCommit, Touched

MINUTE = timedelta(minutes=1)


def session(id="s1", **given):
    fields = {
        "id": id,
        "worktree": None,
        "agent": "agent:claude",
        "started_at": NOW,
        "last_at": NOW,
    }
    return Session(**fields | given)


@pytest.fixture
def conn():
    return empty_store()


@given(texts, texts, instants, st.lists(st.tuples(texts, texts), max_size=3))
def test_a_session_is_read_as_it_was_written(name, summary, at, made):
    conn = empty_store()
    facts = Facts(
        commits=tuple(SessionCommit(id=one, subject=said) for one, said in made),
        files=(Touched(path="a/b", how="added", committed=False),),
        more=3,
        reason="none",
    )
    kept = session(name=name, summary=summary, started_at=at, last_at=at, ended_at=at, facts=facts)

    sessions.put(conn, kept)

    assert sessions.get(conn, "s1") == kept


def test_asked_again_a_session_that_is_over_goes_on(conn):
    sessions.put(conn, session(ended_at=NOW, ended_by="idle"))

    sessions.touch(conn, "s1", NOW + MINUTE)

    found = sessions.get(conn, "s1")
    assert (found.ended_at, found.ended_by, found.last_at) == (None, "", NOW + MINUTE)


def test_what_goes_on_here_is_of_one_agent_in_one_tree_and_no_day(conn, tmp_path):
    here, there = (projects.add_worktree(conn, tmp_path / name).id for name in ("a", "b"))
    sessions.put(conn, session("one", worktree=here))
    sessions.put(conn, session("two", worktree=here, started_at=NOW + MINUTE))
    sessions.put(conn, session("over", worktree=here, ended_at=NOW))
    sessions.put(conn, session("elsewhere", worktree=there))
    sessions.put(conn, session("other", worktree=here, agent="agent:codex"))
    sessions.put(conn, session("old", worktree=here, last_at=NOW - 2 * MINUTE))
    sessions.put(conn, session("day", worktree=here, name="day 2026-11-21"))

    found = sessions.going_on(conn, here, "agent:claude", NOW - MINUTE)

    assert [one.id for one in found] == ["two", "one"]
    assert [one.id for one in sessions.idle(conn, NOW - MINUTE)] == ["old"]


def test_the_last_one_that_has_something_to_tell_is_no_day_and_not_this_one(conn, tmp_path):
    here = projects.add_worktree(conn, tmp_path).id
    told = {"worktree": here, "summary": "it"}
    sessions.put(conn, session("first", ended_at=NOW, **told))
    sessions.put(conn, session("mine", ended_at=NOW + 4 * MINUTE, **told))
    sessions.put(conn, session("day", ended_at=NOW + 3 * MINUTE, name="day 2026-11-21", **told))
    sessions.put(conn, session("silent", ended_at=NOW + 2 * MINUTE, worktree=here))
    sessions.put(conn, session("open", **told))

    assert sessions.last_with_news(conn, here, "mine").id == "first"
    assert sessions.last_with_news(conn, here, "").id == "mine"


def test_ids_are_found_by_their_ends_and_letters_are_only_themselves(conn):
    for name in ("ab_1", "abx1", "zz"):
        sessions.put(conn, session(name))

    assert nodes.find(conn, "ab_", 9, table="sessions") == ["ab_1"]
    assert nodes.find(conn, "1", 9, table="sessions") == ["ab_1", "abx1"]
    assert nodes.find(conn, "%", 9, table="sessions") == []


def test_the_words_of_a_session_go_with_it(conn):
    sessions.put(conn, session())
    sessions.index(conn, "s1", summary='Learned: "use jose"', notes="the parser is slow")
    assert [found for found, _ in sessions.search(conn, '"parsers"', 5)] == ["s1"]

    sessions.drop(conn, "s1")

    assert sessions.search(conn, '"parsers"', 5) == []


def test_tokens_of_what_was_shown_add_up_and_the_unknown_is_left_out(conn):
    nodes.insert(conn, node("a"))
    sessions.put(conn, session())

    sessions.note_shown_nodes(conn, "s1", {"a": 10, "gone": 5}, NOW)
    sessions.note_shown_nodes(conn, "s1", {"a": 7}, NOW + MINUTE)
    sessions.note_nodes(conn, "s1", LEARNED, ["a"], NOW)
    sessions.note_nodes(conn, "s1", LEARNED, ["a"], NOW + MINUTE)
    sessions.note_nodes(conn, "s1", USED, ["a"], NOW)

    assert sessions.tallies(conn, ["s1"]) == {
        "s1": {"shown": 1, "used": 1, "learned": 1, "tokens": 17}
    }
    found = {one.role: (one.at, one.tokens) for one in sessions.of_session(conn, "s1")}
    assert found == {SHOWN: (NOW, 17), LEARNED: (NOW, 0), USED: (NOW, 0)}
    assert sessions.learned_in(conn, ["a"]) == {"a": ["s1"]}


def test_a_file_is_told_of_once(conn):
    sessions.put(conn, session())
    sessions.touched(conn, "s1", ["b", "a"], NOW)
    sessions.note_told_files(conn, "s1", ["a"])
    sessions.touched(conn, "s1", ["a", "c"], NOW + MINUTE)

    assert sessions.files(conn, "s1") == {"a": True, "b": False, "c": False}


def test_the_node_of_a_session_gets_words_and_no_version(conn):
    nodes.insert(conn, node("s1", kind="session"))
    nodes.insert(conn, node("other"))

    sessions.set_node_words(conn, "s1", text="new words", summary="new", at=NOW + MINUTE)
    sessions.set_node_words(conn, "other", text="new words", summary="new", at=NOW + MINUTE)

    said = nodes.get(conn, "s1")
    assert (said.text, said.summary, said.version) == ("new words", "new", 1)
    assert nodes.get(conn, "other") == node("other")


def test_a_task_keeps_what_else_is_said_of_it(conn):
    nodes.insert(conn, node("t", kind="task"))
    conn.execute('UPDATE nodes SET attributes = \'{"due": "soon"}\'')

    sessions.put_task(conn, "t", state="doing", priority="high")

    found = sessions.get_task(conn, "t")
    assert (found.state, found.priority) == ("doing", "high")
    due = conn.execute("SELECT json_extract(attributes, '$.due') FROM nodes").get
    assert due == "soon"
    assert sessions.get_task(conn, "nothing") is None


def test_a_task_of_which_nothing_was_said_is_open_and_normal(conn):
    nodes.insert(conn, node("t", kind="task"))
    nodes.insert(conn, node("other"))

    (found,) = sessions.of_states(conn, ["open"], 9)

    assert (found.node, found.state, found.priority) == ("t", "open", "normal")
    assert sessions.states(conn, ["t", "other"]) == {"t": "open"}
    assert sessions.counts(conn) == {"open": 1}


def test_a_done_task_is_not_waited_for(conn):
    from store_samples import edge

    from yaadwatch.db import edges

    for name in ("a", "b"):
        nodes.insert(conn, node(name, kind="task"))
    edges.insert(conn, edge("a", "b", "depends_on"))
    waiting = sessions.of_states(conn, ["open"], 9)
    assert [(row.node, row.waits_for) for row in waiting] == [("b", ()), ("a", ("b",))]

    sessions.put_task(conn, "b", state="done", priority="normal")

    (only,) = sessions.of_states(conn, ["open"], 9)
    assert (only.node, only.waits_for) == ("a", ())
