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
from yaadwatch.cli.commands import actions, given_fields, option, prints, usage
from yaadwatch.cli.stale import print_shallow
from yaadwatch.cli.terminal import Terminal, count, folder, quoted_name, short, styled, was_read
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import INLINE, MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client

    Row = dict[str, Any]


# ruff: noqa: PTH100, PTH109, PTH112, PTH118, PTH120


_FOLDER = option(
    "folder",
    metavar="DIR",
    nargs="?",
    help="a folder in the repository (default: the current folder)",
)


def _folder(args: Namespace) -> dict[str, str]:
    """Return the named folder as a field of the request."""
    return {"project": os.path.abspath(args.folder)} if args.folder else {}


def _add(args: Namespace, client: "Client", terminal: Terminal) -> "Answer":
    """Call `add`; ask a person how agent files take part, and whether to adopt known memories."""
    here = os.path.abspath(args.folder or args.project or os.getcwd())
    try:
        here.encode()
    except UnicodeEncodeError:
        raise YaadError(
            Code.REFUSED,
            f"The name of {here!r} is not UTF-8; it cannot be watched.",
            hint="Rename the folder.",
        ) from None
    fields = given_fields(args, Add) | _folder(args)
    asks = terminal.can_ask() and not args.json
    if asks and args.mode is None and not args.restore and not args.adopt and top_of(here):
        try:
            client.call("files", **_folder(args))
        except YaadError:  # not watched, or whatever else `add` is going to say
            if mode := _ask_mode(terminal):
                fields["mode"] = mode
    try:
        return client.call("add", **fields)
    except YaadError as error:
        decided = args.adopt or args.separate or args.restore
        if error.code is not Code.CONFLICT or decided or not asks:
            raise
        terminal.line(error.message)
    adopt = terminal.agrees("Use these memories?", default=True)
    return client.call("add", **fields | {"adopt" if adopt else "separate": True})


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
    while given := terminal.ask("inline, private, read, or Enter for what suits each file: "):
        if given in MODES:
            return given
        terminal.line(f"{given!r} is none of them.")
    return None


def top_of(below: str) -> str | None:
    """Return the folder with a `.git` that `below` is in, as far as the path shows."""
    top = os.path.realpath(below)
    while not os.path.lexists(os.path.join(top, ".git")):
        if top == os.path.dirname(top):
            return None
        top = os.path.dirname(top)
    return top


@prints("add", Add, ask=_add, options=[_FOLDER])
def add(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Watch a repository and read its agent files.

    Memories are kept in ~/.yaad/projects, not in the repository; its git
    configuration holds the project's id (yaad.project). A repository that is moved
    is followed, and a copy is one more work tree of the same project.
    Next: yaadwatch stale shows what is out of date already, yaadwatch connect
    gives the memory to your agents.

    examples:
      yaadwatch add                    the repository of the current folder
      yaadwatch add ~/src/api --adopt  with its earlier memories
    """
    done = "Read again " if answer["again"] else "Watching "
    terminal.line(done, styled(folder(answer["path"]), "bold"))
    if answer.get("copy_of"):
        terminal.line(
            f"This is a copy of {folder(answer['copy_of'])}: one more work tree of that project,"
            " with verdicts of its own. To watch it by itself: yaadwatch add --separate",
            indent=2,
        )
    files, imported = answer["files"], answer["imported"]
    new = count(imported["nodes"], "new memory")
    read = f"{count(imported['statements'], 'statement')}, {new}"
    if not files:
        read = "no agent files here; keep a first memory: yaadwatch remember TEXT"
    rows = [("store", folder(answer["store"])), ("read", read)]
    if answer.get("adopted"):
        rows.insert(1, ("memories", "the earlier ones"))
    if answer.get("by_path"):
        why = "its configuration cannot be written; the repository is known by its path"
        rows.append(("git", why))
    terminal.table(rows)
    if files:
        terminal.table(
            [
                (one["path"], count(one["statements"], "statement"), one["mode"], _state(one))
                for one in files
            ],
            indent=4,
        )
    if answer["stale"]:
        flagged = styled(f"{count(answer['stale'], 'memory')} may no longer be true", "yellow")
        terminal.line(flagged, ": yaadwatch stale", indent=2)
    guards = answer.get("guards")
    if looking := answer.get("looking"):
        statements = count(looking, "statement")
        terminal.line(f"comparing {statements} with earlier code; see: yaadwatch stale", indent=2)
    print_shallow(answer, terminal, indent=2)
    if guards:
        terminal.line(_guarded(guards, "rule" if files else "memory"), indent=2)
    if any(one["mode"] == "private" for one in files):
        adopt = "yaadwatch files adopt --mode inline"
        terminal.line(f"To write a block into them instead: {adopt}", indent=2)


def _guarded(guards: "Row", noun: str) -> str:
    """Return which changes of the code can flag a memory."""
    if not guards["memories"]:
        return f"no {noun} is tied to a file or definition here, so no change of the code flags one"
    tied = count(guards["files"], "file")
    if guards["definitions"]:
        tied = f"{count(guards['definitions'], 'definition')} in {tied}"
    return f"guards {count(guards['memories'], noun)}, tied to {tied}"


@prints(
    "remove",
    Remove,
    ask=lambda args, client, _: client.call(
        "remove", **given_fields(args, Remove), **_folder(args)
    ),
    options=[_FOLDER],
)
def remove(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Stop watching a repository; its memories are kept.

    Our blocks and files leave the repository, byte for byte. To have the memories
    again: yaadwatch add --adopt

    examples:
      yaadwatch remove                    the repository of the current folder
      yaadwatch remove ~/src/api          another one
      yaadwatch remove ~/src/api --erase  and delete its memories
    """
    was_watched = answer.get("was_watched", True)
    done = "No longer watching " if was_watched else "Was not watched any more: "
    terminal.line(done, styled(folder(answer["path"]), "bold"))
    memories = count(answer["memories"], "memory")
    if answer.get("kept"):
        terminal.line(f"{memories} kept in {folder(answer['kept'])}", indent=2)
    elif args.erase:
        terminal.line(f"{memories} deleted, with all copies and backups", indent=2)
    if answer.get("later"):
        terminal.line(f"Undo, once a repository is there again: {answer['later']}")


@prints("list", operation="projects")
def list_projects(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """List the watched repositories.

    examples:
      yaadwatch list         one repository a line
      yaadwatch list --json  for scripts
    """
    if answer["projects"]:
        terminal.table([_project_row(project) for project in answer["projects"]], indent=0)
    else:
        terminal.line("No repository is watched. Watch one: yaadwatch add DIR")


def _project_row(project: "Row") -> tuple[str, ...]:
    state = _state(project)
    if state == project["state"] and (comparing := project.get("comparing")):
        state += f", comparing {comparing['done']} of {comparing['total']}"
    stale, known = f"{project['stale']} stale", was_read(project)
    return (
        short(project["id"]),
        styled(folder(project["path"]), "bold"),
        quoted_name(project.get("branch") or "-"),
        count(project["memories"], "memory") if known else "-",
        styled(stale if known else "-", "yellow" if project["stale"] else ""),
        styled(state, "" if state == "ok" else "red"),
    )


def _state(row: "Row") -> str:
    """Return the state of a project or file, with the reason."""
    return f"{row['state']}: {row['reason']}" if row.get("reason") else str(row["state"])


def _files(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    action, about = args.action, args.what
    operation = "files" if action == "list" else f"files_{action}"
    if args.ids and action != "share":
        raise usage(args, f"{action} takes one name")
    if action in {"restore", "history"} and not about:
        raise usage(args, f"`files {action}` takes the name of one file, such as CLAUDE.md")
    if action == "share":
        is_file = about and (os.path.lexists(about) or "." in about or "/" in about)
        ids = args.ids if is_file or not about else [about, *args.ids]
        where = {"path": about if is_file else None, "ids": ids}
    elif action in {"list", "diff", "sync"} and not args.statements:
        where = {"project": os.path.abspath(about)} if about else {}
    elif about and os.path.isdir(about):
        where = {"project": os.path.abspath(about)}
    else:
        where = {"path": about}
    if args.statements:
        return client.call("files_statements", **where)
    requests = {
        "adopt": FilesAdopt,
        "restore": FilesRestore,
        "share": FilesShare,
        "sync": FilesSync,
    }
    fields = given_fields(args, requests[action]) if action in requests else {}
    return client.call(operation, **where, **fields)


@prints(
    "files",
    FilesAdopt,
    FilesShare,
    FilesSync,
    FilesRestore,
    ask=_files,
    status=lambda answer: 0 if answer.get("settled", True) else 1,
    options=[
        actions("list", "diff", "sync", "history", "share", "adopt", "release", "restore"),
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
def files(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """See which agent files are read and written, and change that.

    A bullet that you type into an agent file becomes a memory. Memories that are
    rules are written to the other agent files: into a block of ours (inline), or
    into a file of ours that git ignores (private).
    A file that says "paused" needs you: the reason is beside it.

    examples:
      yaadwatch files                    which files there are, and their state
      yaadwatch files diff               what a sync would change
      yaadwatch files --statements       what they state, and which of it travels
      yaadwatch files share CLAUDE.md    send what it states to the other agents
      yaadwatch files adopt CLAUDE.md    write the rules into a block in it
      yaadwatch files release CLAUDE.md  take our block out, byte for byte
      yaadwatch files history CLAUDE.md  what was read from it and written to it
      yaadwatch files restore CLAUDE.md  as it was before our last write
    """
    if args.action == "share":
        _print_shared(answer, terminal)
    elif args.statements:
        _print_statements(answer, terminal)
    elif args.action == "diff":
        _print_diff(answer, terminal)
    elif args.action == "history":
        _print_history(answer, terminal)
    elif args.action == "restore":
        size, path = count(answer["bytes"], "byte"), answer["path"]
        terminal.line(f"{path} is as it was ({size}); from now on it is only read")
        terminal.line(f"To write to it again: yaadwatch files adopt {shlex.quote(path)}")
    else:
        _print_files(answer, terminal)
        if args.action == "adopt" and answer.get("wrote") and args.mode in (None, INLINE):
            commit = f"git commit {shlex.join(answer['wrote'])}"
            terminal.line(f"If git tracks them, commit this: {commit}")


def _print_files(answer: "Answer", terminal: Terminal) -> None:
    agents = answer.get("agents", ())
    if not answer["files"]:
        terminal.line("There are no agent files here.")
    else:
        terminal.table([_agent_file_row(found) for found in answer["files"]], indent=0)
    if answer["files"] and agents:
        terminal.gap()
        terminal.table([_agent_row(found) for found in agents], indent=0)
    for obstacle in (one for found in agents for one in found["obstacles"]):
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


def _agent_file_row(found: "Row") -> tuple[str, ...]:
    kept = found["snapshots"]
    copies = f"copies {kept[-1]['id']} to {kept[0]['id']}" if len(kept) > 1 else ""
    copies = f"copy {kept[0]['id']}" if len(kept) == 1 else copies
    return (
        styled(str(found["path"]), "bold"),
        str(found["mode"]),
        styled(_state(found), "" if found["state"] == "synced" else "yellow"),
        copies,
    )


def _agent_row(found: "Row") -> tuple[str, ...]:
    """Return a row for the files that an agent reads when it starts, and their size."""
    if not found["reads"]:
        return (found["title"], "reads nothing here", "", "")
    twice = f"our rules are in {found['blocks']} of them" if found["blocks"] > 1 else ""
    tokens = f"{count(found['tokens'], 'token')}, {found['ours']} of them ours"
    return (found["title"], f"reads {', '.join(found['reads'])}", tokens, twice)


def _print_shared(answer: "Answer", terminal: Terminal) -> None:
    shared = count(len(answer["shared"]), "statement")
    done = "sent to" if "--undo" in str(answer.get("undo")) else "taken back from"
    terminal.line(f"{shared} {done} the other agents" if answer["shared"] else "Nothing changed.")
    if answer["stays"]:
        terminal.line("These stay where they are:")
    for row in answer["stays"]:
        terminal.line(styled(f"{row['path']}:{row['line']}", "bold"), f" {row['text']}", indent=2)
        terminal.line(str(row["reason"]), indent=4)


def _print_statements(answer: "Answer", terminal: Terminal) -> None:
    if not answer["statements"]:
        terminal.line("No agent file here states anything.")
    for row in answer["statements"]:
        terminal.line(styled(f"{row['path']}:{row['line']}", "bold"), f" {row['text']}")
        if row["travels"]:
            terminal.line(f"to {', '.join(row['to'])}", indent=2)
        else:
            terminal.line(styled(f"stays: {row['reason']}", "yellow"), indent=2)


def _print_history(answer: "Answer", terminal: Terminal) -> None:
    if not answer["entries"]:
        terminal.line(f"Nothing is known of {answer['path']}.")
        return
    rows = []
    for entry in answer["entries"]:
        mark = f" (copy {entry['snapshot']})" if entry.get("snapshot") else ""
        mark = f" ({short(entry['id'])})" if entry.get("id") else mark
        rows.append((str(entry["at"])[:19].replace("T", " "), entry["what"], entry["text"] + mark))
    terminal.table(rows, indent=0)


def _print_diff(answer: "Answer", terminal: Terminal) -> None:
    if not answer["files"]:
        terminal.line("Nothing would change.")
    for found in answer["files"]:
        brings = [
            f"{found['new']} to be taken in" if found["new"] else "",
            f"{found['gone']} gone" if found["gone"] else "",
            str(found.get("reason") or ""),
        ]
        text = ", ".join(filter(None, brings))
        terminal.line(styled(found["path"], "bold"), f": {text}" if text else "")
        terminal.diff(str(found["diff"]), indent=2)
