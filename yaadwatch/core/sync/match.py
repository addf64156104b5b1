"""Which line of a block is which rule of the last agreement?

Surest first: the same line, the same words, and only then words so alike, in the place of the rule
they replaced, that a person would call it an edit. In doubt a line is a new one, and both are kept.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import product
from types import MappingProxyType
from typing import TypeVar

from bridges.escaping import bare
from bridges.items import Item, items
from yaadwatch.core.sync.reconcile import Terms
from yaadwatch.core.text import text_hash
from yaadwatch.model.agent_files import Agreed
from yaadwatch.model.settings import ALIKE_CHARS_MAX, ALIKE_MIN, ALIKE_PAIRS_MAX

K = TypeVar("K", int, str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A rule as a file says it.

    Args:
        item: its lines in the block.
        text: its words as the graph would hold them.
        key: the hash of those words: equal for rules that say the same.
        hash: the keyed hash of its lines.
        holds_secret: whether the line says more than the graph would hold.
    """

    item: Item
    text: str
    key: str
    hash: str
    holds_secret: bool = False


def read(lines: Sequence[str], terms: Terms, known: Iterable[str] = ()) -> tuple[Said, ...]:
    """Return what the lines of a block say, in their order.

    Args:
        lines: of the block.
        terms: how words compare.
        known: texts of the graph. A line that differs from one of them in Markdown escapes only, as
            after a formatter, says that text.
    """
    texts = {bare(text): text for text in known}
    keys = set(map(text_hash, texts.values()))
    found = []
    for item in items(lines):
        stored = terms.as_stored(item.text)
        text = stored if text_hash(stored) in keys else texts.get(bare(stored), stored)
        found.append(
            Said(
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
    said: Sequence[Said],
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
        present: by node, the key of what the graph says now.
        changed: whether other words may be the same rule.
        others: keys of words that are a rule of their own, so no edit of another one.
        became: by the key of former words, that of the words into which a commit changed them.
        kept: keys of rules that another file has, so that no line here is an edit of one.
        committed: keys of rules that HEAD has, where a commit changed a block; else None. A line
            that HEAD lacks, like the rule in whose place it stands, is no edit of that one.
    """

    def is_there(key: str | None) -> bool:
        return committed is None or key in committed

    pairs: dict[int, int] = {}
    # First what the graph says now: where both sides have moved alike, as after an agreement that
    # was never written down, the words that were agreed may be those of another rule by now.
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
        standing = [index for index, row in enumerate(agreed) if row.file]
        matcher = SequenceMatcher(
            None, [agreed[index].file for index in standing], said_lines, autojunk=False
        )
        for tag, begin, end, first, last in matcher.get_opcodes():
            if tag == "replace":
                taken = set(pairs.values())
                rows = [
                    index
                    for index in standing[begin:end]
                    if index not in pairs and words[index] not in kept
                ]
                places = [
                    index
                    for index in range(first, last)
                    if index not in taken and said[index].key not in others
                ]
                new = {index: said[index].text for index in places}
                old = {index: agreed[index].graph for index in rows if is_there(words[index])}
                pairs.update(_edited(old, new))
                old = {index: agreed[index].graph for index in rows if index not in old}
                taken = set(pairs.values())
                new = {
                    index: text
                    for index, text in new.items()
                    if index not in taken and is_there(said[index].key)
                }
                pairs.update(_edited(old, new))
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
            found.update(_edited(gone, came))
    return found


def _pair_equal(
    pairs: dict[int, int], rows: Iterable[Hashable | None], lines: Iterable[Hashable]
) -> None:
    """Pair what is left and equal, wherever it stands, first with first."""
    taken = set(pairs.values())
    free: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for index, line in enumerate(lines):
        if index not in taken:
            free[line].append(index)
    for index, row in enumerate(rows):
        if row is not None and index not in pairs and free[row]:
            pairs[index] = free[row].popleft()


def _edited(old: Mapping[K, str], new: Mapping[K, str]) -> Iterator[tuple[K, K]]:
    """Yield the pairs that are alike, best first; where two are equally so, neither."""
    if len(old) * len(new) > ALIKE_PAIRS_MAX:
        return
    found = {
        (one, other): alike
        for one, other in product(old, new)
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
    """Return how alike two texts are, from 0 to 1; 0 where that is less than any edit leaves."""
    matcher = SequenceMatcher(None, one[:ALIKE_CHARS_MAX], other[:ALIKE_CHARS_MAX], autojunk=False)
    if matcher.real_quick_ratio() < ALIKE_MIN or matcher.quick_ratio() < ALIKE_MIN:
        return 0.0
    return matcher.ratio()
