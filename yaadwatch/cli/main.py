"""The command line: parse, call the command, print the result or the error.

`MODULES` says which module declares a command. Only the parser of the requested command is built,
because agents run commands often; help and completion build all of them, from the same functions.
"""

import contextlib
import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
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


EXITS = {Code.BAD_REQUEST: 2, Code.UNAVAILABLE: 3, Code.CONFLICT: 4, Code.REFUSED: 4}
"""Exit status by code; 1 for the others."""


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: the arguments; those of the process by default.
    """
    given = sys.argv[1:] if argv is None else argv
    if given and given[0] in {"hook", "mcp"} and not {"-h", "--help"} & set(given):
        # Agents start these and wait for them: no parser is built.
        return _for_agents(given[0], given[1:])
    from yaadwatch.cli.terminal import of_process

    terminal = of_process()
    try:
        return run(given, terminal)
    except BrokenPipeError:
        return 0  # the reader of our output has closed it
    except KeyboardInterrupt:
        terminal.end_progress()
        return 130
    finally:
        _drop_unwritten()


def _for_agents(command: str, argv: "Sequence[str]") -> int:
    if command == "mcp":
        from yaadwatch.client import shim

        return shim.main(argv)
    from yaadwatch.client import hook

    return hook.main(argv)


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
    args, as_json = None, "--json" in argv
    try:
        args = parse(argv)
        client = (connect or _client)(args, terminal)
        try:
            status = _run_command(args, client, terminal)
        finally:
            client.close()
        terminal.flush()
    except YaadError as error:
        return _report(error, args, terminal, as_json=as_json)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001  (the last place to report it)
        import traceback

        ours = YaadError(
            Code.INTERNAL,
            f"This command ran into a bug in yaadwatch: {type(error).__name__}: {error}",
            hint="It may or may not have been done; see: yaadwatch status",
        )
        return _report(ours, args, terminal, as_json=as_json, trace=traceback.format_exc())
    return status


def _run_command(args: Namespace, client: "Client", terminal: "Terminal") -> int:
    """Run a command; where no daemon can be asked, the stores answer what only reads."""
    terminal.now = client.now
    try:
        status: int = args.run(args, client, terminal)
    except YaadError as error:
        if not args.starts_daemon or error is not client.unreachable:
            raise
        from yaadwatch.cli.offline import Stores

        stores = Stores(_folder(args.project), error, terminal)
        terminal.now = stores.now
        return int(args.run(args, stores, terminal))
    if client.wrote and not args.json:
        import shlex

        paths = list(client.wrote)
        named = shlex.quote(paths[0]) if len(paths) == 1 else "FILE"
        terminal.line(f"wrote {', '.join(paths)}; undo: yaadwatch files restore {named}")
    return status


def _client(args: "Namespace", terminal: "Terminal") -> "Client":
    from yaadwatch.client.connection import Client, agent_of

    def start() -> None:
        from yaadwatch.client import autostart

        autostart.start(on_wait=lambda s: terminal.progress(f"starting the daemon, {s} s"))

    agent = agent_of(os.environ)
    return Client(
        cwd=_folder(args.project),
        agent=None if agent is None else agent[0],
        start=start if args.starts_daemon else None,
        on_wait=lambda s: terminal.progress(f"still working, {s} s"),
    )


def _folder(given: str | None) -> str:
    try:
        return os.path.abspath(given) if given else os.getcwd()
    except FileNotFoundError:
        raise YaadError(
            Code.BAD_REQUEST,
            "The current folder no longer exists. Nothing was done.",
            hint="Go to another folder, or name one with --project DIR",
        ) from None


def _report(
    error: YaadError,
    args: "Namespace | None",
    terminal: "Terminal",
    *,
    as_json: bool,
    trace: str = "",
) -> int:
    """Print an error, as JSON on standard output, else on standard error; return the exit status.

    `trace`: of a bug of ours; always goes to standard error.
    """
    from yaadwatch.api.frames import error_object
    from yaadwatch.cli.terminal import Terminal, Unwritten, styled

    try:
        if as_json and not isinstance(error, Unwritten):
            terminal.json({"error": error_object(error)})
            terminal.flush()
    except Unwritten:
        as_json = False
    # Where standard error fails too, only the exit status is left.
    with contextlib.suppress(OSError, Unwritten):
        terminal.end_progress()
        terminal.err.write(trace)
        if not as_json or isinstance(error, Unwritten):
            err = Terminal(terminal.err, terminal.err, width=terminal.width, colour=terminal.colour)
            first, *rest = error.message.split("\n")
            err.line(styled("yaadwatch: ", "red"), first)
            for more in [*rest, *filter(None, [error.hint])]:
                err.line(more, indent=2)
    own: int | None = getattr(args, "exit_on_error", None)
    is_own = own is not None and error.code is not Code.BAD_REQUEST
    return own if is_own and own is not None else EXITS.get(error.code, 1)


def _drop_unwritten() -> None:
    """Drop unwritten output, or the interpreter would complain at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


GROUPS: dict[str, tuple[str, ...]] = {
    "projects and their agent files": ("status", "add", "remove", "list", "files"),
    "memories": (
        *("remember", "recall", "show", "context", "review", "history"),
        *("edit", "tag", "pin", "unpin", "forget", "restore"),
    ),
    "what may no longer be true": (
        *("stale", "impact", "facts", "check", "confirm", "reanchor"),
        *("claims", "contradictions", "resolve", "gaps"),
    ),
    "tasks and sessions": ("tasks", "task", "skill", "sessions", "handoff"),
    "relations": ("link", "unlink", "subgraph", "traverse", "inject", "graph"),
    "the store": ("upkeep", "export", "import", "verify", "compact", "backup", "embed"),
    "agents": ("connect", "disconnect", "hook", "mcp"),
    "the daemon": (
        *("up", "daemon", "install", "uninstall", "start", "stop", "restart"),
        *("logs", "config", "doctor"),
    ),
    "more": ("completion",),
}
"""The commands by what they are about, in the order of the help."""
MODULES: dict[str, tuple[str, ...]] = {
    "status": ("status",),
    "projects": ("add", "remove", "list", "files"),
    "memories": ("remember", "recall", "show", "context", "history"),
    "edit": ("edit", "tag", "pin", "unpin", "forget", "restore", "confirm", "reanchor"),
    "review": ("review",),
    "stale": ("stale",),
    "check": ("check",),
    "facts": ("facts",),
    "tasks": GROUPS["tasks and sessions"],
    "relations": (
        *(*GROUPS["relations"], "impact"),
        *("claims", "contradictions", "resolve", "gaps"),
    ),
    "store": GROUPS["the store"],
    "agents": ("hook", "mcp", "daemon", "config", "completion"),
    "connect": ("connect", "disconnect"),
    "service": ("install", "uninstall", "start", "restart"),
    "daemon": ("up", "stop"),
    "logs": ("logs",),
    "doctor": ("doctor",),
}
"""The commands that a module declares, see `yaadwatch.cli.commands`."""
COMMANDS = {name: module for module, names in MODULES.items() for name in names}

PROGRAM = "yaadwatch"
HELP = """\
yaadwatch keeps what coding agents remember true. It reads the agent files of
your repositories (CLAUDE.md, AGENTS.md and others), watches the code they
describe, and tells you which statements may no longer hold, and why.
"""
EPILOG = """\
examples:
  yaadwatch add ~/src/api  watch a repository
  yaadwatch connect        give your agents this memory, and its warnings
  yaadwatch install        start the daemon at every login
  yaadwatch stale          what may no longer be true here
  yaadwatch doctor         find out why something does not work

Without a command: status. Help for one command: yaadwatch COMMAND --help"""


class Parser(ArgumentParser):
    """An argument parser that raises its complaints instead of ending the process."""

    def __init__(self, **about: "Any") -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **about)
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
        what = message.replace("invalid choice:", "no such choice:")
        hint = f"How it is used: {self.prog} --help"
        raise YaadError(Code.BAD_REQUEST, f"{what}. Nothing was done.", hint=hint)


def parse(argv: Sequence[str]) -> Namespace:
    """Return what the command line asks for; `run` in it is the function that does it.

    Raises:
        YaadError: bad_request, when it makes no sense.
        SystemExit: help or the version was asked for, and was printed.
    """
    name, rest = _command(argv)
    if name is None:
        parser = _bare_parser() if rest == ["--version"] else full_parser()
        return parser.parse_args(rest)
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
    parser = _bare_parser()
    whole = parser.add_subparsers(title="commands", metavar="COMMAND", prog=PROGRAM)
    for names in GROUPS.values():
        for name in names:
            _parser(name, whole)
    return parser


def _bare_parser() -> Parser:
    """Return the parser without the commands, most of whose modules need not be imported."""
    from yaadwatch.places import VERSION

    parser = Parser(prog=PROGRAM, description=HELP, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"yaadwatch {VERSION}")
    return parser


def _command(argv: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the command and its arguments; no command when the whole parser is needed."""
    at = 0
    while at < len(argv) and (argv[at] == "--json" or argv[at].startswith("--project")):
        at += 2 if argv[at] == "--project" else 1
    if at >= len(argv):
        return "status", argv
    first = argv[at]
    if first in COMMANDS:
        return first, [*argv[:at], *argv[at + 1 :]]
    if first in {"-h", "--help", "--version"}:
        return None, [first]
    if first.startswith("-"):
        return "status", argv
    from difflib import get_close_matches

    near = get_close_matches(first, COMMANDS, n=1, cutoff=0.7)
    raise YaadError(
        Code.BAD_REQUEST,
        f"There is no command {first!r}. Nothing was done.",
        hint=f"The nearest one is: yaadwatch {near[0]}"
        if near
        else "All commands: yaadwatch --help",
    )


def _parser(name: str, whole: "_SubParsersAction[Parser] | None" = None) -> Parser:
    """Return the parser of a command, alone or as a part of `whole`.

    It takes `--json` and `--project` besides its own options.
    """
    import_module(f"yaadwatch.cli.{COMMANDS[name]}")
    command = DECLARED[name]
    about: dict[str, Any] = {"description": command.description, "epilog": command.epilog}
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
    return parser


class _Formatter(RawDescriptionHelpFormatter):
    """Help as wide as the terminal. With a given width argparse does not import shutil,
    which it would even when no help is printed.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=min(columns(), 100))
        # argparse forgets that commands are indented, and would put the longest on a line alone.
        self._action_max_length = max(map(len, COMMANDS)) + 4
        self._headings = {group[0]: about for about, group in GROUPS.items() if prog == PROGRAM}

    def _format_action(self, action: "Action") -> str:
        text = super()._format_action(action)
        about = self._headings.get(action.dest)
        return text if about is None else f"\n{' ' * (self._current_indent - 2)}{about}:\n{text}"
