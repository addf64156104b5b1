"""Requests about stores, watched repositories, agent files, sessions, tasks and skills.

Also the first frame of a connection, and requests to the daemon itself.
"""

import re

from yaadwatch.api.message import (
    FOLDER,
    ID,
    NAME_CHARS_MAX,
    NUMBER,
    NUMBER_MAX,
    PATH,
    TOKENS,
    Each,
    Form,
    Message,
    OneOf,
    Text,
    Within,
    field,
)
from yaadwatch.api.messages.memories import CHARS_MAX, WAIT_MS_MAX
from yaadwatch.model import limits

_OWN = "your own store instead of the project's"


class Export(Message, answer="Exported"):
    """Ask for a piece of what goes out: the first one, or, with `upload`, the one at `after`."""

    format: str = field(
        "--format  default: {default}", default="jsonl", limit=OneOf(("jsonl", "markdown", "store"))
    )
    user: bool = field(f"--user  {_OWN}", default=False)
    upload: str | None = None
    after: int = field(default=0, limit=Within(0, NUMBER_MAX))


class Import(Message, answer="Imported"):
    """Hand in a piece (base64) of what comes in; `last`: that was all, now take it."""

    format: str = field(
        "--format  default: found out from the file",
        limit=OneOf(("jsonl", "markdown", "agent-file", "yaad", "store")),
    )
    upload: str | None = None
    part: str = "data"
    data: str = ""
    last: bool = False
    dry_run: bool = field("--dry-run  change nothing; count what would change", default=False)
    user: bool = field("--user  into your own store instead of the project's", default=False)
    source: str = field(default="", limit=Text(NAME_CHARS_MAX, may_be_empty=True))
    mine: bool = field(
        "--mine  an export of your own: your words in it count as yours, and need no review",
        default=False,
    )


class Imports(Message, answer="Imports"):
    """Ask what was imported."""

    user: bool = False


class Verify(Message, answer="StoreVerified"):
    """Look for what is wrong in a store."""

    user: bool = field(f"--user  {_OWN}", default=False)
    repair: bool = field(
        "--repair  mend rows and texts, rebuild what is derived from the rest: index, vectors",
        default=False,
    )


class Compact(Message, answer="Compacted"):
    """Rewrite a store without the space of deleted rows."""

    user: bool = field(f"--user  {_OWN}", default=False)


class Backup(Message, answer="BackedUp"):
    """Make a dated copy of a store now."""

    user: bool = field(f"--user  {_OWN}", default=False)


class EmbedStatus(Message, answer="Embedding"):
    """Ask which models there are, and how far each is."""


class EmbedEnable(Message, answer="Embedding"):
    """Have a model make vectors: a known one, or one in a folder (absolute). Nothing is fetched."""

    model: str | None = field(
        "[MODEL]  for enable: a known name or a folder", default=None, limit=PATH
    )


class EmbedDisable(Message, answer="Embedding"):
    """Have words answer; the vectors stay, unless `erase`."""

    erase: bool = field("--erase  for disable: also delete the vectors", default=False)


def _day(name: str, given: str) -> None:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", given):
        raise ValueError(f"{name} must be a day such as 2026-03-01, got {given!r}")


class Add(Message, answer="Added"):
    """Watch a repository and read its agent files."""

    adopt: bool = field(
        "--adopt  use the earlier memories of this repository: it was removed, deleted or "
        "cloned again",
        default=False,
        one_of="which",
    )
    separate: bool = field(
        "--separate  start without earlier memories; give a copy of a watched repository its "
        "own id",
        default=False,
        one_of="which",
    )
    restore: bool = field(
        "--restore  bring back the newest backup of this repository", default=False, one_of="which"
    )
    date: str | None = field(
        "--date YYYY-MM-DD  with --restore: the newest backup of that day or before",
        default=None,
        limit=Form(_day),
    )
    mode: str | None = field(
        "--mode  what may be written: a block in your agent files (inline), a file of ours that git"
        " ignores (private), nothing (read); default: inline for files that git does not track,"
        " else private",
        default=None,
        limit=OneOf(limits.MODES),
    )

    def validate(self) -> None:
        """Raise ValueError when the flags exclude each other."""
        if self.adopt + self.separate + self.restore > 1:
            raise ValueError("only one of adopt, separate and restore can be asked for")
        if self.date and not self.restore:
            raise ValueError("date goes with restore")


class Remove(Message, answer="Removed"):
    """Stop watching a repository; its memories are kept."""

    erase: bool = field(
        "--erase  delete its memories, copies and backups, too; works on a removed project as well",
        default=False,
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
        "--accept-deletions FILE  for sync: the rules missing from FILE were deleted on "
        "purpose; may be repeated",
        default=(),
        limit=Each(64, PATH),
    )


class FilesAdopt(Message, answer="FilesSynced"):
    """Have an agent file, or all of them, take part in another way."""

    path: str | None = field(default=None, limit=PATH)
    mode: str = field(
        "--mode  for adopt (default: {default})", default=limits.INLINE, limit=OneOf(limits.MODES)
    )


class Statements(Message, answer="Statements"):
    """Ask what agent files, or one of them, state, and which of it travels to other agents."""

    path: str | None = field(default=None, limit=PATH)


class FilesShare(Message, answer="Shared"):
    """Send what a file states, or some of it, to the other agents; `undo` takes it back."""

    path: str | None = field(default=None, limit=PATH)
    ids: tuple[str, ...] = field(default=(), limit=Each(1_000, PATH))
    undo: bool = field("--undo  for share: take it back", default=False)


class FilesRelease(Message, answer="FilesSynced"):
    """Take our block out of an agent file, or of all of them; they are only read from then on."""

    path: str | None = field(default=None, limit=PATH)


class FilesRestore(Message, answer="FilesRestored"):
    """Bring a copy of an agent file back; the newest one unless another is named."""

    path: str = field(limit=PATH)
    snapshot: int | None = field(
        "--snapshot N  for restore: which copy (default: the newest; `yaadwatch files` lists them)",
        default=None,
        limit=NUMBER,
    )


class FilesHistory(Message, answer="FileHistory"):
    """Ask what happened to an agent file, newest first."""

    path: str = field(limit=PATH)
    entries_max: int = field(default=100, limit=Within(1, 1_000))


AGENT_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""How the name of a coding agent looks."""


class Hello(Message):
    """The first line a client sends: which language it speaks, and on whose behalf."""

    protocol: int
    client: str = field(limit=Text(128))
    cwd: str = field(limit=FOLDER)
    agent: str | None
    speaks: str

    def validate(self) -> None:
        """Raise ValueError unless agent and language have the right form."""
        if self.agent is not None and not AGENT_FORM.fullmatch(self.agent):
            raise ValueError(
                "agent must be 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter"
                f" or digit, got {self.agent!r}"
            )
        if self.speaks not in {"rpc", "mcp"}:
            raise ValueError(f"speaks must be 'rpc' or 'mcp', got {self.speaks!r}")


class Subscribe(Message, answer="Subscribed"):
    """Follow the events after a cursor; without one, those from now on."""

    after: str | None = field(default=None, limit=PATH)


class Config(Message, answer="Config"):
    """Ask which settings hold, and where each is from."""


class Health(Message, answer="Health"):
    """Ask whether all is well; answered from memory, however busy the disk is."""


class Shutdown(Message, answer="Stopped"):
    """End the daemon."""


SESSION_NAME_CHARS_MAX = 200
DESCRIPTION_CHARS_MAX = 1_024
_NAME = Text(SESSION_NAME_CHARS_MAX, may_be_empty=True)
_LIMIT = Within(1, 1_000)


def _skill_name(name: str, given: str) -> None:
    # It is the name of a folder, too.
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", given):
        raise ValueError(
            f"{name} must be 1 to 64 small letters, digits and '-', beginning with a letter or"
            f" digit, got {given!r}"
        )


class SessionStart(Message, answer="Started"):
    """Begin a session, or go on with the one of this name; the rest is as for `context`."""

    name: str = field(
        "--name NAME  for start: a name; the same name later goes on with it",
        default="",
        limit=_NAME,
    )
    tokens_max: int = field(default=2000, limit=TOKENS)
    chars_max: int = field(default=8000, limit=Within(1, CHARS_MAX))
    wait_ms: int = field(default=1000, limit=Within(0, WAIT_MS_MAX))


class SessionNote(Message, answer="Noted"):
    """Note something in a session that is no memory of its own."""

    text: str = field(limit=Text(4_000))
    session: str | None = field(
        "--session ID  for note: a session other than the current one", default=None, limit=ID
    )


class SessionEnd(Message, answer="Ended"):
    """End a session: the one named, else the one of who asks."""

    session: str | None = field(default=None, limit=ID)
    name: str = field(default="", limit=_NAME)


class Sessions(Message, answer="Sessions"):
    """List the sessions, or those that a question finds; or one with its receipt."""

    id: str | None = field(default=None, limit=ID, tool="")
    query: str | None = field(default=None, limit=Text(limits.QUERY_CHARS_MAX), tool="words in it")
    limit: int = field(
        "--limit N  at most so many sessions (default: {default})", default=20, limit=_LIMIT
    )

    def validate(self) -> None:
        """Raise ValueError when both a session and a question are given."""
        if self.id is not None and self.query is not None:
            raise ValueError("id and query cannot both be given")


class Handoff(Message, answer="Handoff"):
    """Ask for a prompt for the next session."""

    session: str | None = field(
        "--session ID  from this session (default: the last one here)", default=None, limit=ID
    )
    tokens_max: int = field(
        "--tokens N  at most so many tokens (default: {default})", default=2000, limit=TOKENS
    )


class SessionNews(Message, answer="News"):
    """Ask what is new since this session last asked."""

    name: str = field(default="", limit=_NAME)
    tokens_max: int = field(default=400, limit=TOKENS)


class SessionTouched(Message, answer="Blast"):
    """Say which files an agent touched; hear what rests on them."""

    paths: tuple[str, ...] = field(limit=Each(200, PATH))
    name: str = field(default="", limit=_NAME)
    tokens_max: int = field(default=200, limit=TOKENS)


class Tasks(Message, answer="Tasks"):
    """List the tasks in some states."""

    states: tuple[str, ...] = field(
        "--state  only tasks in this state; may be repeated",
        default=limits.UNFINISHED,
        limit=Each(len(limits.STATES), OneOf(limits.STATES), "state"),
    )
    limit: int = field(default=50, limit=_LIMIT)
    all_branches: bool = field(
        "--all-branches  also tasks from branches that are not merged here", default=False
    )


class TaskUpdate(Message, answer="Task"):
    """Change a task; without an id, add one. The text is judged where it is kept."""

    id: str | None = field(default=None, limit=ID, tool="none: a new task")
    text: str | None = field(default=None, tool="")
    state: str | None = field(
        default=None, limit=OneOf(limits.STATES), tool="open, doing, done, dropped"
    )
    priority: str | None = field(
        "--priority  how urgent it is (default: normal)",
        default=None,
        limit=OneOf(limits.PRIORITIES),
        tool="urgent, high, normal, low",
    )
    session: str | None = field(default=None, limit=ID)


class Skills(Message, answer="Skills"):
    """List the skills, or show one."""

    name: str | None = field(default=None, limit=Text(SESSION_NAME_CHARS_MAX))


class SkillAdd(Message, answer="Skill"):
    """Keep a skill under its name; `description` says when to use it."""

    name: str = field(limit=Form(_skill_name))
    description: str = field(limit=Text(DESCRIPTION_CHARS_MAX))
    body: str = field(limit=Text(limits.TEXT_CHARS_MAX - DESCRIPTION_CHARS_MAX - 2))
    session: str | None = field(default=None, limit=ID)
