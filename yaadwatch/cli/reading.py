"""The client of commands: starts a daemon, and reads by itself when none can be had."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from yaadwatch.client.connection import Client, NobodyListens, Silent
from yaadwatch.model.errors import YaadError


class Reader(Client):
    """Asks the daemon; where `start` fails, what only reads is answered from the stores.

    Args:
        cwd, agent, on_wait: as for `Client`.
        start: starts a daemon.
        on_alone: told why no daemon can be had, once, before something is answered without.
    """

    def __init__(
        self,
        *,
        cwd: str,
        agent: str | None = None,
        start: Callable[[], object],
        on_wait: Callable[[int], object],
        on_alone: Callable[[YaadError], object],
    ) -> None:
        super().__init__(cwd=cwd, agent=agent, start=self._begin, on_wait=on_wait)
        self._folder = Path(cwd)
        self._begin_daemon = start
        self._on_alone = on_alone
        self._why: YaadError | None = None
        self._is_alone = False

    def call(self, operation: str, /, **fields: object) -> dict[str, Any]:
        """Ask for `operation` and return its answer; as `Client.call`."""
        try:
            if not self._is_alone:
                return super().call(operation, **fields)
        except Silent as error:
            self._why = error  # it hangs, and the stores may still be read
        except YaadError as error:
            if error is not self._why:
                raise
        from yaadwatch import alone

        if self._why is None or not alone.can_answer(operation):
            raise self._why or NobodyListens
        if not self._is_alone:
            self._is_alone = True
            self._on_alone(self._why)
        return alone.answer(operation, fields, self._folder)

    def now(self) -> datetime:
        """Return the present time by the clock that the times in answers are of."""
        if not self._is_alone:
            return super().now()
        from yaadwatch import alone

        return alone.now()

    def _begin(self) -> None:
        try:
            self._begin_daemon()
        except YaadError as error:
            self._why = error
            raise
