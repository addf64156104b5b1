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
from yaadwatch.cli.commands import actions, file_name, given_fields, option, prints, usage
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client

    Row = dict[str, Any]


# ruff: noqa: PTH100, PTH111, PTH112


@prints("verify", Verify, status=lambda answer: 0 if answer["sound"] else 1)
def verify(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Check a store for damage.

    Nothing is written without --repair. Exit status 1 when something is wrong.
    A store that cannot be opened at all: yaadwatch doctor

    examples:
      yaadwatch verify           the memories of this project
      yaadwatch verify --repair  mend what can be mended
    """
    for done in answer["repaired"]:
        terminal.line(f"Mended: {done}.")
    for found in answer["findings"]:
        terminal.line(styled(str(found["what"]), "red"))
        terminal.line(f"fix: {found['mend']}", indent=2)
    where = folder(answer["path"])
    if answer["sound"]:
        terminal.line(f"{where} is sound. Checked: {in_a_row(answer['checks'])}.")
    else:
        terminal.line(f"{count(len(answer['findings']), 'fault')} in {where}.")


@prints("compact", Compact)
def compact(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Shrink a store: give back the space of deleted data.

    examples:
      yaadwatch compact                     the store of this project
      yaadwatch export --format store FILE  a single file, to take elsewhere
    """
    before, after = size(answer["before"]), size(answer["after"])
    terminal.line(f"{folder(answer['path'])}: {before} before, {after} now.")


@prints("backup", Backup)
def backup(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Back up a store now.

    The daemon does this daily. The newest seven copies that differ are kept, and
    of these at most three from the same day while there are older ones. When the
    store is lost, yaadwatch add --restore brings the newest copy back.

    examples:
      yaadwatch backup         the memories of this project
      yaadwatch backup --user  your own store, for all projects
    """
    done = "Copied to" if answer["made"] else "Nothing has changed since"
    terminal.line(f"{done} {folder(answer['path'])} ({size(answer['bytes'])}).")
    terminal.line(f"{count(len(answer['kept']), 'copy')} kept.")
    if answer.get("restore"):
        terminal.line(f"To go back to it when the store is lost: {answer['restore']}")


@prints("upkeep", Upkeep)
def upkeep(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Archive faded memories, erase what was archived long ago.

    The daemon does this daily. A memory fades with age, each kind at its own pace,
    unless it is confirmed, recalled or pinned. A faded memory is archived, and 90
    days later erased if no other memory needs it. When more than half of a store
    would go at once, nothing goes: check the clock first, then use --accept.

    examples:
      yaadwatch upkeep --dry-run  what it would do
      yaadwatch upkeep            do now what the daemon does daily
      yaadwatch upkeep --accept   even if that is most of them
    """
    archived, pruned, dry = answer["archived"], answer["pruned"], answer["dry_run"]
    names = count(answer["orphans"], "file or symbol", "files or symbols")
    archive, erase, drop = (
        ("Would archive", "erase", "drop") if dry else ("Archived", "erased", "dropped")
    )
    terminal.line(
        f"{archive} {len(archived)}, {erase} {len(pruned)}, {drop} {names} that no memory is about;"
        f" looked at {count(answer['checked'], 'memory')}."
    )
    _print_by_project(archive, archived, terminal)
    _print_by_project("Would erase for good" if dry else "Erased for good", pruned, terminal)
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


def _print_by_project(done: str, memories: "list[Row]", terminal: Terminal) -> None:
    for project, here in groupby(memories, key=lambda one: one["project"]):
        terminal.line(f"{done} in ", styled(folder(project), "bold"))
        rows = []
        for one in here:
            confidence = [f"{one['confidence']:.2f}"] if "confidence" in one else []
            rows.append((styled(short(one["id"]), "bold"), *confidence, str(one["text"])))
        terminal.table(rows)


WAIT_PAUSE_S = 0.5


def _embed(args: Namespace, client: "Client", terminal: Terminal) -> "Answer":
    if args.model and args.action != "enable":
        raise usage(args, f"`embed {args.action}` is not about one model")
    if args.erase and args.action != "disable":
        raise usage(args, "Only disable takes --erase")
    fields: dict[str, Any] = given_fields(args, EmbedDisable)
    if args.model:
        path = os.path.expanduser(args.model)
        is_folder = os.sep in args.model or os.path.isdir(path)
        fields["model"] = os.path.abspath(path) if is_folder else args.model
    answer = client.call(f"embed_{args.action}", **fields)
    while args.wait:
        filling = [model for model in answer["models"] if model["state"] == "filling"]
        if not filling or any((one["worker"] or {}).get("state") == "broken" for one in filling):
            break
        terminal.progress(f"{filling[0]['space']}: {filling[0]['percent']} %")
        time.sleep(WAIT_PAUSE_S)
        answer = client.call("embed_status")
    terminal.end_progress()
    return answer


@prints(
    "embed",
    EmbedEnable,
    EmbedDisable,
    ask=_embed,
    options=[
        actions("status", "enable", "disable"),
        option("--wait", action="store_true", help="wait until every memory has a vector"),
    ],
)
def embed(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Search by meaning, with a model on this machine.

    Without a model, questions are answered by words. Nothing is ever downloaded: a
    missing model is named, with the command that installs it. MODEL may be a
    folder with model.onnx and tokenizer.json, or with a sentence-transformers
    model. Vectors are computed in the background, and used once every memory has
    one.

    examples:
      yaadwatch embed                     how questions are answered now
      yaadwatch embed enable              the first known model installed
      yaadwatch embed enable ~/e5 --wait  use a model in a folder, and wait
      yaadwatch embed disable             words only; the vectors are kept
    """
    terminal.line(styled(f"searches by {answer['search']}", "bold"), f" ({answer['why']})")
    states = {
        "active": "answers questions",
        "filling": "is being filled",
        "kept": "kept, to go back to",
    }
    for model in answer["models"]:
        state = f"  {states[model['state']]}, {model['percent']} % of the memories"
        terminal.line(styled(str(model["space"]), "bold"), state, indent=2)
        terminal.line(f"{model['name']}, {model['dimensions']} dimensions", indent=4)
        terminal.line(*_worker(model["worker"]), indent=4)
        rows = [
            (folder(one["path"]), f"{one['filled']} of {count(one['memories'], 'memory')}")
            for one in model["stores"]
        ]
        terminal.table(rows, indent=4)
    if not answer["models"]:
        _print_models(answer["known"], terminal)
    for problem in answer["problems"]:
        terminal.line(styled(str(problem), "red"))


def _worker(worker: "Row | None") -> tuple[str, ...]:
    if worker is None or worker["state"] == "cold":
        return ("its process is not running; it starts when it is needed",)
    if worker["state"] == "broken":
        return ("its process ", styled(f"broke: {worker['why']}", "red"))
    memory = f", memory {size(worker['rss_bytes'])}" if worker.get("rss_bytes") else ""
    return (f"its process is {worker['state']}, pid {worker['pid']}{memory}",)


def _print_models(known: "list[Row]", terminal: Terminal) -> None:
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


_SHOWN_MAX = 20
"""Rows of each kind that are printed after an export or an import."""


def _export(args: Namespace, client: "Client", terminal: Terminal) -> "Answer | None":
    """Write what the daemon hands out, a piece at a time."""
    form, path = args.format or "jsonl", os.path.abspath(args.target)
    counts: dict[str, int] = {}
    pieces = _pieces(args, client, terminal, counts)
    answer: Answer = {"path": path, "format": form}
    if args.target == "-":
        if form == "markdown":
            raise usage(args, f"{form} is many files, for which a folder is needed")
        for piece in pieces:
            terminal.raw(piece)
        return None
    if form == "markdown":
        return answer | outside.write_folder(path, outside.files(pieces), force=args.force)
    written = outside.write_file(path, pieces, force=args.force)
    return answer | {"bytes": written, "counts": counts}


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


@prints(
    "export",
    Export,
    ask=_export,
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
def export(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Write memories to a file or a folder.

    Formats:
    jsonl     everything, one JSON object a line; importing it gives an equal store
    markdown  a folder with a page for each memory, an index, Obsidian links and
              earlier versions in .archive; pages that you wrote are left alone
    store     a single file: the store itself, compact, to take elsewhere
    To read it in again: yaadwatch import

    examples:
      yaadwatch export memories.jsonl           everything
      yaadwatch export notes --format markdown  pages to read, also in Obsidian
      yaadwatch export - | gzip > m.jsonl.gz    into a pipe
    """
    where = folder(answer["path"])
    if "bytes" in answer:
        text = ", ".join(f"{number} {name}" for name, number in answer["counts"].items())
        terminal.line(f"{where}: {size(answer['bytes'])}{f' ({text})' if text else ''}.")
        terminal.line(f"To bring it back: yaadwatch import {in_command(answer['path'])}")
        return
    left_alone = answer["left_alone"]
    for path in left_alone[:_SHOWN_MAX]:
        terminal.line(styled(f"left alone: {path}", "yellow"), ", which is not as we wrote it")
    terminal.line(
        f"{where}: {count(answer['written'], 'file')} written,"
        f" {answer['same']} as before, {answer['removed']} removed,"
        f" {len(left_alone)} left alone."
    )


def _import(args: Namespace, client: "Client", terminal: Terminal) -> "Answer":
    """Send what a file or folder holds."""
    if args.list:
        return client.call("imports", user=args.user)
    if args.source is None:
        raise usage(args, "`import` takes PATH")
    source = os.path.abspath(args.source)
    outside.require_plain(source)
    form = args.format or outside.format_of(source)
    unread: list[str] = []
    fields: dict[str, Any] = given_fields(args, Import)
    fields |= {"format": form, "source": source.rpartition("/")[2]}
    fields.pop("dry_run", None)
    sent = 0
    for part, piece in outside.parts(source, form, unread):
        answer = client.call("import", part=part, data=piece, **fields)
        fields["upload"] = answer["upload"]
        sent += len(piece) * 3 // 4
        terminal.progress(f"{size(sent)} read")
    answer = client.call("import", last=True, dry_run=args.dry_run, **fields)
    return answer | {"unread": unread}


@prints(
    "import",
    Import,
    ask=_import,
    options=[
        option("source", metavar="PATH", type=file_name, nargs="?", help="a file or a folder"),
        option("--list", action="store_true", help="print what was imported"),
    ],
)
def print_import(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Read memories from a file or a folder.

    A folder is read as markdown pages, .jsonl as an export, a database as the store
    of yaadwatch or of another Yaad, a text as an agent file; other formats are
    refused. An export or a store brings everything, the others bring living
    memories. Nothing is imported twice. What it says counts as the import's until
    you approve it (yaadwatch review), unless you say with --mine that it is your
    own export. What is here already stays; conflicts are listed. Secrets are
    masked. Either everything is imported or nothing.

    examples:
      yaadwatch import memories.jsonl --dry-run  what it would bring
      yaadwatch import ~/notes                   pages of markdown
      yaadwatch import ~/old/.yaad/yaad.db       the database of another Yaad
      yaadwatch import --list                    what was imported
    """
    if args.list:
        _print_imports(answer["imports"], terminal)
        return
    kinds = (
        ("kept as it is here", answer["conflicts"], 0),
        ("left out", answer["left_out"], answer["left_out_count"]),
        ("not understood", answer.get("misread", ()), answer.get("misread_count", 0)),
        ("not read", answer["unread"], 0),
    )
    for what, rows, number in kinds:
        for one in rows[:_SHOWN_MAX]:
            terminal.line(styled(f"{what}: ", "yellow"), _imported_row(one))
        if number > _SHOWN_MAX:
            terminal.line(styled(f"… and {number - _SHOWN_MAX} more {what}: --json", "yellow"))
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


def _imported_row(one: "Row | str") -> str:
    if isinstance(one, str):
        return one
    table = f"{one['table']} " if "table" in one else ""
    line = f", line {one['line']}" if "line" in one else ""
    return f"{table}{one['row']}{line}: {one['reason']}"


def _print_imports(imports: "list[Row]", terminal: Terminal) -> None:
    if not imports:
        terminal.line("Nothing has been imported yet.")
        return
    terminal.table(
        [
            (
                styled(short(one["id"]), "bold"),
                str(one["at"])[:16].replace("T", " "),
                str(one["format"]),
                str(one["source"]),
            )
            for one in imports
        ]
    )
