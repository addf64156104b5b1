"""Is it still true? A verdict is a function of an anchor and of what the tree is now.

First each anchor is judged by what was seen of it, then the anchors of one node are combined.
Nothing here knows of events: the same sight gives the same verdict, whatever happened in between.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from yaadwatch.core.quoting import as_name, as_names
from yaadwatch.core.references import targets, values
from yaadwatch.core.references.commands import renamed
from yaadwatch.core.references.mentions import mentions
from yaadwatch.core.truth.hunks import last_part
from yaadwatch.model.anchors import ASSIGNED, RETURNED, Anchor, Method, Suggestion, Verdict


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What became of one anchor, in words; `place` is where it is now, when that is one place.

    `likely` is what probably took its place, when it is gone; `places` are those of a folder or a
    pattern whose files went to several; `by_use`: it is there, unchanged, and others use something
    else instead; `heir` is what the text should name in place of it, where that is sure; `left`:
    a definition went to another file, and the file that it was in is still there.
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


DOUBTS = frozenset((Verdict.CHANGED, Verdict.MOVED, Verdict.GONE))
"""The verdicts that speak against a memory; how much, the features of all its anchors tell."""

_WORDS_OF_CODE = frozenset(("true", "false", "none", "null", "nil", "undefined", "nullptr"))
"""Values by which a text shows how its language writes such."""
BY_NAME = frozenset((Method.GLOB, Method.WORD, Method.TARGET, Method.VALUE))
"""Anchors on what is found in a file, or among files, by its name."""

_PART = re.compile(r"[;\n]|[.!?](?=\s)")
"""Where a part of a text ends that says one thing."""

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
    counted = _counted(judgements)
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


def _counted(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements without those of files that are gone whose definition was found."""
    moved_from = {
        j.anchor.path for j in judgements if j.anchor.symbol and j.verdict is Verdict.MOVED
    }
    return [
        j
        for j in judgements
        if not (j.verdict is Verdict.GONE and not j.anchor.symbol and j.anchor.path in moved_from)
    ]


def suggest(text: str, judgement: Judgement) -> Suggestion | None:
    """Return what would make a memory true again; None when there is nothing to propose.

    The text is rewritten only where it names the old path, or its file name, in full: a longer path
    that ends or begins like it is another file. What something else is used for now is named as
    that wherever the text names it. A value is put in place of the old one where that stands right
    behind the name, once.
    """
    new = judgement.place
    old = judgement.anchor.path
    if has_other_value(judgement):
        revalued = _revalued(text, [judgement])
        return Suggestion(path=None, text=revalued) if revalued else None
    if judgement.heir and judgement.anchor.method is Method.TARGET:
        rewritten = _commanded(text, judgement)
        return Suggestion(path=None, text=rewritten) if rewritten else None
    if judgement.heir and judgement.anchor.symbol:
        rewritten = _renamed(text, last_part(judgement.anchor.symbol), judgement.heir)
        return Suggestion(path=None, text=rewritten) if rewritten != text else None
    if judgement.heir:
        new = judgement.heir
    elif judgement.verdict is not Verdict.MOVED:
        return None
    if new is None:
        places = judgement.places
        return Suggestion(path=None, text=None, places=places) if places else None
    if judgement.anchor.method is Method.GLOB:
        rewritten = _repatterned(text, judgement.anchor.symbol, new)
        if rewritten == text:  # it is a list in braces there, which no path is put into
            return Suggestion(path=None, text=None, places=(new,))
        return Suggestion(path=new, text=rewritten)
    folder = judgement.anchor.method is Method.FOLDER
    rewritten = _renamed(text, old, new, folder=folder, from_top=True)
    name, new_name = old.rpartition("/")[2], new.rpartition("/")[2]
    if name != new_name and not folder:
        rewritten = _renamed(rewritten, name, new_name)
    return Suggestion(path=new, text=rewritten if rewritten != text else None)


def proposal(
    text: str, judgements: Sequence[Judgement], beside: Iterable[Judgement] = ()
) -> Suggestion | None:
    """Return what judgements of a memory propose together, the first for its path.

    `beside`: its other ones, which propose nothing; what they say is there stays so in the text.

    A longer path is rewritten before what is above it, and what was put into the text by one is
    not rewritten by another: of two that changed names, the text keeps the second as it was. A file
    that a definition left is rewritten only where the text names it for that definition. Where
    a value that the text gives is another now, and cannot be put into it, or something else of it
    changed besides, there is no text that is true for certain: then only places are told. So it is
    where something else that it names is gone.
    """
    valued = [one for one in judgements if has_other_value(one)]
    offers = [
        (one, _where_sure(text, one, suggest(text, one), (*judgements, *beside)))
        for one in judgements
        if one not in valued
    ]
    said = text if not valued else _revalued(text, valued)
    if said is None or (valued and _may_be_false(valued, offers)):
        places = tuple(dict.fromkeys(one.path for _, one in offers if one and one.path))
        return Suggestion(path=None, text=None, places=places) if places else None
    accepted = [(one, offer) for one, offer in offers if offer and offer.can_be_accepted]
    if accepted and _is_left([one for one, offer in offers if not offer], judgements):
        places = tuple(dict.fromkeys(offer.path for _, offer in accepted if offer.path))
        return Suggestion(path=None, text=None, places=places) if places else None
    if valued and not accepted:
        return Suggestion(path=None, text=said)
    if not accepted:
        return next((offer for _, offer in offers if offer), None)
    put = set[str]()
    deepest = sorted(accepted, key=lambda found: -len(_said(found[0].anchor)))
    for judged, offer in deepest:
        if offer.text is None or any(_stands_in(judged, new) for new in put):
            continue
        again = suggest(said, judged)
        said = again.text if again and again.text else said
        put.add(offer.path or judged.heir)
    return Suggestion(path=accepted[0][1].path, text=said if said != text else None)


def _where_sure(
    text: str, judged: Judgement, offer: Suggestion | None, every: Iterable[Judgement]
) -> Suggestion | None:
    """Return what is proposed for a judgement; of a definition that left its file maybe only where.

    A text that names the file in another part than the definition, or beside one that is still in
    it, says of the file what is as true as it was.
    """
    if not judged.left or offer is None or offer.text is None or offer.path is None:
        return offer
    path, name = judged.anchor.path, last_part(judged.anchor.symbol)
    files = (path, path.rpartition("/")[2])
    parts = [part for part in _PART.split(text) if any(file in part for file in files)]
    stayed = [
        last_part(one.anchor.symbol)
        for one in every
        if one.anchor.path == path and one.anchor.method in (Method.TREE, Method.HUNKS)
        if one.verdict in (Verdict.FRESH, Verdict.TOUCHED, Verdict.CHANGED)
    ]
    said_of_it = name not in text or any(name in part for part in parts)
    if said_of_it and not any(other in part for other in stayed for part in parts):
        return offer
    return Suggestion(path=None, text=None, places=(offer.path,))


def settle(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements of a memory, each split folder where the files named beneath it went.

    A folder that went to several places is, for this memory, where all that it names of it is now;
    when that is no one place, it stays split.
    """
    return [_settled(one, judgements) if one.places else one for one in judgements]


def _settled(split: Judgement, judgements: Iterable[Judgement]) -> Judgement:
    folder = split.anchor.path
    found = set()
    for one in judgements:
        rest = one.anchor.path.removeprefix(f"{folder}/")
        if rest == one.anchor.path or one is split or one.verdict is not Verdict.MOVED:
            continue
        place = one.place or ""
        found.add(place.removesuffix(f"/{rest}") if place.endswith(f"/{rest}") else "")
    where = found.pop() if len(found) == 1 else ""
    if not where:
        return split
    return replace(split, place=where, places=())


def has_other_value(judgement: Judgement) -> bool:
    """Return whether the value that the text gives is another now, which is its heir."""
    return judgement.anchor.method is Method.VALUE and bool(judgement.heir)


def _may_be_false(
    valued: Sequence[Judgement], offers: Sequence[tuple[Judgement, Suggestion | None]]
) -> bool:
    """Return whether something else than these values changed that no offer puts right."""
    names = {last_part(one.anchor.name) for one in valued}
    return any(
        offer is None
        and one.verdict in (Verdict.CHANGED, Verdict.GONE)
        and last_part(one.anchor.name) not in names
        for one, offer in offers
    )


def _is_left(others: Sequence[Judgement], judgements: Sequence[Judgement]) -> bool:
    """Return whether one of these, for which nothing is proposed, is gone: the text names it."""
    counted = _counted(judgements)
    return any(one.verdict is Verdict.GONE and one in counted for one in others)


def _revalued(text: str, valued: Sequence[Judgement]) -> str | None:
    """Return `text` with the values that are there now; None unless it is sure where each goes.

    It goes where the text was understood to give the old one, which must be one place.
    """
    places: dict[tuple[int, int], str] = {}
    for one in valued:
        given = _given_by(one.anchor, text)
        if len(given) != 1:
            return None
        span = (given[0].start, given[0].end)
        written = text[slice(*span)]
        if one.anchor.fingerprint not in (given[0].value, written, written.lower()):
            return None
        new = _written_as(written, one)
        if not new or places.setdefault(span, new) != new:
            return None
    for (start, end), new in sorted(places.items(), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _shown(value: str) -> str:
    """Return a value as it is told: the words of a text without the quotes around it."""
    return as_name(value[1:-1] if value[:1] == value[-1:] == '"' and value[1:-1] else value)


def _written_as(written: str, judged: Judgement) -> str:
    """Return the value that is there now as a text writes the old one; '' when that is not sure."""
    now = judged.heir
    if now == values.NOTHING and judged.anchor.symbol.endswith(ASSIGNED):
        return ""  # each language has a word of its own for it
    if now in ("true", "false"):
        if written.lower() not in _WORDS_OF_CODE:
            return ""
        # Python's have a capital letter, and a text that says them so goes on to do so.
        return now.capitalize() if written[:1].isupper() else now
    if written[:1] == "'" and now[:1] == '"' and "'" not in now:
        return f"'{now[1:-1]}'"
    return now


def _given_by(anchor: Anchor, text: str) -> list[values.Given]:
    """Return where a text gives what is anchored its value."""
    if anchor.symbol.endswith(RETURNED):
        return values.returned_at(text, last_part(anchor.name))
    if anchor.symbol.endswith(ASSIGNED):
        return values.stated_at(text, last_part(anchor.name))
    return values.version_at(text, anchor.symbol)


def _said(anchor: Anchor) -> str:
    """Return the path, or the pattern, that a text says."""
    return anchor.symbol if anchor.method is Method.GLOB else anchor.path


def _stands_in(judged: Judgement, put: str) -> bool:
    """Return whether what is to be rewritten stands in the path `put`, which is new in the text."""
    if has_other_value(judged):
        return False
    old, new = _said(judged.anchor), judged.heir or judged.place or ""
    name, new_name = old.rpartition("/")[2], new.rpartition("/")[2]
    return f"{put}/".startswith(f"{old}/") or (name != new_name and put.endswith(f"/{name}"))


def _renamed(text: str, old: str, new: str, *, folder: bool = False, from_top: bool = False) -> str:
    """Return `text` with the path `old` put as `new` wherever it stands for itself.

    What is below a folder is renamed with it; the bare name of a folder may be any word. A whole
    path, `from_top`, may have one slash before it.
    """
    longer = r"[\w~-]|\.\w" if folder else r"[\w/\\~-]|\.\w"
    before = r"/|(?:\./)*" if from_top else r"(?:\./)*"
    alone = rf"(?<![\w/\\.~-])({before}){re.escape(old)}(?!{longer})"
    return re.sub(alone, lambda found: found.group(1) + new, text)


def _repatterned(text: str, old: str, new: str) -> str:
    """Return `text` with the pattern `old` put as `new` wherever it stands for itself.

    Where the text's own folder is left out of it, it is left out of the new one, which is in it.
    """
    parts = old.split("/")
    for left_out in range(max(1, len(parts) - 1)):
        above, tail = "/".join(parts[:left_out]), "/".join(parts[left_out:])
        if "*" in above or not new.startswith(f"{above}/" if above else ""):
            break
        put = (new[len(above) + 1 :] if above else new).replace("\\", r"\\")
        alone = rf"(?<![\w/\\.~*{{}}-])((?:\./)*){re.escape(tail)}(?![\w/\\~*{{-]|\.\w)"
        rewritten = re.sub(alone, rf"\g<1>{put}", text)
        if rewritten != text:
            return rewritten
    return text


def _commanded(text: str, judgement: Judgement) -> str | None:
    """Return `text` with its commands running the target that is there now; None unless all do.

    None as well where the text runs that one already.
    """
    old, new = judgement.anchor.symbol, judgement.heir
    tools = targets.tools_of(judgement.anchor.path)
    rewritten = renamed(text, tools, old, new)
    wanted = [
        replace(one, target=new) if one.target == old and one.tool in tools else one
        for one in mentions(text).commands
    ]
    said = mentions(rewritten).commands
    return rewritten if rewritten != text and said == tuple(wanted) else None


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
        return Judgement(anchor=anchor, verdict=Verdict.MOVED, reason=reason, place=seen.place)
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
        was, now = ("returned", "returns") if anchor.symbol.endswith(RETURNED) else ("was", "is")
        then, since = _shown(anchor.fingerprint), _shown(seen.instead)
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


def _judge_missing(anchor: Anchor, seen: Seen) -> Judgement:
    name = anchor.symbol
    if seen.elsewhere:
        only = seen.elsewhere[0] if len(seen.elsewhere) == 1 else None
        places = as_names(seen.elsewhere, 3)
        reason = f"{name} is no longer in {as_name(anchor.path)}; it is now in {places}"
        left = seen.place is not None
        return Judgement(anchor=anchor, verdict=Verdict.MOVED, reason=reason, place=only, left=left)
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
