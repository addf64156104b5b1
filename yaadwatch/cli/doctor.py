"""The command `doctor`: what is wrong here, and the command that mends it."""

from argparse import Namespace

from yaadwatch.cli.commands import command
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

FOUND = 1
BROKEN = 5
"""Exit statuses: something is wrong; it could not be found out."""
_STATES = {
    "connected": "connected",
    "outdated": "connected, but out of date",
    "unconnected": "not connected",
    "refused": "left alone",
}


@command(
    "doctor",
    "find out what is wrong, with the command that fixes it",
    examples=[
        ("yaadwatch doctor", "when something does not work"),
        ("yaadwatch doctor --json", "for scripts"),
    ],
    more="Looks at the data folder, disk space, settings, git, stores, daemon, service,\n"
    "hooks, logs and agents. Works without a daemon and with a damaged store; starts\n"
    "nothing, writes nothing.\n"
    "\n"
    "Exit status: 0 nothing is wrong (there may be something left for you to do), 1\n"
    "something is wrong, 5 could not be found out.",
    starts_daemon=False,
    exit_on_error=BROKEN,
)
def doctor(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what is wrong on this machine, each with what mends it."""
    from yaadwatch.doctor import gathering

    try:
        briefly = client.beside(gathering.PROJECT_TIME_S)
        answer = gathering.examine(client.call, briefly.call)
    except RuntimeError as error:
        hint = "Set HOME, or YAAD_HOME to a folder of your own"
        raise YaadError(Code.UNAVAILABLE, str(error), hint=hint) from None
    if args.json:
        terminal.json(answer)
    else:
        _tell(answer, terminal)
    return 0 if answer["sound"] else FOUND


def _tell(answer: "dict[str, Any]", terminal: Terminal) -> None:
    problems = [one for one in answer["findings"] if one["level"] == "problem"]
    left = [one for one in answer["findings"] if one["level"] == "todo"]
    if problems:
        terminal.line(styled(f"{count(len(problems), 'problem')} found", "bold"))
        for one in problems:
            terminal.line(styled(str(one["what"]), "red"), indent=2)
            _remedy(one, terminal)
    else:
        looked = ", ".join(name for name in answer["checks"] if name != "doctor")
        terminal.line(styled("No problems found.", "bold"), f" Checked: {looked}.")
    if left:
        terminal.gap()
        terminal.line(styled("For you to do", "bold"))
        for one in left:
            terminal.line(styled(str(one["what"]), "yellow"), indent=2)
            _remedy(one, terminal)
    if answer["agents"]:
        terminal.gap()
        terminal.line(styled("Agents", "bold"))
        terminal.table([(str(one["title"]), _STATES[one["state"]]) for one in answer["agents"]])


def _remedy(one: "dict[str, Any]", terminal: Terminal) -> None:
    """Print the command, which can be copied as it is, and below it what is to be said of it."""
    if one["mend"]:
        label = "fix: " if one["level"] == "problem" else ""
        terminal.command(label, str(one["mend"]), indent=4)
    if one["advice"]:
        terminal.line(str(one["advice"]), indent=4, hang=6)
