"""Commands about past work: sessions, handoff."""

from argparse import Namespace

from yaadwatch.api.messages.sessions import Handoff, SessionNote, Sessions, SessionStart
from yaadwatch.cli.commands import asked, command, option
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import ago, count, listed, short, span, when, worded, worded_by
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from yaadwatch.client.connection import Client

ACTIONS = ("list", "show", "search", "start", "note", "end")
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
            "action", choices=ACTIONS, nargs="?", default="list", help="what to do (default: list)"
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
        _tell_receipt(answer["sessions"][0], terminal, now)
    elif args.action == "start":
        again = "Resumed" if answer["again"] else "Started"
        terminal.line(f"{again}: session ", styled(short(answer["session"]), "bold"))
        terminal.line("End it: yaadwatch sessions end")
    elif args.action == "note":
        terminal.line("Noted in session ", styled(short(answer["session"]), "bold"))
        terminal.line(str(answer["text"]), indent=2)
    elif args.action == "end":
        _tell_end(answer, terminal, now)
    else:
        _tell_list(answer["sessions"], args, terminal, now)
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
    answer = client.call("handoff", **asked(args, Handoff))
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
        return client.call("sessions", query=words, **asked(args, Sessions))
    if args.action == "start":
        return client.call("session_start", **asked(args, SessionStart))
    if args.action == "note":
        return client.call("session_note", text=words, **asked(args, SessionNote))
    if args.action == "end":
        return client.call(
            "session_end", session=words or args.session, **asked(args, SessionStart)
        )
    return client.call("sessions", **asked(args, Sessions))


def _tell_list(
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
        _tell_row(one, terminal, now)


def _tell_row(one: "dict[str, Any]", terminal: Terminal, now: "datetime") -> None:
    who = str(one["agent"]).partition(":")[2] or str(one["name"] or "command line")
    state = (
        "still open"
        if one["ended_at"] is None
        else f"{_took(one)}, ended by {_END[one['ended_by']]}"
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


def _took(one: "dict[str, Any]") -> str:
    begun, ended = when(one["started_at"]), when(one["ended_at"])
    return span((ended - begun).total_seconds()) if begun and ended else "goes on"


def _tell_receipt(one: "dict[str, Any]", terminal: Terminal, now: "datetime") -> None:
    _tell_row(one, terminal, now)
    shown = [
        (
            short(row["id"]),
            f"{row['tokens']} tokens",
            "used" if row["used"] else "",
            _since(row),
            worded(row),
        )
        for row in one["shown_memories"]
    ]
    learned = [
        (short(row["id"]), str(row["kind"]), _since(row), worded(row))
        for row in one["learned_memories"]
    ]
    notes = [
        (ago(row["at"], now), worded_by(row["text"], one.get("agent"))) for row in one["notes"]
    ]
    for title, rows in (("Shown", shown), ("Learned", learned), ("Noted", notes)):
        if rows:
            terminal.gap()
            terminal.line(styled(title, "bold"))
            terminal.table(rows)
    terminal.gap()
    terminal.line(f"{one['tokens']} tokens were spent on what it was shown.")


def _since(row: "dict[str, Any]") -> str:
    """Return what became of a memory since: "changed" for one in doubt, "contradicted (ID)"."""
    if row["archived"]:
        return "archived"
    became = [str(row["stale"]["verdict"])] if row["stale"] else []
    became += ["superseded"] if row["superseded"] else []
    if row["contradicted"]:
        became.append(f"contradicted ({listed([str(one['id']) for one in row['contradicted']])})")
    return ", ".join(became)


def _tell_end(answer: "dict[str, Any]", terminal: Terminal, now: "datetime") -> None:
    if not answer["kept"]:
        terminal.line("Nothing happened in it, so it is not kept.")
        return
    terminal.line("Ended.")
    _tell_row(answer["session"], terminal, now)
    terminal.line("Hand it on: yaadwatch handoff")
