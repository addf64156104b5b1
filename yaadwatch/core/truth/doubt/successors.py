"""What took the place of a file or folder that is gone: a renamed, new, or newly named one?"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_OVERVIEWS = frozenset(("overview", "index", "readme"))
_PAGES = (".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".org", ".html")
_PACKAGES = frozenset(("__init__", "mod", "index", "lib", "main"))
"""The files that are the package, or module, which their folder is called after."""
_BY_CUSTOM = {
    "setup.py": "pyproject.toml",
    "setup.cfg": "pyproject.toml",
    "requirements.txt": "pyproject.toml",
    "Pipfile": "pyproject.toml",
}
"""Files whose content is kept in another one nowadays."""
_ALIKE = 0.5
"""Share of the words of two names that are the same, from which one may follow the other."""


@dataclass(frozen=True, slots=True)
class Successor:
    """A path that took the place of another; `sure`: it is the same thing, elsewhere.

    `parts`: of a folder that was split with no half of it in one place, the folders that its files
    are in now, the one with most of them first.
    """

    path: str
    sure: bool
    parts: tuple[str, ...] = ()


def of_folder(
    path: str,
    renamed: Mapping[str, str],
    added: Sequence[str],
    removed: Iterable[str] = (),
    *,
    was_there: Callable[[str], bool] | None = None,
) -> Successor | None:
    """Return where a folder went: where most of its files are, or a new one of its name.

    Args:
        path: of the folder.
        renamed: files that git found renamed.
        added: paths at which there was no file before.
        removed: files that are nowhere now; a folder that lost most of its files was not split.
        was_there: whether a folder was there before; one that was is no place for all of another.
            None: it is not known.
    """
    places: Counter[str] = Counter()
    for old, new in renamed.items():
        if old.startswith(path + "/"):
            rest = old[len(path) :]
            place = new[: -len(rest)] if new.endswith(rest) else new.rpartition("/")[0]
            if place and place != path:
                places[place] += 1
    if places:
        best, count = max(places.items(), key=lambda item: (item[1], item[0]))
        lost = sum(one.startswith(path + "/") for one in removed)
        parent = _common_folder(places)
        if lost < places.total() and parent and was_there is not None and not was_there(parent):
            return Successor(parent, sure=True)
        if lost >= places.total():
            return Successor(best, sure=False)
        if 2 * count > places.total():
            return Successor(best, sure=True)
        return Successor(best, sure=False, parts=_by_count(places))
    same = _folder_of_same_name(path, added, removed)
    was = same is not None and was_there is not None and was_there(same.path)
    return same if not was else None


def _common_folder(places: Iterable[str]) -> str:
    """Return the folder that all of these are in; '' when there is none."""
    split = [place.split("/") for place in places]
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*split, strict=False))
    return "/".join(names[0] for names in shared)


@dataclass(frozen=True, slots=True)
class Went:
    """What became of a file of a folder: what it was called at last, and what then; None: gone."""

    name: str
    to: str | None


def from_folder(folder: str, departures: Iterable[tuple[str, str | None]]) -> dict[str, Went]:
    """Return what became of files of a folder at last, by the names that they first had in it.

    Args:
        folder: which.
        departures: old and new path of files that were renamed, None for the new one of those that
            were removed, oldest first; also of those that stayed inside of it.
    """
    inside = f"{folder}/"
    first: dict[str, str] = {}
    found: dict[str, Went] = {}
    for path, to in departures:
        if path.startswith(inside):
            name = first.pop(path, path)
            found[name] = Went(path, to)
            if to is not None and to.startswith(inside):
                first[to] = name
    return found


def _by_count(places: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(places, key=lambda place: (-places[place], place)))


def of_split(path: str, renamed: str | None, added: Sequence[str]) -> Successor | None:
    """Return the folder that a file became, or the file in it that speaks for the folder.

    A page that became a folder of pages is its overview now. A module that became a package is the
    file of it which speaks for the package, or the package where it has more files.
    `API.md` may have become `api/`.
    """
    stem = path.rpartition(".")[0] if "." in path.rpartition("/")[2][1:] else ""
    above = f"{stem.rpartition('/')[0]}/" if "/" in stem else ""
    lower = f"{stem.lower()}/"
    inside = [
        new for new in added if stem and new.startswith(above) and new.lower().startswith(lower)
    ]
    if not inside or (renamed is not None and renamed not in inside):
        return None
    names = {new: new[len(stem) + 1 :].rpartition(".")[0].lower() for new in sorted(inside)}
    if path.lower().endswith(_PAGES):
        page = next((new for new, name in names.items() if name in _OVERVIEWS), None)
        if page is not None:
            return Successor(page, sure=True)
    if len(inside) == 1 and (renamed is not None or names[inside[0]] in _PACKAGES):
        return Successor(inside[0], sure=True)
    if renamed is not None and renamed.rpartition("/")[2] == path.rpartition("/")[2]:
        return Successor(renamed, sure=True)
    return Successor((renamed or min(inside))[: len(stem)], sure=True)


def of_file(
    path: str, renamed: Mapping[str, str], added: Sequence[str], instead: Iterable[str]
) -> Successor | None:
    """Return what took the place of a file that is gone; None when nothing is like it.

    Args:
        path: of the file.
        renamed: files that git found renamed.
        added: paths at which there was no file before.
        instead: paths that now stand where `path` was named, as often as they do.
    """
    split = of_split(path, renamed.get(path), added)
    if split is not None:
        return split
    if path in renamed:
        return Successor(renamed[path], sure=True)
    folder, _, name = path.rpartition("/")
    moved = of_folder(folder, renamed, ()) if folder else None
    if moved is not None and f"{moved.path}/{name}" in added:
        return Successor(f"{moved.path}/{name}", sure=True)
    called = [new for new in added if new.rpartition("/")[2] == name and new != path]
    same = _of_same_name(path, called)
    if same is not None and same.sure:
        return same
    named = Counter(one for one in instead if one != path)
    if named:
        best = max(named, key=lambda one: (_likeness(path, one), named[one], one))
        return Successor(best, sure=False)
    if same is not None and (len(called) == 1 or _is_near(path, same.path)):
        return same
    tells = _is_telling(path)
    others = (new for new in added if new not in called and (tells or _is_near(path, new)))
    return _most_alike(path, others)


def by_custom(path: str) -> Successor | None:
    """Return the file beside `path` that holds nowadays what such a file held; it may not exist."""
    folder, slash, name = path.rpartition("/")
    heir = _BY_CUSTOM.get(name)
    return Successor(f"{folder}{slash}{heir}", sure=False) if heir else None


def _of_same_name(path: str, added: Collection[str]) -> Successor | None:
    name = path.rpartition("/")[2]
    found = [new for new in added if new.rpartition("/")[2] == name and new != path]
    if not found:
        return None
    near = max(found, key=lambda new: (_common(path, new), new))
    is_alone = len(found) == 1
    return Successor(near, sure=is_alone and (_common(path, near) > 0 or _is_telling(path)))


def _folder_of_same_name(
    path: str, added: Sequence[str], removed: Iterable[str]
) -> Successor | None:
    """Return the new folder that has the name of one that is gone, and a file by a name of its own.

    Another folder of that name with nothing of it inside is another thing: `tests`, `handlers`.
    """
    kept = {old.rpartition("/")[2] for old in removed if old.startswith(f"{path}/")}
    inside = [new for new in added if not kept or new.rpartition("/")[2] in kept]
    return _of_same_name(path, _folders(inside))


def _is_near(path: str, other: str) -> bool:
    """Return whether two files of one name are in folders of one name, or one below the other."""
    mine, its = (one.rpartition("/")[0] for one in (path, other))
    if mine.rpartition("/")[2] == its.rpartition("/")[2]:
        return True
    return f"{mine}/".startswith(f"{its}/") or f"{its}/".startswith(f"{mine}/")


def _is_telling(path: str) -> bool:
    """Return whether a name alone says which thing it is: `chat-row.tsx`, but not `src/types.ts`.

    A file at the top was called nothing but its name.
    """
    return "/" not in path or len(_words(path.rpartition("/")[2])) > 1


def _most_alike(path: str, added: Iterable[str]) -> Successor | None:
    suffix = path.rpartition(".")[2] if "." in path.rpartition("/")[2] else ""
    alike = [
        (likeness, new)
        for new in added
        if (not suffix or new.endswith("." + suffix)) and (likeness := _likeness(path, new)) > 0
    ]
    if not alike:
        return None
    best, new = max(alike)
    return Successor(new, sure=False) if best >= _ALIKE else None


def _likeness(path: str, other: str) -> float:
    """Return how alike two paths are, 0..1: by the words of their names, then of their folders."""
    mine, theirs = _words(path), _words(other)
    own, its = _words(path.rpartition("/")[2]), _words(other.rpartition("/")[2])
    names = len(own & its) / max(len(own | its), 1)
    begun = sum(any(a.startswith(b) or b.startswith(a) for b in its) for a in own) / max(
        len(own), 1
    )
    whole = len(mine & theirs) / max(len(mine | theirs), 1)
    return 0.4 * names + 0.3 * begun + 0.3 * whole


def _words(path: str) -> frozenset[str]:
    stem = re.sub(r"\.\w+$", "", path)
    return frozenset(part.lower() for part in _PARTS.findall(stem))


def _common(path: str, other: str) -> int:
    """Return how many folder names two paths share."""
    return len(set(path.split("/")[:-1]) & set(other.split("/")[:-1]))


def _folders(paths: Iterable[str]) -> list[str]:
    found: set[str] = set()
    for path in paths:
        while path := path.rpartition("/")[0]:
            if path in found:
                break
            found.add(path)
    return sorted(found)
