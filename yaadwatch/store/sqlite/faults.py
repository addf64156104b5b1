"""What SQLite says of its file, in words for people and with what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from yaadwatch.model.errors import Code, YaadError

UNTOUCHED = "nothing was changed"


@contextmanager
def told(path: Path, outcome: str = UNTOUCHED) -> Iterator[None]:
    """Turn what can happen to the file of a store into a YaadError.

    Args:
        path: the store, for the message.
        outcome: what then was or was not done, as a clause without a full stop.

    Raises:
        YaadError: UNAVAILABLE; no space, no permission, a damaged file, another program's lock.
    """
    try:
        yield
    except apsw.FullError as error:
        raise unavailable(
            f"There is no space left for {path}; {outcome}.", "Free some space, then try again."
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise damaged(path, str(error), outcome) from error
    except apsw.BusyError as error:
        raise unavailable(
            f"Another program holds {path} locked; {outcome}.", "End that program, then try again."
        ) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError) as error:
        raise unavailable(
            f"{path} may not be written to ({error}); {outcome}.",
            "Look at the permissions of the file and of its folder.",
        ) from error
    except (apsw.IOError, apsw.CantOpenError) as error:
        raise unavailable(
            f"{path} could not be read or written ({error}); {outcome}.",
            "Look at its disk and its permissions, then try again.",
        ) from error


def is_damage(error: YaadError) -> bool:
    """Return whether `error` tells of a file that is no database, or is one no more."""
    return isinstance(error.__cause__, apsw.CorruptError | apsw.NotADBError)


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
