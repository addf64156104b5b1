"""Which folder a client works on, when its server was not started in a repository.

An editor starts the servers of its user settings in the home folder. Such a client is asked for the
roots of its workspace, once something is asked that needs a project.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from yaadwatch.api import frames
from yaadwatch.servers.mcp_arguments import folder_of

ROOTS_TIME_S: Final = 3.0
"""How long a client may take to answer."""
ROOTS_MAX: Final = 64
_ID: Final = "yaadwatch-roots"

IsWatched = Callable[[str], Awaitable[bool]]

_log: Final = logging.getLogger(__name__)


class Roots:
    """The folder that a client works on.

    Args:
        folder: that its server was started in, or told to work on.
        send: hands a line to the client.
        is_watched: says whether a folder is in a watched project.
    """

    def __init__(
        self, folder: str, send: Callable[[bytes], Awaitable[None]], is_watched: IsWatched
    ) -> None:
        self._start = folder
        self._send = send
        self._is_watched = is_watched
        self._offers = False
        self._is_ready = False
        self._asked = 0
        self._answer: asyncio.Future[object] | None = None
        self._finding: asyncio.Task[str] | None = None

    @property
    def offers(self) -> bool:
        """Return whether the client offers roots."""
        return self._offers

    def begin(self, capabilities: object) -> None:
        """Take note of what a client offers when it shakes hands."""
        self._offers = isinstance(capabilities, dict) and "roots" in capabilities
        self._is_ready = False
        self._finding = None

    def ready(self) -> None:
        """Take note that the handshake is over: from now on the client may be asked."""
        self._is_ready = True

    def changed(self) -> None:
        """Take note that the client has other roots now."""
        self._finding = None

    def hear(self, frame: Mapping[str, object]) -> bool:
        """Take an answer of the client; return whether it was ours to take."""
        if self._answer is None or frame.get("id") != f"{_ID}-{self._asked}":
            return False
        if not self._answer.done():
            self._answer.set_result(frame.get("result"))
        return True

    async def folder(self) -> str:
        """Return the folder that the client works on."""
        if not (self._offers and self._is_ready):
            return self._start
        if self._finding is None:
            self._finding = asyncio.ensure_future(self._find())
        # A request that is cancelled does not end the question for the others.
        return await asyncio.shield(self._finding)

    async def _find(self) -> str:
        is_home = self._start in (os.path.expanduser("~"), "/")  # noqa: PTH111
        if not is_home and await self._is_watched(self._start):
            return self._start
        roots = await self._ask()
        for root in roots:
            if await self._is_watched(root):
                _log.info("mcp.root_used", extra={"folder": root})
                return root
        if await self._is_watched(self._start):
            return self._start
        return roots[0] if roots else self._start

    async def _ask(self) -> list[str]:
        """Return the folders that the client names; none when it does not answer in time."""
        self._asked += 1
        self._answer = asyncio.get_running_loop().create_future()
        asked: dict[str, object] = {
            "jsonrpc": "2.0",
            "id": f"{_ID}-{self._asked}",
            "method": "roots/list",
        }
        try:
            await self._send(frames.encode(asked))
            found = await asyncio.wait_for(self._answer, ROOTS_TIME_S)
        except TimeoutError:
            _log.info("mcp.no_roots")
            return []
        finally:
            self._answer = None
        listed = found.get("roots") if isinstance(found, dict) else None
        uris = [one.get("uri") for one in listed or () if isinstance(one, dict)][:ROOTS_MAX]
        folders = (folder_of(uri) for uri in uris if isinstance(uri, str))
        return [one for one in folders if os.path.isabs(one)]  # noqa: PTH117
