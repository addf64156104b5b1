"""A session that starts on a busy machine, or beside a daemon that hangs, gets its brief."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from machine import NET
from waiting import wait_until

import yaadwatch.client.hook
from yaadwatch.connect.places import Program

BUSY = 16
STARTS, SILENT_MAX = (100, 5) if os.environ.get("YAAD_SOAK") else (4, 1)
DOUBTED = "fetch_with_retry"
PROGRAM = Program(python=sys.executable, client=str(Path(yaadwatch.client.hook.__file__).parent))

pytestmark = pytest.mark.xdist_group("agents")


@pytest.fixture
def flagged(machine, checkout):
    """A checkout with a flag, and a brief that says so."""
    machine.ask("add", checkout.root)
    machine.ask(
        "remember", "The retry limit lives in src/net.py", "--symbol", DOUBTED, cwd=checkout.root
    )
    checkout.commit("five tries", {"src/net.py": NET.replace("tries=3", "tries=5")})
    machine.ask("stale", cwd=checkout.root)
    folder = Path(machine.env["YAAD_HOME"]) / "briefs"
    wait_until(lambda: any("five tries" in one.read_text() for one in folder.glob("*any.json")))
    return checkout


def run(machine, checkout, event, name, session):
    """Run a hook as the settings of Claude Code name it."""
    given = {"session_id": session, "cwd": str(checkout.root), "hook_event_name": name}
    done = subprocess.run(
        ["/bin/sh", "-c", PROGRAM.line(event, "claude")],
        input=json.dumps(given),
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    return done.stdout


def test_session_start_on_a_busy_machine_gets_its_brief(machine, flagged):
    command = [sys.executable, "-I", "-S", "-c", "while True: pass"]
    busy = [subprocess.Popen(command) for _ in range(BUSY)]
    try:
        told = [
            run(machine, flagged, "session-start", "SessionStart", f"s{number}")
            for number in range(STARTS)
        ]
        silent = [number for number, out in enumerate(told) if DOUBTED not in out]
        then = [
            run(machine, flagged, "prompt-submit", "UserPromptSubmit", f"s{number}")
            for number in silent
        ]
    finally:
        for one in busy:
            one.kill()
            one.wait()

    assert len(silent) <= SILENT_MAX
    assert all(DOUBTED in out for out in then)


def test_brief_is_sent_while_the_daemon_hangs_and_after_it_was_killed(machine, flagged):
    pid = machine.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        hanging = run(machine, flagged, "session-start", "SessionStart", "hanging")
        short = run(machine, flagged, "subagent-start", "SubagentStart", "hanging")
    finally:
        os.kill(pid, signal.SIGKILL)
    dead = run(machine, flagged, "session-start", "SessionStart", "dead")

    for out in (hanging, short, dead):
        assert DOUBTED in out
        assert "it was prepared" in out
    log = Path(machine.env["YAAD_HOME"]) / "log" / "hook.log"
    kinds = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert kinds == ["hook.late", "hook.late", "hook.failed"]
