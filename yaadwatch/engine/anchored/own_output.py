"""What do we write in files of the project ourselves? That it names a thing is no use of it."""

from bridges import block
from bridges.agents import CARRIERS


def is_ours(path: str) -> bool:
    """Return whether a file of this path is one that we write, as a whole, for agents."""
    return path in CARRIERS


def without_ours(data: bytes | None) -> bytes:
    """Return what others wrote in a file: our block in it is blank; nothing for None."""
    if not data or b"yaad:begin" not in data:
        return data or b""
    found = block.find(data)
    return block.outside(data, found) if isinstance(found, block.Block) else data
