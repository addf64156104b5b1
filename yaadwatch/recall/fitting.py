"""Choose how much to show of each memory that was found, within a budget of tokens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from yaadwatch.model.limits import AUTO
from yaadwatch.recall.rank import coverage
from yaadwatch.text.words import estimate_tokens

_BLOCK_END = re.compile(r"\n[^\S\n]*\n|\n(?=[^\S\n]*(?:[-*+•]|#{1,6}|\d{1,3}[.)])\s)")


def section(question: str, text: str) -> str:
    """Return the paragraph, list item or heading of `text` with most of the question's words.

    The first of equals. A text without parts is its only one.
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
"""The forms to try for each depth; the first that fits is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A candidate for the budget: in full, by its best part, or by its summary.

    `section` is empty when no part is better than another.
    """

    id: str
    text: str
    summary: str
    section: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMemory:
    """A memory in its shown form; `tokens` is the cost of `text`."""

    id: str
    text: str
    depth: Depth
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What is shown, and the tokens that it uses and leaves (never below 0)."""

    items: tuple[ShownMemory, ...]
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
    shown: list[ShownMemory] = []
    left = tokens_max
    for item in items:
        chosen = _deepest(item, left, depth)
        if chosen is None and not shown:
            chosen = _deepest(item, left, AUTO) or _shown(item, "summary")
        if chosen is not None:
            shown.append(chosen)
            left -= chosen.tokens
    used = sum(each.tokens for each in shown)
    return Fitted(items=tuple(shown), used=used, left=max(0, left))


def _deepest(item: Item, left: int, wish: str) -> ShownMemory | None:
    for depth in _DEPTHS[wish]:
        if depth == "section" and not item.section:
            continue
        shown = _shown(item, depth)
        if shown.tokens <= left:
            return shown
    return None


def _shown(item: Item, depth: Depth) -> ShownMemory:
    text = {"full": item.text, "section": item.section, "summary": item.summary}[depth]
    return ShownMemory(id=item.id, text=text, depth=depth, tokens=estimate_tokens(text))
