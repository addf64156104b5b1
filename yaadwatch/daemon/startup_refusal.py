"""A daemon that cannot start, and was handed a socket, tells those who wait there why.

Otherwise they would wait for nothing; and the manager, which sees them waiting, would start us at
once, again and again. The door is kept for a while, then the manager may try anew.
"""

import logging
import select
import socket
import time
from typing import Final

from yaadwatch.api.endpoint import require_same_user
from yaadwatch.api.frames import encode, failure
from yaadwatch.model.errors import YaadError

KEPT_S: Final = 10.0
_LINE_S: Final = 0.2
"""A client has so long to say its first line; who closes without reading it may lose ours."""
_LINE_BYTES_MAX: Final = 65_536

_log: Final = logging.getLogger(__name__)


def turn_away(listening: socket.socket, error: YaadError, *, seconds: float = KEPT_S) -> int:
    """Tell everybody who connects within `seconds` why they are not served; return how many."""
    line = encode(failure(None, error))
    until = time.monotonic() + seconds
    told = 0
    listening.setblocking(False)
    while (left := until - time.monotonic()) > 0:
        if not select.select([listening], [], [], left)[0]:
            break
        try:
            visitor, _ = listening.accept()
        except OSError as gone:
            _log.debug("socket.client_left", extra={"reason": str(gone)})
            continue
        with visitor:
            told += _told(visitor, line)
    return told


def _told(visitor: socket.socket, line: bytes) -> bool:
    visitor.settimeout(_LINE_S)
    try:
        require_same_user(visitor)
        visitor.recv(_LINE_BYTES_MAX)
        visitor.sendall(line)
    except (OSError, YaadError) as refused:
        _log.debug("socket.refused_client", extra={"reason": str(refused)})
        return False
    return True
