"""Who may talk to the daemon: processes of the user it runs as, and nobody else."""

import os
import socket

from yaadwatch.api.endpoint import peer_uid
from yaadwatch.model.errors import Code, YaadError


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
