"""What an index of the words of texts must be able to do; whoever runs git is given one."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol


class Kept(Protocol):
    """What is kept of one repository; `store.words.Texts` says what each does."""

    def searched(self) -> None: ...  # noqa: D102
    def searches(self) -> int: ...  # noqa: D102
    def covers(self, commit: str) -> bool: ...  # noqa: D102
    def covered(self, limit: int) -> list[tuple[str, int]]: ...  # noqa: D102
    def absent(self) -> list[str]: ...  # noqa: D102
    def lacks(self, blobs: Iterable[str]) -> list[str]: ...  # noqa: D102
    def add(self, blob: str, data: bytes | None) -> None: ...  # noqa: D102
    def cover(  # noqa: D102
        self,
        commit: str,
        files: Iterable[tuple[str, str]],
        *,
        count: int,
        paths: Iterable[str],
    ) -> None: ...
    def holding(self, words: Sequence[str]) -> list[tuple[str, str]]: ...  # noqa: D102
    def may_hold(self, count: int) -> bool: ...  # noqa: D102
    def is_full(self) -> bool: ...  # noqa: D102
    def clear(self) -> None: ...  # noqa: D102


class Names(Protocol):
    """What is kept of the names in a commit; `store.words.Names` says what each does."""

    def files(self, name: str) -> list[str]: ...  # noqa: D102
    def folders(self, name: str) -> list[str]: ...  # noqa: D102
    def beginning(self, name: str) -> list[str]: ...  # noqa: D102


class Indexes(Protocol):
    """The indexes of all repositories; `store.words.Words` is one."""

    def use(self, repository: Path) -> AbstractContextManager[Kept]:
        """Lend what is kept of the repository whose common folder this is."""

    def names(self, repository: Path, commit: str) -> Names | None:
        """Return the names in a commit; None when they are not kept."""

    def forget(self, repository: Path) -> None:
        """Delete what is kept of a repository."""
