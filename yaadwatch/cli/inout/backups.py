"""The commands that keep a store well: verify, compact, backup."""

from argparse import Namespace

from yaadwatch.api.messages.store import Backup, Compact, Verify
from yaadwatch.cli.commands import asked, command
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, folder, listed, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.client.connection import Client


@command(
    "verify",
    "check a store for damage",
    examples=[
        ("yaadwatch verify", "the memories of this project"),
        ("yaadwatch verify --repair", "rebuild what can be rebuilt"),
    ],
    more="Nothing is written without --repair. Exit status 1 when something is wrong.\n"
    "A store that cannot be opened at all: yaadwatch doctor",
    takes=Verify,
)
def verify(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what is wrong in a store, and the command that mends it."""
    answer = client.call("verify", **asked(args, Verify))
    status = 0 if answer["sound"] else 1
    if args.json:
        terminal.json(answer)
        return status
    for done in answer["repaired"]:
        terminal.line(f"Rebuilt: {done}.")
    for found in answer["findings"]:
        terminal.line(styled(str(found["what"]), "red"))
        terminal.line(f"fix: {found['mend']}", indent=2)
    where = folder(answer["path"])
    if answer["sound"]:
        terminal.line(f"{where} is sound. Checked: {listed(answer['checks'])}.")
    else:
        terminal.line(f"{count(len(answer['findings']), 'fault')} in {where}.")
    return status


@command(
    "compact",
    "shrink a store: give back the space of deleted data",
    examples=[
        ("yaadwatch compact", "the store of this project"),
        ("yaadwatch export --format store FILE", "a single file, to take elsewhere"),
    ],
    takes=Compact,
)
def compact(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print how large the store was and is."""
    answer = client.call("compact", **asked(args, Compact))
    if args.json:
        terminal.json(answer)
    else:
        terminal.line(
            f"{folder(answer['path'])}: {size(answer['before'])} before,"
            f" {size(answer['after'])} now."
        )
    return 0


@command(
    "backup",
    "back up a store now",
    examples=[
        ("yaadwatch backup", "the memories of this project"),
        ("yaadwatch backup --user", "your own store, for all projects"),
    ],
    more="The daemon does this daily. The newest seven copies that differ are kept, and\n"
    "of these at most three from the same day while there are older ones. When the\n"
    "store is lost, yaadwatch add --restore brings the newest copy back.",
    takes=Backup,
)
def backup(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print where the copy is."""
    answer = client.call("backup", **asked(args, Backup))
    if args.json:
        terminal.json(answer)
        return 0
    done = "Copied to" if answer["made"] else "Nothing has changed since"
    terminal.line(f"{done} {folder(answer['path'])} ({size(answer['bytes'])}).")
    terminal.line(f"{count(len(answer['kept']), 'copy')} kept.")
    if answer.get("restore"):
        terminal.line(f"To go back to it when the store is lost: {answer['restore']}")
    return 0
