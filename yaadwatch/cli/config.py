"""Commands about settings and shells: config, completion."""

import json
import os
from argparse import Namespace, _SubParsersAction

from yaadwatch.cli.commands import command, option
from yaadwatch.cli.parsing import Parser, whole_parser
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import folder
from yaadwatch.client.connection import NobodyListens
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

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
    """Return what holds for the daemon that runs, else for the next one."""
    from pathlib import Path

    from yaadwatch.installing import configuring

    try:
        return client.call("config")
    except NobodyListens:
        return configuring.listed(os.environ, Path(args.project or Path.cwd()))


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
    told, left = answer["warnings"][:WARNINGS_MAX], answer["warnings"][WARNINGS_MAX:]
    for warning in told:
        terminal.line(styled(str(warning), "yellow"))
    if left:
        terminal.line(styled(f"… and {len(left)} more: yaadwatch config list --json", "yellow"))
    if not answer["running"]:
        terminal.line(styled("The daemon is not running; the next one would have these.", "dim"))
    return 0


def _get(key: str, answer: "dict[str, Any]", args: Namespace, terminal: Terminal) -> int:
    from yaadwatch.installing import configuring

    configuring.known(key)
    row = next(row for row in answer["settings"] if row["key"] == key)
    if args.json:
        terminal.json(row)
    else:
        terminal.line(_shown(row["value"]))
    return 0


def _change(args: Namespace, client: "Client", terminal: Terminal) -> int:
    from yaadwatch.installing import configuring

    key = args.words[0]
    if args.action == "set":
        value = configuring.put(key, args.words[1])
        said = f"{key} = {_shown(value)} in {folder(configuring.path())}"
    else:
        there = configuring.take(key)
        where = folder(configuring.path())
        said = f"{key} is no longer in {where}" if there else f"{key} is not in {where}"
    rows = {row["key"]: row for row in configuring.listed(os.environ)["settings"]}
    none = {"key": key, "value": None, "from": "default", "default": None}
    row = rows.get(key, none)
    runs = _holds(client, key) not in (None, row["value"])
    if args.json:
        terminal.json({**row, "restart": runs})
        return 0
    terminal.line(said)
    if row["from"] not in ("default", str(configuring.path())):
        terminal.line(f"{row['from']} is set in this shell, and says {_shown(row['value'])}.")
    if runs:
        terminal.line("The running daemon still has the old value. To apply it: yaadwatch restart")
    return 0


def _holds(client: "Client", key: str) -> object:
    """Return what the daemon that runs has for `key`; None without one."""
    try:
        rows = client.call("config")["settings"]
    except NobodyListens:
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
    """Return the parser with the words that the commands themselves know, and take care of."""
    from yaadwatch.connecting.table import CONNECTIONS
    from yaadwatch.installing.configuring import keys

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
    script = shtab.complete(_offering(whole_parser()), shell=args.shell)
    if args.json:
        terminal.json({"shell": args.shell, "script": script})
    else:
        terminal.write(f"{script}\n")
    return 0
