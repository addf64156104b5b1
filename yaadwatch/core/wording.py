"""Compare the words of two texts, and recognise texts that try to steer agents."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from yaadwatch.core.quoting import as_name
from yaadwatch.core.text import normalise

PLACES_MAX: Final = 3
"""Places that a line names, the first."""

_LEADING: Final = re.compile(r"(?m)^\s*(?:(?:[-*+>]|#{1,6}|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)+")
"""Marks of list items, headings, quotations and tasks."""
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
_TAG: Final = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,15}\s*/?>|~~")
_EMPHASIS: Final = re.compile(r"[*`\"'“”‘’«»]+|(?<!\w)_+|_+(?!\w)")
_BLOB: Final = re.compile(
    r"[A-Za-z0-9+/]{40,}={0,2}|(?:\\x[0-9a-fA-F]{2}){8,}|(?:%[0-9a-fA-F]{2}){8,}"
)
_ADDRESSES: Final = re.compile(
    r"""
    \bignore[ ](?:\w+[ ]){0,4}(?:instruction|rule|prompt|message|warning|memor|previous|above)
  | \b(?:disregard|forget|override|bypass)[ ](?:\w+[ ]){0,3}
    (?:instruction|rule|prompt|polic|previous|above)
  | \b(?:always[ ])?(?:approve|accept|allow|confirm|trust)[ ](?:all|every|any|each|this|these)\b
  | \bwithout[ ](?:asking|confirmation|approval|review|telling)
  | \b(?:do[ ]not|don['’]t|never)[ ](?:tell|inform|mention|show|ask)[ ]
    (?:\w+[ ]){0,3}(?:user|person|human|anyone)
  | \b(?:you[ ](?:are|must|should|will|have[ ]to|may|can)|your[ ](?:task|job|role|instructions?))\b
  | \b(?:as[ ]an?[ ](?:ai|assistant|agent|llm|language[ ]model)|(?:ai|coding)[ ]agents?\b)
  | \b(?:system|developer|assistant|human|user|person)[ ]?(?:prompt|message|override|:)
  | </?[ ]?(?:system|user|assistant|human|instructions?|tool|function|admin)\b
  | \[/?(?:inst|system|sys)\] | <\|
  | \b(?:curl|wget|iwr|irm)\b[^\n]*\|\s*(?:\w+/)*(?:sudo[ ])?(?:ba|z|fi|da)?sh\b
  | \|\s*(?:sudo[ ])?(?:ba|z|da)?sh\b | \beval[ ]*["'(`$] | \bbase64[ ]+(?:-d|--decode|-D)\b
  | \bchmod[ ]\S*x | \brm[ ]-\w*[rf]\w* | --dangerously|--yolo|--no-verify\b|skip[ ]permissions
  | \b(?:send|post|upload|exfiltrat|leak|email)\w*[ ](?:\w+[ ]){0,5}
    (?:https?://|secret|token|credential|password|key)
    """,
    re.IGNORECASE | re.VERBOSE,
)


def words_hash(text: str) -> str:
    """Return 32 hex digits that are equal for texts that differ in nothing a reader would notice.

    Case, Markdown (marks of lists and headings, emphasis, links, tags), quotation marks, characters
    that cannot be seen, and marks at the end are left out; `core.text.text_hash` keeps them.
    """
    seen = text
    if not (text.isascii() and "".join(text.split()).isprintable()):
        seen = "".join(
            one
            for one in unicodedata.normalize("NFKC", text)
            if one.isspace() or unicodedata.category(one) not in ("Cf", "Cc", "Mn")
        )
    seen = _TAG.sub("", _LINK.sub(r"\1", _LEADING.sub("", seen)))
    words = normalise(" ".join(_EMPHASIS.sub("", seen).split())).casefold().rstrip(" .,;:!?…")
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def addresses_agents(text: str) -> bool:
    """Return whether a note reads as if it wants to steer its reader instead of stating a rule.

    Such a note stays quoted until a person approves it, whatever the settings open.
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).split())
    hidden = any(unicodedata.category(one) == "Cf" for one in text)
    return hidden or bool(_ADDRESSES.search(plain)) or bool(_BLOB.search(plain))


def said_where(places: Sequence[tuple[str, int]]) -> str:
    """Return where a person's own files say something, three places at most; '' for nowhere."""
    named = [f"in {as_name(path)}, line {line}" for path, line in places[:PLACES_MAX]]
    more = [f"in {len(places) - PLACES_MAX} more"] if len(places) > PLACES_MAX else []
    return " and ".join([*named, *more])
