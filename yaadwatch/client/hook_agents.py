"""`AGENTS`: the payloads and answers of each agent's hooks, one row per agent.

The forms come from payloads recorded from the real agents (tests/integration/hook_payloads), but
for Cursor, for which there is only its documentation. Errors about a payload never quote it:
nothing here knows which of its words are secret. Every hook imports this module, so it imports
little.

The module also reads the brief that the daemon prepared.
"""

import json
import os
import time
from types import MappingProxyType

from yaadwatch import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


# ruff: noqa: PTH117, PTH118


if TYPE_CHECKING:
    Payload = Mapping[str, Any]

EVENTS = ("session-start", "prompt-submit", "post-tool-use", "session-end", "subagent-start")

_PATCHED = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")


class WrongPayloadError(ValueError):
    """A payload is not what this agent sends. The message says in what."""


class Agent:
    """The payloads and answers of one agent's hooks.

    Args:
        names: what it calls each of our events.
        event: where its payload names the event; '' if it does not.
        session: where the payload has the name of the session.
        folder: where it has the folder that the agent works on.
        used: where it has the tool that was used; '' for the payload itself.
        tool: where that names the tool.
        given: where that has the arguments of the tool: an object, or its text in JSON.
        edits: the tools that change one file.
        keys: where their arguments may name it.
        patches: the tools that take a patch, and its key; '' for the arguments themselves.
        tell: returns the answer that passes a text to the model.
        nothing: the answer when there is nothing to say.
        hears_prompts: whether the model gets the answer to a prompt. If it does not,
            news are sent after the next change of a file.
    """

    def __init__(
        self,
        *,
        names: "Mapping[str, str]",
        event: str = "hook_event_name",
        session: str = "session_id",
        folder: str = "cwd",
        tool: str = "tool_name",
        given: str = "tool_input",
        used: str = "",
        edits: "frozenset[str]",
        keys: "Sequence[str]",
        patches: "Mapping[str, str]" = MappingProxyType({}),
        tell: "Callable[[str, str], Any]",
        nothing: "Any" = None,
        hears_prompts: bool = True,
    ) -> None:
        self.names = names
        self.event = event
        self.session = session
        self.folder = folder
        self._tool = tool
        self._given = given
        self._used = used
        self._edits = edits
        self._keys = keys
        self._patches = patches
        self.tell = tell
        self.nothing = nothing
        self.hears_prompts = hears_prompts

    def check(self, payload: "Payload", event: str) -> None:
        """Raise when a payload is of another event.

        Raises:
            WrongPayloadError: it is; the message names both, when we know the other one.
        """
        ours = self.names.get(event, event)
        named = payload.get(self.event, ours) if self.event else ours
        if named != ours:
            known = [one for one in self.names.values() if one == named]
            other = repr(known[0]) if known else "an event that is not known"
            message = f"the payload is of {other}, and this hook answers {ours!r}"
            raise WrongPayloadError(message)

    def is_subagent(self, payload: "Payload") -> bool:
        """Return whether a payload is of a sub-agent that starts."""
        name = self.names.get("subagent-start")
        return bool(self.event and name) and payload.get(self.event) == name

    def folder_of(self, payload: "Payload") -> str:
        """Return the folder that the agent works on; '' when the payload has none.

        Raises:
            WrongPayloadError: it is no absolute path.
        """
        found = payload.get(self.folder) or ""
        if isinstance(found, list):
            found = found[0]
        if not isinstance(found, str) or (found and not os.path.isabs(found)):
            message = f"the payload's {self.folder} is no absolute folder"
            raise WrongPayloadError(message)
        return found

    def session_of(self, payload: "Payload") -> str:
        """Return the agent's name for its session; '' when it has none, or a long text.

        It is never cut: the rest of a secret might not be recognised as one.
        """
        found = payload.get(self.session)
        return found if isinstance(found, str) and len(found) <= 200 else ""

    def files_of(self, payload: "Payload", folder: str) -> list[str]:
        """Return the absolute paths of the files that a tool was to change, each once.

        Raises:
            WrongPayloadError: the tool changes files, and the payload does not name them.
        """
        try:
            found = self._files(payload)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            missing = repr(error) if isinstance(error, KeyError) else type(error).__name__
            message = f"the payload does not tell which file was changed: {missing}"
            raise WrongPayloadError(message) from None
        return list(dict.fromkeys(os.path.normpath(os.path.join(folder, one)) for one in found))[
            :200
        ]

    def _files(self, payload: "Payload") -> list[str]:
        used = payload[self._used] if self._used else payload
        tool, given = used[self._tool], used[self._given]
        if tool in self._patches:
            key = self._patches[tool]
            return patched(given[key] if key else given)
        if tool not in self._edits:
            return []
        given = json.loads(given.encode()) if isinstance(given, str) else given
        for key in self._keys:
            if isinstance(given.get(key), str):
                return [given[key]]
        raise KeyError(self._keys[0])


def patched(patch: str) -> list[str]:
    """Return the files that a patch in the form of Codex names."""
    return [
        line[len(mark) :].strip()
        for line in patch.splitlines()
        for mark in _PATCHED
        if line.startswith(mark)
    ]


def _named(*names: str) -> "dict[str, str]":
    """Return an agent's names for our events; the last ones are optional."""
    return dict(zip(EVENTS, names, strict=False))


def _specific(name: str, text: str) -> "dict[str, Any]":
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}


_CLAUDE_EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})

AGENTS = {
    "claude": Agent(
        names=_named(
            "SessionStart", "UserPromptSubmit", "PostToolUse", "SessionEnd", "SubagentStart"
        ),
        edits=_CLAUDE_EDITS,
        keys=("file_path", "notebook_path"),
        tell=_specific,
    ),
    "codex": Agent(
        names=_named(
            "SessionStart", "UserPromptSubmit", "PostToolUse", "SessionEnd", "SubagentStart"
        ),
        edits=_CLAUDE_EDITS,
        keys=("file_path", "notebook_path"),
        patches={"apply_patch": "command"},
        tell=_specific,
    ),
    "gemini": Agent(
        names=_named("SessionStart", "BeforeAgent", "AfterTool", "SessionEnd"),
        edits=frozenset({"write_file", "replace"}),
        keys=("file_path",),
        tell=_specific,
    ),
    "copilot": Agent(
        names=_named(
            "sessionStart", "userPromptSubmitted", "postToolUse", "sessionEnd", "subagentStart"
        ),
        event="",
        session="sessionId",
        tool="toolName",
        given="toolArgs",
        edits=frozenset({"create", "edit", "str_replace_editor", "str_replace", "insert"}),
        keys=("path", "file_path"),
        patches={"apply_patch": ""},
        tell=lambda _, text: {"additionalContext": text},
    ),
    "cursor": Agent(
        names=_named("sessionStart", "beforeSubmitPrompt", "postToolUse", "sessionEnd"),
        session="conversation_id",
        folder="workspace_roots",
        edits=frozenset({"Write", "Edit", "StrReplace", "Delete", "EditNotebook"}),
        keys=("file_path", "path", "target_file", "target_notebook"),
        tell=lambda _, text: {"additional_context": text},
        hears_prompts=False,
    ),
    "opencode": Agent(
        names=_named(*EVENTS[:4]),
        event="",
        session="session",
        tool="tool",
        given="args",
        edits=frozenset({"edit", "write", "multiedit"}),
        keys=("filePath", "path"),
        patches={"patch": "patchText", "apply_patch": "patchText"},
        tell=lambda _, text: {"text": text},
    ),
    "cline": Agent(
        names=_named("agent_start", "prompt_submit", "tool_result", "session_shutdown"),
        event="hookName",
        session="taskId",
        folder="workspaceRoots",
        used="postToolUse",
        tool="toolName",
        given="parameters",
        edits=frozenset({"editor", "write_to_file", "replace_in_file", "new_file"}),
        keys=("path", "absolutePath"),
        patches={"apply_patch": "input"},
        tell=lambda _, text: {"cancel": False, "contextModification": text},
        nothing={"cancel": False},
        hears_prompts=False,
    ),
}
"""How each agent's hooks are answered."""


AGE_MAX_S = 7 * 86_400
"""An older brief says nothing about the work tree of today."""
_BRIEF_BYTES_MAX = 256 * 1024


def prepared_brief(folder: str, agent: str, *, is_short: bool) -> tuple[str, str]:
    """Return the prepared brief for an agent in a folder, and its age in words; '' for none.

    Args:
        folder: that the agent works on.
        agent: its name.
        is_short: whether it is for a sub-agent.
    """
    root = places.work_tree_of(folder)
    head = places.head_of(root) if root else ""
    for one in (agent, places.ANY_AGENT) if head else ():
        found, age_s = _read(places.brief_file(root, head, one))
        is_recent = bool(found) and age_s < AGE_MAX_S
        if is_recent and found.get("of") == places.brief_subject(root, head):
            return str(found.get("short" if is_short else "brief") or ""), _in_words(age_s)
    return "", ""


def with_age(brief: str, age: str) -> str:
    """Return a brief with a line about its age before it."""
    said = "The daemon did not answer in time, so this brief may miss the latest changes"
    return f"{said}; it was prepared {age} ago. Now: yaadwatch stale\n{brief}"


def _read(path: str) -> tuple[dict[str, object], float]:
    """Return the text of a file that our user owns, and its age in seconds."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return {}, 0.0
    try:
        state = os.fstat(descriptor)
        if state.st_uid != os.geteuid():
            return {}, 0.0
        data = bytearray()
        while len(data) < _BRIEF_BYTES_MAX and (chunk := os.read(descriptor, _BRIEF_BYTES_MAX)):
            data += chunk
    finally:
        os.close(descriptor)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}, 0.0
    age_s = time.clock_gettime(time.CLOCK_REALTIME) - state.st_mtime
    return (found if isinstance(found, dict) else {}), max(0.0, age_s)


def _in_words(age_s: float) -> str:
    for unit, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if age_s >= seconds:
            count = int(age_s // seconds)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"
