"""How a question may be asked: what is searched, how findings are merged, what is left out."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

AUTO, BM25, HYBRID = STRATEGIES = ("auto", "bm25", "hybrid")
"""What is searched: words, or words and meaning; `auto` and `hybrid` take words alone while there
is no model, or it is not ready."""
BLEND, RRF, SET_UNION = MERGES = ("blend", "rrf", "set-union")
"""How what the words found and what the meaning found become one list."""
SUMMARY, SECTION, FULL = "summary", "section", "full"
DEPTHS: Final = (SUMMARY, SECTION, FULL, AUTO)
"""How much of a memory is told; `auto`: as much as there is room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories a question is about; what is None or empty leaves nothing out.

    Args:
        kinds: one of these.
        scope: 'user' or 'project'.
        path: what rests on, or is said in, this file or something below this folder; from the top
            of the work tree, without a '/' at either end.
        tags: all of these.
        agent: what this agent remembered.
        session: what was remembered in this session.
        at: what existed at this time and was not superseded then, found by its words of today.
    """

    kinds: tuple[str, ...] = ()
    scope: str | None = None
    path: str | None = None
    tags: tuple[str, ...] = ()
    agent: str | None = None
    session: str | None = None
    at: datetime | None = None


EVERYTHING: Final = Filter()
