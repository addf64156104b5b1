"""Which disks do not answer? Who asks for what is on one is told, and keeps nobody else waiting.

A network file system whose server is gone keeps whoever touches it until it is unmounted, and a
thread that waits there cannot be ended. So when a verb takes long, the network disks at, above and
below its folder, its work tree and its repository are asked for an answer, each question in a
thread of its own.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Final

from yaadwatch.model.errors import Code, YaadError

PATIENCE_S: Final = 2.0
"""A disk that has not answered by then is taken for one that hangs."""
MEND: Final = "umount --lazy the disk that hangs, then: yaadwatch restart"


@dataclass(slots=True, eq=False)
class _Asked:
    """A question under way.

    Args:
        folder: whose disks are asked.
        place: the disk whose answer is waited for.
        hangs: whether that took too long.
        kept: the operations that it is known to keep from ending.
        then: whom to tell.
    """

    folder: str
    place: str
    hangs: bool = False
    kept: set[str] = field(default_factory=set)
    then: list[tuple[str, Callable[[YaadError], bool | None]]] = field(default_factory=list)


class Disks:
    """Knows which disks do not answer. Used on the loop, unless a method says so.

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
        self._asked: dict[str, _Asked] = {}

    def refusal(self, operation: str, folder: str) -> YaadError | None:
        """Return why an operation is not begun; None: it may be. Any thread.

        Nothing is, in a folder on a disk that hangs. In one above such a disk, what did not end
        there before.
        """
        for asked in tuple(self._asked.values()) if self._asked else ():
            if asked.hangs and (
                _is_at_or_below(folder, asked.place)
                or (folder == asked.folder and operation in asked.kept)
            ):
                return _does_not_answer(asked.place, f"`{operation}` was not begun")
        return None

    def ended(self, operation: str, folder: str) -> None:
        """Note that an operation did end, of which it was told that a disk keeps it from that."""
        asked = self._asked.get(folder)
        if asked is not None:
            asked.kept.discard(operation)

    def suspect(
        self, operation: str, folder: str, then: Callable[[YaadError], bool | None]
    ) -> None:
        """Find out whether a disk keeps an operation from ending; `then` is called if so.

        It returns False when the operation has ended meanwhile: then no disk keeps it.
        """
        asked = self._asked.get(folder)
        if asked is None:
            asked = self._asked[folder] = _Asked(folder, folder)
            loop = asyncio.get_running_loop()
            Thread(target=self._ask, args=(asked, loop), name="disk", daemon=True).start()
            loop.call_later(self._patience_s, self._too_long, asked)
        asked.then.append((operation, then))
        if asked.hangs:
            self._tell(asked)

    def _ask(self, asked: _Asked, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for every disk in question; in a thread of its own."""
        with contextlib.suppress(OSError):
            for place in self._in_question(asked):
                asked.place = str(place)
                with contextlib.suppress(OSError):  # an error is an answer
                    self._look(asked.place)
        try:
            loop.call_soon_threadsafe(self._answered, asked)
        except RuntimeError:  # the loop is closed: nobody asks any more
            return

    def _in_question(self, asked: _Asked) -> Iterator[Path]:
        """Yield the network disks that an operation in a folder may wait for, its own first."""
        folder = Path(asked.folder)
        seen: set[Path] = set()
        everywhere = self._networks(Path("/"))
        for one in chain((folder,), _later(self._around, folder)):
            above = [place for place in everywhere if one.is_relative_to(place)]
            yield from (place for place in above if place not in seen)
            seen.update(above)
            asked.place = str(one)  # a link in its name may lead to a disk that hangs
            below = self._networks(one)
            yield from (place for place in below if place not in seen)
            seen.update(below)

    def _answered(self, asked: _Asked) -> None:
        self._asked.pop(asked.folder, None)

    def _too_long(self, asked: _Asked) -> None:
        if self._asked.get(asked.folder) is asked:
            asked.hangs = True
            self._tell(asked)

    def _tell(self, asked: _Asked) -> None:
        told, asked.then = asked.then, []
        for operation, then in told:
            effect = f"`{operation}` seems to wait for it, and may still be done once it does"
            if then(_does_not_answer(asked.place, effect)) is not False:
                asked.kept.add(operation)


def _later(around: Callable[[Path], Iterable[Path]], folder: Path) -> Iterator[Path]:
    """Yield what is around a folder; nobody looks for it before the first of it is asked for."""
    yield from around(folder)


def _is_at_or_below(folder: str, place: str) -> bool:
    return folder == place or folder.startswith(f"{place.rstrip('/')}/")


def _does_not_answer(place: str, effect: str) -> YaadError:
    return YaadError(Code.UNAVAILABLE, f"The disk at {place} does not answer; {effect}.", hint=MEND)
