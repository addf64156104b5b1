"""An agent and the shim it starts: lines in, lines out, with a deadline for each."""

import json
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

from waiting import PATIENCE_S

import yaadwatch.client.shim

SHIM = Path(yaadwatch.client.shim.__file__)


class Agent:
    """Starts the shim as agents do, and speaks to it."""

    def __init__(self, *arguments, cwd="/", command=(), **environment):
        # It hears interrupts, even when the tests run where they are ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.process = subprocess.Popen(
            [*(command or (sys.executable, "-I", "-S", str(SHIM))), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment or None,
        )
        signal.signal(signal.SIGINT, before)
        self._read = b""
        self._heard = []
        self._errors = b""
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def _listen(self):
        self._errors = self.process.stderr.read()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()
        self._listening.join(PATIENCE_S)
        self.process.stderr.close()

    def say(self, frame):
        self.send(json.dumps({"jsonrpc": "2.0"} | frame).encode() + b"\n")

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def ask(self, identity, method, **params):
        self.say({"id": identity, "method": method, "params": params})

    def hear(self, patience_s=PATIENCE_S):
        """Return the next frame; None at the end."""
        while b"\n" not in self._read:
            ready, _, _ = select.select([self.process.stdout], [], [], patience_s)
            assert ready, "the shim said nothing"
            chunk = self.process.stdout.read1(65536)
            if not chunk:
                return None
            self._read += chunk
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)

    def silent(self, seconds):
        """Say whether nothing is heard for a while."""
        return (
            b"\n" not in self._read and not select.select([self.process.stdout], [], [], seconds)[0]
        )

    def answer(self, identity, method, **params):
        """Ask, and return the answer."""
        self.ask(identity, method, **params)
        frame = self.hear()
        assert frame["id"] == identity, frame
        return frame

    def shake_hands(self, name="codex", version="2025-11-25"):
        info = {"name": name, "version": "1"}
        answer = self.answer(
            0, "initialize", protocolVersion=version, capabilities={}, clientInfo=info
        )
        self.say({"method": "notifications/initialized"})
        return answer["result"]

    def call(self, identity, query):
        self.ask(identity, "tools/call", name="yaad_recall", arguments={"query": query})

    def close(self):
        """Close our side; return what is heard until the end, the errors and the status."""
        self.process.stdin.close()
        heard = []
        while (frame := self.hear()) is not None:
            heard.append(frame)
        status = self.process.wait(PATIENCE_S)
        self._listening.join(PATIENCE_S)
        return heard, self._errors.decode(), status
