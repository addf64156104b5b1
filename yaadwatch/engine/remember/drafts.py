"""A statement on its way in: as it came, as it is to be stored, and what became of it."""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from yaadwatch.core import privacy
from yaadwatch.core.privacy import Masked
from yaadwatch.engine.doubts.overlapping import Overlap
from yaadwatch.engine.node_changes import NOWHERE, Where
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.nodes import NOT_GIVEN, Node, canonical_key, canonical_kind
from yaadwatch.model.settings import TEXT_CHARS_MAX
from yaadwatch.store.visibility import View

NEW: Final = "new"
SAME: Final = "same"
REFINES: Final = "refines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A statement on its way in; `folder` is where its relative paths start.

    One that `has_id` of its own is never taken for a memory that says the same. `key` is one that
    the statement is kept under; `expected_version`: the version of the memory under that key that
    it is meant for, any when None. `session`: the id of the session that it is said in, if any.
    `cleaned`: what `clean` made of `text`, where somebody has asked already. `stays`: it is no rule
    for other agents, so a new memory of it is not hot. `from_git`: its file came with git, or was
    there before we watched.
    """

    text: str
    origin: str
    cleaned: Masked | None = None
    kind: str | None = None
    tier: int | None = None
    headings: tuple[str, ...] = ()
    folder: str = ""
    key: str | None = None
    expected_version: int | None = None
    tags: tuple[str, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    pinned: bool = False
    baseline: bool = False
    stays: bool = False
    from_git: bool = False
    has_id: bool = False
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A file or definition that a text names and that is not there, and the one nearest by name."""

    name: str
    kind: str
    nearest: str


@dataclass(frozen=True, slots=True)
class Match:
    """A living memory, and how a statement means it."""

    node: Node
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A draft with everything decided that does not need the store; `scope`: whose store.

    `where` it is learned; nowhere for what holds whatever is checked out.
    `entities`: packages, addresses and ports that it names. `match`: the memory that it seems to
    mean; what it means is decided when it is stored. `view`: from where memories
    are seen, where others stand in the place of what it seems to mean. `missing`: files and
    definitions that the text names, and that are not there.
    """

    draft: Draft
    scope: str
    text: str
    text_hash: str
    masked: tuple[str, ...]
    kind: str
    tier: int
    why: str
    anchors: tuple[Anchor, ...]
    entities: tuple[str, ...]
    match: Match | None
    where: Where = NOWHERE
    view: View | None = None
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What became of a draft; `decision` is 'new', 'same' or 'refines'.

    `before`: the memory as it was, when it was given other words.
    `torn`: another memory claims something else of what this one claims something of, or one of the
    two stands in the place of the other. `flagged`: memories about the same that are flagged.
    `missing`: files and definitions that the text names, and that are not there.
    `alike`: living memories that rest on the same things, in nearly the same words.
    """

    node: Node
    anchors: tuple[Anchor, ...]
    masked: tuple[str, ...]
    decision: str
    why: str
    before: Node | None = None
    torn: bool = False
    flagged: tuple[Overlap, ...] = ()
    alike: tuple[Node, ...] = ()
    missing: tuple[Missing, ...] = ()


def clean(raw: str) -> Masked:
    """Return a text as it is stored.

    Raises:
        YaadError: BAD_REQUEST when nothing in it can be seen, TOO_LARGE.
    """
    if all(one.isspace() or unicodedata.category(one) == "Cf" for one in raw):
        raise YaadError(
            Code.BAD_REQUEST, "The text is empty; nothing was stored.", hint="Say what to remember."
        )
    if len(raw) > TEXT_CHARS_MAX:
        raise YaadError(
            Code.TOO_LARGE,
            f"The text has {len(raw)} characters, more than {TEXT_CHARS_MAX}; nothing was stored.",
            hint="Put it into a file of the project, and remember in a sentence where it is.",
        )
    return privacy.kept(raw)


def clean_attributes(given: Mapping[str, object], bytes_max: int) -> dict[str, object]:
    """Return what a caller says besides the words, masked.

    Raises:
        YaadError: TOO_LARGE.
    """
    masked = privacy.mask_tree(dict(given))
    size = len(json.dumps(masked, ensure_ascii=False).encode("utf-8", "replace")) if masked else 0
    if size > bytes_max:
        raise YaadError(
            Code.TOO_LARGE,
            f"The attributes have {size} bytes, more than {bytes_max}; nothing was changed.",
            hint="Keep the long part in a memory, and link that.",
        )
    return masked


def merged(known: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Return the attributes of a memory with those given in their place; null takes one away."""
    both = dict(known) | dict(given)
    return {name: value for name, value in both.items() if value is not None}


def refuse_secret(what: str, given: str, *, hint: str) -> None:
    """Refuse a secret where a name is wanted, which could not be asked for masked.

    Raises:
        YaadError: BAD_REQUEST.
    """
    if privacy.mask(given).kinds:
        raise YaadError(
            Code.BAD_REQUEST, f"The {what} looks like a secret; nothing was stored.", hint=hint
        )


@lru_cache(maxsize=64)  # of a thousand memories there are a few
def clean_kind(given: str) -> str:
    """Return a kind as it is stored: it is asked for by name, so it cannot be masked.

    Raises:
        YaadError: BAD_REQUEST when it looks like a secret, or is kept for something else.
        ValueError: it is no kind.
    """
    kind = canonical_kind(given)
    refuse_secret("kind", given, hint="Leave the kind out, and it is chosen from the text.")
    if kind in NOT_GIVEN:
        raise YaadError(
            Code.BAD_REQUEST,
            f"The kind {kind} is kept for {NOT_GIVEN[kind]}; nothing was stored.",
            hint="Leave the kind out, and it is chosen from the text.",
        )
    return kind


def clean_key(given: str) -> str:
    """Return a key as it may be stored: it is looked up, so it cannot be masked.

    Raises:
        YaadError: BAD_REQUEST when it looks like a secret, or like no key.
    """
    refuse_secret("key", given, hint="Give it a name that may be seen.")
    try:
        return canonical_key(given)
    except ValueError as error:
        raise YaadError(Code.BAD_REQUEST, f"{error}; nothing was stored.") from error
