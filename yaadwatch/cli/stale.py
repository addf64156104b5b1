"""The command `stale`, and the command `check` for CI and hooks."""

import os
from argparse import Namespace

from yaadwatch.api.messages.memories import Stale
from yaadwatch.cli.commands import command, given_fields, option
from yaadwatch.cli.terminal import Terminal, ago, count, memory_words, print_hidden, short, styled
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from yaadwatch.client.connection import Client


_UNCOMMITTED = "(uncommitted)"
_SOMEWHERE = "(the history does not show in which commit)"
"""How evidence without a commit ends."""
PLACES_MAX = 3
"""Places named for one flag."""
COLOURS = {"gone": "red", "changed": "red", "moved": "yellow"}


@command(
    "stale",
    "list the memories that may no longer be true",
    examples=[
        ("yaadwatch stale", "check what changed, then list what is flagged"),
        ("yaadwatch stale --all --json", "with weaker flags, for scripts"),
    ],
    more='Each one comes with the reason, the commits behind it (or "uncommitted"), and\n'
    "the commands that settle it: confirm, edit, reanchor or forget. When the change\n"
    "is reverted, the flag clears by itself.",
    takes=Stale,
    options=[
        option(
            "--check",
            dest="check_all",
            action="store_true",
            help="check every memory first, changed or not",
            one_of="how",
        )
    ],
)
def stale(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print each flag with its evidence and the commands that settle it."""
    checked = client.call("check") if args.check_all else None
    known = {"check": False} if args.check_all else {}
    answer = client.call("stale", **given_fields(args, Stale) | known)
    if args.json:
        terminal.json(answer if checked is None else answer | {"check": checked})
        return 0
    now = client.now()
    if checked is not None:
        terminal.line(
            f"Checked {count(checked['checked'], 'memory')}:"
            f" {count(checked['raised'], 'new flag')}, {checked['cleared']} cleared."
        )
    for own in _by_commit(answer["stale"]):
        if len(own) == 1:
            print_flag(own[0], terminal, now)
        else:
            _print_commit(own, terminal, now)
        terminal.gap()
    _print_unknown(answer["unknown"], terminal)
    found = count(len(answer["stale"]), "memory") if answer["stale"] else "Nothing"
    unknown = f", {len(answer['unknown'])} could not be judged" if answer["unknown"] else ""
    terminal.line(f"{found} in doubt{unknown}; last check {ago(answer.get('checked_at'), now)}.")
    if unchecked := answer.get("unchecked"):
        terminal.line(styled(f"Not checked now: {unchecked}", "yellow"))
    if comparing := answer.get("comparing"):
        terminal.line(
            f"Comparing {comparing['done']} of {count(comparing['total'], 'statement')} of your"
            " agent files with the code of the day they were written."
        )
    if former := answer.get("superseded"):
        terminal.line(
            styled(f"{count(former, 'flagged memory')} superseded by newer ones; see: --all", "dim")
        )
    print_shallow(answer, terminal)
    if missed := answer.get("not_looked"):
        terminal.line(
            f"{count(missed['memories'], 'statement')} of your agent files could not be"
            f" compared with the code of the day they were written: {missed['why']} To try"
            " again: yaadwatch add"
        )
    print_hidden(answer, terminal)
    return 0


def print_shallow(answer: "dict[str, Any]", terminal: Terminal, *, indent: int = 0) -> None:
    """Print how many statements a shallow clone is too short to check."""
    older = (answer.get("shallow") or {}).get("statements")
    if older:
        is_ = "is" if older == 1 else "are"
        what = f"{count(older, 'statement')} {is_} older than this shallow clone"
    elif answer.get("shallow") and answer.get("looking"):
        what = "This clone is shallow: some statements may be older"
    else:
        return
    terminal.line(f"{what}; what became false before is not known.", indent=indent)


def headline(flag: "dict[str, Any]") -> tuple[str, ...]:
    """Return the parts of a flag's headline."""
    colour = COLOURS.get(flag["verdict"], "yellow")
    level = "" if flag["level"] == "warn" else f" ({flag['level'] or 'unlikely'})"
    verdict = "in doubt through another" if flag.get("via") else flag["verdict"]
    return (
        styled(f"{verdict}{level}", colour),
        "  ",
        styled(short(flag["id"]), "bold"),
        f"  {memory_words(flag)}",
    )


def reason(flag: "dict[str, Any]") -> str:
    """Return why a memory is flagged, in a line."""
    if flag.get("reason"):
        return str(flag["reason"])
    return "; ".join(str(found["summary"]) for found in flag["evidence"])


def print_flag(flag: "dict[str, Any]", terminal: Terminal, now: "datetime") -> None:
    """Print one flag: the memory, why, since which commit, and what to do."""
    terminal.line(*headline(flag), hang=10)
    _print_reason(flag, terminal, now)
    print_evidence(flag, terminal)
    if flag.get("via"):
        way = " -> ".join([*map(short, flag["via"]), "this"])
        terminal.line(f"through {way}; clears once {short(flag['via'][0])} is settled", indent=4)
    identity = short(flag["id"])
    if flag.get("superseded_by"):
        _print_superseded(flag, terminal)
        return
    proposed = _print_suggestion(flag, terminal)
    also = (flag.get("suggestion") or {}).get("also_changed")
    accept = f"{'follow it' if also else 'accept that'}: yaadwatch reanchor {identity}"
    delete = f"if not: yaadwatch forget {identity}"
    if flag.get("said_in"):
        delete = "if not: delete it there"
        if proposed and not also:  # with new words, `reanchor` refuses a person's own line
            terminal.line(accept, indent=4)
    elif proposed:
        terminal.line(f"{accept}    or: yaadwatch edit {identity}", indent=4)
    else:
        terminal.line(f"correct it: yaadwatch edit {identity}", indent=4)
    terminal.line(f"still true: yaadwatch confirm {identity}    {delete}", indent=4)


def _by_commit(flags: "list[dict[str, Any]]") -> "list[list[dict[str, Any]]]":
    """Return the flags grouped by commit, each group at the place of its first."""
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for flag in flags:
        commits = [(one.get("commit") or {}).get("id", "") for one in flag["evidence"]]
        alone = flag.get("via") or flag.get("superseded_by") or not commits or not all(commits)
        key = (f"of {flag['id']}",) if alone else tuple(dict.fromkeys(commits))
        found.setdefault(key, []).append(flag)
    return list(found.values())


def _print_commit(flags: "list[dict[str, Any]]", terminal: Terminal, now: "datetime") -> None:
    """Print the flags with the same commits: commits first, remedies last."""
    for commit in {one["commit"]["id"]: one["commit"] for one in flags[0]["evidence"]}.values():
        terminal.line(*_commit(commit))
    proposed = False
    for flag in flags:
        terminal.line(*headline(flag), indent=2, hang=10)
        _print_reason(flag, terminal, now)
        proposed |= _print_suggestion(flag, terminal)
    ours = [short(flag["id"]) for flag in flags if not flag.get("said_in")]
    accept = ["accept what is proposed: yaadwatch reanchor ID"] if proposed else []
    edit = [f"{'or' if proposed else 'correct it'}: yaadwatch edit ID"] if ours else []
    if accept or edit:
        terminal.line("    ".join([*accept, *edit]), indent=4)
    terminal.line(
        f"still true: yaadwatch confirm {' '.join(short(flag['id']) for flag in flags)}",
        indent=4,
    )
    if ours:
        terminal.line(f"if not: yaadwatch forget {' '.join(ours)}", indent=4)


def _print_superseded(flag: "dict[str, Any]", terminal: Terminal) -> None:
    """Print what supersedes a flagged memory, and how to remove the old one."""
    for newer in flag["superseded_by"]:
        terminal.line(
            f"superseded by {short(newer['id'])}  {memory_words(newer)}", indent=4, hang=4
        )
    where = _where(flag.get("said_in") or [])
    remove = f"delete it {where}" if where else f"yaadwatch forget {short(flag['id'])}"
    terminal.line(f"no longer needed: {remove}", indent=4)


def _print_reason(flag: "dict[str, Any]", terminal: Terminal, now: "datetime") -> None:
    branch = f" on {flag['branch']}" if flag.get("branch") else ""
    terminal.line(f"{reason(flag)}; noticed {ago(flag['since'], now)}{branch}", indent=4)


def _print_suggestion(flag: "dict[str, Any]", terminal: Terminal) -> bool:
    """Print what would be true, and where a person says it; return whether it can be accepted.

    People edit their own files: only the anchors of a statement there can be moved for them.
    """
    suggestion = flag.get("suggestion") or {}
    where = _where(flag.get("said_in") or [])
    if suggestion.get("path"):
        terminal.line("now at: ", styled(now_at(suggestion), "green"), indent=4)
    if suggestion.get("text"):
        done = f"write {where}: " if where else "would be true: "
        terminal.line(done, styled(str(suggestion["text"]), "green"), indent=4)
    if suggestion.get("places"):
        terminal.line("now in: ", styled(", ".join(suggestion["places"]), "green"), indent=4)
    if where and not suggestion.get("text"):
        terminal.line(f"correct it {where}", indent=4)
    return bool(suggestion.get("text") and not where) or bool(
        suggestion.get("path") and not suggestion.get("text")
    )


def now_at(suggestion: "dict[str, Any]") -> str:
    """Return the new place, and whether more than the place changed."""
    also = "; more than its place changed" if suggestion.get("also_changed") else ""
    return f"{suggestion['path']}{also}"


def _where(places: "list[dict[str, Any]]") -> str:
    """Return up to three places in the person's own files; '' for none."""
    named = [f"in {place['path']}, line {place['line']}" for place in places[:PLACES_MAX]]
    more = [f"in {len(places) - PLACES_MAX} more"] if len(places) > PLACES_MAX else []
    return " and ".join([*named, *more])


def print_evidence(flag: "dict[str, Any]", terminal: Terminal) -> None:
    """Print the commits behind a flag, and uncommitted changes."""
    for found in flag["evidence"]:
        terminal.line(*_evidence(found), indent=4)


def _evidence(found: "dict[str, Any]") -> tuple[str, ...]:
    commit = found.get("commit")
    if not commit:
        from yaadwatch.model.anchors import (
            NOT_KNOWN,
            NOT_SEARCHED,  # here: `status` shows none, and is quick
        )

        ends = str(found["summary"]).endswith
        is_committed = ends((_SOMEWHERE, NOT_SEARCHED))
        where = "uncommitted  " if not is_committed and not ends(NOT_KNOWN) else ""
        where = "committed  " if is_committed else where
        return (styled(where, "yellow"), _summary(found))
    return (*_commit(commit), styled(f"  ({_summary(found)})", "dim"))


def _commit(commit: "dict[str, Any]") -> tuple[str, ...]:
    identity = styled(str(commit["id"])[:10], "yellow")
    return identity, f"  {str(commit['at'])[:10]}  {commit['subject']}"


def _summary(found: "dict[str, Any]") -> str:
    """Return what happened, with the path in front when it does not name it."""
    said = str(found["summary"]).removesuffix(f" {_UNCOMMITTED}")
    return said if str(found["path"]) in said else f"{found['path']}: {said}"


def _print_unknown(unknown: "list[dict[str, Any]]", terminal: Terminal) -> None:
    if not unknown:
        return
    terminal.line(styled("Could not be judged", "bold"))
    terminal.table([(short(one["id"]), f"{one['text']} ({one['reason']})") for one in unknown])
    terminal.gap()


# ruff: noqa: PTH118


FOUND = 1
BROKEN = 5
"""Exit statuses: a rule became false; something went wrong, and nothing is known."""


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
            "--format",
            choices=("text", "json", "github"),
            default="text",
            help="text, json or github (annotations)",
        ),
    ],
    starts_daemon=False,
    exit_on_error=BROKEN,
)
def check(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Print the rules that a change makes false, each with its place, its reason and its mend."""
    from pathlib import Path

    from yaadwatch.cli import offline

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
        _print_findings(answer, terminal)
    return status


def _false(answer: "dict[str, Any]") -> "list[dict[str, Any]]":
    found: list[dict[str, Any]] = answer["false"]
    return found


def _print_findings(answer: "dict[str, Any]", terminal: Terminal) -> None:
    for found in _false(answer):
        verdict = styled(str(found["verdict"]), COLOURS.get(found["verdict"], "yellow"))
        terminal.line(styled(_place(found), "bold"), ": ", verdict, hang=4)
        terminal.line(str(found["text"]), indent=4)
        terminal.line(str(found["reason"]), indent=4)
        print_evidence(found, terminal)
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
    terminal.line(_check_summary(answer))


def _check_summary(answer: "dict[str, Any]") -> str:
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
    flagged = len(_false(answer))
    new = ""
    if answer["new"]:
        are = "is" if answer["new"] == 1 else "are"
        new = f" {answer['new']} {are} new or reworded since then, and {are} not judged."
    may = f"{count(flagged, 'rule')} may be false now" if flagged else "all of these still hold"
    return (
        f"{rules}, {answer['judged']} of them about code; since {answer['base'][:10]}, {may}."
        + new
        + (" Change the code, or reword the rule: then it is not judged." if flagged else "")
    )


def _annotate(answer: "dict[str, Any]", terminal: Terminal) -> None:
    """Print annotations that GitHub shows beside the lines of a change."""
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
    terminal.line(_check_summary(answer))


def _properties(found: "dict[str, Any]") -> str:
    path = _escaped(str(found["path"])).replace(":", "%3A").replace(",", "%2C")
    return f"file={path},line={found['line']},endLine={found['end_line']},title=yaadwatch"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _place(found: "dict[str, Any]") -> str:
    return f"{found['path']}:{found['line']}"
