"""What is asked about the repositories that are watched, and their agent files."""

from yaadwatch.api.limits import NUMBER, PATH, Each, OneOf, Within
from yaadwatch.api.message import Message, field
from yaadwatch.model.limits import INLINE, MODES

PATHS_MAX = 64
HISTORY_ENTRIES_MAX = 1_000
IDS_MAX = 1_000


class Add(Message, answer="Added"):
    """Watch a repository and read its agent files."""

    adopt: bool = field(
        default=False,
        help="use the earlier memories of this repository: it was removed, deleted or cloned again",
        option="--adopt",
        one_of="which",
    )
    separate: bool = field(
        default=False,
        help="start without earlier memories; give a copy of a watched repository its own id",
        option="--separate",
        one_of="which",
    )
    restore: bool = field(
        default=False,
        help="bring back the newest backup of this repository",
        option="--restore",
        one_of="which",
    )
    mode: str | None = field(
        default=None,
        limit=OneOf(MODES),
        help="what may be written: a block in your agent files (inline), a file of ours that git"
        " ignores (private), nothing (read); default: inline for files that git does not track,"
        " else private",
        option="--mode",
    )

    def validate(self) -> None:
        """Raise ValueError when the flags exclude each other."""
        if self.adopt + self.separate + self.restore > 1:
            raise ValueError("only one of adopt, separate and restore can be asked for")


class Remove(Message, answer="Removed"):
    """Stop watching a repository; its memories are kept."""

    erase: bool = field(
        default=False,
        help="delete its memories, copies and backups, too; works on a removed project as well",
        option="--erase",
    )


class Projects(Message, answer="Projects"):
    """Ask which repositories are watched."""


class Status(Message, answer="Status"):
    """Ask what runs, what is watched and what is wrong."""


class Files(Message, answer="Files"):
    """Ask which agent files there are, how they take part and how they are."""


class FilesDiff(Message, answer="Diffs"):
    """Ask what a sync of the agent files would change."""


class FilesSync(Message, answer="FilesSynced"):
    """Bring agent files and memories together; deletions in the files named are meant."""

    accept_deletions: tuple[str, ...] = field(
        default=(),
        limit=Each(PATHS_MAX, PATH),
        help="for sync: the rules missing from FILE were deleted on purpose; may be repeated",
        option="--accept-deletions FILE",
    )


class FilesAdopt(Message, answer="FilesSynced"):
    """Have an agent file, or all of them, take part in another way."""

    path: str | None = field(default=None, limit=PATH)
    mode: str = field(
        default=INLINE,
        limit=OneOf(MODES),
        help="for adopt (default: {default})",
        option="--mode",
    )


class Statements(Message, answer="Statements"):
    """Ask what agent files, or one of them, state, and which of it travels to other agents."""

    path: str | None = field(default=None, limit=PATH)


class FilesShare(Message, answer="Shared"):
    """Send what a file states, or some of it, to the other agents; `undo` takes it back."""

    path: str | None = field(default=None, limit=PATH)
    ids: tuple[str, ...] = field(
        default=(),
        limit=Each(IDS_MAX, PATH),
    )
    undo: bool = field(default=False, help="for share: take it back", option="--undo")


class FilesRelease(Message, answer="FilesSynced"):
    """Take our block out of an agent file, or of all of them; they are only read from then on."""

    path: str | None = field(default=None, limit=PATH)


class FilesRestore(Message, answer="FilesRestored"):
    """Bring a copy of an agent file back; the newest one unless another is named."""

    path: str = field(limit=PATH)
    snapshot: int | None = field(
        default=None,
        limit=NUMBER,
        help="for restore: which copy (default: the newest; `yaadwatch files` lists them)",
        option="--snapshot N",
    )


class FilesHistory(Message, answer="FileHistory"):
    """Ask what happened to an agent file, newest first."""

    path: str = field(limit=PATH)
    entries_max: int = field(default=100, limit=Within(1, HISTORY_ENTRIES_MAX))
