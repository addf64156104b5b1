"""Tasks and skills: nodes of kind 'task' and 'skill', with what their kind says of them.

State and priority are attributes, which callers and imports may write: what is none counts as none,
so that no task is out of sight.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import apsw

from yaadwatch.model.limits import NORMAL, OPEN, PRIORITIES, STATES
from yaadwatch.store.codec import json_list, to_json

LISTED_MAX: Final = 1_000


def skill_named(conn: apsw.Connection, name: str) -> str | None:
    """Return the id of the living skill of this name, or None."""
    found = conn.execute(
        """
        SELECT id FROM nodes
         WHERE scope = 'project' AND key = ? AND kind = 'skill' AND archived_ms IS NULL
        """,
        (name,),
    ).fetchone()
    return None if found is None else str(found[0])


def skill_holder(conn: apsw.Connection, key: str) -> str | None:
    """Return the id of the living memory of the project that is kept under this key, or None."""
    found = conn.execute(
        "SELECT id FROM nodes WHERE scope = 'project' AND key = ? AND archived_ms IS NULL", (key,)
    ).fetchone()
    return None if found is None else str(found[0])


def describe_skill(conn: apsw.Connection, id: str, *, name: str, description: str) -> None:
    """Give a skill its name and the line on its use (masked).

    Raises:
        apsw.ConstraintError: another living memory has this name for its key.
    """
    conn.execute(
        """
        UPDATE nodes SET key = ?, attributes = json_set(attributes, '$.description', ?)
         WHERE id = ?
        """,
        (name, description, id),
    )


def skill_description(conn: apsw.Connection, id: str) -> str:
    """Return the line on the use of a skill; '' without one."""
    found = conn.execute(
        "SELECT json_extract(attributes, '$.description') FROM nodes WHERE id = ?", (id,)
    ).fetchone()
    return str(found[0]) if found is not None and found[0] is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """How a task is; `waits_for`: tasks that it depends on and that are not done."""

    node: str
    state: str
    priority: str
    waits_for: tuple[str, ...] = ()


def of_states(conn: apsw.Connection, wanted: Iterable[str], limit: int) -> list[TaskRow]:
    """Return at most `limit` living tasks in these states, what comes first at the front.

    Those under way first, then by priority, then those that wait for no other, the oldest first.
    """
    rows = conn.execute(
        f"""
        SELECT id, {_STATE} AS state, {_PRIORITY} AS priority,
               (SELECT json_group_array(waited)
                  FROM (SELECT other.id AS waited
                          FROM edges
                          JOIN nodes AS other ON other.id = edges.to_node
                         WHERE edges.from_node = nodes.id AND edges.kind = 'depends_on'
                           AND edges.valid_until_ms IS NULL
                           AND other.kind = 'task' AND other.archived_ms IS NULL
                           AND {_WAITED_FOR} IN ('open', 'doing')
                         ORDER BY other.id)) AS waits_for
          FROM nodes
         WHERE kind = 'task' AND archived_ms IS NULL
           AND state IN (SELECT value FROM json_each(?1))
         ORDER BY state <> 'doing',
                  (SELECT key FROM json_each(?2) WHERE value = priority),
                  waits_for <> '[]', pinned DESC, created_ms, id
         LIMIT ?3
        """,  # noqa: S608  (the parts are constants of this module)
        (json_list(wanted), to_json(list(PRIORITIES)), limit),
    )
    return [
        TaskRow(node=node, state=state, priority=priority, waits_for=tuple(_read(waits_for)))
        for node, state, priority, waits_for in rows
    ]


def counts(conn: apsw.Connection) -> dict[str, int]:
    """Return how many living tasks there are in each state that any is in."""
    rows = conn.execute(
        f"""
        SELECT {_STATE} AS state, count(*) FROM nodes
         WHERE kind = 'task' AND archived_ms IS NULL GROUP BY state ORDER BY state
        """  # noqa: S608
    )
    return dict(iter(rows))


def states(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the states of those of `ids` that are tasks."""
    rows = conn.execute(
        f"""
        SELECT id, {_STATE} FROM nodes
         WHERE kind = 'task' AND id IN (SELECT value FROM json_each(?)) ORDER BY id
        """,  # noqa: S608
        (json_list(ids),),
    )
    return dict(iter(rows))


def get(conn: apsw.Connection, id: str) -> TaskRow | None:
    """Return how a task is, living or archived; None when there is no task of this id."""
    row = conn.execute(
        f"SELECT {_STATE}, {_PRIORITY} FROM nodes WHERE kind = 'task' AND id = ?",  # noqa: S608
        (id,),
    ).fetchone()
    return None if row is None else TaskRow(node=id, state=row[0], priority=row[1])


def put(conn: apsw.Connection, id: str, *, state: str, priority: str) -> None:
    """Note how a task is, beside what else is kept of it."""
    conn.execute(
        """
        UPDATE nodes SET attributes = json_set(attributes, '$.state', ?, '$.priority', ?)
         WHERE id = ?
        """,
        (state, priority, id),
    )


def _one_of(known: Iterable[str], node: str, name: str, other: str) -> str:
    """Return SQL for an attribute of a node: one of the `known` words, else `other`."""
    value = f"json_extract({node}.attributes, '$.{name}')"
    words = ", ".join(f"'{word}'" for word in known)
    return f"iif({value} IN ({words}), {value}, '{other}')"


_STATE = _one_of(STATES, "nodes", "state", OPEN)
_WAITED_FOR = _one_of(STATES, "other", "state", OPEN)
_PRIORITY = _one_of(PRIORITIES, "nodes", "priority", NORMAL)


def _read(array: str) -> list[str]:
    import json

    found: list[str] = json.loads(array)
    return found
