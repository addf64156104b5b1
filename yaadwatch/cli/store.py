"""The commands upkeep, verify, compact, backup and embed, and export and import.

Export and import read and write the files of the user, with the user's rights; the daemon sees only
their contents.
"""

import os
import time
from argparse import Namespace
from itertools import groupby

from yaadwatch.api.messages.memories import Upkeep
from yaadwatch.api.messages.store import (
    Backup,
    Compact,
    EmbedDisable,
    EmbedEnable,
    Export,
    Import,
    Verify,
)
from yaadwatch.cli import outside
from yaadwatch.cli.commands import command, file_name, given_fields, option
from yaadwatch.cli.terminal import (
    Terminal,
    count,
    folder,
    in_a_row,
    in_command,
    short,
    size,
    styled,
)
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from yaadwatch.client.connection import Client


# ruff: noqa: PTH100, PTH111, PTH112


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
    answer = client.call("verify", **given_fields(args, Verify))
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
        terminal.line(f"{where} is sound. Checked: {in_a_row(answer['checks'])}.")
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
    answer = client.call("compact", **given_fields(args, Compact))
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
    answer = client.call("backup", **given_fields(args, Backup))
    if args.json:
        terminal.json(answer)
        return 0
    done = "Copied to" if answer["made"] else "Nothing has changed since"
    terminal.line(f"{done} {folder(answer['path'])} ({size(answer['bytes'])}).")
    terminal.line(f"{count(len(answer['kept']), 'copy')} kept.")
    if answer.get("restore"):
        terminal.line(f"To go back to it when the store is lost: {answer['restore']}")
    return 0


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
    answer = client.call("upkeep", **given_fields(args, Upkeep))
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
    _print_upkeep(archive, archived, terminal)
    _print_upkeep("Would erase for good" if dry else "Erased for good", pruned, terminal)
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


def _print_upkeep(done: str, memories: "list[dict[str, Any]]", terminal: Terminal) -> None:
    for project, here in groupby(memories, key=lambda one: one["project"]):
        terminal.line(f"{done} in ", styled(folder(project), "bold"))
        terminal.table(
            [
                (
                    styled(short(one["id"]), "bold"),
                    *([f"{one['confidence']:.2f}"] if "confidence" in one else []),
                    str(one["text"]),
                )
                for one in here
            ]
        )


ACTIONS = ("status", "enable", "disable", "rebuild", "rollback")
WAIT_PAUSE_S = 0.5
STATES = {
    "active": "answers questions",
    "filling": "is being filled",
    "kept": "kept, to go back to",
}


@command(
    "embed",
    "search by meaning, with a model on this machine",
    examples=[
        ("yaadwatch embed", "how questions are answered now"),
        ("yaadwatch embed enable", "the first known model installed"),
        ("yaadwatch embed enable ~/e5 --wait", "use a model in a folder, and wait"),
        ("yaadwatch embed rollback", "back to the previous model, at once"),
        ("yaadwatch embed disable", "words only; the vectors are kept"),
    ],
    more="Without a model, questions are answered by words. Nothing is ever downloaded: a\n"
    "missing model is named, with the command that installs it. MODEL may be a\n"
    "folder with model.onnx and tokenizer.json, or with a sentence-transformers\n"
    "model. Vectors are computed in the background, and used once every memory has\n"
    "one.",
    takes=(EmbedEnable, EmbedDisable),
    options=[
        option(
            "action",
            choices=ACTIONS,
            nargs="?",
            default="status",
            help="what to do (default: status)",
        ),
        option("--wait", action="store_true", help="wait until every memory has a vector"),
    ],
)
def embed(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Do what was asked about models, and print how they are then."""
    answer = _ask(args, client)
    if args.wait:
        answer = _wait(answer, client, terminal)
    if args.json:
        terminal.json(answer)
    else:
        _print_embed(answer, terminal)
    return 0


def _ask(args: Namespace, client: "Client") -> "dict[str, Any]":
    if args.model and args.action != "enable":
        raise YaadError(
            Code.BAD_REQUEST,
            f"{args.action} is not about one model; nothing was done.",
            hint=f"yaadwatch embed enable {args.model}",
        )
    if args.erase and args.action != "disable":
        raise YaadError(
            Code.BAD_REQUEST, "Only disable takes --erase; nothing was done.", hint="embed --help"
        )
    if args.action == "enable":
        return client.call("embed_enable", model=_model(args.model))
    if args.action == "disable":
        return client.call("embed_disable", **given_fields(args, EmbedDisable))
    return client.call(f"embed_{args.action}")


def _model(given: str | None) -> str | None:
    """Return a folder as an absolute path, and any other name unchanged."""
    if given is None:
        return None
    place = os.path.expanduser(given)
    return os.path.abspath(place) if os.sep in given or os.path.isdir(place) else given


def _wait(answer: "dict[str, Any]", client: "Client", terminal: Terminal) -> "dict[str, Any]":
    """Poll until no model is being filled, or its worker failed."""
    while True:
        filling = [model for model in answer["models"] if model["state"] == "filling"]
        broken = [model for model in filling if (model["worker"] or {}).get("state") == "broken"]
        if not filling or broken:
            terminal.end_progress()
            return answer
        terminal.progress(f"{filling[0]['space']}: {filling[0]['percent']} %")
        time.sleep(WAIT_PAUSE_S)
        answer = client.call("embed_status")


def _print_embed(answer: "dict[str, Any]", terminal: Terminal) -> None:
    terminal.line(styled(f"searches by {answer['search']}", "bold"), f" ({answer['why']})")
    for model in answer["models"]:
        terminal.line(
            styled(str(model["space"]), "bold"),
            f"  {STATES[model['state']]}, {model['percent']} % of the memories",
            indent=2,
        )
        terminal.line(f"{model['name']}, {model['dimensions']} dimensions", indent=4)
        terminal.line(*_worker(model["worker"]), indent=4)
        terminal.table(
            [
                (
                    folder(store["path"]),
                    f"{store['filled']} of {count(store['memories'], 'memory')}",
                )
                for store in model["stores"]
            ],
            indent=4,
        )
    if not answer["models"]:
        _print_models(answer["known"], terminal)
    if not answer["extension"]:
        terminal.line(styled("sqlite-vec is not installed: the same answers, slower", "yellow"))
    for problem in answer["problems"]:
        terminal.line(styled(str(problem), "red"))


def _store(store: "dict[str, Any]") -> tuple[str, str]:
    return folder(store["path"]), f"{store['filled']} of {count(store['memories'], 'memory')}"


def _worker(worker: "dict[str, Any] | None") -> tuple[str, ...]:
    if worker is None or worker["state"] == "cold":
        return ("its process is not running; it starts when it is needed",)
    if worker["state"] == "broken":
        return ("its process ", styled(f"broke: {worker['why']}", "red"))
    memory = f", memory {size(worker['rss_bytes'])}" if worker.get("rss_bytes") else ""
    return (f"its process is {worker['state']}, pid {worker['pid']}{memory}",)


def _print_models(known: "list[dict[str, Any]]", terminal: Terminal) -> None:
    for model in known:
        state = "installed" if not model["missing"] else f"not installed; it is {model['fetches']}"
        terminal.line(styled(str(model["name"]), "bold"), f"  {state}", indent=2)
    ready = next((model["name"] for model in known if not model["missing"]), "")
    if ready:
        terminal.line(f"Enable it: yaadwatch embed enable {ready}")
    else:
        terminal.line(
            "Install one: uv tool install 'yaadwatch[onnx]', or: pipx install --force"
            " 'yaadwatch[onnx]'"
        )


# ruff: noqa: PTH100


_TOLD = 20
_EXPORT_MORE = """\
Formats:
jsonl     everything, one JSON object a line; importing it gives an equal store
markdown  a folder with a page for each memory, an index, Obsidian links and
          earlier versions in .archive; pages that you wrote are left alone
store     a single file: the store itself, compact, to take elsewhere
To read it in again: yaadwatch import"""
_IMPORT_MORE = """\
A folder is read as markdown pages, .jsonl as an export, a database as the store
of yaadwatch or of another Yaad, any other file as an agent file. An export or a
store brings everything, the others bring living memories. Nothing is imported
twice. What it says counts as the import's until you approve it (yaadwatch
review), unless you say with --mine that it is your own export. What is here
already stays; conflicts are listed. Secrets are masked. Either everything is
imported or nothing."""


@command(
    "export",
    "write memories to a file or a folder",
    examples=[
        ("yaadwatch export memories.jsonl", "everything"),
        ("yaadwatch export notes --format markdown", "pages to read, also in Obsidian"),
        ("yaadwatch export - | gzip > m.jsonl.gz", "into a pipe"),
    ],
    more=_EXPORT_MORE,
    takes=Export,
    options=[
        option(
            "target", metavar="PATH", type=file_name, help="a file or folder; - is standard output"
        ),
        option(
            "--force",
            action="store_true",
            help="overwrite a file, or exported pages that were edited",
        ),
    ],
)
def export(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Write what the daemon hands out, a piece at a time."""
    form = args.format or "jsonl"
    folders = form == "markdown"
    if args.target == "-" and folders:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{form} is many files. Nothing was exported.",
            hint="Name a folder.",
        )
    counts: dict[str, int] = {}
    pieces = _pieces(args, client, terminal, counts)
    if folders:
        done = outside.write_folder(
            os.path.abspath(args.target),
            outside.files(pieces),
            force=args.force,
        )
        answer = {"path": os.path.abspath(args.target), "format": form} | done
    elif args.target == "-":
        for piece in pieces:
            terminal.raw(piece)
        return 0
    else:
        path = os.path.abspath(args.target)
        written = outside.write_file(path, pieces, force=args.force)
        answer = {"path": path, "format": form, "bytes": written, "counts": counts}
    if args.json:
        terminal.json(answer)
        return 0
    if folders:
        _print_folder(answer, terminal)
        return 0
    text = ", ".join(f"{number} {name}" for name, number in counts.items())
    what = f" ({text})" if text else ""
    terminal.line(f"{folder(answer['path'])}: {size(answer['bytes'])}{what}.")
    terminal.line(f"To bring it back: yaadwatch import {in_command(answer['path'])}")
    return 0


def _print_folder(answer: "dict[str, Any]", terminal: Terminal) -> None:
    for path in answer["left_alone"][:_TOLD]:
        terminal.line(styled(f"left alone: {path}", "yellow"), ", which is not as we wrote it")
    terminal.line(
        f"{folder(answer['path'])}: {count(answer['written'], 'file')} written,"
        f" {answer['same']} as before, {answer['removed']} removed,"
        f" {len(answer['left_alone'])} left alone."
    )


def _pieces(
    args: Namespace, client: "Client", terminal: Terminal, counts: "dict[str, int]"
) -> "Iterator[bytes]":
    """Yield the pieces of an export from the daemon."""
    import base64

    fields = given_fields(args, Export)
    while True:
        answer = client.call("export", **fields)
        counts.update(answer["counts"])
        yield base64.b64decode(answer["data"])
        if answer["after"] is None:
            return
        terminal.progress(f"{100 * answer['after'] // max(answer['total'], 1)} % exported")
        fields |= {"upload": answer["upload"], "after": answer["after"]}


@command(
    "import",
    "read memories from a file or a folder",
    examples=[
        ("yaadwatch import memories.jsonl --dry-run", "what it would bring"),
        ("yaadwatch import ~/notes", "pages of markdown"),
        ("yaadwatch import ~/old/.yaad/yaad.db", "the database of another Yaad"),
        ("yaadwatch import --list", "what was imported"),
    ],
    more=_IMPORT_MORE,
    takes=Import,
    options=[
        option("source", metavar="PATH", type=file_name, nargs="?", help="a file or a folder"),
        option("--list", action="store_true", help="print what was imported"),
    ],
)
def take_in(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Send what a file or folder holds; print what became of it."""
    if args.list:
        return _list(args, client, terminal)
    if args.source is None:
        raise YaadError(
            Code.BAD_REQUEST,
            "Say what to import. Nothing was done.",
            hint="yaadwatch import PATH",
        )
    source = os.path.abspath(args.source)
    outside.require_plain(source)
    form = args.format or outside.format_of(source)
    unread: list[str] = []
    fields: dict[str, object] = {
        **given_fields(args, Import),
        "format": form,
        "source": source.rpartition("/")[2],
    }
    fields.pop("dry_run", None)
    total = outside.size_of(source)
    sent = 0
    for part, piece in outside.parts(source, form, unread):
        answer = client.call("import", part=part, data=piece, **fields)
        fields["upload"] = answer["upload"]
        sent += len(piece) * 3 // 4
        terminal.progress(f"{min(100 * sent // max(total, 1), 100)} % read")
    answer = client.call("import", last=True, dry_run=args.dry_run, **fields)
    answer["unread"] = unread
    if args.json:
        terminal.json(answer)
    else:
        _print_moved(answer, terminal)
    return 0


def _list(args: Namespace, client: "Client", terminal: Terminal) -> int:
    answer = client.call("imports", user=args.user)
    if args.json:
        terminal.json(answer)
        return 0
    rows = [
        (
            styled(short(one["id"]), "bold"),
            str(one["at"])[:16].replace("T", " "),
            str(one["format"]),
            str(one["source"]),
        )
        for one in answer["imports"]
    ]
    if rows:
        terminal.table(rows)
    else:
        terminal.line("Nothing has been imported yet.")
    return 0


def _print_moved(answer: "dict[str, Any]", terminal: Terminal) -> None:
    for one in answer["conflicts"][:_TOLD]:
        what = f"{one['table']} {one['row']}: "
        terminal.line(styled("kept as it is here: ", "yellow"), what, str(one["reason"]))
    for one in answer["left_out"][:_TOLD]:
        table = f"{one['table']} " if "table" in one else ""
        terminal.line(styled("left out: ", "yellow"), f"{table}{one['row']}: {one['reason']}")
    _print_more(answer["left_out_count"], "left out", terminal)
    for one in answer.get("misread", ())[:_TOLD]:
        where = f"{one['row']}, line {one['line']}: "
        terminal.line(styled("not understood: ", "yellow"), where, str(one["reason"]))
    _print_more(answer.get("misread_count", 0), "not understood", terminal)
    for path in answer["unread"][:_TOLD]:
        terminal.line(styled("not read: ", "yellow"), path)
    for table, found in answer["counts"].items():
        parts = [f"{number} {what.replace('_', ' ')}" for what, number in found.items() if number]
        if parts:
            terminal.line(f"{table}: {in_a_row(parts)}")
    if answer["masked"]:
        terminal.line(f"Secrets were masked in {count(answer['masked'], 'text')}.")
    if answer["dry_run"]:
        terminal.line("Nothing was imported (--dry-run).")
    elif not any(number for found in answer["counts"].values() for number in found.values()):
        terminal.line(f"Nothing in it became a memory ({short(answer['import'])}).")
    else:
        terminal.line(f"Imported ({short(answer['import'])}).")


def _print_more(number: int, what: str, terminal: Terminal) -> None:
    if number > _TOLD:
        terminal.line(styled(f"… and {number - _TOLD} more {what}: --json", "yellow"))
