"""Make claims comparable: extract them, normalise their values, and find contradicting pairs.

A claim says that a subject's attribute has a value. Callers pass claims; only one form of text
makes a claim by itself (`of_text`). Amounts are compared in their base unit, and nouns and
versions by their normal form. Pairs are found by comparing distinct values, not claims, because
thousands of memories may state one of two values.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, combinations, islice
from math import isclose
from typing import Final

from yaadwatch.model.memories import Claimed, Node, Stated


def _units() -> dict[str, tuple[str, float]]:
    table = (
        ("ms", 1, "ms millisecond milliseconds msec msecs"),
        ("ms", 1e3, "s sec secs second seconds"),
        ("ms", 6e4, "m min mins minute minutes"),
        ("ms", 3.6e6, "h hr hrs hour hours"),
        ("ms", 8.64e7, "d day days"),
        ("ms", 6.048e8, "w week weeks"),
        ("bytes", 1, "b byte bytes"),
        ("bytes", 1e3, "kb kilobyte kilobytes"),
        ("bytes", 1e6, "mb megabyte megabytes"),
        ("bytes", 1e9, "gb gigabyte gigabytes"),
        ("bytes", 1024, "kib"),
        ("bytes", 1024**2, "mib"),
        ("bytes", 1024**3, "gib"),
        ("percent", 1, "% percent"),
        ("characters", 1, "char chars character characters column columns"),
        ("spaces", 1, "space spaces"),
        ("times", 1, "time times attempt attempts try tries retry retries"),
        ("lines", 1, "line lines"),
        ("requests", 1, "request requests"),
        ("connections", 1, "connection connections"),
        ("items", 1, "item items entry entries row rows"),
        ("px", 1, "px pixel pixels"),
    )
    return {name: (base, factor) for base, factor, names in table for name in names.split()}


UNITS: Final = _units()
"""Unit to its base unit and factor."""
SAME: Final = {
    "postgres": "postgresql",
    "node.js": "node",
    "nodejs": "node",
    "tab": "tabs",
    "warn": "warning",
    "etc/utc": "utc",
    "gmt": "utc",
    **dict.fromkeys(("yes", "on", "enabled"), "true"),
    **dict.fromkeys(("no", "off", "disabled"), "false"),
}
"""Synonyms of values."""


UNIT: Final = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
# Not "1,5": it means 15 to some writers and one and a half to others.
NUMBER: Final = r"\d+(?:[,_]\d{3})*(?:\.\d+)?"
AMOUNT: Final = re.compile(rf"(?P<number>{NUMBER}) ?(?P<unit>{UNIT})?")
VERSION: Final = "version"
_FACTORS: Final = {
    base: {factor for other, factor in UNITS.values() if other == base}
    | ({100.0} if base == "percent" else set())  # 0.85 is 85 %
    for base, _ in UNITS.values()
}
_ARTICLE = re.compile(r"^(?:the|a|an|our|its|their|this|that|my|your) ", re.IGNORECASE)


def sense(value: str) -> str:
    """Return the normal form of a value: lower case, units in their base, no quotes."""
    text = stripped(value).lower()
    if amount := AMOUNT.fullmatch(text):
        number, unit = float(amount["number"].replace(",", "").replace("_", "")), amount["unit"]
        if not unit:
            return f"{number:g}" if number < 1e6 else repr(number).removesuffix(".0")
        base, factor = UNITS[unit]
        return f"{number * factor:.12g} {base}"
    return SAME.get(text, text)


def differ(attribute: str, one: str, other: str) -> bool:
    """Return whether two values of one attribute cannot both be right.

    Values that can both be right: a version and its beginning (3 and 3.11); a number without a unit
    and an amount with it ("the pool size is 20", "20 connections"; 30000 and 30 s); a unit and an
    amount of it (spaces, 4 spaces); amounts of different dimensions; and thousands of bytes counted
    as 1000 or 1024 (1 GB, 1024 MB).

    Args:
        attribute: the attribute of both values.
        one: a normalised value; see `sense`.
        other: another normalised value.
    """
    if one == other:
        return False
    if attribute == VERSION:
        return not f"{other}.".startswith(f"{one}.") and not f"{one}.".startswith(f"{other}.")
    mine, theirs = _amount(one), _amount(other)
    if mine is None or theirs is None:
        return not (_counted_in(one, theirs) or _counted_in(other, mine))
    (number, base), (other_number, other_base) = mine, theirs
    if base and other_base:
        return base == other_base and not _is_one(number, other_number, base)
    if not base and not other_base:
        return True
    bare, full, unit = (
        (number, other_number, other_base) if not base else (other_number, number, base)
    )
    return not any(_is_one(bare * factor, full, unit) for factor in _FACTORS[unit])


def _is_one(one: float, other: float, base: str) -> bool:
    """Return whether two numbers in one base may be meant as equal."""
    if base != "bytes" or not one or not other:
        return isclose(one, other)
    return any(isclose(max(one, other) / min(one, other), 1.024**power) for power in range(4))


def _amount(value: str) -> tuple[float, str] | None:
    """Return the number of a normalised value and its base unit, '' for none."""
    number, _, base = value.partition(" ")
    if not _A_NUMBER.fullmatch(number) or (base and base not in _FACTORS):
        return None
    return float(number), base


_A_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?:e[+-]\d+)?")


def _counted_in(word: str, amount: tuple[float, str] | None) -> bool:
    """Return whether a word is, or may be, the unit of an amount."""
    return amount is not None and word in UNITS and amount[1] in ("", UNITS[word][0])


def as_noun(words: str) -> str:
    """Return the normal form of a noun: lower case, one line, no articles or quotes."""
    text = stripped(words).lower()
    while article := _ARTICLE.match(text):
        text = text[article.end() :]
    return text


def stripped(words: str) -> str:
    """Return a text in one line, without surrounding quotes and punctuation."""
    return " ".join(words.split()).strip(" `'\"*.,;:")


def given_claim(*, subject: str, attribute: str, value: str, evidence: str = "") -> Claimed:
    """Return a claim in a caller's words, normalised; it is of no memory yet.

    Raises:
        ValueError: subject, attribute or value has no words.
    """
    plain = {"subject": as_noun(subject), "attribute": as_noun(attribute), "value": stripped(value)}
    for name, words in plain.items():
        if not words:
            raise ValueError(f"{name} must have words, got {words!r}")
    return Claimed(
        node="",
        source="",
        valid_from=datetime.min.replace(tzinfo=UTC),
        subject=plain["subject"],
        attribute=plain["attribute"],
        value=plain["value"],
        sense=_version_sense(value) if plain["attribute"] == VERSION else sense(value),
        evidence=evidence,
    )


def of_text(text: str) -> Claimed | None:
    """Return the claim of a text of the form "THING is AMOUNT", or None.

    "The API timeout is 30 seconds" gives `api` the `timeout` 30 seconds. "The timeout is 30 s"
    names no subject and makes no claim, nor does a longer sentence.
    """
    found = _IS_AMOUNT.fullmatch(text)
    subject, _, attribute = as_noun(found["thing"]).rpartition(" ") if found else ("", "", "")
    if found is None or not subject or not attribute[0].isalpha():
        return None
    return given_claim(subject=subject, attribute=attribute, value=found["value"], evidence=text)


HOLDS_IN: Final = "holds_in"
"""The attribute of a memory that says in which package it was stated."""


def folder_of_claim(node: Node) -> str:
    """Return the folder that a memory applies to; '' for the whole project."""
    said = node.attributes.get(HOLDS_IN)
    return said if isinstance(said, str) else place_of(node.origin)


def place_of(origin: str) -> str:
    """Return the folder that a statement from `origin` applies to: that of a nested agent file.

    Tool folders (`.github`, `.cursor/rules`) apply to their parent folder.
    """
    kind, _, path = origin.partition(":")
    if kind != "file":
        return ""
    folders = path.split("/")[:-1]
    hidden = next((at for at, name in enumerate(folders) if name.startswith(".")), len(folders))
    return "/".join(folders[:hidden])


def _version_sense(value: str) -> str:
    """Return the normal form of a version; 3.1 and 3.10 differ, 18.x and 18 are equal."""
    plain = stripped(value).lower()
    found = _A_VERSION.fullmatch(plain)
    return found["version"].removesuffix(".x").removesuffix(".*") if found else plain


_IS_AMOUNT = re.compile(
    rf"(?!(?:if|when|while|unless|once|until)\b)(?P<thing>[^\W\d_][\w ./-]{{2,60}}?) (?:is|are)"
    rf" (?P<value>{NUMBER} ?(?:{UNIT})?)\.?",
    re.IGNORECASE,
)
_A_VERSION = re.compile(r"v?(?P<version>\d+(?:\.\d+){0,3}(?:\.[x*])?)")


SENSES_MAX: Final = 64
"""Most values of one subject that are compared, the newest first."""
LOOKED_AT_MIN: Final = 20_000
LOOKED_AT_EACH: Final = 100
"""Most pairs examined per subject and per returned pair: there may be millions, hardly any of
them contradicting."""


def pairs(
    attribute: str,
    sides: Sequence[Stated],
    together: Callable[[Stated, Stated], bool],
    *,
    limit: int,
    of: str = "",
) -> list[tuple[int, int]]:
    """Return pairs of claims of two memories that cannot both be right, by number, sorted.

    Args:
        attribute: the attribute of all values.
        sides: all claims of one subject, by number.
        together: whether two claims were decided to be both right.
        limit: how many at most. Pairs with the first claim are never cut off.
        of: a memory whose pairs come first; without any, the result is empty.
    """
    own = [one for one in sides if of and one.node == of]
    others = [one for one in sides if not of or one.node != of]
    by_sense: dict[str, list[Stated]] = {}
    for one in (*own, *reversed(others)):
        by_sense.setdefault(one.sense, []).append(one)
    against = _against(attribute, list(by_sense)[:SENSES_MAX])

    def apart(ones: Iterable[Stated]) -> Iterator[tuple[Stated, Stated]]:
        for one in ones:
            for other in chain.from_iterable(map(by_sense.__getitem__, against.get(one.sense, ()))):
                yield one, other

    def clashing(ones: Iterable[Stated]) -> Iterator[tuple[int, int]]:
        for one, other in islice(apart(ones), max(LOOKED_AT_MIN, limit * LOOKED_AT_EACH)):
            if other.node != one.node and not together(one, other):
                yield min(one.claim, other.claim), max(one.claim, other.claim)

    found = set(islice(clashing(own), limit))
    if of and not found:
        return []
    for pair in clashing(others):
        if len(found) >= limit:
            break
        found.add(pair)
    return sorted(found)


def _against(attribute: str, senses: Sequence[str]) -> dict[str, list[str]]:
    """Return for each value those that cannot be right beside it."""
    against: dict[str, list[str]] = {sense: [] for sense in senses}
    for one, other in combinations(senses, 2):
        if differ(attribute, one, other):
            against[one].append(other)
            against[other].append(one)
    return against
