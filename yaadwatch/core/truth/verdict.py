"""Is it still true? A verdict is a function of an anchor and of what the tree is now.

First each anchor is judged by what was seen of it, then the anchors of one node are combined. What
to propose for a memory is in `doubt.proposals`. Nothing here knows of events: the same sight gives
the same verdict, whatever happened in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from yaadwatch.core.quoting import as_name, as_names
from yaadwatch.core.references import values
from yaadwatch.model.anchors import RETURNED, Anchor, Method, Verdict


class Span(StrEnum):
    """What became of the anchored definition inside the file it was looked for in."""

    SAME = "same"
    DIFFERENT = "different"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a tree shows where an anchor points.

    Args:
        place: the path at which the file is now; None when it is nowhere. Of a pattern that no
            file matches, the one that means its files where they are now.
        same_bytes: the file's bytes are those of the anchor.
        span: the definition; None for a whole file, or when `place` is None.
        elsewhere: other files that define the symbol now, only looked for when it is missing; of a
            folder or pattern that was split, the folders that its files are in now.
        line: first line of the definition now.
        unknown: why it could not be told; then nothing else counts.
        likely: what probably took the place of what is gone.
        lost: the share of the places that named it and do so no more, 0..1.
        lost_files: how many places that is.
        replaced: lines on which `instead` stands in its place now.
        instead: what stands most often where it stood, or the value that is there now.
        heir: what a text should name in its place, where that is sure: `instead`, or a whole path.
        retired: what makes it a shell of what it was; '' when nothing does.
        rewritten: what is in the new place is not what was in the old one.
    """

    place: str | None = None
    same_bytes: bool = False
    span: Span | None = None
    elsewhere: tuple[str, ...] = ()
    line: int | None = None
    unknown: str = ""
    likely: str | None = None
    lost: float = 0.0
    lost_files: int = 0
    replaced: int = 0
    instead: str = ""
    heir: str = ""
    retired: str = ""
    rewritten: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What became of one anchor, in words; `place` is where it is now, when that is one place.

    `likely` is what probably took its place, when it is gone; `places` are those of a folder or a
    pattern whose files went to several; `by_use`: it is there, unchanged, and others use something
    else instead; `heir` is what the text should name in place of it, where that is sure; `left`:
    a definition went to another file, and the file that it was in is still there; `also_changed`:
    it moved, and what it says changed, too.
    """

    anchor: Anchor
    verdict: Verdict
    reason: str
    place: str | None = None
    likely: str | None = None
    places: tuple[str, ...] = ()
    by_use: bool = False
    heir: str = ""
    left: bool = False
    also_changed: bool = False


DOUBTS = frozenset((Verdict.CHANGED, Verdict.MOVED, Verdict.GONE))
"""The verdicts that speak against a memory; how much, the features of all its anchors tell."""

BY_NAME = frozenset((Method.GLOB, Method.WORD, Method.TARGET, Method.VALUE))
"""Anchors on what is found in a file, or among files, by its name."""

DEFINED = frozenset((Method.TREE, Method.HUNKS))
"""Anchors on definitions."""

_ORDER = (
    Verdict.FRESH,
    Verdict.TOUCHED,
    Verdict.UNKNOWN,
    Verdict.CHANGED,
    Verdict.MOVED,
    Verdict.GONE,
)


def judge(anchor: Anchor, seen: Seen) -> Judgement:
    """Return what became of `anchor`, given what was seen."""
    if seen.unknown:
        return Judgement(anchor=anchor, verdict=Verdict.UNKNOWN, reason=seen.unknown)
    if anchor.method in (Method.FILE, Method.FOLDER):
        return _judge_file(anchor, seen)
    if anchor.method is Method.GLOB and seen.span is Span.MISSING:
        return _judge_pattern(anchor, seen)
    if anchor.method in BY_NAME:
        return _judge_by_name(anchor, seen)
    name = anchor.symbol
    if seen.place is None or seen.span is Span.MISSING:
        return _judge_missing(anchor, seen)
    if seen.place != anchor.path:
        also = seen.span is Span.DIFFERENT
        changed = " and changed" if also else ""
        reason = f"{name} moved{changed}: {as_name(anchor.path)} is now {as_name(seen.place)}"
        return Judgement(
            anchor=anchor,
            verdict=Verdict.MOVED,
            reason=reason,
            place=seen.place,
            also_changed=also,
        )
    if seen.span is Span.DIFFERENT and not seen.retired:
        reason = f"{name} in {as_name(anchor.path)} changed"
        return Judgement(anchor=anchor, verdict=Verdict.CHANGED, reason=reason, place=seen.place)
    if seen.span is None and not seen.same_bytes:
        reason = f"{name} was not looked for in {as_name(anchor.path)}"
        return Judgement(anchor=anchor, verdict=Verdict.UNKNOWN, reason=reason)
    return _still_there(anchor, seen)


def combine(judgements: Sequence[Judgement]) -> Judgement:
    """Return the judgement that stands for a node: the gravest; their order plays no part.

    Of equals, that of a value stands before that of a definition, and this before that of a file;
    then the first path and name.

    A file that is gone says less than where its definition went: when a symbol of that file was
    found elsewhere, the file's own verdict does not count.

    Raises:
        ValueError: there is none.
    """
    gravest = counted(judgements)
    if not gravest:
        raise ValueError("there is no judgement to stand for the node")
    return min(
        gravest,
        key=lambda j: (
            -_ORDER.index(j.verdict),
            j.anchor.method is not Method.VALUE,
            not j.anchor.symbol,
            *(j.anchor.path, j.anchor.symbol, j.reason, j.place or ""),
        ),
    )


def counted(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements without those of files that are gone whose definition was found."""
    moved_from = {
        j.anchor.path for j in judgements if j.anchor.symbol and j.verdict is Verdict.MOVED
    }
    return [
        j
        for j in judgements
        if not (j.verdict is Verdict.GONE and not j.anchor.symbol and j.anchor.path in moved_from)
    ]


def _shown(value: str) -> str:
    """Return a value as it is told: the words of a text without the quotes around it."""
    return as_name(value[1:-1] if value[:1] == value[-1:] == '"' and value[1:-1] else value)


def _judge_file(anchor: Anchor, seen: Seen) -> Judgement:
    if seen.place is None and seen.elsewhere:
        *others, last = map(as_name, seen.elsewhere)
        named = " and ".join(filter(None, (", ".join(others), last)))
        reason = f"{as_name(anchor.path)} was split; what was in it is now in {named}"
        return Judgement(
            anchor=anchor,
            verdict=Verdict.MOVED,
            reason=reason,
            likely=seen.likely,
            places=seen.elsewhere,
        )
    if seen.place is None:
        after = f"; {as_name(seen.likely)} may be in its place" if seen.likely else ""
        return Judgement(
            anchor=anchor,
            verdict=Verdict.GONE,
            reason=f"{as_name(anchor.path)} is gone{after}",
            likely=seen.likely,
        )
    if seen.place != anchor.path:
        reason = f"{as_name(anchor.path)} is now {as_name(seen.place)}"
        return Judgement(
            anchor=anchor,
            verdict=Verdict.MOVED,
            reason=reason,
            place=seen.place,
            also_changed=seen.rewritten,
        )
    return _still_there(anchor, seen)


def _judge_pattern(anchor: Anchor, seen: Seen) -> Judgement:
    """Return what became of a pattern that no file matches."""
    pattern = as_name(anchor.symbol)
    if seen.place is not None:
        reason = f"what matched {pattern} is now {as_name(seen.place)}"
        return Judgement(anchor=anchor, verdict=Verdict.MOVED, reason=reason, place=seen.place)
    if seen.elsewhere:
        places = as_names(seen.elsewhere, 3)
        reason = f"no file matches {pattern} any more; its files are now in {places}"
        return Judgement(anchor=anchor, verdict=Verdict.MOVED, reason=reason, places=seen.elsewhere)
    after = f"; {as_name(seen.likely)} may be in its place" if seen.likely else ""
    reason = f"no file matches {pattern} any more{after}"
    return Judgement(anchor=anchor, verdict=Verdict.GONE, reason=reason, likely=seen.likely)


def _judge_by_name(anchor: Anchor, seen: Seen) -> Judgement:
    """Return what became of a pattern that stands, a word, a target or a value."""
    name, path = anchor.name, as_name(anchor.path)
    if seen.span is Span.DIFFERENT:
        about = f"{name} of {path}" if name == values.LINES else f"{name} in {path}"
        if anchor.is_held:
            return _judge_number(anchor, seen)
        was, now = ("returned", "returns") if anchor.symbol.endswith(RETURNED) else ("was", "is")
        then, since = _shown(anchor.value), _shown(seen.instead)
        reason = f"{about}: {was} {then}, {now} now {since}"
        return Judgement(
            anchor=anchor,
            verdict=Verdict.CHANGED,
            reason=reason,
            place=seen.place,
            heir=seen.instead,
        )
    if seen.span is None and not seen.same_bytes:
        reason = f"{name} was not looked for in {as_name(anchor.path)}"
        return Judgement(anchor=anchor, verdict=Verdict.UNKNOWN, reason=reason)
    if seen.span is not Span.MISSING:
        return _still_there(anchor, seen)
    if seen.elsewhere:
        return Judgement(anchor=anchor, verdict=Verdict.TOUCHED, reason="", place=None)
    if anchor.method is Method.VALUE and seen.place is None:
        reason = f"{path} is gone, and {name} with it"
        return Judgement(anchor=anchor, verdict=Verdict.GONE, reason=reason, likely=seen.likely)
    reason = {
        Method.TARGET: f"{path} does not define {name} any more",
        Method.VALUE: f"{path} does not say {name} any more",
    }.get(anchor.method, f"{name} stands nowhere in the code any more")
    if anchor.method is Method.TARGET and seen.heir:
        reason = f"{reason}; {seen.heir} does the same"
    elif anchor.method is Method.TARGET and seen.likely:
        reason = f"{reason}; {as_name(seen.likely)} does"
    return Judgement(
        anchor=anchor, verdict=Verdict.GONE, reason=reason, likely=seen.likely, heir=seen.heir
    )


def _judge_number(anchor: Anchor, seen: Seen) -> Judgement:
    """Return that a definition has another number than the text states."""
    name, path = anchor.name, as_name(anchor.path)
    changed = f"{anchor.value} is now {_shown(seen.instead)}"
    reason, place = f"{name} in {path}: {changed}", seen.place
    if place is None or place == anchor.path:
        return Judgement(anchor=anchor, verdict=Verdict.CHANGED, reason=reason, place=place)
    reason = f"{name} moved and changed: {path} is now {as_name(place)}; {changed}"
    return Judgement(
        anchor=anchor, verdict=Verdict.MOVED, reason=reason, place=place, also_changed=True
    )


def _judge_missing(anchor: Anchor, seen: Seen) -> Judgement:
    name = anchor.symbol
    if seen.elsewhere:
        only = seen.elsewhere[0] if len(seen.elsewhere) == 1 else None
        places = as_names(seen.elsewhere, 3)
        reason = f"{name} is no longer in {as_name(anchor.path)}; it is now in {places}"
        if seen.rewritten:
            reason = f"{reason}, and changed"
        return Judgement(
            anchor=anchor,
            verdict=Verdict.MOVED,
            reason=reason,
            place=only,
            left=seen.place is not None,
            also_changed=seen.rewritten,
        )
    if seen.place is None:
        reason = f"{as_name(anchor.path)} is gone, and {name} with it"
    else:
        reason = f"{name} is gone from {as_name(seen.place)}"
    return Judgement(anchor=anchor, verdict=Verdict.GONE, reason=reason)


def _still_there(anchor: Anchor, seen: Seen) -> Judgement:
    if seen.retired:
        after = f"; it names {as_name(seen.instead)} instead" if seen.instead else ""
        path = as_name(anchor.path)
        about = f"{anchor.name} in {path}" if anchor.symbol else path
        reason = f"{about} {seen.retired}{after}"
        return Judgement(
            anchor=anchor,
            verdict=Verdict.CHANGED,
            reason=reason,
            place=seen.place,
            heir=seen.heir,
        )
    verdict = Verdict.FRESH if seen.same_bytes else Verdict.TOUCHED
    return Judgement(anchor=anchor, verdict=verdict, reason="", place=seen.place)
