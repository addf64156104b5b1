"""The command `upkeep`: archive what has faded, prune what was archived long ago."""

from argparse import Namespace
from itertools import groupby

from yaadwatch.api.messages.memories import Upkeep
from yaadwatch.cli.commands import asked, command
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, folder, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client


@command(
    "upkeep",
    "archive faded memories, erase what was archived long ago",
    examples=[
        ("yaadwatch upkeep --dry-run", "what it would do"),
        ("yaadwatch upkeep", "do now what the daemon does daily"),
        ("yaadwatch upkeep --accept", "even if that is most of them"),
    ],
    more="The daemon does this daily. A memory fades with age, each kind at its own pace,\n"
    "unless it is confirmed, recalled or pinned. A faded memory is archived, and 90\n"
    "days later erased if no other memory needs it. When more than half of a store\n"
    "would go at once, nothing goes: check the clock first, then use --accept.",
    takes=Upkeep,
)
def upkeep(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what was archived and pruned, or would be."""
    answer = client.call("upkeep", **asked(args, Upkeep))
    if args.json:
        terminal.json(answer)
        return 0
    archived, pruned, dry = answer["archived"], answer["pruned"], answer["dry_run"]
    archive, erase, drop = (
        ("Would archive", "erase", "drop") if dry else ("Archived", "erased", "dropped")
    )
    names = count(answer["orphans"], "file or symbol", "files or symbols")
    terminal.line(
        f"{archive} {len(archived)}, {erase} {len(pruned)}, {drop} {names} that no memory is about;"
        f" looked at {count(answer['checked'], 'memory')}."
    )
    _tell(archive, archived, terminal)
    _tell("Would erase for good" if dry else "Erased for good", pruned, terminal)
    for held in answer.get("held", ()):
        terminal.line(
            styled(
                f"Held back in {folder(held['where'])}: {held['count']} of {held['of']} would be "
                f"{held['what']} at once. If that is right: yaadwatch upkeep --accept",
                "yellow",
            )
        )
    for skipped in answer["skipped"]:
        terminal.line(styled(f"skipped: {skipped}", "red"))
    if archived and not dry:
        terminal.line("Undo for one: yaadwatch restore ID --project DIR")
    return 0


def _tell(done: str, memories: "list[dict[str, Any]]", terminal: Terminal) -> None:
    for project, here in groupby(memories, key=lambda one: one["project"]):
        terminal.line(f"{done} in ", styled(folder(project), "bold"))
        terminal.table(
            [
                (styled(short(one["id"]), "bold"), *_confidence(one), str(one["text"]))
                for one in here
            ]
        )


def _confidence(memory: "dict[str, Any]") -> tuple[str, ...]:
    return (f"{memory['confidence']:.2f}",) if "confidence" in memory else ()
