"""What happened to the files between two commits, and to the words in them; one comparison a job.

Whatever is asked costs what changed between the two, not what the tree holds.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from yaadwatch.core.truth.doubt import uses as using
from yaadwatch.core.truth.doubt.uses import Uses
from yaadwatch.engine.asking import History
from yaadwatch.system.git.changes import Change

FILES_MAX = 800
"""Changed files that are read to see where a word went; the others are as if unchanged."""
_BYTES_MAX = 512 * 1024
_NOT_READ = re.compile(
    r"\.(?:lock|svg|map|snap|png|jpe?g|gif|ico|pdf|woff2?|ttf|zip|gz|ipynb|min\.js|min\.css|sum|pb\.go)$"
    r"|(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|npm-shrinkwrap\.json)$"
)


@dataclass(slots=True)
class Window:
    """The way from one commit to another.

    Args:
        history: who knows both.
        since: the older commit.
        until: the newer one; both are there.
        hidden: files that say nothing, because what they say is what is to be judged.
    """

    history: History
    since: str
    until: str
    hidden: frozenset[str] = frozenset()
    _expected: dict[str, None] = field(default_factory=dict)
    _uses: dict[str, Uses] = field(default_factory=dict)
    _changes: "_Changes | None" = None

    def expect(self, words: Iterable[str]) -> None:
        """Tell which words will be asked for: all are looked for in one reading."""
        self._expected |= dict.fromkeys(word for word in words if word)

    @property
    def changes(self) -> "_Changes":
        """Return the files that differ."""
        if self._changes is None:
            same = self.since == self.until
            listed = () if same else self.history.file_changes(self.since, self.until)
            self._changes = _Changes(tuple(listed))
        return self._changes

    def uses(self, word: str) -> Uses:
        """Return where a word came to stand, and where it stands no more; '' stands nowhere."""
        if not word:
            return Uses()
        if word not in self._uses:
            self.expect([word])
            wanted = [one for one in self._expected if one not in self._uses]
            self._uses |= self._read(wanted)
        return self._uses[word]

    def lost(self) -> list[str]:
        """Return the expected words that stand no more where they stood."""
        return [word for word in list(self._expected) if self.uses(word).lost]

    def _read(self, words: list[str]) -> dict[str, Uses]:
        tally = using.Tally(words)
        for change in self._readable():
            old = self.history.read_blob(change.old_blob) if change.old_blob else b""
            new = self.history.read_blob(change.new_blob) if change.new_blob else b""
            if len(old or b"") > _BYTES_MAX or len(new or b"") > _BYTES_MAX:
                continue
            tally.add(change.old, change.new, old or b"", new or b"")
        return tally.found()

    def _readable(self) -> list[Change]:
        return [
            change
            for change in self.changes.listed
            if change.old_blob != change.new_blob
            and not ({change.old, change.new} & self.hidden)
            and not _NOT_READ.search(change.new or change.old or "")
        ][:FILES_MAX]


@dataclass(frozen=True)
class _Changes:
    """The files that differ between two commits, by what became of them."""

    listed: tuple[Change, ...]

    @cached_property
    def renamed(self) -> dict[str, str]:
        """Return the renamed files, old path to new path."""
        return {
            change.old: change.new
            for change in self.listed
            if change.old and change.new and change.old != change.new
        }

    @cached_property
    def added(self) -> tuple[str, ...]:
        """Return the paths at which there was no file before, those of renamed files too."""
        return tuple(
            change.new for change in self.listed if change.new and change.new != change.old
        )

    @cached_property
    def touched(self) -> frozenset[str]:
        """Return the older paths of the files that changed, moved or went."""
        return frozenset(change.old for change in self.listed if change.old)
