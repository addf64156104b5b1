"""Walks through the memories of a repository: around one, before it, after it, ten steps far."""

from itertools import pairwise

import pytest
from refusals import refusal
from verb_world import FIVE_TRIES

from yaadwatch.model.errors import Code
from yaadwatch.recall import walks

RULES = [f"Rule {number} of the night shift holds" for number in range(5)]


@pytest.fixture
def chain(repo):
    """Five memories, each of which led to the next one."""
    found = [repo.remember(rule) for rule in RULES]
    for one, other in pairwise(found):
        repo.link(one, "led_to", other)
    return found


def traverse(repo, id, **fields):
    return walks.traverse(repo.home, repo.call, id=id, **fields)


def subgraph(repo, **fields):
    return walks.subgraph(repo.home, repo.call, **fields)


def steps(answer):
    return {row["id"]: row["steps"] for row in answer["nodes"]}


def test_a_walk_goes_as_many_steps_as_asked_in_both_directions(repo, chain):
    assert steps(traverse(repo, chain[2])) == {chain[2]: 0, chain[1]: 1, chain[3]: 1}

    far = traverse(repo, chain[2][-8:], depth=10)
    assert far["start"] == [chain[2]]
    assert steps(far) == dict(zip(chain, [2, 1, 0, 1, 2], strict=True))
    assert [(row["from"], row["to"]) for row in far["edges"]] == list(pairwise(chain))
    assert (far["complete"], far["more"]) == (True, 0)
    assert {row["text"] for row in far["nodes"]} == set(RULES)


def test_ancestors_are_what_leads_here_and_descendants_what_it_leads_to(repo, chain):
    before = traverse(repo, chain[3], direction="ancestors", depth=2)
    after = traverse(repo, chain[0], direction="descendants", depth=10)
    backlinks = traverse(repo, chain[3], direction="ancestors")

    assert steps(before) == {chain[3]: 0, chain[2]: 1, chain[1]: 2}
    assert steps(after) == dict(zip(chain, range(5), strict=True))
    assert steps(backlinks) == {chain[3]: 0, chain[2]: 1}
    assert steps(traverse(repo, chain[0], direction="ancestors", depth=10)) == {chain[0]: 0}


def test_only_the_kinds_and_the_time_that_are_asked_for_are_walked(repo, chain):
    repo.link(chain[0], "relates_to", chain[4])
    repo.unlink(chain[0], "led_to", chain[1])

    assert steps(traverse(repo, chain[0])) == {chain[0]: 0, chain[4]: 1}
    assert steps(traverse(repo, chain[0], kinds=("led-to",))) == {chain[0]: 0}
    assert steps(traverse(repo, chain[0], view="historical")) == {chain[0]: 0, chain[1]: 1}
    both = traverse(repo, chain[0], view="all")
    assert steps(both).keys() == {chain[0], chain[1], chain[4]}
    assert [row["until"] is None for row in both["edges"]] == [False, True]


def test_circles_are_walked_once(repo, chain):
    repo.link(chain[4], "relates_to", chain[0])
    repo.link(chain[0], "relates_to", chain[4])

    found = traverse(repo, chain[0], depth=10)

    assert steps(found) == dict(zip(chain, [0, 1, 2, 2, 1], strict=True))
    assert len(found["edges"]) == 6


def test_caps_leave_out_what_is_far_and_weak_and_say_so(repo, chain):
    for rule, weight in ((chain[2], 0.2), (chain[3], 0.9), (chain[4], 0.5)):
        repo.link(chain[0], "depends_on", rule, weight=weight)

    found = traverse(repo, chain[0], kinds=("depends_on",), nodes_max=3)

    assert [row["id"] for row in found["nodes"]] == [chain[0], chain[3], chain[4]]
    assert (found["complete"], found["more"]) == (False, 1)


def test_a_hub_costs_no_more_than_the_caps(repo, monkeypatch):
    monkeypatch.setattr(walks, "GRAPH_STEP_EDGES_MAX", 3)
    hub = repo.remember("The hub of everything")
    for number in range(5):
        repo.link(repo.remember(f"Spoke {number} turns"), "relates_to", hub)

    found = traverse(repo, hub, depth=2)

    assert len(found["nodes"]) == 4
    assert not found["complete"]


def test_the_budget_of_tokens_is_kept(repo, chain):
    whole = traverse(repo, chain[0], depth=10)
    small = traverse(repo, chain[0], depth=10, tokens_max=whole["budget"]["used"] // 2)

    assert 1 <= len(small["nodes"]) < 5
    assert small["more"] == 5 - len(small["nodes"])
    assert small["budget"]["used"] <= whole["budget"]["used"] // 2
    told = {row["id"] for row in small["nodes"]}
    assert all({row["from"], row["to"]} <= told for row in small["edges"])


def test_what_was_forgotten_is_neither_told_nor_walked_through(repo, chain):
    repo.forget(chain[2])

    assert steps(traverse(repo, chain[0], depth=10)) == {chain[0]: 0, chain[1]: 1}
    assert steps(traverse(repo, chain[2])).keys() == {chain[1], chain[2], chain[3]}


def test_files_are_part_of_it_and_flags_are_told(repo):
    found = repo.remember()
    repo.write("src/net.py", FIVE_TRIES)
    repo.check()

    around = subgraph(repo, id=found)

    assert {row["kind"] for row in around["nodes"]} >= {"entity"}
    assert around["nodes"][0]["stale"]["verdict"] == "changed"
    assert "src/net.py" in " ".join(row["text"] for row in around["nodes"][1:])


def test_a_subgraph_can_begin_at_the_answers_to_a_question(repo, chain):
    other = repo.remember("Pagers are off until the alarm was heard")
    repo.link(other, "relates_to", chain[0])

    found = subgraph(repo, query="pagers", depth=1)

    assert found["start"] == [other]
    assert steps(found) == {other: 0, chain[0]: 1}
    assert subgraph(repo, query="xylophone")["nodes"] == []


def test_either_a_memory_or_a_question_is_named(repo, chain):
    for fields in ({}, {"id": chain[0], "query": "pagers"}):
        assert refusal(subgraph, repo, **fields).code is Code.BAD_REQUEST


def test_walking_writes_nothing(repo, chain):
    with repo.db() as db:
        before = db.read(lambda conn: conn.execute("SELECT count(*) FROM events").get)
    traverse(repo, chain[0], depth=10)
    subgraph(repo, query="night shift")
    with repo.db() as db:
        assert db.read(lambda conn: conn.execute("SELECT count(*) FROM events").get) == before
