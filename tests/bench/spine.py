"""What the main job costs: save to flag, commit to flag, memory, start, and the price of a command.

Real processes in a home of their own; medians, and ratios where two things are compared in one run.
Other work on the machine shows in all of them.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.machine import NET, Checkout, Machine, wait_until
from tests.waiting import events as subscribed
from yaadwatch.client.connection import Client

ROUNDS = 15
PROJECTS = 20
TEXT = "The retry limit lives in src/net.py, in fetch_with_retry"
SYMBOL = "fetch_with_retry"

Rows = Iterator[tuple[str, str]]


def main() -> None:
    """Print a row for each figure."""
    with tempfile.TemporaryDirectory(prefix="yaad-bench-") as folder:
        machine = Machine(Path(folder))
        os.environ["YAAD_HOME"] = machine.env["YAAD_HOME"]
        try:
            for rows in (_one_project(machine), _commands(machine), _many_projects(machine)):
                for name, value in rows:
                    print(f"{name:<64} {value}", flush=True)
        finally:
            machine.end()


def _one_project(machine: Machine) -> Rows:
    checkout = Checkout(machine.home / "code" / "shop", machine.env)
    checkout.commit("first", {"src/net.py": NET})
    started = time.perf_counter()
    machine.ask("add", checkout.root)
    yield "add, starting the daemon: wall", ms([time.perf_counter() - started])
    memory = machine.ask("remember", TEXT, "--symbol", SYMBOL, cwd=checkout.root)["id"]
    events = subscribed(Client(cwd=str(checkout.root)))
    saves, commits = [], []
    for number in range(ROUNDS):
        checkout.write("src/net.py", NET.replace("tries=3", f"tries={number + 10}"))
        saves.append(_until(events, "stale.raised", memory))
        checkout.write("src/net.py", NET)
        _until(events, "stale.cleared", memory)
        checkout.write("src/net.py", NET.replace("tries=3", f"tries={number + 100}"))
        _until(events, "stale.raised", memory)
        checkout.commit(f"round {number}")
        commits.append(_until(events, "head.moved", str(checkout.root)))
        checkout.commit(f"back {number}", {"src/net.py": NET})
        _until(events, "stale.cleared", memory)
    yield "save -> flag, 100 ms of it the wait for quiet: p50 (max)", ms(saves)
    yield "commit -> HEAD noticed, likewise: p50 (max)", ms(commits)


def _until(events: Iterator[dict[str, object]], kind: str, subject: str) -> float:
    """Return the seconds from now until the event is heard."""
    started = time.perf_counter()
    for event in events:
        if event["kind"] == kind and event["subject"] == subject:
            return time.perf_counter() - started
    raise AssertionError("the daemon ended the stream")


def _commands(machine: Machine) -> Rows:
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "status --json": [sys.executable, "-m", "yaadwatch", "status", "--json"],
        "recall --json": [
            *(sys.executable, "-m", "yaadwatch", "recall", "retry limit", "--json"),
            *("--project", str(machine.home / "code" / "shop")),
        ],
    }
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, env=machine.env, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    bare = spent["python -c pass"]
    for name, times in spent.items():
        ratio = statistics.median(times) / statistics.median(bare)
        yield f"CPU of `{name}`: p50 (max); against bare Python", f"{ms(times)}; x {ratio:.2f}"


def _many_projects(machine: Machine) -> Rows:
    for number in range(1, PROJECTS):
        checkout = Checkout(machine.home / "code" / f"shop-{number}", machine.env)
        checkout.commit("first", {"src/net.py": NET})
        machine.ask("add", checkout.root)
        machine.ask("remember", TEXT, cwd=checkout.root)
    yield f"daemon RSS with {PROJECTS} projects, after adding them", _mib(machine)
    machine.ask("stop")
    started = time.perf_counter()
    machine.ask("list")
    yield (
        f"start with {PROJECTS} projects, until `list` is answered: wall",
        ms([time.perf_counter() - started]),
    )
    wait_until(lambda: all(p["last_check"] for p in machine.ask("status")["projects"]))
    yield f"daemon RSS with {PROJECTS} projects, started and idle", _mib(machine)
    pid = machine.pid()
    before, started = cpu_of(pid), time.perf_counter()
    time.sleep(20)
    share = (cpu_of(pid) - before) / (time.perf_counter() - started)
    yield f"idle CPU with {PROJECTS} projects over 20 s, % of a core", f"{share * 100:.3f}"


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _mib(machine: Machine) -> str:
    return f"{machine.ask('status')['daemon']['rss_bytes'] / 2**20:.1f} MiB"


def ms(seconds: list[float]) -> str:
    """Return the median and the maximum, in words."""
    if len(seconds) == 1:
        return f"{seconds[0] * 1e3:.0f} ms"
    return f"{statistics.median(seconds) * 1e3:.1f} ms ({max(seconds) * 1e3:.1f})"


if __name__ == "__main__":
    main()
