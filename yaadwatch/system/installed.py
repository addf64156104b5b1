"""Which programs does this person use, and how are they set up? Told by their files at home."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

SETTINGS_BYTES_MAX: Final = 1024 * 1024
"""A longer file of settings is read up to here."""


def is_used(homes: Iterable[str]) -> bool:
    """Return whether a program was ever run by this user.

    PATH would not tell: a service has another one than the person, and what lies there may never
    have been run.

    Args:
        homes: files or folders that it makes, relative to the home folder; one of them will do.
            What is in `.config` is also looked for in `$XDG_CONFIG_HOME`.
    """
    home, moved = Path.home(), os.environ.get("XDG_CONFIG_HOME", "")
    places = [f"{home}/{one}" for one in homes]
    if os.path.isabs(moved):  # noqa: PTH117
        below = (one.removeprefix(".config/") for one in homes if one.startswith(".config/"))
        places += [f"{moved}/{one}" for one in below]
    return any(map(os.path.lexists, places))


def settings_text(path: Path) -> str:
    """Return what a file of another program's settings says; "" when it cannot be read.

    Links are followed, because people keep such files in a repository of their own.
    """
    try:
        with path.open("rb") as file:
            return file.read(SETTINGS_BYTES_MAX).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
