"""Count questions without a good answer, and finish erasing texts.

Only the hash of a question is stored. To approve a gap the caller passes the question itself, and
its hash must be known, so no question can be read back by a caller who does not know it.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from yaadwatch import places
from yaadwatch.api.messages.graph import ApproveGap, DropGap
from yaadwatch.db import claims, database, erasing, history
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.memories import Gap
from yaadwatch.system import files
from yaadwatch.text import privacy
from yaadwatch.text import words as text_words
from yaadwatch.workspace.workspace import Call, Home

KEPT_FOR: Final = timedelta(days=180)
"""An unapproved gap that is not asked for this long is deleted."""
NAME_CHARS: Final = 8


def open_gaps(db: Database, limit: int) -> list[Gap]:
    """Return at most `limit` gaps with approved text, those asked most often first."""
    return db.read(claims.all_gaps, limit, approved=True)


def write_down(home: Home, project: str, db: Database) -> None:
    """Store the questions counted since the last call.

    Raises:
        YaadError: the key or the store is unavailable; the counts are kept for the next call.
    """
    with home.unanswered.taken(project) as counts:
        if counts:
            key = files.load_key(places.key_file())
            keyed = {_keyed(key, one): times for one, times in counts.items()}
            db.write(claims.count_gap, keyed, home.clock.now())


def forget_old(conn: Connection, now: datetime) -> int:
    """Delete gaps that are no longer asked; return their number."""
    return claims.drop_old_gaps(conn, now - KEPT_FOR)


def gaps(home: Home, call: Call) -> dict[str, object]:
    """Return the gaps, those asked most often first; the answer is Gaps.

    Includes questions counted since the last upkeep.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        write_down(home, space.project.id, space.db)
        found = space.db.read(claims.all_gaps, 200)
        total = space.db.read(claims.count_gaps)
    return {"gaps": [_row(gap) for gap in found], "more": max(total - len(found), 0)}


def approve_gap(home: Home, call: Call, ask: ApproveGap) -> dict[str, object]:
    """Store the masked text of a gap; the answer is Gap.

    Raises:
        YaadError: NOT_FOUND when there is no such gap, or no project here.
    """
    masked = privacy.mask(ask.question.strip())
    why = privacy.kept(ask.reason.strip()).text
    words = text_words.question_form(masked.text)
    digest = _keyed(files.load_key(places.key_file()), digest_of(words))
    now = home.clock.now()

    def commit(conn: Connection) -> Gap | None:
        said = privacy.kept(" ".join(masked.text.split())).text
        if not claims.approve_gap(conn, digest, text=said, by=call.origin, reason=why, at=now):
            return None
        body: dict[str, object] = {"by": call.origin}
        history.append(
            conn, Event(kind=events.GAP_APPROVED, at=now, subject=digest[:16], body=body)
        )
        return claims.get_gap(conn, digest)

    with home.space(call) as space:
        write_down(home, space.project.id, space.db)
        gap = space.db.write(commit)
    if gap is None:
        raise YaadError(
            Code.NOT_FOUND,
            "No question in these words is among the gaps; nothing was approved.",
            hint="Type the question as it was asked; only a hash is kept. The list: yaadwatch gaps",
        )
    return _row(gap) | {"masked": list(masked.kinds)}


def drop_gap(home: Home, call: Call, ask: DropGap) -> dict[str, object]:
    """Delete a gap and its text; the answer is Gap.

    Raises:
        YaadError: NOT_FOUND or CONFLICT when `gap` does not name exactly one.
    """
    with home.space(call) as space:
        found = [
            one
            for one in space.db.read(claims.all_gaps, -1)
            if one.hash.startswith(ask.gap.lower())
        ]
        if len(found) != 1:
            raise YaadError(
                Code.CONFLICT if found else Code.NOT_FOUND,
                f"{ask.gap} names {len(found) or 'no'} question{'s' * (len(found) != 1)}; nothing "
                "was forgotten.",
                hint="Their names: yaadwatch gaps",
            )
        space.db.write(claims.drop_gap, found[0].hash)
    return _row(found[0])


def to_go_out(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a row of `gaps` for export; None for a gap without approved text.

    The stored hash is keyed with this data folder's key and useless elsewhere, so the export has an
    unkeyed hash of the text.
    """
    if row["text"] is None:
        return None
    return {**row, "hash": digest_of(text_words.question_form(str(row["text"])))}


def rekeyed_gap(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an imported row of `gaps`, hashed with the key of this data folder.

    Raises:
        ValueError: its text was not approved, or is empty.
        YaadError: UNAVAILABLE; there is no key.
    """
    words = text_words.question_form(str(row.get("text") or ""))
    if not words:
        raise ValueError("its words were not approved, and its hash says nothing here")
    return {**row, "hash": _keyed(files.load_key(places.key_file()), digest_of(words))}


def digest_of(words: str) -> str:
    """Return the hash of a question that a process keeps until it is stored."""
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def _keyed(key: bytes, digest: str) -> str:
    return files.keyed(key, digest.encode())


def _row(gap: Gap) -> dict[str, object]:
    return {
        "gap": gap.hash[:NAME_CHARS],
        "asked": gap.asked,
        "first": gap.first,
        "last": gap.last,
        "text": gap.text,
        "approved_at": gap.approved_at,
        "approved_by": gap.approved_by,
        "reason": gap.reason or None,
    }


UNSCRUBBED: Final = "unscrubbed"
"""In `meta`: rows were erased at this time, and their bytes may still be in the file."""


def needed(conn: Connection, now: datetime) -> None:
    """Mark, inside a transaction, that the store must be scrubbed of deleted bytes."""
    database.put_meta(conn, UNSCRUBBED, f"{now:%Y-%m-%dT%H:%M:%SZ}")


def scrub(db: Database) -> None:
    """Remove the bytes of erased rows from a store's files, if it is marked.

    Raises:
        YaadError: UNAVAILABLE; the next upkeep tries again.
    """
    if db.read(database.get_meta, UNSCRUBBED) is None:
        return
    db.write(erasing.compact_indexes)
    db.scrub()
    db.write(database.drop_meta, UNSCRUBBED)
