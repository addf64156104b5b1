"""The commands connect, disconnect, hook and mcp, and the commands config and completion."""

import json
import os
from argparse import Namespace, _SubParsersAction

from yaadwatch.cli.commands import actions, command, option, prints, words
from yaadwatch.cli.main import full_parser
from yaadwatch.cli.terminal import Terminal, folder, print_file_changes, styled
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client
    from yaadwatch.connect.plans import World


# ruff: noqa: PTH100, PTH109


_STATES = {
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


def refused_status(answer: "Answer") -> int:
    """Return 4 when an agent's files were left alone, also if the others are connected."""
    return 4 if any(one["state"] == "refused" for one in answer.get("agents", ())) else 0


def _connect(args: Namespace, client: "Client", _: Terminal) -> "Answer":  # noqa: ARG001
    from yaadwatch.connect import connect as connect_verbs

    return connect_verbs.connect(_world(args), args.agents, dry_run=args.dry_run)


@prints("connect", ask=_connect, status=refused_status, options=_OPTIONS, starts_daemon=False)
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


def _disconnect(args: Namespace, client: "Client", _: Terminal) -> "Answer":  # noqa: ARG001
    from yaadwatch.connect import connect as connect_verbs

    return connect_verbs.disconnect(_world(args), args.agents, dry_run=args.dry_run)


@prints("disconnect", ask=_disconnect, status=refused_status, options=_OPTIONS, starts_daemon=False)
def disconnect(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Remove yaadwatch from your agents' settings.

    Removes what `connect` wrote and nothing else. A file that was not edited in
    the meantime is then byte for byte what it was before.

    examples:
      yaadwatch disconnect                  every agent
      yaadwatch disconnect codex --dry-run  show what would be removed, as a diff
    """
    print_written(answer, terminal)


def _world(args: Namespace) -> "World":
    from yaadwatch.connect import connect as connect_verbs

    return connect_verbs.this_machine(
        os.path.abspath(args.project or os.getcwd()) if args.project_level else None
    )


def print_written(answer: "Answer", terminal: Terminal, *, undo: str = "") -> None:
    """Print which files of agents were written (Connected), and the command that undoes it."""
    for one in answer["agents"]:
        of_agent, of_skill, colour = _STATES[one["state"]]
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


@command(
    "hook",
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
    """Answer the hook of an agent.

    Agents run this by themselves; `yaadwatch connect` writes it into their
    settings. It reads the agent's JSON from standard input, takes at most 150 ms
    (2 s when a session starts), always exits with 0, and prints nothing when there
    is nothing to say. When it stays silent and should not: ~/.yaad/log/hook.log has
    the reason.

    examples:
      yaadwatch hook session-start --agent claude           what Claude Code runs
      echo {} | yaadwatch hook session-start --agent codex  try it in this folder
    """
    from yaadwatch.client import hook as client_hook

    client_hook.main([args.event, "--agent", args.agent])


@command(
    "mcp",
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
    """Be an MCP server (Model Context Protocol) on standard input.

    Agents start this by themselves; `yaadwatch connect` writes it into their
    settings. It passes everything on to the daemon, and starts the daemon when
    none runs.

    examples:
      yaadwatch mcp                      what an agent starts
      yaadwatch mcp --project ~/src/api  for an agent in another folder
    """
    from yaadwatch.client import shim

    return shim.main(["--agent", args.agent, "--project", args.project or ""])


def _config(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    from pathlib import Path

    from yaadwatch.install import units

    key, *value = words(
        args, *{"get": ["KEY"], "set": ["KEY VALUE"], "unset": ["KEY"]}.get(args.action, [""])
    ) or [""]
    if args.action in {"set", "unset"}:
        return _change(args, client, key, value)
    try:
        answer = client.call("config")
    except DaemonNotRunning:
        answer = units.list_settings(os.environ, Path(args.project or Path.cwd()))
    if args.action == "list":
        return answer
    units.known(key)
    return next(row for row in answer["settings"] if row["key"] == key)


def _change(args: Namespace, client: "Client", key: str, value: list[str]) -> "Answer":
    """Set a setting, or remove it; `said` in the answer is what a person reads of that."""
    from yaadwatch.install import units

    where = folder(units.path())
    if value:
        args.said = f"{key} = {_shown(units.put(key, value[0]))} in {where}"
    else:
        args.said = (
            f"{key} is no longer in {where}" if units.take(key) else f"{key} is not in {where}"
        )
    rows = {row["key"]: row for row in units.list_settings(os.environ)["settings"]}
    row = rows.get(key, {"key": key, "value": None, "from": "default", "default": None})
    args.shell = row["from"] not in ("default", str(units.path()))
    try:
        held = {one["key"]: one["value"] for one in client.call("config")["settings"]}.get(key)
    except DaemonNotRunning:
        held = None
    return {**row, "restart": held not in (None, row["value"])}


@prints(
    "config",
    ask=_config,
    options=[
        actions("list", "get", "set", "unset"),
        option(
            "words", metavar="KEY [VALUE]", nargs="*", help="a setting, and its new value for set"
        ),
    ],
    starts_daemon=False,
)
def config(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Show the settings, or change one.

    The first of these that has a value wins: an option of the command, a variable
    of the daemon such as YAAD_WATCH_POLL_S, the project's .yaad/config.toml
    (half-lives and the budget only), ~/.yaad/config.toml, the default. The daemon
    reads its settings when it starts. After a change: yaadwatch restart

    examples:
      yaadwatch config list                          every value, and its source
      yaadwatch config get watch.poll_s              one value, for scripts
      yaadwatch config set watch.poll_s 30           into ~/.yaad/config.toml
      yaadwatch config set memory.half_lives task=7  a list
      yaadwatch config unset watch.poll_s            back to the default
    """
    if args.action == "list":
        _print_settings(answer, terminal)
    elif args.action == "get":
        terminal.line(_shown(answer["value"]))
    else:
        terminal.line(args.said)
        if args.shell:
            value = _shown(answer["value"])
            terminal.line(f"{answer['from']} is set in this shell, and says {value}.")
        if answer["restart"]:
            restart = "To apply it: yaadwatch restart"
            terminal.line(f"The running daemon still has the old value. {restart}")


def _print_settings(answer: "Answer", terminal: Terminal) -> None:
    rows = []
    for row in answer["settings"]:
        source = str(row["from"])
        if source == "default":
            name, source = str(row["key"]), styled("default", "dim")
        else:
            shown = folder(source) if source.startswith("/") else f"${source}"
            name = styled(str(row["key"]), "bold")
            source = f"{shown} (default: {_shown(row['default'])})"
        rows.append((name, _shown(row["value"]), source))
    terminal.table(rows, indent=0)
    for warning in answer["warnings"][:10]:
        terminal.line(styled(str(warning), "yellow"))
    if (left := len(answer["warnings"]) - 10) > 0:
        terminal.line(styled(f"… and {left} more: yaadwatch config list --json", "yellow"))
    if not answer["running"]:
        terminal.line(styled("The daemon is not running; the next one would have these.", "dim"))


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@command(
    "completion",
    options=[
        option(
            "shell",
            metavar="SHELL",
            choices=("bash", "zsh", "fish", "tcsh"),
            help="bash, zsh, fish or tcsh",
        )
    ],
    starts_daemon=False,
)
def completion(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Print the completion script for a shell.

    The package shtab makes it, which comes with 'yaadwatch[completion]':
    uv tool install 'yaadwatch[completion]', or pipx install --force with that.

    examples:
      eval "$(yaadwatch completion bash)"             in ~/.bashrc
      yaadwatch completion zsh > ~/.zfunc/_yaadwatch  for zsh
      yaadwatch completion fish | source              in ~/.config/fish/config.fish
    """
    try:
        import shtab
    except ImportError:
        raise YaadError(
            Code.UNAVAILABLE,
            "Completion is made by the package shtab, which is not installed.",
            hint="Install it with yaadwatch: uv tool install 'yaadwatch[completion]'",
        ) from None
    from yaadwatch.connect.table import CONNECTIONS
    from yaadwatch.install.units import keys

    parser = full_parser()
    (commands,) = (one for one in parser._actions if isinstance(one, _SubParsersAction))
    # Words that the commands check themselves are offered, too.
    agents = [row.agent for row in CONNECTIONS]
    offered = (
        ("connect", "agents", agents),
        ("disconnect", "agents", agents),
        ("config", "words", keys()),
    )
    for name, dest, choices in offered:
        for argument in commands.choices[name]._actions:
            if argument.dest == dest:
                argument.choices = choices
    script = shtab.complete(parser, shell=args.shell)
    if args.json:
        terminal.json({"shell": args.shell, "script": script})
    else:
        terminal.write(f"{script}\n")
    return 0
