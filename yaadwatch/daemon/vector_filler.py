"""Compute missing vectors in the background, a batch at a time, and compare older statements.

The stores know which vectors are missing; this module only keeps which stores to look at. Nothing
is lost with the process: every store is looked through at the start and when the models change.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from yaadwatch.daemon.supervisor import Health, attempt, log_crash
from yaadwatch.model.errors import YaadError
from yaadwatch.model.queries import Model
from yaadwatch.model.settings import FILL_BATCH
from yaadwatch.system.embedding_process import NotEmbedded, NotTried

IDS_MAX: Final = 512
"""More memories than this that are new in one store are found by looking through it."""
TRIES_MAX: Final = 3
"""A memory that breaks the worker more often, alone, has no vector until the next start."""
PAUSE_S: Final = 6.0
"""After what went wrong, unless something new comes; twice that each time, up to the limit."""
PAUSE_S_MAX: Final = 600.0
_PART: Final = "vectors"

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbs:
    """What does the work; plain functions, run in threads.

    Args:
        user: the name of the user store.
        wanted: the models that every living memory should have a vector of.
        stores: the names of all stores.
        batch: make the next vectors of a store, after a number, at most so many; returns the last
            number, 0 at the end.
        skip: the number of the next memory without a vector.
        these: make the vectors of some memories.
        take_over: have the model that was being filled answer questions.
        tidy: remove from a store what no model needs.
    """

    user: str
    wanted: Callable[[], Sequence[Model]]
    stores: Callable[[], Sequence[str]]
    batch: Callable[[str, Model, int, int], int]
    skip: Callable[[str, Model, int], int]
    these: Callable[[str, Model, Iterable[str]], None]
    take_over: Callable[[str], bool]
    tidy: Callable[[str], int]


class Filler:
    """Fills the stores it is given. Methods run on the loop.

    Args:
        verbs: what does the work.
        health: reports errors.
        pause_s: see `PAUSE_S`.
    """

    def __init__(self, verbs: Verbs, health: Health, *, pause_s: float = PAUSE_S) -> None:
        self._verbs = verbs
        self._health = health
        self._pause_s = pause_s
        self._news = asyncio.Event()
        self._news.set()  # at the start, everything is looked through
        self._changed: dict[str, set[str]] = {}
        self._user_store_written = True
        self._full_of: tuple[tuple[str, str], ...] | None = None
        self._failures = 0
        self._broke: dict[tuple[str, str, int], int] = {}

    def remembered(self, store: str, node: str) -> None:
        """Note that a memory is new, or reads otherwise."""
        ids = self._changed.setdefault(store, set())
        if len(ids) <= IDS_MAX:
            ids.add(node)
        self._news.set()

    def user_store_written(self) -> None:
        """Note that other models may be wanted, and that the person's own memories may be new."""
        self._user_store_written = True
        self._news.set()

    async def run(self) -> None:
        """Fill until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._fill()
            except YaadError as error:
                await self._go_wrong(error)
            else:
                self._failures = 0
                self._health.well(_PART)

    async def _fill(self) -> None:
        """Fill what is known to be missing.

        Raises:
            YaadError: a vector could not be made; everything is looked through the next time.
        """
        changed, self._changed = self._changed, {}
        written, self._user_store_written = self._user_store_written, False
        wanted = await asyncio.to_thread(self._verbs.wanted)
        known, self._full_of = self._full_of, None
        if known != _names(wanted):
            if not await self._everything(wanted):
                return
        else:
            for model in wanted:
                if written:
                    await self._store(self._verbs.user, model)
                for store, ids in changed.items():
                    await self._some(store, model, ids)
        self._full_of = _names(wanted)

    async def _everything(self, wanted: Sequence[Model]) -> bool:
        """Fill every store; return whether the wanted models stayed the same."""
        for store in await asyncio.to_thread(self._verbs.stores):
            try:
                await asyncio.to_thread(self._verbs.tidy, store)
            except YaadError:  # it cannot be opened, which `status` reports
                continue
            for model in wanted:
                await self._store(store, model)
                if self._user_store_written and await self._changed_their_mind(wanted):
                    return False
        for model in wanted:
            if model.state == "filling" and await asyncio.to_thread(
                self._verbs.take_over, model.space
            ):
                _log.info("embedding.filled", extra={"model": model.space})
        return True

    async def _store(self, store: str, model: Model) -> None:
        """Compute the missing vectors of one store."""
        after = 0
        while True:
            key = (store, model.space, after)
            size = FILL_BATCH if key not in self._broke else 1
            try:
                last = await asyncio.to_thread(self._verbs.batch, store, model, after, size)
            except NotTried:
                raise
            except NotEmbedded:
                self._broke[key] = self._broke.get(key, 0) + 1
                if self._broke[key] <= TRIES_MAX:
                    raise
                last = await asyncio.to_thread(self._verbs.skip, store, model, after)
                _log.error("embedding.skipped", extra={"model": model.space, "store": store})
            if not last:
                return
            after = last

    async def _some(self, store: str, model: Model, ids: set[str]) -> None:
        if len(ids) > IDS_MAX:
            await self._store(store, model)
        else:
            await asyncio.to_thread(self._verbs.these, store, model, ids)

    async def _changed_their_mind(self, wanted: Sequence[Model]) -> bool:
        """Return whether other models are wanted by now; they are filled next."""
        if _names(await asyncio.to_thread(self._verbs.wanted)) == _names(wanted):
            return False
        self._news.set()
        return True

    async def _go_wrong(self, error: YaadError) -> None:
        """Report an error, and wait until a retry may work or there is new work."""
        _log.warning("embedding.not_filled", extra={"error": error.message})
        self._health.degraded(
            _PART, f"Vectors are not made: {error.message}", mend="yaadwatch embed status"
        )
        self._full_of = None
        pause_s = min(self._pause_s * 2**self._failures, PAUSE_S_MAX)
        try:
            await asyncio.wait_for(self._news.wait(), pause_s)
        except TimeoutError:  # many news in a moment are no reason to wait for minutes
            self._failures += 1
        self._news.set()


def _names(wanted: Sequence[Model]) -> tuple[tuple[str, str], ...]:
    return tuple((model.space, model.state) for model in wanted)


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
