"""The command bench: answer a benchmark's questions with the functions of the daemon."""

from argparse import Namespace

from yaadwatch.cli.parsing import Commands, Parser
from yaadwatch.cli.terminal import Terminal
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.client.connection import Client

_STALE, _RETRIEVAL = WHAT = ("stale", "retrieval")


def add_bench(commands: Commands) -> Parser:
    """Add `bench`."""
    command = commands.add(
        "bench",
        "judge memories, or find them, for benchmarks",
        bench,
        examples=[
            ("yaadwatch bench stale --head v2 --memories m", "judge them at v2"),
            ("yaadwatch bench stale --head v2 --memories m --mask k", "read none of k"),
            ("yaadwatch bench retrieval set.json --out run.json", "answer its questions"),
        ],
        starts_daemon=False,
        more="No daemon and no store of yours is used.\n"
        "stale: memories are anchored at their own commits; the words of a repository\n"
        "that is asked about often are kept in ~/.yaad/words.\n"
        "retrieval: the documents of SET become memories of a store made for it.",
    )
    command.add_argument("what", choices=WHAT, help="what is asked")
    command.add_argument(
        "set", nargs="?", metavar="SET", help="retrieval: JSON with docs and queries"
    )
    command.add_argument("--out", metavar="FILE", help="retrieval: write the ranked ids here")
    command.add_argument(
        "--vectors",
        metavar="MODEL",
        nargs="?",
        const="minilm",
        help="retrieval: by meaning too (default model: minilm)",
    )
    command.add_argument(
        "--kept",
        metavar="FILE",
        help="retrieval: keep vectors here from run to run, as far as they were made",
    )
    command.add_argument("--git-dir", default=".", metavar="DIR", help="stale: the repository")
    command.add_argument("--base", default="", metavar="ID", help="stale: of memories without one")
    command.add_argument("--head", metavar="ID", help="stale: the commit to judge at")
    command.add_argument(
        "--memories", metavar="FILE", help="stale: lines of JSON: id, text, base, doc"
    )
    command.add_argument(
        "--mask", metavar="FILE", help="stale: paths that must not be read, one a line"
    )
    return command


def bench(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Answer the questions of a benchmark."""
    if args.what == _RETRIEVAL:
        from yaadwatch.bench.retrieval import retrieval

        _require(args, "set", "SET")
        terminal.json(retrieval(args.set, args.out, args.vectors, args.kept))
        return 0
    from yaadwatch.bench.stale import stale

    _require(args, "head", "--head")
    _require(args, "memories", "--memories")
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


def _require(args: Namespace, name: str, shown: str) -> None:
    """Refuse a command line that lacks what this benchmark needs.

    Raises:
        YaadError: bad_request.
    """
    if getattr(args, name) is None:
        raise YaadError(
            Code.BAD_REQUEST,
            f"bench {args.what} needs {shown}. Nothing was done.",
            hint="How it is used: yaadwatch bench --help",
        )
