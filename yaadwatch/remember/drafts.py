"""Model a statement between the request and the store: as given, as to be stored, and its outcome.

Also resolves the files that a caller names, finds misspelled references with their nearest name,
and decides the package in which a memory holds: a rule that is stated in `packages/web` is shown
there and at the top of the repository, but not in `packages/api`.
"""

import difflib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from yaadwatch.anchors import definitions, targets
from yaadwatch.anchors.definitions import language_of, last_part
from yaadwatch.anchors.mentions import mentions
from yaadwatch.anchors.naming import parts_of
from yaadwatch.anchors.targets import Command
from yaadwatch.db import history
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import View
from yaadwatch.memory.changes import NOWHERE, Where
from yaadwatch.memory.claiming import HOLDS_IN, folder_of_claim
from yaadwatch.memory.claiming import place_of as claim_place
from yaadwatch.memory.flags import Overlap
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import TEXT_CHARS_MAX
from yaadwatch.model.memories import HOT, NOT_GIVEN, Node, canonical_key, canonical_kind, tier_of
from yaadwatch.repo import layout
from yaadwatch.staleness import file_state
from yaadwatch.staleness.worktree import WorkTree
from yaadwatch.system import files
from yaadwatch.text import privacy
from yaadwatch.text.privacy import Masked
from yaadwatch.text.quoting import as_name
from yaadwatch.workspace.workspace import Call, Space

NEW: Final = "new"
SAME: Final = "same"
REFINES: Final = "refines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A statement as given; `folder` is where its relative paths start.

    A draft that `has_id` is never merged with a memory that says the same. `key`: the key of the
    statement; `expected_version`: the version of the memory under that key, any when None.
    `session`: the id of its session, if any. `cleaned`: the result of `clean(text)`, where it is
    known already. `stays`: it is no rule for other agents, so a new memory of it is not hot.
    `from_git`: its file came with git, or is older than our watch.
    """

    text: str
    origin: str
    cleaned: Masked | None = None
    kind: str | None = None
    tier: int | None = None
    headings: tuple[str, ...] = ()
    folder: str = ""
    key: str | None = None
    expected_version: int | None = None
    tags: tuple[str, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    pinned: bool = False
    baseline: bool = False
    stays: bool = False
    from_git: bool = False
    has_id: bool = False
    session: str | None = None

    @property
    def is_in_file(self) -> bool:
        """Return whether a person's file states it: the file decides on which branches it holds."""
        return self.origin.startswith("file:")

    @property
    def is_stated(self) -> bool:
        """Return whether a caller states it now, in its own name."""
        return not (self.baseline or self.has_id or self.is_in_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A missing file, definition or target that a text names, and the nearest name that exists.

    `kind`: 'file', 'definition' or 'target' (of make, npm, just, ...).
    """

    name: str
    kind: str
    nearest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A prepared draft: all that can be decided without the store; `scope`: whose store.

    `where`: the commits and checkouts it is learned at; empty for what holds everywhere.
    `entities`: packages, addresses and ports that it names. `view`: the view in which superseding
    memories count. `missing`: files and definitions that the text names, and that do not exist.
    """

    draft: Draft
    scope: str
    text: str
    text_hash: str
    masked: tuple[str, ...]
    kind: str
    tier: int
    why: str
    anchors: tuple[Anchor, ...]
    entities: tuple[str, ...]
    where: Where = NOWHERE
    view: View | None = None
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The outcome of a draft; `decision` is 'new', 'same' or 'refines'.

    `before`: the memory before it was reworded. `has_conflict`: another memory makes a conflicting
    claim, or one of the two supersedes the other. `flagged`: flagged memories about the same.
    `missing`: files and definitions that the text names, and that do not exist. `alike`: living
    memories with the same anchors, in nearly the same words.
    """

    node: Node
    anchors: tuple[Anchor, ...]
    masked: tuple[str, ...]
    decision: str
    why: str
    before: Node | None = None
    has_conflict: bool = False
    flagged: tuple[Overlap, ...] = ()
    alike: tuple[Node, ...] = ()
    missing: tuple[Missing, ...] = ()


def clean(raw: str) -> Masked:
    """Return a text in its stored form.

    Raises:
        YaadError: BAD_REQUEST when nothing in it is visible, TOO_LARGE.
    """
    if all(one.isspace() or unicodedata.category(one) == "Cf" for one in raw):
        raise YaadError(
            Code.BAD_REQUEST, "The text is empty; nothing was stored.", hint="Say what to remember."
        )
    if len(raw) > TEXT_CHARS_MAX:
        raise YaadError(
            Code.TOO_LARGE,
            f"The text has {len(raw)} characters, more than {TEXT_CHARS_MAX}; nothing was stored.",
            hint="Put it into a file of the project, and remember in a sentence where it is.",
        )
    return privacy.kept(raw)


def clean_attributes(given: Mapping[str, object], bytes_max: int) -> dict[str, object]:
    """Return the attributes that a caller gives, masked.

    Raises:
        YaadError: TOO_LARGE.
    """
    masked = privacy.mask_tree(dict(given))
    size = len(json.dumps(masked, ensure_ascii=False).encode("utf-8", "replace")) if masked else 0
    if size > bytes_max:
        raise YaadError(
            Code.TOO_LARGE,
            f"The attributes have {size} bytes, more than {bytes_max}; nothing was changed.",
            hint="Keep the long part in a memory, and link that.",
        )
    return masked


def merged(known: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Return a memory's attributes updated with the given ones; null removes one."""
    both = dict(known) | dict(given)
    return {name: value for name, value in both.items() if value is not None}


def refuse_secret(what: str, given: str, *, hint: str) -> None:
    """Refuse a secret as a name: a masked name could not be looked up.

    Raises:
        YaadError: BAD_REQUEST.
    """
    if privacy.mask(given).kinds:
        raise YaadError(
            Code.BAD_REQUEST, f"The {what} looks like a secret; nothing was stored.", hint=hint
        )


@lru_cache(maxsize=64)  # of a thousand memories there are a few
def clean_kind(given: str) -> str:
    """Return a kind in its stored form; it is looked up by name, so it cannot be masked.

    Raises:
        YaadError: BAD_REQUEST when it looks like a secret, or is kept for something else.
        ValueError: it is no kind.
    """
    kind = canonical_kind(given)
    refuse_secret("kind", given, hint="Leave the kind out, and it is chosen from the text.")
    if kind in NOT_GIVEN:
        raise YaadError(
            Code.BAD_REQUEST,
            f"The kind {kind} is kept for {NOT_GIVEN[kind]}; nothing was stored.",
            hint="Leave the kind out, and it is chosen from the text.",
        )
    return kind


def clean_key(given: str) -> str:
    """Return a key in its stored form: it is looked up, so it cannot be masked.

    Raises:
        YaadError: BAD_REQUEST when it looks like a secret, or like no key.
    """
    refuse_secret("key", given, hint="Give it a name that may be seen.")
    try:
        return canonical_key(given)
    except ValueError as error:
        raise YaadError(Code.BAD_REQUEST, f"{error}; nothing was stored.") from error


def folder_of(call: Call, space: Space) -> str:
    """Return the folder of a call, relative to the top of the work tree."""
    if call.folder == space.root:  # which is what its links lead to
        return ""
    here = call.folder.resolve()
    return here.relative_to(space.root).as_posix() if here.is_relative_to(space.root) else ""


def linked_tree(call: Call, space: Space, said: str, files: Sequence[str]) -> Path | None:
    """Return the linked work tree that a statement is about, though the call is made elsewhere.

    It is the only one with all of the files that the statement names and `space` does not have.

    Args:
        call: where the statement comes from.
        space: the work tree of the call.
        said: the statement.
        files: what the caller says that it rests on.
    """
    if not layout.has_linked(space.repository.layout):
        return None
    trees = [tree.root for tree in layout.worktrees(space.repository.layout)]
    others = [root for root in trees if root is not None and root != space.root]
    if not others:
        return None
    outside = {str(Path(file).resolve().parent) for file in files if file.startswith("/")}
    named = [root for root in others if any(Path(one).is_relative_to(root) for one in outside)]
    if named:
        return max(named, key=lambda root: len(root.parts))
    here = folder_of(call, space)
    missing = [path for path in mentions(said).paths if _is_missing(path, here, space)]
    having = [
        root for root in others if missing and all((root / path).is_file() for path in missing)
    ]
    return having[0] if len(having) == 1 else None


def _is_missing(path: str, here: str, space: Space) -> bool:
    """Return whether a text names a file by a path that a work tree does not have."""
    place = path.removeprefix("./")
    if place.startswith("/") or ".." in place.split("/") or not Path(place).suffix:
        return False
    if any(os.path.lexists(space.root / start / place) for start in ("", here)):
        return False
    return not space.repository.tracked_where(lambda one: f"/{one}".endswith(f"/{place}"))


def file_of(given: str, here: str, space: Space) -> str:
    """Return a path that the caller gave, relative to the top of the work tree.

    Raises:
        YaadError: NOT_FOUND; it leads out of the work tree.
    """
    place = place_of(given, here, space)
    if place is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"{given} is outside of {space.root}; nothing was stored.",
            hint="A memory can rest on files of its own work tree only.",
        )
    return place


def place_of(given: str, here: str, space: Space) -> str | None:
    """Return a path relative to the top of the work tree; None when it leads out of that.

    A relative path starts in the folder `here`, or at the top if it exists only there.
    """
    top = str(space.root)
    if given.startswith("/"):
        # The links above the file are followed, as those above the work tree were.
        folder, name = os.path.split(given)
        places = [os.path.relpath(f"{Path(folder).resolve()}/{name}", top)]
    else:
        places = [os.path.normpath(f"{start}/{given}") for start in (here or ".", ".")]
    inside = [place for place in places if place != ".." and not place.startswith("../")]
    if not inside:
        return None
    # The disk may compose accents differently.
    spelled = [
        place if place.isascii() else files.spelled(space.root, place) or place for place in inside
    ]
    there = (place for place in spelled if os.path.lexists(f"{top}/{place}"))
    place = next(there, spelled[-1])
    # A link at the end stays: a memory rests on a file, and a link is none.
    folder, name = os.path.split(place)
    real = os.path.realpath(f"{top}/{folder}")
    if not folder or not f"{real}/".startswith(f"{top}/"):
        return place
    return f"{real[len(top) :]}/{name}".removeprefix("/")


_NEAR: Final = 0.75
"""How alike two names must be, 0..1."""


def missing(draft: Draft, found: Sequence[Anchor], tree: WorkTree) -> tuple[Missing, ...]:
    """Return the missing files, definitions and targets that a text names, a few at most.

    A definition counts where its file, or its type, exists and defines a similar name; without a
    file, where exactly one defined name of the project is one or two typing errors away. A target
    counts where its build file defines one spelled alike.
    """
    spoken = mentions(draft.text)
    listing = tree.listing()
    lost: list[Missing] = []
    # Each is compared with every name of the project: a text may be a list of files of another.
    for place in islice(_not_found(draft, spoken.paths, found, tree), 8):
        if there := listing.named(place.rpartition("/")[2]):
            # It may be in another folder; only a folder that is spelled alike is a typing error.
            near = difflib.get_close_matches(place, there, 1, 0.85) if "/" in place else []
            lost += [Missing(name=place, kind="file", nearest=one) for one in near]
            continue
        nearest = nearest_file(place, tree)
        language = language_of(place)
        is_source = language is not None and not language.is_settings
        is_in_tree = listing.has_folder(place.partition("/")[0])
        if nearest or ("/" in place and (is_source or is_in_tree)):
            lost.append(Missing(name=place, kind="file", nearest=nearest))
    anchored = {last_part(one.name) for one in found if one.name}
    for symbol in islice((one for one in spoken.symbols if last_part(one) not in anchored), 8):
        nearest = nearest_definition(symbol, found, (), tree) or _nearest_anywhere(symbol, tree)
        if nearest:
            lost.append(Missing(name=symbol, kind="definition", nearest=nearest))
    lost += _misspelt_targets(draft, spoken.commands, tree)
    return tuple(lost[:5])


def _not_found(
    draft: Draft, paths: Iterable[str], found: Sequence[Anchor], tree: WorkTree
) -> Iterator[str]:
    """Yield the paths that are names of files, and of none in the work tree."""
    listing = tree.listing()
    for path in paths:
        is_placeholder = not {"<", "{"}.isdisjoint(path)
        if (
            is_placeholder
            or not _is_file_name(path)
            or listing.match(path, folder=draft.folder) is not None
        ):
            continue
        place = path.removeprefix("./")
        if any(f"/{anchor.path}".endswith(f"/{place}") for anchor in found):
            continue  # git does not track it yet
        if any(f"/{anchor.symbol}".endswith(f"/{place}") for anchor in found if "*" in place):
            continue  # files match it
        if tree.find(place) is None and not listing.names_folder(path):
            yield place


def _misspelt_targets(
    draft: Draft, commands: Iterable[Command], tree: WorkTree
) -> Iterator[Missing]:
    listing = tree.listing()
    for command in islice((one for one in commands if one.only_target), 8):
        paths = targets.build_files(command.tool, draft.folder, listing)
        texts = {path: (tree.read(path) or b"").decode("utf-8", "replace") for path in paths}
        if any(targets.defines_target(*file, command.target) for file in texts.items()):
            continue
        near = (targets.nearest_target(*file, command.target) for file in texts.items())
        if nearest := next(filter(None, near), ""):
            yield Missing(name=command.target, kind="target", nearest=nearest)


def nearest_file(path: str, tree: WorkTree) -> str:
    """Return the existing path most similar to a missing one; '' for none."""
    folder, _, name = path.rpartition("/")
    best, score = "", _NEAR
    matcher = difflib.SequenceMatcher(b=name)
    for other in islice(tree.listing().every(), 200_000):
        its_folder, _, its_name = other.rpartition("/")
        if abs(len(its_name) - len(name)) > 3 or its_name[:1] != name[:1]:
            continue
        matcher.set_seq1(its_name)
        likeness = matcher.ratio() if matcher.quick_ratio() >= _NEAR else 0.0
        if likeness >= _NEAR:
            likeness += 0.1 * difflib.SequenceMatcher(None, folder, its_folder).ratio()
        if likeness > score:
            best, score = other, likeness
    return best


def nearest_definition(
    symbol: str, found: Sequence[Anchor], files: Iterable[str], tree: WorkTree
) -> str:
    """Return the definition most similar to a missing one; '' for none.

    Searches the files of the text, else the file that defines the type before it.
    """
    paths = [anchor.path for anchor in found if file_state.is_code(anchor.path)]
    paths = list(dict.fromkeys((*files, *paths)))
    scopes = parts_of(symbol)[:-1]
    if not paths and scopes and scopes[-1]:
        files_by_word = tree.files_by_word([scopes[-1]]).get(scopes[-1], ())
        paths = [path for path in files_by_word if file_state.is_code(path)]
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
    near = difflib.get_close_matches(last, map(last_part, names), 1, _NEAR)
    return next((name for name in names if near and last_part(name) == near[0]), "")


def _nearest_anywhere(symbol: str, tree: WorkTree) -> str:
    """Return the one defined name of a project close to a name that no file has; '' else."""
    name = symbol.removesuffix("()")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{4,59}", name) or tree.files_by_word([name])[name]:
        return ""
    try:
        alike = tree.space.repository.names_like(name)
    except YaadError:  # no answer in time, or too long a one: a hint less
        return ""
    # One typing error, or two in a long name.
    near = difflib.get_close_matches(name, alike, 9, max(0.8, 1 - 2 / len(name)))
    files_by_word = tree.files_by_word(near) if 0 < len(near) < 9 else {}
    defined = [
        one
        for one, paths in files_by_word.items()
        if any(
            file_state.define_in(tree, path, one)
            for path in islice(filter(file_state.is_code, paths), 8)
        )
    ]
    return defined[0] if len(defined) == 1 else ""


def _is_file_name(path: str) -> bool:
    """Return whether a mention is a file name: `src/a.py`, and not `and/or` or `e.g`."""
    name = path.rpartition("/")[2]
    stem, point, suffix = name.rpartition(".")
    return bool(stem and point and suffix.isalnum() and not suffix.isdecimal()) and (
        "/" in path or file_state.is_code(path)
    )


_PARENTS: Final = frozenset(
    {"packages", "apps", "services", "libs", "modules", "crates", "plugins", "projects", "clients"}
)
"""Folders whose subfolders are packages."""
_MANIFESTS: Final = (
    *("package.json", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod", "pom.xml"),
    *("build.gradle", "build.gradle.kts", "composer.json", "Gemfile", "mix.exs", "pubspec.yaml"),
)


def package_of(root: Path, folder: str) -> str:
    """Return the outermost package that a folder is in; '' when it is in none.

    Args:
        root: the work tree.
        folder: relative to it, with '/'.
    """
    parts = folder.split("/") if folder else []
    for count in range(1, len(parts) + 1):
        place = "/".join(parts[:count])
        is_listed = count > 1 and parts[count - 2] in _PARENTS
        if is_listed or any(os.path.lexists(root / place / name) for name in _MANIFESTS):
            return place
    return ""


def in_package(node: Node, words: str) -> str:
    """Return words of a memory, with the package that it was stated in, if any."""
    package = node.attributes.get(HOLDS_IN)
    return f"In {as_name(package)}: {words}" if isinstance(package, str) and package else words


def other_packages(conn: Connection, memories: Iterable[Node], folder: str) -> set[str]:
    """Return the memories that are rules of other folders than the caller's.

    Args:
        conn: a snapshot of their store.
        memories: the memories.
        folder: where the caller works, relative to the work tree; '' at its top, where all apply.
    """
    if not folder:
        return set()
    apart = {
        node.id
        for node in memories
        if tier_of(node.kind) == HOT and _is_beside(folder_of_claim(node), folder)
    }
    # A sentence that several files say holds for the folders of all of them.
    near = {
        place.node
        for place in history.places_saying(conn, apart)
        if not _is_beside(claim_place(f"file:{place.path}"), folder)
    }
    return apart - near


def _is_beside(one: str, other: str) -> bool:
    one_, other_ = f"{one}/", f"{other}/"
    return bool(one) and not one_.startswith(other_) and not other_.startswith(one_)
