"""Compare a file's statements with the last read, pause on likely accidents, fit rules in a block.

Everything outside the block is the person's. Statements are compared by their words, so a statement
that moved is the same one. One that a person changed in its place, or that only stands below other
headings or labels, keeps its memory; any other change makes one statement gone and another new.

Where a change looks like an accident, no memory is deleted and the file waits for a person. A block
holds the rules of the best rank; a rule that a person typed always stays.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from bridges.block import END, NOTICE, is_notice
from bridges.rules import Statement
from bridges.zones import zones
from yaadwatch.model.memories import Provenance
from yaadwatch.model.settings import (
    AGENT_FILE_WRITES_WITHIN,
    BLOCK_BYTES_MAX,
    BLOCK_ITEMS_MAX,
)
from yaadwatch.text.words import text_hash

VANISHED_MIN: Final = 3
"""Fewer deletions at once are always taken as meant."""
VANISHED_MANY: Final = 5
"""So many at once never are; fewer are not if they are more than half of the rules."""

_CONFLICT = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)
_MARKS = re.compile(r"(?:<{7}|>{7}) ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """The file is left alone until a person says more; `reason` is a sentence without its stop.

    `lost` of `total` rules are missing when that is the reason; 0 of 0 otherwise.
    """

    reason: str
    lost: int = 0
    total: int = 0


def deletion(
    lost: int, total: int, *, block_is_gone: bool = False, file_is_gone: bool = False
) -> Paused | None:
    """Return why a file that lost rules is paused; None if a person may well have deleted them.

    Args:
        lost: how many rules are missing, from 0 to `total`.
        total: how many there were.
        block_is_gone: whether the whole block is missing, markers included.
        file_is_gone: whether the file no longer exists.
    """
    if not lost:
        return None
    if file_is_gone:
        reason = f"it is gone with {lost} of {total} rules"
    elif block_is_gone:
        reason = f"its block is gone with {lost} of {total} rules"
    elif lost >= VANISHED_MANY or (lost >= VANISHED_MIN and lost * 2 > total):
        reason = f"it lost {lost} of {total} rules at once"
    else:
        return None
    return Paused(reason=f"{reason}; no memory was deleted", lost=lost, total=total)


def conflict_markers(data: bytes) -> Paused | None:
    """Return why a file with the markers of an unfinished merge is paused; None if it has none.

    Markers in a code fence are an example: git's own state shows whether a merge is going on.
    """
    # A lone CR ends a line too, but no merge writes files with those.
    if _CONFLICT.search(data) is None:
        return None
    lines = data.decode("utf-8", "replace").split("\n")
    for number, kind in enumerate(zones(lines).kinds):
        if kind != "fence" and _MARKS.match(lines[number]):
            return Paused(reason=f"an unfinished merge stands in line {number + 1}")
    return None


def ping_pong(written: Iterable[datetime], now: datetime) -> Paused | None:
    """Return why a file is paused that another process keeps changing back; None otherwise.

    Args:
        written: the times of our writes, in any order.
        now: the time, aware.
    """
    recent = sum(at > now - AGENT_FILE_WRITES_WITHIN for at in written)
    if recent < 3:  # writes within that time; then it is paused
        return None
    seconds = AGENT_FILE_WRITES_WITHIN.total_seconds()
    return Paused(reason=f"it was written {recent} times within {seconds:.0f} seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A statement of a file, to be noted as provenance.

    Args:
        position: its ordinal; statements that git hides come after the others.
        line: its line, from 1; None while git hides it.
        node: its memory; None for a new statement.
        since: since when it is here; None for a new statement.
        statement: the statement; None while git hides it.
        was: the memory in `gone` that the statement keeps: it has the same words with other ones in
            front, or a person changed them here.
        reworded: whether a person changed the words of `was`.
    """

    position: int
    line: int | None
    node: str | None
    since: datetime | None
    statement: Statement | None
    was: str | None = None
    reworded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """A file's statements outside its block.

    Args:
        places: every statement, in order.
        gone: nodes that the file no longer states; without another place they are archived.
        hidden: nodes that it stated before git changed it; they are not recalled or exported.
    """

    places: tuple[Place, ...]
    gone: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @property
    def new(self) -> tuple[Place, ...]:
        """The statements that have to be admitted; baseline when git brought them."""
        return tuple(place for place in self.places if place.node is None)


def take_stock(
    then: Sequence[Provenance],
    now: Sequence[Statement] | None,
    texts: Mapping[str, str],
    as_stored: Callable[[str], str],
    *,
    inside: Collection[str] = (),
    from_git: bool = False,
    deleted: Collection[str] = (),
    edited: Mapping[str, str] = MappingProxyType({}),
    accept_deletions: bool = False,
) -> Inventory | Paused:
    """Compare a file's earlier statements with its current ones.

    Args:
        then: its rows of provenance, hidden ones included.
        now: its statements outside the block; None when the file does not exist.
        texts: the text of each node in `then`.
        as_stored: the text that the graph would hold for a text of the file.
        inside: hashes of the rules in the file's block: a statement moved there is not gone.
        from_git: whether git wrote these bytes. Then missing statements are hidden, not gone.
        deleted: hashes of statements that a commit of this branch deleted: these are gone.
        edited: by the hash of new words, that of the words which a person changed into them.
        accept_deletions: a person confirmed that missing statements were deleted on purpose.
    """
    keys = {row.node: text_hash(texts[row.node]) for row in then}
    says = {key: node for node, key in keys.items()}
    since: dict[str, datetime] = {}
    for row in then:
        since[row.node] = min(row.since, since.get(row.node, row.since))
    places = []
    for position, statement in enumerate(now or ()):
        node = says.get(text_hash(as_stored(statement.text)))
        places.append(
            Place(
                position=position,
                line=statement.line,
                node=node,
                since=None if node is None else since[node],
                statement=statement,
            )
        )
    said = {place.node for place in places}
    shown = dict.fromkeys(row.node for row in then if row.line is not None)
    missing = [node for node in shown if node not in said]
    gone = [
        node
        for node in missing
        if keys[node] not in inside and (not from_git or keys[node] in deleted)
    ]
    places = _with_former(places, gone, texts, as_stored, edited)
    lost = [*{*gone} - {place.was for place in places}]
    paused = deletion(len(lost), len(shown), file_is_gone=now is None)
    if paused is not None and not accept_deletions and not from_git:
        return paused
    veiled = {row.node for row in then if row.line is None}
    veiled |= {*missing} - {*gone} if from_git else set()
    hidden = tuple(node for node in since if node in veiled - said)
    for node in hidden:
        places.append(
            Place(position=len(places), line=None, node=node, since=since[node], statement=None)
        )
    return Inventory(places=tuple(places), gone=tuple(gone), hidden=hidden)


def _with_former(
    places: Sequence[Place],
    gone: Sequence[str],
    texts: Mapping[str, str],
    as_stored: Callable[[str], str],
    edited: Mapping[str, str],
) -> list[Place]:
    """Return places in which a new statement names the memory that it keeps."""
    free = list(gone)
    found = []
    for place in places:
        former, before = None, None
        if place.node is None and place.statement is not None and free:
            own = as_stored(place.statement.own)
            with_lead = re.compile(rf"(?:.*[>:：*]\s* )?{re.escape(own)}", re.DOTALL)
            former = next((node for node in free if with_lead.fullmatch(texts[node])), None)
            before = edited.get(text_hash(as_stored(place.statement.text)))
        reworded = former is None and before is not None
        if reworded:
            former = next((node for node in free if text_hash(texts[node]) == before), None)
        if former is not None:
            free.remove(former)
        found.append(replace(place, was=former, reworded=reworded))
    return found


_FORBIDS = re.compile(
    r"\b(?:never|do not|don['’]t|must(?: not|n['’]t)|may not|under no circumstances|forbidden"
    r"|prohibited|not allowed|no \w+ (?:without|unless))\b",
    re.IGNORECASE,
)
_BEGIN_BYTES: Final = len("<!-- yaad:begin v=1 nl=0 -->")


def block_bytes(lines: Sequence[str], *, newline: int) -> int:
    """Return the bytes of a block with these lines: markers, notice and line ends included.

    Args:
        lines: the lines between the markers.
        newline: bytes of a line end, 1 or 2.
    """
    notice = 0 if any(map(is_notice, lines)) else len(NOTICE) + newline
    markers = _BEGIN_BYTES + len(END) + 2 * newline
    return markers + notice + sum(line_bytes(line, newline=newline) for line in lines)


def line_bytes(line: str, *, newline: int) -> int:
    """Return the bytes of a rule with its line ends; a body stands on lines of its own."""
    size = len(line.encode("utf-8", "surrogatepass"))
    return size + line.count("\n") * (newline - 1) + newline


def is_grave(text: str) -> bool:
    """Return whether a rule forbids something, so that breaking it may do harm."""
    return _FORBIDS.search(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A candidate for a block.

    Args:
        line: its text there.
        rank: lower ranks come first.
        stands: whether it is in the block already.
    """

    line: str
    rank: int
    stands: bool = False


def fit(
    fixed: Sequence[str], items: int, rules: Sequence[Rule], *, newline: int
) -> tuple[bool, ...]:
    """Return for each of the rules whether it gets into the block.

    The best ranks win. A rule that is too long does not keep a shorter one after it out, and an
    existing rule gives way only to a better one. The function is idempotent.

    Args:
        fixed: the lines that stay in the block in any case.
        items: how many rules are among them.
        rules: the candidates.
        newline: bytes of a line end, 1 or 2.
    """
    used = block_bytes(fixed, newline=newline)
    fits = [False] * len(rules)
    for index in sorted(range(len(rules)), key=lambda index: (rules[index].rank, index)):
        size = line_bytes(rules[index].line, newline=newline)
        fits[index] = items < BLOCK_ITEMS_MAX and used + size <= BLOCK_BYTES_MAX
        if fits[index]:
            items, used = items + 1, used + size
    if any(fit and not rule.stands for fit, rule in zip(fits, rules, strict=True)):
        return tuple(fits)
    return tuple(rule.stands for rule in rules)
