"""Answers about relations, claims, contradictions, gaps, review, tasks, skills and sessions."""

from typing import Literal, NotRequired, TypedDict

from yaadwatch.api.answers.memories import Changed, Context
from yaadwatch.api.answers.shapes import (
    Anchor,
    Budget,
    By,
    Edge,
    Reach,
    Restated,
    Said,
    ShortFlag,
    Time,
)


class _Ends(Edge, By):
    id: str
    """the memory where it begins"""
    text: str
    to_text: str
    to_by: str | None
    to_unverified: bool
    to_reach: Reach | None
    undo: str | None


class Linked(_Ends):
    """An edge that was made or changed.

    - Weight and attributes stay as they are unless they are given (1.0 for a new edge)
    - `since` and `at` are times as above, or days, and never in the future
    - A link that would close a circle is `refused`, and the message names the circle. One that
      already held at that time is a `conflict`
    """

    made: bool
    """the edge is new"""
    changed: bool
    """only its weight or attributes are new"""
    masked: list[str]


class Unlinked(_Ends):
    """An edge that was ended."""

    ended: bool
    """not when it had ended before"""


class Walk(Said):
    """A node on the way."""

    kind: str
    tier: int
    depth: Literal["full", "section", "summary"]
    steps: int
    """how many edges away"""
    stale: ShortFlag | None


class Walked(TypedDict):
    """What is around a memory, nearest first.

    - `direction`: `descendants` go along the edges, `ancestors` against them (one step: the
      backlinks), or `both`
    - At most 10 steps, 500 nodes and 2,000 edges; a step follows the 5,000 strongest edges.
      Archived nodes are neither returned nor walked through.
    """

    start: list[str]
    nodes: list[Walk]
    edges: list[Edge]
    """those between these nodes"""
    more: int
    """nodes that were seen and left out"""
    complete: bool
    """nothing was left out"""
    budget: Budget


class _Counts(TypedDict):
    new: int
    changed: int
    same: int


class LeftOut(TypedDict):
    """A node or edge that was not stored."""

    id: NotRequired[str]
    from_: NotRequired[str]
    kind: NotRequired[str]
    to: NotRequired[str]
    reason: str
    missing: NotRequired[list[str]]
    """ends that do not exist"""


class _Masked(TypedDict):
    id: str
    kinds: list[str]


class Injected(TypedDict):
    """What was stored: everything or nothing.

    - A node in the request: `{id, text, kind?, tier?, key?, tags [], attributes?, pin false,
      created_at?}`; an edge: `{from, kind, to, weight 1.0, attributes?, created_at?, valid_from?,
      valid_until?}`. At most 10,000 nodes and 20,000 edges
    - Given twice, it is stored once, and `created_at` stays. A node keeps its id, whatever else
      says the same
    - Left out: edges whose ends do not exist, what is archived here, what has been ended here (and
      when). An open edge that holds since another time is refused, and the message has that time
    """

    nodes: _Counts
    edges: _Counts
    left_out: list[LeftOut]
    """at most 2,000"""
    left_out_more: int
    """how many there are besides"""
    masked: list[_Masked]


class _EdgeCounts(TypedDict):
    current: int
    historical: int
    kinds: dict[str, int]


class Hub(Said):
    """A memory with many edges."""

    kind: str
    edges: int


class GraphStats(TypedDict):
    """How many nodes and edges there are."""

    memories: int
    """of the kinds in `kinds`, without the sessions in which they were learned"""
    archived: int
    sessions: int
    things: int
    """files and symbols"""
    orphans: int
    """memories without an edge, not counting `learned_in`"""
    kinds: dict[str, int]
    edges: _EdgeCounts
    hubs: list[Hub]
    """the nodes with most edges"""


class DeletedNode(TypedDict):
    """A memory is gone: its versions, words, anchors, flags, places and every edge it ever had.

    - It cannot be brought back (`forget` can be undone). The log keeps its id and the date. Old
      bytes of an agent file do not bring it back. Copies in backups stay.
    - Deleting what does not exist is no error. An id that a caller gave must be typed in full, so a
      second deletion of `task-1` does not hit `task-10`.
    - What a person's own file says, or the block of an agent file, is `refused`.
    """

    deleted: bool
    edges: int
    id: NotRequired[str]
    text: NotRequired[str]
    at: NotRequired[Time]
    by: NotRequired[str | None]
    said_at: NotRequired[Time | None]
    approved_at: NotRequired[Time | None]
    unverified: NotRequired[bool]
    reach: NotRequired[Reach | None]


class DeletedEdge(TypedDict):
    """Edges that are gone. Deleting what does not exist is no error.

    - The number of an edge deletes that one; both ends and the kind delete every such edge there
      ever was.
    """

    deleted: int
    edges: list[Edge]
    undo: str | None


class Claim(By):
    """A memory claims that a subject has a value."""

    claim: int
    """its number"""
    node: str
    """the memory"""
    subject: str
    attribute: str
    value: str
    place: str | None
    """the folder that it holds for"""
    source: str
    """`text`, or who gave it"""
    evidence: str | None
    evidence_at: Time | None
    edge: int | None
    """the relation that it rests on"""
    supersedes: int | None
    """what the same memory claimed before"""
    since: Time
    until: Time | None
    holds: bool


class Claimed(Claim, Restated):
    """A claim that was added or ended."""

    masked: NotRequired[list[str]]
    undo: NotRequired[str]


class Claims(TypedDict):
    """What memories claim."""

    claims: list[Claim]
    more: bool


class Side(By):
    """One value of a contradiction."""

    claim: int
    node: str
    value: str
    text: str
    source: str
    evidence: str | None
    confirmed_at: Time


class _Versus(By):
    node: str
    text: str


class Contradiction(TypedDict):
    """What cannot all be true."""

    id: str
    kind: Literal["values", "link", "evidence"]
    words: str
    """all of it in one line"""
    subject: str
    attribute: str
    place: str | None
    sides: list[Side]
    against: _Versus | None
    at: Time | None


class Settled(TypedDict):
    """A contradiction that somebody decided about."""

    id: str
    kind: Literal["values", "link", "evidence"]
    words: str
    decision: Literal["kept", "both", "none"]
    kept: str | None
    by: str
    reason: str | None
    at: Time


class Contradictions(TypedDict):
    """Open ones are what the claims say now: they go when their reason goes."""

    contradictions: list[Contradiction]
    settled: list[Settled]


class _StillSaid(TypedDict):
    id: str
    path: str
    line: int | None


class Resolved(TypedDict):
    """What was decided about a contradiction."""

    id: str
    decision: Literal["kept", "both", "none"]
    words: str
    kept: str | None
    ended: list[int]
    """the numbers of claims"""
    superseded: list[str]
    forgotten: list[str]
    still_said: list[_StillSaid]
    """where a person's own files say what is not kept"""
    still_rules: list[Said]
    """rules that say it still, because they say more than that, or nothing was kept"""


class Gap(TypedDict):
    """A question that had no good answer."""

    gap: str
    """the beginning of a keyed hash of the words that carry meaning"""
    asked: int
    first: Time
    last: Time
    text: str | None
    """masked, and only once somebody has approved it by giving the question again"""
    approved_at: Time | None
    approved_by: str | None
    reason: str | None
    masked: NotRequired[list[str]]


class Gaps(TypedDict):
    """Questions that had no good answer."""

    gaps: list[Gap]
    more: int


class Waiting(Said):
    """A note of an agent or an import, or new words that it proposes."""

    kind: str
    scope: Literal["project", "user"]
    cause: str
    """what came together: an agent's session, or an import"""
    session: str | None
    version: int
    proposal: str | None
    """these are new words for a memory of a person, whose id this is. The memory stays as it is
    until the person decides; a second proposal replaces the first. A proposal waits no more once
    the memory has other words, is archived or superseded"""
    before: str | None
    """the person's words that an approval replaces"""
    anchors: list[Anchor]
    stale: ShortFlag | None
    files: list[str]
    """what an approval writes to"""
    too_long: bool
    """no rules file takes it (2,000 characters, 4 kB): the brief has its first sentence"""


class Review(TypedDict):
    """The proposals and notes that wait for a person, the newest of each first."""

    waiting: list[Waiting]
    count: int


class Decided(Changed):
    """What a person decided; for an edit and an approved proposal with what Updated has.

    Refused for agents, for what was decided about meanwhile, for words that hold a secret
    (also the new ones of an edit), and for an `undo` where the memory changed after the decision.
    `conflict`, with the words it has now, where it is not at `expected_version` or something else
    is proposed than `proposal`, and where an approval names neither: a proposal needs
    `proposal`, a note whose words changed since it was stated needs `expected_version`."""

    verdict: Literal["approve", "edit", "dismiss", "undo"]
    files: list[str]
    too_long: bool
    left: int
    """how many notes and proposals still wait"""
    version: NotRequired[int]
    anchors: NotRequired[list[Anchor]]
    masked: NotRequired[list[str]]


class Task(Said):
    """Something that is to be done."""

    state: Literal["open", "doing", "done", "dropped"]
    priority: Literal["urgent", "high", "normal", "low"]
    waits_for: list[str]
    """tasks at the end of its `depends_on` edges that are not done"""
    version: int
    created_at: Time
    updated_at: Time
    made: NotRequired[bool]
    """the task is new"""


class Tasks(TypedDict):
    """Those in progress first, then by priority, then those that wait for no other, the oldest
    first."""

    tasks: list[Task]
    counts: dict[str, int]
    """by state"""
    hidden: int
    """as in Stale"""


class Skill(By):
    """A way of working that is kept under a name."""

    id: str
    name: str
    """the key of the memory"""
    description: str
    version: int
    updated_at: Time
    stale: bool
    body: NotRequired[str]
    """when one is asked for"""


class Skills(TypedDict):
    """By name."""

    skills: list[Skill]


class Session(TypedDict):
    """A stretch of work."""

    id: str
    agent: str
    name: str | None
    branch: str | None
    started_at: Time
    last_at: Time
    ended_at: Time | None
    ended_by: Literal["asked", "left", "idle"] | None
    summary: str
    learned: int
    shown: int
    used: int
    """memories shown whose files were changed, or whose names turned up in what was written"""
    tokens: int
    """spent on what was shown"""
    commits: int
    files: int


class _Words(TypedDict):
    id: str
    words: str


class _Learned(Said):
    kind: str
    archived: bool
    stale: ShortFlag | None
    contradicted: list[_Words]
    """by which open contradictions"""
    superseded: bool
    at: Time


class _Seen(_Learned):
    tokens: int
    used: bool


class _Note(TypedDict):
    at: Time
    text: str


class _Made(TypedDict):
    id: str
    subject: str


class _Touched(TypedDict):
    path: str
    how: Literal["added", "changed", "removed"]
    committed: bool


class Receipt(Session):
    """A session that is asked for by its id. Memories are as they are now."""

    shown_memories: list[_Seen]
    learned_memories: list[_Learned]
    notes: list[_Note]
    made: list[_Made]
    """commits"""
    changed: list[_Touched]
    touched: list[str]


class Sessions(TypedDict):
    """Newest first, or best first for a query."""

    sessions: list[Receipt | Session]


class Started(Context):
    """The brief, and the session."""

    session: str
    again: bool
    """a session of this name goes on"""


class Noted(TypedDict):
    """A note in a session."""

    session: str
    text: str
    masked: list[str]
    notes: int


class Ended(TypedDict):
    """A session in which nothing happened is not kept."""

    kept: bool
    session: Session | None


class Handoff(TypedDict):
    """A prompt for the next session. The numbers say how many of each it has."""

    prompt: str
    session: str | None
    open: int
    flags: int
    budget: Budget


class News(TypedDict):
    """What is new since this session last asked."""

    news: str
    """the text; empty when nothing is new"""
    stale: int
    memories: int
    session: str


class _Backed(TypedDict):
    path: str
    rules: int
    memories: int


class Blast(TypedDict):
    """What rests on files that an agent touched."""

    text: str
    """empty when nothing rests on them"""
    session: str
    files: list[_Backed]
    """those that the session has not had yet"""
