"""Connect agents and disconnect them: plan the changes of all files, then write.

A composition root beside the daemon: editing a settings file needs no daemon. An agent with a file
that is not understood is not changed at all.
"""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from yaadwatch import places
from yaadwatch.connect import plans as connect_plans
from yaadwatch.connect.places import is_ours, of_codex, this_program
from yaadwatch.connect.plans import COPIES, Entry, Plan, World, plans_of, written_elsewhere
from yaadwatch.connect.table import CONNECTIONS, SKILL, Connection, Place
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import settings_files
from yaadwatch.system.clock import Clock
from yaadwatch.system.safe_write import ChangedUnderneathError
from yaadwatch.system.settings_files import is_used
from yaadwatch.text.jsonc import strict_json_error
from yaadwatch.text.privacy import mask

TRIES_MAX: Final = 8
"""How often we begin again because an agent wrote its file at the same moment."""
_TRUSTS: Final = {
    "untrusted": "Codex does not run these hooks before you trust them",
    "off": "These hooks were switched off in Codex",
}
_EDITED: Final = "{} is ours, but was edited, so it stays as it is; delete it to have ours again."


def this_machine(folder: str | None) -> World:
    """Return the world of this process.

    Args:
        folder: inside the work tree that is meant; None: connect for the person.

    Raises:
        YaadError: BAD_REQUEST when the folder is in no git repository.
    """
    place = Place(home=Path.home(), project=_top(folder) if folder else None, env=os.environ)
    return World(program=this_program(), place=place, clock=Clock())


def connect(world: World, agents: Sequence[str], *, dry_run: bool = False) -> dict[str, Any]:
    """Connect agents; the answer is Connected.

    Args:
        world: what to work on.
        agents: names; none: every agent that is found.
        dry_run: write nothing, and return what would be written.

    Raises:
        YaadError: BAD_REQUEST when there is no such agent.
    """
    return _each(world, agents, connects=True, dry_run=dry_run)


def disconnect(world: World, agents: Sequence[str], *, dry_run: bool = False) -> dict[str, Any]:
    """Remove our entries from agents' files; the answer is Connected.

    Args:
        world: what to work on.
        agents: names; none: every agent.
        dry_run: write nothing, and return what would be written.

    Raises:
        YaadError: BAD_REQUEST when there is no such agent.
    """
    return _each(world, agents, connects=False, dry_run=dry_run)


def connection_rows(world: World) -> list[dict[str, Any]]:
    """Return how each agent in use is connected now: rows of `Standing`. Nothing is written.

    Raises:
        YaadError: UNAVAILABLE when the receipt cannot be read.
    """
    written = {one.agent for one in connect_plans.load(places.receipt()).entries}
    return [
        _connection_row(world, row)
        for row in CONNECTIONS
        if row.agent != SKILL and (row.agent in written or is_used(row.homes))
    ]


def _connection_row(world: World, row: Connection) -> dict[str, Any]:
    result: dict[str, Any] = {"agent": row.agent, "title": row.title, "files": []}
    try:
        plans = plans_of(world, row, connects=True)
    except YaadError as error:
        reason = mask(error.message).text
        return result | {"state": "refused", "reason": reason, "hint": error.hint}
    edited = [str(plan.found.path) for plan in plans if plan.was_edited]
    outdated = [str(plan.found.path) for plan in plans if plan.change != "same"]
    odd = _unread(row, plans)
    if not outdated:
        left = (*odd, _left(world, row, plans), *map(_EDITED.format, edited))
        return result | {"state": "connected", "todo": " ".join(filter(None, left))}
    written = connect_plans.load(places.receipt())
    if written.of(row.agent, world.project) or any(is_ours(plan.before or "") for plan in plans):
        return result | {"state": "outdated", "files": outdated, "todo": " ".join(odd)}
    trees = ", ".join(written.projects_of(row.agent))
    todo = f"By --project-level it is, in {trees}." if trees else ""
    todo = " ".join(filter(None, (*odd, todo)))
    return result | {"state": "unconnected", "files": outdated, "todo": todo}


def _unread(row: Connection, plans: Sequence[Plan]) -> list[str]:
    """Return which files we understand and their agent does not, and why.

    We read JSON with comments. An agent that does not takes such a file for none, and says nothing.
    """
    return [
        f"{plan.found.path} is no strict JSON (line {line}): {row.title} ignores all of it, with "
        "its hooks and servers. Remove comments and last commas from it."
        for plan in plans
        if row.strict_json and plan.found.path.suffix == ".json"
        if (line := strict_json_error(plan.before or ""))
    ]


def _left(world: World, row: Connection, plans: Sequence[Plan]) -> str:
    """Return the steps left to a person for a connected agent, as far as they can be seen."""
    if row.agent != "codex" or world.project:
        return row.todo_project if world.project else row.todo
    texts = {plan.found.path.name: (plan.before or "", plan.found.path) for plan in plans}
    hooks, path = texts["hooks.json"]
    found = of_codex(hooks, texts["config.toml"][0], str(path))
    parts = [
        f"{words}: {', '.join(event for event, one in found.items() if one == state)}"
        for state, words in _TRUSTS.items()
        if state in found.values()
    ]
    if not parts:
        return ""
    return f"{'; '.join(parts)}. Start codex, type /hooks, and approve those of yaadwatch."


def _each(world: World, agents: Sequence[str], *, connects: bool, dry_run: bool) -> dict[str, Any]:
    rows = [_row(name) for name in agents] if agents else list(CONNECTIONS)
    results = []
    with settings_files.alone(places.receipt().with_suffix(".lock")):
        written = {one.agent for one in connect_plans.load(places.receipt()).entries}
        # Backwards on the way out: a folder that was made for one may hold what came after it.
        for row in rows if connects else reversed(rows):
            if not agents and row.agent not in written and not is_used(row.homes):
                continue
            if world.place.project is not None and not row.by_project:
                continue
            results.append(_agent(world, row, connects=connects, dry_run=dry_run))
    return {"dry_run": dry_run, "agents": results if connects else results[::-1]}


def _agent(world: World, row: Connection, *, connects: bool, dry_run: bool) -> dict[str, Any]:
    """Change the files of one agent; return what was done, or why nothing was."""
    result: dict[str, Any] = {"agent": row.agent, "title": row.title}
    try:
        files, edited = _changed(world, row, connects=connects, dry_run=dry_run)
    except YaadError as error:
        reason = mask(error.message).text
        return result | {"state": "refused", "files": [], "reason": reason, "hint": error.hint}
    if all(file["change"] == "same" for file in files):
        result["state"] = "unchanged" if connects else "unconnected"
    else:
        result["state"] = "connected" if connects else "disconnected"
    todo = row.todo if world.place.project is None else row.todo_project
    if connects and result["state"] == "unchanged":
        # What is there already, a person may have trusted by now.
        todo = _left(world, row, plans_of(world, row, connects=True))
    if not connects:
        todo = "".join(f"{path} is ours, but was edited, so it stays. " for path in edited).strip()
    else:
        if world.place.project is not None and row.agent != SKILL:
            todo += " What was written holds paths of this machine; do not commit it."
        odd = _unread(row, plans_of(world, row, connects=True))
        todo = " ".join((*odd, todo, *map(_EDITED.format, edited))).strip()
    return result | {"files": files} | ({"todo": todo} if todo else {})


def _changed(
    world: World, row: Connection, *, connects: bool, dry_run: bool
) -> tuple[list[dict[str, Any]], list[Path]]:
    """Change the files of one agent; start over when another program writes one meanwhile.

    Returns:
        The result for each file, and our files that are kept because they were edited.

    Raises:
        YaadError: one of them must not be written, or cannot be; CONFLICT when that never ends.
    """
    changed = ""
    written: list[str] = []
    for _ in range(TRIES_MAX):
        plans = plans_of(world, row, connects=connects)
        results = [plan.as_row(with_diff=dry_run) for plan in plans]
        edited = [plan.found.path for plan in plans if plan.was_edited]
        try:
            for plan in plans:
                if plan.change != "same":
                    settings_files.require_writable(plan.found)
            if dry_run:
                return results, edited
            if connects:
                entries = [entry for plan in plans for entry in plan.entries]
                _note(world, row, [*written_elsewhere(world, row), *entries])
            for plan, file in zip(plans, results, strict=True):
                _write(world, plan, file, written)
            if not connects:
                _note(world, row, [])
        except ChangedUnderneathError as error:
            changed = str(error)
        else:
            return results, edited
    raise YaadError(
        Code.CONFLICT,
        f"{changed} was written by somebody else {TRIES_MAX} times while it was edited.",
        hint="Close the agent, then try again.",
    )


def _write(world: World, plan: Plan, result: dict[str, Any], written: list[str]) -> None:
    """Write a file, and add it to those that were; when that fails, say which were.

    Raises:
        YaadError: it cannot be written.
        ChangedUnderneathError: another program wrote it meanwhile.
    """
    if plan.change == "same":
        return
    copies, now = places.backups(COPIES), world.clock.now()
    try:
        if plan.after is None:
            made = plan.entries[0].folders if plan.entries else ()
            copy: Path | None = settings_files.remove(plan.found, made=made, copies=copies, now=now)
        else:
            after = plan.after.encode()
            copy = settings_files.write(plan.found, after, mode=plan.mode, copies=copies, now=now)
    except YaadError as error:
        before = ", ".join(dict.fromkeys(written))
        more = f" Before it, this was written: {before}." if written else ""
        raise YaadError(error.code, f"{error.message}{more}", hint=error.hint) from error
    if copy is not None:
        result["backup"] = str(copy)
    written.append(str(plan.found.path))


def _note(world: World, row: Connection, entries: Sequence[Entry]) -> None:
    """Update the receipt of an agent: before its files are written, or after ours are gone."""
    path = places.receipt()
    receipt = connect_plans.load(path)
    noted = receipt.with_entries(row.agent, world.project, list(entries))
    if noted != receipt:
        connect_plans.save(path, noted)


def _top(folder: str) -> Path:
    for one in (Path(folder), *Path(folder).parents):
        if (one / ".git").exists():
            return one
    raise YaadError(
        Code.BAD_REQUEST,
        f"{folder} is not in a git repository. Nothing was done.",
        hint="Go to one, or name one with --project DIR; without --project-level it is for you.",
    )


def _row(name: str) -> Connection:
    for row in CONNECTIONS:
        if row.agent == name:
            return row
    names = [row.agent for row in CONNECTIONS]
    near = get_close_matches(name, names, n=1)
    raise YaadError(
        Code.BAD_REQUEST,
        f"There is no agent {name!r} that can be connected. Nothing was done.",
        hint=f"The nearest one is: {near[0]}" if near else f"There are: {', '.join(names)}",
    )
