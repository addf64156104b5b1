"""Three-way merge of one rule: what was agreed, what the graph says, what the file says.

The whole policy is `decide`. Everything else aligns lines and carries out what was decided.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from yaadwatch.core.text import text_hash


class Decision(StrEnum):
    """What is to be done about one rule."""

    AGREED = "agreed"  # nothing: both say the same, or neither has anything new
    RENDER = "render"  # the file gets the graph's new words
    SUPERSEDE = "supersede"  # the graph gets the file's new words
    CONFLICT = "conflict"  # both have new words: the file's win, the graph's become a version
    ADD = "add"  # new in the graph: the file gets a line
    ADMIT = "admit"  # new in the file: the graph gets a memory
    DROP = "drop"  # gone from the graph: the line goes
    DEMOTE = "demote"  # gone from the file: the memory leaves the hot tier
    KEEP = "keep"  # gone from the file, new words in the graph: demoted, the words are kept
    REVIVE = "revive"  # gone from the graph, new words in the file: a memory again


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """What each side said when they last agreed: the graph's text, the hash of the file's line."""

    graph: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How words of a file compare with words of the graph.

    Args:
        as_stored: the text that the graph would hold for a text of the file: masked, its first
            paragraph on one line. Doing it twice changes nothing.
        hashed: the keyed hash of a line, as agreements hold it.
    """

    as_stored: Callable[[str], str]
    hashed: Callable[[str], str]


def decide(
    last: Last, graph: str | None, file: str | None, terms: Terms, *, line: str | None = None
) -> Decision:
    """Decide about one rule, in the order in which a person would argue.

    A side has moved when it differs from what *it* last said, so masking a secret in the graph
    never rewrites the file. Whether both say the same is asked in the graph's words.

    Args:
        last: what each side said when they last agreed.
        graph: what the graph says; None when it says nothing, or not in this file.
        file: the words of the file's line; None when the line is gone.
        terms: how the two compare.
        line: the file's line as it stands there, if it is more than its words.
    """
    raw = file if line is None else line
    graph_moved = graph != last.graph
    file_moved = (None if raw is None else terms.hashed(raw)) != last.file
    if not graph_moved and not file_moved:
        return Decision.AGREED
    if _same(graph, None if file is None else terms.as_stored(file)):
        return Decision.AGREED
    if not file_moved:
        if graph is None:
            return Decision.DROP
        return Decision.ADD if file is None else Decision.RENDER
    if not graph_moved:
        if file is None:
            return Decision.DEMOTE
        return Decision.ADMIT if graph is None else Decision.SUPERSEDE
    if graph is None:
        return Decision.REVIVE
    return Decision.KEEP if file is None else Decision.CONFLICT


def _same(graph: str | None, file: str | None) -> bool:
    if graph is None or file is None:
        return graph is file
    return text_hash(graph) == text_hash(file)
