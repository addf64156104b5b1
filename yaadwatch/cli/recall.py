"""Commands that ask: recall, context."""

from argparse import Namespace

from yaadwatch.api.messages.memories import Context, Recall
from yaadwatch.cli.commands import asked, command
from yaadwatch.cli.terminal import Terminal, styled, tell_hidden
from yaadwatch.cli.words import count, listed, noted, proposed, short, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client


@command(
    "recall",
    "find the memories that answer a question",
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
    takes=Recall,
)
def recall(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print the memories that answer a question, best first."""
    answer = client.call("recall", **asked(args, Recall))
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


@command(
    "context",
    "show the brief that an agent gets when it starts",
    examples=[
        ("yaadwatch context", "flags, rules, open tasks"),
        ("yaadwatch context --tokens 500 --json", "a shorter one, for scripts"),
    ],
    more="Flags come first, then rules, then open tasks. What your agent files say\n"
    "already is left out, unless it is flagged. Agents get it by themselves once\n"
    "you run: yaadwatch connect",
    takes=Context,
)
def context(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print the brief."""
    tokens = args.tokens_max or int(str(Context.FIELDS["tokens_max"].default))
    answer = client.call("context", **asked(args, Context), chars_max=8 * tokens)
    if args.json:
        terminal.json(answer)
        return 0
    if not answer["brief"]:
        terminal.line(
            "Nothing to tell: no flags, no rules but those in your agent files, no open tasks;"
            f" or none of them fits into {count(tokens, 'token')}."
        )
        return 0
    for line in str(answer["brief"]).splitlines():
        indent = len(line) - len(line.lstrip())
        terminal.line(styled(line, "bold" if line.startswith("#") else ""), hang=indent + 2)
    terminal.line(
        styled(
            f"{count(answer['stale'], 'flag')}, {count(answer['rules'], 'rule')},"
            f" {count(answer['tasks'], 'task')}; {answer['budget']['used']} tokens used,"
            f" {answer['budget']['left']} left",
            "dim",
        )
    )
    return 0
