"""Which programs does this person use? Told by what they leave in the home folder."""

import os
from collections.abc import Iterable
from pathlib import Path


def is_used(homes: Iterable[str]) -> bool:
    """Return whether a program was ever run by this user.

    PATH would not tell: a service has another one than the person, and what lies there may never
    have been run.

    Args:
        homes: files or folders that it makes, relative to the home folder; one of them will do.
    """
    home = Path.home()
    return any(os.path.lexists(f"{home}/{one}") for one in homes)
