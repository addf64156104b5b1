"""Bind what a text says of a set ("12 tools", "modules: a, b, c") to the set of the code it means.

The set is one of a file or folder that the text names, else the only one that is called so. It must
be as the text says at that moment. Where two such sets differ, nothing is anchored.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from yaadwatch.anchors import code_sets, stated_sets
from yaadwatch.anchors.code_sets import CodeSet, member
from yaadwatch.anchors.definitions import last_part
from yaadwatch.anchors.stated_sets import StatedSet
from yaadwatch.model.anchors import MEMBERS, Anchor, Method
from yaadwatch.model.settings import SYMBOL_FILES_MAX
from yaadwatch.staleness import file_state
from yaadwatch.staleness.anchor_search import AnchorSearch
from yaadwatch.staleness.commits import AtHead
from yaadwatch.staleness.verdict import Seen, Span
from yaadwatch.staleness.worktree import View
from yaadwatch.text import privacy
from yaadwatch.text.words import word_set

NAMED_MAX: Final = 4
"""Files and folders of a text that are looked through."""
_CHARS_MAX: Final = 4_000
"""Characters of a set's members that an anchor keeps."""
_NO_MODULES: Final = word_set("__init__ __main__ index mod lib main base conftest setup readme")
"""Files of a folder that hold it together, and are not counted."""
_TESTS: Final = re.compile(r"(?i)(?:^|/)(?:tests?|specs?|__tests__|e2e|bench(?:mark)?s?)/")
_TEST: Final = ("test_", "_test", ".test", ".spec", ".stories", "_spec", ".d")
_FILES: Final = word_set("files modules scripts pages documents docs components classes tests")
_FOLDERS: Final = word_set(
    "folders directories subfolders subdirectories packages crates workspaces"
)
_FOLDER: Final = "folder"
SIZE: Final = "size"
ALL: Final = "all"
SOME: Final = "some"
"""What is said of a set: how many members it has, which, or some of them."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """A set that is as a text says, and how well its name fits."""

    path: str
    found: CodeSet
    rank: int


def search_words(one: AnchorSearch) -> list[str]:
    """Return the names under which the sets of a text are searched; none if it names a place."""
    sets = () if one.folders or any(map(file_state.is_code, one.files)) else one.sets
    return [word for said in sets for word in stated_sets.search_words(said)]


def bound(
    one: AnchorSearch, view: View, files_by_word: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Method, str, str]]:
    """Yield path, method, symbol and fingerprint of the anchors of a text on sets of the code.

    `files_by_word`: the files that hold each of `search_words`.
    """
    for said in one.sets:
        fit = _fitting(said, one, view, files_by_word)
        if fit is None:
            continue
        kind = SIZE if not said.members else SOME if said.is_open else ALL
        names = said.members if said.is_open else fit.found.members
        kept = "\n".join((str(said.number or ""), f"{kind} {fit.found.sort}", *names))
        if len(kept) <= _CHARS_MAX and privacy.mask(kept).text == kept:
            method = Method.GLOB if fit.found.sort == _FOLDER else Method.VALUE
            yield fit.path, method, f"{fit.found.name}{MEMBERS}", kept


def _fitting(
    said: StatedSet, one: AnchorSearch, view: View, files_by_word: Mapping[str, Sequence[str]]
) -> _Fit | None:
    defined = (made.path for made in one.found if made.method is Method.TREE)
    files = [path for path in dict.fromkeys((*one.files, *defined)) if file_state.is_code(path)]
    folders = [*one.folders, *filter(None, map(_folder_of_pattern, one.spoken.globs))]
    if files or folders:
        names = frozenset(last_part(symbol) for symbol, _ in one.symbols)
        fits = [
            *_in_files(said, files[:NAMED_MAX], names, view),
            *_in_folders(said, folders[:NAMED_MAX], view),
        ]
    else:
        fits = _anywhere(said, one.source.folder, view, files_by_word)
    fits = [fit for fit in fits if said.holds(fit.found.members)]
    best = max((fit.rank for fit in fits), default=0)
    fits = [fit for fit in fits if fit.rank == best]
    alike = {frozenset(map(member, fit.found.members)) for fit in fits}
    is_one = len(alike) == 1 and len({fit.path for fit in fits}) == 1
    return fits[0] if is_one else None


def _in_files(
    said: StatedSet, paths: Iterable[str], named: frozenset[str], view: View
) -> Iterator[_Fit]:
    """Yield the sets of files whose name or members fit, whether they are as stated or not."""
    for path in paths:
        source = (view.read(path) or b"").decode("utf-8", "replace")
        for found in code_sets.sets_in(path, source):
            rank = said.rank(found)
            is_named = last_part(found.name) in named
            if is_named and (stated_sets.names_members(said) or said.members):
                rank = 3
            if not rank and said.members and not said.is_open:
                rank = 1
            if rank and not _is_by_chance(said, found):
                yield _Fit(path, found, rank + is_named)


def _is_by_chance(said: StatedSet, found: CodeSet) -> bool:
    """Return whether two calls of one name prove nothing: "2 nodes", and a class is made twice."""
    is_call = found.sort == "calls" and found.name != "route"
    return is_call and not said.members and said.number < 3


def _in_folders(said: StatedSet, folders: Iterable[str], view: View) -> Iterator[_Fit]:
    for folder in folders:
        is_called = folder.rpartition("/")[2].lower() in stated_sets.folder_names(said)
        for found in folder_sets(view, folder):
            is_sort = said.noun in (_FOLDERS if found.name == "*/" else _FILES)
            is_whole = bool(said.members) and not said.is_open
            rank = 3 if is_sort else 2 if is_called else 1 if is_whole else 0
            if rank:
                yield _Fit(folder, found, rank)


def _anywhere(
    said: StatedSet, folder: str, view: View, files_by_word: Mapping[str, Sequence[str]]
) -> list[_Fit]:
    """Return the sets that are called as the text says; those of the text's folder first.

    None for a number alone where a set or folder of that name is not so: it may be meant.
    """
    paths: dict[str, None] = {}
    words = list(stated_sets.search_words(said))
    for word in words:
        holding = [path for path in files_by_word.get(word, ()) if file_state.is_code(path)]
        paths |= dict.fromkeys(holding if len(holding) <= SYMBOL_FILES_MAX else ())
    files = [path for path in paths if not _is_beside(path)][: 2 * SYMBOL_FILES_MAX]
    tree = view.listing()
    names = stated_sets.folder_names(said) if words else ()
    named = [path for name in names for path in tree.folders.get(name, ())]
    folders = [path for path in named if not _is_beside(f"{path}/")]
    fits = [fit for fit in _in_files(said, files, frozenset(), view) if _is_whole(fit)]
    for one in folders if len(folders) <= NAMED_MAX else ():
        fits += [_Fit(one, found, 3) for found in folder_sets(view, one)]
    fits = [fit for fit in fits if folder and fit.path.startswith(f"{folder}/")] or fits
    so = [fit for fit in fits if said.holds(fit.found.members)]
    others = {_source(fit) for fit in fits} - {_source(fit) for fit in so}
    return so if said.members or not others else []


def _is_whole(fit: _Fit) -> bool:
    """Return whether a set may be what the project has of its sort, and not a part of something."""
    found = fit.found
    is_part = found.sort == "calls" or (found.sort in ("table", "list") and "." in found.name)
    return fit.rank == 3 and not is_part and len(found.members) > 1


def _source(fit: _Fit) -> tuple[str, str]:
    """Return what declares a set; the files and folders of one folder are one."""
    return fit.path, "" if fit.found.sort == _FOLDER else fit.found.name


def _is_beside(path: str) -> bool:
    """Return whether a file is of tests, examples or others, and no part of the project itself."""
    return file_state.is_no_project(path) or _TESTS.search(path) is not None


def _folder_of_pattern(pattern: str) -> str:
    folder, _, last = pattern.rpartition("/")
    return folder if "*" in last and "*" not in folder else ""


def folder_sets(view: View, folder: str) -> list[CodeSet]:
    """Return the sets of a folder: its folders `*/`, and its files by ending `*.py`."""
    below: dict[str, None] = {}
    endings: defaultdict[str, list[str]] = defaultdict(list)
    for path in view.files_in(folder):
        first, slash, _ = path[len(folder) + 1 :].partition("/")
        stem, dot, ending = first.rpartition(".")
        if slash:
            below[first] = None
        elif dot and stem and stem[:1] != "_" and stem.lower() not in _NO_MODULES:
            endings[ending].append(stem)
    found = [CodeSet(_FOLDER, "*/", tuple(one for one in below if one[:1] not in "._"))]
    for ending, stems in endings.items():
        found.append(CodeSet(_FOLDER, f"*.{ending}", tuple(sorted(_without_tests(stems)))))
    return [one for one in found if len(one.members) > 1]


def _without_tests(stems: list[str]) -> list[str]:
    """Return the names of modules without those of their tests; all if there is nothing else."""
    kept = [
        stem
        for stem in stems
        if not stem.startswith(_TEST[0]) and not stem.lower().endswith(_TEST[1:])
    ]
    return kept or stems


def see_folder(anchor: Anchor, view: View) -> Seen:
    """Observe a set of a folder; a folder that is not there says nothing."""
    found = (one for one in folder_sets(view, anchor.path) if one.name == anchor.name)
    now = next(found, None)
    return observed(anchor, now.members if now is not None else None, anchor.path)


def in_file(anchor: Anchor, path: str, source: str) -> tuple[str, ...] | None:
    """Return the members that an anchored set of a file has now; None when it is not found."""
    _, kind, *names = anchor.fingerprint.split("\n")
    wanted = CodeSet(kind.partition(" ")[2], anchor.name, tuple(names))
    found = code_sets.with_member(code_sets.sets_in(path, source), wanted)
    return found.members if found is not None else None


def observed(anchor: Anchor, now: tuple[str, ...] | None, place: str) -> Seen:
    """Return the state of a set that has these members now."""
    if now is None or holds(anchor, now):
        return Seen(place=place, span=Span.SAME)
    return Seen(place=place, span=Span.DIFFERENT, instead=state(anchor, now))


def state(anchor: Anchor, now: Sequence[str] | None) -> str:
    """Return the anchored state while that holds, else the members, one a line."""
    return anchor.fingerprint if now is None or holds(anchor, now) else "\n".join(now)


def holds(anchor: Anchor, now: Sequence[str]) -> bool:
    """Return whether what was said of a set is true of these members."""
    number, kind, *names = anchor.fingerprint.split("\n")
    if kind.startswith(SIZE):
        return len(now) == int(number)
    said, there = set(map(member, names)), set(map(member, now))
    return said <= there if kind.startswith(SOME) else said == there


def folder_state(anchor: Anchor, at: AtHead) -> str:
    """Return the state of a set of a folder in a commit."""
    seen = see_folder(anchor, at)
    return seen.instead or anchor.fingerprint
