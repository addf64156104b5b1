"""What does each agent of this person take in here, and what does it cost it?"""

from collections.abc import Collection, Mapping
from pathlib import Path

from bridges import agents
from bridges.agents import AGENTS, CARRIERS
from bridges.block import Block, find
from bridges.registry import for_path
from yaadwatch.core.text import estimate_tokens
from yaadwatch.engine.agent_files.finding import Fleet
from yaadwatch.engine.workspace import Space
from yaadwatch.model.agent_files import INLINE, PRIVATE, AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.system import files, installed


def by_agent(
    space: Space, fleet: Fleet, rows: Mapping[str, AgentFileRow]
) -> list[dict[str, object]]:
    """Return for each installed agent the files that it takes in, and their tokens.

    A block that stands in two files that an agent reads costs it twice; `ours` says how much.
    """
    formats = fleet.formats(space.root)
    counted: dict[str, tuple[int, int]] = {}
    found: list[dict[str, object]] = []
    for agent in AGENTS:
        if not installed.is_installed(agent.homes, agent.commands):
            continue
        read = set(agents.read_by(agent, formats))
        read |= {path for one in read for path in fleet.taken_in.get(one, ())}
        read |= _carriers_of(agent.reads, rows)
        for path in read - counted.keys():
            counted[path] = _tokens(space.root, path)
        found.append(
            {
                "agent": agent.name,
                "title": agent.title,
                "reads": sorted(read),
                "tokens": sum(counted[path][0] for path in read),
                "ours": sum(counted[path][1] for path in read),
                "blocks": sum(path in rows and rows[path].mode == INLINE for path in read),
            }
        )
    return found


def _carriers_of(reads: Collection[str], rows: Mapping[str, AgentFileRow]) -> set[str]:
    there = (path for path in CARRIERS if path in rows and rows[path].mode == PRIVATE)
    return {
        path for path in there if (bridge := for_path(path)) is not None and bridge.name in reads
    }


def _tokens(root: Path, path: str) -> tuple[int, int]:
    """Return how many tokens a file has, and how many of them are ours."""
    seen = files.observe(root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
    data = seen.data or b""
    total = estimate_tokens(data.decode("utf-8", "replace"))
    if path in CARRIERS:
        return total, total
    block = find(data)
    return total, estimate_tokens(block.text) if isinstance(block, Block) else 0
