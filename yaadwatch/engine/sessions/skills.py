"""The verbs of skills: ways of working, each with a name, a line on when to use it, and a body."""

from yaadwatch.api.messages.memories import Update
from yaadwatch.api.messages.sessions import SkillAdd, Skills
from yaadwatch.core import privacy
from yaadwatch.engine import json_views, node_changes
from yaadwatch.engine.doubts import doubting
from yaadwatch.engine.learning import current
from yaadwatch.engine.memories import mend
from yaadwatch.engine.remember import verb as remembering
from yaadwatch.engine.remember.drafts import Draft, refuse_secret
from yaadwatch.engine.workspace import Call, Home, Space
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import Node
from yaadwatch.store import nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.sessions import tasks as rows
from yaadwatch.store.truth import authority

KIND = "skill"


def skills(home: Home, call: Call, ask: Skills) -> dict[str, object]:
    """List the skills of a project by name, or show one with its body; the answer is Skills.

    Raises:
        YaadError: NOT_FOUND when there is none of this name, or no watched project here.
    """
    with home.space(call) as space:
        if ask.name is None:
            return {"skills": space.db.read(_listed, space.worktree.id)}
        return {"skills": [space.db.read(_shown, ask.name, space.worktree.id)]}


def skill_add(home: Home, call: Call, ask: SkillAdd) -> dict[str, object]:
    """Keep a skill under its name, or give the one of this name new words; the answer is Skill.

    It rests on what its words name, as every memory does: a skill whose files change is in doubt.

    Raises:
        YaadError: BAD_REQUEST, TOO_LARGE for the words; BAD_REQUEST for a name that looks like a
            secret; NOT_FOUND when no watched project is here;
            CONFLICT when another memory says the same.
    """
    refuse_secret("name", ask.name, hint="Give the skill a name that may be seen.")
    about = privacy.kept(" ".join(ask.description.split())).text
    with home.space(call) as space, home.naming:
        words = f"{about}\n\n{ask.body.strip()}"
        known = space.db.read(rows.skill_named, ask.name)
        if known is not None:
            mend.update(home, call, Update(id=known, text=words))
            space.db.write(_name, known, ask.name, about)
        else:
            draft = Draft(
                text=words,
                origin=call.origin,
                kind=KIND,
                session=current.session_of(home, call, space, ask.session),
            )
            _keep(home, space, draft, ask.name, about)
        return space.db.read(_shown, ask.name, space.worktree.id)


def _keep(home: Home, space: Space, draft: Draft, name: str, about: str) -> None:
    """Keep a new skill under its name.

    Raises:
        YaadError: CONFLICT when the name, or the words, are another memory's.
    """
    holder = space.db.read(rows.skill_holder, name)
    if holder is not None:
        raise YaadError(
            Code.CONFLICT,
            f"Memory {called(holder)} has the key {name}, and is no skill; nothing was done.",
            hint="Give the skill another name.",
        )
    admitted = remembering.admit(home, space, [draft])[0]
    if admitted.node.key not in (None, name):
        raise YaadError(
            Code.CONFLICT,
            f"The skill {admitted.node.key} says the same; nothing was renamed.",
            hint=f"See it: yaadwatch skill show {admitted.node.key}",
        )
    space.db.write(_name, admitted.node.id, name, about)


def _name(conn: Connection, id: str, name: str, about: str) -> None:
    """Give a skill its name, by which it is found then, and the line on its use.

    Raises:
        YaadError: CONFLICT when another memory got that name meanwhile.
    """
    if rows.skill_holder(conn, name) not in {None, id}:
        raise YaadError(
            Code.CONFLICT,
            f"Another memory was just given the key {name}; this one is kept without a name.",
            hint=f"See it: yaadwatch show {called(id)}",
        )
    rows.describe_skill(conn, id, name=name, description=about)
    node = nodes.get(conn, id)
    if node is not None:
        node_changes.index(conn, node)


def _listed(conn: Connection, worktree: int) -> list[dict[str, object]]:
    found = [node for node in nodes.of_kind(conn, KIND, rows.LISTED_MAX) if node.key]
    return [_row(conn, node, worktree) for node in sorted(found, key=lambda node: str(node.key))]


def _shown(conn: Connection, name: str, worktree: int) -> dict[str, object]:
    id = rows.skill_named(conn, name)  # noqa: A001
    node = nodes.get(conn, id) if id is not None else None
    if node is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"There is no skill called {name}.",
            hint="See those there are: yaadwatch skill list",
        )
    about = rows.skill_description(conn, node.id)
    body = node.text.removeprefix(about).lstrip("\n")
    return _row(conn, node, worktree) | {"body": body}


def _row(conn: Connection, node: Node, worktree: int) -> dict[str, object]:
    flag = doubting.of_nodes(conn, worktree, [node.id]).get(node.id)
    return {
        "id": node.id,
        "name": node.key,
        "description": rows.skill_description(conn, node.id) or node.summary,
        **json_views.by_row(authority.of_nodes(conn, [node.id]).get(node.id)),
        "version": node.version,
        "updated_at": node.updated_at,
        "stale": flag is not None and flag.level == "warn",
    }
