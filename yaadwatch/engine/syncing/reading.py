"""What does each agent of this person take in here, and what does it cost it?"""

from collections.abc import Collection, Mapping
from pathlib import Path

from bridges import agents
from bridges.agents import AGENTS, CARRIERS
from bridges.block import Block, find
from bridges.items import items
from bridges.registry import for_path
from yaadwatch.core.text import estimate_tokens
from yaadwatch.engine.agent_files.finding import Fleet
from yaadwatch.engine.agent_files.reading import parsed
from yaadwatch.engine.syncing.carrier import DOUBTED
from yaadwatch.engine.syncing.deciding import as_stored
from yaadwatch.engine.workspace import Space
from yaadwatch.model.agent_files import INLINE, PRIVATE, AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.system import files, installed


def by_agent(
    space: Space, fleet: Fleet, rows: Mapping[str, AgentFileRow]
) -> list[dict[str, object]]:
    """Return for each installed agent the files that it takes in, and their tokens.

    What holds for some files only is not taken in before one of them is. A block that stands in two
    files that an agent reads costs it twice; `ours` says how much.
    """
    formats = fleet.formats(space.root)
    counted = _Counted(space.root, fleet)
    found: list[dict[str, object]] = []
    for agent in AGENTS:
        if not installed.is_used(agent.homes):
            continue
        read = set(agents.read_by(agent, formats))
        read |= {path for one in read for path in fleet.taken_in.get(one, ())}
        read |= _carriers_of(agent.reads, rows)
        tokens = {path: counted.of(path) for path in sorted(read)}
        taken = {path: pair for path, pair in tokens.items() if pair is not None}
        found.append(
            {
                "agent": agent.name,
                "title": agent.title,
                "reads": list(taken),
                "tokens": sum(total for total, _ in taken.values()),
                "ours": sum(ours for _, ours in taken.values()),
                "blocks": sum(path in rows and rows[path].mode == INLINE for path in taken),
            }
        )
    return found


def carried(
    space: Space,
    rows: Mapping[str, AgentFileRow],
    *,
    read: Collection[str] | None,
    formats: Collection[str] | None,
) -> frozenset[str]:
    """Return the rules that our blocks and carriers tell an agent, as the graph says them.

    Args:
        space: the work tree.
        rows: its agent files.
        read: the files that the agent takes in; None when nobody can tell: any.
        formats: the names of the formats that it reads; None when nobody can tell: none that a
            file of our own has, which is made for an agent that we know.
    """
    said: set[str] = set()
    for path, row in rows.items():
        is_carrier = path in CARRIERS and row.mode == PRIVATE
        if is_carrier:
            is_read = formats is not None and path in _carriers_of(formats, rows)
        else:
            is_read = row.mode == INLINE and (read is None or path in read)
        if not is_read:
            continue
        seen = files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
        text = (seen.data or b"").decode("utf-8", "replace")
        if not is_carrier:
            block = find(seen.data or b"")
            text = block.text if isinstance(block, Block) else ""
        said.update(item.text.partition(DOUBTED)[0] for item in items(text.splitlines()))
    return frozenset(map(as_stored, said))


def _carriers_of(reads: Collection[str], rows: Mapping[str, AgentFileRow]) -> set[str]:
    there = (path for path in CARRIERS if path in rows and rows[path].mode == PRIVATE)
    return {
        path for path in there if (bridge := for_path(path)) is not None and bridge.name in reads
    }


class _Counted:
    """The tokens of files, each counted once."""

    def __init__(self, root: Path, fleet: Fleet) -> None:
        self._root = root
        self._fleet = fleet
        self._known: dict[str, tuple[int, int] | None] = {}

    def of(self, path: str) -> tuple[int, int] | None:
        """Return how many tokens a file has, and how many of them are ours.

        None when it is not there, or holds for some files only.
        """
        if path not in self._known:
            self._known[path] = self._count(path)
        return self._known[path]

    def _count(self, path: str) -> tuple[int, int] | None:
        seen = files.observe(self._root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
        found = self._fleet.files.get(path)
        if seen.data is None or (
            found is not None and not parsed(found.bridge, seen.data).everywhere
        ):
            return None
        total = estimate_tokens(seen.data.decode("utf-8", "replace"))
        if path in CARRIERS:
            return total, total
        block = find(seen.data)
        return total, estimate_tokens(block.text) if isinstance(block, Block) else 0
