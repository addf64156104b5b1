"""GROUPS: every command and the module that has it; and how a command line is read.

Only the parser of the command that is asked for is built, because agents run these often; help and
completion build all of them, from the same functions.
"""

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module

from yaadwatch.cli.commands import DECLARED, file_name, utf8_text
from yaadwatch.cli.terminal import columns, telling_unwritten
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action, _SubParsersAction
    from typing import Any, NoReturn

GROUPS = {
    "projects and their agent files": {
        "status": "status",
        "add": "projects",
        "remove": "projects",
        "list": "projects",
        "files": "files",
    },
    "memories": {
        "remember": "memories",
        "recall": "recall",
        "show": "memories",
        "context": "recall",
        "review": "review",
        "history": "memories",
        "edit": "mend",
        "tag": "curate",
        "pin": "curate",
        "unpin": "curate",
        "forget": "curate",
        "restore": "curate",
    },
    "what may no longer be true": {
        "stale": "doubts",
        "impact": "relations",
        "check": "checking",
        "confirm": "curate",
        "reanchor": "mend",
        "claims": "claims",
        "contradictions": "claims",
        "resolve": "claims",
        "gaps": "claims",
        "feedback": "claims",
    },
    "tasks and sessions": {
        "tasks": "tasks",
        "task": "tasks",
        "skill": "tasks",
        "sessions": "sessions",
        "handoff": "sessions",
    },
    "relations": {
        "link": "relations",
        "unlink": "relations",
        "subgraph": "relations",
        "traverse": "relations",
        "inject": "graph",
        "graph": "graph",
    },
    "the store": {
        "upkeep": "store",
        "export": "moving",
        "import": "moving",
        "verify": "store",
        "compact": "store",
        "backup": "store",
        "embed": "store",
    },
    "agents": {
        "connect": "agents",
        "disconnect": "agents",
        "hook": "agents",
        "mcp": "agents",
    },
    "the daemon": {
        "up": "up",
        "daemon": "service",
        "install": "service",
        "uninstall": "service",
        "start": "service",
        "stop": "service",
        "restart": "service",
        "logs": "logs",
        "config": "config",
        "doctor": "doctor",
    },
    "more": {
        "completion": "config",
    },
}
"""Command to module, by what it is about, in the order of the help.

The module declares the command, see `yaadwatch.cli.commands`.
"""
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}

HELP = """\
yaadwatch keeps what coding agents remember true. It reads the agent files of
your repositories (CLAUDE.md, AGENTS.md and others), watches the code they
describe, and tells you which statements may no longer hold, and why.
"""
PROGRAM = "yaadwatch"
EXAMPLES = (
    ("yaadwatch add ~/src/api", "watch a repository"),
    ("yaadwatch connect", "give your agents this memory, and its warnings"),
    ("yaadwatch install", "start the daemon at every login"),
    ("yaadwatch stale", "what may no longer be true here"),
    ("yaadwatch doctor", "find out why something does not work"),
)
HELP_WIDTH_MAX = 100
LIKE = 0.7
"""How like a command a word must be to be taken for a slip of the hand."""


class Parser(ArgumentParser):
    """An argument parser that raises its complaints instead of ending the process."""

    def __init__(self, **about: "Any") -> None:
        super().__init__(**about)
        # What every argument is that says nothing else of itself.
        self.register("type", None, utf8_text)

    def _print_message(self, message: str, file: "Any" = None) -> None:
        """Print help or the version; argparse would take an error for nothing."""
        with telling_unwritten():
            (file or sys.stdout).write(message)

    def exit(self, status: int = 0, message: str | None = None) -> "NoReturn":
        """End the command: help or the version was printed.

        Raises:
            Unwritten: it was not.
            SystemExit: it was.
        """
        with telling_unwritten():
            sys.stdout.flush()
        super().exit(status, message)

    def error(self, message: str) -> "NoReturn":
        """Raise what is wrong with the command line.

        Raises:
            YaadError: bad_request, always.
        """
        said = message.replace("invalid choice:", "no such choice:")
        raise YaadError(
            Code.BAD_REQUEST,
            f"{said}. Nothing was done.",
            hint=f"How it is used: {self.prog} --help",
        )


def parse(argv: Sequence[str]) -> Namespace:
    """Return what the command line asks for; `run` in it is the function that does it.

    Raises:
        YaadError: bad_request, when it makes no sense.
        SystemExit: help or the version was asked for, and was printed.
    """
    name, rest = _command(argv)
    if name is None:
        return whole_parser().parse_args(rest)
    parser = _parser(name)
    known, left = parser.parse_known_args(rest)
    if not left:
        return known
    if "--" in rest or any(one.startswith("-") for one in left):
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    # Words behind an option, as in `sessions note --session ID WORDS`.
    return parser.parse_intermixed_args(rest)


def whole_parser() -> Parser:
    """Return the parser of everything: for help and completion."""
    from yaadwatch.places import VERSION

    parser = Parser(
        prog=PROGRAM,
        description=HELP,
        epilog=_examples(EXAMPLES)
        + "\n\nWithout a command: status. Help for one command: yaadwatch COMMAND --help",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"yaadwatch {VERSION}")
    whole = parser.add_subparsers(title="commands", metavar="COMMAND", prog="yaadwatch")
    for name in COMMANDS:
        _parser(name, whole)
    return parser


def _command(argv: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the command and its arguments; no command when the whole parser has to answer."""
    at = _options_before(argv)
    if at == len(argv):
        return "status", argv
    first = argv[at]
    if first in COMMANDS:
        return first, [*argv[:at], *argv[at + 1 :]]
    if first in {"-h", "--help", "--version"}:
        return None, [first]
    if first.startswith("-"):
        return "status", argv
    from difflib import get_close_matches

    near = get_close_matches(first, COMMANDS, n=1, cutoff=LIKE)
    raise YaadError(
        Code.BAD_REQUEST,
        f"There is no command {first!r}. Nothing was done.",
        hint=f"The nearest one is: yaadwatch {near[0]}"
        if near
        else "All commands: yaadwatch --help",
    )


def _options_before(argv: Sequence[str]) -> int:
    """Return how many arguments before the command are options that every command takes."""
    at = 0
    while at < len(argv) and (argv[at] == "--json" or argv[at].startswith("--project")):
        at += 2 if argv[at] == "--project" else 1
    return min(at, len(argv))


def _parser(name: str, whole: "_SubParsersAction[Parser] | None" = None) -> Parser:
    """Return the parser of a command, alone or as a part of `whole`.

    It takes `--json` and `--project` besides its own options.
    """
    import_module(f"yaadwatch.cli.{COMMANDS[name]}")
    command = DECLARED[name]
    description = f"{command.help[0].upper()}{command.help[1:]}."
    about: dict[str, Any] = {
        "description": description + (f"\n\n{command.more}" if command.more else ""),
        "epilog": _examples(command.examples),
        "formatter_class": _Formatter,
        "allow_abbrev": False,
    }
    if whole is None:
        parser = Parser(prog=f"yaadwatch {name}", **about)
    else:
        parser = whole.add_parser(name, help=command.help, **about)
    parser.add_argument("--json", action="store_true", help="print the answer as one line of JSON")
    parser.add_argument(
        "--project",
        metavar="DIR",
        type=file_name,
        help="a folder in the repository to use (default: the current folder)",
    )
    command.add_options(parser)
    parser.set_defaults(
        run=command.run,
        starts_daemon=command.starts_daemon,
        exit_on_error=command.exit_on_error,
    )
    return parser


def _examples(examples: Sequence[tuple[str, str]]) -> str:
    width = max(len(line) for line, _ in examples)
    return "examples:\n" + "\n".join(f"  {line:{width}}  {what}" for line, what in examples)


class _Formatter(RawDescriptionHelpFormatter):
    """Help as wide as the terminal. Told the width, argparse does not import shutil to ask for it,
    which it would even when no help is printed.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=min(columns(), HELP_WIDTH_MAX))
        # argparse forgets that commands are indented, and would put the longest on a line alone.
        self._action_max_length = max(map(len, COMMANDS)) + 4
        whole = prog == PROGRAM
        self._headings = {next(iter(group)): about for about, group in GROUPS.items() if whole}

    def _format_action(self, action: "Action") -> str:
        text = super()._format_action(action)
        about = self._headings.get(action.dest)
        return text if about is None else f"\n{' ' * (self._current_indent - 2)}{about}:\n{text}"
