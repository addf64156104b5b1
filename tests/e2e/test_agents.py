"""Agents as they are: the official client through the real shim, and the hook, on a real daemon."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from machine import NET, alive, wait_until

import yaadwatch.client.shim

SHIM = Path(yaadwatch.client.shim.__file__)
HOOK = SHIM.with_name("hook.py")
TEXT = "The retry limit lives in src/net.py, in fetch_with_retry"
SYMBOL = "fetch_with_retry"
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
PATIENCE_S = 60


@pytest.fixture
def watched(machine, checkout):
    machine.ask("add", checkout.root)
    return checkout


@pytest.fixture(params=ERAS)
def era(request):
    return request.param


@asynccontextmanager
async def connected(machine, checkout, era, **options):
    """A client of the official SDK, with the shim as its server."""
    # Half a second, and few workers run these tests of all that collect them.
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=sys.executable,
        args=["-I", "-S", str(SHIM)],
        env=machine.env,
        cwd=str(checkout.root),
    )
    with anyio.fail_after(PATIENCE_S):
        async with Client(server, mode=era, **options) as client:
            yield client


def with_client(machine, checkout, era, work, **options):
    """Run `work(client)` and return what it returns."""

    async def main():
        async with connected(machine, checkout, era, **options) as client:
            return await work(client)

    return anyio.run(main)


def data(result):
    assert not result.is_error, result
    return result.structured_content


def told(result):
    return "\n".join(part.text for part in result.content)


def test_while_an_agent_is_at_work_its_files_wait_and_when_it_leaves_they_are_written(
    machine, checkout, era
):
    rule = "Always use httpx for calls"
    checkout.commit("rules", {"CLAUDE.md": "# Rules\n"})
    machine.ask("add", checkout.root, "--mode", "inline")
    file = checkout.root / "CLAUDE.md"

    async def work(client):
        data(await client.call_tool("yaad_status", {}))
        machine.ask("remember", rule, "--kind", "convention", cwd=checkout.root)
        wait_until(lambda: "at work" in str(machine.ask("files", cwd=checkout.root)["files"]))
        assert file.read_text(encoding="utf-8") == "# Rules\n"

    with_client(machine, checkout, era, work)

    wait_until(lambda: f"- {rule}\n" in file.read_text(encoding="utf-8"))


def test_an_agent_lists_and_calls_every_tool(machine, watched, era):
    async def work(client):
        listed = (await client.list_tools()).tools
        kept = data(
            await client.call_tool(
                "yaad_remember", {"text": TEXT, "kind": "decision", "symbols": [SYMBOL]}
            )
        )
        found = data(await client.call_tool("yaad_recall", {"query": "where is the retry limit"}))
        brief = await client.call_tool("yaad_context", {})
        stale = data(await client.call_tool("yaad_stale", {"all": True}))
        status = await client.call_tool("yaad_status", {})
        around = await relate(client, kept["id"])
        return client.protocol_version, listed, kept, found, brief, stale, status, around

    async def relate(client, limit):
        """Use the tools that relate memories, and end what they begin."""
        rule = data(await client.call_tool("yaad_remember", {"text": "Retry at most three times"}))
        ends = {"id": rule["id"], "kind": "depends_on", "to": limit}
        linked = json.loads(told(await client.call_tool("yaad_link", ends)))
        rests = data(await client.call_tool("yaad_impact", {"file": "src/net.py"}))["memories"]
        walked = json.loads(told(await client.call_tool("yaad_subgraph", {"id": limit})))
        unlinked = json.loads(told(await client.call_tool("yaad_unlink", ends)))
        gone = json.loads(told(await client.call_tool("yaad_forget", {"id": rule["id"]})))
        task = json.loads(told(await client.call_tool("yaad_task_update", {"text": "Write it"})))
        sessions = json.loads(told(await client.call_tool("yaad_sessions", {})))
        assert {row["id"] for row in rests} <= {row["id"] for row in walked["nodes"]}
        assert {rule["id"], limit} <= {row["id"] for row in rests}
        assert (gone["id"], task["state"]) == (rule["id"], "open")
        assert len(sessions["sessions"]) == 1
        return linked["made"], unlinked["ended"]

    version, listed, kept, found, brief, stale, status, around = with_client(
        machine, watched, era, work
    )

    assert version == ERAS[era]
    assert [tool.name for tool in listed] == [
        *("yaad_recall", "yaad_remember", "yaad_forget", "yaad_context", "yaad_stale"),
        *("yaad_impact", "yaad_link", "yaad_unlink", "yaad_subgraph"),
        *("yaad_task_update", "yaad_sessions", "yaad_status"),
    ]
    assert around == (True, True)
    assert (kept["decision"], kept["kind"]) == ("new", "decision")
    assert {anchor["path"] for anchor in kept["anchors"]} == {"src/net.py"}
    assert found["results"][0]["id"] == kept["id"]
    assert TEXT in told(brief)
    assert (stale["stale"], stale["unknown"]) == ([], [])
    assert json.loads(told(status))["daemon"]["running"]


def test_what_one_agent_did_is_told_to_the_next(machine, watched, era):
    """Nobody ends the session: the agent goes, and what it left is there."""

    async def first(client):
        await client.call_tool("yaad_remember", {"text": TEXT, "symbols": [SYMBOL]})
        data(await client.call_tool("yaad_task_update", {"text": "Write it down in the notes"}))
        watched.write("notes/new.md", "written in the session\n")

    async def second(client):
        brief = (await client.read_resource("yaad://context")).contents[0].text
        prompt = await client.get_prompt("session_handoff", {})
        recalled = await client.get_prompt("recall_context", {"query": "retry limit"})
        stats = (await client.read_resource("yaad://graph/stats")).contents[0].text
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        return brief, prompt.messages[0].content.text, recalled, stats, names

    with_client(machine, watched, era, first)
    wait_until(lambda: any(ended(machine, watched)))
    (session,) = [row for row in ended(machine, watched) if row["agent"] != "cli"]
    brief, prompt, recalled, stats, names = with_client(machine, watched, era, second)

    assert (session["ended_by"], session["learned"]) == ("left", 2)
    assert "notes/new.md (added)" in session["summary"]
    assert "## The last session here" in brief
    assert "Write it down in the notes" in brief
    assert "notes/new.md" in prompt
    assert TEXT in recalled.messages[0].content.text
    assert json.loads(stats)["sessions"] == 1
    assert names == ["recall_context", "session_handoff"]


def ended(machine, tree):
    found = machine.ask("sessions", cwd=tree.root)["sessions"]
    return [row for row in found if row["ended_at"] is not None]


def test_the_instructions_begin_with_what_may_no_longer_be_true(machine, watched):
    machine.ask("remember", TEXT, "--symbol", SYMBOL, cwd=watched.root)
    commit = watched.commit("five tries", {"src/net.py": NET.replace("tries=3", "tries=5")})
    machine.ask("stale", cwd=watched.root)

    async def work(client):
        return client.instructions

    for era in ERAS:
        told_at_start = with_client(machine, watched, era, work)

        heading, *lines = told_at_start.splitlines()[1:]
        at = next(number for number, line in enumerate(lines) if TEXT in line)
        assert heading == "## May no longer be true"
        assert commit[:8] in lines[at + 1]
        assert len(told_at_start) <= 2000


def test_without_a_daemon_one_is_started_that_outlives_the_agent(machine, watched, era):
    machine.run("stop")

    async def work(client):
        data(await client.call_tool("yaad_recall", {"query": "shop"}))
        return [_parent(pid) for pid in _daemons(machine)]

    parents = with_client(machine, watched, era, work)

    assert len(parents) == 1
    assert parents[0] != os.getpid()
    assert alive(machine.pid())


def _daemons(machine):
    lock = Path(machine.env["YAAD_HOME"]) / "daemon.lock"
    return [int(lock.read_text().split()[0])]


def _parent(pid):
    """Return the process whose child `pid` is, unless that is a shim: then fail."""
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    assert b"shim.py" not in Path(f"/proc/{parent}/cmdline").read_bytes()
    return parent


def test_a_daemon_killed_between_and_under_requests_is_not_noticed(machine, watched, era):
    async def work(client):
        found = []
        for number in range(6):
            text = f"Release {number} is built by make release{number}"
            async with anyio.create_task_group() as group:

                async def remember(text=text):
                    found.append(data(await client.call_tool("yaad_remember", {"text": text})))

                group.start_soon(remember)
                await anyio.sleep(0.02 * number)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(_daemons(machine)[0], signal.SIGKILL)
        return found

    kept = with_client(machine, watched, era, work)

    assert len(kept) == 6
    assert len({one["id"] for one in kept}) == 6
    for number in range(6):
        answer = machine.ask("recall", f"release{number}", cwd=watched.root)
        texts = [found["text"] for found in answer["results"]]
        assert texts.count(f"Release {number} is built by make release{number}") == 1


def hook(machine, payload, *, as_command=False):
    """Run the hook until it is told something: a busy machine may take longer than it has."""
    command = [sys.executable, "-I", "-S", str(HOOK)]
    if as_command:
        command = [sys.executable, "-m", "yaadwatch", "hook"]

    def ran():
        done = subprocess.run(
            [*command, "session-start", "--agent", "claude"],
            input=json.dumps(payload),
            env=machine.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd=machine.home,
        )
        assert done.returncode == 0
        return None if "did not answer within" in done.stderr else done

    return wait_until(ran)


def test_the_hook_tells_the_flag_first_with_its_commit(machine, watched):
    machine.ask("remember", TEXT, "--symbol", SYMBOL, cwd=watched.root)
    machine.ask("remember", "Always use jose for tokens", cwd=watched.root)
    commit = watched.commit("five tries", {"src/net.py": NET.replace("tries=3", "tries=5")})

    def is_told():
        """Say whether the flag, which may have come before the commit, tells of it by now."""
        return commit[:8] in json.dumps(machine.ask("stale", "--no-check", cwd=watched.root))

    wait_until(is_told)
    payload = {
        "session_id": "1",
        "transcript_path": "/nowhere",
        "cwd": str(watched.root / "src"),
        "hook_event_name": "SessionStart",
        "source": "startup",
    }

    for as_command in (False, True):
        done = hook(machine, payload, as_command=as_command)

        brief = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
        assert done.stderr == ""
        first, *_ = [line for line in brief.splitlines() if line.startswith("## ")]
        assert first == "## May no longer be true"
        assert commit[:8] in brief[brief.index(TEXT) :].partition("\n## ")[0]
        assert len(brief) <= 8000
    assert "Always use jose" in machine.run("context", cwd=watched.root).out
    answer = machine.ask("context", "--tokens", "300", cwd=watched.root)
    assert (answer["stale"], answer["rules"], answer["tasks"]) == (1, 1, 0)
