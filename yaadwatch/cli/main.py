"""The command line: parse, call, print, and one way of saying what went wrong."""
# ruff: noqa: PTH100, PTH109

import os
import sys
from functools import partial

from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from yaadwatch.cli.terminal import Terminal
    from yaadwatch.client.connection import Client

EXITS = {
    Code.BAD_REQUEST: 2,
    Code.UNAVAILABLE: 3,
    Code.CONFLICT: 4,
    Code.REFUSED: 4,
}
"""Exit status by code; 1 for the others."""
INTERRUPTED = 130


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
        status = run(given, terminal)
        sys.stdout.flush()
    except BrokenPipeError:
        return _leave_closed_pipe()
    except KeyboardInterrupt:
        terminal.end_progress()
        return INTERRUPTED
    return status


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
    from yaadwatch.cli import parsing

    args = None
    try:
        args = parsing.parse(argv)
        client = (connect or _client)(args, terminal)
        try:
            status: int = args.run(args, client, terminal)
        finally:
            client.close()
    except YaadError as error:
        _tell(error, terminal, as_json="--json" in argv)
        return _status(error.code, args)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001  (the last one who can say anything)
        import traceback

        terminal.end_progress()
        traceback.print_exc(file=terminal.err)
        ours = YaadError(
            Code.INTERNAL,
            f"This command ran into a bug in yaadwatch: {type(error).__name__}: {error}",
            hint="It may or may not have been done; see: yaadwatch status",
        )
        _tell(ours, terminal, as_json="--json" in argv)
        return _status(Code.INTERNAL, args)
    return status


def _status(code: Code, args: "Namespace | None") -> int:
    """Return the exit status for an error; a command may have one of its own for all but usage."""
    own: int | None = getattr(args, "exit_on_error", None)
    if own is not None and code is not Code.BAD_REQUEST:
        return own
    return EXITS.get(code, 1)


def _for_agents(command: str, argv: "Sequence[str]") -> int:
    """Run what agents start by themselves, and wait for, without the rest of the command line."""
    if command == "mcp":
        from yaadwatch.client import shim

        return shim.main(argv)
    from yaadwatch.client import hook

    return hook.main(argv)


def _client(args: "Namespace", terminal: "Terminal") -> "Client":
    from yaadwatch.client.connection import Client

    def start() -> None:
        from yaadwatch.client import autostart

        autostart.start(on_wait=lambda s: terminal.progress(f"starting the daemon, {s} s"))

    def wait(seconds: int) -> None:
        terminal.progress(f"still working, {seconds} s")

    folder = _folder(args.project)
    if not args.starts_daemon:
        return Client(cwd=folder, on_wait=wait)
    from yaadwatch.cli.service.reading import Reader

    return Reader(cwd=folder, start=start, on_wait=wait, on_alone=partial(_tell_alone, terminal))


def _tell_alone(terminal: "Terminal", why: YaadError) -> None:
    """Say, beside the answer, that no daemon gave it."""
    from yaadwatch.client.connection import Silent

    terminal.end_progress()
    told = f"{why.message}\n  {why.hint}" if why.hint else why.message
    what = "No daemon can be started; this is what the stores hold."
    if isinstance(why, Silent):
        what = "This is what the stores hold, without the daemon."
    terminal.err.write(f"yaadwatch: {what} {told}\n")


def _folder(given: str | None) -> str:
    try:
        return os.path.abspath(given) if given else os.getcwd()
    except FileNotFoundError:
        raise YaadError(
            Code.BAD_REQUEST,
            "The current folder no longer exists. Nothing was done.",
            hint="Go to another folder, or name one with --project DIR",
        ) from None


def _tell(error: YaadError, terminal: "Terminal", *, as_json: bool) -> None:
    from yaadwatch.cli.terminal import Terminal, styled

    if as_json:
        from yaadwatch.api.frames import error_object

        terminal.json({"error": error_object(error)})
        return
    terminal.end_progress()
    complaints = Terminal(terminal.err, terminal.err, width=terminal.width, colour=terminal.colour)
    first, *rest = error.message.split("\n")
    complaints.line(styled("yaadwatch: ", "red"), first)
    for more in rest:
        complaints.line(more, indent=2)
    if error.hint:
        complaints.line(error.hint, indent=2)


def _leave_closed_pipe() -> int:
    """Whoever read our output has enough of it; keep the interpreter from complaining at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
