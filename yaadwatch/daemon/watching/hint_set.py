"""What did the watcher tell since the loop last looked? A bounded set between two threads.

A storm of hints must not wake the loop for each of them: it is woken when it waits for nothing
else, and looks again by itself while it has something under way.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HEARD_MAX: Final = 20_000
"""More different names than this between two looks count as lost hints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Names in folders, with the instant they were last told; `lost`: some were not heard."""

    hints: Mapping[tuple[Path, str], float]
    lost: bool


class Hearing:
    """Takes hints in the watcher's thread, gives them to the loop it was made in.

    Args:
        cares: whether a name in a folder means anything to anybody; must be quick.
        monotonic_s: the clock of hints.
    """

    def __init__(
        self, cares: Callable[[Path, str], bool], monotonic_s: Callable[[], float]
    ) -> None:
        self._cares = cares
        self._monotonic_s = monotonic_s
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._lock = threading.Lock()
        self._hints: dict[tuple[Path, str], float] = {}
        self._lost = False
        self._waiting = False

    def __bool__(self) -> bool:
        return bool(self._hints) or self._lost

    def hint(self, folder: Path, name: str) -> None:
        """Take a hint. Called by the watcher's thread, thousands of times a second at worst."""
        if not self._cares(folder, name):
            return
        with self._lock:
            if len(self._hints) < HEARD_MAX:
                self._hints[folder, name] = self._monotonic_s()
            else:
                self._lost = True
        self._wake()

    def overflow(self) -> None:
        """Take note of lost hints. Called by the watcher's thread."""
        self._lost = True
        self._wake()

    def take(self) -> Heard:
        """Return what was heard since the last time."""
        with self._lock:
            heard = Heard(hints=self._hints, lost=self._lost)
            self._hints, self._lost = {}, False
        return heard

    def nudge(self) -> None:
        """Let `pause` return soon. Called on the loop."""
        self._news.set()

    async def pause(self, seconds: float | None) -> None:
        """Return after `seconds`, or when nudged; hints end only a wait without end (None)."""
        if seconds is None:
            self._waiting = True
            if self:  # heard before we said that we wait, so nobody woke us
                return
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return
        self._news.clear()

    def _wake(self) -> None:
        if self._waiting:
            self._waiting = False
            self._loop.call_soon_threadsafe(self._news.set)
