"""Is it still true? A verdict is a function of an anchor and of what the tree is now.

First each anchor is judged by what was seen of it, then the anchors of one node are combined.
Nothing here knows of events: the same sight gives the same verdict, whatever happened in between.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from yaadwatch.core.quoting import as_name, as_names
from yaadwatch.core.references import values
from yaadwatch.model.anchors import Anchor, Method, Suggestion, Verdict


class Span(StrEnum):
    """What became of the anchored definition inside the file it was looked for in."""

    SAME = "same"
    DIFFERENT = "different"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a tree shows where an anchor points.

    Args:
        place: the path at which the file is now; None when it is nowhere.
        same_bytes: the file's bytes are those of the anchor.
        span: the definition; None for a whole file, or when `place` is None.
        elsewhere: other files that define the symbol now; only looked for when it is missing.
        line: first line of the definition now.
        unknown: why it could not be told; then nothing else counts.
        likely: what probably took the place of what is gone.
        lost: the share of the places that named it and do so no more, 0..1.
        lost_files: how many places that is.
        replaced: lines on which `instead` stands in its place now.
        instead: what stands most often where it stood, or the value that is there now.
        retired: what makes it a shell of what it was; '' when nothing does.
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
    retired: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What became of one anchor, in words; `place` is where it is now, when that is one place.

    `likely` is what probably took its place, when it is gone; `by_use`: it is there, unchanged, and
    others use something else instead.
    """

    anchor: Anchor
    verdict: Verdict
    reason: str
    place: str | None = None
    likely: str | None = None
    by_use: bool = False


DOUBTS = frozenset((Verdict.CHANGED, Verdict.MOVED, Verdict.GONE))
"""The verdicts that speak against a memory; how much, the features of all its anchors tell."""

_BY_NAME = frozenset((Method.GLOB, Method.WORD, Method.TARGET, Method.VALUE))

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
    if anchor.method in _BY_NAME:
        return _judge_by_name(anchor, seen)
    name = anchor.symbol
    if seen.place is None or seen.span is Span.MISSING:
        return _judge_missing(anchor, seen)
    if seen.place != anchor.path:
        changed = " and changed" if seen.span is Span.DIFFERENT else ""
        reason = f"{name} moved{changed}: {as_name(anchor.path)} is now {as_name(seen.place)}"
        return Judgement(anchor=anchor, verdict=Verdict.MOVED, reason=reason, place=seen.place)
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
    moved_from = {
        j.anchor.path for j in judgements if j.anchor.symbol and j.verdict is Verdict.MOVED
    }
    counted = [
        j
        for j in judgements
        if not (j.verdict is Verdict.GONE and not j.anchor.symbol and j.anchor.path in moved_from)
    ]
    if not counted:
        raise ValueError("there is no judgement to stand for the node")
    return min(
        counted,
        key=lambda j: (
            -_ORDER.index(j.verdict),
            j.anchor.method is not Method.VALUE,
            not j.anchor.symbol,
            *(j.anchor.path, j.anchor.symbol, j.reason, j.place or ""),
        ),
    )


def suggest(text: str, judgement: Judgement) -> Suggestion | None:
    """Return what would make a moved memory true again; None when there is nothing to propose.

    The text is rewritten only where it names the old path, or its file name, in full: a longer path
    that ends or begins like it is another file.
    """
    new = judgement.place
    old = judgement.anchor.path
    if judgement.verdict is not Verdict.MOVED or new is None:
        return None
    folder = judgement.anchor.method is Method.FOLDER
    rewritten = _renamed(text, old, new, folder=folder)
    name, new_name = old.rpartition("/")[2], new.rpartition("/")[2]
    if name != new_name and not folder:
        rewritten = _renamed(rewritten, name, new_name)
    return Suggestion(path=new, text=rewritten if rewritten != text else None)


def _renamed(text: str, old: str, new: str, *, folder: bool = False) -> str:
    """Return `text` with the path `old` put as `new` wherever it stands for itself.

    What is below a folder is renamed with it; the bare name of a folder may be any word.
    """
    longer = r"[\w~-]|\.\w" if folder else r"[\w/\\~-]|\.\w"
    alone = rf"(?<![\w/\\.~-])((?:\./)*){re.escape(old)}(?!{longer})"
    return re.sub(alone, lambda found: found.group(1) + new, text)


def _judge_file(anchor: Anchor, seen: Seen) -> Judgement:
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
        return Judgement(anchor=anchor, verdict=Verdict.MOVED, reason=reason, place=seen.place)
    return _still_there(anchor, seen)


def _judge_by_name(anchor: Anchor, seen: Seen) -> Judgement:
    """Return what became of a pattern, a word, a target or a value."""
    name, path = anchor.name, as_name(anchor.path)
    if seen.span is Span.DIFFERENT:
        about = f"{name} of {path}" if name == values.LINES else f"{name} in {path}"
        reason = f"{about}: was {as_name(anchor.fingerprint)}, is now {as_name(seen.instead)}"
        return Judgement(anchor=anchor, verdict=Verdict.CHANGED, reason=reason, place=seen.place)
    if seen.span is None and not seen.same_bytes:
        reason = f"{name} was not looked for in {as_name(anchor.path)}"
        return Judgement(anchor=anchor, verdict=Verdict.UNKNOWN, reason=reason)
    if seen.span is not Span.MISSING:
        return _still_there(anchor, seen)
    if seen.elsewhere:
        return Judgement(anchor=anchor, verdict=Verdict.TOUCHED, reason="", place=None)
    reason = {
        Method.GLOB: f"no file matches {as_name(name)} any more",
        Method.TARGET: f"{path} does not define {name} any more",
        Method.VALUE: f"{path} does not say {name} any more",
    }.get(anchor.method, f"{name} stands nowhere in the code any more")
    return Judgement(anchor=anchor, verdict=Verdict.GONE, reason=reason, likely=seen.likely)


def _judge_missing(anchor: Anchor, seen: Seen) -> Judgement:
    name = anchor.symbol
    if seen.elsewhere:
        only = seen.elsewhere[0] if len(seen.elsewhere) == 1 else None
        places = as_names(seen.elsewhere, 3)
        reason = f"{name} is no longer in {as_name(anchor.path)}; it is now in {places}"
        return Judgement(anchor=anchor, verdict=Verdict.MOVED, reason=reason, place=only)
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
        return Judgement(anchor=anchor, verdict=Verdict.CHANGED, reason=reason, place=seen.place)
    verdict = Verdict.FRESH if seen.same_bytes else Verdict.TOUCHED
    return Judgement(anchor=anchor, verdict=verdict, reason="", place=seen.place)
