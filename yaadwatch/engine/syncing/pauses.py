"""Report what agent files wait for: a lock or an unfinished operation of git, and since when."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from yaadwatch.core.quoting import as_name
from yaadwatch.system import processes
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.layout import Layout

SHOWN_AFTER: Final = timedelta(minutes=1)
"""A git command takes less; what lasts longer is worth reporting."""
_LOCK: Final = ".lock"
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """What agent files wait for.

    Args:
        path: the file or folder of git, absolute.
        name: the same as a person reads it, from the top of the work tree.
        since: when it was made.
        is_lock: whether it is a lock of a command, and not a merge or rebase that is unfinished.
        left_over: of a lock, whether no git process is at work there; None when that is not known.
    """

    path: Path
    name: str
    since: datetime
    is_lock: bool
    left_over: bool | None

    def in_words(self, now: datetime) -> str:
        """Return what is waited for and since when, in local time."""
        at = self.since.astimezone()
        form = "%H:%M" if now - self.since < _DAY else "%Y-%m-%d %H:%M"
        words = f"waiting for {as_name(self.name)} since {at:{form}}"
        if self.left_over:
            return f"{words}; no git process is at work there, so it is left over"
        return words

    @property
    def mend(self) -> str:
        """Return what ends the pause."""
        if not self.is_lock:
            return "finish or abort that operation of git: git status"
        remove = f"rm {as_name(str(self.path))}"
        if self.left_over:
            return remove
        if self.left_over is None:
            return f"end the git command that holds it; if none is running: {remove}"
        return "end the git command that holds it, or wait for it"

    def as_json(self, now: datetime) -> dict[str, object]:
        """Return the pause as answers have it."""
        return {
            "for": self.name,
            "since": self.since,
            "left_over": self.left_over,
            "what": self.in_words(now),
            "mend": self.mend,
        }


def pause_of(layout: Layout, now: datetime) -> Pause | None:
    """Return what the agent files of a work tree have been waiting for longer than a minute."""
    found = layouts.at_work_since(layout)
    if found is None:
        return None
    name, made_ns = found
    since = datetime.fromtimestamp(made_ns / 1e9, UTC)
    if now - since < SHOWN_AFTER:
        return None
    path = layout.git_dir / name
    root = layout.root
    is_lock = name.endswith(_LOCK)
    places = [layout.git_dir, layout.common_dir, *([root] if root is not None else [])]
    at_work = processes.is_running_below("git", places) if is_lock else None
    return Pause(
        path=path,
        name=str(path.relative_to(root)) if root and path.is_relative_to(root) else str(path),
        since=since,
        is_lock=is_lock,
        left_over=None if at_work is None else not at_work,
    )
