"""Two sessions of a real agent, from nothing: what it was told, and what it did.

    python -m tests.bench.transcript > docs/transcript.md

Claude Code from npm, connected by `connect`; a stand-in for its model calls the tools, and is told
what a model would be told. Nothing here is made up: ids, times and commits are those of the run.
"""

import json
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.e2e.npm_agents import CLAUDE_CODE
from tests.e2e.stand_in import StandIn
from tests.machine import NET, Checkout, Machine, wait_until

KNOWN = "Downloads are tried three times: the retry limit lives in src/net.py, in fetch_with_retry"
LEARNED = "Downloads are tried five times: the mirror drops every fourth connection"
FIRST = "Make the downloads more patient."
SECOND = "Is there anything I should know about downloads?"
DOUBTS = "## May no longer be true"
BRIEF = "From yaadwatch"
"""How a brief begins."""
TRIES_MAX = 3
"""A session that was told nothing, because the machine is too busy, is run again."""
_INSTRUCTIONS = "# MCP Server Instructions"
_SERVER = "mcp__yaad__"
_WIDTH = 108


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened: who did it, and the words."""

    who: str
    words: str


class LateError(Exception):
    """The agent was not told: this machine is too busy."""


def run(folder: Path) -> list[Step]:
    """Run both sessions below a folder; return what happened.

    Raises:
        LateError: it was not told in time.
    """
    machine = Machine(folder)
    try:
        return list(_story(machine))
    finally:
        machine.end()


def _story(machine: Machine) -> Iterator[Step]:
    checkout = Checkout(machine.home / "shop", machine.env)
    checkout.commit("Download with retries", {"src/net.py": NET})
    yield _command(machine, checkout, "add", "--mode", "read")
    yield _command(machine, checkout, "remember", KNOWN, "--symbol", "fetch_with_retry")
    checkout.commit("Try five times", {"src/net.py": NET.replace("tries=3", "tries=5")})
    yield Step(
        "person", 'git commit -am "Try five times"   # the change that nobody tells the agent'
    )
    wait_until(lambda: machine.ask("stale", cwd=checkout.root)["stale"])
    yield _command(machine, checkout, "connect", "claude")
    calls = [
        (f"{_SERVER}yaad_recall", {"query": "how often are downloads tried"}),
        (
            f"{_SERVER}yaad_remember",
            {"text": LEARNED, "kind": "decision", "files": ["src/net.py"]},
        ),
    ]
    yield from _session(machine, checkout, FIRST, calls, told=(DOUBTS, KNOWN))
    yield from _session(machine, checkout, SECOND, [], told=(LEARNED,))
    yield _command(machine, checkout, "sessions")


def _command(machine: Machine, checkout: Checkout, *arguments: str) -> Step:
    ran = machine.run(*arguments, cwd=checkout.root)
    assert ran.status == 0, ran
    said = " ".join(f'"{one}"' if " " in one else one for one in arguments)
    out = ran.out.replace(str(machine.home), "~").rstrip()
    return Step("person", f"yaadwatch {said}\n{out}")


def _session(
    machine: Machine,
    checkout: Checkout,
    prompt: str,
    calls: list[tuple[str, dict[str, object]]],
    *,
    told: tuple[str, ...],
) -> Iterator[Step]:
    """Run one session, in which the model is told all of `told` at the start, and calls `calls`."""
    asked = ("-p", prompt, "--model", "claude-sonnet-5")
    agent = replace(CLAUDE_CODE, asked=asked)
    allowed = ("--allowedTools", ",".join(name for name, _ in calls) or f"{_SERVER}yaad_recall")
    for _ in range(TRIES_MAX):
        with StandIn(calls) as model:
            agent.ask(model.url, checkout, machine.home, *allowed)
        start = _told_at_start(model.asked[0])
        if all(words in start for words in told):
            break
    else:
        raise LateError(f"the agent was not told {told}")
    yield Step("person", f'claude -p "{prompt}"')
    yield from (Step("told at the start", f"[{by}]\n{brief}") for by, brief in _briefs(start))
    results = max(map(_results, model.asked), key=len)  # some of what it asks is for a title only
    for (name, given), result in zip(calls, results, strict=True):
        yield Step("the model calls", f"{name} {json.dumps(given)}")
        yield Step("and is answered", _short(result))


def _told_at_start(body: dict[str, object]) -> str:
    """Return what the session's first question to the model holds besides the prompt."""
    return "\n".join(_texts(body.get("messages")))


def _briefs(text: str) -> Iterator[tuple[str, str]]:
    """Yield who told the brief, and the brief: each to the end of the reminder it stands in."""
    for reminder in text.split("<system-reminder>"):
        before, begin, brief = reminder.partition(BRIEF)
        if begin:
            by = (
                "in the instructions of the MCP server"
                if _INSTRUCTIONS in before
                else "by the hook"
            )
            yield by, (begin + brief).partition("</system-reminder>")[0].rstrip()


def _results(body: dict[str, object]) -> list[str]:
    """Return what each tool answered, in order."""
    found = []
    messages = body["messages"]
    assert isinstance(messages, list)
    for message in messages:
        content = message["content"]
        parts = content if isinstance(content, list) else []
        results = [part for part in parts if part.get("type") == "tool_result"]
        found += ["\n".join(_texts(part["content"])) for part in results]
    return found


def _short(result: str) -> str:
    """Return an answer without what a reader of this page does not need."""
    found = json.loads(result)
    for row in found.get("results", ()):
        for key in ("tier", "scope", "depth"):
            row.pop(key, None)
    kept = ("results", "search", "id", "kind", "text", "anchors", "decision")
    return json.dumps({key: found[key] for key in kept if key in found}, indent=1)


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, one in value.items():
                if name in {"content", "text"}:
                    yield from _texts(one)
        case list():
            for one in value:
                yield from _texts(one)


def page(steps: list[Step]) -> str:
    """Return what happened, as a page."""
    lines = [
        "# Two sessions of an agent",
        "",
        f"Claude Code {CLAUDE_CODE.version} from npm, without a network; a stand-in for its model",
        "calls the tools as a model would. `python -m tests.bench.transcript` wrote this page from",
        "a run; `tests/e2e/test_transcript.py` runs it again.",
    ]
    for step in steps:
        lines.append("")
        if step.who == "person":
            lines += [f"    $ {step.words.replace(chr(10), chr(10) + '    ')}"]
            continue
        lines += [f"**{step.who}**", "", "```", *_wrapped(step.words), "```"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _wrapped(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from textwrap.wrap(line, _WIDTH, subsequent_indent="    ") or [""]


def main() -> None:
    """Print the page."""
    with tempfile.TemporaryDirectory(prefix="yaad-transcript-") as folder:
        sys.stdout.write(page(run(Path(folder))))


if __name__ == "__main__":
    main()
