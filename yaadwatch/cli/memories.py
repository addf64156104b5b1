"""The commands remember, show, history, recall and context."""

from argparse import Namespace
from typing import Any

from yaadwatch.api.messages.memories import Context, History, Recall, Remember, Show
from yaadwatch.cli.commands import given_fields, prints
from yaadwatch.cli.terminal import (
    Terminal,
    authored,
    count,
    flag_words,
    folder,
    in_a_row,
    memory_words,
    noted,
    place,
    print_hidden,
    proposed,
    quoted_name,
    read_all,
    said,
    short,
    stated,
    styled,
    tier,
    version_words,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaadwatch.cli.commands import Answer
    from yaadwatch.client.connection import Client


def print_conflicts(answer: "Answer", terminal: Terminal, *, indent: int = 2) -> None:
    """Print which secrets were masked; each contradiction with its memories and how to settle it;
    which memories supersede this one, and which it supersedes.
    """
    if answer.get("masked"):
        terminal.line(styled(f"masked: {in_a_row(answer['masked'])}", "yellow"), indent=indent)
    found = answer.get("contradicts") or ()
    for one in found:
        about = stated(f"{one['subject']} {one['attribute']}", [answer, *one["against"]])
        where = f" in {one['place']}/" if one.get("place") else ""
        value = stated(one["value"], [answer])
        text = f"contradicts what is remembered of {about}{where}: {value} here, but"
        terminal.line(styled(text, "yellow"), indent=indent)
        for side in one["against"]:
            value = styled(stated(side["value"], [side]), "yellow")
            where = f" in {short(side['id'])}  {memory_words(side)}"
            terminal.line(value, where, indent=indent + 2, hang=4)
        if one.get("more"):
            terminal.line(f"and in {one['more']} more", indent=indent + 2)
        terminal.line(f"Settle it: {one['settle']}", indent=indent)
    if found:
        terminal.line("All of them: yaadwatch contradictions", indent=indent)
    for key, how in (
        ("superseded_by", styled("superseded by ", "yellow")),
        ("stands_for", "supersedes "),
    ):
        for one in answer.get(key) or ():
            terminal.line(how, f"{short(one['id'])}  {memory_words(one)}", indent=indent)


def _remember(args: Namespace, client: "Client", terminal: Terminal) -> "Answer":
    asks = given_fields(args, Remember)
    if args.text == ["-"]:
        asks["text"] = read_all(terminal.keys, "Standard input", "Nothing was remembered.")
    return client.call("remember", **asks)


@prints("remember", Remember, ask=_remember)
def remember(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Keep a statement, and tie it to the code it is about.

    When a file or definition that it names changes, the memory is flagged: see
    yaadwatch stale. Questions find it: see yaadwatch recall. Secrets are masked
    before anything is stored.

    examples:
      yaadwatch remember "Sign tokens with jose, in src/auth.ts"  a decision
      git log -1 --format=%B | yaadwatch remember - --kind fix    from a pipe
      yaadwatch remember --scope user Keep answers short          for every project
    """
    done = {"new": "Remembered ", "same": "Already known, and confirmed: "}
    terminal.line(
        done.get(answer["decision"], "Updated what was known: "),
        styled(short(answer["id"]), "bold"),
        f"  {answer['kind']}, {tier(answer['tier'])}",
        styled(f"  ({answer['why']})", "dim"),
    )
    terminal.line(str(answer["text"]), indent=2)
    for anchor in answer["anchors"]:
        terminal.line(f"rests on {place(anchor)}", indent=2)
    if answer.get("holds_in"):
        package = quoted_name(answer["holds_in"])
        terminal.line(f"holds in {package}; to hold everywhere, state it at the top", indent=2)
    if answer.get("scope") == "user":
        terminal.line("holds in all your projects", indent=2)
    elif not answer["anchors"]:
        why = "rests on no file, so no change can flag it; name one with --file"
        terminal.line(why, indent=2)
    if answer.get("waits"):
        why = "in no rules file until a person approves it: yaadwatch review"
        terminal.line(styled(why, "yellow"), indent=2)
    for one in answer.get("missing") or ():
        instead = f"; did you mean {one['nearest']}?" if one["nearest"] else "."
        text = f"No {one['kind']} {one['name']} was found here{instead}"
        terminal.line(styled(text, "yellow"), indent=2)
    print_conflicts(answer, terminal)
    _print_flagged(answer, terminal)
    for one in answer.get("alike") or ():
        known = styled("nearly the same words, kept apart:", "yellow")
        terminal.line(known, f" {short(one['id'])}  {memory_words(one)}", indent=2)
    if before := answer.get("supersedes"):
        terminal.line(f"before: {before['text']}", indent=2)
        terminal.command("Undo: ", _undo(before))
    elif answer["decision"] == "new":
        terminal.line(f"Undo: yaadwatch forget {short(answer['id'])}")


def _print_flagged(answer: "Answer", terminal: Terminal) -> None:
    """Print the flagged memories that the statement is about, and how to replace each."""
    for one in answer.get("flagged") or ():
        about = "the same" if one["on"] == "words" else f"the same {one['on']}"
        how = styled(f"flagged, about {about}:", "yellow")
        terminal.line(how, f" {short(one['id'])}  {one['text']}", indent=2)
        terminal.line(one["reason"], indent=4)
        who = "a person can replace it: " if one["replaced_by"] == "person" else "replace it: "
        terminal.line(f"{who}{one['replace']}", indent=4)
    if more := answer.get("flagged_more"):
        terminal.line(f"and {more} more: yaadwatch stale", indent=2)


def _undo(before: "dict[str, Any]") -> str:
    """Return the command that restores a memory's earlier text."""
    import shlex

    text, identity = str(before["text"]), short(before["id"])
    if len(text) > 300 or "\n" in text:  # too long for a command line
        return f"yaadwatch restore {identity} --version {before['version']}"
    return f"yaadwatch edit {identity} {shlex.quote(text)}"


@prints("show", Show)
def show(answer: "Answer", terminal: Terminal, args: Namespace) -> None:
    """Show one memory: what it rests on, its places, its versions.

    examples:
      yaadwatch show 5c01f2e4             everything known about it
      yaadwatch show 5c01f2e4 --view all  with relations that have ended
      yaadwatch show 5c01f2e4 --json      for scripts
    """
    terminal.line(styled(memory_words(answer), "bold"), hang=0)
    if new := proposed(answer):
        terminal.line(styled(new, "yellow"))
    if answer.get("stale"):
        terminal.line(styled(flag_words(answer["stale"]), "yellow"))
    print_conflicts(answer, terminal, indent=0)
    terminal.gap()
    terminal.table(list(_facts(answer, terminal)), indent=0)
    for title, rows, more in _sections(answer, terminal, numbered=bool(args.view)):
        if rows:
            terminal.gap()
            terminal.line(styled(title, "bold"))
            terminal.table(rows)
            if more:
                terminal.line(styled(more, "dim"), indent=2)


def _facts(answer: "Answer", terminal: Terminal) -> "Iterator[tuple[str, str]]":
    ago = terminal.ago
    yield "id", str(answer["id"])
    pinned = ", pinned" if answer["pinned"] else ""
    own = ", your own" if answer.get("scope") == "user" else ""
    yield "kind", f"{answer['kind']}, {tier(answer['tier'])}{pinned}{own}"
    yield "from", str(answer["origin"])
    if answer.get("by"):
        yield "by", noted(answer)
    yield "confidence", f"{answer['confidence']:.2f}, confirmed {ago(answer['confirmed_at'])}"
    yield "created", f"{ago(answer['created_at'])}, updated {ago(answer['updated_at'])}"
    if answer.get("key"):
        yield "key", str(answer["key"])
    if answer["tags"]:
        yield "tags", ", ".join(map(quoted_name, answer["tags"]))
    for name, value in (answer.get("attributes") or {}).items():
        yield "attribute", f"{quoted_name(name)} = {said(value, answer.get('unverified'))}"
    if answer.get("archived_at"):
        why = answer.get("archive_reason") or "no reason given"
        yield "archived", f"{ago(answer['archived_at'])}: {why}"


def _sections(
    answer: "Answer", terminal: Terminal, *, numbered: bool
) -> "Iterator[tuple[str, list[tuple[str, ...]], str]]":
    """Yield each list of a memory: its title, its rows, and what is left out."""
    identity, anchors = short(answer["id"]), answer["anchors"]
    yield (
        "Rests on",
        [
            (
                place(anchor),
                f"as of {anchor['commit'][:10]}" if anchor.get("commit") else "uncommitted",
                str(anchor.get("verdict") or ""),
            )
            for anchor in anchors
            if not _is_repeated(anchor, anchors)
        ],
        "",
    )
    yield "Said in", [(place(one), folder(one["worktree"])) for one in answer["provenance"]], ""
    more = answer.get("edges_more")
    yield (
        "Related",
        [_edge(edge, answer["id"], numbered=numbered) for edge in answer["edges"]],
        f"and {more} more: yaadwatch traverse {identity}" if more else "",
    )
    more = answer.get("versions_more")
    yield (
        "Versions",
        [
            (
                str(past["version"]),
                terminal.ago(past["at"]),
                str(past["change"]),
                authored(past["by"]),
                version_words(past["text"], past["by"]),
            )
            for past in answer["versions"]
        ],
        f"and {more} more: yaadwatch history {identity}" if more else "",
    )


def _is_repeated(anchor: "dict[str, Any]", anchors: "list[dict[str, Any]]") -> bool:
    """Return whether this is a value of a definition that has its own row."""
    if not anchor.get("symbol") or anchor.get("line") or anchor.get("verdict"):
        return False
    same = [one for one in anchors if place(one | {"line": None}) == place(anchor)]
    return any(one.get("line") for one in same)


def _edge(edge: "dict[str, Any]", identity: str, *, numbered: bool) -> tuple[str, ...]:
    """Return a row for an edge: `depends_on X`, or `<- depends_on X` for an incoming one.

    `numbered`: with its number, and when it held.
    """
    words = memory_words(edge) + ("  (archived)" if edge.get("archived") else "")
    ended = f" until {str(edge['until'])[:10]}" if numbered and edge["until"] else ""
    held = [f"{edge['edge']}, since {str(edge['since'])[:10]}{ended}"] if numbered else []
    if edge["from"] == identity:
        return (str(edge["kind"]), short(edge["to"]), words, *held)
    return (f"<- {edge['kind']}", short(edge["from"]), words, *held)


@prints("history", History)
def history(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Show every version of a memory, who made it, and why.

    A forgotten memory keeps its history; an erased one has none.

    examples:
      yaadwatch history 5c01f2e4              oldest first
      yaadwatch restore 5c01f2e4 --version 2  go back to what it said then
      yaadwatch history 5c01f2e4 --json       for scripts
    """
    if answer.get("more"):
        terminal.line(styled(f"{count(answer['more'], 'older version')}, not shown here", "dim"))
    before: tuple[object, ...] = ()
    for past in answer["versions"]:
        why = f": {version_words(past['reason'], past['by'])}" if past.get("reason") else ""
        terminal.line(
            styled(f"{past['version']:>3}  ", "bold"),
            f"{past['change']} {terminal.ago(past['at'])} by {authored(past['by'])}{why}",
            hang=5,
        )
        # A version that only notes a pin or a confirmation has the text of the one before it.
        now = past["text"], past["kind"], past["tier"]
        if now != before:
            text = version_words(past["text"], past["by"])
            terminal.line(f"{text}  ({past['kind']}, {tier(past['tier'])})", indent=5)
        before = now
    if len(answer["versions"]) > 1:
        restore = f"yaadwatch restore {short(answer['id'])} --version N"
        terminal.line(styled(f"To restore an older one: {restore}", "dim"))


@prints("recall", Recall)
def recall(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Find the memories that answer a question.

    Any of the words may match; rare words count most. Words in double quotes must
    stand together. A key, a title, a path or the end of a path finds what it
    names. Archived memories are left out. Memories from branches that are not
    merged here are only counted, unless you give --all-branches.

    examples:
      yaadwatch recall how do we sign tokens        a question in your own words
      yaadwatch recall src/auth.ts                  what is known about a file
      yaadwatch recall jose --kind decision --json  for scripts
      yaadwatch recall retry --path src --tag http  about a folder, with a tag
      yaadwatch recall deploy --at 2026-03-01       what was known on that day
      yaadwatch recall deploy --agent claude        what claude remembered
    """
    results = answer["results"]
    for found in results:
        _print_result(found, terminal)
    for edge in answer.get("edges", ()):
        text = f"{short(edge['from'])} {edge['kind']} {short(edge['to'])}"
        terminal.line(styled(text, "dim"), indent=10)
    if results:
        used, left = answer["budget"]["used"], answer["budget"]["left"]
        found = f"{count(len(results), 'memory')}, {used} tokens used, {left} left"
        terminal.line(styled(found, "dim"))
    else:
        terminal.line("Nothing is remembered about that. Fewer or other words may find it.")
    print_hidden(answer, terminal)


def _print_result(found: "dict[str, Any]", terminal: Terminal) -> None:
    own = ", yours" if found.get("scope") == "user" else ""
    state = f", {found['state']}" if found.get("state") else ""
    more = "" if found["depth"] == "full" else f", {found['depth']}"
    terminal.line(
        styled(short(found["id"]), "bold"),
        styled(f"  {found['score']:.2f}  {found['kind']}{state}{own}{more}  ", "dim"),
        memory_words(found),
        hang=10,
    )
    if found.get("approved_at"):
        terminal.line(styled(noted(found), "dim"), indent=10)
    if new := proposed(found):
        terminal.line(styled(new, "dim"), indent=10)
    if found["stale"]:
        terminal.line(styled(f"may be stale: {found['stale']['verdict']}", "yellow"), indent=10)
    for key, words in (("superseded_by", "superseded by"), ("contradicts", "contradicts")):
        if others := found.get(key):
            ids = in_a_row([short(one["id"]) for one in others])
            terminal.line(styled(f"{words} {ids}", "yellow"), indent=10)


def _context(args: Namespace, client: "Client", _: Terminal) -> "Answer":
    tokens = args.tokens_max or int(str(Context.FIELDS["tokens_max"].default))
    return client.call("context", **given_fields(args, Context), chars_max=8 * tokens)


@prints("context", Context, ask=_context)
def context(answer: "Answer", terminal: Terminal, _: Namespace) -> None:
    """Show the brief that an agent gets when it starts.

    Flags come first, then rules, then open tasks. What your agent files say
    already is left out, unless it is flagged. Agents get it by themselves once
    you run: yaadwatch connect

    examples:
      yaadwatch context                      flags, rules, open tasks
      yaadwatch context --tokens 500 --json  a shorter one, for scripts
    """
    budget = answer["budget"]
    if not answer["brief"]:
        terminal.line(
            "The brief is empty: no flags, no rules but those in your agent files, no open tasks;"
            f" or none of them fits into {count(budget['left'], 'token')}."
        )
        return
    for line in str(answer["brief"]).splitlines():
        indent = len(line) - len(line.lstrip())
        terminal.line(styled(line, "bold" if line.startswith("#") else ""), hang=indent + 2)
    terminal.line(
        styled(
            f"{count(answer['stale'], 'flag')}, {count(answer['rules'], 'rule')},"
            f" {count(answer['tasks'], 'task')}; {budget['used']} tokens used,"
            f" {budget['left']} left",
            "dim",
        )
    )
