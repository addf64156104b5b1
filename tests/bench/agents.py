"""What agents pay at the start of a session: the hook and the shim, beside Python itself.

CPU of whole processes, one after the other in one run, so that the ratios hold on any machine.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import yaadwatch.client
from tests.bench.spine import ms
from tests.e2e.machine import NET, Checkout, Machine

ROUNDS = 25
CLIENT = Path(yaadwatch.client.__file__).parent
TEXT = "The retry limit lives in src/net.py, in fetch_with_retry"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}

Rows = Iterator[tuple[str, str]]


def main() -> None:
    """Print a row for each figure."""
    with tempfile.TemporaryDirectory(prefix="yaad-bench-") as folder:
        machine = Machine(Path(folder))
        os.environ["YAAD_HOME"] = machine.env["YAAD_HOME"]
        try:
            checkout = _in_doubt(machine)
            for name, value in (*_processes(machine, checkout), *_daemon(machine, checkout)):
                print(f"{name:<64} {value}", flush=True)
        finally:
            machine.stop()


def _in_doubt(machine: Machine) -> Checkout:
    """Return a watched checkout with a doubt and a rule to tell of."""
    checkout = Checkout(machine.home / "code" / "shop", machine.env)
    checkout.write("src/net.py", NET)
    checkout.commit("first")
    machine.ask("add", checkout.root)
    machine.ask("remember", TEXT, cwd=checkout.root)
    machine.ask("remember", "Always use jose for tokens", cwd=checkout.root)
    checkout.write("src/net.py", NET.replace("tries=3", "tries=5"))
    checkout.commit("five tries")
    machine.ask("stale", cwd=checkout.root)
    return checkout


def _processes(machine: Machine, checkout: Checkout) -> Rows:
    payload = json.dumps({"cwd": str(checkout.root), "hook_event_name": "SessionStart"}).encode()
    initialize = json.dumps(INITIALIZE).encode() + b"\n"
    alone = [sys.executable, "-I", "-S"]
    program = [sys.executable, "-m", "yaadwatch"]
    event = ["session-start", "--agent", "claude"]
    jobs = {
        "python -c pass": ([sys.executable, "-c", "pass"], b""),
        "python -I -S -c pass": ([*alone, "-c", "pass"], b""),
        "hook session-start": ([*alone, str(CLIENT / "hook.py"), *event], payload),
        "yaadwatch hook session-start": ([*program, "hook", *event], payload),
        "shim, spawn to initialize": ([*alone, str(CLIENT / "shim.py")], initialize),
        "yaadwatch mcp, spawn to initialize": ([*program, "mcp"], initialize),
    }
    cpu: dict[str, list[float]] = {name: [] for name in jobs}
    wall: dict[str, list[float]] = {name: [] for name in jobs}
    silent = 0
    for _ in range(ROUNDS):
        for name, (command, given) in jobs.items():
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            done = subprocess.run(
                command,
                input=given,
                env=machine.env,
                cwd=checkout.root,
                capture_output=True,
                check=True,
            )
            wall[name].append(time.perf_counter() - started)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            silent += "hook" in name and not done.stdout
    bare = statistics.median(cpu["python -c pass"])
    for name, times in cpu.items():
        ratio = statistics.median(times) / bare
        yield f"CPU of `{name}`: p50 (max); against bare Python", f"{ms(times)}; x {ratio:.2f}"
    for name in jobs:
        yield f"wall of `{name}`: p50 (max)", ms(wall[name])
    yield "hooks that were out of time and said nothing", f"{silent} of {2 * ROUNDS}"


def _daemon(machine: Machine, checkout: Checkout) -> Rows:
    before = _mib(machine)
    shim = subprocess.Popen(
        [sys.executable, "-I", "-S", str(CLIENT / "shim.py")],
        env=machine.env,
        cwd=checkout.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with shim:
        _exchange(shim, INITIALIZE)
        recall = {"name": "yaad_recall", "arguments": {"query": "retry limit"}}
        calls = []
        for number in range(1, 201):
            started = time.perf_counter()
            frame = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": recall}
            _exchange(shim, frame)
            calls.append(time.perf_counter() - started)
        yield "daemon RSS before the first agents, and with one", f"{before}, {_mib(machine)}"
        size = int(Path(f"/proc/{shim.pid}/statm").read_text().split()[1]) * resource.getpagesize()
        yield "shim RSS", f"{size / 2**20:.1f} MiB"
        yield "yaad_recall through shim and daemon: p50 (max)", ms(calls)
        assert shim.stdin is not None
        shim.stdin.close()


def _exchange(shim: "subprocess.Popen[bytes]", frame: dict[str, object]) -> None:
    assert shim.stdin is not None
    assert shim.stdout is not None
    shim.stdin.write(json.dumps(frame).encode() + b"\n")
    shim.stdin.flush()
    assert b'"result"' in shim.stdout.readline()


def _mib(machine: Machine) -> str:
    return f"{machine.ask('status')['daemon']['rss_bytes'] / 2**20:.1f} MiB"


if __name__ == "__main__":
    main()
