"""Poisoned statements go through the real `yaadwatch mcp`, and come back as quoted data."""

import json
import sys

import pytest
from agent_process import Agent
from poisons import POISONS, assert_marked, assert_quoted

RULE = "Use pnpm, not npm, for installs"
TOOLS = {
    "yaad_recall": {"query": "OBEY", "top_k": 100, "tokens_max": 50_000},
    "yaad_context": {},
    "yaad_stale": {},
    "yaad_impact": {"file": "src/net.py"},
    "yaad_subgraph": {"query": "OBEY"},
    "yaad_sessions": {},
    "yaad_status": {},
}


@pytest.fixture
def codex(machine, checkout):
    """The MCP server of an agent at work in a watched repository."""
    machine.env["YAAD_MCP_WIDE"] = "curate"
    machine.ask("add", checkout.root)
    with Agent(
        command=[sys.executable, "-m", "yaadwatch", "mcp"], cwd=str(checkout.root), **machine.env
    ) as agent:
        agent.shake_hands()
        yield agent


def call(agent, identity, name, **arguments):
    return agent.answer(identity, "tools/call", name=name, arguments=arguments)["result"]


def text_of(result):
    return "\n".join(one["text"] for one in result["content"])


def test_no_tool_prompt_or_resource_returns_a_poison_as_more_than_data(machine, checkout, codex):
    person = machine.ask("remember", RULE, "--kind", "convention", cwd=checkout.root)["id"]
    for number, poison in enumerate(POISONS):
        said = {"text": f"{poison} {number}", "kind": "convention", "files": ["src/net.py"]}
        codex.ask(number + 1, "tools/call", name="yaad_remember", arguments=said)
    stored = [codex.hear()["result"] for _ in POISONS]
    assert sum(not one["isError"] for one in stored) >= 40
    call(codex, 100, "yaad_link", id=_id_of(stored), kind="supersedes", to=person)
    call(codex, 101, "yaad_forget", id=person)
    edit = {"do": "update", "with": {"id": person, "text": POISONS[0]}}
    proposed = call(codex, 102, "yaad_curate", **edit)
    assert json.loads(text_of(proposed))["text"] == RULE
    proposal = json.loads(text_of(proposed))["proposed"]
    assert (proposal["by"], proposal["unverified"]) == ("agent codex", True)

    answers = {name: call(codex, name, name, **given) for name, given in TOOLS.items()}
    for name, answer in answers.items():
        assert not answer["isError"], (name, answer)
        text = text_of(answer)
        if text.startswith("{"):
            assert_marked(json.loads(text))
        else:
            assert_quoted(text)
    assert "OBEY" in text_of(answers["yaad_recall"])
    listed = codex.answer("r", "resources/list")["result"]["resources"]
    assert listed
    for one in listed:
        read = codex.answer(one["uri"], "resources/read", uri=one["uri"])["result"]["contents"]
        for part in read:
            if part["mimeType"] == "application/json":
                assert_marked(json.loads(part["text"]))
            else:
                assert_quoted(part["text"])
    for one in codex.answer("p", "prompts/list")["result"]["prompts"]:
        given = {each["name"]: "tabs" for each in one.get("arguments", ())}
        found = codex.answer(one["name"], "prompts/get", name=one["name"], arguments=given)
        for message in found["result"]["messages"]:
            assert_quoted(message["content"]["text"])
    files = [path for path in checkout.root.rglob("*.md*") if ".git" not in path.parts]
    assert not [path for path in files if "OBEY" in path.read_text(encoding="utf-8")]
    assert RULE in text_of(answers["yaad_context"])


def _id_of(stored):
    return json.loads(text_of(next(one for one in stored if not one["isError"])))["id"]
