"""How does each agent file take part: by a block in it, by a file of our own, or by being read?"""

from collections.abc import Mapping
from typing import Final

from bridges.block import Absent, find
from yaadwatch.engine.workspace import Space
from yaadwatch.model.agent_files import (
    ABSENT,
    CARRIER,
    INLINE,
    PENDING,
    PRIVATE,
    READ,
    AgentFileRow,
)
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.store import agent_files, meta
from yaadwatch.store.connection import Connection
from yaadwatch.system import files

ASKED: Final = "mode"
"""In the store's meta table: what a person chose for the whole project; missing: by the file."""

_MAIN: Final = "CLAUDE.md"


def note_missing(space: Space, names: Mapping[str, tuple[str, str]]) -> None:
    """Make rows for the files that were never seen here, and for the carrier if one is needed."""
    rows = space.db.read(agent_files.of_worktree, space.worktree.id)
    asked = space.db.read(meta.get, ASKED) or ""
    new = [_first(space, path, asked, whole=not rows) for path in names if path not in rows]
    known = {**rows, **{row.path: row for row in new}}
    if CARRIER not in rows and _needs_carrier(known, asked):
        row = AgentFileRow(worktree=space.worktree.id, path=CARRIER, mode=PRIVATE, state=ABSENT)
        new.append(row)
    if new:
        space.db.write(_put, new)


def needs_carrier(space: Space) -> bool:
    """Return whether some agent here gets the rules by the private carrier, and not otherwise."""
    rows = space.db.read(agent_files.of_worktree, space.worktree.id)
    return _needs_carrier(rows, space.db.read(meta.get, ASKED) or "")


def in_git(space: Space, path: str) -> bool:
    """Return whether a file is tracked."""
    return space.repository.is_tracked(path)


def default(space: Space, path: str) -> str:
    """Return the mode of a file that nobody chose one for.

    A block in a tracked file that is not committed is in the way of checkout and rebase, so such a
    file gets none by itself.
    """
    seen = files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
    if seen.data is not None and not isinstance(find(seen.data), Absent):
        return INLINE
    return PRIVATE if in_git(space, path) else INLINE


def _first(space: Space, path: str, asked: str, *, whole: bool) -> AgentFileRow:
    """Return the row of a file seen for the first time.

    PENDING stands for "never read": what it says then was there before us. A file that appears
    while we watch was typed.
    """
    there = (space.root / path).exists()
    mode = asked or (default(space, path) if there else "") or PRIVATE
    state = PENDING if there and whole else ABSENT
    return AgentFileRow(worktree=space.worktree.id, path=path, mode=mode, state=state)


def _needs_carrier(rows: Mapping[str, AgentFileRow], asked: str) -> bool:
    there = [row for row in rows.values() if row.path != CARRIER and row.state != ABSENT]
    if not there:
        return asked != READ
    main = rows.get(_MAIN)
    if main is not None and main.state != ABSENT:
        return main.mode == PRIVATE
    return any(row.mode == PRIVATE for row in there)


def _put(conn: Connection, rows: list[AgentFileRow]) -> None:
    for row in rows:
        agent_files.put(conn, row)
