"""What fits into a block? The limits bind what is added; what stands there stays."""

from collections.abc import Iterable, Sequence
from typing import Final

from bridges.block import END, NOTICE, is_notice
from yaadwatch.model.settings import BLOCK_BYTES_MAX, BLOCK_ITEMS_MAX

_BEGIN_BYTES: Final = len("<!-- yaad:begin v=1 nl=0 -->")


def block_bytes(lines: Sequence[str], *, newline: int) -> int:
    """Return the bytes of a block with these lines: markers, notice and line ends included.

    Args:
        lines: what stands between the markers.
        newline: bytes of a line end, 1 or 2.
    """
    notice = 0 if any(map(is_notice, lines)) else len(NOTICE) + newline
    markers = _BEGIN_BYTES + len(END) + 2 * newline
    return markers + notice + sum(line_bytes(line, newline=newline) for line in lines)


def line_bytes(line: str, *, newline: int) -> int:
    """Return the bytes of a line with its end."""
    return len(line.encode("utf-8", "surrogatepass")) + newline


def fit(
    standing: Sequence[str], items: int, wanted: Iterable[str], *, newline: int
) -> tuple[bool, ...]:
    """Tell for each of the wanted lines, best first, whether there is room for it.

    A line that is too long does not keep a shorter one after it out. Asked again with what fitted
    among the standing lines, the answer for the others is the same.

    Args:
        standing: the lines that are in the block whatever comes.
        items: how many rules are among them.
        wanted: the lines of further rules.
        newline: bytes of a line end, 1 or 2.
    """
    used = block_bytes(standing, newline=newline)
    fits = []
    for line in wanted:
        size = line_bytes(line, newline=newline)
        has_room = items < BLOCK_ITEMS_MAX and used + size <= BLOCK_BYTES_MAX
        fits.append(has_room)
        if has_room:
            items, used = items + 1, used + size
    return tuple(fits)
