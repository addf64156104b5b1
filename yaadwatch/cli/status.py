"""The command `status`: the state of the daemon and its projects, in one screen."""

from argparse import Namespace

from yaadwatch.cli import stale
from yaadwatch.cli.commands import command, option
from yaadwatch.cli.terminal import (
    Terminal,
    clock,
    count,
    folder,
    quoted_name,
    size,
    styled,
    was_read,
)
from yaadwatch.client.connection import ConnectionEnded, DaemonNotRunning
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeVar

    from yaadwatch.client.connection import Client

    T = TypeVar("T")
    Row = dict[str, Any]

FLAGS_MAX = 5
"""Flags shown by `status`; the others are counted."""
REFRESH_S = 1.0
"""So often the state is asked for: a question costs the daemon about a millisecond."""


@command(
    "status",
    options=[option("--watch", action="store_true", help="keep showing it as it changes")],
    starts_daemon=False,
)
def status(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Show what is watched, what is flagged and what is wrong.

    This does not start the daemon. Something is wrong: yaadwatch doctor

    examples:
      yaadwatch status                 the same as yaadwatch without a command
      yaadwatch status --watch         again at each change, until Ctrl-C
      yaadwatch status --watch --json  one line of JSON for each change
    """
    if args.watch:
        _watch(args, client, terminal)
    answer = _ask(client)
    if args.json:
        terminal.json(answer)
    else:
        _print_state(answer, client, terminal)
        _print_problems(answer, terminal)  # last, right above the prompt
        _print_unwatched(answer, args.project, terminal)
    return 0


def _watch(args: Namespace, client: "Client", terminal: Terminal) -> "NoReturn":
    """Show the state each time that it has changed, until Ctrl-C; on a terminal, in its place."""
    import select
    import sys
    import time
    from contextlib import suppress

    reader = select.poll()
    if terminal.out is sys.stdout:
        reader.register(sys.stdout, 0)  # polled for its end only
    shown: Row | None = None
    while True:
        with suppress(ConnectionEnded):  # it ended while it was asked; the next time, none runs
            state = _ask(client)
            # The daemon's memory always changes.
            if (kept := {**state, "daemon": {**state["daemon"], "rss_bytes": None}}) != shown:
                shown = kept
                if args.json:
                    terminal.json(state)
                else:
                    clear = "\x1b[2J\x1b[H" if terminal.out.isatty() else ""
                    terminal.write(f"{clear}--- {time.strftime('%H:%M:%S')}, Ctrl-C ends\n")
                    with suppress(ConnectionEnded, DaemonNotRunning):  # the next state says so
                        _print_state(state, client, terminal)
                        _print_problems(state, terminal)
                terminal.flush()
        if reader.poll(REFRESH_S * 1000):
            raise BrokenPipeError  # it is gone, which a write would show only at a change


def _ask(client: "Client") -> "Row":
    try:
        return client.call("status")
    except DaemonNotRunning:
        return _without_daemon()
    except YaadError as error:
        if error.code is not Code.TIMEOUT:
            raise
        return _without_daemon()


def _without_daemon() -> "Row":
    """Return the part of the status that needs no daemon, in the same shape."""
    from yaadwatch.client.presence import daemon_holds_lock, holder, suspended

    holds_lock, pid = daemon_holds_lock(), suspended()
    if pid is not None:
        what = f"Process {pid} is the daemon, and is suspended: nothing is watched."
        mend = f"kill -CONT {pid} (after Ctrl-Z: fg in its terminal)"
    elif holds_lock:
        who, end = holder()
        what = f"{who} holds the daemon's lock and does not answer."
        mend = f"If it is not just starting or ending: {end}, then yaadwatch start"
    else:
        what = "The daemon is not running; nothing is watched."
        mend = "yaadwatch start (if it does not start: yaadwatch doctor)"
    return {
        "daemon": {"running": False} | ({"silent": True} if holds_lock else {}),
        "projects": [],
        "jobs": [],
        "search": "words",
        "search_why": "the daemon does not answer" if holds_lock else "the daemon is not running",
        "problems": [{"what": what, "mend": mend}],
    }


def _print_unwatched(answer: "Row", named: str | None, terminal: Terminal) -> None:
    """Print that the repository of the working folder is not watched.

    Not for a `.git` file, as in a linked work tree, whose project is not visible here.
    """
    import os
    import shlex

    from yaadwatch.cli.projects import top_of

    top = top_of(named or os.getcwd())  # noqa: PTH109
    if top is None or not answer["projects"] or not os.path.isdir(f"{top}/.git"):  # noqa: PTH112
        return
    watched = {project["path"] for project in answer["projects"]}
    if top not in watched:
        from yaadwatch.text.privacy import mask

        shown = mask(top).text  # as in answers, where a path may hold a secret
        if shown in watched:
            return
        terminal.gap()
        where = f" {shlex.quote(named)}" if named else ""
        terminal.line(f"{folder(shown)} is not watched. To watch it: yaadwatch add{where}")


def _print_problems(answer: "Row", terminal: Terminal) -> None:
    if answer["problems"]:
        _title("Problems", terminal)
    for problem in answer["problems"]:
        terminal.line(styled(str(problem["what"]), "red"), indent=2)
        terminal.line(f"fix: {problem['mend']}", indent=4)


def _print_state(answer: "Row", client: "Client", terminal: Terminal) -> None:
    daemon, projects = answer["daemon"], answer["projects"]
    if not daemon["running"]:
        how = "does not answer" if daemon.get("silent") else "is not running"
        terminal.line(styled(f"yaadwatch {how}", "bold"))
        return
    terminal.line(
        styled(f"yaadwatch {daemon.get('version') or ''} is running", "bold"),
        f"  pid {daemon.get('pid')}, started {terminal.ago(daemon.get('since'))},"
        f" memory {size(daemon.get('rss_bytes'))}",
    )
    why = f" ({answer['search_why']})" if answer.get("search_why") else ""
    terminal.line(styled(f"searches by {answer['search']}{why}", "dim"), indent=2)
    if daemon.get("socket"):
        terminal.line(styled(f"listens on {folder(daemon['socket'])}", "dim"), indent=2)
    if projects:
        _print_projects(projects, terminal)
        _print_files(projects, terminal)
        _print_flags(projects, client, terminal)
    else:
        terminal.gap()
        terminal.line("No repository is watched. Watch one: yaadwatch add DIR")
    if waiting := sum(one.get("waiting", 0) for one in (answer, *projects)):
        waits = "waits" if waiting == 1 else "wait"
        terminal.gap()
        terminal.line(f"{count(waiting, 'note')} {waits} for review: yaadwatch review")
    if answer["jobs"]:
        _title("Jobs", terminal)
        terminal.table([_job(job, terminal) for job in answer["jobs"]])


def _print_projects(projects: "list[Row]", terminal: Terminal) -> None:
    _title("Projects", terminal)
    shown, others = _first(projects, _is_notable)
    for project in shown:
        branch = f"  {quoted_name(project['branch'])}" if project.get("branch") else ""
        terminal.line(styled(folder(project["path"]), "bold"), branch, indent=2)
        terminal.line(*_project(project, terminal), indent=4)
        if pause := project.get("pause"):
            terminal.line(styled(f"agent files are {pause['what']}", "yellow"), indent=4)
    if others:
        notable = sum(map(_is_notable, others))
        of_them = f", {notable} of them flagged or not watched" if notable else ""
        terminal.line(f"and {len(others)} more{of_them}: yaadwatch list", indent=2)


def _print_files(projects: "list[Row]", terminal: Terminal) -> None:
    files = [
        (folder(f"{project['path']}/{found['path']}"), found)
        for project in projects
        for found in project["files"]
        if found["state"] != "absent"
    ]
    if not files:
        return
    _title("Agent files", terminal)
    listed, left = _first(files, lambda one: one[1]["state"] != "synced" or one[1].get("reason"))
    rows = []
    for path, found in listed:
        reason = f": {found['reason']}" if found.get("reason") else ""
        colour = "yellow" if found["state"] == "paused" else ""
        rows.append((path, str(found["mode"]), styled(f"{found['state']}{reason}", colour)))
    terminal.table(rows)
    if left:
        waiting = sum(found["state"] != "synced" for _, found in left)
        how = f"{waiting} of them not in sync" if waiting else "all in sync"
        terminal.line(f"and {len(left)} more, {how}: yaadwatch files list, in each", indent=2)


def _first(rows: "list[T]", is_notable: "Callable[[T], object]") -> "tuple[list[T], list[T]]":
    """Return the rows that fit, in their order with notable rows preferred, and the rest."""
    ranked = sorted(range(len(rows)), key=lambda at: not is_notable(rows[at]))
    shown = set(ranked[:8])
    return (
        [row for at, row in enumerate(rows) if at in shown],
        [row for at, row in enumerate(rows) if at not in shown],
    )


def _is_notable(project: "Row") -> bool:
    """Return whether a project needs attention."""
    signs = ("stale", "pause", "comparing", "git_silent_since")
    is_well = project.get("state", "ok") == "ok" and project["watch"] == "full"
    return not is_well or any(project.get(sign) for sign in signs)


def _project(project: "Row", terminal: Terminal) -> tuple[str, ...]:
    """Return the parts of the line about a project."""
    how = {"full": "watched", "poll": "polled", "off": "not watched"}
    watched = how.get(project["watch"], str(project["watch"]))
    if not was_read(project):
        return (styled(f"{project['state']}, {watched}", "red"),)
    is_watched = styled(watched, "" if project["watch"] == "full" else "yellow")
    if since := project.get("git_silent_since"):
        is_watched = styled(f"git does not answer since {clock(since, terminal.now())}", "red")
    comparing = ""
    if found := project.get("comparing"):
        comparing = styled(f", comparing {found['done']} of {found['total']}", "yellow")
    return (
        f"{count(project['memories'], 'memory')}, ",
        styled(f"{project['stale']} stale", "yellow" if project["stale"] else ""),
        f", checked {terminal.ago(project.get('last_check'))}, ",
        is_watched,
        comparing,
        "" if project.get("lag_ms") is None else f", lag {project['lag_ms']} ms",
        _size(project.get("size")),
    )


def _size(found: "Row | None") -> str:
    """Return the size of the store."""
    if not found:
        return ""
    full = ""
    if found.get("budget_bytes") and found["bytes"] >= found["budget_bytes"]:
        full = f", full: its budget is {size(found['budget_bytes'])}"
    return f", {size(found['bytes'])}{full}"


def _print_flags(projects: "list[Row]", client: "Client", terminal: Terminal) -> None:
    """Print the gravest flags of the last check, one line each."""
    import shlex

    shown = 0
    total = sum(project["stale"] for project in projects)
    flagged = [project for project in projects if project["stale"]]
    several = len(flagged) > 1
    for project in flagged:
        if shown >= FLAGS_MAX:
            break
        try:
            found = client.call("stale", project=project["path"], check=False)["stale"]
        except YaadError as error:
            found = []
            terminal.line(styled(error.message, "red"), indent=2)
        for at, flag in enumerate(found[: FLAGS_MAX - shown]):
            if not shown:
                _title("Flagged", terminal)
            if several and not at:
                terminal.line(folder(project["path"]), indent=2)
            reason = f" ({stale.reason(flag)})"
            terminal.line(*stale.headline(flag), reason, indent=4 if several else 2, hang=8)
            shown += 1
    if total > shown:
        terminal.line(f"and {total - shown} more", indent=2)
    if total:
        where = ", in each of them" if several else ""
        if len(projects) > 1 and not several:
            where = f" --project {shlex.quote(flagged[0]['path'])}"
        terminal.line(f"All, with evidence: yaadwatch stale{where}", indent=2)


def _job(job: "Row", terminal: Terminal) -> tuple[str, ...]:
    ended = "" if job.get("ok") is None else "went well" if job["ok"] else "did not succeed"
    return (
        str(job["name"]),
        f"last {terminal.ago(job['last'])}" if job.get("last") else "not run yet",
        styled(ended, "red" if job.get("ok") is False else ""),
        f"next {terminal.ago(job['next'])}" if job.get("next") else "",
    )


def _title(text: str, terminal: Terminal) -> None:
    terminal.gap()
    terminal.line(styled(text, "bold"))
