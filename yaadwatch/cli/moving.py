"""The commands that move memories: export and import. They read and write the person's files, with
the person's rights; the daemon sees only what is in them.
"""
# ruff: noqa: PTH100

import os
from argparse import Namespace

from yaadwatch.api.messages.store import Export, Import
from yaadwatch.cli import outside
from yaadwatch.cli.commands import asked, command, file_name, option
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, folder, in_command, listed, short, size
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from yaadwatch.client.connection import Client

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
        _tell_folder(answer, terminal)
        return 0
    told = ", ".join(f"{number} {name}" for name, number in counts.items())
    what = f" ({told})" if told else ""
    terminal.line(f"{folder(answer['path'])}: {size(answer['bytes'])}{what}.")
    terminal.line(f"To bring it back: yaadwatch import {in_command(answer['path'])}")
    return 0


def _tell_folder(answer: "dict[str, Any]", terminal: Terminal) -> None:
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
    """Yield what the daemon hands out."""
    import base64

    fields = asked(args, Export)
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
        **asked(args, Import),
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
        _tell(answer, terminal)
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


def _tell(answer: "dict[str, Any]", terminal: Terminal) -> None:
    for one in answer["conflicts"][:_TOLD]:
        what = f"{one['table']} {one['row']}: "
        terminal.line(styled("kept as it is here: ", "yellow"), what, str(one["reason"]))
    for one in answer["left_out"][:_TOLD]:
        table = f"{one['table']} " if "table" in one else ""
        terminal.line(styled("left out: ", "yellow"), f"{table}{one['row']}: {one['reason']}")
    _tell_more(answer["left_out_count"], "left out", terminal)
    for one in answer.get("misread", ())[:_TOLD]:
        where = f"{one['row']}, line {one['line']}: "
        terminal.line(styled("not understood: ", "yellow"), where, str(one["reason"]))
    _tell_more(answer.get("misread_count", 0), "not understood", terminal)
    for path in answer["unread"][:_TOLD]:
        terminal.line(styled("not read: ", "yellow"), path)
    for table, found in answer["counts"].items():
        told = [f"{number} {what.replace('_', ' ')}" for what, number in found.items() if number]
        if told:
            terminal.line(f"{table}: {listed(told)}")
    if answer["masked"]:
        terminal.line(f"Secrets were masked in {count(answer['masked'], 'text')}.")
    if answer["dry_run"]:
        terminal.line("Nothing was imported (--dry-run).")
    elif not any(number for found in answer["counts"].values() for number in found.values()):
        terminal.line(f"Nothing in it became a memory ({short(answer['import'])}).")
    else:
        terminal.line(f"Imported ({short(answer['import'])}).")


def _tell_more(number: int, what: str, terminal: Terminal) -> None:
    """Say how many more there are than were told."""
    if number > _TOLD:
        terminal.line(styled(f"… and {number - _TOLD} more {what}: --json", "yellow"))
