"""Answers about the relations between memories."""

from typing import Literal, NotRequired, TypedDict

from yaadwatch.api.answers.shapes import Budget, By, Edge, Reach, ShortFlag, Time


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


class Walk(By):
    """A node on the way."""

    id: str
    kind: str
    tier: int
    text: str
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


class Hub(By):
    """A memory with many edges."""

    id: str
    kind: str
    text: str
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
