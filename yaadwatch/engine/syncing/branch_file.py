"""What the checked-out branch says of an agent file: its commits, and whether they have our block.

The committed block is the switch: a tracked file is written only where its branch has one.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from bridges.block import Block, find, restricted_by
from bridges.rules import Bridge
from yaadwatch.core import privacy
from yaadwatch.core.sync.match import read
from yaadwatch.core.sync.reconcile import Terms
from yaadwatch.core.sync.sides import Commits, Words
from yaadwatch.core.text import text_hash
from yaadwatch.engine.agent_files.reading import FILTERED, NO_BLOCK, parsed
from yaadwatch.engine.anchored.worktree import head_of
from yaadwatch.engine.workspace import Space
from yaadwatch.model.agent_files import INLINE, PRIVATE, AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.store import agent_files, agreements
from yaadwatch.store.agreements import BranchBlock
from yaadwatch.system.git.layout import Head
from yaadwatch.system.git.repository import Repository

UNTRACKED: Final = "untracked"
"""Stands for the adopted version of a file that got its block while git did not track it."""
TRACKED_SINCE: Final = (
    "git tracks it now, with our block; keep that: yaadwatch files adopt {path}; keep rules out of"
    " git: yaadwatch files adopt {path} --mode private"
)
BROUGHT: Final = (
    "it has a block of ours that came with git; none of your rules is written there; to take part:"
    " {command}"
)
UNCOMMITTED: Final = (
    "its block is not committed: until it is, git rebase, git pull --rebase and npm version refuse"
)
STEPS_MAX: Final = 64
"""Commits looked at of those that changed a file, or were checked out, since the last agreement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFile:
    """An agent file as the checked-out commit has it.

    Args:
        blob: what git calls its bytes; '' when the commit does not have it.
        block: the text of our block in it; None when there is none.
        filter: the filter that hides from us what the commit says; '' when there is none.
        adopted: whether a person asked for the first block in this version of the file.
        overlooked: whether git was told to overlook what is changed in the work tree.
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

    def differs(self, text: str | None) -> bool:
        """Return whether a tracked file has another block than its commit; None: no block."""
        return bool(self.blob) and not (self.filter or self.overlooked) and text != self.block


def at_head(space: Space, row: AgentFileRow, head: Head) -> BranchFile:
    """Return what the checked-out commit says of an agent file; nothing for one that is only read.

    Raises:
        YaadError: from git.
    """
    repository = space.repository
    blob = repository.blob_at(head.commit, row.path) if row.mode == INLINE else None
    if blob is None:
        return BranchFile()
    data = repository.read_blob(blob, AGENT_FILE_BYTES_MAX)
    found = find(data) if data is not None else None
    if isinstance(found, Block):
        overlooked = row.path in repository.left_out().overlooked
        return BranchFile(blob=blob, block=found.text, overlooked=overlooked)
    name = repository.conversions(row.path).filter
    return BranchFile(blob=blob, filter=name, adopted=row.adopted == blob)


def version_of(space: Space, path: str) -> str:
    """Return what git calls the bytes of a file in the checked-out commit; '' when it has none.

    Raises:
        YaadError: from git.
    """
    return space.repository.blob_at(head_of(space).commit, path) or ""


def reason_of(branch: BranchFile, row: AgentFileRow, data: bytes) -> str:
    """Return what a person has to know about the block of a file; '' for nothing."""
    found, path = find(data), row.path
    if row.mode == PRIVATE and isinstance(found, Block):
        return BROUGHT.format(command=adopt_command(path))
    if row.adopted == UNTRACKED and branch.block is not None:
        return TRACKED_SINCE.format(path=shlex.quote(path))
    if branch.refusal:
        return branch.refusal + (f"; to begin: {adopt_command(path)}" if not branch.filter else "")
    if branch.differs(found.text if isinstance(found, Block) else None):
        return UNCOMMITTED
    return ""


def misplaced(path: str, data: bytes) -> str:
    """Return why the rules in the block of a file mean something else there; '' if they do not.

    A person put the block where it stands, so that it is not moved.
    """
    words = restricted_by(data)
    if not words:
        return ""
    name = shlex.quote(path)
    return (
        f'its block is below "{privacy.mask(words).text}", which changes what its rules mean;'
        f" move it up, or: yaadwatch files release {name} && yaadwatch files adopt {name}"
    )


def adopt_command(path: str) -> str:
    """Return the command that writes the first block into a file."""
    return f"yaadwatch files adopt {shlex.quote(path)}"


def adopted(branch: BranchFile, row: AgentFileRow) -> str:
    """Return what `AgentFileRow.adopted` is from now on."""
    if branch.adopted:
        return branch.blob
    if row.mode == INLINE and not branch.blob:
        return UNTRACKED
    return UNTRACKED if row.adopted == UNTRACKED and branch.block is not None else ""


def goes_on(space: Space, row: AgentFileRow, head: Head) -> bool:
    """Return whether HEAD goes on from where both sides last agreed about a file.

    So it is on the same branch, and on one that has merged the other one since it was checked out.

    Raises:
        YaadError: from git.
    """
    if not head.branch or not row.head:
        return False
    if row.branch == head.branch:
        return True
    known = space.db.read(agreements.of_branch, row.worktree, row.path, head.branch)
    return known is not None and space.repository.are_in_order(known.head, row.head, head.commit)


def base_of(space: Space, row: AgentFileRow, head: Head) -> BranchBlock | None:
    """Return how a file was when both sides last agreed on the branch that is checked out.

    For a branch that `goes_on` from another one that is the last agreement of all.

    Raises:
        YaadError: from git.
    """
    if goes_on(space, row, head):
        return BranchBlock(branch=row.branch, head=row.head, block=row.block)
    if not head.branch or not row.head:
        return None
    return space.db.read(agreements.of_branch, row.worktree, row.path, head.branch)


def commits_between(
    space: Space, row: AgentFileRow, base: BranchBlock, head: Head, *, bridge: Bridge, terms: Terms
) -> Commits | None:
    """Return what a file said between two commits of a branch; None when they share no history.

    Nobody may have looked for several steps of git, so that the commits in between count, too: what
    one of them has was not discarded by git.

    Args:
        space: the work tree.
        row: the file.
        base: the last agreement on the branch.
        head: the commit that is checked out.
        bridge: the format of the file.
        terms: how words compare.

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
    rows = space.db.read(agent_files.of_worktree, space.worktree.id).values()
    others = [one.path for one in rows if one.mode == INLINE and one.path != path]

    def words(commits: Iterable[str]) -> Words:
        blobs = {repository.blob_at(commit, path) for commit in commits}
        return Words.of(_said_in(repository, blob, terms, bridge) for blob in blobs)

    blobs = {repository.blob_at(commit, other) for commit in left for other in others}
    beside = Words.of(_said_in(repository, blob, terms) for blob in blobs)
    own = words(left)
    return Commits(kept=words(kept), left=replace(own, some=own.some | beside.some))


def _said_in(
    repository: Repository, blob: str | None, terms: Terms, bridge: Bridge | None = None
) -> frozenset[str]:
    """Return the words of a version of a file: their keys, and the hashes of block lines.

    Without `bridge`, those of the block only. No words where it has no such version.

    Raises:
        YaadError: from git.
    """
    data = repository.read_blob(blob, AGENT_FILE_BYTES_MAX) if blob is not None else None
    if data is None:
        return frozenset()
    block = find(data)
    inside = read(block.lines, terms) if isinstance(block, Block) else ()
    statements = parsed(bridge, data).statements if bridge is not None else ()
    outside = {text_hash(terms.as_stored(one.text)) for one in statements}
    return frozenset(outside | {said.key for said in inside} | {said.hash for said in inside})
