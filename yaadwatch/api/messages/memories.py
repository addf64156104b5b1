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
    TAG_CHARS_MAX,
    TIME,
    TOKENS,
    Each,
    Message,
    OneOf,
    Text,
    Within,
    field,
)
from yaadwatch.model.limits import (
    ANCHORS_PER_NODE_MAX,
    AUTO,
    CURRENT,
    DEPTHS,
    PROJECT,
    QUERY_CHARS_MAX,
    SCOPES,
    STRATEGIES,
    TAGS_MAX,
    TOP_K_MAX,
    VIEWS,
)

CHARS_MAX = 800_000
WAIT_MS_MAX = 30_000
ONE = "its id or key; a unique beginning or end of the id is enough"
"""How a memory is named."""
TAGS = Each(TAGS_MAX, Text(TAG_CHARS_MAX))
_ANCHORS = Each(ANCHORS_PER_NODE_MAX, PATH)


class Remember(Message, answer="Remembered"):
    """Keep a statement. The text itself is judged where it is kept, which has more to say of it."""

    text: str = field(
        help="the statement; - reads it from standard input",
        option="TEXT...",
        tool="with the paths and names it is about",
    )
    kind: str | None = field(
        default=None,
        limit=KIND,
        help="convention, decision, bug, ... (default: chosen from the text)",
        option="--kind KIND",
        tool="decision, convention, bug, fix, command, task, ...",
    )
    tier: int | None = field(
        default=None,
        limit=Within(1, 3),
        help="1 hot, 2 warm, 3 cold (default: chosen from the kind)",
        option="--tier N",
    )
    scope: str = field(
        default=PROJECT,
        limit=OneOf(SCOPES),
        help="user: it holds in all your projects (default: {default})",
        option="--scope",
        tool="user: holds in every project",
    )
    key: str | None = field(
        default=None,
        limit=KEY,
        help="a name for it; a memory that has this name already gets the new text",
        option="--key SLUG",
        tool="a name; said again, it gets the new words",
    )
    expected_version: int | None = field(
        default=None,
        limit=NUMBER,
        help="with --key: only if that memory is still at this version",
        option="--version N",
    )
    attributes: dict[str, object] | None = field(
        default=None,
        help="extra data to keep with it; NAME= removes it; may be repeated",
        option="--attribute NAME=VALUE",
    )
    tags: tuple[str, ...] = field(
        default=(),
        limit=TAGS,
        help="a word to find it by; may be repeated",
        option="--tag T",
    )
    files: tuple[str, ...] = field(
        default=(),
        limit=_ANCHORS,
        help="a file it is about; may be repeated",
        option="--file PATH",
        tool="what else it rests on",
    )
    symbols: tuple[str, ...] = field(
        default=(),
        limit=_ANCHORS,
        help="a definition it is about; may be repeated",
        option="--symbol NAME",
        tool="",
    )
    pin: bool = field(default=False, help="never let it fade", option="--pin")
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
        limit=Text(QUERY_CHARS_MAX),
        help="the question",
        option="WORDS...",
        tool="words, a path or a name",
    )
    kinds: tuple[str, ...] = field(
        default=(),
        limit=Each(KINDS_MAX, KIND),
        help="only this kind; may be repeated",
        option="--kind KIND",
        tool="",
        group="which memories",
    )
    scope: str | None = field(
        default=None,
        limit=OneOf(SCOPES),
        help="only this project's, or only your own",
        option="--scope",
        group="which memories",
    )
    path: str | None = field(
        default=None,
        limit=PATH,
        help="only memories that rest on this file, or on a file in this folder",
        option="--path PATH",
        tool="a file or folder",
        group="which memories",
    )
    tags: tuple[str, ...] = field(
        default=(),
        limit=TAGS,
        help="only with this tag; given several times: with all of them",
        option="--tag T",
        group="which memories",
    )
    agent: str | None = field(
        default=None,
        limit=PATH,
        help="only what this agent remembered",
        option="--agent NAME",
        group="which memories",
    )
    session: str | None = field(
        default=None,
        limit=PATH,
        help="only what was remembered in this session",
        option="--session ID",
        group="which memories",
    )
    at: str | None = field(
        default=None,
        limit=TIME,
        help="what was known on this day or at this time, as it read then",
        option="--at TIME",
        group="which memories",
    )
    top_k: int | None = field(
        default=None,
        limit=Within(1, TOP_K_MAX),
        help="at most so many memories (default: 10)",
        option="--top N",
        group="how much is printed",
    )
    tokens_max: int = field(
        default=800,
        limit=TOKENS,
        help="at most so many tokens (default: {default})",
        option="--tokens N",
        tool="",
        group="how much is printed",
    )
    all_branches: bool = field(
        default=False,
        help="also memories from branches that are not merged here",
        option="--all-branches",
        tool="the `hidden` too",
        group="which memories",
    )
    depth: str = field(
        default=AUTO,
        limit=OneOf(DEPTHS),
        help="how much of each memory (default: {default}, as much as fits)",
        option="--depth",
        group="how much is printed",
    )
    min_score: float | None = field(
        default=None,
        limit=SHARE,
        help="leave out lower scores, 0 to 1",
        option="--min-score S",
        group="how much is printed",
    )
    strategy: str = field(
        default=AUTO,
        limit=OneOf(STRATEGIES),
        help="by words (bm25), or by meaning as well (default: {default})",
        option="--strategy",
        group="how they are found",
    )
    semantic_weight: float | None = field(
        default=None,
        limit=SHARE,
        help="how much meaning counts, 0 to 1",
        option="--semantic-weight W",
        group="how they are found",
    )


class Context(Message, answer="Context"):
    """Ask for the brief."""

    tokens_max: int = field(
        default=2000,
        limit=TOKENS,
        help="at most so many tokens (default: {default})",
        option="--tokens N",
        tool="",
    )
    chars_max: int = field(default=8000, limit=Within(1, CHARS_MAX))
    wait_ms: int = field(
        default=1000,
        limit=Within(0, WAIT_MS_MAX),
        help="how long the files may be looked at first",
    )


class Show(Message, answer="Shown"):
    """Ask for everything about one memory."""

    id: str = field(limit=ID, help=ONE, option="ID")
    view: str = field(
        default=CURRENT,
        limit=OneOf(VIEWS),
        help="which relations to list, with their numbers and dates (default: {default})",
        option="--view",
    )


class Forget(Message, answer="Changed"):
    """Archive one memory, for a reason."""

    id: str = field(limit=ID, help=ONE, option="ID...", tool="or its last 8 characters")
    reason: str = field(
        default="",
        limit=REASON,
        help="why; kept with the memory",
        option="--reason TEXT",
        tool="what holds instead",
        one_of="how",
    )


class Erase(Message, answer="Erased"):
    """Erase a memory from everything of ours, backups too; it cannot be brought back."""

    id: str = field(limit=ID, help=ONE)


class Restore(Message, answer="Changed | Updated"):
    """Bring an archived memory back, or a memory as it was in one version."""

    id: str = field(limit=ID, help=ONE, option="ID...")
    version: int | None = field(
        default=None,
        limit=NUMBER,
        help="make a new version with the text, kind and tier of this one",
        option="--version N",
    )


class History(Message, answer="History"):
    """Ask what became of a memory: every version, who made it, and why."""

    id: str = field(limit=ID, help=ONE, option="ID")


class Confirm(Message, answer="Changed"):
    """Say that a memory still holds."""

    id: str = field(limit=ID, help=ONE, option="ID...")
    anyway: bool = field(
        default=False, help="also what names something that is not there", option="--yes"
    )


class Update(Message, answer="Updated"):
    """Give a memory new words. The text is judged where it is kept."""

    id: str = field(limit=ID, help=ONE, option="ID")
    text: str = field(help="the new text; - reads it from standard input", option="[TEXT...]")
    expected_version: int | None = field(
        default=None,
        limit=NUMBER,
        help="only if it is still at this version (see `yaadwatch show ID`)",
        option="--version N",
    )


class Reanchor(Message, answer="Reanchored"):
    """Accept what the flag of one memory proposes, or of all."""

    id: str | None = field(default=None, limit=ID, help=ONE, option="[ID]")
    all: bool = field(
        default=False, help="every memory whose flag proposes something", option="--all"
    )
    dry_run: bool = field(
        default=False, help="change nothing; show what would change", option="--dry-run"
    )
    accept_change: bool = field(
        default=False,
        help="the text is true of what also changed; clear that flag, too",
        option="--accept-change",
    )


class Pin(Message, answer="Changed"):
    """Keep a memory from ageing."""

    id: str = field(limit=ID, help=ONE, option="ID...")


class Unpin(Message, answer="Changed"):
    """Let a pinned memory age again."""

    id: str = field(limit=ID, help=ONE, option="ID...")


class Tag(Message, answer="Tagged"):
    """Put tags on a memory and take others off."""

    id: str = field(limit=ID, help=ONE, option="ID")
    add: tuple[str, ...] = field(
        default=(), limit=TAGS, help="add this tag; may be repeated", option="--add TAG"
    )
    remove: tuple[str, ...] = field(
        default=(), limit=TAGS, help="remove this tag; may be repeated", option="--remove TAG"
    )
    expected_version: int | None = field(
        default=None,
        limit=NUMBER,
        help="only if it is still at this version (see `yaadwatch show ID`)",
        option="--version N",
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
        default=False,
        help="also weaker flags and superseded memories",
        option="--all",
        tool="suspects too",
    )
    all_branches: bool = field(
        default=False,
        help="also memories from branches that are not merged here",
        option="--all-branches",
    )
    check: bool = field(
        default=True, help="print what the last check found", option="--no-check", one_of="how"
    )


class Impact(Message, answer="Impact"):
    """Ask what rests on a file, a definition in it (FILE:SYMBOL), or a folder."""

    file: str = field(
        limit=PATH,
        help="a file, a definition in a file, or a folder",
        option="FILE[:SYMBOL]",
        tool="a file, FILE:NAME, or a folder",
    )
    check: bool = field(default=True, help="do not check the files first", option="--no-check")
    all_branches: bool = field(
        default=False,
        help="also memories from branches that are not merged here",
        option="--all-branches",
    )


class Check(Message, answer="Checked"):
    """Compare every memory of a project with its files now."""


class Upkeep(Message, answer="Upkept"):
    """Archive and prune what has faded."""

    dry_run: bool = field(
        default=False, help="change nothing; show what would go", option="--dry-run"
    )
    accept: bool = field(
        default=False,
        help="go on even if more than half of a store would go at once",
        option="--accept",
    )
