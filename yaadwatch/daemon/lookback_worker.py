"""Runs the comparison of older statements, one project after the other."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from yaadwatch.daemon.supervisor import attempt, log_crash
from yaadwatch.model.errors import YaadError

_log: Final = logging.getLogger(__name__)


class Looker:
    """Compares in the projects it is woken for, some memories in each in turn; runs on the loop.

    Args:
        go_on: compares what is next in a project, in a thread; returns whether there was anything.
        on_found: called with a project whose memories may rest on other files now.
    """

    def __init__(self, go_on: Callable[[str], bool], on_found: Callable[[str], None]) -> None:
        self._go_on = go_on
        self._on_found = on_found
        self._woken: dict[str, None] = {}
        self._crashed: set[str] = set()
        self._news = asyncio.Event()

    def wake(self, project: str) -> None:
        """Look into a project's store; one that crashed us waits for the next daemon."""
        if project not in self._crashed:
            self._woken[project] = None
            self._news.set()

    async def run(self) -> None:
        """Compare until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._woken:
                project = next(iter(self._woken))
                del self._woken[project]
                error = await attempt(self._piece(project))
                if isinstance(error, YaadError):
                    _log.info("lookback.put_off", extra={"project": project, "error": str(error)})
                elif error is not None:
                    self._crashed.add(project)
                    effect = "it waits for the next start"
                    log_crash("lookback.failed", error, project=project, effect=effect)

    async def _piece(self, project: str) -> None:
        if await asyncio.to_thread(self._go_on, project):
            self._woken[project] = None
            self._on_found(project)
