"""The commands claims, contradictions, resolve and gaps."""

from argparse import Namespace

from yaadwatch.api.messages.graph import AddClaim, ApproveGap, Claims, Contradictions, Resolve
from yaadwatch.cli.commands import given_fields, option, prints, usage, words
from yaadwatch.cli.memories import print_conflicts
from yaadwatch.cli.terminal import (
    Terminal,
    authored,
    count,
    in_a_row,
    memory_words,
    short,
    stated,
    styled,
    version_words,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client


def _claims(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    args.action = args.words[0] if args.words else ""
    if args.action == "add":
        given = words(args, "add ID SUBJECT ATTRIBUTE VALUE")
        fields = dict(zip(("id", "subject", "attribute", "value"), given[1:], strict=True))
        return client.call("add_claim", **fields, **given_fields(args, AddClaim))
    if args.action == "end":
        return client.call("end_claim", claim=int(words(args, "end NUMBER")[1]))
    memory = next(iter(words(args, "", "ID")), None)
    return client.call("claims", id=memory, **given_fields(args, Claims))


@prints(
    "claims",
    Claims,
    AddClaim,
    ask=_claims,
    options=[
        option(
            "words",
            metavar="WHAT",
            nargs="*",
            help="the id of a memory; or: add ID SUBJECT ATTRIBUTE VALUE; or: end NUMBER",
        )
    ],
)
def claims(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """List the values that memories claim; add or end a claim.

    A claim gives a subject a value, for yaadwatch to compare. Add claims here, or
    remember a plain amount: "The API timeout is 30 seconds". No other words make
    a claim. Two values for one thing: yaadwatch contradictions

    examples:
      yaadwatch claims                             what holds now, by subject
      yaadwatch claims 5c01f2e4 --all              of one memory, ended ones too
      yaadwatch claims --subject api               what is claimed about the API
      yaadwatch claims add 5c01f2e4 api port 8080  add a claim
      yaadwatch claims end 12                      it no longer holds
    """
    rows = answer.get("claims", [answer])
    if rows:
        terminal.table([_claim(one) for one in rows], indent=0)
    else:
        terminal.line("Nothing is claimed. Sentences such as “The API port is 8080” claim a value.")
    if answer.get("more"):
        terminal.line("There are more; name a memory, or --subject.")
    print_conflicts(answer, terminal)


@prints("contradictions", Contradictions)
def contradictions(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """List memories that cannot all be true.

    There are three kinds: two values for the same thing at the same time, a claim
    whose relation has ended, and evidence 30 days newer than the memory it speaks
    against. Nothing changes until you settle it: yaadwatch resolve

    examples:
      yaadwatch contradictions                    the open ones
      yaadwatch resolve 1a2b3c4d --keep 5c01f2e4  settle one
      yaadwatch contradictions --settled          settled ones too
    """
    for one in answer["contradictions"]:
        terminal.line(styled(one["id"], "bold"), f"  {one['words']}", hang=10)
        for side in one["sides"]:
            confirmed = f"(confirmed {terminal.ago(side['confirmed_at'])})"
            text = f"{short(side['node'])}  {memory_words(side)}  {confirmed}"
            terminal.line(text, indent=10, hang=20)
        if against := one.get("against"):
            text = f"{short(against['node'])}  {memory_words(against)}  (newer)"
            terminal.line(text, indent=10, hang=20)
    if answer["contradictions"]:
        terminal.line("Settle one: yaadwatch resolve ID --keep MEMORY, --both, or --none")
    else:
        terminal.line("Nothing contradicts anything here.")
    for past in answer["settled"]:
        kept = f" {short(past['kept'])}" if past.get("kept") else ""
        why = f": {version_words(past['reason'], past['by'])}" if past.get("reason") else ""
        terminal.line(styled(past["id"], "dim"), f"  {past['words']}", hang=10)
        when = f"{terminal.ago(past['at'])} by {authored(past['by'])}"
        terminal.line(f"{past['decision']}{kept}, {when}{why}", indent=10)


@prints("resolve", Resolve)
def resolve(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Settle a contradiction.

    A memory that is not kept loses the claim. If it claimed nothing else, it is
    superseded, or archived with --forget. See yaadwatch contradictions

    examples:
      yaadwatch resolve 1a2b3c4d --keep 5c01f2e4  that memory is right
      yaadwatch resolve 1a2b3c4d --both           they are about different things
      yaadwatch resolve 1a2b3c4d --none           neither is right
    """
    terminal.line("Settled ", styled(answer["id"], "bold"), f"  {answer['words']}", hang=10)
    if answer["ended"]:
        terminal.line(f"{count(len(answer['ended']), 'claim')} ended.", indent=2)
    for what, ids in (("Superseded", answer["superseded"]), ("Forgot", answer["forgotten"])):
        if ids:
            terminal.line(f"{what} {in_a_row([short(one) for one in ids])}.", indent=2)
    for place in answer["still_said"]:
        where = styled(f"{place['path']}, line {place['line']}", "yellow")
        terminal.line(
            where, f" still says {short(place['id'])}; correct or delete it there.", indent=2
        )
    for rule in answer["still_rules"]:
        identity = short(rule["id"])
        terminal.line(f"{identity} is a rule still: {memory_words(rule)}", indent=2, hang=12)
        terminal.line(f"Give it other words: yaadwatch edit {identity}", indent=4)
    for one in answer["forgotten"]:
        terminal.line(f"Undo: yaadwatch restore {short(one)}")


def _gaps(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    args.action = args.words[0] if args.words else ""
    if args.action == "approve":
        question = " ".join(words(args, "approve QUESTION...")[1:])
        return client.call("approve_gap", question=question, **given_fields(args, ApproveGap))
    if args.action == "drop":
        return client.call("drop_gap", gap=words(args, "drop NAME")[1])
    if args.words:
        raise usage(args, "`gaps` takes nothing, `approve QUESTION` or `drop NAME`")
    return client.call("gaps")


@prints(
    "gaps",
    ApproveGap,
    ask=_gaps,
    options=[option("words", metavar="WHAT", nargs="*", help="approve QUESTION, or drop NAME")],
)
def gaps(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """List questions without a good answer; approve or drop one.

    Only a hash of each question is kept, and how often it was asked. To keep the
    words, type the question again with approve; agents then see it in their brief.
    To answer it: yaadwatch remember TEXT

    examples:
      yaadwatch gaps                           most often asked first
      yaadwatch gaps approve how do we deploy  keep this question, in words
      yaadwatch gaps drop 1a2b3c4d             forget it
    """
    if args.action == "approve":
        terminal.line(f"Kept, and shown in the brief: {answer['text']}")
    elif args.action == "drop":
        terminal.line(f"Forgot {answer['gap']}, asked {count(answer['asked'], 'time')}.")
    elif not answer["gaps"]:
        terminal.line("There are no gaps: no question so far went without a good answer.")
    else:
        terminal.table(
            [
                (
                    styled(one["gap"], "bold"),
                    count(one["asked"], "time"),
                    terminal.ago(one["last"]),
                    str(one["text"] or "(its words are not kept)"),
                )
                for one in answer["gaps"]
            ],
            indent=0,
        )
        if answer["more"]:
            terminal.line(f"And {answer['more']} more, asked less often.")
        terminal.line("To keep the words of one, give them again: yaadwatch gaps approve QUESTION")


def _claim(one: "dict[str, Any]") -> tuple[str, ...]:
    """Return a row for a claim: number, text, its memory, and when it held."""
    where = f" in {one['place']}/" if one.get("place") else ""
    given = {"unverified": one["source"] not in ("text", "cli")}
    ended = f" until {str(one['until'])[:10]}" if one.get("until") else ""
    return (
        str(one["claim"]),
        stated(f"{one['subject']} {one['attribute']}: {one['value']}", [given, one]) + where,
        styled(short(one["node"]), "bold"),
        f"since {str(one['since'])[:10]}{ended}",
        "from its words" if one["source"] == "text" else str(one["source"]),
    )
