"""Commands that walk along relations: subgraph, traverse."""

from argparse import Namespace

from yaadwatch.api.messages.graph import Subgraph, Traverse
from yaadwatch.cli.commands import asked, command, option
from yaadwatch.cli.graph.links import relation
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, short, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

_STEPS = "Prints a line for each memory (steps away, id, text), then their relations."


@command(
    "subgraph",
    "show what surrounds a memory, or the answers to a question",
    examples=[
        ("yaadwatch subgraph 5c01f2e4", "two steps around a memory"),
        ('yaadwatch subgraph --query "token signing"', "around the best answers"),
        ("yaadwatch subgraph 5c01f2e4 --depth 1 --json", "for scripts"),
    ],
    more=_STEPS,
    takes=Subgraph,
)
def subgraph(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what is around a memory, or around what answers a question."""
    answer = client.call("subgraph", **asked(args, Subgraph))
    return _tell(answer, args, terminal)


@command(
    "traverse",
    "walk from a memory along its relations",
    examples=[
        ("yaadwatch traverse 5c01f2e4 --depth 3", "in both directions"),
        ("yaadwatch traverse 5c01f2e4 --ancestors --depth 10", "what leads to it"),
        ("yaadwatch traverse 5c01f2e4 --backlinks", "what points to it"),
        ("yaadwatch traverse 5c01f2e4 --kind led_to --view all", "one kind, ended ones too"),
    ],
    more=_STEPS,
    takes=Traverse,
    options=[
        option(
            "--ancestors",
            dest="way",
            action="store_const",
            const="ancestors",
            help="backwards: A when A led_to ID",
            one_of="how",
        ),
        option(
            "--descendants",
            dest="way",
            action="store_const",
            const="descendants",
            help="forwards: B when ID led_to B",
            one_of="how",
        ),
        option(
            "--backlinks",
            dest="way",
            action="store_const",
            const="backlinks",
            help="what points here, one step away",
            one_of="how",
        ),
    ],
)
def traverse(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what a walk from a memory comes to."""
    asks = asked(args, Traverse)
    if args.way == "backlinks":
        asks |= {"direction": "ancestors", "depth": 1}
    elif args.way:
        asks["direction"] = args.way
    return _tell(client.call("traverse", **asks), args, terminal)


def _tell(answer: "dict[str, Any]", args: Namespace, terminal: Terminal) -> int:
    if args.json:
        terminal.json(answer)
        return 0
    for node in answer["nodes"]:
        doubt = f"  (may be stale: {node['stale']['verdict']})" if node.get("stale") else ""
        terminal.line(
            f"{node['steps']}  ",
            styled(short(node["id"]), "bold"),
            f"  {worded(node)}",
            styled(doubt, "yellow"),
            hang=13,
        )
    if answer["edges"]:
        terminal.gap()
    for edge in answer["edges"]:
        terminal.line(relation(edge), indent=2)
    found = count(len(answer["nodes"]), "node")
    if not answer["nodes"]:
        terminal.line("Nothing was found to look around.")
    elif answer["complete"]:
        terminal.line(f"{found}, {count(len(answer['edges']), 'relation')}.")
    else:
        more = f"{answer['more']} more" if answer["more"] else "some"
        terminal.line(
            f"{found}, {count(len(answer['edges']), 'relation')}; {more} left out. "
            "Fewer steps or one kind (--depth, --kind) show the rest."
        )
    return 0
