"""The command line: parse, call, print, and one way of saying what went wrong."""
# ruff: noqa: PTH100, PTH109

import contextlib
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
        return 0  # whoever read our output has enough of it
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
    from yaadwatch.cli import parsing

    args = None
    try:
        args = parsing.parse(argv)
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
        _tell(_about_git_dir(error), terminal, as_json="--json" in argv)
        return _status(error.code, args)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001  (the last one who can say anything)
        import traceback

        ours = YaadError(
            Code.INTERNAL,
            f"This command ran into a bug in yaadwatch: {type(error).__name__}: {error}",
            hint="It may or may not have been done; see: yaadwatch status",
        )
        _tell(ours, terminal, as_json="--json" in argv, trace=traceback.format_exc())
        return _status(Code.INTERNAL, args)
    return status


def _announce(paths: "list[str]", terminal: "Terminal") -> None:
    """Print which agent files of the person a command wrote, and how to undo that."""
    import shlex

    named = shlex.quote(paths[0]) if len(paths) == 1 else "FILE"
    terminal.line(f"wrote {', '.join(paths)}; undo: yaadwatch files restore {named}")


def _about_git_dir(error: YaadError) -> YaadError:
    """Return the error of a folder without `.git`, with what GIT_DIR has to do with it."""
    named = os.environ.get("GIT_DIR")
    if not named or error.code is not Code.NOT_FOUND or _NO_REPOSITORY not in error.message:
        return error
    told = f"GIT_DIR is set to {named}. yaadwatch does not use it: it watches folders with a .git."
    return YaadError(error.code, error.message, hint=f"{told} {error.hint}".strip())


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
    from yaadwatch.client.invoker import agent_of

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
    from yaadwatch.cli.reading import Reader

    alone = partial(_tell_alone, terminal)
    return Reader(cwd=folder, agent=agent, start=start, on_wait=wait, on_alone=alone)


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


def _tell(error: YaadError, terminal: "Terminal", *, as_json: bool, trace: str = "") -> None:
    """Say what went wrong: as JSON on standard output, else on standard error.

    Args:
        error: what is told.
        terminal: where.
        as_json: whether a program reads it.
        trace: of a bug of ours; always goes to standard error.
    """
    from yaadwatch.cli.terminal import Terminal, Unwritten, styled

    told = as_json and not isinstance(error, Unwritten) and _told_program(error, terminal)
    # Where standard error takes nothing either, the exit status alone tells.
    with contextlib.suppress(OSError, Unwritten):
        terminal.end_progress()
        terminal.err.write(trace)
        if told:
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


def _told_program(error: YaadError, terminal: "Terminal") -> bool:
    """Tell an error as JSON; return whether standard output took it."""
    from yaadwatch.api.frames import error_object
    from yaadwatch.cli.terminal import Unwritten

    try:
        terminal.json({"error": error_object(error)})
        terminal.flush()
    except Unwritten:
        return False
    return True


def _leave_unwritten() -> None:
    """Give up what could not be written, or the interpreter would complain of it when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
