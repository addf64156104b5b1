"""What the two-way sync of agent files costs: edit to sibling, and a daemon with nothing to do.

Real processes in a home of their own. A file that was written is let settle for 300 ms before it is
read, which is in every figure.
"""

import os
import tempfile
import time
from pathlib import Path

from tests.bench.spine import cpu_of, ms
from tests.machine import Checkout, Machine, wait_until
from yaadwatch.client.connection import Client

ROUNDS = 15
FILES = ("CLAUDE.md", "AGENTS.md", ".cursorrules")
LOOK_S = 0.002


def main() -> None:
    """Print a row for each figure."""
    with tempfile.TemporaryDirectory(prefix="yaad-bench-") as folder:
        machine = Machine(Path(folder))
        os.environ["YAAD_HOME"] = machine.env["YAAD_HOME"]
        try:
            for name, value in _rows(machine):
                print(f"{name:<64} {value}", flush=True)
        finally:
            machine.end()


def _rows(machine: Machine):
    checkout = Checkout(machine.home / "code" / "shop", machine.env)
    for name in FILES:
        checkout.write(name, f"# Rules of {name}\n\n- Read {name} first\n")
    checkout.commit("rules")
    machine.ask("add", checkout.root, "--mode", "inline")
    outside = [_typed(checkout, f"Never do thing {number}") for number in range(ROUNDS)]
    yield "a bullet typed in one file -> in the last sibling: p50 (max)", ms(outside)
    told = []
    client = Client(cwd=str(checkout.root))
    for number in range(ROUNDS // 2):
        started = time.perf_counter()
        text = f"Always do task {number}"
        client.call("remember", text=text, kind="convention")
        told.append(_until_said(checkout, text, FILES, started))
    yield "remember -> in the last of three files: p50 (max)", ms(told)
    wait_until(lambda: not machine.ask("files", "sync", checkout.root)["changed"])
    time.sleep(5)
    pid = machine.pid()
    before, started = cpu_of(pid), time.perf_counter()
    time.sleep(10)
    share = (cpu_of(pid) - before) / (time.perf_counter() - started)
    yield "CPU, idle after all that, over 10 s, % of a core", f"{share * 100:.3f}"
    synced = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        client.call("files_sync")
        synced.append(time.perf_counter() - started)
    yield "files sync with nothing to do: p50 (max)", ms(synced)


def _typed(checkout: Checkout, text: str) -> float:
    """Type a bullet at the top of CLAUDE.md; return when all the siblings have it, in seconds."""
    heading = "# Rules of CLAUDE.md\n\n"
    now = (checkout.root / "CLAUDE.md").read_text(encoding="utf-8")
    started = time.perf_counter()
    checkout.write("CLAUDE.md", now.replace(heading, f"{heading}- {text}\n"))
    return _until_said(checkout, text, FILES[1:], started)


def _until_said(checkout: Checkout, text: str, names: tuple[str, ...], started: float) -> float:
    waiting = set(names)
    while waiting:
        if time.perf_counter() - started > 30:
            raise AssertionError(f"{text!r} did not reach {sorted(waiting)}")
        waiting = {name for name in waiting if text not in (checkout.root / name).read_text()}
        time.sleep(LOOK_S)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
