"""The daemon's Unix socket: permissions, connection limits, time limits and shutdown.

The caller of `start` holds the daemon's lock, so a socket file on which no daemon answers is left
over from a dead daemon and is removed.
"""

import asyncio
import logging
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from yaadwatch.api.frames import at_address, require_same_user
from yaadwatch.daemon.connection import Connection, Limits, Serving
from yaadwatch.model.errors import Code, YaadError

_log: Final = logging.getLogger(__name__)


class LocalSocket:
    """Listens on `path` and serves every connection until `close`.

    Args:
        path: where the socket is; its folder is made when it is missing.
        serving: what every connection is served with.
        limits: what a connection may take.
        listening: a socket on `path` that the service manager made and keeps; None: make one.
    """

    def __init__(
        self,
        path: Path,
        serving: Serving,
        *,
        limits: Limits | None = None,
        listening: socket.socket | None = None,
    ) -> None:
        self.path = path
        self._given = listening
        self._is_ours = listening is None
        self._service = serving
        self._limits = limits or Limits()
        self._server: asyncio.Server | None = None
        self._file: tuple[int, int] | None = None
        self._running: dict[Connection, asyncio.Task[None]] = {}
        self._served: set[Connection] = set()

    async def start(self) -> None:
        """Listen.

        Raises:
            YaadError: refused, when the folder is not ours alone or a process answers there
                already; unavailable, when the path is too long for this system.
            OSError: the folder or the socket cannot be made.
        """
        given, self._given = self._given, None
        if given is not None and not _is_reached(self.path):
            # Its file was deleted under the manager, which keeps a socket without a path.
            _log.warning("socket.given_is_lost", extra={"path": str(self.path)})
            given.close()
            given = None
        self._is_ours = given is None
        listening = given or _listen(self.path, self._limits.connections_max)
        self._file = _identity(self.path)
        # From 3.13 on asyncio removes the file of a socket that it closes, unless forbidden.
        keep: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
        self._server = await asyncio.start_unix_server(
            self._connected,
            sock=listening,
            backlog=self._limits.connections_max,
            limit=self._limits.frame_bytes_max,
            **keep,
        )

    async def renew(self) -> bool:
        """Listen again if the socket file is missing or not ours; return whether that was so.

        Open connections stay open.
        """
        server = self._server
        if server is None or _identity(self.path) == self._file:
            return False
        await _stop_listening(server)
        if self._server is not server:
            return False  # we are closed by now
        await self.start()
        _log.warning("socket.renewed", extra={"path": str(self.path)})
        return True

    async def close(self, grace: timedelta = timedelta(seconds=2)) -> None:
        """Stop listening, let what runs be answered for `grace`, then end every connection."""
        server, self._server = self._server, None
        if server is None:
            return
        await _stop_listening(server)
        if self._is_ours and _identity(self.path) == self._file:
            self.path.unlink(missing_ok=True)
        running = dict(self._running)
        await asyncio.gather(*(connection.end(grace) for connection in running))
        await asyncio.gather(*running.values(), return_exceptions=True)

    @property
    def connections(self) -> int:
        """How many clients are served."""
        return len(self._served)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client that has connected, or send why not."""
        connection = Connection(reader, writer, self._service, self._limits)
        refusal = self._refusal(writer)
        if refusal is None:
            self._served.add(connection)
        else:
            _log.warning("socket.refused_client", extra={"reason": refusal.message})
        task = asyncio.create_task(connection.run(refusal))
        self._running[connection] = task
        task.add_done_callback(lambda _: self._gone(connection))

    def _gone(self, connection: Connection) -> None:
        self._running.pop(connection, None)
        self._served.discard(connection)

    def _refusal(self, writer: asyncio.StreamWriter) -> YaadError | None:
        try:
            require_same_user(writer.get_extra_info("socket"))
        except YaadError as error:
            return error
        except OSError as error:
            return YaadError(Code.REFUSED, f"The kernel does not say who connected: {error}.")
        if len(self._served) < self._limits.connections_max:
            return None
        return YaadError(
            Code.UNAVAILABLE,
            f"{self._limits.connections_max} clients are connected, and no more are served.",
            hint="Try again in a moment.",
        )


async def _stop_listening(server: asyncio.Server) -> None:
    """Stop listening, once accepted clients are connected.

    asyncio leaves connections open that a server accepted right before it was closed.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    # Turns of the loop from accepting a client to calling `_connected`.
    for _ in range(3):
        await asyncio.sleep(0)
    server.close()


def _listen(path: Path, backlog: int) -> socket.socket:
    """Return a socket that listens on `path`, created with mode 0600."""
    with _umask(0o077):
        _own_folder(path.parent)
    _remove_left_over(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _umask(0o177):
            at_address(str(path), listening.bind)
        listening.listen(backlog)
    except BaseException:
        listening.close()
        raise
    return listening


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _own_folder(folder: Path) -> None:
    """Create `folder`, or check that it is ours and closed to other users."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise YaadError(
            Code.REFUSED,
            f"{folder} is a link or belongs to user {found.st_uid}; no socket was made in it.",
            hint="Remove it, or set YAAD_HOME to a folder of your own.",
        )
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def _remove_left_over(path: Path) -> None:
    """Remove the socket file of a dead daemon; refuse anything else."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise YaadError(
            Code.REFUSED,
            f"{path} is no socket; it was left alone.",
            hint="Move it away, then start the daemon again.",
        )
    if _is_reached(path):
        raise YaadError(Code.REFUSED, f"Another process answers on {path}; it was left alone.")
    path.unlink(missing_ok=True)


def _is_reached(path: Path) -> bool:
    """Return whether a process listens on `path`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            at_address(str(path), probe.connect)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except BlockingIOError:
            pass  # its queue is full, so a process listens
    return True


def _identity(path: Path) -> tuple[int, int] | None:
    """Return an identity that differs for a later file of the same name."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
