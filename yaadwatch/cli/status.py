"""The command `status`: the state of the daemon and its projects, in one screen."""

from argparse import Namespace

from yaadwatch.cli import stale
from yaadwatch.cli.commands import command, option
from yaadwatch.cli.terminal import (
    Terminal,
    ago,
    clock,
    count,
    folder,
    quoted_name,
    size,
    styled,
    was_read,
)
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any, TypeVar

    from yaadwatch.client.connection import Client


if TYPE_CHECKING:
    T = TypeVar("T")

DOUBTS_MAX = 5
"""Flags shown by `status`; the others are counted."""
ROWS_MAX = 8
"""Projects shown, and agent files; of more, those first of which there is something to say."""
WATCHES = {"full": "watched", "poll": "polled", "off": "not watched"}


@command(
    "status",
    "show what is watched, what is in doubt and what is wrong",
    examples=[
        ("yaadwatch status", "the same as yaadwatch without a command"),
        ("yaadwatch status --watch", "keep it on the screen, until Ctrl-C"),
        ("yaadwatch status --watch --json", "one line of JSON for each change"),
    ],
    more="This does not start the daemon. Something is wrong: yaadwatch doctor",
    options=[option("--watch", action="store_true", help="keep showing it as it changes")],
    starts_daemon=False,
)
def status(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print the state of the daemon and of everything it watches; start nothing."""
    if args.watch:
        from yaadwatch.cli.logs import refresh_until_interrupted

        refresh_until_interrupted(
            lambda: _ask(client),
            lambda answer, paper: _print_live(answer, client, paper),
            client,
            terminal,
            as_json=args.json,
        )
    answer = _ask(client)
    if args.json:
        terminal.json(answer)
    else:
        _print_state(answer, client, terminal)
        _print_problems(answer, terminal)  # last, right above the prompt
        _print_unwatched(answer, args.project, terminal)
    return 0


def _ask(client: "Client") -> "dict[str, Any]":
    try:
        return client.call("status")
    except DaemonNotRunning:
        return _without_daemon()
    except YaadError as error:
        if error.code is not Code.TIMEOUT:
            raise
        return _without_daemon()


def _without_daemon() -> "dict[str, Any]":
    """Return the part of the status that needs no daemon, in the same shape."""
    from yaadwatch.client.presence import daemon_holds_lock, holder, is_suspended
    from yaadwatch.places import announced_pid

    holds_lock, pid = daemon_holds_lock(), announced_pid()
    if holds_lock and pid is not None and is_suspended(pid):
        problem = {
            "what": f"Process {pid} is the daemon, and is suspended: nothing is watched.",
            "mend": f"kill -CONT {pid} (after Ctrl-Z: fg in its terminal)",
        }
    elif holds_lock:
        who, end = holder()
        problem = {
            "what": f"{who} holds the daemon's lock and does not answer.",
            "mend": f"If it is not just starting or ending: {end}, then yaadwatch start",
        }
    else:
        problem = {
            "what": "The daemon is not running; nothing is watched.",
            "mend": "yaadwatch start (if it does not start: yaadwatch doctor)",
        }
    return {
        "daemon": {"running": False} | ({"silent": True} if holds_lock else {}),
        "projects": [],
        "jobs": [],
        "search": "words",
        "search_why": "the daemon does not answer" if holds_lock else "the daemon is not running",
        "problems": [problem],
    }


def _print_unwatched(answer: "dict[str, Any]", named: str | None, terminal: Terminal) -> None:
    """Print that the repository of the working folder is not watched.

    Not for a `.git` file, as in a linked work tree, whose project is not visible here.
    """
    import os
    import shlex

    from yaadwatch.cli.projects import top_of

    top = top_of(named or os.getcwd())  # noqa: PTH109
    if top is None or not answer["projects"] or not os.path.isdir(f"{top}/.git"):  # noqa: PTH112
        return
    if all(project["path"] != top for project in answer["projects"]):
        terminal.gap()
        where = f" {shlex.quote(named)}" if named else ""
        terminal.line(f"{folder(top)} is not watched. To watch it: yaadwatch add{where}")


def _print_live(answer: "dict[str, Any]", client: "Client", terminal: Terminal) -> None:
    """Print the status with problems first: the end may not fit the window."""
    _print_problems(answer, terminal)
    if answer["problems"]:
        terminal.gap()
    _print_state(answer, client, terminal)


def _print_problems(answer: "dict[str, Any]", terminal: Terminal) -> None:
    if answer["problems"]:
        _title("Problems", terminal)
        for problem in answer["problems"]:
            terminal.line(styled(str(problem["what"]), "red"), indent=2)
            terminal.line(f"fix: {problem['mend']}", indent=4)


def _print_state(answer: "dict[str, Any]", client: "Client", terminal: Terminal) -> None:
    if answer["daemon"]["running"]:
        _print_running(answer, client, terminal)
    else:
        how = "does not answer" if answer["daemon"].get("silent") else "is not running"
        terminal.line(styled(f"yaadwatch {how}", "bold"))


def _print_running(answer: "dict[str, Any]", client: "Client", terminal: Terminal) -> None:
    now = client.now()
    daemon = answer["daemon"]
    terminal.line(
        styled(f"yaadwatch {daemon.get('version') or ''} is running", "bold"),
        f"  pid {daemon.get('pid')}, started {ago(daemon.get('since'), now)},"
        f" memory {size(daemon.get('rss_bytes'))}",
    )
    why = f" ({answer['search_why']})" if answer.get("search_why") else ""
    terminal.line(styled(f"searches by {answer['search']}{why}", "dim"), indent=2)
    if daemon.get("socket"):
        terminal.line(styled(f"listens on {folder(daemon['socket'])}", "dim"), indent=2)
    if answer["projects"]:
        _print_projects(answer["projects"], terminal, now)
        _print_flags(answer["projects"], client, terminal)
    else:
        terminal.gap()
        terminal.line("No repository is watched. Watch one: yaadwatch add DIR")
    waiting = answer.get("waiting", 0) + sum(
        project.get("waiting", 0) for project in answer["projects"]
    )
    if waiting:
        waits = "waits" if waiting == 1 else "wait"
        terminal.gap()
        terminal.line(f"{count(waiting, 'note')} {waits} for review: yaadwatch review")
    if answer["jobs"]:
        _title("Jobs", terminal)
        terminal.table([_job(job, now) for job in answer["jobs"]])


def _print_projects(projects: "list[dict[str, Any]]", terminal: Terminal, now: "datetime") -> None:
    _title("Projects", terminal)
    shown, others = _first(projects, _is_notable)
    for project in shown:
        branch = f"  {quoted_name(project['branch'])}" if project.get("branch") else ""
        terminal.line(styled(folder(project["path"]), "bold"), branch, indent=2)
        terminal.line(*_project(project, now), indent=4)
        if pause := project.get("pause"):
            terminal.line(styled(f"agent files are {pause['what']}", "yellow"), indent=4)
    if others:
        notable = sum(map(_is_notable, others))
        of_them = f", {notable} of them in doubt or not watched" if notable else ""
        terminal.line(f"and {len(others)} more{of_them}: yaadwatch list", indent=2)
    files = [
        (folder(f"{project['path']}/{found['path']}"), found)
        for project in projects
        for found in project["files"]
        if found["state"] != "absent"
    ]
    if files:
        _title("Agent files", terminal)
        listed, left = _first(
            files, lambda file: file[1]["state"] != "synced" or bool(file[1].get("reason"))
        )
        terminal.table([(path, str(found["mode"]), _state(found)) for path, found in listed])
        if left:
            waiting = sum(found["state"] != "synced" for _, found in left)
            how = f"{waiting} of them not in sync" if waiting else "all in sync"
            terminal.line(f"and {len(left)} more, {how}: yaadwatch files list, in each", indent=2)


def _first(rows: "list[T]", is_notable: "Callable[[T], bool]") -> "tuple[list[T], list[T]]":
    """Return the rows that fit, in their order with notable rows preferred, and the rest."""
    if len(rows) <= ROWS_MAX:
        return rows, []
    chosen = sorted(range(len(rows)), key=lambda at: not is_notable(rows[at]))[:ROWS_MAX]
    shown = [rows[at] for at in sorted(chosen)]
    return shown, [row for at, row in enumerate(rows) if at not in chosen]


def _is_notable(project: "dict[str, Any]") -> bool:
    """Return whether a project needs attention."""
    return (
        bool(project["stale"] or project.get("pause") or project.get("comparing"))
        or project["state"] != "ok"
        or project["watch"] != "full"
        or bool(project.get("git_silent_since"))
    )


def _project(project: "dict[str, Any]", now: "datetime") -> tuple[str, ...]:
    watched = WATCHES.get(project["watch"], str(project["watch"]))
    lag = "" if project.get("lag_ms") is None else f", lag {project['lag_ms']} ms"
    if not was_read(project):
        return (styled(f"{project['state']}, {watched}", "red"),)
    return (
        f"{count(project['memories'], 'memory')}, ",
        styled(f"{project['stale']} stale", "yellow" if project["stale"] else ""),
        f", checked {ago(project.get('last_check'), now)}, ",
        _watched(project, watched, now),
        _comparing(project),
        lag,
        _size(project.get("size")),
    )


def _watched(project: "dict[str, Any]", how: str, now: "datetime") -> str:
    """Return how a project is watched, or since when git does not answer there."""
    since = project.get("git_silent_since")
    if since:
        return styled(f"git does not answer since {clock(since, now)}", "red")
    return styled(how, "" if project["watch"] == "full" else "yellow")


def _comparing(project: "dict[str, Any]") -> str:
    """Return how far the comparison of older rules is; '' when it is done."""
    found = project.get("comparing")
    return styled(f", comparing {found['done']} of {found['total']}", "yellow") if found else ""


def _size(found: "dict[str, Any] | None") -> str:
    """Return the size of the store."""
    if not found:
        return ""
    full = ""
    if found.get("budget_bytes") and found["bytes"] >= found["budget_bytes"]:
        full = f", full: its budget is {size(found['budget_bytes'])}"
    return f", {size(found['bytes'])}{full}"


def _state(found: "dict[str, Any]") -> str:
    reason = f": {found['reason']}" if found.get("reason") else ""
    return styled(f"{found['state']}{reason}", "yellow" if found["state"] == "paused" else "")


def _print_flags(projects: "list[dict[str, Any]]", client: "Client", terminal: Terminal) -> None:
    """Print the gravest flags of the last check, one line each."""
    shown = 0
    total = sum(project["stale"] for project in projects)
    flagged = [project for project in projects if project["stale"]]
    several = len(flagged) > 1
    for project in flagged:
        if shown >= DOUBTS_MAX:
            break
        try:
            found = client.call("stale", project=project["path"], check=False)["stale"]
        except YaadError as error:
            found = []
            terminal.line(styled(error.message, "red"), indent=2)
        for at, flag in enumerate(found[: DOUBTS_MAX - shown]):
            if not shown:
                _title("In doubt", terminal)
            if several and not at:
                terminal.line(folder(project["path"]), indent=2)
            reason = f" ({stale.reason(flag)})"
            terminal.line(*stale.headline(flag), reason, indent=4 if several else 2, hang=8)
            shown += 1
    if total > shown:
        terminal.line(f"and {total - shown} more", indent=2)
    if several:
        terminal.line("All, with evidence: yaadwatch stale, in each of them", indent=2)
    elif total:
        where = f" --project {_quoted(flagged[0]['path'])}" if len(projects) > 1 else ""
        terminal.line(f"All, with evidence: yaadwatch stale{where}", indent=2)


def _quoted(path: object) -> str:
    import shlex

    return shlex.quote(str(path))


def _job(job: "dict[str, Any]", now: "datetime") -> tuple[str, ...]:
    went = "" if job.get("ok") is None else "went well" if job["ok"] else "did not succeed"
    next_run = f"next {ago(job['next'], now)}" if job.get("next") else ""
    return (
        str(job["name"]),
        f"last {ago(job['last'], now)}" if job.get("last") else "not run yet",
        styled(went, "red" if job.get("ok") is False else ""),
        next_run,
    )


def _title(text: str, terminal: Terminal) -> None:
    terminal.gap()
    terminal.line(styled(text, "bold"))
