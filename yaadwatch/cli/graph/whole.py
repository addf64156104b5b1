"""The command about the whole graph: what is in it; end or delete what should not be."""

from argparse import Namespace

from yaadwatch.api.messages.graph import CloseLink
from yaadwatch.cli.commands import asked, command, option
from yaadwatch.cli.graph.links import relation, tell_link
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, short, worded
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

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
        _tell_stats(answer, terminal)
    return 0


def _close(args: Namespace, client: "Client", terminal: Terminal) -> int:
    if len(args.what) != 1 or not args.what[0].isdecimal():
        raise _usage("`graph close` takes the number of one relation")
    answer = client.call("close_link", edge=int(args.what[0]), **asked(args, CloseLink))
    if args.json:
        terminal.json(answer)
        return 0
    tell_link(
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


def _tell_stats(answer: "dict[str, Any]", terminal: Terminal) -> None:
    orphans, ended = answer["orphans"], answer["edges"]["historical"]
    terminal.line(
        f"{count(answer['memories'], 'memory')} ({orphans or 'none'} without a relation), "
        f"{answer['archived']} archived; {count(answer['sessions'], 'session')}, "
        f"{count(answer['things'], 'file or symbol', 'files and symbols')}"
    )
    _tell_kinds(answer["kinds"], terminal)
    current = answer["edges"]["current"]
    terminal.line(f"{count(current, 'relation')} now, {ended} that ended")
    _tell_kinds(answer["edges"]["kinds"], terminal)
    if answer["hubs"]:
        terminal.line("Most related:")
    for hub in answer["hubs"]:
        terminal.line(
            styled(short(hub["id"]), "bold"), f"  {hub['edges']}  {worded(hub)}", indent=2, hang=14
        )


def _tell_kinds(kinds: "dict[str, int]", terminal: Terminal) -> None:
    if kinds:
        told = sorted(kinds.items(), key=lambda one: (-one[1], one[0]))
        terminal.line(", ".join(f"{number} {kind}" for kind, number in told), indent=2)


def _usage(said: str) -> YaadError:
    return YaadError(
        Code.BAD_REQUEST, f"{said}. Nothing was done.", hint="How: yaadwatch graph --help"
    )
