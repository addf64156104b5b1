"""Asks what may never answer, such as a network file system whose server is gone."""

import threading
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

PATIENCE_S: Final = 2.0

T = TypeVar("T")


class _Asked(Generic[T]):
    def __init__(self) -> None:
        self.over = threading.Event()
        self.answer: T | None = None


class Patience(Generic[T]):
    """Waits for answers, but not for long. Any thread may call it.

    Who asks what was asked before, and was not answered yet, is told at once that there is no
    answer: of each question one thread waits at most.
    """

    def __init__(self, seconds: float = PATIENCE_S) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._open: set[Hashable] = set()

    def ask(self, question: Hashable, work: Callable[[], T | None]) -> T | None:
        """Return what `work` returns; None when it takes too long, or went wrong."""
        with self._lock:
            if question in self._open:
                return None
            self._open.add(question)
        asked: _Asked[T] = _Asked()
        waiting = threading.Thread(
            target=self._wait, args=(question, work, asked), name="patience", daemon=True
        )
        waiting.start()
        asked.over.wait(self._seconds)
        return asked.answer

    def _wait(self, question: Hashable, work: Callable[[], T | None], asked: _Asked[T]) -> None:
        try:
            asked.answer = work()
        finally:
            with self._lock:
                self._open.discard(question)
            asked.over.set()
