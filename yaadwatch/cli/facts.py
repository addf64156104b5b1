"""The command `facts`."""

from argparse import Namespace

from yaadwatch.api.messages.memories import Facts
from yaadwatch.cli.commands import prints
from yaadwatch.cli.terminal import Terminal, count, named, quoted_name, styled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.cli.commands import Answer


@prints("facts", Facts)
def facts(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """List what the project is made of, where it is declared, and what rests on it.

    Package managers, tools, runtimes, ports, images, the commands of build files,
    and the packages that memories speak of. A memory below a line is flagged once
    nothing declares it any more.

    examples:
      yaadwatch facts               all of the project
      yaadwatch facts web           what web/ declares
      yaadwatch facts --all --json  every package, for scripts
    """
    slot = ""
    for row in sorted(answer["facts"], key=lambda one: one["slot"]):
        if row["slot"] != slot:
            slot = row["slot"]
            terminal.line(styled(slot, "bold"))
        value = f" {quoted_name(row['value'])}" if row["value"] else ""
        where = styled(f"  {quoted_name(row['path'])}:{row['line']}", "dim")
        terminal.line(f"{quoted_name(row['name'])}{value}", where, indent=2, hang=4)
        for memory in row["memories"]:
            terminal.line(*named(memory), indent=4, hang=14)
    if not answer["facts"]:
        packages = answer["packages"]
        none = "Nothing here declares what the project is made of."
        listed = f"{count(packages, 'package')} declared, and no memory rests on one; see: --all"
        terminal.line(listed if packages else none)
    if answer["more"]:
        terminal.line(f"and {answer['more']} more; name a folder to see them")
    for path in answer["invalid"]:
        what = f"{quoted_name(path)} is not valid now, or too large; nothing is judged by it"
        terminal.line(styled(what, "yellow"))
    if answer["not_read"]:
        terminal.line(f"{count(answer['not_read'], 'file')} further down were not read")
