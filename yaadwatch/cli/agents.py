"""The commands connect, disconnect, hook and mcp, and the commands config and completion."""

import json
import os
from argparse import Namespace, _SubParsersAction

from yaadwatch.cli.commands import command, option
from yaadwatch.cli.main import Parser, full_parser
from yaadwatch.cli.terminal import Terminal, folder, styled
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client
    from yaadwatch.connect.plans import World


# ruff: noqa: PTH100, PTH109


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
    from yaadwatch.connect import connect as connect_verbs

    answer = connect_verbs.connect(_world(args), args.agents, dry_run=args.dry_run)
    undo = ["yaadwatch disconnect", *args.agents, *["--project-level"] * args.project_level]
    return print_written(answer, terminal, as_json=args.json, undo=" ".join(undo))


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
    from yaadwatch.connect import connect as connect_verbs

    answer = connect_verbs.disconnect(_world(args), args.agents, dry_run=args.dry_run)
    return print_written(answer, terminal, as_json=args.json)


def _world(args: Namespace) -> "World":
    from yaadwatch.connect import connect as connect_verbs

    return connect_verbs.this_machine(
        os.path.abspath(args.project or os.getcwd()) if args.project_level else None
    )


def print_written(
    answer: "dict[str, Any]", terminal: Terminal, *, as_json: bool, undo: str = ""
) -> int:
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
        _print_agent(one, terminal, dry_run=answer["dry_run"])
    written = any(one["state"] in ("connected", "disconnected") for one in answer["agents"])
    if answer["dry_run"]:
        terminal.line(styled("Nothing was written.", "bold"))
    elif written and undo:
        terminal.line(f"Undo: {undo}")
    if not answer["agents"]:
        terminal.line("No agent was found: none has left files in your home folder.")
        terminal.line("To name one: yaadwatch connect claude")
    return REFUSED if refused else 0


def _print_agent(one: "dict[str, Any]", terminal: Terminal, *, dry_run: bool) -> None:
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
    from yaadwatch.client import hook as client_hook

    client_hook.main([args.event, "--agent", args.agent])


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


WARNINGS_MAX = 10
ACTIONS = ("list", "get", "set", "unset")
_NEEDS = {"list": (0, ""), "get": (1, "KEY"), "set": (2, "KEY VALUE"), "unset": (1, "KEY")}


@command(
    "config",
    "show the settings, or change one",
    examples=[
        ("yaadwatch config list", "every value, and its source"),
        ("yaadwatch config get watch.poll_s", "one value, for scripts"),
        ("yaadwatch config set watch.poll_s 30", "into ~/.yaad/config.toml"),
        ("yaadwatch config set memory.half_lives task=7", "a list"),
        ("yaadwatch config unset watch.poll_s", "back to the default"),
    ],
    more="The first of these that has a value wins: an option of the command, a variable\n"
    "of the daemon such as YAAD_WATCH_POLL_S, the project's .yaad/config.toml\n"
    "(half-lives and the budget only), ~/.yaad/config.toml, the default. The daemon\n"
    "reads its settings when it starts. After a change: yaadwatch restart",
    options=[
        option(
            "action", choices=ACTIONS, nargs="?", default="list", help="what to do (default: list)"
        ),
        option(
            "words", metavar="KEY [VALUE]", nargs="*", help="a setting, and its new value for set"
        ),
    ],
    starts_daemon=False,
)
def config(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Show or set what was asked for."""
    count, usage = _NEEDS[args.action]
    if len(args.words) != count:
        raise YaadError(
            Code.BAD_REQUEST,
            f"`config {args.action}` takes {usage or 'nothing more'}; nothing was done.",
            hint="How it is used: yaadwatch config --help",
        )
    if args.action == "list":
        return _list(_ask(args, client), args, terminal)
    if args.action == "get":
        return _get(args.words[0], _ask(args, client), args, terminal)
    return _change(args, client, terminal)


def _ask(args: Namespace, client: "Client") -> "dict[str, Any]":
    """Return the settings of the running daemon, else of the next one."""
    from pathlib import Path

    from yaadwatch.install import units

    try:
        return client.call("config")
    except DaemonNotRunning:
        return units.list_settings(os.environ, Path(args.project or Path.cwd()))


def _list(answer: "dict[str, Any]", args: Namespace, terminal: Terminal) -> int:
    if args.json:
        terminal.json(answer)
        return 0
    rows = []
    for row in answer["settings"]:
        ours = row["from"] != "default"
        name = styled(str(row["key"]), "bold" if ours else "")
        rows.append((name, _shown(row["value"]), _source(row)))
    terminal.table(rows, indent=0)
    warnings, left = answer["warnings"][:WARNINGS_MAX], answer["warnings"][WARNINGS_MAX:]
    for warning in warnings:
        terminal.line(styled(str(warning), "yellow"))
    if left:
        terminal.line(styled(f"… and {len(left)} more: yaadwatch config list --json", "yellow"))
    if not answer["running"]:
        terminal.line(styled("The daemon is not running; the next one would have these.", "dim"))
    return 0


def _get(key: str, answer: "dict[str, Any]", args: Namespace, terminal: Terminal) -> int:
    from yaadwatch.install import units

    units.known(key)
    row = next(row for row in answer["settings"] if row["key"] == key)
    if args.json:
        terminal.json(row)
    else:
        terminal.line(_shown(row["value"]))
    return 0


def _change(args: Namespace, client: "Client", terminal: Terminal) -> int:
    from yaadwatch.install import units

    key = args.words[0]
    if args.action == "set":
        value = units.put(key, args.words[1])
        said = f"{key} = {_shown(value)} in {folder(units.path())}"
    else:
        there = units.take(key)
        where = folder(units.path())
        said = f"{key} is no longer in {where}" if there else f"{key} is not in {where}"
    rows = {row["key"]: row for row in units.list_settings(os.environ)["settings"]}
    none = {"key": key, "value": None, "from": "default", "default": None}
    row = rows.get(key, none)
    runs = _holds(client, key) not in (None, row["value"])
    if args.json:
        terminal.json({**row, "restart": runs})
        return 0
    terminal.line(said)
    if row["from"] not in ("default", str(units.path())):
        terminal.line(f"{row['from']} is set in this shell, and says {_shown(row['value'])}.")
    if runs:
        terminal.line("The running daemon still has the old value. To apply it: yaadwatch restart")
    return 0


def _holds(client: "Client", key: str) -> object:
    """Return the running daemon's value for `key`; None without a daemon."""
    try:
        rows = client.call("config")["settings"]
    except DaemonNotRunning:
        return None
    return next((row["value"] for row in rows if row["key"] == key), None)


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _source(row: "dict[str, Any]") -> str:
    if row["from"] == "default":
        return styled("default", "dim")
    name = str(row["from"])
    shown = folder(name) if name.startswith("/") else f"${name}"
    return f"{shown} (default: {_shown(row['default'])})"


SHELLS = ("bash", "zsh", "fish", "tcsh")


def _offering(parser: Parser) -> Parser:
    """Return the parser with completions for words that the commands check themselves."""
    from yaadwatch.connect.table import CONNECTIONS
    from yaadwatch.install.units import keys

    agents = [row.agent for row in CONNECTIONS]
    offered = {
        ("connect", "agents"): agents,
        ("disconnect", "agents"): agents,
        ("config", "words"): keys(),
    }
    (commands,) = [one for one in parser._actions if isinstance(one, _SubParsersAction)]
    for name, parser_ in commands.choices.items():
        for argument in parser_._actions:
            argument.choices = offered.get((name, argument.dest), argument.choices)
    return parser


@command(
    "completion",
    "print the completion script for a shell",
    examples=[
        ('eval "$(yaadwatch completion bash)"', "in ~/.bashrc"),
        ("yaadwatch completion zsh > ~/.zfunc/_yaadwatch", "for zsh"),
        ("yaadwatch completion fish | source", "in ~/.config/fish/config.fish"),
    ],
    more="The package shtab makes it, which comes with 'yaadwatch[completion]':\n"
    "uv tool install 'yaadwatch[completion]', or pipx install --force with that.",
    options=[
        option(
            "shell",
            metavar="SHELL",
            choices=SHELLS,
            help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}",
        )
    ],
    starts_daemon=False,
)
def completion(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Print the script for a shell.

    Raises:
        YaadError: unavailable, when the package that makes it is not installed.
    """
    try:
        import shtab
    except ImportError:
        raise YaadError(
            Code.UNAVAILABLE,
            "Completion is made by the package shtab, which is not installed.",
            hint="Install it with yaadwatch: uv tool install 'yaadwatch[completion]'",
        ) from None
    script = shtab.complete(_offering(full_parser()), shell=args.shell)
    if args.json:
        terminal.json({"shell": args.shell, "script": script})
    else:
        terminal.write(f"{script}\n")
    return 0
