"""Where did the files of a pattern go? The pattern that means them there, read off one of them.

A part of the pattern that is written out may be another one now; what its stars stood for stays.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from yaadwatch.core.references.tree import PATTERN_STARS_MAX, Tree

_ANY_FOLDERS = "**"
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}\Z")
DEPTH_MAX = 32
"""Folders of two paths together; deeper ones are not followed."""


def following(pattern: str, old: str, new: str) -> str | None:
    """Return the pattern that means `new` as `pattern` meant `old`; None when it is not sure.

    None, too, for a file that went to the top: no pattern means what is there alone.

    Args:
        pattern: as `Tree.matching` takes it; `old` is one of its files.
        old: where a file was.
        new: where it is now.
    """
    *folders, name = pattern.rstrip("/").split("/")
    any_below = name.startswith(_ANY_FOLDERS)
    if any_below:
        folders, name = [*folders, _ANY_FOLDERS], name[1:]
    parts = [*(one for one in folders if one != _ANY_FOLDERS), name]
    too_much = pattern.count("*") > PATTERN_STARS_MAX or old.count("/") + new.count("/") > DEPTH_MAX
    if too_much or any(_ANY_FOLDERS in part for part in parts):
        return None
    *were, called = old.split("/")
    *are, calls = new.split("/")
    renamed = _respelled(name, called, calls)
    placed = _refolded(folders, were, are) if "/" in pattern else folders
    if renamed is None or placed is None:
        return None
    said = [*placed[:-1], f"*{renamed}"] if any_below else [*placed, renamed]
    found = "/".join(said)
    found += "/" if pattern.endswith("/") else ""
    if "/" in pattern and "/" not in found:
        return None  # that would mean names everywhere
    return found if any(True for _ in Tree.of([new]).matching(found)) else None


def _refolded(wanted: Sequence[str], were: Sequence[str], are: Sequence[str]) -> list[str] | None:
    """Return the folders of a pattern, put as the folders of its file are now."""
    at = next(_laid(wanted, were), None)
    if at is None:
        return None
    if _fits(wanted, are):
        return list(wanted)
    found = _one_by_one(wanted, at, were, are) if len(were) == len(are) else None
    return found or _cut_out(wanted, at, were, are)


def _one_by_one(
    wanted: Sequence[str], at: Sequence[int], were: Sequence[str], are: Sequence[str]
) -> list[str] | None:
    """Return the folders of a pattern where each folder of a path has another name, or none has."""
    respelled = dict[int, str]()
    for part, was, now in zip(at, were, are, strict=True):
        if wanted[part] == _ANY_FOLDERS:
            continue
        put = _respelled(wanted[part], was, now)
        if put is None:
            return None
        respelled[part] = put
    found = [respelled.get(part, one) for part, one in enumerate(wanted)]
    return found if _fits(found, are) else None


def _cut_out(
    wanted: Sequence[str], at: Sequence[int], were: Sequence[str], are: Sequence[str]
) -> list[str] | None:
    """Return the folders of a pattern where others are in the place of some that stand together.

    What `**` stood for there may be nothing now.
    """
    start = _shared(were, are)
    end = _shared(were[start:][::-1], are[start:][::-1])
    stop = len(were) - end
    cut = [part for part in at[start:stop] if wanted[part] != _ANY_FOLDERS]
    if any("*" in wanted[part] for part in cut) or any(
        wanted[part] == _ANY_FOLDERS for part in range(cut[0] if cut else 0, cut[-1] if cut else 0)
    ):
        return None
    first = cut[0] if cut else (at[start] if start < len(at) else len(wanted))
    found = [*wanted[:first], *are[start : len(are) - end], *wanted[first + len(cut) :]]
    return found if _fits(found, are) else None


def _fits(wanted: Sequence[str], folders: Sequence[str]) -> bool:
    return next(_laid(wanted, folders), None) is not None


def _laid(wanted: Sequence[str], folders: Sequence[str], start: int = 0) -> Iterator[list[int]]:
    """Yield which part of a pattern each folder is: the index of it; `**` takes as few as it can.

    `start`: the index of the first of `wanted`.
    """
    if not wanted:
        if not folders:
            yield []
        return
    first, rest = wanted[0], wanted[1:]
    if first == _ANY_FOLDERS:
        for taken in range(len(folders) + 1):
            for behind in _laid(rest, folders[taken:], start + 1):
                yield [start] * taken + behind
    elif folders and _spelled(first).fullmatch(folders[0]):
        for behind in _laid(rest, folders[1:], start + 1):
            yield [start, *behind]


def _respelled(part: str, old: str, new: str) -> str | None:
    """Return a part of a pattern, without a slash, that means `new` as it meant `old`."""
    if _spelled(part).fullmatch(new):
        return part
    if "*" not in part:
        return new if part == old else None
    return next((one for one in _spellings(part, old, new) if _spelled(one).fullmatch(new)), None)


def _spellings(part: str, old: str, new: str) -> Iterator[str]:
    """Yield what a part of a pattern may be now: another suffix, or another word written out."""
    own, its = _SUFFIX.search(part), _SUFFIX.search(new)
    if own and its and old.endswith(own.group()):
        yield part[: own.start()] + its.group()
    match = _spelled(part).fullmatch(old)
    literals = part.split("*")
    if match is None:
        return
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    at = 0
    for index, literal in enumerate(literals):
        stop = at + len(literal)
        if literal and at <= start and len(old) - end <= stop:
            put = literal[: start - at] + new[start : len(new) - end]
            put += literal[len(old) - end - at :]
            yield "*".join([*literals[:index], put, *literals[index + 1 :]])
        at = stop + (len(match.group(index + 1)) if index < len(literals) - 1 else 0)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many elements two sequences have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _spelled(part: str) -> re.Pattern[str]:
    """Return what matches a name; what stands between two stars is taken where it first is."""
    first, *more = map(re.escape, part.split("*"))
    if not more:
        return re.compile(first)
    between = "".join(f"(?>(.*?){one})" for one in more[:-1])
    return re.compile(f"{first}{between}(.*){more[-1]}")
