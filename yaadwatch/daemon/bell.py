"""From the threads that write to stores to the loop: this store was written."""

import asyncio
import threading
from collections.abc import Callable


class Bell:
    """Carries the news that a store was written from any thread to the loop it was made in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._open = True
        self._hear: Callable[[str], None] = _nobody

    def ring(self, store: str) -> None:
        """Tell that a store was written; nobody hears it once the daemon ends."""
        with self._lock:
            if self._open:
                self._loop.call_soon_threadsafe(self._hear, store)

    def answer(self, hear: Callable[[str], None]) -> None:
        """Have `hear` called on the loop for each store that is written from now on."""
        self._hear = hear

    def close(self) -> None:
        """Call nobody any more."""
        with self._lock:
            self._open = False


def _nobody(store: str) -> None:
    """Hear nothing: the parts are still being made."""
