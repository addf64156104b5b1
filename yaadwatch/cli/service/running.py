"""Commands about the daemon itself: daemon, start, stop, restart."""

import os
import sys
from argparse import Namespace
from collections.abc import Mapping

from yaadwatch.cli.parsing import Commands, Parser
from yaadwatch.cli.terminal import Terminal
from yaadwatch.client.connection import NobodyListens
from yaadwatch.client.presence import daemon_holds_lock, holder, wait_until_gone
from yaadwatch.client.service import manager
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.places import announced_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from yaadwatch.client.connection import Client

STOP_TIME_S = 20.0


def add_daemon(commands: Commands) -> Parser:
    """Add `daemon`."""
    command = commands.add(
        "daemon",
        "be the daemon, until told to stop",
        daemon,
        examples=[
            ("yaadwatch daemon --supervised", "what a service manager runs"),
            ("yaadwatch up", "for a trial: in this terminal"),
        ],
        starts_daemon=False,
        more="Commands that need it start it by themselves. When another version was\n"
        "installed, or above its memory limit, it begins again as a new process.",
    )
    command.add_argument(
        "--supervised",
        action="store_true",
        help="to begin again, end with status 75: who started it starts it again",
    )
    return command


def add_start(commands: Commands) -> Parser:
    """Add `start`."""
    return commands.add(
        "start",
        "start the daemon",
        start,
        examples=[
            ("yaadwatch start", "as a service if it is one, else in the background"),
            ("yaadwatch start --json", "for programs"),
        ],
        starts_daemon=False,
        more="Commands that need the daemon do so by themselves.",
    )


def add_restart(commands: Commands) -> Parser:
    """Add `restart`."""
    return commands.add(
        "restart",
        "end the daemon and start it anew",
        restart,
        examples=[
            ("yaadwatch restart", "after a change of the settings"),
            ("yaadwatch restart --json", "for programs"),
        ],
        starts_daemon=False,
        more="As a service, it keeps its socket meanwhile: who asks is answered afterwards.",
    )


def add_stop(commands: Commands) -> Parser:
    """Add `stop`."""
    return commands.add(
        "stop",
        "end the daemon",
        stop,
        examples=[
            ("yaadwatch stop", "returns when it has ended"),
            ("yaadwatch stop --json", "for programs"),
        ],
        starts_daemon=False,
        more="It is started again by any command that needs it, and at your next login if it\n"
        "is a service. To end that for good: yaadwatch uninstall",
    )


def daemon(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Be the daemon; return its exit status when it ends."""
    from yaadwatch.daemon.main import run
    from yaadwatch.daemon.renewal import AGAIN

    if args.supervised:
        return run(foreground=False)
    status = run(foreground=False, begin_again=begin_again)
    if status == AGAIN:
        begin_again()
    return status


def begin_again() -> "NoReturn":
    """Become a new process of the same command line, and of the program that is installed now."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606


def start(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Start the daemon and say that it answers."""
    from yaadwatch.installing import verbs

    answer = verbs.start(verbs.this_machine(client))
    by = f", started by {answer['by']}" if answer["by"] else ""
    runs = "The daemon answers" if answer["started"] else "The daemon runs already"
    daemon = answer["daemon"]
    text = f"{runs} (pid {daemon['pid']}, version {daemon['version']}{by})."
    return _told(args, terminal, text, answer)


def restart(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Start the daemon anew and say that it answers."""
    from yaadwatch.installing import verbs

    answer = verbs.restart(verbs.this_machine(client))
    daemon = answer["daemon"]
    text = f"The daemon was started anew (pid {daemon['pid']}, version {daemon['version']})."
    return _told(args, terminal, text, answer)


def stop(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """End the daemon and wait until it is gone; without one, say so."""
    pid = announced_pid() if daemon_holds_lock() else None
    told = False
    if manager() is not None:
        from yaadwatch.installing import verbs

        # Also when nobody holds the lock: what cannot start is started again and again.
        told = verbs.stop(verbs.this_machine(client)) is not None
        if told and pid is not None and wait_until_gone(STOP_TIME_S):
            return _ended(args, terminal, pid)
    try:
        client.call("shutdown")
    except NobodyListens:
        if daemon_holds_lock():
            raise _still_there(pid, "does not answer") from None
        text = "No daemon is running." + (" Its service was stopped, too." if told else "")
        return _told(args, terminal, text, {"stopping": False, "running": False})
    pid = client.pid or pid
    if not wait_until_gone(STOP_TIME_S):
        raise _still_there(pid, f"has not ended after {STOP_TIME_S:g} s")
    return _ended(args, terminal, pid)


def _ended(args: Namespace, terminal: Terminal, pid: int | None) -> int:
    answer = {"stopping": True, "running": False, "pid": pid}
    text = f"The daemon has ended (pid {pid}). Any command starts it again."
    return _told(args, terminal, text, answer)


def _told(args: Namespace, terminal: Terminal, text: str, answer: Mapping[str, object]) -> int:
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
