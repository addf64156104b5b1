"""Merge one rule three ways: the last agreement, the graph and the file.

The whole policy is `decide`. `align` finds which line of a block is which rule of the agreement,
surest first: the same line, the same words, and only then words so alike, in the place of the rule
they replaced, that a person would call it an edit. Where that is not certain, the line is a new
rule and both are kept. `why_incomplete` finds the rest of a rule whose beginning was deleted: by
itself it may mean the opposite.
"""

import re
from collections import defaultdict, deque
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import product
from types import MappingProxyType
from typing import Self, TypeVar

from bridges.items import Item, bare, items
from yaadwatch.model.projects import Agreed
from yaadwatch.model.settings import ALIKE_CHARS_MAX, ALIKE_MIN
from yaadwatch.sync.inventory import Paused
from yaadwatch.text.words import text_hash


class Decision(StrEnum):
    """What is to be done about one rule."""

    AGREED = "agreed"  # nothing: both say the same, or neither has anything new
    RENDER = "render"  # the file gets the graph's new words
    SUPERSEDE = "supersede"  # the graph gets the file's new words
    CONFLICT = "conflict"  # both have new words: the file's win, the graph's become a version
    ADD = "add"  # new in the graph: the file gets a line
    ADMIT = "admit"  # new in the file: the graph gets a memory
    DROP = "drop"  # gone from the graph: the line goes
    DEMOTE = "demote"  # gone from the file: the memory leaves the hot tier
    KEEP = "keep"  # gone from the file, new words in the graph: demoted, the words are kept
    REVIVE = "revive"  # gone from the graph, new words in the file: a memory again


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """The last agreement about a rule: the graph's text, the hash of the file's line."""

    graph: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How words of a file compare with words of the graph.

    Args:
        as_stored: the text that the graph would hold for a text of the file: masked, its first
            paragraph on one line. Doing it twice changes nothing.
        hashed: the keyed hash of a line, as agreements hold it.
    """

    as_stored: Callable[[str], str]
    hashed: Callable[[str], str]


def decide(
    last: Last, graph: str | None, file: str | None, terms: Terms, *, line: str | None = None
) -> Decision:
    """Decide about one rule.

    A side has moved when it differs from its own last text, so masking a secret in the graph never
    rewrites the file. Both sides are compared in the graph's words.

    Args:
        last: the last agreement.
        graph: the graph's text; None when it has no rule for this file.
        file: the words of the file's line; None when the line is gone.
        terms: how the two compare.
        line: the file's whole line, if it is more than its words.
    """
    raw = file if line is None else line
    graph_moved = graph != last.graph
    file_moved = (None if raw is None else terms.hashed(raw)) != last.file
    if not graph_moved and not file_moved:
        return Decision.AGREED
    if _say_the_same(graph, None if file is None else terms.as_stored(file)):
        return Decision.AGREED
    if not file_moved:
        if graph is None:
            return Decision.DROP
        return Decision.ADD if file is None else Decision.RENDER
    if not graph_moved:
        if file is None:
            return Decision.DEMOTE
        return Decision.ADMIT if graph is None else Decision.SUPERSEDE
    if graph is None:
        return Decision.REVIVE
    return Decision.KEEP if file is None else Decision.CONFLICT


def _say_the_same(graph: str | None, file: str | None) -> bool:
    if graph is None or file is None:
        return graph is file
    return text_hash(graph) == text_hash(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A living memory: its masked text, and whether it is a rule for this file's block (`hot`).

    `is_said`: a person's file states it outside a block; it keeps the words of that file. `rank`:
    lower ranks get room first. `gives_way`: whether its line may go for a lower rank; a line that a
    person typed into this block never does. `is_shared`: whether it is stated by more than personal
    files. `is_new`: whether it was stated since git brought a frozen block.
    """

    node: str
    text: str
    hot: bool = True
    is_said: bool = False
    rank: int = 0
    gives_way: bool = False
    is_shared: bool = True
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The graph's side of a sync.

    Args:
        memories: every hot one that this file may hold, best first; then the other living nodes of
            the agreement, and the other living nodes with the words of a line of the file (see
            `read`).
        buried: hashes of words (`text_hash`) that a person deleted: tombstones and forgotten
            memories. They come back when a person types them, not with old bytes.
        former: hash of words to the living node that had them before it was changed.
        unused: hash of words to the node, living or archived, that has them and is no rule.
    """

    memories: tuple[Known, ...]
    buried: Collection[str] = frozenset()
    former: Mapping[str, str] = field(default_factory=dict)
    unused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words in `some` version of a file, and in `every` version.

    Both sets hold words by their key (`text_hash`), and lines of the block also by their keyed
    hash.
    """

    some: Set[str] = frozenset()
    every: Set[str] = frozenset()

    @classmethod
    def of(cls, versions: Iterable[Set[str]]) -> Self:
        """Return the words of some versions of a file."""
        sets = [frozenset(words) for words in versions]
        if not sets:
            return cls()
        return cls(some=frozenset().union(*sets), every=frozenset.intersection(*sets))


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits:
    """The file's words in the commits since the last agreement on this branch.

    Args:
        kept: in the commits that HEAD has, from the newest one that it shares with the agreement.
        left: in the commit of the agreement and others checked out since, which HEAD lacks; `some`
            has the words of other files' blocks, too: a rule that one file loses with its commit is
            not written into the others.
    """

    kept: Words = Words()
    left: Words = Words()

    def deleted(self, words: Set[str]) -> bool:
        """Return whether an author deleted the words."""
        return not words.isdisjoint(self.kept.some)

    def rewound(self, words: Set[str]) -> bool:
        """Return whether the words came only with commits that HEAD no longer has."""
        return not self.deleted(words) and not words.isdisjoint(self.left.some)

    def changed(self, words: Set[str], now: Set[str]) -> bool:
        """Return whether an author replaced older words by those of `now`.

        Otherwise git discarded words that were never committed, or that HEAD no longer has.
        """
        return self.deleted(words) or now.isdisjoint(self.kept.every)

    def are_older(self, words: Set[str]) -> bool:
        """Return whether no commit since the agreement was without the words."""
        return not words.isdisjoint(self.kept.every & self.left.every)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """The file's side of a sync.

    Args:
        lines: the lines of its block; None when it has none.
        outside: hashes of the words (as stored) outside the block.
        from_git: whether git wrote these bytes, and no person typed them.
        newline: bytes of its line end, 1 or 2.
        commits: the file's words before git wrote it; None when that is unknown, or when no missing
            line counts as deleted.
        frozen: whether the block stays as it is but for new rules: git brought it with a branch.
        unchanged: whether it is as agreed: no line is newly typed.
        committed: whether the branch has a block: it stays there, even without a rule.
        personal: whether git does not share it.
        kept: keys of rules that its committed block lost, and that the committed blocks of all
            files together still have.
        stood: keys of rules that its committed block has and that count (`Resolved`); None when no
            commit changed a block. Other missing rules were not deleted in the file itself.
        became: by the key of former words, that of the rule into which a commit changed them.
    """

    lines: tuple[str, ...] | None
    outside: Collection[str] = frozenset()
    from_git: bool = False
    newline: int = 1
    commits: Commits | None = None
    frozen: bool = False
    committed: bool = False
    unchanged: bool = False
    personal: bool = False
    kept: Set[str] = frozenset()
    stood: Set[str] | None = None
    became: Mapping[str, str] = field(default_factory=dict)


K = TypeVar("K", int, str)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRule:
    """A rule in a file's block.

    Args:
        item: its lines in the block.
        text: its words as the graph would hold them.
        key: the hash of those words: equal for rules with the same words.
        hash: the keyed hash of its lines.
        holds_secret: whether the line holds a secret that the graph would mask.
    """

    item: Item
    text: str
    key: str
    hash: str
    holds_secret: bool = False


def read(lines: Sequence[str], terms: Terms, known: Iterable[str] = ()) -> tuple[FileRule, ...]:
    """Return the rules in the lines of a block, in their order.

    Args:
        lines: of the block.
        terms: how words compare.
        known: texts of the graph. A line that differs from one of them only in Markdown escapes, as
            after a formatter, has that text.
    """
    texts = {bare(text): text for text in known}
    keys = set(map(text_hash, texts.values()))
    found = []
    for item in items(lines):
        stored = terms.as_stored(item.text)
        text = stored if text_hash(stored) in keys else texts.get(bare(stored), stored)
        found.append(
            FileRule(
                item=item,
                text=text,
                key=text_hash(text),
                hash=terms.hashed(item.raw),
                holds_secret=text_hash(stored) != text_hash(item.text),
            )
        )
    return tuple(found)


def align(
    agreed: Sequence[Agreed],
    said: Sequence[FileRule],
    present: Mapping[str, str],
    *,
    changed: bool = True,
    others: Collection[str] = (),
    became: Mapping[str, str] = MappingProxyType({}),
    kept: Collection[str] = (),
    committed: Collection[str] | None = None,
) -> dict[int, int]:
    """Return where the agreed rules are now: index in `agreed` to index in `said`, each once.

    Args:
        agreed: the rules of the agreement, in their order.
        said: the rules of the file.
        present: by node, the key of its current words.
        changed: whether other words may be the same rule.
        others: keys of words that are a rule of their own, so no edit of another.
        became: by the key of former words, that of the words into which a commit changed them.
        kept: keys of rules that another file has, so that no line here is an edit of one.
        committed: keys of rules that HEAD has, where a commit changed a block; else None. A line
            that HEAD lacks, like the rule in whose place it stands, is no edit of that one.
    """

    def is_there(key: str | None) -> bool:
        return committed is None or key in committed

    pairs: dict[int, int] = {}
    # First by the graph's current words: where both sides have moved alike, as after an agreement
    # that was never stored, the agreed words may be those of another rule by now.
    now = [present.get(row.node) for row in agreed]
    lines = [row.file or None for row in agreed]
    words = [text_hash(row.graph) if row.graph else None for row in agreed]
    said_lines, said_words = [line.hash for line in said], [line.key for line in said]
    _pair_equal(pairs, now, said_words)
    _pair_equal(pairs, lines, said_lines)
    _pair_equal(pairs, words, said_words)
    if changed:
        free = [line.key if line.key not in others else None for line in said]
        _pair_equal(pairs, [became.get(key or "") for key in words], free)
        with_line = [index for index, row in enumerate(agreed) if row.file]
        matcher = SequenceMatcher(
            None, [agreed[index].file for index in with_line], said_lines, autojunk=False
        )
        for tag, begin, end, first, last in matcher.get_opcodes():
            if tag == "replace":
                taken = set(pairs.values())
                rows = [
                    index
                    for index in with_line[begin:end]
                    if index not in pairs and words[index] not in kept
                ]
                places = [
                    index
                    for index in range(first, last)
                    if index not in taken and said[index].key not in others
                ]
                new = {index: said[index].text for index in places}
                old = {index: agreed[index].graph for index in rows if is_there(words[index])}
                pairs.update(_pair_alike(old, new))
                old = {index: agreed[index].graph for index in rows if index not in old}
                taken = set(pairs.values())
                new = {
                    index: text
                    for index, text in new.items()
                    if index not in taken and is_there(said[index].key)
                }
                pairs.update(_pair_alike(old, new))
    return pairs


def edits(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """Return which rules of a block were changed into which of a later one, by their keys."""
    before, after = list(old), list(new)
    found: dict[str, str] = {}
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, begin, end, first, last in matcher.get_opcodes():
        if tag == "replace":
            gone = {key: old[key] for key in before[begin:end] if key not in new}
            came = {key: new[key] for key in after[first:last] if key not in old}
            found.update(_pair_alike(gone, came))
    return found


def _pair_equal(
    pairs: dict[int, int], rows: Iterable[Hashable | None], lines: Iterable[Hashable]
) -> None:
    """Pair the remaining equal entries in any position, first with first."""
    taken = set(pairs.values())
    free: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for index, line in enumerate(lines):
        if index not in taken:
            free[line].append(index)
    for index, row in enumerate(rows):
        if row is not None and index not in pairs and free[row]:
            pairs[index] = free[row].popleft()


def _pair_alike(old: Mapping[K, str], new: Mapping[K, str]) -> Iterator[tuple[K, K]]:
    """Yield pairs of similar texts, best first; of equally good rivals none.

    Where that would take more than half a second, as after a word was replaced in a whole file,
    each text is compared with the one in its place only.
    """
    pairs: Iterable[tuple[K, K]] = product(old, new)
    sizes = [sum(min(len(text), ALIKE_CHARS_MAX) for text in one.values()) for one in (old, new)]
    if sizes[0] * sizes[1] > 16_000_000:
        pairs = zip(old, new, strict=True) if len(old) == len(new) <= 500 else ()
    found = {
        (one, other): alike
        for one, other in pairs
        if (alike := likeness(old[one], new[other])) >= ALIKE_MIN
    }
    while found:
        best = max(found.values())
        one, other = min(pair for pair, alike in found.items() if alike == best)
        rivals = [pair for pair in found if (pair[0] == one) != (pair[1] == other)]
        if all(found[pair] < best for pair in rivals):
            yield one, other
        found = {p: alike for p, alike in found.items() if p[0] != one and p[1] != other}


def likeness(one: str, other: str) -> float:
    """Return the likeness of two texts, from 0 to 1; 0 below ALIKE_MIN."""
    matcher = SequenceMatcher(None, one[:ALIKE_CHARS_MAX], other[:ALIKE_CHARS_MAX], autojunk=False)
    if matcher.real_quick_ratio() < ALIKE_MIN or matcher.quick_ratio() < ALIKE_MIN:
        return 0.0
    return matcher.ratio()


_MARKER = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?")
_WORDS_MIN = 2
"""A shorter rest, such as one word, also occurs in other rules."""


def why_incomplete(
    rows: Sequence[Agreed],
    said: Sequence[FileRule],
    known: Collection[str],
    left: Iterable[str] = (),
) -> Paused | None:
    """Return why a block with the body of a rule but not its beginning waits for a person.

    Args:
        rows: the last agreement.
        said: the rules of the block now.
        known: keys of words that are a rule by themselves.
        left: the lines of the block that are in no rule.
    """
    keys, lines = {one.key for one in said}, {one.hash for one in said}
    agreed = {text_hash(row.graph) for row in rows if row.graph}
    gone = [
        row.graph
        for row in rows
        if row.file and row.graph and row.file not in lines and text_hash(row.graph) not in keys
    ]
    changed = [one.text for one in said if one.key not in agreed and one.key not in known]
    # A fence or a rule between rows says nothing.
    loose = [line for line in left if re.search(r"\w", line) and not line.strip().startswith("```")]
    for rule in gone:
        for text in (*changed, *loose):
            if _plain(text.split("\n", 1)[0]) in _body(rule) or any(
                text.startswith(row.graph) and _is_rest(rule, text[len(row.graph) :])
                for row in rows
                if row.graph and row.graph != rule
            ):
                beginning = " ".join(rule.split())[:60]
                return Paused(
                    reason=f'the beginning of the rule "{beginning}" is gone and the rest is left,'
                    " so nothing was read or written; delete the rest, or put the beginning back",
                    lost=1,
                    total=len(rows),
                )
    return None


def _is_rest(rule: str, words: str) -> bool:
    """Return whether words are the end of a rule, or a line of its body."""
    words = _plain(words)
    return words in _body(rule) or (
        len(words.split()) >= _WORDS_MIN and _plain(rule).endswith(f" {words}")
    )


def _body(rule: str) -> set[str]:
    return {_plain(line) for line in rule.split("\n")[1:] if line.strip()}


def _plain(text: str) -> str:
    """Return words on one line in lower case, without list markers."""
    lines = (_MARKER.sub("", line, count=1) for line in text.split("\n"))
    return " ".join(" ".join(lines).split()).casefold()
