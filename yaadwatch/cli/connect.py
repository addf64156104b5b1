"""The commands connect and disconnect."""

import os
from argparse import Namespace

from yaadwatch.cli.commands import option, prints, refused_status
from yaadwatch.cli.terminal import Terminal, print_file_changes, styled
from yaadwatch.connect import connect as agents
from yaadwatch.connect.plans import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.cli.commands import Answer


# ruff: noqa: PTH100, PTH109


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
