"""Agreements: what the graph and a file each said when they last agreed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """One rule of a block as it was agreed; each side in its own words.

    Both sides may agree that only one of them has the rule: git brings a block as its branch has
    it.

    Args:
        position: its place among the rules of the block, from 0; rules without a line come last.
        node: the memory it stands for.
        graph: the memory's text then, masked; '' when it was no rule.
        file: keyed hash of the line then: a secret may stand in it; '' when there was no line.
    """

    position: int
    node: str
    graph: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a block of one file said when both sides last agreed; `digest` is of its text."""

    digest: str
    items: tuple[Agreed, ...]
