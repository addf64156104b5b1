"""Decide which rules fit into a block: the best ranks; a rule of a person's hand always stays."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bridges.block import END, NOTICE, is_notice
from yaadwatch.model.settings import BLOCK_BYTES_MAX, BLOCK_ITEMS_MAX

_FORBIDS = re.compile(
    r"\b(?:never|do not|don['’]t|must(?: not|n['’]t)|may not|under no circumstances|forbidden"
    r"|prohibited|not allowed|no \w+ (?:without|unless))\b",
    re.IGNORECASE,
)
_BEGIN_BYTES: Final = len("<!-- yaad:begin v=1 nl=0 -->")


def block_bytes(lines: Sequence[str], *, newline: int) -> int:
    """Return the bytes of a block with these lines: markers, notice and line ends included.

    Args:
        lines: what stands between the markers.
        newline: bytes of a line end, 1 or 2.
    """
    notice = 0 if any(map(is_notice, lines)) else len(NOTICE) + newline
    markers = _BEGIN_BYTES + len(END) + 2 * newline
    return markers + notice + sum(line_bytes(line, newline=newline) for line in lines)


def line_bytes(line: str, *, newline: int) -> int:
    """Return the bytes of a rule with its line ends; a body stands on lines of its own."""
    size = len(line.encode("utf-8", "surrogatepass"))
    return size + line.count("\n") * (newline - 1) + newline


def is_grave(text: str) -> bool:
    """Return whether a rule forbids something, so that breaking it may do harm."""
    return _FORBIDS.search(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule that may stand in a block.

    Args:
        line: what it says there.
        rank: lower ones have their place first.
        stands: whether it is in the block already.
    """

    line: str
    rank: int
    stands: bool = False


def fit(
    fixed: Sequence[str], items: int, rules: Sequence[Rule], *, newline: int
) -> tuple[bool, ...]:
    """Tell for each of the rules whether it is in the block.

    The best ranks win. A rule that is too long does not keep a shorter one after it out, and a rule
    that stands there gives way to a better one only. Asked again with the answer, the answer is the
    same.

    Args:
        fixed: the lines that are in the block whatever comes.
        items: how many rules are among them.
        rules: the rules that may give way or come in.
        newline: bytes of a line end, 1 or 2.
    """
    used = block_bytes(fixed, newline=newline)
    fits = [False] * len(rules)
    for index in sorted(range(len(rules)), key=lambda index: (rules[index].rank, index)):
        size = line_bytes(rules[index].line, newline=newline)
        fits[index] = items < BLOCK_ITEMS_MAX and used + size <= BLOCK_BYTES_MAX
        if fits[index]:
            items, used = items + 1, used + size
    if any(fit and not rule.stands for fit, rule in zip(fits, rules, strict=True)):
        return tuple(fits)
    return tuple(rule.stands for rule in rules)
