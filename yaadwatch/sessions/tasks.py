"""Manage tasks and skills.

A task has a state and an order. A skill is a way of working: a name, a line on when to use it, and
a body.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from yaadwatch.api.messages.memories import Remember, Update
from yaadwatch.api.messages.store import SkillAdd, Skills, Tasks, TaskUpdate
from yaadwatch.db import authority, nodes, sessions, visibility
from yaadwatch.db.files import Connection
from yaadwatch.db.sessions import TaskRow
from yaadwatch.db.visibility import seen_from
from yaadwatch.memory import changes, flags, lessons, views
from yaadwatch.memory.visibility import view_of
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import OPEN, PROJECT, STATES, short_id
from yaadwatch.model.memories import Node
from yaadwatch.remember import edit, remember
from yaadwatch.remember.drafts import Draft, refuse_secret
from yaadwatch.text import privacy
from yaadwatch.workspace.workspace import Call, Home, Space, find_node


def tasks(home: Home, call: Call, ask: Tasks) -> dict[str, object]:
    """List the tasks in these states, the most important first; the answer is Tasks.

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
            "The request names no change; nothing was done.",
            hint=f"yaadwatch task done {short_id(ask.id)}",
        )
    made = False
    task = ask.id
    if task is None:
        said = remember.remember(
            home, call, Remember(text=str(ask.text), kind="task", session=ask.session)
        )
        made = said["decision"] == "new"
        task, state = str(said["id"]), state or OPEN
    with home.space(call) as space:
        node_id = _find(space, task)
        space.db.read(_require, node_id)
        if ask.text is not None and not made:
            edit.update(home, call, Update(id=node_id, text=ask.text))
        learned = lessons.session_of(home, call, space, ask.session)
        now = home.clock.now()

        def change(conn: Connection) -> tuple[Node, TaskRow]:
            changed = _change(conn, node_id, state, ask.priority, now, actor=call.origin)
            lessons.learned(conn, home, changed[0], learned, now)
            return changed

        node, row = space.db.write(change)
        answer = space.db.read(views.attributed, [_row(node, row)])[0]
    return answer | {"made": made}


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
    every = sessions.of_states(conn, states, limit + len(hidden))
    found = [row for row in every if row.node not in hidden][:limit]
    known = nodes.many(conn, [row.node for row in found])
    whose = authority.of_nodes(conn, known)
    return {
        "hidden": sum(row.node in away for row in every),
        "tasks": [_row(known[row.node], row) | views.by_row(whose.get(row.node)) for row in found],
        "counts": dict.fromkeys(STATES, 0) | sessions.counts(conn),
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
    """Set the state and priority of a task, inside a transaction; this confirms it."""
    node, before = _require(conn, node_id)
    after = replace(before, state=state or before.state, priority=priority or before.priority)
    if after == before:
        return node, before
    node = replace(node, confidence=1.0, confirmed_at=now, updated_at=now, version=node.version + 1)
    word = after.state if after.state != before.state else f"{after.priority} priority"
    changes.save(conn, node, word, actor=actor)
    sessions.put_task(conn, node_id, state=after.state, priority=after.priority)
    return node, after


def _require(conn: Connection, node_id: str) -> tuple[Node, TaskRow]:
    """Return a task that is not archived.

    Raises:
        YaadError: REFUSED when it is no task, or archived.
    """
    node, row = nodes.get(conn, node_id), sessions.get_task(conn, node_id)
    if node is None or row is None:
        kind = "is gone" if node is None else f"is a {node.kind}, no task"
        raise YaadError(
            Code.REFUSED,
            f"Memory {short_id(node_id)} {kind}; nothing was changed.",
            hint="See the tasks: yaadwatch tasks",
        )
    if node.archived_at is not None:
        raise YaadError(
            Code.REFUSED,
            f"Task {short_id(node_id)} is archived ({node.archive_reason}); it was not changed.",
            hint=f"Bring it back first: yaadwatch restore {short_id(node_id)}",
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


SKILL = "skill"


def skills(home: Home, call: Call, ask: Skills) -> dict[str, object]:
    """List the skills of a project by name, or show one with its body; the answer is Skills.

    Raises:
        YaadError: NOT_FOUND when there is none of this name, or no watched project here.
    """
    with home.space(call) as space:
        if ask.name is None:
            return {"skills": space.db.read(_listed_skills, space.worktree.id)}
        return {"skills": [space.db.read(_shown, ask.name, space.worktree.id)]}


def skill_add(home: Home, call: Call, ask: SkillAdd) -> dict[str, object]:
    """Store a skill under its name, or reword the one of this name; the answer is Skill.

    Like every memory it rests on what its words name: when those files change it is flagged.

    Raises:
        YaadError: BAD_REQUEST, TOO_LARGE for the words; BAD_REQUEST for a name that looks like a
            secret; NOT_FOUND when no watched project is here; CONFLICT when another memory says the
            same.
    """
    refuse_secret("name", ask.name, hint="Give the skill a name that may be seen.")
    about = privacy.kept(" ".join(ask.description.split())).text
    with home.space(call) as space, home.naming:
        words = f"{about}\n\n{ask.body.strip()}"
        known = space.db.read(nodes.by_key, PROJECT, ask.name)
        if known is not None and known.kind == SKILL:
            edit.update(home, call, Update(id=known.id, text=words))
            space.db.write(_name, known.id, ask.name, about)
        else:
            draft = Draft(
                text=words,
                origin=call.origin,
                kind=SKILL,
                session=lessons.session_of(home, call, space, ask.session),
            )
            _keep(home, space, draft, ask.name, about)
        return space.db.read(_shown, ask.name, space.worktree.id)


def _keep(home: Home, space: Space, draft: Draft, name: str, about: str) -> None:
    """Store a new skill under its name.

    Raises:
        YaadError: CONFLICT when another memory has the name or the words.
    """
    holder = space.db.read(nodes.by_key, PROJECT, name)
    if holder is not None:
        raise YaadError(
            Code.CONFLICT,
            f"Memory {short_id(holder.id)} has the key {name}, and is no skill; nothing was done.",
            hint="Give the skill another name.",
        )
    admitted = remember.admit(home, space, [draft])[0]
    if admitted.node.key not in (None, name):
        raise YaadError(
            Code.CONFLICT,
            f"The skill {admitted.node.key} says the same; nothing was renamed.",
            hint=f"See it: yaadwatch skill show {admitted.node.key}",
        )
    space.db.write(_name, admitted.node.id, name, about)


def _name(conn: Connection, id: str, name: str, about: str) -> None:
    """Set the name of a skill, by which it is found then, and the line on its use.

    Raises:
        YaadError: CONFLICT when another memory got that name meanwhile.
    """
    holder = nodes.by_key(conn, PROJECT, name)
    if holder is not None and holder.id != id:
        raise YaadError(
            Code.CONFLICT,
            f"Another memory was just given the key {name}; this one is kept without a name.",
            hint=f"See it: yaadwatch show {short_id(id)}",
        )
    sessions.describe_skill(conn, id, name=name, description=about)
    node = nodes.get(conn, id)
    if node is not None:
        changes.index(conn, node)


def _listed_skills(conn: Connection, worktree: int) -> list[dict[str, object]]:
    found = [node for node in nodes.of_kind(conn, SKILL, 1_000) if node.key]
    return [
        _skill_row(conn, node, worktree) for node in sorted(found, key=lambda node: str(node.key))
    ]


def _shown(conn: Connection, name: str, worktree: int) -> dict[str, object]:
    node = nodes.by_key(conn, PROJECT, name)
    if node is None or node.kind != SKILL:
        raise YaadError(
            Code.NOT_FOUND,
            f"There is no skill called {name}.",
            hint="See those there are: yaadwatch skill list",
        )
    body = node.text.removeprefix(str(node.attributes.get("description", ""))).lstrip("\n")
    return _skill_row(conn, node, worktree) | {"body": body}


def _skill_row(conn: Connection, node: Node, worktree: int) -> dict[str, object]:
    flag = flags.spread_flags_of(conn, worktree, [node.id]).get(node.id)
    return {
        "id": node.id,
        "name": node.key,
        "description": node.attributes.get("description") or node.summary,
        **views.by_row(authority.of_nodes(conn, [node.id]).get(node.id)),
        "version": node.version,
        "updated_at": node.updated_at,
        "stale": flag is not None and flag.level == "warn",
    }
