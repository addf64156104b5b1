"""Relations and claims: impact, link, unlink, subgraph, traverse, graph and inject; claims,
contradictions, resolve and gaps.
"""

from argparse import Namespace

from yaadwatch.api.messages.graph import (
    AddClaim,
    ApproveGap,
    Claims,
    CloseLink,
    Contradictions,
    Inject,
    Link,
    Resolve,
    Subgraph,
    Traverse,
    Unlink,
)
from yaadwatch.api.messages.memories import Impact
from yaadwatch.cli.commands import (
    actions,
    file_name,
    given_fields,
    json_value,
    option,
    prints,
    usage,
    words,
)
from yaadwatch.cli.memories import print_conflicts
from yaadwatch.cli.terminal import (
    Terminal,
    authored,
    count,
    flag_words,
    in_a_row,
    memory_words,
    named,
    place,
    print_hidden,
    short,
    stated,
    styled,
    version_words,
)
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import FRAME_BYTES_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client


@prints("impact", Impact)
def impact(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """List the memories that a change to a file would affect.

    Lists what rests on the file, and what depends on those memories. The number
    says how much of a flag would reach a memory: 1.00 when it rests on the file
    itself, less with every relation in between.

    examples:
      yaadwatch impact src/auth.ts         before you change it
      yaadwatch impact src/auth.ts:verify  one definition in it
      yaadwatch impact src --json          everything in a folder, for scripts
    """
    path, symbol, memories = answer["path"], answer["symbol"], answer["memories"]
    about = f"{path}:{symbol}" if symbol else path
    if not answer["there"]:
        terminal.line(styled(f"{path} no longer exists.", "yellow"))
    for found in memories:
        _print_dependent(found, terminal)
    if answer["more"]:
        terminal.line(f"and {answer['more']} more, weaker")
    if not memories:
        terminal.line(f"No memory rests on {about}.")
        if symbol and (names := answer["symbols"]):
            more = [f"{len(names) - 8} more"] if len(names) > 8 else []
            terminal.line(f"In {path}, memories rest on: {in_a_row([*names[:8], *more])}")
    else:
        flagged = sum(bool(found["stale"] and found["stale"]["level"]) for found in memories)
        direct = sum(not found["via"] for found in memories)
        rest = f"{count(direct, 'memory')} {'rests' if direct == 1 else 'rest'} on {about}"
        through = f", {len(memories) - direct} through links" if direct < len(memories) else ""
        terminal.line(f"{rest}{through}; {flagged or 'none'} flagged now.")
    if unchecked := answer.get("unchecked"):
        terminal.line(styled(f"Not checked now: {unchecked}", "yellow"))
    print_hidden(answer, terminal)


def _print_dependent(found: "dict[str, Any]", terminal: Terminal) -> None:
    identity, text = named(found)
    terminal.line(identity, f"  {found['weight']:.2f}{text}", hang=16)
    for anchor in found["anchors"]:
        terminal.line(f"rests on {place(anchor)}", indent=16)
    if found["via"]:
        way = ""
        for edge, start in zip(found["along"], [*found["via"], found["id"]], strict=False):
            arrow = f"-{edge['kind']}->" if edge["id"] == start else f"<-{edge['kind']}-"
            way += f"{short(start)} {arrow} "
        terminal.line(f"{way}this", indent=16)
    if stale := found["stale"]:
        terminal.line(
            styled(flag_words(stale, "flagged now"), "yellow"), f"  ({stale['reason']})", indent=16
        )


@prints("link", Link)
def link(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Relate one memory to another, so that flags spread.

    These kinds pass on a flag, weaker (x 0.8 and so on):
      A depends_on B   a flag on B also flags A (0.8)
      A part_of B      a flag on B also flags A (0.6), one on A flags B (0.3)
      A caused_by B    a flag on B also flags A (0.6)
      A led_to B       a flag on A also flags B (0.6)
    A supersedes B: A replaces B, which is no rule any more and fades faster.
    Every other KIND passes on no flag.

    examples:
      yaadwatch link 5c01f2e4 depends_on 77aa01bc                 falls with it
      yaadwatch link 5c01f2e4 led_to 77aa01bc --weight 0.5        half as strong
      yaadwatch link 5c01f2e4 led_to 77aa01bc --since 2026-03-01  since then
    """
    done = "Linked" if answer["made"] else "Changed" if answer["changed"] else "Linked already"
    _print_link(done, answer, terminal)


@prints("unlink", Unlink)
def unlink(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """End a relation between two memories.

    A flag that came through it is cleared. To see the relations of a memory:
    yaadwatch show ID

    examples:
      yaadwatch unlink 5c01f2e4 depends_on 77aa01bc         undo a `link`
      yaadwatch unlink 5c01f2e4 depends_on 77aa01bc --json  for scripts
    """
    _print_link("Unlinked" if answer["ended"] else "Not linked, nothing to do", answer, terminal)


def _print_link(done: str, answer: "Answer", terminal: Terminal) -> None:
    """Print a relation with both memories, so that a slip is noticed at once."""
    weight = f"  (weight {answer['weight']:g})" if answer["weight"] != 1.0 else ""
    terminal.line(f"{done}{weight}:")
    terminal.line(styled(short(answer["id"]), "bold"), f"  {answer['text']}", indent=2, hang=10)
    held = f", until {str(answer['until'])[:10]}" if answer.get("until") else ""
    terminal.line(styled(str(answer["kind"]), "yellow"), held, indent=4)
    terminal.line(styled(short(answer["to"]), "bold"), f"  {answer['to_text']}", indent=2, hang=10)
    print_conflicts(answer, terminal)


def _print_edge(edge: "dict[str, Any]", terminal: Terminal) -> None:
    """Print a relation: "12  5c01f2e4 -caused_by-> 77aa01bc, since 2026-03-01"."""
    text = f"{edge['edge']}  {short(edge['from'])} -{edge['kind']}-> {short(edge['to'])}"
    weight = f", weight {edge['weight']:g}" if edge["weight"] != 1.0 else ""
    ended = f" until {str(edge['until'])[:10]}" if edge["until"] else ""
    terminal.line(f"{text}{weight}, since {str(edge['since'])[:10]}{ended}", indent=2)


def _print_walk(answer: "Answer", terminal: Terminal) -> None:
    nodes, edges = answer["nodes"], answer["edges"]
    for node in nodes:
        flag = f"  (may be stale: {node['stale']['verdict']})" if node.get("stale") else ""
        terminal.line(f"{node['steps']}  ", *named(node), styled(flag, "yellow"), hang=13)
    if edges:
        terminal.gap()
    for edge in edges:
        _print_edge(edge, terminal)
    found = f"{count(len(nodes), 'node')}, {count(len(edges), 'relation')}"
    if not nodes:
        terminal.line("Nothing was found to look around.")
    elif answer["complete"]:
        terminal.line(f"{found}.")
    else:
        more = f"{answer['more']} more" if answer["more"] else "some"
        fewer = "Fewer steps or one kind (--depth, --kind) show the rest."
        terminal.line(f"{found}; {more} left out. {fewer}")


@prints("subgraph", Subgraph)
def subgraph(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Show what surrounds a memory, or the answers to a question.

    Prints a line for each memory (steps away, id, text), then their relations.

    examples:
      yaadwatch subgraph 5c01f2e4                   two steps around a memory
      yaadwatch subgraph --query "token signing"    around the best answers
      yaadwatch subgraph 5c01f2e4 --depth 1 --json  for scripts
    """
    _print_walk(answer, terminal)


@prints("traverse", Traverse)
def traverse(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Walk from a memory along its relations.

    Prints a line for each memory (steps away, id, text), then their relations.

    examples:
      yaadwatch traverse 5c01f2e4 --depth 3                 in both directions
      yaadwatch traverse 5c01f2e4 --direction ancestors     what points to it
      yaadwatch traverse 5c01f2e4 --kind led_to --view all  one kind, ended ones too
    """
    _print_walk(answer, terminal)


def _graph(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    if args.action == "close":
        edge = int(words(args, "NUMBER")[0])
        return client.call("close_link", edge=edge, **given_fields(args, CloseLink))
    if args.action == "delete-link":
        start, *rest = words(args, "NUMBER", "FROM KIND TO")
        if not rest:
            return client.call("delete_edge", edge=int(start))
        return client.call("delete_edge", id=start, kind=rest[0], to=rest[1])
    if args.action == "delete":
        return client.call("delete_node", id=words(args, "ID")[0])
    words(args)
    return client.call("graph_stats")


@prints(
    "graph",
    CloseLink,
    ask=_graph,
    options=[
        actions("stats", "close", "delete-link", "delete"),
        option(
            "words",
            metavar="WHAT",
            nargs="*",
            help="the number of a relation (close, delete-link), FROM KIND TO (delete-link), or the"
            " id of a memory (delete)",
        ),
    ],
)
def graph(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Count memories and relations; end or delete one.

    For the numbers of relations: yaadwatch show ID --view all
    A deleted memory cannot be brought back. Use yaadwatch forget to archive one.

    examples:
      yaadwatch graph                           how many of each kind there are
      yaadwatch graph close 12                  end the relation with this number
      yaadwatch graph close 12 --at 2026-03-01  it ended then
      yaadwatch graph delete-link 12            it was never true
      yaadwatch graph delete 5c01f2e4           a memory, for good
    """
    if args.action == "stats":
        _print_stats(answer, terminal)
    elif args.action == "close":
        done = "Ended" if answer["ended"] else "It had ended already, nothing to do"
        _print_link(done, answer, terminal)
    elif not answer["deleted"]:
        terminal.line("It does not exist; nothing to do.")
    elif args.action == "delete":
        identity = styled(short(answer["id"]), "bold")
        terminal.line("Deleted ", identity, f"  {answer['text']}", hang=18)
        terminal.line(f"With it went {count(answer['edges'], 'relation')}, and its history.")
    else:
        for edge in answer["edges"]:
            _print_edge(edge, terminal)
        terminal.line(f"Deleted {count(answer['deleted'], 'relation')}.")


def _print_stats(answer: "Answer", terminal: Terminal) -> None:
    edges = answer["edges"]
    terminal.line(
        f"{count(answer['memories'], 'memory')} ({answer['orphans'] or 'none'} without a relation),"
        f" {answer['archived']} archived; {count(answer['sessions'], 'session')}, "
        f"{count(answer['things'], 'file or symbol', 'files and symbols')}"
    )
    _print_kinds(answer["kinds"], terminal)
    terminal.line(f"{count(edges['current'], 'relation')} now, {edges['historical']} that ended")
    _print_kinds(edges["kinds"], terminal)
    if answer["hubs"]:
        terminal.line("Most related:")
    for hub in answer["hubs"]:
        identity, text = named(hub)
        terminal.line(identity, f"  {hub['edges']}{text}", indent=2, hang=14)


def _print_kinds(kinds: "dict[str, int]", terminal: Terminal) -> None:
    ranked = sorted(kinds.items(), key=lambda one: (-one[1], one[0]))
    if ranked:
        terminal.line(", ".join(f"{number} {kind}" for kind, number in ranked), indent=2)


@prints(
    "inject",
    Inject,
    ask=lambda args, client, terminal: client.call(
        "inject", **given_fields(args, Inject), **_read(args.file, terminal)
    ),
    options=[option("file", metavar="FILE", type=file_name, help="JSON; - reads standard input")],
)
def inject(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Store many memories and relations at once.

    The file: {"nodes": [{"id": "req-1", "text": "Sign in by mail"}],
               "edges": [{"from": "req-1", "kind": "led_to", "to": "req-2"}]}
    A node may also have kind, tier, tags, pin and created_at; an edge may have
    weight, attributes, created_at, valid_from and valid_until. Either everything is
    stored or nothing; storing it again changes nothing. Edges whose ends do not
    exist are left out and listed.

    examples:
      yaadwatch inject graph.json      from a file
      make-graph | yaadwatch inject -  from a pipe
    """
    left_out = answer["left_out"]
    for one in left_out[:20]:
        what = one.get("id") or f"{one.get('from')} -{one.get('kind')}-> {one.get('to')}"
        terminal.line(styled(str(what), "bold"), "  ", styled(str(one["reason"]), "yellow"))
    for name, noun in (("nodes", "memory"), ("edges", "relation")):
        new, changed, same = (answer[name][key] for key in ("new", "changed", "same"))
        terminal.line(f"{count(new, noun)} new, {changed} changed, {same} as before.")
    if answer["masked"]:
        terminal.line(f"Secrets were masked in {count(len(answer['masked']), 'memory')}.")
    if left_out:
        more = answer.get("left_out_more", 0)
        which = f"{len(left_out)} of them" if more else "All of them"
        terminal.line(f"Left out: {len(left_out) + more}. {which}: --json")


def _read(path: str, terminal: Terminal) -> "dict[str, Any]":
    """Return the nodes and edges in a file.

    Raises:
        YaadError: not_found, too_large or bad_request when it cannot be read, or is not JSON.
    """
    nothing, how = "Nothing was stored.", "How it looks: yaadwatch inject --help"
    try:
        if path == "-":
            text = terminal.keys.read(FRAME_BYTES_MAX + 1)
        else:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123
                text = file.read(FRAME_BYTES_MAX + 1)
        if len(text) > FRAME_BYTES_MAX:
            raise YaadError(
                Code.TOO_LARGE,
                f"{path} has more than {FRAME_BYTES_MAX} characters. {nothing}",
                hint="Split it, nodes first: edges find the nodes that are there already.",
            )
        found = json_value(text)
    except OSError as error:
        raise YaadError(
            Code.NOT_FOUND,
            f"{path} cannot be read ({error.strerror}). {nothing}",
            hint="Name a file of JSON, or - for standard input.",
        ) from None
    except (ValueError, RecursionError) as error:
        why = f"{path} is not JSON in UTF-8 ({error}). {nothing}"
        raise YaadError(Code.BAD_REQUEST, why, hint=how) from None
    if not isinstance(found, dict) or not found.keys() <= {"nodes", "edges"}:
        why = f'{path} must hold an object with "nodes" and "edges". {nothing}'
        raise YaadError(Code.BAD_REQUEST, why, hint=how)
    return found


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
    for said in answer["still_said"]:
        where = styled(f"{said['path']}, line {said['line']}", "yellow")
        terminal.line(
            where, f" still says {short(said['id'])}; correct or delete it there.", indent=2
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
