"""Real agents, connected by `connect`: they are told the brief, and what they remember is kept."""

import json
from pathlib import Path

import pytest
from machine import Checkout
from npm_agents import CLAUDE_CODE, CODEX, COPILOT, GEMINI, OPENCODE, lacking, needs_agents
from stand_in import StandIn

RULE = "Always use jose for tokens"
LEARNED = "Releases are built by make dist"
RUNS_MAX = 3
"""On a busy machine a hook may be late, and then says nothing; the next session is told."""

pytestmark = [needs_agents, pytest.mark.timeout(600), pytest.mark.xdist_group("agents")]
each_agent = pytest.mark.parametrize(
    "agent", [CLAUDE_CODE, CODEX, GEMINI, COPILOT, OPENCODE], ids=lambda agent: agent.name
)


@pytest.fixture
def checkout(machine):
    checkout = Checkout(machine.folder / "api", machine.env)
    checkout.commit("begin", {"README.md": "# A shop\n"})
    machine.ask("add", checkout.root, "--mode", "read")
    machine.ask("remember", RULE, "--kind", "convention", cwd=checkout.root)
    return checkout


def late_hooks(machine):
    """Return how many hooks had no time to say anything."""
    log = machine.home / "yaad" / "log" / "hook.log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    assert all("did not answer within" in line for line in lines), lines
    return len(lines)


@each_agent
def test_a_connected_agent_remembers_and_its_next_session_knows(machine, checkout, agent):
    agent.path()
    (connected,) = machine.ask("connect", agent.name)["agents"]
    assert connected["state"] == "connected"
    name, *namespace = agent.tool
    call = (name, {"text": LEARNED, "kind": "convention"}, *namespace)

    with StandIn(calls=[call]) as model:
        agent.ask(model.url, checkout, machine.home, *agent.free)

    found = machine.ask("recall", "make dist", cwd=checkout.root)["results"]
    assert [one["text"] for one in found][:1] == [LEARNED]
    memory = machine.ask("show", found[0]["id"], cwd=checkout.root)
    assert memory["origin"] == f"agent:{agent.name}"

    for _ in range(RUNS_MAX):
        before = late_hooks(machine)
        with StandIn() as model:
            agent.ask(model.url, checkout, machine.home, *agent.free)
        text = json.dumps(model.asked)
        if RULE in text and LEARNED in text:
            return
        assert late_hooks(machine) > before
    lacking("this machine is too busy for hooks that take 150 ms at most")


@each_agent
def test_disconnected_an_agent_does_not_know_us_any_more(machine, checkout, agent):
    agent.path()
    machine.ask("connect", agent.name)
    (gone,) = machine.ask("disconnect", agent.name)["agents"]
    assert gone["state"] == "disconnected"

    with StandIn() as model:
        agent.ask(model.url, checkout, machine.home, *agent.free)

    told = json.dumps(model.asked)
    assert "yaad_remember" not in told
    assert RULE not in told


@pytest.mark.parametrize(
    ("required", "outcome"), [("npm", pytest.fail.Exception), ("uid", pytest.skip.Exception)]
)
def test_an_agent_that_cannot_be_had_is_a_failure_where_it_is_required(
    monkeypatch, required, outcome
):
    monkeypatch.setenv("YAAD_REQUIRE", required)

    with pytest.raises(outcome):
        lacking("there is no npm here")


def test_what_is_required_of_a_run_is_not_hidden_from_its_tests(pytestconfig):
    path = Path(__file__).parents[1] / "conftest.py"
    hides = pytestconfig.pluginmanager.get_plugin(str(path)).is_of_the_person

    assert not hides("YAAD_REQUIRE")
    assert hides("YAAD_HOME")
