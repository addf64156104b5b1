"""What does each agent of this person take in here, and what does it cost it?"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from bridges.agents import AGENTS, CARRIERS
from bridges.block import Block, find
from bridges.escaping import bare
from bridges.items import items
from bridges.registry import for_path
from yaadwatch.core.text import estimate_tokens
from yaadwatch.engine.agent_files.finding import Fleet
from yaadwatch.engine.agent_files.loading import Loading, loading
from yaadwatch.engine.agent_files.reading import parsed
from yaadwatch.engine.syncing.carrier import DOUBTED, DOUBTED_END
from yaadwatch.engine.syncing.deciding import as_stored
from yaadwatch.engine.workspace import Space
from yaadwatch.model.agent_files import INLINE, PRIVATE, AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.system import files, installed

_DOUBT = re.compile(f"{re.escape(DOUBTED)}.*?{re.escape(DOUBTED_END)}")


def by_agent(
    space: Space, fleet: Fleet, rows: Mapping[str, AgentFileRow]
) -> list[dict[str, object]]:
    """Return for each installed agent the files that it takes in, and their tokens.

    What holds for some files only is not taken in before one of them is. A block that stands in two
    files that an agent reads costs it twice; `ours` says how much.
    """
    counted = _Counted(space.root, fleet)
    found: list[dict[str, object]] = []
    for agent in AGENTS:
        if not installed.is_used(agent.homes):
            continue
        loaded = loading(space.root, fleet, agent)
        read = loaded.read | (_carriers_of(agent.reads, rows) - loaded.excluded)
        tokens = {path: counted.of(path, loaded.bytes_max.get(path)) for path in sorted(read)}
        taken = {path: pair for path, pair in tokens.items() if pair is not None}
        found.append(
            {
                "agent": agent.name,
                "title": agent.title,
                "reads": list(taken),
                "tokens": sum(total for total, _ in taken.values()),
                "ours": sum(ours for _, ours in taken.values()),
                "blocks": sum(path in rows and rows[path].mode == INLINE for path in taken),
                "obstacles": list(loaded.obstacles),
            }
        )
    return found


def carried(
    space: Space,
    rows: Mapping[str, AgentFileRow],
    *,
    loaded: Loading | None,
    formats: Collection[str] | None,
) -> frozenset[str]:
    """Return the `words_of` the rules that our blocks and files give an agent.

    Args:
        space: the work tree.
        rows: its agent files.
        loaded: the files that the agent loads; None when nobody can tell: any.
        formats: the names of the formats that it reads; None when nobody can tell: none that a
            file of our own has, which is made for an agent that we know.
    """
    said: set[str] = set()
    for path, row in rows.items():
        is_carrier = path in CARRIERS and row.mode == PRIVATE
        if is_carrier:
            is_excluded = loaded is not None and path in loaded.excluded
            is_read = (
                formats is not None and path in _carriers_of(formats, rows) and not is_excluded
            )
        else:
            is_read = row.mode == INLINE and (loaded is None or path in loaded.read)
        if not is_read:
            continue
        seen = files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
        lines = (seen.data or b"").decode("utf-8", "replace").splitlines()
        if not is_carrier:
            limit = loaded.bytes_max.get(path) if loaded is not None else None
            lines = _block_lines(seen.data or b"", limit)
        said.update(_DOUBT.sub("", item.text) for item in items(lines))
    return frozenset(map(words_of, said))


def _block_lines(data: bytes, bytes_max: int | None) -> list[str]:
    """Return the lines of the block of a file, as far as they are loaded."""
    block = find(data)
    if not isinstance(block, Block):
        return []
    if bytes_max is None or block.end <= bytes_max:
        return list(block.lines)
    loaded = data[block.begin : max(bytes_max, block.begin)].splitlines(keepends=True)
    # The last one may be cut; a rule whose body is cut says other words.
    return [line.decode("utf-8", "replace").rstrip("\r\n") for line in loaded[1:-1]]


def words_of(text: str) -> str:
    """Return the words of a rule as they compare, in the graph and in a block."""
    return bare(as_stored(text))


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
        self._known: dict[tuple[str, int | None], tuple[int, int] | None] = {}

    def of(self, path: str, bytes_max: int | None = None) -> tuple[int, int] | None:
        """Return how many tokens of a file are loaded, and how many of them are ours.

        None when it is not there, or holds for some files only.

        Args:
            path: of the file.
            bytes_max: how much of it its agent loads; None for all.
        """
        key = (path, bytes_max)
        if key not in self._known:
            self._known[key] = self._count(path, bytes_max)
        return self._known[key]

    def _count(self, path: str, bytes_max: int | None) -> tuple[int, int] | None:
        seen = files.observe(self._root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
        found = self._fleet.files.get(path)
        if seen.data is None or (
            found is not None and not parsed(found.bridge, seen.data).everywhere
        ):
            return None
        total = estimate_tokens(seen.data[:bytes_max].decode("utf-8", "replace"))
        if path in CARRIERS:
            return total, total
        return total, estimate_tokens("\n".join(_block_lines(seen.data, bytes_max)))
