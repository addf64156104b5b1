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
            ("yaadwatch bench stale --head v2 --memories m", "judge them at v2"),
            ("yaadwatch bench stale --head v2 --memories m --mask k", "read none of k"),
        ],
        starts_daemon=False,
        more="No daemon and no store is used; memories are anchored at their own commits. "
        "The words of a repository that is asked about often are kept in ~/.yaad/words.",
    )
    command.add_argument("what", choices=("stale",), help="what is asked")
    command.add_argument("--git-dir", default=".", metavar="DIR", help="the repository")
    command.add_argument("--base", default="", metavar="ID", help="of memories that name none")
    command.add_argument("--head", required=True, metavar="ID", help="the commit to judge at")
    command.add_argument(
        "--memories", required=True, metavar="FILE", help="lines of JSON: id, text, base, doc"
    )
    command.add_argument("--mask", metavar="FILE", help="paths that must not be read, one a line")
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
