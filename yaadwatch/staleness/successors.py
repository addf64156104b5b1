"""Find what replaced a file or folder that is gone.

A name that a file no longer defines may still be provided by an export or by inheritance.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from yaadwatch.anchors import definitions
from yaadwatch.anchors.definitions import Definition, State
from yaadwatch.anchors.naming import parts_of

if TYPE_CHECKING:
    from tree_sitter import Node


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
    """A path that replaced another; `sure`: it is the same thing, elsewhere.

    `parts`: the folders that now hold the files of a split folder, the one with most files first.
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
    """Return the folder that contains all of these; '' when there is none."""
    split = [place.split("/") for place in places]
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*split, strict=False))
    return "/".join(names[0] for names in shared)


@dataclass(frozen=True, slots=True)
class Departed:
    """The fate of a file of a folder: its last name, and its path after that; None: gone."""

    name: str
    to: str | None


def from_folder(folder: str, departures: Iterable[tuple[str, str | None]]) -> dict[str, Departed]:
    """Return the fate of the files of a folder, by the names that they first had in it.

    Args:
        folder: which.
        departures: old and new path of files that were renamed, None for the new one of those that
            were removed, oldest first; also of those that stayed inside of it.
    """
    inside = f"{folder}/"
    first: dict[str, str] = {}
    found: dict[str, Departed] = {}
    for path, to in departures:
        if path.startswith(inside):
            name = first.pop(path, path)
            found[name] = Departed(path, to)
            if to is not None and to.startswith(inside):
                first[to] = name
    return found


def _by_count(places: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(places, key=lambda place: (-places[place], place)))


def of_split(path: str, renamed: str | None, added: Sequence[str]) -> Successor | None:
    """Return the folder that a file became, or the file in it that represents the folder.

    A page that became a folder of pages is its overview now. A module that became a package is the
    package's entry file, or the package where it has more files. `API.md` may have become `api/`.
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
    """Return what replaced a missing file; None when nothing is similar.

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
    is_distinctive = _is_distinctive(path)
    others = (new for new in added if new not in called and (is_distinctive or _is_near(path, new)))
    return _most_alike(path, others)


def by_custom(path: str) -> Successor | None:
    """Return the modern name beside `path` for such a file; it may not exist."""
    folder, slash, name = path.rpartition("/")
    heir = _BY_CUSTOM.get(name)
    return Successor(f"{folder}{slash}{heir}", sure=False) if heir else None


def _of_same_name(path: str, added: Collection[str]) -> Successor | None:
    name = path.rpartition("/")[2]
    found = [new for new in added if new.rpartition("/")[2] == name and new != path]
    if not found:
        return None
    near = max(found, key=lambda new: (_common(path, new), new))
    if not _common(path, near) and name.partition(".")[0] in _PACKAGES:
        return None
    is_alone = len(found) == 1
    is_called = name.partition(".")[0] not in _PACKAGES and _common(path, near) > 0
    return Successor(near, sure=is_alone and (is_called or _is_distinctive(path)))


def _folder_of_same_name(
    path: str, added: Sequence[str], removed: Iterable[str]
) -> Successor | None:
    """Return the new folder with the name of the missing one and a file in common.

    A namesake with none of its files is another thing: `tests`, `handlers`.
    """
    kept = {old.rpartition("/")[2] for old in removed if old.startswith(f"{path}/")}
    inside = [new for new in added if not kept or new.rpartition("/")[2] in kept]
    return _of_same_name(path, _folders(inside))


def _is_near(path: str, other: str) -> bool:
    mine, its = (one.rpartition("/")[0] for one in (path, other))
    if mine.rpartition("/")[2] == its.rpartition("/")[2]:
        return True
    return f"{mine}/".startswith(f"{its}/") or f"{its}/".startswith(f"{mine}/")


def _is_distinctive(path: str) -> bool:
    """Return whether a name alone identifies a thing: `chat-row.tsx`, but not `src/types.ts`.

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
    """Return the similarity of two paths, 0..1: by the words of their names, then of folders."""
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
    return len(set(path.split("/")[:-1]) & set(other.split("/")[:-1]))


def _folders(paths: Iterable[str]) -> list[str]:
    found: set[str] = set()
    for path in paths:
        while path := path.rpartition("/")[0]:
            if path in found:
                break
            found.add(path)
    return sorted(found)


_SCRIPTS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_PYTHON = (".py", ".pyi")
_FILES_MAX = 64
"""Paths that are tried for modules that a file re-exports whole."""
_CLASSES_MAX = 16
"""Classes of one file that are searched for an inherited member."""


def is_passed_on(path: str, symbol: str, read: Callable[[str], bytes | None]) -> bool:
    """Return whether a file re-exports a name that it does not define itself.

    `export { inner as parse }` and `export * from './rows'` in a script; in Python
    `from .rows import parse`, also in a `try` or an `if`, `import rows as parse`, and
    `from .rows import *`.

    Args:
        path: the file.
        symbol: the name that it may pass on.
        read: returns what a file of the repository says; None where there is none.
    """
    if len(parts_of(symbol)) > 1:
        return False
    asked = [path]
    for one in asked:  # it grows
        data = read(one)
        parsed = definitions.parsed(data, one) if data is not None else None
        if data is None or parsed is None:
            continue
        if one != path and definitions.define(data, one, symbol).state is State.FOUND:
            return True
        for name, module in _passed_on(*parsed, one):
            if name == symbol:
                return True
            if name == "*" and not (symbol.startswith("_") and one.endswith(_PYTHON)):
                more = (file for file in _files_of(module, one) if file not in asked)
                asked += [file for file in more if not file.startswith("..")]
                del asked[_FILES_MAX:]
    return False


def packages_passed_on(data: bytes, path: str, read: Callable[[str], bytes | None]) -> set[str]:
    """Return the modules outside the repository of which a file passes on every name.

    Args:
        data: the file.
        path: its path, from which its modules are found.
        read: returns what a file of the repository says; None where there is none.
    """
    parsed = definitions.parsed(data, path)
    whole = _passed_on(*parsed, path) if parsed is not None else ()
    modules = {module for name, module in whole if name == "*"}
    return {one for one in modules if all(read(file) is None for file in _files_of(one, path))}


def _passed_on(root: "Node", source: bytes, path: str) -> "Iterator[tuple[str, str]]":
    """Yield the names that a file re-exports; with "*", a module that it re-exports whole."""
    lowered = path.lower()
    if lowered.endswith(_SCRIPTS):
        exports = (node for node in root.named_children if node.type == "export_statement")
        for node in exports:
            yield from _exported(node, source)
    elif lowered.endswith(_PYTHON):
        yield from _imported(root, source)


def _exported(node: "Node", source: bytes) -> "Iterator[tuple[str, str]]":
    value = node.child_by_field_name("value")
    if value is not None and value.type == "identifier":
        yield _text_of(value, source), ""
    if any(child.type == "*" for child in node.children):
        yield "*", _text_of(node.child_by_field_name("source"), source).strip("'\"")
    for child in node.named_children:
        if child.type == "namespace_export":
            yield _text_of(child.named_children[-1], source), ""
        for one in child.named_children if child.type == "export_clause" else ():
            named = one.child_by_field_name("alias") or one.child_by_field_name("name")
            yield _text_of(named, source), ""


def _imported(root: "Node", source: bytes) -> "Iterator[tuple[str, str]]":
    """Yield the module-level imports of a Python module."""
    stack = [root]
    while stack:
        node = stack.pop()
        stack += [one for one in node.named_children if one.type.endswith(_HOLDS_STATEMENTS)]
        if not node.type.startswith("import_"):
            continue
        if any(child.type == "wildcard_import" for child in node.named_children):
            yield "*", _text_of(node.child_by_field_name("module_name"), source)
        for one in node.children_by_field_name("name"):
            alias = one.child_by_field_name("alias")
            yield _text_of(alias or one, source).partition(".")[0], ""


_HOLDS_STATEMENTS = ("_statement", "_clause", "block")


def _files_of(module: str, path: str) -> list[str]:
    """Return the paths that an imported module may have."""
    folder = posixpath.dirname(path)
    if path.lower().endswith(_SCRIPTS):
        if not module.startswith("."):
            return []
        base = posixpath.normpath(posixpath.join(folder, module))
        stem, ending = posixpath.splitext(base)
        bare = [stem, base] if ending in _SCRIPTS else [base]
        return [one + end for one in (*bare, f"{base}/index") for end in ("", *_SCRIPTS)]
    name = module.lstrip(".")
    dots = len(module) - len(name)
    inside = name.replace(".", "/")
    if dots:
        folders = [posixpath.normpath(posixpath.join(folder, *[".."] * (dots - 1)))]
    else:
        parts = folder.split("/")
        folders = ["/".join(parts[:end]) for end in range(len(parts), -1, -1)]
    bases = [posixpath.normpath(posixpath.join(one, inside)) for one in folders]
    return [one + end for one in bases for end in (*_PYTHON, "/__init__.py")]


def _text_of(node: "Node | None", source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace") if node else ""


def member(data: bytes, path: str, symbol: str) -> Definition | None:
    """Return the definition that a class of a file inherits from another class of that file.

    None when it inherits none. `Store.save` is that of `Base` where `Store` extends `Base`.
    """
    *scope, name = parts_of(symbol)
    if not scope:
        return None
    text = data.decode("utf-8", "replace")
    known = [scope[-1]]
    for one in known:  # it grows
        for base in _bases(text, one):
            if base in known or len(known) > _CLASSES_MAX:
                continue
            found = definitions.define(data, path, f"{base}.{name}")
            if found.state is State.FOUND:
                return found
            known.append(base)
    return None


def _bases(text: str, name: str) -> list[str]:
    """Return the names in the head of a class after its own: its bases are among them."""
    head = re.search(
        rf"^[ \t]*(?:[\w@]+[ \t]+)*?class[ \t]+{re.escape(name)}\b"
        r"((?:\s*\([^()]*\))?(?:[^{\n]|\n\s*(?=extends\b|:))*)",
        text,
        re.MULTILINE,
    )
    extends = head.group(1).partition("implements")[0] if head is not None else ""
    return re.findall(r"[A-Za-z_]\w*", extends)
