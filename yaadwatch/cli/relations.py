"""Commands about relations: impact, link, unlink, subgraph, traverse."""

from argparse import Namespace

from yaadwatch.api.messages.graph import Link, Subgraph, Traverse, Unlink
from yaadwatch.api.messages.memories import Impact
from yaadwatch.cli.commands import asked, command, option
from yaadwatch.cli.terminal import Terminal, styled, tell_hidden
from yaadwatch.cli.words import count, listed, place, short, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

_KINDS = """\
These kinds pass on a flag, weaker (x 0.8 and so on):
  A depends_on B   a flag on B also flags A (0.8)
  A part_of B      a flag on B also flags A (0.6), one on A flags B (0.3)
  A caused_by B    a flag on B also flags A (0.6)
  A led_to B       a flag on A also flags B (0.6)
A supersedes B: A replaces B, which is no rule any more and fades faster.
Every other KIND passes on no flag."""
_SYMBOLS_SHOWN = 8


@command(
    "impact",
    "list the memories that a change to a file would affect",
    examples=[
        ("yaadwatch impact src/auth.ts", "before you change it"),
        ("yaadwatch impact src/auth.ts:verify", "one definition in it"),
        ("yaadwatch impact src --json", "everything in a folder, for scripts"),
    ],
    more="Lists what rests on the file, and what depends on those memories. The number\n"
    "says how much of a flag would reach a memory: 1.00 when it rests on the file\n"
    "itself, less with every relation in between.",
    takes=Impact,
)
def impact(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what rests on a file, strongest first, each with the way it took and its doubt."""
    answer = client.call("impact", **asked(args, Impact))
    if args.json:
        terminal.json(answer)
        return 0
    symbol = answer["symbol"]
    about = f"{answer['path']}:{symbol}" if symbol else answer["path"]
    if not answer["there"]:
        terminal.line(styled(f"{answer['path']} no longer exists.", "yellow"))
    memories = answer["memories"]
    for found in memories:
        _tell_resting(found, terminal)
    if answer["more"]:
        terminal.line(f"and {answer['more']} more, weaker")
    doubted = sum(bool(found["stale"] and found["stale"]["level"]) for found in memories)
    if not memories:
        terminal.line(f"No memory rests on {about}.")
        _tell_symbols(answer, terminal)
        tell_hidden(answer, terminal)
        return 0
    direct = sum(not found["via"] for found in memories)
    verb = "rests" if direct == 1 else "rest"
    through = f", {len(memories) - direct} through links" if direct < len(memories) else ""
    terminal.line(
        f"{count(direct, 'memory')} {verb} on {about}{through}; {doubted or 'none'} in doubt now."
    )
    tell_hidden(answer, terminal)
    return 0


@command(
    "link",
    "relate one memory to another, so that flags spread",
    examples=[
        (
            "yaadwatch link 5c01f2e4 depends_on 77aa01bc",
            "falls with it",
        ),
        ("yaadwatch link 5c01f2e4 led_to 77aa01bc --weight 0.5", "half as strong"),
        (
            "yaadwatch link 5c01f2e4 led_to 77aa01bc --since 2026-03-01",
            "since then",
        ),
    ],
    more=_KINDS,
    takes=Link,
)
def link(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Relate two memories; print both, so a slip is noticed at once."""
    answer = client.call("link", **asked(args, Link))
    if args.json:
        terminal.json(answer)
        return 0
    done = "Linked" if answer["made"] else "Changed" if answer["changed"] else "Linked already"
    tell_link(done, answer, terminal)
    return 0


@command(
    "unlink",
    "end a relation between two memories",
    examples=[
        ("yaadwatch unlink 5c01f2e4 depends_on 77aa01bc", "undo a `link`"),
        ("yaadwatch unlink 5c01f2e4 depends_on 77aa01bc --json", "for scripts"),
    ],
    more="A flag that came through it is cleared. To see the relations of a memory:\n"
    "yaadwatch show ID",
    takes=Unlink,
)
def unlink(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """End a relation; that there is none is no error."""
    answer = client.call("unlink", **asked(args, Unlink))
    if args.json:
        terminal.json(answer)
        return 0
    tell_link("Unlinked" if answer["ended"] else "Not linked, nothing to do", answer, terminal)
    return 0


def _tell_resting(found: "dict[str, Any]", terminal: Terminal) -> None:
    terminal.line(
        styled(short(found["id"]), "bold"), f"  {found['weight']:.2f}  {worded(found)}", hang=16
    )
    for anchor in found["anchors"]:
        terminal.line(f"rests on {place(anchor)}", indent=16)
    if found["via"]:
        terminal.line(_way(found), indent=16)
    stale = found["stale"]
    if stale:
        if stale["level"]:
            known = f"in doubt now: {stale['verdict']}"
        elif stale["verdict"] == "unknown":
            known = "could not be judged"
        else:
            known = f"{stale['verdict']}, most likely still true"
        terminal.line(styled(known, "yellow"), f"  ({stale['reason']})", indent=16)


def _way(found: "dict[str, Any]") -> str:
    """Return the way from the memory that rests on the file: "5c01f2e4 <-depends_on- this"."""
    way = ""
    nodes = [*found["via"], found["id"]]
    for edge, start in zip(found["along"], nodes, strict=False):
        arrow = f"-{edge['kind']}->" if edge["id"] == start else f"<-{edge['kind']}-"
        way += f"{short(start)} {arrow} "
    return f"{way}this"


def _tell_symbols(answer: "dict[str, Any]", terminal: Terminal) -> None:
    names = answer["symbols"]
    if answer.get("symbol") and names:
        more = [f"{len(names) - _SYMBOLS_SHOWN} more"] if len(names) > _SYMBOLS_SHOWN else []
        shown = listed([*names[:_SYMBOLS_SHOWN], *more])
        terminal.line(f"In {answer['path']}, memories rest on: {shown}")


def relation(edge: "dict[str, Any]") -> str:
    """Return a relation in a line: "12  5c01f2e4 -caused_by-> 77aa01bc, since 2026-03-01"."""
    said = f"{edge['edge']}  {short(edge['from'])} -{edge['kind']}-> {short(edge['to'])}"
    if edge["weight"] != 1.0:
        said += f", weight {edge['weight']:g}"
    said += f", since {str(edge['since'])[:10]}"
    return f"{said} until {str(edge['until'])[:10]}" if edge["until"] else said


def tell_link(done: str, answer: "dict[str, Any]", terminal: Terminal) -> None:
    """Print a relation between two memories, what was done about it, and how to undo that."""
    weight = f"  (weight {answer['weight']:g})" if answer["weight"] != 1.0 else ""
    terminal.line(f"{done}{weight}:")
    terminal.line(styled(short(answer["id"]), "bold"), f"  {answer['text']}", indent=2, hang=10)
    held = f", until {str(answer['until'])[:10]}" if answer.get("until") else ""
    terminal.line(styled(str(answer["kind"]), "yellow"), held, indent=4)
    terminal.line(styled(short(answer["to"]), "bold"), f"  {answer['to_text']}", indent=2, hang=10)
    if answer.get("masked"):
        terminal.line(styled(f"masked: {listed(answer['masked'])}", "yellow"), indent=2)
    if answer.get("undo"):
        terminal.line(f"Undo: {answer['undo']}")


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
