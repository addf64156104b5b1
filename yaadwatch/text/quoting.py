"""Render untrusted words as data, compare two texts, and recognise texts that steer agents.

One function for each place where untrusted words are written: `quoted` and `as_line` in Markdown
and plain text, `as_name` for names and values in our sentences, `author` for the source of a
statement. The name of a file may be a sentence, a heading, a tag, or a line of commands. An
unambiguous name is rendered as it is, any other in quotes.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from bridges.rules import AGENTS
from yaadwatch.model.memories import KINDS
from yaadwatch.model.projects import AGENT, IMPORT, Authority
from yaadwatch.text.words import normalise

NAME_CHARS_MAX: Final = 200
"""Of a longer name only the end is shown."""

_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]+"
)
_TAG: Final = re.compile(
    r"<(?=/|!--|\?|\||(?:system|user|assistant|human|developer|tool|function|instructions?|important"
    r"|admin|antml|invoke|parameter)\b)",
    re.IGNORECASE,
)
"""What closes a tag or opens a comment, and what opens a tag of those that agents obey."""
_STRUCTURE: Final = re.compile(r"(?:[#>*+|=~_-]|```|\[|\d{1,9}[.)](?=\s|$))")
"""What a list item may not begin with, or Markdown makes something else of it."""
_PLAIN_NAME: Final = re.compile(r"[\w./@+~:%^=()\[\]{}*$-]+")
_AGENTS: Final = frozenset(agent.name for agent in AGENTS)
_MARKUP: Final = str.maketrans("<>`", "‹›'")


def quoted(text: str) -> str:
    """Return `text` as data: one line in double quotes that it cannot end by itself.

    Characters that cannot be seen go, and so does what could close a tag around us, or load an
    image.
    """
    return '"' + as_line(text).replace('"', "'").replace("![", "! [") + '"'


def as_line(text: str) -> str:
    """Return `text` as one line without invisible characters or closing tags."""
    return _TAG.sub("< ", " ".join(_UNSEEN.sub(" ", text).split()))


def as_item(text: str) -> str:
    """Return a person's words as one list item, which Markdown reads as plain words."""
    line = as_line(text)
    if not _STRUCTURE.match(line):
        return line
    number = re.match(r"\d+", line)
    at = number.end() if number else 0
    return f"{line[:at]}\\{line[at:]}"


def as_name(name: str) -> str:
    """Render a path, or a value from a file, within a sentence of ours.

    A name with unusual characters is put in quotes, on one line, and without what opens a tag, a
    comment or code.
    """
    short = name if len(name) <= NAME_CHARS_MAX else "…" + name[-NAME_CHARS_MAX:]
    return short if _PLAIN_NAME.fullmatch(short) else quoted(short.translate(_MARKUP))


def as_kind(kind: str) -> str:
    """Render the kind of a memory: known kinds plain, kinds from a caller in quotes."""
    return kind if kind in KINDS else quoted(kind)


def as_names(names: Sequence[str], most: int) -> str:
    """Return the first `most` names, with `or` between them, and dots where there are more."""
    return " or ".join(map(as_name, names[:most])) + (" ..." if len(names) > most else "")


def author(whose: Authority) -> str:
    """Render the author of a statement, for a sentence: a person, an agent, a file, an import."""
    if whose.kind == AGENT:
        known = whose.name in _AGENTS
        return whose.name if known else f"agent {quoted(whose.name)}" if whose.name else "an agent"
    if whose.kind == IMPORT:
        return f"an import ({as_name(whose.name)})" if whose.name else "an import"
    return as_name(whose.name) if whose.name else "a person"


def day(at: datetime) -> str:
    """Return a day as people write it: 24 Nov 2026."""
    return f"{at.day} {at:%b %Y}"


PLACES_MAX: Final = 3
"""Places that a line names, the first."""

_ESCAPED: Final = re.compile(r"\\(?:u20[026][0-9a-f]|ufff[9ab]|U000e[0-9a-f]{4})")
"""Invisible characters as `privacy.kept` renders them."""
_LEADING: Final = re.compile(r"(?m)^[^\S\n]*(?:(?:[-*+>]|#{1,6}|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)+")
"""Marks of list items, headings, quotations and tasks."""
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
_HTML_TAG: Final = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,15}\s*/?>|~~")
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
    """Return 32 hex digits that are equal for texts that a reader would not distinguish.

    Case, Markdown (lists, headings, emphasis, links, tags), quotation marks, invisible characters
    and final punctuation are ignored; `words.text_hash` keeps them.
    """
    seen = text = _ESCAPED.sub("", text)
    if not (text.isascii() and "".join(text.split()).isprintable()):
        seen = "".join(
            one
            for one in unicodedata.normalize("NFKC", text)
            if one.isspace() or unicodedata.category(one) not in ("Cf", "Cc", "Mn")
        )
    seen = _HTML_TAG.sub("", _LINK.sub(r"\1", _LEADING.sub("", seen)))
    words = normalise(" ".join(_EMPHASIS.sub("", seen).split())).casefold().rstrip(" .,;:!?…")
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def addresses_agents(text: str) -> bool:
    """Return whether a note seems to steer its reader instead of stating a rule.

    Such a note stays quoted until a person approves it, whatever the settings open.
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).split())
    hidden = any(unicodedata.category(one) == "Cf" for one in text)
    return hidden or bool(_ADDRESSES.search(plain)) or bool(_BLOB.search(plain))


def places_in_words(places: Sequence[tuple[str, int]]) -> str:
    """Render the places of a statement in a person's own files, at most three; '' for none."""
    named = [f"in {as_name(path)}, line {line}" for path, line in places[:PLACES_MAX]]
    more = [f"in {len(places) - PLACES_MAX} more"] if len(places) > PLACES_MAX else []
    return " and ".join([*named, *more])
