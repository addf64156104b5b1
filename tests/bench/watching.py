"""What does watching cost? Prints one table: our watcher beside a bare reader of inotify.

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
        from yaadwatch.system import watch

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
    from yaadwatch.system import watch

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


if __name__ == "__main__":
    if len(sys.argv) == 4:
        one(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    else:
        table(float(sys.argv[1]) if len(sys.argv) == 2 else 6.0)
