"""The models that were enabled, in the user store: one that is searched by, one that is to be."""

import apsw

from yaadwatch.model.recall import Model, State
from yaadwatch.store.codec import from_ms, from_ms_or_null, to_ms, to_ms_or_null


def everything(conn: apsw.Connection) -> list[Model]:
    """Return every model that is known, the one enabled last first."""
    rows = conn.execute(
        """
        SELECT space, name, dimensions, state, enabled_ms, active_ms
          FROM embedding_models
         ORDER BY enabled_ms DESC, space
        """
    )
    return [
        Model(
            space=space,
            name=name,
            dimensions=dimensions,
            state=state,
            enabled_at=from_ms(enabled_ms),
            active_at=from_ms_or_null(active_ms),
        )
        for space, name, dimensions, state, enabled_ms, active_ms in rows
    ]


def in_state(conn: apsw.Connection, state: State) -> Model | None:
    """Return the model in a state, of the kept ones the last that was active; None without one."""
    found = [model for model in everything(conn) if model.state == state]
    if state == "kept":
        found = [model for model in found if model.active_at is not None]
    return max(found, key=lambda model: model.active_at or model.enabled_at, default=None)


def put(conn: apsw.Connection, model: Model) -> None:
    """Write down a model, in place of what was known of its space.

    Raises:
        apsw.ConstraintError: another one is active, or filling, already.
    """
    conn.execute(
        """
        INSERT INTO embedding_models (space, name, dimensions, state, enabled_ms, active_ms)
        VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (space) DO UPDATE
           SET name = excluded.name, dimensions = excluded.dimensions, state = excluded.state,
               enabled_ms = excluded.enabled_ms, active_ms = excluded.active_ms
        """,
        (
            model.space,
            model.name,
            model.dimensions,
            model.state,
            to_ms(model.enabled_at),
            to_ms_or_null(model.active_at),
        ),
    )


def drop(conn: apsw.Connection, space: str) -> None:
    """Forget a model; its vectors are not touched."""
    conn.execute("DELETE FROM embedding_models WHERE space = ?", (space,))
