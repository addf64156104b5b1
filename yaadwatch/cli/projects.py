"""Commands about repositories: add, remove, list."""
# ruff: noqa: PTH100, PTH109, PTH118, PTH120

import os
from argparse import Namespace

from yaadwatch.api.messages.files import Add, Remove
from yaadwatch.cli.commands import asked, command, option
from yaadwatch.cli.doubts import tell_shallow
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, folder, named, short, was_read
from yaadwatch.model.agent_files import MODES
from yaadwatch.model.errors import Code, YaadError

_ANSWERS_MAX = 3
_FOLDER = option(
    "folder",
    metavar="DIR",
    nargs="?",
    help="a folder in the repository (default: the current folder)",
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client


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
        tell_added(answer, terminal)
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
    answer = client.call("remove", **asked(args, Remove), **_folder(args))
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
    """Return what `add` answers, after a person decided about memories that are known already."""
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
    """Return whether a person wants the earlier memories."""
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
    """Return the folder with a `.git` that `below` is in, as far as a look from outside tells."""
    top = os.path.realpath(below)
    while not os.path.lexists(os.path.join(top, ".git")):
        if top == os.path.dirname(top):
            return None
        top = os.path.dirname(top)
    return top


def tell_added(answer: "dict[str, Any]", terminal: Terminal) -> None:
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
    tell_shallow(answer, terminal, indent=2)
    if answer.get("guards"):
        terminal.line(_guarded(answer), indent=2)
    if any(found["mode"] == "private" for found in answer["files"]):
        terminal.line(
            "To write a block into them instead: yaadwatch files adopt --mode inline", indent=2
        )
    terminal.line(f"Undo: {answer['undo']}")


def _guarded(answer: "dict[str, Any]") -> str:
    """Return what a change of the code can flag, in words."""
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
    """Tell whether this is a repository whose files nobody has decided about yet."""
    if args.restore or args.adopt or top_of(args.folder or args.project or os.getcwd()) is None:
        return False
    try:
        client.call("files", **_folder(args))
    except YaadError:
        return True  # not watched, or whatever else `add` is going to say
    return False


def _ask_mode(terminal: Terminal) -> str | None:
    """Return the mode that a person chooses; None for what suits each file."""
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
        named(project.get("branch") or "-"),
        count(project["memories"], "memory") if was_read(project) else "-",
        styled(stale if was_read(project) else "-", "yellow" if project["stale"] else ""),
        styled(state, "" if state == "ok" else "red"),
    )


def _require_utf8(folder: str) -> None:
    """Refuse a folder that the daemon cannot be told.

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
    """Return the folder that was named, as a field of the request."""
    return {"project": os.path.abspath(args.folder)} if args.folder else {}
