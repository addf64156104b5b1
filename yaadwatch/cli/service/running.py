"""Commands about the daemon itself: daemon, stop."""

import os
import sys
from argparse import Namespace
from collections.abc import Mapping

from yaadwatch.cli.parsing import Commands, Parser
from yaadwatch.cli.terminal import Terminal
from yaadwatch.client.connection import NobodyListens
from yaadwatch.client.presence import daemon_holds_lock, wait_until_gone
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.places import announced_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
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
            ("yaadwatch up", "for a trial: tells here what it finds"),
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
    )


def daemon(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Be the daemon; return its exit status when it ends."""
    from yaadwatch.daemon.main import run
    from yaadwatch.daemon.renewal import AGAIN

    status = run(foreground=False)
    if status == AGAIN and not args.supervised:
        # The same command line, and the program that is installed now.
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
    return status


def stop(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """End the daemon and wait until it is gone; without one, say so."""
    pid = announced_pid()
    try:
        client.call("shutdown")
    except NobodyListens:
        if daemon_holds_lock():
            raise _still_there(pid, "does not answer") from None
        return _told(args, terminal, "No daemon is running.", {"stopping": False, "running": False})
    pid = client.pid or pid
    if not wait_until_gone(STOP_TIME_S):
        raise _still_there(pid, f"has not ended after {STOP_TIME_S:g} s")
    answer = {"stopping": True, "running": False, "pid": pid}
    return _told(
        args, terminal, f"The daemon has ended (pid {pid}). Any command starts it again.", answer
    )


def _told(args: Namespace, terminal: Terminal, text: str, answer: Mapping[str, object]) -> int:
    if args.json:
        terminal.json(answer)
    else:
        terminal.line(text)
    return 0


def _still_there(pid: int | None, what: str) -> YaadError:
    return YaadError(
        Code.UNAVAILABLE,
        f"Process {pid} holds the daemon's lock and {what}; it was left alone.",
        hint=f"Its log says what it does. To end it: kill {pid}",
    )
