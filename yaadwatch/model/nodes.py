"""Nodes: a memory, or a file or symbol that memories touch."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from yaadwatch.model.limits import PROJECT, SCOPES, USER

__all__ = ("PROJECT", "SCOPES", "USER")
"""Defined in `limits`, which imports nothing; the other names here are public, too."""


KINDS = (
    "convention",
    "decision",
    "preference",
    "command",
    "bug",
    "fix",
    "spec",
    "task",
    "skill",
    "session",
    "file",
    "entity",
)
"""The kinds we know. A caller may give others of the same form."""

THINGS = ("file", "entity")
"""The kinds of nodes that are no memories: what memories touch."""

NOT_GIVEN = {"file": "what memories touch", "entity": "what memories touch", "session": "sessions"}
"""The kinds that nobody gives a memory, and what each is kept for: such a one is never recalled."""

HOT, WARM, COLD = 1, 2, 3

_TIERS = dict.fromkeys(("convention", "decision", "preference", "command"), HOT) | dict.fromkeys(
    ("session", "file", "entity"), COLD
)
KEY_CHARS_MAX = 64
_KIND_FORM = re.compile(r"[a-z][a-z0-9-]{0,31}")
_KEY_FORM = re.compile(r"[a-z0-9](?:[a-z0-9._/-]{0,62}[a-z0-9])?")


def canonical_kind(kind: str) -> str:
    """Return `kind` in its stored form: lower case, words separated by '-'.

    Raises:
        ValueError: what is left does not look like `[a-z][a-z0-9-]{0,31}`.
    """
    canonical = re.sub(r"[\s_.-]+", "-", kind.strip().lower()).strip("-")
    if not _KIND_FORM.fullmatch(canonical):
        raise ValueError(
            f"a kind is a word of 1 to 32 letters, digits and '-', beginning with a letter, got "
            f"{kind!r}"
        )
    return canonical


def canonical_key(key: str) -> str:
    """Return `key` in its stored form: a slug in lower case, its words separated by '-'.

    Raises:
        ValueError: what is left is not 1 to 64 letters, digits, '-', '_', '.' and '/', beginning
            and ending with a letter or digit.
    """
    canonical = re.sub(r"\s+", "-", key.strip().lower())
    if not _KEY_FORM.fullmatch(canonical):
        raise ValueError(
            f"a key is 1 to {KEY_CHARS_MAX} letters, digits, '-', '_', '.' and '/', beginning and"
            f" ending with a letter or digit, got {key[:KEY_CHARS_MAX]!r}"
        )
    return canonical


def tier_of(kind: str) -> int:
    """Return the tier that memories of `kind` start in: 1 hot, 2 warm, 3 cold."""
    return _TIERS.get(kind, WARM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node as it is stored; `text` is masked.

    `key`: unique among the living of its scope. `from_git`: its words came with git, and nobody
    typed them while the file was watched.
    """

    id: str
    kind: str
    tier: int
    scope: str
    text: str
    text_hash: str
    summary: str
    origin: str
    confidence: float
    confirmed_at: datetime
    created_at: datetime
    updated_at: datetime
    key: str | None = None
    tags: tuple[str, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict, hash=False)
    session: str | None = None
    accessed_at: datetime | None = None
    pinned: bool = False
    version: int = 1
    archived_at: datetime | None = None
    archive_reason: str | None = None
    from_git: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """How a node read after one change; `actor` is an origin or the name of a job."""

    node: str
    version: int
    at: datetime
    change: str
    actor: str
    reason: str
    kind: str
    tier: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """A place in a person's own file that says a node; `line` is None while git hides it."""

    node: str
    worktree: int
    path: str
    position: int
    line: int | None
    since: datetime
