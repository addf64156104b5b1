"""Compute missing vectors in the background, a batch at a time, and compare older statements.

The stores know which vectors are missing; this module only keeps which stores to look through.
Nothing is lost with the process: every store is looked through at the start and when the models
change.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from yaadwatch.daemon.supervisor import Health, attempt, log_crash
from yaadwatch.model.errors import YaadError
from yaadwatch.model.queries import Model
from yaadwatch.model.settings import FILL_BATCH
from yaadwatch.recall import vectors
from yaadwatch.system.embedding_process import NotEmbedded, NotTried
from yaadwatch.workspace.workspace import Home

TRIES_MAX: Final = 3
"""A memory that breaks the worker more often, alone, has no vector until the next start."""
PAUSE_S: Final = 6.0
"""After what went wrong, unless something new comes; twice that each time, up to the limit."""

_log: Final = logging.getLogger(__name__)


class Filler:
    """Fills the stores it is woken for. Methods run on the loop.

    Args:
        home: the stores.
        health: reports errors.
        pause_s: see `PAUSE_S`.
    """

    def __init__(self, home: Home, health: Health, *, pause_s: float = PAUSE_S) -> None:
        self._home = home
        self._health = health
        self._pause_s = pause_s
        self._news = asyncio.Event()
        self._news.set()  # at the start, everything is looked through
        self._woken: set[str] = set()
        self._full_of: Sequence[tuple[str, str]] | None = None
        self._broke: dict[tuple[str, str, int], int] = {}

    def wake(self, store: str) -> None:
        """Note that memories of a store may lack vectors; of the user's, that models may differ."""
        self._woken.add(store)
        self._news.set()

    async def run(self) -> None:
        """Fill until cancelled."""
        part, failures = "vectors", 0
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._fill()
            except YaadError as error:
                what = f"Vectors are not made: {error.message}"
                _log.warning("embedding.not_filled", extra={"error": error.message})
                self._health.degraded(part, what, mend="yaadwatch embed status")
                pause_s = min(self._pause_s * 2**failures, 600.0)
                try:
                    await asyncio.wait_for(self._news.wait(), pause_s)
                except TimeoutError:
                    failures += 1
                    self._news.set()
            else:
                failures = 0
                self._health.well(part)

    async def _fill(self) -> None:
        """Fill what is known to be missing.

        Raises:
            YaadError: a vector could not be made; everything is looked through the next time.
        """
        woken, self._woken = self._woken, set()
        wanted = await asyncio.to_thread(vectors.wanted, self._home)
        names = _names(wanted)
        known, self._full_of = self._full_of, None
        if names == known:
            for store in sorted(woken):
                for model in wanted:
                    await self._store(store, model)
            self._full_of = names
            return
        for store in await asyncio.to_thread(vectors.stores, self._home):
            try:
                await asyncio.to_thread(vectors.tidy, self._home, store)
            except YaadError:  # it cannot be opened, which `status` reports
                continue
            for model in wanted:
                await self._store(store, model)
                if vectors.USER in self._woken:
                    now = await asyncio.to_thread(vectors.wanted, self._home)
                    if _names(now) != names:
                        return  # others are wanted by now; they are filled next
        for model in wanted:
            if model.state == "filling":
                await asyncio.to_thread(vectors.take_over, self._home, model.space)
                _log.info("embedding.filled", extra={"model": model.space})
        self._full_of = names

    async def _store(self, store: str, model: Model) -> None:
        """Compute the missing vectors of one store."""
        after = 0
        while True:
            key = (store, model.space, after)
            size = FILL_BATCH if key not in self._broke else 1
            try:
                last = await asyncio.to_thread(vectors.batch, self._home, store, model, after, size)
            except NotTried:
                raise
            except NotEmbedded:
                self._broke[key] = self._broke.get(key, 0) + 1
                if self._broke[key] <= TRIES_MAX:
                    raise
                last = await asyncio.to_thread(vectors.skip, self._home, store, model, after)
                _log.error("embedding.skipped", extra={"model": model.space, "store": store})
            if not last:
                return
            after = last


def _names(wanted: Sequence[Model]) -> list[tuple[str, str]]:
    return [(model.space, model.state) for model in wanted]


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
