"""The usual order, with a daemon: an agent edits and remembers, a person commits and switches."""

import json

from machine import wait_until

PAY = "def pay(amount):\n    return amount * 2\n"
PAY_TEXT = "Payments are doubled by pay, in lib/pay.py"
RULES = ".claude/rules/yaad.md"


def remembered_by_agent(machine, checkout, text):
    """Remember through the MCP server, as Claude Code does; return the answer."""
    frames = [
        {
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "claude", "version": "1"},
            },
        },
        {
            "method": "tools/call",
            "params": {"name": "yaad_remember", "arguments": {"text": text, "kind": "decision"}},
        },
    ]
    lines = [json.dumps({"jsonrpc": "2.0", "id": at} | frame) for at, frame in enumerate(frames)]
    given = "\n".join(lines) + "\n"
    ran = machine.run("mcp", "--agent", "claude", cwd=checkout.root, given=given)
    answers = {frame.get("id"): frame for frame in map(json.loads, ran.out.splitlines())}
    return json.loads(answers[1]["result"]["content"][0]["text"])


def recalled(machine, checkout, words):
    """Return the memories that a recall finds once the daemon has compared this HEAD."""
    machine.ask("stale", cwd=checkout.root)
    return machine.ask("recall", words, cwd=checkout.root)["results"]


def test_branch_without_the_work_has_no_flag_and_no_rule(machine, checkout):
    machine.ask("add", checkout.root)
    checkout.git("switch", "-qc", "feat")
    checkout.write("lib/pay.py", PAY)
    memory = remembered_by_agent(machine, checkout, PAY_TEXT)["id"]
    assert "uncommitted" in machine.run("show", memory, cwd=checkout.root).out

    checkout.commit("pay")
    checkout.git("switch", "-q", "main")

    assert machine.ask("stale", cwd=checkout.root)["stale"] == []
    assert "flagged" not in machine.run("context", cwd=checkout.root).out
    rules = checkout.root / RULES
    wait_until(lambda: not rules.exists() or "doubled" not in rules.read_text("utf-8"))

    checkout.git("switch", "-q", "feat")
    found = recalled(machine, checkout, "payments doubled")
    assert [row["id"] for row in found] == [memory]
    assert not found[0]["stale"]
