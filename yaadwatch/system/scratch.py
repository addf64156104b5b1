"""Room for what only another program is to read: a file in memory, a folder for a moment."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, cast

from yaadwatch.model.errors import Code, YaadError

_MEMORY: Final = Path("/dev/shm")  # noqa: S108  (below it each folder is of its own, and private)
_PREFIX: Final = "yaadwatch-"


@contextlib.contextmanager
def holding(data: bytes) -> Iterator[IO[bytes]]:
    """Lend an open file that holds `data`, at its beginning: in memory, where the system can.

    Raises:
        YaadError: UNAVAILABLE when there is no room for it.
    """
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(_opened())
            stream.write(data)
            stream.seek(0)
        except OSError as error:
            raise _no_room(error) from error
        yield stream


@contextlib.contextmanager
def folder(fill: Callable[[Path], object]) -> Iterator[Path]:
    """Lend a private folder that `fill` has put something into; it is gone afterwards.

    It is where temporary files belong, or in memory when there is no room there.

    Raises:
        YaadError: UNAVAILABLE when there is room nowhere.
    """
    with contextlib.ExitStack() as stack:
        try:
            place = _filled(stack, fill, None)
        except OSError as error:
            if not _MEMORY.is_dir():
                raise _no_room(error) from error
            try:
                place = _filled(stack, fill, _MEMORY)
            except OSError:
                raise _no_room(error) from error
        yield place


def _opened() -> IO[bytes]:
    if sys.platform == "linux" and hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):  # where a sandbox does not know it
            return os.fdopen(os.memfd_create(_PREFIX, os.MFD_CLOEXEC), "w+b")
    return cast("IO[bytes]", tempfile.TemporaryFile())


def _filled(
    stack: contextlib.ExitStack, fill: Callable[[Path], object], where: Path | None
) -> Path:
    with contextlib.ExitStack() as own:
        made = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=where, ignore_cleanup_errors=True)
        place = Path(own.enter_context(made))
        fill(place)
        stack.push(own.pop_all())
    return place


def _no_room(error: OSError) -> YaadError:
    return YaadError(
        Code.UNAVAILABLE,
        f"What git is to compare found no room for a moment ({error.strerror}).",
        hint="Free some space in the folder of temporary files (TMPDIR, else /tmp).",
    )
