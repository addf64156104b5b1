"""Which files tell agents of the project? That one of them names a thing is no use of it.

We write in such files ourselves, and what stands there is what is to be judged.
"""

from functools import cache, lru_cache
from typing import Final

from bridges.registry import bridges, for_path

PATHS_KEPT: Final = 2_000
"""Paths of which it is known whether they are agent files: to find out takes 30 µs."""


def tells_agents(path: str) -> bool:
    """Return whether a file of this path is an agent file, of whatever format we know."""
    return path.endswith(_endings()) and _is_agent_file(path)


@cache
def _endings() -> tuple[str, ...]:
    """Return how the paths of agent files end."""
    return tuple({path.rpartition("*")[2] for bridge in bridges() for path in bridge.paths})


@lru_cache(maxsize=PATHS_KEPT)
def _is_agent_file(path: str) -> bool:
    return for_path(path) is not None
