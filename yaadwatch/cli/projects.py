"""The commands add, remove and list, and the command `files` with its actions."""

import os
import shlex
from argparse import Namespace

from yaadwatch.api.messages.store import (
    Add,
    FilesAdopt,
    FilesRestore,
    FilesShare,
    FilesSync,
    Remove,
)
from yaadwatch.cli.commands import command, given_fields, option
from yaadwatch.cli.stale import print_shallow
from yaadwatch.cli.terminal import Terminal, count, folder, quoted_name, short, styled, was_read
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.projects import INLINE, MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client


# ruff: noqa: PTH100, PTH109, PTH118, PTH120


_ANSWERS_MAX = 3
_FOLDER = option(
    "folder",
    metavar="DIR",
    nargs="?",
    help="a folder in the repository (default: the current folder)",
)


@command(
    "add",
    "watch a repository and read its agent files",
    examples=[
        ("yaadwatch add", "the repository of the current folder"),
        ("yaadwatch add ~/src/api --adopt", "with its earlier memories"),
    ],
    more="Memories are kept in ~/.yaad/projects, not in the repository; its git\n"
    "configuration holds the project's id (yaad.project). A repository that is moved\n"
    "is followed, and a copy is one more work tree of the same project.\n"
    "Next: yaadwatch stale shows what is out of date already, yaadwatch connect\n"
    "gives the memory to your agents.",
    takes=Add,
    options=[_FOLDER],
)
def add(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Watch a repository; print what was read and made, and how to undo it."""
    _require_utf8(os.path.abspath(args.folder or args.project or os.getcwd()))
    mode = args.mode
    if mode is None and not args.json and terminal.can_ask() and _is_new(args, client):
        mode = _ask_mode(terminal)
    answer = _added(args, client, terminal, mode)
    if args.json:
        terminal.json(answer)
    else:
        print_added(answer, terminal)
    return 0


@command(
    "remove",
    "stop watching a repository; its memories are kept",
    examples=[
        ("yaadwatch remove", "the repository of the current folder"),
        ("yaadwatch remove ~/src/api", "another one"),
        ("yaadwatch remove ~/src/api --erase", "and delete its memories"),
    ],
    more="Our blocks and files leave the repository, byte for byte. To have the memories\n"
    "again: yaadwatch add --adopt",
    takes=Remove,
    options=[_FOLDER],
)
def remove(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Stop watching a repository; print where its memories are kept."""
    answer = client.call("remove", **given_fields(args, Remove), **_folder(args))
    if args.json:
        terminal.json(answer)
        return 0
    was_watched = answer.get("was_watched", True)
    done = "No longer watching " if was_watched else "Was not watched any more: "
    terminal.line(done, styled(folder(answer["path"]), "bold"))
    kept = count(answer["memories"], "memory")
    if answer.get("kept"):
        terminal.line(f"{kept} kept in {folder(answer['kept'])}", indent=2)
    elif args.erase:
        terminal.line(f"{kept} deleted, with all copies and backups", indent=2)
    if answer.get("undo"):
        terminal.line(f"Undo: {answer['undo']}")
    elif answer.get("later"):
        terminal.line(f"Undo, once a repository is there again: {answer['later']}")
    return 0


@command(
    "list",
    "list the watched repositories",
    examples=[
        ("yaadwatch list", "one repository a line"),
        ("yaadwatch list --json", "for scripts"),
    ],
)
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


def _added(
    args: Namespace, client: "Client", terminal: Terminal, mode: str | None
) -> "dict[str, Any]":
    """Call `add`; ask a person whether to adopt known memories. Return the answer."""
    fields = {"restore": args.restore, "mode": mode, **_folder(args)}
    adopt, separate = args.adopt, args.separate
    try:
        return client.call("add", adopt=adopt, separate=separate, **fields)
    except YaadError as error:
        if error.code is not Code.CONFLICT or adopt or separate or args.restore or args.json:
            raise
        if not terminal.can_ask():
            raise
        terminal.line(error.message)
    adopt = _ask_adopt(terminal)
    return client.call("add", adopt=adopt, separate=not adopt, **fields)


def _ask_adopt(terminal: Terminal) -> bool:
    """Ask whether to adopt the earlier memories."""
    for _ in range(_ANSWERS_MAX):
        given = terminal.ask("Use these memories? [Y/n] ").lower()
        if given in {"", "y", "yes"}:
            return True
        if given in {"n", "no"}:
            return False
    raise YaadError(
        Code.BAD_REQUEST,
        "The answer was neither yes nor no; nothing was added.",
        hint="yaadwatch add --adopt, or yaadwatch add --separate",
    )


def top_of(below: str) -> str | None:
    """Return the folder with a `.git` that `below` is in, as far as the path shows."""
    top = os.path.realpath(below)
    while not os.path.lexists(os.path.join(top, ".git")):
        if top == os.path.dirname(top):
            return None
        top = os.path.dirname(top)
    return top


def print_added(answer: "dict[str, Any]", terminal: Terminal) -> None:
    """Print what `add` did."""
    done = "Read again " if answer["again"] else "Watching "
    terminal.line(done, styled(folder(answer["path"]), "bold"))
    if answer.get("copy_of"):
        terminal.line(
            f"This is a copy of {folder(answer['copy_of'])}: one more work tree of that project,"
            " with verdicts of its own. To watch it by itself: yaadwatch add --separate",
            indent=2,
        )
    imported = answer["imported"]
    statements = count(imported["statements"], "statement")
    new = count(imported["nodes"], "new memory")
    read = f"{statements}, {new}"
    if not answer["files"]:
        read = "no agent files here; keep a first memory: yaadwatch remember TEXT"
    rows = [("store", folder(answer["store"])), ("read", read)]
    if answer.get("adopted"):
        rows.insert(1, ("memories", "the earlier ones"))
    if answer.get("by_path"):
        why = "its configuration cannot be written; the repository is known by its path"
        rows.append(("git", why))
    terminal.table(rows)
    if answer["files"]:
        terminal.table([_file(found) for found in answer["files"]], indent=4)
    if answer["stale"]:
        doubted = count(answer["stale"], "memory")
        terminal.line(
            styled(f"{doubted} may no longer be true", "yellow"), ": yaadwatch stale", indent=2
        )
    if looking := answer.get("looking"):
        looked, they = count(looking, "statement"), "it was" if looking == 1 else "they were"
        is_tied = not answer.get("guards") or answer["guards"]["memories"]
        terminal.line(
            f"{looked} {'is' if looking == 1 else 'are'} being compared with the code of the day"
            f" {they} written; see: yaadwatch stale"
            if is_tied
            else f"looking up what {looked} rested on when {they} written; see: yaadwatch stale",
            indent=2,
        )
    print_shallow(answer, terminal, indent=2)
    if answer.get("guards"):
        terminal.line(_guarded(answer), indent=2)
    if any(found["mode"] == "private" for found in answer["files"]):
        terminal.line(
            "To write a block into them instead: yaadwatch files adopt --mode inline", indent=2
        )
    terminal.line(f"Undo: {answer['undo']}")


def _guarded(answer: "dict[str, Any]") -> str:
    """Return which changes of the code can flag a memory, as text."""
    guards = answer["guards"]
    noun = "rule" if answer["files"] else "memory"
    if not guards["memories"]:
        return f"no {noun} is tied to a file or definition here, so no change of the code flags one"
    files = count(guards["files"], "file")
    if not guards["definitions"]:
        return f"guards {count(guards['memories'], noun)}, tied to {files}"
    definitions = count(guards["definitions"], "definition")
    return f"guards {count(guards['memories'], noun)}, tied to {definitions} in {files}"


def _is_new(args: Namespace, client: "Client") -> bool:
    """Return whether nothing is decided yet about this repository's files."""
    if args.restore or args.adopt or top_of(args.folder or args.project or os.getcwd()) is None:
        return False
    try:
        client.call("files", **_folder(args))
    except YaadError:
        return True  # not watched, or whatever else `add` is going to say
    return False


def _ask_mode(terminal: Terminal) -> str | None:
    """Ask for the mode; None means what suits each file."""
    terminal.line("May yaadwatch write rules into your agent files?")
    terminal.line(
        "inline: yes, one block in each. In a tracked file, commit the block: as long as it is not"
        " committed, git rebase, git pull --rebase, npm version and git diff --quiet refuse",
        indent=2,
    )
    terminal.line("private: no, into a file of its own beside them, which git ignores", indent=2)
    terminal.line("read: no, only read them", indent=2)
    for _ in range(_ANSWERS_MAX):
        given = terminal.ask("inline, private, read, or Enter for what suits each file: ")
        if not given or given in MODES:
            return given or None
        terminal.line(f"{given!r} is none of them.")
    return None


def _file(found: "dict[str, Any]") -> tuple[str, ...]:
    state = str(found["state"])
    if found.get("reason"):
        state += f": {found['reason']}"
    return str(found["path"]), count(found["statements"], "statement"), str(found["mode"]), state


def _row(project: "dict[str, Any]") -> tuple[str, ...]:
    state = str(project["state"])
    if project.get("reason"):
        state += f": {project['reason']}"
    elif comparing := project.get("comparing"):
        state += f", comparing {comparing['done']} of {comparing['total']}"
    stale = f"{project['stale']} stale"
    return (
        short(project["id"]),
        styled(folder(project["path"]), "bold"),
        quoted_name(project.get("branch") or "-"),
        count(project["memories"], "memory") if was_read(project) else "-",
        styled(stale if was_read(project) else "-", "yellow" if project["stale"] else ""),
        styled(state, "" if state == "ok" else "red"),
    )


def _require_utf8(folder: str) -> None:
    """Refuse a folder that cannot be sent to the daemon.

    Raises:
        YaadError: refused.
    """
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise YaadError(
            Code.REFUSED,
            f"The name of {folder!r} is not UTF-8; it cannot be watched.",
            hint="Rename the folder.",
        ) from None


def _folder(args: Namespace) -> dict[str, str]:
    """Return the named folder as a field of the request."""
    return {"project": os.path.abspath(args.folder)} if args.folder else {}


# ruff: noqa: PTH100, PTH112


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
        _print_shared(answer, terminal)
    elif args.statements:
        _print_statements(answer, terminal)
    elif args.action == "diff":
        _print_diff(answer, terminal)
    elif args.action == "history":
        _print_history(answer, terminal)
    elif args.action == "restore":
        size = count(answer["bytes"], "byte")
        terminal.line(f"{answer['path']} is as it was ({size}); from now on it is only read")
        terminal.line(f"To write to it again: yaadwatch files adopt {shlex.quote(answer['path'])}")
    else:
        _print_files(answer, terminal)
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
        return client.call(operation, path=path, ids=ids, **given_fields(args, FilesShare))
    if args.statements:
        if about and os.path.isdir(about):
            return client.call("files_statements", project=os.path.abspath(about))
        return client.call("files_statements", path=about)
    if args.action in {"adopt", "release"}:
        given = given_fields(args, FilesAdopt) if args.action == "adopt" else {}
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
        return client.call(operation, path=about, **given_fields(args, FilesRestore))
    where = {"project": os.path.abspath(about)} if about else {}
    if args.action == "sync":
        return client.call(operation, **given_fields(args, FilesSync), **where)
    return client.call(operation, **where)


def _print_files(answer: "dict[str, Any]", terminal: Terminal) -> None:
    if not answer["files"]:
        terminal.line("There are no agent files here.")
        return
    terminal.table([_agent_file_row(found) for found in answer["files"]], indent=0)
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


def _print_shared(answer: "dict[str, Any]", terminal: Terminal) -> None:
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


def _print_statements(answer: "dict[str, Any]", terminal: Terminal) -> None:
    if not answer["statements"]:
        terminal.line("No agent file here states anything.")
        return
    for row in answer["statements"]:
        to = f"to {', '.join(row['to'])}" if row["travels"] else f"stays: {row['reason']}"
        terminal.line(styled(f"{row['path']}:{row['line']}", "bold"), f" {row['text']}")
        terminal.line(styled(to, "" if row["travels"] else "yellow"), indent=2)


def _agent_file_row(found: "dict[str, Any]") -> tuple[str, ...]:
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
    """Return a row for the files that an agent reads when it starts, and their size."""
    if not found["reads"]:
        return (found["title"], "reads nothing here", "", "")
    twice = f"our rules are in {found['blocks']} of them" if found["blocks"] > 1 else ""
    tokens = f"{count(found['tokens'], 'token')}, {found['ours']} of them ours"
    return (found["title"], f"reads {', '.join(found['reads'])}", tokens, twice)


def _print_history(answer: "dict[str, Any]", terminal: Terminal) -> None:
    if not answer["entries"]:
        terminal.line(f"Nothing is known of {answer['path']}.")
        return
    rows = []
    for entry in answer["entries"]:
        mark = f" (copy {entry['snapshot']})" if entry.get("snapshot") else ""
        mark = f" ({short_id(entry['id'])})" if entry.get("id") else mark
        rows.append((str(entry["at"])[:19].replace("T", " "), entry["what"], entry["text"] + mark))
    terminal.table(rows, indent=0)


def _print_diff(answer: "dict[str, Any]", terminal: Terminal) -> None:
    if not answer["files"]:
        terminal.line("Nothing would change.")
        return
    for found in answer["files"]:
        brings = [
            f"{found['new']} to be taken in" if found["new"] else "",
            f"{found['gone']} gone" if found["gone"] else "",
            str(found.get("reason") or ""),
        ]
        text = ", ".join(part for part in brings if part)
        terminal.line(styled(found["path"], "bold"), f": {text}" if text else "")
        terminal.diff(str(found["diff"]), indent=2)
