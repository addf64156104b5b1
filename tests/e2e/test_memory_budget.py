"""What a large repository may take of the memory: the peak of a daemon that watches it.

The whole life of a daemon, with a real repository: `python -m tests.bench.memory`.
"""

import os
from pathlib import Path

import pytest

from tests.bench.scale import build
from tests.machine import Checkout, wait_until

SOAK = bool(os.environ.get("YAAD_SOAK"))
FILES, RULES, ROUNDS = 5000, 700, 8 if SOAK else 2
PEAK_MIB = 85
"""It takes 70; with all that is compared in the daemon itself, twice as much."""


def _module(number):
    return f"lib/part{number // 1600}/group{number // 40 % 40}/module{number}.py"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="/proc has the peak")
def test_daemon_keeps_within_its_memory_beside_a_large_repository(machine):
    root = machine.home / "code" / "large"
    build(root, FILES)
    checkout = Checkout(root, machine.env)
    rules = ""
    for at in range(ROUNDS):
        for number in range(at * RULES // ROUNDS, (at + 1) * RULES // ROUNDS):
            rules += f"- `function_{number}` in {_module(number)} takes number {number}\n"
        for number in range(at, FILES - 10, ROUNDS):
            with (root / _module(number)).open("a") as stream:
                stream.write(f"# round {at}\n")
        checkout.commit(f"round {at}", {"CLAUDE.md": rules})
    machine.ask("add", root, timeout=300)
    wait_until(lambda: _is_compared(machine, root), patience_s=300)
    checkout.git("mv", _module(1), "moved.py")
    checkout.commit("moved")

    found = wait_until(lambda: machine.ask("stale", cwd=root, timeout=300)["stale"])

    assert [row["suggestion"]["path"] for row in found] == ["moved.py"]
    status = Path(f"/proc/{machine.pid()}/status").read_text()
    rows = dict(line.split(":", 1) for line in status.splitlines())
    assert int(rows["VmHWM"].split()[0]) / 1024 < PEAK_MIB


def _is_compared(machine, root):
    found = machine.ask("stale", "--no-check", cwd=root)
    return found["looking"] == 0 and not found["comparing"]
