"""Check the values that a text states against a file: its length, and versions in it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

_LINES = re.compile(r"(?<![\w.,])~?(\d{1,3}(?:,\d{3}){1,2}|\d{2,6})\+? (?:lines|LOC|loc)\b")
_VERSION = re.compile(
    r"(?<![\w./-])((?:@?[A-Za-z0-9][\w.-]{0,39}/){0,3}[A-Za-z][A-Za-z0-9_.+#-]{1,39})`?"
    r"(?: version| v|[ @:]|==|>=|\^|~=| `?>=?)[`(]{0,2} ?"
    r"(?:[v^~=]|>=)?(\d{1,4}(?:\.\d{1,5}){0,3})\+?(?![\w.-]*[\w-])"
)
_NO_THING = frozenset(
    (
        *("the", "a", "an", "of", "in", "to", "is", "at", "by", "for", "and", "or", "than", "step"),
        *(
            "about",
            "only",
            "least",
            "most",
            "first",
            "last",
            "next",
            "over",
            "under",
            "with",
            "phase",
        ),
        *("between", "every", "all", "some", "up", "max", "min", "limit", "port", "level", "line"),
        *("version", "issue", "pr", "section", "chapter", "day", "exit", "code", "status", "http"),
        *("than", "are", "has", "have", "priority", "from", "top", "on", "as", "be", "page"),
    )
)
LINES = "lines"
"""The symbol of an anchor on the number of lines of a file."""
PHRASES_MAX = 16
"""Numbers of one text that are looked up where it only says in plain words what has them."""
TOLERANCE = 0.1
"""A number of lines is still true when it is off by less than this share of it."""
PLACES = frozenset(
    (
        *("pyproject.toml", "setup.cfg", "setup.py", "package.json", "go.mod", "Cargo.toml"),
        *(".nvmrc", ".python-version", ".node-version", ".tool-versions", ".ruby-version"),
        *("rust-toolchain", "rust-toolchain.toml", "composer.json", "Gemfile", "Dockerfile"),
        *("requirements.txt", "requirements-dev.txt", "constraints.txt", "Pipfile", "pubspec.yaml"),
        *("compose.yml", "compose.yaml", "docker-compose.yml", "docker-compose.yaml"),
        *("mise.toml", ".mise.toml", "pom.xml", "build.gradle", "build.gradle.kts", "global.json"),
        *(
            "gradle.properties",
            "Package.swift",
            "deno.json",
            "tsconfig.json",
            ".pre-commit-config.yaml",
        ),
    )
)
"""The names of files that say which versions are used."""
_UNIT_RATIOS = frozenset((60, 1000, 3600, 60_000, 3_600_000))
"""Milliseconds, seconds, minutes and hours: how many of one make one of another."""
_RENAMED_RATIOS = frozenset((7, 24, 168, 1440, 86_400, 604_800, 1024, 1024**2, 1000**2))
"""Days of weeks, hours, minutes and seconds of days and weeks, bytes of kilobytes, and so on."""
_ALSO_NAMED = {
    "java": r"(?:source|target)compatibility|java\.version|javaversion\.version_|languageversion"
    r"|maven\.compiler\.(?:source|target|release)|jvmtarget",
}
"""How the files of a build write the version of a thing without its name."""
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_VERSION_LINE = re.compile(r"\W{0,40}version\W{1,10}(\d+(?:\.\d+)*)")
_PLAIN = r"(-?\d[\d_,]{0,30}(?:\.\d{1,30})?)"
_GIVES = r"`?\s?(?:=|:|\(|is|are|of|defaults to|is set to)\s?`?"
_WORDS = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    "twelve",
)
_COUNTS = {word: str(count) for count, word in enumerate(_WORDS, 1)}
# A word is a number only when nothing but a file follows it: "one of them", "five times".
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_ALONE = r"(?=`?(?:[.;:,)!](?!\w)|\s*$| \(?in `?[\w./-]{1,120}\.\w))"
_WORD = rf"(?<=[\s(`])((?i:{'|'.join(_WORDS)})){_ALONE}"
_SAID = rf"(?:{_PLAIN}(?![\w%]|[.,]\w)|{_WORD})"
_ANOTHER = (
    r" ?(?:\"[^\"\n]{0,60}\"|'[^'\n]{0,60}'|-?\d[\w.]{0,30}(?<!\.))"
    r"(?=`?\)?(?:[.;:,)]| (?:and|or)\b|\s*$))"
)
"""A further value: `'a', 'b'` is one of two, and "5, 6 is too much" is five."""
_TYPE = r"[ \t]{0,20}:[ \t]{0,20}[\w.<>]{1,40}"
_GIVEN = rf"(?:[\"']?(?:{_TYPE}|[ \w]{{0,40}})[ \t]{{0,20}}(?::=|=|:)[ \t]{{0,20}}| )"
_FURTHER = (
    r"(?![ \t]{0,20},[ \t]{0,20}(?:-?\d[\w.]{0,30}|\"[^\"\n]{0,60}\"|'[^'\n]{0,60}')"
    r"[ \t]{0,20}(?:[,;#\r]|//|$))"
)
"""Behind the first of several values, `'a', 'b'`, which is none by itself; `"a": 1, "b": 2` is."""
_END = rf"(?=[ \t]{{0,20}}(?:[;,}}#\r]|//|--|$)){_FURTHER}"

_WITHIN = r"(?:`? \(?(?:in|of|from) `?[\w@./-]{1,120}`?\)?)?"
_OFTEN = r"(?:(?:always|now|currently) `?)?"
_TYPED = r"(?:(?! ?(?:and|or)\b)(?:[\w\[\]| ]|\.(?=\w)){1,40}`?[,;:] ?)?"
_BY_DEFAULT = rf"`?,? ?(?:[—–-] )?\(?`?{_TYPED}`?(?i:defaults?)(?: value)?(?: ?[:=]| is| to)? ?`?"
"""How a text says what a name has unless somebody sets it: "`limit` (int, default: 3)"."""
_TELLS = r"`?\s?(?:=|defaults to|is set to)\s?`?"
_LITERAL = r"(?i:true|false)|None|null|nil|\"[^\"\\\n]{0,60}\"|'[^'\\\n]{0,60}'"
_NO_MORE_OF_IT = r"(?=`?\)?(?:[`.;:,!\s]|$))"
_NO_OTHER = rf"(?!,?`?,? ?(?:\bor\b|[|/])|(?:,|(?<=,)){_ANOTHER})"
"""A name with one of several values has no stated value."""
_PHRASE = re.compile(
    r"(?<![\w.-])((?:[A-Za-z][A-Za-z-]{0,30} ){0,2}[A-Za-z]\w{2,40})"
    rf"{_GIVES}{_SAID}{_NO_OTHER}"
)
_STATED = re.compile(
    rf"{_WITHIN}(?:(?:{_BY_DEFAULT}|{_GIVES}{_OFTEN}){_SAID}"
    rf"|(?:{_BY_DEFAULT}|{_TELLS}{_OFTEN})({_LITERAL}){_NO_MORE_OF_IT}){_NO_OTHER}"
)
"""How a text goes on behind a name that it gives a number."""
_END_OF_SENTENCE = re.compile(r"[.!?]`?\)?(?=\s)\s*|\n\s*\n")
STATED_MAX = 64
"""Places at which one text may give one name a value; past that it is a table, and no claim."""
_SENTENCE_MAX = 400
"""Characters before and behind a value in which a condition is looked for."""
_WHERE = (
    r"if|unless|when|whenever|while|until|otherwise|else|except|in case"
    r"|in (?:the )?(?:tests?|ci|production|staging|development)"
)
_CONDITION = re.compile(rf"(?i)(?<![\w`-])(?:{_WHERE})(?![\w`-])")
"""Words that make a sentence conditional."""
_TOLD = re.compile(
    r"(?i)(?:^|[.!?:;,(>*+-]\s{0,3}|\d[.)]\s|\b(?:and|or|to|then|please|just|can|must|should|may)\s)"
    r"(?:set|export|pass|put|add|change|try)\s(?:the\s)?`?\Z"
)
"""Text before a name that the reader shall set: its current value is not stated."""
_OTHER_CASE = re.compile(r"(?i)\W{0,5}(?:otherwise|else|unless|if|when|except|but)\b")
"""Start of a sentence that states the other case."""


_NUMBER_OF_CODE = re.compile(
    r"(-?\d[\d_]{0,60}(?:\.\d{1,60})?)"  # Python converts no number of some thousand digits
    r"(?:[uUlLmM]{0,3}|[fFdD]|_?[iu](?:8|16|32|64|128|size)|_?f(?:32|64))"
)
_QUOTED = re.compile(r"""(["'])([^"'\\{}$#\n]*)\1""")
_TRUTHS = {"true": "true", "false": "false"}
NOTHING = "nothing"
"""The `literal` of an absent value in any language."""


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value that a text gives to a name: its position, and its plain form."""

    start: int
    end: int
    value: str


@dataclass(frozen=True, slots=True)
class Version:
    """A thing and its version in the text: ('Python', '3.11')."""

    thing: str
    version: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words with a number in a text, from all of them down to the last one alone."""

    wordings: tuple[str, ...]
    number: str


def line_counts(text: str) -> Iterator[int]:
    """Yield the line counts that the text states ("843 lines")."""
    if " lines" not in text and " LOC" not in text and " loc" not in text:
        return
    for found in _LINES.finditer(text):
        yield int(found.group(1).replace(",", ""))


def versions(text: str) -> Iterator[Version]:
    """Yield the versions that the text states ("Python 3.11+", "node@20")."""
    for found in _VERSION.finditer(text):
        if found.group(1).lower() not in _NO_THING:
            yield Version(found.group(1), found.group(2))


def version_at(text: str, thing: str) -> list[GivenValue]:
    """Return the position of a thing's version in a text."""
    every = (one for one in _VERSION.finditer(text) if one[1] == thing)
    return [GivenValue(*one.span(2), one[2]) for one in every]


def lines_in(text: str) -> int:
    """Return the number of line ends; a lone carriage return counts as one."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def lines_hold(count: int, now: int) -> bool:
    """Return whether a file of `now` lines has about `count` lines."""
    return abs(now - count) <= max(TOLERANCE * count, 3)


def version_in(path: str, text: str, thing: str) -> str | None:
    """Return the version that a file gives a thing: the first number on a line that names it.

    Without such a line, the version right below the name, as in global.json, in a TOML table, or
    after an artifactId. A file named for the thing (.nvmrc, .python-version) contains only its
    version.
    """
    thing = thing.lower().removesuffix(".js")
    own = path.rpartition("/")[2].lower().replace(".nvmrc", ".nvmrc of node")
    if thing in own and len(text) < 40:
        found = _NUMBER.search(text)
        return found.group() if found else None
    name = re.escape(thing)
    also = _ALSO_NAMED.get(thing)
    word = re.compile(rf"(?<![\w-]){name}(?!\w)|requires-{name}" + (f"|{also}" if also else ""))
    lines = text.lower().split("\n")
    for line in lines:
        named = word.search(line)
        number = _NUMBER.search(line, named.end()) if named else None
        if number:
            return number.group()
    alone = re.compile(rf"(?<![\w/-]){name}(?![\w/-])")
    for line, below in pairwise(lines):
        version = _VERSION_LINE.match(below) if alone.search(line) else None
        if version:
            return version.group(1)
    return None


def same_version(stated: str, found: str) -> bool:
    """Return whether one version is a prefix of the other: 3.11 and 3.11.4."""
    short, long = sorted((stated.split("."), found.split(".")), key=len)
    return long[: len(short)] == short


def stated_for(text: str, name: str) -> str | None:
    """Return the value that a text gives a name ("`LIMIT = 5`", "`limit` is five"), or None.

    A number, or the `literal` of another value ("`cache` (default: `True`)"). Conditional
    statements do not count.
    """
    found = {one.value for one in stated_at(text, name)}
    return found.pop() if len(found) == 1 else None


def stated_at(text: str, name: str) -> list[GivenValue]:
    """Return the positions of a name's value in a text; none when one is conditional.

    Also none with more than `STATED_MAX` positions. "Set `debug = True` to see more" is an
    instruction, not a statement.
    """
    found = list(islice(_stated(text, name), STATED_MAX + 1))
    conditional = any(is_conditional(text, start, one.end()) for start, one in found)
    if conditional or len(found) > STATED_MAX:
        return []
    given = []
    for start, one in found:
        if not _TOLD.search(text[max(0, start - 24) : start]):
            group = one.lastindex or 0
            begin, (digits, word, said) = one.start(group), one.groups()
            value = (literal(said) or said) if said else _number(digits or "", word or "")
            # Without the comma of the sentence.
            given.append(GivenValue(begin, begin + len(one[group].rstrip(",")), value))
    return given


def _stated(text: str, name: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the positions of a name that a text goes on to give a value, with the match.

    Compiling a pattern per name took longer than all other work on a text.
    """
    at = text.find(name)
    while at >= 0:
        whole = not at or re.match(r"[^\w.-]", text[at - 1]) is not None
        found = _STATED.match(text, at + len(name)) if whole else None
        if found is not None:
            yield at, found
        at = text.find(name, max(at + 1, found.end() if found is not None else 0))


def is_conditional(text: str, start: int, end: int) -> bool:
    """Return whether the sentence around a position is conditional, or the next one has an
    exception.

    A list below "if it is shut:" belongs to that sentence; text too far back is not read.
    """
    before, rest, more = _around(text, start, end)
    if _CONDITION.search(before) or _CONDITION.search(rest):
        return True
    return bool(more) and _OTHER_CASE.match(more[0]) is not None


def sentence_around(text: str, start: int, end: int) -> str:
    """Return the sentence around a position, without what stands there."""
    before, rest, _ = _around(text, start, end)
    return f"{before} {rest}"


def _around(text: str, start: int, end: int) -> tuple[str, str, list[str]]:
    """Return the sentence before a position, the rest of it, and what follows."""
    before = _END_OF_SENTENCE.split(text[max(0, start - _SENTENCE_MAX) : start])[-1]
    rest, *more = _END_OF_SENTENCE.split(text[end : end + _SENTENCE_MAX], maxsplit=1)
    return before, rest, more


def phrases(text: str) -> Iterator[Phrase]:
    """Yield the plain words that a text gives a number ("The retry limit is three.")."""
    for found in islice(_PHRASE.finditer(text), PHRASES_MAX):
        if is_conditional(text, found.end(1), found.end()):
            continue
        words = found.group(1).split()
        wordings = tuple(" ".join(words[start:]) for start in range(len(words)))
        yield Phrase(wordings, _number(found.group(2), found.group(3)))


def assigned(source: str, name: str) -> str | None:
    """Return the literal that a file assigns to a name, in any language, or None."""
    found = _given(source, re.escape(name), 0, f"{_PLAIN}|{_LITERAL}") if name in source else {}
    return found.get(name)


def meant_name(source: str, wording: str, number: str) -> str | None:
    """Return the one name in a file that matches a few words and has that number.

    `RETRY_LIMIT` and `retryLimit` match "retry limit".
    """
    words, lower = re.split("[ -]", wording), source.lower()
    if not all(word.lower() in lower for word in words):
        return None
    found = _given(source, "[_-]?".join(map(re.escape, words)), re.IGNORECASE, _PLAIN)
    return next(iter(found)) if list(found.values()) == [number] else None


def _given(source: str, name: str, flags: int, value: str) -> dict[str, str]:
    """Return the names of a pattern to which a file assigns exactly one value."""
    given = re.compile(
        rf"^[^=:(\n]{{0,200}}(?<![\w.-])({name}){_GIVEN}(?P<value>{value}){_END}",
        re.MULTILINE | flags,
    )
    found: dict[str, set[str]] = {}
    for said in given.finditer(source):
        found.setdefault(said[1], set()).add(literal(said["value"]) or plain(said["value"]))
    return {said: values.pop() for said, values in found.items() if len(values) == 1}


def literal(text: str) -> str | None:
    """Return the normal form of a literal across languages; None for an unknown one."""
    number = _NUMBER_OF_CODE.fullmatch(text)
    if number is not None:
        return plain(number.group(1))
    if text in {"None", "null", "nil", "undefined", "nullptr", "NULL"}:
        return NOTHING
    said = _QUOTED.fullmatch(text)
    if said is not None:
        return json.dumps(said.group(2), ensure_ascii=False)
    return _TRUTHS.get(text.lower())


def _number(digits: str, word: str) -> str:
    return plain(digits) if digits else _COUNTS[word.lower()]


def is_other_unit(old: str, new: str, *, may_be_renamed: bool = False) -> bool:
    """Return whether two numbers may be one time or size in two units.

    `may_be_renamed`: the code may name another unit now. Ratios of 7, 24 and 1024 count only then.
    """
    if not (old.isdecimal() and new.isdecimal()):
        return False
    less, more = sorted((int(old), int(new)))
    ratios = _UNIT_RATIOS | _RENAMED_RATIOS if may_be_renamed else _UNIT_RATIOS
    return less > 0 and more % less == 0 and more // less in ratios


def plain(number: str) -> str:
    """Return the normal form of a number: 30.0 is 30, and 1,000 is 1000."""
    plain = number.replace("_", "").rstrip(",")
    if _THOUSANDS.fullmatch(plain):
        plain = plain.replace(",", "")
    whole, point, rest = plain.partition(".")
    rest = rest.rstrip("0")
    return f"{whole}.{rest}" if point and rest else whole
