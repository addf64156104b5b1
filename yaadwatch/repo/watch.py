"""Watch a few chosen folders and report the names that changed, as hints.

A hint means "look at this name"; the state is then read from the disk, and the kind of event is
ignored. Folders are watched one by one, never recursively, so a large tree costs nothing. On Linux
this uses watchdog's inotify reader, constructed directly (docs/decisions/0002-watcher.md says why).
That layer is private, so watchdog is pinned below the next minor version.
"""

import errno
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import ObservedWatch
    from watchdog.observers.inotify_c import InotifyEvent, InotifyFD, Mask, WatchDescriptor

    _Row = tuple[WatchDescriptor, Mask, int, bytes]

OnHint = Callable[[Path, str], None]
"""Called with a watched folder and a name in it; with '' when the folder itself went and is watched
no longer."""
OnOverflow = Callable[[], None]
"""Called when hints were lost: anything may have changed."""
Cares = Callable[[Path, str], bool]
"""Says whether a hint means anything to anybody; quick, for it is asked in a storm."""

_CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x8, 0x40, 0x80
_CREATE, _DELETE, _MOVE_SELF = 0x100, 0x200, 0x800
_ONLYDIR, _DONT_FOLLOW, _EXCL_UNLINK = 0x1000000, 0x2000000, 0x4000000
# Without IN_MODIFY: it doubles the events of a plain save, and its hint comes before the writer is
# done. A program that never closes its file is found by the poll. Without IN_DELETE_SELF: the end
# of a watch is reported in any case.
_CHANGES = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _MOVE_SELF
_MASK = _CHANGES | _ONLYDIR | _DONT_FOLLOW | _EXCL_UNLINK
_LIMITED = frozenset({errno.ENOSPC, errno.ENOMEM})
_UNREADABLE = frozenset({errno.EACCES, errno.EPERM})
_BUFFER_BYTES = 64 * 1024
_STOP_S = 2.0
_HEADER = struct.Struct("iIII")
_STORM_BREATH_S = 0.016
"""The system keeps 16,384 events for us: that is a million a second."""
_STORM_EVENTS = 16


class Watcher:
    """Watches chosen folders. Any thread may call it; hints come from a thread of its own.

    This one refuses every folder: the system has no watcher to give, and polling has to do.
    """

    def __init__(self) -> None:
        self.events = 0
        """How many events were read."""
        self.overflows = 0
        """How often hints were lost."""
        self._lock = threading.Lock()
        self._refused: set[Path] = set()
        self._unreadable: set[Path] = set()

    @property
    def folders(self) -> frozenset[Path]:
        """Return the folders that are watched now."""
        return frozenset()

    @property
    def refused(self) -> int:
        """Return how many folders the system refuses to watch now, because of its limits."""
        return len(self._refused)

    @property
    def unreadable(self) -> frozenset[Path]:
        """Return the folders that may not be watched, because this user may not read them."""
        with self._lock:
            return frozenset(self._unreadable)

    def watch(self, folder: Path) -> bool:
        """Watch the folder now at this path, even if watched before; return whether that succeeded.

        False: there is no folder at that path (a link does not count), or the system refuses.
        """
        self._refused.add(folder)
        return False

    def unwatch(self, folder: Path) -> None:
        """Stop watching `folder`; nothing happens when it is not watched."""
        self._refused.discard(folder)

    def close(self) -> None:
        """Stop watching everything; no hint comes after this."""


def open_watcher(
    on_hint: OnHint, on_overflow: OnOverflow, cares: Cares = lambda *_: True
) -> Watcher:
    """Return this system's watcher, or one that refuses every folder if there is none.

    It may report irrelevant hints.
    """
    if sys.platform == "darwin":
        return FSEventsWatcher(on_hint)
    if sys.platform != "linux":
        return Watcher()
    try:
        return InotifyWatcher(on_hint, on_overflow, cares)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSYS):
            return Watcher()
        raise


def watch_limit() -> int | None:
    """Return how many folders this user may watch in all programs together; None: no such limit."""
    limits = []
    for file in ("fs/inotify/max_user_watches", "user/max_inotify_watches"):
        try:
            limits.append(int(Path("/proc/sys", file).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return min(limits, default=None)


class _Watched:
    """One folder; watchdog calls these methods from its reader thread."""

    __slots__ = ("folder", "id", "owner", "wd")

    def __init__(self, owner: "InotifyWatcher", folder: Path, id_: int) -> None:
        self.owner = owner
        self.folder = folder
        self.id = id_
        self.wd = -1

    def on_event(self, event: "InotifyEvent") -> None:
        if event.name:
            self.owner.on_hint(self.folder, os.fsdecode(event.name))
        elif event.mask & _MOVE_SELF:
            # The watch would follow the folder to its new place and report under the old path.
            self.owner.lost(self)

    def on_watch_deleted(self, wd: "WatchDescriptor") -> None:  # noqa: ARG002  (watchdog's signature)
        self.owner.lost(self)

    def on_queue_overflow(self) -> None:
        """Do nothing: the reader reports an overflow once, not once for each folder."""


class InotifyWatcher(Watcher):
    """Linux: one inotify descriptor and one thread for all folders.

    Raises:
        OSError: the system gives no inotify descriptor (128 for each user, by default).
    """

    def __init__(
        self, on_hint: OnHint, on_overflow: OnOverflow, cares: Cares = lambda *_: True
    ) -> None:
        super().__init__()
        self.on_hint = on_hint
        self._on_overflow = on_overflow
        self._watched: dict[Path, _Watched] = {}
        self._next_id = 0
        self._closed = False
        self._reader = _reader(self, cares)
        self._reader.start()

    @property
    def folders(self) -> frozenset[Path]:
        """Return the folders that are watched now."""
        with self._lock:
            return frozenset(self._watched)

    def watch(self, folder: Path) -> bool:
        """Watch `folder` as it is now; see `Watcher.watch`."""
        with self._lock:
            if self._closed:
                return False
            # Repeated even for a known folder: another one may be at this path by now.
            # Every call has an id of its own, because watchdog warns with the text of its whole
            # table when an id comes twice for one descriptor.
            self._next_id += 1
            fresh = _Watched(self, folder, self._next_id)
            known = self._watched.get(folder)
            try:
                fresh.wd = self._add(fresh)
            except OSError as error:
                if known is not None:
                    self._remove(known)
                self._record_refusal(folder, error.errno)
                return False
            self._record_refusal(folder, None)
            if known is not None and known.wd == fresh.wd:
                self._forget(fresh)
                return True
            if known is not None:
                self._remove(known)
            self._watched[folder] = fresh
            return True

    def unwatch(self, folder: Path) -> None:
        """Stop watching `folder`."""
        with self._lock:
            self._record_refusal(folder, None)
            known = self._watched.get(folder)
            if known is not None and not self._closed:
                self._remove(known)

    def lost(self, watched: _Watched) -> None:
        """Take note that a folder went: deleted, moved or unmounted. Called by the reader."""
        with self._lock:
            if self._closed or self._watched.get(watched.folder) is not watched:
                return
            self._remove(watched)
        self.on_hint(watched.folder, "")

    def close(self) -> None:
        """Stop the reader and give the descriptor back."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._watched.clear()
        self._reader.stop()
        self._reader.join(_STOP_S)

    def _record_refusal(self, folder: Path, error: int | None) -> None:
        """Record why a folder is not watched, or that it can be."""
        for among, errors in ((self._refused, _LIMITED), (self._unreadable, _UNREADABLE)):
            if error in errors:
                among.add(folder)
            else:
                among.discard(folder)

    def overflowed(self) -> None:
        """Take note that hints were lost. Called by the reader."""
        self.overflows += 1
        self._on_overflow()

    def _add(self, watched: _Watched) -> int:
        """Return the descriptor of a new watch.

        Raises:
            OSError: with the system's number.
        """
        from watchdog.observers.inotify_c import CallbackId, Mask

        wd = self._reader.add_callback(
            os.fsencode(watched.folder), Mask(_MASK), watched, CallbackId(watched.id)
        )
        if wd == -1:
            # watchdog 7.1 takes a folder it may not read for watched, under descriptor -1.
            self._reader.remove_callbacks([(wd, CallbackId(watched.id))])
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(watched.folder))
        return wd

    def _remove(self, watched: _Watched) -> None:
        del self._watched[watched.folder]
        self._forget(watched)

    def _forget(self, watched: _Watched) -> None:
        from watchdog.observers.inotify_c import CallbackId, WatchDescriptor

        key = (WatchDescriptor(watched.wd), CallbackId(watched.id))
        self._reader.remove_callbacks([key])


_NOBODY: "tuple[int, tuple[_Watched, ...]]" = (-1, ())


def _each_name_once(buffer: bytes) -> "tuple[list[_Row], int]":
    """Return the events in order, without repeated names in a folder, and their original number."""
    told: set[tuple[int, bytes]] = set()
    once: list[_Row] = []
    header, begins = _HEADER.unpack_from, _HEADER.size
    at, count, size = 0, 0, len(buffer)
    while at < size:
        wd, mask, cookie, length = header(buffer, at)
        end = at + begins + length
        # In a storm most end here: compared with its padding, before anything is made of it.
        key = wd, buffer[at + begins : end]
        at = end
        count += 1
        if length:
            if key in told:
                continue
            told.add(key)
        once.append((wd, mask, cookie, key[1].rstrip(b"\0")))
    return once, count


def _breath_s(events: int, buffered: int) -> float:
    """Return how long to wait before reading on, after so many events in so many bytes.

    Longest in a storm, yet not when the system may have more for us than we took.
    """
    if events < _STORM_EVENTS:
        return 0.002 if events else 0.0
    return _STORM_BREATH_S if buffered < _BUFFER_BYTES // 2 else 0.0


def _reader(owner: InotifyWatcher, cares: Cares) -> "InotifyFD":
    """Return watchdog's reader, extended to report the overflow that watchdog only logs."""
    from watchdog.observers.inotify_c import InotifyEvent, InotifyFD

    class Reader(InotifyFD):
        def __init__(self) -> None:
            super().__init__()
            self.name = "watcher"
            # watchdog claims to be reading before it is: closed until then, nothing would be freed.
            self._is_reading = False
            self.breath_s = 0.0
            self.among = _NOBODY  # listeners of the descriptor that was looked up last
            os.set_inheritable(self._inotify_fd, False)

        def read_events(self, **_: int) -> "list[InotifyEvent]":
            # A lone change is reported at once. Those right after it wait a moment, and a storm
            # longer: reading many at once is cheaper, and removes duplicates.
            if self.breath_s:
                time.sleep(self.breath_s)
            buffer = self._read_event_buffer(_BUFFER_BYTES)
            rows, count = _each_name_once(buffer)
            self.breath_s = _breath_s(count, len(buffer))
            self.among = _NOBODY
            owner.events += count
            return [InotifyEvent(*row) for row in rows if self._matters(*row)]

        def _matters(self, wd: "WatchDescriptor", mask: "Mask", _: int, name: bytes) -> bool:
            """Return whether an event has a listener; others are dropped before they are built."""
            if not name:  # the overflow has no descriptor
                return wd != -1 or bool(mask & 0x4000)
            if wd != self.among[0]:
                watch = self._watch_for_wd.get(wd)
                every = tuple(watch.callbacks.values()) if watch else ()
                self.among = wd, cast("tuple[_Watched, ...]", every)
            among = self.among[1]
            if not among:  # a watch that is just being made: the reader waits for it
                return True
            text = os.fsdecode(name)
            for each in among:  # noqa: SIM110  (in a storm the other way takes twice as long)
                if cares(each.folder, text):
                    return True
            return False

        def handle_event(self, event: "InotifyEvent") -> None:
            if event.is_queue_overflow:
                owner.overflowed()
            else:
                super().handle_event(event)

    return Reader()


class FSEventsWatcher(Watcher):
    """macOS: FSEvents through watchdog's observer. Written from its sources, never run by a test.

    A stream covers a whole tree and costs a thread, so a folder below a watched one gets no stream
    of its own: names are filtered here. watchdog does not report lost hints; the sweep finds them.
    """

    def __init__(self, on_hint: OnHint) -> None:
        from watchdog.events import FileSystemEventHandler
        from watchdog.observers import Observer

        class Handler(FileSystemEventHandler):
            def dispatch(_, event: "FileSystemEvent") -> None:  # noqa: N805
                self._on_event(event)

        super().__init__()
        self._handler = Handler()
        self._on_hint = on_hint
        self._folders: set[Path] = set()
        self._streams: dict[Path, ObservedWatch] = {}
        self._observer = Observer()
        self._observer.start()

    @property
    def folders(self) -> frozenset[Path]:
        """Return the folders that are watched now."""
        with self._lock:
            return frozenset(self._folders)

    def watch(self, folder: Path) -> bool:
        """Watch `folder`; see `Watcher.watch`."""
        if folder.is_symlink() or not folder.is_dir():
            self.unwatch(folder)
            return False
        with self._lock:
            self._folders.add(folder)
            if not any(folder.is_relative_to(top) for top in self._streams):
                stream = self._observer.schedule(self._handler, str(folder), recursive=True)
                self._streams[folder] = stream
        return True

    def unwatch(self, folder: Path) -> None:
        """Stop watching `folder`, and end the streams that cover no folder any more."""
        with self._lock:
            self._folders.discard(folder)
            for top in list(self._streams):
                if not any(other.is_relative_to(top) for other in self._folders):
                    self._observer.unschedule(self._streams.pop(top))

    def _on_event(self, event: "FileSystemEvent") -> None:
        """Turn an event of watchdog into hints. Runs in the observer's thread."""
        self.events += 1
        gone = event.event_type in ("deleted", "moved")
        for raw in (event.src_path, event.dest_path):
            if not raw:
                continue
            path = Path(os.fsdecode(raw))
            if path.parent in self._folders:
                self._on_hint(path.parent, path.name)
            if gone and path in self._folders and not path.is_dir():
                self.unwatch(path)
                self._on_hint(path, "")

    def close(self) -> None:
        """Stop the observer."""
        self._observer.stop()
        self._observer.join(_STOP_S)
