"""Commands that make the daemon a service and end that: install, uninstall."""

from argparse import Namespace

from yaadwatch.cli.commands import command, option
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

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
    from yaadwatch.installing import verbs

    world = verbs.this_machine(client)
    answer = verbs.install(world, dry_run=args.dry_run, linger=args.linger)
    if args.json:
        terminal.json(answer)
        return 0
    if answer["state"] == "on_demand":
        _tell_on_demand(answer, terminal)
        return 0
    _tell_files(answer, terminal)
    if answer["dry_run"]:
        terminal.line(styled("Nothing was written.", "bold"))
        return 0
    if answer.get("ended"):
        terminal.line(f"The daemon that ran by itself (pid {answer['ended']}) has ended.")
    _tell_daemon(answer, terminal)
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
    from yaadwatch.installing import verbs

    answer = verbs.uninstall(verbs.this_machine(client), dry_run=args.dry_run)
    if args.json:
        terminal.json(answer)
        return 0
    if answer["state"] == "absent":
        if answer.get("why"):
            terminal.line(f"No service is installed for this home. {answer['why']}")
        else:
            terminal.line("No service is installed; nothing was done.")
        return 0
    _tell_files(answer, terminal)
    if answer["dry_run"]:
        terminal.line(styled("Nothing was removed.", "bold"))
        return 0
    if answer.get("why"):
        terminal.line(f"The service manager could not be told: {answer['why']}.")
    if any(one["change"] == "kept" for one in answer["files"]):
        terminal.line("What you have changed was left alone; remove it by hand.")
    terminal.line("Your memories and settings stay. Commands start the daemon when they need it.")
    return 0


def _tell_files(answer: "dict[str, Any]", terminal: Terminal) -> None:
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


def _tell_on_demand(answer: "dict[str, Any]", terminal: Terminal) -> None:
    terminal.line(styled("No service manager runs here", "bold"), f": {answer['why']}.")
    terminal.line("Nothing was written. Commands and agents start the daemon when they need it.")
    if not answer["dry_run"]:
        _tell_daemon(answer, terminal)


def _tell_daemon(answer: "dict[str, Any]", terminal: Terminal) -> None:
    daemon = answer["daemon"]
    terminal.line(f"The daemon answers (pid {daemon['pid']}, version {daemon['version']}).")
