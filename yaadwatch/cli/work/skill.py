"""The command about ways of working: list, show, add, export."""
# ruff: noqa: PTH103, PTH118, PTH123

import os
from argparse import Namespace

from yaadwatch.cli.commands import command, file_name, option
from yaadwatch.cli.terminal import Terminal, read_whole, styled
from yaadwatch.cli.words import short, worded
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

ACTIONS = ("list", "show", "add", "export", "install")


@command(
    "skill",
    "keep, show and export skills: how things are done here",
    examples=[
        ("yaadwatch skill", "list them"),
        ("yaadwatch skill show release", "print one"),
        ("yaadwatch skill add NAME --about LINE < BODY", "add or change one"),
        ("yaadwatch skill export NAME --to DIR", "as NAME/SKILL.md"),
        ("yaadwatch skill install", "teach your agents yaadwatch"),
    ],
    more="A skill is a named way of working: a line that says when to use it, and a body.\n"
    "When files or definitions that it names change, yaadwatch stale lists it.",
    options=[
        option(
            "action", choices=ACTIONS, nargs="?", default="list", help="what to do (default: list)"
        ),
        option(
            "name", metavar="NAME", nargs="?", help="name of the skill: lower-case letters and '-'"
        ),
        option("--about", metavar="LINE", help="for add: when to use it, in one line"),
        option(
            "--file",
            metavar="PATH",
            type=file_name,
            help="for add: the file with its body (default, or -: standard input)",
        ),
        option(
            "--to",
            metavar="DIR",
            type=file_name,
            default=".",
            help="for export: the folder (default: the current one)",
        ),
    ],
)
def skill(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Do what was asked about skills, and print it."""
    if args.action == "install":
        return _install(args, terminal)
    if args.action != "list" and not args.name:
        raise YaadError(
            Code.BAD_REQUEST,
            "Which skill do you mean? Nothing was done.",
            hint=f"yaadwatch skill {args.action} NAME",
        )
    if args.action == "add":
        return _add(args, client, terminal)
    answer = client.call("skills", name=args.name)
    if args.action == "export":
        return _export(answer["skills"][0], args, terminal)
    if args.json:
        terminal.json(answer)
    elif args.name:
        _tell(answer["skills"][0], terminal)
    elif not answer["skills"]:
        terminal.line("There are no skills here. Add one: yaadwatch skill add --help")
    for found in [] if args.json or args.name else answer["skills"]:
        stale = [styled("  may be stale", "yellow")] if found["stale"] else []
        said = worded(found | {"text": found["description"]})
        terminal.line(styled(found["name"], "bold"), f"  {said}", *stale)
    return 0


def _install(args: Namespace, terminal: Terminal) -> int:
    """Put the skill that teaches agents when to remember, recall, confirm and correct."""
    from yaadwatch.cli.connect import tell
    from yaadwatch.connecting import table, verbs

    if args.name:
        raise YaadError(
            Code.BAD_REQUEST,
            "There is one skill to install, and it needs no name. Nothing was done.",
            hint="yaadwatch skill install",
        )
    answer = verbs.connect(verbs.this_machine(None), [table.SKILL])
    return tell(answer, terminal, as_json=args.json, undo="yaadwatch disconnect skill")


def _add(args: Namespace, client: "Client", terminal: Terminal) -> int:
    if not args.about:
        raise YaadError(
            Code.BAD_REQUEST,
            "Say when to use it, with --about; nothing was kept.",
            hint="yaadwatch skill add NAME --about LINE < BODY",
        )
    body = _body(args, terminal)
    answer = client.call("skill_add", name=args.name, description=args.about, body=body)
    if args.json:
        terminal.json(answer)
        return 0
    terminal.line("Kept ", styled(answer["name"], "bold"), f"  {answer['description']}")
    undo = f"restore {short(answer['id'])} --version {answer['version'] - 1}"
    if answer["version"] == 1:
        undo = f"forget {short(answer['id'])}"
    terminal.line(f"Undo: yaadwatch {undo}")
    return 0


def _body(args: Namespace, terminal: Terminal) -> str:
    """Return the body of a skill: of a file, else of standard input.

    Raises:
        YaadError: what `read_whole` says to it; unavailable, when the file cannot be read.
    """
    try:
        if args.file in (None, "-"):
            return read_whole(terminal.keys, "Standard input", "Nothing was kept.")
        with open(args.file, encoding="utf-8") as file:
            return read_whole(file, str(args.file), "Nothing was kept.")
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE, f"{args.file} cannot be read ({error.strerror}). Nothing was kept."
        ) from None


def _export(found: "dict[str, Any]", args: Namespace, terminal: Terminal) -> int:
    """Write NAME/SKILL.md; a file that reads otherwise is left alone.

    Raises:
        YaadError: refused, when another file stands there, or the skill waits for review;
            unavailable, when it cannot be written.
    """
    if found.get("unverified"):
        raise YaadError(
            Code.REFUSED,
            f"The skill {found['name']} is an agent's, and no person has approved it; agents would "
            "follow the file, so it was not written.",
            hint=f"Read it: yaadwatch skill show {found['name']}. Then: yaadwatch review",
        )
    folder = os.path.join(args.to, str(found["name"]))
    path = os.path.join(folder, "SKILL.md")
    about = str(found["description"]).replace("\\", "\\\\").replace('"', '\\"')
    text = f'---\nname: {found["name"]}\ndescription: "{about}"\n---\n\n{found["body"]}\n'
    try:
        os.makedirs(folder, exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        with open(path, encoding="utf-8", errors="replace") as file:
            there = file.read()
        if there != text:
            raise YaadError(
                Code.REFUSED,
                f"{path} is there, and reads otherwise; it was left alone.",
                hint="Move it away, or export to another folder with --to",
            ) from None
    except OSError as error:
        raise YaadError(Code.UNAVAILABLE, f"{path} cannot be written ({error.strerror}).") from None
    if args.json:
        terminal.json({"name": found["name"], "path": os.path.abspath(path)})  # noqa: PTH100
    else:
        terminal.line(f"Wrote {path}")
    return 0


def _tell(found: "dict[str, Any]", terminal: Terminal) -> None:
    said = worded(found | {"text": found["description"]})
    terminal.line(styled(found["name"], "bold"), f"  {said}")
    if found["stale"]:
        terminal.line(styled("may be stale: yaadwatch stale", "yellow"))
    terminal.gap()
    mark = "> " if found.get("unverified") else ""
    for line in str(found["body"]).splitlines():
        terminal.line(f"{mark}{line}")
