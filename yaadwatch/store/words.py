"""Which texts of a repository hold a word: an index beside the stores, made anew whenever in doubt.

It is a cache: it holds nothing that git does not, and deleting it costs time only. Each repository
has a file of its own. A text is one blob, indexed once however many commits have it, by its ASCII
words (letters, digits, underscore) as they are written; a commit that is covered has the paths and
blobs of all its texts in it, and the names of all its files and folders.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from yaadwatch.store.sqlite.faults import told, unavailable
from yaadwatch.store.sqlite.files import make_folder

FILES_MAX: Final = 64
"""Repositories with an index; that of the one that was asked least lately goes."""
TEXTS_MAX: Final = 200_000
"""Texts of one repository, some 500 MB; with more of them, the index begins anew. A commit with
more is never indexed."""
BYTES_MAX: Final = 2 * 1024 * 1024 * 1024
"""All indexes together; then those that were asked least lately go, whatever is asked of them."""
_FREE_BYTES_MAX: Final = 64 * 1024 * 1024
"""What an index may keep of room it does not use; more of it is given back."""
_VERSION: Final = 2
_BUSY_MS: Final = 2_000
_BESIDE: Final = ("", "-journal")
_OUTCOME: Final = "the files were searched instead"
_NOT_ITS_FAULT: Final = (
    *(apsw.BusyError, apsw.FullError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError),
    *(apsw.IOError, apsw.CantOpenError),
)
"""What may happen to an index that is whole; `told` says it in words."""
_TABLES: Final = """
    CREATE TABLE texts (
        num INTEGER PRIMARY KEY, blob BLOB NOT NULL UNIQUE, absent INTEGER NOT NULL
    );
    CREATE INDEX texts_absent ON texts (num) WHERE absent;
    CREATE TABLE places (text INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY (text, path))
        WITHOUT ROWID;
    CREATE TABLE commits (
        num INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, files INTEGER NOT NULL
    );
    CREATE TABLE files (name TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (name, path))
        WITHOUT ROWID;
    CREATE TABLE folders (name TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (name, path))
        WITHOUT ROWID;
    CREATE TABLE searches (num INTEGER PRIMARY KEY);
    CREATE VIRTUAL TABLE words USING fts5 (
        text, content='', columnsize=0, tokenize="ascii tokenchars '_'"
    );
"""


def _plain() -> bytes:
    """Return what each byte of a text becomes, so that the tokenizer splits it as it should.

    It makes capitals small ones, but leaves alone what is no ASCII: there they are kept.
    """
    table = bytearray(range(128)) + b" " * 128
    table[0] = ord(" ")
    for capital in range(ord("A"), ord("Z") + 1):
        table[capital] = 0x80 + capital
    return bytes(table)


_PLAIN: Final = _plain()


class Words:
    """The indexes of all repositories, in one folder (0700)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def use(self, repository: Path) -> Iterator["Texts"]:
        """Lend the index of the repository at this folder, an empty one if there is none.

        What is written counts only when the block ends well.

        Raises:
            YaadError: UNAVAILABLE when it cannot be read or written. One that is damaged is gone
                then.
        """
        path = self._path(repository)
        with told(path, _OUTCOME):
            make_folder(self._folder, _OUTCOME)
            try:
                with _open(path) as conn:
                    yield Texts(conn)
                self._make_room(path)
            except _NOT_ITS_FAULT:
                raise
            except apsw.Error as error:
                _remove(path)
                raise unavailable(f"{path} was damaged ({error}); {_OUTCOME}.") from error
            except OSError as error:
                raise unavailable(
                    f"{path} could not be written ({error.strerror}); {_OUTCOME}."
                ) from error

    def names(self, repository: Path, commit: str) -> "Names | None":
        """Return the names in a commit of the repository at this folder; None: it is not covered.

        Raises:
            YaadError: UNAVAILABLE when they cannot be read.
        """
        path = self._path(repository)
        if not path.exists():
            return None
        with told(path, _OUTCOME):
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW
            conn = apsw.Connection(str(path), flags=flags)
            conn.set_busy_timeout(_BUSY_MS)
            conn.pragma("trusted_schema", 0)
            if conn.pragma("user_version") != _VERSION:
                return None
            found = Names(conn, path, commit)
            return found if found.is_covered() else None

    def forget(self, repository: Path) -> None:
        """Delete the index of a repository, if there is one.

        Raises:
            YaadError: UNAVAILABLE when it cannot be deleted.
        """
        path = self._path(repository)
        try:
            _remove(path)
        except OSError as error:
            raise unavailable(
                f"{path} could not be deleted ({error.strerror}).",
                "It holds words of the repository; delete it yourself.",
            ) from error

    def _path(self, repository: Path) -> Path:
        name = hashlib.sha256(os.fsencode(repository)).hexdigest()
        return self._folder / f"{name[:32]}.db"

    def _make_room(self, used: Path) -> None:
        """Delete indexes, the oldest first and the one just used last, while they are too many."""
        found = {one: one.stat() for one in self._folder.glob("*.db")}
        left, size = len(found), sum(one.st_size for one in found.values())
        for path in sorted(found, key=lambda one: (one == used, found[one].st_mtime_ns)):
            if left <= FILES_MAX and size <= BYTES_MAX:
                break
            _remove(path)
            left, size = left - 1, size - found[path].st_size


class Names:
    """The names of files and folders in a commit; what is found may be another commit's only.

    Every question is a transaction of its own.
    """

    def __init__(self, conn: apsw.Connection, path: Path, commit: str) -> None:
        self._conn = conn
        self._path = path
        self._commit = bytes.fromhex(commit)

    def files(self, name: str) -> list[str]:
        """Return the paths that end in a name and may be files.

        Raises:
            YaadError: UNAVAILABLE, as every method, when the index cannot be read any more.
        """
        return self._asked("SELECT path FROM files WHERE name = ?", name)

    def folders(self, name: str) -> list[str]:
        """Return the paths that end in a name and may be folders."""
        return self._asked("SELECT path FROM folders WHERE name = ?", name)

    def beginning(self, name: str) -> list[str]:
        """Return the paths whose last part is a name with a suffix; files or folders."""
        ends = (f"{name}.", f"{name}/")  # the slash comes right behind the dot
        asked = "SELECT path FROM {} WHERE name >= ? AND name < ?"
        tables = ("files", "folders")
        return [path for table in tables for path in self._asked(asked.format(table), *ends)]

    def is_covered(self) -> bool:
        """Return whether the names of the commit are all there, at present."""
        return any(self._conn.execute("SELECT 1 FROM commits WHERE id = ?", (self._commit,)))

    def _asked(self, question: str, *given: str) -> list[str]:
        with told(self._path, _OUTCOME):
            found = [path for (path,) in self._conn.execute(question, given)]
            if self.is_covered():
                return found
        raise unavailable(f"{self._path} began anew; {_OUTCOME}.")


class Texts:
    """The index of one repository, within one transaction."""

    def __init__(self, conn: apsw.Connection) -> None:
        self._conn = conn

    def searched(self) -> None:
        """Note that the files of a commit were searched without the index."""
        self._conn.execute("INSERT INTO searches DEFAULT VALUES")

    def searches(self) -> int:
        """Return how often that was since a commit was covered last."""
        for (count,) in self._conn.execute("SELECT count(*) FROM searches"):
            return int(count)
        return 0

    def covers(self, commit: str) -> bool:
        """Return whether all texts of a commit are in the index."""
        rows = self._conn.execute("SELECT 1 FROM commits WHERE id = ?", (bytes.fromhex(commit),))
        return any(rows)

    def covered(self, limit: int) -> list[tuple[str, int]]:
        """Return commits that are covered and how many texts each has, the last ones."""
        rows = self._conn.execute(
            "SELECT id, files FROM commits ORDER BY num DESC LIMIT ?", (limit,)
        )
        return [(commit.hex(), files) for commit, files in rows]

    def absent(self) -> list[str]:
        """Return the blobs that git did not have when they were to be indexed."""
        return [blob.hex() for (blob,) in self._conn.execute("SELECT blob FROM texts WHERE absent")]

    def lacks(self, blobs: Iterable[str]) -> list[str]:
        """Return those of `blobs` that were never given to the index, each once."""
        known = "SELECT 1 FROM texts WHERE blob = ?"
        return [
            blob
            for blob in dict.fromkeys(blobs)
            if not any(self._conn.execute(known, (bytes.fromhex(blob),)))
        ]

    def add(self, blob: str, data: bytes | None) -> None:
        """Index a text; None: git does not have it at present.

        One that was absent may be added again.
        """
        self._conn.execute(
            "INSERT INTO texts (blob, absent) VALUES (?1, ?2)"
            " ON CONFLICT (blob) DO UPDATE SET absent = ?2",
            (bytes.fromhex(blob), data is None),
        )
        if data:
            self._conn.execute(
                "INSERT INTO words (rowid, text) SELECT num, ?2 FROM texts WHERE blob = ?1",
                (bytes.fromhex(blob), data.translate(_PLAIN).decode("latin-1")),
            )

    def cover(
        self,
        commit: str,
        files: Iterable[tuple[str, str]],
        *,
        count: int,
        paths: Iterable[str],
    ) -> None:
        """Note that all texts of a commit are indexed.

        Args:
            commit: its id.
            files: path and blob of those that no covered commit has there; the blobs are indexed.
            count: how many texts it has.
            paths: of its files, texts or not, at least those that no covered commit has.
        """
        known: set[str] = {""}
        for path in paths:
            folder, _, name = path.rpartition("/")
            self._conn.execute("INSERT OR IGNORE INTO files VALUES (?, ?)", (name, path))
            while folder not in known:
                known.add(folder)
                above, _, last = folder.rpartition("/")
                self._conn.execute("INSERT OR IGNORE INTO folders VALUES (?, ?)", (last, folder))
                folder = above
        self._conn.executemany(
            "INSERT OR IGNORE INTO places (text, path) SELECT num, ?1 FROM texts WHERE blob = ?2",
            ((path, bytes.fromhex(blob)) for path, blob in files),
        )
        self._conn.execute(
            "INSERT OR IGNORE INTO commits (id, files) VALUES (?, ?)",
            (bytes.fromhex(commit), count),
        )
        self._conn.execute("DELETE FROM searches")

    def holding(self, words: Sequence[str]) -> list[tuple[str, str]]:
        """Return path and blob of the texts that hold words one after the other, in any commit.

        What stands between them is not told, but that it is no word.

        Args:
            words: at least one, each of ASCII letters, digits and underscores.
        """
        asked = " ".join(words).encode("ascii").translate(_PLAIN).decode("latin-1")
        rows = self._conn.execute(
            """
            SELECT places.path, texts.blob
              FROM words
              JOIN texts ON texts.num = words.rowid
              JOIN places ON places.text = words.rowid
             WHERE words MATCH ?
            """,
            (f'"{asked}"',),
        )
        return [(path, blob.hex()) for path, blob in rows]

    def may_hold(self, count: int) -> bool:
        """Return whether a commit with so many texts can ever be covered."""
        return count <= TEXTS_MAX

    def is_full(self) -> bool:
        """Return whether it holds so many texts that it should begin anew."""
        rows = self._conn.execute("SELECT 1 FROM texts LIMIT 1 OFFSET ?", (TEXTS_MAX,))
        return any(rows)

    def clear(self) -> None:
        """Forget all texts and commits."""
        self._conn.execute("INSERT INTO words (words) VALUES ('delete-all')")
        for table in ("texts", "places", "commits", "files", "folders"):
            self._conn.execute(f"DELETE FROM {table}")  # noqa: S608  (a name from this line)


@contextmanager
def _open(path: Path) -> Iterator[apsw.Connection]:
    """Lend a connection in a transaction of its own, with the tables."""
    if not path.exists():
        path.touch(mode=0o600)
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    conn = apsw.Connection(str(path), flags=flags)
    try:
        conn.set_busy_timeout(_BUSY_MS)
        conn.pragma("trusted_schema", 0)
        conn.execute("BEGIN IMMEDIATE")
        if conn.pragma("user_version") != _VERSION:
            conn.execute(_TABLES)
            conn.pragma("user_version", _VERSION)
        yield conn
        conn.execute("COMMIT")
        if conn.pragma("freelist_count") * conn.pragma("page_size") > _FREE_BYTES_MAX:
            conn.execute("VACUUM")
    finally:
        conn.close()  # what was not committed is undone


def _remove(path: Path) -> None:
    for ending in _BESIDE:
        path.with_name(path.name + ending).unlink(missing_ok=True)
