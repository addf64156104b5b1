"""A secret in any field of any hook's payload: no file of ours, no log, event or answer has it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_secrets import SAID, SECRETS, every_file, happened_in
from waiting import PATIENCE_S

from yaadwatch.client import hook

PAYLOADS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(
        Path(__file__).parents[1].joinpath("integration", "hook_payloads").glob("*.json")
    )
}
PLAIN = {
    *("hook_event_name", "hookName", "tool_name", "toolName", "tool"),
    *("cwd", "workspace_roots", "workspaceRoots"),
}
"""Fields without which a payload says nothing: each has the secret in a run of its own."""
COMMAND = (
    f"import sys; sys.path.append({str(Path(hook.__file__).parents[2])!r});"
    "from yaadwatch.client import hook;"
    f"hook.LIMIT_S, hook._age_s = {PATIENCE_S}, lambda: 0.0;"
    "hook.main(sys.argv[1:])"
)


def everywhere(value, key=""):
    """Return a payload with the secrets behind every text but those that it needs."""
    if isinstance(value, dict):
        return {name: everywhere(one, name) for name, one in value.items()} | {SAID: SAID}
    if isinstance(value, list):
        return [everywhere(one, key) for one in value]
    return f"{value} {SAID}" if isinstance(value, str) and key not in PLAIN else value


def payloads(root):
    """Yield agent, event and payload: with the secret everywhere, then in each field it needs."""
    for agent, events in PAYLOADS.items():
        for event, recorded in events.items():
            payload = json.loads(json.dumps(recorded).replace("/srv/shop", str(root)))
            yield agent, event, json.dumps(everywhere(payload))
            for name in sorted(PLAIN & payload.keys()):
                yield agent, event, json.dumps(payload | {name: SAID})
                yield agent, event, json.dumps(payload | {name: [f"/nowhere/{SAID}"]})
        yield agent, "session-start", f'{{"cwd": "{SAID}'
        yield agent, "post-tool-use", json.dumps({SAID: SAID})


@pytest.mark.xdist_group("hooks")
def test_it_is_nowhere_after_every_hook_of_every_agent(machine, shop):
    told, kept = [], 0
    for agent, event, payload in payloads(shop.root):
        if event == "post-tool-use":  # so that there is something to tell of the session
            shop.git("commit", "-q", "--allow-empty", "-m", SAID)
        ran = subprocess.run(
            [sys.executable, "-I", "-S", "-c", COMMAND, event, "--agent", agent],
            input=payload.encode(),
            capture_output=True,
            timeout=2 * PATIENCE_S,
            cwd="/",
            env=os.environ | machine.env,
        )
        assert ran.returncode == 0
        told.append(ran.stdout.decode() + ran.stderr.decode())
        kept += b"nothing was sent" not in ran.stderr
    assert kept >= 4 * len(PAYLOADS)
    sessions = shop.ask("sessions")
    assert {one["agent"] for one in sessions["sessions"]} >= {f"agent:{name}" for name in PAYLOADS}
    told += [str(sessions), str(shop.ask("context")), str(happened_in(shop))]
    machine.stop()

    for path, data in every_file(machine.home / "yaad").items():
        assert [one for one in SECRETS if one.encode() in data] == [], path
    assert [one for one in told if any(secret in one for secret in SECRETS)] == []
