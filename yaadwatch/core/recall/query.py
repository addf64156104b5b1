"""What does a question look for? An expression for the full-text index.

Measured on questions about commits and chats: an implicit AND finds nothing for nearly every
natural question, so words are joined by OR and the ranking decides. `my` and `not` carry meaning
and are no stop words: whose thing it is, and what must not be done.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from yaadwatch.core import cjk
from yaadwatch.core.text import case_parts


def question_form(question: str) -> str:
    """Return the words of a question that carry meaning: lower case, each once, sorted.

    "How do we deploy?" and "how to deploy" have the same. A question of stop words has all of them;
    one without words has ''.
    """
    every = {unicodedata.normalize("NFKC", word).casefold() for word in words(question)}
    return " ".join(sorted(every - STOP_WORDS) or sorted(every))


TERMS_MAX: Final = 200
"""Terms of one expression; a longer question is a document."""

STOP_WORDS: Final = frozenset(
    (
        *("a", "an", "the", "this", "that", "these", "those", "here", "there"),
        *("and", "or", "but", "if", "then", "than", "so", "as", "just", "too", "very", "again"),
        *(
            "of",
            "at",
            "by",
            "for",
            "with",
            "about",
            "to",
            "from",
            "in",
            "into",
            "on",
            "onto",
            "off",
        ),
        *("over", "under", "up", "down", "out", "once"),
        *("i", "me", "we", "us", "our", "you", "your", "he", "she", "it", "its", "they", "them"),
        *("their", "what", "which", "who", "whom", "whose", "when", "where", "why", "how"),
        *("is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "doing"),
        *("has", "have", "had", "having", "can", "could", "should", "would", "will", "shall"),
        *("may", "might", "must", "no", "nor", "all", "any", "both", "each", "few", "more", "most"),
        *("other", "some", "such", "only", "own", "same"),
    )
)

PALE: Final = frozenset(
    (
        *("use", "used", "using", "get", "gets", "getting", "run", "make", "need", "want"),
        *("work", "works", "happens"),
    )
)
"""Words that say more of how somebody asks than of what: they count half beside others."""
_PARTICLES: Final = frozenset(
    ("up", "in", "out", "on", "off", "down", "over", "back", "through", "around", "by")
)

_PHRASE = re.compile(r'"([^"]*)"|“([^“”]*)”')
# What the index takes for a token; it splits the rest away.
_WORD = re.compile(r"[^\W_]+")


def words(query: str) -> list[str]:
    """Return the words of `query` in their order, stop words too.

    Of Chinese, Japanese and Korean every two letters side by side are a word.
    """
    if query.isascii():
        return _WORD.findall(query)
    found: list[str] = []
    for word in _WORD.findall(cjk.apart(unicodedata.normalize("NFC", query))):
        found += cjk.bigrams(word) if cjk.is_cjk(word) else [word]
    return found


def telling(query: str) -> list[str]:
    """Return the words of `query` that say what it is about, in lower case, each once.

    Stop words are among them only when there is nothing else.
    """
    lowered = [word.lower() for word in words(query)]
    return list(dict.fromkeys(word for word in lowered if not _is_stop(word))) or list(
        dict.fromkeys(lowered)
    )


def terms(query: str) -> list[str]:
    """Return what the index is searched for, each once: words in lower case, and phrases.

    Stop words are out (unless there is nothing else). What stands in double quotes is a phrase. An
    identifier is also searched in its parts: `getUserName` finds `get_user_name`.
    """
    found: dict[str, None] = dict.fromkeys(phrases(query))
    loose = words(_PHRASE.sub(" ", query))
    saying = [word for word in loose if not _is_stop(word.lower())]
    for word in saying or ([] if found else loose):
        found[_term(word.lower())] = None
        if not cjk.is_cjk(word):
            found[" ".join(case_parts(word))] = None
    return list(found)[:TERMS_MAX]


def phrases(query: str) -> dict[str, list[str]]:
    """Return what stands in double quotes, in lower case, and the telling words of each."""
    found: dict[str, list[str]] = {}
    for quoted in _PHRASE.finditer(query):
        said = quoted[1] or quoted[2] or ""
        phrase = " ".join(_WORD.findall(cjk.spaced(unicodedata.normalize("NFC", said))))
        if phrase:
            found[phrase.lower()] = [_term(word) for word in telling(said)]
    return found


def _is_stop(word: str) -> bool:
    return word in STOP_WORDS or cjk.is_hiragana(word)


def _term(word: str) -> str:
    """Return a word as the index has it: each letter of Chinese, Japanese and Korean by itself."""
    return " ".join(word) if cjk.is_cjk(word) else word


def joined(query: str) -> list[str]:
    """Return the words that a word of `query` and a particle make: `back up` may be a `backup`."""
    lowered = [word.lower() for word in words(query)]
    return [
        f"{word}{particle}"
        for word, particle in pairwise(lowered)
        if particle in _PARTICLES and word not in STOP_WORDS and word.isalpha()
    ]


def expression(sought: Iterable[str]) -> str | None:
    """Return the FTS5 expression that finds any of these terms, or None when there is none.

    Each is words without marks, as `terms` and `synonyms` have them.
    """
    return " OR ".join(f'"{term}"' for term in sought) or None


def match_expression(query: str) -> str | None:
    """Return the FTS5 expression for `query`, or None when there is nothing to search for."""
    return expression(terms(query))
