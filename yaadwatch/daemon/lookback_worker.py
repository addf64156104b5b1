"""Looks back, in one project after the other: what did its rules rest on when they were written?

What is still to be looked up stands in the stores; here is only which of them to ask. One that
could not be had is asked again once it was written to, or checked; one in which we fail ourselves,
three times at most.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from yaadwatch.daemon.supervisor import attempt, log_crash
from yaadwatch.model.errors import YaadError

CRASHES_MAX: Final = 3
"""A project in which nothing goes well between so many crashes is left to the next daemon."""

_log: Final = logging.getLogger(__name__)


class Looker:
    """Looks back in the projects it is woken for, a piece in each in turn. Methods run on the loop.

    Args:
        go_on: looks up what is next in a project, in a thread; returns when to go on: at once
            (zero: there was something), later, or never (None).
        on_found: called with a project whose memories may rest on other files now.
    """

    def __init__(
        self, go_on: Callable[[str], timedelta | None], on_found: Callable[[str], None]
    ) -> None:
        self._go_on = go_on
        self._on_found = on_found
        self._woken: dict[str, None] = {}
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._crashes: dict[str, int] = {}
        self._news = asyncio.Event()

    def wake(self, project: str) -> None:
        """Take note that something may be left to be looked up in a project's store."""
        if self._crashes.get(project, 0) >= CRASHES_MAX:
            return
        self._woken[project] = None
        self._news.set()

    async def run(self) -> None:
        """Look back until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._woken:
                project = next(iter(self._woken))
                del self._woken[project]
                if (timer := self._later.pop(project, None)) is not None:
                    timer.cancel()
                error = await attempt(self._piece(project))
                if isinstance(error, YaadError):
                    _log.info("lookback.put_off", extra={"project": project, "error": str(error)})
                elif error is not None:
                    self._crashed(project, error)

    async def _piece(self, project: str) -> None:
        again = await asyncio.to_thread(self._go_on, project)
        self._crashes.pop(project, None)
        if again == timedelta(0):
            self._woken[project] = None
            self._on_found(project)
        elif again is not None:
            loop = asyncio.get_running_loop()
            self._later[project] = loop.call_later(again.total_seconds(), self.wake, project)

    def _crashed(self, project: str, error: Exception) -> None:
        crashes = self._crashes[project] = self._crashes.get(project, 0) + 1
        left = CRASHES_MAX - crashes
        again = "it is tried again after the next change" if left else "it waits for the next start"
        log_crash("lookback.failed", error, project=project, effect=again)
