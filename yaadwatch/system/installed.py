"""Which programs does this person have? Told by what they leave in the home folder, and by PATH."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


def is_installed(homes: Iterable[str], commands: Iterable[str]) -> bool:
    """Return whether a program is there for this user.

    Args:
        homes: files or folders that it makes, relative to the home folder.
        commands: its names on the command line.
    """
    home = Path.home()
    if any(os.path.lexists(home / one) for one in homes):
        return True
    return any(shutil.which(command) is not None for command in commands)
