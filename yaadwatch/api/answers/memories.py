"""Answers about single memories, and lists of memories."""

from typing import Literal, NotRequired, TypedDict

from yaadwatch.api.answers.shapes import (
    Anchor,
    Budget,
    By,
    Edge,
    Flag,
    Flagged,
    Progress,
    Restated,
    Said,
    ShortFlag,
    Time,
    Uncommitted,
    _Place,
    _Relation,
)


class _Missing(TypedDict):
    name: str
    kind: Literal["file", "definition", "target"]
    nearest: str


class _Before(Said):
    version: int


class Replaceable(Said):
    """A flagged memory about the same, which the new one could replace."""

    verdict: str
    reason: str
    on: Literal["definition", "file", "words"]
    replace: str
    """the command that puts the new memory in its place, or the line of a file to edit"""
    replaced_by: Literal["you", "person"]
    """a person has to decide where an agent states the new one and a person the flagged one"""
    said_in: NotRequired[list[_Place]]


class Remembered(Said, Restated):
    """What was stored."""

    kind: str
    tier: int
    scope: Literal["project", "user"]
    key: str | None
    version: int
    why: str
    """how kind and tier were chosen"""
    anchors: list[Anchor]
    masked: list[str]
    """the kinds of secrets that were masked"""
    decision: Literal["new", "same", "refines"]
    holds_in: str | None
    """the package that it was stated in, and holds for; agents that work in another package do not
    get it. Also in the attributes of a memory"""
    missing: list[_Missing] | None
    """files and definitions that the text names and that are not there, each with the nearest name
    or an empty text"""
    supersedes: _Before | None
    """what the memory said before it got this text"""
    waits: bool
    """whether it waits for `review`"""
    flagged: NotRequired[list[Replaceable]]
    """flagged memories about the same, 3 at most, the likeliest first"""
    flagged_more: NotRequired[int | None]
    """how many of them are left out"""
    alike: NotRequired[list[Said] | None]
    """living memories, 3 at most, that rest on the same things and have at least nine of ten words
    in common with a new one; nothing is merged"""


class _Id(TypedDict):
    id: str


class Hit(Said):
    """A memory that answers a question."""

    kind: str
    tier: int
    scope: Literal["project", "user"]
    score: float
    depth: Literal["full", "section", "summary"]
    state: str | None
    """of a task, as in Task"""
    stale: ShortFlag | None
    superseded_by: list[_Id] | None
    """the memories that supersede it now, on this branch"""
    contradicts: NotRequired[list[_Id]]
    """the memories that say something else of the same thing"""


class Recalled(TypedDict):
    """The memories that answer a question, the best one first.

    - The best score is 1.0, or less if no word of the question is known and only its meaning found
      something. What is named by its key, title, text or a path of it comes before everything else.
    - Nothing is cut: `section` is a whole paragraph or item. The best result has at least its
      summary, even above `tokens_max`; otherwise `used` never exceeds that.
    - Filters: `kinds` (one of), `scope`, `path` (rests on, or is stated in, that file or below that
      folder), `tags` (all), `agent` (who remembered it), `session`, `at` (a time, or a day for its
      end: existed then, and was not superseded then; found by its words of today, returned in those
      of then).
    - Archived memories are never returned. Without `all_branches`, neither is what was learned at a
      commit that is on a branch and neither in HEAD nor in the main branch (`origin/HEAD`, `main`,
      `master`, `trunk`), unless it is pinned, nor what only the agent files of another branch say.
    - `depth`: `auto` is as much of each as there is room for. `strategy`: `bm25` is words alone;
      `auto` and `hybrid` also use meaning while a model is active and warm. Without `top_k`,
      `min_score` and `semantic_weight`, the settings hold.
    - A memory of the user's own is left out if the project has one with the same key.
    """

    results: list[Hit]
    edges: list[_Relation]
    """those between these results, as many as there is room for"""
    search: Literal["words", "hybrid"]
    hidden: int
    """how many more of the best there were, which `all_branches` returns"""
    uncommitted: list[Uncommitted]
    budget: Budget


class Context(TypedDict):
    """The brief. The numbers say how many of each it has."""

    brief: str
    """the text; empty when there is nothing to say"""
    stale: int
    rules: int
    notes: int
    tasks: int
    contradictions: int
    last: bool
    """whether it has the last session"""
    gaps: int
    checked: bool
    """whether the files were checked within `wait_ms`"""
    comparing: Progress | None
    budget: Budget


class _Anchored(Anchor):
    commit: str | None
    verdict: NotRequired[str | None]


class _Stated(TypedDict):
    worktree: str
    path: str
    line: int | None


class _Related(Edge, By):
    text: str
    """of the other end, shortened to its first sentence if it is long"""
    archived: bool
    """whether that end is"""


class _Short(TypedDict):
    version: int
    at: Time
    change: str
    by: str
    text: str | None


class Shown(Said):
    """Everything about one memory."""

    kind: str
    tier: int
    scope: Literal["project", "user"]
    key: str | None
    tags: list[str]
    attributes: dict[str, object]
    origin: str
    pinned: bool
    version: int
    confidence: float
    created_at: Time
    updated_at: Time
    confirmed_at: Time
    """when somebody said so, or when its definitions last held while their files changed around
    them (noted once a day at most)"""
    archived_at: Time | None
    archive_reason: str | None
    anchors: list[_Anchored]
    provenance: list[_Stated]
    edges: list[_Related]
    """at most 200, those that begin here first"""
    edges_more: int
    versions: list[_Short]
    """the newest 100"""
    versions_more: int
    stale: Flag | None
    superseded_by: list[Said] | None


class Changed(Said, Restated):
    """A memory after a change. What it contradicts comes with `confirm`, `pin` and `restore`."""

    kind: str
    tier: int
    pinned: bool
    archived: bool
    undo: str | None
    """the command that takes it back"""


class Updated(Changed):
    """A memory with new words. A version that is not the current one is a `conflict`, whose message
    has the current version and text."""

    version: int
    anchors: list[Anchor]
    masked: list[str]
    waits: NotRequired[bool]
    """an agent's new words for a memory of a person, which stays as it is, are in `proposed`"""


class Tagged(Changed):
    """A memory and its tags."""

    version: int
    tags: list[str]
    masked: list[str]


class _StillFlagged(TypedDict):
    verdict: str
    reason: str


class Mended(Said, Restated):
    """A memory that follows what it rests on."""

    before: str
    """its text before, the same when only the place changed"""
    reason: str
    path: str | None
    also_changed: bool
    still_flagged: _StillFlagged | None
    """what also changed is flagged as before, unless `accept_change`; it is not confirmed then"""
    anchors: list[Anchor]
    undo: str | None


class _Skipped(TypedDict):
    id: str
    reason: str
    hint: str | None


class Reanchored(TypedDict):
    """The memories that were corrected. A proposal that is not the one of the last check is a
    `conflict`."""

    dry_run: bool
    reanchored: list[Mended]
    skipped: list[_Skipped]
    """with `all`, those that could not be corrected"""


class Version(TypedDict):
    """How a memory read after one change."""

    version: int
    at: Time
    change: str
    by: str
    """as `by` of a memory, or `upkeep`"""
    reason: str | None
    kind: str
    tier: int
    text: str


class History(By):
    """Every version of a memory, oldest first."""

    id: str
    version: int
    """the current one"""
    archived_at: Time | None
    versions: list[Version]
    more: int
    """older ones that were left out, of more than 5,000 or of very long ones"""


class _Backups(TypedDict):
    rewritten: int
    dropped: int


class Erased(TypedDict):
    """What was erased. The log keeps id and date. What a person's own file says is `refused`."""

    erased: list[str]
    """the memory, and those that say what it ever said"""
    at: Time
    backups: _Backups
    snapshots: int
    """how many copies of agent files that said it were deleted"""
    also: list[str]
    """other memories that quote it"""
    returns: list[str]
    """files that say it on another branch"""
    remains: list[str]
    """files of ours that still say it"""


class _Unknown(TypedDict):
    id: str
    text: str
    reason: str


class Shallow(TypedDict):
    """Rules of a shallow clone that are as old as its oldest commit, or older: what became false
    before is not known. Once the history is whole, `add` compares them again."""

    statements: int


class _NotLooked(TypedDict):
    memories: int
    why: str


class Stale(TypedDict):
    """The memories that may no longer be true, the gravest first; by default only level `warn`."""

    stale: list[Flagged]
    unknown: list[_Unknown]
    """what cannot be judged"""
    hidden: int
    """how many are of branches that are not merged here; `all_branches` returns them"""
    unlikely: int
    """how many are left out because what they rest on changed and they are most likely still true;
    `all` lists them"""
    superseded: int
    """how many are left out because newer memories supersede them and no person's file says them;
    `all` lists them"""
    uncommitted: list[Uncommitted]
    """every such memory of the project"""
    looking: int
    """how many rules are still to be compared with the code of the day they were written"""
    comparing: Progress | None
    not_looked: _NotLooked | None
    """how many rules git could not compare with the code of that day, and why. They count from the
    day they were read; `add` tries again"""
    shallow: Shallow | None
    checked_at: Time | None
    unchecked: str | None
    """why no check could be stored now (a disk without space); the answer has what the last one
    found"""


class _Along(TypedDict):
    id: str
    kind: str
    to: str
    weight: float


class _Doubt(TypedDict):
    verdict: str
    score: float
    level: str
    reason: str


class Resting(Said):
    """A memory that rests on a file, or on one that does."""

    kind: str
    weight: float
    """the part of a flag of the file that would reach this memory; 1.0 for one that rests on it"""
    centrality: float
    """how many of these memories rest on this one (PageRank; their sum is 1)"""
    anchors: list[Anchor]
    via: list[str]
    """the memories in between, from the one that rests on the file"""
    along: list[_Along]
    """the edges in between"""
    stale: _Doubt | None


class Impact(TypedDict):
    """What rests on a file, strongest first."""

    path: str
    symbol: str | None
    there: bool
    """whether the file exists"""
    symbols: list[str]
    """the definitions in the file that memories rest on"""
    memories: list[Resting]
    more: int
    """how many were left out above 200"""
    hidden: int
    """as in Stale"""
    checked_at: Time | None
    unchecked: str | None
    """as in Stale"""


class Fact(TypedDict):
    """One thing that a project declares."""

    slot: str
    """what it is: `package`, `package manager`, `test runner`, `runtime`, `port`, `image`, ..."""
    name: str
    """its name; of a port the number, of commands the tool that runs them"""
    value: str | None
    """the version as it is written, or the names of the commands"""
    path: str
    line: int
    memories: list[Said]
    """the memories that rest on it"""


class Facts(TypedDict):
    """What a project is made of, and where that is declared."""

    facts: list[Fact]
    invalid: list[str]
    """manifests that are not valid now, or are too large; nothing is judged by them"""
    packages: int
    """how many packages are declared, listed or not"""
    more: int
    """how many facts were left out above 500"""
    not_read: int
    """how many files were left out above 400, those nearest the top come first"""


class Checked(TypedDict):
    """How many memories rest on files, and how many flags a check raised and cleared."""

    checked: int
    raised: int
    cleared: int
    checked_at: Time | None


class Faded(Said):
    """A memory that faded."""

    confidence: NotRequired[float]
    project: str
    """the folder of the project, or `user`"""


class _Held(TypedDict):
    where: str
    what: Literal["archived", "erased"]
    count: int
    of: int
    memories: list[Said]


class Upkept(TypedDict):
    """What faded."""

    dry_run: bool
    archived: list[Faded]
    pruned: list[Faded]
    """erased, long after it was archived"""
    held: list[_Held]
    """more than half of a store, and more than 20, would have gone at once, so none did; `accept`
    has it done"""
    orphans: int
    """file and symbol nodes that nothing touches"""
    checked: int
    skipped: list[str]
    """stores that could not be opened, and why"""
