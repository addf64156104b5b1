"""The command recall: ask a question, say which memories are meant, and how much is told."""

from argparse import Namespace

from yaadwatch.cli.parsing import Commands, Parser, fraction, whole_number
from yaadwatch.cli.terminal import Terminal, styled, tell_hidden
from yaadwatch.cli.words import count, listed, noted, proposed, short, worded
from yaadwatch.model.nodes import SCOPES
from yaadwatch.model.recall import DEPTHS, MERGES, STRATEGIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

_GIVEN = (
    *("top_k", "scope", "path", "agent", "session", "at", "depth"),
    *("strategy", "merge", "min_score", "semantic_weight", "all_branches"),
)
"""What is asked for only when it was given."""


def add_recall(commands: Commands) -> Parser:
    """Add `recall`."""
    command = commands.add(
        "recall",
        "find the memories that answer a question",
        recall,
        examples=[
            ("yaadwatch recall how do we sign tokens", "a question in your own words"),
            ("yaadwatch recall src/auth.ts", "what is known about a file"),
            ("yaadwatch recall jose --kind decision --json", "for scripts"),
            ("yaadwatch recall retry --path src --tag http", "about a folder, with a tag"),
            ("yaadwatch recall deploy --at 2026-03-01", "what was known on that day"),
            ("yaadwatch recall deploy --agent claude", "what claude remembered"),
        ],
        more="Any of the words may match; rare words count most. Words in double quotes must\n"
        "stand together. A key, a title, a path or the end of a path finds what it\n"
        "names. Archived memories are left out. Memories from branches that are not\n"
        "merged here are only counted, unless you give --all-branches.",
    )
    command.add_argument("query", metavar="WORDS", nargs="+", help="the question")
    which = command.add_argument_group("which memories")
    which.add_argument(
        "--kind",
        metavar="KIND",
        dest="kinds",
        action="append",
        default=[],
        help="only this kind; may be repeated",
    )
    which.add_argument("--scope", choices=SCOPES, help="only this project's, or only your own")
    which.add_argument(
        "--path", help="only memories that rest on this file, or on a file in this folder"
    )
    which.add_argument(
        "--tag",
        metavar="T",
        dest="tags",
        action="append",
        default=[],
        help="only with this tag; given several times: with all of them",
    )
    which.add_argument("--agent", metavar="NAME", help="only what this agent remembered")
    which.add_argument("--session", metavar="ID", help="only what was remembered in this session")
    which.add_argument(
        "--at", metavar="TIME", help="what was known on this day or at this time, as it read then"
    )
    which.add_argument(
        "--all-branches",
        action="store_const",
        const=True,
        help="also memories from branches that are not merged here",
    )
    told = command.add_argument_group("how much is printed")
    told.add_argument(
        "--top",
        metavar="N",
        dest="top_k",
        type=whole_number,
        help="at most so many memories (default: 10)",
    )
    told.add_argument(
        "--tokens",
        metavar="N",
        dest="tokens_max",
        type=whole_number,
        default=800,
        help="at most so many tokens (default: 800)",
    )
    told.add_argument(
        "--depth", choices=DEPTHS, help="how much of each memory (default: auto, as much as fits)"
    )
    told.add_argument(
        "--min-score", metavar="S", type=fraction, help="leave out lower scores, 0 to 1"
    )
    found = command.add_argument_group("how they are found")
    found.add_argument(
        "--strategy",
        choices=STRATEGIES,
        help="by words (bm25), or by meaning as well (default: auto)",
    )
    found.add_argument(
        "--merge", choices=MERGES, help="how words and meaning are combined (default: blend)"
    )
    found.add_argument(
        "--semantic-weight", metavar="W", type=fraction, help="how much meaning counts, 0 to 1"
    )
    return command


def recall(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print the memories that answer a question, best first."""
    given = {name: getattr(args, name) for name in _GIVEN}
    answer = client.call(
        "recall",
        query=" ".join(args.query),
        tokens_max=args.tokens_max,
        kinds=args.kinds,
        **({"tags": args.tags} if args.tags else {}),
        **{name: value for name, value in given.items() if value is not None},
    )
    if args.json:
        terminal.json(answer)
        return 0
    results = answer["results"]
    if not results:
        terminal.line("Nothing is remembered about that. Fewer or other words may find it.")
        tell_hidden(answer, terminal)
        return 0
    for found in results:
        _print(found, terminal)
    for edge in answer.get("edges", ()):
        terminal.line(
            styled(f"{short(edge['from'])} {edge['kind']} {short(edge['to'])}", "dim"), indent=10
        )
    budget = answer["budget"]
    terminal.line(
        styled(
            f"{count(len(results), 'memory')}, {budget['used']} tokens used, {budget['left']} left",
            "dim",
        )
    )
    tell_hidden(answer, terminal)
    return 0


def _print(found: "dict[str, Any]", terminal: Terminal) -> None:
    own = ", yours" if found.get("scope") == "user" else ""
    state = f", {found['state']}" if found.get("state") else ""
    more = "" if found["depth"] == "full" else f", {found['depth']}"
    terminal.line(
        styled(short(found["id"]), "bold"),
        styled(f"  {found['score']:.2f}  {found['kind']}{state}{own}{more}  ", "dim"),
        worded(found),
        hang=10,
    )
    if found.get("approved_at"):
        terminal.line(styled(noted(found), "dim"), indent=10)
    if new := proposed(found):
        terminal.line(styled(new, "dim"), indent=10)
    if found["stale"]:
        terminal.line(styled(f"may be stale: {found['stale']['verdict']}", "yellow"), indent=10)
    if later := found.get("superseded_by"):
        ids = listed([short(one["id"]) for one in later])
        terminal.line(styled(f"superseded by {ids}", "yellow"), indent=10)
