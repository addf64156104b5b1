"""The commands tasks, task, skill, sessions and handoff."""

import os
from argparse import Namespace

from yaadwatch.api.messages.store import (
    Handoff,
    SessionNote,
    Sessions,
    SessionStart,
    Tasks,
    TaskUpdate,
)
from yaadwatch.cli.commands import command, file_name, given_fields, option
from yaadwatch.cli.terminal import (
    Terminal,
    ago,
    count,
    in_a_row,
    memory_words,
    print_hidden,
    read_all,
    short,
    span,
    styled,
    version_words,
    when,
)
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import NORMAL, STATES, UNFINISHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from yaadwatch.client.connection import Client


# ruff: noqa: PTH103, PTH118, PTH123


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
    answer = client.call("tasks", **given_fields(args, Tasks) | {"states": states})
    if args.json:
        terminal.json(answer)
        return 0
    for row in answer["tasks"]:
        _print_tasks(row, terminal, f"  ({ago(row['updated_at'], client.now())})")
    counts = answer["counts"]
    text = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    if not answer["tasks"]:
        terminal.line(
            "No open tasks. Add one: yaadwatch task add TEXT"
            if states == list(UNFINISHED)
            else f"No task is {' or '.join(states)}."
        )
    terminal.line(styled(text, "dim")) if text else None
    print_hidden(answer, terminal)
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
    _print_tasks(answer, terminal, "")
    if args.action in {"done", "drop"}:
        terminal.line(f"Undo: yaadwatch task open {short(answer['id'])}")
    return 0


def _fields(args: Namespace) -> "dict[str, Any]":
    priority = given_fields(args, TaskUpdate)
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


def _print_tasks(row: "dict[str, Any]", terminal: Terminal, more: str) -> None:
    state = str(row["state"])
    priority = "" if row["priority"] == NORMAL else f", {row['priority']}"
    waits = [f"; waits for {', '.join(map(short, row['waits_for']))}"] if row["waits_for"] else []
    terminal.line(
        styled(short(row["id"]), "bold"),
        "  ",
        styled(f"{state}{priority}", _COLOURS.get(state, "yellow")),
        f"  {memory_words(row)}",
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
        _print_skill(answer["skills"][0], terminal)
    elif not answer["skills"]:
        terminal.line("There are no skills here. Add one: yaadwatch skill add --help")
    for found in [] if args.json or args.name else answer["skills"]:
        stale = [styled("  may be stale", "yellow")] if found["stale"] else []
        said = memory_words(found | {"text": found["description"]})
        terminal.line(styled(found["name"], "bold"), f"  {said}", *stale)
    return 0


def _install(args: Namespace, terminal: Terminal) -> int:
    """Install the skill that teaches agents when to remember, recall, confirm and correct."""
    from yaadwatch.cli.agents import print_written
    from yaadwatch.connect import connect, table

    if args.name:
        raise YaadError(
            Code.BAD_REQUEST,
            "There is one skill to install, and it needs no name. Nothing was done.",
            hint="yaadwatch skill install",
        )
    answer = connect.connect(connect.this_machine(None), [table.SKILL])
    return print_written(answer, terminal, as_json=args.json, undo="yaadwatch disconnect skill")


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
            return read_all(terminal.keys, "Standard input", "Nothing was kept.")
        with open(args.file, encoding="utf-8") as file:
            return read_all(file, str(args.file), "Nothing was kept.")
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE, f"{args.file} cannot be read ({error.strerror}). Nothing was kept."
        ) from None


def _export(found: "dict[str, Any]", args: Namespace, terminal: Terminal) -> int:
    """Write NAME/SKILL.md; a file that reads otherwise is left alone.

    Raises:
        YaadError: refused, when another file is there, or the skill waits for review;
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


def _print_skill(found: "dict[str, Any]", terminal: Terminal) -> None:
    said = memory_words(found | {"text": found["description"]})
    terminal.line(styled(found["name"], "bold"), f"  {said}")
    if found["stale"]:
        terminal.line(styled("may be stale: yaadwatch stale", "yellow"))
    terminal.gap()
    mark = "> " if found.get("unverified") else ""
    for line in str(found["body"]).splitlines():
        terminal.line(f"{mark}{line}")


SESSION_ACTIONS = ("list", "show", "search", "start", "note", "end")
_NEEDED = {"show": "which session", "search": "what to look for", "note": "what to note"}
_WORDLESS = {
    "list": "Find some: yaadwatch sessions search WORDS",
    "start": "Give it a name: yaadwatch sessions start --name NAME",
}


@command(
    "sessions",
    "look at past sessions, find one, or keep your own",
    examples=[
        ("yaadwatch sessions", "the latest, with what each one left"),
        ("yaadwatch sessions show 5c01f2e4", "what it was shown, and what it used"),
        ("yaadwatch sessions search slow parser", "find the one where this came up"),
        ("yaadwatch sessions start", "start one of your own"),
        ("yaadwatch sessions note tests need redis", "leave a note for the next one"),
        ("yaadwatch sessions end", "end it, and print what was done"),
    ],
    more="A session is a stretch of work of one agent. Agents' sessions begin and end by\n"
    "themselves. What you remember at the command line without one belongs to a\n"
    "session of the day. To pass the work on: yaadwatch handoff",
    takes=(Sessions, SessionStart, SessionNote),
    options=[
        option(
            "action",
            choices=SESSION_ACTIONS,
            nargs="?",
            default="list",
            help="what to do (default: list)",
        ),
        option("what", metavar="ID|WORDS", nargs="*", help="a session (for show, end), or words"),
    ],
)
def sessions(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Do what was asked about sessions, and print it."""
    answer = _ask(args, client)
    if args.json:
        terminal.json(answer)
        return 0
    now = client.now()
    if args.action == "show":
        _print_receipt(answer["sessions"][0], terminal, now)
    elif args.action == "start":
        again = "Resumed" if answer["again"] else "Started"
        terminal.line(f"{again}: session ", styled(short(answer["session"]), "bold"))
        terminal.line("End it: yaadwatch sessions end")
    elif args.action == "note":
        terminal.line("Noted in session ", styled(short(answer["session"]), "bold"))
        terminal.line(str(answer["text"]), indent=2)
    elif args.action == "end":
        _print_end(answer, terminal, now)
    else:
        _print_list(answer["sessions"], args, terminal, now)
    return 0


@command(
    "handoff",
    "print a prompt for the agent that goes on with the work",
    examples=[
        ("yaadwatch handoff | claude -p", "pass the work on to an agent"),
        ("yaadwatch handoff --tokens 800", "a shorter one"),
    ],
    more="The prompt says what was done, what is open, what is in doubt, and which files\n"
    "were changed. To pick a session: yaadwatch sessions",
    takes=Handoff,
)
def handoff(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print a prompt, and nothing else: it may be read by an agent."""
    tokens = args.tokens_max or Handoff.FIELDS["tokens_max"].default
    answer = client.call("handoff", **given_fields(args, Handoff))
    if args.json:
        terminal.json(answer)
        return 0
    if not answer["prompt"]:
        # An empty prompt would be handed to an agent without a word.
        raise YaadError(
            Code.NOT_FOUND,
            f"There is nothing to hand on here that fits into {tokens} tokens.",
            hint="What was done here: yaadwatch sessions. A longer prompt: yaadwatch handoff "
            "--tokens N",
        )
    for line in str(answer["prompt"]).splitlines():
        terminal.line(line)
    return 0


def _ask(args: Namespace, client: "Client") -> "dict[str, Any]":
    words = " ".join(args.what)
    if words and args.action in _WORDLESS:
        raise YaadError(
            Code.BAD_REQUEST,
            f"`sessions {args.action}` takes no words, got: {words}. Nothing was done.",
            hint=_WORDLESS[args.action],
        )
    if args.action in _NEEDED and not words:
        raise YaadError(
            Code.BAD_REQUEST,
            f"Say {_NEEDED[args.action]}; nothing was done.",
            hint=f"yaadwatch sessions {args.action} --help",
        )
    if args.action == "show":
        return client.call("sessions", id=words)
    if args.action == "search":
        return client.call("sessions", query=words, **given_fields(args, Sessions))
    if args.action == "start":
        return client.call("session_start", **given_fields(args, SessionStart))
    if args.action == "note":
        return client.call("session_note", text=words, **given_fields(args, SessionNote))
    if args.action == "end":
        return client.call(
            "session_end", session=words or args.session, **given_fields(args, SessionStart)
        )
    return client.call("sessions", **given_fields(args, Sessions))


def _print_list(
    found: "list[dict[str, Any]]", args: Namespace, terminal: Terminal, now: "datetime"
) -> None:
    if not found:
        terminal.line(
            "No session is about that."
            if args.action == "search"
            else "There are no sessions here yet. One begins when an agent asks something, or with:"
            " yaadwatch sessions start"
        )
        return
    for one in found:
        _print_row(one, terminal, now)


def _print_row(one: "dict[str, Any]", terminal: Terminal, now: "datetime") -> None:
    who = str(one["agent"]).partition(":")[2] or str(one["name"] or "command line")
    state = (
        "still open"
        if one["ended_at"] is None
        else f"{_duration(one)}, ended by {_END[one['ended_by']]}"
    )
    terminal.line(
        styled(short(one["id"]), "bold"),
        f"  {who}, {ago(one['started_at'], now)}, {state};"
        f" learned {one['learned']}, shown {one['shown']}, used {one['used']},"
        f" {count(one['files'], 'file')}, {count(one['commits'], 'commit')}",
        hang=10,
    )
    for line in str(one["summary"]).splitlines()[1:]:
        terminal.line(styled(line, "dim"), indent=10)


_END = {"asked": "request", "left": "its agent leaving", "idle": "quiet"}


def _duration(one: "dict[str, Any]") -> str:
    begun, ended = when(one["started_at"]), when(one["ended_at"])
    return span((ended - begun).total_seconds()) if begun and ended else "goes on"


def _print_receipt(one: "dict[str, Any]", terminal: Terminal, now: "datetime") -> None:
    _print_row(one, terminal, now)
    shown = [
        (
            short(row["id"]),
            f"{row['tokens']} tokens",
            "used" if row["used"] else "",
            _since(row),
            memory_words(row),
        )
        for row in one["shown_memories"]
    ]
    learned = [
        (short(row["id"]), str(row["kind"]), _since(row), memory_words(row))
        for row in one["learned_memories"]
    ]
    notes = [
        (ago(row["at"], now), version_words(row["text"], one.get("agent"))) for row in one["notes"]
    ]
    for title, rows in (("Shown", shown), ("Learned", learned), ("Noted", notes)):
        if rows:
            terminal.gap()
            terminal.line(styled(title, "bold"))
            terminal.table(rows)
    terminal.gap()
    terminal.line(f"{one['tokens']} tokens were spent on what it was shown.")


def _since(row: "dict[str, Any]") -> str:
    """Return what became of a memory since: "changed" for a flagged one, "contradicted (ID)"."""
    if row["archived"]:
        return "archived"
    became = [str(row["stale"]["verdict"])] if row["stale"] else []
    became += ["superseded"] if row["superseded"] else []
    if row["contradicted"]:
        became.append(f"contradicted ({in_a_row([str(one['id']) for one in row['contradicted']])})")
    return ", ".join(became)


def _print_end(answer: "dict[str, Any]", terminal: Terminal, now: "datetime") -> None:
    if not answer["kept"]:
        terminal.line("Nothing happened in it, so it is not kept.")
        return
    terminal.line("Ended.")
    _print_row(answer["session"], terminal, now)
    terminal.line("Hand it on: yaadwatch handoff")
