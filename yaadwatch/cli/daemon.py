"""The commands up and stop: run the daemon in this terminal, and end the one that runs."""

import os
import threading
import time
from argparse import Namespace

from yaadwatch.cli import projects
from yaadwatch.cli.agents import restart_program
from yaadwatch.cli.commands import command, option, prints
from yaadwatch.cli.stale import headline, reason
from yaadwatch.cli.terminal import Terminal, count, folder, memory_words, short, styled
from yaadwatch.client.connection import ConnectionEnded, DaemonNotRunning
from yaadwatch.client.presence import daemon_holds_lock, manager, still_there, wait_for_exit
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.places import announced_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client


# ruff: noqa: PTH100


STOP_TIME_S = 20.0


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


def _stop(args: Namespace, client: "Client", __: Terminal) -> "Answer":
    """End the daemon and wait until it is gone; without one, say so."""
    pid = announced_pid() if daemon_holds_lock() else None
    args.was_service = False
    if manager() is not None:
        from yaadwatch.install import install as service

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
