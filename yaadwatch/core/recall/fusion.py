"""What do two lists of findings make together: what the words found, and what the meaning found?

Both come as scores, by id, more is better; one comes back, from 0.0 to 1.0, the best with 1.0.
Whatever the formula: who is at least as good in both lists is at least as good in the result, and
neither list counts for more because its scores are larger numbers.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import accumulate
from typing import Final, TypeVar

from yaadwatch.model.recall import BLEND, RRF, SET_UNION

Name = TypeVar("Name", bound=Hashable)
CLEARLY: Final = 1.26
"""What is worth so many times as much as another is clearly better: no mild factor of `rank` makes
up for more."""

_RRF_K = 10  # 60, the usual one, was worse on every set


def merge(
    how: str,
    words: Mapping[Name, float],
    meaning: Mapping[Name, float],
    *,
    semantic_weight: float,
    whole: bool = False,
) -> dict[Name, float]:
    """Return both lists as one.

    Args:
        how: `blend`: the weighted mean of both, each in units of its own spread; `rrf`: of the
            reciprocals of the places; `set-union`: what the meaning found, then the rest.
        words: positive scores.
        meaning: similarities.
        semantic_weight: how much of the result is the meaning's, 0.0 to 1.0; `set-union` takes
            0.0 for words alone, and else does not weigh.
        whole: `words` are all that hold a word of the question; so a `blend` knows that the others
            hold none, and one that holds its only rare word stands out.

    Raises:
        ValueError: `how` is none of these.
    """
    if not meaning or semantic_weight <= 0.0:
        return share_of_best(words)
    if not words:
        return _from_nothing_to_one(meaning)
    match how:
        case "blend":
            if whole:
                words = dict.fromkeys(meaning, 0.0) | dict(words)
            return _blend(words, meaning, semantic_weight)
        case "rrf":
            return _by_place(words, meaning, semantic_weight)
        case "set-union":
            return _union(words, meaning)
        case _:
            raise ValueError(f"merge must be one of {BLEND}, {RRF}, {SET_UNION}, got {how!r}")


def led(
    scores: Mapping[Name, float], words: Mapping[Name, float], holders: Collection[Name]
) -> dict[Name, float]:
    """Return the scores of a merge in which no look-alike is ahead of who has the very word.

    A model sees in `zq0350` something like `zq1270`, and is near to a text with the one when it is
    asked for the other. So a text that nearly alone holds a word of the question is clearly ahead
    of every one that holds no such word and is clearly worth less by its words.

    Args:
        scores: of the merge, not negative.
        words: the scores by words that were merged.
        holders: who holds a word of the question that next to nobody holds.
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
    """Return scores that are not negative as shares of the best one."""
    best = max(scores.values(), default=0.0)
    return {name: score / best if best > 0.0 else 1.0 for name, score in scores.items()}


def _blend(
    words: Mapping[Name, float], meaning: Mapping[Name, float], weight: float
) -> dict[Name, float]:
    """What one list does not have counts there as much as the last that it has."""
    by_words, by_meaning = _in_spreads(words), _in_spreads(meaning)
    last_word, last_meant = min(by_words.values()), min(by_meaning.values())
    return _from_nothing_to_one(
        {
            name: (1 - weight) * by_words.get(name, last_word)
            + weight * by_meaning.get(name, last_meant)
            for name in dict.fromkeys((*words, *meaning))
        }
    )


def _in_spreads(scores: Mapping[Name, float]) -> dict[Name, float]:
    """Return how many standard deviations each score is away from the mean; 0.0 of equal ones."""
    mean = math.fsum(scores.values()) / len(scores)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores.values()) / len(scores))
    if spread <= 1e-9 * max(abs(mean), 1e-300):
        return dict.fromkeys(scores, 0.0)
    return {name: (score - mean) / spread for name, score in scores.items()}


def _by_place(
    words: Mapping[Name, float], meaning: Mapping[Name, float], weight: float
) -> dict[Name, float]:
    by_words, by_meaning = _places(words), _places(meaning)
    return share_of_best(
        {
            name: (1 - weight) * by_words.get(name, 0.0) + weight * by_meaning.get(name, 0.0)
            for name in dict.fromkeys((*words, *meaning))
        }
    )


def _places(scores: Mapping[Name, float]) -> dict[Name, float]:
    """Return the reciprocal of each one's place; equals have the same."""
    ordered = sorted(scores.values(), reverse=True)
    place: dict[float, float] = {}
    for number, score in enumerate(ordered, start=1):
        place.setdefault(score, 1 / (_RRF_K + number))
    return {name: place[score] for name, score in scores.items()}


def _union(words: Mapping[Name, float], meaning: Mapping[Name, float]) -> dict[Name, float]:
    """The upper half is the meaning's; those that only the words found share the lower one."""
    meant, said = _from_nothing_to_one(meaning), share_of_best(words)
    return {name: 0.5 + share / 2 for name, share in meant.items()} | {
        name: share * 0.499 for name, share in said.items() if name not in meant
    }


def _from_nothing_to_one(scores: Mapping[Name, float]) -> dict[Name, float]:
    """Return scores that may be negative from 0.0, the least, to 1.0, the best."""
    best, least = max(scores.values()), min(scores.values())
    span = best - least
    return {name: (score - least) / span if span > 0.0 else 1.0 for name, score in scores.items()}


def best_first(scores: Mapping[Name, float]) -> Sequence[Name]:
    """Return the names, best first; equals keep their order."""
    return sorted(scores, key=scores.__getitem__, reverse=True)
