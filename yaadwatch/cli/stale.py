"""The command `stale`, and the command `check` for CI and hooks."""

import os
from argparse import Namespace

from yaadwatch.api.messages.memories import Stale
from yaadwatch.cli.commands import given_fields, option, prints
from yaadwatch.cli.terminal import Terminal, count, memory_words, print_hidden, short, styled
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client

    Row = dict[str, Any]


COLOURS = {"gone": "red", "changed": "red", "moved": "yellow"}


def _stale(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    fields = given_fields(args, Stale)
    if not args.check_all:
        return client.call("stale", **fields)
    checked = client.call("check")
    return client.call("stale", **fields | {"check": False}) | {"check": checked}


@prints(
    "stale",
    Stale,
    ask=_stale,
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
def stale(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """List the memories that may no longer be true.

    Each one comes with the reason, the commits behind it (or "uncommitted"), and
    the commands that settle it: confirm, edit, reanchor or forget. When the change
    is reverted, the flag clears by itself.

    examples:
      yaadwatch stale               check what changed, then list what is flagged
      yaadwatch stale --all --json  with weaker flags, for scripts
    """
    if checked := answer.get("check"):
        terminal.line(
            f"Checked {count(checked['checked'], 'memory')}:"
            f" {count(checked['raised'], 'new flag')}, {checked['cleared']} cleared."
        )
    for flag in answer["stale"]:
        _print_flag(flag, terminal)
        terminal.gap()
    if unknown := answer["unknown"]:
        terminal.line(styled("Could not be judged", "bold"))
        terminal.table([(short(one["id"]), f"{one['text']} ({one['reason']})") for one in unknown])
        terminal.gap()
    found = count(len(answer["stale"]), "memory") if answer["stale"] else "Nothing"
    more = f", {len(unknown)} could not be judged" if unknown else ""
    terminal.line(f"{found} flagged{more}; last check {terminal.ago(answer.get('checked_at'))}.")
    if unchecked := answer.get("unchecked"):
        terminal.line(styled(f"Not checked now: {unchecked}", "yellow"))
    if comparing := answer.get("comparing"):
        terminal.line(
            f"Comparing {comparing['done']} of {count(comparing['total'], 'statement')} of your"
            " agent files with the code of the day they were written."
        )
    if former := answer.get("superseded"):
        text = f"{count(former, 'flagged memory')} superseded by newer ones; see: --all"
        terminal.line(styled(text, "dim"))
    print_shallow(answer, terminal)
    if missed := answer.get("not_looked"):
        terminal.line(
            f"{count(missed['memories'], 'statement')} of your agent files could not be"
            f" compared with the code of the day they were written: {missed['why']} To try"
            " again: yaadwatch add"
        )
    print_hidden(answer, terminal)


def print_shallow(answer: "Answer", terminal: Terminal, *, indent: int = 0) -> None:
    """Print how many statements a shallow clone is too short to check."""
    shallow = answer.get("shallow")
    if not shallow:
        return
    older = shallow.get("statements")
    if older:
        are = "is" if older == 1 else "are"
        what = f"{count(older, 'statement')} {are} older than this shallow clone"
    elif answer.get("looking"):
        what = "This clone is shallow: some statements may be older"
    else:
        return
    terminal.line(f"{what}; what became false before is not known.", indent=indent)


def headline(flag: "Row") -> tuple[str, ...]:
    """Return the parts of a flag's headline."""
    level = "" if flag["level"] == "warn" else f" ({flag['level'] or 'unlikely'})"
    verdict = "flagged through another" if flag.get("via") else flag["verdict"]
    return (
        styled(f"{verdict}{level}", COLOURS.get(flag["verdict"], "yellow")),
        "  ",
        styled(short(flag["id"]), "bold"),
        f"  {memory_words(flag)}",
    )


def reason(flag: "Row") -> str:
    """Return why a memory is flagged, in a line."""
    if flag.get("reason"):
        return str(flag["reason"])
    return "; ".join(str(found["summary"]) for found in flag["evidence"])


def _print_flag(flag: "Row", terminal: Terminal) -> None:
    """Print one flag: the memory, why, since which commit, and what to do."""
    terminal.line(*headline(flag), hang=10)
    branch = f" on {flag['branch']}" if flag.get("branch") else ""
    terminal.line(f"{reason(flag)}; noticed {terminal.ago(flag['since'])}{branch}", indent=4)
    print_evidence(flag, terminal)
    identity, places = short(flag["id"]), flag.get("said_in") or []
    if flag.get("via"):
        way = " -> ".join([*map(short, flag["via"]), "this"])
        terminal.line(f"through {way}; clears once {short(flag['via'][0])} is settled", indent=4)
    if flag.get("superseded_by"):
        for newer in flag["superseded_by"]:
            text = f"superseded by {short(newer['id'])}  {memory_words(newer)}"
            terminal.line(text, indent=4, hang=4)
        remove = f"delete it {_where(places)}" if places else f"yaadwatch forget {identity}"
        terminal.line(f"no longer needed: {remove}", indent=4)
        return
    proposed = _print_suggestion(flag, terminal)
    also = (flag.get("suggestion") or {}).get("also_changed")
    accept = f"{'follow it' if also else 'accept that'}: yaadwatch reanchor {identity}"
    if not places:
        edit = f"yaadwatch edit {identity}"
        terminal.line(f"{accept}    or: {edit}" if proposed else f"correct it: {edit}", indent=4)
    elif proposed and not also:  # with new words, `reanchor` refuses a person's own line
        terminal.line(accept, indent=4)
    delete = "delete it there" if places else f"yaadwatch forget {identity}"
    terminal.line(f"still true: yaadwatch confirm {identity}    if not: {delete}", indent=4)


def _print_suggestion(flag: "Row", terminal: Terminal) -> bool:
    """Print what would be true, and where a person says it; return whether it can be accepted.

    People edit their own files: only the anchors of a statement there can be moved for them.
    """
    suggestion, where = flag.get("suggestion") or {}, _where(flag.get("said_in") or [])
    path, text = suggestion.get("path"), suggestion.get("text")
    if path:
        terminal.line("now at: ", styled(_now_at(suggestion), "green"), indent=4)
    if text:
        done = f"write {where}: " if where else "would be true: "
        terminal.line(done, styled(str(text), "green"), indent=4)
    if suggestion.get("places"):
        terminal.line("now in: ", styled(", ".join(suggestion["places"]), "green"), indent=4)
    if where and not text:
        terminal.line(f"correct it {where}", indent=4)
    return not where if text else bool(path)


def _now_at(suggestion: "Row") -> str:
    """Return the new place, and whether more than the place changed."""
    also = "; more than its place changed" if suggestion.get("also_changed") else ""
    return f"{suggestion['path']}{also}"


def _where(places: "list[Row]") -> str:
    """Return up to three places in the person's own files; '' for none."""
    named = [f"in {place['path']}, line {place['line']}" for place in places[:3]]
    more = [f"in {len(places) - 3} more"] if len(places) > 3 else []
    return " and ".join([*named, *more])


def print_evidence(flag: "Row", terminal: Terminal) -> None:
    """Print the commits behind a flag, and uncommitted changes."""
    for found in flag["evidence"]:
        summary = str(found["summary"]).removesuffix(" (uncommitted)")
        if str(found["path"]) not in summary:
            summary = f"{found['path']}: {summary}"
        if commit := found.get("commit"):
            terminal.line(*_commit(commit), styled(f"  ({summary})", "dim"), indent=4)
        else:
            terminal.line(styled(_state(str(found["summary"])), "yellow"), summary, indent=4)


def _state(summary: str) -> str:
    """Return whether evidence without a commit is committed, from how its summary ends."""
    from yaadwatch.model.anchors import NOT_KNOWN, NOT_SEARCHED  # here: `status` needs none

    if summary.endswith(("(the history does not show in which commit)", NOT_SEARCHED)):
        return "committed  "
    return "" if summary.endswith(NOT_KNOWN) else "uncommitted  "


def _commit(commit: "Row") -> tuple[str, ...]:
    identity = styled(str(commit["id"])[:10], "yellow")
    return identity, f"  {str(commit['at'])[:10]}  {commit['subject']}"


# ruff: noqa: PTH118


def _check(args: Namespace, client: "Client", terminal: Terminal) -> "Answer | None":  # noqa: ARG001
    from pathlib import Path

    from yaadwatch.cli import offline

    if args.base is not None and not args.base.strip():
        raise YaadError(
            Code.NOT_FOUND,
            "--base is empty; nothing was checked.",
            hint="Name a commit; or leave --base out, and the change begins where HEAD left the "
            "default branch.",
        )
    index = os.environ.get("GIT_INDEX_FILE")
    answer = offline.check(
        Path(os.path.abspath(args.project or os.getcwd())),  # noqa: PTH100, PTH109
        base=args.base,
        staged=args.staged,
        # git runs hooks at the top of the work tree, and names the index from there.
        index=Path(os.path.join(os.getcwd(), index)) if index else None,  # noqa: PTH109
    )
    args.json |= args.format == "json"
    return answer


@prints(
    "check",
    ask=_check,
    status=lambda answer: 1 if answer["false"] else 0,
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
    exit_on_error=5,
)
def check(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Fail when a change makes a rule of your agent files false.

    Needs no daemon and stores nothing. A rule that the change itself adds or
    rewords is not judged: to settle a finding, change the code or reword the rule.
    Without --base, the change begins where HEAD left its upstream or the default
    branch of origin, else at the commit before HEAD; with --staged, at HEAD.

    Exit status: 0 all rules hold, 1 a rule may be false, 2 wrong usage, 5 could
    not be checked.

    examples:
      yaadwatch check                     your branch, with what is not committed
      yaadwatch check --staged            in a pre-commit hook
      yaadwatch check --base origin/main  in CI, for a pull request
    """
    if args.format == "github":
        _annotate(answer, terminal)
    else:
        _print_findings(answer, terminal)
    terminal.line(_check_summary(answer))


def _print_findings(answer: "Answer", terminal: Terminal) -> None:
    for found in answer["false"]:
        verdict = styled(str(found["verdict"]), COLOURS.get(found["verdict"], "yellow"))
        terminal.line(styled(_place(found), "bold"), ": ", verdict, hang=4)
        terminal.line(str(found["text"]), indent=4)
        terminal.line(str(found["reason"]), indent=4)
        print_evidence(found, terminal)
        suggestion = found.get("suggestion") or {}
        for what, text in (
            ("change it to: ", suggestion.get("text")),
            ("now at: ", suggestion.get("path") and _now_at(suggestion)),
            ("now in: ", ", ".join(suggestion.get("places") or ())),
        ):
            if text:
                terminal.line(what, styled(str(text), "green"), indent=4)
                break
        terminal.gap()
    for unknown in answer["unknown"]:
        terminal.line(f"{_place(unknown)}: could not be judged: {unknown['reason']}", hang=4)
    for unread in answer["unread"]:
        terminal.line(f"{unread['path']}: {unread['reason']}", hang=4)
    if answer.get("note"):
        terminal.line(styled(str(answer["note"]), "yellow"))


def _check_summary(answer: "Answer") -> str:
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
    may, after = "all of these still hold", ""
    if flagged := len(answer["false"]):
        may = f"{count(flagged, 'rule')} may be false now"
        after = " Change the code, or reword the rule: then it is not judged."
    new = ""
    if answer["new"]:
        are = "is" if answer["new"] == 1 else "are"
        new = f" {answer['new']} {are} new or reworded since then, and {are} not judged."
    about = f"{rules}, {answer['judged']} of them about code"
    return f"{about}; since {answer['base'][:10]}, {may}.{new}{after}"


def _annotate(answer: "Answer", terminal: Terminal) -> None:
    """Print annotations that GitHub shows beside the lines of a change."""

    def annotate(kind: str, message: str, found: "Row | None" = None) -> None:
        where = ""
        if found is not None:
            path = _escaped(str(found["path"])).replace(":", "%3A").replace(",", "%2C")
            where = f"file={path},line={found['line']},endLine={found['end_line']},"
        terminal.write(f"::{kind} {where}title=yaadwatch::{_escaped(message)}\n")

    for found in answer["false"]:
        suggestion = found.get("suggestion") or {}
        write = f"\nWrite: {suggestion['text']}" if suggestion.get("text") else ""
        if suggestion.get("also_changed"):
            write = f"\nNow at: {_now_at(suggestion)}"
        annotate("error", f"{found['reason']}. The rule: {found['text']}{write}", found)
    for unknown in answer["unknown"]:
        annotate("notice", f"This rule could not be judged: {unknown['reason']}", unknown)
    if answer.get("note"):
        annotate("notice", str(answer["note"]))


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _place(found: "Row") -> str:
    return f"{found['path']}:{found['line']}"
