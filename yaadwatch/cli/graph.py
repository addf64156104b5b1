"""Commands about the graph as a whole: graph, inject."""
# ruff: noqa: PTH123

from argparse import Namespace

from yaadwatch.api.messages.graph import CloseLink, Inject
from yaadwatch.cli.commands import asked, command, file_name, json_value, option
from yaadwatch.cli.relations import relation, tell_link
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, short, worded
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import FRAME_BYTES_MAX

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


_SHAPE = """\
The file: {"nodes": [{"id": "req-1", "text": "Sign in by mail"}],
           "edges": [{"from": "req-1", "kind": "led_to", "to": "req-2"}]}
A node may also have kind, tier, tags, pin and created_at; an edge may have
weight, attributes, created_at, valid_from and valid_until. Either everything is
stored or nothing; storing it again changes nothing. Edges whose ends do not
exist are left out and listed."""
_LEFT_OUT_SHOWN = 20


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
    answer = client.call("inject", **asked(args, Inject), **_read(args.file, terminal))
    if args.json:
        terminal.json(answer)
        return 0
    for one in answer["left_out"][:_LEFT_OUT_SHOWN]:
        what = one.get("id") or f"{one.get('from')} -{one.get('kind')}-> {one.get('to')}"
        terminal.line(styled(str(what), "bold"), "  ", styled(str(one["reason"]), "yellow"))
    for name, noun in (("nodes", "memory"), ("edges", "relation")):
        told = answer[name]
        terminal.line(
            f"{count(told['new'], noun)} new, {told['changed']} changed, {told['same']} as before."
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
