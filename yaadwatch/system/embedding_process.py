"""The daemon's side of the embedding worker: start it on demand, stop it when idle, never block.

A worker ends with the daemon in every case, because it ends when its standard input closes. Each
text is one line of JSON to the worker, each vector one line back. One text is with the worker at a
time, so that a question waits for one text at most while a store is being filled.
"""

import base64
import itertools
import json
import logging
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import IO, Final, Literal

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import embedding_sources, processes
from yaadwatch.system.clock import Clock
from yaadwatch.system.embedding_sources import Source

TEXT_CHARS_MAX: Final = 8_000
"""Of a text: models read some hundred tokens of it."""
LINE_BYTES_MAX: Final = 1024 * 1024

State = Literal["cold", "starting", "warm", "broken"]

_PASSED_ON: Final = ("HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
_SETTINGS: Final = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""No model library goes to the network, and none takes more than one thread."""

_log: Final = logging.getLogger(__name__)


class NotEmbedded(YaadError):
    """The worker is missing, has ended, or took too long; the message gives the reason."""


class NotTried(NotEmbedded):
    """No worker looked at the texts: it rests after it broke, or still loads the model."""


class Worker:
    """One model, run by at most one process. Thread-safe.

    Args:
        source: the model.
        idle_s: the process ends after this long without a request.
        clock: measures waiting times.
    """

    def __init__(self, source: Source, *, idle_s: float, clock: Clock) -> None:
        self.source = source
        self._idle_s = idle_s
        self._clock = clock
        self._changed = threading.Condition()
        self._asking = threading.Lock()
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._state: State = "cold"
        self._why = ""
        self._failures = 0
        self._not_before_s = 0.0
        self._closed = False
        self._space = ""
        self._dimensions = 0
        # One question goes to several stores.
        self._recent = lru_cache(maxsize=32)(lambda text, s: self.embed([text], wait_s=s)[0])

    @property
    def state(self) -> State:
        """Return how the process is: `cold` is not there, `broken` ended when it should not."""
        return self._state

    @property
    def why(self) -> str:
        """Return the failure of the worker; '' when it is not broken."""
        return self._why if self._state == "broken" else ""

    @property
    def space(self) -> str:
        """Return the space of its vectors, as last reported by the process; '' before that."""
        return self._space

    @property
    def pid(self) -> int | None:
        """Return the process id, None when there is no process."""
        process = self._process
        return None if process is None else process.pid

    def meet(self, wait_s: float) -> tuple[str, int]:
        """Return the space of the model and its dimensions, once it is loaded.

        Raises:
            NotEmbedded: it is not loaded within `wait_s`, or cannot be.
        """
        until = self._clock.monotonic_s() + wait_s
        with self._changed:
            self._start(again=True)
            self._wait_until_started(until)
            return self._space, self._dimensions

    def warm_up(self) -> None:
        """Start the process if there is none, and return at once."""
        with self._changed:
            self._start()

    def question(self, text: str, wait_s: float) -> bytes | None:
        """Return the vector of a question; None when the worker is not warm, or not that quick.

        A cold worker is started for the next question. The vector of a recent one is cached.
        """
        if self._state != "warm":
            self.warm_up()
            return None
        try:
            return self._recent(text, wait_s)
        except NotEmbedded:
            return None

    def embed(self, texts: Sequence[str], *, wait_s: float) -> list[bytes]:
        """Return the vectors of `texts`; start the process if there is none.

        Args:
            texts: what to embed.
            wait_s: the patience of the caller.

        Raises:
            NotEmbedded: they were not had in time.
        """
        until = self._clock.monotonic_s() + wait_s
        with self._changed:
            self._start()
            process = self._wait_until_started(until)
        vectors: list[bytes] = []
        for text in texts:
            if vectors:
                time.sleep(0.001)  # the lock is not fair: a question that waits gets its turn
            vectors.append(self._embed(process, text, until))
        return vectors

    def close(self) -> None:
        """End the process and start none any more."""
        with self._changed:
            self._closed = True
            process, thread = self._process, self._thread
            self._changed.notify_all()
        if process is not None:
            process.kill()
        if thread is not None:
            thread.join(1.0)

    def _start(self, *, again: bool = False) -> None:
        """Request a process if there is none and the pause is over; `_changed` is held."""
        if self._closed or self._state in {"starting", "warm"}:
            return
        if not again and self._clock.monotonic_s() < self._not_before_s:
            return
        self._state = "starting"
        self._thread = threading.Thread(target=self._live, name="embedding", daemon=True)
        self._thread.start()

    def _wait_until_started(self, until: float) -> subprocess.Popen[bytes]:
        """Return the process once it has loaded the model; `_changed` is held."""
        while self._state == "starting" and not self._closed:
            left = until - self._clock.monotonic_s()
            if left <= 0 or not self._changed.wait(left):
                raise _not_embedded("The model is still being loaded.", NotTried)
        if self._state != "warm" or self._process is None or self._closed:
            why = self._why or "the daemon is stopping"
            raise _not_embedded(f"The model does not run: {why}.", NotTried)
        return self._process

    def _embed(self, process: subprocess.Popen[bytes], text: str, until: float) -> bytes:
        """Return the vector of one text."""
        if not self._asking.acquire(timeout=max(until - self._clock.monotonic_s(), 0.0)):
            raise _not_embedded("The worker is busy.")
        try:
            number = next(self._numbers)
            line = json.dumps([number, text[:TEXT_CHARS_MAX]], ensure_ascii=False) + "\n"
            self._send(process, line.encode("utf-8", "replace"), until)
            while True:
                answered, vector = self._answer(process, until)
                if answered == number:  # else a caller before us did not wait for it
                    self._failures = 0
                    return vector
        except (OSError, ValueError):  # its pipes are closed
            raise _not_embedded("The worker has just ended.") from None
        finally:
            self._asking.release()

    def _send(self, process: subprocess.Popen[bytes], line: bytes, until: float) -> None:
        """Write a line; a worker that does not take it in is ended."""
        assert process.stdin is not None  # noqa: S101  (it is a pipe)
        left = line
        while left:
            wait_s = max(until - self._clock.monotonic_s(), 0.0)
            if not select.select([], [process.stdin], [], wait_s)[1]:
                process.kill()
                raise _not_embedded("The worker takes nothing in.")
            left = left[os.write(process.stdin.fileno(), left) :]

    def _answer(self, process: subprocess.Popen[bytes], until: float) -> tuple[int, bytes]:
        """Return the number of a text, and its vector."""
        assert process.stdout is not None  # noqa: S101  (it is a pipe)
        left = until - self._clock.monotonic_s()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            raise _not_embedded("The worker took too long.")
        line = process.stdout.readline(LINE_BYTES_MAX)
        try:
            number, written = json.loads(line)
            vector = base64.b64decode(written)
            if len(vector) != self._dimensions:
                raise ValueError(f"{len(vector)} bytes")
        except (ValueError, TypeError):
            if line:  # else it has ended
                process.kill()
            with self._changed:
                self._changed.wait_for(lambda: self._process is not process, 1.0)
            raise _not_embedded(f"The worker ended: {self._why or 'it was idle'}.") from None
        return number, vector

    def _live(self) -> None:
        """Start the process, hear what it has loaded, and wait for its end."""
        with processes.holding(b"") as errors:
            try:
                process = _spawn(self.source, self._idle_s, errors)
            except OSError as error:
                self._ended(f"it could not be started ({error.strerror})")
                return
            with self._changed:
                self._process = process
                if self._closed:
                    process.kill()
            self._greet(process)
            status = process.wait()
            self._ended(_last_line(errors, status) if status else "")
            with self._asking:
                for pipe in filter(None, (process.stdin, process.stdout)):
                    pipe.close()

    def _greet(self, process: subprocess.Popen[bytes]) -> None:
        """Take in what a process has loaded; end one that says something else."""
        assert process.stdout is not None  # noqa: S101  (it is a pipe)
        line = process.stdout.readline(LINE_BYTES_MAX)
        try:
            space, dimensions = json.loads(line)
            if not isinstance(space, str) or not isinstance(dimensions, int):
                raise ValueError(line)
        except (ValueError, TypeError):
            if line:  # else it has ended
                process.kill()
            return
        with self._changed:
            if space != self._space:
                self._recent.cache_clear()
            self._space, self._dimensions = space, dimensions
            self._state, self._why = "warm", ""
            self._changed.notify_all()

    def _ended(self, why: str) -> None:
        """Record that the process ended: `why` is the failure, '' if it was idle."""
        with self._changed:
            self._process, self._thread = None, None
            self._why = why
            if why and not self._closed:
                pause_s = min(5.0 * 2**self._failures, 600.0)
                self._failures += 1
                self._state = "broken"
                self._not_before_s = self._clock.monotonic_s() + pause_s
                fields = {"model": self.source.name, "error": why, "again_in_s": pause_s}
                _log.error("embedding.broke", extra=fields)
            else:
                self._state = "cold"
            self._changed.notify_all()


def _spawn(source: Source, idle_s: float, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    process = subprocess.Popen(
        [
            *(sys.executable, "-P", "-m", "yaadwatch.system.embedding_worker"),
            *(source.to_json(), str(idle_s)),
        ],
        cwd="/",
        env=kept | {"PATH": os.defpath} | _SETTINGS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        bufsize=0,
        start_new_session=True,
    )
    if process.stdin is not None:
        os.set_blocking(process.stdin.fileno(), False)
    return process


def _last_line(errors: IO[bytes], status: int) -> str:
    """Return the last line of output of a failed process, or how it ended."""
    end = errors.seek(0, os.SEEK_END)
    errors.seek(max(end - 4_096, 0))
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    if status < 0:
        return f"it was ended by signal {-status}"
    return lines[-1][:500] if lines else f"it ended with status {status}"


def _not_embedded(what: str, kind: type[NotEmbedded] = NotEmbedded) -> NotEmbedded:
    return kind(Code.UNAVAILABLE, f"{what} Nothing was embedded.", "See: yaadwatch embed status")


class Workers:
    """The workers by name of their model. Thread-safe.

    Args:
        idle_s: a worker's process ends after this long without a request.
        clock: measures waiting times.
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
                worker = Worker(
                    embedding_sources.find(name), idle_s=self._idle_s, clock=self._clock
                )
                self._workers[name] = worker
            return worker

    def known(self, name: str) -> Worker | None:
        """Return the worker of a model if it exists already."""
        with self._lock:
            return self._workers.get(name)

    def forget(self, name: str) -> None:
        """End the worker of a model, if there is one; the next request starts a new one."""
        with self._lock:
            worker = self._workers.pop(name, None)
        if worker is not None:
            worker.close()

    def forget_all(self) -> None:
        """End every worker with its requests and vectors; the next request starts a new one."""
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
