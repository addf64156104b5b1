"""Compare by the commits which of two rules in the blocks of a repository is older.

Two people may each have changed a rule in another file, and git merges that cleanly. Both of them
then have to take the same words, so that the order depends on nothing but the commits.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

from bridges.block import Block, find
from yaadwatch.core.sync.match import Said, read
from yaadwatch.core.sync.reconcile import Terms
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.system.git.repository import Repository

STEPS_MAX: Final = 32
"""Commits that carried words from one file to another, looked through to where they came from."""


class WordAges:
    """The words of the committed block of a file, and when they came into the repository.

    Words are given by their keys; those that the block does not have are neither older nor dropped.

    Args:
        repository: with the commit.
        commit: whose blocks count.
        path: the file.
        others: the files with which it is compared, in any order.
        terms: how words compare.
    """

    def __init__(
        self, repository: Repository, commit: str, path: str, others: Sequence[str], terms: Terms
    ) -> None:
        self._repository = repository
        self._commit = commit
        self._path = path
        self._others = sorted(others)
        self._paths = sorted({path, *others})
        self._terms = terms
        self._block = cache(self._read)

    def is_older(self, words: str, others: str) -> bool:
        """Return whether words of the file came before others that only another file has.

        Where neither commit has the other one in its history, the time decides, then the name.
        """
        if not self._others:
            return False
        own = self._words(self._commit, self._path)
        places = self._places(self._commit, others)
        if not places or words not in own or others in own:
            return False
        one, other = self._origin(words, self._path), self._origin(others, places[0])
        if one[1] == other[1]:
            return self._path > places[0]
        if self._repository.are_in_order(one[1], other[1]):
            return True
        return not self._repository.are_in_order(other[1], one[1]) and one < other

    def is_dropped(self, words: str) -> bool:
        """Return whether another file had words of this one, and lost them since they came."""
        if not self._others or words not in self._words(self._commit, self._path):
            return False
        lacking = [
            path
            for path in self._others
            if self._has_block(self._commit, path) and words not in self._words(self._commit, path)
        ]
        if not lacking:
            return False
        _, came = self._origin(words, self._path)
        return any(
            words in self._words(commit, path)
            for path in lacking
            for commit in (
                came,
                *self._repository.commits_changing(path, came, self._commit, STEPS_MAX),
            )
        )

    def _origin(self, key: str, path: str) -> tuple[int, str]:
        """Return the commit that brought words which no block had before it, after its time."""
        commit, found = self._commit, (0, "")
        for _ in range(STEPS_MAX):
            line, rule = self._words(commit, path)[key]
            wrote = self._repository.wrote(commit, path)
            lines = wrote[line + rule.item.first : line + rule.item.last + 1]
            if not lines:
                break
            found = max((one.at_s, one.commit) for one in lines)
            before = next(
                (
                    (parent, place)
                    for parent in self._repository.parents(found[1])
                    for place in self._places(parent, key)
                ),
                None,
            )
            if before is None:
                break
            commit, path = before
        return found

    def _places(self, commit: str, key: str) -> list[str]:
        return [path for path in self._paths if key in self._words(commit, path)]

    def _has_block(self, commit: str, path: str) -> bool:
        return self._block(commit, path) is not None

    def _words(self, commit: str, path: str) -> dict[str, tuple[int, Said]]:
        """Return the rules of a block by their keys, each after the line of the begin marker."""
        block = self._block(commit, path)
        if block is None:
            return {}
        return {rule.key: (block.line, rule) for rule in read(block.lines, self._terms)}

    def _read(self, commit: str, path: str) -> Block | None:
        blob = self._repository.blob_at(commit, path)
        data = self._repository.read_blob(blob, AGENT_FILE_BYTES_MAX) if blob is not None else None
        block = find(data) if data is not None else None
        return block if isinstance(block, Block) else None
