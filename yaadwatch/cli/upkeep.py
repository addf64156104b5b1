"""The command `upkeep`: archive what has faded, prune what was archived long ago."""

from argparse import Namespace

from yaadwatch.cli.parsing import Commands, Parser
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.client.connection import Client


def add_upkeep(commands: Commands) -> Parser:
    """Add `upkeep`."""
    command = commands.add(
        "upkeep",
        "archive what has faded, prune what was archived long ago",
        upkeep,
        examples=[
            ("yaadwatch upkeep --dry-run", "what it would do"),
            ("yaadwatch upkeep", "do now what the daemon does daily"),
        ],
    )
    command.add_argument("--dry-run", action="store_true", help="change nothing")
    return command


def upkeep(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what was archived and pruned, or would be."""
    answer = client.call("upkeep", dry_run=args.dry_run)
    if args.json:
        terminal.json(answer)
        return 0
    archived, pruned = answer["archived"], answer["pruned"]
    would = "Would archive" if answer["dry_run"] else "Archived"
    terminal.line(
        f"{would} {len(archived)}, {'prune' if answer['dry_run'] else 'pruned'} {len(pruned)},"
        f" of {count(answer['checked'], 'memory')};"
        f" {count(answer['orphans'], 'name', 'names')} that no memory is about any more."
    )
    if archived:
        terminal.table(
            [
                (styled(short(one["id"]), "bold"), f"{one['confidence']:.2f}", str(one["text"]))
                for one in archived
            ]
        )
    if pruned:
        terminal.line("Pruned for good" if not answer["dry_run"] else "For good")
        terminal.table([(styled(short(one["id"]), "bold"), str(one["text"])) for one in pruned])
    if archived and not answer["dry_run"]:
        terminal.line("Undo for one: yaadwatch restore ID")
    return 0
