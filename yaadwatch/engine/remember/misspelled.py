"""Find what a text names that is not there, with the nearest name: most of it is a typing error."""

import difflib
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from yaadwatch.core.references.mentions import mentions
from yaadwatch.core.truth import definitions
from yaadwatch.core.truth.definitions import language_of
from yaadwatch.core.truth.found import parts_of
from yaadwatch.core.truth.hunks import last_part
from yaadwatch.engine.anchored import file_state
from yaadwatch.engine.anchored.worktree import WorkTree
from yaadwatch.engine.remember.drafts import Draft, Missing
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import YaadError

FILE: Final = "file"
DEFINITION: Final = "definition"
FILES_MAX: Final = 200_000
"""Files of a work tree that are compared with a name that is not there."""
NEAR: Final = 0.75
"""How alike two names must be, 0..1."""
LONG_CHARS: Final = 8
"""From so many characters on, a name may have two typing errors instead of one."""
NEAR_MAX: Final = 8
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{4,59}")


def missing(draft: Draft, found: Sequence[Anchor], tree: WorkTree) -> tuple[Missing, ...]:
    """Return the files and definitions that a text names and that are not there, a few at most.

    A definition counts where its file, or the type that it belongs to, is there and has one of a
    similar name; and one that no file names, where exactly one defined name of the project is one
    or two typing errors away.
    """
    spoken = mentions(draft.text)
    listing = tree.listing()
    lost: list[Missing] = []
    for path in spoken.paths:
        if not _is_file_name(path) or listing.match(path, folder=draft.folder) is not None:
            continue
        place = path.removeprefix("./")
        if any(f"/{anchor.path}".endswith(f"/{place}") for anchor in found):
            continue  # git does not track it yet
        if tree.find(place) is not None or listing.names_folder(path):
            continue
        if listing.named(place.rpartition("/")[2]):
            continue  # several files have the name, or it is in another folder: not a typing error
        nearest = nearest_file(place, tree)
        language = language_of(place)
        is_source = language is not None and not language.is_settings
        is_in_tree = listing.has_folder(place.partition("/")[0])
        if nearest or ("/" in place and (is_source or is_in_tree)):
            lost.append(Missing(name=place, kind=FILE, nearest=nearest))
    anchored = {last_part(one.name) for one in found if one.name}
    for symbol in spoken.symbols:
        if last_part(symbol) in anchored:
            continue
        nearest = nearest_definition(symbol, found, (), tree) or _nearest_anywhere(symbol, tree)
        if nearest:
            lost.append(Missing(name=symbol, kind=DEFINITION, nearest=nearest))
    return tuple(lost[:5])


def nearest_file(path: str, tree: WorkTree) -> str:
    """Return the file whose path is most like one that is not there; '' for none."""
    folder, _, name = path.rpartition("/")
    best, score = "", NEAR
    for other in islice(tree.listing().every(), FILES_MAX):
        its_folder, _, its_name = other.rpartition("/")
        if abs(len(its_name) - len(name)) > 3 or (its_name[:1] != name[:1] and its_name != name):
            continue
        likeness = _likeness(name, its_name)
        if likeness >= NEAR:
            likeness += 0.1 * _likeness(folder, its_folder)
        if likeness > score:
            best, score = other, likeness
    return best


def nearest_definition(
    symbol: str, found: Sequence[Anchor], files: Iterable[str], tree: WorkTree
) -> str:
    """Return the definition whose name is most like one that is not there; '' for none.

    It is looked for in the files of the text, else in the file that defines the type before it.
    """
    paths = [anchor.path for anchor in found if file_state.is_code(anchor.path)]
    paths = list(dict.fromkeys((*files, *paths)))
    scopes = parts_of(symbol)[:-1]
    if not paths and scopes and scopes[-1]:
        standing = tree.standing([scopes[-1]]).get(scopes[-1], ())
        paths = [path for path in standing if file_state.is_code(path)]
    names: list[str] = []
    for path in paths[:8]:
        data = tree.read(path)
        known = [one.name for one in definitions.names(data, path)] if data else []
        if any(name == symbol or last_part(name) == last_part(symbol) for name in known):
            return ""
        if not scopes or any(scopes[-1] in parts_of(name) for name in known):
            names += known
    if scopes:
        names = [name for name in names if parts_of(name)[-2:-1] == scopes[-1:]]
    last = last_part(symbol)
    near = difflib.get_close_matches(last, map(last_part, names), 1, NEAR)
    return next((name for name in names if near and last_part(name) == near[0]), "")


def _nearest_anywhere(symbol: str, tree: WorkTree) -> str:
    """Return the one defined name of a project that is nearly a name which no file has; '' else."""
    name = symbol.removesuffix("()")
    if not _PLAIN.fullmatch(name) or tree.standing([name]).get(name):
        return ""
    errors_max = 1 if len(name) < LONG_CHARS else 2
    try:
        alike = tree.space.repository.names_like(name)
    except YaadError:  # no answer in time, or too long a one: a hint less
        return ""
    near = [one for one in alike if _typing_errors(name, one) <= errors_max]
    if len(near) > NEAR_MAX:
        return ""
    standing = tree.standing(near) if near else {}
    defined = [
        one
        for one in near
        if any(
            file_state.define_in(tree, path, one)
            for path in [path for path in standing.get(one, ()) if file_state.is_code(path)][:8]
        )
    ]
    return defined[0] if len(defined) == 1 else ""


def _typing_errors(one: str, other: str) -> int:
    """Return how many characters are missing, added, wrong or exchanged with the next."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for at, char in enumerate(one, 1):
        row = [at]
        for to, its in enumerate(other, 1):
            cost = min(last[to] + 1, row[to - 1] + 1, last[to - 1] + (char != its))
            if at > 1 and to > 1 and char == other[to - 2] and one[at - 2] == its:
                cost = min(cost, before[to - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def _is_file_name(path: str) -> bool:
    """Return whether a mention is the name of a file: `src/a.py`, and not `and/or` or `e.g`."""
    name = path.rpartition("/")[2]
    stem, point, suffix = name.rpartition(".")
    return bool(stem and point and suffix.isalnum() and not suffix.isdecimal()) and (
        "/" in path or file_state.is_code(path)
    )


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio() if one or other else 1.0
