"""The command `check`: does this change make a rule of the agent files false? For CI and hooks."""
# ruff: noqa: PTH118

import os
from argparse import Namespace

from yaadwatch.cli.commands import command, option
from yaadwatch.cli.doubts import COLOURS, now_at, tell_evidence
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

FOUND = 1
BROKEN = 5
"""Exit statuses: a rule became false; something went wrong, and nothing is known."""
_FORMATS = ("text", "json", "github")


@command(
    "check",
    "fail when a change makes a rule of your agent files false",
    examples=[
        ("yaadwatch check", "your branch, with what is not committed"),
        ("yaadwatch check --staged", "in a pre-commit hook"),
        ("yaadwatch check --base origin/main", "in CI, for a pull request"),
    ],
    more="Needs no daemon and stores nothing. A rule that the change itself adds or\n"
    "rewords is not judged: to settle a finding, change the code or reword the rule.\n"
    "Without --base, the change begins where HEAD left its upstream or the default\n"
    "branch of origin, else at the commit before HEAD; with --staged, at HEAD.\n"
    "\n"
    "Exit status: 0 all rules hold, 1 a rule may be false, 2 wrong usage, 5 could\n"
    "not be checked.",
    options=[
        option(
            "--base",
            metavar="REV",
            help="the change begins where REV and HEAD parted (their merge base)",
        ),
        option(
            "--staged", action="store_true", help="judge what is staged instead of the work tree"
        ),
        option(
            "--format", choices=_FORMATS, default="text", help="text, json or github (annotations)"
        ),
    ],
    starts_daemon=False,
    exit_on_error=BROKEN,
)
def check(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Print the rules that a change makes false, each with its place, its reason and its mend."""
    from pathlib import Path

    from yaadwatch import offline

    if args.base is not None and not args.base.strip():
        raise YaadError(
            Code.NOT_FOUND,
            "--base is empty; nothing was checked.",
            hint="Name a commit; or leave --base out, and the change begins where HEAD left the "
            "default branch.",
        )

    folder = Path(os.path.abspath(args.project or os.getcwd()))  # noqa: PTH100, PTH109
    index = os.environ.get("GIT_INDEX_FILE")
    report = offline.check(
        folder,
        base=args.base,
        staged=args.staged,
        # git runs hooks at the top of the work tree, and names the index from there.
        index=Path(os.path.join(os.getcwd(), index)) if index else None,  # noqa: PTH109
    )
    answer = offline.rows(report)
    status = FOUND if _false(answer) else 0
    if args.json or args.format == "json":
        terminal.json(answer)
    elif args.format == "github":
        _annotate(answer, terminal)
    else:
        _tell(answer, terminal)
    return status


def _false(answer: "dict[str, Any]") -> "list[dict[str, Any]]":
    found: list[dict[str, Any]] = answer["false"]
    return found


def _tell(answer: "dict[str, Any]", terminal: Terminal) -> None:
    for found in _false(answer):
        verdict = styled(str(found["verdict"]), COLOURS.get(found["verdict"], "yellow"))
        terminal.line(styled(_place(found), "bold"), ": ", verdict, hang=4)
        terminal.line(str(found["text"]), indent=4)
        terminal.line(str(found["reason"]), indent=4)
        tell_evidence(found, terminal)
        suggestion = found.get("suggestion") or {}
        if suggestion.get("text"):
            terminal.line("change it to: ", styled(str(suggestion["text"]), "green"), indent=4)
        elif suggestion.get("path"):
            terminal.line("now at: ", styled(now_at(suggestion), "green"), indent=4)
        elif suggestion.get("places"):
            terminal.line("now in: ", styled(", ".join(suggestion["places"]), "green"), indent=4)
        terminal.gap()
    for unknown in answer["unknown"]:
        terminal.line(f"{_place(unknown)}: could not be judged: {unknown['reason']}", hang=4)
    for unread in answer["unread"]:
        terminal.line(f"{unread['path']}: {unread['reason']}", hang=4)
    if answer.get("note"):
        terminal.line(styled(str(answer["note"]), "yellow"))
    terminal.line(_summary(answer))


def _summary(answer: "dict[str, Any]") -> str:
    rules = count(answer["rules"], "rule")
    if not answer["rules"]:
        return "No agent file says anything here; nothing to check."
    if answer["base"] is None:
        return f"{rules}; there is no earlier commit to compare with, so nothing changed."
    if not answer["judged"]:
        return (
            f"{rules}, none to judge since {answer['base'][:10]}: they name no code that was"
            " there then, or are new or reworded in the change."
        )
    doubted = len(_false(answer))
    new = ""
    if answer["new"]:
        are = "is" if answer["new"] == 1 else "are"
        new = f" {answer['new']} {are} new or reworded since then, and {are} not judged."
    may = f"{count(doubted, 'rule')} may be false now" if doubted else "all of these still hold"
    return (
        f"{rules}, {answer['judged']} of them about code; since {answer['base'][:10]}, {may}."
        + new
        + (" Change the code, or reword the rule: then it is not judged." if doubted else "")
    )


def _annotate(answer: "dict[str, Any]", terminal: Terminal) -> None:
    """Print what GitHub shows beside the lines of a change."""
    for found in _false(answer):
        suggestion = found.get("suggestion") or {}
        write = f"\nWrite: {suggestion['text']}" if suggestion.get("text") else ""
        if suggestion.get("also_changed"):
            write = f"\nNow at: {now_at(suggestion)}"
        message = f"{found['reason']}. The rule: {found['text']}{write}"
        terminal.write(f"::error {_properties(found)}::{_escaped(message)}\n")
    for unknown in answer["unknown"]:
        message = f"This rule could not be judged: {unknown['reason']}"
        terminal.write(f"::notice {_properties(unknown)}::{_escaped(message)}\n")
    if answer.get("note"):
        terminal.write(f"::notice title=yaadwatch::{_escaped(str(answer['note']))}\n")
    terminal.line(_summary(answer))


def _properties(found: "dict[str, Any]") -> str:
    path = _escaped(str(found["path"])).replace(":", "%3A").replace(",", "%2C")
    return f"file={path},line={found['line']},endLine={found['end_line']},title=yaadwatch"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _place(found: "dict[str, Any]") -> str:
    return f"{found['path']}:{found['line']}"
