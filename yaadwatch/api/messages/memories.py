"""Requests about single memories, and lists of memories."""

from yaadwatch.api.message import (
    ID,
    KEY,
    KIND,
    KINDS_MAX,
    NUMBER,
    PATH,
    REASON,
    SHARE,
    TIME,
    TOKENS,
    Each,
    Message,
    OneOf,
    Text,
    Within,
    field,
)
from yaadwatch.model import limits

CHARS_MAX = 800_000
WAIT_MS_MAX = 30_000
ONE = "its id or key; a unique beginning or end of the id is enough"
"""How a memory is named."""
TAGS = Each(limits.TAGS_MAX, Text(64))
_ANCHORS = Each(limits.ANCHORS_PER_NODE_MAX, PATH)


class Remember(Message, answer="Remembered"):
    """Keep a statement. `drafts.clean` limits its text, and says where to put a longer one."""

    text: str = field(
        "TEXT...  the statement; - reads it from standard input",
        tool="with the paths and names it is about",
    )
    kind: str | None = field(
        "--kind KIND  convention, decision, bug, ... (default: chosen from the text)",
        default=None,
        limit=KIND,
        tool="decision, convention, bug, fix, command, task, ...",
    )
    tier: int | None = field(
        "--tier N  1 hot, 2 warm, 3 cold (default: chosen from the kind)",
        default=None,
        limit=Within(1, 3),
    )
    scope: str = field(
        "--scope  user: it holds in all your projects (default: {default})",
        default=limits.PROJECT,
        limit=OneOf(limits.SCOPES),
        tool="user: holds in every project",
    )
    key: str | None = field(
        "--key SLUG  a name for it; a memory that has this name already gets the new text",
        default=None,
        limit=KEY,
        tool="a name; said again, it gets the new words",
    )
    expected_version: int | None = field(
        "--version N  with --key: only if that memory is still at this version",
        default=None,
        limit=NUMBER,
    )
    attributes: dict[str, object] | None = field(
        "--attribute NAME=VALUE  extra data to keep with it; NAME= removes it; may be repeated",
        default=None,
    )
    tags: tuple[str, ...] = field(
        "--tag T  a word to find it by; may be repeated", default=(), limit=TAGS
    )
    files: tuple[str, ...] = field(
        "--file PATH  a file it is about; may be repeated",
        default=(),
        limit=_ANCHORS,
        tool="what else it rests on",
    )
    symbols: tuple[str, ...] = field(
        "--symbol NAME  a definition it is about; may be repeated",
        default=(),
        limit=_ANCHORS,
        tool="",
    )
    pin: bool = field("--pin  never let it fade", default=False)
    session: str | None = field(
        default=None, limit=ID, help="the session it is learned in, if not that of the caller"
    )

    def validate(self) -> None:
        """Raise ValueError unless a version comes with the key of its memory."""
        if self.expected_version is not None and self.key is None:
            raise ValueError("expected_version needs the key of the memory that it is of")


class Recall(Message, answer="Recalled"):
    """Ask a question; get the memories that answer it, best first.

    What is None is as the person set it.
    """

    query: str = field(
        "WORDS...  the question", limit=Text(limits.QUERY_CHARS_MAX), tool="words, a path or a name"
    )
    kinds: tuple[str, ...] = field(
        "--kind KIND  only this kind; may be repeated",
        default=(),
        limit=Each(KINDS_MAX, KIND),
        tool="",
        group="which memories",
    )
    scope: str | None = field(
        "--scope  only this project's, or only your own",
        default=None,
        limit=OneOf(limits.SCOPES),
        group="which memories",
    )
    path: str | None = field(
        "--path PATH  only memories that rest on this file, or on a file in this folder",
        default=None,
        limit=PATH,
        tool="a file or folder",
        group="which memories",
    )
    tags: tuple[str, ...] = field(
        "--tag T  only with this tag; given several times: with all of them",
        default=(),
        limit=TAGS,
        group="which memories",
    )
    agent: str | None = field(
        "--agent NAME  only what this agent remembered",
        default=None,
        limit=PATH,
        group="which memories",
    )
    session: str | None = field(
        "--session ID  only what was remembered in this session",
        default=None,
        limit=PATH,
        group="which memories",
    )
    at: str | None = field(
        "--at TIME  what was known on this day or at this time, as it read then",
        default=None,
        limit=TIME,
        group="which memories",
    )
    top_k: int | None = field(
        "--top N  at most so many memories (default: 10)",
        default=None,
        limit=Within(1, limits.TOP_K_MAX),
        group="how much is printed",
    )
    tokens_max: int = field(
        "--tokens N  at most so many tokens (default: {default})",
        default=800,
        limit=TOKENS,
        tool="",
        group="how much is printed",
    )
    all_branches: bool = field(
        "--all-branches  also memories from branches that are not merged here",
        default=False,
        tool="the `hidden` too",
        group="which memories",
    )
    depth: str = field(
        "--depth  how much of each memory (default: {default}, as much as fits)",
        default=limits.AUTO,
        limit=OneOf(limits.DEPTHS),
        group="how much is printed",
    )
    min_score: float | None = field(
        "--min-score S  leave out lower scores, 0 to 1",
        default=None,
        limit=SHARE,
        group="how much is printed",
    )
    strategy: str = field(
        "--strategy  by words (bm25), or by meaning as well (default: {default})",
        default=limits.AUTO,
        limit=OneOf(limits.STRATEGIES),
        group="how they are found",
    )
    semantic_weight: float | None = field(
        "--semantic-weight W  how much meaning counts, 0 to 1",
        default=None,
        limit=SHARE,
        group="how they are found",
    )


class Context(Message, answer="Context"):
    """Ask for the brief."""

    tokens_max: int = field(
        "--tokens N  at most so many tokens (default: {default})",
        default=2000,
        limit=TOKENS,
        tool="",
    )
    chars_max: int = field(default=8000, limit=Within(1, CHARS_MAX))
    wait_ms: int = field(
        default=1000, limit=Within(0, WAIT_MS_MAX), help="how long the files may be looked at first"
    )


class Show(Message, answer="Shown"):
    """Ask for everything about one memory."""

    id: str = field(f"ID  {ONE}", limit=ID)
    view: str = field(
        "--view  which relations to list, with their numbers and dates (default: {default})",
        default=limits.CURRENT,
        limit=OneOf(limits.VIEWS),
    )


class Forget(Message, answer="Changed"):
    """Archive one memory, for a reason."""

    id: str = field(f"ID...  {ONE}", limit=ID, tool="or its last 8 characters")
    reason: str = field(
        "--reason TEXT  why; kept with the memory",
        default="",
        limit=REASON,
        tool="what holds instead",
        one_of="how",
    )


class Erase(Message, answer="Erased"):
    """Erase a memory from everything of ours, backups too; it cannot be brought back."""

    id: str = field(limit=ID, help=ONE)


class Restore(Message, answer="Changed | Updated"):
    """Bring an archived memory back, or a memory as it was in one version."""

    id: str = field(f"ID...  {ONE}", limit=ID)
    version: int | None = field(
        "--version N  make a new version with the text, kind and tier of this one",
        default=None,
        limit=NUMBER,
    )


class History(Message, answer="History"):
    """Ask what became of a memory: every version, who made it, and why."""

    id: str = field(f"ID  {ONE}", limit=ID)


class Confirm(Message, answer="Changed"):
    """Say that a memory still holds."""

    id: str = field(f"[ID...]  {ONE}", limit=ID)
    anyway: bool = field("--yes  also what names something that is not there", default=False)


class Update(Message, answer="Updated"):
    """Give a memory new words, which `drafts.clean` limits."""

    id: str = field(f"ID  {ONE}", limit=ID)
    text: str = field("[TEXT...]  the new text; - reads it from standard input")
    expected_version: int | None = field(
        "--version N  only if it is still at this version (see `yaadwatch show ID`)",
        default=None,
        limit=NUMBER,
    )


class Reanchor(Message, answer="Reanchored"):
    """Accept what the flag of one memory proposes, of those of one commit, or of all."""

    id: str | None = field(f"[ID]  {ONE}", default=None, limit=ID)
    cause: str | None = field(
        "--cause COMMIT  every memory whose flag has this commit as its newest cause",
        default=None,
        limit=ID,
    )
    all: bool = field("--all  every memory whose flag proposes something", default=False)
    dry_run: bool = field("--dry-run  change nothing; show what would change", default=False)
    accept_change: bool = field(
        "--accept-change  the text is true of what also changed; clear that flag, too",
        default=False,
    )


class Pin(Message, answer="Changed"):
    """Keep a memory from ageing."""

    id: str = field(f"ID...  {ONE}", limit=ID)


class Unpin(Message, answer="Changed"):
    """Let a pinned memory age again."""

    id: str = field(f"ID...  {ONE}", limit=ID)


class Tag(Message, answer="Tagged"):
    """Put tags on a memory and take others off."""

    id: str = field(f"ID  {ONE}", limit=ID)
    add: tuple[str, ...] = field("--add TAG  add this tag; may be repeated", default=(), limit=TAGS)
    remove: tuple[str, ...] = field(
        "--remove TAG  remove this tag; may be repeated", default=(), limit=TAGS
    )
    expected_version: int | None = field(
        "--version N  only if it is still at this version (see `yaadwatch show ID`)",
        default=None,
        limit=NUMBER,
    )

    def validate(self) -> None:
        """Raise ValueError unless there is a tag to add or to remove, and none to do both with."""
        if not self.add and not self.remove:
            raise ValueError("add and remove must not both be empty")
        both = sorted(set(self.add) & set(self.remove))
        if both:
            raise ValueError(f"{both[0]!r} must not be in add and in remove")


class Stale(Message, answer="Stale"):
    """Ask what may no longer be true."""

    all: bool = field(
        "--all  also weaker flags and superseded memories", default=False, tool="suspects too"
    )
    all_branches: bool = field(
        "--all-branches  also memories from branches that are not merged here", default=False
    )
    check: bool = field("--no-check  print what the last check found", default=True, one_of="how")


class Impact(Message, answer="Impact"):
    """Ask what rests on a file, a definition in it (FILE:SYMBOL), or a folder."""

    file: str = field(
        "FILE[:SYMBOL]  a file, a definition in a file, or a folder",
        limit=PATH,
        tool="a file, FILE:NAME, or a folder",
    )
    check: bool = field("--no-check  do not check the files first", default=True)
    all_branches: bool = field(
        "--all-branches  also memories from branches that are not merged here", default=False
    )


class Facts(Message, answer="Facts"):
    """Ask what a project is made of, and which memories rest on that."""

    path: str | None = field(
        "[PATH]  only what a file or folder declares (default: all of the project)",
        default=None,
        limit=PATH,
        tool="a file or folder",
    )
    all: bool = field(
        "--all  also packages on which no memory rests", default=False, tool="every package too"
    )


class Check(Message, answer="Checked"):
    """Compare every memory of a project with its files now."""


class Upkeep(Message, answer="Upkept"):
    """Archive and prune what has faded."""

    dry_run: bool = field("--dry-run  change nothing; show what would go", default=False)
    accept: bool = field(
        "--accept  go on even if more than half of a store would go at once", default=False
    )
