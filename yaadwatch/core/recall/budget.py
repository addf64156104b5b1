"""What fits into the reader's budget? Whole texts while there is room, summaries after that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from yaadwatch.core.text import estimate_tokens

Depth = Literal["full", "summary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A memory that would like to be shown, in full or by its summary."""

    id: str
    text: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A memory as it is shown; `tokens` is what `text` costs."""

    id: str
    text: str
    depth: Depth
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What is shown, and how many tokens of the budget that uses and leaves (never below 0)."""

    items: tuple[Shown, ...]
    used: int
    left: int


def fit(items: Sequence[Item], tokens_max: int) -> Fitted:
    """Choose what to show of `items` (best first) within `tokens_max` tokens; the order is kept.

    The first item is always shown, by its summary at least, even when that alone is over the
    budget. Each other one is shown in full if it fits into what is left, else by its summary if
    that fits, else not at all; smaller ones behind it still have their chance. Nothing is cut.
    """
    shown: list[Shown] = []
    left = tokens_max
    for item in items:
        chosen = _deepest(item, left)
        if chosen is None and not shown:
            chosen = _shown(item, "summary")
        if chosen is not None:
            shown.append(chosen)
            left -= chosen.tokens
    used = sum(each.tokens for each in shown)
    return Fitted(items=tuple(shown), used=used, left=max(0, left))


def _deepest(item: Item, left: int) -> Shown | None:
    full = _shown(item, "full")
    if full.tokens <= left:
        return full
    summary = _shown(item, "summary")
    return summary if summary.tokens <= left else None


def _shown(item: Item, depth: Depth) -> Shown:
    text = item.text if depth == "full" else item.summary
    return Shown(id=item.id, text=text, depth=depth, tokens=estimate_tokens(text))
