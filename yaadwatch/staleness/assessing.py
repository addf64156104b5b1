"""Assess a memory: observe and judge each of its anchors, then combine the verdicts."""

import posixpath
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from yaadwatch.anchors import facts
from yaadwatch.anchors.definitions import last_part
from yaadwatch.anchors.mentions import mentions
from yaadwatch.model.anchors import Anchor, Method, Suggestion, Verdict
from yaadwatch.staleness import anchor_state, proposals, verdict
from yaadwatch.staleness.commits import AtHead
from yaadwatch.staleness.verdict import (
    DEFINED,
    HEIR_LINES_MIN,
    PLACED,
    STALE_VERDICTS,
    AnchorVerdict,
    features,
    is_lost,
    is_named_still,
    is_replaced,
    lost_of,
)
from yaadwatch.staleness.worktree import View
from yaadwatch.text.quoting import as_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessed:
    """The outcome for a memory: its worst verdict, and everything that led to it.

    `score` is the probability that the text is no longer true, 0..1; `level` is warn, suspect (the
    text's name of a moved file still finds it) or ''.
    """

    worst: AnchorVerdict
    score: float
    level: str
    suggestion: Suggestion | None
    observations: tuple[AnchorVerdict, ...]
    features: dict[str, float]


def observe(text: str, anchor: Anchor, view: View, head: AtHead) -> AnchorVerdict:
    """Observe and judge one anchor of a memory that says `text`."""
    return _judged(text, verdict.judge_anchor(anchor, anchor_state.see(anchor, view, head)))


def expect_anchors(anchors: Iterable[Anchor], head: AtHead) -> None:
    """Announce the anchors of the job, so that each file is read once for all of them."""
    for anchor in anchors:
        if anchor.symbol:
            head.history.expect([last_part(anchor.symbol)])
        if anchor.commit and anchor.commit != head.head.commit:
            word = anchor_state.word_of(anchor)
            head.window(anchor.commit).expect([word])
            head.history.expect([word] if word else [])


def assess(
    text: str,
    anchors: Sequence[Anchor],
    view: View,
    head: AtHead,
    *,
    pages: Collection[str] = (),
) -> Assessed:
    """Assess a memory that says `text` and rests on `anchors`.

    `pages`: the files in which the text stands now. What moved together with one of them, so that
    the text still names it from there, did not move for its reader.

    Raises:
        ValueError: it rests on nothing.
    """
    observations = [observe(text, anchor, view, head) for anchor in anchors]
    along: set[int] = set()
    if pages and any(one.verdict in (Verdict.MOVED, Verdict.GONE) for one in observations):
        named = _named_from(text, pages)
        along = {
            at
            for at, one in enumerate(observations)
            if _moved_along(text, one, named) or _runs_beside(one, pages)
        }
        for at in along:
            observations[at] = replace(
                observations[at], verdict=Verdict.TOUCHED, reason="", misplaced=False
            )
    if not is_lost(observations):
        observations = [
            one if at in along else _with_uses(text, one, head)
            for at, one in enumerate(observations)
        ]
    found = features(observations)
    score = verdict.score(found)
    level = verdict.level(score)
    if level and is_named_still(observations):
        level = "suspect"
    worst = _worst(observations)
    if worst.verdict is Verdict.UNKNOWN:
        score, level = 0.0, ""
    elif worst.verdict in (Verdict.FRESH, Verdict.TOUCHED):
        replaced = _replaced(observations) if level else None
        worst, level = (replaced, level) if replaced else (worst, "")
    if any(map(_was_given, observations)):
        score, level = max(score, verdict.WARN), "warn"
    return Assessed(
        worst=worst,
        score=score,
        level=level,
        suggestion=_suggestion(text, worst, observations, view),
        observations=tuple(observations),
        features=found,
    )


def _named_from(text: str, pages: Collection[str]) -> set[tuple[str, str]]:
    """Return the paths that a text names, resolved from the pages that hold it.

    Beside each: the end of a path by which the text names it.
    """
    folders = {page.rpartition("/")[0] for page in pages}
    return {
        (posixpath.normpath(posixpath.join(one, path)), _UP.sub("", path).rstrip("/"))
        for one in folders
        for path in mentions(text).paths
    }


def _moved_along(text: str, judged: AnchorVerdict, named: Collection[tuple[str, str]]) -> bool:
    """Return whether the text, from its page, still names the new place of what moved.

    "Use `utils.py` (not `helpers.py`)" names the new place by another name than the old one. Unless
    the sentence with the old name says that it moves, it is false then.
    """
    is_place = judged.verdict is Verdict.MOVED and judged.anchor.method in PLACED
    tails = [tail for place, tail in named if place == judged.place]
    by_same_name = any(f"/{judged.anchor.path}".endswith(f"/{tail}") for tail in tails)
    return is_place and bool(tails) and (by_same_name or _says_it_moves(text, judged.anchor.path))


def _runs_beside(judged: AnchorVerdict, pages: Collection[str]) -> bool:
    """Return whether the build file of a command went along with a page that holds the text."""
    folder = (judged.likely or "").rpartition("/")[0]
    is_gone = judged.verdict is Verdict.GONE and judged.anchor.method is Method.TARGET
    return is_gone and bool(folder) and any(page.startswith(f"{folder}/") for page in pages)


def _says_it_moves(text: str, path: str) -> bool:
    """Return whether a sentence names a file and says that something moves."""
    return any(
        _MOVES.search(sentence)
        and any(f"/{path}".endswith(f"/{_UP.sub('', name)}") for name in mentions(sentence).paths)
        for sentence in _SENTENCE_ENDS.split(text)
    )


_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*[-*+]\s)")
_UP = re.compile(r"^(?:\.{1,2}/)+")
_MOVES = re.compile(r"(?i)\b(?:mov|renam|migrat|relocat|becom|replac|supersed)|->|→|⇒|=>")


def _worst(observations: Sequence[AnchorVerdict]) -> AnchorVerdict:
    """Return the verdict that represents the memory: one against its text, if there is any.

    Where a definition moved and the text names it by its name alone, the text lost nothing: another
    anchor represents the memory then.
    """
    worst = verdict.combine(observations)
    lost = lost_of(observations)
    definition = worst.anchor.method in DEFINED
    if definition and worst.verdict is Verdict.MOVED and lost and worst not in lost:
        return verdict.combine(lost)
    return worst


def _judged(text: str, judged: AnchorVerdict) -> AnchorVerdict:
    """Return a verdict with whether the text names the old place, or still finds the new one."""
    proposed = proposals.suggest(text, judged)
    misplaced = proposed is not None and proposed.text is not None
    by_value = judged.anchor.is_members or judged.anchor.method in (Method.VALUE, Method.TARGET)
    misplaced = misplaced and not by_value
    named_still = not misplaced and _is_named_still(text, judged)
    return replace(judged, misplaced=misplaced, named_still=named_still)


def _with_uses(text: str, judged: AnchorVerdict, head: AtHead) -> AnchorVerdict:
    seen = anchor_state.with_uses(judged.anchor, judged.seen, head)
    return (
        _judged(text, verdict.judge_anchor(judged.anchor, seen)) if seen != judged.seen else judged
    )


def _is_named_still(text: str, judged: AnchorVerdict) -> bool:
    """Return whether the text's name, or end of a path, still fits a moved file.

    `net.py` and `shared/net.py` mean the file in `app/shared/` as they did that in `shared/`.
    """
    if judged.verdict is not Verdict.MOVED or judged.anchor.method is not Method.FILE:
        return False
    old, new = f"/{judged.anchor.path}", f"/{judged.place or ''}"
    tails = [f"/{path.removeprefix('./')}" for path in mentions(text).paths]
    meant = [tail for tail in tails if old.endswith(tail)]
    return bool(meant) and all(map(new.endswith, meant))


def _suggestion(
    text: str, worst: AnchorVerdict, every: Sequence[AnchorVerdict], view: View
) -> Suggestion | None:
    """Return what would correct the memory: what `worst` proposes, then the other anchors.

    A replacement in use, or a deprecation, does not make the text true under another name: such
    verdicts propose nothing.
    """
    valued = any(map(proposals.has_other_value, every))
    if worst.verdict is Verdict.CHANGED and not valued:
        return None
    others = sorted(
        (
            one
            for one in every
            if one.verdict in (Verdict.MOVED, Verdict.GONE)
            or (one.heir and one.anchor.method is Method.TARGET)
            or (valued and one.verdict in STALE_VERDICTS)
        ),
        key=lambda found: (bool(found.anchor.symbol), found.anchor.path, found.anchor.symbol),
    )
    against = [worst, *(one for one in others if one is not worst)]
    return proposals.proposal(text, against, every, stands=view.has_folder)


def _was_given(result: AnchorVerdict) -> bool:
    """Return whether a stale verdict is about an anchor that the caller gave explicitly."""
    return result.anchor.trust == "given" and result.verdict in STALE_VERDICTS


def committed(worst: AnchorVerdict, head: AtHead) -> AnchorVerdict:
    """Return the verdict of the anchor of `worst` at HEAD."""
    if worst.by_use:
        return worst  # the use of a word is counted in commits only
    return verdict.judge_anchor(worst.anchor, anchor_state.see(worst.anchor, head, head))


def _replaced(observations: Sequence[AnchorVerdict]) -> AnchorVerdict | None:
    """Return the verdict that another thing is used in place of what is still there."""
    best = max(
        observations,
        key=lambda one: (
            is_replaced(one.seen),
            *(one.seen.replaced, one.seen.lost_files, one.anchor.path, one.anchor.symbol),
        ),
    )
    seen = best.seen
    if not seen.replaced and not seen.lost_files:
        return None
    name = best.anchor.symbol or as_name(best.anchor.path)
    now = f"; {as_name(seen.instead)} is in its place" if seen.replaced >= HEIR_LINES_MIN else ""
    reason = f"{name} is there, but {seen.lost_files} files no longer name it{now}"
    return replace(best, verdict=Verdict.CHANGED, reason=reason, by_use=True, heir=seen.heir)


def is_false(judged: AnchorVerdict, text: str) -> bool:
    """Return whether what is anchored is false for certain, so that no confirmation makes it true.

    The text names something that is missing, or gives it another value. A changed body is no proof,
    nor is a package manager that is not declared any more: its commands may work.
    """
    anchor = judged.anchor
    if anchor.is_declared and facts.rivals(anchor.name):
        return False
    if anchor.method is Method.VALUE or anchor.is_members:
        return judged.verdict in (Verdict.CHANGED, Verdict.GONE) or judged.also_changed
    if judged.verdict is Verdict.MOVED:
        return judged.misplaced
    return judged.verdict is Verdict.GONE and _is_named(text, anchor)


def _is_named(text: str, anchor: Anchor) -> bool:
    """Return whether the text names what is anchored; the caller may only have added it."""
    if anchor.trust == "text":
        return True
    name = last_part(anchor.symbol) if anchor.symbol else anchor.path.rpartition("/")[2]
    return name in text
