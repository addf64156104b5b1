"""What files were before they were replaced, kept open for those who still write to them.

Who opened a file before its name was given to another one writes on to what it was. It is looked at
for a while, so that nothing of that is lost.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Container, Hashable, Iterator
from typing import Final

_FORGOTTEN_S: Final = 60.0
"""What a file was is not kept longer, also when nobody has looked at it since."""


class Former:
    """What a file was before it was replaced, kept open for those who still write to it.

    Args:
        descriptor: of the former file, open for reading; closed by `close`.
        held: what it held when it was replaced.
    """

    def __init__(self, descriptor: int, held: bytes) -> None:
        self._descriptor = descriptor
        self.held = held

    def written(self, bytes_max: int) -> bytes | None:
        """Return what it holds now, at most `bytes_max`; None when nobody wrote since."""
        size = os.fstat(self._descriptor).st_size
        now = os.pread(self._descriptor, min(size, bytes_max), 0)
        return None if now == self.held else now

    @property
    def is_written(self) -> bool:
        """Whether it holds something else now."""
        return self.written(len(self.held) + 1) is not None

    def close(self) -> None:
        """Let it go."""
        os.close(self._descriptor)


class Formers:
    """The former selves of files that were replaced lately. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Hashable, list[tuple[Former, float]]] = {}

    def add(self, place: Hashable, former: Former, *, until_s: float) -> None:
        """Keep what the file at `place` was until a time of the monotonic clock.

        Those that nobody has looked at for long, as of a project that was removed, go.
        """
        with self._lock:
            for other, found in list(self._open.items()):
                if found[-1][1] < until_s - _FORGOTTEN_S:
                    for old, _ in self._open.pop(other):
                        old.close()
            self._open.setdefault(place, []).append((former, until_s))

    @contextlib.contextmanager
    def look(self, place: Hashable, *, now_s: float) -> Iterator[list[Former]]:
        """Lend what the file at `place` was; those whose time is over go afterwards.

        When looking fails, they are kept for the next time.
        """
        with self._lock:
            found = self._open.pop(place, [])
        left = found
        try:
            yield [former for former, _ in found]
            left = [(former, until_s) for former, until_s in found if until_s > now_s]
            for former, until_s in found:
                if until_s <= now_s:
                    former.close()
        finally:
            if left:
                with self._lock:
                    self._open.setdefault(place, []).extend(left)

    def forget(self, says: Callable[[bytes], bool]) -> None:
        """Let those go that held what `says` looks for, unless somebody has written to them since.

        What was written to one is a person's, and kept until it is in the file that is there now.
        """
        with self._lock:
            for place, found in list(self._open.items()):
                gone = [one for one, _ in found if says(one.held) and not one.is_written]
                left = [(one, until_s) for one, until_s in found if one not in gone]
                for one in gone:
                    one.close()
                if left:
                    self._open[place] = left
                else:
                    del self._open[place]

    def waits(self, places: Container[Hashable]) -> bool:
        """Tell whether any of these has a former self that may still be written to."""
        with self._lock:
            return any(place in places for place in self._open)

    def close(self) -> None:
        """Let all of them go."""
        with self._lock:
            for found in self._open.values():
                for former, _ in found:
                    former.close()
            self._open.clear()
