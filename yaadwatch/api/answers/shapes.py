"""Shapes that several answers share; answers of the daemon itself and of offline commands."""

from typing import Literal, NewType, NotRequired, TypedDict

Time = NewType("Time", str)


class _Place(TypedDict):
    path: str
    line: int


class Budget(TypedDict):
    """Tokens."""

    used: int
    left: int


class Progress(TypedDict):
    """How many rules of agent files were compared with the code of the day they were written."""

    done: int
    total: int


class Reach(TypedDict):
    """Where a memory holds."""

    scope: Literal["project", "user"]
    folder: str | None
    """the package; everywhere without one"""
    file: str | None
    """the agent file that says it"""
    branch: str | None
    """the branch whose uncommitted work it is about"""
    personal: bool | None
    """for this person alone"""


class _Proposed(TypedDict):
    text: str
    by: str
    at: Time
    unverified: bool


class By(TypedDict):
    """Who said a memory, and where it holds. It comes with the words of a memory everywhere."""

    by: str | None
    """`person`, `agent NAME`, `repository` or `import NAME`; null once the memory is erased"""
    said_at: Time | None
    approved_at: Time | None
    """when a person approved it"""
    unverified: bool
    """an agent or an import said it and no person has approved it: text output quotes it, and no
    rules file has it"""
    reach: Reach | None
    proposed: NotRequired[_Proposed | None]
    """what an agent or an import proposes for a person's memory, in short; it waits for `review`"""


class Said(By):
    """The words of a memory; of another one, shortened."""

    id: str
    text: str


class Anchor(TypedDict):
    """What a memory rests on."""

    path: str
    symbol: NotRequired[str]
    line: NotRequired[int]


class ShortFlag(TypedDict):
    """The flag of a memory in short; null unless its level is `warn`."""

    verdict: Literal["touched", "moved", "changed", "gone", "unknown"]
    score: float


class _Commit(TypedDict):
    id: str
    at: Time
    subject: str


class Evidence(TypedDict):
    """Why a flag was raised."""

    path: str
    symbol: str | None
    commit: _Commit | None
    summary: str


class Suggestion(TypedDict):
    """What would correct a memory."""

    path: str | None
    """where the file or folder is now, or the pattern that means its files where they are now"""
    text: str | None
    """only when nothing but the place changed, so that it is as true as the old text was"""
    places: NotRequired[list[str]]
    """where the files of a folder or pattern are now that went to several folders, or a new pattern
    that the text has no place for; nothing is proposed"""
    also_changed: NotRequired[bool]
    """only when true: more than the place changed, and there is no `text`"""


class Flag(ShortFlag):
    """Why a memory may no longer be true."""

    id: str
    text: str
    level: Literal["warn", "suspect", ""]
    """empty for a flag that is too weak; `stale` with `all` lists these"""
    reason: str
    since: Time
    branch: str | None
    uncommitted: bool | None
    """null when git could not tell"""
    evidence: list[Evidence]
    suggestion: NotRequired[Suggestion]
    via: NotRequired[list[str]]
    """the flag came along edges, from the first of these memories to the last and from there to
    this one; verdict, evidence, `since` and `branch` are those of the first"""
    said_in: NotRequired[list[_Place]]
    """where people's own files say it outside of our blocks, those of this work tree first, others
    with their absolute path. Only a person changes these: `update`, `forget` and a `reanchor` that
    needs new words refuse"""


class Flagged(By, Flag):
    """A memory that may no longer be true."""

    superseded_by: NotRequired[list[Said]]
    """the memories that supersede it on this branch"""


class Uncommitted(TypedDict):
    """Memories about uncommitted work elsewhere; `all_branches` returns them, too."""

    worktree: str | None
    """null when the work is in no work tree now: stashed, or its work tree was removed"""
    branch: str
    memories: int


class Against(Said):
    """A memory that says something else."""

    value: str


class Contradicted(TypedDict):
    """A contradiction, seen from one of its memories."""

    id: str
    words: str
    subject: str
    attribute: str
    place: str | None
    value: str
    """what this memory says"""
    against: list[Against]
    """up to 5 memories with another value, the oldest first"""
    more: int | None
    """how many are left out"""
    settle: str
    """the command that settles it"""


class Restated(TypedDict):
    """What a memory that is stated again contradicts and supersedes; without a key, nothing."""

    contradicts: NotRequired[list[Contradicted]]
    """what cannot be true beside it, as `contradictions` lists it; nothing is refused for it"""
    superseded_by: NotRequired[list[Said]]
    """what supersedes this memory on this branch"""
    stands_for: NotRequired[list[Said]]
    """the memories that it supersedes now"""


class _Relation(TypedDict):
    kind: str
    from_: str
    to: str
    weight: float


class Edge(_Relation):
    """A relation between two memories. It holds from `since` until right before `until`.

    - Edges of one kind from one node to another never hold at the same time
    - The kinds `caused_by led_to supersedes learned_in part_of` never form a circle; `relates_to
      depends_on touches`, and the words of callers, may
    - `view`: `current` (those that hold), `historical` (those that have ended), `all`
    """

    edge: int | None
    """its number"""
    attributes: dict[str, object]
    since: Time
    until: Time | None


class Problem(TypedDict):
    """What is wrong, and how to repair it."""

    what: str
    mend: str


class Health(TypedDict):
    """Answered from memory."""

    ok: bool
    """there are no problems"""
    pid: int
    version: str
    since: Time | None
    problems: list[Problem]


class _Setting(TypedDict):
    key: str
    value: object
    from_: str
    """`default`, a file or a variable"""
    default: object


class Config(TypedDict):
    """The settings of the running daemon for the project of the request. Of `config set` and
    `unset`: the row, with `restart`: the running daemon has another value. `unset` also takes out
    what is in the file and is no setting; its `value` and `default` are null."""

    settings: list[_Setting]
    project: str | None
    """the folder of its store"""
    warnings: list[str]
    """what is set and not used, including what was set differently after the start"""
    running: bool
    """without a daemon: what the next one would have"""


class Subscribed(TypedDict):
    """What answers `subscribe`, before the events."""

    subscribed: bool
    cursor: str


class Event(TypedDict):
    """One line of a subscription."""

    cursor: str
    project: str
    """empty for the user store"""
    kind: str
    at: Time
    subject: str | None
    body: dict[str, object]


class Stopped(TypedDict):
    """The daemon ends."""

    stopping: bool


class _Rule(_Place):
    end_line: int
    text: str
    reason: str


class _Written(TypedDict):
    id: str
    at: Time


class _False(_Rule):
    verdict: str
    score: float
    level: Literal["warn", "suspect"]
    evidence: list[Evidence]
    suggestion: NotRequired[Suggestion]
    written: NotRequired[_Written]
    """the commit that gave the rule its words, where each rule is compared with its own"""


class _Unread(TypedDict):
    path: str
    reason: str


class Verified(TypedDict):
    """Of `check`. Exit status 1 when `false` is not empty, 5 for every error but `bad_request`."""

    base: str | None
    """the commit that all rules are compared with; null where each is compared with its own"""
    against: Literal["worktree", "index"]
    rules: int
    judged: int
    """how many rules are tied to code, then or now"""
    new: int
    """how many of the others are not committed, or new or reworded since `base`"""
    false: list[_False]
    unknown: list[_Rule]
    """tied to code that cannot be read at the moment"""
    unjudged: list[_Rule]
    """all rules that are not in `judged`, and why"""
    unread: list[_Unread]
    note: NotRequired[str | None]
    """what a shallow clone is too short for; or that nothing is staged"""


class FileChange(TypedDict):
    """What becomes of a file of another program."""

    path: str
    target: NotRequired[str]
    """where a link leads"""
    change: Literal["created", "changed", "removed", "kept", "same"]
    """`kept`: somebody has changed it"""
    diff: NotRequired[str]
    """with `--dry-run`, secrets masked"""
    backup: NotRequired[str | None]
    """the copy of a file that was edited or removed"""


class _Agent(TypedDict):
    agent: str
    title: str
    state: Literal["connected", "unchanged", "disconnected", "unconnected", "refused"]
    files: list[FileChange]
    todo: NotRequired[str]
    """what is left for the person to do, and which whole files of ours stay as they are because
    somebody edited them"""
    reason: NotRequired[str]
    hint: NotRequired[str]


class Connected(TypedDict):
    """Of `connect` and `disconnect`. Of an agent that is `refused`, no file was written, and the
    exit status is 4."""

    dry_run: bool
    agents: list[_Agent]


class Installed(TypedDict):
    """Of `install` and `uninstall`. Of `start` and `restart`: `{started?, by: manager or null,
    daemon}`; of `logs`: lines of the log as they are."""

    dry_run: bool
    manager: Literal["systemd", "launchd"] | None
    state: Literal["installed", "changed", "unchanged", "removed", "absent", "on_demand"]
    """`on_demand`: no manager runs"""
    why: NotRequired[str]
    program: NotRequired[list[str]]
    files: list[FileChange]
    ended: NotRequired[int | None]
    """the pid of a daemon that had run by itself"""
    daemon: NotRequired[object]
    """as in Status"""


class _Found(TypedDict):
    check: str
    level: Literal["problem", "todo"]
    what: str
    mend: str | None
    """the commands that fix it, quoted for a shell"""
    advice: str | None
    """what else to know or to do, in words"""


class _Standing(TypedDict):
    agent: str
    title: str
    state: Literal["connected", "outdated", "unconnected", "refused"]
    todo: str | None
    """what is left to the person; of an agent that is unconnected, where it is connected by
    `--project-level`"""


class Examined(TypedDict):
    """Of `doctor`, which examines the machine itself and writes nothing. It connects to no socket
    if no daemon holds the lock, and starts none. Exit status 1 when there is a problem, 5 when it
    could not be found out."""

    sound: bool
    checks: list[str]
    findings: list[_Found]
    agents: list[_Standing]
