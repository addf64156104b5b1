"""Find and read the agent files of a work tree: their names, formats, includes and state.

Each real file is listed once, whatever links and includes lead to it. A file that cannot be
synchronised is listed with the reason.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

from bridges import rules
from bridges.reading import imports, parse_part
from bridges.registry import bridges, for_path, listed
from bridges.rules import Bridge, Document
from yaadwatch.db import projects
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import INLINE
from yaadwatch.model.projects import AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.repo.repository import Repository
from yaadwatch.system import files
from yaadwatch.text.words import cached
from yaadwatch.workspace.workspace import Home, Space

FILES_MAX: Final = 200
"""Most files for one pattern; a folder with more does not hold rules."""
IMPORTS_DEEP_MAX: Final = 4
"""Most levels of includes, as in Claude Code."""
CONVENTIONS: Final = "conventions"
"""The name of the format for files set by the person."""
IMPORTED: Final = Bridge(name="imported", paths=("**/*.md",), parse=parse_part, block=False)
"""The format of a file that an agent file includes."""
NO_FILE: Final = "is not a regular file"

VENDORED: Final = frozenset(
    {
        *("node_modules", "bower_components", "vendor", "third_party", "third-party"),
        *("Pods", "site-packages", ".venv", "venv", ".yaad"),
    }
)
"""Folders of dependencies, whose agent files are not about this project."""

TEXTS: Final = frozenset({"", ".md", ".mdc", ".mdx", ".markdown", ".txt"})
"""Includes with other endings are data, such as package.json, and make no statements."""
IMPORTERS: Final = frozenset({"claude", "claude-local", "gemini"})
"""Formats in which '@path' includes a file. Many readers of AGENTS.md do not support it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """An agent file, or the name of a missing one.

    Args:
        path: its path relative to the work tree, links resolved.
        name: the name it was found by.
        bridge: its format.
        reason: why it is paused; '' when it is not.
        here: whether it is at the top of the project, so that it holds for the whole project.
    """

    path: str
    name: str
    bridge: Bridge
    reason: str = ""
    here: bool = True

    @property
    def may_have_block(self) -> bool:
        """Whether our block may be written into it."""
        return self.here and self.bridge.block


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The agent files of a work tree.

    Args:
        files: by the path of each.
        also: further names of listed files: the name, its format, and the path of the file.
        taken_in: the files that a file includes with '@', recursively.
        sought: the signs of the formats searched for; see `sign`.
    """

    files: Mapping[str, FoundFile]
    also: tuple[tuple[str, Bridge, str], ...] = ()
    taken_in: Mapping[str, frozenset[str]] = field(default_factory=dict)
    sought: frozenset[str] = frozenset()

    def formats(self, root: Path) -> dict[str, frozenset[str]]:
        """Return the formats of each readable file at the top of the project, by path."""
        known: dict[str, set[str]] = {
            path: {found.bridge.name}
            for path, found in self.files.items()
            if found.here and not found.reason and os.path.lexists(root / path)
        }
        for _, bridge, path in self.also:
            if path in known:
                known[path].add(bridge.name)
        return {path: frozenset(names) for path, names in known.items()}


class Formats:
    """The formats of agent files to look for, and the places of such files.

    Args:
        known: the formats.
    """

    def __init__(self, known: Sequence[Bridge]) -> None:
        self.known = tuple(known)
        paths = [path for bridge in known for path in bridge.paths]
        patterns = [path for path in paths if "*" in path]
        self.names: Final = frozenset(path for path in paths if "*" not in path)
        """Exact names at the top of a project."""
        self.folders: Final = frozenset(
            pattern.partition("*")[0].rpartition("/")[0] for pattern in patterns
        )
        """Folders in which every file may be an agent file."""
        self.places: Final = (
            self.names | rules.RULES_FILES | {f"{folder}/*".lstrip("/") for folder in self.folders}
        )
        """Where agent files, and our own, may come up: names, and folders with '/*' behind."""
        # Endings of agent file paths: a quick test that rejects most files.
        self._ends = tuple({path.rpartition("*")[2] for path in paths})

    def is_one(self, path: str) -> bool:
        """Return whether `path` is one of `places`, or a file there would be an agent file."""
        return path in self.places or (
            path.endswith(self._ends)
            and any(bridge.is_at(path) or bridge.is_below(path) for bridge in self.known)
        )

    def is_at_top(self, path: str) -> bool:
        """Return whether a file at `path` would be an agent file for the whole project."""
        return any(bridge.is_at(path) for bridge in self.known)

    def is_below(self, path: str) -> bool:
        """Return whether a file at `path` would be an agent file of a folder further down."""
        return path.endswith(self._ends) and any(bridge.is_below(path) for bridge in self.known)

    def among(self, paths: Iterable[str]) -> list[str]:
        """Return which of a project's files are agent files written by a person, in their order."""
        return [
            path
            for path in paths
            if self.is_one(path)
            and path not in rules.RULES_FILES
            and VENDORED.isdisjoint(path.split("/"))
            # Installed skills, as in `.agents/skills/`, which others wrote.
            and re.search(r"(?:^|/)\.[^/]+/skills/", path) is None
        ]

    def of(self, path: str) -> Bridge | None:
        """Return the format of the file at `path`, or None."""
        return for_path(path, more=self.known)

    def find(self, root: Path, below: Iterable[str] = ()) -> Fleet:
        """Return the agent files of a work tree.

        Args:
            root: the work tree.
            below: files in folders further down according to git: all, or those with matching
                names.
        """
        search = _Search(root, self)
        for bridge in self.known:
            for pattern in bridge.paths:
                for name in _named(root, bridge, pattern):
                    search.take(name, bridge)
        for path in self.among(below):
            search.take_below(path)
        search.follow_imports()
        return Fleet(
            files=search.files,
            also=tuple(search.also),
            taken_in={path: frozenset(found) for path, found in search.taken_in.items()},
            sought=frozenset(map(sign, (*self.known, IMPORTED))),
        )


def personal(repository: Repository, fleet: Fleet) -> frozenset[str]:
    """Return the agent files of one person: ignored by git, or marked unchanged in its index.

    Also a `CLAUDE.local.md` that git does not track. Any other new file is meant to be committed.

    Raises:
        YaadError: from git.
    """
    ignored = repository.others(fleet.files, ignored=True)
    overlooked = fleet.files.keys() & repository.left_out().overlooked
    # The formats of one person's files, whether or not git ignores them.
    own = {path for path, found in fleet.files.items() if found.bridge.name == "claude-local"}
    return (
        ignored | overlooked | {path for path in own - ignored if not repository.is_tracked(path)}
    )


def unshared_reason(repository: Repository, file: FoundFile) -> str:
    """Return why the lines of a `personal` file are not copied to shared files.

    Raises:
        YaadError: from git.
    """
    if file.path in repository.left_out().overlooked:
        return "git is set to overlook changes of its file, so it is for you alone"
    return "git does not share its file, so it is for you alone"


def is_skipped_folder(name: str) -> bool:
    """Return whether a folder of this name belongs to dependencies or a tool."""
    return name in VENDORED or name.startswith(".")


def sign(bridge: Bridge) -> str:
    """Return a key that identifies a format with its paths."""
    return " ".join((bridge.name, *bridge.paths))


@lru_cache(maxsize=8)
def formats(also: tuple[str, ...] = ()) -> Formats:
    """Return the formats that are looked for.

    Args:
        also: further patterns set by the person.

    Raises:
        YaadError: BAD_REQUEST when one of them is not a valid pattern.
    """
    if not also:
        return Formats(bridges())
    try:
        return Formats((*bridges(), listed(also)))
    except ValueError as error:
        raise YaadError(
            Code.BAD_REQUEST,
            f"agent_files.also: {error}; it was not used.",
            hint="Change it in the settings: paths in a project, such as CONVENTIONS.md",
        ) from error


@dataclass(slots=True)
class _Search:
    root: Path
    formats: Formats
    files: dict[str, FoundFile] = field(default_factory=dict)
    also: list[tuple[str, Bridge, str]] = field(default_factory=list)
    taken_in: dict[str, set[str]] = field(default_factory=dict)

    def take(self, name: str, bridge: Bridge, *, here: bool = True) -> None:
        """Add the file of a name, unless it was added under another name."""
        if name in rules.RULES_FILES:
            return
        if self._holds_rules(name) and (self.root / name).is_dir():
            return  # the folder of that name is another format
        path, reason = target(self.root, name)
        if path is None:
            if name not in self.files:
                self.files[name] = FoundFile(
                    path=name, name=name, bridge=bridge, reason=reason, here=here
                )
        elif path in self.files:
            if self.files[path].name != name:
                self.also.append((name, bridge, path))
        elif (included := self._stub(path, here=here)) is not None:
            self.also.append((name, bridge, included))
        else:
            self.files[path] = FoundFile(path=path, name=name, bridge=bridge, here=here)

    def take_below(self, path: str) -> None:
        """Add a file of a folder further down."""
        bridge = self.formats.of(path)
        if len(self.files) >= FILES_MAX or path in self.files or bridge is None:
            return
        if os.path.lexists(self.root / path) and not bridge.is_at(path):
            self.take(path, bridge, here=False)

    def follow_imports(self) -> None:
        """Add the files that others include with '@', recursively."""
        for path, found in list(self.files.items()):
            if found.bridge.name in IMPORTERS and not found.reason:
                self.taken_in[path] = set()
                self._follow(path, path, found.here, IMPORTS_DEEP_MAX)

    def _follow(self, first: str, path: str, here: bool, deep: int) -> None:
        seen = files.observe(self.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
        if deep == 0 or seen.data is None or b"@" not in seen.data:
            return
        for named in imported(seen.data):
            place = place_of(path, named)
            inside, _ = target(self.root, place) if place is not None else (None, "")
            if place is None or inside is None:
                continue
            if inside == first or inside in self.taken_in[first]:
                continue
            is_text = may_be_imported(inside) and (self.root / inside).is_file()
            if len(self.files) >= FILES_MAX or not is_text:
                continue
            self.taken_in[first].add(inside)
            if inside not in self.files:
                self.files[inside] = FoundFile(path=inside, name=place, bridge=IMPORTED, here=here)
            self._follow(first, inside, here, deep - 1)

    def _holds_rules(self, name: str) -> bool:
        return any(f"{folder}/".startswith(f"{name}/") for folder in self.formats.folders)

    def _stub(self, path: str, *, here: bool) -> str | None:
        """Return the file that a stub, which only includes it, stands for."""
        seen = files.observe(self.root, path, bytes_max=256, now_ns=0)
        found = re.fullmatch(rb"\s*@(?:\./)?(?P<path>[\w./-]+)\s*", seen.data or b"")
        if found is None:
            return None
        folder = PurePosixPath(path).parent
        included = os.path.normpath(folder / found["path"].decode())
        if included == path or included.startswith("../"):
            return None
        # A file at the top that includes a file further down is still the file its agent reads.
        is_one = self.formats.is_one if not here else self.formats.is_at_top
        return included if is_one(included) else None


@cached(64)
def imported(data: bytes) -> tuple[str, ...]:
    """Return the paths that a file's bytes include; see `bridges.reading`."""
    return imports(data)


def place_of(path: str, named: str) -> str | None:
    """Return the file that `@named` in the file at `path` means; None outside the work tree."""
    place = os.path.normpath(PurePosixPath(path).parent / named)
    return None if place.startswith("../") or place in ("..", ".") else place


def may_be_imported(path: str) -> bool:
    """Return whether a file may make statements for a file that includes it."""
    return (
        path not in rules.RULES_FILES
        and ".git" not in path.split("/")
        and PurePosixPath(path).suffix in TEXTS
    )


def target(root: Path, name: str) -> tuple[str | None, str]:
    """Return the file a name leads to, relative to `root`; else None and the reason."""
    path = root / name
    if not os.path.lexists(path):
        return None, ""
    if not path.is_symlink():
        return _as_listed(path, name), ""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return None, "is a link to nothing"
    if not real.is_relative_to(root) or ".git" in real.relative_to(root).parts:
        return None, "is a link out of the repository; it was not read"
    if not _is_utf8(real.relative_to(root).as_posix()):
        return None, "is a link to a name that is no UTF-8 text; it was not read"
    return _as_listed(real, real.relative_to(root).as_posix()), ""


def _as_listed(path: Path, name: str) -> str:
    """Return a name in the spelling of its folder listing: two spellings may be one file."""
    try:
        listed = [one.name for one in path.parent.iterdir()]
    except OSError:
        return name
    return spelled(name, listed)


def spelled(name: str, listed: Collection[str]) -> str:
    """Return `name` with its last part in the spelling of its folder listing.

    A case-insensitive file system finds a file under other spellings too.
    """
    folder, slash, last = name.rpartition("/")
    if last in listed:
        return name
    alike = sorted(one for one in listed if one.casefold() == last.casefold())
    return folder + slash + alike[0] if alike else name


def spelled_otherwise(root: Path, path: str) -> str:
    """Return the name of a file that differs from a missing one only by case; '' for none.

    On a case-insensitive file system there is none.
    """
    try:
        listed = [one.name for one in (root / path).parent.iterdir()]
    except OSError:
        return ""
    found = spelled(path, listed)
    return found if found != path else ""


def _named(root: Path, bridge: Bridge, pattern: str) -> Iterator[str]:
    """Yield the files that match a pattern of a format, sorted by name.

    No link is followed. A pattern without '*' yields its name even when the file is missing.
    """
    start, star, rest = pattern.partition("*")
    if not star:
        yield pattern
        return
    folder = start.rpartition("/")[0]
    if any((root / above).is_symlink() for above in (folder, *_above(folder))):
        return
    # Most folders that '**/' matches.
    deep = 4 if rest.startswith("*") else 0
    # An agent looks into every folder of its own; a person's pattern may begin at the top.
    passed = VENDORED | {".git"} if bridge.name == CONVENTIONS else frozenset()
    there = (path for path in _walk(root, folder, deep, passed) if bridge.is_at(path))
    yield from islice(there, FILES_MAX)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _walk(root: Path, folder: str, deep: int, passed: Collection[str]) -> Iterator[str]:
    try:
        with os.scandir(root / folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in listed:
        path = f"{folder}/{entry.name}" if folder else entry.name
        if not _is_utf8(entry.name):
            continue  # no store and no answer can hold such a name
        if not entry.is_dir(follow_symlinks=False):
            yield path
        elif deep > 0 and entry.name not in passed:
            yield from _walk(root, path, deep - 1, passed)


NO_BLOCK: Final = "no block of ours is committed on this branch, so none is written"
FILTERED: Final = "git filters it, so no block is written"
POINTER: Final = "only its pointer of Git LFS is here (git lfs pull); nothing was read or written"


ODD = {
    "too_large": "is larger than 256 KiB; it was not read",
    "unreadable": "cannot be read by this user",
    "link": "is reached through a link; it was not read",
    "other": NO_FILE,
}


def fleet(home: Home, space: Space, *, thorough: bool = False) -> Fleet:
    """Return the agent files of a work tree; see `Formats.find`.

    Args:
        home: the workspace.
        space: the work tree.
        thorough: search all folders for files that git does not track.

    Raises:
        YaadError: from git or the store.
    """
    wanted = known_formats(home)
    listed = home.below.names(
        space.repository, wanted.is_below, passed=VENDORED.__contains__, thorough=thorough
    )
    rows = space.db.read(projects.agent_files_of_worktree, space.worktree.id)
    return wanted.find(space.root, dict.fromkeys((*listed, *filter(wanted.is_below, rows))))


def known_formats(home: Home) -> Formats:
    """Return the formats of agent files to look for, with the person's own patterns."""
    return formats(home.settings.agent_files.also)


@cached(FILES_MAX)
def parsed(bridge: Bridge, data: bytes) -> Document:
    """Return the statements in an agent file's bytes outside the block."""
    return bridge.parse(data)


def is_refused(row: AgentFileRow) -> bool:
    """Return whether a file should have a block and has none on this branch."""
    return row.mode == INLINE and row.reason.startswith((NO_BLOCK, FILTERED, POINTER))
