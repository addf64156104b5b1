"""A small server for tests: the real socket, the real dispatch, verbs that are plain functions."""

import asyncio
import json
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

from waiting import PATIENCE_S

from yaadwatch.client.connection import Client
from yaadwatch.daemon.connection import Limits, Serving
from yaadwatch.daemon.dispatch import Dispatcher, Late
from yaadwatch.daemon.local_socket import LocalSocket
from yaadwatch.model.errors import Code, YaadError

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


async def silence(after):
    """Events of a daemon to which nothing happens."""
    yield {"cursor": after or "0"}
    await asyncio.Event().wait()


class Log:
    """What happens in the stores, as the daemon tells it."""

    def __init__(self):
        self.listeners = 0
        self._happened = []

    def add(self, kind, project="p1"):
        self._happened.append({"cursor": "1", "project": project, "kind": kind})

    async def events(self, after):
        told = len(self._happened)
        self.listeners += 1
        try:
            yield {"cursor": "0"}
            while True:
                while told < len(self._happened):
                    yield self._happened[told]
                    told += 1
                await asyncio.sleep(0.005)
        finally:
            self.listeners -= 1


class OneProject:
    """A home in which one folder is watched."""

    def __init__(self, folder):
        self._folder = str(folder)

    def project_at(self, folder):
        if str(folder) != self._folder:
            raise YaadError(Code.NOT_FOUND, "/x is not watched.", hint="yaadwatch add /x")
        return SimpleNamespace(id="p1"), None


def by_fields(verbs):
    """Return verbs of the server for functions that take the fields of their request by name."""

    def taking(verb):
        if isinstance(verb, Late):
            return verb
        return lambda home, call, *ask: verb(home, call, **dict(*map(vars, ask)))

    return {name: taking(verb) for name, verb in verbs.items()}


class Served:
    """A server in a thread of its own, on `path`."""

    def __init__(self, path, verbs, *, events=silence, limits=None, home=None, wide=()):
        self.path = Path(path)
        self.stopping = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._dispatcher = Dispatcher(
            home, lambda text: text.replace("s3cret", "[masked]"), verbs=by_fields(verbs)
        )
        self.server = self.do(self._make, events, limits, wide)

    async def _make(self, events, limits, wide):
        serving = Serving(
            dispatcher=self._dispatcher,
            version="9.9",
            now=lambda: NOON,
            events=events,
            on_shutdown=self.stopping.set,
            wide=wide,
        )
        return LocalSocket(self.path, serving, limits=limits or Limits())

    def break_workers(self):
        """Let no verb run any more, as after an error that nothing foresees."""
        self._dispatcher.close()

    def do(self, act, *arguments):
        """Run a coroutine function on the server's loop; return what it returns."""
        return asyncio.run_coroutine_threadsafe(act(*arguments), self._loop).result(PATIENCE_S)

    def __enter__(self):
        self.do(self.server.start)
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Stop as the daemon would."""
        if self._loop.is_closed():
            return
        self.do(self.server.close)
        self._dispatcher.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()


class Wire:
    """A client that says exactly what it is told to."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.lines.close()
        self.socket.close()

    def greet(self, **wrong):
        """Say hello; return what the server says."""
        said = {"protocol": 1, "client": "wire/1", "cwd": "/", "agent": None, "speaks": "rpc"}
        self.say(said | wrong)
        return self.hear()

    def ask(self, identity, method, **params):
        """Send a request; do not wait for the answer."""
        self.say({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})

    def say(self, frame):
        """Send one line."""
        self.send(json.dumps(frame).encode() + b"\n")

    def send(self, data):
        """Send bytes."""
        self.socket.sendall(data)

    def hear(self):
        """Return the next line, or None at the end."""
        line = self.lines.readline()
        return json.loads(line) if line else None


def client(**options):
    """Return a client for the root folder."""
    return Client(**({"cwd": "/"} | options))
