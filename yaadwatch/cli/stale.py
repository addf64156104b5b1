"""The command `stale`: list the memories that may no longer be true."""

from argparse import Namespace

from yaadwatch.api.messages.memories import Stale
from yaadwatch.cli.commands import given_fields, option, prints
from yaadwatch.cli.terminal import Terminal, count, memory_words, print_hidden, short, styled
from yaadwatch.model.limits import TOGETHER_MIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
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
    the commands that settle it: confirm, edit, reanchor or forget. Those of one
    commit come together. When the change is reverted, the flag clears by itself.

    examples:
      yaadwatch stale               check what changed, then list what is flagged
      yaadwatch stale --all --json  with weaker flags, for scripts
    """
    if checked := answer.get("check"):
        terminal.line(
            f"Checked {count(checked['checked'], 'memory')}:"
            f" {count(checked['raised'], 'new flag')}, {checked['cleared']} cleared."
        )
    for flags in _by_cause(answer["stale"]):
        if len(flags) < TOGETHER_MIN:
            for flag in flags:
                _print_flag(flag, terminal)
                terminal.gap()
        else:
            _print_together(flags, terminal)
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
    if unlikely := answer.get("unlikely"):
        what = count(unlikely, "memory")
        terminal.line(styled(f"{what} changed, most likely still true; see: --all", "dim"))
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


def cause(flag: "Row") -> str:
    """Return the id of the newest commit behind a flag; '' for none, and for an inherited flag."""
    commit = flag["evidence"][-1].get("commit") if flag["evidence"] else None
    return str(commit["id"]) if commit and not flag.get("via") else ""


def _by_cause(flags: "Sequence[Row]") -> "list[list[Row]]":
    """Return the flags in their order, those of the same newest commit together."""
    found: dict[str, list[Row]] = {}
    for flag in flags:
        alone = flag.get("superseded_by") or not cause(flag)
        found.setdefault(str(flag["id"]) if alone else cause(flag), []).append(flag)
    return list(found.values())


def _print_together(flags: "Sequence[Row]", terminal: Terminal) -> None:
    """Print the flags of one commit, and the commands that settle them all."""
    commit = flags[0]["evidence"][-1]["commit"]
    terminal.line(*_commit(commit), f": {count(len(flags), 'memory')}")
    accepted = 0
    for flag in flags:
        terminal.line("  ", *headline(flag), hang=12)
        terminal.line(reason(flag), indent=6)
        places = flag.get("said_in") or []
        also = (flag.get("suggestion") or {}).get("also_changed")
        proposed = _print_suggestion(flag, terminal, indent=6)
        accepted += proposed and not (places and also)
    newest = str(commit["id"])[:10]
    if accepted:
        which = "all" if accepted == len(flags) else f"the {accepted} that propose something"
        terminal.line(f"accept {which}: yaadwatch reanchor --cause {newest}", indent=2)
    terminal.line(f"all still true: yaadwatch confirm --cause {newest}", indent=2)
    terminal.line("only one: yaadwatch reanchor, edit, confirm or forget, with its ID", indent=2)


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


def _print_suggestion(flag: "Row", terminal: Terminal, *, indent: int = 4) -> bool:
    """Print what would be true, and where a person says it; return whether it can be accepted.

    People edit their own files: only the anchors of a statement there can be moved for them.
    """
    suggestion, where = flag.get("suggestion") or {}, _where(flag.get("said_in") or [])
    path, text = suggestion.get("path"), suggestion.get("text")
    if path:
        terminal.line("now at: ", styled(now_at(suggestion), "green"), indent=indent)
    if text:
        done = f"write {where}: " if where else "would be true: "
        terminal.line(done, styled(str(text), "green"), indent=indent)
    if suggestion.get("places"):
        terminal.line("now in: ", styled(", ".join(suggestion["places"]), "green"), indent=indent)
    if where and not text:
        terminal.line(f"correct it {where}", indent=indent)
    return not where if text else bool(path)


def now_at(suggestion: "Row") -> str:
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
