"""Recall: search the project's store and the user's own store, within a budget."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from yaadwatch.api.messages.memories import Recall
from yaadwatch.db import authority, edges, fulltext, nodes, sessions
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import among, by_work, seen_from
from yaadwatch.memory import changes, contradictions, flags, lessons, views, visibility
from yaadwatch.memory.visibility import view_of
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import instant, is_day
from yaadwatch.model.limits import AUTO, BM25, CURRENT, HYBRID, SECTION
from yaadwatch.model.memories import Edge, Node, canonical_kind
from yaadwatch.model.queries import EVERYTHING, Filter
from yaadwatch.recall import fitting, gathering, rank, vectors
from yaadwatch.recall.fitting import Fitted, Item
from yaadwatch.recall.gathering import CANDIDATES_MAX, Gathered, Question
from yaadwatch.recall.rank import Answers, Ranked
from yaadwatch.remember import drafts
from yaadwatch.text.words import estimate_tokens, summarise
from yaadwatch.workspace import lookup
from yaadwatch.workspace.lookup import Shelf, Shelves
from yaadwatch.workspace.workspace import AGENT, Call, Home, with_more_hint

WORDS = "words"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answers:
    """The answers of all stores, best first, and the store of each memory.

    `meant`: meaning was searched, too. `covered`: the share of the question's main words in the
    best answer, 0.0 to 1.0; `near`: the highest similarity, 0.0 without vectors. `hidden`: memories
    of other branches or uncommitted work that would be among the best.
    """

    meant: bool
    covered: float
    near: float
    hidden: frozenset[str]
    best: Sequence[Ranked]
    shelf: Mapping[str, Shelf]


def recall(home: Home, call: Call, ask: Recall) -> dict[str, object]:
    """Answer a question with the memories of this project and the user's own; the answer is
    Recalled.

    What is archived is not among them; what only another branch's files say, and what was learned
    on another branch that is not merged here, is not either, but counted.

    Raises:
        YaadError: NOT_FOUND when no watched project is here and not only the user's own memories
            are asked for; BAD_REQUEST for a time in the future.
    """
    now = home.clock.now()
    usual = home.settings.recall
    weight = usual.semantic_weight if ask.semantic_weight is None else ask.semantic_weight
    with lookup.shelves(home, call) as there:
        if there.project is None and ask.scope != "user":
            with with_more_hint("Your own memories: yaadwatch recall --scope user WORDS."):
                there.require_project()
        project = there.project.space if there.project is not None else None
        session = ask.session
        if session is not None and project is not None:
            session = lessons.find(project, session).id
        question = Question(
            text=ask.query,
            wanted=Filter(
                kinds=tuple(canonical_kind(kind) for kind in ask.kinds),
                scope=ask.scope,
                path=_place(ask.path, call, there),
                tags=tuple(ask.tags),
                agent=None if ask.agent is None else ask.agent.removeprefix(AGENT),
                session=session,
                at=_past(ask.at, now),
            ),
            semantic_weight=0.0 if ask.strategy == BM25 else weight,
            top_k=usual.top_k if ask.top_k is None else ask.top_k,
            min_score=usual.min_score if ask.min_score is None else ask.min_score,
        )
        found = _ask(home, there, question, now, all_branches=ask.all_branches)
        known = _read(found, question.wanted.at)
        if ask.path is None and not ask.all_branches:
            found = _of_this_package(found, known, call)
        fitted = fitting.fit(
            _items(ask.query, found.best, known, ask.depth), ask.tokens_max, ask.depth
        )
        ids_shown = [each.id for each in fitted.items]
        flagged = _of_stores(
            found,
            ids_shown,
            lambda shelf, ids: shelf.db.read(flags.spread_flags_of, shelf.worktree, ids),
        )
        whose = _of_stores(
            found, ids_shown, lambda shelf, ids: shelf.db.read(authority.of_nodes, ids)
        )
        later = _of_stores(
            found,
            ids_shown,
            lambda shelf, ids: changes.here(home, shelf, ids, everywhere=ask.all_branches),
        )
        against = _of_stores(
            found,
            ids_shown,
            lambda shelf, ids: shelf.db.read(
                seen_from, view_of(home, shelf), contradictions.others_of, ids, now
            ),
        )
        # What is done reads as what is to be done.
        states = _of_stores(
            found,
            [one for one in ids_shown if known[one].kind == "task"],
            lambda shelf, ids: shelf.db.read(sessions.states, ids),
        )
        related, left = _edges(found, fitted)
        elsewhere: list[visibility.Work] = []
        if project is not None:
            if found.hidden:
                view = view_of(home, project)
                elsewhere = project.db.read(seen_from, view, by_work, found.hidden)
            own = {
                each.id: each.tokens
                for each in fitted.items
                if found.shelf[each.id] is there.project
            }
            home.recalled.note(project.project.id, own)
            if _is_poor(found) and question.wanted == EVERYTHING:
                home.poorly_answered(project.project.id, ask.query)
            lessons.note_shown(home, call, project, own)
    scores = {each.candidate.id: each.score for each in found.best}
    return {
        "results": [
            {
                "id": item.id,
                "text": item.text,
                "kind": known[item.id].kind,
                "tier": known[item.id].tier,
                "scope": known[item.id].scope,
                **views.by_row(whose.get(item.id)),
                "score": round(scores[item.id], 4),
                "depth": item.depth,
                "state": states.get(item.id),
                "stale": views.short_flag(flagged.get(item.id)),
                "superseded_by": [{"id": new} for new in later[item.id]]
                if item.id in later
                else None,
                **(
                    {"contradicts": [{"id": one} for one in against[item.id]]}
                    if item.id in against
                    else {}
                ),
            }
            for item in fitted.items
        ],
        "edges": [
            {"kind": edge.kind, "from": edge.from_node, "to": edge.to_node, "weight": edge.weight}
            for edge in related
        ],
        "search": HYBRID if found.meant else WORDS,
        "hidden": len(found.hidden) - sum(count for *_, count in elsewhere),
        "uncommitted": visibility.uncommitted_rows(elsewhere),
        "budget": {"used": fitted.used + fitted.left - left, "left": left},
    }


def is_answered(home: Home, there: Shelves, text: str, now: datetime) -> bool:
    """Return whether a question, asked as usual, has an answer by now; not counted as asked.

    Raises:
        YaadError: from the stores.
    """
    usual = home.settings.recall
    question = Question(
        text=text,
        wanted=EVERYTHING,
        semantic_weight=usual.semantic_weight,
        top_k=usual.top_k,
        min_score=usual.min_score,
    )
    return not _is_poor(_ask(home, there, question, now))


def _of_this_package(found: _Answers, known: Mapping[str, Node], call: Call) -> _Answers:
    """Remove the rules of other packages than the caller's."""
    shelf = next((one for one in found.shelf.values() if one.space is not None), None)
    if shelf is None or shelf.space is None:
        return found
    here = drafts.folder_of(call, shelf.space)
    apart = shelf.db.read(drafts.other_packages, known.values(), here)
    return replace(found, best=[one for one in found.best if one.candidate.id not in apart])


def _is_poor(found: _Answers) -> bool:
    """Return whether no answer holds a third of the question's words, or means nearly the same."""
    return found.covered < 1 / 3 and found.near < 0.5


def _ask(
    home: Home, there: Shelves, question: Question, now: datetime, *, all_branches: bool = False
) -> _Answers:
    """Search each store by itself, and merge the answers."""
    stores: list[tuple[Shelf, Gathered]] = []
    meant, near = False, 0.0
    for shelf in (there.project, there.own):
        if shelf is None:
            continue
        meaning = None
        if question.semantic_weight > 0.0:
            limit = CANDIDATES_MAX if question.wanted == EVERYTHING else 2_000
            meaning = vectors.nearest(home, shelf.db, question.text, limit=limit)
        meant = meant or meaning is not None
        near = max((similarity for _, similarity in meaning or ()), default=near)
        view = None if all_branches else view_of(home, shelf)
        gathered = shelf.db.read(
            seen_from,
            view,
            gathering.gather,
            question,
            dict(meaning or ()),
            settings=home.settings_of(shelf.db.path),
            now=now,
        )
        stores.append((shelf, gathered))
    shelf_of: dict[str, Shelf] = {}
    shadowed: set[str] = set()
    for shelf, gathered in stores:
        own = list(gathered.known.values())
        if shelf is there.own and there.project is not None:
            keys = [one.key for one in own if one.key is not None]
            view = None if all_branches else view_of(home, there.project)
            taken = there.project.db.read(seen_from, view, _taken, keys) if keys else set()
            shadowed = {one.id for one in own if one.key in taken or one.id in shelf_of}
        if shelf is there.own:
            # What an agent proposes for all projects counts in none before a person approves it.
            ids = [one.id for one in own]
            shadowed |= set(ids) - shelf.db.read(authority.approved, ids) if ids else set()
            own = [one for one in own if one.id not in shadowed]
        shelf_of |= {one.id: shelf for one in own}
    best = _best([each.here for _, each in stores], shadowed, question)
    hidden = frozenset[str]().union(*(each.hidden for _, each in stores))
    if hidden:
        everywhere = _best([each.everywhere for _, each in stores], shadowed, question)
        hidden = hidden.intersection(each.candidate.id for each in everywhere)
    return _Answers(
        meant=meant,
        covered=max((each.here.covered for _, each in stores), default=0.0),
        near=near,
        hidden=hidden,
        best=best,
        shelf=shelf_of,
    )


def _taken(conn: Connection, keys: Collection[str]) -> set[str]:
    """Return the given keys whose memory is not hidden."""
    taken = fulltext.keyed(conn, keys)
    unseen = among(conn, taken.values())
    return {key for key, node in taken.items() if node not in unseen}


def _best(
    answers: Sequence[Answers], shadowed: Collection[str], question: Question
) -> list[Ranked]:
    """Return the best answers of all stores that are good enough, with their worth."""
    sure = max((each.sure for each in answers if each.ranked), default=1.0)
    merged = rank.merge_stores(answers, shadowed=shadowed)
    ranked = (replace(each, score=each.score * sure) for each in merged)
    return [each for each in ranked if each.score >= question.min_score][: question.top_k]


def _read(found: _Answers, at: datetime | None) -> dict[str, Node]:
    """Return the memories to show, by id, in their words at a past time if one is given.

    Memories that were deleted meanwhile are missing.
    """
    known: dict[str, Node] = {}
    for shelf, ids in _by_shelf(found, [each.candidate.id for each in found.best]):
        known |= shelf.db.read(nodes.many, ids)
        if at is not None:
            said = shelf.db.read(fulltext.words, ids, at)
            known |= {
                name: replace(known[name], text=words, summary=summarise(words))
                for name, words in said.items()
                if name in known and words != known[name].text
            }
    return known


def _place(path: str | None, call: Call, there: Shelves) -> str | None:
    """Return a path relative to the top of the work tree; None for all of it.

    Raises:
        YaadError: BAD_REQUEST; it leads out of the work tree, or there is none.
    """
    if path is None:
        return None
    space = there.require_project()
    place = drafts.place_of(path, drafts.folder_of(call, space), space)
    if place is None:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} is outside of {space.root}; nothing was looked up.",
            hint="Name a file or folder of this work tree.",
        )
    return None if place == "." else place


def _past(at: str | None, now: datetime) -> datetime | None:
    """Return the given time; for a day its end, for today now.

    Raises:
        YaadError: BAD_REQUEST when it is in the future.
    """
    if at is None:
        return None
    then = instant("at", at)
    if is_day(at) and then <= now:
        return min(then + timedelta(days=1, milliseconds=-1), now)
    if then > now:
        raise YaadError(
            Code.BAD_REQUEST,
            f"at is {at}, which is still to come; nothing was looked up.",
            hint="Name a day or a time that has been.",
        )
    return then


def _items(query: str, best: Sequence[Ranked], known: Mapping[str, Node], depth: str) -> list[Item]:
    """Return the candidates for the budget; the best part only for texts that may not fit."""
    items = []
    for each in best:
        node = known.get(each.candidate.id)
        if node is None:
            continue
        long = depth == SECTION or (depth == AUTO and len(node.text) > 400)
        part = fitting.section(query, node.text) if long else ""
        items.append(Item(id=node.id, text=node.text, summary=node.summary, section=part))
    return items


def _edges(found: _Answers, fitted: Fitted) -> tuple[list[Edge], int]:
    """Return the edges between shown memories, as many as fit, and the number of the others."""
    related: list[Edge] = []
    left = fitted.left
    for shelf, ids in _by_shelf(found, [each.id for each in fitted.items]):
        for edge in shelf.db.read(_between, ids):
            price = estimate_tokens(f"{edge.kind} {edge.from_node} {edge.to_node}")
            if price > left:
                break
            related.append(edge)
            left -= price
    return related, left


def _of_stores(
    found: _Answers, ids: Sequence[str], look: Callable[[Shelf, list[str]], Mapping[str, _T]]
) -> dict[str, _T]:
    """Return what `look` reads in the store of each memory, by id."""
    every: dict[str, _T] = {}
    for shelf, own in _by_shelf(found, ids):
        every |= look(shelf, own)
    return every


def _by_shelf(found: _Answers, ids: Sequence[str]) -> Iterator[tuple[Shelf, list[str]]]:
    shelves_of: dict[int, tuple[Shelf, list[str]]] = {}
    for name in ids:
        shelf = found.shelf[name]
        shelves_of.setdefault(id(shelf), (shelf, []))[1].append(name)
    yield from shelves_of.values()


def _between(conn: Connection, ids: Sequence[str]) -> list[Edge]:
    return edges.among(conn, ids, kinds=(), view=CURRENT, limit=100)
