"""What speaks for and against a memory, as numbers: from what became of each of its anchors.

Only the gravest thing that was lost counts, and what uses tell is asked only of what is still
there: a sentence that names two things that are gone is no more wrong than one that names one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from yaadwatch.core.truth.verdict import DOUBTS, Judgement, Seen
from yaadwatch.model.anchors import Method, Verdict

_LOST = frozenset((Verdict.GONE, Verdict.MOVED))
_GONE = frozenset((Verdict.GONE,))
_PLACES = frozenset((Method.FILE, Method.FOLDER, Method.GLOB))
_GRAVEST = (
    ("value_changed", frozenset((Method.VALUE,)), _LOST | {Verdict.CHANGED}),
    ("place_lost", _PLACES, _LOST),
    ("target_gone", frozenset((Method.TARGET,)), _GONE),
    ("word_gone", frozenset((Method.WORD,)), _GONE),
    ("definition_gone", frozenset((Method.TREE, Method.HUNKS)), _GONE),
)
"""What can be lost, and by which anchors and verdicts; the first that is stands for all.

The place of a thing is lost, too, where it calls itself deprecated, or was replaced by another.
"""
_USED_MIN = 2
"""Places that must have named a thing before their loss says something."""

_MOST = 0.8
"""The share of its places that a thing must have lost to count as used no more."""
HEIR_LINES_MIN = 3
"""Lines on which one thing stands in place of another before it is said to have replaced it."""
_RENAMED_LINES_MIN = 10
_RENAMED_SHARE_MIN = 0.1
"""On so many lines, and a tenth of the places, it has: also while others still name the old one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """An anchor's judgement, and what it rests on.

    `misplaced`: the text says where it was, and it is elsewhere now. `named_still`: it is elsewhere
    too, but the text names it by what it is still called.
    """

    judgement: Judgement
    seen: Seen
    misplaced: bool = False
    named_still: bool = False


def features(sights: Sequence[Sight]) -> dict[str, float]:
    """Return the features of a memory, by name; each is 0 when nothing speaks for it.

    How much else changed meanwhile plays no part: what does not touch an anchor, or the places that
    name it, changes no score.
    """
    known = [sight for sight in sights if sight.judgement.verdict is not Verdict.UNKNOWN]
    if not known:
        return {}
    gravest = _gravest(known)
    lost = {name: float(name == gravest) for name, _, _ in _GRAVEST}
    return {
        **lost,
        "unused": float(not gravest and any(_is_unused(sight.seen) for sight in known)),
        "anchors": math.log1p(sum(not _is_silent(sight) for sight in known)),
    }


def _is_silent(sight: Sight) -> bool:
    """Return whether a number inside a definition still holds: that definition is counted."""
    return sight.judgement.anchor.is_held and sight.judgement.verdict not in DOUBTS


def is_lost(sights: Sequence[Sight]) -> bool:
    """Return whether something is lost, so that what uses tell is not asked."""
    return bool(lost_of(sights))


def is_named_still(sights: Sequence[Sight]) -> bool:
    """Return whether all that is lost is files that moved and have the name that the text gives.

    Such a sentence is true of its file, so it is suspect at most.
    """
    lost = lost_of(sights)
    return bool(lost) and all(sight.named_still for sight in lost)


def lost_of(sights: Sequence[Sight]) -> list[Sight]:
    """Return those of whom something is lost that is as grave as all that is."""
    known = [one for one in sights if one.judgement.verdict is not Verdict.UNKNOWN]
    gravest = _gravest(known)
    kinds = {name: (methods, verdicts) for name, methods, verdicts in _GRAVEST}
    return [one for one in known if gravest and _counts(one, gravest, *kinds[gravest])]


def _gravest(known: Sequence[Sight]) -> str:
    """Return the name of the gravest thing that was lost; '' when nothing was."""
    for name, methods, verdicts in _GRAVEST:
        if any(_counts(sight, name, methods, verdicts) for sight in known):
            return name
    return ""


def _counts(
    sight: Sight, name: str, methods: frozenset[Method], verdicts: frozenset[Verdict]
) -> bool:
    judged = sight.judgement
    if judged.anchor.method in methods and judged.verdict in verdicts:
        return True
    seen = sight.seen
    return name == "place_lost" and bool(sight.misplaced or seen.retired or is_replaced(seen))


def is_replaced(seen: Seen) -> bool:
    """Return whether another thing stands where most places named this one, or very many lines."""
    if seen.replaced >= _RENAMED_LINES_MIN and seen.lost >= _RENAMED_SHARE_MIN:
        return True
    return seen.replaced >= HEIR_LINES_MIN and _is_unused(seen)


def _is_unused(seen: Seen) -> bool:
    """Return whether a thing lost most of the places that named it, and they were several."""
    return seen.lost >= _MOST and seen.lost_files >= _USED_MIN
