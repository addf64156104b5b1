"""The command bench: answer a benchmark's questions with the functions of the daemon."""

from argparse import Namespace

from yaadwatch.cli.parsing import Commands, Parser, file_name
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
        "run a benchmark on staleness or retrieval",
        bench,
        examples=[
            ("yaadwatch bench stale --head v2 --memories m", "judge memories at v2"),
            ("yaadwatch bench stale --head v2 --memories m --mask k", "without the paths in k"),
            ("yaadwatch bench retrieval set.json --out run.json", "answer its questions"),
        ],
        starts_daemon=False,
        more="Uses no daemon and none of your stores.\n"
        "stale: anchors each memory at its own commit and judges it at --head. The word\n"
        "index of a repository that is asked about often is kept in ~/.yaad/words.\n"
        "retrieval: puts the documents of SET into a store of their own, and asks.",
    )
    command.add_argument("what", choices=WHAT, metavar="{stale,retrieval}", help="which benchmark")
    command.add_argument(
        "set",
        nargs="?",
        metavar="SET",
        type=file_name,
        help="retrieval: a JSON file with docs and queries",
    )
    command.add_argument(
        "--out", metavar="FILE", type=file_name, help="retrieval: write the ranked ids here"
    )
    command.add_argument(
        "--vectors",
        metavar="MODEL",
        nargs="?",
        const="minilm",
        help="retrieval: search by meaning as well (default model: minilm)",
    )
    command.add_argument(
        "--kept",
        metavar="FILE",
        type=file_name,
        help="retrieval: keep the vectors in this file between runs",
    )
    command.add_argument(
        "--git-dir", default=".", metavar="DIR", type=file_name, help="stale: the repository"
    )
    command.add_argument(
        "--base", default="", metavar="ID", help="stale: the base commit of memories that name none"
    )
    command.add_argument("--head", metavar="ID", help="stale: the commit to judge at")
    command.add_argument(
        "--memories",
        metavar="FILE",
        type=file_name,
        help="stale: lines of JSON: id, text, base, doc",
    )
    command.add_argument(
        "--mask",
        metavar="FILE",
        type=file_name,
        help="stale: paths that must not be read, one a line",
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
