"""The verbs of tasks: what is to be done, how far it is, what comes first."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from yaadwatch.api.messages.memories import Remember, Update
from yaadwatch.api.messages.sessions import Tasks, TaskUpdate
from yaadwatch.engine import json_views, node_changes
from yaadwatch.engine.learning import current, lessons
from yaadwatch.engine.memories import mend
from yaadwatch.engine.remember import verb as remembering
from yaadwatch.engine.visibility import view_of
from yaadwatch.engine.workspace import Call, Home, Space, find_node
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called
from yaadwatch.model.limits import OPEN, STATES
from yaadwatch.model.nodes import Node
from yaadwatch.store import nodes, visibility
from yaadwatch.store.connection import Connection
from yaadwatch.store.sessions import tasks as rows
from yaadwatch.store.sessions.tasks import TaskRow
from yaadwatch.store.truth import authority
from yaadwatch.store.visibility import seen_from

KIND = "task"


def tasks(home: Home, call: Call, ask: Tasks) -> dict[str, object]:
    """List the tasks in these states, what comes first at the front; the answer is Tasks.

    Those of branches that are not merged here are counted only, unless `all_branches`.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        view = view_of(home, space, all_branches=ask.all_branches)
        return space.db.read(seen_from, view, _listed, ask.states or STATES, ask.limit)


def task_update(home: Home, call: Call, ask: TaskUpdate) -> dict[str, object]:
    """Change a task, or without `id` add one; the answer is Task.

    Raises:
        YaadError: BAD_REQUEST when nothing is given; NOT_FOUND, CONFLICT when `id` does not name
            exactly one; REFUSED when that is no task, or is archived.
    """
    state = ask.state
    if ask.id is None and ask.text is None:
        raise YaadError(
            Code.BAD_REQUEST,
            "A new task needs a text; nothing was done.",
            hint="yaadwatch task add TEXT, or name the task that shall change",
        )
    if ask.id is not None and ask.text is None and state is None and ask.priority is None:
        raise YaadError(
            Code.BAD_REQUEST,
            "Nothing was said that shall change; nothing was done.",
            hint=f"yaadwatch task done {called(ask.id)}",
        )
    made = False
    task = ask.id
    if task is None:
        said = remembering.remember(
            home, call, Remember(text=str(ask.text), kind=KIND, session=ask.session)
        )
        made = said["decision"] == "new"
        task, state = str(said["id"]), state or OPEN
    with home.space(call) as space:
        node_id = _find(space, task)
        space.db.read(_require, node_id)
        if ask.text is not None and not made:
            mend.update(home, call, Update(id=node_id, text=ask.text))
        learned = current.session_of(home, call, space, ask.session)
        now = home.clock.now()

        def change(conn: Connection) -> tuple[Node, TaskRow]:
            changed = _change(conn, node_id, state, ask.priority, now, actor=call.origin)
            lessons.learned(conn, home, changed[0], learned, now)
            return changed

        node, row = space.db.write(change)
        told = space.db.read(json_views.attributed, [_row(node, row)])[0]
    return told | {"made": made}


def _find(space: Space, id: str) -> str:
    try:
        return find_node(space.db, id)
    except YaadError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        hint = "The tasks, with their ids: yaadwatch tasks"
        raise YaadError(error.code, error.message, hint=hint) from None


def _listed(conn: Connection, states: Sequence[str], limit: int) -> dict[str, object]:
    hidden = visibility.hidden(conn)
    away = visibility.of_other_branches(conn)
    every = rows.of_states(conn, states, limit + len(hidden))
    found = [row for row in every if row.node not in hidden][:limit]
    known = nodes.many(conn, [row.node for row in found])
    whose = authority.of_nodes(conn, known)
    return {
        "hidden": sum(row.node in away for row in every),
        "tasks": [
            _row(known[row.node], row) | json_views.by_row(whose.get(row.node)) for row in found
        ],
        "counts": dict.fromkeys(STATES, 0) | rows.counts(conn),
    }


def _change(
    conn: Connection,
    node_id: str,
    state: str | None,
    priority: str | None,
    now: datetime,
    *,
    actor: str,
) -> tuple[Node, TaskRow]:
    """Give a task a state and a priority, inside a transaction; it is confirmed by that."""
    node, before = _require(conn, node_id)
    after = replace(before, state=state or before.state, priority=priority or before.priority)
    if after == before:
        return node, before
    node = replace(node, confidence=1.0, confirmed_at=now, updated_at=now, version=node.version + 1)
    word = after.state if after.state != before.state else f"{after.priority} priority"
    node_changes.save(conn, node, word, actor=actor)
    rows.put(conn, node_id, state=after.state, priority=after.priority)
    return node, after


def _require(conn: Connection, node_id: str) -> tuple[Node, TaskRow]:
    """Return a task that is not archived.

    Raises:
        YaadError: REFUSED; it is something else, or archived.
    """
    node, row = nodes.get(conn, node_id), rows.get(conn, node_id)
    if node is None or row is None:
        kind = "is gone" if node is None else f"is a {node.kind}, no task"
        raise YaadError(
            Code.REFUSED,
            f"Memory {called(node_id)} {kind}; nothing was changed.",
            hint="See the tasks: yaadwatch tasks",
        )
    if node.archived_at is not None:
        raise YaadError(
            Code.REFUSED,
            f"Task {called(node_id)} is archived ({node.archive_reason}); it was not changed.",
            hint=f"Bring it back first: yaadwatch restore {called(node_id)}",
        )
    return node, row


def _row(node: Node, row: TaskRow) -> dict[str, object]:
    return {
        "id": node.id,
        "text": node.text,
        "state": row.state,
        "priority": row.priority,
        "waits_for": list(row.waits_for),
        "version": node.version,
        "created_at": node.created_at,
        "updated_at": node.updated_at,
    }
