"""The commands impact, link, unlink, subgraph, traverse, graph and inject."""

from argparse import Namespace

from yaadwatch.api.messages.graph import CloseLink, Inject, Link, Subgraph, Traverse, Unlink
from yaadwatch.api.messages.memories import Impact
from yaadwatch.cli.commands import command, file_name, given_fields, json_value, option
from yaadwatch.cli.terminal import (
    Terminal,
    count,
    in_a_row,
    memory_words,
    place,
    print_hidden,
    short,
    styled,
)
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import FRAME_BYTES_MAX

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
    """Print what rests on a file, strongest first, each with its path and flag."""
    answer = client.call("impact", **given_fields(args, Impact))
    if args.json:
        terminal.json(answer)
        return 0
    symbol = answer["symbol"]
    about = f"{answer['path']}:{symbol}" if symbol else answer["path"]
    if not answer["there"]:
        terminal.line(styled(f"{answer['path']} no longer exists.", "yellow"))
    memories = answer["memories"]
    for found in memories:
        _print_dependents(found, terminal)
    if answer["more"]:
        terminal.line(f"and {answer['more']} more, weaker")
    flagged = sum(bool(found["stale"] and found["stale"]["level"]) for found in memories)
    if not memories:
        terminal.line(f"No memory rests on {about}.")
        _print_symbols(answer, terminal)
        print_hidden(answer, terminal)
        return 0
    direct = sum(not found["via"] for found in memories)
    verb = "rests" if direct == 1 else "rest"
    through = f", {len(memories) - direct} through links" if direct < len(memories) else ""
    terminal.line(
        f"{count(direct, 'memory')} {verb} on {about}{through}; {flagged or 'none'} in doubt now."
    )
    print_hidden(answer, terminal)
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
    answer = client.call("link", **given_fields(args, Link))
    if args.json:
        terminal.json(answer)
        return 0
    done = "Linked" if answer["made"] else "Changed" if answer["changed"] else "Linked already"
    print_link(done, answer, terminal)
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
    answer = client.call("unlink", **given_fields(args, Unlink))
    if args.json:
        terminal.json(answer)
        return 0
    print_link("Unlinked" if answer["ended"] else "Not linked, nothing to do", answer, terminal)
    return 0


def _print_dependents(found: "dict[str, Any]", terminal: Terminal) -> None:
    terminal.line(
        styled(short(found["id"]), "bold"),
        f"  {found['weight']:.2f}  {memory_words(found)}",
        hang=16,
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
    """Return the path from the memory that rests on the file: "5c01f2e4 <-depends_on- this"."""
    way = ""
    nodes = [*found["via"], found["id"]]
    for edge, start in zip(found["along"], nodes, strict=False):
        arrow = f"-{edge['kind']}->" if edge["id"] == start else f"<-{edge['kind']}-"
        way += f"{short(start)} {arrow} "
    return f"{way}this"


def _print_symbols(answer: "dict[str, Any]", terminal: Terminal) -> None:
    names = answer["symbols"]
    if answer.get("symbol") and names:
        more = [f"{len(names) - _SYMBOLS_SHOWN} more"] if len(names) > _SYMBOLS_SHOWN else []
        shown = in_a_row([*names[:_SYMBOLS_SHOWN], *more])
        terminal.line(f"In {answer['path']}, memories rest on: {shown}")


def relation(edge: "dict[str, Any]") -> str:
    """Return a relation in a line: "12  5c01f2e4 -caused_by-> 77aa01bc, since 2026-03-01"."""
    said = f"{edge['edge']}  {short(edge['from'])} -{edge['kind']}-> {short(edge['to'])}"
    if edge["weight"] != 1.0:
        said += f", weight {edge['weight']:g}"
    said += f", since {str(edge['since'])[:10]}"
    return f"{said} until {str(edge['until'])[:10]}" if edge["until"] else said


def print_link(done: str, answer: "dict[str, Any]", terminal: Terminal) -> None:
    """Print a relation between two memories, what was done about it, and how to undo that."""
    weight = f"  (weight {answer['weight']:g})" if answer["weight"] != 1.0 else ""
    terminal.line(f"{done}{weight}:")
    terminal.line(styled(short(answer["id"]), "bold"), f"  {answer['text']}", indent=2, hang=10)
    held = f", until {str(answer['until'])[:10]}" if answer.get("until") else ""
    terminal.line(styled(str(answer["kind"]), "yellow"), held, indent=4)
    terminal.line(styled(short(answer["to"]), "bold"), f"  {answer['to_text']}", indent=2, hang=10)
    if answer.get("masked"):
        terminal.line(styled(f"masked: {in_a_row(answer['masked'])}", "yellow"), indent=2)
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
    answer = client.call("subgraph", **given_fields(args, Subgraph))
    return _print_walk(answer, args, terminal)


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
    asks = given_fields(args, Traverse)
    if args.way == "backlinks":
        asks |= {"direction": "ancestors", "depth": 1}
    elif args.way:
        asks["direction"] = args.way
    return _print_walk(client.call("traverse", **asks), args, terminal)


def _print_walk(answer: "dict[str, Any]", args: Namespace, terminal: Terminal) -> int:
    if args.json:
        terminal.json(answer)
        return 0
    for node in answer["nodes"]:
        flag = f"  (may be stale: {node['stale']['verdict']})" if node.get("stale") else ""
        terminal.line(
            f"{node['steps']}  ",
            styled(short(node["id"]), "bold"),
            f"  {memory_words(node)}",
            styled(flag, "yellow"),
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


# ruff: noqa: PTH123


ACTIONS = ("stats", "close", "delete-link", "delete")


@command(
    "graph",
    "count memories and relations; end or delete one",
    examples=[
        ("yaadwatch graph", "how many of each kind there are"),
        ("yaadwatch graph close 12", "end the relation with this number"),
        ("yaadwatch graph close 12 --at 2026-03-01", "it ended then"),
        ("yaadwatch graph delete-link 12", "it was never true"),
        ("yaadwatch graph delete 5c01f2e4", "a memory, for good"),
    ],
    more="For the numbers of relations: yaadwatch show ID --view all\n"
    "A deleted memory cannot be brought back. Use yaadwatch forget to archive one.",
    takes=CloseLink,
    options=[
        option(
            "action",
            choices=ACTIONS,
            nargs="?",
            default="stats",
            help="what to do (default: stats)",
        ),
        option(
            "what",
            metavar="WHAT",
            nargs="*",
            help="the number of a relation (close, delete-link), FROM KIND TO (delete-link), or the"
            " id of a memory (delete)",
        ),
    ],
)
def graph(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Do what is asked, and print what was done."""
    if args.action == "close":
        return _close(args, client, terminal)
    if args.action == "delete-link":
        return _delete_link(args, client, terminal)
    if args.action == "delete":
        return _delete(args, client, terminal)
    if args.what:
        raise _usage("`graph stats` takes nothing more")
    answer = client.call("graph_stats")
    if args.json:
        terminal.json(answer)
    else:
        _print_stats(answer, terminal)
    return 0


def _close(args: Namespace, client: "Client", terminal: Terminal) -> int:
    if len(args.what) != 1 or not args.what[0].isdecimal():
        raise _usage("`graph close` takes the number of one relation")
    answer = client.call("close_link", edge=int(args.what[0]), **given_fields(args, CloseLink))
    if args.json:
        terminal.json(answer)
        return 0
    print_link(
        "Ended" if answer["ended"] else "It had ended already, nothing to do", answer, terminal
    )
    return 0


def _delete_link(args: Namespace, client: "Client", terminal: Terminal) -> int:
    if len(args.what) == 1 and args.what[0].isdecimal():
        answer = client.call("delete_edge", edge=int(args.what[0]))
    elif len(args.what) == 3:
        start, kind, end = args.what
        answer = client.call("delete_edge", id=start, kind=kind, to=end)
    else:
        raise _usage("`graph delete-link` takes the number of a relation, or FROM KIND TO")
    if args.json:
        terminal.json(answer)
        return 0
    for edge in answer["edges"]:
        terminal.line(relation(edge), indent=2)
    gone = answer["deleted"]
    terminal.line(
        f"Deleted {count(gone, 'relation')}." if gone else "It does not exist; nothing to do."
    )
    if answer.get("undo"):
        terminal.line(f"Undo: {answer['undo']}")
    return 0


def _delete(args: Namespace, client: "Client", terminal: Terminal) -> int:
    if len(args.what) != 1:
        raise _usage("`graph delete` takes the id of one memory")
    answer = client.call("delete_node", id=args.what[0])
    if args.json:
        terminal.json(answer)
    elif not answer["deleted"]:
        terminal.line("It does not exist; nothing to do.")
    else:
        terminal.line(
            "Deleted ", styled(short(answer["id"]), "bold"), f"  {answer['text']}", hang=18
        )
        terminal.line(f"With it went {count(answer['edges'], 'relation')}, and its history.")
    return 0


def _print_stats(answer: "dict[str, Any]", terminal: Terminal) -> None:
    orphans, ended = answer["orphans"], answer["edges"]["historical"]
    terminal.line(
        f"{count(answer['memories'], 'memory')} ({orphans or 'none'} without a relation), "
        f"{answer['archived']} archived; {count(answer['sessions'], 'session')}, "
        f"{count(answer['things'], 'file or symbol', 'files and symbols')}"
    )
    _print_kinds(answer["kinds"], terminal)
    current = answer["edges"]["current"]
    terminal.line(f"{count(current, 'relation')} now, {ended} that ended")
    _print_kinds(answer["edges"]["kinds"], terminal)
    if answer["hubs"]:
        terminal.line("Most related:")
    for hub in answer["hubs"]:
        terminal.line(
            styled(short(hub["id"]), "bold"),
            f"  {hub['edges']}  {memory_words(hub)}",
            indent=2,
            hang=14,
        )


def _print_kinds(kinds: "dict[str, int]", terminal: Terminal) -> None:
    if kinds:
        ranked = sorted(kinds.items(), key=lambda one: (-one[1], one[0]))
        terminal.line(", ".join(f"{number} {kind}" for kind, number in ranked), indent=2)


def _usage(said: str) -> YaadError:
    return YaadError(
        Code.BAD_REQUEST, f"{said}. Nothing was done.", hint="How: yaadwatch graph --help"
    )


_SHAPE = """\
The file: {"nodes": [{"id": "req-1", "text": "Sign in by mail"}],
           "edges": [{"from": "req-1", "kind": "led_to", "to": "req-2"}]}
A node may also have kind, tier, tags, pin and created_at; an edge may have
weight, attributes, created_at, valid_from and valid_until. Either everything is
stored or nothing; storing it again changes nothing. Edges whose ends do not
exist are left out and listed."""


@command(
    "inject",
    "store many memories and relations at once",
    examples=[
        ("yaadwatch inject graph.json", "from a file"),
        ("make-graph | yaadwatch inject -", "from a pipe"),
    ],
    more=_SHAPE,
    takes=Inject,
    options=[option("file", metavar="FILE", type=file_name, help="JSON; - reads standard input")],
)
def inject(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Send what a file holds; print what became of it."""
    answer = client.call("inject", **given_fields(args, Inject), **_read(args.file, terminal))
    if args.json:
        terminal.json(answer)
        return 0
    for one in answer["left_out"][:20]:
        what = one.get("id") or f"{one.get('from')} -{one.get('kind')}-> {one.get('to')}"
        terminal.line(styled(str(what), "bold"), "  ", styled(str(one["reason"]), "yellow"))
    for name, noun in (("nodes", "memory"), ("edges", "relation")):
        made = answer[name]
        terminal.line(
            f"{count(made['new'], noun)} new, {made['changed']} changed, {made['same']} as before."
        )
    if answer["masked"]:
        terminal.line(f"Secrets were masked in {count(len(answer['masked']), 'memory')}.")
    if answer["left_out"]:
        more = answer.get("left_out_more", 0)
        which = "All of them" if not more else f"{len(answer['left_out'])} of them"
        terminal.line(f"Left out: {len(answer['left_out']) + more}. {which}: --json")
    return 0


def _read(path: str, terminal: Terminal) -> "dict[str, Any]":
    """Return the nodes and edges in a file.

    Raises:
        YaadError: not_found, too_large or bad_request when it cannot be read, or is not JSON.
    """
    try:
        if path == "-":
            text = terminal.keys.read(FRAME_BYTES_MAX + 1)
        else:
            with open(path, encoding="utf-8") as file:
                text = file.read(FRAME_BYTES_MAX + 1)
        found = json_value(text) if len(text) <= FRAME_BYTES_MAX else None
    except OSError as error:
        raise YaadError(
            Code.NOT_FOUND,
            f"{path} cannot be read ({error.strerror}). Nothing was stored.",
            hint="Name a file of JSON, or - for standard input.",
        ) from None
    except RecursionError:
        raise _bad_file(f"{path} nests too deeply") from None
    except ValueError as error:
        raise _bad_file(f"{path} is not JSON in UTF-8 ({error})") from None
    if found is None and len(text) > FRAME_BYTES_MAX:
        raise YaadError(
            Code.TOO_LARGE,
            f"{path} has more than {FRAME_BYTES_MAX} characters. Nothing was stored.",
            hint="Split it, nodes first: edges find the nodes that are there already.",
        )
    if not isinstance(found, dict) or not found.keys() <= {"nodes", "edges"}:
        raise _bad_file(f'{path} must hold an object with "nodes" and "edges"')
    return found


def _bad_file(said: str) -> YaadError:
    return YaadError(
        Code.BAD_REQUEST,
        f"{said}. Nothing was stored.",
        hint="How it looks: yaadwatch inject --help",
    )
