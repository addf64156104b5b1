"""Which value does a verb tell? "The API times out after 30 s", "we keep 30 days of logs".

The attribute is named as a noun would name it, so that "the API timeout is 60 s" is about the same
thing. Who does something to what is part of the subject: the worker that polls a queue may poll a
mailbox at another pace.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from yaadwatch.core.truth.claiming.parts import (
    AMOUNT,
    NUMBER,
    QUALIFIER,
    UNIT,
    as_noun,
    qualified,
)
from yaadwatch.core.truth.claiming.words import (
    ANY_OF_MANY,
    EMPTY_WORDS,
    NAMED_VALUES,
    NO_NOUNS,
    ONE_OF,
    REPEATED,
    SHARED_LIMITS,
    UNITS,
)

PORT_MAX: Final = 65_535
Match = re.Match[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """`subject` has `value` as its `attribute`.

    `where`: what qualifies the subject; '' for nothing. `bare`: nobody is said to do it ("keep 30
    days of logs"), so whoever the statement stands under does. `vague`: nor to what, so that it
    says nothing by itself ("retry 3 times"). `open_words`: those of the sentence that are not of
    its form, and may hold a guess or a condition.
    """

    subject: str
    attribute: str
    value: str
    where: str
    bare: bool
    vague: bool
    open_words: str


def told(plain: str) -> Told | None:
    """Return the value that a sentence tells by its verb; None if none of the forms fits.

    Args:
        plain: a sentence without marks, lead and article.
    """
    # As `may_hold`, which would fold the sentence once for each form.
    folded = plain.lower() if plain.isascii() else None
    if folded is not None and not any(map(folded.__contains__, _WORDS)):
        return None
    for words, pattern, read in FORMS:
        if folded is not None and not any(map(folded.__contains__, words)):
            continue
        if found := pattern.fullmatch(plain):
            return _checked(found, read(found))
    return None


def tells_without_digit(words: list[str]) -> bool:
    """Return whether words may tell "every day" or "after an hour", or a default."""
    return "defaults" in words or (
        not ONE_OF.keys().isdisjoint(words) and not _TELLING_ONE.isdisjoint(words)
    )


_TELLING_ONE: Final = frozenset(
    ("out", "expire", "expires", "valid", "cached", "kept", "retained", "stored", *REPEATED)
)
_TIMES = "|".join(
    sorted((re.escape(unit) for unit, (base, _) in UNITS.items() if base == "ms"), key=len)[::-1]
)
_SPAN = rf"(?P<span>{NUMBER} ?(?:{_TIMES})|(?:an?|one) (?:minute|hour|day|week))"
_WHO = r"(?P<who>[A-Za-z_][\w./-]*(?: [\w./-]+){0,4})"
_WHAT = r"(?P<what>[A-Za-z_][\w./-]*(?: [\w./-]+){0,3})"
_HELPING = re.compile(
    r"(?:(?:^| )(?:must|should|shall|has to|have to|always|automatically|now|currently|is|are"
    r"|be))+$",
    re.IGNORECASE,
)
_MAY = re.compile(r"(?:^| )(?:must|should|may|can)$", re.IGNORECASE)
_RATE = (
    r"(?P<count>\d+(?:[,_]\d{3})*) (?P<things>[A-Za-z][\w-]*(?: [A-Za-z][\w-]*)?)"
    r" (?:per|an?) (?P<per>[A-Za-z][\w-]*(?: per [A-Za-z][\w-]*)?)"
)
_AT_MOST = r"(?:at most|no more than|a maximum of)"


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern + QUALIFIER, re.IGNORECASE)


_LASTS = _form(
    rf"{_WHO} (?P<verb>times? out|expires?|(?:is|are|stays?|remains?) valid"
    rf"|retry|retries|(?:is|are) retried|(?:is|are) (?:cached|kept|retained|stored))"
    rf" (?P<link>after|in|for) {_SPAN}(?P<idle> of (?:inactivity|idleness|idle time))?"
)
_REPEATS = _form(
    rf"(?:{_WHO} )?(?P<verb>{'|'.join(sorted(REPEATED, key=len, reverse=True))})"
    rf"(?: {_WHAT})?"
    rf" (?:every (?P<every>{NUMBER} ?(?:{_TIMES})|minute|hour|day|week)"
    r"|(?P<adverb>hourly|daily|nightly|weekly))"
)
_RETRIES = _form(
    rf"(?:{_WHO} )?(?P<verb>retry|retries|retried)(?: {_WHAT})?"
    r" (?P<count>\d{1,4}) times"
)
_KEEPS = _form(
    rf"(?:{_WHO} )?(?P<verb>keeps?|retains?|stores?)"
    rf" (?:the (?:last|past) )?(?P<span>{NUMBER} ?(?:{_TIMES})) of {_WHAT}"
)
_ALLOWS = _form(
    rf"(?:{_WHO} )?(?P<verb>{'|'.join(SHARED_LIMITS)}) "
    rf"{_AT_MOST} {_RATE}"
)
_IS_LIMITED = _form(
    rf"{_WHO} (?P<verb>is|are) (?:(?:rate[- ])?limited to|capped at|throttled to)"
    rf" (?:{_RATE}|(?P<amount>{NUMBER} ?(?:{UNIT})?))"
)
_DEFAULTS = _form(
    rf"{_WHO} (?P<verb>defaults) to (?P<value>{NUMBER} ?(?:{UNIT})?|[A-Za-z0-9][\w./+:-]*)"
)
_SETTING = _form(
    r"(?P<who>[A-Za-z]\w*_\w+) (?:is set to|(?:must|should|has to) be(?: set to)?"
    rf"|(?:must |should )?stays? at) (?P<amount>{NUMBER} ?(?:{UNIT})?)"
)
_ON_PORT = _form(
    rf"{_WHO} (?P<verb>(?:is|are) (?:available|exposed|published|served|reachable|bound)|listens?"
    rf"|runs?|binds?|serves?|starts?|answers?|(?:serves?|exposes?|publish(?:es)?) {_WHAT})"
    r" (?:on|at|to) (?:port (?P<port>\d{2,5})"
    r"|(?:http(?P<secure>s)?://)?(?P<host>localhost|127\.0\.0\.1|0\.0\.0\.0)?:(?P<host_port>\d{2,5})/?)"
)
_HAS = _form(
    rf"{_WHO} (?P<verb>has|have) an? (?:(?P<name>[a-z]+(?: [a-z]+)?) of"
    rf" (?P<amount>{NUMBER} ?(?:{UNIT})?)"
    rf"|(?P<first>{NUMBER}[ -]?(?:{UNIT})) (?P<noun>[a-z]+(?: [a-z]+)?))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What a form says: who does what is made one subject in front of `named`."""

    attribute: str
    value: str
    named: str = ""


def _checked(found: Match, read: _Read | None) -> Told | None:
    """Return what is told if who and what are nouns: a clause there makes it another sentence."""
    if read is None:
        return None
    groups = found.groupdict()
    who, what, where = groups.get("who") or "", groups.get("what") or "", found["where"] or ""
    verb, things = groups.get("verb") or "", groups.get("things") or ""
    helping = (_MAY if found.re is _ALLOWS else _HELPING).search(who)
    if helping:
        who = who[: helping.start()]
        verb = f"{helping[0].split()[-1]} {verb}"
    if verb.lower().endswith("ed") and not _PASSIVE.match(verb):  # "the job retried 3 times"
        return None
    if not (_is_noun(who) and _is_noun(what)) or as_noun(who) in ANY_OF_MANY:
        return None
    subject = " ".join(
        word for word in (_one(who, verb), _without_preposition(what), read.named) if word
    )
    if groups.get("host") in LOCAL:
        subject = qualified(subject, "on localhost")
    if groups.get("secure"):  # beside the port for plain HTTP, as a rule
        subject = qualified(subject, "over https")
    return Told(
        subject=subject,
        attribute=read.attribute,
        value=read.value,
        where=where,
        bare=not who,
        vague=not (who or what or things),
        open_words=" . ".join((who, what, where, things)),
    )


_PASSIVE: Final = re.compile(r"(?:is|are|be) ", re.IGNORECASE)
LOCAL: Final = ("localhost", "127.0.0.1")
"""Who listens there does so for whoever sits at that machine."""


def _is_noun(words: str) -> bool:
    """Return whether words, or none, are a noun: no verb, pronoun or article is within."""
    return NO_NOUNS.isdisjoint(as_noun(words).split())


def _one(words: str, verb: str) -> str:
    """Return the one of many: "sessions expire" and "the session expires" are about the same."""
    noun = as_noun(words)
    doing = verb.lower().split()
    if not doing or doing[0].endswith("s") or doing[0] == "has":
        return noun
    return _singular(noun)


def _singular(noun: str) -> str:
    if noun.endswith(("ss", "us", "is")) or not noun.endswith("s"):
        return noun
    if noun.endswith("ies") and not noun.endswith("cookies"):
        return noun[:-3] + "y"
    if noun.endswith(("sses", "shes", "xes", "tches", "nches")):
        return noun[:-2]
    return noun[:-1]


def _without_preposition(words: str) -> str:
    """Return what is done something to: "polls for new mail" is about new mail."""
    noun = as_noun(words)
    for word in ("for ", "from "):
        noun = noun.removeprefix(word)
    return _singular(as_noun(noun)) if noun else ""


def _span(words: str) -> str:
    """Return a span of time with its number: "an hour" is "1 hour"."""
    lowered = words.lower()
    return ONE_OF.get(lowered.rpartition(" ")[2], lowered) if not lowered[0].isdigit() else words


def _lasts(found: Match) -> _Read | None:
    verb, link, span = found["verb"].lower(), found["link"].lower(), found["span"]
    idle = "idle" if found["idle"] else ""
    value = _span(span)
    one = verb.endswith("s")
    verb = verb.split()[-1]
    if verb == "out" and link != "for":
        return _Read(attribute="timeout", value=value, named=idle)
    if verb.startswith("expire") and link != "for":
        # "The certificate expires in 30 days" counts down: tomorrow it is 29.
        counts_down = link == "in" and one and AMOUNT_OF_DAYS.search(value.lower())
        return None if counts_down else _Read(attribute="lifetime", value=value, named=idle)
    if idle:
        return None
    if verb == "valid" and link == "for":
        return _Read(attribute="lifetime", value=value)
    if verb.startswith("retr") and link == "after":
        return _Read(attribute="delay", value=value, named="retry")
    if verb == "cached" and link == "for":
        return _Read(attribute="ttl", value=value, named="cache")
    if verb in ("kept", "retained", "stored") and link == "for":
        return _Read(attribute="retention", value=value)
    return None


AMOUNT_OF_DAYS: Final = re.compile(r"(?:d|days?|w|weeks?)$")


def _repeats(found: Match) -> _Read | None:
    # "We poll the queue" and "the queue is polled" are the same.
    every = found["adverb"] or found["every"]
    return _Read(attribute="interval", value=_span(every), named=REPEATED[found["verb"].lower()])


def _retries(found: Match) -> _Read | None:
    return _Read(attribute="retries", value=found["count"])


def _keeps(found: Match) -> _Read | None:
    return _Read(attribute="retention", value=found["span"])


def _rate(found: Match, named: str) -> _Read:
    things = " ".join((found["things"] + " per " + found["per"]).lower().split())
    return _Read(attribute=things, value=found["count"], named=named)


def _allows(found: Match) -> _Read | None:
    return _rate(found, SHARED_LIMITS[found["verb"].lower()])


def _is_limited(found: Match) -> _Read | None:
    if found["count"]:
        return _rate(found, "")
    unit = AMOUNT.fullmatch(found["amount"].strip().lower())
    base = UNITS[unit["unit"]][0] if unit and unit["unit"] else ""
    size = found["who"].lower().endswith(" size")
    named, attribute = {"": ("", "limit"), "bytes": ("" if size else "size", "limit")}.get(
        base, ("", f"limit in {base}")
    )
    return _Read(attribute=attribute, value=found["amount"].strip(), named=named)


def _defaults(found: Match) -> _Read | None:
    value = found["value"].strip()
    return None if value.lower() in EMPTY_WORDS else _Read(attribute="default", value=value)


def _setting(found: Match) -> _Read | None:
    return _Read(attribute="value", value=found["amount"].strip())


def _on_port(found: Match) -> _Read | None:
    port = found["port"] or found["host_port"]
    return _Read(attribute="port", value=port) if int(port) <= PORT_MAX else None


def _has(found: Match) -> _Read | None:
    noun, amount = found["name"] or found["noun"], found["amount"] or found["first"]
    *before, name = noun.lower().split()
    if name not in NAMED_VALUES:
        return None
    return _Read(attribute=name, value=amount.replace("-", " ").strip(), named=" ".join(before))


_Reader = Callable[[Match], _Read | None]
FORMS: Final[tuple[tuple[tuple[str, ...], re.Pattern[str], _Reader], ...]] = (
    ((" out ", "expire", "valid ", "retr", "cached ", "kept ", "retained ", "stored "),
     _LASTS, _lasts),
    (("every ", *ONE_OF), _REPEATS, _repeats),
    (("retr",), _RETRIES, _retries),
    (("keep", "retain", "store"), _KEEPS, _keeps),
    (("at most ", "no more than ", "a maximum of "), _ALLOWS, _allows),
    (("limited to ", "capped at ", "throttled to "), _IS_LIMITED, _is_limited),
    (("defaults to ",), _DEFAULTS, _defaults),
    (("_",), _SETTING, _setting),
    (("port ", ":"), _ON_PORT, _on_port),
    ((" has a", " have a"), _HAS, _has),
)  # fmt: skip
"""Words of which each match in ASCII holds one, the form, and how it is read; the first decides."""
_WORDS: Final = tuple({word for words, _, _ in FORMS for word in words})
