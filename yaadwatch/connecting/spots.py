"""A spot is a place in a file of settings and what of ours stands there: found, put in, taken out.

Nothing here touches a file. What is ours is told by what it starts, so that it is found again also
when nothing is known of how it came there.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from yaadwatch.core.settings_text import jsonc, toml
from yaadwatch.core.settings_text.edits import Added, NotUnderstoodError, Path
from yaadwatch.core.settings_text.scanning import find

How = Literal["member", "element", "table", "default", "file"]
Change = Literal["new", "changed", "same"]

OURS: Final = re.compile(r"yaadwatch[/\\]+client[/\\]+(?:shim|hook)\.py")
"""What everything of ours starts."""
MARK: Final = "Written by `yaadwatch "
"""Stands in files that are ours as a whole and start nothing."""
_HOOK_FILE: Final = re.compile(r"yaadwatch[/\\]+client[/\\]+hook\.py")
_GUARDED: Final = re.compile(r"exit 0'[^\n]*hook\.py")
_INNER: Final = "hooks"
"""Where the hooks of a group stand, for agents that have groups."""
_SWITCHES: Final = frozenset({"enabled", "tools"})
"""We say these once; then they are the person's."""
_ENVIRONMENTS: Final = frozenset({"env", "environment"})
_OUR_NAMES: Final = "YAAD_"
"""What of an environment is ours: it goes when it is not asked for any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where something of ours stands, or shall.

    Args:
        path: of the file, as the agent names it; absolute.
        how: a member of an object, an element of a list, a table of TOML, a member that the agent
            asks for and that somebody else may have written, or the whole file.
        at: the keys that lead there; to the list, for an element.
        value: what stands there; the text of a whole file.
        event: which of our hooks it is; '' for no hook. Tells elements of one list apart.
        mode: of the file, if it has to be made.
    """

    path: str
    how: How
    at: tuple[str, ...] = ()
    value: Any = None
    event: str = ""
    mode: int = 0o600

    @property
    def key(self) -> str:
        """Return what tells this spot from every other one."""
        return " ".join((self.path, self.how, ".".join(self.at), self.event))


def with_ours(text: str, spot: Spot, known: Added | None) -> tuple[str, Added | None, Change]:
    """Return a text with what shall stand at a spot, how it came there, and what that changed.

    Args:
        text: of the file; empty when there is none.
        spot: where, and what.
        known: how it came there before.

    Raises:
        NotUnderstoodError: the text makes no sense, or something else stands there.
    """
    if spot.how == "file":
        if text == spot.value:
            return text, known, "same"
        if text and not is_our_file(text):
            raise NotUnderstoodError("something else stands there already, which is not ours")
        return spot.value, None, "changed" if text else "new"
    there = next(_ours(text, spot), None)
    if there is None:
        return _put(text, spot)
    at, before = there
    value = spot.value if spot.how == "default" else _merged(before, _value_at(spot, at))
    if value == before or spot.how == "default":
        return text, _moved(known, at) if known else None, "same"
    if spot.how == "table":
        after, added = _with_table(text, spot, _moved(known, at), value)
    else:
        after, added = jsonc.replace(text, _moved(known, at), value)
    return after, added, "changed"


def without_ours(text: str, spot: Spot, known: Added | None, digest: str = "") -> str:
    """Return a text without what of ours stands at a spot.

    Args:
        text: of the file.
        spot: where, and what.
        known: how it came there.
        digest: of the whole file as it was written, if it is ours and that is known. A whole file
            that somebody changed since stays.

    Raises:
        NotUnderstoodError: the text makes no sense, or ours is woven into it.
    """
    if spot.how == "file":
        return "" if text == spot.value or digest_of(text) == digest else text
    if spot.how == "default":
        return _without_default(text, spot, known)
    while (there := next(_ours(text, spot), None)) is not None:
        edit = toml if spot.how == "table" else jsonc
        text = edit.take(text, _moved(known, there[0]))
    return text


def is_ours(value: Any) -> bool:
    """Return whether a value starts something of ours."""
    match value:
        case str():
            return OURS.search(value) is not None
        case Mapping():
            return any(is_ours(one) for one in value.values())
        case list() | tuple():
            return any(is_ours(one) for one in value)
    return False


def starts_unguarded(text: str) -> bool:
    """Return whether settings start our hook as older versions did, where its status counts."""
    is_plugin = "spawn(" in text  # which waits for no status
    return not is_plugin and any(
        _HOOK_FILE.search(line) and not _GUARDED.search(line) for line in text.splitlines()
    )


def digest_of(text: str) -> str:
    """Return what tells the text of a whole file from every other one."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_our_file(text: str) -> bool:
    """Return whether the text of a whole file says that it is ours."""
    return OURS.search(text) is not None or MARK in text


def _put(text: str, spot: Spot) -> tuple[str, Added, Change]:
    if spot.how == "table":
        after, added = toml.put(text, spot.at, spot.value)
    elif spot.how == "element":
        after, added = jsonc.append(text, spot.at, spot.value)
    else:
        after, added = jsonc.put(text, spot.at, spot.value)
    return after, added, "new"


def _ours(text: str, spot: Spot) -> Iterator[tuple[Path, Any]]:
    """Yield where ours stands, and what."""
    said = toml.read(text) if spot.how == "table" else jsonc.read(text)
    try:
        there = find(said, spot.at)
    except KeyError:
        return
    if spot.how == "default":
        yield spot.at, there
    elif spot.how == "element":
        answers = re.compile(rf"hook\.py['\"\\]* {re.escape(spot.event)}\b")
        for number, one in enumerate(there if isinstance(there, list) else ()):
            inner = one.get(_INNER) if isinstance(one, dict) else None
            if not isinstance(inner, list):
                if is_ours(one) and answers.search(json.dumps(one)):
                    yield (*spot.at, number), one
                continue
            for place, hook in enumerate(inner):
                if not is_ours(hook) or not answers.search(json.dumps(hook)):
                    continue
                if len(inner) == 1:
                    yield (*spot.at, number), one
                else:  # somebody else's hooks stand in the same group, and stay
                    yield (*spot.at, number, _INNER, place), hook
    elif is_ours(there):
        yield spot.at, there


def _value_at(spot: Spot, at: Path) -> Any:
    """Return what shall stand at `at`: a group of hooks, or our hook in somebody else's group."""
    is_inner = spot.how == "element" and len(at) > len(spot.at) + 1
    return spot.value[_INNER][0] if is_inner else spot.value


def _merged(there: Any, ours: Any) -> Any:
    """Return ours with whatever somebody else added to it, and the switches as they set them."""
    if isinstance(there, dict) and isinstance(ours, Mapping):
        kept = {
            key: {name: one for name, one in value.items() if not name.startswith(_OUR_NAMES)}
            if key in _ENVIRONMENTS and isinstance(value, dict)
            else value
            for key, value in there.items()
        }
        kept = {key: value for key, value in kept.items() if value == there[key] or value}
        return kept | {
            key: kept[key] if key in _SWITCHES and key in kept else _merged(kept.get(key), value)
            for key, value in ours.items()
        }
    if isinstance(there, list) and isinstance(ours, list) and len(there) == len(ours) == 1:
        return [_merged(there[0], ours[0])]
    return ours


def _with_table(text: str, spot: Spot, added: Added, value: Any) -> tuple[str, Added]:
    """Say `value` in a table: in its place where only what is ours has to change."""
    try:
        after, moved = toml.replace(text, added, spot.value)
        if find(toml.read(after), spot.at) == value:
            return after, moved
    except NotUnderstoodError:
        pass  # what somebody added stands in the middle of it: the table is written anew
    try:
        return toml.replace(text, Added(at=added.at, made=added.made), value)
    except TypeError:  # a date, which none of their settings takes
        raise NotUnderstoodError(f"{'.'.join(spot.at)} holds what cannot be kept") from None


def _moved(known: Added | None, at: Path) -> Added:
    """Return what is known of a value of ours, which stands at `at` by now."""
    if known is None:
        return Added(at=at, made=at)
    made = at if known.made == known.at else known.made
    return Added(at=at, made=made, pieces=known.pieces)


def _without_default(text: str, spot: Spot, known: Added | None) -> str:
    """Take out a member that the agent asks for, if we put it in and nothing else is there."""
    said = jsonc.read(text)
    if known is None or said != {spot.at[0]: spot.value}:
        return text
    return jsonc.take(text, known)
