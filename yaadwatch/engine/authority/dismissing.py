"""What a person dismissed or forgot stays away until a person brings it back."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from yaadwatch.core.quoting import day
from yaadwatch.core.wording import words_hash
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import HOT, USER, Node
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite.database import Database
from yaadwatch.store.truth import authority, dismissals
from yaadwatch.store.truth.dismissals import Dismissal

Elsewhere = Mapping[str, Dismissal]
"""Dismissals of the call's other store: the user's for a project, the project's for the user."""
DISMISS: Final = "dismiss"
DISMISSED: Final = "dismissed"
FORGOT: Final = "forgot"
_DELETED: Final = "deleted from "


def note(conn: Connection, node: Node, now: datetime, *, actor: str, reason: str) -> None:
    """Note, as a memory is archived, that a person does not want its words; nothing for others."""
    if not is_persons(actor) or node.kind in ("session", "task"):
        return
    how = reason if reason == DISMISSED or reason.startswith(_DELETED) else FORGOT
    put(conn, node, now, how=how)


def put(conn: Connection, node: Node, now: datetime, *, how: str = DISMISSED) -> None:
    """Note that a person does not want the words that a memory has."""
    dismissals.put(conn, Dismissal(text_hash=words_hash(node.text), node=node.id, how=how, at=now))


def lift(conn: Connection, texts: Iterable[str], *, actor: str) -> None:
    """Let words come back that a person says, restores or approves; an agent lifts nothing."""
    if is_persons(actor) and dismissals.has_any(conn):
        dismissals.lift(conn, [words_hash(text) for text in texts])


def is_persons(actor: str) -> bool:
    """Return whether a person made a change, and not an agent, an import or a job."""
    return actor == "cli" or actor.startswith("file:")


def refuse_agent(conn: Connection, node: Node, *, actor: str, change: str) -> None:
    """Refuse to let an agent or an import take away what a person said or approved.

    Args:
        conn: inside the transaction of the change.
        node: the memory.
        actor: who asks for the change.
        change: what would be done to it, such as `deleted`.

    Raises:
        YaadError: REFUSED, with what the agent may do instead.
    """
    if is_persons(actor) or not authority.approved(conn, [node.id]):
        return
    raise YaadError(
        Code.REFUSED,
        f"A person said or approved memory {called(node.id)}; it was not {change}.",
        hint="If it is wrong, edit it, and the person reviews the new words; or ask the person to "
        f"run: yaadwatch forget {called(node.id)}",
    )


def is_rule(node: Node) -> bool:
    """Return whether agents get a memory as a rule once it is a person's word."""
    return node.tier == HOT or node.pinned or node.scope == USER or node.kind == "skill"


def in_stores(stores: Iterable[Database], texts: Iterable[str], *, actor: str) -> Elsewhere:
    """Return by hash which of these words a person dismissed in other stores; none for a person."""
    if is_persons(actor):
        return {}
    hashes = [words_hash(text) for text in texts]
    found: dict[str, Dismissal] = {}
    for store in stores:
        found |= store.read(dismissals.of_hashes, hashes)
    return found


def of_text(
    conn: Connection, text: str, *, actor: str, elsewhere: Elsewhere | None = None
) -> Dismissal | None:
    """Return that a person does not want these words, when an agent or an import says them.

    Args:
        conn: the store that the words would go into.
        text: the words.
        actor: who says them.
        elsewhere: what was dismissed in the call's other store.
    """
    if is_persons(actor):
        return None
    digest = words_hash(text)
    here = dismissals.of_hashes(conn, [digest]).get(digest)
    return here or (elsewhere or {}).get(digest)


def refuse(conn: Connection, text: str, *, actor: str, elsewhere: Elsewhere | None = None) -> None:
    """Refuse words that a person dismissed or forgot, unless a person says them.

    Args:
        conn: the store that the words would go into.
        text: the words.
        actor: who says them.
        elsewhere: what was dismissed in the call's other store.

    Raises:
        YaadError: REFUSED, with what the person did, and when.
    """
    found = of_text(conn, text, actor=actor, elsewhere=elsewhere)
    if found is not None:
        raise YaadError(
            Code.REFUSED,
            f"{words_of(found)}; it was not stored again.",
            hint="Do not state it again. If it holds after all, the person can state it: yaadwatch "
            "remember TEXT",
        )


def words_of(found: Dismissal) -> str:
    """Return what a person did with some words, and when."""
    if found.how.startswith(_DELETED):
        return f"A person deleted this from an agent file on {day(found.at)}"
    did = DISMISSED if found.how == DISMISSED else FORGOT
    return f"A person {did} this on {day(found.at)}"
