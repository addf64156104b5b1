"""In which files of a commit does a word stand, by an index that follows the commits?

To search a commit, git unpacks every text of it, whatever is asked. An index of the texts is asked
in a millisecond, and brought from one commit to another by what differs between the two; but a text
takes several times as long to index as to search. So texts are indexed when commits have been
searched so often that it would have been worth it: all in all it costs at most twice the cheaper.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from yaadwatch.system.git.changes import Change
from yaadwatch.system.git.words.protocol import Kept
from yaadwatch.system.git.words.texts import may_be_searched, may_be_text, words_in

COST: Final = 4
"""To index a text takes so many times as long as to search it, and to write it down."""
TEXT_BYTES_MAX: Final = 8 * 1024 * 1024
"""A commit with a larger text than this is not indexed."""
AT_ONCE_MAX: Final = 20_000
"""Texts that are indexed at most for one search, which takes some seconds."""
_NEAR_MAX: Final = 2
_HEAD_BYTES: Final = 8000
_PARTS: Final = re.compile(r"[A-Za-z0-9_]+")


class Texts(Protocol):
    """The commits and texts of a repository; a `Repository` is one."""

    def blob_at(self, commit: str, path: str) -> str | None: ...  # noqa: D102
    def has_commit(self, commit: str) -> bool: ...  # noqa: D102
    def has_blob(self, blob: str) -> bool: ...  # noqa: D102
    def read_blob(self, blob: str, bytes_max: int = ...) -> bytes | None: ...  # noqa: D102
    def differing(self, old: str, new: str) -> list[Change]: ...  # noqa: D102
    def files_at(self, commit: str) -> list[tuple[str, str]]: ...  # noqa: D102


def files_with(
    kept: Kept, texts: Texts, words: Sequence[str], *, at: str, whole: bool
) -> dict[str, list[str]]:
    """Return for some of the words the text files of a commit that hold them, sorted.

    Those that are left out have to be searched for.

    Args:
        kept: the index.
        texts: the repository.
        words: taken literally.
        at: a commit.
        whole: leave out all words while git lacks texts; else it is as if those held nothing.

    Raises:
        YaadError: from git.
    """
    asked = {word: _PARTS.findall(word) for word in words if may_be_searched(word)}
    if not any(asked.values()):
        return {}
    if not cover(kept, texts, at):
        kept.searched()
        return {}
    if whole and kept.absent():
        return {}
    return {word: _holding(kept, texts, word, parts, at) for word, parts in asked.items() if parts}


def cover(kept: Kept, texts: Texts, commit: str) -> bool:
    """Return whether the texts of a commit are in the index; put them there if it is worth it.

    Raises:
        YaadError: from git.
    """
    for blob in kept.absent():
        if texts.has_blob(blob) and not _add(kept, texts, blob):
            return False
    if kept.covers(commit):
        return True
    if kept.is_full():
        kept.clear()
    worth = 1 + kept.searches()  # as many searches as this may cost
    near = [(one, count) for one, count in kept.covered(_NEAR_MAX) if texts.has_commit(one)]
    if near:
        ways = [(texts.differing(one, commit), count) for one, count in near]
        changes, count = min(ways, key=lambda way: len(way[0]))
        every = [(one.new, one.new_blob) for one in changes if one.new]
        files = _texts(every)
        count += len(files) - len(_texts((one.old, one.old_blob) for one in changes if one.old))
    elif worth < COST:
        return False
    else:
        every = texts.files_at(commit)
        files = _texts(every)
        count = len(files)
    if not kept.may_hold(count):
        return False
    lacking = kept.lacks(blob for _, blob in files)
    if COST * len(lacking) > worth * max(count, 1):
        return False
    if not all(_add(kept, texts, blob) for blob in lacking[:AT_ONCE_MAX]):
        return False
    if len(lacking) > AT_ONCE_MAX:
        return False  # the next search goes on from here
    kept.cover(commit, files, count=count, paths=(path for path, _ in every))
    return True


def _texts(files: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return those files that may be texts."""
    return [(path, blob) for path, blob in files if blob and may_be_text(path)]


def _add(kept: Kept, texts: Texts, blob: str) -> bool:
    data = texts.read_blob(blob, TEXT_BYTES_MAX)
    if data is None and texts.has_blob(blob):
        return False
    kept.add(blob, b"" if data is not None and b"\0" in data[:_HEAD_BYTES] else data)
    return True


def _holding(kept: Kept, texts: Texts, word: str, parts: Sequence[str], commit: str) -> list[str]:
    """Return the files of a commit that hold a word; a word of several parts is looked at."""
    whole = [word] == list(parts)
    found = [
        path
        for path, blob in kept.holding(parts)
        if may_be_text(path)
        and texts.blob_at(commit, path) == blob
        and (whole or any(words_in([word], texts.read_blob(blob, TEXT_BYTES_MAX) or b"")))
    ]
    return sorted(set(found))
