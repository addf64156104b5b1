"""The two ends of a Unix socket: an address the kernel takes, and who is on the other side."""

import os
import socket
import sys

from yaadwatch.model.errors import Code, YaadError

PATH_BYTES_MAX = 107 if sys.platform == "linux" else 103
"""The longest socket path the kernel takes, in bytes."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def at_address(path: str, act: "Callable[[str], None]") -> None:
    """Call `act`, the `bind` or `connect` of a socket, with an address for `path`.

    A longer path than the kernel takes is reached through an open descriptor of its folder.

    Raises:
        YaadError: unavailable, when the path is too long and this system has no such way.
        OSError: what `act` raises, or the folder cannot be opened.
    """
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        act(path)
        return
    if sys.platform != "linux":
        raise YaadError(
            Code.UNAVAILABLE,
            f"The socket path {path} is longer than the {PATH_BYTES_MAX} bytes that fit here.",
            hint="Set YAAD_HOME to a folder with a shorter path.",
        )
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        act(f"/proc/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)


def peer_uid(connected: socket.socket) -> int:
    """Return the user id of the process at the other end, as the kernel knows it.

    Raises:
        OSError: the kernel does not say, for instance because the other end is gone.
    """
    if sys.platform == "linux":
        found = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(found[4:8], sys.byteorder)
    # LOCAL_PEERCRED at level SOL_LOCAL (0): struct xucred {u_int version; uid_t uid; ...}.
    found = connected.getsockopt(0, 1, 76)
    return int.from_bytes(found[4:8], sys.byteorder)


def require_same_user(connected: socket.socket) -> None:
    """Return when the other end of `connected` runs as this process's user.

    Raises:
        YaadError: refused, for every other user, root included.
        OSError: the kernel does not say who it is.
    """
    uid = peer_uid(connected)
    if uid != os.geteuid():
        raise YaadError(
            Code.REFUSED,
            f"This daemon serves user {os.geteuid()}; user {uid} was not served.",
            hint="Run the command as the user who owns the daemon; each user has their own.",
        )
