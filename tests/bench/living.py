"""A daemon of a home of its own, to be measured: its processor time, its memory, its watches.

The processor time of another process is read from its clock, which counts nanoseconds; the kernel's
own table counts hundredths of a second.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaadwatch.client
from tests.bench.agents import INITIALIZE, LIST
from tests.machine import NET, Checkout, Machine
from yaadwatch.client.connection import Client, DaemonNotRunning

TEXT = "The retry limit lives in src/net.py, in fetch_with_retry"
SHIM = Path(yaadwatch.client.__file__).parent / "shim.py"
DAEMON = """
import sys
from yaadwatch.daemon.main import run
sys.exit(run(foreground=False, on_ready=lambda: print("ready", flush=True)))
"""
QUIET_S = 1.5


class Living:
    """A home, its projects, and the daemon that watches them."""

    def __init__(self, folder):
        self.machine = Machine(folder)
        # An installed program has its modules compiled, and so has a daemon that starts again.
        self.machine.env.pop("PYTHONDONTWRITEBYTECODE", None)
        self.daemon = None
        self.checkouts = []

    def add(self, count):
        """Add projects, all alike, until there are `count`; a daemon must run."""
        while len(self.checkouts) < count:
            root = self.machine.home / "code" / f"shop-{len(self.checkouts)}"
            checkout = Checkout(root, self.machine.env)
            checkout.commit("first", {"src/net.py": NET})
            self.checkouts.append(checkout)
            client = self.client(root)
            client.call("add")
            client.call("remember", text=TEXT, symbols=["fetch_with_retry"])
            client.close()

    def client(self, folder):
        return Client(cwd=str(folder))

    def start(self):
        """Start the daemon; return seconds until it answers, and until all projects are watched."""
        began = time.perf_counter()
        self.daemon = subprocess.Popen(
            [sys.executable, "-c", DAEMON],
            env=self.machine.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        while not self._answers():
            assert self.daemon.poll() is None
            time.sleep(0.002)
        answered = time.perf_counter() - began
        assert self.daemon.stdout.readline() == b"ready\n"
        return answered, time.perf_counter() - began

    def _answers(self):
        client = self.client(self.machine.home)
        try:
            client.connect()
        except DaemonNotRunning:
            return False
        finally:
            client.close()
        return True

    def stop(self):
        if self.daemon is not None:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(20)
            self.daemon.stdout.close()
            self.daemon = None

    def cpu_s(self):
        """Return the processor time of the daemon so far; that of git's processes is not in it."""
        return time.clock_gettime((~self.daemon.pid << 3) | 2)

    def git_cpu_s(self):
        """Return the processor time of the git processes that it has seen end."""
        fields = Path(f"/proc/{self.daemon.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def mib(self):
        text = Path(f"/proc/{self.daemon.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    def watches(self):
        found = 0
        for entry in Path(f"/proc/{self.daemon.pid}/fdinfo").iterdir():
            with contextlib.suppress(OSError):
                found += sum(line.startswith("inotify") for line in entry.read_text().splitlines())
        return found

    def settled(self):
        """Wait until the daemon has nothing left to do."""
        before = self.cpu_s()
        while True:
            time.sleep(QUIET_S)
            now = self.cpu_s()
            if now - before < 0.02 * QUIET_S:
                return
            before = now

    def agent(self):
        """Return an agent's connection that has asked for the tools."""
        shim = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SHIM)],
            env=self.machine.env,
            cwd=self.checkouts[0].root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for frame in (INITIALIZE, LIST):
            shim.stdin.write(json.dumps(frame).encode() + b"\n")
            shim.stdin.flush()
            assert b'"result"' in shim.stdout.readline()
        return shim


@contextlib.contextmanager
def living(folder="/dev/shm"):
    """Give a daemon, started, without a project."""
    with tempfile.TemporaryDirectory(prefix="yaad-bench-", dir=folder) as name:
        living = Living(Path(name))
        before = dict(os.environ)
        os.environ.update(living.machine.env)
        try:
            living.start()
            yield living
        finally:
            living.stop()
            os.environ.clear()
            os.environ.update(before)
