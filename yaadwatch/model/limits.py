"""Limits and closed lists for the input of callers, and the short form of ids.

Imports nothing: the command line reads it at every start.
"""

TEXT_CHARS_MAX = 64_000
"""A memory's text, in characters. Longer texts are documents; link them."""
ID_CHARS_MAX = 128
QUERY_CHARS_MAX = 8_000
TOP_K_MAX = 100
"""Most memories in the answer to one query."""
TAGS_MAX = 32
FRAME_BYTES_MAX = 4 * 1024 * 1024
"""One line on the socket."""
ANCHORS_PER_NODE_MAX = 16
GRAPH_DEPTH_MAX = 10
"""Steps of a walk through the graph."""
GRAPH_NODES_MAX = 500
"""Most nodes in the answer to a walk."""
INJECT_NODES_MAX = 10_000
"""Memories taken in at once."""
INJECT_EDGES_MAX = 20_000
"""Edges taken in at once."""

PROJECT, USER = SCOPES = ("project", "user")
"""Where a memory holds: in its project, or in every project of the user."""

CURRENT, HISTORICAL, ALL = VIEWS = ("current", "historical", "all")
"""Which edges are looked at: those that still hold, those that have ended, or both."""

INLINE = "inline"
PRIVATE = "private"
READ = "read"
MODES = (INLINE, PRIVATE, READ)
"""A block in the file; a file of our own next to it; read but never written."""

AUTO, BM25, HYBRID = STRATEGIES = ("auto", "bm25", "hybrid")
"""What is searched: words, or words and meaning; `auto` and `hybrid` take words alone while there
is no model, or it is not ready."""
SUMMARY, SECTION, FULL = "summary", "section", "full"
DEPTHS = (SUMMARY, SECTION, FULL, AUTO)
"""How much of a memory is shown; `auto`: as much as there is room for."""

OPEN = "open"
DOING = "doing"
DONE = "done"
DROPPED = "dropped"

STATES = (OPEN, DOING, DONE, DROPPED)
UNFINISHED = (OPEN, DOING)
"""The states in which a task is listed when work begins."""

TOGETHER_MIN = 3
"""So many flags of one commit are shown together."""

NORMAL = "normal"
PRIORITIES = ("urgent", "high", NORMAL, "low")
"""What comes first, first."""


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/@%+=,-")
"""Of these a shell makes nothing else."""


def short_id(identity: str) -> str:
    """Return the form of an id that people see and may type: of ours the last eight characters.

    An id that a caller chose is shown whole and quoted for a shell: its end may not be unique, or
    look like an option.
    """
    marks = (identity[8:9], identity[13:14], identity[18:19], identity[23:24])
    if len(identity) == 36 and marks == ("-", "-", "-", "-"):
        return identity[-8:]
    if _SAFE.issuperset(identity):
        return identity
    import shlex

    return shlex.quote(identity)
