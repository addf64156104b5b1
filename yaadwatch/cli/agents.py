"""The commands hook, mcp and daemon, which other programs start, and config and completion."""

import json
import os
import sys
from argparse import Namespace

from yaadwatch.cli.commands import actions, command, option, prints, words
from yaadwatch.cli.main import full_parser
from yaadwatch.cli.terminal import Terminal, folder, styled
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client


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
    from yaadwatch.system import config as config_file

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
    config_file.known_key(key)
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
    script = shtab.complete(full_parser(), shell=args.shell)
    if args.json:
        terminal.json({"shell": args.shell, "script": script})
    else:
        terminal.write(f"{script}\n")
    return 0


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
