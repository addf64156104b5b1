"""Answers about texts that are kept in memory: what is erased must be in none of them.

A function that keeps what it was given for the next time is made by `kept`, and no other way, so
that one call forgets everything.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_FORGET: Final[list[Callable[[], None]]] = []


def kept(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return what makes a function keep its last `maxsize` answers until `forget` is called."""

    def keeping(function: Callable[P, R]) -> Callable[P, R]:
        found: Any = lru_cache(maxsize)(function)
        _FORGET.append(found.cache_clear)
        return found  # type: ignore[no-any-return]

    return keeping


def forget() -> None:
    """Forget what every such function was given and answered, and the patterns made of names."""
    for one in _FORGET:
        one()
    re.purge()
