"""Agreements: what the graph and a file each said when they last agreed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """One rule of a block as it was agreed; each side in its own words.

    Args:
        position: its place among the rules of the block, from 0.
        node: the memory it stands for.
        graph: the memory's text then, masked.
        file: keyed hash of the line then: a secret may stand in it.
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
