"""What speaks for and against a memory, as numbers: from what became of each of its anchors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from yaadwatch.core.truth.verdict import Judgement, Seen
from yaadwatch.model.anchors import Method, Verdict

_PLACES = frozenset((Method.FILE, Method.FOLDER, Method.GLOB))
_DEFINED = frozenset((Method.TREE, Method.HUNKS))
_LOST = frozenset((Verdict.GONE, Verdict.MOVED))
_RARE = 6
"""A word in no more files has a home among them."""
_USED_MIN = 2
"""Places that must have named a thing before their loss says something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """An anchor's judgement, and what it rests on."""

    judgement: Judgement
    seen: Seen


def features(sights: Sequence[Sight], *, changed_files: int) -> dict[str, float]:
    """Return the features of a memory, by name; each is 0 when nothing speaks for it.

    Args:
        sights: of its anchors; in any order.
        changed_files: how many files differ between the anchors' commit and now.
    """
    known = [sight for sight in sights if sight.judgement.verdict is not Verdict.UNKNOWN]
    if not known:
        return {}
    total = len(known)
    gone = [sight for sight in known if sight.judgement.verdict is Verdict.GONE]
    moved = [sight for sight in known if sight.judgement.verdict is Verdict.MOVED]
    changed = [sight for sight in known if sight.judgement.verdict is Verdict.CHANGED]
    touched = [sight for sight in known if sight.judgement.verdict is Verdict.TOUCHED]
    named = {
        sight.judgement.anchor.path
        for sight in known
        if sight.judgement.anchor.method is Method.FILE
    }
    left = [
        sight
        for sight in touched
        if sight.judgement.anchor.method is Method.WORD
        and sight.judgement.anchor.path in named
        and sight.judgement.place is None
    ]
    homeless = [
        sight
        for sight in touched
        if sight.judgement.anchor.method is Method.WORD
        and sight.judgement.place is None
        and 0 < sight.judgement.anchor.spread <= _RARE
    ]
    used = [sight for sight in known if sight.judgement.verdict not in _LOST]
    places = [one.seen for one in used if one.judgement.anchor.method in _PLACES]
    names = [one.seen for one in used if one.judgement.anchor.method not in _PLACES]
    replaced = max((one.seen.replaced for one in used), default=0)
    return {
        "place_gone": _any(gone, _PLACES),
        "place_moved": _any(moved, _PLACES),
        "definition_gone": _any(gone, _DEFINED),
        "word_gone": _any(gone, frozenset({Method.WORD})),
        "target_gone": _any(gone, frozenset({Method.TARGET})),
        "value_changed": _any([*changed, *gone], frozenset({Method.VALUE})),
        "share_lost": (len(gone) + len(moved)) / total,
        "share_changed": len(changed) / total,
        "share_touched": len(touched) / total,
        "left_file": float(bool(left)),
        "left_home": float(bool(homeless)),
        "place_unused": max(map(_unused, places), default=0.0),
        "name_unused": max(map(_unused, names), default=0.0),
        "replaced": math.log1p(replaced),
        "replaced_dense": min(1.0, replaced / changed_files) if changed_files else 0.0,
        "window": math.log1p(changed_files),
        "anchors": math.log1p(total),
    }


def _unused(seen: Seen) -> float:
    """Return the share of its places that a thing lost; half of it when it had only one."""
    return seen.lost if seen.lost_files >= _USED_MIN else seen.lost / 2


def _any(sights: Sequence[Sight], methods: frozenset[Method]) -> float:
    return float(any(sight.judgement.anchor.method in methods for sight in sights))
