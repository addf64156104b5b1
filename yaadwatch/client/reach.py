"""A connection to the daemon, for those who cannot wait until `socket` is imported.

Standard library only: the shim and the hooks are run with the folder that this lies in, and nothing
else.
"""

import os
import sys

# The C module beneath `socket`, which takes longer to import than everything else here together.
from _socket import AF_UNIX, SOCK_STREAM, SOL_SOCKET, socket

from yaadwatch import places

_PATH_BYTES_MAX = 103


def reach() -> socket | None:
    """Return a connection to a process of our own user that listens where a daemon would, or None.

    Raises:
        BlockingIOError: it is too busy to take a connection just now.
        PermissionError: another user's process listens there.
    """
    for path in places.sockets():
        connected = socket(AF_UNIX, SOCK_STREAM)
        try:
            connected.setblocking(False)
            _connect(connected, path)
            uid = _peer_uid(connected)
        except BlockingIOError:
            connected.close()
            raise
        except OSError:
            connected.close()
            continue
        if uid != os.geteuid():
            connected.close()
            raise PermissionError(
                f"The process that listens on {path} belongs to user {uid}; nothing was sent to it."
            )
        return connected
    return None


def _connect(connecting: socket, path: str) -> None:
    """Connect; a longer path than the kernel takes is reached through its folder."""
    if len(os.fsencode(path)) <= _PATH_BYTES_MAX or sys.platform != "linux":
        connecting.connect(path)
        return
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connecting.connect(f"/proc/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)


def _peer_uid(connected: socket) -> int:
    if sys.platform == "linux":
        from _socket import SO_PEERCRED

        return int.from_bytes(connected.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)[4:8], sys.byteorder)
    return int.from_bytes(connected.getsockopt(0, 1, 76)[4:8], sys.byteorder)  # LOCAL_PEERCRED
