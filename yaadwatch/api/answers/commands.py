"""Answers of commands that send no request."""

from typing import Literal, NotRequired, TypedDict

from yaadwatch.api.answers.shapes import Evidence, Suggestion


class _Rule(TypedDict):
    path: str
    line: int
    end_line: int
    text: str
    reason: str


class _False(_Rule):
    verdict: str
    score: float
    level: Literal["warn", "suspect"]
    evidence: list[Evidence]
    suggestion: NotRequired[Suggestion]


class _Unread(TypedDict):
    path: str
    reason: str


class Verified(TypedDict):
    """Of `check`. Exit status 1 when `false` is not empty, 5 for every error but `bad_request`."""

    base: str | None
    """the commit at which the change begins"""
    against: Literal["worktree", "index"]
    rules: int
    judged: int
    """how many rules rested on something then"""
    new: int
    """how many rules are new or reworded since `base`, and in no finding: they are not judged"""
    false: list[_False]
    unknown: list[_Rule]
    unread: list[_Unread]
    note: NotRequired[str | None]
    """in a shallow clone without a commit that `--base` and HEAD share: `base` is that one"""


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
