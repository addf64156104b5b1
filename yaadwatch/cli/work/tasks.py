"""Commands about what is to be done: tasks, task."""

from argparse import Namespace

from yaadwatch.api.messages.sessions import Tasks, TaskUpdate
from yaadwatch.cli.commands import asked, command, option
from yaadwatch.cli.terminal import Terminal, styled, tell_hidden
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
