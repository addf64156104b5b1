"""Relations in time: when they hold, how they end by number, and how one that never held goes."""

import json
import shlex
from datetime import timedelta

import pytest
from refusals import refusal_with_hint as refusal
from verb_world import every_byte_below

from yaadwatch.db import history, nodes
from yaadwatch.model.errors import Code
from yaadwatch.model.settings import EDGE_ATTRIBUTES_BYTES_MAX
from yaadwatch.recall import walks
from yaadwatch.remember import links

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def two(repo):
    return repo.remember("The night alarm waits for all retries"), repo.remember("Retry thrice")


def close(repo, **fields):
    return links.close_link(repo.home, repo.call, **fields)


def delete(repo, **fields):
    return links.delete_edge(repo.home, repo.call, **fields)


def time(repo, **before):
    """Return the time so long before now, as people write it."""
    return (repo.world.clock.now() - timedelta(**before)).isoformat()


def relations(repo, id, view="current"):
    """Return the edges of a memory but the one to the session that it was learned in."""
    return [row for row in repo.show(id, view=view)["edges"] if row["kind"] != "learned_in"]


def held(repo, id, view="all"):
    return [(row["edge"], row["until"] is None) for row in relations(repo, id, view)]


def say(repo, undo):
    """Do what an undo says."""
    words = shlex.split(undo)
    assert words[:2] == ["yaadwatch", "link"]
    start, kind, end, *options = words[2:]
    given = dict(zip(options[::2], options[1::2], strict=True))
    more = {"attributes": json.loads(given["--attributes"])} if "--attributes" in given else {}
    weight = float(given.get("--weight", 1))
    return repo.link(start, kind, end, weight=weight, since=given.get("--since"), **more)


def test_a_link_says_what_was_masked_in_its_attributes(repo, two):
    one, other = two

    answer = repo.link(one, "led_to", other, attributes={"with": TOKEN})

    assert answer["masked"] == ["github-token"]
    assert repo.link(one, "led_to", other)["masked"] == []


def test_a_link_has_a_number_a_time_and_attributes_that_are_masked(repo, two):
    made = repo.link(
        two[0],
        "depends_on",
        two[1],
        since=time(repo, days=3),
        attributes={"source": "review", "token": TOKEN},
    )

    assert made["edge"] == relations(repo, two[0])[0]["edge"]
    assert repo.world.clock.now() - made["since"] >= timedelta(days=3)
    assert made["attributes"]["source"] == "review"
    assert relations(repo, two[1])[0]["attributes"] == made["attributes"]
    repo.world.close()
    assert TOKEN.encode() not in every_byte_below(repo.store.parent)


def test_said_again_it_keeps_its_attributes_unless_others_are_given(repo, two):
    repo.link(two[0], "depends_on", two[1], attributes={"source": "review"})

    again = repo.link(two[0], "depends_on", two[1])
    assert (again["made"], again["changed"]) == (False, False)
    assert again["attributes"] == {"source": "review"}

    other = repo.link(two[0], "depends_on", two[1], attributes={})
    assert (other["made"], other["changed"], other["attributes"]) == (False, True, {})


def test_a_time_to_come_and_too_many_attributes_are_refused(repo, two):
    later = refusal(repo.link, two[0], "led_to", two[1], since=time(repo, days=-1))
    assert later.code is Code.BAD_REQUEST

    large = {"words": "x" * EDGE_ATTRIBUTES_BYTES_MAX}
    assert refusal(repo.link, two[0], "led_to", two[1], attributes=large).code is Code.TOO_LARGE
    assert relations(repo, two[0]) == []


def test_a_link_that_held_at_that_time_already_is_refused(repo, two):
    first = repo.link(two[0], "led_to", two[1], since=time(repo, days=9))
    close(repo, edge=first["edge"], at=time(repo, days=5))

    error = refusal(repo.link, two[0], "led_to", two[1], since=time(repo, days=7))
    assert error.code is Code.CONFLICT
    assert f"edge {first['edge']}" in error.message
    assert error.hint.startswith("Begin it when that one ended, at 20")
    assert error.hint.endswith(f"never held: yaadwatch graph delete-link {first['edge']}")

    second = repo.link(two[0], "led_to", two[1], since=time(repo, days=4))
    assert refusal(repo.link, two[0], "led_to", two[1], since=time(repo, days=3)).code is (
        Code.CONFLICT
    )
    assert held(repo, two[0]) == [(first["edge"], False), (second["edge"], True)]


def test_one_interval_is_ended_by_its_number_and_stays_in_the_history(repo, two):
    made = repo.link(two[0], "depends_on", two[1], weight=0.5, since=time(repo, days=9))

    ended = close(repo, edge=made["edge"], at=time(repo, days=2))

    assert ended["ended"]
    assert (ended["id"], ended["kind"], ended["to"]) == (two[0], "depends_on", two[1])
    assert held(repo, two[0], "current") == []
    assert held(repo, two[0], "historical") == [(made["edge"], False)]
    with repo.db() as db:
        assert db.read(history.after, 0, 1000)[-1].kind == "edge.closed"

    back = say(repo, ended["undo"])
    assert back["made"]
    assert (back["since"], back["weight"]) == (ended["until"], 0.5)


def test_linked_again_without_a_weight_a_relation_keeps_its_own(repo, two):
    repo.link(two[0], "depends_on", two[1], weight=0.5)

    again = repo.link(two[0], "depends_on", two[1])
    attributed = repo.link(two[0], "depends_on", two[1], attributes={"why": "x"})
    heavier = repo.link(two[0], "depends_on", two[1], weight=1.0)

    assert (again["weight"], again["made"], again["changed"]) == (0.5, False, False)
    assert (attributed["weight"], attributed["changed"]) == (0.5, True)
    assert (heavier["weight"], heavier["changed"]) == (1.0, True)


def test_what_is_said_anew_of_a_relation_can_be_undone(repo, two):
    repo.link(two[0], "depends_on", two[1])
    repo.link(two[0], "depends_on", two[1], weight=0.5)

    changed = repo.link(two[0], "depends_on", two[1], weight=1.0, attributes={"why": "it's so"})
    back = say(repo, changed["undo"])
    assert (back["weight"], back["attributes"], back["changed"]) == (0.5, {}, True)

    again = say(repo, back["undo"])
    assert (again["weight"], again["attributes"]) == (1.0, {"why": "it's so"})
    assert repo.link(two[0], "depends_on", two[1])["undo"] is None


def test_ending_twice_is_ending_once_but_not_at_another_time(repo, two):
    made = repo.link(two[0], "depends_on", two[1], since=time(repo, days=9))
    ended = close(repo, edge=made["edge"], at=time(repo, days=2))

    again = close(repo, edge=made["edge"])
    assert (again["ended"], again["until"], again["undo"]) == (False, ended["until"], None)

    error = refusal(close, repo, edge=made["edge"], at=time(repo, days=1))
    assert error.code is Code.CONFLICT


def test_an_interval_never_ends_before_it_begins_nor_later_than_now(repo, two):
    made = repo.link(two[0], "depends_on", two[1])

    assert refusal(close, repo, edge=made["edge"], at=time(repo, days=1)).code is Code.BAD_REQUEST
    assert refusal(close, repo, edge=made["edge"], at=time(repo, days=-1)).code is Code.BAD_REQUEST
    assert refusal(close, repo, edge=999).code is Code.NOT_FOUND
    assert held(repo, two[0], "current") == [(made["edge"], True)]


def test_what_files_make_is_neither_ended_nor_deleted_by_hand(repo):
    found = repo.remember()
    edge = repo.show(found)["edges"][0]["edge"]

    assert refusal(close, repo, edge=edge).code is Code.REFUSED
    assert refusal(delete, repo, edge=edge).code is Code.REFUSED
    assert repo.show(found)["edges"][0]["kind"] == "touches"


def test_a_relation_that_never_held_is_deleted_and_can_be_made_again(repo, two):
    made = repo.link(two[0], "depends_on", two[1], since=time(repo, days=9))
    repo.link(two[0], "relates_to", two[1])

    gone = delete(repo, edge=made["edge"])

    assert (gone["deleted"], gone["edges"][0]["edge"]) == (1, made["edge"])
    assert [row["kind"] for row in relations(repo, two[0], "all")] == ["relates_to"]
    assert say(repo, gone["undo"])["since"] == made["since"]


def test_a_relation_is_deleted_with_its_history(repo, two):
    first = repo.link(two[0], "led_to", two[1])
    repo.unlink(two[0], "led_to", two[1])
    repo.world.clock.advance(timedelta(minutes=1))
    repo.link(two[0], "led_to", two[1])

    gone = delete(repo, id=two[0], kind="led-to", to=two[1])

    assert (gone["deleted"], gone["edges"][0]["edge"], gone["undo"]) == (2, first["edge"], None)
    assert relations(repo, two[0], "all") == []


def test_deleting_what_is_not_there_is_no_error(repo, two):
    nothing = {"deleted": 0, "edges": [], "undo": None}

    assert delete(repo, edge=999) == nothing
    assert delete(repo, id=two[0], kind="led_to", to=two[1]) == nothing
    assert delete(repo, id="no-such-memory", kind="led_to", to=two[1]) == nothing
    assert refusal(delete, repo, id=two[0]).code is Code.BAD_REQUEST
    assert refusal(delete, repo, edge=1, id=two[0]).code is Code.BAD_REQUEST


def test_a_clock_that_went_back_is_in_nobodys_way(repo, two):
    repo.link(two[0], "led_to", two[1])
    repo.world.clock.advance(timedelta(hours=2))
    ended = repo.unlink(two[0], "led_to", two[1])
    repo.world.clock.advance(timedelta(hours=-1))

    assert repo.link(two[0], "led_to", two[1])["since"] == ended["until"]


def test_the_graph_is_counted(repo, two):
    retry = repo.remember()
    repo.link(two[0], "depends_on", retry)
    repo.link(two[0], "led_to", retry)
    repo.unlink(two[0], "led_to", retry)
    repo.forget(two[1])

    found = walks.graph_stats(repo.home, repo.call)

    learned = found["edges"]["kinds"]["learned_in"]
    assert "session" not in found["kinds"]
    assert (found["memories"], found["sessions"]) == (2, 1)
    with repo.db() as db:
        assert found["memories"] == db.read(nodes.count)  # what `status` says
    assert (found["archived"], found["orphans"]) == (1, 0)
    assert found["things"] == found["edges"]["kinds"]["touches"]
    assert found["edges"]["kinds"]["depends_on"] == 1
    assert found["edges"]["historical"] == 1
    assert sum(found["kinds"].values()) == found["memories"]
    assert found["hubs"][0]["id"] == retry
    assert found["hubs"][0]["edges"] == found["edges"]["current"] - learned
