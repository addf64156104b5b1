"""Was anything said in a store since it was copied? What can be worked out again does not count."""

import apsw

from yaadwatch.model.events import SAID
from yaadwatch.store.codec import json_list


def marks(conn: apsw.Connection) -> tuple[int, ...]:
    """Return numbers that change with each thing that somebody says, and with nothing else.

    Most of it is an event. What is claimed, noted in a session, or said anew of a relation, and
    that one never held, is none.
    """
    rows = conn.execute(
        """
        SELECT (SELECT coalesce(max(seq), 0) FROM events
                 WHERE kind IN (SELECT value FROM json_each(?))),
               (SELECT coalesce(max(id), 0) FROM claims),
               (SELECT count(valid_until_ms) FROM claims),
               (SELECT coalesce(max(id), 0) FROM session_notes),
               (SELECT count(*) FROM edges),
               (SELECT coalesce(max(updated_ms), 0) FROM edges)
        """,
        (json_list(SAID),),
    )
    return tuple(map(int, next(iter(rows))))
