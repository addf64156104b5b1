"""A text whose anchors are searched, and what the search has found so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from yaadwatch.anchors.mentions import Mentions
from yaadwatch.anchors.stated_sets import StatedSet
from yaadwatch.model.anchors import Anchor


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A text, the folder of its relative paths, and what the caller says it rests on.

    `touched`: files that the session worked on; they decide between files of one name.
    """

    text: str
    folder: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()


@dataclass(slots=True)
class AnchorSearch:
    """The search for the anchors of one text."""

    source: Source
    spoken: Mentions
    files: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    symbols: list[tuple[str, str]] = field(default_factory=list)
    homeless: list[tuple[str, str]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    sets: Sequence[StatedSet] = ()
    found: list[Anchor] = field(default_factory=list)
