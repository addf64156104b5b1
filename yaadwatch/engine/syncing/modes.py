"""How does each agent file take part: by a block in it, by a file of our own, or by being read?"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from bridges import agents
from bridges.agents import AGENTS, FIRST, Agent
from bridges.block import Absent, find
from yaadwatch.engine.agent_files import finding
from yaadwatch.engine.agent_files.finding import FILES_MAX, IMPORTED, Fleet, Found
from yaadwatch.engine.agent_files.reading import is_refused
from yaadwatch.engine.workspace import Space
from yaadwatch.model.agent_files import (
    ABSENT,
    INLINE,
    PENDING,
    PRIVATE,
    READ,
    AgentFileRow,
)
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.store import agent_files, meta
from yaadwatch.store.connection import Connection
from yaadwatch.system import files, installed

ASKED: Final = "mode"
"""In the store's meta table: what a person chose for the whole project; missing: by the file."""

EACH: Final = ("CLAUDE.md", "AGENTS.md", ".cursorrules")
"""Files that have the block whatever other files there are; the others have it where an agent would
get it by no other file."""


def note_missing(space: Space, fleet: Fleet) -> None:
    """Make rows for the files that were never seen here, and for the carriers that are needed."""
    rows = space.db.read(agent_files.of_worktree, space.worktree.id)
    asked = space.db.read(meta.get, ASKED) or ""
    before = _formats_before(space)
    was_spared = spared(space) & rows.keys()
    settled = {path: row for path, row in rows.items() if path not in was_spared}
    new: dict[str, AgentFileRow] = {}
    are_spared = set()
    for path, mode in suited(space, fleet, asked, settled).items():
        if mode == READ != asked and fleet.files[path].may_have_block:
            are_spared.add(path)
        if path in rows:
            if rows[path].mode != mode:
                new[path] = replace(rows[path], mode=mode)
            continue
        known = _is_looked_for(fleet.files[path], rows, before)
        # PENDING stands for "never read": what it says then was there before us. A file that
        # appears while we watch was typed.
        state = ABSENT if known or not (space.root / path).exists() else PENDING
        new[path] = AgentFileRow(worktree=space.worktree.id, path=path, mode=mode, state=state)
    for path in carriers(space, fleet, {**rows, **new}, asked) - rows.keys():
        new[path] = AgentFileRow(worktree=space.worktree.id, path=path, mode=PRIVATE, state=ABSENT)
    if new or not fleet.sought <= before or are_spared != was_spared:
        space.db.write(_put, new.values(), _formats_key(space), fleet.sought | before)
        spare(space, are_spared)


def spared(space: Space) -> set[str]:
    """Return the files that are only read because their agents read another one with a block.

    Nobody chose that: when there is no such other file any more, they get one.
    """
    return set(json.loads(space.db.read(meta.get, _spared_key(space)) or "[]"))


def spare(space: Space, paths: Iterable[str]) -> None:
    """Note which files are only read for that reason."""
    space.db.write(meta.put, _spared_key(space), json.dumps(sorted(paths)))


def _spared_key(space: Space) -> str:
    return f"spared {space.worktree.id}"


def _is_looked_for(found: Found, rows: Mapping[str, AgentFileRow], before: set[str]) -> bool:
    """Tell whether a file that was not known would have been, had it been there before.

    Not so for a file that another one has begun to take in, nor where there were more files of its
    format than are looked at.
    """
    if not rows or found.bridge.name == IMPORTED.name or finding.sign(found.bridge) not in before:
        return False
    return sum(map(found.bridge.is_at, rows)) < FILES_MAX


def suited(
    space: Space, fleet: Fleet, asked: str, rows: Mapping[str, AgentFileRow]
) -> dict[str, str]:
    """Return how each file takes part that has no row yet.

    Args:
        space: the work tree.
        fleet: its agent files.
        asked: what a person chose for all of them; '' for what suits each.
        rows: the files whose mode is settled.
    """
    modes = {path: row.mode for path, row in rows.items()}
    new = {}
    for path in sorted(fleet.files, key=lambda path: _turn(fleet, path)):
        if path not in modes:
            new[path] = modes[path] = _first_mode(space, fleet, path, asked, modes)
    return new


def carriers(
    space: Space, fleet: Fleet, rows: Mapping[str, AgentFileRow], asked: str | None = None
) -> set[str]:
    """Return the files of our own that agents of this person need: they get the rules by no block.

    Where none of the agents that can be reached so is installed, it is the one that most can read.
    """
    if asked is None:
        asked = space.db.read(meta.get, ASKED) or ""
    formats = fleet.formats(space.root)
    able = [agent for agent in AGENTS if agent.carrier]
    here = [agent for agent in able if installed.is_used(agent.homes)]
    blocks = {path for path, row in rows.items() if row.mode == INLINE and path in formats}
    needed = set()
    for agent in here or [agent for agent in able if agent.carrier == FIRST]:
        read = agents.read_by(agent, formats)
        modes = {
            PRIVATE if is_refused(rows[path]) else rows[path].mode
            for path in read
            if path in rows and fleet.files[path].may_have_block
        }
        if modes:
            needs = INLINE not in modes and PRIVATE in modes
        else:
            needs = asked != READ and not (blocks if not here else blocks & read)
        if needs and _has_place(space, agent):
            needed.add(agent.carrier)
    return needed


def users(path: str) -> tuple[Agent, ...]:
    """Return the agents that a carrier is for: the installed ones, or all that can read it."""
    able = [agent for agent in AGENTS if agent.carrier == path]
    here = [agent for agent in able if installed.is_used(agent.homes)]
    return tuple(here or able)


def default(space: Space, path: str) -> str:
    """Return the mode of a file that may have a block and that nobody chose one for.

    A block in a tracked file that is not committed is in the way of checkout and rebase, so such a
    file gets none by itself.
    """
    seen = files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
    if seen.data is not None and not isinstance(find(seen.data), Absent):
        return INLINE
    return PRIVATE if space.repository.is_tracked(path) else INLINE


def _first_mode(space: Space, fleet: Fleet, path: str, asked: str, modes: Mapping[str, str]) -> str:
    """Return how a file takes part that was never seen here."""
    found = fleet.files[path]
    if not found.may_have_block:
        return READ
    mode = asked or (default(space, path) if (space.root / path).exists() else "") or PRIVATE
    if mode == INLINE and (
        any(modes.get(other) == INLINE for other in fleet.taken_in.get(path, ()))
        or (found.name not in EACH and _is_covered(space, fleet, found, modes))
    ):
        return READ
    return mode


def _turn(fleet: Fleet, path: str) -> tuple[bool, bool]:
    """Return when the mode of a file is settled: after those that can spare it the block."""
    return fleet.files[path].name not in EACH, bool(fleet.taken_in.get(path))


def _is_covered(space: Space, fleet: Fleet, found: Found, modes: Mapping[str, str]) -> bool:
    """Tell whether whoever reads a file reads another one with a block anyway."""
    formats = fleet.formats(space.root) | {found.path: frozenset({found.bridge.name})}
    blocks = {path for path, mode in modes.items() if mode == INLINE and path in formats}
    return all(
        not agents.read_by(agent, formats).isdisjoint(blocks)
        for agent in AGENTS
        if found.path in agents.read_by(agent, formats)
    )


def _has_place(space: Space, agent: Agent) -> bool:
    folder = (space.root / agent.carrier).parent
    return folder.is_dir() or not agent.beside


def _formats_key(space: Space) -> str:
    return f"formats {space.worktree.id}"


def _formats_before(space: Space) -> set[str]:
    """Return the formats that were looked for here before: a file of another one is not new."""
    return set(json.loads(space.db.read(meta.get, _formats_key(space)) or "[]"))


def _put(conn: Connection, rows: Iterable[AgentFileRow], key: str, names: Collection[str]) -> None:
    for row in rows:
        agent_files.put(conn, row)
    meta.put(conn, key, json.dumps(sorted(names)))
