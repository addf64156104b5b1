"""Commands for agents: connect, disconnect, hook, mcp."""
# ruff: noqa: PTH100, PTH109

import os
from argparse import Namespace

from yaadwatch.cli.commands import command, option
from yaadwatch.cli.terminal import Terminal, styled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client
    from yaadwatch.connecting.plans import World

REFUSED = 4
"""Exit status when an agent's files were left alone; the others are connected."""
_STATES = {
    "connected": ("connected", "green"),
    "disconnected": ("disconnected", "green"),
    "unchanged": ("connected already", "dim"),
    "unconnected": ("not connected", "dim"),
    "refused": ("left alone", "red"),
}
_SKILL_STATES = _STATES | {
    "connected": ("installed", "green"),
    "disconnected": ("removed", "green"),
    "unchanged": ("installed already", "dim"),
    "unconnected": ("not installed", "dim"),
}
_CHANGES = {"created": "created", "changed": "edited", "removed": "removed", "same": "as it was"}


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


@command(
    "connect",
    "connect your coding agents: MCP server and hooks",
    examples=[
        ("yaadwatch connect", "every agent that you use"),
        ("yaadwatch connect claude --dry-run", "show what would be written, as a diff"),
        ("yaadwatch connect --project-level", "for this repository only"),
        ("yaadwatch disconnect", "undo it"),
    ],
    more="Adds the MCP server and the hooks to the settings of each agent. Everything\n"
    "else in those files stays as it is, comments and indentation too; a copy is\n"
    "kept. Running it again changes nothing.\n"
    "To see what agents get: yaadwatch context",
    options=_OPTIONS,
    starts_daemon=False,
)
def connect(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Connect agents, and say what was written and what is left to do."""
    from yaadwatch.connecting import verbs

    answer = verbs.connect(_world(args), args.agents, dry_run=args.dry_run)
    undo = ["yaadwatch disconnect", *args.agents, *["--project-level"] * args.project_level]
    return tell(answer, terminal, as_json=args.json, undo=" ".join(undo))


@command(
    "disconnect",
    "remove yaadwatch from your agents' settings",
    examples=[
        ("yaadwatch disconnect", "every agent"),
        ("yaadwatch disconnect codex --dry-run", "show what would be removed, as a diff"),
    ],
    more="Removes what `connect` wrote and nothing else. A file that was not edited in\n"
    "the meantime is then byte for byte what it was before.",
    options=_OPTIONS,
    starts_daemon=False,
)
def disconnect(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Disconnect agents, and say what was taken out."""
    from yaadwatch.connecting import verbs

    answer = verbs.disconnect(_world(args), args.agents, dry_run=args.dry_run)
    return tell(answer, terminal, as_json=args.json)


def _world(args: Namespace) -> "World":
    from yaadwatch.connecting import verbs

    return verbs.this_machine(
        os.path.abspath(args.project or os.getcwd()) if args.project_level else None
    )


def tell(answer: "dict[str, Any]", terminal: Terminal, *, as_json: bool, undo: str = "") -> int:
    """Print what was written, and return the exit status.

    Args:
        answer: Connected.
        terminal: where to.
        as_json: as it is.
        undo: the command that takes it back.
    """
    refused = any(one["state"] == "refused" for one in answer["agents"])
    if as_json:
        terminal.json(answer)
        return REFUSED if refused else 0
    for one in answer["agents"]:
        _tell_agent(one, terminal, dry_run=answer["dry_run"])
    written = any(one["state"] in ("connected", "disconnected") for one in answer["agents"])
    if answer["dry_run"]:
        terminal.line(styled("Nothing was written.", "bold"))
    elif written and undo:
        terminal.line(f"Undo: {undo}")
    if not answer["agents"]:
        terminal.line("No agent was found: none has left files in your home folder.")
        terminal.line("To name one: yaadwatch connect claude")
    return REFUSED if refused else 0


def _tell_agent(one: "dict[str, Any]", terminal: Terminal, *, dry_run: bool) -> None:
    states = _SKILL_STATES if one["agent"] == "skill" else _STATES
    words, colour = states[one["state"]]
    if dry_run and one["state"] in ("connected", "disconnected"):
        words = f"would be {words}"
    terminal.line(styled(str(one["title"]), "bold"), ": ", styled(words, colour))
    for file in one["files"]:
        if file["change"] == "same":
            continue
        change = _CHANGES[file["change"]]
        behind = f" (a link to {file['target']})" if file.get("target") else ""
        terminal.line("" if dry_run else f"{change} ", f"{file['path']}{behind}", indent=2)
        if file.get("backup"):
            terminal.line(styled(f"before: {file['backup']}", "dim"), indent=4)
        terminal.diff(str(file.get("diff", "")), indent=4)
    if one.get("reason"):
        terminal.line(str(one["reason"]), indent=2)
    if one.get("hint"):
        terminal.line(str(one["hint"]), indent=2)
    if one.get("todo"):
        terminal.line(styled("to do: ", "yellow"), str(one["todo"]), indent=2, hang=7)


@command(
    "hook",
    "answer the hook of an agent",
    examples=[
        ("yaadwatch hook session-start --agent claude", "what Claude Code runs"),
        ("echo {} | yaadwatch hook session-start --agent codex", "try it in this folder"),
    ],
    more="Agents run this by themselves; `yaadwatch connect` writes it into their\n"
    "settings. It reads the agent's JSON from standard input, takes at most 150 ms\n"
    "(2 s when a session starts), always exits with 0, and prints nothing when there\n"
    "is nothing to say. When it stays silent and should not: ~/.yaad/log/hook.log has\n"
    "the reason.",
    options=[
        option(
            "event",
            metavar="EVENT",
            help="session-start, prompt-submit, post-tool-use, session-end, subagent-start",
        ),
        option(
            "--agent",
            metavar="NAME",
            default="",
            help="claude, codex, gemini, cursor, copilot, opencode or cline",
        ),
    ],
    starts_daemon=False,
)
def hook(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Answer a hook; the process is its alone from here on."""
    from yaadwatch.client import hook as hooks

    hooks.main([args.event, "--agent", args.agent])


@command(
    "mcp",
    "be an MCP server (Model Context Protocol) on standard input",
    examples=[
        ("yaadwatch mcp", "what an agent starts"),
        ("yaadwatch mcp --project ~/src/api", "for an agent in another folder"),
    ],
    more="Agents start this by themselves; `yaadwatch connect` writes it into their\n"
    "settings. It passes everything on to the daemon, and starts the daemon when\n"
    "none runs.",
    options=[
        option(
            "--agent",
            metavar="NAME",
            default="",
            help="who asks (default: the name that the agent gives)",
        )
    ],
    starts_daemon=False,
)
def mcp(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Be the shim, until the agent is gone."""
    from yaadwatch.client import shim

    named = ["--agent", args.agent] if args.agent else []
    return shim.main([*named, *(["--project", args.project] if args.project else [])])
