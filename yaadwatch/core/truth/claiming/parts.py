"""What the forms of statements are made of: amounts, qualifiers, nouns; how they are compared."""

import re
from typing import Final

from yaadwatch.core.truth.claiming.words import SAME, UNITS

UNIT: Final = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
QUALIFIER: Final = (
    r"(?: (?P<where>(?:in|for|on|at|during|by) (?:the )?[\w./*-]+(?: [\w./*-]+){0,2}))?"
)
AMOUNT: Final = re.compile(rf"(?P<number>\d[\d,_]*(?:\.\d+)?) ?(?P<unit>{UNIT})?")
_ARTICLE = re.compile(r"^(?:the|a|an|our|its|their|this|that|my|your) ", re.IGNORECASE)


def without_article(words: str) -> str:
    """Return words without the article that they begin with."""
    return _ARTICLE.sub("", words, count=1)


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


def as_noun(words: str) -> str:
    """Return a noun as it is compared: lower case, one line, without articles and quotes."""
    text = stripped(words).lower()
    while article := _ARTICLE.match(text):
        text = text[article.end() :]
    return text


def stripped(words: str) -> str:
    """Return words in one line, without quotes and marks around them."""
    return " ".join(words.split()).strip(" `'\"*.,;:")


def qualified(subject: str, where: str | None) -> str:
    """Return a subject with what qualifies it: "project in go files"."""
    if not where:
        return subject
    return f"{subject} {' '.join(word for word in where.lower().split() if word != 'the')}"


def may_hold(text: str, words: tuple[str, ...]) -> bool:
    """Return whether one of these words is in a text; one that is not all ASCII may fold to it."""
    if not text.isascii():
        return True
    lowered = text.lower()
    return any(map(lowered.__contains__, words))
