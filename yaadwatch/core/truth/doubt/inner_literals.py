"""Find the numbers inside a definition, and the one that was put in place of another.

The lines of a definition are split into tokens that every language shares; comments say nothing,
and a text in quotes is one token.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from yaadwatch.core.references import values
from yaadwatch.core.references.counts import Count, subjects_of
from yaadwatch.core.truth import definitions
from yaadwatch.core.truth.definitions import State
from yaadwatch.core.truth.hunks import last_part

TOKENS_MAX: Final = 4_000
"""A definition with more tokens has too many numbers to say which one a text means."""
DISTINCT_DIGITS_MIN: Final = 3
"""With as many digits before its zeros a number is hardly in a definition by chance."""
_UNIT_RATIOS: Final = frozenset((60, 1000, 3600, 60_000, 3_600_000))
"""Milliseconds, seconds, minutes and hours: how many of one make one of another."""
_HASH: Final = (".py", ".pyi", ".rb", ".sh", ".bash", ".zsh", ".yml", ".yaml", ".toml", ".ex")
_STRING: Final = (
    r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`[^`]*`'
)
_REST: Final = (
    r"(?P<number>\d[\d_]*(?:\.\d+)?\w*)|(?P<name>[^\W\d][\w$]*)|(?P<end>\n)|(?P<sign>[^\s\w])"
)
_TOKENS: Final = {
    True: re.compile(rf"(?P<string>{_STRING})|(?P<comment>#[^\n]*)|{_REST}"),
    False: re.compile(rf"(?P<string>{_STRING})|(?P<comment>//[^\n]*|/\*(?:.|\n)*?\*/)|{_REST}"),
}
_TIME: Final = re.compile(r"[\"']?(\d+)(?:ms|s|m|min|h)[\"']?")


@dataclass(frozen=True, slots=True)
class _Token:
    """A token: its text, its number in the plain form or '', and its line from 0."""

    text: str
    number: str
    line: int
    is_name: bool


def stated(
    source: str, path: str, symbol: str, count: Count, *, is_named: bool = True
) -> tuple[str, int] | None:
    """Return the number of `count` that a definition holds; None when it holds none, or by chance.

    A small number counts only where the code beside it speaks of what the text counts. With it
    comes how much of that the code speaks of.

    Args:
        source: the file's text.
        path: its name, which tells the language.
        symbol: the definition.
        count: what the text states.
        is_named: the text names the definition, and not only its file.
    """
    tokens = _tokens_of(source, path, symbol)
    for value in count.values:
        lines = {one.line for one in tokens if one.number == value}
        spoken = max((len(_spoken(tokens, line, symbol, count)) for line in lines), default=0)
        is_distinct = is_named and len(value.rstrip("0")) >= DISTINCT_DIGITS_MIN
        if lines and (spoken or is_distinct):
            return value, spoken
    return None


def only_home(source: str, path: str, count: Count) -> tuple[str, str] | None:
    """Return the one definition of a file that holds a number of `count`, and that number.

    It is the one that speaks most of what the text counts; None where several do alike.
    """
    plain = source.replace("_", "").replace(",", "")
    if not any(value in plain for value in count.values):
        return None
    found: dict[str, tuple[str, int]] = {}
    for one in definitions.names(source.encode(), path):
        held = stated(source, path, one.name, count, is_named=False)
        if held is not None:
            found[one.name] = held
    most = max((spoken for _, spoken in found.values()), default=0)
    inner = [
        name
        for name, (_, spoken) in found.items()
        if spoken == most and not any(other.startswith(f"{name}.") for other in found)
    ]
    return (inner[0], found[inner[0]][0]) if len(inner) == 1 else None


def now_in_place(
    then: str, now: str, paths: tuple[str, str], symbol: str, number: str
) -> str | None:
    """Return the number that stands where a definition had another one; None when that holds.

    None too where it is not certain: the old number is still in the definition, other than in code
    that was added; what took its place is worked out; or it may be the same time in another unit.
    A name that has a number in the definition or in the file is that number.

    Args:
        then: the text of the file when the number was stated.
        now: the text of the file.
        paths: the names of both files.
        symbol: the definition.
        number: the number in the plain form.
    """
    old, new = _tokens_of(then, paths[0], symbol), _tokens_of(now, paths[1], symbol)
    if not new or not any(one.number == number for one in old):
        return None
    matcher = difflib.SequenceMatcher(
        None, [one.text for one in old], [one.text for one in new], autojunk=False
    )
    found = set()
    for action, start, end, start_now, end_now in matcher.get_opcodes():
        if action == "insert":
            continue
        if any(one.number == number for one in new[start_now:end_now]):
            return None
        if not any(one.number == number for one in old[start:end]):
            continue
        if end - start != end_now - start_now:
            return None
        for before, after in zip(old[start:end], new[start_now:end_now], strict=True):
            if before.number == number:
                found.add(after.number or _named_number(after, new, now))
    value = found.pop() if len(found) == 1 else ""
    if not value or value == number or _is_other_unit(number, value):
        return None
    return value


def _is_other_unit(old: str, new: str) -> bool:
    """Return whether two numbers may be one time, in milliseconds, seconds, minutes or hours."""
    if not (old.isdecimal() and new.isdecimal()):
        return False
    less, more = sorted((int(old), int(new)))
    return less > 0 and more % less == 0 and more // less in _UNIT_RATIOS


def _named_number(token: _Token, tokens: Sequence[_Token], source: str) -> str:
    """Return the number that a name has in a definition or in its file; '' for none."""
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
    """Return what a line of a definition says of what a text counts; its own name says nothing.

    A line without names goes on from the one above it.
    """
    own = last_part(symbol)
    for at in (line, line - 1):
        names = [one.text for one in tokens if one.line == at and one.is_name]
        if names:
            families = {one for one in subjects_of(own.replace("_", " ")) if one.startswith("#")}
            others = " ".join(name for name in names if name != own)
            said = subjects_of(others.replace("_", " "))
            return count.subjects & (said | (families if own in names else set()))
    return frozenset()


def _tokens_of(source: str, path: str, symbol: str) -> Sequence[_Token]:
    """Return the tokens of a definition; none when there is none, or it has too many."""
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
