"""The command `review`: approve, edit or dismiss what agents and imports stated."""

import os
from argparse import Namespace
from collections.abc import Sequence

from yaadwatch.cli.commands import command, option, usage
from yaadwatch.cli.memories import print_conflicts
from yaadwatch.cli.terminal import (
    Terminal,
    count,
    day,
    named,
    place,
    said,
    short,
    styled,
)
from yaadwatch.client.connection import agent_of
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

    Note = dict[str, Any]

_DONE = {
    "approve": "Approved",
    "edit": "Edited and approved",
    "dismiss": "Dismissed",
    "undo": "Undone",
}
_TOO_LONG = (
    "too long for a rules file (2,000 characters, 4 kB): agents get its first sentence, unless you "
    "shorten it"
)


def _decision(name: str, help: str, metavar: "str | tuple[str, str]" = "ID") -> "Any":
    return option(f"--{name}", metavar=metavar, nargs="+", help=help, one_of="how")


@command(
    "review",
    options=[
        _decision("approve", "approve these notes"),
        _decision("dismiss", "dismiss these notes"),
        _decision("edit", "approve it as TEXT", metavar=("ID", "TEXT")),
        _decision("undo", "take back the last decision about these"),
        option(
            "--list", action="store_true", help="list the notes and ask nothing, also on a terminal"
        ),
    ],
)
def review(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Approve, edit or dismiss what agents and imports stated.

    A rule that an agent or an import states is quoted as an unverified note, and
    in no rules file, until a person approves it. New words of an agent for a
    memory of yours wait here, too, and yours hold until then. Dismissed words are
    refused when an agent states them again. ID@VERSION, as it is listed, approves
    only the words that were listed. To trust agents:
      yaadwatch config set agents.rules always

    examples:
      yaadwatch review                                one by one, on a terminal
      yaadwatch review --approve 5c01f2e4 7d3e8a11@2  two of them
      yaadwatch review --edit 5c01f2e4 Use pnpm       with other words
      yaadwatch review --undo 5c01f2e4                take the last decision back
      yaadwatch review --json                         for scripts
    """
    for verdict in _DONE:
        if ids := getattr(args, verdict):
            _refuse_agent()
            text = None
            if verdict == "edit":
                ids, text = ids[:1], " ".join(ids[1:])
                if not text:
                    raise usage(args, "--edit takes ID and the new text")
            notes = [_note(one) for one in dict.fromkeys(ids)]
            return _decide_all(args, client, terminal, verdict, notes, text=text)
    answer = client.call("review")
    if args.json:
        terminal.json(answer)
    elif not answer["waiting"]:
        terminal.line("Nothing waits for review.")
    elif terminal.can_ask() and not args.list and agent_of(os.environ) is None:
        _ask_each(answer["waiting"], client, terminal)
    else:
        for note in answer["waiting"]:
            _show(note, terminal)
        terminal.line(styled(f"{count(answer['count'], 'note')} to review", "dim"))
        terminal.line("Approve: yaadwatch review --approve ID    Dismiss: ... --dismiss ID")
    return 0


def _note(given: str) -> "Note":
    """Return the note for an ID, ID@VERSION or ID@PROPOSAL as `_show` prints it."""
    name, _, seen = given.partition("@")
    if not seen:
        return {"id": name}
    if seen.isdecimal() and len(seen) < 18:
        return {"id": name, "version": int(seen)}
    return {"id": name, "proposal": seen}


def _refuse_agent() -> None:
    """Refuse to decide where an agent runs this command.

    Raises:
        YaadError: refused, with the variable that names the agent.
    """
    found = agent_of(os.environ)
    if found is not None:
        name, variable = found
        raise YaadError(
            Code.REFUSED,
            f"An agent runs this command ({name}, by ${variable}), and only a person decides about "
            "notes; nothing was changed.",
            hint="Ask the person to run in a terminal of their own: yaadwatch review",
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
    """Decide about several notes; a failure does not stop the rest.

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
                _print_decision(done[-1], terminal)
    if args.json:
        terminal.json(done[0] if len(notes) == 1 else {"decided": done})
    if failed:
        why = " ".join(f"{short(note['id'])}: {error.message}" for note, error in failed)
        _, first = failed[0]
        done_for = f"{_DONE[verdict]}: {count(len(done), 'note')}."
        raise YaadError(first.code, f"{why} {done_for}", hint=first.hint)
    return 0


def _decide(
    client: "Client", note: "Note", verdict: str, text: str | None = None
) -> "dict[str, Any]":
    seen = {"expected_version": note.get("version"), "proposal": note.get("proposal")}
    given = {name: value for name, value in (seen | {"text": text}).items() if value is not None}
    return client.call("decide", id=note["id"], verdict=verdict, **given)


def _ask_each(notes: "list[Note]", client: "Client", terminal: Terminal) -> None:
    """Ask a person about each note; a failed one is printed and not asked again."""
    rest = list(notes)
    while rest:
        note = rest.pop(0)
        _show(note, terminal)
        alike = [one for one in rest if one["cause"] == note["cause"]]
        if alike:
            all_of = f"all {len(alike) + 1} of {note['cause']}: [A]pprove, [D]ismiss"
            terminal.line(all_of, indent=2)
        answer = terminal.ask("  [a]pprove, [e]dit, [d]ismiss, [s]kip, [q]uit: ")
        key = answer[:1].lower()
        if key in ("q", ""):
            break
        verdict = {"a": "approve", "d": "dismiss", "e": "edit"}.get(key)
        if verdict is None:
            if key != "s":
                terminal.line(f"'{answer}' is none of these; nothing was decided.", indent=2)
                rest.insert(0, note)
            continue
        text = terminal.ask("  new text: ") if verdict == "edit" else None
        if text == "":
            continue
        chosen = [note]
        if alike and answer[:1] in ("A", "D"):
            chosen += alike
            rest = [one for one in rest if one not in alike]
        for one in chosen:
            try:
                _print_decision(_decide(client, one, verdict, text), terminal)
            except YaadError as error:
                terminal.line(styled(f"{error.message} {error.hint}".rstrip(), "red"), indent=2)


def _show(note: "Note", terminal: Terminal) -> None:
    """Print a note: its text, author, time, anchors, and what it would change."""
    seen = note.get("proposal") or (note["version"] if note["version"] > 1 else "")
    terminal.line(
        styled(f"{short(note['id'])}@{seen}" if seen else short(note["id"]), "bold"),
        styled(f"  {note['kind']}  ", "dim"),
        said(note["text"], is_unverified=True),
        hang=10,
    )
    terminal.line(f"{note['cause']}, {day(note['said_at'])}", indent=10)
    if note.get("before"):
        before = said(note["before"], is_unverified=True)
        terminal.line(f"would replace your words: {before}", indent=10)
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


def _print_decision(done: "dict[str, Any]", terminal: Terminal) -> None:
    verdict, (identity, text) = done["verdict"], named(done)
    if verdict == "dismiss" and not done["archived"]:
        text = f"  your words stay: {done['text']}"
    terminal.line(f"{_DONE[verdict]} ", identity, text, hang=10)
    if verdict == "undo":
        terminal.line("waits for review again", indent=2)
    elif done.get("too_long"):
        terminal.line(styled(_TOO_LONG, "yellow"), indent=2)
    elif done["files"]:
        terminal.line(f"goes to {', '.join(done['files'])}", indent=2)
    print_conflicts(done, terminal)
    if done.get("undo"):
        label = "Decide again: " if verdict == "undo" else "Undo: "
        terminal.command(label, str(done["undo"]), indent=2)
