"""The commands daemon, start, stop, restart, install and uninstall."""

import os
import sys
from argparse import Namespace

from yaadwatch.cli.commands import command, option, prints
from yaadwatch.cli.terminal import Terminal, print_file_changes, styled
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.client.presence import (
    daemon_holds_lock,
    daemon_process,
    manager,
    still_there,
    wait_for_exit,
)
from yaadwatch.places import announced_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client


STOP_TIME_S = 20.0


@command(
    "daemon",
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
    """Run the daemon in the foreground, for a supervisor.

    You rarely need this: commands start the daemon when they need it. After an
    upgrade, or above its memory limit, it restarts itself as a new process.

    examples:
      yaadwatch daemon --supervised  what a service manager runs
      yaadwatch daemon               to try it out, in this terminal, until Ctrl-C
    """
    from yaadwatch.daemon.main import run
    from yaadwatch.daemon.scheduler import AGAIN

    if args.supervised:
        return run(foreground=False)
    status = run(foreground=sys.stderr.isatty(), begin_again=restart_program)
    if status == AGAIN:
        restart_program()
    return status


def restart_program() -> "NoReturn":
    """Become a new process of the same command line, and of the program that is installed now."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606


def _start(_: Namespace, client: "Client", __: Terminal) -> "Answer":
    from yaadwatch.install import install as install_verbs

    return install_verbs.start(install_verbs.this_machine(client))


@prints("start", ask=_start, starts_daemon=False)
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


def _restart(_: Namespace, client: "Client", __: Terminal) -> "Answer":
    from yaadwatch.install import install as install_verbs

    return install_verbs.restart(install_verbs.this_machine(client))


@prints("restart", ask=_restart, starts_daemon=False)
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
    with daemon_process() as process:
        pid = announced_pid() if daemon_holds_lock() else None
        args.was_service = False
        if manager() is not None:
            from yaadwatch.install import install as install_verbs

            # Also when no process holds the lock: what cannot start is started again and again.
            stopped = install_verbs.stop(install_verbs.this_machine(client))
            args.was_service = stopped is not None
        if not args.was_service or pid is None or not wait_for_exit(STOP_TIME_S, process):
            try:
                client.call("shutdown")
            except DaemonNotRunning:
                if daemon_holds_lock():
                    raise still_there("does not answer", pid) from None
                return {"stopping": False, "running": False}
            pid = client.pid or pid
            if not wait_for_exit(STOP_TIME_S, process):
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


def _install(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    from yaadwatch.install import install as install_verbs

    world = install_verbs.this_machine(client)
    return install_verbs.install(world, dry_run=args.dry_run, linger=args.linger)


@prints(
    "install",
    ask=_install,
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
      yaadwatch install --linger   also run it while you are logged out (a server)
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


def _uninstall(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    from yaadwatch.install import install as install_verbs

    return install_verbs.uninstall(install_verbs.this_machine(client), dry_run=args.dry_run)


@prints(
    "uninstall",
    ask=_uninstall,
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
    words = _WOULD if answer["dry_run"] else _STATES
    terminal.line(styled(f"{words[answer['state']]}{by}", "bold"))
    print_file_changes(answer["files"], terminal, dry_run=answer["dry_run"])
