"""What do we remember about this? Best first, within a budget of tokens; reading writes nothing."""

from collections.abc import Sequence
from datetime import datetime

from yaadwatch.core.recall import budget, rank
from yaadwatch.core.recall import query as questions
from yaadwatch.core.recall.budget import Item
from yaadwatch.core.recall.rank import Candidate
from yaadwatch.engine import telling
from yaadwatch.engine.doubts import ageing, doubting
from yaadwatch.engine.learning import current
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model.anchors import Anchor, Flag
from yaadwatch.model.nodes import Node, canonical_kind
from yaadwatch.model.settings import Settings
from yaadwatch.store import anchors, fulltext, nodes, provenance
from yaadwatch.store.connection import Connection

CANDIDATES_MAX = 100
"""Memories taken from the full-text index for one question."""


def recall(
    home: Home,
    call: Call,
    *,
    query: str,
    top_k: int = 10,
    tokens_max: int = 800,
    kinds: Sequence[str] = (),
) -> dict[str, object]:
    """Answer a question with the memories of this project; the answer is Recalled.

    What is archived, and what only another branch's files say, is not among them.

    Args:
        home: what may be reached.
        call: whose project.
        query: words, a path, a definition's name; phrases in double quotes.
        top_k: memories at most.
        tokens_max: the budget; the best memory is shown even when it alone is over.
        kinds: only these; all when empty.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    wanted = frozenset(canonical_kind(kind) for kind in kinds)
    now = home.clock.now()
    with home.space(call) as space:
        candidates, known, doubts = space.db.read(
            _look, query, wanted, worktree=space.worktree.id, settings=home.settings, now=now
        )
        ranked = rank.rank(query, candidates, now=now, settings=home.settings)[:top_k]
        scores = {row.candidate.id: row.score for row in ranked}
        items = [
            Item(id=node.id, text=node.text, summary=node.summary)
            for node in (known[row.candidate.id] for row in ranked)
        ]
        fitted = budget.fit(items, tokens_max)
        home.accessed(space.project.id, (shown.id for shown in fitted.items))
        current.shown(home, call, space, {shown.id: shown.tokens for shown in fitted.items})
    return {
        "results": [
            {
                "id": shown.id,
                "text": shown.text,
                "kind": known[shown.id].kind,
                "tier": known[shown.id].tier,
                "score": round(scores[shown.id], 4),
                "depth": shown.depth,
                "stale": telling.doubt_in_short(doubts.get(shown.id)),
            }
            for shown in fitted.items
        ],
        "search": "words",
        "budget": {"used": fitted.used, "left": fitted.left},
    }


def _look(
    conn: Connection,
    question: str,
    kinds: frozenset[str],
    *,
    worktree: int,
    settings: Settings,
    now: datetime,
) -> tuple[list[Candidate], dict[str, Node], dict[str, Flag]]:
    """Return the candidates in the order they were found, their nodes, and their doubts."""
    expression = questions.match_expression(question)
    found = dict(fulltext.search(conn, expression, CANDIDATES_MAX)) if expression else {}
    named = {anchor.node for anchor in _about(conn, question)}
    known = nodes.many(conn, found.keys() | named)
    hidden = provenance.hidden(conn, worktree)
    shown = [
        known[node_id]
        for node_id in dict.fromkeys((*found, *sorted(named)))
        if node_id in known
        and node_id not in hidden
        and (not kinds or known[node_id].kind in kinds)
    ]
    ids = [node.id for node in shown]
    paths = {
        node_id: [anchor.path for anchor in rows]
        for node_id, rows in anchors.of_nodes(conn, ids).items()
    }
    left = ageing.confidences(conn, shown, settings, now)
    candidates = [
        Candidate(
            id=node.id,
            text=node.text,
            bm25=found.get(node.id, 0.0),
            confidence=left[node.id],
            updated_at=node.confirmed_at,
            tier=node.tier,
            pinned=node.pinned,
            exact=rank.is_exact(
                question, text=node.text, key=node.key, paths=paths.get(node.id, ())
            ),
        )
        for node in shown
    ]
    return candidates, known, doubting.of_nodes(conn, worktree, ids)


def _about(conn: Connection, question: str) -> list[Anchor]:
    """Return the anchors on the files that the whole question names, by path or end of path."""
    name = question.strip("`'\" ").removeprefix("./")
    if not name or name.split() != [name] or not {"/", "."} & set(name):
        return []
    tail = "/" + name
    return anchors.on_paths(conn, [p for p in anchors.paths(conn) if f"/{p}".endswith(tail)])
