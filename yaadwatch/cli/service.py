"""The commands connect and disconnect, install and uninstall, up, start, stop and restart."""

import os
import threading
import time
from argparse import Namespace

from yaadwatch.cli import projects
from yaadwatch.cli.agents import restart_program
from yaadwatch.cli.commands import command, option, prints, refused_status
from yaadwatch.cli.stale import headline, reason
from yaadwatch.cli.terminal import (
    Terminal,
    count,
    folder,
    memory_words,
    print_file_changes,
    short,
    styled,
)
from yaadwatch.client.connection import ConnectionEnded, DaemonNotRunning
from yaadwatch.client.presence import (
    daemon_holds_lock,
    manager,
    still_there,
    wait_for_exit,
)
from yaadwatch.connect import connect as agents
from yaadwatch.connect.plans import World
from yaadwatch.install import install as service
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.places import announced_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client


# ruff: noqa: PTH100, PTH109


STOP_TIME_S = 20.0


_AGENT_STATES = {
    "connected": ("connected", "installed", "green"),
    "disconnected": ("disconnected", "removed", "green"),
    "unchanged": ("connected already", "installed already", "dim"),
    "unconnected": ("not connected", "not installed", "dim"),
    "refused": ("left alone", "left alone", "red"),
}
"""What became of an agent; of our skill; and its colour."""
_OPTIONS = (
    option(
        "agents",
        metavar="AGENT",
        nargs="*",
        help="claude, codex, gemini, ... (default: all that you use)",
    ),
    option(
        "--project-level",
        action="store_true",
        help="in the files of this repository instead of your home folder",
    ),
    option("--dry-run", action="store_true", help="write nothing; show a diff"),
)


@prints(
    "connect",
    ask=lambda args, *_: agents.connect(_world(args), args.agents, dry_run=args.dry_run),
    status=refused_status,
    options=_OPTIONS,
    starts_daemon=False,
)
def connect(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Connect your coding agents: MCP server and hooks.

    Adds the MCP server and the hooks to the settings of each agent. Everything
    else in those files stays as it is, comments and indentation too; a copy is
    kept. Running it again changes nothing.
    To see what agents get: yaadwatch context

    examples:
      yaadwatch connect                   every agent that you use
      yaadwatch connect claude --dry-run  show what would be written, as a diff
      yaadwatch connect --project-level   for this repository only
      yaadwatch disconnect                undo it
    """
    undo = ["yaadwatch disconnect", *args.agents, *["--project-level"] * args.project_level]
    print_written(answer, terminal, undo=" ".join(undo))


@prints(
    "disconnect",
    ask=lambda args, *_: agents.disconnect(_world(args), args.agents, dry_run=args.dry_run),
    status=refused_status,
    options=_OPTIONS,
    starts_daemon=False,
)
def disconnect(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Remove yaadwatch from your agents' settings.

    Removes what `connect` wrote and nothing else. A file that was not edited in
    the meantime is then byte for byte what it was before.

    examples:
      yaadwatch disconnect                  every agent
      yaadwatch disconnect codex --dry-run  show what would be removed, as a diff
    """
    print_written(answer, terminal)


def _world(args: Namespace) -> World:
    here = os.path.abspath(args.project or os.getcwd())
    return agents.this_machine(here if args.project_level else None)


def print_written(answer: "Answer", terminal: Terminal, *, undo: str = "") -> None:
    """Print which files of agents were written (Connected), and the command that undoes it."""
    for one in answer["agents"]:
        of_agent, of_skill, colour = _AGENT_STATES[one["state"]]
        state = of_skill if one["agent"] == "skill" else of_agent
        if answer["dry_run"] and one["state"] in ("connected", "disconnected"):
            state = f"would be {state}"
        terminal.line(styled(str(one["title"]), "bold"), ": ", styled(state, colour))
        print_file_changes(one["files"], terminal, dry_run=answer["dry_run"])
        for key in ("reason", "hint"):
            if one.get(key):
                terminal.line(str(one[key]), indent=2)
        if one.get("todo"):
            terminal.line(styled("to do: ", "yellow"), str(one["todo"]), indent=2, hang=7)
    if answer["dry_run"]:
        terminal.line(styled("Nothing was written.", "bold"))
    elif undo and any(one["state"] == "connected" for one in answer["agents"]):
        terminal.line(f"Undo: {undo}")
    if not answer["agents"]:
        terminal.line("No agent was found: none has left files in your home folder.")
        terminal.line("To name one: yaadwatch connect claude")


@command(
    "up",
    options=[option("repo", metavar="REPO", nargs="?", help="a repository to watch")],
    starts_daemon=False,
)
def up(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Run the daemon in this terminal, and print what it finds.

    Ctrl-C ends it. The repository stays watched by later daemons; to stop that:
    yaadwatch remove DIR

    examples:
      yaadwatch up ~/src/api  watch a repository, see each flag come and go
      yaadwatch up            with the repositories that are watched already
    """
    if daemon_holds_lock():
        raise YaadError(
            Code.REFUSED,
            f"A daemon runs already (pid {announced_pid()}); no second one was started.",
            hint="It can watch the repository too: yaadwatch add DIR. Or end it: yaadwatch stop",
        )
    from yaadwatch.daemon.main import run
    from yaadwatch.daemon.scheduler import AGAIN

    printer = FlagPrinter(client, terminal, args)
    try:
        status = run(foreground=True, on_ready=printer.start, begin_again=restart_program)
    except KeyboardInterrupt:
        status = 0
    if status == AGAIN:
        restart_program()
    if printer.is_alive():
        printer.join(2.0)
    if printer.error is not None:
        raise printer.error
    return status


class FlagPrinter(threading.Thread):
    """Prints each flag of the watched repositories as it comes and goes.

    Args:
        client: asks the daemon.
        terminal: is printed to.
        args: `repo`, a folder in a repository to watch, or None; `json`, to print one line of JSON
            for each change.
    """

    def __init__(self, client: "Client", terminal: Terminal, args: Namespace) -> None:
        super().__init__(name="flags", daemon=True)
        self.error: YaadError | None = None
        self._client = client
        self._terminal = terminal
        self._args = args
        self._flags: dict[str, dict[str, dict[str, Any]]] = {}
        """The flags that were printed, by the path of their project."""

    def run(self) -> None:
        """Print until the daemon stops."""
        try:
            self._begin()
            while True:
                self._print_changes()
                self._terminal.flush()
                time.sleep(1.0)
        except (ConnectionEnded, DaemonNotRunning):
            return
        except (YaadError, BrokenPipeError) as error:
            # What prints nothing is of no use: the daemon ends, and `up` says why.
            self.error = error if isinstance(error, YaadError) else None
            self._client.close()
            self._client.call("shutdown")

    def _begin(self) -> None:
        if self._args.repo is not None:
            added = self._client.call("add", project=os.path.abspath(self._args.repo))
            if self._args.json:
                self._terminal.json(added)
            else:
                projects.add(added, self._terminal, self._args)
        elif not self._args.json:
            found = self._client.call("projects")["projects"]
            self._terminal.line(f"{count(len(found), 'repository')} watched")
            for project in found:
                self._terminal.line(folder(project["path"]), indent=2)
        if not self._args.json:
            self._terminal.line(styled("Watching. Ctrl-C ends it.", "dim"))

    def _print_changes(self) -> None:
        for project in self._client.call("projects")["projects"]:
            path = str(project["path"])
            try:
                answer = self._client.call("stale", project=path, check=False, all=True)
            except (ConnectionEnded, DaemonNotRunning):
                raise
            except YaadError:  # it is gone or damaged, which `status` says; the others go on
                continue
            before = self._flags.get(path, {})
            now = self._flags[path] = {flag["id"]: flag for flag in answer["stale"]}
            for identity, flag in now.items():
                if before.get(identity, {}).get("verdict") != flag["verdict"]:
                    self._print("raised", flag, *headline(flag), f"  ({reason(flag)})")
            for identity in before.keys() - now.keys():
                flag = before[identity]
                words = styled("no longer flagged", "green"), "  ", styled(short(identity), "bold")
                self._print("cleared", flag, *words, f"  {memory_words(flag)}")

    def _print(self, change: str, flag: "dict[str, Any]", *words: str) -> None:
        if self._args.json:
            self._terminal.json({"change": change, "flag": flag})
        else:
            clock = self._terminal.now().astimezone().strftime("%H:%M:%S")
            self._terminal.line(f"{clock}  ", *words, hang=10)


@prints(
    "start",
    ask=lambda _, client, __: service.start(service.this_machine(client)),
    starts_daemon=False,
)
def start(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Start the daemon.

    You rarely need this: commands start the daemon when they need it. To have it
    start at every login: yaadwatch install

    examples:
      yaadwatch start         as a service if installed, else in the background
      yaadwatch start --json  for scripts
    """
    by = f", started by {answer['by']}" if answer["by"] else ""
    runs = "The daemon answers" if answer["started"] else "The daemon is running already"
    terminal.line(f"{runs} ({_process(answer)}{by}).")


@prints(
    "restart",
    ask=lambda _, client, __: service.restart(service.this_machine(client)),
    starts_daemon=False,
)
def restart(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Stop the daemon and start it again.

    As a systemd service it keeps its socket open meanwhile: requests wait, and
    none is refused.

    examples:
      yaadwatch restart         after you changed a setting
      yaadwatch restart --json  for scripts
    """
    terminal.line(f"The daemon was restarted ({_process(answer)}).")


def _process(answer: "Answer") -> str:
    return f"pid {answer['daemon']['pid']}, version {answer['daemon']['version']}"


def _stop(args: Namespace, client: "Client", __: Terminal) -> "Answer":
    """End the daemon and wait until it is gone; without one, say so."""
    pid = announced_pid() if daemon_holds_lock() else None
    args.was_service = False
    if manager() is not None:
        # Also when no process holds the lock: what cannot start is started again and again.
        stopped = service.stop(service.this_machine(client))
        args.was_service = stopped is not None
    if not args.was_service or pid is None or not wait_for_exit(STOP_TIME_S):
        try:
            client.call("shutdown")
        except DaemonNotRunning:
            if daemon_holds_lock():
                raise still_there("does not answer", pid) from None
            return {"stopping": False, "running": False}
        pid = client.pid or pid
        if not wait_for_exit(STOP_TIME_S):
            raise still_there(f"has not ended after {STOP_TIME_S:g} s", pid)
    return {"stopping": True, "running": False, "pid": pid}


@prints("stop", ask=_stop, starts_daemon=False)
def stop(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Stop the daemon.

    Any command that needs the daemon starts it again; so does your next login if
    it is a service. To remove the service: yaadwatch uninstall

    examples:
      yaadwatch stop         returns once it has ended
      yaadwatch stop --json  for scripts
    """
    if answer["stopping"]:
        ended = f"The daemon has stopped (pid {answer['pid']})."
        terminal.line(f"{ended} Any command starts it again.")
    else:
        more = " Its service was stopped, too." if args.was_service else ""
        terminal.line(f"No daemon is running.{more}")


_STATES = {"changed": "brought up to date", "unchanged": "installed already"}


@prints(
    "install",
    ask=lambda args, client, _: service.install(service.this_machine(client), dry_run=args.dry_run),
    options=[
        option("--dry-run", action="store_true", help="write nothing; show a diff"),
    ],
    starts_daemon=False,
)
def install(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Run the daemon as a service, from login on.

    Optional: without a service, commands and agents start the daemon when they
    need it. Writes two units for systemd's user manager, or one agent for launchd;
    nothing needs root. Running it again changes nothing; after an upgrade it
    brings the files up to date. Where no manager runs (a container, WSL without
    systemd), nothing is written.

    examples:
      yaadwatch install --dry-run  show what would be written, as a diff
      yaadwatch install            install the service and start it
      yaadwatch uninstall          undo it
    """
    on_demand, dry_run = answer["state"] == "on_demand", answer["dry_run"]
    if on_demand:
        terminal.line(styled("No service manager runs here", "bold"), f": {answer['why']}.")
        when_needed = "Commands and agents start the daemon when they need it."
        terminal.line(f"Nothing was written. {when_needed}")
    else:
        _print_files(answer, terminal)
        if dry_run:
            terminal.line(styled("Nothing was written.", "bold"))
    if answer.get("ended"):
        terminal.line(f"The daemon that ran by itself (pid {answer['ended']}) has ended.")
    if not dry_run:
        terminal.line(f"The daemon answers ({_process(answer)}).")
        if not on_demand:
            terminal.line("See: yaadwatch status, yaadwatch logs    Undo: yaadwatch uninstall")


@prints(
    "uninstall",
    ask=lambda args, client, _: service.uninstall(
        service.this_machine(client), dry_run=args.dry_run
    ),
    options=[option("--dry-run", action="store_true", help="remove nothing; list what would go")],
    starts_daemon=False,
)
def uninstall(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Stop the service and remove what `install` wrote.

    Removes the files and folders that ~/.yaad/receipt.json lists, and nothing
    else. Your memories and settings stay. To remove everything, see
    docs/service.md

    examples:
      yaadwatch uninstall --dry-run  list what would be removed
      yaadwatch uninstall            remove it
    """
    why = answer.get("why")
    if answer["state"] == "absent":
        none = f"No service is installed for this home. {why}" if why else ""
        terminal.line(none or "No service is installed; nothing was done.")
        return
    _print_files(answer, terminal)
    if answer["dry_run"]:
        terminal.line(styled("Nothing was removed.", "bold"))
        return
    if why:
        terminal.line(f"The service manager could not be told: {why}.")
    if any(one["change"] == "kept" for one in answer["files"]):
        terminal.line("What you have changed was left alone; remove it by hand.")
    terminal.line("Your memories and settings stay. Commands start the daemon when they need it.")


def _print_files(answer: "Answer", terminal: Terminal) -> None:
    by = f" ({answer['manager']})" if answer.get("manager") else ""
    state, would = answer["state"], answer["dry_run"] and answer["state"] != "unchanged"
    words = f"The service {'would be' if would else 'is'} {_STATES.get(state, state)}{by}"
    terminal.line(styled(words, "bold"))
    print_file_changes(answer["files"], terminal, dry_run=answer["dry_run"])
