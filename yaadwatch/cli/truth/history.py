"""The command `history`: every version of a memory, who made it and why."""

from argparse import Namespace

from yaadwatch.api.messages.memories import History
from yaadwatch.cli.commands import asked, command
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import ago, authored, count, short, tier, worded_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.client.connection import Client


@command(
    "history",
    "show every version of a memory, who made it, and why",
    examples=[
        ("yaadwatch history 5c01f2e4", "oldest first"),
        ("yaadwatch restore 5c01f2e4 --version 2", "go back to what it said then"),
        ("yaadwatch history 5c01f2e4 --json", "for scripts"),
    ],
    more="A forgotten memory keeps its history; an erased one has none.",
    takes=History,
)
def history(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print every version of a memory, oldest first."""
    answer = client.call("history", **asked(args, History))
    if args.json:
        terminal.json(answer)
        return 0
    now = client.now()
    if answer.get("more"):
        terminal.line(styled(f"{count(answer['more'], 'older version')}, not told here", "dim"))
    before: tuple[object, ...] = ()
    for past in answer["versions"]:
        why = f": {worded_by(past['reason'], past['by'])}" if past.get("reason") else ""
        terminal.line(
            styled(f"{past['version']:>3}  ", "bold"),
            f"{past['change']} {ago(past['at'], now)} by {authored(past['by'])}{why}",
            hang=5,
        )
        # A version that only notes a pin or a confirmation says what the one before it says.
        says = past["text"], past["kind"], past["tier"]
        if says != before:
            text = worded_by(past["text"], past["by"])
            terminal.line(f"{text}  ({past['kind']}, {tier(past['tier'])})", indent=5)
        before = says
    if len(answer["versions"]) > 1:
        terminal.line(
            styled(
                f"To have an older one: yaadwatch restore {short(answer['id'])} --version N", "dim"
            )
        )
    return 0
