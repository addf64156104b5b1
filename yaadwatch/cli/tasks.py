"""Commands about work: tasks, task, skill."""
# ruff: noqa: PTH103, PTH118, PTH123

import os
from argparse import Namespace

from yaadwatch.api.messages.sessions import Tasks, TaskUpdate
from yaadwatch.cli.commands import asked, command, file_name, option
from yaadwatch.cli.terminal import Terminal, read_whole, styled, tell_hidden
from yaadwatch.cli.words import ago, count, short, worded
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import NORMAL, STATES, UNFINISHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

_STATES = {"start": "doing", "done": "done", "drop": "dropped", "open": "open"}
ACTIONS = ("add", *_STATES, "edit")
_COLOURS = {"doing": "green", "done": "dim", "dropped": "dim"}


@command(
    "tasks",
    "list the tasks, most urgent first",
    examples=[
        ("yaadwatch tasks", "open ones, and those in progress"),
        ("yaadwatch tasks --state done", "finished ones"),
        ("yaadwatch tasks --all --json", "all of them, for scripts"),
    ],
    more="Agents see the open ones in their brief. To add or change one: yaadwatch task",
    takes=Tasks,
    options=[option("--all", action="store_true", help="tasks in every state")],
)
def tasks(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print the tasks."""
    states = list(STATES) if args.all else args.states or list(UNFINISHED)
    answer = client.call("tasks", **asked(args, Tasks) | {"states": states})
    if args.json:
        terminal.json(answer)
        return 0
    for row in answer["tasks"]:
        _tell(row, terminal, f"  ({ago(row['updated_at'], client.now())})")
    counts = answer["counts"]
    told = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    if not answer["tasks"]:
        terminal.line(
            "No open tasks. Add one: yaadwatch task add TEXT"
            if states == list(UNFINISHED)
            else f"No task is {' or '.join(states)}."
        )
    terminal.line(styled(told, "dim")) if told else None
    tell_hidden(answer, terminal)
    return 0


@command(
    "task",
    "add a task, or change its state",
    examples=[
        ("yaadwatch task add Move the parser out", "add one"),
        ("yaadwatch task add Stop it --priority urgent", "add one that comes first"),
        ("yaadwatch task start 5c01f2e4", "somebody works on it"),
        ("yaadwatch task done 5c01f2e4", "it is done, and leaves the brief"),
        ("yaadwatch task edit 5c01f2e4 Stop both leaks", "change its text"),
    ],
    more="To have one task wait for another: yaadwatch link ID depends_on OTHER\n"
    "To see them: yaadwatch tasks",
    takes=TaskUpdate,
    options=[
        option("action", choices=ACTIONS, help="what to do"),
        option(
            "what", metavar="ID|TEXT", nargs="+", help="the id of a task, or the text of a new one"
        ),
    ],
)
def task(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Add or change a task; print how it is then."""
    answer = client.call("task_update", **_fields(args))
    if args.json:
        terminal.json(answer)
        return 0
    if args.action == "add":
        terminal.line("Added:" if answer["made"] else "There is one already; it is open again:")
    _tell(answer, terminal, "")
    if args.action in {"done", "drop"}:
        terminal.line(f"Undo: yaadwatch task open {short(answer['id'])}")
    return 0


def _fields(args: Namespace) -> "dict[str, Any]":
    priority = asked(args, TaskUpdate)
    if args.action == "add":
        return {"text": " ".join(args.what)} | priority
    identity, *words = args.what
    if args.action == "edit":
        if not words and not priority:
            raise YaadError(
                Code.BAD_REQUEST,
                "Say what it should read; nothing was changed.",
                hint="yaadwatch task edit ID TEXT, or --priority",
            )
        return {"id": identity} | ({"text": " ".join(words)} if words else {}) | priority
    if words:
        raise YaadError(
            Code.BAD_REQUEST,
            f"`task {args.action}` takes one task, got {count(len(args.what), 'word')}; nothing was"
            " changed.",
            hint="See their ids: yaadwatch tasks",
        )
    return {"id": identity, "state": _STATES[args.action]} | priority


def _tell(row: "dict[str, Any]", terminal: Terminal, more: str) -> None:
    state = str(row["state"])
    priority = "" if row["priority"] == NORMAL else f", {row['priority']}"
    waits = [f"; waits for {', '.join(map(short, row['waits_for']))}"] if row["waits_for"] else []
    terminal.line(
        styled(short(row["id"]), "bold"),
        "  ",
        styled(f"{state}{priority}", _COLOURS.get(state, "yellow")),
        f"  {worded(row)}",
        *waits,
        styled(more, "dim"),
        hang=10,
    )


SKILL_ACTIONS = ("list", "show", "add", "export", "install")


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
            "action",
            choices=SKILL_ACTIONS,
            nargs="?",
            default="list",
            help="what to do (default: list)",
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
        _tell_skill(answer["skills"][0], terminal)
    elif not answer["skills"]:
        terminal.line("There are no skills here. Add one: yaadwatch skill add --help")
    for found in [] if args.json or args.name else answer["skills"]:
        stale = [styled("  may be stale", "yellow")] if found["stale"] else []
        said = worded(found | {"text": found["description"]})
        terminal.line(styled(found["name"], "bold"), f"  {said}", *stale)
    return 0


def _install(args: Namespace, terminal: Terminal) -> int:
    """Put the skill that teaches agents when to remember, recall, confirm and correct."""
    from yaadwatch.cli.agents import tell
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


def _tell_skill(found: "dict[str, Any]", terminal: Terminal) -> None:
    said = worded(found | {"text": found["description"]})
    terminal.line(styled(found["name"], "bold"), f"  {said}")
    if found["stale"]:
        terminal.line(styled("may be stale: yaadwatch stale", "yellow"))
    terminal.gap()
    mark = "> " if found.get("unverified") else ""
    for line in str(found["body"]).splitlines():
        terminal.line(f"{mark}{line}")
