"""What do two texts have in common? And: a text in one line, its identifiers split, its tokens."""

import hashlib
import re
import unicodedata
from typing import Final

SUMMARY_CHARS_MAX: Final = 160

_LIST_MARKER = re.compile(r"(?:[-*+•]|\d{1,3}[.)]) ")
_HEADING_MARK = re.compile(r"#{1,6} ")
_BLOCK_END = re.compile(r"\n[^\S\n]*\n|\n(?=[^\S\n]*(?:[-*+•]|#{1,6}|\d{1,3}[.)])\s)")
_SENTENCE_END = re.compile(r"[.!?][\"'`)\]*_]*(?=\s)|[。！？]")
_ABBREVIATION = re.compile(r"(?<![\w.])(?:e\.g|i\.e|etc|vs|cf|approx|no|[A-Z])\.$", re.IGNORECASE)
_SENTENCE_DOTS = (1, 4)

_WORD = re.compile(r"[^\W_]+")
# The plural of an acronym stays whole (`APIs`); digits belong to letters beside them (`v2`, `2FA`).
_PART = re.compile(
    r"[A-Z]{2,}s(?![^\W_])|\d*[A-Z]+\d*(?![^\W\d_A-Z])|(?:[A-Z]|\d+)?[^\W\d_A-Z][^\W_A-Z]*|\d+|[A-Z]"
)

# A word in ASCII has several parts only where a capital stands inside, or before a digit.
_INSIDE = re.compile(r"[^\W_][A-Z]|[A-Z][0-9]|[^\x00-\x7f]")

_TOKENS = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<number>\d+)|(?P<other>[^\W\d_]+)|(?P<mark>[^\w\s]+|_+)|(?P<line>\n\s*)"
)


def normalise(text: str) -> str:
    """Return what two texts that say the same have in common.

    Unicode is composed (NFC), white space collapsed, list markers in front and full stops at the
    end are dropped. One that is a word (`eslint .`) or belongs to a path (`./...`, `src/..`) stays.
    Case is kept: `Token` and `token` may be two things. Doing it twice changes nothing.

    To change this takes a step of the schema: hashes of texts are stored.
    """
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    while marker := _LIST_MARKER.match(plain):
        plain = plain[marker.end() :]
    bare = plain.rstrip(" .")
    if not plain.endswith((" .", " ..", " ...", "/.", "/..", "/...", "....")) or not bare:
        return bare
    word = plain.rpartition(" ")[2]
    head = word.rstrip(".")
    if not head:
        return plain
    if not head.endswith("/"):
        return bare
    # Behind a path, one full stop is that of the sentence, and so is the fourth.
    return plain[:-1] if len(word) - len(head) in _SENTENCE_DOTS else plain


def text_hash(text: str) -> str:
    """Return 32 hex digits that are equal for texts which say the same.

    They are half of the SHA-256 of the normalised text: 128 bits tell texts apart as well.
    """
    return hashlib.sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def summarise(text: str) -> str:
    """Return the first sentence of `text` in one line of at most 160 characters.

    A longer sentence ends after a whole word with `…`; only a first word longer than the line is
    cut.
    """
    blocks = (" ".join(block.split()) for block in _BLOCK_END.split(text))
    line = next((block for block in blocks if block), "")
    while marker := _LIST_MARKER.match(line) or _HEADING_MARK.match(line):
        line = line[marker.end() :]
    for end in _SENTENCE_END.finditer(line, 0, SUMMARY_CHARS_MAX + 1):
        start = max(0, end.end() - 8)
        if not _ABBREVIATION.search(line, start, end.end()):
            return line[: end.end()].strip()
    if len(line) <= SUMMARY_CHARS_MAX:
        return line
    whole_words = line[:SUMMARY_CHARS_MAX].rpartition(" ")[0]
    return (whole_words or line[: SUMMARY_CHARS_MAX - 1]) + "…"


def subtokens(text: str) -> str:
    """Return the parts of the identifiers in `text` that change case inside: `getUserName`.

    The full-text index splits at underscores, slashes and dots by itself; a change of case is what
    it cannot see. Parts are in lower case and in their order, so that a phrase finds them.
    """
    if _INSIDE.search(text) is None:
        return ""
    words = dict.fromkeys(_WORD.findall(text))
    return " ".join(
        " ".join(parts)
        for word in words
        if not _is_plain(word) and len(parts := case_parts(word)) > 1
    )


def _is_plain(word: str) -> bool:
    """Return whether a word is one part: small letters only, its first one aside."""
    return word.isascii() and word.isalpha() and word[1:].islower()


def case_parts(word: str) -> list[str]:
    """Return `word` split where its case changes, lower case: `HTTPServer` is `http`, `server`."""
    return [part.lower() for part in _PART.findall(word)]


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a language model reads in `text`; rather too many than too few.

    Words, numbers and marks are counted as the tokenizers of today cut them, plus 10 percent: on
    notes, chats and source the sum is 14 percent too high in the mean, and one text in a hundred
    is a fifth too low.
    """
    tokens = 0.0
    for found in _TOKENS.finditer(text):
        length = found.end() - found.start()
        match found.lastgroup:
            case "word":
                tokens += 1 + max(0, length - 8) / 4
            case "number":
                tokens += -(-length // 3)
            case "other":
                tokens += max(1.0, length * 0.6)
            case "mark":
                tokens += 1 + max(0, length - 2) * 0.3
            case _:
                tokens += 1
    return round(tokens * 1.1 + 0.5) if tokens else 0
