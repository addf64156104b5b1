"""The page with two sessions of an agent is of a run, and a run today goes as it says."""

from pathlib import Path

import pytest
from npm_agents import CLAUDE_CODE, lacking, needs_agents

from tests.bench import transcript

PAGE = Path(__file__).parents[2] / "docs" / "transcript.md"

pytestmark = [needs_agents, pytest.mark.timeout(600), pytest.mark.xdist_group("agents")]


def test_an_agent_is_warned_recalls_remembers_and_its_next_session_knows(tmp_path):
    CLAUDE_CODE.path()
    try:
        steps = transcript.run(tmp_path / "machine")
    except transcript.LateError:
        lacking("this machine is too busy for an agent to be told in time")

    starts = ["", ""]
    sessions = 0
    for step in steps:
        sessions += step.words.startswith("claude -p")
        if step.who == "told at the start":
            starts[sessions - 1] += step.words
    answers = [step.words for step in steps if step.who == "and is answered"]
    assert starts[0].index(transcript.DOUBTS) < starts[0].index(transcript.KNOWN)
    assert transcript.KNOWN in answers[0]
    assert '"verdict"' in answers[0]
    assert '"decision": "new"' in answers[1]
    assert transcript.LEARNED not in starts[0]
    assert transcript.LEARNED in starts[1]
    # The page tells of the same steps, in the same order; the brief may come by two ways, or one.
    text = PAGE.read_text(encoding="utf-8")
    at = 0
    for step, before in zip(steps, [None, *steps], strict=False):
        if before is not None and step.who == before.who == "told at the start":
            continue
        mark = f"$ {step.words.splitlines()[0]}" if step.who == "person" else f"**{step.who}**"
        at = text.index(mark, at) + 1
    assert CLAUDE_CODE.version in text
