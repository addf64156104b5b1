"""Resolve the committed blocks of all agent files into one set of rules, by the commits alone.

Git merges each file by itself, so the blocks of one commit may differ. Every clone has to resolve
them alike. `resolve` replays the history, oldest commit first:

- a rule that every block has counts;
- a commit with one parent: a rule that a block gained counts, one that a block lost does not;
- a merge: a rule that one side deleted does not count; the merge itself deletes nothing;
- of two wordings of one rule, in different files, the newer one counts.

Where the commits cannot tell, a rule stays: a rule that comes back is an annoyance, a lost rule is
a breach. The exceptions are in docs/decisions/0008-merge.md.

`HeadRules` reads that history for the checked-out commit. Files that a person edited since git
wrote them count as one more commit on top of it.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from typing import Final

from bridges.block import Block, find
from yaadwatch.db import projects
from yaadwatch.model.limits import INLINE
from yaadwatch.model.projects import Agreed
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX, BLOCK_BYTES_MAX, BLOCK_ITEMS_MAX
from yaadwatch.sync import inventory
from yaadwatch.sync.inventory import block_bytes, line_bytes
from yaadwatch.sync.reconcile import FileRule, Terms, edits, likeness, read, why_incomplete
from yaadwatch.system import files
from yaadwatch.text.words import text_hash
from yaadwatch.workspace.agent_files import FoundFile, parsed
from yaadwatch.workspace.workspace import Space

SAME_RULE_MIN: Final = 0.88
"""Likeness from which texts in two blocks are wordings of one rule."""
EDIT_MIN: Final = 0.8
"""Likeness from which a line that a commit changed is still the same rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The blocks of a commit.

    Args:
        commit: its id.
        parents: their ids; a parent that is not among the versions is unknown.
        at_s: its time.
        rules: by path, the rules of each block, in order: key of the words to the words.
        outside: by path, the keys of what the file says outside its block.
        full: paths whose block has no room for another rule.
    """

    commit: str
    parents: tuple[str, ...]
    at_s: int
    rules: Mapping[str, Mapping[str, str]]
    outside: Mapping[str, Set[str]] = field(default_factory=dict)
    full: Set[str] = frozenset()

    def says(self, path: str, key: str) -> bool:
        """Return whether a file has these words, in its block or outside."""
        return key in self.rules.get(path, ()) or key in self.outside.get(path, ())

    def words(self) -> dict[str, str]:
        """Return the rules of all blocks."""
        return {key: text for path in sorted(self.rules) for key, text in self.rules[path].items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The rules of a commit.

    Args:
        alive: keys of the rules that count.
        dropped: keys of those that a block still has, and that another block lost.
        became: key of former words to the key of the rule that they were changed into.
        left_out: (path, key) of each rule that a commit brought to another file only, although it
            changed the block of this file.
    """

    alive: Set[str] = frozenset()
    dropped: Set[str] = frozenset()
    became: Mapping[str, str] = field(default_factory=dict)
    left_out: Set[tuple[str, str]] = frozenset()


def resolve(versions: Sequence[Version]) -> Resolved:
    """Return the rules of the first of some versions, of which the others are the history."""
    if not versions:
        return Resolved()
    history = _History(versions)
    for number, version in enumerate(history.oldest_first()):
        history.advance(number, version)
    return history.result(versions[0])


class _History:
    """The rules of each version, worked out from those of its parents.

    `_alive` has the rules of a version with the number of the commit that brought each last, and
    `_known` all such pairs of it and its ancestors: a side of a merge that knows a pair and does
    not have the rule deleted it.
    """

    def __init__(self, versions: Sequence[Version]) -> None:
        self._versions = {one.commit: one for one in versions}
        self._alive: dict[str, dict[str, int]] = {}
        self._known: dict[str, frozenset[tuple[str, int]]] = {}
        self._left_out: dict[str, frozenset[tuple[str, str]]] = {}
        self._family: dict[str, str] = {}  # by key, that of the words it was changed into
        self._brought: dict[str, int] = {}  # by key, the commit that brought the words last

    def oldest_first(self) -> Iterator[Version]:
        """Yield each version after its parents, else the older one first."""
        sorter = TopologicalSorter({one: self._parents(one) for one in self._versions})
        sorter.prepare()
        ready: list[tuple[int, str]] = []
        while sorter.is_active():
            for commit in sorter.get_ready():
                heapq.heappush(ready, (self._versions[commit].at_s, commit))
            commit = heapq.heappop(ready)[1]
            yield self._versions[commit]
            sorter.done(commit)

    def _parents(self, commit: str) -> list[str]:
        parents = dict.fromkeys(self._versions[commit].parents)
        return [one for one in parents if one in self._versions]

    def advance(self, number: int, version: Version) -> None:
        """Work out the rules of a version."""
        parents, words = self._parents(version.commit), version.words()
        left_out = frozenset[tuple[str, str]]().union(*(self._left_out[one] for one in parents))
        for key in words:
            self._brought.setdefault(key, number)
        if not parents or len(parents) < len(set(version.parents)):  # nothing older is known
            alive, left_out = dict.fromkeys(words, number), frozenset()
        elif len(parents) == 1:
            alive, left_out = self._changed(number, self._versions[parents[0]], version, left_out)
        else:
            alive = self._merged(number, parents, version)
        for key in words:
            if all(version.says(path, key) for path in version.rules):
                alive.setdefault(key, number)
        alive = {key: came for key, came in alive.items() if key in words}
        self._drop_older_wordings(alive, version)
        self._brought |= alive
        self._alive[version.commit] = alive
        known = (self._known[one] for one in parents)
        self._known[version.commit] = frozenset(alive.items()).union(*known)
        self._left_out[version.commit] = frozenset(
            (path, key) for path, key in left_out if key in alive and not version.says(path, key)
        )

    def _changed(
        self, number: int, before: Version, after: Version, left_out: Set[tuple[str, str]]
    ) -> tuple[dict[str, int], frozenset[tuple[str, str]]]:
        """Apply what a commit changed in each file to the rules of its parent."""
        gained = {
            key
            for path, rules in after.rules.items()
            for key in rules
            if not before.says(path, key)
        }
        alive = dict.fromkeys(gained, number) | self._alive[before.commit]
        found = set(left_out)
        for path in sorted(before.rules.keys() & after.rules.keys()):
            rules, now = before.rules[path], after.rules[path]
            if rules.keys() != now.keys():
                found |= {(path, key) for key in gained}
            changed = edits(rules, now)
            for one, other in changed.items():
                if likeness(*sorted((rules[one], now[other]))) >= EDIT_MIN:
                    root = self._root(other)
                    self._family[root] = self._family[self._root(one)] = root
            for key, text in rules.items():
                if after.says(path, key) or key not in alive or key in gained:
                    continue
                if key in changed or path not in after.full:
                    came = alive.pop(key)
                    same = [
                        one
                        for one in now
                        if self._root(one) == self._root(key) or _is_same(now[one], text)
                    ]
                    if same and alive.keys().isdisjoint(same):
                        alive[same[0]] = came  # another file lost this wording
        return alive, frozenset(found)

    def _merged(self, number: int, parents: Sequence[str], after: Version) -> dict[str, int]:
        """Merge the rules of some commits; a merge by itself deletes none."""
        sides = [(self._alive[one], self._known[one]) for one in parents]
        alive = {}
        for key in after.words():
            came = max((here[key] for here, _ in sides if key in here), default=None)
            if came is not None:
                if all(key in here or (key, came) not in known for here, known in sides):
                    alive[key] = came
            elif any(
                key in rules and not any(self._versions[one].says(path, key) for one in parents)
                for path, rules in after.rules.items()
            ):
                alive[key] = number
        # Of a rule that no side deleted, the newest words that the merge took.
        there = set(map(self._root, alive))
        roots = [
            (set(map(self._root, here)), {self._root(key) for key, _ in known})
            for here, known in sides
        ]
        for key in sorted(after.words(), key=lambda key: (-self._brought[key], key)):
            root = self._root(key)
            has = [root in here for here, _ in roots]
            if (
                root not in there
                and any(has)
                and all(root in here or root not in known for here, known in roots)
            ):
                alive[key] = self._brought[key]
                there.add(root)
        return alive

    def _drop_older_wordings(self, alive: dict[str, int], version: Version) -> None:
        """Of two wordings of one rule, each in a file of its own, leave the newer one.

        Those of one commit both stay: its author may have meant two rules.
        """
        words = version.words()
        kept: list[str] = []
        for key in sorted(alive, key=lambda key: (-alive[key], key)):
            if any(
                alive[key] < alive[newer]
                and self._root(key) == self._root(newer)
                and _is_same(words[key], words[newer])
                and not any(
                    version.says(path, key) and version.says(path, newer) for path in version.rules
                )
                for newer in kept
            ):
                del alive[key]
            else:
                kept.append(key)

    def _root(self, key: str) -> str:
        while self._family.get(key, key) != key:
            key = self._family[key]
        return key

    def result(self, version: Version) -> Resolved:
        """Return the rules of a version."""
        alive = self._alive[version.commit]
        newest = {self._root(key): key for key in sorted(alive, key=alive.__getitem__)}
        former = {key for key in self._family if key not in alive}
        return Resolved(
            alive=frozenset(alive),
            dropped=frozenset(version.words().keys() - alive.keys()),
            became={key: newest[root] for key in former if (root := self._root(key)) in newest},
            left_out=self._left_out[version.commit],
        )


def _is_same(one: str, other: str) -> bool:
    return likeness(*sorted((one, other))) >= SAME_RULE_MIN


COMMITS_MAX: Final = 128
"""The newest commits that are replayed; a rule on which the blocks differed before them stays."""
DAYS_MAX: Final = 180
"""The age of the oldest commit that is replayed."""
WORK_TREE: Final = "work tree"
"""The id of the commit that the edited files would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    """A version of a file.

    Args:
        rules: of the block, by the key of their words.
        lines: hashes of the lines of these rules.
        outside: keys of what the file says outside the block.
        left: lines of the block that are in no rule.
        size: bytes of the block; 0 without one.
        digest: of the block, as it is agreed on.
    """

    rules: Mapping[str, FileRule]
    lines: Set[str]
    outside: Set[str]
    left: Sequence[str]
    size: int
    digest: str


class HeadRules:
    """The rules in the blocks of a commit, read lazily.

    Args:
        space: the work tree.
        found: its agent files.
        terms: how words compare.
    """

    def __init__(self, space: Space, found: Mapping[str, FoundFile], terms: Terms) -> None:
        self._space = space
        self.terms = terms
        rows = space.db.read(projects.agent_files_of_worktree, space.worktree.id)
        self._rows = {
            path: row for path, row in sorted(rows.items()) if row.mode == INLINE and path in found
        }
        self._found = found
        self._edited: dict[str, dict[str, _Contents]] = {}
        self._contents: dict[tuple[str, str], _Contents | None] = {}
        self._resolved: dict[str, Resolved] = {}

    def resolved(self, commit: str) -> Resolved:
        """Return the rules of the checked-out commit and of later edits by a person.

        Raises:
            YaadError: from git.
        """
        if commit not in self._resolved:
            self._resolved[commit] = self._resolve(commit)
        return self._resolved[commit]

    def rules_in(self, commit: str, path: str) -> Mapping[str, FileRule]:
        """Return the rules of the block that a file has in a commit, by the key of their words."""
        contents = self._committed(commit, path)
        return contents.rules if contents is not None else {}

    def words_in(self, commit: str, path: str, *, outside: bool = True) -> Set[str]:
        """Return the words of a file in a commit: their keys, and the hashes of block lines."""
        contents = self._committed(commit, path)
        if contents is None:
            return frozenset()
        own = contents.rules.keys() | contents.lines
        return own | contents.outside if outside else own

    def keys_in(self, commit: str) -> set[str]:
        """Return the keys of the rules that the blocks of a commit have."""
        return {key for contents in self._of_commit(commit).values() for key in contents.rules}

    def lines(self, commit: str, keys: Set[str]) -> dict[str, str]:
        """Return the lines of rules, by key, from the first block that has each.

        Without those that hold a secret.
        """
        found: dict[str, FileRule] = {}
        for version in (self._edited.get(commit, {}), self._of_commit(commit)):
            for contents in reversed(version.values()):
                found |= {key: contents.rules[key] for key in keys & contents.rules.keys()}
        return {key: one.item.raw for key, one in found.items() if not one.holds_secret}

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
        return resolve(versions)

    def _edited_since(self, commit: str) -> dict[str, _Contents]:
        """Return the files whose block a person edited since git wrote it.

        Left out: a file that is as in the index, or as it was before HEAD moved (git may have left
        it so), and a file that waits for a person: with an unfinished merge, with the rest of a
        rule without its beginning, or after so many losses that it looks like an accident.
        """
        found = {}
        for path, before in self._of_commit(commit).items():
            data = files.observe(
                self._space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0
            ).data
            now = self._read(path, data) if data is not None else None
            if now is None or not now.size or self._space.repository.is_as_indexed(path):
                continue
            if data is not None and inventory.conflict_markers(data) is not None:
                continue
            agreed = [
                Agreed(position=0, node="", graph=one.text, file=one.hash)
                for one in before.rules.values()
            ]
            said = tuple(now.rules.values())
            if why_incomplete(agreed, said, before.outside | now.outside, now.left) is not None:
                continue
            row = self._rows[path]
            is_as_before = row.head != commit and row.block == now.digest
            lost = len(before.rules.keys() - now.rules.keys())
            if is_as_before and not self._is_newer_than_head(path):
                continue
            if inventory.deletion(lost, len(before.rules)) is None:
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
        return {path: contents for path, contents in found.items() if contents and contents.size}

    def _committed(self, commit: str, path: str) -> _Contents | None:
        repository = self._space.repository
        blob = repository.blob_at(commit, path)
        if blob is None:
            return None
        if (path, blob) not in self._contents:
            data = repository.read_blob(blob, AGENT_FILE_BYTES_MAX)
            self._contents[path, blob] = None if data is None else self._read(path, data)
        return self._contents[path, blob]

    def _read(self, path: str, data: bytes) -> _Contents:
        block = find(data)
        lines = block.lines if isinstance(block, Block) else ()
        rules = read(lines, self.terms)
        in_rules = {at for one in rules for at in range(one.item.first, one.item.last + 1)}
        found = self._found.get(path)
        statements = parsed(found.bridge, data).statements if found is not None else ()
        return _Contents(
            rules={one.key: one for one in rules},
            lines={one.hash for one in rules},
            outside={text_hash(self.terms.as_stored(one.text)) for one in statements},
            left=[line for at, line in enumerate(lines) if at not in in_rules],
            size=block_bytes(lines, newline=2) if isinstance(block, Block) else 0,
            digest=self.terms.hashed(block.text if isinstance(block, Block) else ""),
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
