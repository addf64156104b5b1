"""Find the literals that a text states of a file, and what a file has in their place.

A literal is a number, version, address, truth or other word with a digit: `8080`, `node:18-alpine`,
`ES2020`. Its *place* is the name before it on its line (`pageSize: 20`, `EXPOSE 3000`) and the rest
of that line. A place decides only while it is the only one of its kind in the file, and only
another literal of the same sort is another value: a name, a calculation or nothing says nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from yaadwatch.anchors import values
from yaadwatch.anchors.counts import subjects_of
from yaadwatch.anchors.mentions import endpoints

LITERALS_MAX: Final = 16
"""Literals of one text; a text with more is a table."""
_DISTINCT_DIGITS_MIN: Final = 3
"""A number with so many digits before its zeros hardly stands in a file by chance."""
_LINE_CHARS_MAX: Final = 400
"""A longer line is no place: it is minified, or data."""

_WRITTEN: Final = r"[A-Za-z]{2,6}://[\w./:@%~+-]{1,100}[\w/]|[\w@](?:[\w./:@+-]{0,100}\w)?"
_SAID: Final = re.compile(rf"(?<![\w./:@#$=+-])(?:{_WRITTEN})(?![\w/%]|[.:-]\w)")
_PORT: Final = re.compile(r"(?<=\w:)\d{2,5}(?=/|\Z)")
_TRUTH: Final = frozenset(("true", "false", "True", "False"))
_DATE: Final = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\d\d:\d\d|[0-9a-f]{7,40}|\d+(?:st|nd|rd|th|x|%)")
_NOT_NOW: Final = re.compile(
    r"(?i)(?:\b(?:not|never|no longer|instead of|rather than|from|before|was|were|used to be|below"
    r"|under|above|over|less than|more than|than|least|most|up to|until|between|or|like|such as"
    r"|e\.g\.|eg|example|issue|pr|step|line|lines|section|chapter|page|rfc|since|after|[<>~])"
    r"|#)[\s`*('\"]*\Z"
)
"""Text before a literal that is not said to be in the code now, or not exactly."""
_ONE_OF: Final = re.compile(r"[`'\"]?,? ?(?:or\b|/|\||to\b|–|\.\.) ?[`'\"]?[\w]")
"""Behind the first of several values."""
_TRUTH_GIVEN: Final = re.compile(r"`([\w.$-]{2,80})`\s+(?:is|=|:|defaults to|is set to)\s+`?\Z")

_SPOT: Final = re.compile(
    r"(?<![\w/@.-])(?P<path>(?:[\w@.-]{1,100}/){0,12}[\w@.-]{1,100}\.[A-Za-z]{1,8})"
    r"(?:#(?!L\d)(?P<heading>[\w-]{2,100})|:(?P<line>[1-9]\d{0,5}))(?![\w/-])"
)
_HEADING: Final = re.compile(
    r"^(?: {0,3}#{1,6}[ \t]{1,8}(.*)|(.+)\n(?:={1,400}|-{2,400})[ \t]{0,8}$)", re.MULTILINE
)
_NAMED_HEADING: Final = re.compile(r"(?:\b(?:id|name)=[\"']|\{#)([\w-]{2,100})[\"'}]")
_PORTS: Final = re.compile(r"\bport[ :`*]{1,4}(\d{4,5})\b(?!\w)|\blocalhost:(\d{4,5})\b")
_OPTION: Final = re.compile(r"\s--?[A-Za-z]")

_TYPE: Final = r"(?:[ \t]{0,8}\??:[ \t]{0,8}[\w\[\]<>|., ]{1,40}?)?"
_BETWEEN: Final = (
    rf"[\"'`\])]{{0,4}}{_TYPE}[ \t]{{0,20}}(?:[:=]=|[=~>^]=|=>|[:=(]|[ \t])[ \t]{{0,20}}"
    r"[\[({\"'`]{0,4}"
)
_KEY_BEFORE: Final = re.compile(rf"([A-Za-z_$][\w$.-]{{0,80}}+){_BETWEEN}\Z")
_WORKED_OUT: Final = re.compile(r"[ \t]*(?:[*/%+&|?]|-[ \t])|[ \t]*(?:<<|\*\*)")
_SPACE: Final = re.compile(r"\s+")
_QUOTES: Final = re.compile(r"[\"'`]")
_NUMBER: Final = re.compile(r"\d[\d_,]*(?:\.\d+)?")
_VERSION: Final = re.compile(r"v?\d++\.\d[\w.+-]*")


@dataclass(frozen=True, slots=True)
class StatedLiteral:
    """A literal of a text, and the stems of the words in its sentence."""

    value: str
    subjects: frozenset[str]
    words: frozenset[str]
    is_truth: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a literal stands in a file.

    Args:
        key: the name before it on its line; '' for none.
        label: the name that people know the place by.
        is_only: no other literal stands behind that key in the file.
        before: the line before it, with single spaces and without quotes.
        behind: the line behind it, likewise.
    """

    key: str
    label: str
    is_only: bool
    before: str
    behind: str

    def written(self, value: str) -> str:
        """Return the place with the literal that stood in it, as an anchor stores it."""
        return "\n".join((value, self.key if self.is_only else "", self.before, self.behind))


def stated(text: str) -> Iterator[StatedLiteral]:
    """Yield the literals that a text says something has now, at most LITERALS_MAX."""
    if not any(char.isdigit() for char in text) and _TRUTH.isdisjoint(re.findall(r"\w+", text)):
        return
    found = (one for one in _SAID.finditer(text) if _is_literal(one[0]))
    for one in islice(found, LITERALS_MAX):
        start, end = one.span()
        if _NOT_NOW.search(text, max(0, start - 40), start) or _ONE_OF.match(text, end):
            continue
        if values.is_conditional(text, start, end) or _is_in_command(text, start, end):
            continue
        sentence = values.sentence_around(text, start, end)
        words = frozenset(
            re.findall(r"(?<![\w$-])(?=(?:(?![A-Za-z_])[\w$-])*+[A-Za-z_])[\w$-]++", sentence)
        )
        subjects = subjects_of(sentence.replace("_", " "))
        if one[0] in _TRUTH:
            given = _TRUTH_GIVEN.search(text, max(0, start - 120), start)
            if given is not None:
                name = given[1].rpartition(".")[2]
                yield StatedLiteral(one[0], frozenset(), frozenset((name,)), is_truth=True)
            continue
        yield StatedLiteral(one[0], subjects, words)
        for port in _PORT.findall(one[0].partition("://")[2]):
            yield StatedLiteral(port, subjects, words)


def place_of(source: str, literal: StatedLiteral) -> Place | None:
    """Return the one place of a file that a text means by a literal; None for none or several.

    The name before it must be a word of the sentence. A literal that hardly stands there by chance
    needs no such name, if only one line has it.
    """
    if literal.value not in source:
        return None
    standing = list(islice(_standing(source, literal.value), 9))
    named = [one for one in standing if _is_named(one, literal)]
    beside = [one for one in standing if _is_beside(one, literal)]
    for chosen in (named, beside):
        if len(chosen) == 1:
            return chosen[0]
    is_sure = not literal.is_truth and _is_distinct(literal.value)
    return standing[0] if len(standing) == 1 and is_sure and not named else None


def now_at(written: str, source: str) -> str | None:
    """Return the literal that a file has in a place; None when that is not certain.

    The old literal itself while it still stands in such a place.

    Args:
        written: the place, from `Place.written`.
        source: the file now.
    """
    value, key, before, behind = written.split("\n")
    found = set(_behind_key(source, key)) if key else set()
    if not found:
        found = set(_on_such_lines(source, before, behind))
    if any(_is_same(one, value) for one in found):
        return value
    if len(found) != 1:
        return None
    (other,) = found
    return other if _sort(other) == _sort(value) else None


def _is_literal(token: str) -> bool:
    if token in _TRUTH or "://" in token:
        return True
    return any(map(str.isdigit, token)) and not _DATE.fullmatch(token)


def _is_in_command(text: str, start: int, end: int) -> bool:
    """Return whether a place is in a span of code with an option, as in `serve --port 3000`."""
    before = text[max(0, start - 200) : start].rpartition("\n")[2]
    if before.count("`") % 2 == 0:
        return False
    return bool(_OPTION.search(before.rpartition("`")[2] + text[end : end + 200].partition("`")[0]))


def _is_distinct(value: str) -> bool:
    """Return whether a literal hardly stands in a file by chance."""
    if not value.isdecimal():
        return len(value) >= _DISTINCT_DIGITS_MIN and not _NUMBER.fullmatch(value)
    return len(value.rstrip("0")) >= _DISTINCT_DIGITS_MIN or len(value) > _DISTINCT_DIGITS_MIN


def _standing(source: str, value: str) -> Iterator[Place]:
    """Yield the places of a literal in a file, as code writes it, in the order of the lines."""
    alone = re.compile(rf"(?<![\w.$-]){re.escape(value)}(?![\w$]|\.\d|-\w)")
    lines = source.split("\n")
    for at, line in enumerate(lines):
        if value not in line or len(line) > _LINE_CHARS_MAX:
            continue
        for found in alone.finditer(line):
            if _is_remark(line, found.start()) or _WORKED_OUT.match(line, found.end()):
                continue
            before = _KEY_BEFORE.search(line[: found.start()])
            key = before[1] if before is not None else ""
            only = bool(key) and {value} == set(_behind_key(source, key))
            yield Place(
                key=key,
                label=key or _key_above(lines, at),
                is_only=only,
                before=_plain(line[: found.start()]),
                behind=_plain(line[found.end() :]),
            )


def _behind_key(source: str, key: str) -> Iterator[str]:
    """Yield the literals behind a name; '' for what is worked out or is no literal."""
    pattern = re.compile(
        rf"(?<![\w$.-]){re.escape(key)}{_BETWEEN}(?P<value>{_WRITTEN})", re.MULTILINE
    )
    for found in pattern.finditer(source):
        start = source.rfind("\n", 0, found.start()) + 1
        if found.start() - start > _LINE_CHARS_MAX:
            continue
        if _is_remark(source[start : found.end()], found.start("value") - start):
            continue
        value = found["value"]
        is_literal = _is_literal(value) and not _WORKED_OUT.match(source, found.end())
        yield value if is_literal else ""


def _on_such_lines(source: str, before: str, behind: str) -> Iterator[str]:
    """Yield the literals between two parts of a line; without a word before it, both must fit."""
    must_end = not any(map(str.isalpha, before))
    for line in source.split("\n"):
        if len(line) > _LINE_CHARS_MAX:
            continue
        plain = _plain(line)
        if not plain.startswith(before) or (must_end and not plain.endswith(behind)):
            continue
        rest = plain[len(before) :].lstrip()
        token = re.match(_WRITTEN, rest.removesuffix(behind) if behind and must_end else rest)
        if token is not None and _is_literal(token[0]) and not _WORKED_OUT.match(rest, token.end()):
            yield token[0]


def _is_named(place: Place, literal: StatedLiteral) -> bool:
    """Return whether the sentence has the name before a literal, as it is or in its words."""
    if not place.key:
        return False
    last = place.key.rpartition(".")[2]
    lowered = {word.lower() for word in literal.words}
    if last.lower() in lowered or last in literal.words:
        return True
    parts = subjects_of(last.replace("_", " ").replace("-", " "))
    return bool(parts) and parts <= literal.subjects


def _is_beside(place: Place, literal: StatedLiteral) -> bool:
    """Return whether the line of a literal has a word of the sentence that looks like code."""
    line = f"{place.before} {place.behind}"
    said = (word for word in literal.words if _looks_like_code(word))
    return any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", line) for word in said)


def _looks_like_code(word: str) -> bool:
    return word.startswith("--") or "_" in word.strip("_") or not (word.islower() or word.istitle())


def _key_above(lines: list[str], at: int) -> str:
    """Return the name of the nearest line above with less indentation; '' for none."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    for line in reversed(lines[max(0, at - 200) : at]):
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth < indent:
            found = re.match(r"\s*[\"']?([\w$.-]{1,80})", line)
            return found[1] if found is not None else ""
    return ""


def _is_remark(line: str, at: int) -> bool:
    """Return whether a place of a line is in a remark."""
    before = line[:at]
    return bool(re.search(r"(?:^|\s)(?:#(?!\w*\[)|//|--\s|\*\s|<!--)", before))


def _plain(text: str) -> str:
    return _QUOTES.sub("", _SPACE.sub(" ", text)).strip()


def _is_same(one: str, other: str) -> bool:
    if one == other:
        return True
    is_number = _NUMBER.fullmatch(one) and _NUMBER.fullmatch(other)
    if is_number:
        return values.plain(one) == values.plain(other) or values.is_other_unit(
            values.plain(one), values.plain(other)
        )
    return one.lower() == other.lower()


def _sort(value: str) -> str:
    """Return the sort of a literal; one of another sort is no other value of the same thing."""
    if value in _TRUTH:
        return "truth"
    if "://" in value:
        return "address"
    if _NUMBER.fullmatch(value):
        return "number"
    if _VERSION.fullmatch(value):
        return "version"
    return re.sub(r"[\d.]+[\w.+-]*", "0", value).lower()


@dataclass(frozen=True, slots=True)
class Spot:
    """A heading or a line of a file, as a text names it: `setup.md#install`, `net.py:41`."""

    path: str
    heading: str = ""
    line: int = 0

    @property
    def symbol(self) -> str:
        """Return the symbol of an anchor on it."""
        return f"#{self.heading}" if self.heading else f":{self.line}"


def spots(text: str) -> Iterator[Spot]:
    """Yield the headings and lines of files that a text names, at most LITERALS_MAX."""
    for found in islice(_SPOT.finditer(text), LITERALS_MAX):
        if found["heading"]:
            yield Spot(found["path"], heading=found["heading"].lower())
        else:
            yield Spot(found["path"], line=int(found["line"]))


def at_spot(symbol: str, source: str) -> str | None:
    """Return what a file has at a spot: the heading, or the line; None when it has no such spot.

    Args:
        symbol: from `Spot.symbol`.
        source: the file.
    """
    if symbol.startswith("#"):
        return symbol if symbol[1:] in _headings(source) else None
    lines = source.split("\n")
    number = int(symbol[1:])
    return lines[number - 1].strip() if number <= len(lines) else None


def is_at_spot(symbol: str, stood: str, source: str) -> bool:
    """Return whether a file still has a heading, or a line of that number or with its old text."""
    if at_spot(symbol, source) is not None:
        return True
    return (
        not symbol.startswith("#") and bool(stood) and stood in map(str.strip, source.split("\n"))
    )


def _headings(page: str) -> set[str]:
    """Return the names by which links find the headings of a page, as GitHub and GitLab make them.

    Of equal headings the later ones have a number.
    """
    found = {name.lower() for name in _NAMED_HEADING.findall(page)}
    times: Counter[str] = Counter()
    for line in _HEADING.finditer(page):
        words = (line[1] or line[2] or "").strip(" \t\r#").lower()
        slug = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        found |= {f"{slug}-{times[slug]}" if times[slug] else slug, re.sub("-{2,}", "-", slug)}
        times[slug] += 1
    return found


def said_of_servers(text: str) -> Iterator[str]:
    """Yield ports, addresses of endpoints, and names with a version such as `ubuntu-22.04`."""
    for found in _PORTS.finditer(text):
        is_past = _NOT_NOW.search(text, max(0, found.start() - 40), found.start())
        if not is_past and not _is_in_command(text, *found.span(found.lastindex or 0)):
            yield found[1] or found[2]
    yield from endpoints(text)
    yield from re.findall(
        r"(?<![\w./:@-])[a-z][a-z0-9]{2,30}[-:]\d{1,4}\.\d[\w.-]{0,40}(?<![.-])", text
    )
