"""Commands that make a memory true again: edit, reanchor."""
# ruff: noqa: PTH123

import os
from argparse import Namespace

from yaadwatch.api.messages.memories import Reanchor, Update
from yaadwatch.cli.commands import asked, command
from yaadwatch.cli.memories import tell_contradicted
from yaadwatch.cli.terminal import Terminal, read_whole, styled
from yaadwatch.cli.words import count, listed, place, proposed, short, worded
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client


@command(
    "edit",
    "change the text of a memory",
    examples=[
        ("yaadwatch edit 5c01f2e4", "in your $EDITOR"),
        ('yaadwatch edit 5c01f2e4 "Use authlib, see src/auth.py"', "with this text"),
        ("yaadwatch edit 5c01f2e4 - < words.txt", "from a file or pipe"),
    ],
    more="It stays the same memory: id, relations and earlier versions are kept. From\n"
    "then on it rests on what the new text names, and its flag is cleared. Earlier\n"
    "versions: yaadwatch history ID",
    takes=Update,
)
def edit(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Give a memory new words: those of the command line, of standard input, or of an editor."""
    if not args.text:
        return _edit_in_editor(args, client, terminal)
    asks = asked(args, Update)
    if args.text == ["-"]:
        asks["text"] = read_whole(terminal.keys, "Standard input", "Nothing was changed.")
    answer = client.call("update", **asks)
    return _tell_updated(answer, args, terminal)


@command(
    "reanchor",
    "accept what a flag proposes: a new place, a corrected text",
    examples=[
        ("yaadwatch reanchor 5c01f2e4", "follow a renamed file"),
        ("yaadwatch reanchor --all --dry-run", "what would change, for all"),
        ("yaadwatch reanchor 5c01f2e4 --accept-change", "true of the new code"),
    ],
    more="Where the text names the old place, it is corrected. What also changed stays\n"
    "flagged, unless you accept the change. A rule in your own files is only\n"
    "reported: change it there. What is proposed: yaadwatch stale",
    takes=Reanchor,
)
def reanchor(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Accept proposals; print each memory before and after."""
    answer = client.call("reanchor", **asked(args, Reanchor))
    if args.json:
        terminal.json(answer)
        return 0
    done = answer["reanchored"]
    for one in done:
        _tell_reanchored(one, terminal)
    for one in answer["skipped"]:
        terminal.line(styled(short(one["id"]), "bold"), "  ", styled(one["reason"], "yellow"))
        if one.get("hint"):
            terminal.line(str(one["hint"]), indent=10)
    said = "Would reanchor" if answer["dry_run"] else "Reanchored"
    skipped = f", skipped {len(answer['skipped'])}" if answer["skipped"] else ""
    if done or skipped:
        terminal.line(f"{said} {count(len(done), 'memory')}{skipped}.")
    else:
        terminal.line("Nothing to accept: no doubt proposes anything.")
    return 0


def _edit_in_editor(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Let a person write the new words; what they wrote is never lost.

    Raises:
        YaadError: bad_request, when nobody is there to write; unavailable, when the editor cannot
            be run; what the daemon says to the words.
    """
    if not (terminal.keys.isatty() and terminal.out.isatty()):
        raise YaadError(
            Code.BAD_REQUEST,
            "There are no new words, and no terminal to write them in. Nothing was changed.",
            hint="Give them: yaadwatch edit ID TEXT, or - to read them from standard input",
        )
    shown = client.call("show", id=args.id)
    old = str(shown["text"])
    path = _written_down(old)
    new = _written(path, old)
    if new in {"", old}:
        os.remove(path)  # noqa: PTH107
        why = "The text is the same." if new else "The text is empty."
        terminal.line(f"{why} Nothing was changed.")
        return 0
    version = shown["version"] if args.expected_version is None else args.expected_version
    try:
        answer = client.call("update", id=shown["id"], text=new, expected_version=version)
    except YaadError as error:
        kept = f"Your words are kept in {path}"
        hint = f"{error.hint} {kept}" if error.hint else kept
        raise YaadError(error.code, error.message, hint=hint) from error
    os.remove(path)  # noqa: PTH107
    return _tell_updated(answer, args, terminal)


def _written_down(text: str) -> str:
    """Return the path of a new file, readable by its owner only, that holds `text`."""
    from tempfile import mkstemp

    handle, path = mkstemp(prefix="yaadwatch-", suffix=".md")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{text}\n")
    return path


def _written(path: str, old: str) -> str:
    """Return what a person made of the file at `path` in their editor, `old` at first.

    Raises:
        YaadError: unavailable, when the editor cannot be run or says that it went wrong; what
            `read_whole` says to what was written.
    """
    import shlex
    import subprocess

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        status = subprocess.call([*shlex.split(editor), path])
        with open(path, encoding="utf-8") as file:
            new = read_whole(file, path, "Nothing was changed.")
    except (OSError, ValueError) as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"The editor {editor!r} could not be run ({error}). Nothing was changed.",
            hint=f"Set EDITOR, or give the words: yaadwatch edit ID TEXT. The file is {path}",
        ) from error
    if status:
        raise YaadError(
            Code.UNAVAILABLE,
            f"The editor {editor!r} ended with status {status}. Nothing was changed.",
            hint=f"What was written is in {path}",
        )
    return new.removesuffix("\n") if new.removesuffix("\n") == old else new.strip()


def _tell_updated(answer: "dict[str, Any]", args: Namespace, terminal: Terminal) -> int:
    if args.json:
        terminal.json(answer)
        return 0
    if new := proposed(answer):
        terminal.line(
            "Proposed, not changed yet: ", styled(short(answer["id"]), "bold"), f"  {new}", hang=10
        )
        return 0
    done = "Edited " if answer.get("undo") else "Already says that, nothing was changed: "
    terminal.line(done, styled(short(answer["id"]), "bold"), f"  {worded(answer)}", hang=10)
    for anchor in answer["anchors"]:
        terminal.line(f"rests on {place(anchor)}", indent=2)
    if not answer["anchors"]:
        terminal.line("rests on no file, so no change will put it in doubt", indent=2)
    if answer["masked"]:
        terminal.line(styled(f"masked: {listed(answer['masked'])}", "yellow"), indent=2)
    tell_contradicted(answer, terminal)
    if answer.get("undo"):
        terminal.command("Undo: ", str(answer["undo"]))
    return 0


def _tell_reanchored(one: "dict[str, Any]", terminal: Terminal) -> None:
    terminal.line(styled(short(one["id"]), "bold"), f"  {one['reason']}", hang=10)
    if one["before"] != one["text"]:
        terminal.line("was: ", str(one["before"]), indent=10, hang=5)
    terminal.line("now: ", styled(str(one["text"]), "green"), indent=10, hang=5)
    for anchor in one["anchors"]:
        terminal.line(f"rests on {place(anchor)}", indent=10)
    if still := one.get("still_flagged"):
        terminal.line(styled(f"still flagged: {still['reason']}", "yellow"), indent=10)
    tell_contradicted(one, terminal, indent=10)
    if one.get("undo"):
        terminal.command("Undo: ", str(one["undo"]), indent=10)
