"""TOOLS: what an agent can call, made from the operations that are on the wire "mcp".

Every agent reads all of this at the start of each session, whether it calls anything or not: names,
descriptions and schemas are short on purpose, and a test counts their tokens. Types and defaults
come from the fields of its request that have a text for tools; the others work all the same.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from yaadwatch.api.frames import to_text
from yaadwatch.api.message import Field
from yaadwatch.api.operations import BY_NAME
from yaadwatch.model.errors import YaadError

PREFIX: Final = "yaad_"

Schema = dict[str, object]

_TEXT: Final[Schema] = {"type": "string"}
_WHOLE: Final[Schema] = {"type": "integer"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
_TYPES: Final[Mapping[object, Schema]] = {
    str: _TEXT,
    str | None: _TEXT,
    int: _WHOLE,
    int | None: _WHOLE,
    bool: {"type": "boolean"},
    tuple[str, ...]: _TEXTS,
}
PROJECT: Final[Schema] = {
    "type": "string",
    "description": "absolute, if another",
}

_COMMAND: Final = re.compile(
    r"\byaadwatch (context|forget|impact|link|recall|remember|stale|status|subgraph|unlink)\b(?! -)"
)
"""A command that a person is told to run, and for which an agent has a tool."""
_ELSEWHERE: Final = frozenset({"recall", "remember", "context", "stale"})
"""Tools that are listed with `project`, which all of them take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool.

    Args:
        operation: the row it asks for.
        about: what it is for, told to the agent.
        answer: the schema of the answer, where programs gain by one.
        text: the key of the answer that is told as text instead of the whole as JSON.
        nothing: what is told when that text is empty.
    """

    operation: str
    about: str
    answer: Schema | None = None
    text: str = ""
    nothing: str = ""

    @property
    def name(self) -> str:
        """Return the name that an agent calls it by."""
        return PREFIX + self.operation

    def listed(self) -> Schema:
        """Return how the tool is listed."""
        row = BY_NAME[self.operation]
        told = [one for one in row.request.FIELDS.values() if one.tool is not None]
        shown = {one.name: _argument(one) for one in told}
        if self.operation in _ELSEWHERE:
            shown["project"] = PROJECT
        needed = [one.name for one in told if one.is_needed]
        listed: Schema = {
            "name": self.name,
            "description": self.about,
            "inputSchema": {"type": "object", "properties": shown}
            | ({"required": needed} if needed else {}),
            "annotations": {"readOnlyHint": True}
            if row.kind == "read"
            else {"destructiveHint": False, "idempotentHint": True},
        }
        return listed | ({"outputSchema": self.answer} if self.answer is not None else {})

    def asked(self, given: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
        """Return the row that is asked for, and its fields."""
        return self.operation, given

    def result(self, found: "dict[str, object] | YaadError") -> Schema:
        """Return the result of a call: the answer, or what went wrong and what to do next."""
        if isinstance(found, YaadError):
            return failed(found)
        found = _for_agents(found)
        if self.text:
            return {"content": [_content(str(found[self.text]) or self.nothing)], "isError": False}
        return succeeded(found) | ({"structuredContent": found} if self.answer is not None else {})


def _for_agents(found: "dict[str, object]") -> "dict[str, object]":
    """Return an answer whose offers to replace flagged memories name the tool, not the command."""
    rows = cast("list[dict[str, object]]", found.get("flagged") or [])
    if not rows:
        return found
    named = [
        row | {"replace": _COMMAND.sub(rf"{PREFIX}\1", str(row["replace"]))}
        if row["replaced_by"] != "person"
        else row
        for row in rows
    ]
    return found | {"flagged": named}


def failed(error: YaadError) -> Schema:
    """Return the result that tells an agent what went wrong and what to do next."""
    told = f"{error.message}\n{error.hint}" if error.hint else error.message
    return {"content": [_content(_COMMAND.sub(rf"{PREFIX}\1", told))], "isError": True}


def succeeded(found: "dict[str, object]") -> Schema:
    """Return the result that tells an answer, as text."""
    return {"content": [_content(to_text(found))], "isError": False}


def _content(text: str) -> Schema:
    return {"type": "text", "text": text}


def _argument(field: Field) -> Schema:
    schema = dict(_TYPES[field.type])
    if field.tool:
        schema["description"] = field.tool
    if isinstance(field.default, int) and field.default is not False:
        schema["default"] = field.default
    return schema


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


TOOLS: Final = (
    Tool(
        operation="recall",
        about="Find what is remembered here: decisions, conventions, bugs, commands. Ask before you"
        " change code you do not know.",
        answer=_object(results=_list(_object(id=_TEXT, text=_TEXT, kind=_TEXT))),
    ),
    Tool(
        operation="remember",
        about="Keep one statement that will matter later: a decision with its reason, a convention,"
        " a fix. It is flagged once the code it names changes.",
        answer=_object(id=_TEXT, kind=_TEXT, decision=_TEXT),
    ),
    Tool(
        operation="forget",
        about="Archive a memory that is wrong; a person can restore it.",
    ),
    Tool(
        operation="context",
        about="The brief: what may no longer be true, rules, open tasks.",
        text="brief",
        nothing="There is nothing to tell: no flags, no rules that are not in your files, no open"
        " tasks; or tokens_max leaves no room for any.",
    ),
    Tool(
        operation="stale",
        about="What is remembered and may no longer be true, with the commits that changed it.",
        answer=_object(stale=_list(_object(id=_TEXT, text=_TEXT, verdict=_TEXT))),
    ),
    Tool(
        operation="impact",
        about="What rests on a file. Ask before you change it.",
        answer=_object(memories=_list(_object(id=_TEXT, text=_TEXT))),
    ),
    Tool(
        operation="link",
        about="Relate two memories: a flag on `to` reaches `id`.",
    ),
    Tool(
        operation="unlink",
        about="End such a relation.",
    ),
    Tool(
        operation="subgraph",
        about="What memories are related to one, or to the answers to a question, and how.",
    ),
    Tool(
        operation="task_update",
        about="Add a task, or say how far one is. Open ones are in the next brief.",
    ),
    Tool(
        operation="sessions",
        about="What earlier sessions did, learned and left.",
    ),
    Tool(
        operation="status",
        about="What is watched, and what is wrong.",
    ),
)
BY_TOOL: Final = {tool.name: tool for tool in TOOLS}
