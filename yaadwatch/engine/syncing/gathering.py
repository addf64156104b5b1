"""What does an agent file hold right now, who wrote it, and may it be touched?

The first of the five beats. Nothing is changed here, and nothing that is only half written is read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bridges.block import Absent, Block, Malformed, Refused, find
from bridges.rules import Statement
from yaadwatch import places
from yaadwatch.core.sync import guard
from yaadwatch.core.sync.reconcile import Terms
from yaadwatch.core.sync.sides import Commits
from yaadwatch.engine.agent_files.finding import Found
from yaadwatch.engine.agent_files.reading import ODD, parsed
from yaadwatch.engine.anchored.worktree import head_of
from yaadwatch.engine.syncing import branch_file
from yaadwatch.engine.syncing.branch_file import BranchFile
from yaadwatch.engine.syncing.head_rules import HeadRules
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.agent_files import AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.store.agreements import BranchBlock
from yaadwatch.system import files, keys
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.layout import Head
from yaadwatch.system.git.repository import blob_id

SETTLE_S: Final = 0.3
"""A file that was written more recently is read again after so long."""
SETTLE_TRIES_MAX: Final = 10

_BY_GIT_S: Final = 0.5
"""Git writes its index right after the files; a file that changed at another time was typed."""
_BY_STASH_S: Final = 5.0
"""Likewise the files that git resets, after the log of the stash."""


class MovingError(Exception):
    """The file is being written, or git is at work; it is looked at again later."""


class StashedError(Exception):
    """Git has put the changes of the file away, and will bring them back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """One agent file as it is.

    Args:
        path: relative to the work tree, links followed.
        row: what is known of it.
        first: whether it was never seen in this work tree.
        data: its bytes; None when it is not there.
        block: its block, or that it has none.
        statements: what it says outside the block; None when it is not there.
        digest: keyed hash of its bytes; '' when it is not there.
        changed: whether it is not what was agreed.
        from_git: whether git wrote these bytes.
        committed: whether they are those of the checked-out commit, which is not that of before.
        logged: the bytes of git's log of HEAD.
        branch: the file as that commit has it.
        commits: what the file said in the commits since the last agreement; None when that counts
            for nothing.
        frozen: whether the block stays as git brought it.
        problem: why it is left alone; '' when it is not.
        head: where HEAD is.
        base: the digest of the block that was last agreed on this branch; '' for none.
        everywhere: whether what it says holds for the whole project.
        kept: see `File`; so are `stood` and `became`.
        dropped: keys of rules that its committed block has, and all blocks together have not.
        new_lines: by key, the lines of what others `became`.
    """

    path: str
    row: AgentFileRow
    first: bool
    data: bytes | None
    block: Absent | Block
    statements: tuple[Statement, ...] | None
    digest: str
    changed: bool
    from_git: bool
    problem: str
    head: Head
    everywhere: bool = True
    committed: bool = False
    branch: BranchFile = field(default_factory=BranchFile)
    commits: Commits | None = None
    frozen: bool = False
    base: str = ""
    logged: int = 0
    kept: frozenset[str] = frozenset()
    stood: frozenset[str] | None = None
    dropped: frozenset[str] = frozenset()
    became: Mapping[str, str] = field(default_factory=dict)
    new_lines: Mapping[str, str] = field(default_factory=dict)


def gather(
    home: Home, space: Space, found: Found, row: AgentFileRow, rules: HeadRules, *, first: bool
) -> Gathered:
    """Look at one agent file.

    Raises:
        MovingError: it does not hold still, or git is at work.
        StashedError: git has put its changes away.
        YaadError: from git.
    """
    path = found.path
    key = keys.load(places.key_file())
    data, problem = settled(home, space, path, own=lambda data: keys.keyed(key, data) == row.digest)
    logged = space.repository.log_size()  # before HEAD, so that no step is missed
    head = head_of(space)
    if layouts.at_work(space.repository.layout):
        raise MovingError(path)
    digest = keys.keyed(key, data) if data is not None else ""
    changed = digest != row.digest
    if changed and is_stashed(space, path, data, head):
        raise StashedError(path)
    from_git = first or (changed and _is_from_git(space, path, data, row, head))
    moved = row.head != head.commit
    committed = changed and moved and _is_committed(space, path, data, head)
    branch = branch_file.at_head(space, row, head)
    if from_git and row.head and (row.branch, row.head) != (head.branch, head.commit):
        # Whatever a person adopted, git has put another version of the file in its place.
        branch = replace(branch, adopted=False)
    base, commits, frozen = None, None, False
    if (from_git or committed) and not (first and branch.adopted):
        base, commits = _since(space, found, row, head, rules.terms, first=first)
        same = base is not None and base.branch == row.branch and base.block
        frozen = from_git and branch.block is not None and not (same and commits is not None)
    block: Absent | Block = Absent()
    statements: tuple[Statement, ...] | None = None
    everywhere = found.here
    if data is not None:
        marked = find(data)
        if isinstance(marked, Malformed | Refused):
            problem = f"{marked.reason}; nothing was read or written"
        else:
            block = marked
            unfinished = guard.conflict_markers(data)
            if unfinished is not None:
                problem = f"{unfinished.reason}; nothing was read or written"
            else:
                document = parsed(found.bridge, data)
                statements = document.statements
                everywhere = everywhere and document.travels
    if (
        row.adopted not in ("", branch_file.UNTRACKED)
        and branch.refusal
        and not from_git
        and row.branch == head.branch
    ):
        # A commit of other lines, or of others' work, leaves the block of the person uncommitted.
        branch = replace(branch, adopted=isinstance(block, Block))
    seen = Gathered(
        path=path,
        row=row,
        first=first,
        data=data,
        block=block,
        statements=statements,
        digest=digest,
        changed=changed,
        from_git=from_git,
        problem=problem,
        head=head,
        everywhere=everywhere,
        committed=committed,
        branch=branch,
        commits=commits if data is not None else None,
        frozen=frozen,
        base=base.block if base is not None and commits is not None else "",
        logged=logged,
    )
    counts = (
        moved
        and branch.block is not None
        and not frozen
        and rules.has_changed(row.head, head.commit)
    )
    return _resolved(seen, rules) if counts else seen


def _resolved(seen: Gathered, rules: HeadRules) -> Gathered:
    """Return a file with what the committed blocks of all files together make of its own.

    Raises:
        YaadError: from git.
    """
    commit, path = seen.head.commit, seen.path
    all_files, own = rules.resolved(commit), rules.said(commit, path).keys()
    lines = {key: rules.line(commit, key) for key in set(all_files.became.values())}
    moved = {key for place, key in all_files.moved if place == path}
    kept = all_files.alive - own - moved
    commits = seen.commits
    if commits is not None and own != rules.said(seen.row.head, path).keys():
        # Never committed here, but in another file: if it was agreed, a person took it out here.
        added = kept - commits.kept.some
        kept -= added
        commits = replace(commits, kept=replace(commits.kept, some=commits.kept.some | added))
    return replace(
        seen,
        commits=commits,
        kept=frozenset(kept),
        stood=frozenset(own - all_files.dropped),
        dropped=frozenset(all_files.dropped & own),
        became=all_files.became,
        new_lines={key: line for key, line in lines.items() if line is not None},
    )


def _since(
    space: Space, found: Found, row: AgentFileRow, head: Head, terms: Terms, *, first: bool
) -> tuple[BranchBlock | None, Commits | None]:
    """Return how a file that is as in a commit was here before on this branch, and its commits.

    Raises:
        YaadError: from git.
    """
    base = None if first else branch_file.base_of(space, row, head)
    if base is None:
        return None, None
    commits = branch_file.commits_between(space, row, base, head, bridge=found.bridge, terms=terms)
    return base, commits


def settled(
    home: Home,
    space: Space,
    path: str,
    *,
    own: Callable[[bytes], bool] = lambda _: False,
    bytes_max: int = AGENT_FILE_BYTES_MAX,
) -> tuple[bytes | None, str]:
    """Return the bytes of a file that holds still, and why they cannot be had ('' when they can).

    What is `own`, as it was agreed on, needs no time to settle.

    Raises:
        MovingError: it was written all the time.
    """
    for _ in range(SETTLE_TRIES_MAX):
        before = files.observe(space.root, path, bytes_max=bytes_max, now_ns=home.clock.now_ns())
        if before.kind == "absent":
            return None, ""
        if before.data is None:
            return None, ODD.get(before.kind, "cannot be read")
        if own(before.data):
            return before.data, ""
        age_s = _age_s(home, space, path)
        if age_s >= SETTLE_S:
            return before.data, ""
        home.clock.pause(min(SETTLE_S - age_s, SETTLE_S))
        after = files.observe(space.root, path, bytes_max=bytes_max, now_ns=home.clock.now_ns())
        if after.data == before.data:
            return before.data, ""
    raise MovingError(path)


def _age_s(home: Home, space: Space, path: str) -> float:
    try:
        changed_ns = (space.root / path).stat().st_mtime_ns
    except OSError:
        return 0.0
    # A time in the future tells nothing; two equal reads then have to do.
    return max((home.clock.now_ns() - changed_ns) / 1e9, 0.0)


def _is_from_git(
    space: Space, path: str, data: bytes | None, row: AgentFileRow, head: Head
) -> bool:
    """Tell whether git wrote what stands there: HEAD holds it, or the index of another HEAD.

    What the repository's own user committed on top of what was seen last is that person's edit.
    """
    repository = space.repository
    if data is None:
        was = repository.blob_at(row.head, path) if row.head else None
        if was is None:
            return False
        return repository.blob_at(head.commit, path) is None or repository.is_left_out(path)
    own = _blobs(space, path, data, head)
    if repository.blob_at(head.commit, path) in own:
        if (row.branch, row.head) == (head.branch, head.commit):
            # Thrown away by git, or an edit that a person took back by hand.
            apart_s = _apart_s(space.root / path, repository.layout.git_dir / "index")
            return apart_s is not None and 0 <= apart_s <= _BY_GIT_S
        is_same = row.branch == head.branch or branch_file.goes_on(space, row, head)
        return not (row.head and is_same and repository.is_own_work(row.head, head.commit))
    # A person may have staged what was just typed; git has only if another HEAD had it.
    return bool(row.head) and head.commit != row.head and repository.staged_blob(path) in own


def is_stashed(space: Space, path: str, data: bytes | None, head: Head) -> bool:
    """Tell whether a file is as HEAD has it because `git stash` has just put its changes away.

    Until they are back, it is left alone: a block put into it would have `git stash pop` refuse.
    """
    stash = space.repository.layout.common_dir / "logs" / "refs" / "stash"
    apart_s = _apart_s(stash, space.root / path)
    if data is None or apart_s is None or not 0 <= apart_s <= _BY_STASH_S:
        return False
    return space.repository.blob_at(head.commit, path) in _blobs(space, path, data, head)


def _is_committed(space: Space, path: str, data: bytes | None, head: Head) -> bool:
    """Return whether a file is as the checked-out commit has it."""
    blob = space.repository.blob_at(head.commit, path)
    return data is not None and blob is not None and blob in _blobs(space, path, data, head)


def _apart_s(one: Path, other: Path) -> float | None:
    """Return the seconds from the last change of one file to that of another; None without them."""
    try:
        return (other.stat().st_ctime_ns - one.stat().st_ctime_ns) / 1e9
    except OSError:
        return None


def _blobs(space: Space, path: str, data: bytes, head: Head) -> set[str]:
    """Return the names that git may have for the bytes of a file, its conversions undone.

    What a filter makes of them is known by the index: no filter is run.
    """
    format_ = layouts.object_format(space.repository.layout, head)
    plain = {blob_id(one, format_) for one in (data, data.replace(b"\r\n", b"\n"))}
    if space.repository.blob_at(head.commit, path) in plain:
        return plain
    conversions = space.repository.conversions(path)
    if conversions.filter:
        staged = space.repository.is_as_staged(path) and space.repository.staged_blob(path)
        return {staged} if staged else set()
    if conversions.ident:
        cleaned = conversions.cleaned(data)
        plain |= {blob_id(one, format_) for one in (cleaned, cleaned.replace(b"\r\n", b"\n"))}
    return plain
