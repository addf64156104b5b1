"""Projects, work trees, agent files, sessions, and the authority behind a memory."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from yaadwatch.model.anchors import Anchor


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A work tree with the branch that is checked out in it, or the commit when HEAD is detached.

    `worktree`: its id; None when what was in it is in no work tree now.
    """

    worktree: int | None
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The result of checking a memory about uncommitted work in one work tree.

    Args:
        base: HEAD when the memory was made; '' before the first commit.
        anchors: its anchors to be stored: without a commit while none holds the work.
        judged: its anchors to be compared: with `base` in place of no commit.
        checkouts: where its work is now; none when a commit holds it.
        commit: the commit that holds it, else ''.
        is_here: whether the memory may be flagged in the work tree that is checked.
        is_stray: whether the commits at which it was learned are on no branch now.
    """

    base: str
    anchors: tuple[Anchor, ...]
    judged: tuple[Anchor, ...]
    checkouts: tuple[Checkout, ...]
    commit: str = ""
    is_here: bool = True
    is_stray: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A repository that is watched, and where it was last seen.

    Attributes:
        id: of the project; git's configuration of the repository holds it, too.
        root: the main work tree; of a bare repository `common_dir`.
        common_dir: the git common directory.
        remote: the address of `origin` in a form that can be compared; '' if there is none.
        root_commit: the first commit of its history, hex; '' before there is one.
        by_path: known by its path alone, because git's configuration could not be written.
        gone_at: when it was first seen to be gone; None while it is at its place.
        removed_at: when it was removed from the watched ones; its memories are kept.
    """

    id: str
    root: Path
    common_dir: Path
    remote: str = ""
    root_commit: str = ""
    by_path: bool = False
    added_at: datetime
    gone_at: datetime | None = None
    removed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A work tree of a project, and the HEAD that its verdicts were computed for."""

    id: int
    path: Path
    head: str
    branch: str
    checked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """One rule of a block as it was agreed; each side in its own words.

    Both sides may agree that only one of them has the rule: git brings a block as its branch has
    it.

    Args:
        position: its place among the rules of the block, from 0; rules without a line come last.
        node: the id of its memory.
        graph: the memory's text then, masked; '' when it was no rule.
        file: keyed hash of the line then, which may hold a secret; '' when there was no line.
    """

    position: int
    node: str
    graph: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The block of one file when both sides last agreed; `digest` is of its text."""

    digest: str
    items: tuple[Agreed, ...]


SYNCED: Final = "synced"
PENDING: Final = "pending"
PAUSED: Final = "paused"
ABSENT: Final = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFileRow:
    """What is known of an agent file; hashes are keyed, `digest` '' means never agreed on.

    `adopted` is the committed version of a tracked file in which a person asked for a block; ''
    for none. `logged`: the bytes of git's log of HEAD when both sides last agreed. `personal`:
    whether git does not share the file.
    """

    worktree: int
    path: str
    mode: str
    state: str
    reason: str = ""
    digest: str = ""
    block: str = ""
    head: str = ""
    branch: str = ""
    written: tuple[datetime, ...] = ()
    adopted: str = ""
    logged: int = 0
    personal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A copy of a person's file before a write of ours; its bytes are in the file `name`."""

    id: int
    worktree: int
    path: str
    name: str
    size: int
    digest: str
    at: datetime


Role = Literal["shown", "used", "learned"]
SHOWN: Final[Role] = "shown"
USED: Final[Role] = "used"
LEARNED: Final[Role] = "learned"

Ending = Literal["", "asked", "left", "idle"]
"""Why a session is over: ended explicitly, its agent disconnected, or it was idle for long."""

IDLE: Final = timedelta(minutes=30)
"""A session in which nothing was asked for so long is over; asked again, it goes on."""
DAY: Final = "day "
"""What the name of a session begins with that a day at the command line is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCommit:
    """A commit that was made in a session; `id` is hex, `subject` masked."""

    id: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A file that a session changed; `path` masked, `how`: added, changed, removed."""

    path: str
    how: str
    committed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts from git about a session; `more`: files left out, `reason`: why facts are missing."""

    commits: tuple[SessionCommit, ...] = ()
    files: tuple[Touched, ...] = ()
    more: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session as it is stored; everything in words is masked.

    `agent` is an origin ('agent:NAME', 'cli'). `ended_at` is None while it goes on.
    """

    id: str
    worktree: int | None
    agent: str
    started_at: datetime
    last_at: datetime
    name: str = ""
    ended_at: datetime | None = None
    ended_by: Ending = ""
    branch: str = ""
    start_commit: str = ""
    told_seq: int = 0
    facts: Facts = field(default_factory=Facts)
    summary: str = ""

    @property
    def is_day(self) -> bool:
        """Return whether it is a person's day at the command line."""
        return self.name.startswith(DAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNode:
    """A node that a session was shown, used or learned; `tokens`: what showing it took."""

    session: str
    node: str
    role: Role
    at: datetime
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNote:
    """A note made in a session, masked."""

    at: datetime
    text: str


PERSON: Final = "person"
AGENT: Final = "agent"
REPOSITORY: Final = "repository"
IMPORT: Final = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """New words that an agent or an import proposes for a memory of a person.

    Args:
        node: the memory.
        text: the new words, masked.
        actor: their author: 'agent:NAME', 'import' or 'import:NAME'.
        at: when.
        decision: `approve`, `edit` or `dismiss`; '' while it waits.
        version: of the memory: while it waits, the version it was made for; after that, the version
            right after the decision.
    """

    node: str
    text: str
    actor: str
    at: datetime
    decision: str = ""
    version: int = 0

    @property
    def by(self) -> str:
        """Return its author: `agent NAME` or `import NAME`."""
        return of_origin(self.actor, self.at).by


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """The source of a memory, and its approval.

    Args:
        kind: PERSON, AGENT, REPOSITORY or IMPORT.
        name: of the agent or the import, or the path of the file; '' for a person.
        at: when it was first stated.
        approved_at: when a person approved words that are not a person's; None before that.
        scope: `project`, or `user` for a memory that applies to all projects of a person.
        package: the folder that it was stated for; '' when the store names none.
        branch: the branch with the uncommitted work it is about; '' if it applies everywhere.
        proposal: proposed words that wait for a person.
        is_personal: it applies to all projects of one person, or its only files are not shared by
            git.
    """

    kind: str
    name: str
    at: datetime
    approved_at: datetime | None = None
    scope: str = "project"
    package: str = ""
    branch: str = ""
    proposal: Proposal | None = None
    is_personal: bool = False

    @property
    def is_persons(self) -> bool:
        """Whether it is stated or approved by a person."""
        return self.kind == PERSON or self.approved_at is not None

    @property
    def is_unverified(self) -> bool:
        """Whether it is the word of an agent or an import that no person has approved."""
        return self.kind in (AGENT, IMPORT) and self.approved_at is None

    @property
    def by(self) -> str:
        """Return its author: `person`, `agent NAME`, `repository` or `import NAME`."""
        named = self.name if self.kind in (AGENT, IMPORT) else ""
        return f"{self.kind} {named}".strip()


def of_origin(origin: str, at: datetime, *, from_git: bool = False) -> Authority:
    """Return the authority of a memory of this origin, before any approval.

    Args:
        origin: 'cli', 'agent:NAME', 'file:PATH', 'import' or 'import:NAME'.
        at: when it was stated.
        from_git: whether the words of the file came with git.
    """
    kind, _, name = origin.partition(":")
    if kind == "file":
        return Authority(kind=REPOSITORY if from_git else PERSON, name=name, at=at)
    if kind in (AGENT, IMPORT):
        return Authority(kind=kind, name=name, at=at)
    return Authority(kind=PERSON, name="", at=at)
