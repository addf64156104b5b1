"""Mask secrets in a text: `[masked:KIND]` replaces each.

Three tables decide: recognisable credentials of providers and what a value could be instead of a
secret (`secret_shapes`), and where secrets occur (`secret_places`). Avoiding false matches is the
harder half: a memory that loses its words is of no use.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Final, NamedTuple, overload

from yaadwatch.text.secret_places import (
    NAMED,
    PLACES,
    names,
    secret_kind_of_member,
    token_check,
    web_token,
)
from yaadwatch.text.secret_shapes import SHORTEST, TOKENS, Check


class Reading(NamedTuple):
    """A text as a reader sees it, with the offset of each character in the raw text."""

    text: str
    at: Sequence[int]


_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]")
_INVISIBLE: Final = (
    r"(?:\x1b\[|\x9b)[0-?]{0,32}[ -/]{0,4}[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]{0,2000}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{1,4}[0-~]|\x1b[<-?78DEHMNOZc]"
)
"""What makes a terminal write in colour, name a link or a window, or take other characters.

What has another letter or digit right behind its escape is not among them: that may be a secret's
own.
"""
# What is drawn as nothing and is not of the categories Cc and Cf: marks, letters, and places that
# are set aside for more such characters.
_DRAWN_AS_NOTHING: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")


def readings(text: str) -> Iterator[Reading]:
    """Yield the raw text and, where it differs, the text as a reader sees it.

    What is drawn as nothing may stand inside a secret, or between a word and a secret: it is read
    as nothing, and as a blank.
    """
    yield Reading(text, range(len(text)))
    if text.isascii() and not _CONTROL.search(text):
        return
    strange = {char for char in text if not char.isascii()}
    odd = {char: plain for char in strange if (plain := _plain(char)) != char}
    odd |= dict.fromkeys(_CONTROL.findall(text), "")
    if not odd:
        return
    places = list(re.finditer(f"{_INVISIBLE}|[{re.escape(''.join(odd))}]", text))
    for gap in ("", " "):
        read: list[str] = []
        at: list[int] = []
        end = 0
        for found in places:
            plain = odd.get(found[0], "") or gap
            read += (text[end : found.start()], plain)
            at += (*range(end, found.start()), *[found.start()] * len(plain))
            end = found.end()
        yield Reading("".join(read) + text[end:], [*at, *range(end, len(text))])


def cleaned(text: str) -> str:
    """Return a text as it is read."""
    return next(islice(readings(text), 1, None), Reading(text, ())).text


def in_lower_case(text: str) -> str:
    """Return a text in lower case, as long as it is: a few letters are longer in lower case."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    return lowered


@lru_cache(4096)
def _plain(char: str) -> str:
    """Return the reading of a character beyond ASCII: nothing, plain letters, or itself."""
    if unicodedata.category(char) in ("Cf", "Cc") or _DRAWN_AS_NOTHING.match(char):
        return "" if not char.isspace() else char
    if char in "\u2010\u2011":
        return "-"
    # Marks stay: a full-width colon is one of its language, and what follows is in it.
    plain = unicodedata.normalize("NFKC", char)
    return plain if _PLAIN.fullmatch(plain) else char


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A text without its secrets, and the kinds of secret that were in it: each once, in order."""

    text: str
    kinds: tuple[str, ...] = ()


def mask(text: str) -> Masked:
    """Return `text` with every secret replaced by `[masked:KIND]`; the words around it stay.

    Masking twice is masking once. A text without a secret comes back as the same object.
    """
    kinds: dict[str, None] = {}
    # Again until nothing is found, for a mask may uncover a neighbour. This ends: every round puts
    # at least one character behind a mask that was not behind one before.
    while spans := _spans(text):
        pieces = []
        end = 0
        for span in spans:
            pieces += [text[end : span.start], f"[masked:{span.kind}]"]
            end = span.end
            kinds[span.kind] = None
        text = "".join(pieces) + text[end:]
    return Masked(text=text, kinds=tuple(kinds))


def mask_tokens(line: bytes) -> bytes:
    """Return a serialised answer, or a file, in which tokens of a known shape are masked.

    Texts are masked before they are stored. Names are not, because a path, branch or definition is
    found by them again.
    """
    runs = [one for one in set(_RUNS.findall(line)) if not _IDS.fullmatch(one)]
    lowered = b"\n".join(runs).lower()
    ranks = sorted({rank for trigger, rank in _TOKEN_TRIGGERS if trigger in lowered})
    text = b"\n".join(runs).decode("ascii") if ranks else ""
    if not any(_candidates_of(text, ranks)):
        return line
    masked = {one: _without_tokens(one.decode("ascii"), ranks).encode() for one in runs}
    return _RUNS.sub(lambda found: masked.get(found[0], found[0]), line)


def _without_tokens(text: str, ranks: Sequence[int]) -> str:
    pieces: list[str] = []
    end = 0
    for span in sorted(span for _, span in _candidates_of(text, ranks)):
        if span.start >= end:
            pieces += [text[end : span.start], f"[masked:{span.kind}]"]
        end = max(end, span.end)
    return "".join(pieces) + text[end:]


def kept(text: str) -> Masked:
    """Return a text as memories store it: masked, with control characters escaped as `\\x1b`.

    Idempotent.
    """
    masked = mask(text)
    shown = _STEERING.sub(_escaped, masked.text)
    if shown == masked.text:
        return masked
    again = mask(shown)
    return Masked(text=again.text, kinds=tuple(dict.fromkeys((*masked.kinds, *again.kinds))))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


@overload
def mask_tree(value: str) -> str: ...
@overload
def mask_tree(value: dict[str, object]) -> dict[str, object]: ...
@overload
def mask_tree(value: object) -> object: ...
def mask_tree(value: object) -> object:
    """Apply `kept` to all strings of a JSON value (dict, list, str, number, None).

    Keys are masked too. A string under a key such as `password` is treated as if `password=` came
    before it.
    """
    return _masked_tree(value, {})


def tree_kinds(value: object) -> tuple[str, ...]:
    """Return the kinds of secret that `mask_tree` takes out of a value: each once, in order."""
    kinds: dict[str, None] = {}
    _masked_tree(value, kinds)
    return tuple(kinds)


def _masked_tree(value: object, kinds: dict[str, None]) -> object:
    match value:
        case str():
            masked = kept(value)
            kinds |= dict.fromkeys(masked.kinds)
            return masked.text
        case dict():
            return {
                _masked_tree(key, kinds): _masked_member(key, item, kinds)
                for key, item in value.items()
            }
        case list() | tuple():
            return [_masked_tree(item, kinds) for item in value]
        case _:
            return value


def _masked_member(key: str, value: object, kinds: dict[str, None]) -> object:
    if isinstance(value, str) and not _MASK.fullmatch(value):
        kind = secret_kind_of_member(cleaned(key), cleaned(value))
        if kind is not None:
            kinds[kind] = None
            return f"[masked:{kind}]"
    return _masked_tree(value, kinds)


class _Span(NamedTuple):
    """The span of a secret. Of two that overlap, the lower rank names both."""

    start: int
    end: int
    rank: int
    kind: str


# White space is none of them: tabs and line ends are kept. Tag characters and variation selectors
# spell words that a person does not see, but a model reads. A single break or joiner without
# width comes with text that is pasted, or with Thai; a row of them may stand for something.
_STEERING = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2061-\u206f"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
    "|(?<=[\u200b\u2060])[\u200b\u2060]|[\u200b\u2060](?=[\u200b\u2060])"
)
_MASK = re.compile(r"\[masked:[a-z0-9-]{1,30}\]")


def _spans(text: str) -> list[_Span]:
    """Return the spans of secrets: in order, without overlap."""
    found: list[_Span] = []
    for reading in readings(text):
        found += _spans_of(reading)
    merged: list[_Span] = []
    for span in sorted(found):
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            named = min(last, span, key=lambda each: each.rank)
            merged.append(_Span(last.start, max(last.end, span.end), named.rank, named.kind))
        else:
            merged.append(span)
    return merged


def _spans_of(reading: Reading) -> Iterator[_Span]:
    """Yield the secrets of a reading, as spans in the original text."""
    text, at = reading
    lowered = in_lower_case(text)
    found = list(_candidates(text, lowered, sorted(_worth_trying(lowered))))
    if not found:
        return
    masks = [mask.span() for mask in _MASK.finditer(text)]
    for span in _unmasked(found, text, masks):
        yield span._replace(start=at[span.start], end=at[span.end - 1] + 1)


def _worth_trying(lowered: str) -> set[int]:
    """Return the shapes that may be in a text; of most texts, none."""
    longest = max(map(len, lowered.split()), default=0)
    return {
        rank
        for trigger, (shortest, ranks) in _TRIGGERS.items()
        if shortest <= longest and trigger in lowered
        for rank in ranks
    }


def _candidates(text: str, lowered: str, ranks: Iterable[int]) -> Iterator[tuple[int, _Span]]:
    """Yield secrets by shape or place, masked or not, and where the match began."""
    yield from _candidates_of(text, ranks)
    covered = 0
    for name in names(text, lowered):
        if name < covered:
            continue  # a name inside a value; were values looked at again, time would be quadratic
        for rank, (pattern, check) in enumerate(NAMED, len(TOKENS) + len(PLACES)):
            named = pattern.match(text, name)
            secret_kind = check(named) if named else None
            if secret_kind is not None:
                kind, start, end = secret_kind
                covered = max(covered, end)
                yield name, _Span(start, end, rank, kind)


def _candidates_of(text: str, ranks: Iterable[int]) -> Iterator[tuple[int, _Span]]:
    """Yield secrets by the shapes and places of these ranks."""
    for rank in ranks:
        pattern, check = _shape(rank)
        at = 0
        while found := pattern.search(text, at):
            secret_kind = check(found)
            at = max(found.start() + 1, found.start("secret"))
            if secret_kind is not None:
                kind, start, end = secret_kind
                at = max(at, end)
                yield found.start(), _Span(start, end, rank, kind)


def _unmasked(
    found: Iterable[tuple[int, _Span]], text: str, masks: Sequence[tuple[int, int]]
) -> Iterator[_Span]:
    """Yield the spans that are not masked already; a mask is replaced whole or not at all."""
    for began, span in found:
        if _mask_at(began, masks):
            continue
        first, last = _mask_at(span.start, masks), _mask_at(span.end - 1, masks)
        start = first[0] if first else span.start
        end = last[1] if last else span.end
        if _MASK.sub("", text[start:end]):
            yield span._replace(start=start, end=end)


def _mask_at(position: int, masks: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    index = bisect_right(masks, position, key=lambda span: span[0]) - 1
    return masks[index] if index >= 0 and position < masks[index][1] else None


def _token_pattern(pattern: str) -> re.Pattern[str]:
    """Return the pattern of a row of `TOKENS` with its left border and its group.

    The letter of an escape such as `\\n` or `%3D` is no letter of the text.
    """
    whole = pattern if "(?P<secret>" in pattern else f"(?P<secret>{pattern})"
    return re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{{2}})){whole}")


@cache
def _shape(rank: int) -> tuple[re.Pattern[str], Check]:
    """Return the pattern and the check of a token or place.

    Compiled at the first text with its trigger: compiling all took a third of this import.
    """
    if rank < len(TOKENS):
        kind, _, pattern = TOKENS[rank]
        return _token_pattern(pattern), token_check(kind)
    check, _, pattern = PLACES[rank - len(TOKENS)]
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE), check


def _by_trigger() -> dict[str, tuple[int, list[int]]]:
    """Return the shapes to try when a text contains a trigger, and a run of so many characters."""
    found: dict[str, tuple[int, list[int]]] = {}
    for rank, (_, triggers, _) in enumerate((*TOKENS, *PLACES)):
        for trigger in triggers.split():
            shortest = SHORTEST.get(trigger, 15) if rank < len(TOKENS) else 0
            found.setdefault(trigger, (shortest, []))[1].append(rank)
    return found


_TRIGGERS: Final = _by_trigger()
_RUNS: Final = re.compile(
    rb"(?<![\w./+=~$:@%{},\\-])[\w./+=~$:@%{},\\-]{14,4096}(?![\w./+=~$:@%{},\\-])"
)
"""What may be a name or a path; longer runs are data."""
_IDS: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40}|[\d:.TZ-]+")
"""Ids, commits and times: most runs of an answer, and no tokens."""
_TOKEN_TRIGGERS: Final = tuple(
    (trigger.encode(), rank)
    for rank, (kind, triggers, _) in enumerate((*TOKENS, *PLACES))
    if rank < len(TOKENS) or kind is web_token
    for trigger in triggers.split()
)
