"""The tools as an agent sees them: one for each row that names the wire, short, and typed."""

import json

import pytest

from yaadwatch.api.operations import OPERATIONS
from yaadwatch.core.text import estimate_tokens
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.servers.mcp_tools import BY_TOOL, TOOLS

READ_BY_MODELS_TOKENS_MAX = 125 * len(TOOLS)
"""Twelve tools shall cost 1,500 tokens at most."""


def test_every_row_on_the_wire_has_a_tool_and_every_tool_a_row():
    on_the_wire = [row.name for row in OPERATIONS if "mcp" in row.wires]

    assert sorted(tool.operation for tool in TOOLS) == sorted(on_the_wire)
    assert list(BY_TOOL) == [f"yaad_{tool.operation}" for tool in TOOLS]


def test_what_models_read_of_them_is_short():
    read = [
        {key: listed[key] for key in ("name", "description", "inputSchema")}
        for listed in (tool.listed() for tool in TOOLS)
    ]

    text = json.dumps(read, separators=(",", ":"))

    assert estimate_tokens(text) <= READ_BY_MODELS_TOKENS_MAX


def test_types_defaults_and_needed_arguments_are_those_of_the_request():
    schema = BY_TOOL["yaad_recall"].listed()["inputSchema"]

    assert schema["required"] == ["query"]
    assert schema["properties"]["query"]["type"] == "string"
    assert schema["properties"]["kinds"] == {"type": "array", "items": {"type": "string"}}
    assert schema["properties"]["tokens_max"] == {"type": "integer", "default": 800}
    assert schema["properties"]["project"]["type"] == "string"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_that_changes_nothing_says_so(tool):
    hints = tool.listed()["annotations"]

    changing = {"remember", "task_update", "forget"}
    assert hints.get("readOnlyHint", False) == (tool.operation not in changing)


def test_an_answer_with_a_schema_is_told_twice_as_text_and_as_data():
    found = {"stale": [], "unknown": [], "checked_at": None}

    result = BY_TOOL["yaad_stale"].result(found)

    assert json.loads(result["content"][0]["text"]) == found
    assert result["structuredContent"] == found
    assert result["isError"] is False


def test_the_brief_is_told_as_it_is_and_an_empty_one_in_words():
    tool = BY_TOOL["yaad_context"]

    assert tool.result({"brief": "## Rules"})["content"][0]["text"] == "## Rules"
    assert tool.result({"brief": ""})["content"][0]["text"].startswith("There is nothing to tell")


def test_an_error_tells_the_agent_what_to_do():
    error = YaadError(Code.NOT_FOUND, "/x is not watched.", hint="Watch it: yaadwatch add /x")

    result = BY_TOOL["yaad_recall"].result(error)

    assert result["isError"] is True
    assert result["content"][0]["text"] == "/x is not watched.\nWatch it: yaadwatch add /x"
    assert "structuredContent" not in result
