"""Rank the memories that were found: relevance first, everything else mildly.

Confidence, recency, tier and pin together move a memory by a tenth at most: they decide between
near equals. What the question names is above all else.

Words score by BM25, length and adjacency, measured on questions about commits and chats (decision
0014): BM25 alone prefers long texts, which mention everything, a little too much.

Fusion of words and meaning returns 0.0 to 1.0, the best with 1.0. A memory at least as good in both
lists is at least as good in the result, and neither list counts for more by its larger numbers.

Relations add a tenth at most, and only to what was found: neighbours as a list of their own ruined
the ranking when measured, because a good answer has many of them.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, pairwise
from typing import Final, TypeVar

from yaadwatch.model.memories import COLD, HOT
from yaadwatch.model.settings import Settings
from yaadwatch.text import words as text_words
from yaadwatch.text.words import STOP_WORDS, content_words, normalise, words

Name = TypeVar("Name", bound=Hashable)
MILD: Final = 0.1
"""How far confidence, recency, tier and pin together may move a score, up or down."""


# The shares of the mild factors; together 1.
_CONFIDENCE, _RECENCY, _TIER, _PIN = 0.4, 0.25, 0.2, 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that was found.

    `relevance`: positive, more is better; 0 when found by name only. `confidence`: after decay, 0.0
    to 1.0. `exact`: see `is_exact`.
    """

    id: str
    relevance: float
    confidence: float
    updated_at: datetime
    tier: int
    pinned: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate and its score, 0.0 to 1.0; the best has 1.0."""

    candidate: Candidate
    score: float


def is_exact(
    query: str,
    *,
    text: str,
    summary: str = "",
    key: str | None = None,
    paths: Sequence[str] = (),
) -> bool:
    """Return whether `query` is a memory's whole text, its title, its key, or its subject.

    The title is the summary; what it is about is a path, or the end of one.
    """
    wanted = exact_form(query)
    if not wanted:
        return False
    if wanted in (exact_form(text), exact_form(summary), (key or "").casefold()):
        return True
    ending = "/" + wanted.removeprefix("./")
    return any(f"/{path}".casefold().endswith(ending) for path in paths)


def exact_form(query: str) -> str:
    """Return the form in which exact matches are compared: without case and quotes."""
    return normalise(query.strip("`'\" ")).casefold()


def rank(candidates: Sequence[Candidate], *, now: datetime, settings: Settings) -> list[Ranked]:
    """Return the candidates, best first: the exact ones, then the others. Equals keep their order.

    A memory is never ranked below one that is less relevant by more than the mild factors can make
    up for (a ratio of 1.1 to 0.9), unless the other one is exact.
    """
    if not candidates:
        return []
    most = max(candidate.relevance for candidate in candidates) or 1.0
    half_life = timedelta(days=settings.memory.half_life_days)
    points = [
        # What the question names is far above all else.
        (candidate.relevance / most + 10.0 * candidate.exact)
        * mild_factor(candidate, now=now, half_life=half_life)
        for candidate in candidates
    ]
    best = max(points) or 1.0
    ranked = [
        Ranked(candidate=candidate, score=each / best)
        for candidate, each in zip(candidates, points, strict=True)
    ]
    return sorted(ranked, key=lambda each: -each.score)


def worth_ranking(scores: Mapping[Name, float], count: int) -> list[Name]:
    """Return, best first, those that any mild factors could place among the `count` best."""
    ordered = sorted(scores, key=scores.__getitem__, reverse=True)
    if len(ordered) <= count:
        return ordered
    least = scores[ordered[count - 1]] * (1 - MILD) / (1 + MILD)
    return [name for name in ordered if scores[name] >= least]


def mild_factor(candidate: Candidate, *, now: datetime, half_life: timedelta) -> float:
    """Return the factor of everything but relevance: 0.9 to 1.1."""
    recency: float = 0.5 ** (max(now - candidate.updated_at, timedelta(0)) / half_life)
    share = (
        _CONFIDENCE * candidate.confidence
        + _RECENCY * recency
        + _TIER * (COLD - candidate.tier) / (COLD - HOT)
        + _PIN * candidate.pinned
    )
    return 1 - MILD + 2 * MILD * share


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The answers of a store, best first, its best with 1.0.

    `covered`: the share of the question's words in its best one, 0.0 to 1.0. `sure`: the worth of
    the best score, 0.0 to 1.0; less than 1.0 only where no word of the question is known.
    """

    ranked: Sequence[Ranked] = ()
    covered: float = 0.0
    sure: float = 1.0


def merge_stores(stores: Sequence[Answers], *, shadowed: Collection[str] = ()) -> list[Ranked]:
    """Return the answers of all stores, best first; exact ones come first.

    Scores of two stores cannot be compared, because a word is rare in the one and not in the other.
    So each store's are shares of its best one, which counts by how much of the question it holds.

    Args:
        stores: the nearest first; of equals, its answers come first.
        shadowed: ids that another memory of the same key stands for; they are left out.
    """
    most = max((store.covered for store in stores if store.ranked), default=0.0)
    found = []
    for store in stores:
        kept = [each for each in store.ranked if each.candidate.id not in shadowed]
        best = max((each.score for each in kept), default=0.0) or 1.0
        # A store's best counts a fifth at least, whatever it holds of the question.
        part = max(store.covered / most, 0.2) if most > 0.0 else 1.0
        found += [Ranked(candidate=each.candidate, score=each.score / best * part) for each in kept]
    found.sort(key=lambda each: (not each.candidate.exact, -each.score))
    highest = max((each.score for each in found), default=0.0) or 1.0
    return [Ranked(candidate=each.candidate, score=each.score / highest) for each in found]


READ_MAX: Final = 50
"""Texts of one question that are read for words side by side, the best by BM25."""

_CHARS_READ_MAX = 20_000
_PAIRS_MAX = 32
_ENDING = re.compile(r"(?:ing|ies|ied|ed|es|s|e|y)\Z")
_INFLECTION = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)\Z")


def pairs(question: str) -> list[tuple[str, str]]:
    """Return every two adjacent words of a question, without their inflection.

    Stop words are left out, and what is made of letters side by side itself; at most 32.
    """
    lowered = [word.lower() for word in words(question)]
    found = dict.fromkeys(
        (_INFLECTION.sub("", one), _INFLECTION.sub("", other))
        for one, other in pairwise(lowered)
        if not {one, other} & STOP_WORDS
        and not text_words.is_cjk(one)
        and not text_words.is_cjk(other)
    )
    return list(found)[:_PAIRS_MAX]


def side_by_side(one: str, other: str, text: str) -> bool:
    """Return whether a word that begins with `other` follows `one`, inflected or not.

    `text` is in lower case. Looked for by hand: to compile an expression for each pair of each
    question costs more than to read the texts.
    """
    at = text.find(one)
    while at >= 0:
        end = at + len(one)
        last = min(end + 3, len(text))
        while end < last and text[end].isalnum():
            end += 1
        next_word = end
        while next_word < len(text) and not text[next_word].isalnum():
            next_word += 1
        if next_word > end and text.startswith(other, next_word):
            return True
        at = text.find(one, at + 1)
    return False


def shares(question: str, texts: Mapping[Name, str]) -> dict[Name, float]:
    """Return, by name, the share of the question's pairs of words in a text, 0.0 to 1.0.

    Texts without any are left out.
    """
    sought = pairs(question)
    said = {word for pair in sought for word in pair}
    found = {}
    for name, text in texts.items():
        lowered = text[:_CHARS_READ_MAX].lower()
        there = {word for word in said if word in lowered}
        held = [
            (one, other)
            for one, other in sought
            if one in there and other in there and side_by_side(one, other, lowered)
        ]
        if held:
            found[name] = len(held) / len(sought)
    return found


def relevances(
    bm25: Mapping[Name, float], lengths: Mapping[Name, int], shares_held: Mapping[Name, float]
) -> dict[Name, float]:
    """Return the relevance of each text by its words; only ratios are meaningful.

    Args:
        bm25: of each; not negative, more is better.
        lengths: of each, in words; a short text has a bonus.
        shares_held: the share of the question's pairs, 0.0 to 1.0; 0.0 for who is not there.
    """
    return {
        name: score * (1 + 0.8 * shares_held.get(name, 0.0)) * math.pow(max(lengths[name], 7), -0.1)
        for name, score in bm25.items()
    }


def coverage(question: str, text: str) -> float:
    """Return the share of the question's main words that a text has, 0.0 to 1.0.

    Whatever their form: `retries` is there where `retry` is.
    """
    sought = [_stem(word) for word in content_words(question)]
    if not sought:
        return 0.0
    read = text[:_CHARS_READ_MAX]
    there = {_stem(word.lower()) for word in words(read)} | text_words.letters(read)
    return sum(word in there for word in sought) / len(sought)


def _stem(word: str) -> str:
    return _ENDING.sub("", word) if len(word) > 4 else word


CLEARLY: Final = 1.26
"""The ratio from which one relevance is clearly better; the mild factors make up for less."""


def merge(
    words: Mapping[Name, float],
    meaning: Mapping[Name, float],
    *,
    semantic_weight: float,
    whole: bool = False,
) -> dict[Name, float]:
    """Return the weighted mean of both lists, each in units of its own spread.

    Args:
        words: positive scores.
        meaning: similarities.
        semantic_weight: how much of the result is the meaning's, 0.0 to 1.0.
        whole: `words` are all that hold a word of the question: the others hold none, and one that
            holds its only rare word stands out.
    """
    if not meaning or semantic_weight <= 0.0:
        return share_of_best(words)
    if not words:
        return _from_nothing_to_one(meaning)
    if whole:
        words = dict.fromkeys(meaning, 0.0) | dict(words)
    by_words, by_meaning = _in_spreads(words), _in_spreads(meaning)
    # A missing entry counts as the last one of its list.
    last_word, last_meant = min(by_words.values()), min(by_meaning.values())
    return _from_nothing_to_one(
        {
            name: (1 - semantic_weight) * by_words.get(name, last_word)
            + semantic_weight * by_meaning.get(name, last_meant)
            for name in dict.fromkeys((*words, *meaning))
        }
    )


def led(
    scores: Mapping[Name, float], words: Mapping[Name, float], holders: Collection[Name]
) -> dict[Name, float]:
    """Return merged scores in which no look-alike precedes a text with the very word.

    A model sees in `zq0350` something like `zq1270`, and is near to a text with the one when it is
    asked for the other. So a text that nearly alone holds a word of the question is clearly ahead
    of every one that holds no such word and is clearly worth less by its words.

    Args:
        scores: of the merge, not negative.
        words: the scores by words that were merged.
        holders: the memories that hold a very rare word of the question.
    """
    others = sorted((words.get(name, 0.0), scores[name]) for name in scores if name not in holders)
    if not holders or not others:
        return dict(scores)
    worth = [own for own, _ in others]
    best = list(accumulate((score for _, score in others), max))
    found = dict(scores)
    for holder in holders:
        beaten = bisect_right(worth, words.get(holder, 0.0) / CLEARLY)
        if beaten:
            found[holder] = max(found.get(holder, 0.0), CLEARLY * best[beaten - 1])
    return share_of_best(found)


def share_of_best(scores: Mapping[Name, float]) -> dict[Name, float]:
    """Return non-negative scores as shares of the best one."""
    best = max(scores.values(), default=0.0)
    return {name: score / best if best > 0.0 else 1.0 for name, score in scores.items()}


def _in_spreads(scores: Mapping[Name, float]) -> dict[Name, float]:
    """Return the standard deviations of each score from the mean; 0.0 for equal ones."""
    mean = math.fsum(scores.values()) / len(scores)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores.values()) / len(scores))
    if spread <= 1e-9 * max(abs(mean), 1e-300):
        return dict.fromkeys(scores, 0.0)
    return {name: (score - mean) / spread for name, score in scores.items()}


def _from_nothing_to_one(scores: Mapping[Name, float]) -> dict[Name, float]:
    """Scale scores that may be negative to 0.0, the least, up to 1.0, the best."""
    best, least = max(scores.values()), min(scores.values())
    span = best - least
    return {name: (score - least) / span if span > 0.0 else 1.0 for name, score in scores.items()}


def best_first(scores: Mapping[Name, float]) -> Sequence[Name]:
    """Return the names, best first; equals keep their order."""
    return sorted(scores, key=scores.__getitem__, reverse=True)


_SHORT, _LONG = 40, 120  # words of a text


def chance(memories: int) -> float:
    """Return the cosine of the nearest of so many unrelated memories to a question.

    A memory that is not nearer is no answer.
    """
    return 0.26 + 0.03 * math.log10(max(memories, 1))


def weight(asked: float, lengths: Collection[int]) -> float:
    """Return the weight of the meaning beside the words, 0.0 to 1.0.

    The vector of a short text says all of it, that of a page only what the page is about: measured
    best were 0.5 for texts of up to 40 words, and 0.15 for those of 120 and more.

    Args:
        asked: how much it should count where texts are short, 0.0 to 1.0; 0.0 and 1.0 always hold.
        lengths: of the texts that the words found, in words; the one in the middle decides.
    """
    if not lengths:
        return asked
    middle = max(sorted(lengths)[len(lengths) // 2], 1)
    longer = math.log(middle / _SHORT) / math.log(_LONG / _SHORT)
    return float(asked ** (1 + 1.8 * min(max(longer, 0.0), 1.0)))


def score(cosine: float) -> float:
    """Return the score of an answer found by meaning only, 0.0 to 1.0: 1.0 for an equal text."""
    return min(max(cosine / 0.7, 0.0), 1.0)


BOOST_MAX: Final = 0.1
"""How much a relation may raise a score, as a part of it."""


def boosted(
    scores: Mapping[Name, float], links: Iterable[tuple[Name, Name, float]]
) -> dict[Name, float]:
    """Return the scores, raised for nodes that are related to others that were found.

    The strongest relation counts, not their number: by the score of the other end (as a share of
    the best) and the weight of the edge.
    """
    best = max(scores.values(), default=0.0)
    if best <= 0.0:
        return dict(scores)
    pull: dict[Name, float] = {}
    for one, other, weight in links:
        if one == other or one not in scores or other not in scores:
            continue
        strength = 0.6 * min(max(weight, 0.0), 1.0)
        for here, there in ((one, other), (other, one)):
            pull[here] = max(pull.get(here, 0.0), strength * scores[there] / best)
    return {
        name: score * (1 + BOOST_MAX * pull[name]) if name in pull else score
        for name, score in scores.items()
    }
