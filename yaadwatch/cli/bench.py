"""The command bench: answer a benchmark's questions with the functions of the daemon."""

from argparse import Namespace

from yaadwatch.cli.parsing import Commands, Parser
from yaadwatch.cli.terminal import Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.client.connection import Client


def add_bench(commands: Commands) -> Parser:
    """Add `bench`."""
    command = commands.add(
        "bench",
        "judge memories between two commits, for benchmarks",
        bench,
        examples=[
            ("yaadwatch bench stale --git-dir . --base a --head b --memories m", "JSON lines"),
            ("yaadwatch bench --help", "what is m"),
        ],
        starts_daemon=False,
        more="No daemon and no store is used; memories are anchored at their own commits.",
    )
    command.add_argument("what", choices=("stale",), help="what is asked")
    command.add_argument("--git-dir", required=True, help="a repository, or a bare git folder")
    command.add_argument("--base", required=True, help="the oldest commit of a memory")
    command.add_argument("--head", required=True, help="the commit at which they are judged")
    command.add_argument(
        "--memories", required=True, help="lines of JSON: id, text, base, doc, heading"
    )
    command.add_argument("--mask", help="lists the files that must not be read, one a line")
    return command


def bench(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Answer one question of a benchmark."""
    from yaadwatch.bench import stale

    answers = stale(
        git_dir=args.git_dir,
        base=args.base,
        head=args.head,
        memories=args.memories,
        mask=args.mask,
    )
    for answer in answers:
        terminal.json(answer)
    return 0
