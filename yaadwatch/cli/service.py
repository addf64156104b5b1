"""The commands daemon, start, stop, restart, install and uninstall, and the trial run `up`.

`up` runs the daemon in this terminal and prints what it finds. The process is the daemon and its
own client: a helper thread sends requests over the socket.
"""

import os
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Mapping

from yaadwatch.cli.commands import command, option
from yaadwatch.cli.projects import print_added
from yaadwatch.cli.stale import headline, reason
from yaadwatch.cli.terminal import Terminal, count, folder, short, styled, when
from yaadwatch.client.connection import ConnectionEnded, DaemonNotRunning
from yaadwatch.client.presence import (
    daemon_holds_lock,
    daemon_process,
    holder,
    manager,
    wait_for_exit,
)
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import STALE_CLEARED, STALE_RAISED
from yaadwatch.places import announced_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from yaadwatch.client.connection import Client


STOP_TIME_S = 20.0


@command(
    "daemon",
    "run the daemon in the foreground, for a supervisor",
    examples=[
        ("yaadwatch daemon --supervised", "what a service manager runs"),
        ("yaadwatch up", "to try it out, in this terminal"),
    ],
    more="You rarely need this: commands start the daemon when they need it. After an\n"
    "upgrade, or above its memory limit, it restarts itself as a new process.",
    options=[
        option(
            "--supervised",
            action="store_true",
            help="to be restarted, exit with status 75 and leave it to the supervisor",
        )
    ],
    starts_daemon=False,
)
def daemon(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Be the daemon; return its exit status when it ends."""
    from yaadwatch.daemon.main import run
    from yaadwatch.daemon.scheduler import AGAIN

    if args.supervised:
        return run(foreground=False)
    status = run(foreground=False, begin_again=restart_program)
    if status == AGAIN:
        restart_program()
    return status


def restart_program() -> "NoReturn":
    """Become a new process of the same command line, and of the program that is installed now."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606


@command(
    "start",
    "start the daemon",
    examples=[
        ("yaadwatch start", "as a service if installed, else in the background"),
        ("yaadwatch start --json", "for scripts"),
    ],
    more="You rarely need this: commands start the daemon when they need it. To have it\n"
    "start at every login: yaadwatch install",
    starts_daemon=False,
)
def start(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Start the daemon and say that it answers."""
    from yaadwatch.install import install as install_verbs

    answer = install_verbs.start(install_verbs.this_machine(client))
    by = f", started by {answer['by']}" if answer["by"] else ""
    runs = "The daemon answers" if answer["started"] else "The daemon is running already"
    daemon = answer["daemon"]
    text = f"{runs} (pid {daemon['pid']}, version {daemon['version']}{by})."
    return _print_answer(args, terminal, text, answer)


@command(
    "restart",
    "stop the daemon and start it again",
    examples=[
        ("yaadwatch restart", "after you changed a setting"),
        ("yaadwatch restart --json", "for scripts"),
    ],
    more="As a systemd service it keeps its socket open meanwhile: requests wait, and\n"
    "none is refused.",
    starts_daemon=False,
)
def restart(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Restart the daemon and report that it answers."""
    from yaadwatch.install import install as install_verbs

    answer = install_verbs.restart(install_verbs.this_machine(client))
    daemon = answer["daemon"]
    text = f"The daemon was restarted (pid {daemon['pid']}, version {daemon['version']})."
    return _print_answer(args, terminal, text, answer)


@command(
    "stop",
    "stop the daemon",
    examples=[
        ("yaadwatch stop", "returns once it has ended"),
        ("yaadwatch stop --json", "for scripts"),
    ],
    more="Any command that needs the daemon starts it again; so does your next login if\n"
    "it is a service. To remove the service: yaadwatch uninstall",
    starts_daemon=False,
)
def stop(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """End the daemon and wait until it is gone; without one, say so."""
    with daemon_process() as process:
        return _stop(args, client, terminal, process)


def _stop(args: Namespace, client: "Client", terminal: Terminal, process: int | None) -> int:
    pid = announced_pid() if daemon_holds_lock() else None
    was_service = False
    if manager() is not None:
        from yaadwatch.install import install as install_verbs

        # Also when no process holds the lock: what cannot start is started again and again.
        was_service = install_verbs.stop(install_verbs.this_machine(client)) is not None
        if was_service and pid is not None and wait_for_exit(STOP_TIME_S, process):
            return _ended(args, terminal, pid)
    try:
        client.call("shutdown")
    except DaemonNotRunning:
        if daemon_holds_lock():
            raise _still_there(pid, "does not answer") from None
        text = "No daemon is running." + (" Its service was stopped, too." if was_service else "")
        return _print_answer(args, terminal, text, {"stopping": False, "running": False})
    pid = client.pid or pid
    if not wait_for_exit(STOP_TIME_S, process):
        raise _still_there(pid, f"has not ended after {STOP_TIME_S:g} s")
    return _ended(args, terminal, pid)


def _ended(args: Namespace, terminal: Terminal, pid: int | None) -> int:
    answer = {"stopping": True, "running": False, "pid": pid}
    text = f"The daemon has stopped (pid {pid}). Any command starts it again."
    return _print_answer(args, terminal, text, answer)


def _print_answer(
    args: Namespace, terminal: Terminal, text: str, answer: Mapping[str, object]
) -> int:
    if args.json:
        terminal.json(answer)
    else:
        terminal.line(text)
    return 0


def _still_there(pid: int | None, what: str) -> YaadError:
    who, end = holder(pid)
    return YaadError(
        Code.UNAVAILABLE,
        f"{who} holds the daemon's lock and {what}; it was left alone.",
        hint=f"Its log says what it does. To end it: {end}",
    )


_CHANGES = {
    "created": "created",
    "changed": "rewritten",
    "removed": "removed",
    "kept": "left alone",
}
_STATES = {
    "installed": "The service is installed",
    "changed": "The service is brought up to date",
    "unchanged": "The service is installed already",
    "removed": "The service is removed",
}
_WOULD = {
    "installed": "The service would be installed",
    "changed": "The service would be brought up to date",
    "unchanged": "The service is installed already; nothing would be written",
    "removed": "The service would be removed",
}


@command(
    "install",
    "run the daemon as a service, from login on",
    examples=[
        ("yaadwatch install --dry-run", "show what would be written, as a diff"),
        ("yaadwatch install", "install the service and start it"),
        ("yaadwatch install --linger", "also run it while you are logged out (a server)"),
        ("yaadwatch uninstall", "undo it"),
    ],
    more="Optional: without a service, commands and agents start the daemon when they\n"
    "need it. Writes two units for systemd's user manager, or one agent for launchd;\n"
    "nothing needs root. Running it again changes nothing; after an upgrade it\n"
    "brings the files up to date. Where no manager runs (a container, WSL without\n"
    "systemd), nothing is written.",
    options=[
        option("--dry-run", action="store_true", help="write nothing; show a diff"),
        option(
            "--linger",
            action="store_true",
            help="keep your services running while you are logged out (loginctl enable-linger)",
        ),
    ],
    starts_daemon=False,
)
def install(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Install the service, and say what was written and whether it runs."""
    from yaadwatch.install import install as install_verbs

    world = install_verbs.this_machine(client)
    answer = install_verbs.install(world, dry_run=args.dry_run, linger=args.linger)
    if args.json:
        terminal.json(answer)
        return 0
    if answer["state"] == "on_demand":
        _print_on_demand(answer, terminal)
        return 0
    _print_files(answer, terminal)
    if answer["dry_run"]:
        terminal.line(styled("Nothing was written.", "bold"))
        return 0
    if answer.get("ended"):
        terminal.line(f"The daemon that ran by itself (pid {answer['ended']}) has ended.")
    _print_daemon(answer, terminal)
    terminal.line("See: yaadwatch status, yaadwatch logs    Undo: yaadwatch uninstall")
    return 0


@command(
    "uninstall",
    "stop the service and remove what `install` wrote",
    examples=[
        ("yaadwatch uninstall --dry-run", "list what would be removed"),
        ("yaadwatch uninstall", "remove it"),
    ],
    more="Removes the files and folders that ~/.yaad/receipt.json lists, and nothing\n"
    "else. Your memories and settings stay. To remove everything, see\n"
    "docs/service.md",
    options=[option("--dry-run", action="store_true", help="remove nothing; list what would go")],
    starts_daemon=False,
)
def uninstall(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Remove the service, and say what was taken away."""
    from yaadwatch.install import install as install_verbs

    answer = install_verbs.uninstall(install_verbs.this_machine(client), dry_run=args.dry_run)
    if args.json:
        terminal.json(answer)
        return 0
    if answer["state"] == "absent":
        if answer.get("why"):
            terminal.line(f"No service is installed for this home. {answer['why']}")
        else:
            terminal.line("No service is installed; nothing was done.")
        return 0
    _print_files(answer, terminal)
    if answer["dry_run"]:
        terminal.line(styled("Nothing was removed.", "bold"))
        return 0
    if answer.get("why"):
        terminal.line(f"The service manager could not be told: {answer['why']}.")
    if any(one["change"] == "kept" for one in answer["files"]):
        terminal.line("What you have changed was left alone; remove it by hand.")
    terminal.line("Your memories and settings stay. Commands start the daemon when they need it.")
    return 0


def _print_files(answer: "dict[str, Any]", terminal: Terminal) -> None:
    by = f" ({answer['manager']})" if answer.get("manager") else ""
    words = _WOULD if answer["dry_run"] else _STATES
    terminal.line(styled(f"{words[answer['state']]}{by}", "bold"))
    for one in answer["files"]:
        if one["change"] == "same":
            continue
        change = "" if answer["dry_run"] else f"{_CHANGES[one['change']]}  "
        leads_to = f" -> {folder(one['target'])}" if one.get("target") else ""
        terminal.line(change, folder(one["path"]), leads_to, indent=2)
        if one.get("backup"):
            terminal.line(styled(f"before: {folder(one['backup'])}", "dim"), indent=4)
        terminal.diff(str(one.get("diff", "")), indent=4)


def _print_on_demand(answer: "dict[str, Any]", terminal: Terminal) -> None:
    terminal.line(styled("No service manager runs here", "bold"), f": {answer['why']}.")
    terminal.line("Nothing was written. Commands and agents start the daemon when they need it.")
    if not answer["dry_run"]:
        _print_daemon(answer, terminal)


def _print_daemon(answer: "dict[str, Any]", terminal: Terminal) -> None:
    daemon = answer["daemon"]
    terminal.line(f"The daemon answers (pid {daemon['pid']}, version {daemon['version']}).")


# ruff: noqa: PTH100


LAST_WORDS_S = 2.0
"""How long the helper may take to end after the daemon has."""


@command(
    "up",
    "run the daemon in this terminal, and print what it finds",
    examples=[
        ("yaadwatch up ~/src/api", "watch a repository, see each flag come and go"),
        ("yaadwatch up", "with the repositories that are watched already"),
    ],
    more="Ctrl-C ends it. The repository stays watched by later daemons; to stop that:\n"
    "yaadwatch remove DIR",
    options=[option("repo", metavar="REPO", nargs="?", help="a repository to watch")],
    starts_daemon=False,
)
def up(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Be the daemon in the foreground until Ctrl-C.

    Raises:
        YaadError: refused, when a daemon runs already; what `add` says when REPO cannot be watched.
    """
    if daemon_holds_lock():
        raise YaadError(
            Code.REFUSED,
            f"A daemon runs already (pid {announced_pid()}); no second one was started.",
            hint="It can watch the repository too: yaadwatch add DIR. Or end it: yaadwatch stop",
        )
    from functools import partial

    from yaadwatch.daemon.main import run
    from yaadwatch.daemon.scheduler import AGAIN

    repo = os.path.abspath(args.repo) if args.repo else None
    teller = ProgressPrinter(client, terminal, repo=repo, as_json=args.json)
    try:
        status = run_with_progress(partial(run, begin_again=restart_program), teller)
        if status == AGAIN:
            terminal.err.write("The daemon begins again. Why: yaadwatch logs\n")
            terminal.flush()
            restart_program()
        return status
    finally:
        if terminal.err.isatty():
            terminal.err.write("\n")  # after the ^C that the terminal shows


def run_with_progress(run: Callable[..., int], teller: "ProgressPrinter") -> int:
    """Run the daemon with `run` while `teller` prints; return the exit status.

    Raises:
        YaadError: what kept the teller from beginning.
    """
    try:
        status = run(foreground=True, on_ready=teller.start)
    except KeyboardInterrupt:
        status = 0
    teller.join()
    if teller.error is not None:
        raise teller.error
    return status


class ProgressPrinter:
    """Watches a repository and prints each flag as it comes and goes, in a thread.

    Args:
        client: asks the daemon.
        terminal: is printed to.
        repo: an absolute folder in the repository to watch; None: only print.
        as_json: print answers and events as they are, one a line.
    """

    def __init__(
        self, client: "Client", terminal: Terminal, *, repo: str | None, as_json: bool
    ) -> None:
        self.error: YaadError | None = None
        self._client = client
        self._terminal = terminal
        self._repo = repo
        self._as_json = as_json
        self._folders: dict[str, str] = {}
        self._known: dict[str, tuple[str, str]] = {}
        self._thread = threading.Thread(target=self._run, name="teller", daemon=True)

    def start(self) -> None:
        """Begin; the daemon answers from now on."""
        self._thread.start()

    def join(self) -> None:
        """Wait until everything is printed."""
        if self._thread.is_alive():
            self._thread.join(LAST_WORDS_S)

    def _run(self) -> None:
        try:
            self._tell()
        except (ConnectionEnded, DaemonNotRunning):
            return  # the daemon stops, and so do we
        except (YaadError, BrokenPipeError) as error:
            # Without a teller a trial run is of no use: it ends, and says why.
            self.error = error if isinstance(error, YaadError) else None
            self._client.close()
            self._client.call("shutdown")

    def _tell(self) -> None:
        # Subscribed first, so that nothing which happens from here on is missed.
        events = self._client.beside().events()
        if self._repo is None:
            self._begin_without_repo()
        else:
            added = self._client.call("add", project=self._repo)
            self._folders[added["id"]] = self._repo
            if self._as_json:
                self._terminal.json(added)
            else:
                print_added(added, self._terminal)
            for flag in self._flags(self._repo, check=True):
                self._print_flag(flag, "        ")
        if not self._as_json:
            self._terminal.line(styled("Watching. Ctrl-C ends it.", "dim"))
        self._terminal.flush()
        for event in events:
            if event["kind"] in {STALE_RAISED, STALE_CLEARED}:
                self._tell_event(event)
                self._terminal.flush()

    def _begin_without_repo(self) -> None:
        projects = self._client.call("projects")["projects"]
        if self._as_json:
            return
        self._terminal.line(f"{count(len(projects), 'repository')} watched")
        for project in projects:
            self._terminal.line(folder(project["path"]), indent=2)

    def _tell_event(self, event: "dict[str, Any]") -> None:
        if self._as_json:
            self._terminal.json(event)
            return
        moment = when(event["at"])
        clock = moment.astimezone().strftime("%H:%M:%S") if moment is not None else "        "
        identity = event["subject"]
        if event["kind"] == STALE_CLEARED:
            _, text = self._known.pop(identity, ("", ""))
            self._terminal.line(
                f"{clock}  ",
                styled("holds again", "green"),
                "  ",
                styled(short(identity), "bold"),
                f"  {text}",
                hang=10,
            )
            return
        for flag in self._flags(self._folder(event["project"]), check=False):
            if flag["id"] == identity and self._known.get(identity, ("",))[0] != flag["verdict"]:
                self._print_flag(flag, clock)

    def _print_flag(self, flag: "dict[str, Any]", clock: str) -> None:
        self._known[flag["id"]] = (flag["verdict"], flag["text"])
        if not self._as_json:
            self._terminal.line(f"{clock}  ", *headline(flag), f"  ({reason(flag)})", hang=10)

    def _flags(self, where: str | None, *, check: bool) -> "list[dict[str, Any]]":
        if where is None:
            return []
        found: list[dict[str, Any]] = self._client.call(
            "stale", project=where, check=check, all=True
        )["stale"]
        return found

    def _folder(self, project: str) -> str | None:
        """Return the folder of a project id; None when it was removed meanwhile."""
        if project not in self._folders:
            for row in self._client.call("projects")["projects"]:
                self._folders.setdefault(row["id"], row["path"])
        return self._folders.get(project)
