"""Has a person trusted our hooks in Codex? Read from where it notes that; never written.

Codex runs a hook once a person has approved it in `/hooks`. It keeps the answer in its
`config.toml` under the hook's file, event and place, with a hash of what was approved: a hook that
says something else now is asked about again. The hash is of the hook as JSON with sorted keys, with
what it leaves out filled in (seen with Codex 0.169.0, whose `hooks/list` tells it).
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from yaadwatch.connecting.spots import is_ours
from yaadwatch.core.settings_text import jsonc, toml

Trust = Literal["trusted", "changed", "untrusted", "off"]

_LABELS: Final = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt_submit",
    "PostToolUse": "post_tool_use",
    "SessionEnd": "session_end",
    "SubagentStart": "subagent_start",
}
"""The events that we answer, as Codex names them in its keys."""
_WITHOUT_MATCHER: Final = frozenset({"UserPromptSubmit"})
_TIME_S: Final = 600
"""What a hook has when it does not say how long."""
_TIMES_MAX_S: Final = {"SessionEnd": 3}
"""What one that says more has, for some events."""


def of_codex(hooks: str, settings: str, path: str) -> dict[str, Trust]:
    """Return for each of our hooks, by event, whether Codex will run it.

    Args:
        hooks: the text of its `hooks.json`.
        settings: the text of its `config.toml`.
        path: of `hooks.json`.

    Raises:
        NotUnderstoodError: one of the texts makes no sense.
    """
    noted = _notes(toml.read(settings), path)
    found: dict[str, Trust] = {}
    for event, place, group, hook in _ours(jsonc.read(hooks)):
        note = noted.get(f"{_LABELS[event]}:{place}")
        found[event] = _trust(note, _hash(event, group, hook))
    return found


def _trust(note: Mapping[str, Any] | None, now: str) -> Trust:
    if note is not None and note.get("enabled") is False:
        return "off"
    trusted = None if note is None else note.get("trusted_hash")
    if trusted is None:
        return "untrusted"
    return "trusted" if trusted == now else "changed"


def _notes(settings: Any, path: str) -> dict[str, Mapping[str, Any]]:
    """Return what Codex noted of the hooks in a file, by event and place."""
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    state = hooks.get("state") if isinstance(hooks, dict) else None
    meant = os.path.realpath(path)
    noted: dict[str, Mapping[str, Any]] = {}
    for key, note in (state if isinstance(state, dict) else {}).items():
        file, *place = key.rsplit(":", 3)
        if isinstance(note, dict) and os.path.realpath(file) == meant:
            noted[":".join(place)] = note
    return noted


def _ours(said: Any) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the event, the place, the group and the words of each hook of ours."""
    hooks = said.get("hooks") if isinstance(said, dict) else None
    for event in _LABELS:
        groups = hooks.get(event) if isinstance(hooks, dict) else None
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = group.get("hooks") if isinstance(group, dict) else None
            for place, hook in enumerate(inner if isinstance(inner, list) else ()):
                if isinstance(hook, dict) and is_ours(hook):
                    yield event, f"{number}:{place}", group, hook


def _hash(event: str, group: Mapping[str, Any], hook: Mapping[str, Any]) -> str:
    time_s = hook.get("timeout", _TIME_S)
    if isinstance(time_s, int) and event in _TIMES_MAX_S:
        time_s = min(time_s, _TIMES_MAX_S[event])
    filled: dict[str, Any] = {
        "type": "command",
        "command": hook.get("command"),
        "timeout": time_s,
        "async": hook.get("async", False),
    }
    if "statusMessage" in hook:
        filled["statusMessage"] = hook["statusMessage"]
    identity: dict[str, Any] = {"event_name": _LABELS[event], "hooks": [filled]}
    if "matcher" in group and event not in _WITHOUT_MATCHER:
        identity["matcher"] = group["matcher"]
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
