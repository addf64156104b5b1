"""What agents pay: each wire in CPU, wall and tokens, beside Python itself and another MCP server.

Whole processes, one after the other in one run, so that the ratios hold on any machine. The other
server is the memory server of the protocol's own reference servers, from npm; without npm its rows
are left out.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import yaadwatch.client
from tests.bench.spine import ms
from tests.e2e.npm_agents import Agent
from tests.machine import NET, Checkout, Machine
from yaadwatch.text.words import estimate_tokens

ROUNDS = 15
CALLS = 200
CLIENT = Path(yaadwatch.client.__file__).parent
PAYLOADS = Path(__file__).parents[1] / "integration" / "hook_payloads"
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
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
PEER = Agent(
    name="memory",
    package="@modelcontextprotocol/server-memory",
    version="2026.8.31",
    program="@modelcontextprotocol/server-memory/dist/index.js",
    asked=(),
    env={},
)
KNOWN = {
    "entities": [{"name": "net", "entityType": "file", "observations": [TEXT]}],
}
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Job:
    """A process that is measured from its start to its end, and what it said."""

    name: str
    command: Sequence[str]
    given: bytes = b""
    told: str = ""
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    late: int = 0

    def run(self, env: Mapping[str, str], folder: Path) -> None:
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            self.command, input=self.given, env=env, cwd=folder, capture_output=True, check=True
        )
        self.wall.append(time.perf_counter() - started)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        self.told = done.stdout.decode() or self.told
        self.late += b"did not answer within" in done.stderr


def main() -> None:
    """Print a row for each wire: CPU (median), that against bare Python, wall, tokens."""
    with tempfile.TemporaryDirectory(prefix="yaad-bench-") as folder:
        machine = Machine(Path(folder))
        os.environ["YAAD_HOME"] = machine.env["YAAD_HOME"]
        try:
            checkout = _flagged(machine)
            peer = _peer()
            _processes(machine, checkout, peer)
            _calls(machine, checkout, peer)
        finally:
            machine.end()


def _flagged(machine: Machine) -> Checkout:
    """Return a watched checkout with a flag and a rule to tell of."""
    checkout = Checkout(machine.home / "code" / "shop", machine.env)
    checkout.commit("first", {"src/net.py": NET})
    machine.ask("add", checkout.root)
    machine.ask("remember", TEXT, "--symbol", "fetch_with_retry", cwd=checkout.root)
    machine.ask("remember", "Always use jose for tokens", cwd=checkout.root)
    checkout.commit("five tries", {"src/net.py": NET.replace("tries=3", "tries=5")})
    machine.ask("stale", cwd=checkout.root)
    return checkout


def _peer() -> list[str] | None:
    try:
        return ["node", str(PEER.path())]
    except pytest.skip.Exception as skipped:
        print(f"without {PEER.package}: {skipped}")
        return None


def _processes(machine: Machine, checkout: Checkout, peer: list[str] | None) -> None:
    env = machine.env | {"MEMORY_FILE_PATH": str(machine.home / "peer.jsonl")}
    jobs = [*_bare(), *_hooks(checkout), *_wires()]
    if peer is not None:
        jobs.append(Job(f"{PEER.package}, spawn to initialize", peer, _lines(INITIALIZE)))
    for job in jobs:
        if job.command[0] == "node":
            job.run(env, checkout.root)  # once to have its files in memory
            job.cpu.clear()
            job.wall.clear()
    for _ in range(ROUNDS):
        for job in jobs:
            job.run(env, checkout.root)
    bare = statistics.median(jobs[0].cpu)
    print(f"{'':<58} {'CPU':>9} {'x bare':>7} {'wall p50 (max)':>20} {'tokens':>7}")
    for job in jobs:
        cpu = statistics.median(job.cpu)
        late = f"  {job.late} of {ROUNDS} late" if job.late else ""
        said = _said(job)
        print(
            f"{job.name:<58} {cpu * 1000:6.1f} ms {cpu / bare:7.2f} {ms(job.wall):>20} {said:>7}"
            f"{late}",
            flush=True,
        )


def _bare() -> list[Job]:
    return [
        Job("python -c pass", [sys.executable, "-c", "pass"]),
        Job("python -I -S -c pass", [sys.executable, "-I", "-S", "-c", "pass"]),
    ]


def _hooks(checkout: Checkout) -> list[Job]:
    """Return a session's start for each agent, and each event of one, with recorded payloads."""
    hook = [sys.executable, "-I", "-S", str(CLIENT / "hook.py")]
    jobs = []
    for path in sorted(PAYLOADS.glob("*.json")):
        text = path.read_text(encoding="utf-8").replace("/srv/shop", str(checkout.root))
        payloads = json.loads(text)
        for event, payload in payloads.items():
            if event == "session-start" or path.stem == "claude":
                command = [*hook, event, "--agent", path.stem]
                jobs.append(Job(f"hook {event}, {path.stem}", command, _lines(payload)))
    return jobs


def _wires() -> list[Job]:
    program = [sys.executable, "-m", "yaadwatch"]
    shim = [sys.executable, "-I", "-S", str(CLIENT / "shim.py")]
    listed = _lines(INITIALIZE, INITIALIZED, LIST)
    return [
        Job("shim, spawn to initialize", shim, _lines(INITIALIZE)),
        Job("shim, spawn to tools/list", shim, listed),
        Job("yaadwatch mcp, spawn to initialize", [*program, "mcp"], _lines(INITIALIZE)),
        Job("yaadwatch status --json", [*program, "status", "--json"]),
        Job("yaadwatch recall --json", [*program, "recall", "retry limit", "--json"]),
        Job("yaadwatch context", [*program, "context"]),
    ]


def _said(job: Job) -> str:
    """Return the tokens of what a model is told of an answer; '' where it is none's business."""
    if not job.told or "status" in job.name:
        return ""
    answers = [json.loads(line) for line in job.told.splitlines() if line[:1] == "{"]
    if not answers:
        return str(estimate_tokens(job.told))
    last = max(answers, key=lambda answer: answer.get("id", 0))
    result = last.get("result", last)
    told = result.get("instructions") or result.get("tools") or _texts(last)
    return str(estimate_tokens(told if isinstance(told, str) else _json(told)))


def _texts(value: Any) -> str:
    """Return all that a model reads in what a hook answers."""
    if isinstance(value, dict) and "results" in value:
        return _json(value)
    if isinstance(value, dict):
        return "\n".join(filter(None, map(_texts, value.values())))
    return value if isinstance(value, str) and "\n" in value else ""


def _calls(machine: Machine, checkout: Checkout, peer: list[str] | None) -> None:
    before = _mib(machine)
    shim = [sys.executable, "-I", "-S", str(CLIENT / "shim.py")]
    recall = {"name": "yaad_recall", "arguments": {"query": "retry limit"}}
    pid = machine.pid()
    _called("yaad_recall through shim and daemon", shim, recall, machine, checkout, [pid])
    print(f"{'daemon RSS before the first agents, and after':<58} {before}, {_mib(machine)}")
    if peer is not None:
        search = {"name": "search_nodes", "arguments": {"query": "retry limit"}}
        _called(f"search_nodes of {PEER.package}", peer, search, machine, checkout, [])


def _called(
    name: str,
    command: Sequence[str],
    call: dict[str, Any],
    machine: Machine,
    checkout: Checkout,
    others: Sequence[int],
) -> None:
    """Print what a call of a tool costs, and what the server holds; `others`: who works with it."""
    env = machine.env | {"MEMORY_FILE_PATH": str(machine.home / "peer.jsonl")}
    with subprocess.Popen(
        command,
        env=env,
        cwd=checkout.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        _exchange(server, INITIALIZE)
        _say(server, INITIALIZED)
        listed = json.loads(_exchange(server, LIST))["result"]["tools"]
        if call["name"] == "search_nodes":
            _exchange(server, _call(2, {"name": "create_entities", "arguments": KNOWN}))
        begun = [_cpu_s(pid) for pid in (server.pid, *others)]
        walls = []
        for number in range(3, CALLS + 3):
            started = time.perf_counter()
            said = _exchange(server, _call(number, call))
            walls.append(time.perf_counter() - started)
        ended = [_cpu_s(pid) for pid in (server.pid, *others)]
        cpu = sum(ended) - sum(begun)
        told = "".join(part["text"] for part in json.loads(said)["result"]["content"])
        print(
            f"{name:<58} {cpu / CALLS * 1000:6.1f} ms {'':>7} {ms(walls):>20}"
            f" {estimate_tokens(told):>7}"
        )
        read = [{key: one[key] for key in ("name", "description", "inputSchema")} for one in listed]
        tokens = f"{estimate_tokens(_json(read))}; of all that is listed"
        print(
            f"{f'  its {len(listed)} tools, tokens that a model reads':<58} {tokens}"
            f" {estimate_tokens(_json(listed))}"
        )
        size = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1])
        print(f"{'  RSS of the process':<58} {size * resource.getpagesize() / 2**20:.1f} MiB")
        assert server.stdin is not None
        server.stdin.close()
        server.terminate()


def _cpu_s(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / TICKS


def _call(number: int, call: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}


def _say(server: "subprocess.Popen[bytes]", frame: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(_lines(frame))
    server.stdin.flush()


def _exchange(server: "subprocess.Popen[bytes]", frame: dict[str, Any]) -> bytes:
    _say(server, frame)
    assert server.stdout is not None
    said = server.stdout.readline()
    assert b'"result"' in said, said
    return said


def _lines(*frames: dict[str, Any]) -> bytes:
    return "".join(json.dumps(frame) + "\n" for frame in frames).encode()


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _mib(machine: Machine) -> str:
    return f"{machine.ask('status')['daemon']['rss_bytes'] / 2**20:.1f} MiB"


if __name__ == "__main__":
    main()
