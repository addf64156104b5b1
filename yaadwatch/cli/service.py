"""The commands install and uninstall, start and restart."""

from argparse import Namespace

from yaadwatch.cli.commands import option, prints
from yaadwatch.cli.terminal import Terminal, print_file_changes, styled
from yaadwatch.install import install as service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.cli.commands import Answer


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
