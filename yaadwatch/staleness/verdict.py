"""Judge one anchor from its observed state, and score a memory from its anchors' verdicts.

Events play no part: the same observed state gives the same verdict. The score is a logistic model,
fitted offline; its weights are one table below. Only the gravest loss counts, because a text
that names two missing things is no more wrong than a text that names one, and uses count only for
what is still there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import StrEnum

from yaadwatch.anchors import values
from yaadwatch.anchors.code_sets import member
from yaadwatch.model.anchors import Anchor, Method, Verdict
from yaadwatch.text.quoting import as_name, as_names


class Span(StrEnum):
    """The state of the anchored definition inside the file that was searched."""

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
        unknown: why the state is unknown; then nothing else counts.
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


@dataclass(frozen=True, slots=True)
class AnchorVerdict:
    """The verdict of one anchor, with its reason; `place` is the one place it is at now.

    `likely` is what probably replaced it, when it is gone; `places` are those of a folder or a
    pattern that was split; `by_use`: it is there, unchanged, and other code uses something else
    instead; `heir` is what the text should name instead, where that is certain; `left`: a
    definition went to another file, and its old file is still there; `also_changed`: it moved, and
    its content changed, too; `misplaced`: the text names the old place; `named_still`: it moved,
    but the text's name for it still finds it.
    """

    anchor: Anchor
    verdict: Verdict
    reason: str = ""
    place: str | None = None
    seen: Seen = Seen()
    _: KW_ONLY
    likely: str | None = None
    places: tuple[str, ...] = ()
    by_use: bool = False
    heir: str = ""
    left: bool = False
    also_changed: bool = False
    misplaced: bool = False
    named_still: bool = False


STALE_VERDICTS = frozenset((Verdict.CHANGED, Verdict.MOVED, Verdict.GONE))
"""The verdicts against a memory; the features of all its anchors give them their weight."""

NAMED_MAX = 4
"""Members of a set that a reason names."""

BY_NAME = frozenset((Method.GLOB, Method.WORD, Method.TARGET, Method.VALUE))
"""Anchors on what is found in a file, or among files, by its name."""

DEFINED = frozenset((Method.TREE, Method.LINES))
"""Anchors on definitions."""

PLACED = frozenset((Method.FILE, Method.FOLDER))
"""Anchors on whole files and folders."""

_ORDER = (
    Verdict.FRESH,
    Verdict.TOUCHED,
    Verdict.UNKNOWN,
    Verdict.CHANGED,
    Verdict.MOVED,
    Verdict.GONE,
)


def judge_anchor(anchor: Anchor, seen: Seen) -> AnchorVerdict:
    """Return the verdict of `anchor`, given its observed state."""
    return replace(_judge(anchor, seen), seen=seen)


def _judge(anchor: Anchor, seen: Seen) -> AnchorVerdict:
    if seen.unknown:
        return AnchorVerdict(anchor, Verdict.UNKNOWN, seen.unknown)
    if anchor.method in PLACED:
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
        return AnchorVerdict(anchor, Verdict.MOVED, reason, seen.place, also_changed=also)
    if seen.span is Span.DIFFERENT and not seen.retired:
        reason = f"{name} in {as_name(anchor.path)} changed"
        return AnchorVerdict(anchor, Verdict.CHANGED, reason, seen.place)
    if seen.span is None and not seen.same_bytes:
        reason = f"{name} was not looked for in {as_name(anchor.path)}"
        return AnchorVerdict(anchor, Verdict.UNKNOWN, reason)
    return _still_there(anchor, seen)


def combine(results: Sequence[AnchorVerdict]) -> AnchorVerdict:
    """Return the verdict that represents a memory: the gravest; their order plays no part.

    Of equals a value comes before a definition, and that before a file; then the first path and
    name.

    A file that is gone says less than where its definition went: when a symbol of that file was
    found elsewhere, the file's own verdict does not count.

    Raises:
        ValueError: there is no verdict.
    """
    gravest = counted(results)
    if not gravest:
        raise ValueError("a memory without anchors has no verdict")
    return min(
        gravest,
        key=lambda j: (
            -_ORDER.index(j.verdict),
            j.anchor.method is not Method.VALUE,
            not j.anchor.symbol,
            *(j.anchor.path, j.anchor.symbol, j.reason, j.place or ""),
        ),
    )


def counted(results: Sequence[AnchorVerdict]) -> list[AnchorVerdict]:
    """Return the verdicts without those of missing files whose definition was found elsewhere."""
    moved_from = {j.anchor.path for j in results if j.anchor.symbol and j.verdict is Verdict.MOVED}
    return [
        j
        for j in results
        if not (j.verdict is Verdict.GONE and not j.anchor.symbol and j.anchor.path in moved_from)
    ]


def _shown(value: str) -> str:
    """Return a value for a reason: texts without their quotes."""
    return as_name(value[1:-1] if value[:1] == value[-1:] == '"' and value[1:-1] else value)


def _judge_file(anchor: Anchor, seen: Seen) -> AnchorVerdict:
    if seen.place is None and seen.elsewhere:
        *others, last = map(as_name, seen.elsewhere)
        named = " and ".join(filter(None, (", ".join(others), last)))
        reason = f"{as_name(anchor.path)} was split; what was in it is now in {named}"
        return AnchorVerdict(
            anchor, Verdict.MOVED, reason, likely=seen.likely, places=seen.elsewhere
        )
    if seen.place is None:
        after = f"; {as_name(seen.likely)} may be in its place" if seen.likely else ""
        return AnchorVerdict(
            anchor, Verdict.GONE, f"{as_name(anchor.path)} is gone{after}", likely=seen.likely
        )
    if seen.place != anchor.path:
        reason = f"{as_name(anchor.path)} is now {as_name(seen.place)}"
        return AnchorVerdict(anchor, Verdict.MOVED, reason, seen.place, also_changed=seen.rewritten)
    return _still_there(anchor, seen)


def _judge_pattern(anchor: Anchor, seen: Seen) -> AnchorVerdict:
    """Return the verdict of a pattern that no file matches."""
    pattern = as_name(anchor.symbol)
    if seen.place is not None:
        reason = f"what matched {pattern} is now {as_name(seen.place)}"
        return AnchorVerdict(anchor, Verdict.MOVED, reason, seen.place)
    if seen.elsewhere:
        places = as_names(seen.elsewhere, 3)
        reason = f"no file matches {pattern} any more; its files are now in {places}"
        return AnchorVerdict(anchor, Verdict.MOVED, reason, places=seen.elsewhere)
    after = f"; {as_name(seen.likely)} may be in its place" if seen.likely else ""
    reason = f"no file matches {pattern} any more{after}"
    return AnchorVerdict(anchor, Verdict.GONE, reason, likely=seen.likely)


def _judge_by_name(anchor: Anchor, seen: Seen) -> AnchorVerdict:
    """Return the verdict of a pattern that matches, a word, a target or a value."""
    name, path = anchor.name, as_name(anchor.path)
    if anchor.is_members and seen.span is Span.DIFFERENT:
        return _judge_members(anchor, seen)
    if seen.span is Span.DIFFERENT:
        about = f"{name} of {path}" if name == values.LINES else f"{name} in {path}"
        if anchor.is_held:
            return _judge_number(anchor, seen)
        then, since = _shown(anchor.value), _shown(seen.instead)
        reason = f"{about}: was {then}, is now {since}"
        return AnchorVerdict(anchor, Verdict.CHANGED, reason, seen.place, heir=seen.instead)
    if seen.span is None and not seen.same_bytes:
        reason = f"{name} was not looked for in {as_name(anchor.path)}"
        return AnchorVerdict(anchor, Verdict.UNKNOWN, reason)
    if seen.span is not Span.MISSING:
        return _still_there(anchor, seen)
    if seen.elsewhere:
        return AnchorVerdict(anchor, Verdict.TOUCHED)
    if anchor.is_declared:
        came = f"; it declares {seen.instead} now" if seen.instead else ""
        reason = f"the project does not declare {name} any more{came}"
        return AnchorVerdict(anchor, Verdict.GONE, reason)
    if anchor.method is Method.VALUE and seen.place is None:
        reason = f"{path} is gone, and {name} with it"
        return AnchorVerdict(anchor, Verdict.GONE, reason, likely=seen.likely)
    spot = f"{path} has no heading {name} any more"
    if name.startswith(":"):
        spot = f"{path} has fewer than {name[1:]} lines now"
    reason = {
        Method.TARGET: f"{path} does not define {name} any more",
        Method.VALUE: spot if anchor.is_spot else f"{path} does not say {name} any more",
    }.get(anchor.method, f"{name} stands nowhere in the code any more")
    if anchor.method is Method.TARGET and seen.heir:
        reason = f"{reason}; {seen.heir} does the same"
    elif anchor.method is Method.TARGET and seen.likely:
        reason = f"{reason}; {as_name(seen.likely)} does"
    return AnchorVerdict(anchor, Verdict.GONE, reason, likely=seen.likely, heir=seen.heir)


def _judge_members(anchor: Anchor, seen: Seen) -> AnchorVerdict:
    """Return the verdict of a set that has other members, or another number of them."""
    number, kind, *then = anchor.fingerprint.split("\n")
    now = seen.instead.split("\n")
    old, new = ({member(one): one for one in members} for members in (then, now))
    came = [new[one] for one in new if one not in old and not kind.startswith("some")]
    went = [old[one] for one in old if one not in new]
    changes = [
        f"{_listed(names)} {what}" for names, what in ((came, "came"), (went, "went")) if names
    ]
    is_size = kind.startswith("size")
    changes = [f"was {number}, is now {len(now)}", *changes] if is_size else changes
    name = f"{anchor.name} in {as_name(anchor.path)}"
    reason = f"{name}: {'; '.join(changes)}"
    heir = str(len(now)) if is_size else ""
    return AnchorVerdict(anchor, Verdict.CHANGED, reason, seen.place, heir=heir)


def _listed(names: Sequence[str]) -> str:
    """Return the first names of a list, and how many others there are."""
    others = len(names) - NAMED_MAX
    return ", ".join(map(as_name, names[:NAMED_MAX])) + (f" and {others} others" * (others > 0))


def _judge_number(anchor: Anchor, seen: Seen) -> AnchorVerdict:
    name, path = anchor.name, as_name(anchor.path)
    changed = f"{anchor.value} is now {_shown(seen.instead)}"
    reason, place = f"{name} in {path}: {changed}", seen.place
    if place is None or place == anchor.path:
        return AnchorVerdict(anchor, Verdict.CHANGED, reason, place)
    reason = f"{name} moved and changed: {path} is now {as_name(place)}; {changed}"
    return AnchorVerdict(anchor, Verdict.MOVED, reason, place, also_changed=True)


def _judge_missing(anchor: Anchor, seen: Seen) -> AnchorVerdict:
    name = anchor.symbol
    if seen.elsewhere:
        only = seen.elsewhere[0] if len(seen.elsewhere) == 1 else None
        places = as_names(seen.elsewhere, 3)
        reason = f"{name} is no longer in {as_name(anchor.path)}; it is now in {places}"
        if seen.rewritten:
            reason = f"{reason}, and changed"
        return AnchorVerdict(
            anchor,
            Verdict.MOVED,
            reason,
            only,
            left=seen.place is not None,
            also_changed=seen.rewritten,
        )
    if seen.place is None:
        reason = f"{as_name(anchor.path)} is gone, and {name} with it"
    elif seen.place != anchor.path:
        reason = f"{as_name(anchor.path)} is now {as_name(seen.place)}, without {name}"
    else:
        reason = f"{name} is gone from {as_name(seen.place)}"
    if seen.likely:
        reason = f"{reason}; {as_name(seen.likely)} had the same before, and has it now"
    return AnchorVerdict(anchor, Verdict.GONE, reason, likely=seen.likely)


def _still_there(anchor: Anchor, seen: Seen) -> AnchorVerdict:
    if seen.retired:
        after = f"; it names {as_name(seen.instead)} instead" if seen.instead else ""
        path = as_name(anchor.path)
        about = f"{anchor.name} in {path}" if anchor.symbol else path
        reason = f"{about} {seen.retired}{after}"
        return AnchorVerdict(anchor, Verdict.CHANGED, reason, seen.place, heir=seen.heir)
    verdict = Verdict.FRESH if seen.same_bytes else Verdict.TOUCHED
    return AnchorVerdict(anchor, verdict, place=seen.place)


_LOST = frozenset((Verdict.GONE, Verdict.MOVED))
_GONE = frozenset((Verdict.GONE,))
_GRAVEST = (
    ("value_changed", frozenset((Method.VALUE,)), _LOST | {Verdict.CHANGED}),
    ("place_lost", PLACED | {Method.GLOB}, _LOST),
    ("target_gone", frozenset((Method.TARGET,)), _GONE),
    ("word_gone", frozenset((Method.WORD,)), _GONE),
    ("definition_gone", DEFINED, _GONE),
)
"""The kinds of loss, with their anchors and verdicts, the gravest first.

A deprecated or replaced thing has lost its place, too.
"""
_USED_MIN = 2
"""Uses that a thing must have had before their loss means anything."""

_MOST = 0.8
"""The share of its uses that a thing must have lost to count as unused."""
HEIR_LINES_MIN = 3
"""Lines on which one name must replace another to count as its replacement."""
_RENAMED_SHARE_MIN = 0.1
"""So many lines and a tenth of the uses suffice, even while other code names the old one."""


def features(observations: Sequence[AnchorVerdict]) -> dict[str, float]:
    """Return the features of a memory, by name; each is 0 without evidence against it.

    Other changes play no part: only what touches an anchor, or the uses of it, changes a score.
    """
    known = [observed for observed in observations if observed.verdict is not Verdict.UNKNOWN]
    if not known:
        return {}
    gravest = _gravest(known)
    lost = {name: float(name == gravest) for name, _, _ in _GRAVEST}
    return {
        **lost,
        "unused": float(not gravest and any(_is_unused(observed.seen) for observed in known)),
        "anchors": math.log1p(sum(not _is_silent(observed) for observed in known)),
    }


def _is_silent(observed: AnchorVerdict) -> bool:
    """Return whether what is stated beside a name still holds; the name is counted instead."""
    is_stated = observed.anchor.is_read_in_words or observed.anchor.is_members
    return is_stated and observed.verdict not in STALE_VERDICTS


def is_lost(observations: Sequence[AnchorVerdict]) -> bool:
    """Return whether something is lost, so that uses need not be counted."""
    return bool(lost_of(observations))


def is_named_still(observations: Sequence[AnchorVerdict]) -> bool:
    """Return whether only files moved, and the text's names still find them.

    Such a sentence is true of its file, so it is suspect at most.
    """
    lost = lost_of(observations)
    return bool(lost) and all(observed.named_still for observed in lost)


def lost_of(observations: Sequence[AnchorVerdict]) -> list[AnchorVerdict]:
    """Return the anchors that lost something of the gravest kind."""
    known = [one for one in observations if one.verdict is not Verdict.UNKNOWN]
    gravest = _gravest(known)
    kinds = {name: (methods, verdicts) for name, methods, verdicts in _GRAVEST}
    return [one for one in known if gravest and _counts(one, gravest, *kinds[gravest])]


def _gravest(known: Sequence[AnchorVerdict]) -> str:
    """Return the gravest kind of loss; '' for none."""
    for name, methods, verdicts in _GRAVEST:
        if any(_counts(observed, name, methods, verdicts) for observed in known):
            return name
    return ""


def _counts(
    observed: AnchorVerdict, name: str, methods: frozenset[Method], verdicts: frozenset[Verdict]
) -> bool:
    method = Method.VALUE if observed.anchor.is_members else observed.anchor.method
    if method in methods and observed.verdict in verdicts:
        return True
    seen = observed.seen
    return name == "place_lost" and bool(observed.misplaced or seen.retired or is_replaced(seen))


def is_replaced(seen: Seen) -> bool:
    """Return whether another name replaced this one in most uses, or on very many lines."""
    if seen.replaced >= 10 and seen.lost >= _RENAMED_SHARE_MIN:
        return True
    return seen.replaced >= HEIR_LINES_MIN and _is_unused(seen)


def _is_unused(seen: Seen) -> bool:
    """Return whether a thing lost most of its uses, and there were several."""
    return seen.lost >= _MOST and seen.lost_files >= _USED_MIN


WEIGHTS = {
    "intercept": -4.000,  # what a memory starts from: most are true
    "anchors": 1.065,  # how many anchors it has, log(1 + n)
    "definition_gone": 5.912,  # a definition, and nothing graver
    "place_lost": 5.829,  # a file, folder or pattern that it names is nowhere, elsewhere, replaced
    "target_gone": 5.843,  # a build file does not define what a command runs
    "unused": 3.002,  # a thing lost four fifths of the places that named it, two at least
    "value_changed": 5.531,  # a length or version is another one now
    "word_gone": 5.840,  # a word of the code is nowhere in it
}
"""Fitted by `python -m tests.bench.stale fit`; docs/decisions/0011-verdicts.md says on what."""
WARN = 0.8
"""Shown everywhere: at least eight of ten such memories are stale; see there."""


def score(features: Mapping[str, float]) -> float:
    """Return the probability that a memory with these features is stale, 0..1; 0 for none."""
    if not features:
        return 0.0
    total = WEIGHTS["intercept"]
    total += sum(WEIGHTS.get(name, 0.0) * value for name, value in features.items())
    return 1.0 / (1.0 + math.exp(-total))


def level(score: float) -> str:
    """Return 'warn', or '' for a score that is too low to be shown."""
    return "warn" if score >= WARN else ""
