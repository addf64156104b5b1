"""The clock, ids that sort by creation time, and calls bounded in time.

No other module reads the clock. Calls that may never return, such as on a network file system whose
server is gone, run in a thread that the caller can give up on.
"""

import secrets
import threading
import time
from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta
from typing import Final, Generic, TypeVar

_RANDOM_BITS: Final = 74
"""Random bits of a UUIDv7: all but 48 bits of milliseconds, version and variant."""


class Clock:
    """The clock of this machine."""

    def __init__(self) -> None:
        self._making = threading.Lock()
        self._last = 0

    def now(self) -> datetime:
        """Return the time in UTC, aware, cut to milliseconds, as in stores and answers."""
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=self.now_ns() // 1_000_000)

    def now_ns(self) -> int:
        """Return the time as Unix nanoseconds, to compare with those of files."""
        return time.time_ns()

    def monotonic_s(self) -> float:
        """Return seconds since some start. Never decreases; may pause during suspend."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Let time pass, at least `seconds` (0 or more)."""
        time.sleep(seconds)

    def new_id(self) -> str:
        """Return a UUIDv7, greater than all before from this clock, even if time went back.

        Its last eight digits are random, so people can tell ids apart by their ends.
        """
        fresh = self.now_ns() // 1_000_000 << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
        with self._making:
            self._last = max(fresh, self._last + 1 + secrets.randbits(32))
            return _as_uuid(self._last)


def _as_uuid(number: int) -> str:
    """Spread milliseconds and random bits around the version and the variant (RFC 9562)."""
    high, low = number >> 62, number & (1 << 62) - 1
    milliseconds, middle = high >> 12, high & 0xFFF
    digits = f"{milliseconds << 80 | 0x7 << 76 | middle << 64 | 0b10 << 62 | low:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def thread_cpu_s() -> float:
    """Return the processor time of the calling thread so far, in seconds."""
    return time.thread_time()


PATIENCE_S: Final = 2.0
PATIENCE_STEPS: Final = 20
"""Waits that a patience is divided into: one passes while the whole process is held up."""

T = TypeVar("T")


class _Asked(Generic[T]):
    def __init__(self, until_s: float) -> None:
        self.until_s = until_s
        self.over = threading.Event()
        self.answer: T | None = None


class Patience(Generic[T]):
    """Runs calls in threads and waits a limited time for their results. Thread-safe.

    At most one thread waits for each call, and its time runs from the first that asks.
    """

    def __init__(self, seconds: float = PATIENCE_S) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._open: dict[Hashable, _Asked[T]] = {}

    def ask(self, question: Hashable, work: Callable[[], T | None]) -> T | None:
        """Return the result of `work`; None when it takes too long, or fails."""
        with self._lock:
            asked = self._open.get(question)
            if asked is None:
                asked = self._open[question] = _Asked(time.monotonic() + self._seconds)
                arguments = (question, work, asked)
                threading.Thread(
                    target=self._wait, args=arguments, name="patience", daemon=True
                ).start()
        step_s = self._seconds / PATIENCE_STEPS
        for _ in range(round((asked.until_s - time.monotonic()) / step_s)):
            if asked.over.wait(step_s):
                break
        return asked.answer

    def _wait(self, question: Hashable, work: Callable[[], T | None], asked: _Asked[T]) -> None:
        try:
            asked.answer = work()
        finally:
            with self._lock:
                del self._open[question]
            asked.over.set()
