"""Choose where a file gets our block: below no heading or label that changes what its rules mean.

A block at the end of a file belongs to the last section. Below "## Never do this" or "## If you
write SQL" its rules would say something else. So it stands in front of the first section; in a
file without sections at the end; and on top where the title or the words above restrict it, too.
"""

from collections.abc import Sequence
from typing import Final

from bridges import frontmatter
from bridges.markdown import first_section, scan
from bridges.zones import zones

_PROBE: Final = "Use the words of this probe."


def places(lines: Sequence[str]) -> tuple[int, ...]:
    """Return the lines, from 0, in front of which a block may be put, the best one first.

    The last one is always right: only the header of the file stands above it.
    """
    first = first_section(lines)
    if first is None:
        # What follows a fence that is never closed is code, so that the end is in front of it.
        open_fence = zones(lines).open_fence
        first = len(lines) if open_fence is None else open_fence
    top = frontmatter.length(lines)
    return (first, top) if first > top and restriction(lines[:first]) == "" else (top,)


def restriction(above: Sequence[str]) -> str | None:
    """Return the headings and labels that change what a list below some lines says.

    "" for none. None when nobody can tell, as below a comment that is never closed.
    """
    said = scan("\n".join([*above, "", f"- {_PROBE}"]))
    if not said or said[-1].own != _PROBE:
        return None
    return said[-1].lead
