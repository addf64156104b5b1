"""An agent that is offered to replace a flagged memory reads which tool does it."""

import json

import pytest

from yaadwatch.daemon.mcp_tools import BY_TOOL

REMEMBER = BY_TOOL["yaad_remember"]


def replaced(by):
    replace = "yaadwatch link 3ba49428 supersedes 1f470e3f"
    offer = {"id": "1f470e3f", "replace": replace, "replaced_by": by}
    answer = {"id": "3ba49428", "kind": "spec", "decision": "new", "flagged": [offer]}
    result = REMEMBER.result(answer)
    (text,) = [one["text"] for one in result["content"]]
    assert json.loads(text) == result["structuredContent"]
    return result["structuredContent"]["flagged"][0]["replace"]


@pytest.mark.parametrize(
    ("by", "command"),
    [
        ("you", "yaad_link 3ba49428 supersedes 1f470e3f"),
        ("person", "yaadwatch link 3ba49428 supersedes 1f470e3f"),
    ],
)
def test_the_tool_is_named_unless_a_person_has_to_decide(by, command):
    assert replaced(by) == command
