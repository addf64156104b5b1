"""Gather what one store answers to a question: by words, by meaning, by name.

No stage reads all memories. The index returns the ids of two hundred candidates; texts are read for
the fifty best, and everything else only for those that can still become an answer.

The table of synonyms is our own: a group holds words that notes about code interchange. Words with
several meanings there (`call`, `key`, `run`) are left out, and forms with one stem (`deploy`,
`deployed`) need no row.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import combinations, pairwise
from typing import Final

from yaadwatch.db import anchors, fulltext, nodes, visibility
from yaadwatch.db.files import Connection
from yaadwatch.db.fulltext import Sketch
from yaadwatch.memory import flags
from yaadwatch.model.queries import EVERYTHING, Filter
from yaadwatch.model.settings import Settings
from yaadwatch.recall import rank
from yaadwatch.recall.rank import Answers, Candidate
from yaadwatch.text import words
from yaadwatch.text.words import text_hash

_GROUPS: Final = """
    auth, authentication, login, signin, sign in / authorization, permission, access / credential,
    secret, password, passphrase / jwt, token / db, database / postgres, postgresql, psql / mongo,
    mongodb / k8s, kubernetes / config, configuration, setting, option, preference / env,
    environment / repo, repository / dir, directory, folder / doc, documentation, docs / dep,
    dependency / pkg, package / lib, library / func, function, method / param, parameter, argument,
    arg / var, variable / const, constant / attr, attribute, property / int, integer / str, string /
    bool, boolean / js, javascript / ts, typescript / py, python / golang, go / rb, ruby / bug,
    defect, issue / error, exception, failure / crash, panic, segfault / fix, repair, patch, hotfix
    / remove, delete, drop / add, insert, append / create, make, generate / modify, change, edit,
    update / rename, move / fetch, retrieve, download / send, submit, post / store, persist, save /
    start, launch, boot / stop, halt, terminate, shutdown, quit / retry, reattempt, backoff /
    timeout, deadline / slow, latency, sluggish / fast, quick, performant / performance, speed,
    throughput / memory, ram, heap / cache, memoize / concurrent, parallel, simultaneous / async,
    asynchronous / sync, synchronize, synchronise / lock, mutex, semaphore / deadlock, contention /
    queue, backlog / worker, consumer / job, cron / log, logging, trace / monitor, observe,
    observability, metric / alert, alarm, notification / email, mail / ui, interface, frontend /
    backend, server / client, consumer / endpoint, route, url / api, rest / request, req / response,
    resp, reply / db migration, schema change / migration, migrate, upgrade / schema, ddl / deploy,
    release, rollout, ship / rollback, revert, undo / pipeline, ci, workflow, continuous integration
    / test, spec / mock, stub, fake / lint, linter / format, formatter, style / indent, indentation
    / convention, guideline, standard / decide, decision, choose, chose, choice / prefer, favor,
    favour / avoid, forbid, prohibit / required, mandatory, must / optional, nullable / deprecated,
    obsolete, legacy / encrypt, encryption, cipher / hash, digest, checksum / validate, validation,
    verify, check / sanitize, escape, clean / parse, parser, decode / serialize, serialise, encode,
    marshal / compress, gzip, zip / image, picture, photo / container, docker / vm, virtualization /
    host, machine / network, connection / socket, websocket / proxy, gateway / user, account, member
    / admin, administrator / invoice, bill, billing / payment, checkout, charge / currency, money /
    date, day / time, timestamp, datetime / id, identifier / unique, distinct / duplicate, repeated
    / limit, quota, cap, maximum / paginate, pagination, page / sort, order, ordering / search,
    find, lookup, query / feature flag, toggle / experiment, trial / branch, fork / merge, rebase /
    commit, changeset / pull request, pr, merge request / review, approve, approval / license,
    licence / i18n, internationalization, translation, locale / a11y, accessibility / regex, regexp,
    pattern / cli, command line, terminal, shell / build, compile, bundle / prod, production / dev,
    development / perf, performance / infra, infrastructure / expire, expiry, expiration, ttl,
    lifetime / liveness, readiness, health / cart, basket / timezone, time zone, tz / 2fa, mfa, two
    factor, second factor / sso, single sign on / color, colour / behavior, behaviour / initialize,
    initialise / optimize, optimise / authorize, authorise / artifact, artefact / catalog, catalogue
    / max, maximum / min, minimum / msg, message / temp, temporary / install, setup
"""
"""Groups of words and pairs of words that say the same, with a slash between the groups."""
_WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"(?<=\w{3})(?:s|es|ed|ing)\Z")


@cache
def synonym_table() -> Mapping[str, Sequence[str]]:
    """Return what else to look for, by a word or by two that belong together; in lower case."""
    found: dict[str, list[str]] = {}
    for group in " ".join(_GROUPS.split()).split(" / "):
        names = group.split(", ")
        for name in names:
            found.setdefault(name, []).extend(other for other in names if other != name)
    return found


def synonyms(question: str) -> dict[str, list[str]]:
    """Return the synonyms of the question's words, by those words, in lower case.

    Words that the question has itself are left out.
    """
    words = [word.lower() for word in _WORD.findall(question)]
    there = {form for word in words for form in (word, _ENDING.sub("", word))}
    found: dict[str, list[str]] = {}
    for name in (*words, *map(" ".join, pairwise(words))):
        forms = dict.fromkeys((name, _ENDING.sub("", name)))
        others = dict.fromkeys(other for form in forms for other in synonym_table().get(form, ()))
        if fresh := [other for other in others if other not in there]:
            found[name] = fresh
    return found


CANDIDATES_MAX = 200
"""Memories taken from each of the two indexes for one question."""
ROWS_MAX = 2_000
"""Memories that hold a word of the question and are ranked, about; common words go first."""

HOLDERS_MAX = 3
"""Memories that may share a word that says nearly by itself which one is meant;"""
RARE_AMONG = 500
"""one for each so many: among few memories, most words are held by one."""

_BESIDE = 0.5  # the weight of a synonym against the word itself
_TERMS_MIN = 2  # rare words that are searched for however many hold them


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A parsed question, before the store is read."""

    text: str
    wanted: Filter
    semantic_weight: float
    top_k: int
    min_score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The answers of one store as seen here, and the rows that were read, by memory id.

    `hidden`: memories that this work tree does not show. `everywhere`: the answers with those
    shown.
    """

    here: Answers = field(default_factory=Answers)
    everywhere: Answers = field(default_factory=Answers)
    hidden: frozenset[str] = frozenset()
    known: Mapping[str, Sketch] = field(default_factory=dict)


def gather(
    conn: Connection,
    question: Question,
    meaning: Mapping[int, float],
    *,
    settings: Settings,
    now: datetime,
) -> Gathered:
    """Return the best answers of one store.

    Args:
        conn: a snapshot, as the work tree of the call sees it.
        question: what is asked.
        meaning: similarities of what the vectors found, by number; empty without them.
        settings: how memories age.
        now: the time.
    """
    if not nodes.last_num(conn):
        return Gathered()
    rests_on = _about(conn, question.text)
    named = _named(conn, question.text, rests_on)
    if question.wanted != EVERYTHING:
        there = fulltext.fitting(conn, {*meaning, *named}, question.wanted)
        meaning = {num: cosine for num, cosine in meaning.items() if num in there}
        named &= there
    bm25, lengths = _by_words(conn, question)
    if not bm25:
        least_near = rank.chance(nodes.last_num(conn))
        meaning = {num: cosine for num, cosine in meaning.items() if cosine > least_near}
    known = fulltext.sketches(conn, {*rank.best_first(bm25)[: rank.READ_MAX], *named})
    texts = {num: one.text for num, one in known.items() if num in bm25}
    words = rank.relevances(bm25, lengths, rank.shares(question.text, texts))
    scores = rank.merge(
        words,
        meaning,
        semantic_weight=rank.weight(question.semantic_weight, lengths.values()),
        whole=len(bm25) < CANDIDATES_MAX,
    )
    if meaning and 0.0 < question.semantic_weight < 1.0:
        scores = rank.led(scores, words, _holders(conn, question.text, words))
    scores = _expanded(conn, scores)
    worth, unseen = _worth(conn, question, scores, known, named=named)
    exact = {
        num
        for num, one in known.items()
        if rank.is_exact(
            question.text,
            text=one.text,
            summary=one.summary,
            key=one.key,
            paths=rests_on.get(one.id, ()),
        )
    }
    found = [known[num] for num in dict.fromkeys((*worth, *sorted(exact)))]
    confident = flags.confidences(conn, found, settings, now)
    every = [
        Candidate(
            id=one.id,
            relevance=scores.get(one.num, 0.0),
            confidence=confident[one.id],
            updated_at=one.confirmed_at,
            tier=one.tier,
            pinned=one.pinned,
            exact=one.num in exact,
        )
        for one in found
    ]
    seen = {one.id: one for one in found}
    hidden = frozenset(known[num].id for num in unseen if known[num].id in seen)

    def answer(candidates: Sequence[Candidate]) -> Answers:
        ranked = rank.rank(candidates, now=now, settings=settings)
        best = seen[ranked[0].candidate.id].text if ranked else ""
        named_first = bool(ranked) and ranked[0].candidate.exact
        sure = bool(bm25) or any(one.exact for one in candidates)
        return Answers(
            ranked=ranked,
            covered=1.0 if named_first else rank.coverage(question.text, best),
            sure=1.0 if sure else rank.score(max(meaning.values(), default=0.0)),
        )

    here = answer([one for one in every if one.id not in hidden])
    return Gathered(
        here=here,
        everywhere=answer(every) if hidden else here,
        hidden=hidden,
        known=seen,
    )


def _by_words(conn: Connection, question: Question) -> tuple[dict[int, float], dict[int, int]]:
    """Return the BM25 and the number of words of texts with words of the question or synonyms."""
    sought, beside = _sought(conn, question.text)
    match = words.expression(_rarest(conn, sought))
    if match is None:
        return {}, {}
    rows = fulltext.search(conn, match, CANDIDATES_MAX, question.wanted)
    found = {row.num: row.bm25 for row in rows}
    lengths = {row.num: row.words for row in rows}
    also = words.expression(_rarest(conn, beside))
    if also is not None:
        for row in fulltext.search(conn, also, CANDIDATES_MAX, question.wanted):
            found[row.num] = found.get(row.num, 0.0) + _BESIDE * row.bm25
            lengths[row.num] = row.words
        found = {num: found[num] for num in rank.best_first(found)[:CANDIDATES_MAX]}
    return found, lengths


def _sought(conn: Connection, question: str) -> tuple[list[str], list[str]]:
    """Return the search terms, and those that count half.

    A phrase that no memory has is searched by its words, such a word by its synonyms.
    """
    sought: dict[str, None] = {}
    beside = dict.fromkeys(words.joined(question))
    quoted = words.phrases(question)
    for term in words.terms(question):
        if term in words.PALE:
            beside[term] = None
        elif term in quoted and not _is_held(conn, term):
            sought |= dict.fromkeys(quoted[term])
        else:
            sought[term] = None
    if not sought:
        sought, beside = beside, {}
    for word, others in synonyms(question).items():
        if word in words.PALE or _is_held(conn, word):
            beside |= dict.fromkeys(others)
        else:
            sought |= dict.fromkeys(others)
    return list(sought), [term for term in beside if term not in sought][:12]


def _is_held(conn: Connection, term: str) -> bool:
    return bool(fulltext.holding(conn, f'"{term}"', 1))


def _rarest(conn: Connection, terms: Sequence[str]) -> list[str]:
    """Return the terms to rank by: the rarest where all of them are in too many memories.

    A term in nearly every memory says nothing about any of them, and costs the most.
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


def _holders(conn: Connection, question: str, found: Collection[int]) -> set[int]:
    """Return the memories that hold a very rare term of the question."""
    most = min(nodes.last_num(conn) // RARE_AMONG, HOLDERS_MAX)
    holders: set[int] = set()
    for term in words.terms(question)[:64] if most else ():
        there = fulltext.holding(conn, f'"{term}"', most + 1)
        if len(there) <= most:
            holders.update(there)
    return holders.intersection(found)


def _about(conn: Connection, question: str) -> dict[str, list[str]]:
    """Return the files that the whole question names, by path or its end, by resting memory."""
    name = question.strip("`'\" ").removeprefix("./")
    if not name or name.split() != [name] or not {"/", "."} & set(name):
        return {}
    tail = "/" + name
    there = anchors.on_paths(conn, [p for p in anchors.paths(conn) if f"/{p}".endswith(tail)])
    found: dict[str, list[str]] = {}
    for anchor in there:
        found.setdefault(anchor.node, []).append(anchor.path)
    return found


def _named(conn: Connection, question: str, about: Collection[str]) -> set[int]:
    """Return the memories whose key or whole text is the question, and those `about` it."""
    return fulltext.named(
        conn,
        key=rank.exact_form(question),
        text_hash=text_hash(question.strip("`'\" ")),
        ids=about,
    )


def _worth(
    conn: Connection,
    question: Question,
    scores: Mapping[int, float],
    known: dict[int, Sketch],
    *,
    named: Collection[int],
) -> tuple[list[int], set[int]]:
    """Return the memories that may be among the best, best first, and the hidden ones.

    Each hidden memory, also of `named`, makes room for another. Adds all of them to `known`.
    """
    count = question.top_k
    while True:
        worth = rank.worth_ranking(scores, count)
        known |= fulltext.sketches(conn, [num for num in worth if num not in known])
        worth = [num for num in worth if num in known]
        found = {known[num].id: num for num in (*worth, *named) if num in known}
        unseen = {found[node] for node in visibility.among(conn, found)}
        wanted = question.top_k + len(unseen.intersection(worth))
        if wanted <= count or len(worth) >= len(scores):
            return worth, unseen
        count = wanted


def _expanded(conn: Connection, scores: Mapping[int, float]) -> dict[int, float]:
    """Return the scores, raised a little where found memories are related."""
    nearest = rank.best_first(scores)[:50]
    links: list[tuple[int, int, float]] = []
    touching: dict[int, list[int]] = {}
    for start, end, kind, weight in fulltext.ways(conn, nearest, 2_000):
        links.append((start, end, weight))
        if kind == "touches" and end not in scores:
            touching.setdefault(end, []).append(start)
    for sharing in touching.values():
        if len(sharing) <= 8:
            links += [
                (one, other, 1 / (len(sharing) - 1)) for one, other in combinations(sharing, 2)
            ]
    return rank.boosted(scores, links)
