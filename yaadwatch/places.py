"""Where lock, socket, stores and logs are. Standard library only: client and daemon share it."""

import os
import sys
from pathlib import Path

PROTOCOL = 1


def home() -> Path:
    """Return the folder that holds everything of ours: `$YAAD_HOME`, else `~/.yaad`, absolute."""
    given = os.environ.get("YAAD_HOME")
    return Path(given or "~/.yaad").expanduser().absolute()


def lock_file() -> Path:
    """Return the file whose lock the running daemon holds; its text is pid and socket path."""
    return home() / "daemon.lock"


def user_store() -> Path:
    """Return the database with the registry of projects."""
    return home() / "yaad.db"


def log_file() -> Path:
    """Return the daemon's log."""
    return home() / "log" / "daemon.log"


def backups(project: str) -> Path:
    """Return the folder for copies of one project's store."""
    return home() / "backups" / project


def default_socket() -> Path:
    """Return where the daemon listens: never in a folder that other users can write to."""
    if os.environ.get("YAAD_HOME"):
        return home() / "run" / "daemon.sock"
    runtime = _runtime_folder()
    if runtime is not None:
        return runtime / "yaadwatch" / "daemon.sock"
    return home() / "run" / "daemon.sock"


def announced_socket() -> Path | None:
    """Return the socket path in the lock file, or None. Nobody may be listening on it any more."""
    try:
        lines = lock_file().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    if len(lines) < 2 or not lines[1].startswith("/"):
        return None
    return Path(lines[1])


def _runtime_folder() -> Path | None:
    """Return the user's own runtime folder, if there is one that only this user can enter."""
    if sys.platform == "darwin":
        return None
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    try:
        found = folder.stat()
    except OSError:
        return None
    if not folder.is_absolute() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        return None
    return folder
