"""`status --watch` on a real terminal, with a real daemon."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from tests.machine import NET

PATIENCE_S = 60.0
TEXT = "The retry limit lives in src/net.py, in fetch_with_retry"


@pytest.fixture
def watched(machine, checkout):
    machine.ask("add", checkout.root)
    machine.ask("remember", TEXT, "--symbol", "fetch_with_retry", cwd=checkout.root)
    return checkout


class Tty:
    """A terminal of 100 columns and 40 lines, and the command that runs in it."""

    def __init__(self, machine, *arguments):
        self.end, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.seen = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "yaadwatch", *arguments],
            cwd=machine.home,
            env=machine.env | {"TERM": "xterm"},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)

    def until(self, words):
        """Read until the terminal was sent `words`."""
        end = time.monotonic() + PATIENCE_S
        while words not in self.seen:
            assert time.monotonic() < end, self.seen[-2000:]
            self._read()

    def _read(self):
        if select.select([self.end], [], [], 0.2)[0]:
            self.seen += os.read(self.end, 65536)

    def ended(self, number):
        """End the command with a signal; return its status."""
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE_S)
        os.close(self.end)
        return status


def test_a_flag_is_shown_as_it_is_raised(machine, watched):
    tty = Tty(machine, "status", "--watch")
    tty.until(b"0 stale")
    tty.until(b"Ctrl-C ends")

    watched.write("src/net.py", NET.replace("tries=3", "tries=5"))
    tty.until(b"Flagged")

    assert tty.ended(signal.SIGINT) == 130
    assert b"Traceback" not in tty.seen


def test_into_a_pipe_each_change_is_a_line(machine, watched):
    process = machine.start("status", "--watch", "--json")
    try:
        first = json.loads(process.stdout.readline())
        watched.write("src/net.py", NET.replace("tries=3", "tries=5"))
        state = first
        while not state["projects"][0]["stale"]:
            state = json.loads(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)

    assert first["projects"][0]["stale"] == 0
    assert (process.returncode, err) == (130, "")
