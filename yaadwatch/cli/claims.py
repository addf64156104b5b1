"""The commands claims, contradictions, resolve, gaps and feedback."""

from argparse import Namespace

from yaadwatch.api.messages.graph import (
    AddClaim,
    ApproveGap,
    Claims,
    Contradictions,
    Feedback,
    Resolve,
)
from yaadwatch.cli.commands import command, given_fields, option
from yaadwatch.cli.memories import print_contradicted
from yaadwatch.cli.terminal import (
    Terminal,
    ago,
    authored,
    count,
    in_a_row,
    memory_words,
    short,
    stated,
    styled,
    version_words,
)
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client


ONE = "its id or key; a unique beginning or end of the id is enough"


@command(
    "claims",
    "list the values that memories claim; add or end a claim",
    examples=[
        ("yaadwatch claims", "what holds now, by subject"),
        ("yaadwatch claims 5c01f2e4 --all", "of one memory, ended ones too"),
        ("yaadwatch claims --subject api", "what is claimed about the API"),
        ("yaadwatch claims add 5c01f2e4 api port 8080", "add a claim"),
        ("yaadwatch claims end 12", "it no longer holds"),
    ],
    more="A claim gives a subject a value, for yaadwatch to compare. Add claims here, or\n"
    'remember a plain amount: "The API timeout is 30 seconds". No other words make\n'
    "a claim. Two values for one thing: yaadwatch contradictions",
    takes=(Claims, AddClaim),
    options=[
        option(
            "what",
            metavar="WHAT",
            nargs="*",
            help="the id of a memory; or: add ID SUBJECT ATTRIBUTE VALUE; or: end NUMBER",
        )
    ],
)
def claims(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """List claims, or add or end one."""
    action = args.what[0] if args.what else ""
    if action == "add":
        return _add_claim(args, client, terminal)
    if action == "end":
        return _end_claim(args, client, terminal)
    if len(args.what) > 1:
        raise _usage("claims", "`claims` takes the id of one memory, `add` or `end`")
    answer = client.call("claims", id=action or None, **given_fields(args, Claims))
    if args.json:
        terminal.json(answer)
        return 0
    if not answer["claims"]:
        terminal.line("Nothing is claimed. Sentences such as “The API port is 8080” claim a value.")
        return 0
    terminal.table([_claim(one) for one in answer["claims"]], indent=0)
    if answer["more"]:
        terminal.line("There are more; name a memory, or --subject.")
    return 0


@command(
    "contradictions",
    "list memories that cannot all be true",
    examples=[
        ("yaadwatch contradictions", "the open ones"),
        ("yaadwatch resolve 1a2b3c4d --keep 5c01f2e4", "settle one"),
        ("yaadwatch contradictions --settled", "settled ones too"),
    ],
    more="There are three kinds: two values for the same thing at the same time, a claim\n"
    "whose relation has ended, and evidence 30 days newer than the memory it speaks\n"
    "against. Nothing changes until you settle it: yaadwatch resolve",
    takes=Contradictions,
)
def contradictions(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """List open contradictions, and what was decided."""
    answer = client.call("contradictions", **given_fields(args, Contradictions))
    if args.json:
        terminal.json(answer)
        return 0
    now = client.now()
    if not answer["contradictions"]:
        terminal.line("Nothing contradicts anything here.")
    for one in answer["contradictions"]:
        terminal.line(styled(one["id"], "bold"), f"  {one['words']}", hang=10)
        for side in one["sides"]:
            terminal.line(
                f"{short(side['node'])}  {memory_words(side)}  "
                f"(confirmed {ago(side['confirmed_at'], now)})",
                indent=10,
                hang=20,
            )
        if one.get("against"):
            against = one["against"]
            terminal.line(
                f"{short(against['node'])}  {memory_words(against)}  (newer)", indent=10, hang=20
            )
    if answer["contradictions"]:
        terminal.line("Settle one: yaadwatch resolve ID --keep MEMORY, --both, or --none")
    for past in answer["settled"]:
        kept = f" {short(past['kept'])}" if past.get("kept") else ""
        why = f": {version_words(past['reason'], past['by'])}" if past.get("reason") else ""
        terminal.line(styled(past["id"], "dim"), f"  {past['words']}", hang=10)
        terminal.line(
            f"{past['decision']}{kept}, {ago(past['at'], now)} by {authored(past['by'])}{why}",
            indent=10,
        )
    return 0


@command(
    "resolve",
    "settle a contradiction",
    examples=[
        ("yaadwatch resolve 1a2b3c4d --keep 5c01f2e4", "that memory is right"),
        ("yaadwatch resolve 1a2b3c4d --both", "they are about different things"),
        ("yaadwatch resolve 1a2b3c4d --none", "neither is right"),
    ],
    more="A memory that is not kept loses the claim. If it claimed nothing else, it is\n"
    "superseded, or archived with --forget. See yaadwatch contradictions",
    takes=Resolve,
)
def resolve(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Settle a contradiction; print what that did."""
    answer = client.call("resolve", **given_fields(args, Resolve))
    if args.json:
        terminal.json(answer)
        return 0
    terminal.line("Settled ", styled(answer["id"], "bold"), f"  {answer['words']}", hang=10)
    if answer["ended"]:
        terminal.line(f"{count(len(answer['ended']), 'claim')} ended.", indent=2)
    for what, ids in (("Superseded", answer["superseded"]), ("Forgot", answer["forgotten"])):
        if ids:
            terminal.line(f"{what} {in_a_row([short(one) for one in ids])}.", indent=2)
    for place in answer["still_said"]:
        terminal.line(
            styled(f"{place['path']}, line {place['line']}", "yellow"),
            f" still says {short(place['id'])}; correct or delete it there.",
            indent=2,
        )
    for rule in answer["still_rules"]:
        terminal.line(
            f"{short(rule['id'])} is a rule still: {memory_words(rule)}",
            indent=2,
            hang=12,
        )
        terminal.line(f"Give it other words: yaadwatch edit {short(rule['id'])}", indent=4)
    for one in answer["forgotten"]:
        terminal.line(f"Undo: yaadwatch restore {short(one)}")
    return 0


@command(
    "gaps",
    "list questions without a good answer; approve or drop one",
    examples=[
        ("yaadwatch gaps", "most often asked first"),
        ("yaadwatch gaps approve how do we deploy", "keep this question, in words"),
        ("yaadwatch gaps drop 1a2b3c4d", "forget it"),
    ],
    more="Only a hash of each question is kept, and how often it was asked. To keep the\n"
    "words, type the question again with approve; agents then see it in their brief.\n"
    "To answer it: yaadwatch remember TEXT",
    takes=ApproveGap,
    options=[option("what", metavar="WHAT", nargs="*", help="approve QUESTION, or drop NAME")],
)
def gaps(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """List questions without a good answer, or approve or drop one."""
    action = args.what[0] if args.what else ""
    if action == "approve" and len(args.what) > 1:
        answer = client.call(
            "approve_gap", question=" ".join(args.what[1:]), **given_fields(args, ApproveGap)
        )
        said = f"Kept, and told in the brief: {answer['text']}"
    elif action == "drop" and len(args.what) == 2:
        answer = client.call("drop_gap", gap=args.what[1])
        said = f"Forgot {answer['gap']}, asked {count(answer['asked'], 'time')}."
    elif args.what:
        raise _usage("gaps", "`gaps` takes nothing, `approve QUESTION` or `drop NAME`")
    else:
        return _list_gaps(args, client, terminal)
    if args.json:
        terminal.json(answer)
    else:
        terminal.line(said)
    return 0


@command(
    "feedback",
    "approve, edit or discard a memory",
    examples=[
        ("yaadwatch feedback 5c01f2e4 approve", "it is right"),
        ("yaadwatch feedback 5c01f2e4 edit The port is 9090", "it should say this"),
        (
            'yaadwatch feedback 5c01f2e4 discard --reason "not ours"',
            "archive it",
        ),
    ],
    takes=Feedback,
)
def feedback(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Give feedback on a memory; print its new state."""
    if bool(args.text) != (args.verdict == "edit"):
        raise _usage("feedback", "new words are for `edit`, and needed there")
    answer = client.call("feedback", **given_fields(args, Feedback))
    if args.json:
        terminal.json(answer)
        return 0
    done = {"approve": "Confirmed", "edit": "Edited", "discard": "Forgot"}[args.verdict]
    terminal.line(
        f"{done} ", styled(short(answer["id"]), "bold"), f"  {memory_words(answer)}", hang=10
    )
    if answer.get("masked"):
        terminal.line(styled(f"masked: {in_a_row(answer['masked'])}", "yellow"), indent=2)
    print_contradicted(answer, terminal)
    if answer.get("undo"):
        terminal.line(f"Undo: {answer['undo']}")
    return 0


def _add_claim(args: Namespace, client: "Client", terminal: Terminal) -> int:
    if len(args.what) != 5:
        raise _usage("claims", "`claims add` takes ID SUBJECT ATTRIBUTE VALUE")
    _, memory, subject, attribute, value = args.what
    answer = client.call(
        "add_claim",
        id=memory,
        subject=subject,
        attribute=attribute,
        value=value,
        **given_fields(args, AddClaim),
    )
    if args.json:
        terminal.json(answer)
        return 0
    terminal.table([_claim(answer)], indent=0)
    if answer["masked"]:
        terminal.line(styled(f"masked: {in_a_row(answer['masked'])}", "yellow"), indent=2)
    print_contradicted(answer, terminal)
    terminal.line(f"Undo: {answer['undo']}")
    return 0


def _end_claim(args: Namespace, client: "Client", terminal: Terminal) -> int:
    if len(args.what) != 2 or not args.what[1].isdecimal():
        raise _usage("claims", "`claims end` takes the number of one claim")
    answer = client.call("end_claim", claim=int(args.what[1]))
    if args.json:
        terminal.json(answer)
    else:
        terminal.table([_claim(answer)], indent=0)
    return 0


def _list_gaps(args: Namespace, client: "Client", terminal: Terminal) -> int:
    answer = client.call("gaps")
    if args.json:
        terminal.json(answer)
        return 0
    if not answer["gaps"]:
        terminal.line("There are no gaps: no question so far went without a good answer.")
        return 0
    now = client.now()
    terminal.table(
        [
            (
                styled(one["gap"], "bold"),
                count(one["asked"], "time"),
                ago(one["last"], now),
                str(one["text"] or "(its words are not kept)"),
            )
            for one in answer["gaps"]
        ],
        indent=0,
    )
    if answer["more"]:
        terminal.line(f"And {answer['more']} more, asked less often.")
    terminal.line("To keep the words of one, give them again: yaadwatch gaps approve QUESTION")
    return 0


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


def _usage(command: str, said: str) -> YaadError:
    return YaadError(
        Code.BAD_REQUEST, f"{said}. Nothing was done.", hint=f"How: yaadwatch {command} --help"
    )
