"""Read files for an import and write them for an export, with the user's rights.

No link is followed.
"""

import base64
import errno
import hashlib
import json
import os
import stat
from contextlib import contextmanager
from itertools import accumulate

from yaadwatch.cli.terminal import in_command
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.plain_files import read_plain, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# ruff: noqa: PTH103, PTH105, PTH108, PTH110, PTH112, PTH114, PTH118, PTH119
# ruff: noqa: PTH116, PTH120, PTH123


CHUNK_BYTES = 1024 * 1024
"""Sent at once; in base64 a third more, which a line on the socket holds."""
PAGE_BYTES_MAX = 512 * 1024
MANIFEST_BYTES_MAX = 64 * 1024 * 1024
FILES_MAX = 100_000
ARCHIVE = ".archive"
MANIFEST = ".yaadwatch.json"
"""In an exported folder: which files in it are ours, and what we wrote."""

_SQLITE = b"SQLite format 3\0"


def format_of(path: str) -> str:
    """Return what a file or folder seems to hold.

    Raises:
        YaadError: NOT_FOUND when it is not there, or cannot be read; BAD_REQUEST when it is
            compressed, is named like a database, but is not one, or is of another format.
    """
    if os.path.isdir(path):
        return "markdown"
    with _reading(path), open(path, "rb") as stream:
        head = stream.read(100)
    if head.startswith(b"\x1f\x8b"):
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} is compressed. Nothing was imported.",
            hint=f"Unpack it first: gunzip -k {in_command(path)}",
        )
    if path.endswith((".db", ".db3", ".sqlite", ".sqlite3")) and not head.startswith(_SQLITE):
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} is named like a database, but is not one. Nothing was imported.",
            hint="If it is the file of an agent: --format agent-file",
        )
    if head.startswith(_SQLITE):
        # Where SQLite keeps the number of a program, a store of ours has this.
        return "store" if head[68:72] == (0x79616164).to_bytes(4, "big") else "yaad"
    if path.endswith((".jsonl", ".ndjson")) or head.startswith(b'{"yaadwatch"'):
        return "jsonl"
    name = path.rpartition("/")[2].lower()
    is_text = "." not in name[1:] or name.endswith((".md", ".mdc", ".mdx", ".markdown", ".txt"))
    if not is_text or head.lstrip().startswith((b'{"', b"[{", b'["', b"<?xml", b"<!DOCTYPE")):
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} is in a format that yaadwatch does not read. Nothing was imported.",
            hint="It reads markdown, exports (.jsonl), databases of Yaad and agent files. If it is "
            "an agent file: --format agent-file",
        )
    return "agent-file"


def require_plain(path: str) -> None:
    """Refuse what cannot be read twice: a pipe, a device.

    Raises:
        YaadError: NOT_FOUND when it is not there; BAD_REQUEST.
    """
    with _reading(path):
        mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise YaadError(
            Code.BAD_REQUEST,
            f"{path} is no plain file. Nothing was imported.",
            hint="Write it to a file, and import that.",
        )


def parts(path: str, form: str, unread: "list[str]") -> "Iterator[tuple[str, str]]":
    """Yield what is sent of a file or folder: the part it belongs to, and a piece in base64.

    Args:
        path: of the file or folder.
        form: its format.
        unread: called with each file that was not read, and why.

    Raises:
        YaadError: NOT_FOUND when it cannot be read; CONFLICT when it changes meanwhile.
    """
    if form in ("markdown", "agent-file"):
        yield from _sent_files(path, unread)
        return
    if form not in ("yaad", "store"):
        yield from (("data", piece) for piece in _read(path))
        return
    before = _signature(path)
    yield from (("data", piece) for piece in _read(path))
    if os.path.exists(f"{path}-wal"):
        yield from (("wal", piece) for piece in _read(f"{path}-wal"))
    if _signature(path) != before:
        raise YaadError(
            Code.CONFLICT,
            f"{path} was written to while it was read. Nothing was imported.",
            hint="End the program that uses it, then try again.",
        )


def write_file(path: str, pieces: "Iterable[bytes]", *, force: bool) -> int:
    """Write a file, 0600: it is there whole, or not at all; return its size.

    Raises:
        YaadError: REFUSED when something is there already; UNAVAILABLE when it cannot be written.
    """
    _refuse(path, force=force)
    with _writing(path):
        return _replace(path, pieces)


def write_folder(
    folder: str, found: "Iterable[tuple[str, bytes]]", *, force: bool
) -> "dict[str, object]":
    """Write files below a folder; those that we did not write, or that were edited, stay.

    What we wrote once and is no more is removed, unless it was edited.

    Args:
        folder: made when it is missing.
        found: path, relative with '/', and content of each.
        force: overwrite our files that were edited since.

    Raises:
        YaadError: REFUSED when it is a link, or no folder; UNAVAILABLE when a file cannot be
            written.
    """
    if os.path.islink(folder):
        raise _refused(folder, "is a link")
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise _refused(folder, "is no folder")
    known = _manifest(folder)
    now: dict[str, str] = {}
    written, same, left_alone = 0, 0, []
    for name, data in found:
        path = _inside(folder, name)
        digest = hashlib.sha256(data).hexdigest()
        there = _digest(path)
        if there == digest:
            same += 1
        elif there is not None and (name not in known or (there != known[name] and not force)):
            left_alone.append(name)
            if name in known:
                now[name] = known[name]
            continue
        else:
            with _writing(path):
                # The names in it are words of memories.
                for here in accumulate(name.split("/")[:-1], os.path.join, initial=folder):
                    os.makedirs(here, mode=0o700, exist_ok=True)
                _replace(path, [data])
            written += 1
        now[name] = digest
    removed = 0
    for name in sorted(known.keys() - now.keys()):
        path = _inside(folder, name)
        if _digest(path) == known[name]:
            with _writing(path):
                os.unlink(path)
            removed += 1
    with _writing(folder):
        text = json.dumps({"files": now}, indent=0, sort_keys=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _replace(os.path.join(folder, MANIFEST), [text.encode()])
    return {"written": written, "same": same, "removed": removed, "left_alone": left_alone}


def files(pieces: "Iterable[bytes]") -> "Iterator[tuple[str, bytes]]":
    """Yield path and content of the files in what the daemon hands out."""
    left = b""
    for piece in pieces:
        *whole, left = (left + piece).split(b"\n")
        for line in whole:
            row = json.loads(line)
            yield row["path"], base64.b64decode(row["data"])


def _sent_files(path: str, unread: "list[str]") -> "Iterator[tuple[str, str]]":
    """Yield files as lines of name and content, many in one piece."""
    found = _pages(path, unread) if os.path.isdir(path) else [os.path.basename(path)]
    above = path if os.path.isdir(path) else os.path.dirname(path)
    batch = b""
    for name in found:
        with _reading(name):
            data = _page(os.path.join(above, name))
        if data is None:
            unread.append(f"{name}: it is larger than {PAGE_BYTES_MAX // 1024} KiB")
            continue
        shown = name.encode("utf-8", "replace").decode()
        row = {"path": shown, "data": base64.b64encode(data).decode()}
        batch += json.dumps(row).encode() + b"\n"
        if len(batch) >= CHUNK_BYTES:
            yield "data", base64.b64encode(batch).decode()
            batch = b""
    yield "data", base64.b64encode(batch).decode()


def _page(path: str) -> "bytes | None":
    """Return the content of a file; None when it is too large for a page."""
    try:
        return read_plain(path, PAGE_BYTES_MAX, links=True)
    except OSError as error:
        if error.errno == errno.EFBIG:
            return None
        raise


def _pages(folder: str, unread: "list[str]") -> "list[str]":
    """Return the markdown files below a folder, by their path in it; no link, and nothing hidden
    but what we archived there.
    """
    found: list[str] = []
    for above, folders, names in walk(folder):
        ours = {ARCHIVE} if MANIFEST in names else set()
        folders[:] = [name for name in folders if name in ours or not name.startswith(".")]
        for name in names:
            path = os.path.join(above, name)
            shown = os.path.relpath(path, folder)
            if name.startswith(".") or not name.endswith(".md"):
                continue
            if not stat.S_ISREG(os.lstat(path).st_mode):
                unread.append(f"{shown}: it is no plain file")
                continue
            found.append(shown)
            if len(found) > FILES_MAX:
                raise YaadError(
                    Code.TOO_LARGE,
                    f"{folder} has more than {FILES_MAX} pages. Nothing was imported.",
                    hint="Import its folders one by one.",
                )
    return found


def _read(path: str) -> "Iterator[str]":
    with _reading(path), open(path, "rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield base64.b64encode(chunk).decode()


def _signature(path: str) -> "list[tuple[int, int, int]]":
    """Return a signature that changes when a database or its log is written to."""
    found = []
    for place in (path, f"{path}-wal"):
        try:
            status = os.stat(place)
        except FileNotFoundError:
            continue
        found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return found


def _refuse(path: str, *, force: bool) -> None:
    if os.path.islink(path):
        raise _refused(path, "is a link")
    if os.path.isdir(path):
        raise _refused(path, "is a folder")
    if os.path.exists(path) and not force:
        raise YaadError(
            Code.REFUSED,
            f"{path} is there already. Nothing was written.",
            hint="Name another file, or write over it: --force",
        )


def _inside(folder: str, name: str) -> str:
    """Return the path of a file below a folder, through no link."""
    parts_ = name.split("/")
    if not name or any(part in ("", ".", "..") or "\0" in part for part in parts_):
        raise _refused(name, "leads out of the folder")
    here = folder
    for part in parts_:
        here = os.path.join(here, part)
        if os.path.islink(here):
            raise _refused(here, "is a link")
    return here


def _digest(path: str) -> "str | None":
    """Return the hash of a file; None when it is missing, '' for anything but a file."""
    try:
        return hashlib.sha256(read_plain(path, MANIFEST_BYTES_MAX, links=True)).hexdigest()
    except OSError:
        return "" if os.path.lexists(path) else None


def _manifest(folder: str) -> "dict[str, str]":
    path = os.path.join(folder, MANIFEST)
    try:
        found = json.loads(read_plain(path, MANIFEST_BYTES_MAX, links=True)).get("files")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError):
        found = None
    if not isinstance(found, dict):
        raise _refused(path, "is not what we wrote")
    return {str(name): str(digest) for name, digest in found.items()}


def _replace(path: str, pieces: "Iterable[bytes]") -> int:
    """Replace `path` with a new file of mode 0600; return its size."""
    temporary = f"{path}.{os.getpid()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            for piece in pieces:
                stream.write(piece)
            written = stream.tell()
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return written


@contextmanager
def _reading(path: str) -> "Iterator[None]":
    """Raise an error that a person can read when a file cannot be read."""
    try:
        yield
    except OSError as error:
        raise YaadError(
            Code.NOT_FOUND,
            f"{path} cannot be read ({error.strerror}). Nothing was imported.",
            hint="Name a file or a folder that you may read.",
        ) from None


@contextmanager
def _writing(path: str) -> "Iterator[None]":
    """Raise an error that a person can read when a file cannot be written."""
    try:
        yield
    except FileNotFoundError:
        folder = os.path.dirname(path)
        raise YaadError(
            Code.UNAVAILABLE,
            f"There is no folder {folder}. Nothing was written.",
            hint=f"Make it, then try again: mkdir -p {in_command(folder)}",
        ) from None
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be written ({error.strerror}). What was written so far is whole.",
            hint="Look at the space on that disk, and at the permissions of the folder.",
        ) from None


def _refused(path: str, why: str) -> YaadError:
    return YaadError(
        Code.REFUSED, f"{path} {why}. Nothing was written to it.", hint="Name another place."
    )
