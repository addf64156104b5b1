"""Does a statement say what another one says, and go on? Words alone decide.

A statement refines another one when it says all of it, in the same order, and then explains: a
reason, a place, another case. One thing in the place of another (`Go files`, `Makefiles`), another
number, another name, a `not`, a narrower case make it a statement about something else, however
alike the two read. To keep two that could be one costs a line; to make one of two loses a memory.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from yaadwatch.core.ingest.lettering import folded, is_shouted
from yaadwatch.core.text_cache import kept

_KEPT_WORDS: Final = 4096
_KEPT_NUMBERS: Final = 16
_KEPT_CHARS_MAX: Final = 40
"""Of so many words, none longer, the plain form is kept: texts use the same ones again."""

REFINES: Final = "refines"
"""The new statement says all that the old one says; what it has beyond that explains it."""
WITHIN: Final = "within"
"""The old statement says all that the new one says, and explains it."""
APART: Final = "apart"

JACCARD_MIN: Final = 0.25
"""Words that both have, as a part of all words of the two."""
SHARED_MIN: Final = 3
"""Telling words that both must have: with fewer, the rest can mean anything."""
WORDS_MAX: Final = 200
"""Longer statements are documents; they are never taken for one another."""

# No pattern may look at a character again and again: a text may be 64,000 characters of anything.
_WORD = re.compile(
    r"""
    (?P<code>`[^`\n]{1,200}`)
  | (?P<path>(?:(?<![\w.@~+-])[~.@\w+-]{1,80})?(?:/[\w.@+*\[\]{}()-]{1,80}){1,40}/?)
  | (?P<word>[^\W_][\w$]*(?:[.'’+#-][\w$]+)*(?:\+\+|[#%])?|_+\w[\w$]*)
  | (?P<flag>(?<!\w)--?(?=\w)|(?<=\s)\#+|::|(?<![\w.)\]])\.(?=\w)|(?<!\S)["'](?!\S))
  | (?P<mark>[,;:.!?()–—]|--?(?=\s)|[=<>≤≥≠!+*&|^~%@$\\/\[\]{}]+)
    """,
    re.VERBOSE,
)

_NAME = re.compile(r"[\d_.$+#]|(?<=\w)[A-ZÀ-ÖØ-Þ]")
"""A number, or a name, of which every letter counts: HTTP, getUser, node.js."""

# These may be there or not, and nothing else is said.
_SOFT: Final = frozenset(
    re.findall(
        r"\S+",
        """
    a an the this that these those it its is are be been being am do does has have having
    will shall should must please always just simply really very quite also too we i you
    our your my us then there here so now currently generally
    normally usually basically actually
    """,
    )
)
# These tell nothing of what a statement is about, and yet it is another one with them: it was so
# once, it might be, or it is so of somebody else.
_ASIDE: Final = frozenset(("did", "had", "would", "they", "them", "their", "theirs"))
# What turns a statement round, narrows it, or says that it was so once; `n't` besides.
_TURNS: Final = frozenset(
    re.findall(
        r"\S+",
        """
    not no never none nor neither without avoid instead rather unlike cannot or if when while
    whenever once either may might can could sometimes some half most few
    less more fewer before after during
    """,
    )
)
_REVERSES: Final = frozenset(
    re.findall(
        r"\S+",
        """
    except unless only but however although though until till anymore longer stop used formerly
    previously was were deprecated removed obsolete despite yet disabled forbidden excluding wrong
    """,
    )
)
# Behind these a statement is explained, or goes on.
_OPENERS: Final = frozenset(
    re.findall(
        r"\S+",
        """
    so which and plus see hence therefore thus namely e.g i.e
    """,
    )
)
_REASONS: Final = frozenset(("because", "since", "as", "otherwise"))
_MEANS: Final = frozenset(("by", "using", "via"))
_MARKS: Final = frozenset(",;:.()–—-")
_CONTRASTS: Final = frozenset(",:")
"""Behind these, `not` is about something else: `with jose, not jsonwebtoken`."""
_SENTENCE_ENDS: Final = frozenset(".;")
_PLACES: Final = frozenset(("in", "at", "under", "inside", "from"))
# Behind these stands where, when or for what a statement holds.
_NARROWING: Final = frozenset(
    re.findall(
        r"\S+",
        """
    in on at under inside within for from with of to during per across between among through over
    """,
    )
)
_LETTERS: Final = frozenset("AaIi")
"""Of all letters, only these are words."""
# Words that say how a statement is meant, and name nothing: in capitals they are only louder.
_SMALL_WORDS: Final = (
    _SOFT | _ASIDE | _TURNS | _REVERSES | _OPENERS | _NARROWING | frozenset((*_REASONS, *_MEANS))
)
# These end like a plural, and are other words without it.
_WHOLE: Final = frozenset(
    re.findall(
        r"\S+",
        """
    https ftps imaps smtps pops ldaps amqps mqtts news lens goods customs arms means
    """,
    )
)


class _Word(NamedTuple):
    """A telling word in its plain form.

    `opener`: the mark or the word that opened a clause there, '' when nothing did.
    """

    form: str
    is_path: bool
    opener: str


@dataclass(frozen=True, slots=True)
class Said:
    """A statement as it is compared: its telling words, in their order."""

    words: tuple[_Word, ...]

    @property
    def forms(self) -> tuple[str, ...]:
        """Return the plain forms of the words."""
        return tuple(word.form for word in self.words)


def said(text: str) -> Said:
    """Return a statement as it is compared with others; of a document, the first 201 words."""
    return Said(tuple(islice(_words(text), WORDS_MAX + 1)))


def beginning(text: str) -> tuple[str, ...]:
    """Return the first three telling words, which a statement shares with all that it may refine.

    Empty when there are too few for any.
    """
    found: dict[str, None] = {}
    for word in islice(_words(text), WORDS_MAX + 1):
        if _tells(word.form):
            found[_quiet(word.form)] = None
            if len(found) == SHARED_MIN:
                return tuple(found)
    return ()


@kept(_KEPT_NUMBERS)  # of a statement it is asked for when it is compared, and when it is stored
def number(text: str) -> int:
    """Return a number that few other statements have: 1 to 2**32 - 1, and 0 of an empty one.

    Statements that share their beginning share it, whatever is in capitals; and of those that are
    too short for one, the ones that say the same. Stores keep it: another way to make it needs a
    step of the schema.
    """
    parts = beginning(text) or ("", folded(text))
    if not parts[-1]:
        return 0
    return zlib.crc32("\0".join(parts).encode("utf-8", "surrogatepass")) or 1


def _quiet(form: str) -> str:
    """Return a telling word as it would be in small letters, if its capitals may mean nothing."""
    return _made_plain(form.lower())[0] if is_shouted(form) else form


def _words(text: str) -> Iterator[_Word]:
    """Yield the telling words of a text, in their order."""
    opener = ""
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    for found in _WORD.finditer(composed):
        raw, sort = found.group(), found.lastgroup
        if sort == "mark" and raw[0] in _MARKS:
            opener = raw
            continue
        if sort in ("mark", "flag"):
            yield _Word(raw, is_path=False, opener=opener)
            opener = ""
            continue
        is_path = sort == "path" or (sort == "code" and "/" in raw)
        if sort == "word":
            plain, opens = _plain(raw) if len(raw) <= _KEPT_CHARS_MAX else _made_plain(raw)
            if not plain:
                opener = opener or opens
                continue
        else:
            plain = raw.strip("`").rstrip(".,")
        yield _Word(plain, is_path=is_path, opener=opener)
        opener = ""


def _made_plain(raw: str) -> tuple[str, str]:
    """Return the plain form of a word; '' and what it opens where it says nothing by itself."""
    plain = raw.rstrip(".,")
    if len(plain) == 1 and plain not in _LETTERS:
        return plain, ""
    if _NAME.search(plain) and not _is_loud(plain):
        return plain, ""
    plain = plain.lower().replace("’", "'")
    if plain in _OPENERS or plain in _SOFT:
        return "", plain if plain in _OPENERS else ""
    return _singular(plain), ""


def _is_loud(word: str) -> bool:
    """Return whether a word in capitals is one of those that are loud, not names: NEVER, DON'T."""
    return is_shouted(word) and (
        (small := word.lower().replace("’", "'")) in _SMALL_WORDS or small.endswith("n't")
    )


_plain: Final = kept(_KEPT_WORDS)(_made_plain)


def compare(new: Said, old: Said) -> str:
    """Return REFINES, WITHIN or APART for a statement and one that is known.

    Two with the same telling words in the same order are REFINES: the newer wording counts.
    """
    if max(len(new.words), len(old.words)) > WORDS_MAX or jaccard(new, old) < JACCARD_MIN:
        return APART
    if _goes_on(new, old):
        return REFINES
    return WITHIN if _goes_on(old, new) else APART


def compare_with(new: Said, text: str) -> str:
    """Return `compare(new, said(text))`; most texts are known to be APART by their first words."""
    for word, known in zip(_words(text), new.words, strict=False):
        if word.form != known.form:
            return APART  # of two that are not, one begins with all words of the other one
    return compare(new, said(text))


def jaccard(one: Said, other: Said) -> float:
    """Return which part of the words of two statements both have, 0.0 to 1.0."""
    mine, others = set(one.forms), set(other.forms)
    return len(mine & others) / len(mine | others) if mine | others else 0.0


def _goes_on(longer: Said, shorter: Said) -> bool:
    """Return whether one statement says all of the other one first, and then explains it."""
    count = len(shorter.words)
    telling = {_quiet(form) for form in shorter.forms if _tells(form)}
    if len(telling) < SHARED_MIN or longer.forms[:count] != shorter.forms:
        return False
    tail = longer.words[count:]
    return not tail or _explains(tail, shorter)


def _explains(tail: Sequence[_Word], shorter: Said) -> bool:
    """Return whether words behind a statement add to it, and do not say where or when it holds."""
    first = tail[0]
    reason = first.form in _REASONS
    contrast = first.opener in _CONTRASTS
    if not reason and any(_turns(word.form, contrast=contrast) for word in tail):
        return False
    if first.form in _TURNS and len(tail) > 1 and tail[1].form in _NARROWING:
        return False
    if first.form in _NARROWING:
        at_path = len(tail) > 1 and tail[1].is_path and first.form in _PLACES
        if at_path and not any(word.is_path for word in shorter.words):
            return True
        return first.opener in _SENTENCE_ENDS
    return bool(first.opener) or reason or first.form in _MEANS


def _turns(form: str, *, contrast: bool) -> bool:
    """Return whether a word takes back what was said before; a plain `not` may be a contrast."""
    return form in _REVERSES or (not contrast and (form in _TURNS or form.endswith("n't")))


def _tells(form: str) -> bool:
    """Return whether a word tells what a statement is about."""
    return (
        form not in _NARROWING
        and form not in _ASIDE
        and form not in _TURNS
        and form not in _MEANS
        and (form.isalnum() or any(char.isalnum() for char in form))
    )


def _singular(word: str) -> str:
    """Return a word without the ending of a plural, or of the third person."""
    word = word.removesuffix("'s")
    if word in _WHOLE:
        return word
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
