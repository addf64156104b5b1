"""How much memory and processor time a large repository takes: a daemon from `add` to its rest.

    python -m tests.bench.memory REPOSITORY [--rules 700] [--rest] [--verdicts FILE]

The repository, with its packs, is copied; what its commits lack stays missing. A row is printed for
each step: resident memory (of it anonymous), the peak in the step, the peak of commands beside it,
processor time of the daemon and of what it ran, and how many commands of git that were.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import psutil

from tests.machine import Checkout, Machine

DEFINED = re.compile(
    r"^(?:export |pub )?(?:default )?(?:async )?(?:function|def|fn|func) (\w{6,})", re.MULTILINE
)
ENDINGS = (".ts", ".tsx", ".py", ".rs", ".js", ".go")
TICKS = os.sysconf("SC_CLK_TCK")
REST_S = 640
WRAPPER = '#!/bin/sh\necho >> "{counted}"\nexec {git} "$@"\n'


class Watched:
    """A daemon, with what it took since the last row."""

    def __init__(self, pid, counted):
        self.pid = pid
        self._counted = counted
        self._before = self.cpu_s()
        self._gits = self._git_count()
        self._beside = 0
        self._over = threading.Event()
        threading.Thread(target=self._look_beside, daemon=True).start()

    def close(self):
        self._over.set()

    def cpu_s(self):
        """Return the processor time of the daemon, and of the commands that it waited for."""
        found = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        own, ran = (sum(map(int, found[at : at + 2])) / TICKS for at in (11, 13))
        return own, ran

    def memory(self):
        """Return resident, anonymous and peak memory in MiB."""
        rows = dict(
            line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines()
        )
        names = ("VmRSS", "RssAnon", "VmHWM")
        return [int(rows[name].split()[0]) / 1024 for name in names]

    def row(self, name):
        """Print what the step took that is over now."""
        rss, anonymous, peak = self.memory()
        now, gits = self.cpu_s(), self._git_count()
        own, ran = (after - before for after, before in zip(now, self._before, strict=True))
        print(
            f"{name:34} RSS {rss:6.1f} ({anonymous:6.1f}) peak {peak:6.1f}"
            f" beside {self._beside:6.1f}"
            f"   CPU {own:6.2f} + {ran:6.2f} s   git {gits - self._gits:4}",
            flush=True,
        )
        self._before, self._gits, self._beside = now, gits, 0
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def wait_for_quiet(self, seconds=6.0, limit_s=900):
        """Wait until neither the daemon nor a command has worked for so long."""
        until = time.monotonic() + limit_s
        quiet_since, before = time.monotonic(), sum(self.cpu_s())
        while time.monotonic() - quiet_since < seconds and time.monotonic() < until:
            time.sleep(0.5)
            now = sum(self.cpu_s())
            if now - before > 0.02 or psutil.Process(self.pid).children():
                quiet_since = time.monotonic()
            before = now

    def _git_count(self):
        return self._counted.stat().st_size if self._counted.exists() else 0

    def _look_beside(self):
        while not self._over.wait(0.1):
            with contextlib.suppress(psutil.Error):
                children = psutil.Process(self.pid).children(recursive=True)
                rss = sum(_rss(one) for one in children) / 2**20
                self._beside = max(self._beside, rss)


def _rss(process):
    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0


def count_git(machine, folder):
    """Have each git command of the daemon leave a byte in a file; return the file."""
    counted, place = folder / "counted", folder / "bin"
    place.mkdir()
    (place / "git").write_text(WRAPPER.format(counted=counted, git=shutil.which("git")))
    (place / "git").chmod(0o755)
    machine.env["PATH"] = f"{place}:{machine.env['PATH']}"
    return counted


def definitions(root, count):
    """Return so many definitions of different files: path, name."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True
    ).stdout.split("\0")
    found, names = [], set()
    for path in listed:
        if len(found) < count and path.endswith(ENDINGS) and (root / path).is_file():
            text = (root / path).read_text(encoding="utf-8", errors="replace")
            for match in DEFINED.finditer(text):
                if match[1] not in names:
                    names.add(match[1])
                    found.append((path, match[1]))
                    break
    return found


def change(root, named):
    """Change the files of definitions: a line is added, and each tenth is called otherwise."""
    for number, (path, name) in enumerate(named):
        place = root / path
        text = place.read_text(encoding="utf-8", errors="replace")
        if number % 10 == 0:
            text = text.replace(name, f"{name}Other")
        comment = "#" if path.endswith(".py") else "//"
        place.write_text(f"{text}\n{comment} note {number}\n", encoding="utf-8")


def measure(machine, checkout, counted, args):
    """Print the rows of one daemon."""
    machine.ask("status")
    machine.ask("list")  # starts the daemon
    watched = Watched(machine.pid(), counted)
    watched.row("no project")
    machine.ask("add", checkout.root, timeout=600)
    watched.row("add returned")
    watched.wait_for_quiet()
    watched.row("first comparison")
    named = definitions(checkout.root, args.rules)
    nodes = [
        {"id": f"m{number}", "text": f"`{name}` in {path} returns early when nothing is given"}
        for number, (path, name) in enumerate(named)
    ]
    place = machine.folder / "graph.json"
    place.write_text(json.dumps({"nodes": nodes}))
    machine.ask("inject", place, cwd=checkout.root, timeout=600)
    watched.wait_for_quiet()
    watched.row(f"{len(nodes)} injected")
    if args.verdicts:
        keep_verdicts(machine, checkout, args.verdicts, "injected")
        watched.row("stale asked")
    main = checkout.git("rev-parse", "HEAD")
    checkout.git("checkout", "-q", "-b", "other")
    change(checkout.root, named)
    checkout.git("commit", "-qam", "Change all")
    watched.wait_for_quiet()
    watched.row("a commit of all of them")
    if args.verdicts:
        keep_verdicts(machine, checkout, args.verdicts, "changed")
        watched.row("stale asked")
    checkout.git("checkout", "-q", "main")
    watched.wait_for_quiet()
    watched.row("switched back")
    checkout.git("reset", "-q", "--hard", "HEAD~50")
    watched.wait_for_quiet()
    watched.row("50 commits back")
    for commit in checkout.git("rev-list", "--reverse", "--first-parent", f"HEAD..{main}").split()[
        -50:
    ]:
        checkout.git("reset", "-q", "--hard", commit)
        time.sleep(0.7)
    watched.wait_for_quiet()
    watched.row("50 commits, one by one")
    checkout.git("reset", "-q", "--hard", "HEAD~500")
    watched.wait_for_quiet()
    watched.row("500 commits back")
    if args.verdicts:
        keep_verdicts(machine, checkout, args.verdicts, "back")
        watched.row("stale asked")
    checkout.git("reset", "-q", "--hard", main)
    watched.wait_for_quiet()
    watched.row("500 commits ahead, as pulled")
    if args.verdicts:
        keep_verdicts(machine, checkout, args.verdicts, "ahead")
        watched.row("stale asked")
    if args.rest:
        time.sleep(60)
        watched.row("a minute later")
        time.sleep(REST_S)
        watched.row("ten minutes later")
    watched.close()


def keep_verdicts(machine, checkout, folder, name):
    """Write down what `stale` says, without what differs from run to run."""
    found = machine.ask("stale", "--all", cwd=checkout.root, timeout=900)
    text = re.sub(r'"(?:id|node|since|at|created_at)": "[^"]*"', "", json.dumps(found, indent=1))
    Path(folder).mkdir(exist_ok=True, parents=True)
    (Path(folder) / f"{name}.json").write_text(text.replace(str(machine.folder), ""))


def main(arguments=None):
    """Print a row for each step."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.memory")
    parser.add_argument("repository", type=Path)
    parser.add_argument("--rules", type=int, default=700)
    parser.add_argument("--rest", action="store_true", help="wait for what ten idle minutes free")
    parser.add_argument("--verdicts", help="a folder for what `stale` says after some steps")
    parser.add_argument("--folder", help="where the copy is made; removed afterwards")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=args.folder, prefix="yaad-memory-") as name:
        folder = Path(name)
        machine = Machine(folder)
        counted = count_git(machine, folder)
        root = machine.home / "code"
        shutil.copytree(args.repository, root, symlinks=True)
        try:
            checkout = Checkout(root, machine.env)
            checkout.git("checkout", "-q", "-B", "main")
            counted.unlink(missing_ok=True)
            measure(machine, checkout, counted, args)
        finally:
            machine.end()


if __name__ == "__main__":
    main()
