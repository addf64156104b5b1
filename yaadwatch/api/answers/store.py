"""Answers about a store as a whole: what goes in and out, its health, its vectors."""

from typing import Literal, NotRequired, TypedDict

from yaadwatch.api.answers.shapes import Time


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


class _Finding(TypedDict):
    check: str
    what: str
    mend: str


class StoreVerified(TypedDict):
    """What is wrong in a store. With `repair`, what is derived (the index, vectors) is rebuilt;
    nothing else is ever written. Exit status 1 with findings."""

    path: str
    sound: bool
    checks: list[str]
    """integrity, references, circles, intervals, anchors, history, index, vectors, copies, cursors,
    permissions"""
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
    extension: bool
    """sqlite-vec is installed (without it the answers are the same, but slower)"""
    problems: list[str]
