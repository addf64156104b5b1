"""Commands that walk along relations: subgraph, traverse."""

from argparse import Namespace

from yaadwatch.cli.graph.links import relation
from yaadwatch.cli.parsing import Commands, Parser, whole_number
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, short, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

_STEPS = "Prints a line for each memory (steps away, id, text), then their relations."


def add_subgraph(commands: Commands) -> Parser:
    """Add `subgraph`."""
    command = commands.add(
        "subgraph",
        "show what surrounds a memory, or the answers to a question",
        subgraph,
        examples=[
            ("yaadwatch subgraph 5c01f2e4", "two steps around a memory"),
            ('yaadwatch subgraph --query "token signing"', "around the best answers"),
            ("yaadwatch subgraph 5c01f2e4 --depth 1 --json", "for scripts"),
        ],
        more=_STEPS,
    )
    command.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        help="its id or key; a unique beginning or end of the id is enough",
    )
    command.add_argument("--query", metavar="WORDS", help="start from the answers to this question")
    _options(command, depth=2)
    command.add_argument(
        "--tokens", metavar="N", type=whole_number, help="at most so many tokens (default: 2000)"
    )
    return command


def add_traverse(commands: Commands) -> Parser:
    """Add `traverse`."""
    command = commands.add(
        "traverse",
        "walk from a memory along its relations",
        traverse,
        examples=[
            ("yaadwatch traverse 5c01f2e4 --depth 3", "in both directions"),
            ("yaadwatch traverse 5c01f2e4 --ancestors --depth 10", "what leads to it"),
            ("yaadwatch traverse 5c01f2e4 --backlinks", "what points to it"),
            ("yaadwatch traverse 5c01f2e4 --kind led_to --view all", "one kind, ended ones too"),
        ],
        more=_STEPS,
    )
    command.add_argument(
        "id", metavar="ID", help="its id or key; a unique beginning or end of the id is enough"
    )
    way = command.add_mutually_exclusive_group()
    way.add_argument(
        "--ancestors",
        dest="direction",
        action="store_const",
        const="ancestors",
        help="backwards: A when A led_to ID",
    )
    way.add_argument(
        "--descendants",
        dest="direction",
        action="store_const",
        const="descendants",
        help="forwards: B when ID led_to B",
    )
    way.add_argument(
        "--backlinks",
        dest="direction",
        action="store_const",
        const="backlinks",
        help="what points here, one step away",
    )
    _options(command, depth=1)
    return command


def subgraph(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what is around a memory, or around what answers a question."""
    more = {"tokens_max": args.tokens} if args.tokens is not None else {}
    answer = client.call("subgraph", id=args.id, query=args.query, **_asked(args), **more)
    return _tell(answer, args, terminal)


def traverse(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what a walk from a memory comes to."""
    asked = _asked(args)
    if args.direction == "backlinks":
        asked |= {"direction": "ancestors", "depth": 1}
    elif args.direction:
        asked["direction"] = args.direction
    return _tell(client.call("traverse", id=args.id, **asked), args, terminal)


def _options(command: Parser, *, depth: int) -> None:
    command.add_argument(
        "--depth", metavar="N", type=whole_number, help=f"steps, 1 to 10 (default: {depth})"
    )
    command.add_argument(
        "--kind",
        metavar="KIND",
        dest="kinds",
        action="append",
        help="only relations of this kind; may be repeated",
    )
    command.add_argument(
        "--view",
        choices=("current", "historical", "all"),
        help="relations that hold, that have ended, or both (default: current)",
    )
    command.add_argument("--nodes", metavar="N", type=whole_number, help="at most so many memories")


def _asked(args: Namespace) -> "dict[str, Any]":
    """Return what was asked for; what was not is left to the daemon."""
    given = {
        "depth": args.depth,
        "kinds": args.kinds,
        "view": args.view,
        "nodes_max": args.nodes,
    }
    return {name: value for name, value in given.items() if value is not None}


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
