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
from yaadwatch.cli.commands import given_fields, option, prints
from yaadwatch.cli.memories import print_conflicts
from yaadwatch.cli.stale import cause
from yaadwatch.cli.terminal import (
    Terminal,
    count,
    folder,
    in_a_row,
    named,
    place,
    proposed,
    read_all,
    short,
    styled,
)
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client


# ruff: noqa: PTH123


def _edit(args: Namespace, client: "Client", terminal: Terminal) -> "Answer | None":
    if not args.text:
        return _edit_in_editor(args, client, terminal)
    asks = given_fields(args, Update)
    if args.text == ["-"]:
        asks["text"] = read_all(terminal.keys, "Standard input", "Nothing was changed.")
    return client.call("update", **asks)


@prints("edit", Update, ask=_edit)
def edit(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Change the text of a memory.

    It stays the same memory: id, relations and earlier versions are kept. From
    then on it rests on what the new text names, and its flag is cleared. Earlier
    versions: yaadwatch history ID

    examples:
      yaadwatch edit 5c01f2e4                                 in your $EDITOR
      yaadwatch edit 5c01f2e4 "Use authlib, see src/auth.py"  with this text
      yaadwatch edit 5c01f2e4 - < words.txt                   from a file or pipe
    """
    if new := proposed(answer):
        identity = styled(short(answer["id"]), "bold")
        terminal.line("Proposed, not changed yet: ", identity, f"  {new}", hang=10)
        return
    done = "Edited " if answer.get("undo") else "Already says that, nothing was changed: "
    terminal.line(done, *named(answer), hang=10)
    for anchor in answer["anchors"]:
        terminal.line(f"rests on {place(anchor)}", indent=2)
    if not answer["anchors"]:
        terminal.line("rests on no file, so no change can flag it", indent=2)
    print_conflicts(answer, terminal)


def _edit_in_editor(args: Namespace, client: "Client", terminal: Terminal) -> "Answer | None":
    """Let a person write the new text; what they wrote is never lost.

    Raises:
        YaadError: bad_request, without a terminal; unavailable, when the editor cannot be run or
            fails; what the daemon says to the text.
    """
    if not terminal.can_ask():
        raise YaadError(
            Code.BAD_REQUEST,
            "There are no new words, and no terminal to write them in. Nothing was changed.",
            hint="Give them: yaadwatch edit ID TEXT, or - to read them from standard input",
        )
    from tempfile import mkstemp

    shown = client.call("show", id=args.id)
    old = str(shown["text"])
    handle, path = mkstemp(prefix="yaadwatch-", suffix=".md")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{old}\n")
    new = _edited(path).removesuffix("\n")
    new = new if new == old else new.strip()
    if new in {"", old}:
        why = "The text is the same." if new else "The text is empty."
        terminal.line(f"{why} Nothing was changed.")
        os.remove(path)  # noqa: PTH107
        return None
    version = shown["version"] if args.expected_version is None else args.expected_version
    try:
        answer = client.call("update", id=shown["id"], text=new, expected_version=version)
    except YaadError as error:
        hint = f"{error.hint} Your words are kept in {path}".strip()
        raise YaadError(error.code, error.message, hint=hint) from error
    os.remove(path)  # noqa: PTH107
    return answer


def _edited(path: str) -> str:
    """Return what a person made of the file at `path` in their editor."""
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
    return new


@prints("reanchor", Reanchor)
def reanchor(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Accept what a flag proposes: a new place, a corrected text.

    Where the text names the old place, it is corrected. What also changed stays
    flagged, unless you accept the change. A rule in your own files is only
    reported: change it there. What is proposed: yaadwatch stale

    examples:
      yaadwatch reanchor 5c01f2e4                  follow a renamed file
      yaadwatch reanchor --cause 5711189c66        all that one commit moved
      yaadwatch reanchor --all --dry-run           what would change, for all
      yaadwatch reanchor 5c01f2e4 --accept-change  true of the new code
    """
    done, skipped = answer["reanchored"], answer["skipped"]
    for one in done:
        _print_reanchored(one, terminal)
    for one in skipped:
        terminal.line(styled(short(one["id"]), "bold"), "  ", styled(one["reason"], "yellow"))
        if one.get("hint"):
            terminal.line(str(one["hint"]), indent=10)
    did = "Would reanchor" if answer["dry_run"] else "Reanchored"
    more = f", skipped {len(skipped)}" if skipped else ""
    if done or skipped:
        terminal.line(f"{did} {count(len(done), 'memory')}{more}.")
    else:
        terminal.line("Nothing to accept: no flag proposes anything.")


def _print_reanchored(one: "dict[str, Any]", terminal: Terminal) -> None:
    terminal.line(styled(short(one["id"]), "bold"), f"  {one['reason']}", hang=10)
    if one["before"] != one["text"]:
        terminal.line("was: ", str(one["before"]), indent=10, hang=5)
    terminal.line("now: ", styled(str(one["text"]), "green"), indent=10, hang=5)
    for anchor in one["anchors"]:
        terminal.line(f"rests on {place(anchor)}", indent=10)
    if still := one.get("still_flagged"):
        terminal.line(styled(f"still flagged: {still['reason']}", "yellow"), indent=10)
    print_conflicts(one, terminal, indent=10)
    if one.get("undo"):
        terminal.command("Undo: ", str(one["undo"]), indent=10)


def _print_done(answer: "Answer", terminal: Terminal, done: str, already: str = "") -> None:
    """Print what was done; `already` is the text when nothing changed."""
    did = already if already and not answer.get("undo") else done
    terminal.line(f"{did} ", *named(answer), hang=10)
    for anchor in answer.get("anchors") or ():
        terminal.line(f"rests on {place(anchor)}", indent=2)
    print_conflicts(answer, terminal)


def _confirm(args: Namespace, client: "Client", terminal: Terminal) -> "Answer":
    """Confirm a memory; what is false for certain only after asking, or with `--yes`.

    Raises:
        YaadError: refused, when no person can be asked, or the answer is no.
    """
    try:
        return client.call("confirm", **given_fields(args, Confirm))
    except YaadError as error:
        asks = error.code is Code.REFUSED and "--yes" in error.hint
        if not asks or args.json or not terminal.can_ask():
            raise
        terminal.line(styled(error.message, "yellow"))
        if not terminal.agrees("Confirm it anyway?"):
            raise
    return client.call("confirm", id=args.id, anyway=True)


def _of_cause(args: Namespace, client: "Client") -> list[str]:
    """Return the ids of the memories whose flags have the named commit as their newest cause.

    Raises:
        YaadError: not_found, when there is none; conflict, when it may be several commits.
    """
    if args.cause is None:
        return []
    flagged = client.call("stale", check=False)["stale"]
    found = [one for one in flagged if args.cause and cause(one).startswith(args.cause.lower())]
    if len({cause(one) for one in found}) > 1:
        raise YaadError(
            Code.CONFLICT,
            f"{args.cause} is the beginning of several commits; nothing was changed.",
            hint="Give more of its id. Flags with their commits: yaadwatch stale",
        )
    if found:
        return [short(one["id"]) for one in found]
    raise YaadError(
        Code.NOT_FOUND,
        f"No flag has commit {args.cause} as its newest cause; nothing was changed.",
        hint="Flags with their commits: yaadwatch stale",
    )


@prints(
    "confirm",
    Confirm,
    ask=_confirm,
    each=True,
    further=_of_cause,
    options=[
        option(
            "--cause",
            metavar="COMMIT",
            help="every memory whose flag has this commit as its newest cause",
        )
    ],
)
def confirm(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Say that memories are still true; their flags are cleared.

    From then on they rest on the files as they are now, and count as new. When a
    file or definition that one names is not there, or a value is another one, you
    are asked first. Not true any more: yaadwatch edit ID, or yaadwatch forget ID

    examples:
      yaadwatch confirm 5c01f2e4           one that `yaadwatch stale` listed
      yaadwatch confirm 5c01f2e4 7d3e8a11  several at once
      yaadwatch confirm 5c01f2e4 --json    for scripts
    """
    _print_done(answer, terminal, "Confirmed")


def _forget(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    if args.erase:
        return client.call("erase", id=args.id)
    return client.call("forget", **given_fields(args, Forget))


@prints(
    "forget",
    Forget,
    ask=_forget,
    each=True,
    options=[
        option(
            "--erase",
            action="store_true",
            help="leave nothing but its id and the date",
            one_of="how",
        )
    ],
)
def forget(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Archive memories, or erase them for good.

    An archived memory can be restored: yaadwatch restore ID
    An erased one cannot. It also goes from history, index, logs, our copies of
    agent files and our backups. Git keeps what you committed; revoke a leaked
    secret.

    examples:
      yaadwatch forget 5c01f2e4                                no longer recalled
      yaadwatch forget 5c01f2e4 7d3e8a11                       several at once
      yaadwatch forget 5c01f2e4 --reason "we use authlib now"  with the reason
      yaadwatch forget --erase 5c01f2e4                        leave no trace
    """
    if args.erase:
        _print_erased(answer, terminal)
    else:
        _print_done(answer, terminal, "Forgot", "Was forgotten already:")


def _print_erased(answer: "Answer", terminal: Terminal) -> None:
    """Print what was erased, without its text, and what is left to do."""
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


@prints("restore", Restore, each=True)
def restore(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Bring back archived memories, or an older version of one.

    The versions of a memory: yaadwatch history ID

    examples:
      yaadwatch restore 5c01f2e4              undo a `forget`
      yaadwatch restore 5c01f2e4 --version 2  go back to what it said then
      yaadwatch restore 5c01f2e4 --json       for scripts
    """
    already = "Was not forgotten:" if args.version is None else "Nothing to restore, it says so:"
    _print_done(answer, terminal, "Restored", already)


@prints("pin", Pin, each=True)
def pin(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Keep memories from fading with age.

    A pinned memory is never archived for its age, and counts as confirmed by a
    person: it may be written into agent files. Undo: yaadwatch unpin ID

    examples:
      yaadwatch pin 5c01f2e4         it never fades
      yaadwatch pin 5c01f2e4 --json  for scripts
    """
    _print_done(answer, terminal, "Pinned", "Was pinned already:")


@prints("unpin", Unpin, each=True)
def unpin(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Let pinned memories fade again.

    examples:
      yaadwatch unpin 5c01f2e4         undo a `pin`
      yaadwatch unpin 5c01f2e4 --json  for scripts
    """
    _print_done(answer, terminal, "Unpinned", "Was not pinned:")


@prints("tag", Tag)
def tag(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Add tags to a memory, or remove them.

    A tag is one more word that finds the memory: yaadwatch recall WORDS --tag auth

    examples:
      yaadwatch tag 5c01f2e4 --add auth --add security  add two
      yaadwatch tag 5c01f2e4 --remove auth --json       remove one, for scripts
    """
    terminal.line(*named(answer), hang=10)
    terminal.line(f"now has {', '.join(answer['tags']) or 'no tags'}", indent=2)
    print_conflicts(answer, terminal)
