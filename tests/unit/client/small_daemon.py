"""A stand-in for the daemon: takes the lock, answers `status` and `shutdown`, and nothing else.

Run as a program; with an argument it says so and ends before it answers.
"""

import asyncio
import fcntl
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from yaadwatch import places
from yaadwatch.daemon.connection import Serving
from yaadwatch.daemon.dispatch import Dispatcher
from yaadwatch.daemon.local_socket import LocalSocket


async def silence(after):
    """Events of a daemon to which nothing happens."""
    await asyncio.Event().wait()
    yield {}


def status(home, call):
    """Say what a client started."""
    return {
        "daemon": {"running": True, "pid": os.getpid(), "version": "9.9"},
        "projects": [],
        "jobs": [],
        "search": "words",
        "problems": [],
        "environment": sorted(os.environ),
        "folder": os.getcwd(),
        "leads_session": os.getsid(0) == os.getpid(),
    }


async def serve():
    """Serve until told to stop."""
    stopping = asyncio.Event()
    dispatcher = Dispatcher(None, str, verbs={"status": status})
    server = LocalSocket(
        places.default_socket(),
        Serving(
            dispatcher=dispatcher,
            version="9.9",
            now=lambda: datetime(2026, 11, 21, 12, tzinfo=UTC),
            events=silence,
            on_shutdown=stopping.set,
        ),
    )
    await server.start()
    await stopping.wait()
    await server.close()
    dispatcher.close()


def main():
    """Take the lock and serve; 4 when another one holds it."""
    if len(sys.argv) > 1:
        print("\n".join(sys.argv[1:]), file=sys.stderr)
        return 1
    places.data_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(places.lock_file(), "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another daemon holds the lock", file=sys.stderr)
            return 4
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n{places.default_socket()}\n")
        lock.flush()
        asyncio.run(serve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
