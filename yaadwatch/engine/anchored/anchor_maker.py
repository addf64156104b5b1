"""Make anchors of what a text names, as one view of the files shows it."""

from collections import Counter
from collections.abc import Iterable, Sequence

from yaadwatch.core.references import values
from yaadwatch.core.truth.hunks import last_part
from yaadwatch.engine.anchored import file_state
from yaadwatch.engine.anchored.commit_range import is_only_ours
from yaadwatch.engine.anchored.worktree import View, WorkTree
from yaadwatch.model.anchors import Anchor, Method
from yaadwatch.model.settings import SYMBOL_FILES_MAX, WORD_FILES_MAX

_TESTS = ("test", "spec", "example", "fixture", "vendor", "third_party", "node_modules")


def path_word(path: str) -> str:
    """Return the word by which other files speak of a file or folder: its name."""
    return path.rpartition("/")[2]


class Maker:
    """Makes anchors from what one view shows."""

    def __init__(self, view: View, commit: str) -> None:
        self.view = view
        # In a work tree that would be a look at each file for a statement that names but one. Where
        # a file, or what it defines, is named is counted in the commit once it matters
        # (`Window.spread`).
        self.counts_names = not isinstance(view, WorkTree)
        self.standing: dict[str, Sequence[str]] = {}
        self._commit = commit
        self._homes: dict[str, str | None] = {}
        self._defined: dict[tuple[str, str, str], Anchor | None] = {}
        self._places: dict[tuple[str, str], tuple[Method, str, int] | None] = {}
        self._versions: list[str] | None = None

    def search(self, words: list[str]) -> None:
        """Find out in which files words stand; those that this program writes do not count."""
        standing = self.view.standing(words)
        self.standing = {
            word: [path for path in paths if not is_only_ours(word, path, self.view.read)]
            for word, paths in standing.items()
        }

    def file(self, path: str, trust: str) -> Anchor | None:
        """Return the anchor on a file; None when it is not there.

        One that is too large to be read is anchored without its blob: it can still go, or move.
        """
        found = self.view.find(path)
        if found is None or found.kind not in ("file", "too_large"):
            return None
        spread = self.spread_of(path_word(path))
        return self.anchor(path, Method.FILE, blob=found.blob, trust=trust, spread=spread)

    def definition(self, path: str, symbol: str, trust: str) -> Anchor | None:
        """Return the anchor on a definition in a file; None when it is not there."""
        key = (path, symbol, trust)
        if key not in self._defined:  # many texts of a batch name the same
            self._defined[key] = self._define(*key)
        return self._defined[key]

    def _define(self, path: str, symbol: str, trust: str) -> Anchor | None:
        found = self.view.find(path)
        if found is None or found.kind != "file":
            return None
        defined = self._place(path, symbol)
        if defined is None:
            return None
        method, fingerprint, line = defined
        return self.anchor(
            path,
            method,
            symbol=symbol,
            blob=found.blob,
            fingerprint=fingerprint,
            line=line,
            trust=trust,
            spread=self.spread_of(last_part(symbol)),
        )

    def anchor(
        self,
        path: str,
        method: Method,
        *,
        symbol: str = "",
        blob: str | None = None,
        fingerprint: str = "",
        line: int | None = None,
        trust: str = "text",
        spread: int = 0,
    ) -> Anchor:
        """Return an anchor of this view; the blob is that of the file at `path`."""
        if blob is None:
            found = self.view.find(path) if method not in (Method.FOLDER, Method.GLOB) else None
            blob = found.blob if found is not None else ""
        return Anchor(
            node="",
            path=path,
            symbol=symbol,
            commit=self._commit,
            blob=blob,
            method=method,
            fingerprint=fingerprint,
            line=line,
            trust=trust,
            spread=spread,
        )

    def spread(self, word: str) -> int:
        """Return in how many files a word stands."""
        return len(self.standing.get(word, ()))

    def spread_of(self, name: str) -> int:
        """Return in how many files the name of what is anchored stands; 0 when not counted."""
        return self.spread(name) if self.counts_names else 0

    def text(self, path: str) -> str:
        """Return what a file says; '' when it cannot be read."""
        return (self.view.read(path) or b"").decode("utf-8", "replace")

    def version_home(self, stated: values.Version, folder: str) -> str | None:
        """Return the file that says that a version is used; None when there is none, or several.

        The text speaks of its own folder, then of those above it. Of several packages elsewhere
        that use the thing it does not say which is meant.
        """
        above, beyond = self._version_places(folder)
        for path in above:
            if self._gives(path, stated):
                return path
        using = [path for path in beyond if self._version(path, stated.thing) is not None]
        return using[0] if len(using) == 1 and self._gives(using[0], stated) else None

    def _version_places(self, folder: str) -> tuple[list[str], list[str]]:
        """Return the files that say which versions are used: in a folder or above it, nearest
        first, and elsewhere, those at the top first.
        """
        if self._versions is None:
            self._versions = self.view.listing().named_any(values.PLACES)
        holding = [path.rpartition("/")[0] for path in self._versions]
        near = [not up or f"{folder}/".startswith(f"{up}/") for up in holding]
        above = [path for path, is_near in zip(self._versions, near, strict=True) if is_near]
        beyond = [path for path, is_near in zip(self._versions, near, strict=True) if not is_near]
        above.sort(key=lambda path: -path.count("/"))
        return above[:SYMBOL_FILES_MAX], beyond[:SYMBOL_FILES_MAX]

    def _gives(self, path: str, stated: values.Version) -> bool:
        found = self._version(path, stated.thing)
        return found is not None and values.same_version(stated.version, found)

    def _version(self, path: str, thing: str) -> str | None:
        return values.version_in(path, self.text(path), thing)

    def only_home(self, symbol: str) -> str | None:
        """Return the one file that defines `symbol`; None when there is none, or several."""
        if symbol not in self._homes:
            defining = (path for path in self._few(symbol) if self._place(path, symbol))
            first, second = next(defining, None), next(defining, None)
            self._homes[symbol] = first if second is None else None
        return self._homes[symbol]

    def look_up(self, symbols: Iterable[str]) -> None:
        """Look where many names are defined, file after file: to take one apart takes longest."""
        wanted: dict[str, list[str]] = {}
        for symbol in dict.fromkeys(symbols):
            for path in self._few(symbol):
                wanted.setdefault(path, []).append(symbol)
        found: Counter[str] = Counter()
        for path in sorted(wanted):
            for symbol in wanted[path]:
                if found[symbol] < 2 and self._place(path, symbol):
                    found[symbol] += 1

    def _few(self, symbol: str) -> list[str]:
        """Return the files that may define a name, sorted; none where they are too many."""
        named = self._in_code(last_part(symbol))
        return named if len(named) <= SYMBOL_FILES_MAX else []

    def word_home(self, word: str, named: Iterable[str]) -> str | None:
        """Return the file in which a word is anchored; None when it is in no code, or everywhere.

        One that the text names, else the one that is most likely its own: no test, high up.
        """
        standing = self._in_code(word)
        if not standing or len(standing) > WORD_FILES_MAX:
            return None
        for path in named:
            if path in standing:
                return path
        return min(standing, key=_remoteness)

    def _place(self, path: str, symbol: str) -> tuple[Method, str, int] | None:
        """Return what `file_state.define_in` does; a file is taken apart once for each name."""
        if (path, symbol) not in self._places:
            self._places[path, symbol] = file_state.define_in(self.view, path, symbol)
        return self._places[path, symbol]

    def _in_code(self, word: str) -> list[str]:
        return [path for path in self.standing.get(word, ()) if file_state.is_code(path)]


def _remoteness(path: str) -> tuple[bool, int, str]:
    lower = path.lower()
    return any(part in lower for part in _TESTS), path.count("/"), path
