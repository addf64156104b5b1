"""The command `up`: the daemon in this terminal, telling what it finds. The trial run.

Here one process is the daemon and its own client: a helper thread asks over the socket.
"""
# ruff: noqa: PTH100

import os
import threading
from argparse import Namespace
from collections.abc import Callable

from yaadwatch.cli.commands import command, option
from yaadwatch.cli.doubts import headline, reason
from yaadwatch.cli.projects import tell_added
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, folder, short, when
from yaadwatch.client.connection import Ended, NobodyListens
from yaadwatch.client.presence import daemon_holds_lock
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import STALE_CLEARED, STALE_RAISED
from yaadwatch.places import announced_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

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

    from yaadwatch.cli.service import begin_again
    from yaadwatch.daemon.main import run
    from yaadwatch.daemon.renewal import AGAIN

    repo = os.path.abspath(args.repo) if args.repo else None
    teller = Teller(client, terminal, repo=repo, as_json=args.json)
    try:
        status = run_telling(partial(run, begin_again=begin_again), teller)
        if status == AGAIN:
            terminal.err.write("The daemon begins again. Why: yaadwatch logs\n")
            terminal.flush()
            begin_again()
        return status
    finally:
        if terminal.err.isatty():
            terminal.err.write("\n")  # after the ^C that the terminal shows


def run_telling(run: Callable[..., int], teller: "Teller") -> int:
    """Run the daemon with `run` while `teller` tells; return the exit status.

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


class Teller:
    """Has a repository watched, then prints each doubt as it comes and goes, in a thread.

    Args:
        client: asks the daemon.
        terminal: is printed to.
        repo: an absolute folder in the repository to watch; None: only tell.
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
        """Wait until everything is told."""
        if self._thread.is_alive():
            self._thread.join(LAST_WORDS_S)

    def _run(self) -> None:
        try:
            self._tell()
        except (Ended, NobodyListens):
            return  # the daemon was told to stop: so are we
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
                tell_added(added, self._terminal)
            for doubt in self._doubts(self._repo, check=True):
                self._tell_doubt(doubt, "        ")
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
        for doubt in self._doubts(self._folder(event["project"]), check=False):
            if doubt["id"] == identity and self._known.get(identity, ("",))[0] != doubt["verdict"]:
                self._tell_doubt(doubt, clock)

    def _tell_doubt(self, doubt: "dict[str, Any]", clock: str) -> None:
        self._known[doubt["id"]] = (doubt["verdict"], doubt["text"])
        if not self._as_json:
            self._terminal.line(f"{clock}  ", *headline(doubt), f"  ({reason(doubt)})", hang=10)

    def _doubts(self, where: str | None, *, check: bool) -> "list[dict[str, Any]]":
        if where is None:
            return []
        found: list[dict[str, Any]] = self._client.call(
            "stale", project=where, check=check, all=True
        )["stale"]
        return found

    def _folder(self, project: str) -> str | None:
        """Return a folder of a project, by its id; None when it was removed meanwhile."""
        if project not in self._folders:
            for row in self._client.call("projects")["projects"]:
                self._folders.setdefault(row["id"], row["path"])
        return self._folders.get(project)
