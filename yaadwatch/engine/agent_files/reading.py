"""The agent files of a work tree: which are there, what they say, and why one is left alone."""

from dataclasses import dataclass
from typing import Final

from bridges.rules import Bridge, Document, Statement
from yaadwatch.core.text_cache import kept
from yaadwatch.engine.agent_files import finding
from yaadwatch.engine.agent_files.finding import Fleet, Formats, Found
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.agent_files import INLINE, AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.store import agent_files as known
from yaadwatch.system import files

NO_BLOCK: Final = "no block of ours is committed on this branch, so none is written"
FILTERED: Final = "git filters it, so no block is written"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFile:
    """One agent file as it is now; `state` is synced, or paused (then `reason` says why).

    `own`: it was read under this name; False too for another name of the same file.
    """

    path: str
    bridge: str
    state: str
    reason: str = ""
    statements: tuple[Statement, ...] = ()
    own: bool = False


ODD = {
    "too_large": "is larger than 256 KiB; it was not read",
    "unreadable": "cannot be read by this user",
    "link": "is reached through a link; it was not read",
    "other": finding.NO_FILE,
}


def fleet(home: Home, space: Space, *, thorough: bool = False) -> Fleet:
    """Return the agent files of a work tree; see `Formats.find`.

    Args:
        home: what may be reached.
        space: the work tree.
        thorough: look through all folders for files that git does not track.

    Raises:
        YaadError: from git or the store.
    """
    wanted = formats(home)
    listed = home.below.names(
        space.repository, wanted.is_below, passed=finding.VENDORED.__contains__, thorough=thorough
    )
    rows = space.db.read(known.of_worktree, space.worktree.id)
    return wanted.find(space.root, dict.fromkeys((*listed, *filter(wanted.is_below, rows))))


def formats(home: Home) -> Formats:
    """Return the formats of agent files that are looked for, with what this person named."""
    return finding.formats(home.settings.agent_files.also)


def read_all(home: Home, space: Space) -> list[AgentFile]:
    """Return the agent files of a work tree; each real file once, whatever its names.

    A name that is a link to another agent file of the repository is that file; a link that leads
    out of the repository is never followed.

    Raises:
        YaadError: from git or the store.
    """
    there = fleet(home, space, thorough=True)
    found = [_read(home, space, one) for one in there.files.values()]
    for name, bridge, path in there.also:
        first = there.files.get(path)
        if name == path and first is not None:  # found by a link to it, which is its other name
            name, bridge = first.name, first.bridge  # noqa: PLW2901
        same = f"is the same file as {path}"
        found.append(AgentFile(path=name, bridge=bridge.name, state="synced", reason=same))
    return [one for one in found if one is not None]


@kept(finding.FILES_MAX)
def parsed(bridge: Bridge, data: bytes) -> Document:
    """Return what the bytes of an agent file say outside the block."""
    return bridge.parse(data)


def _read(home: Home, space: Space, found: Found) -> AgentFile | None:
    if found.reason:
        return AgentFile(
            path=found.name, bridge=found.bridge.name, state="paused", reason=found.reason
        )
    now_ns = home.clock.now_ns()
    seen = files.observe(space.root, found.path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=now_ns)
    if seen.kind == "absent":
        return None
    if seen.data is None:
        reason = ODD.get(seen.kind, "cannot be read")
        return AgentFile(path=found.name, bridge=found.bridge.name, state="paused", reason=reason)
    document = parsed(found.bridge, seen.data)
    problems = "; ".join(problem.message for problem in document.problems)
    paused = bool(problems) and not document.statements
    return AgentFile(
        path=found.path,
        bridge=found.bridge.name,
        state="paused" if paused else "synced",
        reason=problems,
        statements=document.statements,
        own=not paused,
    )


def is_refused(row: AgentFileRow) -> bool:
    """Return whether a file takes part by a block, and has none on this branch."""
    return row.mode == INLINE and row.reason.startswith((NO_BLOCK, FILTERED))
