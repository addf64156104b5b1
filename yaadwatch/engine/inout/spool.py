"""What is on its way in or out: files of ours that are filled, and read, a piece at a time.

A store is read in one snapshot and changed in one transaction, and no line on the socket holds all
of it. So what goes out is written down whole first and handed out in pieces; and what comes in is
gathered first. Each has a folder of its own, 0700, which goes when it is done, or after a day.
"""

import base64
import binascii
import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from yaadwatch import places
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import files, redacting
from yaadwatch.system.clock import Clock

PIECE_BYTES: Final = 384 * 1024
"""Of what goes out, in one answer: in JSON, and of odd characters, it is at most six times that."""
BYTES_MAX: Final = 4 * 1024 * 1024 * 1024
"""Of what comes in."""
LEFT_S: Final = 86_400.0
"""What nobody came back for goes after this."""

_ID: Final = re.compile(r"[0-9a-f-]{36}")
_PART: Final = re.compile(r"[a-z]{1,16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spool:
    """A folder with what is on its way; `id` is what a client knows it by."""

    id: str
    folder: Path

    def path(self, part: str = "data") -> Path:
        """Return the file of a part."""
        return self.folder / part

    def append(self, part: str, data: str) -> int:
        """Add to a part what comes in as base64; return the bytes that it has now.

        Raises:
            YaadError: BAD_REQUEST, TOO_LARGE; UNAVAILABLE when it cannot be written.
        """
        if not _PART.fullmatch(part):
            raise YaadError(
                Code.BAD_REQUEST,
                f"{part!r} is no part of an import; nothing was imported.",
                hint="Parts are `data`, and `wal` for the log of a database.",
            )
        try:
            decoded = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise YaadError(
                Code.BAD_REQUEST,
                "The data is not base64; nothing was imported.",
                hint="Send the bytes of each piece in base64.",
            ) from None
        with _told(self.folder), self._file(part, os.O_WRONLY | os.O_APPEND) as stream:
            stream.write(decoded)
            size = stream.tell()
        if size > BYTES_MAX:
            raise YaadError(
                Code.TOO_LARGE,
                f"More than {BYTES_MAX // 2**30} GiB cannot be imported at once; nothing was.",
                hint="Split it.",
            )
        return size

    @contextlib.contextmanager
    def writing(self) -> Iterator[BinaryIO]:
        """Give the file that what goes out is written to."""
        with _told(self.folder), self._file("data", os.O_WRONLY) as stream:
            yield stream

    def piece(self, at: int) -> tuple[bytes, int, int]:
        """Return whole lines from byte `at` on, where the next begin, and how many bytes there are.

        Raises:
            YaadError: BAD_REQUEST when nothing begins there.
        """
        path = self.path()
        size = path.stat().st_size
        if not 0 <= at <= size:
            raise YaadError(
                Code.BAD_REQUEST,
                f"{at} is not where a piece of the export begins; nothing was handed out.",
                hint="Send the `after` of the answer before.",
            )
        with path.open("rb") as stream:
            stream.seek(at)
            data = stream.read(PIECE_BYTES)
            if at + len(data) < size and not data.endswith(b"\n"):
                data += stream.readline()
        return data, at + len(data), size

    def drop(self) -> None:
        """Remove it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def _file(self, part: str, flags: int) -> Iterator[BinaryIO]:
        descriptor = os.open(
            self.path(part), flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "ab" if flags & os.O_APPEND else "wb") as stream:
            yield stream


def make(clock: Clock) -> Spool:
    """Return an empty spool.

    Raises:
        YaadError: UNAVAILABLE when it cannot be made.
    """
    name = clock.new_id()
    files.private_folder(_folder())
    files.private_folder(_folder() / name)
    return Spool(id=name, folder=_folder() / name)


def find(name: str) -> Spool:
    """Return the spool that a client knows as `name`.

    Raises:
        YaadError: NOT_FOUND.
    """
    folder = _folder() / name
    if not _ID.fullmatch(name) or folder.is_symlink() or not folder.is_dir():
        raise YaadError(
            Code.NOT_FOUND,
            "That export or import is not there any more; nothing was done.",
            hint="Begin it again.",
        )
    return Spool(id=name, folder=folder)


def sweep(clock: Clock) -> None:
    """Remove what nobody came back for."""
    before_s = clock.now_ns() / 1e9 - LEFT_S
    with contextlib.suppress(FileNotFoundError):
        for folder in _folder().iterdir():
            if folder.lstat().st_mtime < before_s:
                shutil.rmtree(folder, ignore_errors=True)


def clear() -> None:
    """Remove everything that is on its way; clients are told to begin again."""
    with contextlib.suppress(FileNotFoundError):
        for folder in _folder().iterdir():
            shutil.rmtree(folder, ignore_errors=True)


def left() -> list[Path]:
    """Return the files that are on their way, sorted."""
    return list(redacting.files_below(_folder()))


def _folder() -> Path:
    return places.home() / "spool"


@contextlib.contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise YaadError(
            Code.UNAVAILABLE,
            f"{folder} could not be written ({error.strerror}); nothing was done.",
            hint="Look at the space on that disk.",
        ) from error
