"""What one store answers to a question: found by words, by meaning, by name; each stage once.

Nothing here reads all memories. The index says which two hundred may answer; texts are read of the
fifty best, and everything else only of those that can still become one of the answers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from yaadwatch.core.recall import closeness, expansion, fusion, rank
from yaadwatch.core.recall import query as questions
from yaadwatch.core.recall.expansion import Link
from yaadwatch.core.recall.intent import intent_of
from yaadwatch.core.recall.rank import Candidate, Ranked
from yaadwatch.core.recall.synonyms import synonyms
from yaadwatch.core.text import text_hash
from yaadwatch.engine.doubts import ageing
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.nodes import Node
from yaadwatch.model.recall import Filter
from yaadwatch.model.settings import Settings
from yaadwatch.store import anchors, fulltext, nodes, provenance
from yaadwatch.store.connection import Connection
from yaadwatch.store.recall import candidates, learned

CANDIDATES_MAX = 200
"""Memories taken from each of the two indexes for one question."""
ROWS_MAX = 5_000
"""Memories that hold a word of the question and are ranked, about; common words go first."""

_SYNONYM = 0.5  # what a synonym counts, against the word that was asked for
_SYNONYMS_MAX = 12
_EXPANDED = 50  # of those found, whose relations are looked at
_EDGES_MAX = 2_000
_TERMS_MIN = 2  # rare words that are searched for however many hold them
_SHARED_MAX = 8  # a file that more of those found touch relates nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, decided except for what the store knows."""

    text: str
    wanted: Filter
    merge: str
    semantic_weight: float
    top_k: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What a store answers, best first, with the nodes; `covered`: see `closeness.coverage`."""

    ranked: Sequence[Ranked] = ()
    known: Mapping[str, Node] = field(default_factory=dict)
    covered: float = 0.0


Elsewhere = Callable[[Mapping[str, Collection[str]]], Collection[str]]
"""Tells which memories belong to other branches, by the commits at which they were learned."""


def gather(
    conn: Connection,
    question: Question,
    meaning: Mapping[str, float],
    *,
    worktree: int,
    elsewhere: Elsewhere,
    settings: Settings,
    now: datetime,
) -> Gathered:
    """Return the best answers of one store.

    Args:
        conn: a snapshot.
        question: what is asked.
        meaning: similarities of what the vectors found, by id; empty without them.
        worktree: whose files count; 0 for a store that rests on none.
        elsewhere: which memories belong to other branches.
        settings: how memories age.
        now: the time.
    """
    if not nodes.last_num(conn):
        return Gathered()
    by_words = _by_words(conn, question)
    about = _about(conn, question.text)
    named = {*_named(conn, question.text), *(anchor.node for anchor in about)}
    title = rank.exact_form(question.text)
    fitting = candidates.fitting(conn, {*by_words, *meaning, *named}, question.wanted, title)
    named |= {node for node, (_, titled) in fitting.items() if titled}
    there = fitting.keys() - _hidden(conn, fitting, worktree, elsewhere)
    scores = fusion.merge(
        question.merge,
        _relevant(
            conn,
            question.text,
            {node: bm25 for node, bm25 in by_words.items() if node in there},
            {node: length for node, (length, _) in fitting.items()},
        ),
        {node: similarity for node, similarity in meaning.items() if node in there},
        semantic_weight=question.semantic_weight,
    )
    scores = _expanded(conn, question.text, scores)
    worth = rank.worth_ranking(scores, question.top_k)
    known = nodes.many(conn, {*worth, *(named & there)})
    order = [node for node in dict.fromkeys((*worth, *sorted(named))) if node in known]
    memories = [known[node] for node in order]
    sure = ageing.confidences(conn, memories, settings, now)
    found = _candidates(conn, question.text, memories, scores, sure)
    ranked = rank.rank(found, now=now, settings=settings)
    best = known[ranked[0].candidate.id].text if ranked else ""
    return Gathered(
        ranked=ranked,
        known=known,
        covered=1.0
        if ranked and ranked[0].candidate.exact
        else closeness.coverage(question.text, best),
    )


def _by_words(conn: Connection, question: Question) -> dict[str, float]:
    """Return the BM25 of what holds words of the question, or words that mean the same."""
    sought = _rarest(conn, questions.terms(question.text))
    match = questions.expression(sought)
    if match is None:
        return {}
    found = dict(fulltext.search(conn, match, CANDIDATES_MAX, question.wanted))
    also = questions.expression(_rarest(conn, synonyms(question.text)[:_SYNONYMS_MAX]))
    if also is not None:
        for node, bm25 in fulltext.search(conn, also, CANDIDATES_MAX, question.wanted):
            found[node] = found.get(node, 0.0) + _SYNONYM * bm25
    return {node: found[node] for node in fusion.best_first(found)[:CANDIDATES_MAX]}


def _rarest(conn: Connection, terms: Sequence[str]) -> list[str]:
    """Return the terms to rank by: where all of them are in too many memories, the rarest.

    What nearly every memory holds says next to nothing about any of them, and costs the most.
    """
    if len(terms) <= _TERMS_MIN or nodes.last_num(conn) <= ROWS_MAX:
        return list(terms)
    held = {term: fulltext.holders(conn, f'"{term}"') for term in terms}
    kept: set[str] = set()
    rows = 0
    for term in sorted(terms, key=held.__getitem__):
        there = sum(held[one] > 0 for one in kept)
        if there >= _TERMS_MIN and rows + held[term] > ROWS_MAX:
            break
        kept.add(term)
        rows += held[term]
    return [term for term in terms if term in kept]


def _named(conn: Connection, question: str) -> list[str]:
    """Return the memories whose key or whole text the question is."""
    key = rank.exact_form(question)
    return candidates.named(conn, key=key, text_hash=text_hash(question.strip("`'\" ")))


def _about(conn: Connection, question: str) -> list[Anchor]:
    """Return the anchors on the files that the whole question names, by path or end of path."""
    name = question.strip("`'\" ").removeprefix("./")
    if not name or name.split() != [name] or not {"/", "."} & set(name):
        return []
    tail = "/" + name
    return anchors.on_paths(conn, [p for p in anchors.paths(conn) if f"/{p}".endswith(tail)])


def _hidden(
    conn: Connection, found: Collection[str], worktree: int, elsewhere: Elsewhere
) -> set[str]:
    """Return those that only other branches say, or know."""
    if not worktree:
        return set()
    away = set(elsewhere(learned.of_nodes(conn, found)))
    if away:
        away -= candidates.pinned(conn, away) | provenance.spoken(conn, worktree)
    return away | provenance.hidden(conn, worktree)


def _relevant(
    conn: Connection, question: str, bm25: Mapping[str, float], length: Mapping[str, int]
) -> dict[str, float]:
    """Return how relevant memories are by their words; the best are read."""
    nearest = fusion.best_first(bm25)[: closeness.READ_MAX]
    shares = closeness.shares(question, candidates.texts(conn, nearest))
    return {
        node: closeness.relevance(score, length=length[node], share=shares.get(node, 0.0))
        for node, score in bm25.items()
    }


def _expanded(conn: Connection, question: str, scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores, raised a little where what was found is related."""
    nearest = fusion.best_first(scores)[:_EXPANDED]
    ways = candidates.ways(conn, nearest, _EDGES_MAX)
    links = [
        Link(one=start, other=end, kind=kind, weight=weight) for start, end, kind, weight in ways
    ]
    touching: dict[str, list[str]] = {}
    for start, end, kind, _ in ways:
        if kind == "touches" and end not in scores:
            touching.setdefault(end, []).append(start)
    for sharing in touching.values():
        if 2 <= len(sharing) <= _SHARED_MAX:
            links += [
                Link(one=one, other=other, kind="touches", weight=1 / (len(sharing) - 1))
                for number, one in enumerate(sharing)
                for other in sharing[number + 1 :]
            ]
    return expansion.boosted(scores, links, intent=intent_of(question))


def _candidates(
    conn: Connection,
    question: str,
    memories: Sequence[Node],
    scores: Mapping[str, float],
    sure: Mapping[str, float],
) -> list[Candidate]:
    rests_on = anchors.of_nodes(conn, [node.id for node in memories])
    return [
        Candidate(
            id=node.id,
            relevance=scores.get(node.id, 0.0),
            confidence=sure[node.id],
            updated_at=node.confirmed_at,
            tier=node.tier,
            pinned=node.pinned,
            exact=rank.is_exact(
                question,
                text=node.text,
                summary=node.summary,
                key=node.key,
                paths=[anchor.path for anchor in rests_on[node.id]],
            ),
        )
        for node in memories
    ]
