"""What is promised of cost, and what it is: every budget with its goal, measured on a live daemon.

    python -m tests.bench.budgets [--out FIGURES.json] [--projects 10 50 200] [--only PART ...]

Whole processes in homes of their own, on a file system in memory. Processor time where two things
are compared, and time on the clock where somebody waits; medians, with the slowest, and bare
figures beside ours from the same run, because machines differ and are busy. With `--out` all
figures are written down, for `tests.bench.plots` to draw; so is, by part, what a fixed loop of
Python took beside it: by that, runs on machines that differ, or had more to do, can be compared.
"""

import argparse
import collections
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.bench import growth
from tests.bench.agents import PAYLOADS, Job
from tests.bench.living import INITIALIZE, NET, SHIM, living
from tests.bench.watching import WRITER
from tests.machine import wait_until
from tests.waiting import events as subscribed
from yaadwatch.model.settings import Watch

STARTS = 3
ROUNDS = 11
PATIENCE_S = 60
IDLE_S = 131.0
"""Two polls are in it, at least."""
RESTED_S = 75.0
"""Until the poll has closed the stores that nobody uses."""
CHECKOUTS = 7
CHECKOUT_FILES = 5_000
ANCHORED = 200
STORM_FILES = 50_000
RATE = 10_000
RATE_S = 8.0
TRIPS = 3_000
REQUEST_US = 160.0
ECHO = """
import asyncio, queue, sys, threading
async def streams(reader, writer):
    while text := await reader.readuntil(b"\\n"):
        writer.write(text)
class Protocol(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, text):
        self.transport.write(text)
class Thread(Protocol):
    def data_received(self, text):
        waiting.put((self.transport.write, text))
def work(loop):
    while True:
        loop.call_soon_threadsafe(*waiting.get())
waiting = queue.SimpleQueue()
async def main(path, way):
    loop = asyncio.get_running_loop()
    threading.Thread(target=work, args=(loop,), daemon=True).start()
    if way == "streams":
        server = await asyncio.start_unix_server(streams, path)
    else:
        server = await loop.create_unix_server({"protocol": Protocol, "thread": Thread}[way], path)
    await server.serve_forever()
asyncio.run(main(*sys.argv[1:]))
"""
ECHOES = ("streams", "protocol", "thread")
ON_ONE = "both on one processor"
PLACES = {ON_ONE: (0, 0), "each on its own processor": (0, 1)}
"""Where we are, and where the daemon is: the first, or the second of the processors."""
TRIP_ROUNDS = 5
QUIET_S = Watch().quiet_ms / 1000
REFERENCE = "reference"
"""Of figures that were written down: by part, the milliseconds of `reference_s` beside it."""
REFERENCE_TURNS = 3_000_000


@dataclass
class Figure:
    """A budget: what was measured of it, against its goal."""

    part: str
    name: str
    unit: str
    goal: float | None
    found: list[float] = field(default_factory=list)
    beside: str = ""

    def row(self):
        """Return what is written down of it."""
        return {
            "part": self.part,
            "name": self.name,
            "unit": self.unit,
            "goal": self.goal,
            "median": statistics.median(self.found),
            "most": max(self.found),
            "beside": self.beside,
        }


def reference_s():
    """Return the processor time of a loop that never changes, the least of three, in seconds."""
    took = []
    for _ in range(3):
        began = time.process_time()
        total = 0
        for number in range(REFERENCE_TURNS):
            total += number
        took.append(time.process_time() - began)
    return min(took)


def ms(seconds):
    """Return seconds as milliseconds."""
    return [each * 1e3 for each in seconds]


def until(daemon, kind, act):
    """Return the seconds from the end of `act` until an event of this kind is heard."""
    events = subscribed(daemon.client(daemon.checkouts[0].root))
    act()
    began = time.perf_counter()
    signal.alarm(PATIENCE_S)
    for event in events:
        if event["kind"] == kind:
            signal.alarm(0)
            return time.perf_counter() - began
    raise AssertionError("the daemon ended the stream")


def without_flags(daemon):
    """Wait until no memory is flagged, and nothing is left to do."""
    client = daemon.client(daemon.checkouts[0].root)
    wait_until(lambda: not client.call("stale")["stale"])
    daemon.settled()


def projects(counts):
    """Yield what a daemon costs by the number of its projects, all alike."""
    with living() as daemon:
        for count in counts:
            daemon.add(count)
            daemon.settled()
            starts = []
            for _ in range(STARTS):
                daemon.stop()
                answered, watched = daemon.start()
                starts.append((answered, watched, daemon.cpu_s()))
                daemon.settled()
            checked = daemon.cpu_s() + daemon.git_cpu_s()
            of = f"{count} projects"
            answered, watched, cpu = (list(each) for each in zip(*starts, strict=True))
            yield Figure("start", f"{of}: until the first answer", "ms", None, ms(answered))
            goal = 1000.0 if count == 200 else None
            yield Figure("start", f"{of}: until all are watched", "ms", goal, ms(watched))
            yield Figure("start CPU", f"{of}: until all are watched, CPU", "ms", goal, ms(cpu))
            yield Figure(
                "start checks", f"{of}: all checked, CPU, git's too", "ms", None, [checked * 1e3]
            )
            yield Figure("watches", f"{of}: folders watched", "", None, [daemon.watches()])
            yield Figure(
                "RSS busy", f"{of}: memory right after the checks", "MiB", None, [daemon.mib()]
            )
            time.sleep(RESTED_S)
            goal = 45.0 if count == 20 else None
            yield Figure("RSS", f"{of}: memory, idle", "MiB", goal, [daemon.mib()])
            before, began = daemon.cpu_s(), time.perf_counter()
            time.sleep(IDLE_S)
            share = (daemon.cpu_s() - before) / (time.perf_counter() - began) * 100
            goal = 0.1 if count == 200 else None
            yield Figure("idle", f"{of}: CPU, idle, of a core", "%", goal, [share])
            if count == 20:
                shim = daemon.agent()
                daemon.settled()
                yield Figure(
                    "RSS agent", f"{of}: memory with an agent", "MiB", 95.0, [daemon.mib()]
                )
                shim.stdin.close()
                shim.wait(20)


def changes():
    """Yield how soon a change of the work tree is a flag, with one project."""
    with living() as daemon:
        daemon.add(1)
        checkout = daemon.checkouts[0]
        saves, commits, heads = [], [], []
        for number in range(ROUNDS):
            changed = NET.replace("tries=3", f"tries={number + 10}")
            saves.append(
                until(daemon, "stale.raised", partial(checkout.write, "src/net.py", changed))
            )
            checkout.write("src/net.py", NET)
            without_flags(daemon)
        for number in range(ROUNDS):
            checkout.git("checkout", "-q", "-b", f"topic-{number}")
            checkout.write("src/net.py", NET.replace("tries=3", f"tries={number + 100}"))
            checkout.commit(f"round {number}")
            checkout.git("checkout", "-q", "main")
            without_flags(daemon)
            merge = partial(checkout.git, "merge", "-q", "--ff-only", f"topic-{number}")
            commits.append(until(daemon, "stale.raised", merge))
            checkout.git("reset", "-q", "--hard", "HEAD~1")
            without_flags(daemon)
            empty = partial(checkout.git, "commit", "-q", "--allow-empty", "-m", "nothing")
            heads.append(until(daemon, "head.moved", empty))
            checkout.git("reset", "-q", "--hard", "HEAD~1")
            without_flags(daemon)
    settle = f"{QUIET_S * 1e3:.0f} ms of it are the wait for quiet"
    goal = QUIET_S * 1e3 + 20
    yield Figure("changes", "a file is saved → the flag is there", "ms", goal, ms(saves), settle)
    of = "git brought a commit → the flag is there"
    yield Figure("changes", of, "ms", 300.0, ms(commits), settle)
    yield Figure("changes", "a commit → HEAD is noticed", "ms", 300.0, ms(heads), settle)


def checkouts():
    """Yield what a checkout costs with 200 anchored files, which it changes or leaves alone."""
    with living() as daemon:
        daemon.add(1)
        checkout = daemon.checkouts[0]
        _write_many(checkout, range(CHECKOUT_FILES), 0)
        checkout.commit("many")
        client = daemon.client(checkout.root)
        for number in range(ANCHORED):
            client.call("remember", text=f"It is in lib/d{number}/f{number}.py")
        for branch, first in (("others", ANCHORED), ("all", 0)):
            checkout.git("checkout", "-q", "-b", branch, "main")
            _write_many(checkout, range(first, CHECKOUT_FILES), 1)
            checkout.commit(branch)
        checkout.git("checkout", "-q", "main")
        daemon.settled()
        for branch, words in (("others", "none of them anchored"), ("all", "200 verdicts with it")):
            cpu, done = [], []
            for to in (branch, "main") * CHECKOUTS:
                before = daemon.cpu_s() + daemon.git_cpu_s()
                done.append(
                    until(daemon, "head.moved", partial(checkout.git, "checkout", "-q", to))
                )
                daemon.settled()
                cpu.append(daemon.cpu_s() + daemon.git_cpu_s() - before)
            name = f"a checkout of {CHECKOUT_FILES:,} files, {words}"
            yield Figure("checkout", f"{name}: CPU", "ms", 100.0, ms(cpu))
            yield Figure("checkout", f"{name}: git ends → all is done", "ms", 300.0, ms(done))


def _write_many(checkout, numbers, value):
    for number in numbers:
        checkout.write(f"lib/d{number % ANCHORED}/f{number}.py", f"X = {number + value}\n")


def storms():
    """Yield what it costs when very much is written."""
    with living() as daemon:
        daemon.add(1)
        checkout = daemon.checkouts[0]
        checkout.commit("ignore", {".gitignore": "node_modules/\n"})
        daemon.settled()
        cpu, new = [], []
        for _ in range(3):
            watches, before = daemon.watches(), daemon.cpu_s()
            for folder in range(500):
                place = checkout.root / "node_modules" / f"p{folder}" / "lib"
                place.mkdir(parents=True)
                for number in range(STORM_FILES // 500):
                    (place / f"f{number}.js").write_bytes(b"x")
            time.sleep(1)
            cpu.append(daemon.cpu_s() - before)
            new.append(daemon.watches() - watches)
            shutil.rmtree(checkout.root / "node_modules")
            daemon.settled()
        name = f"{STORM_FILES:,} files into an ignored folder"
        yield Figure("storm", f"{name}: CPU", "ms", 20.0, ms(cpu))
        yield Figure("storm", f"{name}: new watches", "", 0.0, [float(each) for each in new])
        for kind, folder in (("watched", "src"), ("ignored", "node_modules")):
            place = checkout.root / folder
            place.mkdir(exist_ok=True)
            shares = []
            for _ in range(3):
                daemon.settled()
                before, began = daemon.cpu_s(), time.perf_counter()
                command = [sys.executable, "-c", WRITER, str(place), str(RATE), str(RATE_S)]
                wrote = int(subprocess.run(command, capture_output=True, check=True).stdout)
                spent = daemon.cpu_s() - before
                took = time.perf_counter() - began
                shares.append(spent / wrote * RATE * 100)
            reached = f"{wrote / took:,.0f} writes a second were reached"
            name = f"{RATE:,} writes a second into a folder that is {kind}, of a core"
            yield Figure("rate", name, "%", 10.0, shares, reached)


def trips():
    """Yield what the smallest requests take, beside echoes of asyncio: all of the same bytes, over
    a line without a client, in rounds one after the other.

    `health` is answered from memory; `projects` reads a store, in a thread. Where the system
    can say which processors a process may use, what is answered from memory is asked three times:
    as the scheduler places us and the daemon, with both on one processor, and each on its own.
    """
    with living() as daemon, contextlib.ExitStack() as stack:
        daemon.settled()
        client = daemon.client(daemon.machine.home)
        lines = {
            operation: (client.beside().connect(), line(_asking(operation)), daemon.daemon.pid)
            for operation in ("health", "projects")
        }
        for way in ECHOES:
            connected, pid = stack.enter_context(echoing(daemon.machine.home / f"{way}.sock", way))
            lines[way] = (connected, b"x" * 200 + b"\n", pid)
        walls = collections.defaultdict(list)
        cpu = {"health": [], "projects": []}
        each = TRIPS // TRIP_ROUNDS
        for _ in range(TRIP_ROUNDS):
            for name, (connected, asked, _) in lines.items():
                before = daemon.cpu_s()
                walls[name, ""] += [trip(connected, asked) for _ in range(each)]
                if name in cpu:
                    cpu[name].append((daemon.cpu_s() - before) / each * 1e6)
            for _ in range(each):
                began = time.perf_counter()
                client.call("projects")
                walls["client", ""].append(time.perf_counter() - began)
            for place in PLACES if can_place() else ():
                for name in ("health", "streams"):
                    connected, asked, pid = lines[name]
                    with on_processors(pid, *PLACES[place]):
                        walls[name, place] += [trip(connected, asked) for _ in range(each)]
    half = {key: statistics.median(one) * 1e6 for key, one in walls.items()}
    late = {key: sorted(one)[-TRIPS // 100] * 1e3 for key, one in walls.items()}
    of = "a request over an open connection"
    bare = "bare echoes of asyncio in this run: " + ", ".join(
        f"{half[name, '']:.0f} µs ({name})" for name in ECHOES
    )
    bare_late = ", ".join(f"{late[name, '']:.1f} ms ({name})" for name in ECHOES)
    yield Figure("trip", f"{of}, p50", "µs", REQUEST_US, [half["health", ""]], bare)
    yield Figure("trip", f"{of}, p99", "ms", 1.0, [late["health", ""]], bare_late)
    for place in PLACES if can_place() else ():
        beside = f"a bare echo of asyncio, too: {half['streams', place]:.0f} µs"
        took = [half["health", place]]
        yield Figure("trip", f"{of}, p50, {place}", "µs", REQUEST_US, took, beside)
    yield Figure("trip", f"{of}, CPU of the daemon", "µs", None, cpu["health"])
    of = "a request that reads a store, in a thread"
    yield Figure("trip", f"{of}, p50", "µs", None, [half["projects", ""]])
    yield Figure("trip", f"{of}, p99", "ms", 1.0, [late["projects", ""]])
    yield Figure("trip", f"{of}, CPU of the daemon", "µs", None, cpu["projects"])
    yield Figure("trip", f"{of}, by our client, p50", "µs", None, [half["client", ""]])


def can_place():
    """Return whether the system can say which processors a process may use, and has two."""
    return hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1


@contextlib.contextmanager
def on_processors(pid, mine, its):
    """Keep this process on the processor `mine`, and another one on `its`: 0 or 1, of those that
    we may use.
    """
    may = sorted(os.sched_getaffinity(0))
    threads = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    try:
        os.sched_setaffinity(0, {may[mine]})
        for thread in threads:
            os.sched_setaffinity(thread, {may[its]})
        yield
    finally:
        for thread in (0, *threads):
            os.sched_setaffinity(thread, may)


def _asking(operation):
    return {"jsonrpc": "2.0", "id": 1, "method": operation, "params": {}}


def trip(connected, asked):
    """Return the seconds until the answer to a line is there."""
    connected.setblocking(True)
    began = time.perf_counter()
    connected.sendall(asked)
    connected.recv(65536)
    return time.perf_counter() - began


@contextlib.contextmanager
def echoing(path, way):
    """Give a connection to a server that only says what it was told, and the pid of that."""
    with (
        subprocess.Popen([sys.executable, "-c", ECHO, str(path), way]) as server,
        socket.socket(socket.AF_UNIX) as connected,
    ):
        wait_until(path.exists)
        wait_until(lambda: connected.connect_ex(str(path)) == 0)
        yield connected, server.pid
        server.terminate()


def processes():
    """Yield the CPU of what agents start, beside bare Python."""
    with living() as daemon:
        daemon.add(1)
        checkout = daemon.checkouts[0]
        checkout.write("src/net.py", NET.replace("tries=3", "tries=5"))
        daemon.settled()
        payloads = json.loads(
            (PAYLOADS / "claude.json").read_text().replace("/srv/shop", str(checkout.root))
        )
        event = "session-start"
        python = [sys.executable, "-I", "-S"]
        jobs = [
            Job("python -c pass", [sys.executable, "-c", "pass"]),
            Job(
                "a hook at the start of a session",
                [*python, str(SHIM.with_name("hook.py")), event, "--agent", "claude"],
                line(payloads[event]),
            ),
            Job("a shim, to the answer to `initialize`", [*python, str(SHIM)], line(INITIALIZE)),
        ]
        for _ in range(ROUNDS):
            for job in jobs:
                job.run(daemon.machine.env, checkout.root)
    bare = statistics.median(jobs[0].cpu)
    for job, goal in zip(jobs[1:], (40.0, 60.0), strict=True):
        ratio = statistics.median(job.cpu) / bare
        beside = f"{ratio:.2f} times `python -c pass` ({bare * 1e3:.0f} ms)"
        yield Figure("process", f"{job.name}, CPU", "ms", goal, ms(job.cpu), beside)


def line(frame):
    """Return a frame as it is sent."""
    return json.dumps(frame).encode() + b"\n"


def memories(counts):
    """Yield what grows with the memories of a project."""
    for count in counts:
        found = growth.measure(count)
        of = f"{count:,} memories"
        yield Figure("size", f"{of}: the store", "MiB", None, [found["MiB"]])
        yield Figure("remember", f"{of}: remember, CPU", "ms", None, found["remember"])
        yield Figure("recall", f"{of}: recall, CPU", "ms", None, found["recall"])


def main(arguments=None):
    """Print a row for each figure, and write them down."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.budgets")
    parser.add_argument("--projects", type=int, nargs="+", default=[10, 20, 50, 200])
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument(
        "--out", type=Path, help="where the figures go, in the place of their parts'"
    )
    parser.add_argument("--only", nargs="+", default=list(PARTS), choices=PARTS)
    args = parser.parse_args(arguments)
    given = {"projects": [args.projects], "memories": [args.memories]}
    order = [REFERENCE, *PARTS]
    kept = json.loads(args.out.read_text("utf-8")) if args.out and args.out.exists() else {}
    for name in args.only:
        kept[name] = []
        kept.setdefault(REFERENCE, {})[name] = took = round(reference_s() * 1e3, 1)
        print(f"{name}: a loop of {REFERENCE_TURNS:,} additions takes {took:g} ms", flush=True)
        for figure in PARTS[name](*given.get(name, [])):
            row = figure.row()
            kept[name].append(row)
            print(
                f"{row['name']:<62} {row['median']:>9.4g} {row['unit']:<4} (most {row['most']:.4g})"
                f"  goal {row['goal'] or '-'}  {row['beside']}",
                flush=True,
            )
            if args.out:
                text = json.dumps({part: kept[part] for part in order if part in kept}, indent=1)
                args.out.write_text(text + "\n", encoding="utf-8")


PARTS = {
    "changes": changes,
    "checkouts": checkouts,
    "storms": storms,
    "trips": trips,
    "processes": processes,
    "projects": projects,
    "memories": memories,
}

if __name__ == "__main__":
    main()
