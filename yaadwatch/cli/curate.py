"""Commands about one memory: confirm, forget, restore, pin, unpin, tag."""

from argparse import Namespace
from collections.abc import Sequence

from yaadwatch.cli.parsing import Commands, Parser, whole_number
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.cli.parsing import Run
    from yaadwatch.client.connection import Client


def add_confirm(commands: Commands) -> Parser:
    """Add `confirm`."""
    return _about_one(
        commands,
        "confirm",
        "say that a memory still holds; its doubt goes",
        confirm,
        examples=[
            ("yaadwatch confirm 5c01f2e4", "after `yaadwatch stale` showed it"),
            ("yaadwatch confirm 5c01f2e4 --json", "for programs"),
        ],
        more="It then rests on the files as they are now, and its age starts anew.",
    )


def add_forget(commands: Commands) -> Parser:
    """Add `forget`."""
    command = _about_one(
        commands,
        "forget",
        "archive one memory",
        forget,
        examples=[
            ("yaadwatch forget 5c01f2e4", "not recalled any more"),
            ('yaadwatch forget 5c01f2e4 --reason "we use authlib now"', "and say why"),
        ],
        more="It can be restored.",
    )
    command.add_argument("--reason", metavar="TEXT", default="", help="why; kept with the memory")
    return command


def add_restore(commands: Commands) -> Parser:
    """Add `restore`."""
    return _about_one(
        commands,
        "restore",
        "bring an archived memory back",
        restore,
        examples=[
            ("yaadwatch restore 5c01f2e4", "undo a `forget`"),
            ("yaadwatch restore 5c01f2e4 --json", "for programs"),
        ],
    )


def add_pin(commands: Commands) -> Parser:
    """Add `pin`."""
    return _about_one(
        commands,
        "pin",
        "keep a memory from ageing",
        pin,
        examples=[
            ("yaadwatch pin 5c01f2e4", "it never fades"),
            ("yaadwatch pin 5c01f2e4 --json", "for programs"),
        ],
    )


def add_unpin(commands: Commands) -> Parser:
    """Add `unpin`."""
    return _about_one(
        commands,
        "unpin",
        "let a pinned memory age again",
        unpin,
        examples=[
            ("yaadwatch unpin 5c01f2e4", "undo a `pin`"),
            ("yaadwatch unpin 5c01f2e4 --json", "for programs"),
        ],
    )


def add_tag(commands: Commands) -> Parser:
    """Add `tag`."""
    command = _about_one(
        commands,
        "tag",
        "put tags on a memory, and take others off",
        tag,
        examples=[
            ("yaadwatch tag 5c01f2e4 --add auth --add security", "two more"),
            ("yaadwatch tag 5c01f2e4 --remove auth --json", "one less, for programs"),
        ],
        more="A tag is a word that a memory is found by, besides its own.",
    )
    for option, what in (("--add", "put it on"), ("--remove", "take it off")):
        command.add_argument(
            option,
            metavar="TAG",
            action="append",
            default=[],
            help=f"{what}; may be repeated",
        )
    command.add_argument(
        "--version",
        metavar="N",
        dest="expected_version",
        type=whole_number,
        help="only if it is at this version (see `yaadwatch show ID`)",
    )
    return command


def confirm(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Say that a memory still holds."""
    return _told(client.call("confirm", id=args.id), "Confirmed", args, terminal)


def forget(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Archive one memory; print what it said, so a slip is noticed at once."""
    return _told(client.call("forget", id=args.id, reason=args.reason), "Forgot", args, terminal)


def restore(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Bring an archived memory back."""
    return _told(client.call("restore", id=args.id), "Restored", args, terminal)


def pin(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Keep a memory from ageing."""
    return _told(client.call("pin", id=args.id), "Pinned", args, terminal)


def unpin(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Let a pinned memory age again."""
    return _told(client.call("unpin", id=args.id), "Unpinned", args, terminal)


def tag(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Put tags on a memory and take others off; print those it has now."""
    answer = client.call(
        "tag",
        id=args.id,
        add=args.add,
        remove=args.remove,
        expected_version=args.expected_version,
    )
    if args.json:
        terminal.json(answer)
        return 0
    tags = ", ".join(answer["tags"]) or "no tags"
    terminal.line(styled(short(answer["id"]), "bold"), f"  {answer['text']}", hang=10)
    terminal.line(f"now has {tags}", indent=2)
    if answer.get("undo"):
        terminal.line(f"Undo: {answer['undo']}")
    return 0


def _about_one(
    commands: Commands,
    name: str,
    text: str,
    run: "Run",
    *,
    examples: Sequence[tuple[str, str]],
    more: str = "",
) -> Parser:
    command = commands.add(name, text, run, examples=examples, more=more)
    command.add_argument("id", metavar="ID", help="id, or a unique part of its beginning or end")
    return command


def _told(answer: dict[str, object], done: str, args: Namespace, terminal: Terminal) -> int:
    if args.json:
        terminal.json(answer)
        return 0
    terminal.line(f"{done} ", styled(short(answer["id"]), "bold"), f"  {answer['text']}", hang=10)
    if answer.get("undo"):
        terminal.line(f"Undo: {answer['undo']}")
    return 0
