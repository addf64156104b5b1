"""The second half of erasing: rows are gone at once, their bytes when the store is written anew."""

from datetime import datetime
from typing import Final

from yaadwatch.store import meta
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite.database import Database
from yaadwatch.store.truth import erasing

UNSCRUBBED: Final = "unscrubbed"
"""In `meta`: rows were erased at this time, and their bytes may still be in the file."""


def needed(conn: Connection, now: datetime) -> None:
    """Note inside a transaction that what it deletes must not leave bytes behind."""
    meta.put(conn, UNSCRUBBED, f"{now:%Y-%m-%dT%H:%M:%SZ}")


def scrub(db: Database) -> None:
    """Take the bytes of erased rows out of a store's files, if there are any.

    Raises:
        YaadError: UNAVAILABLE; the next upkeep tries it again.
    """
    if db.read(meta.get, UNSCRUBBED) is None:
        return
    db.write(erasing.compact_indexes)
    db.scrub()
    db.write(meta.drop, UNSCRUBBED)
