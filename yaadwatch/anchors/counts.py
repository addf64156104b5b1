"""Read counts and amounts from a text ("tried three times", "waits 30 s"), and weigh its words.

A word that stands in many places of the code identifies nothing; a rare one may name one thing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from yaadwatch.anchors.values import plain

COUNTS_MAX: Final = 16
"""Most numbers of one text; a text with more is a table."""
_ONES: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS: Final = (
    {word: at for at, word in enumerate(_ONES)}
    | {word: 10 * at for at, word in enumerate(_TENS, 2)}
    | {"once": 1, "twice": 2, "thrice": 3}
)
_ADVERBS: Final = frozenset(("once", "twice", "thrice"))
NUMBER: Final = re.compile(
    rf"(?i)(?<![\w./:#@$-])(?:(?P<digits>\d[\d_]{{0,12}}(?:,\d{{3}}){{0,3}}(?:\.\d{{1,6}})?)"
    rf"(?P<unit>ms|s|min|h)?(?![\w%]|[.:/-]\w)"
    rf"|(?P<tens>{'|'.join(_TENS)})-(?P<ones>{'|'.join(_ONES[1:10])})(?![\w-])"
    rf"|(?P<word>{'|'.join(_WORDS)})(?![\w-]|,? or\b| of\b))"
)
_NAMES_A_THING: Final = frozenset(
    (
        *("version", "v", "issue", "pr", "step", "section", "chapter", "page", "phase", "line"),
        *("lines", "rule", "rfc", "part", "level", "python", "node", "java", "go", "php", "ruby"),
    )
)
"""Words before a number that is a name, and counts nothing."""
_LEADS: Final = frozenset(
    (
        *("is", "are", "was", "be", "of", "to", "than", "at", "after", "every", "in", "by", "with"),
        *("for", "about", "most", "least", "exactly", "only", "has", "have", "and", "or", "from"),
        *("max", "maximum", "min", "minimum", "timeout", "limit", "waits", "wait", "retries"),
    )
)
"""Words after which a number alone is a count or a value."""
_RETURNS: Final = re.compile(
    r"(?<![\w.])([^\W\d][\w.:]{0,80}+)(?:\([^()`]*\))?[`*]*\s+(?:(?:always|just|only|simply)\s+)?returns"
    r"\s+(?:(?:always|just|only|exactly)\s+)?(?:the\s+)?(?:(?:number|value|constant)\s+)?[`*]*\Z"
)
"""What stands before a number that a function returns, with the name of that."""
_ENDS: Final = re.compile(r"[`*]*(?:\s*(?:\Z|[.,;:()]|\n\s*\n)|\s+(?:in|from|because|so|since)\b)")
_NO_NOUNS: Final = frozenset(
    ("of", "in", "on", "and", "or", "to", "is", "are", "for", "at", "from", "with", "by", "as")
)
_SENTENCE_END: Final = re.compile(r"[.!?;](?=\s)|\n\s*\n|\n\s*[-*+]\s")
_WORD_OR_NAME: Final = re.compile(r"[^\W\d_]+")
_NAME_OR_PATH: Final = re.compile(
    r"`[^`\s=:]{1,200}`|(?<![\w@.-])[\w@.-]*+/[\w@./-]*"
    r"|(?<![\w-])[\w-]++\.[A-Za-z]{1,5}\b|\b\w*[^\W_]_\w+|\b\w+\(\)"
)
"""What a sentence names: it says where a number is, and not what that counts."""
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENDINGS: Final = (
    *(("ies", "y"), ("ied", "y"), ("ying", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")),
    ("e", ""),
)
_KEPT_CHARS_MIN: Final = 3
_SAY_NOTHING: Final = frozenset(
    (
        *("the", "and", "for", "are", "all", "with", "from", "not", "new", "this", "that", "self"),
        *("def", "let", "const", "var", "int", "return", "public", "static", "void", "func", "fn"),
        *("class", "file", "code", "line", "use", "set", "get", "must", "every", "each", "per"),
        *("has", "have", "was", "one", "its", "only", "than", "most", "least", "after", "before"),
        *("function", "value", "number", "number", "type", "true", "false", "none", "null", "here"),
    )
)
_FAMILIES: Final = (
    frozenset(
        (
            *("try", "tries", "tried", "retry", "retries", "retried", "attempt", "attempts"),
            *("times", "twice", "thrice", "once", "repeat", "repeats", "range"),
        )
    ),
    frozenset(
        (
            *("second", "seconds", "sec", "secs", "s", "ms", "milliseconds", "millis", "minute"),
            *("minutes", "min", "mins", "hour", "hours", "h", "timeout", "wait", "waits", "sleep"),
            *("sleeps", "delay", "delays", "interval", "ttl", "expires", "expiry", "duration"),
            *("deadline", "backoff", "timedelta", "period", "pause", "pauses"),
        )
    ),
)
"""Words that mean the same kind of number, in a text and in code."""


@dataclass(frozen=True)
class Count:
    """A number in a text, and the words that say what it counts.

    Args:
        values: the plain forms it may have in code: 30 seconds may be 30 or 30000.
        sentence: the words before and after the number.
        extra: the number's unit, or the number itself where it is a word such as `twice`.
        returned_by: the name of what the text says returns this number; '' for none.
    """

    values: tuple[str, ...]
    sentence: str
    extra: tuple[str, ...]
    returned_by: str = ""

    @cached_property
    def subjects(self) -> frozenset[str]:
        """The stems of what it counts; computed on demand, because most numbers are in no code."""
        return subjects_of(_NAME_OR_PATH.sub(" ", self.sentence), self.extra)


def counts(text: str) -> Iterator[Count]:
    """Yield the numbers in a text with what they count, at most COUNTS_MAX."""
    for found in islice(NUMBER.finditer(text), COUNTS_MAX):
        start, end = found.span()
        before, after = text[:start], text[end:]
        gap = before[len(before.rstrip()) :]
        begins_line = gap == before or "\n" in gap
        if found["digits"] and begins_line and after[:1] in {".", ")"}:
            continue
        # A rate or a comparison is no number of the code: "three times a day", "3 times faster".
        rate = (
            r"(?i)\s*times\s+(?:an?|per|as|more|fewer|(?:fast|slow|larg|small|long|high|low)er)\b"
        )
        if _is_behind_a_sort(before) or re.match(rate, after):
            continue
        returned = _RETURNS.search(before[-200:]) if _ENDS.match(after) else None
        is_name = returned is None and _is_name(found, before, after)
        if _is_in_command(before, after) or is_name:
            continue
        sentence = _SENTENCE_END.split(before)[-1] + " "
        sentence += _SENTENCE_END.split(after, maxsplit=1)[0]
        unit = (found["unit"] or "").lower()
        word = (found["word"] or "").lower()
        extra = (unit,) if unit else (word,) if word in _ADVERBS else ()
        following = _WORD_OR_NAME.match(after.lstrip(" `"))
        unit = unit or (following.group().lower() if following else "")
        returned_by = returned[1] if returned is not None else ""
        yield Count(_forms(value_of(found), unit), sentence, extra, returned_by)


def numbers(text: str) -> frozenset[str]:
    """Return every number in a text that is not a name, in words or digits, in plain form."""
    every = NUMBER.finditer(text)
    return frozenset(value_of(one) for one in every if not _is_behind_a_sort(text[: one.start()]))


def subjects_of(text: str, words: tuple[str, ...] = ()) -> frozenset[str]:
    """Return the stems of a text's words and name parts, with their families."""
    parts = [part.lower() for part in _PARTS.findall(text)]
    every = {*parts, *words}
    stems = {_stem(one) for one in every if len(one) >= _KEPT_CHARS_MIN and one not in _SAY_NOTHING}
    families = {f"#{at}" for at, family in enumerate(_FAMILIES) if every & family}
    return frozenset((stems - _SAY_NOTHING) | families)


def _is_behind_a_sort(before: str) -> bool:
    """Return whether the text before a number makes it a name: "Python 3"."""
    last = re.search(r"(?<![\w./])([^\W\d_]+)[`*_]*\s+\Z", before[-24:])
    return last is not None and last[1].lower() in _NAMES_A_THING


def _is_in_command(before: str, after: str) -> bool:
    """Return whether a number is in a command in backticks: `run --num 5`."""
    line, rest = before.rpartition("\n")[2], after.partition("\n")[0]
    if line.count("`") % 2 == 0:
        return False
    return " " in (line.rpartition("`")[2] + rest.partition("`")[0]).strip()


def _is_name(found: re.Match[str], before: str, after: str) -> bool:
    """Return whether a number belongs to the word before it and counts nothing: "task 2 of 5"."""
    if found["unit"] or (found["word"] or "").lower() in _ADVERBS:
        return False
    following = re.match(r" ?`?([A-Za-z]+)", after)
    if following and following[1].lower() not in _NO_NOUNS:
        return False
    leading = re.search(r"(?<![A-Za-z])([A-Za-z]++) \Z", before)
    return leading is not None and leading[1].lower() not in _LEADS


def value_of(found: re.Match[str]) -> str:
    """Return the number that a match of NUMBER writes, in plain form."""
    if found["digits"]:
        return plain(found["digits"])
    if found["tens"]:
        return str(_WORDS[found["tens"].lower()] + _WORDS[found["ones"].lower()])
    return str(_WORDS[found["word"].lower()])


def in_words(number: int) -> str:
    """Return a number as a text writes it out; '' for 100 and more."""
    if number < len(_ONES):
        return _ONES[number]
    tens, ones = divmod(number, 10)
    if tens - 2 not in range(len(_TENS)):
        return ""
    return f"{_TENS[tens - 2]}-{_ONES[ones]}" if ones else _TENS[tens - 2]


def _forms(value: str, unit: str) -> tuple[str, ...]:
    """Return a number in the forms code may have; a time also in smaller units."""
    if not value.isdecimal():
        return (value,)
    number = int(value)
    if unit in {"s", "sec", "secs", "second", "seconds"}:
        return (value, str(number * 1000))
    if unit in {"min", "mins", "minute", "minutes"}:
        return (value, str(number * 60), str(number * 60_000))
    if unit in {"h", "hour", "hours"}:
        return (value, str(number * 3600), str(number * 3_600_000))
    return (value,)


def _stem(word: str) -> str:
    for ending, put in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(put) >= _KEPT_CHARS_MIN:
            return word[: -len(ending)] + put
    return word


CHARS_MIN = 4
PLAIN_CHARS_MIN = 5
"""Minimum length of a lower-case word: a short one is ambiguous."""
_PLAIN = re.compile(r"[a-z]+|[A-Z]?[a-z]+|[A-Z]+")
_EVERYWHERE = frozenset(
    re.findall(
        r"\S+",
        """
    about access action actions added after allow always append apply array assert async
    await badge based before begin being below between block board boolean bottom branch
    break bugfix build builds bundle button bytes cache cached call called calls cargo catch
    change changes changed check checks child chore class clean clear click client clone
    close code color column command commands comment commit common compile config configs
    const content context continue copy count create created current custom daemon data
    database debug default defaults define delete deploy describe details develop device dict
    diff directory disable display docker document docs does done down each edit empty enable
    enabled entry enum environment error errors event events every example examples except
    exec execute exist exit expect export extend extra fail failed false feature fetch field
    fields file files filter final find first fixture flag flags float folder follow force
    form format found from full function functions generate github given global group guide
    handle handler hash have head header headers hello help helper here hidden home host
    hotfix http https icon image import imports index info init input insert inside install
    instance int integer interface into issue item items iter join json just keep kind label
    language last later layer layout length level library like limit line lines link lint
    list load local lock logger logging login logs loop main make makefile manager many mark
    markdown match maybe merge message messages meta method methods minor mock mode model
    models module modules more most move much must name names need never next node none note
    notes null number object objects once only open option optional options order origin
    other output package packages page param params parent parse parser part pass password
    patch path paths pattern pending ping pipe platform please plugin plugins point port
    post prefix print private process program project projects prompt proper property public
    pull push python query queue quick raise range rather read ready reason record refactor
    reference refresh release releases remote remove render replace report repo repository
    request require required reset response rest result results return returns revert review
    right role root route router rule rules runner running runs rust safe same save schema
    scope script scripts search second section secret select self send separate server
    service services session set settings setup shell should show simple single size skip
    some source space spec split stage standard start state static status step steps stop
    storage store string struct style submit subset success suite super support sure sync
    syntax system table tables target task tasks team template templates term test tested
    testing tests text than that their them then there these they thing this those through
    time timeout title todo token tokens tool tools track tree trigger true type types typing
    unit unless until update updated updates upload usage user users using utils valid
    validate value values variable variables vendor verbose verify version versions view wait
    want warning watch what when where which while will window with within without word work
    worker workflow workspace write written yaml your zero
    """,
    )
)
"""Plain words common in all programs; one alone names nothing."""


def is_distinctive(word: str) -> bool:
    """Return whether `word` may identify one thing; a plain word only if it is uncommon."""
    bare = word.lstrip("-$")
    if len(bare) < CHARS_MIN:
        return False
    if word[0] == "-" or not _PLAIN.fullmatch(bare):
        return True
    return len(bare) >= PLAIN_CHARS_MIN and bare.lower() not in _EVERYWHERE
