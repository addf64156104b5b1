"""The command line: parse, call the command, print the result or the error.

`GROUPS` maps every command to its module. Only the parser of the requested command is built,
because agents run commands often; help and completion build all of them, from the same functions.
"""

import contextlib
import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from functools import partial
from importlib import import_module

from yaadwatch.cli.commands import DECLARED, file_name, utf8_text
from yaadwatch.cli.terminal import columns, report_unwritten
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action, _SubParsersAction
    from collections.abc import Callable
    from typing import Any, NoReturn

    from yaadwatch.cli.terminal import Terminal
    from yaadwatch.client.connection import Client


# ruff: noqa: PTH100, PTH109


EXITS = {
    Code.BAD_REQUEST: 2,
    Code.UNAVAILABLE: 3,
    Code.CONFLICT: 4,
    Code.REFUSED: 4,
}
"""Exit status by code; 1 for the others."""
INTERRUPTED = 130
_NO_REPOSITORY = "is not in a git repository"


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: the arguments; those of the process by default.
    """
    given = sys.argv[1:] if argv is None else argv
    if given and given[0] in {"hook", "mcp"} and not {"-h", "--help"} & set(given):
        return _for_agents(given[0], given[1:])
    from yaadwatch.cli.terminal import of_process

    terminal = of_process()
    try:
        return run(given, terminal)
    except BrokenPipeError:
        return 0  # the reader of our output has closed it
    except KeyboardInterrupt:
        terminal.end_progress()
        return INTERRUPTED
    finally:
        _leave_unwritten()


def run(
    argv: "Sequence[str]",
    terminal: "Terminal",
    connect: "Callable[[Namespace, Terminal], Client] | None" = None,
) -> int:
    """Run one command on `terminal` and return its exit status; errors are printed, not raised.

    Args:
        argv: the arguments.
        terminal: where it prints.
        connect: makes the client that the command asks; by default one for the real daemon.
    """

    args = None
    try:
        args = parse(argv)
        client = (connect or _client)(args, terminal)
        try:
            status: int = args.run(args, client, terminal)
            wrote = getattr(client, "wrote", None)
            if wrote and not getattr(args, "json", False):
                _announce(list(wrote), terminal)
        finally:
            client.close()
        terminal.flush()
    except YaadError as error:
        _print_error(_about_git_dir(error), terminal, as_json="--json" in argv)
        return _status(error.code, args)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001  (the last place to report it)
        import traceback

        ours = YaadError(
            Code.INTERNAL,
            f"This command ran into a bug in yaadwatch: {type(error).__name__}: {error}",
            hint="It may or may not have been done; see: yaadwatch status",
        )
        _print_error(ours, terminal, as_json="--json" in argv, trace=traceback.format_exc())
        return _status(Code.INTERNAL, args)
    return status


def _announce(paths: "list[str]", terminal: "Terminal") -> None:
    """Print which of the person's agent files a command wrote, and how to undo that."""
    import shlex

    named = shlex.quote(paths[0]) if len(paths) == 1 else "FILE"
    terminal.line(f"wrote {', '.join(paths)}; undo: yaadwatch files restore {named}")


def _about_git_dir(error: YaadError) -> YaadError:
    """Return the error of a folder without `.git`, with a hint about GIT_DIR."""
    named = os.environ.get("GIT_DIR")
    if not named or error.code is not Code.NOT_FOUND or _NO_REPOSITORY not in error.message:
        return error
    hint = f"GIT_DIR is set to {named}. yaadwatch does not use it: it watches folders with a .git."
    return YaadError(error.code, error.message, hint=f"{hint} {error.hint}".strip())


def _status(code: Code, args: "Namespace | None") -> int:
    """Return the exit status for an error; a command may define its own, except for usage."""
    own: int | None = getattr(args, "exit_on_error", None)
    if own is not None and code is not Code.BAD_REQUEST:
        return own
    return EXITS.get(code, 1)


def _for_agents(command: str, argv: "Sequence[str]") -> int:
    """Run the commands that agents start and wait for, without building the parser."""
    if command == "mcp":
        from yaadwatch.client import shim

        return shim.main(argv)
    from yaadwatch.client import hook

    return hook.main(argv)


def _client(args: "Namespace", terminal: "Terminal") -> "Client":
    from yaadwatch.client.connection import Client, agent_of

    def start() -> None:
        from yaadwatch.client import autostart

        autostart.start(on_wait=lambda s: terminal.progress(f"starting the daemon, {s} s"))

    def wait(seconds: int) -> None:
        terminal.progress(f"still working, {seconds} s")

    folder = _folder(args.project)
    found = agent_of(os.environ)
    agent = found[0] if found is not None else None
    if not args.starts_daemon:
        return Client(cwd=folder, agent=agent, on_wait=wait)
    from yaadwatch.cli.memories import Reader

    alone = partial(_print_from_store, terminal)
    return Reader(cwd=folder, agent=agent, start=start, on_wait=wait, on_alone=alone)


def _print_from_store(terminal: "Terminal", why: YaadError) -> None:
    """Print, beside the answer, that it came from the store without a daemon."""
    from yaadwatch.client.connection import DaemonUnresponsive

    terminal.end_progress()
    reason = f"{why.message}\n  {why.hint}" if why.hint else why.message
    what = "No daemon can be started; this is what the stores hold."
    if isinstance(why, DaemonUnresponsive):
        what = "This is what the stores hold, without the daemon."
    terminal.err.write(f"yaadwatch: {what} {reason}\n")


def _folder(given: str | None) -> str:
    try:
        return os.path.abspath(given) if given else os.getcwd()
    except FileNotFoundError:
        raise YaadError(
            Code.BAD_REQUEST,
            "The current folder no longer exists. Nothing was done.",
            hint="Go to another folder, or name one with --project DIR",
        ) from None


def _print_error(error: YaadError, terminal: "Terminal", *, as_json: bool, trace: str = "") -> None:
    """Say what went wrong: as JSON on standard output, else on standard error.

    Args:
        error: to report.
        terminal: where.
        as_json: whether a program reads it.
        trace: of a bug of ours; always goes to standard error.
    """
    from yaadwatch.cli.terminal import Terminal, Unwritten, styled

    is_printed = as_json and not isinstance(error, Unwritten) and _print_json_error(error, terminal)
    # Where standard error fails too, only the exit status is left.
    with contextlib.suppress(OSError, Unwritten):
        terminal.end_progress()
        terminal.err.write(trace)
        if is_printed:
            return
        complaints = Terminal(
            terminal.err, terminal.err, width=terminal.width, colour=terminal.colour
        )
        first, *rest = error.message.split("\n")
        complaints.line(styled("yaadwatch: ", "red"), first)
        for more in rest:
            complaints.line(more, indent=2)
        if error.hint:
            complaints.line(error.hint, indent=2)


def _print_json_error(error: YaadError, terminal: "Terminal") -> bool:
    """Print an error as JSON; return whether standard output took it."""
    from yaadwatch.api.frames import error_object
    from yaadwatch.cli.terminal import Unwritten

    try:
        terminal.json({"error": error_object(error)})
        terminal.flush()
    except Unwritten:
        return False
    return True


def _leave_unwritten() -> None:
    """Drop unwritten output, or the interpreter would complain at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


GROUPS = {
    "projects and their agent files": {
        "status": "status",
        "add": "projects",
        "remove": "projects",
        "list": "projects",
        "files": "projects",
    },
    "memories": {
        "remember": "memories",
        "recall": "memories",
        "show": "memories",
        "context": "memories",
        "review": "review",
        "history": "memories",
        "edit": "edit",
        "tag": "edit",
        "pin": "edit",
        "unpin": "edit",
        "forget": "edit",
        "restore": "edit",
    },
    "what may no longer be true": {
        "stale": "stale",
        "impact": "relations",
        "check": "stale",
        "confirm": "edit",
        "reanchor": "edit",
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
        "sessions": "tasks",
        "handoff": "tasks",
    },
    "relations": {
        "link": "relations",
        "unlink": "relations",
        "subgraph": "relations",
        "traverse": "relations",
        "inject": "relations",
        "graph": "relations",
    },
    "the store": {
        "upkeep": "store",
        "export": "store",
        "import": "store",
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
        "up": "service",
        "daemon": "service",
        "install": "service",
        "uninstall": "service",
        "start": "service",
        "stop": "service",
        "restart": "service",
        "logs": "logs",
        "config": "agents",
        "doctor": "doctor",
    },
    "more": {
        "completion": "agents",
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
        """Print help or the version; argparse ignores a failed write."""
        with report_unwritten():
            (file or sys.stdout).write(message)

    def exit(self, status: int = 0, message: str | None = None) -> "NoReturn":
        """End the command: help or the version was printed.

        Raises:
            Unwritten: it was not.
            SystemExit: it was.
        """
        with report_unwritten():
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
        return full_parser().parse_args(rest)
    parser = _parser(name)
    known, left = parser.parse_known_args(rest)
    if not left:
        return known
    if "--" in rest or any(one.startswith("-") for one in left):
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    # Words behind an option, as in `sessions note --session ID WORDS`.
    return parser.parse_intermixed_args(rest)


def full_parser() -> Parser:
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
    """Return the command and its arguments; no command when the whole parser is needed."""
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
    """Return the number of global options before the command."""
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
    """Help as wide as the terminal. With a given width argparse does not import shutil,
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
