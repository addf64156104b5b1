"""Files of settings of other programs: read through their links, copied, and replaced whole."""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.files import private_folder
from yaadwatch.system.safe_write import replacing

BYTES_MAX: Final = 64 * 1024 * 1024
"""A larger file of settings is not read; live state of agents has reached tens of MB."""
COPIES_MAX: Final = 10
"""Copies that are kept of one file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file of settings.

    Args:
        path: as it is named.
        target: where it really is, behind all links.
        data: what it holds; None when it is not there.
    """

    path: Path
    target: Path
    data: bytes | None


def look(path: Path, *, inside: Path | None, copies: Path, now: datetime) -> Found:
    """Read a file of settings; a write of ours that was killed half-way is undone first.

    Args:
        path: of the file; its links are followed.
        inside: the folder that it must really be in; None: anywhere.
        copies: where to put what comes to light.
        now: the time that a copy is named after.

    Raises:
        YaadError: REFUSED when it is no plain file, or elsewhere; TOO_LARGE; UNAVAILABLE when it
            cannot be read.
    """
    try:
        target = path.resolve()
        if inside is not None and not target.is_relative_to(inside.resolve()):
            raise _refused(path, f"is a link to {target}, outside of the project")
        if not target.parent.is_dir():
            return Found(path=path, target=target, data=None)

        def keep(data: bytes) -> None:
            _keep(target, data, copies, now)

        replacing.recover(target, keep)
        if not os.path.lexists(target):
            return Found(path=path, target=target, data=None)
        if not target.is_file():
            raise _refused(path, "is no plain file")
        size = target.stat().st_size
        if size > BYTES_MAX:
            raise YaadError(
                Code.TOO_LARGE,
                f"{path} has {size} bytes; {BYTES_MAX} is the limit. Nothing was written.",
            )
        return Found(path=path, target=target, data=target.read_bytes())
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be read ({why}). Nothing was written.",
            hint="Look at the file and at its permissions.",
        ) from error


def require_writable(found: Found) -> None:
    """Raise unless a file can be replaced, as far as that can be known before it is tried.

    Raises:
        YaadError: REFUSED when it must not be written, UNAVAILABLE when it cannot be.
    """
    folder = found.target.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise YaadError(
            Code.UNAVAILABLE,
            f"{found.path} cannot be written ({folder} takes no files).",
            hint="Look at the permissions of the folder.",
        )
    if found.data is None:
        return
    try:
        replacing.require_own(found.target)
    except FileNotFoundError:
        raise replacing.ChangedUnderneathError(str(found.target)) from None
    except YaadError as error:
        if error.code is not Code.REFUSED:
            raise
        raise YaadError(
            error.code, error.message, hint="Make it a plain file of your own that may be written."
        ) from error


def write(found: Found, data: bytes, *, mode: int, copies: Path, now: datetime) -> Path | None:
    """Make a file hold `data`, if it still holds what was found; return the copy made before.

    Raises:
        replacing.ChangedUnderneathError: somebody else wrote it meanwhile; nothing was written.
        YaadError: REFUSED when it must not be written, UNAVAILABLE when it cannot be.
    """
    target = found.target
    if found.data is None:
        with _told(found.path):
            target.parent.mkdir(parents=True, exist_ok=True)
        replacing.create_new(target, data, mode=mode)
        return None
    try:
        require_writable(found)
        copy = _keep(target, found.data, copies, now)
        replacing.replace_expected(target, found.data, data)
    except FileNotFoundError:
        raise replacing.ChangedUnderneathError(str(target)) from None
    return copy


def remove(found: Found, *, made: Sequence[str], copies: Path, now: datetime) -> Path:
    """Take a file away, if it still holds what was found, and folders that are empty without it.

    Args:
        found: the file, which is there.
        made: folders that were made for it, innermost first.
        copies: where to put a copy of it first.
        now: the time that the copy is named after.

    Returns:
        The copy.

    Raises:
        replacing.ChangedUnderneathError: somebody else wrote it meanwhile; it stays.
        YaadError: UNAVAILABLE when it cannot be removed.
    """
    with _told(found.path):
        if (
            found.data is None
            or not found.target.exists()
            or found.target.read_bytes() != found.data
        ):
            raise replacing.ChangedUnderneathError(str(found.target))
        copy = _keep(found.target, found.data, copies, now)
        found.target.unlink()
        for folder in made:
            with contextlib.suppress(OSError):  # somebody has put something there
                Path(folder).rmdir()
    return copy


def missing_folders(target: Path) -> list[str]:
    """Return the folders that are not there yet above a file, innermost first."""
    missing = []
    folder = target.parent
    while not folder.exists():
        missing.append(str(folder))
        folder = folder.parent
    return missing


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Wait until no other process is in here with the same lock, then keep others out.

    Raises:
        YaadError: as `private_folder`; UNAVAILABLE when the lock cannot be opened.
    """
    private_folder(lock.parent)
    with _told(lock):
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _keep(target: Path, data: bytes, copies: Path, now: datetime) -> Path:
    """Copy what a file held; copies of it before the last few go."""
    private_folder(copies.parent)
    private_folder(copies)
    whose = hashlib.sha256(os.fsencode(target)).hexdigest()[:8]
    ending = f"-{whose}-{target.name[-100:]}"
    number = 0
    while True:
        copy = copies / f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03}-{number}{ending}"
        with contextlib.suppress(replacing.ChangedUnderneathError):
            replacing.create_new(copy, data, mode=0o600)
            break
        number += 1
    with _told(copies):
        for old in sorted(one for one in copies.iterdir() if one.name.endswith(ending))[
            :-COPIES_MAX
        ]:
            old.unlink(missing_ok=True)
    return copy


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what the system refuses into what a person can read."""
    try:
        yield
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be written ({error.strerror}).",
            hint="Look at the disk and at the permissions of the folder.",
        ) from error


def _refused(path: Path, what: str) -> YaadError:
    return YaadError(
        Code.REFUSED,
        f"{path} {what}; it was not written.",
        hint="Make it a plain file, then run the command again.",
    )
