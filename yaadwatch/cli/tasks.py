"""The commands tasks, task, skill, sessions and handoff."""

from argparse import Namespace

from yaadwatch.api.messages.store import (
    Handoff,
    SessionNote,
    Sessions,
    SessionStart,
    Tasks,
    TaskUpdate,
)
from yaadwatch.cli.commands import (
    actions,
    file_name,
    given_fields,
    option,
    prints,
    refused_status,
    usage,
    words,
)
from yaadwatch.cli.terminal import (
    Terminal,
    count,
    in_a_row,
    memory_words,
    named,
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
    from typing import Any

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client


# ruff: noqa: PTH123


def _tasks(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    args.states = list(STATES) if args.all else args.states or list(UNFINISHED)
    return client.call("tasks", **given_fields(args, Tasks) | {"states": args.states})


@prints(
    "tasks",
    Tasks,
    ask=_tasks,
    options=[option("--all", action="store_true", help="tasks in every state")],
)
def tasks(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """List the tasks, most urgent first.

    Agents see the open ones in their brief. To add or change one: yaadwatch task

    examples:
      yaadwatch tasks               open ones, and those in progress
      yaadwatch tasks --state done  finished ones
      yaadwatch tasks --all --json  all of them, for scripts
    """
    for row in answer["tasks"]:
        _print_task(row, terminal, f"  ({terminal.ago(row['updated_at'])})")
    counts = answer["counts"]
    if not answer["tasks"]:
        terminal.line(
            "No open tasks. Add one: yaadwatch task add TEXT"
            if args.states == list(UNFINISHED)
            else f"No task is {' or '.join(args.states)}."
        )
    if text := ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state]):
        terminal.line(styled(text, "dim"))
    print_hidden(answer, terminal)


def _task(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    fields = given_fields(args, TaskUpdate)
    if args.action == "add":
        fields["text"] = " ".join(args.words)
        return client.call("task_update", **fields)
    states = {"start": "doing", "done": "done", "drop": "dropped", "open": "open"}
    if args.action in states:
        words(args, "ID")
        fields["state"] = states[args.action]
    elif len(args.words) > 1:
        fields["text"] = " ".join(args.words[1:])
    elif not fields:
        raise usage(args, "`task edit` takes ID TEXT, or ID and --priority")
    return client.call("task_update", id=args.words[0], **fields)


@prints(
    "task",
    TaskUpdate,
    ask=_task,
    options=[
        option(
            "action",
            choices=("add", "start", "done", "drop", "open", "edit"),
            help="what to do",
        ),
        option(
            "words", metavar="ID|TEXT", nargs="+", help="the id of a task, or the text of a new one"
        ),
    ],
)
def task(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Add a task, or change its state.

    To have one task wait for another: yaadwatch link ID depends_on OTHER
    To see them: yaadwatch tasks

    examples:
      yaadwatch task add Move the parser out        add one
      yaadwatch task add Stop it --priority urgent  add one that comes first
      yaadwatch task start 5c01f2e4                 somebody works on it
      yaadwatch task done 5c01f2e4                  it is done, and leaves the brief
      yaadwatch task edit 5c01f2e4 Stop both leaks  change its text
    """
    if args.action == "add":
        terminal.line("Added:" if answer["made"] else "There is one already; it is open again:")
    _print_task(answer, terminal)
    if args.action in {"done", "drop"}:
        terminal.line(f"Undo: yaadwatch task open {short(answer['id'])}")


def _print_task(row: "dict[str, Any]", terminal: Terminal, more: str = "") -> None:
    state = str(row["state"])
    colour = {"doing": "green", "done": "dim", "dropped": "dim"}.get(state, "yellow")
    priority = "" if row["priority"] == NORMAL else f", {row['priority']}"
    waits = f"; waits for {', '.join(map(short, row['waits_for']))}" if row["waits_for"] else ""
    identity, text = named(row)
    parts = (styled(f"{state}{priority}", colour), text, waits, styled(more, "dim"))
    terminal.line(identity, "  ", *parts, hang=10)


def _skill(args: Namespace, client: "Client", terminal: Terminal) -> "Answer | None":
    if args.action == "install":
        return _install(args)
    if args.action != "list" and not args.name:
        raise usage(args, f"`skill {args.action}` takes NAME")
    if args.action == "add":
        if not args.about:
            raise usage(args, "Say when to use it, with --about")
        body = _body(args.file, terminal)
        return client.call("skill_add", name=args.name, description=args.about, body=body)
    return client.call("skills", name=args.name)


@prints(
    "skill",
    ask=_skill,
    status=refused_status,
    options=[
        actions("list", "show", "add", "install"),
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
    ],
)
def skill(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Keep and show skills: how things are done here.

    A skill is a named way of working: a line that says when to use it, and a body.
    When files or definitions that it names change, yaadwatch stale lists it.

    examples:
      yaadwatch skill                               list them
      yaadwatch skill show release                  print one
      yaadwatch skill add NAME --about LINE < BODY  add or change one
      yaadwatch skill show release > SKILL.md       for an agent that reads skills
      yaadwatch skill install                       teach your agents yaadwatch
    """
    if args.action == "install":
        from yaadwatch.cli.connect import print_written

        print_written(answer, terminal, undo="yaadwatch disconnect skill")
    elif args.action == "add":
        terminal.line("Kept ", styled(answer["name"], "bold"), f"  {answer['description']}")
        identity, version = short(answer["id"]), answer["version"]
        undo = f"restore {identity} --version {version - 1}"
        terminal.line(f"Undo: yaadwatch {undo if version > 1 else f'forget {identity}'}")
    elif not answer["skills"]:
        terminal.line("There are no skills here. Add one: yaadwatch skill add --help")
    for found in answer.get("skills", ()):
        if args.name:
            _print_skill(found, terminal)
        else:
            text = memory_words(found | {"text": found["description"]})
            stale = styled("  may be stale", "yellow") if found["stale"] else ""
            terminal.line(styled(found["name"], "bold"), f"  {text}", stale)


def _print_skill(found: "dict[str, Any]", terminal: Terminal) -> None:
    """Print a skill as a SKILL.md; one that no person has approved, as a quotation."""
    about = str(found["description"]).replace("\\", "\\\\").replace('"', '\\"')
    head = ("---", f"name: {found['name']}", f'description: "{about}"', "---", "")
    mark = "> " if found.get("unverified") else ""
    for line in (*head, *str(found["body"]).splitlines()):
        terminal.line(f"{mark}{line}")


def _install(args: Namespace) -> "Answer":
    """Install the skill that teaches agents when to remember, recall, confirm and correct."""
    from yaadwatch.connect import connect, table

    if args.name:
        raise usage(args, "There is one skill to install, and it needs no name")
    return connect.connect(connect.this_machine(None), [table.SKILL])


def _body(path: str | None, terminal: Terminal) -> str:
    """Return the body of a skill: of a file, else of standard input.

    Raises:
        YaadError: as `read_all`; unavailable, when the file cannot be read.
    """
    if path in (None, "-"):
        return read_all(terminal.keys, "Standard input", "Nothing was kept.")
    try:
        with open(str(path), encoding="utf-8") as file:
            return read_all(file, str(path), "Nothing was kept.")
    except OSError as error:
        why = f"{path} cannot be read ({error.strerror}). Nothing was kept."
        raise YaadError(Code.UNAVAILABLE, why) from None


def _sessions(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    forms = {"show": "ID", "search": "WORDS...", "note": "WORDS...", "end": "ID"}
    form = [forms[args.action]] if args.action in forms else []
    text = " ".join(words(args, *form, *[""] * (args.action == "end")))
    if args.action == "show":
        return client.call("sessions", id=text)
    if args.action == "search":
        return client.call("sessions", query=text, **given_fields(args, Sessions))
    if args.action == "start":
        return client.call("session_start", **given_fields(args, SessionStart))
    if args.action == "note":
        return client.call("session_note", text=text, **given_fields(args, SessionNote))
    if args.action == "end":
        fields = given_fields(args, SessionStart)
        return client.call("session_end", session=text or args.session, **fields)
    return client.call("sessions", **given_fields(args, Sessions))


@prints(
    "sessions",
    Sessions,
    SessionStart,
    SessionNote,
    ask=_sessions,
    options=[
        actions("list", "show", "search", "start", "note", "end"),
        option("words", metavar="ID|WORDS", nargs="*", help="a session (for show, end), or words"),
    ],
)
def sessions(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Look at past sessions, find one, or keep your own.

    A session is a stretch of work of one agent. Agents' sessions begin and end by
    themselves. What you remember at the command line without one belongs to a
    session of the day. To pass the work on: yaadwatch handoff

    examples:
      yaadwatch sessions                        the latest, with what each one left
      yaadwatch sessions show 5c01f2e4          what it was shown, and what it used
      yaadwatch sessions search slow parser     find the one where this came up
      yaadwatch sessions start                  start one of your own
      yaadwatch sessions note tests need redis  leave a note for the next one
      yaadwatch sessions end                    end it, and print what was done
    """
    if args.action == "show":
        _print_receipt(answer["sessions"][0], terminal)
    elif args.action == "start":
        done = "Resumed" if answer["again"] else "Started"
        terminal.line(f"{done}: session ", styled(short(answer["session"]), "bold"))
        terminal.line("End it: yaadwatch sessions end")
    elif args.action == "note":
        terminal.line("Noted in session ", styled(short(answer["session"]), "bold"))
        terminal.line(str(answer["text"]), indent=2)
    elif args.action == "end" and answer["kept"]:
        terminal.line("Ended.")
        _print_session(answer["session"], terminal)
        terminal.line("Hand it on: yaadwatch handoff")
    elif args.action == "end":
        terminal.line("Nothing happened in it, so it is not kept.")
    elif answer["sessions"]:
        for one in answer["sessions"]:
            _print_session(one, terminal)
    elif args.action == "search":
        terminal.line("No session is about that.")
    else:
        terminal.line(
            "There are no sessions here yet. One begins when an agent asks something, or with:"
            " yaadwatch sessions start"
        )


def _print_session(one: "dict[str, Any]", terminal: Terminal) -> None:
    who = str(one["agent"]).partition(":")[2] or str(one["name"] or "command line")
    begun, ended = when(one["started_at"]), when(one["ended_at"])
    state = "still open"
    if begun and ended:
        by = {"asked": "request", "left": "its agent leaving", "idle": "quiet"}[one["ended_by"]]
        state = f"{span((ended - begun).total_seconds())}, ended by {by}"
    terminal.line(
        styled(short(one["id"]), "bold"),
        f"  {who}, {terminal.ago(one['started_at'])}, {state};"
        f" learned {one['learned']}, shown {one['shown']}, used {one['used']},"
        f" {count(one['files'], 'file')}, {count(one['commits'], 'commit')}",
        hang=10,
    )
    for line in str(one["summary"]).splitlines()[1:]:
        terminal.line(styled(line, "dim"), indent=10)


def _print_receipt(one: "dict[str, Any]", terminal: Terminal) -> None:
    _print_session(one, terminal)
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
        (terminal.ago(row["at"]), version_words(row["text"], one.get("agent")))
        for row in one["notes"]
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


def _handoff(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    answer = client.call("handoff", **given_fields(args, Handoff))
    if not answer["prompt"] and not args.json:
        # An empty prompt would be handed to an agent without a word.
        tokens = args.tokens_max or Handoff.FIELDS["tokens_max"].default
        raise YaadError(
            Code.NOT_FOUND,
            f"There is nothing to hand on here that fits into {tokens} tokens.",
            hint="What was done here: yaadwatch sessions. A longer prompt: yaadwatch handoff "
            "--tokens N",
        )
    return answer


@prints("handoff", Handoff, ask=_handoff)
def handoff(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Print a prompt for the agent that goes on with the work.

    The prompt says what was done, what is open, what is flagged, and which files
    were changed. To pick a session: yaadwatch sessions

    examples:
      yaadwatch handoff | claude -p   pass the work on to an agent
      yaadwatch handoff --tokens 800  a shorter one
    """
    for line in str(answer["prompt"]).splitlines():
        terminal.line(line)
