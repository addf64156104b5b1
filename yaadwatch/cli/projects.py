"""Commands about repositories: add, remove, list."""
# ruff: noqa: PTH100

import os
from argparse import Namespace

from yaadwatch.cli.parsing import Commands, Parser
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, folder, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client


def add_add(commands: Commands) -> Parser:
    """Add `add`."""
    command = commands.add(
        "add",
        "watch a repository and read its agent files",
        add,
        examples=[
            ("yaadwatch add", "the repository of the current folder"),
            ("yaadwatch add ~/src/api --restore", "again, with what was known when it was removed"),
        ],
        more="Its memories live in .yaad/, which is kept out of git without touching .gitignore.",
    )
    _take_folder(command)
    command.add_argument(
        "--trust", action="store_true", help="adopt a store that is not known here"
    )
    command.add_argument("--restore", action="store_true", help="bring the newest backup back")
    return command


def add_remove(commands: Commands) -> Parser:
    """Add `remove`."""
    command = commands.add(
        "remove",
        "stop watching a repository; back up and remove its store",
        remove,
        examples=[
            ("yaadwatch remove", "the repository of the current folder"),
            ("yaadwatch remove ~/src/api --json", "for programs"),
        ],
    )
    _take_folder(command)
    return command


def add_list(commands: Commands) -> Parser:
    """Add `list`."""
    return commands.add(
        "list",
        "list the watched repositories",
        list_projects,
        examples=[("yaadwatch list", "one a line"), ("yaadwatch list --json", "for programs")],
    )


def add(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Watch a repository; print what was read and made, and how to undo it."""
    answer = client.call("add", trust=args.trust, restore=args.restore, **_folder(args))
    if args.json:
        terminal.json(answer)
    else:
        tell_added(answer, terminal)
    return 0


def remove(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Stop watching a repository; print where its memories are kept."""
    answer = client.call("remove", **_folder(args))
    if args.json:
        terminal.json(answer)
        return 0
    terminal.line("No longer watching ", styled(folder(answer["path"]), "bold"))
    kept = count(answer["memories"], "memory")
    if answer.get("backup"):
        terminal.line(f"{kept} kept in {folder(answer['backup'])}", indent=2)
    if answer.get("undo"):
        terminal.line(f"Undo: {answer['undo']}")
    return 0


def list_projects(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print the watched repositories."""
    answer = client.call("projects")
    if args.json:
        terminal.json(answer)
        return 0
    if not answer["projects"]:
        terminal.line("No repository is watched. Watch one: yaadwatch add DIR")
        return 0
    terminal.table([_row(project) for project in answer["projects"]], indent=0)
    return 0


def tell_added(answer: "dict[str, Any]", terminal: Terminal) -> None:
    """Print what `add` did."""
    done = "Read again " if answer["again"] else "Watching "
    terminal.line(done, styled(folder(answer["path"]), "bold"))
    imported = answer["imported"]
    statements = count(imported["statements"], "statement")
    new = count(imported["nodes"], "new memory")
    rows = [
        ("store", folder(answer["store"])),
        ("read", f"{statements}, {new}, {imported['anchored']} about code"),
    ]
    if str(answer["store"]).startswith(f"{answer['path']}/.yaad/"):
        rows.insert(1, ("git", ".yaad/ is kept out by a line in the repository's info/exclude"))
    terminal.table(rows)
    if answer["files"]:
        terminal.table([_file(found) for found in answer["files"]], indent=4)
    if answer.get("backup"):
        terminal.line(
            f"A backup of an earlier time is kept: {folder(answer['backup'])}"
            " (bring it back: yaadwatch remove, then add --restore)",
            indent=2,
        )
    terminal.line(f"Undo: {answer['undo']}")


def _file(found: "dict[str, Any]") -> tuple[str, ...]:
    state = str(found["state"])
    if found.get("reason"):
        state += f": {found['reason']}"
    return str(found["path"]), count(found["statements"], "statement"), state


def _row(project: "dict[str, Any]") -> tuple[str, ...]:
    state = str(project["state"])
    if project.get("reason"):
        state += f": {project['reason']}"
    stale = f"{project['stale']} stale"
    return (
        short(project["id"]),
        styled(folder(project["path"]), "bold"),
        str(project.get("branch") or "-"),
        count(project["memories"], "memory"),
        styled(stale, "yellow" if project["stale"] else ""),
        styled(state, "" if state == "ok" else "red"),
    )


def _take_folder(command: Parser) -> None:
    command.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        help="a folder in the repository (default: the current folder)",
    )


def _folder(args: Namespace) -> dict[str, str]:
    """Return the folder that was named, as a field of the request."""
    return {"project": os.path.abspath(args.folder)} if args.folder else {}
