"""Read, back up and replace settings files of other programs, and keep a receipt of the changes.

The receipt is a JSON file in the data folder; each writer has a section of its own. Also detects
which programs the user has, by their files in the home folder, and whether the running program is
still the installed one: installers replace the distribution's METADATA file, and reading it imports
nothing.
"""

import contextlib
import difflib
import errno
import fcntl
import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.plain_files import open_plain, read_plain
from yaadwatch.system import safe_write
from yaadwatch.system.files import free_name, private_folder, replace_atomically
from yaadwatch.text.privacy import mask

BYTES_MAX: Final = safe_write.BYTES_MAX
"""A larger file of settings is not read."""
COPIES_MAX: Final = 10
"""Copies that are kept of one file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """A file of settings.

    Args:
        path: as it is named.
        target: where it really is, behind all links.
        data: what it holds; None when it is not there.
    """

    path: Path
    target: Path
    data: bytes | None


def change_row(
    found: SettingsFile, change: str, texts: tuple[str | None, str | None] | None
) -> dict[str, Any]:
    """Return what becomes of a file, for the answer: a FileChange.

    Args:
        found: the file as it is.
        change: the answer's word for it.
        texts: before and after, to show their difference without secrets; None: show none.
    """
    path, target = str(found.path), str(found.target)
    row: dict[str, Any] = {"path": path, "change": change}
    if target != path:
        row["target"] = target
    if texts is not None and change != "same":
        before, after = texts
        lines = difflib.unified_diff(
            (before or "").splitlines(keepends=True),
            (after or "").splitlines(keepends=True),
            "/dev/null" if before is None else target,
            "/dev/null" if after is None else target,
            n=2,
        )
        no_end = "\n\\ No newline at end of file\n"
        shown = [line if line.endswith("\n") else f"{line}{no_end}" for line in lines]
        row["diff"] = mask("".join(shown)).text
    return row


def read_settings_file(
    path: Path, *, inside: Path | None, copies: Path, now: datetime
) -> SettingsFile:
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
            return SettingsFile(path=path, target=target, data=None)

        def keep(data: bytes) -> None:
            _keep(target, data, copies, now)

        safe_write.recover(target, keep)
        if not os.path.lexists(target):
            return SettingsFile(path=path, target=target, data=None)
        return SettingsFile(path=path, target=target, data=read_plain(target, BYTES_MAX))
    except (OSError, RuntimeError) as error:
        number = getattr(error, "errno", 0)
        if number == errno.EINVAL:
            raise _refused(path, "is no plain file") from None
        if number == errno.EFBIG:
            raise YaadError(
                Code.TOO_LARGE, f"{path} has more than {BYTES_MAX} bytes. Nothing was written."
            ) from None
        why = getattr(error, "strerror", None) or str(error)
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be read ({why}). Nothing was written.",
            hint="Look at the file and at its permissions.",
        ) from error


def require_writable(found: SettingsFile) -> None:
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
        safe_write.require_own(found.target)
    except FileNotFoundError:
        raise safe_write.ChangedUnderneathError(str(found.target)) from None
    except YaadError as error:
        if error.code is not Code.REFUSED:
            raise
        raise YaadError(
            error.code, error.message, hint="Make it a plain file of your own that may be written."
        ) from error


def write(
    found: SettingsFile, data: bytes, *, mode: int, copies: Path, now: datetime
) -> Path | None:
    """Replace a file's content by `data`, if it is unchanged; return the copy made before.

    Raises:
        ChangedUnderneathError: another program wrote it meanwhile; nothing was written.
        YaadError: REFUSED when it must not be written, UNAVAILABLE when it cannot be.
    """
    target = found.target
    if found.data is None:
        with readable_errors(found.path):
            target.parent.mkdir(parents=True, exist_ok=True)
        safe_write.create_new(target, data, mode=mode)
        return None
    try:
        require_writable(found)
        copy = _keep(target, found.data, copies, now)
        safe_write.replace_expected(target, found.data, data)
    except FileNotFoundError:
        raise safe_write.ChangedUnderneathError(str(target)) from None
    return copy


def remove(found: SettingsFile, *, made: Sequence[str], copies: Path, now: datetime) -> Path:
    """Remove a file if it is unchanged, and folders that become empty.

    Args:
        found: the existing file.
        made: folders that were created for it, innermost first.
        copies: folder for a copy, which is made first.
        now: the time in the name of the copy.

    Returns:
        The copy.

    Raises:
        ChangedUnderneathError: another program wrote it meanwhile; it stays.
        YaadError: UNAVAILABLE when it cannot be removed.
    """
    with readable_errors(found.path):
        if (
            found.data is None
            or not found.target.exists()
            or read_plain(found.target, BYTES_MAX) != found.data
        ):
            raise safe_write.ChangedUnderneathError(str(found.target))
        copy = _keep(found.target, found.data, copies, now)
        found.target.unlink()
        for folder in made:
            with contextlib.suppress(OSError):  # not empty any more
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
    with readable_errors(lock):
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _keep(target: Path, data: bytes, copies: Path, now: datetime) -> Path:
    """Copy the content of a file, deleting all but its last few copies."""
    private_folder(copies.parent)
    private_folder(copies)
    whose = hashlib.sha256(os.fsencode(target)).hexdigest()[:8]
    ending = f"-{whose}-{target.name[-100:]}"
    number = 0
    while True:
        copy = copies / f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03}-{number}{ending}"
        with contextlib.suppress(safe_write.ChangedUnderneathError):
            safe_write.create_new(copy, data, mode=0o600)
            break
        number += 1
    with readable_errors(copies):
        for old in sorted(one for one in copies.iterdir() if one.name.endswith(ending))[
            :-COPIES_MAX
        ]:
            old.unlink(missing_ok=True)
    return copy


@contextlib.contextmanager
def readable_errors(path: Path) -> Iterator[None]:
    """Turn an error of the system into one that a person can read."""
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


def load(path: Path) -> dict[str, Any]:
    """Return all parts by name; none when there is no receipt.

    Raises:
        YaadError: UNAVAILABLE when it cannot be read, or makes no sense.
    """
    try:
        said = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or f"it makes no sense: {error}"
        raise UnreadableError(path, why) from error
    if not isinstance(said, dict):
        raise UnreadableError(path, "it makes no sense: it holds no object")
    return said


def save(path: Path, said: dict[str, Any]) -> None:
    """Write all parts; where there are none, the receipt goes.

    Raises:
        YaadError: UNAVAILABLE when it cannot be written.
    """
    try:
        private_folder(path.parent)
        if said:
            text = json.dumps(said, ensure_ascii=False, indent=1)
            replace_atomically(path, text.encode() + b"\n")
        else:
            path.unlink(missing_ok=True)
    except (OSError, UnicodeEncodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be written ({why}). Nothing else was written, either.",
            hint="Look at the disk and at the permissions of the folder.",
        ) from error


class UnreadableError(YaadError):
    """A receipt that cannot be read.

    `why`: the reason, with its path; `mend`: the command that moves it out of the way.
    """

    def __init__(self, path: Path, why: str) -> None:
        self.why = f"{path} cannot be read ({why})."
        aside = free_name(f"{path}.unreadable")
        self.mend = f"mv -n {shlex.quote(str(path))} {shlex.quote(aside)}"
        super().__init__(
            Code.UNAVAILABLE,
            f"{self.why} Nothing was written.",
            hint=f"Put it aside, then try again: {self.mend}",
        )


def is_used(homes: Iterable[str]) -> bool:
    """Return whether a program was ever run by this user.

    PATH does not help: that of a service differs from the person's, and programs on it may never
    have been run.

    Args:
        homes: files or folders that it creates, relative to the home folder; one is enough. Those
            in `.config` are also looked for in `$XDG_CONFIG_HOME`.
    """
    home, moved = Path.home(), os.environ.get("XDG_CONFIG_HOME", "")
    places = [f"{home}/{one}" for one in homes]
    if os.path.isabs(moved):  # noqa: PTH117
        below = (one.removeprefix(".config/") for one in homes if one.startswith(".config/"))
        places += [f"{moved}/{one}" for one in below]
    return any(map(os.path.lexists, places))


def settings_text(path: Path) -> str:
    """Return the text of another program's settings file; "" when it cannot be read.

    Links are followed, because people keep such files in a repository of their own.
    """
    try:
        with open(open_plain(path, links=True), "rb") as file:  # noqa: PTH123
            # A longer file of settings is read up to here.
            return file.read(1024 * 1024).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


Stamp = tuple[tuple[str, int, int, int], ...]
"""Path, inode, time and size of each METADATA of ours; empty when the program is not installed."""


def stamp(folders: Iterable[str]) -> Stamp:
    """Return a stamp of the program in folders of packages, another one once it is replaced."""
    seen = []
    for folder in map(Path, dict.fromkeys(folders)):
        try:
            names = os.listdir(folder)  # noqa: PTH208
        except OSError:
            continue  # a zip file, or a folder that is not there
        for name in names:
            if name.startswith("yaadwatch-") and name.endswith(".dist-info"):
                path = folder / name / "METADATA"
                with contextlib.suppress(OSError):  # just being written, or taken away
                    found = path.stat()
                    seen.append((str(path), found.st_ino, found.st_mtime_ns, found.st_size))
    return tuple(sorted(seen))


class Installation:
    """The installed program, as it was when this object was made.

    Args:
        folders: folders of packages; by default those of this process.
    """

    def __init__(self, folders: Iterable[str] | None = None) -> None:
        self._folders = sys.path if folders is None else tuple(folders)
        self._first = self._last = stamp(self._folders)

    def was_replaced(self) -> bool:
        """Say whether another one is installed, and its installer has finished.

        It has finished when nothing moved since this was asked last. A program that is gone is not
        replaced: it may come back, and until then there is nothing to start.
        """
        now, last = stamp(self._folders), self._last
        self._last = now
        return bool(self._first) and bool(now) and now == last != self._first
