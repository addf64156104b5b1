"""What the two sides of a sync say: the graph, and one file."""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A living memory: its masked text, and whether it belongs into this file's block by rights.

    One that a person's own file says, outside the block, has the words of that file: it is never
    given others. `rank`: lower ones have their place in the block first. `gives_way`: whether its
    line may go for one of a lower rank; a line that a person typed into this block never does.
    `is_shared`: whether more than personal files say it.
    """

    node: str
    text: str
    hot: bool = True
    is_said: bool = False
    rank: int = 0
    gives_way: bool = False
    is_shared: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """What the graph says.

    Args:
        memories: every hot one that this file may carry, best first; then whatever else lives of
            the nodes of the agreement, and whatever else lives and says what a line of the file
            says (`match.read` has its key).
        buried: hashes of words (`core.text.text_hash`) that a person took out: tombstones, and what
            was forgotten. They come back when a person types them, not with old bytes.
        former: hash of words to the living node that said them before it was changed.
        unused: hash of words to the node, living or archived, that says them and is no rule.
    """

    memories: tuple[Known, ...]
    buried: Collection[str] = frozenset()
    former: Mapping[str, str] = field(default_factory=dict)
    unused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the versions of a file say: `some` of them, and `every` one.

    Words are in both sets by their key (`core.text.text_hash`), lines of the block by their keyed
    hash, too.
    """

    some: Set[str] = frozenset()
    every: Set[str] = frozenset()

    @classmethod
    def of(cls, versions: Iterable[Set[str]]) -> Self:
        """Return the words of some versions of a file."""
        sets = [frozenset(words) for words in versions]
        if not sets:
            return cls()
        return cls(some=frozenset().union(*sets), every=frozenset.intersection(*sets))


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits:
    """What the file says in the commits since the last agreement on this branch.

    Args:
        kept: in those that HEAD has, from the newest one that it shares with the agreement.
        left: in that of the agreement, and in others that were checked out since, and HEAD lacks;
            `some` has the words of other files' blocks, too: a rule that one file loses with its
            commit is not written into the others.
    """

    kept: Words = Words()
    left: Words = Words()

    def deleted(self, words: Set[str]) -> bool:
        """Return whether an author took out what is not in the file now."""
        return not words.isdisjoint(self.kept.some)

    def rewound(self, words: Set[str]) -> bool:
        """Return whether only commits that HEAD does not have any more brought the words."""
        return not self.deleted(words) and not words.isdisjoint(self.left.some)

    def changed(self, words: Set[str], now: Set[str]) -> bool:
        """Return whether an author gave the file the words that it has `now` for older ones.

        Else git took back what was never committed, or what HEAD does not have any more.
        """
        return self.deleted(words) or now.isdisjoint(self.kept.every)

    def are_older(self, words: Set[str]) -> bool:
        """Return whether no commit since the agreement was without the words."""
        return not words.isdisjoint(self.kept.every & self.left.every)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """What a file says.

    Args:
        lines: the lines of its block; None when it has none.
        outside: hashes of the words (as stored) that it says outside the block.
        from_git: whether git wrote these bytes, and nobody typed them.
        newline: bytes of its line end, 1 or 2.
        commits: what the file said before git wrote it; None when that is unknown, or nothing that
            is missing counts as deleted.
        frozen: whether the block stays as it is: git brought it with a branch.
        unchanged: whether it holds what was agreed: no line is newly typed.
        committed: whether the branch has a block: it stays there, even without a rule.
        personal: whether git shares it with nobody.
        kept: keys of rules that its committed block lost, and that the committed blocks of all
            files together still have.
        stood: keys of rules that its committed block has and they together have, too; None when no
            commit changed a block. What else is missing was not deleted in the file itself.
        became: by the key of former words, that of the rule into which a commit changed them.
    """

    lines: tuple[str, ...] | None
    outside: Collection[str] = frozenset()
    from_git: bool = False
    newline: int = 1
    commits: Commits | None = None
    frozen: bool = False
    committed: bool = False
    unchanged: bool = False
    personal: bool = False
    kept: Set[str] = frozenset()
    stood: Set[str] | None = None
    became: Mapping[str, str] = field(default_factory=dict)
