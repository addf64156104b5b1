"""What the tests of faults share: a real daemon process, and a repository whose truth is known."""

import contextlib
import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from machine import Checkout, Machine, alive
from waiting import PATIENCE_S, wait_until

from yaadwatch.client.connection import Client, DaemonNotRunning

SOAK = os.environ.get("YAAD_SOAK") == "1"
DAEMON = (sys.executable, "-m", "yaadwatch", "daemon")


def required(what, reason):
    """Skip the test because of `reason`, unless YAAD_REQUIRE asks for `what`."""
    if what in os.environ.get("YAAD_REQUIRE", "").split(","):
        pytest.fail(f"{what} is required here, and {reason}")
    pytest.skip(reason)


class Living(Machine):
    """A machine whose daemon is a child of the test, so that the test sees how it ends."""

    def __init__(self, folder, monkeypatch):
        super().__init__(folder)
        self.env["XDG_STATE_HOME"] = str(self.home / ".local" / "state")
        self.process = None
        self._started = []
        for name, value in self.env.items():
            monkeypatch.setenv(name, value)

    def live(self, *prefix, command=DAEMON, wait=True, **environ):
        """Start the daemon, behind `prefix`; return the process when it answers."""
        process = subprocess.Popen(
            [*prefix, *command],
            cwd=self.folder,
            env=self.env | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._started.append(process)
        if wait:
            wait_until(lambda: self.answers() or process.poll() is not None, "an answer")
            assert process.poll() is None, process.communicate()
        self.process = process
        return process

    def answers(self):
        """Say whether a daemon answers."""
        try:
            return bool(self.call("status"))
        except DaemonNotRunning:
            return False

    def call(self, operation, /, cwd=None, **fields):
        """Ask the daemon, which must be there."""
        with contextlib.closing(Client(cwd=str(cwd or self.folder))) as client:
            return client.call(operation, **fields)

    def rss_bytes(self):
        """What the daemon holds: the middle of several looks, each after a question."""
        looks = [self.call("status")["daemon"]["rss_bytes"] for _ in range(5)]
        return statistics.median(looks)

    def kill(self):
        """Kill the daemon the hard way; return when it is gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def stop(self):
        """End the daemon as `kill PID` does; return its status.

        It must be the one that `live` started: after a restart, another one would go on unseen.
        """
        assert self.process.poll() is None, "it ended by itself, or was replaced by a restart"
        self.process.terminate()
        return self.process.wait(PATIENCE_S)

    def end(self):
        """Leave no process behind, whoever started it."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=PATIENCE_S)
        super().end()

    def logged(self, event):
        """How often the daemon's log tells of `event`."""
        return self.log().count(f'"event": "{event}"')

    def watches(self):
        """How many folders the daemon watches."""
        return sum(
            line.startswith("inotify wd:")
            for info in _lines_of(Path(f"/proc/{self.process.pid}/fdinfo"))
            for line in info
        )


def _lines_of(folder):
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            yield path.read_text().splitlines()


def carrying(name, value):
    """Return the pids of the processes of this machine that have `name=value` in their environment.

    It goes to children and grandchildren, whatever session or group they are in.
    """
    wanted = f"{name}={value}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return [pid for pid in found if alive(pid)]


def source(number, value=0):
    """Return a module with one function, which returns `value`."""
    return f"def rate_{number}(amount):\n    return amount * {number} + {value}\n"


class Shop(Checkout):
    """A repository of files `src/mN.py` with a memory of the function in each.

    `said`: the ids of the memories, by number. What is true is what the files say: a memory is in
    flag exactly when its file is not as it was.
    """

    FILES = 8

    def __init__(self, root, machine, place="src/m{}.py"):
        super().__init__(root, machine.env)
        self.machine = machine
        self.place = place
        self.said = {}

    @classmethod
    def new(cls, machine, name="shop", files=FILES, place="src/m{}.py", **adding):
        """Make one, commit it, have it watched and its memories said."""
        shop = cls(machine.home / "code" / name, machine, place)
        for number in range(files):
            shop.write(shop.path(number), source(number))
        shop.write("CLAUDE.md", "# Rules\n\n- Prices are integers, in cents.\n")
        shop.git("add", "-A")
        shop.git("commit", "-q", "--allow-empty", "-m", "first")
        machine.call("add", cwd=shop.root, **adding)
        for number in range(files):
            shop.remember(number)
        return shop

    def remember(self, number):
        """Have the daemon keep what rests on the file of `number`."""
        answer = self.ask(
            "remember",
            text=f"Rate {number} is applied to the amount by rate_{number}, number {number}",
            files=(self.path(number),),
            symbols=(f"rate_{number}",),
        )
        self.said[number] = answer["id"]
        return answer

    def ask(self, operation, /, **fields):
        """Ask the daemon about this repository."""
        return self.machine.call(operation, cwd=self.root, **fields)

    def edit(self, number, value):
        """Have the function return something else; 0 is what it was."""
        self.write(self.path(number), source(number, value))

    def path(self, number):
        """Return where the file of `number` is, from the top."""
        return self.place.format(number)

    @property
    def false(self):
        """The numbers whose files are not as they were."""
        return {number for number in self.said if not self._is_as_it_was(number)}

    def _is_as_it_was(self, number):
        try:
            return (self.root / self.path(number)).read_text() == source(number)
        except OSError:
            return False

    def flags(self, *, check=False):
        """What the daemon warns of, by number; without `check`, as it noticed by itself."""
        return self._by_number(self.ask("stale", check=check)["stale"])

    def unknown(self):
        """The numbers that the daemon cannot judge."""
        return set(self._by_number(self.ask("stale", check=False)["unknown"]))

    def _by_number(self, rows):
        numbers = {node: number for number, node in self.said.items()}
        return {numbers[row["id"]]: row for row in rows if row["id"] in numbers}

    def settles(self):
        """Wait until the daemon has noticed by itself what is false, and nothing else."""
        told = {}

        def is_right():
            told.update(flags=self.flags(), false=self.false)
            return set(told["flags"]) == told["false"]

        wait_until(is_right, lambda: f"flag of what is false and of nothing else: {told}")

    @property
    def store(self):
        """The database of this repository."""
        named = self.git("config", "--local", "yaad.project").strip()
        return self.machine.home / "yaad" / "projects" / named / "yaad.db"

    def is_sound(self):
        """Say what SQLite finds in the store: "ok", or what is wrong."""
        conn = apsw.Connection(str(self.store), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return conn.pragma("integrity_check")
        finally:
            conn.close()
