"""What a search for definitions gives, whichever language they are written in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar


class State(StrEnum):
    """What became of the search for a definition."""

    FOUND = "found"
    MISSING = "missing"
    AMBIGUOUS = "ambiguous"
    BROKEN = "broken"  # the file cannot be parsed where it matters


class Kind(StrEnum):
    """What is defined. A key is one of a file of settings (JSON, TOML, YAML)."""

    FUNCTION = "function"
    TYPE = "type"
    VALUE = "value"
    KEY = "key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition, or why there is none.

    Args:
        state: what became of the search.
        line: its first line, from 1; of several of that name, the first one's.
        end_line: the last line of the same one.
        fingerprint: SHA-256, hex, of what is defined under that name, apart from its formatting.
    """

    state: State
    line: int | None = None
    end_line: int | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A definition of a file, by its whole name (`Retry.limit`); lines count from 1."""

    name: str
    kind: Kind
    line: int
    end_line: int


class HasName(Protocol):
    """Anything that is defined under a name of several parts."""

    @property
    def name(self) -> tuple[str, ...]:
        """Its scopes, outermost first, and its own name."""
        ...


_T = TypeVar("_T", bound=HasName)
_SEPARATOR = re.compile(r"\.|::|#|\\")


def parts_of(symbol: str) -> tuple[str, ...]:
    """Return the names that a symbol joins with '.', '::', '#' or a backslash."""
    return tuple(_SEPARATOR.split(symbol))


def matching(defined: Sequence[_T], symbol: str) -> list[_T]:
    """Return what `symbol` means, in the order in which it is defined.

    A whole qualified name is preferred to the end of one: `limit` is the function of the module,
    and only where there is none, the methods of that name. Names in front that are not defined here
    are those of packages and modules.
    """
    wanted = parts_of(symbol)
    if "" in wanted:
        return []
    ends = [one for one in defined if one.name[-1:] == wanted[-1:]]
    whole = [one for one in ends if one.name == wanted]
    ending = [one for one in ends if one.name[-len(wanted) :] == wanted]
    return whole or ending or _in_module(defined, wanted)


def _in_module(defined: Sequence[_T], wanted: tuple[str, ...]) -> list[_T]:
    """Return what `wanted` means when its first names are those of packages and a module."""
    if len(wanted) == 1:
        return []
    own = {one.name[start:] for one in defined for start in range(len(one.name))}
    for packages in range(1, len(wanted)):
        if any(wanted[start:packages] in own for start in range(packages)):
            return []  # what is in front is no module: it is defined here, and lacks the rest
        found = [one for one in defined if one.name == wanted[packages:]]
        if found:
            return found
    return []
