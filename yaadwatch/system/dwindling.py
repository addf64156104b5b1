"""Is a folder being deleted just now, as `rm -rf` does it, name by name? Was it since then?"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from yaadwatch.system import mounts
from yaadwatch.system.clock import Clock

QUIET_S: Final = 0.5
"""Where no name went away for so long, nothing is being deleted."""
WAIT_S: Final = 5.0
PAUSE_S: Final = 0.1
NAMES_MAX: Final = 500_000
"""Of larger folders only what stands near the top is looked at."""
_LARGE_IN_GIT: Final = ("objects", "modules", "lfs")
"""Where names go away for long when a repository is deleted. Others come and go as git works."""


def is_left_alone(
    folder: Path,
    clock: Clock,
    *,
    stands: Callable[[], bool],
    patient: Callable[[], bool] = lambda: True,
) -> bool:
    """Wait until nothing is being deleted in a folder; say whether that came about.

    Names that come are no deletion, so that a build may run. Links and network disks below are not
    looked into.

    Args:
        folder: what may be in the middle of being deleted.
        clock: waits; with the time that looking takes, 5 s at most.
        stands: asked at each look; False ends the wait.
        patient: asked at each folder, so it must be quick; False ends the wait.
    """
    until = clock.monotonic_s() + WAIT_S

    def is_over() -> bool:
        return not patient() or clock.monotonic_s() >= until

    apart = frozenset(map(str, mounts.networks(folder)))
    names = _names(folder, apart, is_over)
    quiet_since = clock.monotonic_s()
    while names is not None and stands():
        clock.pause(PAUSE_S)
        looks_at = clock.monotonic_s()
        former, names = names, _names(folder, apart, is_over)
        if names is not None and _have_gone(former, names):
            quiet_since = clock.monotonic_s()
        elif names is not None and looks_at - quiet_since >= QUIET_S:
            return stands()
    return False


class Held:
    """What stands at a path, held by a descriptor: it is known by that, whatever its name is."""

    def __init__(self, path: Path) -> None:
        """Hold what is at `path`, a folder or a file; a link is not followed.

        Raises:
            OSError: there is nothing, a link, or what may not be opened.
        """
        self._path = path
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._descriptor = os.open(path, flags)
        found = os.fstat(self._descriptor)
        self._is = (found.st_dev, found.st_ino)

    def was_deleted(self) -> bool:
        """Return whether it is gone for good, and nothing else stands in its place.

        Some file systems never say so of a folder; there it counts as moved. Nothing is known of
        one that was let go, whatever its descriptor is of by now.
        """
        try:
            found = os.fstat(self._descriptor)
        except OSError:  # it was let go, by a network disk or by us
            return False
        is_it = (found.st_dev, found.st_ino) == self._is
        return is_it and found.st_nlink == 0 and not os.path.lexists(self._path)

    def close(self) -> None:
        """Let it go."""
        os.close(self._descriptor)


def _names(
    folder: Path, apart: frozenset[str], is_over: Callable[[], bool]
) -> Mapping[str, int] | None:
    """Return how many names are in each folder, those near the top first.

    Of git's own those that it has for a moment do not count. None: it `is_over` before all is
    looked at.
    """
    found: dict[str, int] = {}
    waiting, total = deque([str(folder)]), 0
    while waiting and total < NAMES_MAX:
        if is_over():
            return None
        place = waiting.popleft()
        try:
            with os.scandir(place) as entries:
                found[place] = 0
                for entry in entries:
                    found[place] += not entry.name.startswith("tmp_")
                    if entry.path not in apart and entry.is_dir(follow_symlinks=False):
                        waiting.extend(_inside(entry))
        except OSError:
            continue  # it went away meanwhile, which the count above it tells
        total += found[place]
    return found


def _inside(folder: os.DirEntry[str]) -> Iterator[str]:
    """Yield the folders by which it is told whether more is deleted in one: itself, most often."""
    if folder.name != ".git":
        yield folder.path
        return
    for name in _LARGE_IN_GIT:
        path = Path(folder.path, name)
        if not path.is_symlink():
            yield str(path)


def _have_gone(former: Mapping[str, int], names: Mapping[str, int]) -> bool:
    """Return whether a folder has fewer names than it had, or is there no more."""
    return any(
        names[place] < count if place in names else not os.path.lexists(place)
        for place, count in former.items()
    )
