"""Answers about watched repositories, their agent files, and stores as a whole."""

from typing import Literal, NotRequired, TypedDict

from yaadwatch.api.answers.memories import Shallow
from yaadwatch.api.answers.shapes import By, Problem, Progress, Said, Time, _Place


class _Imported(TypedDict):
    statements: int
    nodes: int
    anchored: int


class _FileState(TypedDict):
    path: str
    mode: Literal["inline", "private", "read"]
    state: Literal["synced", "pending", "paused", "absent"]
    reason: str | None


class _AddedFile(_FileState):
    statements: int


class _Guards(TypedDict):
    memories: int
    definitions: int
    files: int


class Added(TypedDict):
    """A repository that is watched now."""

    id: str
    path: str
    store: str
    again: bool
    adopted: bool
    """the earlier memories are in use: the project had been removed, or was gone"""
    copy_of: str | None
    """the work tree that the project is registered for, when this one is a copy of it"""
    by_path: bool
    """git's configuration could not be written, so that the repository is known by its path"""
    imported: _Imported
    files: list[_AddedFile]
    stale: int
    """how many memories may no longer be true"""
    unknown: int
    """how many cannot be judged"""
    looking: int
    """as in Stale"""
    shallow: Shallow | None
    guards: _Guards
    """how many memories rest on something, and on how many definitions and files"""
    mode: str | None
    wrote: list[str]
    """the person's files that were written"""
    undo: str


class Removed(TypedDict):
    """A repository that is no longer watched."""

    id: str
    path: str
    memories: int
    kept: str | None
    """the folder in which its memories stay; null when they were erased"""
    undo: str | None
    """the command that has it watched again with its memories"""
    later: str | None
    """the same command, when it only works once a repository is at its place again"""
    was_watched: bool


class Project(TypedDict):
    """A watched repository.

    - The counts and the branch are those of its main work tree; `stale`, asked in a linked one,
      answers for that. Flags are counted as `stale` lists them: without those of branches that are
      not merged here.
    """

    id: str
    path: str
    branch: str | None
    memories: int
    waiting: int
    """notes and proposals that wait for `review`"""
    stale: int
    unknown: int
    last_check: Time | None
    state: Literal["ok", "missing", "refused", "broken"]
    reason: NotRequired[str]
    hint: NotRequired[str]
    files: list[_FileState]
    comparing: Progress | None
    gone_since: Time | None
    """when its repository was first seen to be gone; its memories are kept"""


class Projects(TypedDict):
    """The watched repositories."""

    projects: list[Project]


class Pause(TypedDict):
    """What agent files have been waiting for longer than a minute. Locks are among the problems of
    Status, too; so are git commands that took too long within the last hour."""

    for_: str
    """the lock or unfinished operation of git"""
    since: Time
    """when it was made"""
    left_over: bool | None
    """no git process is at work there; null when that is not known"""
    what: str
    """in words"""
    mend: str
    """what ends it"""


class _Snapshot(TypedDict):
    id: int
    at: Time
    bytes: int


class File(_FileState):
    """An agent file."""

    snapshots: list[_Snapshot]


class Agent(TypedDict):
    """An agent that is installed."""

    agent: str
    title: str
    reads: list[str]
    tokens: int
    """in what it reads at the top of the project"""
    ours: int
    """how many of them are in blocks and files of ours"""
    blocks: int
    """how many of our blocks it reads"""
    obstacles: list[str]
    """what keeps it from loading an agent file, or a part of one"""


class Files(TypedDict):
    """The agent files."""

    files: list[File]
    agents: list[Agent]
    misplaced: list[str]
    """blocks of ours below a heading or label that changes what their rules mean"""
    problems: list[str]
    """formats of other packages that were left out"""
    pause: Pause | None


class _Diff(TypedDict):
    path: str
    diff: str
    new: int
    gone: int
    reason: NotRequired[str | None]


class Diffs(TypedDict):
    """What a sync would change; `new` and `gone` count statements to be added or archived."""

    files: list[_Diff]


class FilesSynced(TypedDict):
    """The agent files after a sync.

    `wrote` is also in the answer to every other operation that a person calls and that changes what
    the blocks of agent files say (`remember`, `forget`, `update`, `pin`, ...), when it wrote any.
    """

    settled: bool
    """not while git or somebody is at work"""
    changed: bool
    wrote: list[str]
    """the person's files that were written"""
    files: list[File]


class Statement(_Place, By):
    """What an agent file states outside our blocks."""

    text: str
    id: str | None
    travels: bool
    to: list[str]
    """the other files that carry the rule to agents"""
    reason: str | None
    """why it stays"""


class Statements(TypedDict):
    """What agent files state outside our blocks; inside, where only a team writes the block."""

    statements: list[Statement]


class _Stays(_Place, By):
    text: str
    reason: str


class Shared(FilesSynced):
    """What was sent to other agents."""

    shared: list[Said]
    stays: list[_Stays]
    """statements that would mean something else elsewhere"""
    undo: str | None


class _Entry(TypedDict):
    at: Time
    what: str
    text: str
    snapshot: NotRequired[int]
    id: NotRequired[str]


class FileHistory(TypedDict):
    """What happened to an agent file, newest first.

    `what`: read, written, paused, copied, or what became of a memory: learned, changed, taken out,
    said again, archived ...
    """

    path: str
    entries: list[_Entry]


class FilesRestored(TypedDict):
    """A copy of an agent file that was brought back."""

    path: str
    snapshot: int
    at: Time
    bytes: int
    mode: Literal["inline", "private", "read"]


class _Daemon(TypedDict):
    running: bool
    pid: int
    version: str
    since: Time | None
    rss_bytes: int | None
    socket: str | None


class _Size(TypedDict):
    bytes: int
    budget_bytes: int | None


class Watched(Project):
    """A project, and how it is watched."""

    watch: Literal["full", "poll", "off"]
    lag_ms: float | None
    size: _Size | None
    pause: Pause | None
    git_silent_since: Time | None
    """git hangs in that project: when the first command began that it did not answer, until one is
    answered"""


class _Job(TypedDict):
    name: str
    last: Time | None
    next: Time | None
    ok: bool | None


class Status(TypedDict):
    """What runs, what is watched and what is wrong. Without a daemon the same shape with `running:
    false`, and with `silent: true` when one holds its lock and does not answer."""

    daemon: _Daemon
    projects: list[Watched]
    waiting: int
    jobs: list[_Job]
    search: Literal["words", "vectors"]
    search_why: str
    problems: list[Problem]


class Exported(TypedDict):
    """A piece of the export, in base64. To get the next one, send `upload` and `after`, until there
    is no `after`. The export is the store at one moment. Formats:

    - `jsonl`: see below
    - `markdown`: lines of `{path, data}`, one for each file, `data` in base64
    - `store`: a single file, a store without slack
    """

    upload: str
    data: str
    after: int | None
    total: int
    counts: dict[str, int]
    """by table"""


class _Taken(TypedDict):
    new: NotRequired[int]
    same: NotRequired[int]
    changed: NotRequired[int]
    merged: NotRequired[int]
    conflicts: NotRequired[int]
    left_out: NotRequired[int]


class _Conflict(TypedDict):
    table: str
    row: str
    reason: str


class _LeftOut(TypedDict):
    table: NotRequired[str]
    row: NotRequired[str]
    reason: str


class _Misread(TypedDict):
    row: str
    line: int
    reason: str


class Imported(TypedDict):
    """What was taken in; for a piece that is not the last: `{upload, done: false}`.

    - `jsonl` and `store` bring rows as they are; `markdown`, `agent-file` and `yaad` bring living
      memories as `inject` does, with the origin `import`; pages also bring relations. Of another
      Yaad's database, text, kind, tier, key, tags and time of creation are read; each other table
      is named in `left_out` with its rows
    - Either everything is imported or nothing; with `dry_run` nothing, with the same counts. Texts
      are masked again
    """

    upload: str
    done: bool
    import_: NotRequired[str | None]
    format: NotRequired[str]
    dry_run: NotRequired[bool]
    counts: NotRequired[dict[str, _Taken]]
    """by table; `merged`: it reads like a memory that is here under another id, and is that one"""
    conflicts: NotRequired[list[_Conflict]]
    """what is here says otherwise, and stays; a memory whose key another one has here comes without
    it. At most 200 of each are listed"""
    left_out: NotRequired[list[_LeftOut]]
    left_out_count: NotRequired[int]
    misread: NotRequired[list[_Misread]]
    """a line in the header of a page that was not understood, and what was done instead"""
    misread_count: NotRequired[int]
    masked: NotRequired[int]


class _Import(TypedDict):
    id: str
    at: Time
    format: str
    source: str
    counts: dict[str, _Taken]


class Imports(TypedDict):
    """What was imported, newest first."""

    imports: list[_Import]


class _Finding(Problem):
    check: str


class StoreVerified(TypedDict):
    """What is wrong in a store. With `repair`, what is derived (the index, vectors) is rebuilt, a
    row that cannot be read is mended or deleted, and a text that is not as it was stored is taken
    from a backup; nothing else is ever written. Exit status 1 with findings."""

    path: str
    sound: bool
    checks: list[str]
    """integrity, rows, memories, references, index, vectors, permissions"""
    findings: list[_Finding]
    repaired: list[str]


class Compacted(TypedDict):
    """Bytes of the database and its log."""

    path: str
    before: int
    after: int


class _Copy(TypedDict):
    path: str
    bytes: int


class BackedUp(TypedDict):
    """The newest copy of a store."""

    path: str
    bytes: int
    made: bool
    """not when the newest copy has the same"""
    kept: list[_Copy]
    restore: str | None


class _Worker(TypedDict):
    state: Literal["cold", "starting", "warm", "broken"]
    pid: int | None
    rss_bytes: int | None
    why: str


class _Filled(TypedDict):
    path: str
    memories: int
    filled: int


class Model(TypedDict):
    """A model that was enabled."""

    name: str
    space: str
    """only vectors of the same space are compared"""
    dimensions: int
    state: Literal["active", "filling", "kept"]
    enabled_at: Time
    active_at: Time | None
    percent: int
    """how many memories have a vector. A model that is `filling` becomes `active` at 100, in one
    transaction, and the one before is `kept`"""
    worker: _Worker | None
    stores: list[_Filled]


class _Known(TypedDict):
    name: str
    provider: str
    missing: list[str]
    """modules that are not installed"""
    fetches: str
    """what installing them would download"""


class Embedding(TypedDict):
    """How questions are answered. yaadwatch itself never downloads anything: a model that is not on
    this machine is `not_found`, with what has to be installed."""

    search: Literal["words", "vectors"]
    why: str
    models: list[Model]
    known: list[_Known]
    problems: list[str]
