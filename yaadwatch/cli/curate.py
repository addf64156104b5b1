"""Commands about memories that are named: confirm, forget, restore, pin, unpin, tag."""

from argparse import Namespace
from collections.abc import Sequence

from yaadwatch.cli.parsing import Commands, Parser, whole_number
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.truth import contradicted
from yaadwatch.cli.words import count, folder, listed, place, short, worded
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yaadwatch.cli.parsing import Run
    from yaadwatch.client.connection import Client

_ID = "its id or key; a unique beginning or end of the id is enough"


def add_confirm(commands: Commands) -> Parser:
    """Add `confirm`."""
    command = _about_some(
        commands,
        "confirm",
        "say that memories are still true; their flags are cleared",
        confirm,
        examples=[
            ("yaadwatch confirm 5c01f2e4", "one that `yaadwatch stale` listed"),
            ("yaadwatch confirm 5c01f2e4 7d3e8a11", "several at once"),
            ("yaadwatch confirm 5c01f2e4 --json", "for scripts"),
        ],
        more="From then on they rest on the files as they are now, and count as new. When a\n"
        "file or definition that one names is not there, or a value is another one, you\n"
        "are asked first. Not true any more: yaadwatch edit ID, or yaadwatch forget ID",
    )
    command.add_argument(
        "--yes", action="store_true", help="also what names something that is not there"
    )
    return command


def add_forget(commands: Commands) -> Parser:
    """Add `forget`."""
    command = _about_some(
        commands,
        "forget",
        "archive memories, or erase them for good",
        forget,
        examples=[
            ("yaadwatch forget 5c01f2e4", "no longer recalled"),
            ("yaadwatch forget 5c01f2e4 7d3e8a11", "several at once"),
            ('yaadwatch forget 5c01f2e4 --reason "we use authlib now"', "with the reason"),
            ("yaadwatch forget --erase 5c01f2e4", "leave no trace"),
        ],
        more="An archived memory can be restored: yaadwatch restore ID\n"
        "An erased one cannot. It also goes from history, index, logs, our copies of\n"
        "agent files and our backups. Git keeps what you committed; revoke a leaked\n"
        "secret.",
    )
    how = command.add_mutually_exclusive_group()
    how.add_argument("--reason", metavar="TEXT", default="", help="why; kept with the memory")
    how.add_argument("--erase", action="store_true", help="leave nothing but its id and the date")
    return command


def add_restore(commands: Commands) -> Parser:
    """Add `restore`."""
    command = _about_some(
        commands,
        "restore",
        "bring back archived memories, or an older version of one",
        restore,
        examples=[
            ("yaadwatch restore 5c01f2e4", "undo a `forget`"),
            ("yaadwatch restore 5c01f2e4 --version 2", "go back to what it said then"),
            ("yaadwatch restore 5c01f2e4 --json", "for scripts"),
        ],
        more="The versions of a memory: yaadwatch history ID",
    )
    command.add_argument(
        "--version",
        metavar="N",
        dest="number",
        type=whole_number,
        help="make a new version with the text, kind and tier of this one",
    )
    return command


def add_pin(commands: Commands) -> Parser:
    """Add `pin`."""
    return _about_some(
        commands,
        "pin",
        "keep memories from fading with age",
        pin,
        examples=[
            ("yaadwatch pin 5c01f2e4", "it never fades"),
            ("yaadwatch pin 5c01f2e4 --json", "for scripts"),
        ],
        more="A pinned memory is never archived for its age, and counts as confirmed by a\n"
        "person: it may be written into agent files. Undo: yaadwatch unpin ID",
    )


def add_unpin(commands: Commands) -> Parser:
    """Add `unpin`."""
    return _about_some(
        commands,
        "unpin",
        "let pinned memories fade again",
        unpin,
        examples=[
            ("yaadwatch unpin 5c01f2e4", "undo a `pin`"),
            ("yaadwatch unpin 5c01f2e4 --json", "for scripts"),
        ],
    )


def add_tag(commands: Commands) -> Parser:
    """Add `tag`."""
    command = _about_one(
        commands,
        "tag",
        "add tags to a memory, or remove them",
        tag,
        examples=[
            ("yaadwatch tag 5c01f2e4 --add auth --add security", "add two"),
            ("yaadwatch tag 5c01f2e4 --remove auth --json", "remove one, for scripts"),
        ],
        more="A tag is one more word that finds the memory: yaadwatch recall WORDS --tag auth",
    )
    for option, what in (("--add", "add this tag"), ("--remove", "remove this tag")):
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
        help="only if it is still at this version (see `yaadwatch show ID`)",
    )
    return command


def confirm(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Say that memories still hold."""
    return _each(
        args,
        lambda one: _told(_confirmed(one, args, client, terminal), "Confirmed", args, terminal),
    )


def _confirmed(one: str, args: Namespace, client: "Client", terminal: Terminal) -> "dict[str, Any]":
    """Confirm a memory; what is false for certain only after asking, or with `--yes`.

    Raises:
        YaadError: refused, when nobody is there to ask, or the answer is no.
    """
    if args.yes:
        return client.call("confirm", id=one, anyway=True)
    try:
        return client.call("confirm", id=one)
    except YaadError as error:
        asks = error.code is Code.REFUSED and "--yes" in error.hint
        if not asks or args.json or not terminal.can_ask():
            raise
        terminal.line(styled(error.message, "yellow"))
        if terminal.ask("Confirm it anyway? [y/N] ").lower() not in ("y", "yes"):
            raise
    return client.call("confirm", id=one, anyway=True)


def forget(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Archive memories; print what they said, so a slip is noticed at once."""
    if args.erase:
        return _each(args, lambda one: _erased(client.call("erase", id=one), args, terminal))
    why = args.reason
    return _each(
        args,
        lambda one: _told(
            client.call("forget", id=one, reason=why),
            "Forgot",
            args,
            terminal,
            already="Was forgotten already:",
        ),
    )


def restore(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Bring archived memories back, or an older version of one."""
    version = {} if args.number is None else {"version": args.number}
    if version and len(args.ids) > 1:
        raise YaadError(
            Code.BAD_REQUEST,
            "--version says which version of one memory; nothing was restored.",
            hint="Give one ID with it. What each version says: yaadwatch history ID",
        )
    return _each(
        args,
        lambda one: _told(
            client.call("restore", id=one, **version),
            "Restored",
            args,
            terminal,
            already="Nothing to restore, it says so:" if version else "Was not forgotten:",
        ),
    )


def pin(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Keep memories from ageing."""
    already = "Was pinned already:"
    return _each(
        args,
        lambda one: _told(client.call("pin", id=one), "Pinned", args, terminal, already=already),
    )


def unpin(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Let pinned memories age again."""
    already = "Was not pinned:"
    return _each(
        args,
        lambda one: _told(
            client.call("unpin", id=one), "Unpinned", args, terminal, already=already
        ),
    )


def _each(args: Namespace, act: "Callable[[str], None]") -> int:
    """Do something with each memory that is named, once; one that fails keeps none from it.

    Raises:
        YaadError: what failed, and with which; the code is that of the first.
    """
    ids = dict.fromkeys(args.ids)
    failed: list[tuple[str, YaadError]] = []
    for one in ids:
        try:
            act(one)
        except YaadError as error:
            if len(ids) == 1:
                raise
            failed.append((one, error))
    if failed:
        first = failed[0][1]
        why = " ".join(f"{one}: {error.message}" for one, error in failed)
        done = count(len(ids) - len(failed), "memory")
        raise YaadError(first.code, f"{why} It was done for {done}.", hint=first.hint)
    return 0


def _erased(answer: "dict[str, Any]", args: Namespace, terminal: Terminal) -> None:
    """Print what was erased, without its words, and what is left to do."""
    if args.json:
        terminal.json(answer)
        return
    ids = listed([short(one) for one in answer["erased"]])
    terminal.line(
        f"Erased {ids} on {str(answer['at'])[:10]}: this is all that is kept of it. "
        "It cannot be restored."
    )
    backups = answer["backups"]
    terminal.line(
        f"Rewrote {count(backups['rewritten'], 'backup')}, dropped {backups['dropped']}; deleted "
        f"{count(answer['snapshots'], 'copy', 'copies')} of agent files that said it."
    )
    for one in answer["also"]:
        terminal.line(f"Memory {short(one)} quotes it: yaadwatch forget --erase {short(one)}")
    for path in answer["returns"]:
        terminal.line(f"{path} says it on another branch; checking that out brings it back.")
    for path in answer["remains"]:
        terminal.line(styled(f"It still stands in {folder(path)}", "red"))


def tag(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Put tags on a memory and take others off; print those it has now.

    Raises:
        YaadError: bad_request, when there are none of either.
    """
    if not args.add and not args.remove:
        raise YaadError(
            Code.BAD_REQUEST,
            "Say which tags; nothing was changed.",
            hint="yaadwatch tag ID --add TAG, or --remove TAG",
        )
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
    terminal.line(styled(short(answer["id"]), "bold"), f"  {worded(answer)}", hang=10)
    terminal.line(f"now has {tags}", indent=2)
    if answer.get("masked"):
        terminal.line(styled(f"masked: {listed(answer['masked'])}", "yellow"), indent=2)
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
    command.add_argument("id", metavar="ID", help=_ID)
    return command


def _about_some(
    commands: Commands,
    name: str,
    text: str,
    run: "Run",
    *,
    examples: Sequence[tuple[str, str]],
    more: str = "",
) -> Parser:
    command = commands.add(name, text, run, examples=examples, more=more)
    command.add_argument("ids", metavar="ID", nargs="+", help=_ID)
    return command


def _told(
    answer: "dict[str, Any]", done: str, args: Namespace, terminal: Terminal, *, already: str = ""
) -> None:
    """Tell what was done; `already`: what to say where it was so, and there is nothing to undo."""
    if args.json:
        terminal.json(answer)
        return
    said = already if already and not answer.get("undo") else done
    terminal.line(f"{said} ", styled(short(answer["id"]), "bold"), f"  {worded(answer)}", hang=10)
    for anchor in answer.get("anchors") or ():
        terminal.line(f"rests on {place(anchor)}", indent=2)
    contradicted.tell(answer, terminal)
    if answer.get("undo"):
        terminal.command("Undo: ", str(answer["undo"]))
