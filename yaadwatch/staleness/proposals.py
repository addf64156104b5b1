"""Propose the text that makes a memory true again, where the replacement is certain.

`verdict` says what became of each anchor; this module makes one proposal for the whole text. A
moved file counts as unchanged when it differs only in what its place dictates: relative paths and
imports. Any other difference may be what the memory is about.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from yaadwatch.anchors import counts, stated_sets, targets, values
from yaadwatch.anchors.definitions import last_part
from yaadwatch.anchors.languages import language_of
from yaadwatch.anchors.mentions import mentions
from yaadwatch.anchors.targets import renamed_target
from yaadwatch.model.anchors import ASSIGNED, Anchor, Method, Suggestion, Verdict
from yaadwatch.staleness.verdict import AnchorVerdict, counted

_WORDS_OF_CODE = frozenset(("true", "false", "none", "null", "nil", "undefined", "nullptr"))
"""Values by which a text shows how its language writes such."""
_COUNTS = re.compile(
    r"(?i)\b(?:only|sole|all|every|everything|exactly|(?:no|nothing|nobody|no one) (?:other|else)"
    r"|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?<![.:])\d+(?![\w.:-]))\b"
)
"""Words that say how many things there are, or that there is no other."""
_PART = re.compile(r"[;\n]|[.!?](?=\s)")
"""The end of a part of a text that makes one statement."""


def suggest(text: str, result: AnchorVerdict) -> Suggestion | None:
    """Return what would make a memory true again; None when there is nothing to propose.

    The text is rewritten only where it names the old path, or its file name, in full: a longer path
    that ends or begins like it is another file. A replacement in use takes the place of the old
    name wherever the text has it. A value replaces the old one where that follows the name, once.
    """
    new = result.place
    old = result.anchor.path
    if result.anchor.is_read_in_words:
        return None  # which words to exchange is not certain
    if has_other_value(result):
        revalued = _revalued(text, [result])
        return Suggestion(path=None, text=revalued) if revalued else None
    if result.heir and result.anchor.method is Method.TARGET:
        rewritten = _commanded(text, result)
        return Suggestion(path=None, text=rewritten) if rewritten else None
    if result.heir and result.anchor.symbol:
        rewritten = _renamed(text, last_part(result.anchor.symbol), result.heir)
        return Suggestion(path=None, text=rewritten) if rewritten != text else None
    if result.heir:
        new = result.heir
    elif result.verdict is not Verdict.MOVED:
        return None
    if new is None:
        places = result.places
        return Suggestion(path=None, text=None, places=places) if places else None
    if result.anchor.method is Method.GLOB:
        rewritten = _repatterned(text, result.anchor.symbol, new)
        if rewritten == text:  # it is a list in braces there, which no path is put into
            return Suggestion(path=None, text=None, places=(new,))
        return Suggestion(path=new, text=rewritten)
    folder = result.anchor.method is Method.FOLDER
    rewritten = _renamed(text, old, new, folder=folder, from_top=True)
    name, new_name = old.rpartition("/")[2], new.rpartition("/")[2]
    if name != new_name and not folder:
        rewritten = _renamed(rewritten, name, _from_folder_of(old, new))
    return Suggestion(path=new, text=rewritten if rewritten != text else None)


def _from_folder_of(old: str, new: str) -> str:
    """Return how a text that names a file by its bare name may name another place of it.

    The name suffices in the same folder; anywhere else it would be wrong.
    """
    folder = old.rpartition("/")[0]
    return new.removeprefix(f"{folder}/") if folder else new


def proposal(
    text: str,
    results: Sequence[AnchorVerdict],
    beside: Iterable[AnchorVerdict] = (),
    *,
    stands: Callable[[str], bool] = lambda _: True,
) -> Suggestion | None:
    """Return what the verdicts of a memory propose together, the first for its path.

    `beside`: its other verdicts, which propose nothing; what they found stays in the text.
    `stands`: whether a folder is there now.

    A longer path is rewritten before what is above it, and no rewrite touches the output of
    another: of two files that swapped names, the text keeps the second. A file that a definition
    left is rewritten only where the text names it for that definition. Without a text that is
    certainly true the proposal names places only: a value changed that cannot be rewritten,
    something else changed besides, or something that the text names is gone.
    """
    beside = tuple(beside)
    found = _proposal(text, results, beside, stands)
    every = (*results, *beside)
    also_changed = _also_changed(every)
    may_be_false = also_changed or any(one.verdict is Verdict.UNKNOWN for one in every)
    if found is None or not may_be_false or found.path is None:
        return found if not may_be_false or found is None or found.places else None
    return replace(found, text=None, also_changed=also_changed, placed_text=found.text)


def _also_changed(results: Sequence[AnchorVerdict]) -> bool:
    """Return whether more changed than places, and than the values that a text gives."""
    valued = {last_part(one.anchor.name) for one in results if has_other_value(one)}
    moved = any(one.verdict is Verdict.MOVED for one in results)
    return any(
        (one.also_changed and not (valued and one.anchor.method is Method.FILE))
        or (one.verdict is Verdict.CHANGED and moved and not one.by_use)
        for one in results
        if last_part(one.anchor.name) not in valued
    )


def _proposal(
    text: str,
    results: Sequence[AnchorVerdict],
    beside: Sequence[AnchorVerdict],
    stands: Callable[[str], bool],
) -> Suggestion | None:
    """Return the joint proposal, as if nothing else of the memory had changed."""
    valued = [one for one in results if has_other_value(one)]
    offers = [
        (one, _where_sure(text, one, suggest(text, one), (*results, *beside)))
        for one in results
        if one not in valued
    ]
    said = text if not valued else _revalued(text, valued)
    if said is None or (valued and _may_be_false(valued, offers)):
        places = tuple(dict.fromkeys(one.path for _, one in offers if one and one.path))
        return Suggestion(path=None, text=None, places=places) if places else None
    accepted = [(one, offer) for one, offer in offers if offer and offer.can_be_accepted]
    split = [place for one, offer in offers if offer for place in _split_into(one, offer)]
    if accepted and split:
        split += [offer.path for _, offer in accepted if offer.path]
        return Suggestion(path=None, text=None, places=tuple(dict.fromkeys(split)))
    if accepted and _is_left([one for one, offer in offers if not offer], results):
        places = tuple(dict.fromkeys(offer.path for _, offer in accepted if offer.path))
        return Suggestion(path=None, text=None, places=places) if places else None
    if valued and not accepted:
        return Suggestion(path=None, text=said)
    if not accepted:
        return next((offer for _, offer in offers if offer), None)
    if (
        _speaks_of_both(text, accepted)
        or _counts_what_is_there(text, accepted)
        or _puts_beside(text, accepted)
        or _is_named_by_module(text, accepted)
    ):
        places = tuple(dict.fromkeys(offer.path for _, offer in accepted if offer.path))
        return Suggestion(path=None, text=None, places=places)
    if _speaks_of_folder(text, accepted, stands):
        return replace(accepted[0][1], text=None)
    put = set[str]()
    deepest = sorted(accepted, key=lambda found: -len(_said(found[0].anchor)))
    for judged, offer in deepest:
        if offer.text is None or any(_is_within_new(judged, new) for new in put):
            continue
        again = suggest(said, judged)
        said = again.text if again and again.text else said
        put.add(offer.path or judged.heir)
    return Suggestion(path=accepted[0][1].path, text=said if said != text else None)


def _split_into(judged: AnchorVerdict, offer: Suggestion) -> tuple[str, ...]:
    """Return the places of a folder or pattern that was split, so that none replaces it."""
    is_definition = judged.anchor.method in (Method.TREE, Method.LINES)
    return () if is_definition or offer.can_be_accepted else offer.places


def _counts_what_is_there(text: str, accepted: Sequence[tuple[AnchorVerdict, Suggestion]]) -> bool:
    """Return whether a text counts the content of a moved folder, or calls it the only one.

    "`src/a.py` is the only module of `src/`" may be false of the new folder, though nothing that
    the memory names changed.
    """
    folders = [one.anchor.path for one, _ in accepted if one.anchor.method is Method.FOLDER]
    return any(
        _COUNTS.search(re.sub(r"`[^`\n]*`", " ", part))
        for part in _PART.split(text)
        if any(folder.rpartition("/")[2] in part for folder in folders)
    )


def _speaks_of_both(text: str, accepted: Sequence[tuple[AnchorVerdict, Suggestion]]) -> bool:
    """Return whether a text already names the new place, or the folder that a file left.

    "Never import `a.py` in `b.py`" and "handlers are in `handlers/`, such as `handlers/a.py`" are
    about both places, so the new path in the old words need not be true.
    """
    old = {one.anchor.path for one, _ in accepted}
    for judged, offer in accepted:
        new = offer.path
        if (
            not new
            or not offer.text
            or not judged.anchor.path
            or judged.anchor.method is Method.FOLDER
        ):
            continue
        if new not in old and re.search(rf"(?<![\w/.-]){re.escape(new)}(?![\w/-]|\.\w)", text):
            return True
        above, into = judged.anchor.path.rpartition("/")[0], new.rpartition("/")[0]
        if into not in old and not f"{above}/".startswith(f"{into}/") and _names_folder(text, into):
            return True
        if not above or new.startswith(f"{above}/") or above in old:
            continue
        if _names_folder(text, above):
            return True
    return False


def _names_folder(text: str, folder: str) -> bool:
    return bool(re.search(rf"(?<![\w/.-]){re.escape(folder)}/(?=[`\s,;:)]|\.?$|\.\s)", text))


def _puts_beside(text: str, accepted: Sequence[tuple[AnchorVerdict, Suggestion]]) -> bool:
    """Return whether a text says that a file is beside another, and one alone left its folder."""
    went = {
        one.anchor.path: offer.path.rpartition("/")[0]
        for one, offer in accepted
        if offer.path and offer.text and one.anchor.method is not Method.FOLDER
    }
    ways = [(path.rpartition("/")[0], folder) for path, folder in went.items()]
    alone = any(way[0] != way[1] and ways.count(way) == 1 for way in ways)
    return alone and bool(_BESIDE.search(text))


_BESIDE: Final = re.compile(
    r"(?i)\b(?:next to|beside|alongside|(?:in|of) the same (?:folder|directory|package|place)"
    r"|siblings?)\b"
)


def _is_named_by_module(text: str, accepted: Sequence[tuple[AnchorVerdict, Suggestion]]) -> bool:
    """Return whether a text names a definition by its old module or package: `net.fetch`."""
    for judged, offer in accepted:
        before, _, name = judged.anchor.symbol.rpartition(".")
        if not before or not offer.path or not offer.text or name.startswith("#"):
            continue
        module = last_part(before)
        was, now = _modules(judged.anchor.path), _modules(offer.path)
        if module.islower() and module in was - now and f"{module}." in text:
            return True
    return False


def _speaks_of_folder(
    text: str,
    accepted: Sequence[tuple[AnchorVerdict, Suggestion]],
    stands: Callable[[str], bool],
) -> bool:
    """Return whether a text has the name of a folder that a file left, as a word of its own.

    "The web client is set up in `web/tsconfig.json`" says too much of `api/tsconfig.json`, where
    `web` is there still; else the folder itself is called otherwise now.
    """
    said = set(_PLAIN_WORDS.findall(_PATHS.sub(" ", text).lower()))
    for judged, offer in accepted:
        if offer.path and offer.text and judged.anchor.method is not Method.FOLDER:
            names = judged.anchor.path.split("/")[:-1]
            left = {
                name.lower()
                for depth, name in enumerate(names, 1)
                if name.lower() in said and stands("/".join(names[:depth]))
            }
            if left - {*offer.path.lower().split("/")[:-1]}:
                return True
    return False


_PATHS: Final = re.compile(r"(?<![\w@.-])[\w@.-]*+[/\\][\w@./\\-]*+")
_PLAIN_WORDS: Final = re.compile(r"(?<![\w`.-])[a-z][\w-]+(?![\w`]|\.\w)")


def _modules(path: str) -> set[str]:
    """Return the names of a file's module and package; in Go only a folder is one."""
    folder, _, name = path.rpartition("/")
    package = folder.rpartition("/")[2]
    return {package} if name.endswith(".go") else {package, name.partition(".")[0]}


def _where_sure(
    text: str, judged: AnchorVerdict, offer: Suggestion | None, every: Iterable[AnchorVerdict]
) -> Suggestion | None:
    """Return what a verdict proposes; for a definition that left its file maybe only the place.

    A text that names the file apart from the definition, or beside another one that is still in it,
    is as true of the file as before.
    """
    if not judged.left or offer is None or offer.text is None or offer.path is None:
        return offer
    path, name = judged.anchor.path, last_part(judged.anchor.symbol)
    files = (path, path.rpartition("/")[2])
    parts = [part for part in _PART.split(text) if any(file in part for file in files)]
    stayed = [
        last_part(one.anchor.symbol)
        for one in every
        if one.anchor.path == path and one.anchor.method in (Method.TREE, Method.LINES)
        if one.verdict in (Verdict.FRESH, Verdict.TOUCHED, Verdict.CHANGED)
    ]
    said_of_it = name not in text or any(name in part for part in parts)
    if said_of_it and not any(other in part for other in stayed for part in parts):
        return offer
    return Suggestion(path=None, text=None, places=(offer.path,))


def has_other_value(result: AnchorVerdict) -> bool:
    """Return whether the value that the text gives changed, and the new one is known."""
    is_value = result.anchor.method is Method.VALUE or result.anchor.is_members
    return is_value and bool(result.heir)


def _may_be_false(
    valued: Sequence[AnchorVerdict], offers: Sequence[tuple[AnchorVerdict, Suggestion | None]]
) -> bool:
    """Return whether something besides these values changed that no proposal corrects."""
    names = {last_part(one.anchor.name) for one in valued}
    return any(
        offer is None
        and one.verdict in (Verdict.CHANGED, Verdict.GONE)
        and last_part(one.anchor.name) not in names
        for one, offer in offers
    )


def _is_left(others: Sequence[AnchorVerdict], results: Sequence[AnchorVerdict]) -> bool:
    """Return whether one of these verdicts without a proposal is gone: the text names it."""
    counting = counted(results)
    return any(one.verdict is Verdict.GONE and one in counting for one in others)


def _revalued(text: str, valued: Sequence[AnchorVerdict]) -> str | None:
    """Return `text` with the current values; None unless the place of each is certain.

    A value goes where the text gave the old one, which must be one place. Another mention of the
    old or new value may be false with it: "is 10, because it allows 10", "not 25".
    """
    places: dict[tuple[int, int], str] = {}
    for one in valued:
        given = _given_by(one.anchor, text)
        if len(given) != 1:
            return None
        span = (given[0].start, given[0].end)
        written = text[slice(*span)]
        if one.anchor.value not in (given[0].value, written, written.lower()):
            return None
        new = _written_as(written, one)
        if not new or places.setdefault(span, new) != new:
            return None
    rest = text
    for start, end in places:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    if any(_names_value(rest, one) for one in valued):
        return None
    for (start, end), new in sorted(places.items(), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _names_value(text: str, judged: AnchorVerdict) -> bool:
    """Return whether a text names the old or the new value; of a version also a part of it."""
    given = (judged.anchor.value, judged.heir)
    if judged.anchor.is_members:
        return not counts.numbers(text).isdisjoint(given)
    if judged.anchor.symbol != values.LINES and not judged.anchor.symbol.endswith(ASSIGNED):
        named = _VERSION.findall(text)
        return any(values.same_version(one, value) for one in named for value in given)
    if not counts.numbers(text).isdisjoint(given):
        return True
    words = [re.escape(value.strip("\"'")) for value in given if not value[:1].isdecimal()]
    alone = rf"(?i)(?<![\w.-])(?:{'|'.join(words)})(?![\w-]|\.\w)"
    return bool(words) and re.search(alone, text) is not None


_VERSION: Final = re.compile(r"(?<![\d.])\d+(?:\.\d+)*+")


def _written_as(written: str, judged: AnchorVerdict) -> str:
    """Return the current value in the notation of the text; '' when that is not certain."""
    now = judged.heir
    if judged.anchor.is_members:
        word = now if written.isdecimal() else counts.in_words(int(now))
        return word.capitalize() if written[:1].isupper() else word
    if now == values.NOTHING and judged.anchor.symbol.endswith(ASSIGNED):
        return ""  # each language has a word of its own for it
    if now in ("true", "false"):
        if written.lower() not in _WORDS_OF_CODE:
            return ""
        # Python's have a capital letter, and a text that says them so goes on to do so.
        return now.capitalize() if written[:1].isupper() else now
    if written[:1] == "'" and now[:1] == '"' and "'" not in now:
        return f"'{now[1:-1]}'"
    return now


def _given_by(anchor: Anchor, text: str) -> list[values.GivenValue]:
    """Return where a text gives what is anchored its value."""
    if anchor.is_members:
        return [
            values.GivenValue(one.start, one.end, str(one.number))
            for one in stated_sets.stated(text)
            if str(one.number) == anchor.value and not one.members
        ]
    if anchor.symbol.endswith(ASSIGNED):
        names = (last_part(anchor.name), anchor.name)
        return next(filter(None, (values.stated_at(text, name) for name in names)), [])
    return values.version_at(text, anchor.symbol)


def _said(anchor: Anchor) -> str:
    """Return the path, or the pattern, as the text writes it."""
    return anchor.symbol if anchor.method is Method.GLOB else anchor.path


def _is_within_new(judged: AnchorVerdict, put: str) -> bool:
    """Return whether the old path is part of `put`, the new path in the text."""
    if has_other_value(judged):
        return False
    old, new = _said(judged.anchor), judged.heir or judged.place or ""
    name, new_name = old.rpartition("/")[2], new.rpartition("/")[2]
    return f"{put}/".startswith(f"{old}/") or (name != new_name and put.endswith(f"/{name}"))


def _renamed(text: str, old: str, new: str, *, folder: bool = False, from_top: bool = False) -> str:
    """Return `text` with the path `old` replaced by `new` wherever it stands alone.

    Paths below a folder are renamed with it; the bare name of a folder may be any word, except in
    code or before a slash. A whole path, `from_top`, may have one slash before it.
    """
    longer = r"[\w~-]|\.\w" if folder else r"[\w/\\~-]|\.\w"
    before = r"/|(?:\./)*" if from_top else r"(?:\./)*"
    written = re.escape(old).replace("_", r"\\?_")  # Markdown may have it escaped
    alone = rf"(?<![\w/\\.~-])({before}){written}(?!{longer})"

    def put(found: re.Match[str]) -> str:
        in_code = (
            text.count("`", 0, found.start()) % 2 or text[found.end() : found.end() + 1] == "/"
        )
        is_path = not folder or "/" in old or found[1] or in_code
        return found[1] + new if is_path else found[0]

    return re.sub(alone, put, text)


def _repatterned(text: str, old: str, new: str) -> str:
    """Return `text` with the pattern `old` replaced by `new` wherever it stands alone.

    Where the text leaves out its own folder, the new pattern leaves it out as well.
    """
    parts = old.split("/")
    for left_out in range(max(1, len(parts) - 1)):
        above, tail = "/".join(parts[:left_out]), "/".join(parts[left_out:])
        if "*" in above or not new.startswith(f"{above}/" if above else ""):
            break
        put = (new[len(above) + 1 :] if above else new).replace("\\", r"\\")
        alone = rf"(?<![\w/\\.~*{{}}-])((?:\./)*){re.escape(tail)}(?![\w/\\~*{{-]|\.\w)"
        rewritten = re.sub(alone, rf"\g<1>{put}", text)
        if rewritten != text:
            return rewritten
    return text


def _commanded(text: str, result: AnchorVerdict) -> str | None:
    """Return `text` with its commands running the current target; None unless all do.

    None as well where the text runs that target already.
    """
    old, new = result.anchor.symbol, result.heir
    tools = targets.tools_of(result.anchor.path)
    rewritten = renamed_target(text, tools, old, new)
    wanted = [
        replace(one, target=new) if one.target == old and one.tool in tools else one
        for one in mentions(text).commands
    ]
    said = mentions(rewritten).commands
    return rewritten if rewritten != text and said == tuple(wanted) else None


_IMPORT = re.compile(
    r"\s*(?:(?:import|from|use|using|include|require|require_once|require_relative|package"
    r"|namespace|extern\s+crate|#\s*include|@import|@use|export\s+(?:\*|\{[^}]*\})\s+from"
    r"|\}\s*from)\b"
    r"|(?:const|let|var)\s+[\w$\s{},:]+=\s*(?:await\s+import|require)\s*\()"
)
"""The beginning of a line of code that says where something else is: an import."""
_WORD = re.compile(r"[^\W\d]\w*")
WORDS_MIN: Final = 5
"""A definition with fewer words, its name and keywords among them, is like any other one."""
ALIKE_MIN: Final = 0.4
"""Share of the words of the shorter definition that the other one has, too."""
_RELATIVE = re.compile(r"(?:\.\.?/)+")


def is_same_but_for_paths(old: bytes, new: bytes, path: str) -> bool:
    """Return whether two versions of a file differ in imports and relative paths only.

    Args:
        old: the old content.
        new: the new content.
        path: the file's name, which decides whether it has imports.
    """
    if old == new:
        return True
    language = language_of(path)
    imports = language is not None and not language.is_settings
    return _lines(old, imports=imports) == _lines(new, imports=imports)


def is_divided_among(old: bytes, parts: Iterable[bytes], path: str) -> bool:
    """Return whether each line of a file but its imports is in one of its parts."""
    language = language_of(path)
    imports = language is not None and not language.is_settings
    said = {line for part in parts for line in _lines(part, imports=imports)}
    return said.issuperset(_lines(old, imports=imports))


def is_unlike(old: str, new: str) -> bool:
    """Return whether two definitions of one name have hardly a word in common.

    A definition that is too short to compare is not unlike.
    """
    words, others = (frozenset(_WORD.findall(text)) for text in (old, new))
    fewer = min(len(words), len(others))
    return fewer >= WORDS_MIN and len(words & others) < ALIKE_MIN * fewer


def _lines(source: bytes, *, imports: bool) -> list[str]:
    """Return the lines that do not depend on where the file is; `imports`: without imports."""
    lines = (line.rstrip() for line in source.decode("utf-8", "replace").splitlines())
    kept = (line for line in lines if line and not (imports and _IMPORT.match(line)))
    return [_RELATIVE.sub("", line) for line in kept]
