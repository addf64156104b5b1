"""Find the numbers inside a definition, and the number that replaced another.

The lines of a definition are split into tokens that every language shares; comments are dropped,
and a quoted string is one token. Where a number stands is its *place*: the name that it is given
to or compared with (`tries=`, `i<`), the call and argument (`range(0`), or the method called on it
(`.times`). The same number in another place is another number.

Also reads the value that a file gives a name, from its definition in any supported format.
"""

import difflib
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final

from yaadwatch.anchors import definitions, values
from yaadwatch.anchors.counts import Count, subjects_of
from yaadwatch.anchors.definitions import State, last_part

TOKENS_MAX: Final = 4_000
"""A definition with more tokens has too many numbers to say which one a text means."""
DISTINCT_DIGITS_MIN: Final = 3
"""A number with so many digits before its zeros hardly matches by chance."""
_UNIT: Final = re.compile(
    r"(?i)week|day|hour|minute|second|milli|byte|(?<![a-z])[kmgt]i?b(?![a-z])"
)
_HASH: Final = (".py", ".pyi", ".rb", ".sh", ".bash", ".zsh", ".yml", ".yaml", ".toml", ".ex")
_STRING: Final = (
    r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\''
    r'|(?<!\\)(?:"(?:\\.|[^"\\\n])*+"|\'(?:\\.|[^\'\\\n])*+\')|`[^`]*`'
)
_REST: Final = (
    r"(?P<number>\d[\d_]*(?:\.\d+)?\w*)|(?P<name>[^\W\d][\w$]*)|(?P<end>\n)|(?P<sign>[^\s\w])"
)
_TOKENS: Final = {
    True: re.compile(rf"(?P<string>{_STRING})|(?P<comment>#[^\n]*)|{_REST}"),
    False: re.compile(
        rf"(?P<string>{_STRING})|(?P<comment>//[^\n]*|/\*(?:.|\n)*?(?:\*/|\Z))|{_REST}"
    ),
}
RETURNED: Final = "return"
"""The place of a number that a definition returns."""
PLACES_MAX: Final = 8
"""Places of one number that are noted."""
_WALK_MAX: Final = 64
"""Tokens before a number that are searched for its place."""
_NO_CALLS: Final = frozenset(
    (
        *("if", "elif", "while", "until", "unless", "for", "switch", "match", "return", "in"),
        *("and", "or", "not", "is", "await", "yield", "else", "case", "when"),
    )
)
"""Words before a bracket that call nothing."""
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_BOUNDS: Final = frozenset(".<=")
"""What the sign of a bound is made of: `<=`, `..`, `..=`, `..<`."""
_SIGNS_OF_BOUNDS: Final = frozenset("<>.=")
_WORKED_OUT: Final = frozenset("*/%+-")
_FROM_TO: Final = frozenset(("range", "xrange", "arange", "irange"))
"""Calls whose first argument is the end when it is alone, and else the start."""
_ENDS: Final = frozenset(";{")
"""What a statement begins behind."""
_BEHIND_NAME: Final = re.compile(r"[^\w$.].*")
_DECIMAL: Final = re.compile(r"\d+\.\d+")
_TIME: Final = re.compile(r"[\"']?(\d+)(?:ms|s|m|min|h)[\"']?")


@dataclass(frozen=True, slots=True)
class _Token:
    """A token: its text, its number in plain form or '', and its line from 0."""

    text: str
    number: str
    line: int
    is_name: bool


@dataclass(frozen=True, slots=True)
class InnerNumber:
    """A number inside a definition.

    Args:
        value: the number in plain form.
        places: where it stands, on the lines that share most words with what the text counts.
        spoken: how many such words these lines have.
    """

    value: str
    places: tuple[str, ...]
    spoken: int


def stated(
    source: str, path: str, symbol: str, count: Count, *, is_named: bool = True
) -> InnerNumber | None:
    """Return the number of `count` that a definition holds; None for none, or a chance match.

    A small number counts only where the code beside it speaks of what the text counts, or where
    the text says that the definition returns it, and nothing else is returned.

    Args:
        source: the file's text.
        path: its name, which decides the language.
        symbol: the definition.
        count: what the text states.
        is_named: the text names the definition, and not only its file.
    """
    if not _may_hold(source, count):
        return None
    tokens = _tokens_of(source, path, symbol)
    for value in count.values:
        if last_part(count.returned_by) == last_part(symbol) and _is_returned(tokens, value):
            return InnerNumber(value, (RETURNED,), 1)
        lines = {one.line for one in tokens if one.number == value}
        said = {line: len(_spoken(tokens, line, symbol, count)) for line in lines}
        spoken = max(said.values(), default=0)
        is_distinct = is_named and len(value.rstrip("0")) >= DISTINCT_DIGITS_MIN
        if lines and (spoken or is_distinct):
            places = (
                _place(tokens, at)
                for at, one in enumerate(tokens)
                if one.number == value and said[one.line] == spoken
            )
            noted = tuple(dict.fromkeys(filter(None, places)))[:PLACES_MAX]
            return InnerNumber(value, noted, spoken)
    return None


def _is_returned(tokens: Sequence[_Token], number: str) -> bool:
    """Return whether a number is all that the only `return` of a definition returns."""
    at = [at for at, one in enumerate(tokens) if one.text == RETURNED]
    if len(at) != 1 or [one.number for one in tokens[at[0] + 1 : at[0] + 2]] != [number]:
        return False
    following = tokens[at[0] + 2 : at[0] + 3]
    return all(one.line > tokens[at[0]].line or one.text in {";", "}"} for one in following)


def _may_hold(source: str, count: Count) -> bool:
    """Return whether a file has a number of `count` anywhere; if not, it need not be parsed."""
    plain = source.replace("_", "").replace(",", "")
    return any(value in plain for value in count.values)


def only_definition_with(source: str, path: str, count: Count) -> tuple[str, InnerNumber] | None:
    """Return the one definition of a file that holds a number of `count`, and that number.

    It shares the most words with what the text counts; None when several do.
    """
    if not _may_hold(source, count):
        return None
    found: dict[str, InnerNumber] = {}
    for one in definitions.names(source.encode(), path):
        held = stated(source, path, one.name, count, is_named=False)
        if held is not None:
            found[one.name] = held
    most = max((one.spoken for one in found.values()), default=0)
    inner = [
        name
        for name, one in found.items()
        if one.spoken == most and not any(other.startswith(f"{name}.") for other in found)
    ]
    return (inner[0], found[inner[0]]) if len(inner) == 1 else None


def now_in_place(
    then: tuple[str, str] | None,
    now: tuple[str, str],
    symbol: str,
    number: str,
    places: Sequence[str] = (),
) -> str | None:
    """Return the number that replaced another in a definition; None when the old one holds.

    None too where it is not certain: the old number is still in its place, or was not added; what
    took its place is worked out; or it may be the same time in another unit. A name that has a
    number in the definition or in the file is that number.

    Args:
        then: the name and text of the file when the number was stated; None when not known.
        now: the name and text of the file.
        symbol: the definition.
        number: the number in the plain form.
        places: where it stood, as `Held.places`; empty when not known.
    """
    new = _tokens_of(now[1], now[0], symbol)
    old = _tokens_of(then[1], then[0], symbol) if then is not None else ()
    if not new or (then is not None and not any(one.number == number for one in old)):
        return None
    if RETURNED in places and any(one.number == number for one in new):
        return None  # it may be returned still, as in `return 3 if a else 2`
    if not places:
        found = (_place(old, at) for at, one in enumerate(old) if one.number == number)
        places = tuple(filter(None, found))
    stood = [at for at, one in enumerate(old) if one.number == number]
    calculated = {_calculation(old, at) for at in stood}
    is_above = bool(stood) and all(_is_lower_bound(old, at) for at in stood)
    here = _in_places(places, new, now[1], number, calculated or {()}, is_above=is_above)
    if number in here:
        return None
    kept = _in_places(places, old, then[1], number, calculated) if then is not None else frozenset()
    others = here - kept or _by_tokens(old, new, number, now[1])
    value = next(iter(others)) if len(others) == 1 else ""
    if not value.isdecimal() and not _DECIMAL.fullmatch(value):
        return None
    is_renamed = then is None or _units_of(old) != _units_of(new)
    return (
        None
        if value == number or values.is_other_unit(number, value, may_be_renamed=is_renamed)
        else value
    )


def _in_places(
    places: Sequence[str],
    tokens: Sequence[_Token],
    source: str,
    number: str,
    calculations: Set[tuple[str, ...]],
    *,
    is_above: bool = False,
) -> frozenset[str]:
    """Return what stands in places of a definition: numbers, and names without a known number.

    The number itself is there also as another argument, or in another comparison of that name.
    Another number is '' unless it is calculated with what the number was (`30 * time.Second`).
    `is_above`: what was compared with the number had to be above it.
    """
    names = {_name_of(place) for place in places}
    found = set()
    for at, one in enumerate(tokens):
        place = _place(tokens, at) if one.number or one.is_name else ""
        if not place or _name_of(place) not in names:
            continue
        value = one.number or _named_number(one, tokens, source) or one.text
        if value != number and _calculation(tokens, at) not in calculations:
            value = ""
        if place in places or value == number:
            found.add(value)
        if one.number:
            same = _same_bound(tokens, at, place, value, is_above=is_above)
            found |= {number for other, number in same if other in places}
    return frozenset(found)


def _same_bound(
    tokens: Sequence[_Token], at: int, place: str, value: str, *, is_above: bool
) -> Iterator[tuple[str, str]]:
    """Yield equivalent forms of a bound: `i <= 3` is `i < 4`, `range(2, 5)` is `range(3)`.

    `i >= 4` is `i > 3` where the bound was such a one before, `is_above`.
    """
    if not value.isdecimal():
        return
    before = [one.text for one in tokens[max(at - 3, 0) : at]]
    step = 0 if ">" in before else 1
    if is_above and _is_lower_bound(tokens, at):
        step = -1
    if step and place.endswith(("<=", "..=")):
        yield place[:-1], str(int(value) + step)
    elif step and place.endswith(("<", "..")):
        yield f"{place}=", str(int(value) - step)
    name = _name_of(place)
    is_end = place == f"{name}(1" and name in _FROM_TO and _is_last_argument(tokens, at)
    if is_end and before[0] == "(" and before[1].isdecimal():
        yield f"{name}(0", str(int(value) - int(before[1]))


def _is_lower_bound(tokens: Sequence[_Token], at: int) -> bool:
    """Return whether a token stands behind `>` or `>=`."""
    signs = [one.text for one in tokens[max(at - 2, 0) : at]]
    return signs[-1:] == [">"] or signs == [">", "="]


def _name_of(place: str) -> str:
    """Return the name in a place, without its argument or comparison."""
    return _BEHIND_NAME.sub("", place)


def _by_tokens(
    old: Sequence[_Token], new: Sequence[_Token], number: str, source: str
) -> frozenset[str]:
    """Return what replaced a number, by comparing both versions token by token.

    This finds a place whose name changed. Empty where the number may still be there, and for long
    definitions: comparing two of 4,000 tokens takes minutes.
    """
    if len(old) * len(new) > 500_000:
        return frozenset()
    matcher = difflib.SequenceMatcher(
        None, [one.text for one in old], [one.text for one in new], autojunk=False
    )
    found = set()
    for action, start, end, start_now, end_now in matcher.get_opcodes():
        if action == "insert":
            continue
        if any(one.number == number for one in new[start_now:end_now]):
            return frozenset()
        if not any(one.number == number for one in old[start:end]):
            continue
        if end - start != end_now - start_now:
            return frozenset()
        for before, after in zip(old[start:end], new[start_now:end_now], strict=True):
            if _SIGNS_OF_BOUNDS & {before.text, after.text}:
                return frozenset()
            if before.number == number:
                found.add(after.number or _named_number(after, new, source))
    return frozenset(found)


def _place(tokens: Sequence[_Token], at: int) -> str:
    """Return the place of a token: `tries=`, `range(0`, `i<`, `.times`; '' for none.

    It is the nearest name before it in its bracket or, where that is a call, the call and which
    argument it is: `range(from` for the start of two.
    """
    behind = tokens[at + 1 : at + 3]
    if len(behind) == 2 and behind[0].text == "." and behind[1].is_name:
        return f".{behind[1].text}"
    commas, sign = 0, ""
    for before in _outwards(tokens, at):
        one = tokens[before]
        if one.text in _OPENING:
            called = tokens[before - 1] if before else None
            if one.text == "(" and called and called.is_name and called.text not in _NO_CALLS:
                if called.text in _FROM_TO:
                    return f"{called.text}({_argument_of_range(tokens, before, at, commas)}"
                return f"{called.text}({commas}"
            commas, sign = 0, sign if _BOUNDS.issuperset(sign) else ""
        elif one.text == ",":
            commas += 1
        elif one.is_name and not commas:
            return f"{_typed(tokens, before).text if sign == '=' else one.text}{sign}"
        elif not one.number and not commas:
            more = "<" if one.text in {"<", ">"} else one.text[:1]
            sign = f"{more}{sign}" if more in {".", "<"} and _BOUNDS.issuperset(sign) else more
    return ""


def _argument_of_range(tokens: Sequence[_Token], start: int, at: int, commas: int) -> str:
    """Return a token's argument index in a range: `range(5)` and `range(0, 5)` have one end."""
    is_last = _is_last_argument(tokens, at)
    if not commas:
        return "0" if is_last else "from"
    is_from_0 = [one.text for one in tokens[start + 1 : start + 3]] == ["0", ","]
    return "0" if commas == 1 and is_last and is_from_0 else str(commas)


def _is_last_argument(tokens: Sequence[_Token], at: int) -> bool:
    depth = 0
    for one in tokens[at + 1 : at + 1 + _WALK_MAX]:
        if one.text in _CLOSING and not depth:
            break
        if one.text == "," and not depth:
            return False
        depth += (one.text in _OPENING) - (one.text in _CLOSING)
    return True


def _calculation(tokens: Sequence[_Token], at: int) -> tuple[str, ...]:
    """Return what a token is calculated with: `*`, `SECOND` of `5 * SECOND`; empty for nothing."""
    found = []
    for sign, other in ((at - 1, at - 2), (at + 1, at + 2)):
        if other not in range(len(tokens)) or tokens[sign].text not in _WORKED_OUT:
            continue
        one = tokens[other]
        is_operand = one.is_name or one.number or one.text in {"(", ")"}
        if is_operand and one.line == tokens[at].line:
            found += [tokens[sign].text, one.text]
    return tuple(found)


def _outwards(tokens: Sequence[_Token], at: int) -> Iterator[int]:
    """Yield the indices of the tokens before a token, nearest first, up to its statement.

    What other brackets hold is left out; of those that it stands in the opening one is there.
    """
    depth = 0
    for before in range(at - 1, max(at - _WALK_MAX, 0) - 1, -1):
        text = tokens[before].text
        if text in _CLOSING:
            depth += 1
        elif depth:
            depth -= text in _OPENING
        elif text in _ENDS:
            return
        else:
            yield before


def _typed(tokens: Sequence[_Token], at: int) -> _Token:
    """Return the name before an equals sign; in `tries: int = 3` that is not the type."""
    is_type = at > 1 and tokens[at - 1].text == ":" and tokens[at - 2].is_name
    return tokens[at - 2] if is_type else tokens[at]


def _units_of(tokens: Sequence[_Token]) -> frozenset[str]:
    """Return the units of time and size that names and texts of a definition name."""
    return frozenset(unit.lower() for one in tokens for unit in _UNIT.findall(one.text))


def _named_number(token: _Token, tokens: Sequence[_Token], source: str) -> str:
    """Return the number of a name in a definition or in its file; '' for none."""
    if not token.is_name:
        return ""
    given = set()
    texts = [one.text for one in tokens]
    for at, one in enumerate(tokens[:-2]):
        if one.text != token.text:
            continue
        if texts[at + 1] in {"=", ":"} and tokens[at + 2].number:
            given.add(tokens[at + 2].number)
        elif texts[at + 1] == ":" and texts[at + 3 : at + 4] == ["="] and tokens[at + 4 :]:
            given.add(tokens[at + 4].number)
    if not given:
        given.add(values.assigned(source, token.text) or "")
    return given.pop() if len(given) == 1 else ""


def _spoken(tokens: Sequence[_Token], line: int, symbol: str, count: Count) -> frozenset[str]:
    """Return the words that a line shares with what a text counts, without its own name.

    A line without names continues the line above it.
    """
    own = last_part(symbol)
    for at in (line, line - 1):
        names = [one.text for one in tokens if one.line == at and one.is_name]
        if names:
            families = {one for one in subjects_of(own.replace("_", " ")) if one.startswith("#")}
            others = " ".join(name for name in names if name != own)
            said = subjects_of(others.replace("_", " "))
            said |= families if own in names else set()
            if not {"for", "while", "until", "loop"}.isdisjoint(names):
                said |= {"#0"}  # what a loop counts are tries, or times
            return count.subjects & said
    return frozenset()


def _tokens_of(source: str, path: str, symbol: str) -> Sequence[_Token]:
    """Return the tokens of a definition; empty when it is missing or has too many."""
    found = definitions.define(source.encode(), path, symbol)
    if found.state is not State.FOUND or found.line is None:
        return ()
    lines = source.split("\n")[found.line - 1 : found.end_line]
    tokens = list(_tokens("\n".join(lines), is_hash=path.endswith(_HASH)))
    return tokens if len(tokens) <= TOKENS_MAX else ()


def _tokens(text: str, *, is_hash: bool) -> Iterator[_Token]:
    line = 0
    for found in _TOKENS[is_hash].finditer(text):
        kind, said = found.lastgroup, found.group()
        if kind not in ("comment", "end"):
            time = _TIME.fullmatch(said)
            number = values.literal(said) if kind == "number" else None
            number = time.group(1) if time else number
            yield _Token(said, number or "", line, kind == "name")
        line += said.count("\n")


def assigned_literal(source: bytes, path: str, symbol: str) -> str | None:
    """Return the literal that a file gives a name; None for a formula, or when unreadable.

    A number as `values.plain` writes it, anything else as `values.literal`.

    What the definition does not say is not looked for elsewhere: an example in a comment, or the
    same name in another class, is no answer. Only where the file defines no such name, as in a
    language or a format that is not known, all of it is looked at.

    Args:
        source: the file's bytes.
        path: its name, which decides the language.
        symbol: a name, or names joined as `definitions.define` takes them.
    """
    lines = source.decode("utf-8", "replace").split("\n")
    found = definitions.define(source, path, symbol)
    if found.state is State.FOUND and found.line is not None:
        lines = lines[found.line - 1 : found.end_line]
    elif found.state is not State.MISSING:
        return None
    return values.assigned("\n".join(lines), last_part(symbol))
