"""The schema keeps its own promises: strict tables, and look-ups that read no whole table."""

import pytest
from store_samples import NOW, edge, empty_store, node

from yaadwatch.db import anchors, edges, fulltext, history, nodes, projects, visibility
from yaadwatch.model.anchors import REFERENCES, Method
from yaadwatch.model.queries import Filter

FILTER = Filter(
    kinds=("fix",), scope="project", path="src", tags=("http",), agent="claude", session="s", at=NOW
)
STEP = {"kinds": ("led_to",), "view": "current", "limit": 9}
LOOKUPS = {
    "nodes.many": lambda conn: nodes.many(conn, ["a"]),
    "nodes.by_hash": lambda conn: nodes.by_hash(conn, "project", "x", thing=False),
    "nodes.replace": lambda conn: nodes.replace(conn, node("a", version=2)),
    "nodes.batch": lambda conn: nodes.batch(conn, after="", limit=9, archived=False),
    "nodes.boost": lambda conn: nodes.boost(conn, {"a": 0.7}, now=NOW),
    "versions.of_node": lambda conn: history.versions_of_node(conn, "a"),
    "nodes.erase": lambda conn: nodes.erase(conn, ["a"]),
    "edges.insert": lambda conn: edges.insert(conn, edge("a", "b", "led_to")),
    "edges.of_node": lambda conn: edges.of_node(conn, "a"),
    "edges.of_node, all": lambda conn: edges.of_node(conn, "a", "all"),
    "edges.get": lambda conn: edges.get(conn, 1),
    "edges.holds": lambda conn: edges.holds_within(conn, ("a", "touches", "b"), 1, 2),
    "edges.close": lambda conn: edges.close(conn, [edge("a", "b")], NOW),
    "edges.update": lambda conn: edges.update(conn, edge("a", "b"), NOW, weight=0.5),
    "edges.equal": lambda conn: edges.equal(conn, edge("a", "b")),
    "edges.erase": lambda conn: edges.erase(conn, [1]),
    "steps.beyond, out": lambda conn: edges.beyond(conn, ["a"], forward=True, **STEP),
    "steps.beyond, in": lambda conn: edges.beyond(conn, ["a"], forward=False, **STEP),
    "steps.among": lambda conn: edges.among(conn, ["a"], **STEP),
    "agreements.places": lambda conn: projects.agreed_places(conn, "a"),
    "agreements.standing": lambda conn: projects.agreed_files(conn, "a"),
    "edges.degrees": lambda conn: edges.degrees(conn, ["a"]),
    "supersession.successors": lambda conn: edges.successors(conn, ["a"]),
    "edges.pointed_at": lambda conn: edges.pointed_at(conn, ["a"]),
    "anchors.of_nodes": lambda conn: anchors.of_nodes(conn, ["a"]),
    "anchors.resting": lambda conn: anchors.nodes_resting_on(conn, ["src/auth.py"]),
    "anchors.unchanged": lambda conn: anchors.unchanged(conn, {"a": []}),
    "anchors.on_paths": lambda conn: anchors.on_paths(conn, ["src/auth.py"]),
    "flags.of_worktree": lambda conn: anchors.flags_of_worktree(conn, 1),
    "flags.drop_node": lambda conn: anchors.drop_flags(conn, ["a"]),
    "provenance.of_node": lambda conn: history.provenance_of_node(conn, "a"),
    "provenance.on_path": lambda conn: history.provenance_on_path(conn, 1, "CLAUDE.md"),
    "provenance.said": lambda conn: history.said_somewhere(conn, ["a"]),
    "sightings.of_worktree": lambda conn: anchors.sightings_of_worktree(conn, 1),
    "candidates.sketches": lambda conn: fulltext.sketches(conn, [1]),
    "candidates.fitting": lambda conn: fulltext.fitting(conn, [1], FILTER),
    "candidates.named": lambda conn: fulltext.named(conn, key="x", text_hash="x", ids=["a"]),
    "candidates.keyed": lambda conn: fulltext.keyed(conn, ["x"]),
    "candidates.ways": lambda conn: fulltext.ways(conn, [1], 9),
    "then.words": lambda conn: fulltext.words(conn, ["a"], NOW),
    "provenance.hidden": lambda conn: history.hidden_by_git(conn, 1, ["a"]),
    "learned.note": lambda conn: visibility.note_learned(conn, "a", "c0ffee", NOW),
    "learned.of_nodes": lambda conn: visibility.learned_of_nodes(conn, ["a"]),
    "nodes.last_num": nodes.last_num,
    "fulltext.holders": lambda conn: fulltext.holders(conn, '"jose"'),
    "fulltext.search, filtered": lambda conn: fulltext.search(conn, '"jose"', 5, FILTER),
    "fulltext.search": lambda conn: fulltext.search(conn, '"jose"', 5),
}
OWN_ROWS = {"SCAN found", "SCAN reached", "SCAN chain"}
"""The few rows that an index gave, and what a walk has come to: no tables."""


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_look_up_reads_no_whole_table(name):
    conn = empty_store()
    for name_of_node in ("a", "b"):
        nodes.insert(conn, node(name_of_node))
    ran = []
    conn.exec_trace = lambda _cursor, sql, bound: ran.append((sql, bound)) or True

    LOOKUPS[name](conn)

    conn.exec_trace = None
    plans = [
        step
        for sql, bound in ran
        for *_, step in conn.execute(f"EXPLAIN QUERY PLAN {sql}", bound)
        if step.startswith("SCAN") and "VIRTUAL TABLE" not in step and step not in OWN_ROWS
    ]
    assert ran
    assert plans == []


def test_every_table_holds_the_types_it_says():
    conn = empty_store()
    loose = conn.execute(
        """
        SELECT name FROM pragma_table_list
         WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'
         ORDER BY name
        """
    ).fetchall()

    assert loose == []


def test_an_anchor_says_what_its_text_refers_to():
    conn = empty_store()
    nodes.insert(conn, node("a"))
    for symbol, method in enumerate(Method):
        conn.execute(
            "INSERT INTO file_watch (node, path, symbol, blob, method, trust)"
            " VALUES ('a', 'src/auth.py', ?, 'b10b', ?, 'text')",
            (str(symbol), method.value),
        )

    rows = dict(conn.execute("SELECT method, reference FROM file_watch").fetchall())
    assert rows == {method.value: REFERENCES[method].value for method in Method}
