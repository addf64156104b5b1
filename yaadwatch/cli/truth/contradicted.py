"""What a memory that was just stored contradicts, and which stands in the place of which.

It is printed below what was made of it.
"""

from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import short, stated, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def tell(answer: "dict[str, Any]", terminal: Terminal, *, indent: int = 2) -> None:
    """Print each contradiction with the memories against it, and how it is settled; what stands in
    the place of the memory, and in whose place it stands. Mostly that is nothing.
    """
    found = answer.get("contradicts") or ()
    for one in found:
        about = stated(f"{one['subject']} {one['attribute']}", [answer, *one["against"]])
        where = f" in {one['place']}/" if one.get("place") else ""
        terminal.line(
            styled(
                f"contradicts what is remembered of {about}{where}: "
                f"{stated(one['value'], [answer])} here, but",
                "yellow",
            ),
            indent=indent,
        )
        for side in one["against"]:
            terminal.line(
                styled(stated(side["value"], [side]), "yellow"),
                f" in {short(side['id'])}  {worded(side)}",
                indent=indent + 2,
                hang=4,
            )
        if one.get("more"):
            terminal.line(f"and in {one['more']} more", indent=indent + 2)
        terminal.line(f"Settle it: {one['settle']}", indent=indent)
    if found:
        terminal.line("All of them: yaadwatch contradictions", indent=indent)
    for one in answer.get("superseded_by") or ():
        terminal.line(
            styled("superseded by", "yellow"), f" {short(one['id'])}  {worded(one)}", indent=indent
        )
    for one in answer.get("stands_for") or ():
        terminal.line(f"supersedes {short(one['id'])}  {worded(one)}", indent=indent)
