"""Gather the facts about one agent file: its content, its author and whether it may be written.

The first step of a sync. It changes nothing, and reads no half-written file. The committed block is
the switch: a tracked file is written only where the checked-out branch has a block in it.
"""

import contextlib
import shlex
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bridges.block import Absent, Block, Malformed, Refused, find, restricted_by, without_markers
from bridges.rules import Statement
from yaadwatch import places
from yaadwatch.db import projects
from yaadwatch.db.projects import BranchBlock
from yaadwatch.model.limits import INLINE, PRIVATE
from yaadwatch.model.projects import AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.repo import attributes, layout
from yaadwatch.repo.layout import Head
from yaadwatch.repo.repository import blob_id
from yaadwatch.staleness.worktree import head_of
from yaadwatch.sync import inventory
from yaadwatch.sync.block_history import HeadRules
from yaadwatch.sync.reconcile import Commits, Words
from yaadwatch.system import files
from yaadwatch.text import privacy
from yaadwatch.text.words import text_hash
from yaadwatch.workspace.agent_files import FILTERED, NO_BLOCK, ODD, POINTER, FoundFile, parsed
from yaadwatch.workspace.workspace import Home, Space

STEPS_MAX: Final = 64
"""Commits read at most that changed a file, or were checked out, since the last agreement."""


UNTRACKED: Final = "untracked"
"""`AgentFileRow.adopted` of a file that got its block while git did not track it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFile:
    """An agent file as the checked-out commit has it.

    Args:
        blob: the id of its bytes in git; '' when the commit does not have it.
        block: the text of our block in it; None when there is none.
        filter: the git filter that hides the commit's content from us; '' when there is none.
        adopted: whether a person asked for the first block in this version of the file.
        overlooked: whether git ignores changes in the work tree (assume-unchanged, skip-worktree).
    """

    blob: str = ""
    block: str | None = None
    filter: str = ""
    adopted: bool = False
    overlooked: bool = False

    @property
    def refusal(self) -> str:
        """Why no block may be written; '' when one may."""
        if not self.blob:
            return ""
        if self.filter:
            return f"{FILTERED} (filter={self.filter})"
        return "" if self.adopted or self.block is not None else NO_BLOCK


def at_head(space: Space, row: AgentFileRow, head: Head, data: bytes | None) -> BranchFile:
    """Return an agent file as the checked-out commit has it; empty when it is only read.

    Args:
        space: the work tree.
        row: the file.
        head: where HEAD is.
        data: the file's bytes in the work tree; as long as they are HEAD's, no filter counts.

    Raises:
        YaadError: from git.
    """
    repository = space.repository
    blob = repository.blob_at(head.commit, row.path) if row.mode == INLINE else None
    if blob is None:
        return BranchFile()
    committed = repository.read_blob(blob, AGENT_FILE_BYTES_MAX)
    found = find(committed) if committed is not None else None
    block = found.text if isinstance(found, Block) else None
    is_plain = block is not None and data == committed
    name = "" if is_plain else repository.conversions(row.path).filter
    overlooked = block is not None and row.path in repository.left_out().overlooked
    adopted = block is None and row.adopted == blob
    return BranchFile(blob=blob, block=block, filter=name, adopted=adopted, overlooked=overlooked)


def adopted(branch: BranchFile, row: AgentFileRow) -> str:
    """Return the new value of `AgentFileRow.adopted`."""
    if branch.adopted:
        return branch.blob
    untracked = row.mode == INLINE and not branch.blob
    since = row.adopted == UNTRACKED and branch.block is not None
    return UNTRACKED if untracked or since else ""


def reason_of(branch: BranchFile, row: AgentFileRow, data: bytes) -> str:
    """Return what a person has to know about a file's block; '' for nothing."""
    found = find(data)
    adopt = f"yaadwatch files adopt {shlex.quote(row.path)}"
    if row.mode == PRIVATE and isinstance(found, Block):
        return (
            "it has a block of ours that came with git; none of your rules is written there; to"
            f" take part: {adopt}"
        )
    if row.adopted == UNTRACKED and branch.block is not None:
        return (
            f"git tracks it now, with our block; keep that: {adopt}; keep rules out of git:"
            f" {adopt} --mode private"
        )
    if branch.refusal:
        return branch.refusal + (f"; to begin: {adopt}" if not branch.filter else "")
    text = found.text if isinstance(found, Block) else None
    if branch.blob and branch.overlooked and text != branch.block:
        return (
            "its block differs from the commit, and git is set to overlook that: a pull or"
            " checkout that changes the file is refused"
        )
    if branch.blob and text != branch.block:
        return (
            "its block is not committed: until it is, git rebase, git pull --rebase and npm version"
            " refuse"
        )
    return ""


def misplaced(path: str, data: bytes) -> str:
    """Return why rules mean something else at the place of the block; '' if they do not.

    We do not move the block: a person may have put it there.
    """
    words = restricted_by(data)
    if not words:
        return ""
    name = shlex.quote(path)
    return (
        f'its block is below "{privacy.mask(words).text}", which changes what its rules mean;'
        f" move it up, or: yaadwatch files release {name} && yaadwatch files adopt {name}"
    )


def digest_of(data: bytes | None) -> str:
    """Return the keyed hash of a person's bytes, as it is stored; '' for None."""
    return files.keyed(files.load_key(places.key_file()), data) if data is not None else ""


def base_of(space: Space, row: AgentFileRow, head: Head) -> BranchBlock | None:
    """Return a file's block at the last agreement on the checked-out branch.

    Where the branch goes on from another one, as after it merged that, it is the last agreement of
    all.

    Raises:
        YaadError: from git.
    """
    if not head.branch or not row.head:
        return None
    last = BranchBlock(branch=row.branch, head=row.head, block=row.block)
    if row.branch == head.branch:
        return last
    known = space.db.read(projects.branch_block, row.worktree, row.path, head.branch)
    if known is not None and space.repository.are_in_order(known.head, row.head, head.commit):
        return last
    return known


def commits_between(
    space: Space, row: AgentFileRow, base: BranchBlock, head: Head, rules: HeadRules
) -> Commits | None:
    """Return a file's content between two commits of a branch; None without shared history.

    Several commits may lie between two syncs, so that those in between count, too: what one of them
    has was not discarded by git.

    Args:
        space: the work tree.
        row: the file.
        base: the last agreement on the branch.
        head: the commit that is checked out.
        rules: reads versions of the files.

    Raises:
        YaadError: from git.
    """
    repository, path = space.repository, row.path
    if not repository.has_commit(base.head) or not head.commit:
        return None
    shared = repository.merge_base(base.head, head.commit)
    if not shared:
        return None
    kept = {shared, *repository.commits_changing(path, shared, head.commit, STEPS_MAX)}
    there = filter(repository.has_commit, repository.checked_out(row.logged, STEPS_MAX))
    left = {base.head, *there} - {*kept, head.commit} or {base.head}
    rows = space.db.read(projects.agent_files_of_worktree, space.worktree.id).values()
    others = [one.path for one in rows if one.mode == INLINE and one.path != path]
    own = Words.of(rules.words_in(commit, path) for commit in left)
    beside = (rules.words_in(commit, other, outside=False) for commit in left for other in others)
    return Commits(
        kept=Words.of(rules.words_in(commit, path) for commit in kept),
        left=replace(own, some=own.some | frozenset[str]().union(*beside)),
    )


SETTLE_S: Final = 0.3
"""Seconds without a write after which a file counts as settled."""
SETTLE_TRIES_MAX: Final = 10

_BY_GIT_S: Final = 0.5
"""Git writes its index right after the files; a file that changed at another time was edited."""
_BY_STASH_S: Final = 5.0
"""Likewise the files that git resets, after the log of the stash."""


class MovingError(Exception):
    """The file is being written, or git is at work; the sync tries again later."""


class StashedError(Exception):
    """The file's changes are in git's stash, and will come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """One agent file as it is.

    Args:
        path: relative to the work tree, links followed.
        row: its stored state.
        first: whether it was never seen in this work tree.
        data: its bytes; None when it does not exist.
        block: its block, or that it has none.
        statements: its statements outside the block; None when it does not exist.
        digest: keyed hash of its bytes; '' when it does not exist.
        changed: whether it differs from the last agreement.
        from_git: whether git wrote these bytes.
        brought: keys of words that git wrote into a file which a person has edited, too.
        committed: whether they are those of the checked-out commit, and HEAD moved to it since.
        logged: the size of git's log of HEAD in bytes.
        branch: the file as that commit has it.
        commits: the file's content in the commits since the last agreement; None when that does
            not count.
        frozen: whether the block stays as git brought it, but for new rules.
        stated: memories stated here since git brought a frozen block.
        problem: why the file is left alone; '' when it is not.
        head: where HEAD is.
        base: the digest of the block that was last agreed on this branch; '' for none.
        everywhere: whether its statements hold for the whole project.
        unread: which of its lines were not read, and why.
        kept: see `File`, also for `stood` and `became`.
        dropped: keys of rules that its committed block has, and that do not count (`Resolved`).
        new_lines: by key, the lines of the rules in `became`.
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
    unread: str = ""
    committed: bool = False
    brought: Set[str] = frozenset()
    branch: BranchFile = field(default_factory=BranchFile)
    commits: Commits | None = None
    frozen: bool = False
    stated: frozenset[str] = frozenset()
    base: str = ""
    logged: int = 0
    kept: frozenset[str] = frozenset()
    stood: frozenset[str] | None = None
    dropped: frozenset[str] = frozenset()
    became: Mapping[str, str] = field(default_factory=dict)
    new_lines: Mapping[str, str] = field(default_factory=dict)


def gather(
    home: Home, space: Space, found: FoundFile, row: AgentFileRow, rules: HeadRules, *, first: bool
) -> Gathered:
    """Read one agent file.

    Raises:
        MovingError: it is being written, or git is at work.
        StashedError: its changes are in git's stash.
        YaadError: from git.
    """
    path = found.path
    data, problem = settled(home, space, path, own=lambda data: digest_of(data) == row.digest)
    logged = space.repository.log_size()  # before HEAD, so that no step is missed
    head = head_of(space)
    if layout.at_work(space.repository.layout):
        raise MovingError(path)
    digest = digest_of(data)
    changed = digest != row.digest
    is_as_head = changed and _is_as_head(space, path, data, head)
    if is_as_head and _is_just_stashed(space, path):
        raise StashedError(path)
    from_git = first or (changed and _is_from_git(space, path, data, row, head))
    moved = row.head != head.commit
    committed = moved and is_as_head
    branch = at_head(space, row, head, data)
    if from_git and row.head and (row.branch, row.head) != (head.branch, head.commit):
        # Git has replaced the version of the file that a person adopted.
        branch = replace(branch, adopted=False)
    base: BranchBlock | None = None
    commits: Commits | None = None
    frozen = False
    if (from_git or committed) and not (first and branch.adopted):
        base = None if first else base_of(space, row, head)
        if base is not None:
            commits = commits_between(space, row, base, head, rules)
        same = base is not None and base.branch == row.branch and base.block
        frozen = from_git and branch.block is not None and not (same and commits is not None)
    block: Absent | Block = Absent()
    statements: tuple[Statement, ...] | None = None
    everywhere = found.here
    unread = ""
    if data is not None:
        marked = find(data)
        problem = _problem_of(data, marked)
        if isinstance(marked, Absent | Block):
            block = marked
        if not problem:
            document = parsed(found.bridge, data)
            statements = document.statements
            unread = " ".join(one.message for one in document.problems)
            everywhere = everywhere and document.travels
    was_adopted = row.adopted not in {"", UNTRACKED}
    if was_adopted and branch.refusal and not from_git and row.branch == head.branch:
        # A commit of other lines, or a pull, leaves the person's block uncommitted.
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
        unread=unread,
        committed=committed,
        brought=_brought(space, row, head, rules) if changed and not from_git else frozenset(),
        branch=branch,
        commits=commits if data is not None else None,
        frozen=frozen,
        stated=_stated_here(space, row, head, rules) if frozen else frozenset(),
        base=base.block if base is not None and commits is not None else "",
        logged=logged,
    )
    if statements is not None and row.mode != INLINE and isinstance(block, Block):
        seen = _with_their_block(space, seen, found, rules)
    came_back = bool(row.head) and not moved and logged != row.logged
    counts = (
        branch.block is not None
        and not frozen
        and (came_back or (moved and rules.has_changed(row.head, head.commit)))
    )
    return _resolved(seen, rules) if counts else seen


def _problem_of(data: bytes, marked: Absent | Block | Malformed | Refused) -> str:
    """Return why nothing is read from a file, nor written to it; '' for no reason."""
    if attributes.object_id(data):
        return POINTER
    if isinstance(marked, Malformed | Refused):
        return f"{marked.reason}; nothing was read or written"
    unfinished = inventory.conflict_markers(data)
    return f"{unfinished.reason}; nothing was read or written" if unfinished is not None else ""


def _with_their_block(space: Space, seen: Gathered, found: FoundFile, rules: HeadRules) -> Gathered:
    """Return a file that gets no block from us, with the rules of the one that came with git.

    Its agents read them like any other line of the team; what HEAD has of them is git's word.

    Raises:
        YaadError: from git.
    """
    outside = {one.text for one in seen.statements or ()}
    statements = parsed(found.bridge, without_markers(seen.data or b"")).statements
    blob = space.repository.blob_at(seen.head.commit, seen.path)
    committed = space.repository.read_blob(blob, AGENT_FILE_BYTES_MAX) if blob else None
    there = parsed(found.bridge, without_markers(committed or b"")).statements
    brought = {
        text_hash(rules.terms.as_stored(one.text)) for one in there if one.text not in outside
    }
    return replace(seen, statements=statements, brought=seen.brought | brought)


def _stated_here(space: Space, row: AgentFileRow, head: Head, rules: HeadRules) -> frozenset[str]:
    """Return the memories stated in this work tree since git wrote the block, before it was read.

    They were stated at a commit with the same version of the file, or typed into a file where HEAD
    does not have them; and no block of this file ever had them.

    Raises:
        YaadError: from git.
    """
    blob_at = space.repository.blob_at
    blob = blob_at(head.commit, row.path)
    learned, typed = space.db.read(projects.never_agreed, row.worktree, row.path)
    return frozenset(
        [node for node, commit in learned if blob_at(commit, row.path) == blob]
        + [node for node, path, key in typed if key not in rules.words_in(head.commit, path)]
    )


def _brought(space: Space, row: AgentFileRow, head: Head, rules: HeadRules) -> Set[str]:
    """Return the words that git wrote into a file since the last sync, before a person's edit.

    A pull also puts a person's edit back (`--autostash`).

    Raises:
        YaadError: from git.
    """
    own_work = space.repository.is_own_work
    if not row.head or row.head == head.commit or own_work(row.head, head.commit):
        return frozenset()
    return rules.words_in(head.commit, row.path) - rules.words_in(row.head, row.path)


def _resolved(seen: Gathered, rules: HeadRules) -> Gathered:
    """Return a file with the rules that the committed blocks of all files resolve to.

    Raises:
        YaadError: from git.
    """
    commit, path = seen.head.commit, seen.path
    all_files, own = rules.resolved(commit), rules.rules_in(commit, path).keys()
    kept = all_files.alive - own
    commits = seen.commits
    if commits is not None:
        # Committed since the agreement, in another file only and with a change of this block: if it
        # was agreed, a person deleted it here.
        left_out = {key for place, key in all_files.left_out if place == path}
        added = (kept & left_out) - commits.kept.some - rules.keys_in(seen.row.head)
        kept -= added
        commits = replace(commits, kept=replace(commits.kept, some=commits.kept.some | added))
    return replace(
        seen,
        commits=commits,
        kept=frozenset(kept),
        stood=frozenset(own - all_files.dropped),
        dropped=frozenset(all_files.dropped & own),
        became=all_files.became,
        new_lines=rules.lines(commit, set(all_files.became.values())),
    )


def settled(
    home: Home,
    space: Space,
    path: str,
    *,
    own: Callable[[bytes], bool] = lambda _: False,
    bytes_max: int = AGENT_FILE_BYTES_MAX,
) -> tuple[bytes | None, str]:
    """Return the bytes of a file that has settled, and why it cannot be read ('' when it can).

    Bytes for which `own` is true, as after an agreement, need no time to settle.

    Raises:
        MovingError: it was being written all the time.
    """
    for _ in range(SETTLE_TRIES_MAX):
        before = files.observe(space.root, path, bytes_max=bytes_max, now_ns=home.clock.now_ns())
        if before.kind == "absent":
            return None, ""
        if before.data is None:
            return None, ODD.get(before.kind, "cannot be read")
        if own(before.data):
            return before.data, ""
        age_s = 0.0
        with contextlib.suppress(OSError):
            changed_ns = (space.root / path).stat().st_mtime_ns
            # A time in the future is meaningless; then two equal reads have to suffice.
            age_s = max((home.clock.now_ns() - changed_ns) / 1e9, 0.0)
        if age_s >= SETTLE_S:
            return before.data, ""
        home.clock.pause(min(SETTLE_S - age_s, SETTLE_S))
        after = files.observe(space.root, path, bytes_max=bytes_max, now_ns=home.clock.now_ns())
        if after.data == before.data:
            return before.data, ""
    raise MovingError(path)


def _is_from_git(
    space: Space, path: str, data: bytes | None, row: AgentFileRow, head: Head
) -> bool:
    """Return whether git wrote these bytes: HEAD has them, or the index after HEAD moved.

    A commit that the repository's own user made here on top of the last one seen is that person's
    edit.
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
            # Discarded by git, or an edit that a person undid by hand.
            return _is_right_after(
                repository.layout.git_dir / "index", space.root / path, _BY_GIT_S
            )
        base = base_of(space, row, head) if row.head else None
        is_same = row.branch == head.branch or (base is not None and base.branch == row.branch)
        return not (row.head and is_same and repository.is_own_work(row.head, head.commit))
    # A person may have staged a fresh edit; git wrote it only if HEAD moved.
    return bool(row.head) and head.commit != row.head and repository.staged_blob(path) in own


def _is_just_stashed(space: Space, path: str) -> bool:
    """Return whether `git stash` has just taken the changes of a file that is as HEAD has it.

    Until they are back, the file is left alone: with a new block `git stash pop` would refuse.
    """
    stash = space.repository.layout.common_dir / "logs" / "refs" / "stash"
    return _is_right_after(space.root / path, stash, _BY_STASH_S)


def _is_as_head(space: Space, path: str, data: bytes | None, head: Head) -> bool:
    """Return whether a file is as the checked-out commit has it."""
    blob = space.repository.blob_at(head.commit, path)
    return data is not None and blob is not None and blob in _blobs(space, path, data, head)


def _is_right_after(one: Path, other: Path, seconds: float) -> bool:
    """Return whether a file changed after another one, within some seconds."""
    try:
        apart_s = (one.stat().st_ctime_ns - other.stat().st_ctime_ns) / 1e9
    except OSError:
        return False
    return 0 <= apart_s <= seconds


def _blobs(space: Space, path: str, data: bytes, head: Head) -> set[str]:
    """Return the blob ids that git may have for the bytes of a file, its conversions undone.

    The index has the result of a filter: no filter is run.
    """
    format_ = layout.object_format(space.repository.layout, head)
    plain = {blob_id(one, format_) for one in (data, data.replace(b"\r\n", b"\n"))}
    if space.repository.blob_at(head.commit, path) in plain:
        return plain
    conversions = space.repository.conversions(path)
    if conversions.filter:
        staged = space.repository.is_as_indexed(path) and space.repository.staged_blob(path)
        return {staged} if staged else set()
    if conversions.ident:
        cleaned = conversions.cleaned(data)
        plain |= {blob_id(one, format_) for one in (cleaned, cleaned.replace(b"\r\n", b"\n"))}
    return plain
