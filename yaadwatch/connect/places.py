"""Find, add and remove our entries in the text of a settings file. Touches no file.

A `Spot` is a place in a settings file and our entry there. Our entries are recognised by the
program they start, so they are found even when no receipt knows of them.

Codex runs a hook once a person has approved it in `/hooks`. Its `config.toml` keeps the answer
under the hook's file, event and place (seen with Codex 0.169.0). We only read that state, and never
write it.
"""

import hashlib
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from yaadwatch import places
from yaadwatch.text import jsonc, toml
from yaadwatch.text.toml import Added, NotUnderstoodError, find
from yaadwatch.text.toml import Path as Path_of_toml

How = Literal["member", "element", "table", "default", "file"]

OURS: Final = re.compile(r"yaadwatch[/\\]+client[/\\]+(?:shim|hook)\.py")
"""What everything of ours starts."""
MARK: Final = "Written by `yaadwatch "
"""In files that are wholly ours and start nothing."""
_INNER: Final = "hooks"
"""The key of the hooks in a group, for agents that have groups."""
_SWITCHES: Final = frozenset({"enabled", "tools"})
"""We say these once; then they are the person's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A place in a settings file, and our entry there.

    Args:
        path: of the file, as the agent names it; absolute.
        how: a member of an object, an element of a list, a table of TOML, a member that the agent
            asks for and that somebody else may have written, or the whole file.
        at: the keys that lead there; to the list, for an element.
        value: our entry; the text of a whole file.
        event: which of our hooks it is; '' for no hook. Distinguishes elements of one list.
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
        """Return the identity of this spot."""
        return " ".join((self.path, self.how, ".".join(self.at), self.event))


def with_ours(text: str, spot: Spot, known: Added | None) -> tuple[str, Added | None]:
    """Return a text with our entry at a spot, and how it came there.

    Args:
        text: of the file; empty when there is none.
        spot: where, and what.
        known: how it came there before.

    Raises:
        NotUnderstoodError: the text cannot be parsed, or another entry is there.
    """
    if spot.how == "file":
        if text == spot.value:
            return text, known
        if text and not is_our_file(text):
            raise NotUnderstoodError("something else stands there already, which is not ours")
        return spot.value, None
    there = next(_ours(text, spot), None)
    if there is None:
        put = {"table": toml.put, "element": jsonc.append}.get(spot.how, jsonc.put)
        return put(text, spot.at, spot.value)
    at, before = there
    value = spot.value if spot.how == "default" else _merged(before, _value_at(spot, at))
    if value == before or spot.how == "default":
        return text, _moved(known, at) if known else None
    if spot.how == "table":
        return _with_table(text, spot, _moved(known, at), value)
    return jsonc.replace(text, _moved(known, at), value)


def without_ours(text: str, spot: Spot, known: Added | None, digest: str = "") -> str:
    """Return a text without our entry at a spot.

    Args:
        text: of the file.
        spot: where, and what.
        known: how it came there.
        digest: of the whole file as it was written, if it is ours and that is known. A whole file
            that was changed since stays.

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


def digest_of(text: str) -> str:
    """Return the digest of a whole file's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_our_file(text: str) -> bool:
    """Return whether the text of a whole file says that it is ours."""
    return OURS.search(text) is not None or MARK in text


def _ours(text: str, spot: Spot) -> Iterator[tuple[Path_of_toml, Any]]:
    """Yield the place and value of each entry of ours."""
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
                else:  # hooks of others are in the same group, and stay
                    yield (*spot.at, number, _INNER, place), hook
    elif is_ours(there):
        yield spot.at, there


def _value_at(spot: Spot, at: Path_of_toml) -> Any:
    """Return the value for `at`: a group of hooks, or our hook in a group of others."""
    is_inner = spot.how == "element" and len(at) > len(spot.at) + 1
    return spot.value[_INNER][0] if is_inner else spot.value


def _merged(there: Any, ours: Any) -> Any:
    """Return our value with what others added to it, and the switches as they set them."""
    if isinstance(there, dict) and isinstance(ours, Mapping):
        kept = {
            # What of an environment is ours goes when it is not asked for any more.
            key: {name: one for name, one in value.items() if not name.startswith("YAAD_")}
            if key in {"env", "environment"} and isinstance(value, dict)
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
    """Set `value` in a table, in place when only our keys have to change."""
    try:
        after, moved = toml.replace(text, added, spot.value)
        if find(toml.read(after), spot.at) == value:
            return after, moved
    except NotUnderstoodError:
        pass  # an addition is in the middle of it: the table is written again
    try:
        return toml.replace(text, Added(at=added.at, made=added.made), value)
    except TypeError:  # a date, which none of their settings takes
        raise NotUnderstoodError(f"{'.'.join(spot.at)} holds what cannot be kept") from None


def _moved(known: Added | None, at: Path_of_toml) -> Added:
    """Return what is known of our value, which is at `at` by now."""
    if known is None:
        return Added(at=at, made=at)
    made = at if known.made == known.at else known.made
    return Added(at=at, made=made, pieces=known.pieces)


def _without_default(text: str, spot: Spot, known: Added | None) -> str:
    """Remove a member that the agent requires, if we added it and nothing else is there."""
    said = jsonc.read(text)
    if known is None or said != {spot.at[0]: spot.value}:
        return text
    return jsonc.take(text, known)


Trust = Literal["trusted", "untrusted", "off"]


def of_codex(hooks: str, settings: str, path: str) -> dict[str, Trust]:
    """Return for each of our hooks, by event, whether a person trusts it in Codex.

    Args:
        hooks: the text of its `hooks.json`.
        settings: the text of its `config.toml`.
        path: of `hooks.json`.

    Raises:
        NotUnderstoodError: one of the texts makes no sense.
    """
    meant, noted = os.path.realpath(path), {}
    for key, note in _table(_table(_table(toml.read(settings)), "hooks"), "state").items():
        file, *place = key.rsplit(":", 3)
        if os.path.realpath(file) == meant:
            noted[":".join(place)] = _table(note)
    found: dict[str, Trust] = {}
    for event, groups in _table(_table(jsonc.read(hooks)), "hooks").items():
        # The events as Codex names them in its keys: session_start.
        label = re.sub(r"\B([A-Z])", r"_\1", event).lower()
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = _table(group).get(_INNER)
            for at, hook in enumerate(inner if isinstance(inner, list) else ()):
                if is_ours(hook):
                    note = noted.get(f"{label}:{number}:{at}", {})
                    trust: Trust = "trusted" if note.get("trusted_hash") else "untrusted"
                    found[event] = "off" if note.get("enabled") is False else trust
    return found


def _table(value: Any, key: str = "") -> Mapping[str, Any]:
    """Return a table, or the one under `key` in it; empty where there is none."""
    found = value.get(key) if key and isinstance(value, Mapping) else value
    return found if isinstance(found, Mapping) else {}


GUARD: Final = '[ -x "$0" ] && [ -r "$3" ] && "$0" "$@"; exit 0'
"""Run the hook, and exit with 0 whatever happens.

Claude Code and Codex take status 2 for "block this prompt", which is what Python returns for a
missing file. `/bin/sh` is started by its path, so the entry means the same in every shell, and for
an agent that uses none.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How our shim and our hooks are started.

    They are files of their own for an interpreter that reads neither its environment nor its
    packages (`-I -S`): that is quick, and means the same whatever folder or environment an agent
    has.

    Args:
        python: the interpreter.
        client: the folder with both files.
        env: variables without which they would look elsewhere for the daemon.
    """

    python: str
    client: str
    env: Mapping[str, str] = field(default_factory=dict)

    def mcp(self, agent: str, *more: str) -> list[str]:
        """Return the command that an agent starts as its MCP server."""
        return [
            *(self.python, "-I", "-S", os.path.join(self.client, "shim.py")),  # noqa: PTH118
            *("--agent", agent, *more),
        ]

    def hooks(self) -> list[str]:
        """Return how a command that answers a hook begins."""
        return [self.python, "-I", "-S", os.path.join(self.client, "hook.py")]  # noqa: PTH118

    def hook(self, event: str, agent: str) -> list[str]:
        """Return the command that answers a hook; without a guard."""
        return [*self.hooks(), event, "--agent", agent]

    def line(self, event: str, agent: str) -> str:
        """Return the command that answers a hook as one line for a shell; it exits with 0."""
        env = ["/usr/bin/env", *(f"{name}={value}" for name, value in self.env.items())]
        guarded = ["/bin/sh", "-c", GUARD, *self.hook(event, agent)]
        return shlex.join([*env, *guarded] if self.env else guarded)


def this_program() -> Program:
    """Return how the program that runs now is started."""
    given = os.environ.get("YAAD_HOME")
    return Program(
        python=sys.executable,
        client=str(Path(places.__file__).resolve().parent / "client"),
        env={"YAAD_HOME": str(places.data_folder())} if given else {},
    )
