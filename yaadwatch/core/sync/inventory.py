"""What does a person's own file say now that it did not say, and what does it say no more?

Everything outside the block is the person's. Statements are compared by their words, so a statement
that moved is the same one; one that was changed is gone, and another one is new. Where only the
headings or labels in front changed, the memory of the words is kept.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bridges.rules import Statement
from yaadwatch.core.sync import guard
from yaadwatch.core.sync.guard import Paused
from yaadwatch.core.text import text_hash
from yaadwatch.model.nodes import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A statement of a file, to be noted as provenance.

    Args:
        position: its ordinal; what git hides comes after what is there.
        line: where it stands, from 1; None while git hides it.
        node: the memory it says; None for a statement that is new.
        since: since when; None for a statement that is new.
        statement: the statement; None while git hides it.
        was: the memory in `gone` that has the same words with other ones in front, if any.
    """

    position: int
    line: int | None
    node: str | None
    since: datetime | None
    statement: Statement | None
    was: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What a file says outside its block.

    Args:
        places: every statement, in order.
        gone: nodes that the file says no more; one that no other place says is archived.
        hidden: nodes that it said before git changed it; they are neither recalled nor exported.
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
    accept_deletions: bool = False,
) -> Inventory | Paused:
    """Compare what a file said with what it says now.

    Args:
        then: its rows of provenance, hidden ones included.
        now: its statements outside the block; None when the file is not there.
        texts: what each node in `then` says.
        as_stored: the text that the graph would hold for a text of the file.
        inside: hashes of what the file's block says: what was moved there is not gone.
        from_git: whether git wrote these bytes. Then what is missing is hidden, not gone.
        deleted: hashes of what an author deleted in a commit of this branch: that is gone.
        accept_deletions: a person said that what is missing was meant to go.
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
    places = _with_former(places, gone, texts, as_stored)
    lost = [*{*gone} - {place.was for place in places}]
    paused = guard.deletion(len(lost), len(shown), file_is_gone=now is None)
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
) -> list[Place]:
    """Return places in which new statements name the memory that only has other words in front."""
    free = list(gone)
    found = []
    for place in places:
        former = None
        if place.node is None and place.statement is not None and free:
            own = as_stored(place.statement.own)
            former = next((node for node in free if _is_with_lead(texts[node], own)), None)
        if former is not None:
            free.remove(former)
        found.append(replace(place, was=former))
    return found


def _is_with_lead(text: str, own: str) -> bool:
    """Return whether a text is these words, with or without headings and labels in front."""
    return text == own or (
        text.endswith(f" {own}") and text[: -len(own)].rstrip().endswith((">", ":", "：", "*"))
    )
