"""How given values and subjects are compared: amounts in their base unit, nouns, versions."""

import re
from math import isclose
from typing import Final

from yaadwatch.core.truth.claiming.words import SAME, UNITS

UNIT: Final = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
# Not "1,5": whether that is 15 or a half more than 1 depends on who wrote it.
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
    """Return a value as it is compared: lower case, units in their base, no quotes."""
    text = stripped(value).lower()
    if amount := AMOUNT.fullmatch(text):
        number, unit = float(amount["number"].replace(",", "").replace("_", "")), amount["unit"]
        if not unit:
            return f"{number:g}" if number < 1e6 else repr(number).removesuffix(".0")
        base, factor = UNITS[unit]
        return f"{number * factor:.12g} {base}"
    return SAME.get(text, text)


def differ(attribute: str, one: str, other: str) -> bool:
    """Return whether two values of one attribute of one thing cannot both be right.

    A version that is the beginning of another (3 and 3.11) can. So can a number without a unit and
    an amount that it is in some unit ("the pool size is 20", "20 connections"; 30000 and 30 s), a
    unit and an amount of it (spaces, 4 spaces), amounts of what is not measured alike, and
    thousands of bytes that some count as 1000 and others as 1024 (1 GB, 1024 MB).

    Args:
        attribute: whose values they are.
        one: a value as it is compared; see `sense`.
        other: another one.
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
    """Return whether two numbers in one base may be meant to be the same."""
    if base != "bytes" or not one or not other:
        return isclose(one, other)
    return any(isclose(max(one, other) / min(one, other), 1.024**power) for power in range(4))


def _amount(value: str) -> tuple[float, str] | None:
    """Return the number of a value as it is compared, and the base it is in, '' for none."""
    number, _, base = value.partition(" ")
    if not _A_NUMBER.fullmatch(number) or (base and base not in _FACTORS):
        return None
    return float(number), base


_A_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?:e[+-]\d+)?")


def _counted_in(word: str, amount: tuple[float, str] | None) -> bool:
    """Return whether a word is the unit of an amount, or can be: the amount has none."""
    return amount is not None and word in UNITS and amount[1] in ("", UNITS[word][0])


def as_noun(words: str) -> str:
    """Return a noun as it is compared: lower case, one line, without articles and quotes."""
    text = stripped(words).lower()
    while article := _ARTICLE.match(text):
        text = text[article.end() :]
    return text


def stripped(words: str) -> str:
    """Return words in one line, without quotes and marks around them."""
    return " ".join(words.split()).strip(" `'\"*.,;:")
