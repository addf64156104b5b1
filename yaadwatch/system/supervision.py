"""What a service manager hands to the daemon, and what the daemon tells it: systemd's protocol.

A socket comes as an open descriptor, number 3 (sd_listen_fds(3)); news go as datagrams to the
socket that NOTIFY_SOCKET names (sd_notify(3)). Without a manager nothing comes and nobody is told.
"""

import os
import socket
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError

_FIRST_DESCRIPTOR: Final = 3
_OURS: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """Who started this process, as far as it cares.

    Args:
        listening: the socket that it keeps open for us over restarts; None: we make our own.
        address: where news go; empty: nobody wants any.
        watchdog_s: it ends us when it has not heard from us for so many seconds; None: it waits.
    """

    listening: socket.socket | None = None
    address: str = ""
    watchdog_s: float | None = None

    @property
    def path(self) -> Path | None:
        """Return where the socket that we were given is; None without one."""
        return None if self.listening is None else Path(str(self.listening.getsockname()))

    def tell(self, **news: object) -> bool:
        """Tell news such as READY=1; say whether they were taken. Never waits, never raises."""
        if not self.address:
            return False
        # An address that begins with '@' is none in the file system.
        address = "\0" + self.address[1:] if self.address[0] == "@" else self.address
        text = "\n".join(f"{name}={value}" for name, value in news.items())
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.setblocking(False)
            try:
                sending.sendto(text.encode("utf-8", "replace"), address)
            except OSError:
                return False
        return True


def take_over(environ: MutableMapping[str, str]) -> Manager:
    """Return what the manager handed over; nothing of it is left for children to find.

    Raises:
        YaadError: BAD_REQUEST when what was handed over is no Unix socket that listens.
    """
    said = {name: environ.pop(name, "") for name in _OURS}
    address = environ.pop("NOTIFY_SOCKET", "")
    own = str(os.getpid())
    listening = None
    if said["LISTEN_PID"] == own:
        listening = _listening(_whole(said["LISTEN_FDS"], 64))
    watchdog_us = _whole(said["WATCHDOG_USEC"], None) if said["WATCHDOG_PID"] in {"", own} else 0
    return Manager(
        listening=listening,
        address=address,
        watchdog_s=watchdog_us / 1e6 if watchdog_us else None,
    )


def _whole(text: str, most: int | None) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
    return number if most is None else min(number, most)


def _listening(count: int) -> socket.socket | None:
    """Return the one socket among those handed over that we can listen on; close the others."""
    found: socket.socket | None = None
    for descriptor in range(_FIRST_DESCRIPTOR, _FIRST_DESCRIPTOR + count):
        try:
            given = socket.socket(fileno=descriptor)
        except OSError as error:
            raise _odd(f"descriptor {descriptor} is no socket ({error.strerror})") from error
        given.set_inheritable(False)
        if found is None and _listens(given):
            found = given
        else:
            given.close()
    if count and found is None:
        raise _odd("none of them is a Unix stream socket that listens")
    return found


def _listens(given: socket.socket) -> bool:
    return (
        given.family == socket.AF_UNIX
        and given.type == socket.SOCK_STREAM
        and bool(given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    )


def _odd(why: str) -> YaadError:
    return YaadError(
        Code.BAD_REQUEST,
        f"The service manager handed over sockets that cannot be used: {why}."
        " The daemon did not start.",
        "Write the units anew: yaadwatch install",
    )
