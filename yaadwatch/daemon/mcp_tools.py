"""The MCP tools, made from the operations that are on the wire "mcp".

Every agent reads all names, descriptions and schemas at the start of each session, so they are
short, and a test counts their tokens. Types and defaults come from the request fields that have a
text for tools; the other fields work as well. `WIDE` tools hold many operations each and are listed
only with the setting `mcp.wide`.

Arguments are accepted as clients write them where only one meaning is possible: a list as JSON
text, a number or boolean as text, a single text for a list. The operation rejects anything else.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, cast
from urllib.parse import unquote, urlsplit

from yaadwatch.api import codec
from yaadwatch.api.frames import to_text
from yaadwatch.api.message import Field, Message
from yaadwatch.api.operations import BY_NAME
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import WIDE_TOOLS

PREFIX: Final = "yaad_"

Schema = dict[str, object]

_TEXT: Final[Schema] = {"type": "string"}
_WHOLE: Final[Schema] = {"type": "integer"}
_TYPES: Final[Mapping[object, Schema]] = {
    str: _TEXT,
    str | None: _TEXT,
    int: _WHOLE,
    int | None: _WHOLE,
    bool: {"type": "boolean"},
    tuple[str, ...]: {"type": "array", "items": _TEXT},
}
PROJECT: Final[Schema] = {
    "type": "string",
    "description": "absolute, if another",
}

_COMMAND: Final = re.compile(
    r"\byaadwatch (context|forget|impact|link|recall|remember|stale|status|subgraph|unlink)\b(?! -)"
)
"""A command for a person, in a text, for which an agent has a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool.

    Args:
        operation: the row it asks for.
        about: the purpose, for the agent.
        answer: the schema of the answer, where programs gain by one.
        text: the key of the answer that is returned as text instead of the whole as JSON.
        nothing: returned when that text is empty.
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
        fields = [one for one in row.request.FIELDS.values() if one.tool is not None]
        shown = {one.name: _argument(one) for one in fields}
        # Tools that are listed with `project`, which all of them take.
        if self.operation in frozenset({"recall", "remember", "context", "stale"}):
            shown["project"] = PROJECT
        needed = [one.name for one in fields if one.is_needed]
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
    """Return the tool result for an error: what went wrong and what to do next.

    A hint that sends the agent to the person keeps the command, which the person has to run.
    """
    is_for_person = "the person" in error.hint
    hint = error.hint if is_for_person else _COMMAND.sub(rf"{PREFIX}\1", error.hint)
    message = _COMMAND.sub(rf"{PREFIX}\1", error.message)
    text = f"{message}\n{hint}" if hint else message
    return {"content": [_content(text)], "isError": True}


def succeeded(found: "dict[str, object]") -> Schema:
    """Return the tool result for an answer, as text."""
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


Arguments = Mapping[str, object]

_TRUTHS: Final = MappingProxyType({"true": True, "false": False})


def accepted(message: type[Message], given: Arguments) -> dict[str, object]:
    """Return the arguments of an operation in the types that its request takes.

    Args:
        message: the request.
        given: the arguments, by their names on the wire.
    """
    types = {one.name.removesuffix("_"): one.type for one in message.FIELDS.values()}
    found = {name: _read(types.get(name), value) for name, value in given.items()}
    if isinstance(given.get("project"), str):
        found["project"] = folder_of(str(given["project"]))
    return found


def object_of(given: object) -> object:
    """Return the object that a text of JSON is; anything else as it is."""
    found = _json(given, "{") if isinstance(given, str) else None
    return given if found is None else found


def folder_of(given: str) -> str:
    """Return the path of a `file://` URI of this machine; any other text as it is."""
    try:
        uri = urlsplit(given)
    except ValueError:
        return given
    if uri.scheme != "file" or uri.netloc not in ("", "localhost"):
        return given
    return unquote(uri.path) or given


def _read(kind: object, value: object) -> object:
    if isinstance(value, float) and value.is_integer() and kind in (int, int | None):
        return int(value)
    reader = _READERS.get(kind)
    return reader(value) if reader is not None and isinstance(value, str) else value


def _number(value: str) -> object:
    return int(value) if re.fullmatch(r"[+-]?\d{1,18}", value.strip()) else value


def _real(value: str) -> object:
    return float(value) if re.fullmatch(r"[+-]?\d{1,18}(?:\.\d{1,18})?", value.strip()) else value


def _truth(value: str) -> object:
    return _TRUTHS.get(value.strip().lower(), value)


def _texts(value: str) -> object:
    """Return a list of texts; a name like `[id].tsx` is not JSON, and one text."""
    found = _json(value, "[")
    if found is not None:
        return found
    return [value] if value.strip() else []


def _parsed_list(value: str) -> object:
    found = _json(value, "[")
    return value if found is None else found


def _json(value: str, start: str) -> object:
    """Return the parsed JSON; None when it is invalid or does not begin with `start`."""
    if not value.lstrip().startswith(start):
        return None
    try:
        found: object = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found


_READERS: Final[Mapping[object, Callable[[str], object]]] = {
    bool: _truth,
    int: _number,
    int | None: _number,
    float | None: _real,
    tuple[str, ...]: _texts,
    "tuple[GivenNode, ...]": _parsed_list,
    "tuple[GivenEdge, ...]": _parsed_list,
    dict[str, object] | None: object_of,
}
"""How a text is read for each type that a field of a request may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WideTool:
    """A tool whose argument `do` names what it shall do.

    Args:
        short: its name, as the setting has it.
        about: the purpose, for the agent.
        operations: the rows it can ask for.
    """

    short: str
    about: str
    operations: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the name that an agent calls it by."""
        return PREFIX + self.short

    def listed(self) -> Schema:
        """Return how the tool is listed."""
        properties: Schema = {
            "do": {"type": "string", "enum": list(self.operations)},
            "with": {"type": "object", "description": "the fields of what is done"},
            "project": PROJECT,
        }
        described = "; ".join(_described(name) for name in self.operations)
        return {
            "name": self.name,
            "description": f"{self.about} {described}. A * must be given.",
            "inputSchema": {"type": "object", "properties": properties, "required": ["do"]},
            "annotations": {"destructiveHint": False},
        }

    def asked(self, given: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
        """Return the row that is asked for, and its fields.

        Raises:
            YaadError: BAD_REQUEST when there is none in `do`, or what is given makes no sense.
        """
        do, more = given.get("do"), object_of(given.get("with", {}))
        if do not in self.operations:
            meant = codec.nearest(do, self.operations) if isinstance(do, str) else None
            listed = ", ".join(self.operations)
            raise YaadError(
                Code.BAD_REQUEST,
                f"do must be one of {listed}; nothing was done.",
                hint=f"The nearest one is {meant!r}." if meant else "",
            )
        if not isinstance(more, dict):
            raise YaadError(
                Code.BAD_REQUEST,
                "with must be an object; nothing was done.",
                hint=f"It holds the fields of {do}.",
            )
        odd = sorted(given.keys() - {"do", "with", "project"})
        if odd:
            raise YaadError(
                Code.BAD_REQUEST,
                f"There is no field {odd[0]!r}; nothing was done.",
                hint=f"The fields of {do} belong in `with`.",
            )
        folder = {"project": given["project"]} if "project" in given else {}
        return str(do), more | folder

    def result(self, found: "dict[str, object] | YaadError") -> Schema:
        """Return the result of a call: the answer, or what went wrong and what to do next."""
        return failed(found) if isinstance(found, YaadError) else succeeded(found)


def _described(operation: str) -> str:
    row = BY_NAME[operation]
    listed = ", ".join(one.name + "*" * one.is_needed for one in row.request.FIELDS.values())
    return f"{operation}({listed}): {row.help}"


_GRAPH: Final = WideTool(
    short="graph",
    about="The memories as a graph, many at once.",
    operations=("inject", "traverse", "close_link", "graph_stats", "export"),
)
_CURATE: Final = WideTool(
    short="curate",
    about="Keep the memories in order: one at a time, and what they claim.",
    operations=(
        *("show", "history", "update", "confirm", "reanchor", "restore"),
        *("pin", "unpin", "tag"),
        *("claims", "add_claim", "end_claim", "contradictions", "resolve"),
        *("facts", "gaps", "approve_gap", "drop_gap"),
    ),
)
WIDE: Final = dict(zip(WIDE_TOOLS, (_GRAPH, _CURATE), strict=True))
"""By the name that the setting has for each."""
