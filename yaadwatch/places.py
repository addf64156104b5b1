"""Paths of lock, socket, stores, logs and prepared briefs. Standard library only.

Client and daemon share this module. A client imports it with every hook and command, so its own
paths are strings; pathlib, which takes longer to import than the daemon to answer, is imported only
when a `Path` is returned.

The daemon writes one brief for each work tree, HEAD and agent, so that a hook never finds the brief
of another branch.
"""

import os
import sys
from binascii import crc32

from yaadwatch.plain_files import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


# ruff: noqa: PTH100, PTH108, PTH111, PTH113, PTH116, PTH117, PTH118, PTH120, PTH208


VERSION = "0.1.0"
"""The program's version, as in pyproject.toml: reading the package metadata is far slower."""

PROTOCOL = 1
"""The version of the socket protocol; both ends must have the same."""


def data_folder() -> "Path":
    """Return the data folder: `$YAAD_HOME`, else `~/.yaad`, absolute.

    Raises:
        RuntimeError: the home folder of the user cannot be found out.
    """
    return _path(_home())


def lock_file() -> "Path":
    """Return the file whose lock the running daemon holds; its text is pid and socket path."""
    return _path(_home(), "daemon.lock")


def user_store() -> "Path":
    """Return the database with the registry of projects."""
    return _path(_home(), "yaad.db")


def reserve() -> "Path":
    """Return the file whose room is used to erase on a full disk."""
    return _path(_home(), "reserve")


def key_file() -> "Path":
    """Return the file of the key for hashes of people's lines."""
    return _path(_home(), "key")


def log_file() -> "Path":
    """Return the daemon's log."""
    return _path(_home(), "log", "daemon.log")


def start_log() -> "Path":
    """Return the log of background starts, written before the daemon's log is open."""
    return _path(_home(), "log", "start.log")


def hook_log() -> str:
    """Return the log of hooks; as text, because importing pathlib is slow."""
    return os.path.join(_home(), "log", "hook.log")


def undelivered_briefs() -> str:
    """Return the folder of notes on sessions that got no brief; as text, likewise."""
    return os.path.join(_home(), "log", "untold")


def prepared_briefs() -> str:
    """Return the folder of briefs for hooks that the daemon answers too late; as text, likewise."""
    return os.path.join(_home(), "briefs")


def receipt() -> "Path":
    """Return the file that says what was written outside of this folder, and where."""
    return _path(_home(), "receipt.json")


def backups(project: str) -> "Path":
    """Return the folder for copies of one project's store."""
    return _path(_home(), "backups", project)


def projects() -> "Path":
    """Return the folder that holds a folder for each project, named by its id."""
    return _path(_home(), "projects")


def project_store(project: str) -> "Path":
    """Return the database of a project, by its id."""
    return _path(_home(), "projects", project, "yaad.db")


def default_socket() -> "Path":
    """Return where the daemon listens: never in a folder that other users can write to."""
    return _path(_default_socket())


def announced_pid() -> int | None:
    """Return the pid in the lock file, or None. It means something only while the lock is held."""
    announced = _announced()
    return None if announced is None else announced[0]


def sockets() -> tuple[str, ...]:
    """Return where a client looks for the daemon, best first: as announced, then the default."""
    announced = _announced()
    default = _default_socket()
    if announced is None or announced[1] == default:
        return (default,)
    return (announced[1], default)


def _path(*parts: str) -> "Path":
    from pathlib import Path

    return Path(*parts)


def _home() -> str:
    folder = os.path.expanduser(os.environ.get("YAAD_HOME") or "~/.yaad")
    if folder.startswith("~"):
        raise RuntimeError("The home folder is not known. Set HOME, or YAAD_HOME to a folder.")
    return os.path.abspath(folder)


def _default_socket() -> str:
    if not os.environ.get("YAAD_HOME"):
        runtime = _runtime_folder()
        if runtime is not None:
            return os.path.join(runtime, "yaadwatch", "daemon.sock")
    return os.path.join(_home(), "run", "daemon.sock")


def _announced() -> tuple[int, str] | None:
    """Return pid and socket path from the lock file, or None when it does not say both."""
    try:
        lock = os.path.join(_home(), "daemon.lock")
        pid, socket = read_plain(lock, 8192, links=True).decode().splitlines()[:2]
    except (OSError, ValueError):
        return None
    if not pid.isdecimal() or not os.path.isabs(socket):
        return None
    return int(pid), socket


def _runtime_folder() -> str | None:
    """Return the user's runtime folder, if only this user can enter it."""
    if sys.platform == "darwin":
        return None
    folder = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    try:
        found = os.stat(folder)
    except OSError:
        return None
    if not os.path.isabs(folder) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        return None
    return folder


ANY_AGENT = "any"
"""The agent name of the brief for agents without a file of their own."""


def work_tree_of(folder: str) -> str:
    """Return the top of the work tree that a folder is in, links resolved; '' when there is none.

    Nothing is run, and no configuration of git is read.
    """
    here = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return ""
        here = above
    return here


def head_of(root: str) -> str:
    """Return the text of a work tree's HEAD: its branch, or its commit; '' when it is not read."""
    git = os.path.join(root, ".git")
    try:
        if os.path.isfile(git):
            named = _text(git).removeprefix("gitdir:").strip()
            git = os.path.join(root, named)
        return _text(os.path.join(git, "HEAD")).strip()
    except OSError:
        return ""


def brief_file(root: str, head: str, agent: str) -> str:
    """Return the file of the brief of a work tree at a HEAD."""
    return os.path.join(prepared_briefs(), f"{_begin(root)}{_number(head)}-{agent}.json")


def brief_subject(root: str, head: str) -> str:
    """Return the hash that tells which work tree and HEAD a brief is about.

    Two of them may have the same number in the name of the file. A branch may be named after a
    secret, so its name is not written.
    """
    import hashlib  # here, because it takes 3 ms to load and most hooks read no brief

    return hashlib.sha256(f"{root}\0{head}".encode("utf-8", "surrogatepass")).hexdigest()


def agents_at(root: str) -> set[str]:
    """Return the agents for which briefs of a work tree were prepared, at any HEAD."""
    begin = _begin(root)
    return {name[len(begin) + 9 : -5] for name in _names() if name.startswith(begin)}


def delete_briefs() -> None:
    """Delete every prepared brief."""
    for name in _names():
        try:
            os.unlink(os.path.join(prepared_briefs(), name))
        except OSError:  # it is gone already
            continue


def _begin(root: str) -> str:
    return f"{_number(root)}-"


def _number(text: str) -> str:
    return f"{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _names() -> list[str]:
    try:
        return [name for name in os.listdir(prepared_briefs()) if name.endswith(".json")]
    except OSError:
        return []


def _text(path: str) -> str:
    return read_plain(path, 4096, links=True).decode("utf-8", "surrogateescape")
