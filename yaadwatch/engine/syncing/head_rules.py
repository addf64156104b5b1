"""Resolve the blocks of all files into one set of rules, so that each file gets the same ones.

The history is that of the checked-out commit. Files that a person edited since git wrote them count
as one more commit on top of it.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Final

from bridges.block import Block, find
from yaadwatch.core.sync import block_history, guard
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
"""The newest commits that are replayed; a rule on which the blocks differed before them stays."""
DAYS_MAX: Final = 180
"""The age of the oldest commit that is replayed."""
WORK_TREE: Final = "work tree"
"""The id of the commit that the edited files would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    """A version of a file that has a block.

    Args:
        rules: of the block, by the key of their words.
        outside: keys of what the file says outside the block.
        size: bytes of the block.
        digest: of the block, as it is agreed on.
    """

    rules: Mapping[str, Said]
    outside: Set[str]
    size: int
    digest: str


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
        rows = space.db.read(agent_files.of_worktree, space.worktree.id)
        self._rows = {
            path: row for path, row in sorted(rows.items()) if row.mode == INLINE and path in found
        }
        self._found = found
        self._edited: dict[str, dict[str, _Contents]] = {}
        self._contents: dict[tuple[str, str], _Contents | None] = {}
        self._resolved: dict[str, Resolved] = {}

    def resolved(self, commit: str) -> Resolved:
        """Return the rules of the checked-out commit, and of what a person edited since.

        Raises:
            YaadError: from git.
        """
        if commit not in self._resolved:
            self._resolved[commit] = self._resolve(commit)
        return self._resolved[commit]

    def said(self, commit: str, path: str) -> Mapping[str, Said]:
        """Return the rules of the block that a file has in a commit, by the key of their words."""
        contents = self._committed(commit, path)
        return contents.rules if contents is not None else {}

    def line(self, commit: str, key: str) -> str | None:
        """Return the line of a rule in the first block that has it; None if it holds a secret."""
        for version in (self._of_commit(commit), self._edited.get(commit, {})):
            for contents in version.values():
                found = contents.rules.get(key)
                if found is not None:
                    return None if found.holds_secret else found.item.raw
        return None

    def has_changed(self, old: str, new: str) -> bool:
        """Return whether commits since an older one changed a file, even where they cancel out."""
        repository, at = self._space.repository, self._space.repository.blob_at
        if any(at(old, path) != at(new, path) for path in self._rows):
            return True
        return repository.has_commit(old) and any(
            repository.commits_changing(path, old, new, 1) for path in self._rows
        )

    def _resolve(self, commit: str) -> Resolved:
        """Return the rules of a commit; its history matters where the blocks differ."""
        head, edited = self._of_commit(commit), self._edited_since(commit)
        self._edited[commit] = edited
        now = _version(head | edited, commit=WORK_TREE, parents=(commit,))
        words = now.words()
        if all(now.says(path, key) for path in now.rules for key in words):
            return Resolved(alive=frozenset(words))
        log = self._space.repository.lineage(
            commit, sorted(self._rows), limit=COMMITS_MAX, days=DAYS_MAX
        )
        known = {one for one, _, _ in log}
        older = sorted({parent for _, parents, _ in log for parent in parents} - known)
        log += [(one, (), 0) for one in older if self._space.repository.has_commit(one)]
        versions = [
            _version(self._of_commit(one), commit=one, parents=parents, at_s=at_s)
            for one, parents, at_s in log or [(commit, (), 0)]
        ]
        if edited:
            top = versions[0]
            versions.insert(0, replace(now, parents=(top.commit,), at_s=top.at_s))
        return block_history.resolve(versions)

    def _edited_since(self, commit: str) -> dict[str, _Contents]:
        """Return the files whose block a person edited since git wrote it.

        Not one that is as in the index, or as it was before HEAD moved: git may have left it so.
        Nor one that lost so many rules that it looks like an accident.
        """
        found = {}
        for path, before in self._of_commit(commit).items():
            data = files.observe(
                self._space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0
            ).data
            now = self._read(path, data) if data is not None else None
            if now is None or self._space.repository.is_as_staged(path):
                continue
            row = self._rows[path]
            is_as_before = row.head != commit and row.block == now.digest
            lost = len(before.rules.keys() - now.rules.keys())
            if is_as_before and not self._is_newer_than_head(path):
                continue
            if guard.deletion(lost, len(before.rules)) is None:
                found[path] = now
        return found

    def _is_newer_than_head(self, path: str) -> bool:
        """Return whether a file was written after git last moved HEAD."""
        log = self._space.repository.layout.git_dir / "logs" / "HEAD"
        try:
            return (self._space.root / path).stat().st_ctime_ns > log.stat().st_ctime_ns
        except OSError:
            return False

    def _of_commit(self, commit: str) -> dict[str, _Contents]:
        """Return the files that have a block in a commit."""
        found = {path: self._committed(commit, path) for path in self._rows}
        return {path: contents for path, contents in found.items() if contents is not None}

    def _committed(self, commit: str, path: str) -> _Contents | None:
        repository = self._space.repository
        blob = repository.blob_at(commit, path)
        if blob is None or path not in self._found:
            return None
        if (path, blob) not in self._contents:
            data = repository.read_blob(blob, AGENT_FILE_BYTES_MAX)
            self._contents[path, blob] = self._read(path, data) if data is not None else None
        return self._contents[path, blob]

    def _read(self, path: str, data: bytes) -> _Contents | None:
        block = find(data)
        if not isinstance(block, Block):
            return None
        statements = parsed(self._found[path].bridge, data).statements
        return _Contents(
            rules={one.key: one for one in read(block.lines, self.terms)},
            outside={text_hash(self.terms.as_stored(one.text)) for one in statements},
            size=block_bytes(block.lines, newline=2),
            digest=self.terms.hashed(block.text),
        )


def _version(
    contents: Mapping[str, _Contents], *, commit: str, parents: tuple[str, ...], at_s: int = 0
) -> Version:
    """Return a version of the files; a block is full if it has no room for the longest rule."""
    rules = {
        path: {key: one.text for key, one in found.rules.items()}
        for path, found in contents.items()
    }
    sizes = (line_bytes(text, newline=2) for one in rules.values() for text in one.values())
    longest = max(sizes, default=0)
    return Version(
        commit=commit,
        parents=parents,
        at_s=at_s,
        rules=rules,
        outside={path: found.outside for path, found in contents.items()},
        full={
            path
            for path, found in contents.items()
            if len(found.rules) >= BLOCK_ITEMS_MAX or found.size + longest > BLOCK_BYTES_MAX
        },
    )
