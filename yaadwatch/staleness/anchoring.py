"""Find the anchors of a text: its references, resolved in one view of the files.

A candidate becomes an anchor only when the view has it: a file, a folder, a definition, a word of
the code, the target of a command, a value. A word that stands in too many files anchors nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from yaadwatch.anchors import counts, definitions, facts, literals, stated_sets, targets, values
from yaadwatch.anchors.counts import is_distinctive
from yaadwatch.anchors.definitions import last_part
from yaadwatch.anchors.mentions import mentions, without
from yaadwatch.anchors.naming import Kind
from yaadwatch.anchors.tree import Tree
from yaadwatch.model.anchors import ASSIGNED, DECLARED, HELD, STANDS, Anchor, Method
from yaadwatch.model.limits import ANCHORS_PER_NODE_MAX
from yaadwatch.model.settings import SYMBOL_FILES_MAX, WORD_FILES_MAX
from yaadwatch.staleness import file_state, inner_literals, members
from yaadwatch.staleness.anchor_search import AnchorSearch, Source
from yaadwatch.staleness.commits import is_only_ours
from yaadwatch.staleness.worktree import View, WorkTree

_TESTS = ("test", "spec", "example", "fixture", "vendor", "third_party", "node_modules")


def path_word(path: str) -> str:
    """Return the word by which other files refer to a file or folder: its name."""
    return path.rpartition("/")[2]


class Maker:
    """Makes anchors from what one view shows."""

    def __init__(self, view: View, commit: str) -> None:
        self.view = view
        # In a work tree that would read each file for a statement that names but one. Where
        # a file, or what it defines, is named is counted in the commit once it matters
        # (`Window.spread`).
        self.counts_names = not isinstance(view, WorkTree)
        self.files_by_word: dict[str, Sequence[str]] = {}
        self._commit = commit
        self._homes: dict[str, str | None] = {}
        self._defined: dict[tuple[str, str, str], Anchor | None] = {}
        self._places: dict[tuple[str, str], tuple[Method, str, int] | None] = {}
        self._versions: list[str] | None = None
        self._declaring: dict[str, list[str]] | None = None
        self.short_names: set[str] = set()

    def search(self, words: list[str]) -> None:
        """Find the files that hold each word, without the text that yaadwatch writes."""
        files_by_word = self.view.files_by_word(words)
        self.files_by_word = {
            word: [path for path in paths if not is_only_ours(word, path, self.view.read)]
            for word, paths in files_by_word.items()
        }

    def file(self, path: str, trust: str) -> Anchor | None:
        """Return the anchor on a file; None when it is missing.

        A file that is too large to read is anchored without its blob: its move or removal still
        shows.
        """
        found = self.view.find(path)
        if found is None or found.kind not in ("file", "too_large"):
            return None
        spread = self.spread_of(path_word(path))
        return self.anchor(path, Method.FILE, blob=found.blob, trust=trust, spread=spread)

    def definition(self, path: str, symbol: str, trust: str) -> Anchor | None:
        """Return the anchor on a definition in a file; None when it is missing."""
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
        """Return how many files hold a word."""
        return len(self.files_by_word.get(word, ()))

    def spread_of(self, name: str) -> int:
        """Return how many files hold the name of what is anchored; 0 when not counted."""
        return self.spread(name) if self.counts_names else 0

    def text(self, path: str) -> str:
        """Return the content of a file; '' when it cannot be read."""
        return (self.view.read(path) or b"").decode("utf-8", "replace")

    def file_of_version(self, stated: values.Version, folder: str) -> str | None:
        """Return the file that states the version in use; None for none or several.

        The folder of the text comes first, then those above it. Among other packages that use the
        same thing the text does not say which it means.
        """
        above, beyond = self._version_places(folder)
        for path in above:
            if self._gives(path, stated):
                return path
        using = [path for path in beyond if self._version(path, stated.thing) is not None]
        return using[0] if len(using) == 1 and self._gives(using[0], stated) else None

    def _version_places(self, folder: str) -> tuple[list[str], list[str]]:
        """Return the files that state versions: in or above a folder first, then others."""
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

    def declaring(self) -> Mapping[str, Sequence[str]]:
        """Return the files that declare each package and tool, nearest the top first."""
        if self._declaring is None:
            self._declaring = {}
            for path in file_state.declaring_files(self.view) or ():
                found = file_state.declared_in(self.view, path)
                for name in found.names if found is not None else ():
                    self._declaring.setdefault(name, []).append(path)
            for name, paths in list(self._declaring.items()):
                for short in facts.short_names(name):
                    if self._declaring.setdefault(short, paths) is paths:
                        self.short_names.add(short)
        return self._declaring

    def only_definer(self, symbol: str) -> str | None:
        """Return the one file that defines `symbol`; None for none or several."""
        if symbol not in self._homes:
            defining = (path for path in self._few(symbol) if self._place(path, symbol))
            first, second = next(defining, None), next(defining, None)
            self._homes[symbol] = first if second is None else None
        return self._homes[symbol]

    def is_function_or_type(self, path: str, symbol: str) -> bool:
        """Return whether a file defines a function, class or other type of that name."""
        named = definitions.names(self.view.read(path) or b"", path)
        return any(
            one.kind in (Kind.FUNCTION, Kind.TYPE) and last_part(one.name) == symbol
            for one in named
        )

    def look_up(self, symbols: Iterable[str]) -> None:
        """Look up many names file by file: parsing a file costs the most."""
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
        """Return the files that may define a name, sorted; empty when there are too many."""
        named = self._in_code(last_part(symbol))
        return named if len(named) <= SYMBOL_FILES_MAX else []

    def file_of_word(self, word: str, named: Iterable[str]) -> str | None:
        """Return the file in which to anchor a word; None when no code or too many files hold it.

        Prefers a file that the text names, then one near the top that is no test.
        """
        files_by_word = self._in_code(word)
        if not files_by_word or len(files_by_word) > WORD_FILES_MAX:
            return None
        for path in named:
            if path in files_by_word:
                return path
        return min(files_by_word, key=_remoteness)

    def is_alone(self, path: str, words: Iterable[str]) -> bool:
        """Return whether a file is the only code that has one of these words."""
        return any(self._in_code(word) == [path] for word in words)

    def _place(self, path: str, symbol: str) -> tuple[Method, str, int] | None:
        """Cache `file_state.define_in` by file and name."""
        if (path, symbol) not in self._places:
            self._places[path, symbol] = file_state.define_in(self.view, path, symbol)
        return self._places[path, symbol]

    def _in_code(self, word: str) -> list[str]:
        return [path for path in self.files_by_word.get(word, ()) if file_state.is_code(path)]


def _remoteness(path: str) -> tuple[bool, int, str]:
    lower = path.lower()
    return any(part in lower for part in _TESTS), path.count("/"), path


VALUE_FILES_MAX = 4
"""Named files in which the numbers that a text gives in plain words are searched."""


def anchor(sources: Sequence[Source], view: View, commit: str) -> list[list[Anchor]]:
    """Return the anchors of each text in `view`, those that the caller gave first.

    Args:
        sources: the texts.
        view: where it is looked for.
        commit: the commit that `view` shows or has checked out; '' before the first one.
    """
    return anchors_of(begin_search(sources, view), view, commit)


def begin_search(sources: Sequence[Source], view: View) -> list[AnchorSearch]:
    """Return the candidates of each text in `view`; nothing is searched yet."""
    sought = [AnchorSearch(source, mentions(source.text)) for source in sources]
    for one in sought:
        _name(one, view)
    return sought


def anchors_of(sought: Sequence[AnchorSearch], view: View, commit: str) -> list[list[Anchor]]:
    """Return the anchors of texts whose search was begun in `view`; see `anchor`."""
    maker = Maker(view, commit)
    if maker.counts_names:
        maker.search(words_of(sought))
    for one in sought:
        _define(one, maker)
    if not maker.counts_names:
        maker.search(_open_words(sought))
    maker.look_up(symbol for one in sought for symbol, _ in one.homeless)
    for one in sought:
        _define_anywhere(one, maker)
        _point(one, maker)
        _in_place(one, maker, list(one.files))
        _spell(one, maker)
        if not one.files:
            _in_place(one, maker, _only_files(one, maker))
        for path, method, symbol, found in members.bound(one, maker.view, maker.files_by_word):
            _add(one, maker.anchor(path, method, symbol=symbol, fingerprint=found))
    return [one.found[:ANCHORS_PER_NODE_MAX] for one in sought]


def anchor_now(old: Anchor, place: str, view: View, commit: str) -> Anchor | None:
    """Return `old` as it is now at `place`; None when it is missing there."""
    maker = Maker(view, commit)
    if old.method is Method.FOLDER or (old.method is Method.FILE and view.has_folder(place)):
        made = maker.anchor(place, Method.FOLDER) if view.has_folder(place) else None
    elif old.method is Method.FILE:
        made = maker.file(place, old.trust)
    elif old.method in (Method.TREE, Method.LINES):
        made = maker.definition(place, old.symbol, old.trust)
    else:
        made = maker.anchor(
            place, old.method, symbol=old.symbol, fingerprint=old.fingerprint, trust=old.trust
        )
    return replace(made, spread=old.spread, trust=old.trust) if made is not None else None


def _name(one: AnchorSearch, view: View) -> None:
    """Collect the files, folders, definitions and words that the text may mean."""
    source, tree = one.source, view.listing()
    one.files = dict.fromkeys(source.files, "given")
    for mention in one.spoken.paths:
        path = tree.match(mention, folder=source.folder)
        if path is not None and path != mention and tree.names_folder(mention):
            continue  # a word that is also a folder's name is ambiguous
        if path is None and "/" in mention and not mention.endswith("/"):
            place = mention.removeprefix("./")
            found = view.find(place)
            path = place if found is not None and not found.odd else None
        if path is not None and "/" in mention and _is_submodule(path, view):
            one.folders += [path] * (path not in one.folders)
            continue
        if path is not None:
            one.files.setdefault(path, "text")
            continue
        path = _touched(mention, source.touched)
        if path is not None and view.find(path) is not None:
            one.files.setdefault(path, "session")
            continue
        new = _new(view, mention)
        path = new.match(mention, folder=source.folder) if new is not None else None
        if path is not None:
            one.files.setdefault(path, "text")
            continue
        folder = tree.match_folder(mention, folder=source.folder)
        if folder is None and new is not None:
            folder = new.match_folder(mention, folder=source.folder)
        if folder is not None and folder not in one.folders:
            one.folders.append(folder)
    one.sets = stated_sets.stated(source.text)
    symbols = dict.fromkeys(source.symbols, "given")
    names = {part for path in one.files for part in (path, path.rpartition("/")[2])}
    for symbol in one.spoken.symbols:
        if symbol not in names:
            symbols.setdefault(symbol, "text")
    one.symbols = list(symbols.items())
    parts = [part for symbol, _ in one.symbols for part in (last_part(symbol), symbol)]
    stems = {name.split(".")[0] for name in names} | names
    one.words = [
        word
        for word in dict.fromkeys(
            (*parts, *_forms(one.spoken.words), *literals.said_of_servers(source.text))
        )
        if is_distinctive(word) and word not in stems
    ]


def _new(view: View, mention: str) -> Tree | None:
    """Return the untracked files, if `mention` may name one of them."""
    if not isinstance(view, WorkTree) or not ("/" in mention or "." in mention.strip(".")):
        return None
    return view.new_files()


def _is_submodule(path: str, view: View) -> bool:
    return view.find(path) is None and view.has_folder(path)


def _touched(mention: str, touched: Sequence[str]) -> str | None:
    """Return the one recently touched file that a shared name means, or None."""
    tail = "/" + mention.removeprefix("./")
    found = [path for path in touched if f"/{path}".endswith(tail)]
    return found[0] if len(found) == 1 else None


def _forms(words: Iterable[str]) -> Iterator[str]:
    """Yield the words, and the forms that option names take in code."""
    for word in words:
        yield word
        bare = word.lstrip("-")
        if bare != word:
            yield bare
            yield bare.replace("-", "_")


def words_of(sought: Iterable[AnchorSearch]) -> list[str]:
    """Return every word to search for: names, words, and the names of files."""
    words: dict[str, None] = {}
    for one in sought:
        words |= dict.fromkeys(last_part(symbol) for symbol, _ in one.symbols)
        words |= dict.fromkeys((*one.words, *members.search_words(one)))
        words |= dict.fromkeys(path_word(path) for path in (*one.files, *one.folders))
    return [word for word in words if word]


def _open_words(sought: Iterable[AnchorSearch]) -> list[str]:
    """Return the words that no definition in a named file covers."""
    words: dict[str, None] = {}
    for one in sought:
        taken = _taken(one)
        words |= dict.fromkeys(last_part(symbol) for symbol, _ in one.homeless)
        words |= dict.fromkeys(word for word in one.words if not _is_taken(word, taken))
        words |= dict.fromkeys(members.search_words(one))
    return [word for word in words if word]


def _define(one: AnchorSearch, maker: Maker) -> None:
    """Anchor names in the files that the text names."""
    for symbol, trust in one.symbols:
        here = [maker.definition(path, symbol, trust) for path in one.files]
        inside = [found for found in here if found is not None]
        one.found.extend(inside)
        if not inside:
            one.homeless.append((symbol, trust))


def _define_anywhere(one: AnchorSearch, maker: Maker) -> None:
    """Anchor names without a file in the text, where exactly one file defines them."""
    for symbol, trust in one.homeless:
        path = maker.only_definer(symbol)
        is_plain = trust != "given" and symbol.isalnum() and symbol.islower()
        if path is not None and is_plain and not maker.is_function_or_type(path, symbol):
            continue  # "`major`: breaks users" means no variable `major` of some script
        found = maker.definition(path, symbol, trust) if path is not None else None
        if found is not None:
            one.found.append(found)


def _point(one: AnchorSearch, maker: Maker) -> None:
    view = maker.view
    for path, trust in one.files.items():
        _add(one, maker.file(path, trust))
    for folder in one.folders:
        _add(one, maker.anchor(folder, Method.FOLDER, spread=maker.spread_of(path_word(folder))))
    for pattern in one.spoken.globs:
        for start in dict.fromkeys((one.source.folder, "")):
            whole = f"{start}/{pattern}" if start and "/" in pattern else pattern
            if view.matching(whole):
                first = whole.partition("*")[0].rpartition("/")[0]
                _add(one, maker.anchor(first, Method.GLOB, symbol=whole))
                break
    for command in one.spoken.commands:
        for path in targets.build_files(command.tool, one.source.folder, view.listing()):
            if targets.defines_target(path, maker.text(path), command.target):
                _add(one, maker.anchor(path, Method.TARGET, symbol=command.target))
                break
    for spot in literals.spots(one.source.text):
        named = "/" + spot.path.removeprefix("./")
        for path in (path for path in one.files if f"/{path}".endswith(named)):
            stood = literals.at_spot(spot.symbol, maker.text(path))
            if stood is not None:
                made = maker.anchor(path, Method.VALUE, symbol=spot.symbol, fingerprint=stood[:400])
                _add(one, made)
    _value(one, maker)


def _value(one: AnchorSearch, maker: Maker) -> None:
    counts, files = one.spoken.lines, list(one.files)
    if len(counts) == 1 and len(files) == 1:
        now = values.lines_in(maker.text(files[0]))
        if values.lines_hold(counts[0], now):
            made = maker.anchor(
                files[0], Method.VALUE, symbol=values.LINES, fingerprint=str(counts[0])
            )
            _add(one, made)
    for definition in [made for made in one.found if made.method is Method.TREE]:
        names = (last_part(definition.symbol), definition.symbol)
        found = (values.stated_for(one.source.text, name) for name in names)
        number = next(filter(None, found), None)
        if number is None:
            continue
        text = maker.text(definition.path).encode()
        if inner_literals.assigned_literal(text, definition.path, definition.symbol) == number:
            symbol = f"{definition.symbol}{ASSIGNED}"
            made = maker.anchor(definition.path, Method.VALUE, symbol=symbol, fingerprint=number)
            _add(one, made)
    _value_in_words(one, maker)
    _held(one, maker)
    _declared(one, maker)
    for stated in one.spoken.versions:
        path = maker.file_of_version(stated, one.source.folder)
        if path is not None:
            made = maker.anchor(path, Method.VALUE, symbol=stated.thing, fingerprint=stated.version)
            _add(one, made)


def _held(one: AnchorSearch, maker: Maker) -> None:
    """Anchor the numbers of the text that stand inside a definition it names.

    Where the text names only files, use the one definition in them that has the number beside what
    the text counts.
    """
    named = [made for made in one.found if made.method is Method.TREE]
    given = {last_part(made.name) for made in one.found if made.method is Method.VALUE}
    files = [path for path in one.files if file_state.is_code(path)][:VALUE_FILES_MAX]
    for count in counts.counts(one.source.text) if named or files else ():
        found: set[tuple[str, str, inner_literals.InnerNumber]] = set()
        for made in named:
            held = inner_literals.stated(maker.text(made.path), made.path, made.symbol, count)
            if held is not None and last_part(made.symbol) not in given:
                found.add((made.path, made.symbol, held))
        if not found and not named:
            homes = {
                (path, *home)
                for path in files
                if (home := inner_literals.only_definition_with(maker.text(path), path, count))
                is not None
            }
            found = {home for home in homes if last_part(home[1]) not in given}
        if len(found) == 1:
            path, symbol, held = found.pop()
            symbol = f"{symbol}{HELD}{held.value}"
            fingerprint = " ".join((held.value, *held.places))
            _add(one, maker.anchor(path, Method.VALUE, symbol=symbol, fingerprint=fingerprint))


def _declared(one: AnchorSearch, maker: Maker) -> None:
    """Anchor the packages and tools that a text names and the project declares."""
    known = maker.declaring()
    text = without(one.source.text) if known else ""
    for name in dict.fromkeys(facts.named(text, known, maker.short_names)):
        folder = one.source.folder
        above = [path for path in known[name] if f"{folder}/".startswith(_folder_of(path))]
        path = (above or known[name])[-1 if above else 0]
        _add(one, maker.anchor(path, Method.VALUE, symbol=f"{name}{DECLARED}", fingerprint=name))


def _folder_of(path: str) -> str:
    folder = path.rpartition("/")[0]
    return f"{folder}/" if folder else ""


def _only_files(one: AnchorSearch, maker: Maker) -> list[str]:
    """Return the files that have what a text names, each the only one that has it."""
    defined = [made.path for made in one.found if made.method is Method.TREE]
    spelled = [made.path for made in one.found if made.method is Method.WORD]
    return defined or [path for path in spelled if maker.is_alone(path, one.words)]


def _in_place(one: AnchorSearch, maker: Maker, paths: Iterable[str]) -> None:
    """Anchor the literals that the text states, where they stand in one of these files."""
    files = [path for path in dict.fromkeys(paths) if file_state.is_code(path)][:VALUE_FILES_MAX]
    given = {(made.path, made.value) for made in one.found if made.method is Method.VALUE}
    for literal in literals.stated(one.source.text) if files else ():
        found = [
            (path, place)
            for path in files
            if (path, literal.value) not in given
            and (place := literals.place_of(maker.text(path), literal)) is not None
        ]
        if len(found) == 1:
            path, place = found[0]
            symbol = f"{place.label}{STANDS}{literal.value}"
            fingerprint = place.written(literal.value)
            _add(one, maker.anchor(path, Method.VALUE, symbol=symbol, fingerprint=fingerprint))


def _value_in_words(one: AnchorSearch, maker: Maker) -> None:
    """Anchor the number that a named file gives to what the text says in plain words."""
    files = [path for path in one.files if file_state.is_code(path)][:VALUE_FILES_MAX]
    for phrase in values.phrases(one.source.text) if files else ():
        for path, wording in product(files, phrase.wordings):
            name = values.meant_name(maker.text(path), wording, phrase.number)
            if name is None:
                continue
            symbol = f"{name}{ASSIGNED}"
            if not any(f".{made.symbol}".endswith(f".{symbol}") for made in one.found):
                made = maker.anchor(path, Method.VALUE, symbol=symbol, fingerprint=phrase.number)
                _add(one, made)
            break


def _spell(one: AnchorSearch, maker: Maker) -> None:
    """Anchor words of the code that no definition, file or target covers yet."""
    taken = _taken(one)
    for word in one.words:
        if _is_taken(word, taken):
            continue
        path = maker.file_of_word(word, one.files)
        if path is not None:
            taken |= {word, last_part(word), _plain(word)}
            made = maker.anchor(path, Method.WORD, symbol=word, spread=maker.spread(word))
            _add(one, made)


def _taken(one: AnchorSearch) -> set[str]:
    """Return the words that the anchors found so far cover."""
    symbols = [found.symbol for found in one.found if found.symbol]
    literal = [found.value for found in one.found if found.is_in_place]
    return {*symbols, *map(last_part, symbols), *literal}


def _is_taken(word: str, taken: Collection[str]) -> bool:
    return last_part(word) in taken or word in taken or _plain(word) in taken


def _plain(word: str) -> str:
    return word.lstrip("-").replace("-", "_")


def _add(one: AnchorSearch, made: Anchor | None) -> None:
    key = (made.path, made.symbol) if made is not None else None
    if made is not None and key not in {(has.path, has.symbol) for has in one.found}:
        one.found.append(made)
