"""What does watching cost? Our watcher beside a bare reader of inotify, and the whole intake.

Run it on a quiet machine: python tests/bench/watching.py [SECONDS]. Each figure comes from a
process of its own. docs/decisions/0002-watcher.md was decided with it.
"""

import ctypes
import gc
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

RATE = 10_000
"""Writes a second while the share of a core is taken."""
FOLDERS = 4096
MODIFY = 0x2

WRITER = """
import os, sys, time
folder, rate, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
began, done = time.perf_counter(), 0
while time.perf_counter() - began < seconds:
    for _ in range(20):
        handle = os.open(f"{folder}/f{done % 4000}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(handle, b"x")
        os.close(handle)
        done += 1
    ahead = done / rate - (time.perf_counter() - began)
    if ahead > 0:
        time.sleep(ahead)
print(done)
"""


class BareReader:
    """The least that Python can do with inotify, to compare with; ctypes, one thread."""

    def __init__(self, on_hint: Callable[[Path, str], None]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._handle = self._libc.inotify_init1(os.O_CLOEXEC)
        self._folders: dict[int, Path] = {}
        self._on_hint = on_hint
        self.events = 0
        threading.Thread(target=self._run, daemon=True).start()

    def watch(self, folder: Path) -> bool:
        from yaadwatch.repo import watch

        number = self._libc.inotify_add_watch(self._handle, os.fsencode(folder), watch._MASK)
        self._folders[number] = folder
        return bool(number != -1)

    def _run(self) -> None:
        header = struct.Struct("iIII")
        while True:
            buffer = os.read(self._handle, 262_144)
            at = 0
            while at < len(buffer):
                number, _, _, length = header.unpack_from(buffer, at)
                name = buffer[at + 16 : at + 16 + length].rstrip(b"\0")
                at += 16 + length
                self.events += 1
                folder = self._folders.get(number)
                if folder is not None:
                    self._on_hint(folder, os.fsdecode(name))


def opened(kind: str, on_hint: Callable[[Path, str], None]):  # type: ignore[no-untyped-def]
    from yaadwatch.repo import watch

    if kind == "ctypes":
        return BareReader(on_hint)
    if kind == "watchdog+modify":
        watch._MASK |= MODIFY
    return watch.open_watcher(on_hint, lambda: print("overflow", file=sys.stderr))


def rss_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def written(folder: Path, rate: float, seconds: float) -> int:
    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(folder), str(rate), str(seconds)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def load(kind: str, folder: Path, rate: float, seconds: float) -> dict[str, float]:
    """Return the cost of `rate` writes a second, all in one watched folder."""
    watcher = opened(kind, lambda folder, name: None)
    watcher.watch(folder)
    before = time.process_time()
    writes = written(folder, rate, seconds)
    time.sleep(0.3)
    cpu = time.process_time() - before
    return {
        "events": watcher.events / writes,
        "us": cpu / watcher.events * 1e6,
        "core": cpu / seconds * 100,
        "rate": writes / seconds,
    }


def latency(kind: str, folder: Path, rounds: int) -> dict[str, float]:
    """Return how long after the end of a save its hint comes, in milliseconds."""
    came = threading.Event()
    at = [0.0]

    def hint(folder: Path, name: str) -> None:
        at[0] = time.perf_counter()
        came.set()

    watcher = opened(kind, hint)
    file = folder / "file.py"
    file.touch()
    watcher.watch(folder)
    taken = []
    for _ in range(rounds):
        time.sleep(0.005)
        came.clear()
        handle = os.open(file, os.O_WRONLY)
        os.write(handle, b"x")
        began = time.perf_counter()
        os.close(handle)
        came.wait(5)
        taken.append((at[0] - began) * 1e3)
    cuts = statistics.quantiles(taken, n=100)
    return {"p50": cuts[49], "p99": cuts[98]}


def arming(kind: str, folder: Path) -> dict[str, float]:
    """Return what FOLDERS watched folders take: time to arm one, and memory."""
    folders = [folder / str(number) for number in range(FOLDERS)]
    for each in folders:
        each.mkdir()
    watcher = opened(kind, lambda folder, name: None)
    gc.collect()
    memory, before = rss_kib(), time.perf_counter()
    watched = sum(watcher.watch(each) for each in folders)
    taken = time.perf_counter() - before
    gc.collect()
    return {"watched": watched, "us": taken / FOLDERS * 1e6, "mib": (rss_kib() - memory) / 1024}


def intake(folder: Path, seconds: float) -> dict[str, float]:
    """Return what the intake costs with 200 anchored files in one repository, checks left out."""
    import asyncio
    from types import SimpleNamespace

    from yaadwatch.daemon.intake import Intake
    from yaadwatch.daemon.polling import Poller
    from yaadwatch.daemon.supervisor import Health
    from yaadwatch.model.settings import Watch
    from yaadwatch.workspace import agent_files

    paths = frozenset(f"src/d{number % 40}/f{number}.py" for number in range(200))
    for path in (*paths, ".git/logs/HEAD", ".git/refs/heads/main", "node_modules/x"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    tree = SimpleNamespace(
        project="p",
        worktree=1,
        root=folder,
        git_dir=folder / ".git",
        common_dir=folder / ".git",
        registered=folder / ".git",
        paths=paths,
    )
    checked: list[float] = []

    def check(project: str, worktree: int, paths: frozenset[str] | None) -> SimpleNamespace:
        checked.append(time.perf_counter())
        return SimpleNamespace(raised=0, cleared=0)

    async def cost(where: Path) -> float:
        before = time.process_time()
        await asyncio.to_thread(written, where, RATE, seconds)
        await asyncio.sleep(0.5)
        return (time.process_time() - before) / seconds * 100

    async def run() -> dict[str, float]:
        settings = Watch()
        made = Intake(
            SimpleNamespace(
                trees=lambda project: [tree],
                registered=lambda: {"p": tree.common_dir},
                check=check,
                sync=lambda project, worktree, paths: False,
                formats=agent_files.formats,
            ),
            settings=settings,
            health=Health(),
            monotonic_s=time.monotonic,
            silent=lambda folder: (),
        )
        await made.start()
        running = asyncio.create_task(made.run())
        await asyncio.sleep(1)
        lags = []
        for path in sorted(paths)[:50]:
            checked.clear()
            began = time.perf_counter()
            (folder / path).write_text("x")
            while not checked:
                await asyncio.sleep(0.001)
            lags.append((checked[0] - began) * 1e3 - settings.quiet_ms)
        found = {
            "watches": len(made.trees.watcher.folders),
            "settle_p50": statistics.median(lags),
            "settle_max": max(lags),
            "watched": await cost(folder / "src/d0"),
            "ignored": await cost(folder / "node_modules"),
        }
        running.cancel()
        await made.stop()
        return found

    found = asyncio.run(run())
    poller = Poller()
    poller.look(tree)
    before = time.perf_counter()
    for _ in range(50):
        poller.look(tree)
    return found | {"poll_us": (time.perf_counter() - before) / 50 / len(paths) * 1e6}


def measured(what: str, kind: str, seconds: float) -> dict[str, float]:
    out = subprocess.run(
        [sys.executable, __file__, what, kind, str(seconds)],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(out.stdout))


def one(what: str, kind: str, seconds: float) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        if what == "paced":
            found = load(kind, folder, RATE, seconds)
        elif what == "storm":
            found = load(kind, folder, 1e9, seconds)
        elif what == "latency":
            found = latency(kind, folder, 1000)
        elif what == "intake":
            found = intake(folder, seconds)
        else:
            found = arming(kind, folder)
    print(json.dumps(found))


def table(seconds: float) -> None:
    print(
        f"| reader | events a write | % of a core at {RATE:,} writes/s | µs an event in a storm "
        f"| hint p50 ms | p99 ms | µs to arm a folder | MiB for {FOLDERS:,} |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for kind in ("watchdog", "watchdog+modify", "ctypes"):
        paced = measured("paced", kind, seconds)
        storm = measured("storm", kind, seconds)
        late = measured("latency", kind, seconds)
        armed = measured("arming", kind, seconds)
        print(
            f"| {kind} | {paced['events']:.2f} | {paced['core']:.1f} | {storm['us']:.1f} "
            f"| {late['p50']:.3f} | {late['p99']:.3f} | {armed['us']:.1f} | {armed['mib']:.1f} |"
        )


def table_of_intake(seconds: float) -> None:
    found = measured("intake", "watchdog", seconds)
    rows = {
        "folders watched for 200 anchored files": f"{found['watches']:.0f}",
        "save to check, beyond the quiet period, p50": f"{found['settle_p50']:.1f} ms",
        "the same, at worst": f"{found['settle_max']:.1f} ms",
        f"{RATE:,} writes/s into a watched folder": f"{found['watched']:.1f} % of a core",
        f"{RATE:,} writes/s into an ignored folder": f"{found['ignored']:.2f} % of a core",
        "polling a file": f"{found['poll_us']:.1f} µs",
    }
    print("\n| the intake | |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        one(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    else:
        duration_s = float(sys.argv[1]) if len(sys.argv) == 2 else 6.0
        table(duration_s)
        table_of_intake(duration_s)
