"""The daemon's side of the embedding worker: start it on demand, stop it when idle, never block.

A worker ends with the daemon in every case, because it ends when its standard input closes.

A frame is two lengths (8 bytes, little-endian), a head of JSON and binary data. Either side treats
anything else as a broken peer and closes the connection.
"""

import itertools
import json
import logging
import os
import select
import struct
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import IO, Final, Literal

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import embedding_sources, processes
from yaadwatch.system.clock import Clock
from yaadwatch.system.embedding_sources import Source

Head = dict[str, object]
PART_BYTES_MAX: Final = 8 * 1024 * 1024
"""Of a head, and of the bytes after it."""
_LENGTHS: Final = struct.Struct("<II")


class BadFrame(Exception):
    """The input is not a frame; the message gives the reason."""


def encode(head: Head, body: bytes = b"") -> bytes:
    """Return the bytes of a frame.

    Raises:
        ValueError: a part is over `PART_BYTES_MAX`.
    """
    written = json.dumps(head).encode()
    if max(len(written), len(body)) > PART_BYTES_MAX:
        raise ValueError(f"a frame of {len(written)} and {len(body)} bytes is too long")
    return _LENGTHS.pack(len(written), len(body)) + written + body


def read(take: Callable[[int], bytes]) -> tuple[Head, bytes] | None:
    """Return the next frame; None at the end.

    Args:
        take: returns at most so many bytes, at least one, and none at the end.

    Raises:
        BadFrame: it is none, or ends in the middle.
    """
    lengths = _exactly(take, _LENGTHS.size)
    if not lengths:
        return None
    if len(lengths) < _LENGTHS.size:
        raise BadFrame("it ends within the lengths")
    head_length, body_length = _LENGTHS.unpack(lengths)
    if max(head_length, body_length) > PART_BYTES_MAX:
        raise BadFrame(f"it would have {head_length} and {body_length} bytes")
    written, body = _exactly(take, head_length), _exactly(take, body_length)
    if len(written) < head_length or len(body) < body_length:
        raise BadFrame("it ends in the middle")
    try:
        head = json.loads(written)
    except ValueError as error:
        raise BadFrame(f"its head is not JSON ({error})") from None
    except RecursionError:
        raise BadFrame("its head is nested too deep") from None
    if not isinstance(head, dict):
        raise BadFrame("its head is no object")
    return head, body


def _exactly(take: Callable[[int], bytes], length: int) -> bytes:
    """Return `length` bytes, or fewer when the end comes before."""
    parts = []
    while length:
        part = take(length)
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


State = Literal["cold", "starting", "warm", "broken"]

FIRST_PAUSE_S: Final = 5.0
"""Pause before a broken worker is started again; doubled at each further failure."""
PAUSE_S_MAX: Final = 600.0
QUESTIONS_KEPT: Final = 32
"""Vectors of questions that are remembered: one question goes to several stores."""
_END_S: Final = 1.0
_STDERR_BYTES: Final = 4_096
"""Of what a worker wrote to its standard error, the end that is looked at."""
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
        self._writing = threading.Lock()
        self._numbers = itertools.count(1)
        self._answers: dict[int, list[bytes] | None] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._state: State = "cold"
        self._why = ""
        self._failures = 0
        self._not_before_s = 0.0
        self._closed = False
        self._space = ""
        self._dimensions = 0
        self._asked: OrderedDict[str, bytes] = OrderedDict()

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
        with self._changed:
            vector = self._asked.get(text)
        if vector is None:
            try:
                vector = self.embed([text], wait_s=wait_s, urgent=True)[0]
            except NotEmbedded:
                return None
        with self._changed:
            self._asked[text] = vector
            self._asked.move_to_end(text)
            if len(self._asked) > QUESTIONS_KEPT:
                self._asked.popitem(last=False)
        return vector

    def embed(self, texts: Sequence[str], *, wait_s: float, urgent: bool = False) -> list[bytes]:
        """Return the vectors of `texts`; start the process if there is none.

        Args:
            texts: what to embed.
            wait_s: the patience of the caller.
            urgent: before all that is not.

        Raises:
            NotEmbedded: they were not had in time.
        """
        until = self._clock.monotonic_s() + wait_s
        with self._changed:
            self._start()
            process = self._wait_until_started(until)
            number = next(self._numbers)
            self._answers[number] = None
        try:
            self._send(
                process, encode({"id": number, "texts": list(texts), "urgent": urgent}), until
            )
            return self._wait_for(number, process, until, len(texts))
        finally:
            with self._changed:
                self._answers.pop(number, None)

    def close(self) -> None:
        """End the process and start none any more."""
        with self._changed:
            self._closed = True
            process, thread = self._process, self._thread
            self._changed.notify_all()
        if process is not None:
            process.kill()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_END_S)

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

    def _send(self, process: subprocess.Popen[bytes], frame: bytes, until: float) -> None:
        """Write a frame. A frame that cannot be completed ends the process."""
        if not self._writing.acquire(timeout=max(until - self._clock.monotonic_s(), 0.0)):
            raise _not_embedded("The worker is busy.")
        try:
            if process.stdin is None or process.stdin.closed:
                raise _not_embedded("The worker has just ended.")
            pipe, left = process.stdin.fileno(), memoryview(frame)
            while left:
                wait_s = until - self._clock.monotonic_s()
                if wait_s <= 0 or not select.select([], [pipe], [], wait_s)[1]:
                    if len(left) < len(frame):
                        process.kill()
                    raise _not_embedded("The worker takes nothing in.")
                left = left[os.write(pipe, left) :]
        except OSError:
            raise _not_embedded("The worker has just ended.") from None
        finally:
            self._writing.release()

    def _wait_for(
        self, number: int, process: subprocess.Popen[bytes], until: float, expected: int
    ) -> list[bytes]:
        with self._changed:
            while (found := self._answers.get(number)) is None:
                left = until - self._clock.monotonic_s()
                if self._process is not process or self._closed:
                    raise _not_embedded(f"The worker ended: {self._why or 'it was idle'}.")
                if left <= 0:
                    raise _not_embedded("The worker took too long.")
                self._changed.wait(left)
        if len(found) != expected:
            raise _not_embedded(f"{len(found)} vectors were made of {expected} texts.")
        return found

    def _live(self) -> None:
        """Start the process, receive its answers, and wait for its end."""
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
            broken = self._listen(process)
            if broken:
                process.kill()
            status = process.wait()
            with self._writing:
                if process.stdin is not None:
                    process.stdin.close()
            if process.stdout is not None:
                process.stdout.close()
            self._ended(broken or (_last_line(errors, status) if status else ""))

    def _listen(self, process: subprocess.Popen[bytes]) -> str:
        """Receive frames until the process ends; return the error of a bad frame, '' for none."""
        if process.stdout is None:
            return "it has no output"
        pipe = process.stdout.fileno()
        try:
            while (frame := read(lambda length: os.read(pipe, length))) is not None:
                wrong = self._take_in(*frame)
                if wrong:
                    return wrong
        except BadFrame as error:
            return "" if process.poll() is not None else f"its answer makes no sense: {error}"
        return ""

    def _take_in(self, head: Head, body: bytes) -> str:
        with self._changed:
            if head.get("ready"):
                space, dimensions = head.get("space"), head.get("dimensions")
                if not isinstance(space, str) or not isinstance(dimensions, int):
                    return "it does not say what it has loaded"
                if space != self._space:
                    self._asked.clear()
                self._space, self._dimensions = space, dimensions
                self._state, self._why = "warm", ""
            else:
                number, made, size = head.get("id"), head.get("vectors"), self._dimensions
                if not isinstance(made, int):
                    return "it does not say what it made"
                if made < 0 or len(body) != made * size:
                    return f"it made {len(body)} bytes of vectors"
                if isinstance(number, int) and number in self._answers:
                    vectors = [body[at : at + size] for at in range(0, len(body), size)]
                    self._answers[number] = vectors
                    self._failures = 0
            self._changed.notify_all()
        return ""

    def _ended(self, why: str) -> None:
        """Record that the process ended: `why` is the failure, '' if it was idle."""
        with self._changed:
            self._process, self._thread = None, None
            self._why = why
            if why and not self._closed:
                pause_s = min(FIRST_PAUSE_S * 2**self._failures, PAUSE_S_MAX)
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
    errors.seek(max(end - _STDERR_BYTES, 0))
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
