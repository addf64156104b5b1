"""The command about agent files: list, diff, sync, history, share, adopt, release, restore."""
# ruff: noqa: PTH100, PTH112

import os
import shlex
from argparse import Namespace

from yaadwatch.api.messages.files import FilesAdopt, FilesRestore, FilesShare, FilesSync
from yaadwatch.cli.commands import asked, command, option
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count
from yaadwatch.model.agent_files import INLINE
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

ACTIONS = ("list", "diff", "sync", "history", "share", "adopt", "release", "restore")


@command(
    "files",
    "see which agent files are read and written, and change that",
    examples=[
        ("yaadwatch files", "which files there are, and their state"),
        ("yaadwatch files diff", "what a sync would change"),
        ("yaadwatch files --statements", "what they state, and which of it travels"),
        ("yaadwatch files share CLAUDE.md", "send what it states to the other agents"),
        ("yaadwatch files adopt CLAUDE.md", "write the rules into a block in it"),
        ("yaadwatch files release CLAUDE.md", "take our block out, byte for byte"),
        ("yaadwatch files history CLAUDE.md", "what was read from it and written to it"),
        ("yaadwatch files restore CLAUDE.md", "as it was before our last write"),
    ],
    more="A bullet that you type into an agent file becomes a memory. Memories that are\n"
    "rules are written to the other agent files: into a block of ours (inline), or\n"
    "into a file of ours that git ignores (private).\n"
    'A file that says "paused" needs you: the reason is beside it.',
    takes=(FilesAdopt, FilesShare, FilesSync, FilesRestore),
    options=[
        option(
            "action", choices=ACTIONS, nargs="?", default="list", help="what to do (default: list)"
        ),
        option(
            "what",
            metavar="DIR|FILE",
            nargs="?",
            help="a folder in the repository (for list, diff, sync), or an agent file",
        ),
        option(
            "ids",
            metavar="ID",
            nargs="*",
            help="for share: these memories only (default: all of FILE)",
        ),
        option(
            "--statements",
            action="store_true",
            help="for list: what the files, or FILE, state; which of it travels, and why the rest"
            " does not",
        ),
    ],
)
def files(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Do what was asked about agent files, and print how they are then."""
    answer = _ask(args, client)
    if args.json:
        terminal.json(answer)
    elif args.action == "share":
        _tell_shared(answer, terminal)
    elif args.statements:
        _tell_statements(answer, terminal)
    elif args.action == "diff":
        _tell_diff(answer, terminal)
    elif args.action == "history":
        _tell_history(answer, terminal)
    elif args.action == "restore":
        size = count(answer["bytes"], "byte")
        terminal.line(f"{answer['path']} is as it was ({size}); from now on it is only read")
        terminal.line(f"To write to it again: yaadwatch files adopt {shlex.quote(answer['path'])}")
    else:
        _tell_files(answer, terminal)
        if args.action == "adopt" and answer.get("wrote") and args.mode in (None, INLINE):
            named = shlex.join(answer["wrote"])
            terminal.line(f"If git tracks them, commit this: git commit {named}")
    return 0 if answer.get("settled", True) else 1


def _ask(args: Namespace, client: "Client") -> "dict[str, Any]":
    operation = {"list": "files"}.get(args.action, f"files_{args.action}")
    about = args.what
    if args.ids and args.action != "share":
        raise YaadError(
            Code.BAD_REQUEST,
            f"{args.action} takes one name; nothing was done.",
            hint=f"yaadwatch files {args.action} --help",
        )
    if args.action == "share":
        is_file = bool(about) and (os.path.lexists(about) or "." in about or "/" in about)
        ids = args.ids if is_file or not about else [about, *args.ids]
        path = about if is_file else None
        return client.call(operation, path=path, ids=ids, **asked(args, FilesShare))
    if args.statements:
        if about and os.path.isdir(about):
            return client.call("files_statements", project=os.path.abspath(about))
        return client.call("files_statements", path=about)
    if args.action in {"adopt", "release"}:
        given = asked(args, FilesAdopt) if args.action == "adopt" else {}
        if about and os.path.isdir(about):
            return client.call(operation, project=os.path.abspath(about), **given)
        return client.call(operation, path=about, **given)
    if args.action in {"restore", "history"} and not about:
        raise YaadError(
            Code.BAD_REQUEST,
            f"Which file do you mean? {args.action} is about one; nothing was done.",
            hint=f"yaadwatch files {args.action} CLAUDE.md",
        )
    if args.action == "history":
        return client.call(operation, path=about)
    if args.action == "restore":
        return client.call(operation, path=about, **asked(args, FilesRestore))
    where = {"project": os.path.abspath(about)} if about else {}
    if args.action == "sync":
        return client.call(operation, **asked(args, FilesSync), **where)
    return client.call(operation, **where)


def _tell_files(answer: "dict[str, Any]", terminal: Terminal) -> None:
    if not answer["files"]:
        terminal.line("There are no agent files here.")
        return
    terminal.table([_row(found) for found in answer["files"]], indent=0)
    if answer.get("agents"):
        terminal.line()
        terminal.table([_agent(found) for found in answer["agents"]], indent=0)
        for obstacle in (one for found in answer["agents"] for one in found["obstacles"]):
            terminal.line(styled(f"{obstacle}; its agent gets the rules from the brief", "yellow"))
    for problem in answer.get("problems", ()):
        terminal.line(styled(problem, "yellow"))
    if pause := answer.get("pause"):
        terminal.line(styled(f"Agent files are {pause['what']}.", "yellow"))
        terminal.line(f"fix: {pause['mend']}", indent=2)
    if not answer.get("settled", True):
        terminal.line(
            "Not finished: git or an agent is at work, or a file cannot be written;"
            " yaadwatch tries again by itself."
        )


def _tell_shared(answer: "dict[str, Any]", terminal: Terminal) -> None:
    shared = count(len(answer["shared"]), "statement")
    done = "sent to" if "--undo" in str(answer.get("undo")) else "taken back from"
    terminal.line(f"{shared} {done} the other agents" if answer["shared"] else "Nothing changed.")
    if answer["stays"]:
        terminal.line("These stay where they are:")
        for row in answer["stays"]:
            terminal.line(
                styled(f"{row['path']}:{row['line']}", "bold"), f" {row['text']}", indent=2
            )
            terminal.line(str(row["reason"]), indent=4)
    if answer.get("undo"):
        terminal.line(f"Undo: {answer['undo']}")


def _tell_statements(answer: "dict[str, Any]", terminal: Terminal) -> None:
    if not answer["statements"]:
        terminal.line("No agent file here states anything.")
        return
    for row in answer["statements"]:
        to = f"to {', '.join(row['to'])}" if row["travels"] else f"stays: {row['reason']}"
        terminal.line(styled(f"{row['path']}:{row['line']}", "bold"), f" {row['text']}")
        terminal.line(styled(to, "" if row["travels"] else "yellow"), indent=2)


def _row(found: "dict[str, Any]") -> tuple[str, ...]:
    state = str(found["state"])
    if found.get("reason"):
        state += f": {found['reason']}"
    kept = found["snapshots"]
    copies = f"copies {kept[-1]['id']} to {kept[0]['id']}" if len(kept) > 1 else ""
    copies = f"copy {kept[0]['id']}" if len(kept) == 1 else copies
    return (
        styled(str(found["path"]), "bold"),
        str(found["mode"]),
        styled(state, "" if found["state"] == "synced" else "yellow"),
        copies,
    )


def _agent(found: "dict[str, Any]") -> tuple[str, ...]:
    """Tell what an agent takes in when it starts, and what that costs it."""
    if not found["reads"]:
        return (found["title"], "reads nothing here", "", "")
    twice = f"our rules are in {found['blocks']} of them" if found["blocks"] > 1 else ""
    tokens = f"{count(found['tokens'], 'token')}, {found['ours']} of them ours"
    return (found["title"], f"reads {', '.join(found['reads'])}", tokens, twice)


def _tell_history(answer: "dict[str, Any]", terminal: Terminal) -> None:
    if not answer["entries"]:
        terminal.line(f"Nothing is known of {answer['path']}.")
        return
    rows = []
    for entry in answer["entries"]:
        mark = f" (copy {entry['snapshot']})" if entry.get("snapshot") else ""
        mark = f" ({called(entry['id'])})" if entry.get("id") else mark
        rows.append((str(entry["at"])[:19].replace("T", " "), entry["what"], entry["text"] + mark))
    terminal.table(rows, indent=0)


def _tell_diff(answer: "dict[str, Any]", terminal: Terminal) -> None:
    if not answer["files"]:
        terminal.line("Nothing would change.")
        return
    for found in answer["files"]:
        brings = [
            f"{found['new']} to be taken in" if found["new"] else "",
            f"{found['gone']} gone" if found["gone"] else "",
            str(found.get("reason") or ""),
        ]
        told = ", ".join(part for part in brings if part)
        terminal.line(styled(found["path"], "bold"), f": {told}" if told else "")
        terminal.diff(str(found["diff"]), indent=2)
