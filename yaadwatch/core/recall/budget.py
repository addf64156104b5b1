"""What fits into the reader's budget? Whole texts while there is room, less of them after that."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from yaadwatch.core.recall.closeness import coverage
from yaadwatch.core.text import estimate_tokens
from yaadwatch.model.recall import AUTO

_BLOCK_END = re.compile(r"\n[^\S\n]*\n|\n(?=[^\S\n]*(?:[-*+•]|#{1,6}|\d{1,3}[.)])\s)")


def section(question: str, text: str) -> str:
    """Return the paragraph, list item or heading of `text` that holds most of the question's words.

    Of equals the first. A text that has no parts is its only one.
    """
    blocks = [block.strip() for block in _BLOCK_END.split(text) if block.strip()][:400]
    if len(blocks) <= 1:
        return text.strip()
    return max(blocks, key=lambda block: coverage(question, block))


Depth = Literal["full", "section", "summary"]

_DEPTHS: Final[dict[str, tuple[Depth, ...]]] = {
    "auto": ("full", "section", "summary"),
    "full": ("full",),
    "section": ("section", "summary"),
    "summary": ("summary",),
}
"""What is tried for each wish, the first that fits is shown."""
_LAST: Final[Depth] = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A memory that would like to be shown: in full, by its best part, or by its summary.

    `section` is empty when nothing is better than another part.
    """

    id: str
    text: str
    summary: str
    section: str = ""


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


def fit(items: Sequence[Item], tokens_max: int, depth: str = AUTO) -> Fitted:
    """Choose what to show of `items` (best first) within `tokens_max` tokens; the order is kept.

    The first item is always shown, by its summary at least, even when that alone is over the
    budget. Each other one is shown as deep as `depth` wishes if that fits into what is left, else
    not at all; smaller ones behind it still have their chance. Nothing is cut.

    Args:
        items: best first.
        tokens_max: the budget.
        depth: `full`, `section` (its summary where that does not fit), `summary`; or `auto`: the
            deepest of these that fits.
    """
    shown: list[Shown] = []
    left = tokens_max
    for item in items:
        chosen = _deepest(item, left, depth)
        if chosen is None and not shown:
            chosen = _deepest(item, left, AUTO) or _shown(item, _LAST)
        if chosen is not None:
            shown.append(chosen)
            left -= chosen.tokens
    used = sum(each.tokens for each in shown)
    return Fitted(items=tuple(shown), used=used, left=max(0, left))


def _deepest(item: Item, left: int, wish: str) -> Shown | None:
    for depth in _DEPTHS[wish]:
        if depth == "section" and not item.section:
            continue
        shown = _shown(item, depth)
        if shown.tokens <= left:
            return shown
    return None


def _shown(item: Item, depth: Depth) -> Shown:
    text = {"full": item.text, "section": item.section, "summary": item.summary}[depth]
    return Shown(id=item.id, text=text, depth=depth, tokens=estimate_tokens(text))
