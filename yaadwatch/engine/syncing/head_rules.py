"""Resolve the blocks that the checked-out commit has into one set of rules, for all files alike."""

from collections.abc import Mapping
from typing import Final

from bridges.block import Block, find
from yaadwatch.core.sync import block_history
from yaadwatch.core.sync.block_history import Resolved, Version
from yaadwatch.core.sync.budget import block_bytes, line_bytes
from yaadwatch.core.sync.match import Said, read
from yaadwatch.core.sync.reconcile import Terms
from yaadwatch.core.text import text_hash
from yaadwatch.engine.agent_files.finding import Found
from yaadwatch.engine.agent_files.reading import parsed
from yaadwatch.engine.workspace import Space
from yaadwatch.model.agent_files import INLINE
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX, BLOCK_BYTES_MAX, BLOCK_ITEMS_MAX
from yaadwatch.store import agent_files
from yaadwatch.system import files

COMMITS_MAX: Final = 128
"""Commits looked at; a rule on which the blocks differed before them stays."""
DAYS_MAX: Final = 180
"""Likewise the age of those commits."""


class HeadRules:
    """The rules of the blocks of a commit, read when they are asked for.

    Args:
        space: the work tree.
        found: its agent files.
        terms: how words compare.
    """

    def __init__(self, space: Space, found: Mapping[str, Found], terms: Terms) -> None:
        self._space = space
        self.terms = terms
        rows = space.db.read(agent_files.of_worktree, space.worktree.id).values()
        self._files = {
            row.path: found[row.path] for row in rows if row.mode == INLINE and row.path in found
        }
        self._rules: dict[str, dict[str, Said]] = {}
        self._resolved: dict[str, Resolved] = {}

    def resolved(self, commit: str) -> Resolved:
        """Return the rules of a commit.

        Raises:
            YaadError: from git.
        """
        if commit not in self._resolved:
            self._resolved[commit] = self._resolve(commit)
        return self._resolved[commit]

    def said(self, commit: str, path: str) -> Mapping[str, Said]:
        """Return the rules of the block that a file has in a commit, by the key of their words."""
        return self._read(self._space.repository.blob_at(commit, path) or "")

    def line(self, commit: str, key: str) -> str | None:
        """Return the line of a rule in the first block that has it; None if it holds a secret."""
        for path in sorted(self._files):
            found = self.said(commit, path).get(key)
            if found is not None:
                return None if found.holds_secret else found.item.raw
        return None

    def has_changed(self, old: str, new: str) -> bool:
        """Return whether commits since an older one changed a file, even where they cancel out."""
        repository, at = self._space.repository, self._space.repository.blob_at
        if any(at(old, path) != at(new, path) for path in self._files):
            return True
        return repository.has_commit(old) and any(
            repository.commits_changing(path, old, new, 1) for path in self._files
        )

    def typed(self, commit: str) -> set[str]:
        """Return the keys of rules that a block in the work tree has, and not the committed one."""
        found: set[str] = set()
        for path in self._files:
            seen = files.observe(self._space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
            block = find(seen.data) if seen.data is not None else None
            if isinstance(block, Block):
                keys = {one.key for one in read(block.lines, self.terms)}
                found |= keys - self.said(commit, path).keys()
        return found

    def _resolve(self, commit: str) -> Resolved:
        """Return the rules of a commit; its history matters where its blocks differ."""
        head = self._version(commit, (), 0)
        words = head.words()
        if all(head.says(path, key) for path in head.rules for key in words):
            return Resolved(alive=frozenset(words))
        log = self._space.repository.lineage(
            commit, sorted(self._files), limit=COMMITS_MAX, days=DAYS_MAX
        )
        known = {one for one, _, _ in log}
        older = sorted({parent for _, parents, _ in log for parent in parents} - known)
        log += [(one, (), 0) for one in older if self._space.repository.has_commit(one)]
        return block_history.resolve([self._version(*one) for one in log])

    def _version(self, commit: str, parents: tuple[str, ...], at_s: int) -> Version:
        repository = self._space.repository
        rules: dict[str, dict[str, str]] = {}
        outside, lines = {}, {}
        for path, found in sorted(self._files.items()):
            blob = repository.blob_at(commit, path) or ""
            block = self._block(blob)
            if block is None:
                continue
            lines[path] = block
            rules[path] = {key: one.text for key, one in self._read(blob).items()}
            data = repository.read_blob(blob, AGENT_FILE_BYTES_MAX) or b""
            statements = parsed(found.bridge, data).statements
            outside[path] = {text_hash(self.terms.as_stored(one.text)) for one in statements}
        sizes = (line_bytes(text, newline=2) for one in rules.values() for text in one.values())
        longest = max(sizes, default=0)
        full = {
            path
            for path, block in lines.items()
            if len(rules[path]) >= BLOCK_ITEMS_MAX
            or block_bytes(block.lines, newline=2) + longest > BLOCK_BYTES_MAX
        }
        return Version(
            commit=commit, parents=parents, at_s=at_s, rules=rules, outside=outside, full=full
        )

    def _block(self, blob: str) -> Block | None:
        data = self._space.repository.read_blob(blob, AGENT_FILE_BYTES_MAX)
        block = find(data) if data is not None else None
        return block if isinstance(block, Block) else None

    def _read(self, blob: str) -> dict[str, Said]:
        if blob not in self._rules:
            block = self._block(blob)
            said = read(block.lines, self.terms) if block is not None else ()
            self._rules[blob] = {one.key: one for one in said}
        return self._rules[blob]
