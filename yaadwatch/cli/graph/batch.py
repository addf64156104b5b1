"""The command that takes in many memories and relations at once: inject."""
# ruff: noqa: PTH123

from argparse import Namespace

from yaadwatch.api.messages.graph import Inject
from yaadwatch.cli.commands import asked, command, file_name, json_value, option
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import FRAME_BYTES_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

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
        raise _usage(f"{path} nests too deeply") from None
    except ValueError as error:
        raise _usage(f"{path} is not JSON in UTF-8 ({error})") from None
    if found is None and len(text) > FRAME_BYTES_MAX:
        raise YaadError(
            Code.TOO_LARGE,
            f"{path} has more than {FRAME_BYTES_MAX} characters. Nothing was stored.",
            hint="Split it, nodes first: edges find the nodes that are there already.",
        )
    if not isinstance(found, dict) or not found.keys() <= {"nodes", "edges"}:
        raise _usage(f'{path} must hold an object with "nodes" and "edges"')
    return found


def _usage(said: str) -> YaadError:
    return YaadError(
        Code.BAD_REQUEST,
        f"{said}. Nothing was stored.",
        hint="How it looks: yaadwatch inject --help",
    )
