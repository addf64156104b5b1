"""Compare statements: equal but for emphasis, or nearly the same words.

`folded` decides whether two statements are the same. It drops capitals where they can only be
emphasis or the beginning of a sentence. Code, quotations, a word with an inner capital, digit or
mark, and a word that the text calls a name (`the PATH variable`) keep every letter: `Foo` and `foo`
are two things. Where it is not certain the capitals stay, and both texts are kept.

Also finds the living memory that a statement repeats, by its key or by its words.
"""

import re
import zlib
from collections.abc import Container, Sequence
from typing import Final

from yaadwatch.db import anchors, nodes
from yaadwatch.db.files import Connection
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.memories import Node, canonical_kind
from yaadwatch.remember.drafts import Draft, Match
from yaadwatch.text.words import cached, normalise

OVERLAP_MIN: Final = 0.9
"""Two statements are alike when so large a part of their words is common to both."""

# All of these are skipped unchanged, but for a `word` that stands alone. No pattern may
# look at a character again and again: a text may be 64,000 characters of anything.
_PARTS = re.compile(
    r"""
    `+[^`]*`+ | "[^"]*" | “[^“”]*” | «[^«»]*» | (?<!\w)['‘][^'‘’]*['’](?!\w)
  | (?<![^\s(])(?P<word>[^\W\d_]++(?:['’-][^\W\d_]++)*+)(?=[,;:.!?…)]*+(?:\s|$))
    """,
    re.VERBOSE,
)
_END = re.compile(r"(?<=[\w)\]`\"'”’»])[.,;:!…]++$")
# Not the end of a name, `save!`, nor that of a number that is worked out, `= 5!`.
_LAST_WORD = re.compile(r"(?:^|[\s(])([^\W\d_]+|(?<!= )\d+)$")
_CLOSING: Final = tuple(")]`\"'”’»")
_PART = re.compile(r"['’-]")
_SENTENCE_ENDS: Final = (".", "!", "?", ":", ";", "(")
_NEAR: Final = 60
"""Characters beside a word that may call it a name."""

# A name follows or precedes these; every letter of it counts.
_CALLED: Final = frozenset(
    re.findall(
        r"\S+",
        """
    class classes method methods function functions variable variables constant constants const type
    types struct structs enum enums interface interfaces trait traits table tables column columns
    field fields attribute attributes property properties component components hook hooks env
    environment header headers key keys macro macros flag flags option options parameter parameters
    argument arguments event events topic topics queue queues bucket buckets statement statements
    named called define export set unset
    """,
    )
)
# In capitals these are names, in small letters other words.
_NAMES: Final = frozenset(
    re.findall(
        r"\S+",
        """
    us it am pm an be do is my so we who can path home shell lang pwd editor pager display get
    post put patch delete head options trace connect select insert update join like where having
    union view table index check default pragma vacuum true false null none swift
    """,
    )
)
# Each letter of a unit counts: Mb are not MB, and in small letters they are neither.
_UNITS: Final = frozenset(
    re.findall(
        r"\S+",
        """
    kb mb gb tb pb kib mib gib tib kbps mbps gbps ms mhz ghz mw kw mwh kwh hz
    """,
    )
)
# Types that begin with a capital, in languages that have another one, or a word, in small letters.
_TYPES: Final = frozenset(
    re.findall(
        r"\S+",
        """
    list dict set tuple type any callable path object string integer boolean double float long
    short byte char character number symbol function array map date text record counter option
    optional some none result error self
    """,
    )
)
# Methods and macros whose name ends with the mark.
_BANGS: Final = frozenset(
    re.findall(
        r"\S+",
        """
    save create update destroy touch validate find map merge sort uniq compact reject select
    println print eprintln panic vec format assert todo unreachable matches write dbg
    """,
    )
)


def folded(text: str) -> str:
    """Return a text without differences that do not count; idempotent."""
    plain = _without_end(normalise(text))
    if plain.islower() or not plain:
        return plain
    two_ways = _written_two_ways(plain)
    return _PARTS.sub(lambda found: _small(found, plain, two_ways), plain)


@cached(16)  # a statement needs it twice: to find the same one, and to be stored
def numbered(text: str) -> int:
    """Return the number under which equal statements are stored.

    It is 1 to 2**32 - 1, and 0 for an empty statement; collisions are rare.
    """
    plain = folded(text)
    return zlib.crc32(plain.encode("utf-8", "surrogatepass")) or 1 if plain else 0


def are_alike(one: str, other: str) -> bool:
    """Return whether two statements have at least nine of ten words in common."""
    # To fold a text takes 0.1 ms; most texts are unlike however they are folded.
    if not _overlap(normalise(one).lower(), normalise(other).lower()):
        return False
    return _overlap(folded(one), folded(other))


def _overlap(one: str, other: str) -> bool:
    mine, theirs = ({word.strip("(),;:.!?…") for word in text.split()} for text in (one, other))
    return bool(mine) and len(mine & theirs) >= OVERLAP_MIN * len(mine | theirs)


def _is_shouted(word: str) -> bool:
    """Return whether a word in capitals reads the same in small letters."""
    return (
        len(word) > 1
        and word.isupper()
        and word.lower() not in _NAMES
        and all(part.isalpha() for part in _PART.split(word))
    )


def _without_end(plain: str) -> str:
    """Return a text without its final punctuation, except a question mark."""
    end = _END.search(plain)
    if end is None:
        return plain
    rest = plain[: end.start()]
    if "!" in end.group():
        last = _LAST_WORD.search(rest[-_NEAR:])
        if last is None and not rest.endswith(_CLOSING):
            return plain
        if last is not None and last.group(1).lower() in _BANGS:
            return plain
    return normalise(rest)


def _written_two_ways(plain: str) -> set[str]:
    """Return, in small letters, the words that a text writes with and without capitals.

    In `React from react` one of them is a name. At the beginning of a sentence capitals do not
    count.
    """
    ways: dict[str, str] = {}
    found = set()
    for part in _PARTS.finditer(plain):
        raw = part["word"]
        if raw is None or _begins(plain, part.start()):
            continue
        small = raw.lower()
        if ways.setdefault(small, raw) != raw:
            found.add(small)
    return found


def _begins(plain: str, start: int) -> bool:
    return start == 0 or plain[max(0, start - 2) : start].rstrip().endswith(_SENTENCE_ENDS)


def _small(found: re.Match[str], plain: str, two_ways: Container[str]) -> str:
    """Return a part of a text in small letters, unless its letters count."""
    raw, start = found.group(), found.start()
    if found["word"] is None or raw.islower():
        return raw
    begins = _begins(plain, start)
    if not begins and raw.lower() in two_ways:
        return raw
    if len(raw) == 1:
        return "a" if begins and raw == "A" else raw
    if raw.lower() in (_UNITS if begins or raw.isupper() else _UNITS | _TYPES):
        return raw
    if raw.isupper():
        counts = not _is_shouted(raw) or _is_called(plain, start, found.end())
    else:
        counts = not _is_capitalised(raw) or (not begins and _is_called(plain, start, found.end()))
    small = raw.lower()
    return raw if counts or len(small) != len(raw) else small


def _is_capitalised(word: str) -> bool:
    """Return whether capitals are at most at the beginning of each part of a word."""
    return all(len(part) == 1 or part[1:].islower() for part in _PART.split(word))


def _is_called(plain: str, start: int, end: int) -> bool:
    """Return whether the word before or after says that this is a name."""
    before = plain[max(0, start - _NEAR) : start].split()[-1:]
    behind = plain[end : end + _NEAR].split()[:1]
    return any(word.strip("(),;:.!?…").lower() in _CALLED for word in (*before, *behind))


SAME: Final = "same"
"""The memory says the same, apart from emphasis."""
KEYED: Final = "keyed"
"""The memory is kept under the key of the statement, and says something else."""

CANDIDATES_MAX: Final = 16
"""Memories that are compared with a statement, the newest."""
FOLDED_AT_ONCE: Final = 2_000
"""Memories whose folded texts are numbered in one transaction: some 50 ms."""
FILE: Final = "file:"
"""Prefix of the origin of a statement that stands in a person's file."""


def find(conn: Connection, draft: Draft, text_hash: str, scope: str) -> Match | None:
    """Return the living memory of `scope` that a masked draft repeats; None for a new one.

    Args:
        conn: a snapshot.
        draft: the statement, masked.
        text_hash: of its text.
        scope: whose store.
    """
    known = nodes.by_hash(conn, scope, text_hash, thing=False)
    if draft.key is not None:
        holder = nodes.by_key(conn, scope, draft.key)
        if holder is not None and (known is None or known.id != holder.id):
            return Match(holder, KEYED)
    if known is not None:
        return Match(known, SAME)
    if draft.baseline or draft.has_id or draft.key is not None or draft.origin.startswith(FILE):
        return None
    return _same_folded(conn, draft)


def _same_folded(conn: Connection, draft: Draft) -> Match | None:
    number = numbered(draft.text)
    for node_id, text in nodes.by_folded(conn, number, CANDIDATES_MAX) if number else ():
        if folded(text) == folded(draft.text):
            node = nodes.get(conn, node_id)
            if node is not None and (not draft.kind or canonical_kind(draft.kind) == node.kind):
                return Match(node, SAME)
    return None


def alike(conn: Connection, node: Node, rests_on: Sequence[Anchor]) -> list[Node]:
    """Return living memories with the same anchors, in nearly the same words.

    Args:
        conn: where they are.
        node: the memory; one without anchors is like no other.
        rests_on: its anchors.
    """
    if not rests_on:
        return []
    mine = {(one.path, one.symbol) for one in rests_on}
    beside = anchors.nodes_on(conn, rests_on[-1].path, rests_on[-1].symbol, CANDIDATES_MAX)
    # Most say something else, which takes least to find out.
    said = nodes.texts(conn, set(beside) - {node.id})
    near = [other for other, text in said.items() if are_alike(node.text, text)]
    if not near:
        return []
    same = [
        other
        for other, theirs in anchors.of_nodes(conn, near).items()
        if {(one.path, one.symbol) for one in theirs} == mine
    ]
    return list(nodes.many(conn, same).values())


def has_unfolded(conn: Connection) -> bool:
    """Return whether texts must be folded first, as after an import or an edit."""
    return bool(nodes.unfolded(conn, 1))


def fold(conn: Connection) -> None:
    """Number the folded texts of some memories, inside a transaction."""
    nodes.note_folded(
        conn,
        [(num, numbered(text)) for num, text in nodes.unfolded(conn, FOLDED_AT_ONCE)],
    )
