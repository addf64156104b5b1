"""List files that differ between two commits, with renames, and cache permanent answers of git.

Git pairs a removed file with an added one by content. Among several with equal content it picks
any, and among generated files often the wrong one; paths decide better.
"""

import os
import re
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import product
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

from yaadwatch.plain_files import open_plain

_ABOUT = re.compile(rb":(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*")
REGULAR = frozenset((b"100644", b"100755", b"100664"))
"""Modes of regular files."""
_PAIRS_MAX = 4_096
"""Of more pairs of equal files than these git's own are taken."""
_CLEAR = 0.25
"""By how much the best place of a file must be more like its path than the next best."""
_EMPTY = frozenset(
    (
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    )
)
"""Git's ids of the empty file."""
_COMMON_NAMES = frozenset(
    ("__init__", "index", "main", "mod", "lib", "readme", "license", "dockerfile", "makefile")
)
"""File names too common to identify a file."""


class Change(NamedTuple):
    """The change of one file between two commits.

    `old` is None for an added file, `new` for a removed file; a renamed file has both. The blobs
    are '' where there is no regular file.
    """

    old: str | None
    new: str | None
    old_blob: str = ""
    new_blob: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A commit that removed `path` (`to` is None) or renamed it."""

    commit: str
    path: str
    to: str | None


def parsed(output: bytes) -> list[Change]:
    """Return the changes of `git diff-tree -r -z --raw --no-abbrev`; odd names are left out.

    A file that was renamed from or to an odd name is new, or gone.
    """
    fields = output.split(b"\0")
    found = []
    position = 0
    while position < len(fields):
        about = _ABOUT.fullmatch(fields[position])
        position += 1
        if about is None:
            continue
        old_mode, new_mode, old_blob, new_blob, status = about.groups()
        names = fields[position : position + (2 if status in b"RC" else 1)]
        position += len(names)
        texts = path_texts(names)
        if not any(texts):
            continue
        found.append(
            Change(
                old=None if status == b"A" else texts[0] or None,
                new=None if status == b"D" else texts[-1] or None,
                old_blob=old_blob.decode() if old_mode in REGULAR else "",
                new_blob=new_blob.decode() if new_mode in REGULAR else "",
            )
        )
    return found


def path_texts(fields: Iterable[bytes]) -> list[str]:
    """Return paths as text; '' for a path that is not UTF-8."""
    texts = []
    for field in fields:
        try:
            texts.append(field.decode("utf-8"))
        except UnicodeDecodeError:
            texts.append("")
    return texts


def paths_in(output: bytes) -> list[str]:
    """Return the paths of a NUL-separated list; those that are not UTF-8 cannot be named here."""
    try:
        return [path for path in output.decode("utf-8").split("\0") if path]
    except UnicodeDecodeError:
        pass  # one of them is not
    return [path for path in path_texts(output.split(b"\0")) if path]


def each_path(output: bytes) -> Iterator[str]:
    """Yield what `paths_in` returns, without holding all of it."""
    for found in re.finditer(rb"[^\0]+", output):
        yield from filter(None, path_texts([found[0]]))


def renamed_pairs(output: bytes) -> dict[str, str]:
    """Return the renames of `git diff-tree -z -M --name-status`, old path to new path."""
    fields = path_texts(output.split(b"\0"))
    return {
        old: new
        for status, old, new in zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
        if status.startswith("R") and old and new
    }


def by_commit(output: bytes) -> list[tuple[str, list[Change]]]:
    """Return the changes of each commit of `git diff-tree --stdin -r -z --raw --no-abbrev`."""
    found: list[tuple[str, list[Change]]] = []
    commit, fields = "", list[bytes]()
    names = 0
    for field in [*output.split(b"\0"), b""]:
        about = _ABOUT.fullmatch(field) if not names else None
        if names or about is not None:
            fields.append(field)
            names = names - 1 if names else (2 if about and about[5] in b"RC" else 1)
            continue
        if fields:
            found.append((commit, parsed(b"\0".join(fields))))
            fields = []
        commit = field.strip().decode("ascii", "replace") or commit
    return found


def rematched(changes: Sequence[Change]) -> list[Change]:
    """Return the changes between two commits, keeping only renames that agree with the paths.

    Where several equal files were renamed and their paths do not identify the pairs, they count as
    removed and added; so does an empty file that only its content was paired by.
    """
    if not any(_is_rename(one) for one in changes):
        return list(changes)
    return _without_empty(_by_name(_by_path(list(changes))))


def _without_empty(changes: list[Change]) -> list[Change]:
    """Return the changes; an empty file was renamed only where it is called as before."""
    put: list[Change] = []
    for one in changes:
        by_content = _is_rename(one) and one.new_blob in _EMPTY
        if by_content and _name(one.old) != _name(one.new):
            put += (one._replace(new=None, new_blob=""), one._replace(old=None, old_blob=""))
        else:
            put.append(one)
    return put


def _is_rename(change: Change) -> bool:
    return bool(change.old and change.new and change.old != change.new)


def _by_path(changes: list[Change]) -> list[Change]:
    """Return the changes with equal files paired by their paths."""
    equal: dict[str, list[Change]] = defaultdict(list)
    for one in changes:
        moved = _is_rename(one) and one.old_blob == one.new_blob
        blob = one.new_blob if moved or one.old is None else one.old_blob
        if blob and (moved or one.old is None or one.new is None):
            equal[blob].append(one)
    left_out: set[Change] = set()
    put: list[Change] = []
    for blob, group in equal.items():
        olds = [one.old for one in group if one.old]
        news = [one.new for one in group if one.new]
        renamed = any(map(_is_rename, group))
        if not renamed or len(olds) * len(news) in (0, 1) or len(olds) * len(news) > _PAIRS_MAX:
            continue
        git = {one.old: one.new for one in group if one.old and one.new}
        left_out.update(group)
        put += _repaired(blob, olds, news, git)
    return [one for one in changes if one not in left_out] + put


def _repaired(
    blob: str, olds: Sequence[str], news: Sequence[str], git: Mapping[str, str]
) -> list[Change]:
    """Return the changes of equal files, paired by their paths.

    `git`: the pairs of git, which are kept where one file was copied to several places.
    """
    pairs = _assigned(olds, news) if len(olds) > 1 else {}
    if len(olds) == 1:
        pairs = _assigned(olds, news) or dict(git)
    taken = set(pairs.values())
    return [
        *(Change(old, new, blob, blob) for old, new in pairs.items()),
        *(Change(old, None, blob, "") for old in olds if old not in pairs),
        *(Change(None, new, "", blob) for new in news if new not in taken),
    ]


@dataclass(frozen=True, slots=True)
class _Choice:
    """The best partner of a file, and by how much it is better than the next best."""

    margin: float
    score: float
    old: str
    new: str


def _assigned(olds: Sequence[str], news: Sequence[str]) -> dict[str, str]:
    """Return old paths to new ones, clearest pairs first; unclear ones are left out."""
    likeness = {(old, new): _likeness(old, new) for old, new in product(olds, news)}
    olds_left, news_left = list(olds), list(news)
    pairs: dict[str, str] = {}
    while olds_left and news_left:
        choices = [
            *(_choice([(likeness[old, new], old, new) for new in news_left]) for old in olds_left),
            *(_choice([(likeness[old, new], old, new) for old in olds_left]) for new in news_left),
        ]
        best = max(choices, key=lambda one: (one.margin, one.score, one.old, one.new))
        if best.margin < _CLEAR:
            break
        pairs[best.old] = best.new
        olds_left.remove(best.old)
        news_left.remove(best.new)
    return pairs


def _choice(rivals: list[tuple[float, str, str]]) -> _Choice:
    first, *rest = sorted(rivals, reverse=True)
    margin = first[0] - rest[0][0] if rest else 1.0
    return _Choice(margin, first[0], first[1], first[2])


def _likeness(old: str, new: str) -> float:
    """Return how much two paths have in common: their parts, then how alike the others are."""
    mine, theirs = Counter(old.split("/")), Counter(new.split("/"))
    shared = mine & theirs
    # To compare long texts takes minutes, and a path of people is shorter.
    mine_left, theirs_left = ("/".join((one - shared).elements())[:128] for one in (mine, theirs))
    ratio = SequenceMatcher(None, mine_left, theirs_left, autojunk=False).ratio()
    return shared.total() + (ratio if ratio >= 0.6 else 0.0)


def _by_name(changes: list[Change]) -> list[Change]:
    """Return the changes with files that changed as they moved paired by their names.

    A file of the old name is where it went, unless that is where another one of that name went.
    """
    moved = [one for one in changes if _is_rename(one) and one.old_blob != one.new_blob]
    odd = {one.old: one for one in moved if _name(one.old) != _name(one.new)}
    if not odd:
        return changes
    free = {one.new: one for one in changes if one.old is None} | {
        one.new: one for one in odd.values()
    }
    named: dict[str, list[str]] = defaultdict(list)
    for new in filter(None, free):
        named[_name(new)].append(new)
    changed = list(changes)
    for old, one in odd.items():
        name = _name(old)
        places = named.get(name, ())
        place = places[0] if len(places) == 1 else None
        if place is None or not old or _stem(name) in _COMMON_NAMES or one not in changed:
            continue
        if _shared(old, place) < _shared(old, one.new):
            continue
        other = free[place]
        if other not in changed:
            continue
        changed.remove(one)
        changed.remove(other)
        changed.append(Change(old, place, one.old_blob, other.new_blob))
        changed += _left_over(one, other)
    return changed


def _left_over(one: Change, other: Change) -> Iterable[Change]:
    """Yield what is left of two changes when the old file of the first has the second's new one."""
    if other.old is not None and _name(other.old) == _name(one.new):
        yield Change(other.old, one.new, other.old_blob, one.new_blob)
        return
    yield Change(None, one.new, "", one.new_blob)
    if other.old is not None:
        yield Change(other.old, None, other.old_blob, "")


def _name(path: str | None) -> str:
    return (path or "").rpartition("/")[2]


def _stem(name: str) -> str:
    return name.partition(".")[0].lower()


def _shared(one: str, other: str | None) -> int:
    return len(set(one.split("/")[:-1]) & set((other or "").split("/")[:-1]))


_HASH_BYTES: Final = 20
"""The end of a SHA-1, or of a SHA-256."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
IndexKey = tuple[str, str, int, bytes]


class Cache(Generic[K, V]):
    """A mapping of bounded weight, which drops the least recently used entries. Thread-safe.

    Args:
        most: weight of all entries together.
        weigh: returns the weight of an entry; each weighs 1 when None.
        largest: weight of an entry that is not kept; `most` when None.
    """

    def __init__(
        self,
        most: int,
        weigh: Callable[[K, V], int] | None = None,
        *,
        largest: int | None = None,
    ) -> None:
        self._most = most
        self._largest = most if largest is None else largest
        self._weigh = weigh or _one
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0

    def get(self, key: K) -> V | None:
        """Return the cached value of a key; None when there is none."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V) -> None:
        """Cache a value, replacing the previous one, unless it is too large."""
        weight = self._weigh(key, value)
        with self._lock:
            _, before = self._kept.pop(key, (None, 0))
            self._weight -= before
            if weight > self._largest:
                return
            self._kept[key] = value, weight
            self._weight += weight
            while self._weight > self._most:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._weight -= oldest

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()
            self._weight = 0


def _one(key: object, value: object) -> int:  # noqa: ARG001
    return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedPaths:
    """Entries of the index that the work tree need not reflect.

    `sparse`: files outside the sparse checkout, path to blob. `modules`: folders of submodules.
    `assumed`: files marked as unchanged, whatever is in the work tree.
    """

    sparse: dict[str, str]
    modules: frozenset[str]
    assumed: frozenset[str] = frozenset()

    @property
    def overlooked(self) -> frozenset[str]:
        """The files whose changes git does not look at (skip-worktree, assume-unchanged)."""
        return self.assumed | self.sparse.keys()

    def __len__(self) -> int:
        return len(self.sparse) + len(self.modules)


def index_key(root: Path, index: str) -> IndexKey | None:
    """Return what identifies the content of an index file; None: no hash, or no plain file.

    An index ends with a hash of itself. A pipe or a device in its place is never waited for.
    """
    try:
        descriptor = open_plain(index)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        end = os.pread(descriptor, _HASH_BYTES, max(0, size - _HASH_BYTES))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return (str(root), index, size, end) if len(end) == _HASH_BYTES and any(end) else None
