"""Is a folder being deleted just now, as `rm -rf` does it, name by name?"""

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from yaadwatch.system.clock import Clock

QUIET_S: Final = 0.5
"""Where no name went away for so long, nothing is being deleted."""
WAIT_S: Final = 5.0
PAUSE_S: Final = 0.1
NAMES_MAX: Final = 5_000
"""Of large folders only what stands near the top is looked at."""


def is_left_alone(folder: Path, clock: Clock, *, stands: Callable[[], bool]) -> bool:
    """Wait until nothing is being deleted in a folder; say whether that came about.

    Names that come are no deletion, so that a build may run.

    Args:
        folder: what may be in the middle of being deleted.
        clock: waits, 5 s at most.
        stands: asked at each look; False ends the wait.
    """
    begun = quiet_since = clock.monotonic_s()
    names = _names(folder)
    while stands():
        now = clock.monotonic_s()
        if now - quiet_since >= QUIET_S:
            return True
        if now - begun >= WAIT_S:
            return False
        clock.pause(PAUSE_S)
        former, names = names, _names(folder)
        # More names near the top push others out of what is looked at: those are still there.
        if not all(map(os.path.lexists, former - names)):
            quiet_since = clock.monotonic_s()
    return False


def _names(folder: Path) -> set[str]:
    """Return the paths in a folder, those near its top first, without what git keeps for itself."""
    found: set[str] = set()
    waiting = deque([str(folder)])
    while waiting and len(found) < NAMES_MAX:
        try:
            with os.scandir(waiting.popleft()) as entries:
                for entry in entries:
                    found.add(entry.path)
                    if entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue  # it went away meanwhile, which its name in the next look tells
    return found
