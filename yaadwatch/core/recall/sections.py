"""Which part of a long text answers a question? A whole paragraph or item, never a piece of one."""

import re
from typing import Final

from yaadwatch.core.recall.closeness import coverage

_BLOCKS_MAX: Final = 400
_BLOCK_END = re.compile(r"\n[^\S\n]*\n|\n(?=[^\S\n]*(?:[-*+•]|#{1,6}|\d{1,3}[.)])\s)")


def section(question: str, text: str) -> str:
    """Return the paragraph, list item or heading of `text` that holds most of the question's words.

    Of equals the first. A text that has no parts is its only one.
    """
    blocks = [block.strip() for block in _BLOCK_END.split(text) if block.strip()][:_BLOCKS_MAX]
    if len(blocks) <= 1:
        return text.strip()
    return max(blocks, key=lambda block: coverage(question, block))
