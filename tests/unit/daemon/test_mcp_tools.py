"""The tools as an agent sees them: one for each row that names the wire, short, and typed."""

import json
import re
from pathlib import Path

import pytest
from refusals import refusal

from yaadwatch.api.operations import OPERATIONS
from yaadwatch.cli.main import COMMANDS
from yaadwatch.daemon import mcp_tools
from yaadwatch.daemon.mcp_tools import BY_TOOL, TOOLS, WIDE
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.text.words import estimate_tokens

LISTED_TOKENS_MAX = 1_500
"""All that is listed of all tools, also what no agent passes on to its model."""

DOCS = Path(__file__).parents[3] / "docs"


def test_every_row_on_the_wire_has_a_tool_and_every_tool_a_row():
    on_the_wire = [row.name for row in OPERATIONS if "mcp" in row.wires]

    assert sorted(tool.operation for tool in TOOLS) == sorted(on_the_wire)
    assert list(BY_TOOL) == [f"yaad_{tool.operation}" for tool in TOOLS]


def tokens(listed):
    return estimate_tokens(json.dumps(listed, separators=(",", ":")))


def test_all_that_is_listed_of_twelve_tools_costs_1500_tokens_at_most():
    assert len(TOOLS) == 12
    assert tokens([tool.listed() for tool in TOOLS]) <= LISTED_TOKENS_MAX


def test_what_the_documents_say_of_the_tokens_is_so():
    tools = [tool.listed() for tool in TOOLS]
    read = [{key: one[key] for key in ("name", "description", "inputSchema")} for one in tools]
    wide = [tool.listed() for tool in WIDE.values()]
    performance = (DOCS / "performance.md").read_text(encoding="utf-8")
    decision = (DOCS / "decisions" / "0009-mcp.md").read_text(encoding="utf-8")

    assert f"12 tools cost {tokens(read):,} tokens of what models read" in performance
    assert f"{tokens(tools):,} with annotations and schemas of answers" in performance
    assert f"`mcp.wide` adds: {tokens(wide)} tokens" in decision


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

    changing = {"remember", "task_update", "forget", "link", "unlink"}
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


def test_every_row_on_the_wide_wire_is_in_one_wide_tool():
    wide = [row.name for row in OPERATIONS if "mcp-wide" in row.wires]

    listed = [name for tool in WIDE.values() for name in tool.operations]
    assert sorted(listed) == sorted(wide)
    assert all(tool.name == f"yaad_{short}" for short, tool in WIDE.items())


@pytest.mark.parametrize("tool", WIDE.values(), ids=lambda tool: tool.name)
def test_a_wide_tool_names_what_it_does_and_what_must_be_given(tool):
    listed = tool.listed()

    assert listed["inputSchema"]["properties"]["do"]["enum"] == list(tool.operations)
    for name in tool.operations:
        assert f"{name}(" in listed["description"]


def test_a_wide_tool_asks_for_the_row_that_is_named():
    given = {"do": "pin", "with": {"id": "1234"}, "project": "/srv"}

    assert WIDE["curate"].asked(given) == ("pin", {"id": "1234", "project": "/srv"})
    assert "pin(id*)" in WIDE["curate"].listed()["description"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "do must be one of"),
        ({"do": "remember"}, "do must be one of"),
        ({"do": "pinn"}, "The nearest one is 'pin'."),
        ({"do": ["pin"]}, "do must be one of"),
        ({"do": "pin", "with": "1234"}, "with must be an object"),
        ({"do": "pin", "id": "1234"}, "The fields of pin belong in `with`."),
    ],
)
def test_a_wide_tool_says_what_is_wrong_with_a_call(given, told):
    error = refusal(WIDE["curate"].asked, given)

    assert told in f"{error.message} {error.hint}"
    assert error.code is Code.BAD_REQUEST


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        (
            "Ids are shown by: yaadwatch recall WORDS, yaadwatch stale",
            "Ids are shown by: yaad_recall WORDS, yaad_stale",
        ),
        # What no tool does, or not in the same words, stays a command.
        ("yaadwatch confirm ID, yaadwatch remember --scope user TEXT", None),
        ("yaadwatch status is one; yaadwatch statusquo is none", "yaad_status is one; yaadwatch"),
        ("If it holds, the person can state it: yaadwatch remember TEXT", None),
        ("Or ask the person to run: yaadwatch forget 1f470e3f", None),
    ],
)
def test_an_agent_is_told_of_its_tool_where_a_person_is_told_of_a_command(hint, told):
    result = TOOLS[0].result(YaadError(Code.NOT_FOUND, "No such memory.", hint=hint))

    assert (told or hint) in result["content"][0]["text"]


def test_each_tool_that_is_told_of_is_there():
    commands = re.findall(r"[a-z]+", mcp_tools._COMMAND.pattern.partition("(")[2].partition(")")[0])

    assert {f"yaad_{name}" for name in commands} <= BY_TOOL.keys()
    assert set(commands) <= COMMANDS.keys()
