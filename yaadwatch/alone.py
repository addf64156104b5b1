"""What is remembered can be read when no daemon can be had: by this process, from copies.

A composition root of its own. The stores are copied to a private folder, and whatever a verb writes
goes there and is thrown away: a daemon that hangs may still have the true ones open. What a command
that was killed leaves there goes after a day, and with what is erased.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import cast

import apsw

from yaadwatch import places
from yaadwatch.api import codec
from yaadwatch.api.frames import decode, to_error
from yaadwatch.api.operations import BY_NAME
from yaadwatch.core.privacy import mask_tree
from yaadwatch.engine import moved
from yaadwatch.engine.inout import spool
from yaadwatch.engine.stores.open_stores import Stores
from yaadwatch.engine.workspace import PERSON, Call, Home
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.servers.dispatch import VERBS, Dispatcher
from yaadwatch.store import projects as registry
from yaadwatch.store.sqlite import migrations
from yaadwatch.store.sqlite.database import Database
from yaadwatch.store.sqlite.faults import told
from yaadwatch.system import config
from yaadwatch.system.clock import Clock
from yaadwatch.system.git.command import GitRunner

_UNREAD = "nothing was read"
_OF_ALL = frozenset({"projects"})
"""Operations that look at every project."""


def can_answer(operation: str) -> bool:
    """Say whether an operation only reads what is stored."""
    return operation in VERBS and operation != "health" and BY_NAME[operation].kind == "read"


def answer(operation: str, fields: Mapping[str, object], folder: Path) -> dict[str, object]:
    """Return what `operation` answers, as a client hears it, with `offline: true`.

    Args:
        operation: one that `can_answer` says yes to.
        fields: of its request.
        folder: what it is about, unless `fields` name a project.

    Raises:
        YaadError: as the operation; UNAVAILABLE when a store cannot be read or copied.
    """
    request = codec.request(
        {"jsonrpc": "2.0", "id": 1, "method": operation, "params": dict(fields)}
    )
    about = Path(request.project) if request.project else folder
    with _home(None if operation in _OF_ALL else about) as home:
        call = Call(folder=about, origin=PERSON)
        frame = decode(Dispatcher(home, mask_tree).answered(call, request))
    if "error" in frame:
        raise to_error(frame["error"])
    return cast("dict[str, object]", frame["result"]) | {"offline": True}


def now() -> datetime:
    """Return the present time by the clock that the times in answers are of."""
    return Clock().now()


@contextmanager
def _home(about: Path | None) -> Iterator[Home]:
    """Lend a home of copies: the user store, and the store of a folder's project, or all (None)."""
    _refuse_foreign(places.user_store())  # as root in somebody else's home
    # Why a file of settings cannot be used is why no daemon can be had, which the caller tells.
    settings = config.load_or_usual(places.home() / config.FILE, os.environ).settings
    clock = Clock()
    with ExitStack() as stack:
        folder = stack.enter_context(_folder(clock))
        user = folder / "yaad.db"
        _copy(places.user_store(), user)
        home = Home(
            user=Database.open(user, role="user"),
            stores=Stores(lambda _: None, clock, folder=folder),
            clock=clock,
            settings=settings,
            git=GitRunner(timedelta(milliseconds=settings.git.timeout_ms)),
        )
        home.follow = partial(moved.follow, home)
        stack.callback(home.close)
        for project in _meant(home, about):
            store = places.project_store(project.id)
            if store.exists():
                _copy(store, home.stores.path(project.id))
        yield home


@contextmanager
def _folder(clock: Clock) -> Iterator[Path]:
    """Lend an empty private folder: in our home, or a temporary one where that takes nothing."""
    with ExitStack() as stack:
        try:
            spool.sweep(clock)
            made = spool.make(clock)
        except (YaadError, OSError):
            found = stack.enter_context(tempfile.TemporaryDirectory(prefix="yaadwatch-"))
            yield Path(found)
        else:
            stack.callback(made.drop)
            yield made.folder


def _meant(home: Home, about: Path | None) -> list[Project]:
    if about is None:
        return home.user.read(registry.everything)
    with suppress(YaadError):
        return [home.project_at(about)[0]]
    return []


def _refuse_foreign(store: Path) -> None:
    """Refuse a store that another user owns, or that a link leads to.

    Raises:
        YaadError: REFUSED.
    """
    for place in (store.parent, store):
        with suppress(FileNotFoundError, NotADirectoryError):
            found = place.lstat()
            if stat.S_ISLNK(found.st_mode):
                what = "is a link"
            elif found.st_uid != os.getuid():
                what = "belongs to another user"
            elif place == store.parent and not stat.S_ISDIR(found.st_mode):
                what = "is not a folder"
            else:
                continue
            raise YaadError(
                Code.REFUSED,
                f"{place} {what}; nothing was read from it or written to it.",
                hint="Set YAAD_HOME to a folder of your own.",
            )


def _copy(store: Path, target: Path) -> None:
    """Copy a store that another process may have open.

    Raises:
        YaadError: UNAVAILABLE when it cannot be read, or there is no room for the copy.
    """
    try:
        target.parent.mkdir(mode=0o700, exist_ok=True)
        with told(store, _UNREAD):
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW
            conn = apsw.Connection(str(store.parent.resolve() / store.name), flags=flags)
            try:
                migrations.copy_into(conn, target, _UNREAD)
            except apsw.CantOpenError:
                _copy_files(store, target)
            finally:
                conn.close()
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{store} cannot be copied to {target.parent} ({error.strerror}); {_UNREAD}.",
            hint="Free some space there, or set TMPDIR to a folder that has some.",
        ) from error


def _copy_files(store: Path, target: Path) -> None:
    """Copy a store with the log of what was written last, as they are.

    Where no file can be made beside it, on a disk that is read-only, SQLite reads neither.

    Raises:
        OSError: one cannot be read or written.
        YaadError: UNAVAILABLE when somebody wrote to it meanwhile, REFUSED when one is a link.
    """
    before = _looks(store)
    for path in before:
        copy = target.with_name(target.name + path.name.removeprefix(store.name))
        with os.fdopen(_opened(path), "rb") as source, os.fdopen(_made(copy), "wb") as to:
            shutil.copyfileobj(source, to)
    if _looks(store) != before:
        raise YaadError(
            Code.UNAVAILABLE, f"{store} was written to meanwhile; {_UNREAD}.", hint="Try again."
        )


def _looks(store: Path) -> dict[Path, tuple[int, int]]:
    """Return the size and the time of a store and of its log, where there is one.

    Raises:
        YaadError: REFUSED when one is no plain file: a link may lead anywhere.
    """
    found = {}
    for path in (store, store.with_name(f"{store.name}-wal")):
        with suppress(FileNotFoundError):
            seen = path.lstat()
            if not stat.S_ISREG(seen.st_mode):
                raise YaadError(
                    Code.REFUSED,
                    f"{path} is a link, or no plain file; {_UNREAD}.",
                    hint="Remove it, then try again.",
                )
            found[path] = seen.st_size, seen.st_mtime_ns
    return found


def _made(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _opened(path: Path) -> int:
    """Return a descriptor of a file that is no link."""
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
