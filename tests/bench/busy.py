"""How many sessions start with their brief while 16 processes keep the machine busy?

Run `python -m tests.bench.busy [STARTS]`. Each start is the command that `connect` registers.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from tests.bench.agents import Machine, _in_doubt
from yaadwatch.client import hook
from yaadwatch.connect.places import Program

BUSY = 16
STARTS = 100
PREPARED_TIME_S = 20.0
DOUBTED = "fetch_with_retry"
"""What every brief of this checkout names."""


@contextmanager
def busy(processes):
    """Keep the machine busy for as long as the block runs."""
    command = [sys.executable, "-I", "-S", "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def program():
    """Return what `connect` would register here."""
    return Program(python=sys.executable, client=str(Path(hook.__file__).parent))


def run(event, name, session, folder, env):
    """Run a hook of Claude Code as its settings name it; return its output and the wall time."""
    given = {"session_id": session, "cwd": str(folder), "hook_event_name": name, "prompt": "hi"}
    begun_s = time.perf_counter()
    done = subprocess.run(
        ["/bin/sh", "-c", program().line(event, "claude")],
        input=json.dumps(given),
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, time.perf_counter() - begun_s


def wait_for_prepared(machine):
    """Wait until the daemon has prepared a brief."""
    folder = Path(machine.env["YAAD_HOME"]) / "briefs"
    end_s = time.monotonic() + PREPARED_TIME_S
    while time.monotonic() < end_s:
        if any(DOUBTED in one.read_text() for one in folder.glob("*.json")):
            return
        time.sleep(0.1)
    raise AssertionError("no brief was prepared")


def main() -> None:
    """Print how many starts were told, from where, and how long they took."""
    starts = int(sys.argv[1]) if len(sys.argv) > 1 else STARTS
    with tempfile.TemporaryDirectory(prefix="yaad-bench-") as folder:
        machine = Machine(Path(folder))
        try:
            root = _in_doubt(machine).root
            wait_for_prepared(machine)
            load = os.getloadavg()[0]
            with busy(BUSY):
                first = [
                    run("session-start", "SessionStart", f"s{n}", root, machine.env)
                    for n in range(starts)
                ]
                load_then = os.getloadavg()[0]
                silent = [n for n, (out, _) in enumerate(first) if DOUBTED not in out]
                then = [
                    run("prompt-submit", "UserPromptSubmit", f"s{n}", root, machine.env)
                    for n in silent
                ]
        finally:
            machine.stop()
    walls = sorted(wall_s for _, wall_s in first)
    prepared = sum("prepared" in out for out, _ in first)
    print(f"busy processes {BUSY}, load before {load:.0f}, at the end {load_then:.0f}")
    print(f"session starts {starts}, told {starts - len(silent)}, of these prepared {prepared}")
    print(f"told with the first prompt: {sum(DOUBTED in out for out, _ in then)} of {len(then)}")
    print(f"wall: median {median(walls):.2f} s, p95 {walls[int(len(walls) * 0.95) - 1]:.2f} s")


if __name__ == "__main__":
    main()
