"""The command `check`: which rules of the agent files are false, in any checkout."""

import os
from argparse import Namespace

from yaadwatch.cli.commands import option, prints
from yaadwatch.cli.stale import COLOURS, cause, now_at, print_evidence
from yaadwatch.cli.terminal import Terminal, count, day, styled
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client

    Row = dict[str, Any]

# ruff: noqa: PTH118

UNJUDGED_MAX = 2000
"""Rules that `--unjudged` lists at most."""


def _check(args: Namespace, client: "Client", terminal: Terminal) -> "Answer | None":  # noqa: ARG001
    from pathlib import Path

    if args.base is not None and not args.base.strip():
        raise YaadError(
            Code.NOT_FOUND,
            "--base is empty; nothing was checked.",
            hint="Name a commit; or leave --base out, and each rule is compared with the code of "
            "the commit that wrote it.",
        )
    args.json |= args.format == "json"
    folder = Path(os.path.abspath(args.project or os.getcwd()))  # noqa: PTH100, PTH109
    # git runs hooks at the top of the work tree, and names the index from there.
    named = os.environ.get("GIT_INDEX_FILE")
    index = Path(os.path.join(os.getcwd(), named)) if named else None  # noqa: PTH109
    if args.staged and args.base is None and (head := _unchanged_head(folder, index)):
        return _nothing_staged(head)
    from yaadwatch.cli import check_rules

    answer = check_rules.check(
        folder, base=args.base, staged=args.staged, index=index, on_progress=terminal.progress
    )
    terminal.end_progress()
    return answer


def _unchanged_head(folder: "Path", index: "Path | None") -> str:
    """Return HEAD when nothing is staged on it; '' when something is, or that is not known.

    Imports little: a hook runs before each commit.
    """
    from datetime import timedelta

    from yaadwatch.repo import layout
    from yaadwatch.repo.command import Git, GitRunner

    found = layout.find(folder)
    head = layout.read_head(found) if found is not None and found.root is not None else None
    if found is None or head is None or not head.commit:
        return ""
    git = Git(found, GitRunner(timedelta(seconds=60), passing=True))
    try:
        differs = git.ask(["diff-index", "--cached", "--name-only", head.commit], index=index)
    except YaadError:
        return ""  # the check itself says what is wrong
    return "" if differs else head.commit


def _nothing_staged(head: str) -> "Answer":
    lists: dict[str, list[Row]] = {name: [] for name in ("false", "unknown", "unjudged", "unread")}
    counts = dict.fromkeys(("rules", "judged", "new"), 0)
    note = "Nothing is staged, so no rule was looked at."
    return {"base": head, "against": "index", **counts, **lists, "note": note}


@prints(
    "check",
    ask=_check,
    status=lambda answer: 1 if answer["false"] else 0,
    options=[
        option(
            "--base",
            metavar="REV",
            help="what a change breaks: it begins where REV and HEAD parted (their merge base)",
        ),
        option("--staged", action="store_true", help="what the staged change would break"),
        option("--unjudged", action="store_true", help="also list the rules that cannot be judged"),
        option(
            "--format",
            choices=("text", "json", "github", "sarif"),
            default="text",
            help="text, json, github (annotations) or sarif (2.1.0)",
        ),
    ],
    starts_daemon=False,
    exit_on_error=5,
)
def check(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Fail when a rule of your agent files is false.

    Works in any clone: it needs no daemon and no set-up, and changes no file.
    Each rule of CLAUDE.md, AGENTS.md and their like is compared with the code of
    the commit that gave it its words. With --base or --staged, only what that
    change makes false is a finding; a rule that it adds or rewords is not judged.

    Exit status: 0 no rule is false, 1 a rule may be false, 2 wrong usage, 5 could
    not be checked.

    examples:
      yaadwatch check                     what is false today, and since when
      yaadwatch check --unjudged          with the rules that cannot be judged
      yaadwatch check --staged            in a pre-commit hook
      yaadwatch check --base origin/main  in CI, for a pull request
    """
    if args.format in ("github", "sarif"):
        from yaadwatch.cli import check_formats

        if args.format == "sarif":
            terminal.write(check_formats.sarif(answer))
            return
        terminal.write(check_formats.annotations(answer))
    else:
        _print_findings(answer, terminal)
    if args.unjudged:
        for one in answer["unjudged"][:UNJUDGED_MAX]:
            terminal.line(f"{_place(one)}: {one['text']}", hang=4)
            terminal.line(styled(f"not judged: {one['reason']}", "dim"), indent=4)
    if answer["rules"] or not answer.get("note"):
        terminal.line(_summary(answer))


def _print_findings(answer: "Answer", terminal: Terminal) -> None:
    for found, *others in _by_cause(answer["false"]):
        verdict = styled(str(found["verdict"]), COLOURS.get(found["verdict"], "yellow"))
        written = found.get("written")
        since = f", written {day(written['at'])} ({written['id'][:10]})" if written else ""
        terminal.line(styled(_place(found), "bold"), ": ", verdict, since, hang=4)
        terminal.line(str(found["text"]), indent=4)
        terminal.line(str(found["reason"]), indent=4)
        print_evidence(found, terminal)
        suggestion = found.get("suggestion") or {}
        for what, text in (
            ("change it to: ", suggestion.get("text")),
            ("now at: ", suggestion.get("path") and now_at(suggestion)),
            ("now in: ", ", ".join(suggestion.get("places") or ())),
        ):
            if text:
                terminal.line(what, styled(str(text), "green"), indent=4)
                break
        for other in others:
            terminal.line(styled(_place(other), "bold"), f": the same: {other['text']}", hang=4)
        terminal.gap()
    for unknown in answer["unknown"]:
        terminal.line(f"{_place(unknown)}: could not be judged: {unknown['reason']}", hang=4)
    for unread in answer["unread"]:
        terminal.line(f"{unread['path']}: {unread['reason']}", hang=4)
    if answer.get("note"):
        terminal.line(styled(str(answer["note"]), "yellow"))


def _by_cause(false: "Sequence[Row]") -> "list[list[Row]]":
    """Return the findings in their order, those that one commit made false in one way together."""
    causes: dict[tuple[str, str, str], list[Row]] = {}
    for found in false:
        key = (str(found["verdict"]), str(found["reason"]), cause(found))
        causes.setdefault(key, []).append(found)
    return list(causes.values())


def _summary(answer: "Answer") -> str:
    """Return the last line: what is false, and how many rules could be judged at all."""
    if not answer["rules"]:
        return "No agent file says anything here; nothing to check."
    of_all = f"of {count(answer['rules'], 'rule')}"
    judged, unjudged, false = answer["judged"], len(answer["unjudged"]), len(answer["false"])
    since = f" since {answer['base'][:10]}" if answer["base"] else ""
    may = f"No rule is false{since}"
    if false:
        may = f"{count(false, 'rule')} may be false{since}"
    elif not judged:
        may = "No rule can be judged"
    are = "is" if judged == 1 else "are"
    text = f"{may}. {judged} {of_all} {are} tied to code"
    if unjudged:
        text += f"; {unjudged} cannot be judged (listed with --unjudged)"
    return f"{text}. Change the code, or reword the rule." if false else f"{text}."


def _place(found: "Row") -> str:
    return f"{found['path']}:{found['line']}"
