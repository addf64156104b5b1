"""Commands about how memories hang together: what they ask, and what a person reads."""

import pytest
from recording import ID, command

OTHER = "0199b1c2-7d3e-7f00-8a11-00000000beef"
RETRY = {
    "id": ID,
    "text": "Retry three times",
    "kind": "decision",
    "weight": 1.0,
    "centrality": 0.6,
    "anchors": [{"path": "src/net.py", "symbol": "fetch", "line": 10}, {"path": "src/net.py"}],
    "via": [],
    "along": [],
    "stale": {"verdict": "changed", "score": 0.7, "level": "warn", "reason": "fetch changed"},
}
ALARM = {
    "id": OTHER,
    "text": "The alarm waits for all retries",
    "kind": "decision",
    "weight": 0.8,
    "centrality": 0.4,
    "anchors": [],
    "via": [ID],
    "along": [{"id": OTHER, "kind": "depends_on", "to": ID, "weight": 1.0}],
    "stale": None,
}
IMPACT = {
    "path": "src/net.py",
    "symbol": None,
    "there": True,
    "symbols": ["fetch"],
    "memories": [RETRY, ALARM],
    "more": 0,
    "checked_at": "2026-11-21T11:59:00.000Z",
}
LINKED = {
    "id": OTHER,
    "kind": "depends_on",
    "to": ID,
    "weight": 0.5,
    "text": "The alarm waits for all retries",
    "to_text": "Retry three times",
    "made": True,
    "changed": False,
    "undo": "yaadwatch unlink 0000beef depends_on f2e4ab37",
}


def test_impact_says_what_rests_on_a_file_how_and_whether_it_is_flagged():
    ran = command("impact", "src/net.py", answers={"impact": IMPACT})

    assert ran.calls == [("impact", {"file": "src/net.py"})]
    assert ran.lines == [
        "f2e4ab37  1.00  Retry three times",
        "                rests on src/net.py:10 fetch",
        "                rests on src/net.py",
        "                flagged now: changed  (fetch changed)",
        "0000beef  0.80  The alarm waits for all retries",
        "                f2e4ab37 <-depends_on- this",
        "1 memory rests on src/net.py, 1 through links; 1 flagged now.",
    ]


@pytest.mark.parametrize("memories", [[RETRY], []])
def test_what_rests_on_a_file_on_other_branches_is_said_in_a_line(memories):
    answer = IMPACT | {"memories": memories, "hidden": 2}
    line = "2 more on branches not merged here; see: --all-branches"

    ran = command("impact", "x", "--all-branches", answers={"impact": answer})

    assert ran.calls == [("impact", {"file": "x", "all_branches": True})]
    assert ran.lines[-1] == line
    assert line not in command("impact", "x", answers={"impact": IMPACT}).lines


def test_a_file_that_nobody_speaks_of_is_said_in_a_line():
    answer = IMPACT | {"memories": [], "symbol": "verify", "more": 0}

    ran = command("impact", "src/net.py:verify", answers={"impact": answer})

    assert (ran.status, ran.lines) == (
        0,
        [
            "No memory rests on src/net.py:verify.",
            "In src/net.py, memories rest on: fetch",
        ],
    )


def test_a_file_that_is_gone_and_what_was_left_out_are_said():
    answer = IMPACT | {"there": False, "more": 3}

    ran = command("impact", "x", "--no-check", answers={"impact": answer})

    assert ran.calls == [("impact", {"file": "x", "check": False})]
    assert ran.lines[0] == "src/net.py no longer exists."
    assert "and 3 more, weaker" in ran.lines


def test_link_prints_both_ends_and_how_to_undo_it():
    ran = command(
        *("link", "0000beef", "depends_on", "f2e4ab37", "--weight", "0.5"), answers={"link": LINKED}
    )

    assert ran.calls == [
        ("link", {"id": "0000beef", "kind": "depends_on", "to": "f2e4ab37", "weight": 0.5})
    ]
    assert ran.lines == [
        "Linked  (weight 0.5):",
        "  0000beef  The alarm waits for all retries",
        "    depends_on",
        "  f2e4ab37  Retry three times",
        "Undo: yaadwatch unlink 0000beef depends_on f2e4ab37",
    ]


@pytest.mark.parametrize("given", ["[1]", "{", "words", '{"a": NaN}', '{"a": 1e999}'])
def test_attributes_that_are_no_object_are_refused_before_anything_is_asked(given):
    ran = command("link", "a", "b", "c", "--attributes", given)

    assert (ran.status, ran.calls) == (2, [])
    assert f"{given!r} is not a JSON object" in ran.err


EDGE = {
    "edge": 12,
    "kind": "depends_on",
    "from": OTHER,
    "to": ID,
    "weight": 0.5,
    "attributes": {},
    "since": "2026-03-01T00:00:00.000Z",
    "until": None,
}
ENDED = EDGE | {"until": "2026-04-02T00:00:00.000Z"}
STATS = {
    "memories": 3,
    "archived": 1,
    "sessions": 2,
    "things": 1,
    "orphans": 2,
    "kinds": {"bug": 1, "decision": 2},
    "edges": {"current": 2, "historical": 1, "kinds": {"depends_on": 1, "touches": 1}},
    "hubs": [{"id": ID, "kind": "decision", "text": "Retry three times", "edges": 2}],
}


def test_the_graph_is_counted():
    ran = command("graph", answers={"graph_stats": STATS})

    assert ran.calls == [("graph_stats", {})]
    assert ran.lines == [
        "3 memories (2 without a relation), 1 archived; 2 sessions, 1 file or symbol",
        "  2 decision, 1 bug",
        "2 relations now, 1 that ended",
        "  1 depends_on, 1 touches",
        "Most related:",
        "  f2e4ab37  2  Retry three times",
    ]


def test_a_relation_is_ended_by_its_number():
    answer = LINKED | {"ended": True, "until": "2026-04-02T00:00:00.000Z", "edge": 12}

    ran = command("graph", "close", "12", "--at", "2026-04-02", answers={"close_link": answer})

    assert ran.calls == [("close_link", {"edge": 12, "at": "2026-04-02"})]
    assert ran.lines[0] == "Ended  (weight 0.5):"
    assert "    depends_on, until 2026-04-02" in ran.lines


def test_a_relation_is_deleted_by_its_number_or_with_its_history():
    answer = {"deleted": 2, "edges": [ENDED, EDGE], "undo": None}

    ran = command(
        "graph", "delete-link", "beef", "depends_on", "ab37", answers={"delete_edge": answer}
    )
    assert ran.calls == [("delete_edge", {"id": "beef", "kind": "depends_on", "to": "ab37"})]
    assert ran.lines == [
        "  12  0000beef -depends_on-> f2e4ab37, weight 0.5, since 2026-03-01 until 2026-04-02",
        "  12  0000beef -depends_on-> f2e4ab37, weight 0.5, since 2026-03-01",
        "Deleted 2 relations.",
    ]

    ran = command("graph", "delete-link", "12", answers={"delete_edge": answer | {"undo": "x"}})
    assert ran.calls == [("delete_edge", {"edge": 12})]
    assert ran.lines[-1] == "Undo: x"


@pytest.mark.parametrize(
    "line",
    ["graph stats 12", "graph close", "graph close x", "graph delete-link a b", "graph delete"],
)
def test_a_line_about_the_graph_that_makes_no_sense_asks_nothing(line):
    ran = command(*line.split())

    assert (ran.status, ran.calls) == (2, [])
    assert "yaadwatch graph --help" in ran.err


WALKED = {
    "start": [ID],
    "nodes": [
        {"id": ID, "text": "Retry three times", "steps": 0, "stale": None},
        {"id": OTHER, "text": "The alarm waits", "steps": 1, "stale": {"verdict": "gone"}},
    ],
    "edges": [EDGE],
    "more": 0,
    "complete": True,
}


def test_a_walk_tells_steps_flags_and_the_relations_between():
    ran = command("traverse", "ab37", "--depth", "3", answers={"traverse": WALKED})

    assert ran.calls == [("traverse", {"id": "ab37", "depth": 3})]
    assert ran.lines == [
        "0  f2e4ab37  Retry three times",
        "1  0000beef  The alarm waits  (may be stale: gone)",
        "",
        "  12  0000beef -depends_on-> f2e4ab37, weight 0.5, since 2026-03-01",
        "2 nodes, 1 relation.",
    ]


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("--direction ancestors", {"direction": "ancestors"}),
        ("--direction descendants --depth 10", {"direction": "descendants", "depth": 10}),
        ("--kind a --kind b --view all --nodes 9", {"kinds": ["a", "b"], "view": "all"}),
    ],
)
def test_a_walk_goes_where_it_is_told_to(line, asked):
    ran = command("traverse", "ab37", *line.split(), answers={"traverse": WALKED})

    more = {"nodes_max": 9} if "--nodes" in line else {}
    assert ran.calls == [("traverse", {"id": "ab37"} | asked | more)]


def test_a_subgraph_is_drawn_around_a_memory_or_a_question():
    ran = command("subgraph", "ab37", answers={"subgraph": WALKED})
    assert ran.calls == [("subgraph", {"id": "ab37"})]

    ran = command("subgraph", "--query", "jose", "--tokens", "9", answers={"subgraph": WALKED})
    assert ran.calls == [("subgraph", {"query": "jose", "tokens_max": 9})]


def test_a_memory_is_deleted_and_told_once_more():
    answer = {"deleted": True, "id": ID, "text": "Retry three times", "edges": 2, "at": "x"}

    ran = command("graph", "delete", "ab37", answers={"delete_node": answer})

    assert ran.calls == [("delete_node", {"id": "ab37"})]
    assert ran.lines == [
        "Deleted f2e4ab37  Retry three times",
        "With it went 2 relations, and its history.",
    ]

    gone = {"deleted": False, "edges": 0}
    ran = command("graph", "delete", "ab37", answers={"delete_node": gone})
    assert (ran.status, ran.lines) == (0, ["It does not exist; nothing to do."])
