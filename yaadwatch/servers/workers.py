"""Threads for blocking work, a few at a time for each folder, and which disk keeps them.

A network file system whose server is gone blocks every thread that touches it until it is
unmounted, and such a thread cannot be ended. So each folder has its own few threads to lose.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Final, TypeVar

from yaadwatch.model.settings import REQUESTS_AT_ONCE_MAX

THREADS_MAX: Final = 64
"""Threads of all folders together: some folders on disks that hang keep no other waiting."""
PATIENCE_S: Final = 2.0
"""A disk that has not answered by then is taken for one that hangs."""

R = TypeVar("R")


@dataclass(slots=True, eq=False)
class _Lane:
    room: asyncio.Semaphore
    users: int = 0
    running_since: list[float] = field(default_factory=list)


class Workers:
    """Runs blocking work in threads. Used on the loop.

    Args:
        per_key: pieces of work with the same key that run at the same time; others wait.
        threads_max: pieces of work that run at the same time.
    """

    def __init__(self, per_key: int = REQUESTS_AT_ONCE_MAX, threads_max: int = THREADS_MAX) -> None:
        self._per_key = per_key
        self._pool = ThreadPoolExecutor(threads_max, thread_name_prefix="verb")
        self._lanes: dict[Hashable, _Lane] = {}

    @property
    def busy(self) -> bool:
        """Return whether something runs or waits, also if its caller does not wait any more."""
        return bool(self._lanes)

    def late(self, seconds: float) -> list[Hashable]:
        """Return the keys of which something has run for longer than `seconds`. Any thread."""
        until = time.monotonic() - seconds
        lanes = tuple(self._lanes.items())
        return [key for key, lane in lanes if any(since < until for since in lane.running_since)]

    async def run(self, key: Hashable, work: Callable[[], R]) -> R:
        """Return what `work` returns. If cancelled before `work` began, it is not begun."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(asyncio.Semaphore(self._per_key))
        lane.users += 1
        loop = asyncio.get_running_loop()
        found: asyncio.Future[R] = loop.create_future()

        def begin() -> R | None:
            return None if found.cancelled() else work()

        def end(done: "Future[R | None]") -> None:
            lane.running_since.remove(since)
            lane.room.release()
            self._leave(key, lane)
            if found.done() or done.cancelled():
                return
            error = done.exception()
            if error is not None:
                found.set_exception(error)
            else:
                found.set_result(done.result())  # type: ignore[arg-type]

        def ended(done: "Future[R | None]") -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(end, done)

        try:
            await lane.room.acquire()
            submitted = self._pool.submit(begin)
        except BaseException:
            self._leave(key, lane)
            raise
        since = time.monotonic()
        lane.running_since.append(since)
        submitted.add_done_callback(ended)
        return await found

    def close(self) -> None:
        """Begin nothing more; what runs already runs on to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self, key: Hashable, lane: _Lane) -> None:
        lane.users -= 1
        if not lane.users:
            del self._lanes[key]


@dataclass(slots=True, eq=False)
class _Question:
    place: str
    answered: "asyncio.Future[None]"
    is_overdue: bool = False


class Disks:
    """Knows which disks do not answer. Used on the loop.

    Args:
        networks: the places at or below a folder that are on network file systems.
        around: the folders that an operation in a folder may touch besides, each before anything
            in it is looked at; the disks of those before it have answered by then.
        look: asks the disk that a folder is on for anything that only it can tell.
        patience_s: so long an answer is waited for.
    """

    def __init__(
        self,
        networks: Callable[[Path], Collection[Path]] = lambda _: (),
        around: Callable[[Path], Iterable[Path]] = lambda _: (),
        look: Callable[[str], object] = os.statvfs,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._networks = networks
        self._around = around
        self._look = look
        self._patience_s = patience_s
        self._questions: dict[str, _Question] = {}

    def hanging_at(self, folder: str) -> str:
        """Return the place at or above `folder` whose disk is known not to answer; '': none."""
        for question in self._questions.values():
            at = question.place.rstrip("/")
            if question.is_overdue and (folder == question.place or folder.startswith(f"{at}/")):
                return question.place
        return ""

    async def hanging_around(self, folder: str) -> str:
        """Ask the disks that an operation in `folder` may need; return the one that hangs, or ''.

        They are the network disks at, above and below the folder, its work trees and its
        repository. A folder has one question under way, in a thread of its own.
        """
        question = self._questions.get(folder)
        if question is None:
            loop = asyncio.get_running_loop()
            question = self._questions[folder] = _Question(folder, loop.create_future())
            question.answered.add_done_callback(lambda _: self._questions.pop(folder, None))
            Thread(
                target=self._ask, args=(folder, question, loop), name="disk", daemon=True
            ).start()
        if not question.is_overdue:
            await asyncio.wait([question.answered], timeout=self._patience_s)
        question.is_overdue = not question.answered.done()
        return question.place if question.is_overdue else ""

    def _ask(self, folder: str, question: _Question, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for every disk in question; in a thread of its own."""
        with contextlib.suppress(OSError):
            for place in self._in_question(Path(folder), question):
                question.place = str(place)
                with contextlib.suppress(OSError):  # an error is an answer
                    self._look(question.place)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(question.answered.set_result, None)

    def _in_question(self, folder: Path, question: _Question) -> Iterator[Path]:
        everywhere = self._networks(Path("/"))
        for one in chain((folder,), _later(self._around, folder)):
            yield from (place for place in everywhere if one.is_relative_to(place))
            question.place = str(one)  # a link in its name may lead to a disk that hangs
            yield from self._networks(one)


def _later(around: Callable[[Path], Iterable[Path]], folder: Path) -> Iterator[Path]:
    """Yield what is around a folder; nothing is looked up before the first is asked for."""
    yield from around(folder)
