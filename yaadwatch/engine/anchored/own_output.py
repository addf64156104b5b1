"""What do we write in files of the project ourselves? That it names a thing is no use of it."""

from collections.abc import Callable

from bridges import block
from bridges.agents import CARRIERS
from bridges.registry import for_path


def is_ours(path: str) -> bool:
    """Return whether a file of this path is one that we write, as a whole, for agents."""
    return path in CARRIERS


def is_only_ours(word: str, path: str, read: Callable[[str], bytes | None]) -> bool:
    """Return whether a word stands in a file only where we write: in all of it, or in our block."""
    if is_ours(path):
        return True
    if for_path(path) is None:
        return False
    data = read(path)
    return data is not None and b"yaad:begin" in data and word.encode() not in without_ours(data)


def without_ours(data: bytes | None) -> bytes:
    """Return what others wrote in a file: our block in it is blank; nothing for None."""
    if not data or b"yaad:begin" not in data:
        return data or b""
    found = block.find(data)
    return block.outside(data, found) if isinstance(found, block.Block) else data
