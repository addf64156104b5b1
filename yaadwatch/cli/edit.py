"""The commands edit and reanchor, and confirm, forget, restore, pin, unpin and tag."""

import os
from argparse import Namespace

from yaadwatch.api.messages.memories import (
    Confirm,
    Forget,
    Pin,
    Reanchor,
    Restore,
    Tag,
    Unpin,
    Update,
)
from yaadwatch.cli.commands import command, given_fields, option
from yaadwatch.cli.memories import print_contradicted
from yaadwatch.cli.terminal import (
    Terminal,
    count,
    folder,
    in_a_row,
    memory_words,
    place,
    proposed,
    read_all,
    short,
    styled,
)
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yaadwatch.client.connection import Client


# ruff: noqa: PTH123


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
    asks = given_fields(args, Update)
    if args.text == ["-"]:
        asks["text"] = read_all(terminal.keys, "Standard input", "Nothing was changed.")
    answer = client.call("update", **asks)
    return _print_updated(answer, args, terminal)


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
    answer = client.call("reanchor", **given_fields(args, Reanchor))
    if args.json:
        terminal.json(answer)
        return 0
    done = answer["reanchored"]
    for one in done:
        _print_reanchored(one, terminal)
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
        YaadError: bad_request, without a terminal; unavailable, when the editor cannot
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
    return _print_updated(answer, args, terminal)


def _written_down(text: str) -> str:
    """Write `text` to a new file that only its owner can read; return its path."""
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
            new = read_all(file, path, "Nothing was changed.")
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


def _print_updated(answer: "dict[str, Any]", args: Namespace, terminal: Terminal) -> int:
    if args.json:
        terminal.json(answer)
        return 0
    if new := proposed(answer):
        terminal.line(
            "Proposed, not changed yet: ", styled(short(answer["id"]), "bold"), f"  {new}", hang=10
        )
        return 0
    done = "Edited " if answer.get("undo") else "Already says that, nothing was changed: "
    terminal.line(done, styled(short(answer["id"]), "bold"), f"  {memory_words(answer)}", hang=10)
    for anchor in answer["anchors"]:
        terminal.line(f"rests on {place(anchor)}", indent=2)
    if not answer["anchors"]:
        terminal.line("rests on no file, so no change will put it in doubt", indent=2)
    if answer["masked"]:
        terminal.line(styled(f"masked: {in_a_row(answer['masked'])}", "yellow"), indent=2)
    print_contradicted(answer, terminal)
    if answer.get("undo"):
        terminal.command("Undo: ", str(answer["undo"]))
    return 0


def _print_reanchored(one: "dict[str, Any]", terminal: Terminal) -> None:
    terminal.line(styled(short(one["id"]), "bold"), f"  {one['reason']}", hang=10)
    if one["before"] != one["text"]:
        terminal.line("was: ", str(one["before"]), indent=10, hang=5)
    terminal.line("now: ", styled(str(one["text"]), "green"), indent=10, hang=5)
    for anchor in one["anchors"]:
        terminal.line(f"rests on {place(anchor)}", indent=10)
    if still := one.get("still_flagged"):
        terminal.line(styled(f"still flagged: {still['reason']}", "yellow"), indent=10)
    print_contradicted(one, terminal, indent=10)
    if one.get("undo"):
        terminal.command("Undo: ", str(one["undo"]), indent=10)


_ID = "its id or key; a unique beginning or end of the id is enough"


@command(
    "confirm",
    "say that memories are still true; their flags are cleared",
    examples=[
        ("yaadwatch confirm 5c01f2e4", "one that `yaadwatch stale` listed"),
        ("yaadwatch confirm 5c01f2e4 7d3e8a11", "several at once"),
        ("yaadwatch confirm 5c01f2e4 --json", "for scripts"),
    ],
    more="From then on they rest on the files as they are now, and count as new. When a\n"
    "file or definition that one names is not there, or a value is another one, you\n"
    "are asked first. Not true any more: yaadwatch edit ID, or yaadwatch forget ID",
    takes=Confirm,
)
def confirm(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Say that memories still hold."""
    return _each(
        args,
        lambda one: _print_done(
            _confirmed(one, args, client, terminal), "Confirmed", args, terminal
        ),
    )


def _confirmed(one: str, args: Namespace, client: "Client", terminal: Terminal) -> "dict[str, Any]":
    """Confirm a memory; what is false for certain only after asking, or with `--yes`.

    Raises:
        YaadError: refused, when no person can be asked, or the answer is no.
    """
    if args.anyway:
        return client.call("confirm", id=one, anyway=True)
    try:
        return client.call("confirm", id=one)
    except YaadError as error:
        asks = error.code is Code.REFUSED and "--yes" in error.hint
        if not asks or args.json or not terminal.can_ask():
            raise
        terminal.line(styled(error.message, "yellow"))
        if terminal.ask("Confirm it anyway? [y/N] ").lower() not in ("y", "yes"):
            raise
    return client.call("confirm", id=one, anyway=True)


@command(
    "forget",
    "archive memories, or erase them for good",
    examples=[
        ("yaadwatch forget 5c01f2e4", "no longer recalled"),
        ("yaadwatch forget 5c01f2e4 7d3e8a11", "several at once"),
        ('yaadwatch forget 5c01f2e4 --reason "we use authlib now"', "with the reason"),
        ("yaadwatch forget --erase 5c01f2e4", "leave no trace"),
    ],
    more="An archived memory can be restored: yaadwatch restore ID\n"
    "An erased one cannot. It also goes from history, index, logs, our copies of\n"
    "agent files and our backups. Git keeps what you committed; revoke a leaked\n"
    "secret.",
    takes=Forget,
    options=[
        option(
            "--erase",
            action="store_true",
            help="leave nothing but its id and the date",
            one_of="how",
        )
    ],
)
def forget(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Archive memories; print what they said, so a slip is noticed at once."""
    if args.erase:
        return _each(args, lambda one: _erased(client.call("erase", id=one), args, terminal))
    asks = given_fields(args, Forget)
    return _each(
        args,
        lambda one: _print_done(
            client.call("forget", **asks | {"id": one}),
            "Forgot",
            args,
            terminal,
            already="Was forgotten already:",
        ),
    )


@command(
    "restore",
    "bring back archived memories, or an older version of one",
    examples=[
        ("yaadwatch restore 5c01f2e4", "undo a `forget`"),
        ("yaadwatch restore 5c01f2e4 --version 2", "go back to what it said then"),
        ("yaadwatch restore 5c01f2e4 --json", "for scripts"),
    ],
    more="The versions of a memory: yaadwatch history ID",
    takes=Restore,
)
def restore(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Bring archived memories back, or an older version of one."""
    asks = given_fields(args, Restore)
    if "version" in asks and len(args.id) > 1:
        raise YaadError(
            Code.BAD_REQUEST,
            "--version says which version of one memory; nothing was restored.",
            hint="Give one ID with it. What each version says: yaadwatch history ID",
        )
    return _each(
        args,
        lambda one: _print_done(
            client.call("restore", **asks | {"id": one}),
            "Restored",
            args,
            terminal,
            already="Nothing to restore, it says so:"
            if "version" in asks
            else "Was not forgotten:",
        ),
    )


@command(
    "pin",
    "keep memories from fading with age",
    examples=[
        ("yaadwatch pin 5c01f2e4", "it never fades"),
        ("yaadwatch pin 5c01f2e4 --json", "for scripts"),
    ],
    more="A pinned memory is never archived for its age, and counts as confirmed by a\n"
    "person: it may be written into agent files. Undo: yaadwatch unpin ID",
    takes=Pin,
)
def pin(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Keep memories from ageing."""
    already = "Was pinned already:"
    return _each(
        args,
        lambda one: _print_done(
            client.call("pin", id=one), "Pinned", args, terminal, already=already
        ),
    )


@command(
    "unpin",
    "let pinned memories fade again",
    examples=[
        ("yaadwatch unpin 5c01f2e4", "undo a `pin`"),
        ("yaadwatch unpin 5c01f2e4 --json", "for scripts"),
    ],
    takes=Unpin,
)
def unpin(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Let pinned memories age again."""
    already = "Was not pinned:"
    return _each(
        args,
        lambda one: _print_done(
            client.call("unpin", id=one), "Unpinned", args, terminal, already=already
        ),
    )


def _each(args: Namespace, act: "Callable[[str], None]") -> int:
    """Apply an action to each named memory once; a failure does not stop the rest.

    Raises:
        YaadError: what failed, and with which; the code is that of the first.
    """
    ids = dict.fromkeys(args.id)
    failed: list[tuple[str, YaadError]] = []
    for one in ids:
        try:
            act(one)
        except YaadError as error:
            if len(ids) == 1:
                raise
            failed.append((one, error))
    if failed:
        first = failed[0][1]
        why = " ".join(f"{one}: {error.message}" for one, error in failed)
        done = count(len(ids) - len(failed), "memory")
        raise YaadError(first.code, f"{why} It was done for {done}.", hint=first.hint)
    return 0


def _erased(answer: "dict[str, Any]", args: Namespace, terminal: Terminal) -> None:
    """Print what was erased, without its text, and what is left to do."""
    if args.json:
        terminal.json(answer)
        return
    ids = in_a_row([short(one) for one in answer["erased"]])
    terminal.line(
        f"Erased {ids} on {str(answer['at'])[:10]}: this is all that is kept of it. "
        "It cannot be restored."
    )
    backups = answer["backups"]
    terminal.line(
        f"Rewrote {count(backups['rewritten'], 'backup')}, dropped {backups['dropped']}; deleted "
        f"{count(answer['snapshots'], 'copy', 'copies')} of agent files that said it."
    )
    for one in answer["also"]:
        terminal.line(f"Memory {short(one)} quotes it: yaadwatch forget --erase {short(one)}")
    for path in answer["returns"]:
        terminal.line(f"{path} says it on another branch; checking that out brings it back.")
    for path in answer["remains"]:
        terminal.line(styled(f"It still stands in {folder(path)}", "red"))


@command(
    "tag",
    "add tags to a memory, or remove them",
    examples=[
        ("yaadwatch tag 5c01f2e4 --add auth --add security", "add two"),
        ("yaadwatch tag 5c01f2e4 --remove auth --json", "remove one, for scripts"),
    ],
    more="A tag is one more word that finds the memory: yaadwatch recall WORDS --tag auth",
    takes=Tag,
)
def tag(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Put tags on a memory and take others off; print those it has now.

    Raises:
        YaadError: bad_request, when there are none of either.
    """
    if not args.add and not args.remove:
        raise YaadError(
            Code.BAD_REQUEST,
            "Say which tags; nothing was changed.",
            hint="yaadwatch tag ID --add TAG, or --remove TAG",
        )
    answer = client.call("tag", **given_fields(args, Tag))
    if args.json:
        terminal.json(answer)
        return 0
    tags = ", ".join(answer["tags"]) or "no tags"
    terminal.line(styled(short(answer["id"]), "bold"), f"  {memory_words(answer)}", hang=10)
    terminal.line(f"now has {tags}", indent=2)
    if answer.get("masked"):
        terminal.line(styled(f"masked: {in_a_row(answer['masked'])}", "yellow"), indent=2)
    if answer.get("undo"):
        terminal.line(f"Undo: {answer['undo']}")
    return 0


def _print_done(
    answer: "dict[str, Any]", done: str, args: Namespace, terminal: Terminal, *, already: str = ""
) -> None:
    """Print what was done; `already` is the text when nothing changed."""
    if args.json:
        terminal.json(answer)
        return
    said = already if already and not answer.get("undo") else done
    terminal.line(
        f"{said} ", styled(short(answer["id"]), "bold"), f"  {memory_words(answer)}", hang=10
    )
    for anchor in answer.get("anchors") or ():
        terminal.line(f"rests on {place(anchor)}", indent=2)
    print_contradicted(answer, terminal)
    if answer.get("undo"):
        terminal.command("Undo: ", str(answer["undo"]))
