"""The workers that embed, one for each model that is asked for."""

import threading

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.clock import Clock
from yaadwatch.system.embedding import sources
from yaadwatch.system.embedding.process import Worker


class Workers:
    """Finds the worker of a model by its name. Any thread.

    Args:
        idle_s: a worker's process ends when nobody asked it for so long.
        clock: tells how long one waits.
    """

    def __init__(self, idle_s: float, clock: Clock) -> None:
        self._idle_s = idle_s
        self._clock = clock
        self._lock = threading.Lock()
        self._workers: dict[str, Worker] = {}
        self._closed = False

    def of(self, name: str) -> Worker:
        """Return the worker of the model that `name` names; no process is started.

        Raises:
            YaadError: NOT_FOUND; the model is not on this machine (any more). UNAVAILABLE; the
                daemon is stopping.
        """
        with self._lock:
            if self._closed:
                raise YaadError(
                    Code.UNAVAILABLE, "The daemon is stopping; nothing was embedded.", "Ask again."
                )
            worker = self._workers.get(name)
            if worker is None:
                worker = Worker(sources.find(name), idle_s=self._idle_s, clock=self._clock)
                self._workers[name] = worker
            return worker

    def known(self, name: str) -> Worker | None:
        """Return the worker of a model if somebody asked for it before."""
        with self._lock:
            return self._workers.get(name)

    def forget(self, name: str) -> None:
        """End the worker of a model, if there is one; the next who asks gets a new one."""
        with self._lock:
            worker = self._workers.pop(name, None)
        if worker is not None:
            worker.close()

    def forget_all(self) -> None:
        """End every worker, with what it was asked and holds; the next who asks gets a new one."""
        with self._lock:
            workers = tuple(self._workers.values())
            self._workers.clear()
        for worker in workers:
            worker.close()

    def close(self) -> None:
        """End every worker and start none any more."""
        with self._lock:
            self._closed = True
        self.forget_all()
