"""Look up a repository's files by path, path suffix, folder and pattern."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

PATTERN_STARS_MAX = 8
"""Stars of a pattern; one with more matches nothing, because each may be tried everywhere."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a repository, indexed by path, path suffix and name."""

    paths: frozenset[str]
    by_name: Mapping[str, Sequence[str]] = field(repr=False)
    folders: Mapping[str, Sequence[str]] = field(repr=False)
    """The last name of each folder, to the folders of that name."""

    @classmethod
    def of(cls, paths: Iterable[str]) -> "Tree":
        """Return the tree of `paths` (relative, '/' separators)."""
        by_name: defaultdict[str, list[str]] = defaultdict(list)
        folders: defaultdict[str, list[str]] = defaultdict(list)
        known: set[str] = {""}
        lately = ""
        ordered = sorted(dict.fromkeys(paths))  # git lists them sorted, which makes this cheap
        for path in ordered:
            folder, _, name = path.rpartition("/")
            by_name[name].append(path)
            if folder == lately:
                continue
            lately = folder
            while folder not in known:
                known.add(folder)
                above, _, last = folder.rpartition("/")
                folders[last].append(folder)
                folder = above
        for found in folders.values():
            found.sort()
        return cls(frozenset(ordered), by_name, folders)

    def __len__(self) -> int:
        return len(self.paths)

    def match(self, mention: str, *, folder: str = "") -> str | None:
        """Return the one file that `mention` means, or None for none or several.

        In this order: relative to `folder` (where the text is), the exact path, the only path with
        this suffix. A bare name must be the only file of that name.
        """
        found = self._match(mention, folder)
        if found is not None or mention.isascii():
            return found
        spelled = self._composed()
        alike = Tree.of(spelled)._match(_nfc(mention), _nfc(folder))
        return spelled.get(alike or "")

    def _match(self, mention: str, folder: str) -> str | None:
        for candidate in (_join(folder, mention), _join("", mention)):
            if candidate and self.has_file(candidate):
                return candidate
        tail = _tail(mention)
        return _only(tail, self.by_name.get(_last(tail), ())) if tail else None

    def _composed(self) -> dict[str, str]:
        """Return the paths with non-ASCII letters, by their composed form (NFC).

        macOS stores accents as separate characters, keyboards type composed ones. Ambiguous paths
        are left out.
        """
        found: dict[str, str] = {}
        twice: set[str] = set()
        for path in self.paths:
            if not path.isascii():
                form = _nfc(path)
                twice |= {form} & found.keys()
                found[form] = path
        return {form: path for form, path in found.items() if form not in twice}

    def names_folder(self, mention: str) -> bool:
        """Return whether a word without slashes is the name of a folder."""
        return "/" not in mention and bool(self.folders.get(mention))

    def match_folder(self, mention: str, *, folder: str = "") -> str | None:
        """Return the one folder that `mention` means, found like a file; None as for a file.

        A bare name means a folder only with a trailing slash, because any word may be a folder
        name.
        """
        if "/" not in mention.strip():
            return None
        found = self._match_folder(mention, folder)
        if found is not None or mention.isascii():
            return found
        spelled = self._composed()
        alike = Tree.of(spelled)._match_folder(_nfc(mention), _nfc(folder))
        inside = (path for form, path in spelled.items() if alike and form.startswith(f"{alike}/"))
        depth = (alike or "").count("/") + 1
        folders = {"/".join(path.split("/")[:depth]) for path in inside}
        return folders.pop() if len(folders) == 1 else None

    def _match_folder(self, mention: str, folder: str) -> str | None:
        for candidate in (_join(folder, mention), _join("", mention)):
            if candidate and self.has_folder(candidate):
                return candidate
        tail = _tail(mention)
        return _only(tail, self.folders.get(_last(tail), ())) if tail else None

    def has_file(self, path: str) -> bool:
        """Return whether there is a file at `path`."""
        return path in self.paths

    def has_folder(self, path: str) -> bool:
        """Return whether the folder `path` contains a file."""
        return path in self.folders.get(_last(path), ())

    def named(self, name: str) -> list[str]:
        """Return the files with a name, fewest folders first, then by path."""
        return self.named_any((name,))

    def named_any(self, names: Iterable[str]) -> list[str]:
        """Return the files that have one of the names, in the order of `named`."""
        found = [path for name in names for path in self.by_name.get(name, ())]
        found.sort(key=lambda path: (path.count("/"), path))
        return found

    def every(self) -> Iterable[str]:
        """Return all files."""
        return self.paths

    def matching(self, pattern: str) -> Iterator[str]:
        """Yield the files that a pattern with stars matches.

        `*` matches part of a name, `**` any folders; a pattern without a slash matches names.
        """
        if pattern.count("*") > PATTERN_STARS_MAX:
            return
        wanted = _compiled(pattern.strip("/"))
        if "/" not in pattern:
            yield from (path for path in self.paths if wanted.fullmatch(_last(path)))
            return
        start = pattern.partition("*")[0]
        yield from (
            path for path in self.paths if path.startswith(start) and wanted.fullmatch(path)
        )

    def is_name(self, word: str) -> bool:
        """Return whether a file or folder has this name, with or without its suffix."""
        every = (self.by_name, self.folders)
        return any(is_called(name, word) for names in every for name in names)


def is_called(name: str, word: str) -> bool:
    """Return whether a word is the name of a file or folder, with or without its suffix."""
    return word == name or (name[:1] != "." and word == name.partition(".")[0])


def is_matched(path: str, glob: str) -> bool:
    """Return whether a path is one of a pattern with `*`, `**`, `?` and `{a,b}`.

    A pattern whose lists stand for more than 64 patterns, or 8,000 characters, matches nothing: a
    repository may bring it.
    """
    found: list[str] = []
    left = [glob]
    while left:
        one = left.pop()
        braces = _BRACES.search(one)
        if braces is None:
            found.append(one)
            continue
        before, after = one[: braces.start()], one[braces.end() :]
        left += [f"{before}{word}{after}" for word in braces[1].split(",")]
        if len(left) + len(found) > 64 or sum(map(len, (*left, *found))) > 8_000:
            return False
    return any(_compiled(one).fullmatch(path) for one in found)


_BRACES = re.compile(r"\{([^{}]*)\}")


def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a matcher for a path pattern that never backtracks; `?` is one letter of a name.

    Text between two stars matches at its first occurrence, and so do folders between two `**`: the
    rest matches no worse for it. That does not hold where `**` is part of a name, so more than two
    stars match nothing there.
    """
    *folders, last = pattern.split("/")
    inside = any("**" in part and part != "**" for part in folders)
    if inside or ("**" in last and len(_STARS.findall(last)) > 1):
        return re.compile(_as_it_is(pattern) if len(_STARS.findall(pattern)) <= 2 else "(?!)")
    runs: list[list[str]] = [[]]
    for part in folders:
        if part == "**":
            runs.append([])
        else:
            runs[-1].append(part)
    heads = ["".join(f"{_in_name(part)}/" for part in run) for run in runs]
    parts = [heads[0], *(f"(?>{_FOLDER}*?{head})" for head in heads[1:-1] if head)]
    if len(runs) > 1:
        parts += [f"{_FOLDER}*", heads[-1]]
    return re.compile("".join([*parts, _in_name(last)]))


_STARS = re.compile(r"\*+")
_FOLDER = "(?:[^/]*+/)"


def _in_name(part: str) -> str:
    """Return the expression for a pattern part between slashes."""
    if "**" in part:
        return _STARS.sub(".*", re.sub(r"[^*]+", lambda found: re.escape(found[0]), part))
    first, *more = (re.escape(one).replace(r"\?", "[^/]") for one in part.split("*"))
    if not more:
        return first
    return "".join([first, *(f"(?>[^/]*?{one})" for one in more[:-1]), "[^/]*", more[-1]])


def _as_it_is(pattern: str) -> str:
    parts = []
    for piece in re.split(r"(\*\*/|\*+)", pattern):
        if piece == "**/":
            parts.append("(?:.*/)?")
        elif piece.startswith("**"):
            parts.append(".*")
        elif piece == "*":
            parts.append("[^/]*")
        else:
            parts.append(re.escape(piece))
    return "".join(parts)


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _tail(mention: str) -> str:
    """Return the suffix of the paths that a mention may mean; '' when none can match."""
    if mention.startswith("../"):
        return ""
    return "/".join(part for part in mention.split("/") if part not in ("", "."))


def _only(tail: str, same_name: Iterable[str]) -> str | None:
    """Return the only path that ends with `tail`."""
    ending = (path for path in same_name if path == tail or path.endswith("/" + tail))
    found: Sequence[str] = list(islice(ending, 2))
    return found[0] if len(found) == 1 else None


def _join(folder: str, mention: str) -> str | None:
    """Return `mention` relative to `folder`, without '.' and '..'; None outside the tree."""
    parts: list[str] = []
    for part in [*folder.split("/"), *mention.split("/")]:
        if part in ("", "."):
            continue
        if part == "..":
            if not parts:
                return None
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts) or None
