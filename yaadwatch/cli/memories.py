"""The commands remember, show, history, recall and context, and the client they use.

The client starts a daemon, and reads the stores by itself when none can be started.
"""

from argparse import Namespace
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from yaadwatch.api.messages.memories import Context, History, Recall, Remember, Show
from yaadwatch.cli.commands import command, given_fields
from yaadwatch.cli.terminal import (
    Terminal,
    ago,
    authored,
    count,
    folder,
    in_a_row,
    memory_words,
    noted,
    place,
    print_hidden,
    proposed,
    quoted_name,
    read_all,
    short,
    stated,
    styled,
    tier,
    version_words,
)
from yaadwatch.client.connection import Client, DaemonNotRunning, DaemonUnresponsive
from yaadwatch.model.errors import YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def print_contradicted(answer: "dict[str, Any]", terminal: Terminal, *, indent: int = 2) -> None:
    """Print each contradiction with its memories and how to settle it, and which memories supersede
    this one or are superseded by it.
    """
    found = answer.get("contradicts") or ()
    for one in found:
        about = stated(f"{one['subject']} {one['attribute']}", [answer, *one["against"]])
        where = f" in {one['place']}/" if one.get("place") else ""
        terminal.line(
            styled(
                f"contradicts what is remembered of {about}{where}: "
                f"{stated(one['value'], [answer])} here, but",
                "yellow",
            ),
            indent=indent,
        )
        for side in one["against"]:
            terminal.line(
                styled(stated(side["value"], [side]), "yellow"),
                f" in {short(side['id'])}  {memory_words(side)}",
                indent=indent + 2,
                hang=4,
            )
        if one.get("more"):
            terminal.line(f"and in {one['more']} more", indent=indent + 2)
        terminal.line(f"Settle it: {one['settle']}", indent=indent)
    if found:
        terminal.line("All of them: yaadwatch contradictions", indent=indent)
    for one in answer.get("superseded_by") or ():
        terminal.line(
            styled("superseded by", "yellow"),
            f" {short(one['id'])}  {memory_words(one)}",
            indent=indent,
        )
    for one in answer.get("stands_for") or ():
        terminal.line(f"supersedes {short(one['id'])}  {memory_words(one)}", indent=indent)


_DONE = {
    "new": "Remembered ",
    "same": "Already known, and confirmed: ",
    "refines": "Updated what was known: ",
}
_UNDO_CHARS_MAX = 300
"""A longer text is no command line; its version is shown by `yaadwatch show`."""


@command(
    "remember",
    "keep a statement, and tie it to the code it is about",
    examples=[
        ('yaadwatch remember "Sign tokens with jose, in src/auth.ts"', "a decision"),
        ("git log -1 --format=%B | yaadwatch remember - --kind fix", "from a pipe"),
        ("yaadwatch remember --scope user Keep answers short", "for every project"),
    ],
    more="When a file or definition that it names changes, the memory is flagged: see\n"
    "yaadwatch stale. Questions find it: see yaadwatch recall. Secrets are masked\n"
    "before anything is stored.",
    takes=Remember,
)
def remember(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Keep a statement; print what was made of it."""
    asks = given_fields(args, Remember)
    if args.text == ["-"]:
        asks["text"] = read_all(terminal.keys, "Standard input", "Nothing was remembered.")
    answer = client.call("remember", **asks)
    if args.json:
        terminal.json(answer)
        return 0
    terminal.line(
        _DONE[answer["decision"]],
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
        terminal.line(
            "rests on no file, so no change will put it in doubt; name one with --file", indent=2
        )
    if answer.get("waits"):
        terminal.line(
            styled("in no rules file until a person approves it: yaadwatch review", "yellow"),
            indent=2,
        )
    if answer["masked"]:
        terminal.line(styled(f"masked: {in_a_row(answer['masked'])}", "yellow"), indent=2)
    _print_missing(answer, terminal)
    print_contradicted(answer, terminal)
    _print_flagged(answer, terminal)
    for one in answer.get("alike") or ():
        terminal.line(
            styled("nearly the same words, kept apart:", "yellow"),
            f" {short(one['id'])}  {memory_words(one)}",
            indent=2,
        )
    before = answer.get("supersedes")
    if before:
        terminal.line(f"before: {before['text']}", indent=2)
        terminal.command("Undo: ", _undo(before))
    elif answer["decision"] == "new":
        terminal.line(f"Undo: yaadwatch forget {short(answer['id'])}")
    return 0


def _print_missing(answer: "dict[str, Any]", terminal: Terminal) -> None:
    """Print the files and definitions of the text that were not found, with the nearest name."""
    for one in answer.get("missing") or ():
        what = "file" if one["kind"] == "file" else "definition"
        instead = f"; did you mean {one['nearest']}?" if one["nearest"] else "."
        terminal.line(
            styled(f"No {what} {one['name']} was found here{instead}", "yellow"), indent=2
        )


def _print_flagged(answer: "dict[str, Any]", terminal: Terminal) -> None:
    """Print the flagged memories that the statement is about, and how to replace each."""
    about = {"definition": "the same definition", "file": "the same file", "words": "the same"}
    for one in answer.get("flagged") or ():
        terminal.line(
            styled(f"flagged, about {about[one['on']]}:", "yellow"),
            f" {short(one['id'])}  {one['text']}",
            indent=2,
        )
        terminal.line(one["reason"], indent=4)
        who = "a person can replace it: " if one["replaced_by"] == "person" else "replace it: "
        terminal.line(f"{who}{one['replace']}", indent=4)
    if more := answer.get("flagged_more"):
        terminal.line(f"and {more} more: yaadwatch stale", indent=2)


def _undo(before: "dict[str, Any]") -> str:
    """Return the command that restores a memory's earlier text."""
    import shlex

    words = str(before["text"])
    if len(words) > _UNDO_CHARS_MAX or "\n" in words:
        return f"yaadwatch restore {short(before['id'])} --version {before['version']}"
    return f"yaadwatch edit {short(before['id'])} {shlex.quote(words)}"


@command(
    "show",
    "show one memory: what it rests on, its places, its versions",
    examples=[
        ("yaadwatch show 5c01f2e4", "everything known about it"),
        ("yaadwatch show 5c01f2e4 --view all", "with relations that have ended"),
        ("yaadwatch show 5c01f2e4 --json", "for scripts"),
    ],
    takes=Show,
)
def show(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print everything known about one memory."""
    answer = client.call("show", **given_fields(args, Show))
    if args.json:
        terminal.json(answer)
        return 0
    now = client.now()
    terminal.line(styled(memory_words(answer), "bold"), hang=0)
    if new := proposed(answer):
        terminal.line(styled(new, "yellow"))
    if answer.get("stale"):
        stale = answer["stale"]
        terminal.line(styled(f"may be stale: {stale['verdict']}", "yellow"))
    print_contradicted(answer, terminal, indent=0)
    terminal.gap()
    terminal.table(list(_facts(answer, now)), indent=0)
    _sections(answer, terminal, now, numbered=bool(args.view))
    return 0


def _facts(answer: "dict[str, Any]", now: "datetime") -> "Iterator[tuple[str, str]]":
    yield "id", str(answer["id"])
    pinned = ", pinned" if answer["pinned"] else ""
    own = ", your own" if answer.get("scope") == "user" else ""
    yield "kind", f"{answer['kind']}, {tier(answer['tier'])}{pinned}{own}"
    yield "from", str(answer["origin"])
    if answer.get("by"):
        yield "by", noted(answer)
    yield "confidence", f"{answer['confidence']:.2f}, confirmed {ago(answer['confirmed_at'], now)}"
    yield "created", f"{ago(answer['created_at'], now)}, updated {ago(answer['updated_at'], now)}"
    if answer.get("key"):
        yield "key", str(answer["key"])
    if answer["tags"]:
        yield "tags", ", ".join(map(quoted_name, answer["tags"]))
    for name, value in (answer.get("attributes") or {}).items():
        shown = version_words(value, "agent:" if answer.get("unverified") else "")
        yield "attribute", f"{quoted_name(name)} = {shown}"
    if answer.get("archived_at"):
        why = answer.get("archive_reason") or "no reason given"
        yield "archived", f"{ago(answer['archived_at'], now)}: {why}"


def _sections(
    answer: "dict[str, Any]", terminal: Terminal, now: "datetime", *, numbered: bool
) -> None:
    anchors = [
        (place(anchor), _as_of(anchor), str(anchor.get("verdict") or ""))
        for anchor in answer["anchors"]
        if not _is_repeated(anchor, answer["anchors"])
    ]
    places = [(place(said), folder(said["worktree"])) for said in answer["provenance"]]
    edges = [
        (*_edge(edge, answer["id"]), *([_validity(edge)] if numbered else []))
        for edge in answer["edges"]
    ]
    versions = [
        (
            str(past["version"]),
            ago(past["at"], now),
            str(past["change"]),
            authored(past["by"]),
            version_words(past["text"], past["by"]),
        )
        for past in answer["versions"]
    ]
    all_of_them = short(answer["id"])
    more = {
        "Related": (answer.get("edges_more", 0), f"yaadwatch traverse {all_of_them}"),
        "Versions": (answer.get("versions_more", 0), f"yaadwatch history {all_of_them}"),
    }
    for title, rows in (
        ("Rests on", anchors),
        ("Said in", places),
        ("Related", edges),
        ("Versions", versions),
    ):
        if rows:
            terminal.gap()
            terminal.line(styled(title, "bold"))
            terminal.table(rows)
            number, command = more.get(title, (0, ""))
            if number:
                terminal.line(styled(f"and {number} more: {command}", "dim"), indent=2)


def _is_repeated(anchor: "dict[str, Any]", anchors: "list[dict[str, Any]]") -> bool:
    """Return whether this is a value of a definition that has its own row."""
    if not anchor.get("symbol") or anchor.get("line") or anchor.get("verdict"):
        return False
    same = [one for one in anchors if place(one | {"line": None}) == place(anchor)]
    return any(one.get("line") for one in same)


def _as_of(anchor: "dict[str, Any]") -> str:
    commit = anchor.get("commit")
    return f"as of {commit[:10]}" if commit else "uncommitted"


def _edge(edge: "dict[str, Any]", identity: str) -> tuple[str, str, str]:
    """Return a row for an edge: `depends_on X`, or `<- depends_on X` for an incoming one."""
    said = memory_words(edge) + ("  (archived)" if edge.get("archived") else "")
    if edge["from"] == identity:
        return str(edge["kind"]), short(edge["to"]), said
    return f"<- {edge['kind']}", short(edge["from"]), said


def _validity(edge: "dict[str, Any]") -> str:
    """Return the number of an edge, and when it held: "12, since 2026-03-01"."""
    ended = f" until {str(edge['until'])[:10]}" if edge["until"] else ""
    return f"{edge['edge']}, since {str(edge['since'])[:10]}{ended}"


@command(
    "history",
    "show every version of a memory, who made it, and why",
    examples=[
        ("yaadwatch history 5c01f2e4", "oldest first"),
        ("yaadwatch restore 5c01f2e4 --version 2", "go back to what it said then"),
        ("yaadwatch history 5c01f2e4 --json", "for scripts"),
    ],
    more="A forgotten memory keeps its history; an erased one has none.",
    takes=History,
)
def history(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print every version of a memory, oldest first."""
    answer = client.call("history", **given_fields(args, History))
    if args.json:
        terminal.json(answer)
        return 0
    now = client.now()
    if answer.get("more"):
        terminal.line(styled(f"{count(answer['more'], 'older version')}, not told here", "dim"))
    before: tuple[object, ...] = ()
    for past in answer["versions"]:
        why = f": {version_words(past['reason'], past['by'])}" if past.get("reason") else ""
        terminal.line(
            styled(f"{past['version']:>3}  ", "bold"),
            f"{past['change']} {ago(past['at'], now)} by {authored(past['by'])}{why}",
            hang=5,
        )
        # A version that only notes a pin or a confirmation says what the one before it says.
        says = past["text"], past["kind"], past["tier"]
        if says != before:
            text = version_words(past["text"], past["by"])
            terminal.line(f"{text}  ({past['kind']}, {tier(past['tier'])})", indent=5)
        before = says
    if len(answer["versions"]) > 1:
        terminal.line(
            styled(
                f"To have an older one: yaadwatch restore {short(answer['id'])} --version N", "dim"
            )
        )
    return 0


@command(
    "recall",
    "find the memories that answer a question",
    examples=[
        ("yaadwatch recall how do we sign tokens", "a question in your own words"),
        ("yaadwatch recall src/auth.ts", "what is known about a file"),
        ("yaadwatch recall jose --kind decision --json", "for scripts"),
        ("yaadwatch recall retry --path src --tag http", "about a folder, with a tag"),
        ("yaadwatch recall deploy --at 2026-03-01", "what was known on that day"),
        ("yaadwatch recall deploy --agent claude", "what claude remembered"),
    ],
    more="Any of the words may match; rare words count most. Words in double quotes must\n"
    "stand together. A key, a title, a path or the end of a path finds what it\n"
    "names. Archived memories are left out. Memories from branches that are not\n"
    "merged here are only counted, unless you give --all-branches.",
    takes=Recall,
)
def recall(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print the memories that answer a question, best first."""
    answer = client.call("recall", **given_fields(args, Recall))
    if args.json:
        terminal.json(answer)
        return 0
    results = answer["results"]
    if not results:
        terminal.line("Nothing is remembered about that. Fewer or other words may find it.")
        print_hidden(answer, terminal)
        return 0
    for found in results:
        _print(found, terminal)
    for edge in answer.get("edges", ()):
        terminal.line(
            styled(f"{short(edge['from'])} {edge['kind']} {short(edge['to'])}", "dim"), indent=10
        )
    budget = answer["budget"]
    terminal.line(
        styled(
            f"{count(len(results), 'memory')}, {budget['used']} tokens used, {budget['left']} left",
            "dim",
        )
    )
    print_hidden(answer, terminal)
    return 0


def _print(found: "dict[str, Any]", terminal: Terminal) -> None:
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
    if later := found.get("superseded_by"):
        ids = in_a_row([short(one["id"]) for one in later])
        terminal.line(styled(f"superseded by {ids}", "yellow"), indent=10)


@command(
    "context",
    "show the brief that an agent gets when it starts",
    examples=[
        ("yaadwatch context", "flags, rules, open tasks"),
        ("yaadwatch context --tokens 500 --json", "a shorter one, for scripts"),
    ],
    more="Flags come first, then rules, then open tasks. What your agent files say\n"
    "already is left out, unless it is flagged. Agents get it by themselves once\n"
    "you run: yaadwatch connect",
    takes=Context,
)
def context(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print the brief."""
    tokens = args.tokens_max or int(str(Context.FIELDS["tokens_max"].default))
    answer = client.call("context", **given_fields(args, Context), chars_max=8 * tokens)
    if args.json:
        terminal.json(answer)
        return 0
    if not answer["brief"]:
        terminal.line(
            "Nothing to tell: no flags, no rules but those in your agent files, no open tasks;"
            f" or none of them fits into {count(tokens, 'token')}."
        )
        return 0
    for line in str(answer["brief"]).splitlines():
        indent = len(line) - len(line.lstrip())
        terminal.line(styled(line, "bold" if line.startswith("#") else ""), hang=indent + 2)
    terminal.line(
        styled(
            f"{count(answer['stale'], 'flag')}, {count(answer['rules'], 'rule')},"
            f" {count(answer['tasks'], 'task')}; {answer['budget']['used']} tokens used,"
            f" {answer['budget']['left']} left",
            "dim",
        )
    )
    return 0


class Reader(Client):
    """Asks the daemon; where `start` fails, what only reads is answered from the stores.

    Args:
        cwd, agent, on_wait: as for `Client`.
        start: starts a daemon.
        on_alone: called once with the reason, before the first answer without a daemon.
    """

    def __init__(
        self,
        *,
        cwd: str,
        agent: str | None = None,
        start: Callable[[], object],
        on_wait: Callable[[int], object],
        on_alone: Callable[[YaadError], object],
    ) -> None:
        super().__init__(cwd=cwd, agent=agent, start=self._begin, on_wait=on_wait)
        self._folder = Path(cwd)
        self._begin_daemon = start
        self._on_alone = on_alone
        self._why: YaadError | None = None
        self._is_alone = False

    def call(self, operation: str, /, **fields: object) -> dict[str, Any]:
        """Ask for `operation` and return its answer; as `Client.call`."""
        try:
            if not self._is_alone:
                return super().call(operation, **fields)
        except DaemonUnresponsive as error:
            self._why = error  # it hangs, and the stores may still be read
        except YaadError as error:
            if error is not self._why:
                raise
        from yaadwatch.cli import offline

        if self._why is None or not offline.can_answer(operation):
            raise self._why or DaemonNotRunning
        if not self._is_alone:
            self._is_alone = True
            self._on_alone(self._why)
        return offline.answer(operation, fields, self._folder)

    def now(self) -> datetime:
        """Return the present time by the clock that the times in answers are of."""
        if not self._is_alone:
            return super().now()
        from yaadwatch.cli import offline

        return offline.now()

    def _begin(self) -> None:
        try:
            self._begin_daemon()
        except YaadError as error:
            self._why = error
            raise
