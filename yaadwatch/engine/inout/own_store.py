"""The user store at a start: itself, its newest copy where it is gone, or what stands in for it.

Without the list of projects nothing is watched. So a file that cannot be used keeps nobody from
going on: it is left as it is, and a copy of it is read in its place, to which nothing is written.
"""

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from yaadwatch import places
from yaadwatch.engine.inout.stores import USER
from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store import jobs
from yaadwatch.store import projects as registry
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite import copies
from yaadwatch.store.sqlite.database import Database
from yaadwatch.store.sqlite.faults import is_damage
from yaadwatch.store.sqlite.files import drop_logs, put_in_place
from yaadwatch.store.whole import looking
from yaadwatch.system import files

_log: Final = logging.getLogger(__name__)

_OF_LIST: Final = "-projects.db"
"""What the name of a copy ends with that was made because another project is watched."""
LOOK_AGAIN: Final = timedelta(minutes=10)
"""A file that cannot be used, and was not changed, is looked at again after this."""
READ_AGAIN: Final = timedelta(minutes=1)
"""One that serves, and whose file nobody touched, is read again after this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What serves as the user store.

    Args:
        db: it.
        told: what the person must know of it; '' when it is as it was left.
        mend: the command that mends it, or what is left to do.
        stands_in: the true one cannot be used, and `db` refuses every write.
    """

    db: Database
    told: str = ""
    mend: str = ""
    stands_in: bool = False


def open_own(on_commit: Callable[[], None] | None = None) -> Opened:
    """Open the user store, or what there is in its place. A file that is there is never replaced.

    Raises:
        YaadError: UNAVAILABLE when neither it nor anything in its place can be had; REFUSED when
            our home is not ours.
    """
    path = places.user_store()
    shutil.rmtree(_folder(), ignore_errors=True)
    told = mend = ""
    if not path.exists() and not path.is_symlink():
        copy = copies.newest_whole(places.backups(USER), role="user")
        if copy is not None:
            _take_over(copy, path)
            told = (
                f"{path} was gone, and was made anew from the copy of {_date_of(copy)}. What was "
                "remembered for all projects since then, and projects added since, are not in it."
            )
            mend = "yaadwatch restart, when you have read this"
            _log.warning("store.restored", extra={"path": str(path), "copy": str(copy)})
    try:
        db = Database.open(path, role="user", create=True, on_commit=on_commit)
        try:
            db.read(_needed)
        except BaseException:
            db.close()
            raise
    except YaadError as error:
        return _stand_in(error)
    return Opened(db=db, told=told, mend=mend)


class Standing:
    """Says when a daemon should begin again, because of the state that the user store is in now.

    Args:
        opened: what serves as the user store.
        now: the present time.
    """

    def __init__(self, opened: Opened, now: Callable[[], datetime]) -> None:
        self._opened = opened
        self._now = now
        self._seen = _signature()
        self._looked_at = now()

    def why_begin_again(self) -> str:
        """Return why; '' when nothing is to be gained by it."""
        if self._opened.stands_in:
            return "the user store can be used again" if self._is_back() else ""
        if not self._opened.db.is_in_place():
            return "the file of the user store was deleted or replaced"
        if not self._is_due(READ_AGAIN):
            return ""
        try:
            self._opened.db.read(_needed)
        except YaadError as error:
            return "the user store is damaged" if is_damage(error) else ""
        return ""

    def _is_due(self, after: timedelta) -> bool:
        """Say whether the file was changed since the last look, or that was so long ago."""
        now, seen = self._now(), _signature()
        if seen == self._seen and abs(now - self._looked_at) < after:
            return False
        self._seen, self._looked_at = seen, now
        return True

    def _is_back(self) -> bool:
        if not self._is_due(LOOK_AGAIN):
            return False
        return looking.look(places.user_store(), "user").state in {"absent", "ok", "older"}


class KeptList:
    """Sees to it that a copy of the user store knows the projects that are watched now.

    The daily copy alone would not: without a project that was added today, nothing of it is watched
    any more.
    """

    def __init__(self) -> None:
        self._kept: list[Project] | None = None

    def keep(self, home: Home) -> None:
        """Make a copy of the user store if none knows the projects of now.

        Raises:
            YaadError: UNAVAILABLE when it cannot be made.
        """
        watched = home.user.read(registry.everything)
        if home.user.stands_in or not watched or watched == self._kept:
            return
        newest = max(places.backups(USER).glob("*.db"), default=None)
        if self._kept is not None or newest is None or _knows(newest) != watched:
            made = places.backups(USER) / f"{home.clock.now():%Y%m%dT%H%M%S%f}{_OF_LIST}"
            home.user.backup(made)
            copies.check(made, role="user")
            for old in places.backups(USER).glob(f"*{_OF_LIST}"):
                if old != made:
                    old.unlink(missing_ok=True)
        self._kept = watched


def _knows(copy: Path) -> list[Project] | None:
    """Return the projects that a copy of the user store knows; None when it cannot be read."""
    try:
        return looking.projects(copy)
    except YaadError as error:
        if error.code is not Code.UNAVAILABLE:
            raise
        return None


def _stand_in(error: YaadError) -> Opened:
    """Return what stands in for a user store that cannot be used.

    Raises:
        YaadError: the given one, when nothing can.
    """
    copy = copies.newest_whole(places.backups(USER), role="user")
    path = _folder() / "yaad.db"
    refusal = YaadError(error.code, error.message, "What to do: yaadwatch doctor")
    try:
        files.private_folder(_folder())
        if copy is not None:
            _take_over(copy, path)
        db = Database.open(path, role="user", create=True, refusal=refusal)
    except (YaadError, OSError):
        raise error from None
    if copy is not None:
        what = f"what it held on {_date_of(copy)} is read from a copy"
    else:
        what = "there is no copy of it, so that no project is known"
    told = (
        f"{error.message} Until it is mended {what}, and nothing is remembered for all projects, "
        "and no project added or removed."
    )
    return Opened(db=db, told=told, mend="yaadwatch doctor", stands_in=True)


def _take_over(copy: Path, path: Path) -> None:
    """Put a copy of `copy` at `path`, where nothing is; it is whole there, or not at all."""
    drop_logs(path)
    with put_in_place(path, "no copy was put there") as temporary:
        shutil.copyfile(copy, temporary)


def _needed(conn: Connection) -> None:
    """Read what the daemon cannot do without; it is asked all the time, of every project."""
    registry.read_through(conn)
    jobs.everything(conn)


def _date_of(copy: Path) -> str:
    """Return the day and time in the name of a copy."""
    stamp = copy.stem
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]} UTC"


def _signature() -> tuple[int, ...] | None:
    try:
        found = places.user_store().lstat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _folder() -> Path:
    return places.home() / "stand-in"
