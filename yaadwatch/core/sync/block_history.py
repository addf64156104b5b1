"""Resolve the committed blocks of all files into one set of rules, by the commits alone.

Git merges each file by itself, so the blocks of one commit may differ. Every clone has to resolve
them alike. The history is replayed, oldest commit first:

- a rule that every block has counts;
- a commit with one parent: a rule that a block gained counts, one that a block lost does not;
- a merge: a rule that one side deleted does not count; the merge itself deletes nothing;
- of two wordings of one rule, in different files, the newer one counts.

Where the commits cannot tell, a rule stays: a rule that comes back is an annoyance, a lost rule is
a breach. The exceptions are in docs/decisions/0008-merge.md.
"""

import heapq
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final

from yaadwatch.core.sync.match import edits, likeness

SAME_RULE_MIN: Final = 0.88
"""Two texts so alike are wordings of one rule, if one block has this and another block that."""
EDIT_MIN: Final = 0.8
"""A line that a commit changed and that stays so alike is the same rule; else it is a new one."""


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
        """Return whether a file says these words, in its block or outside."""
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
        moved: (path, key) of each rule that one file lost with the commit that brought it to
            another file.
    """

    alive: Set[str] = frozenset()
    dropped: Set[str] = frozenset()
    became: Mapping[str, str] = field(default_factory=dict)
    moved: Set[tuple[str, str]] = frozenset()


@dataclass(slots=True)
class _State:
    """The rules of one commit: by key, the number of the commit that brought them last."""

    alive: dict[str, int]
    moved: set[tuple[str, str]] = field(default_factory=set)


def resolve(versions: Sequence[Version]) -> Resolved:
    """Return the rules of the first of some versions, of which the others are the history."""
    if not versions:
        return Resolved()
    history = _History(versions)
    for number, version in enumerate(history.order):
        history.advance(number, version)
    return history.result(versions[0])


class _History:
    """The versions, oldest first, and what is known of each."""

    def __init__(self, versions: Sequence[Version]) -> None:
        self._versions = {one.commit: one for one in versions}
        self.order = self._sorted()
        self._states: dict[str, _State] = {}
        self._ancestors: dict[str, frozenset[str]] = {}
        self._family: dict[str, str] = {}
        self._brought: dict[str, int] = {}  # by key, the commit that brought the words last

    def _sorted(self) -> list[Version]:
        """Return each version after its parents, else the older one first."""
        children = dict.fromkeys(self._versions, 0)
        for version in self._versions.values():
            for parent in self._known(version):
                children[parent] += 1
        heap = [self._rank(commit) for commit, count in children.items() if not count]
        heapq.heapify(heap)
        found = []
        while heap:
            version = self._versions[heapq.heappop(heap)[1]]
            found.append(version)
            for parent in self._known(version):
                children[parent] -= 1
                if not children[parent]:
                    heapq.heappush(heap, self._rank(parent))
        return found[::-1]

    def _rank(self, commit: str) -> tuple[int, str]:
        return -self._versions[commit].at_s, commit

    def _known(self, version: Version) -> list[str]:
        return [one for one in dict.fromkeys(version.parents) if one in self._versions]

    def advance(self, number: int, version: Version) -> None:
        """Work out the rules of a version from those of its parents."""
        parents = self._known(version)
        above = (self._ancestors[one] | {one} for one in parents)
        self._ancestors[version.commit] = frozenset().union(*above)
        words = version.words()
        for key in words:
            self._brought.setdefault(key, number)
        if not parents or len(parents) < len(set(version.parents)):
            state = _State(dict.fromkeys(words, number))
        elif len(parents) == 1:
            state = self._changed(number, self._versions[parents[0]], version)
        else:
            state = self._merged(number, [self._versions[one] for one in parents], version)
        for key in words:
            if all(version.says(path, key) for path in version.rules):
                state.alive.setdefault(key, number)
        state.alive = {key: came for key, came in state.alive.items() if key in words}
        self._choose(state, version)
        self._brought |= state.alive
        state.moved = {
            (path, key)
            for path, key in state.moved
            if key in state.alive and not version.says(path, key)
        }
        self._states[version.commit] = state

    def _changed(self, number: int, before: Version, after: Version) -> _State:
        """Apply what a commit changed in each file to the rules of its parent."""
        old = self._states[before.commit]
        state = _State(dict(old.alive), set(old.moved))
        gained = {
            key
            for path, rules in after.rules.items()
            for key in rules
            if not before.says(path, key)
        }
        for key in gained:
            state.alive.setdefault(key, number)
        for path in sorted(before.rules.keys() & after.rules.keys()):
            rules, now = before.rules[path], after.rules[path]
            changed = edits(rules, now)
            for one, other in changed.items():
                if likeness(*sorted((rules[one], now[other]))) >= EDIT_MIN:
                    self._join(one, other)
            for key, text in rules.items():
                if after.says(path, key) or key not in state.alive:
                    continue
                if key in gained:
                    state.moved.add((path, key))
                elif key in changed or path not in after.full:
                    came = state.alive.pop(key)
                    same = [one for one in now if self._are_same((key, text), (one, now[one]))]
                    if same and state.alive.keys().isdisjoint(same):
                        state.alive[same[0]] = came  # another file lost this wording
        return state

    def _are_same(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        """Return whether two rules, each by key and words, are wordings of one."""
        return self._root(one[0]) == self._root(other[0]) or _is_same(one[1], other[1])

    def _merged(self, number: int, parents: Sequence[Version], after: Version) -> _State:
        """Merge the rules of some commits; a merge by itself deletes none."""
        states = [self._states[one.commit] for one in parents]
        bases = self._bases(parents)
        alive = {}
        for key in after.words():
            came = [state.alive[key] for state in states if key in state.alive]
            if not came:
                paths = [path for path, rules in after.rules.items() if key in rules]
                if any(not any(one.says(path, key) for one in parents) for path in paths):
                    alive[key] = number
                continue
            if len(came) == len(states) or not bases or not all(key in b.alive for b in bases):
                alive[key] = max(came)
        self._keep_changed(alive, after, states, bases)
        return _State(alive, set().union(*(state.moved for state in states)))

    def _keep_changed(
        self,
        alive: dict[str, int],
        after: Version,
        states: Sequence[_State],
        bases: Sequence[_State],
    ) -> None:
        """Keep the newest words of a rule that no side deleted, where a merge took older ones."""
        sides = [{self._root(key) for key in state.alive} for state in states]
        before = {self._root(key) for base in bases for key in base.alive}
        there = {self._root(key) for key in alive}
        for key in sorted(after.words(), key=lambda key: (-self._brought[key], key)):
            root = self._root(key)
            has = [root in side for side in sides]
            if root not in there and any(has) and (all(has) or root not in before):
                alive[key] = self._brought[key]
                there.add(root)

    def _bases(self, parents: Sequence[Version]) -> list[_State]:
        """Return the newest commits that all of some commits come from."""
        sides = (self._ancestors[one.commit] | {one.commit} for one in parents)
        common = frozenset.intersection(*sides)
        older = frozenset().union(*(self._ancestors[one] for one in common))
        return [self._states[one] for one in sorted(common - older)]

    def _choose(self, state: _State, version: Version) -> None:
        """Of two wordings of one rule, each in a file of its own, leave the newer one.

        Those of one commit both stay: its author may have meant two rules.
        """
        words = version.words()
        kept: list[str] = []
        for key in sorted(state.alive, key=lambda key: (-state.alive[key], key)):
            if any(
                state.alive[key] < state.alive[newer]
                and self._root(key) == self._root(newer)
                and _is_same(words[key], words[newer])
                and not any(
                    version.says(path, key) and version.says(path, newer) for path in version.rules
                )
                for newer in kept
            ):
                del state.alive[key]
            else:
                kept.append(key)

    def _join(self, one: str, other: str) -> None:
        root = self._root(other)
        self._family[root] = self._family[self._root(one)] = root

    def _root(self, key: str) -> str:
        while self._family.get(key, key) != key:
            key = self._family[key]
        return key

    def result(self, version: Version) -> Resolved:
        """Return the rules of a version."""
        state = self._states[version.commit]
        newest = {self._root(key): key for key in sorted(state.alive, key=state.alive.__getitem__)}
        former = {key for key in self._family if key not in state.alive}
        return Resolved(
            alive=frozenset(state.alive),
            dropped=frozenset(version.words().keys() - state.alive.keys()),
            became={key: newest[root] for key in former if (root := self._root(key)) in newest},
            moved=frozenset(state.moved),
        )


def _is_same(one: str, other: str) -> bool:
    return likeness(*sorted((one, other))) >= SAME_RULE_MIN
