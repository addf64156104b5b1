"""What SQLite says of its file, in words for people and with what to do next."""

from pathlib import Path
from types import TracebackType

import apsw

from yaadwatch.model.errors import Code, YaadError

UNTOUCHED = "nothing was changed"

_LACKS = ("no such table: ", "no such column: ")
"""What the schema of a version has, a file of that version lacks: somebody took it out."""


class told:  # noqa: N801  (used like a function; one that yields costs three times as much)
    """Turn what can happen to the file of a store, in a `with` block, into a YaadError.

    Args:
        path: the store, for the message.
        outcome: what then was or was not done, as a clause without a full stop.

    Raises:
        YaadError: UNAVAILABLE; no space, no permission, a damaged file, another program's lock.
    """

    __slots__ = ("_outcome", "_path")

    def __init__(self, path: Path, outcome: str = UNTOUCHED) -> None:
        self._path = path
        self._outcome = outcome

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise what `error` means; nothing where it is none of a store's."""
        if error is not None:
            _tell(self._path, self._outcome, error)


def _tell(path: Path, outcome: str, error: BaseException) -> None:
    if isinstance(error, apsw.FullError):
        raise unavailable(
            f"There is no space left for {path}; {outcome}.", "Free some space, then try again."
        ) from error
    if _is_damage(error):
        raise damaged(path, str(error), outcome) from error
    if isinstance(error, apsw.BusyError):
        raise unavailable(
            f"Another program holds {path} locked; {outcome}.", "End that program, then try again."
        ) from error
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.AuthError):
        raise unavailable(
            f"{path} may not be written to ({error}); {outcome}.",
            "Look at the permissions of the file and of its folder.",
        ) from error
    if isinstance(error, apsw.IOError | apsw.CantOpenError):
        raise unavailable(
            f"{path} could not be read or written ({error}); {outcome}.",
            "Look at its disk and its permissions, then try again.",
        ) from error


def is_damage(error: YaadError) -> bool:
    """Return whether `error` tells of a file that is no database, or is one no more."""
    return _is_damage(error.__cause__)


def _is_damage(error: BaseException | None) -> bool:
    if isinstance(error, apsw.SQLError):
        return str(error).startswith(_LACKS)
    return isinstance(error, apsw.CorruptError | apsw.NotADBError)


def is_unwritable(error: YaadError) -> bool:
    """Return whether `error` tells of a file that can be read, and not be written to just now."""
    return isinstance(error.__cause__, apsw.FullError | apsw.ReadOnlyError)


def unavailable(message: str, hint: str = "") -> YaadError:
    """Return the error of a store that cannot be used just now."""
    return YaadError(Code.UNAVAILABLE, message, hint)


def refused(message: str, hint: str = "") -> YaadError:
    """Return the error of a store that we do not touch on purpose."""
    return YaadError(Code.REFUSED, message, hint)


def damaged(path: Path, why: str, outcome: str = UNTOUCHED) -> YaadError:
    """Return the error of a file that is no database, or is one no more."""
    return unavailable(
        f"{path} is damaged or is no database ({why}); {outcome}.",
        "Move it away, then put a backup in its place or let an empty one be made. The commands:"
        " yaadwatch doctor",
    )


def not_in_place(path: Path) -> YaadError:
    """Return the error for a store whose file was deleted, moved or replaced while it was open."""
    return unavailable(
        f"{path} was deleted, moved or replaced while it was open; nothing was changed.",
        "Put the file back, or restore a backup: yaadwatch add --restore",
    )
