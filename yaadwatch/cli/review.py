"""The command `review`: approve, edit or dismiss what agents and imports stated."""

import os
import shlex
from argparse import Namespace
from collections.abc import Sequence

from yaadwatch.cli.commands import command, option
from yaadwatch.cli.terminal import (
    Terminal,
    count,
    day,
    in_a_row,
    memory_words,
    place,
    short,
    styled,
)
from yaadwatch.client.connection import agent_of
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client


if TYPE_CHECKING:
    Note = dict[str, Any]

_KEYS = "[a]pprove, [e]dit, [d]ismiss, [s]kip, [q]uit"
_OF_ALL = "[A]pprove, [D]ismiss"
_VERDICTS = {"a": "approve", "d": "dismiss", "e": "edit"}
_DONE = {
    "approve": "Approved",
    "edit": "Edited and approved",
    "dismiss": "Dismissed",
    "undo": "Undone",
}


_TOO_LONG = "too long for a rules file (4 kB); agents get it by recall only, unless you shorten it"


@command(
    "review",
    "approve, edit or dismiss what agents and imports stated",
    examples=[
        ("yaadwatch review", "one by one, on a terminal"),
        ("yaadwatch review --approve 5c01f2e4 7d3e8a11@2", "two of them"),
        ("yaadwatch review --edit 5c01f2e4 Use pnpm", "with other words"),
        ("yaadwatch review --dismiss-from claude", "all that claude stated"),
        ("yaadwatch review --undo 5c01f2e4", "take the last decision back"),
        ("yaadwatch review --json", "for scripts"),
    ],
    more="A rule that an agent or an import states is quoted as an unverified note, and\n"
    "in no rules file, until a person approves it. New words of an agent for a\n"
    "memory of yours wait here, too, and yours hold until then. Dismissed words are\n"
    "refused when an agent states them again. ID@VERSION, as it is listed, approves\n"
    "only the words that were listed. To trust agents:\n"
    "  yaadwatch config set agents.rules always",
    options=[
        option("--approve", metavar="ID", nargs="+", help="approve these notes", one_of="how"),
        option("--dismiss", metavar="ID", nargs="+", help="dismiss these notes", one_of="how"),
        option(
            "--edit", metavar=("ID", "TEXT"), nargs="+", help="approve it as TEXT", one_of="how"
        ),
        option(
            "--approve-from",
            metavar="CAUSE",
            help="approve all notes of an agent, session or import",
            one_of="how",
        ),
        option(
            "--dismiss-from",
            metavar="CAUSE",
            help="dismiss all notes of an agent, session or import",
            one_of="how",
        ),
        option(
            "--undo",
            metavar="ID",
            nargs="+",
            help="take back the last decision about these",
            one_of="how",
        ),
        option("--yes", action="store_true", help="approve all with --approve-from without asking"),
        option(
            "--list", action="store_true", help="list the notes and ask nothing, also on a terminal"
        ),
    ],
)
def review(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Review notes: as the options say, else one after the other, else list them."""
    _check(args)
    if args.edit:
        if len(args.edit) < 2:
            raise YaadError(
                Code.BAD_REQUEST,
                "--edit needs the new text; nothing was changed.",
                hint="yaadwatch review --edit ID TEXT",
            )
        words = " ".join(args.edit[1:])
        return _decide_all(args, client, terminal, "edit", [_named(args.edit[0])], text=words)
    for verdict, ids, cause in (
        ("approve", args.approve, args.approve_from),
        ("dismiss", args.dismiss, args.dismiss_from),
        ("undo", args.undo, None),
    ):
        if ids:
            notes = [_named(one) for one in dict.fromkeys(ids)]
            return _decide_all(args, client, terminal, verdict, notes)
        if cause:
            notes = _caused_by(client, cause)
            if verdict == "approve" and not args.yes:
                _ask_about_all(notes, cause, args, terminal)
            return _decide_all(args, client, terminal, verdict, notes)
    answer = client.call("review")
    if args.json:
        terminal.json(answer)
        return 0
    if not answer["waiting"]:
        terminal.line("Nothing waits for review.")
        return 0
    if terminal.can_ask() and not args.list and agent_of(os.environ) is None:
        return _ask_each(answer["waiting"], client, terminal)
    for note in answer["waiting"]:
        _show(note, terminal)
    terminal.line(styled(f"{count(answer['count'], 'note')} to review", "dim"))
    terminal.line("Approve: yaadwatch review --approve ID    Dismiss: ... --dismiss ID")
    return 0


def _named(given: str) -> "Note":
    """Return the note for an ID, ID@VERSION or ID@PROPOSAL as `_show` prints it."""
    name, _, seen = given.partition("@")
    if not seen:
        return {"id": name}
    if seen.isdecimal() and len(seen) < 18:
        return {"id": name, "version": int(seen)}
    return {"id": name, "proposal": seen}


def _versioned_id(note: "Note") -> str:
    """Return the ID of a note, with its version when that is not the first."""
    seen = note.get("proposal") or (note["version"] if note["version"] > 1 else "")
    return f"{short(note['id'])}@{seen}" if seen else short(note["id"])


def _check(args: Namespace) -> None:
    """Refuse options that do not go together, and to decide where an agent runs this command.

    Raises:
        YaadError: bad_request; refused, with the variable that names the agent.
    """
    if args.yes and not args.approve_from:
        raise YaadError(
            Code.BAD_REQUEST,
            "--yes goes with --approve-from only; nothing was decided.",
            hint="yaadwatch review --approve-from CAUSE --yes",
        )
    chosen = (args.edit, args.approve, args.dismiss, args.undo)
    decides = any((*chosen, args.approve_from, args.dismiss_from))
    found = agent_of(os.environ)
    if decides and found is not None:
        name, variable = found
        raise YaadError(
            Code.REFUSED,
            f"An agent runs this command ({name}, by ${variable}), and only a person decides about "
            "notes; nothing was changed.",
            hint="Ask the person to run in a terminal of their own: yaadwatch review",
        )


def _caused_by(client: "Client", cause: str) -> "list[Note]":
    """Return the notes of one agent, session or import.

    Raises:
        YaadError: not_found, with the causes that there are.
    """
    wanted = cause.strip().lower()
    waiting = client.call("review", limit=1000)["waiting"]
    found = [
        note
        for note in waiting
        if wanted in (str(note["cause"]).lower(), str(note["by"]).lower())
        or str(note["by"]).lower() == f"agent {wanted}"
        or (note.get("session") and wanted in (short(note["session"]), note["session"]))
    ]
    if not found:
        causes = sorted({str(note["cause"]) for note in waiting})
        raise YaadError(
            Code.NOT_FOUND,
            f"No note that waits is from {cause}; nothing was changed.",
            hint=f"There are notes from {in_a_row(causes)}." if causes else "Nothing waits.",
        )
    return found


def _ask_about_all(notes: "list[Note]", cause: str, args: Namespace, terminal: Terminal) -> None:
    """List the notes that would be approved, and go on only if the person says so.

    Raises:
        YaadError: refused: there is no terminal to ask on, or the person did not say yes.
    """
    if not args.json:
        for note in notes:
            _show(note, terminal)
    many = count(len(notes), "note")
    if not args.json and terminal.can_ask():
        if terminal.ask(f"Approve {many} of {cause}? [y/N] ").lower() in ("y", "yes"):
            return
        raise YaadError(Code.REFUSED, "Nothing was approved.")
    raise YaadError(
        Code.REFUSED,
        f"{many} of {cause} would be approved; nothing was.",
        hint=f"If you have read them: yaadwatch review --approve-from {shlex.quote(cause)} --yes",
    )


def _decide_all(
    args: Namespace,
    client: "Client",
    terminal: Terminal,
    verdict: str,
    notes: "Sequence[Note]",
    *,
    text: str | None = None,
) -> int:
    """Decide about several notes; a note that fails keeps no other from it.

    Raises:
        YaadError: what failed, and with which note; the code is that of the first.
    """
    done, failed = [], []
    for note in notes:
        try:
            done.append(_decide(client, note, verdict, text))
        except YaadError as error:
            if len(notes) == 1:
                raise
            failed.append((note, error))
        else:
            if not args.json:
                _print_review(done[-1], terminal)
    if args.json:
        terminal.json(done[0] if len(notes) == 1 else {"decided": done})
    if failed:
        why = " ".join(f"{short(note['id'])}: {error.message}" for note, error in failed)
        raise YaadError(
            failed[0][1].code,
            f"{why} {_DONE[verdict]}: {count(len(done), 'note')}.",
            hint=failed[0][1].hint,
        )
    return 0


def _decide(
    client: "Client", note: "Note", verdict: str, text: str | None = None
) -> "dict[str, Any]":
    seen = {"expected_version": note["version"]} if "version" in note else {}
    if note.get("proposal"):
        seen["proposal"] = note["proposal"]
    words = {} if text is None else {"text": text}
    return client.call("decide", id=note["id"], verdict=verdict, **seen, **words)


def _ask_each(notes: "list[Note]", client: "Client", terminal: Terminal) -> int:
    """Ask a person about each note; a failed one is printed and not asked again."""
    rest = list(notes)
    while rest:
        note = rest.pop(0)
        _show(note, terminal)
        alike = [one for one in rest if one["cause"] == note["cause"]]
        if alike:
            terminal.line(f"all {len(alike) + 1} of {note['cause']}: {_OF_ALL}", indent=2)
        answer = terminal.ask(f"  {_KEYS}: ")
        key = answer[:1].lower()
        if key in ("q", ""):
            break
        verdict = _VERDICTS.get(key)
        if verdict is None:
            if key != "s":
                terminal.line(
                    f"'{answer}' is none of these letters; nothing was decided.", indent=2
                )
                rest.insert(0, note)
            continue
        text = None
        if verdict == "edit":
            text = terminal.ask("  new text: ")
            if not text:
                continue
        chosen = [note]
        if alike and answer[:1] in ("A", "D"):
            chosen += alike
            rest = [one for one in rest if one not in alike]
        for one in chosen:
            try:
                _print_review(_decide(client, one, verdict, text), terminal)
            except YaadError as error:
                terminal.line(styled(f"{error.message} {error.hint}".rstrip(), "red"), indent=2)
    return 0


def _show(note: "Note", terminal: Terminal) -> None:
    """Print a note: its text, author, time, anchors, and what it would change."""
    from yaadwatch.text.quoting import quoted

    terminal.line(
        styled(_versioned_id(note), "bold"),
        styled(f"  {note['kind']}  ", "dim"),
        quoted(str(note["text"])),
        hang=10,
    )
    terminal.line(f"{note['cause']}, {day(note['said_at'])}", indent=10)
    if note.get("before"):
        terminal.line(f"would replace your words: {quoted(str(note['before']))}", indent=10)
    if note["anchors"]:
        terminal.line(f"rests on {', '.join(map(place, note['anchors'][:5]))}", indent=10)
    if note.get("stale"):
        terminal.line(styled(f"may be stale: {note['stale']['verdict']}", "yellow"), indent=10)
    if note["scope"] == "user":
        terminal.line("would hold in all your projects", indent=10)
    elif note.get("too_long"):
        terminal.line(styled(_TOO_LONG, "yellow"), indent=10)
    elif note["files"]:
        terminal.line(f"would be written to {', '.join(note['files'])}", indent=10)


def _print_review(done: "dict[str, Any]", terminal: Terminal) -> None:
    stays = done["verdict"] == "dismiss" and not done["archived"]
    terminal.line(
        f"{_DONE[done['verdict']]} ",
        styled(short(done["id"]), "bold"),
        f"  your words stay: {done['text']}" if stays else f"  {memory_words(done)}",
        hang=10,
    )
    if done["verdict"] == "undo":
        terminal.line("waits for review again", indent=2)
    elif done.get("too_long"):
        terminal.line(styled(_TOO_LONG, "yellow"), indent=2)
    elif done["files"]:
        terminal.line(f"goes to {', '.join(done['files'])}", indent=2)
    if done.get("masked"):
        terminal.line(styled(f"masked: {in_a_row(done['masked'])}", "yellow"), indent=2)
    if done.get("undo"):
        label = "Decide again: " if done["verdict"] == "undo" else "Undo: "
        terminal.command(label, str(done["undo"]), indent=2)
