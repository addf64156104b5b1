"""Observe one anchor of any kind in a view: a work tree or a commit.

A missing file, folder or definition is searched for elsewhere, and so is its replacement. What
cannot be read is unknown, never fresh. A pattern is fresh while a file matches it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

from yaadwatch.anchors import definitions, facts, literals, targets, values
from yaadwatch.anchors.counts import is_distinctive
from yaadwatch.anchors.definitions import State, last_part
from yaadwatch.anchors.tree import Tree
from yaadwatch.model.anchors import ASSIGNED, Anchor, Method
from yaadwatch.model.errors import YaadError
from yaadwatch.model.settings import SYMBOL_FILES_MAX, WORD_FILES_MAX
from yaadwatch.repo.words import has_word
from yaadwatch.staleness import file_state, inner_literals, members, proposals, successors, uses
from yaadwatch.staleness.commits import AtHead
from yaadwatch.staleness.successors import Successor
from yaadwatch.staleness.uses import Uses
from yaadwatch.staleness.verdict import HEIR_LINES_MIN, Seen, Span
from yaadwatch.staleness.worktree import MOVED_INSIDE_MAX, View, WorkTree
from yaadwatch.text.quoting import as_name

ELSEWHERE_MAX = 8
"""Places listed for a word, or for the files of a folder or pattern."""
FOLLOWED_MAX = 8
"""Files followed through the history one by one, where a comparison shows no renames."""
WIDE = 25
"""Uses from which the current count decides: single uses of so common a name come and go."""
PARTS_MAX = 64
"""Files of a folder that are read for the content of the file that became it."""
INCLUDED_MAX = 32
"""Included build files that are read for a target."""
_PATHS = re.compile(r"[\w@.-]+(?:/[\w@.-]+)*")


def see(anchor: Anchor, view: View, head: AtHead) -> Seen:
    """Observe an anchor in `view`; what cannot be read is unknown, never fresh.

    Args:
        anchor: what to look for.
        view: the work tree, or a commit.
        head: the commit that is checked out, which knows what happened since the anchor's.
    """
    try:
        if anchor.method in _OBSERVERS:
            seen = _OBSERVERS[anchor.method](anchor, view, head)
        else:
            seen = file_state.see(anchor, view, head)
            if anchor.method is Method.FILE and not seen.unknown:
                seen = _found_elsewhere(anchor, seen, view, head)
                seen = replace(seen, rewritten=_is_rewritten(anchor, seen, view, head))
            seen = _with_age(anchor, seen, view, head)
        seen = file_state.of_ignored(anchor, seen, head)
    except YaadError as error:
        return Seen(unknown=error.message.rstrip("."))
    return seen


def with_uses(anchor: Anchor, seen: Seen, head: AtHead) -> Seen:
    """Return `seen` with the change in use of what is anchored; unknown if git fails.

    Reads up to all changed files. A missing file or definition has no uses. A definition with one
    use that moved to another file is not used less. Neither is a common name that as many files use
    now.
    """
    word = word_of(anchor)
    if seen.unknown or not word:
        return seen
    try:
        if not head.knows(anchor):
            return seen
        uses, spread = _uses(anchor, head)
        if not uses.lost and not uses.replaced:
            return seen
        if anchor.method is Method.FILE and len(head.listing().by_name.get(word, ())) > 1:
            return seen  # a file of the same name may be the one that is named less
        window = head.window(anchor.commit)
        lost = 0 if len(uses.lost) == 1 and window.comes_up(word) else len(uses.lost)
        if lost and spread > WIDE and _as_common(word, anchor.commit, head):
            lost = 0
        put, times = _instead(uses)
        heir = seen.heir
        if not heir and times >= HEIR_LINES_MIN:  # a name for a name, else a path
            path = next(iter(_paths([put], head)), "")
            heir = put if anchor.symbol else path if path != anchor.path else ""
    except YaadError as error:
        return Seen(unknown=error.message.rstrip("."))
    return replace(
        seen,
        lost=lost / max(spread, len(uses.lost) + len(uses.kept), 1),
        lost_files=lost,
        replaced=times,
        instead=seen.instead or put,
        heir=heir,
    )


def word_of(anchor: Anchor) -> str:
    """Return the word by which other files refer to what is anchored; '' for none."""
    if anchor.method in (Method.GLOB, Method.VALUE, Method.TARGET):
        return ""
    if anchor.spread > WORD_FILES_MAX:
        return ""
    return last_part(anchor.symbol) if anchor.symbol else anchor.path.rpartition("/")[2]


def _uses(anchor: Anchor, head: AtHead) -> tuple[Uses, int]:
    """Return how the use of an anchor changed, and how many files used it before.

    A word that was not counted when it was anchored is counted only where some use changed.
    """
    window, word = head.window(anchor.commit), word_of(anchor)
    uses = window.uses(word)
    if anchor.spread or not (uses.lost or uses.replaced):
        return uses, anchor.spread
    spread = window.spread(word)
    return (uses, spread) if spread <= WORD_FILES_MAX else (Uses(), spread)


def _as_common(word: str, since: str, head: AtHead) -> bool:
    """Return whether as many code files name it now as at a commit."""
    then, now = (
        sum(map(file_state.is_code, head.history.files_by_word([word], at=at)[word]))
        for at in (since, head.head.commit)
    )
    return now >= then


def _with_age(anchor: Anchor, seen: Seen, view: View, head: AtHead) -> Seen:
    """Add to `seen` what makes a shell of what is anchored, if it became one since."""
    place = seen.place
    if seen.unknown or seen.same_bytes or place != anchor.path:
        return seen
    if anchor.symbol and (seen.line is None or anchor.line is None):
        return seen
    now = view.read(place)
    if now is None:
        return seen
    line = seen.line if anchor.symbol else None
    moved = not anchor.symbol and uses.has_moved(now)
    deprecated = file_state.is_code(place) and uses.is_deprecated(now, line)
    listed = anchor.method is Method.TREE and seen.span is Span.DIFFERENT
    then = head.history.read_blob(anchor.blob) if moved or deprecated or listed else None
    if then is None:
        return seen
    if moved and not uses.has_moved(then):
        return replace(seen, retired="says that it has moved")
    if deprecated and not uses.is_deprecated(then, anchor.line if anchor.symbol else None):
        put = uses.instead(now, line)
        beside = put and anchor.symbol and definitions.define(now, place, put).state is State.FOUND
        return replace(seen, retired="is deprecated now", instead=put, heir=put if beside else "")
    if listed and uses.emptied(then, now, place, anchor.symbol):
        return replace(seen, retired="lists next to nothing of what it did")
    return seen


def _instead(uses: Uses) -> tuple[str, int]:
    """Return what mostly replaced a word, and on how many lines; '' when it varies."""
    for put, times in Counter(uses.replaced).most_common(1):
        if is_distinctive(put) and 2 * times >= len(uses.replaced):
            return put, times
    return "", 0


def _found_elsewhere(anchor: Anchor, seen: Seen, view: View, head: AtHead) -> Seen:
    """Add to `seen` where a missing file went; it may have become a folder."""
    if seen.place == anchor.path:
        return seen
    if seen.place is None:
        return _followed(anchor, view, head)
    if not head.knows(anchor):
        return seen
    added = head.window(anchor.commit).changes.added
    split = successors.of_split(anchor.path, seen.place, added)
    if not split or not _is_there(split, view) or split.path == seen.place:
        return seen
    return replace(seen, place=split.path, same_bytes=False)


def _is_rewritten(anchor: Anchor, seen: Seen, view: View, head: AtHead) -> bool:
    """Return whether a moved file has other content now; an unreadable file counts as rewritten.

    Its content may be divided among the files of a folder now.
    """
    place = seen.place
    if place is None or place == anchor.path or seen.same_bytes:
        return False
    old = head.history.read_blob(anchor.blob)
    if old is None:
        return True
    if view.find(place) is None:
        inside = [path for path in view.listing().every() if path.startswith(f"{place}/")]
        parts = [view.read(path) or b"" for path in inside[:PARTS_MAX]]
        return not proposals.is_divided_among(old, parts, anchor.path)
    new = view.read(place)
    return new is None or not proposals.is_same_but_for_paths(old, new, place)


def _followed(anchor: Anchor, view: View, head: AtHead) -> Seen:
    """Return where a missing file went, or what replaced it."""
    found = _successor(anchor, head)
    is_folder = anchor.method is Method.FOLDER
    if (found is None or not _is_there(found, view)) and is_folder and isinstance(view, WorkTree):
        folder = found.path if found is not None else anchor.path
        moved, lost = view.moved_inside(folder)
        found = successors.of_folder(folder, moved, (), lost)
    if found is None or not _is_there(found, view):
        return Seen()
    if found.sure:
        return Seen(place=found.path, rewritten=is_folder and _is_mixed(anchor, found.path, head))
    parts = tuple(part for part in found.parts if view.has_folder(part))
    return Seen(likely=found.path, elsewhere=parts[:ELSEWHERE_MAX] if len(parts) > 1 else ())


def _is_mixed(anchor: Anchor, place: str, head: AtHead) -> bool:
    """Return whether a moved folder is not in one place as it was.

    Some of its files went elsewhere, or most of the sampled files have other content now.
    """
    if not head.knows(anchor):
        return False
    inside = f"{anchor.path}/"
    window = head.window(anchor.commit)
    old = [one for one in window.changes.listed if one.old and one.old.startswith(inside)]
    came = [one for one in old if one.new and one.new.startswith(f"{place}/")]
    if any(one.new and one not in came for one in old):
        return True
    read = head.history.read_blob
    kept = 0
    for one in old[:PARTS_MAX]:
        if one.new is None or one not in came:
            continue
        same = one.old_blob == one.new_blob
        then, now = (None, None) if same else (read(one.old_blob), read(one.new_blob))
        both = then is not None and now is not None
        kept += same or (both and proposals.is_same_but_for_paths(then or b"", now or b"", one.new))
    return 2 * kept < len(old[:PARTS_MAX])


def _is_there(found: Successor, view: View) -> bool:
    return view.find(found.path) is not None or view.has_folder(found.path)


def _successor(anchor: Anchor, head: AtHead) -> Successor | None:
    if not head.knows(anchor):
        return None
    window = head.window(anchor.commit)
    changes = window.changes
    if anchor.method is Method.FOLDER:
        return _folder_successor(anchor, head)
    uses, _ = _uses(anchor, head)
    instead = _paths(uses.replaced, head)
    renamed = dict(changes.renamed)
    renamed.pop(anchor.path, None)
    if (to := head.renamed_to(anchor)) is not None:
        renamed[anchor.path] = to
    found = successors.of_file(anchor.path, renamed, changes.added, instead)
    return found or successors.by_custom(anchor.path)


def _folder_successor(anchor: Anchor, head: AtHead) -> Successor | None:
    """Return where a folder went: by comparison, else by the commits that moved its files.

    The comparison misses files that also changed after they moved.
    """
    changes = head.window(anchor.commit).changes
    inside = f"{anchor.path}/"
    removed = [path for path in changes.removed if path.startswith(inside)]
    if sum(old.startswith(inside) for old in changes.renamed) <= len(removed):
        went = head.history.way_of_folder(anchor.path, anchor.commit, head.head.commit)
        if went is not None:
            return Successor(went, sure=True)
    return successors.of_folder(
        anchor.path,
        changes.renamed,
        changes.added,
        removed,
        was_there=lambda folder: head.history.has_folder(anchor.commit, folder),
    )


def _paths(words: Iterable[str], head: AtHead) -> list[str]:
    """Return the paths that words mean which replaced another path."""
    tree = head.listing()
    named = []
    for put in words:
        token = put.strip("./")
        path = tree.match(token) if _PATHS.fullmatch(token) else None
        if path is not None:
            named.append(path)
    return named


def _see_folder(anchor: Anchor, view: View, head: AtHead) -> Seen:
    # Always observed: its sighting from when it was gone must not stay once it is back.
    found = view.find(anchor.path)
    if view.has_folder(anchor.path):
        is_touched = head.knows(anchor) and head.window(anchor.commit).touched_inside(anchor.path)
        return Seen(place=anchor.path, same_bytes=not is_touched)
    if found is not None:
        return Seen(unknown=f"{as_name(anchor.path)} is a file now")
    if not head.has_folder(anchor.path) and head.is_of_another_history(anchor):
        return file_state.untold(anchor, f"{as_name(anchor.path)}/ is not there")
    return _followed(anchor, view, head)


def _see_pattern(anchor: Anchor, view: View, head: AtHead) -> Seen:
    """Return whether a file matches the anchored pattern, or where most of its files are now."""
    if anchor.is_members:
        return members.see_folder(anchor, view)
    pattern = anchor.symbol
    if view.matching(pattern):
        return Seen(place=anchor.path, same_bytes=True, span=Span.SAME)
    meant = _at_head(anchor, head)
    if not meant and head.is_of_another_history(anchor):
        return file_state.untold(anchor, f"no file matches {as_name(pattern)}")
    went = _now(meant, view, head)
    named = Counter(
        found for old, new in went.items() if (found := targets.following(pattern, old, new))
    )
    best, count = named.most_common(1)[0] if named else (None, 0)
    if best is not None and 2 * count > len(meant) and not _means_others(best, went, anchor, head):
        return Seen(place=best, span=Span.MISSING)
    if 2 * len(went) > len(meant):
        # Their folders, the most frequent first; a file at the top stands for itself.
        places = Counter(new.rpartition("/")[0] or new for new in went.values())
        ordered = sorted(places, key=lambda place: (-places[place], place))
        return Seen(span=Span.MISSING, elsewhere=tuple(ordered[:ELSEWHERE_MAX]))
    likely = best if 2 * count > len(went) and 4 * count >= len(meant) else None
    return Seen(span=Span.MISSING, likely=likely)


def _means_others(pattern: str, went: Mapping[str, str], anchor: Anchor, head: AtHead) -> bool:
    """Return whether the pattern now matches files that other files joined later.

    A statement about all files of a pattern may not hold for those.
    """
    came = set(head.window(anchor.commit).changes.added) if head.knows(anchor) else set()
    there = head.listing()
    return bool(
        set(there.matching(pattern))
        - set(there.matching(anchor.symbol))
        - came
        - set(went.values())
    )


def _at_head(anchor: Anchor, head: AtHead) -> dict[str, str | None]:
    """Return the files that the pattern matched, and the path of each at HEAD; None: it has none.

    Of many files only the first ones, by path, are looked up.
    """
    here = sorted(head.listing().matching(anchor.symbol))[:MOVED_INSIDE_MAX]
    if here:
        return dict(zip(here, here, strict=True))
    if not head.knows(anchor):
        return {}
    changes = head.window(anchor.commit).changes
    left = Tree.of((*changes.renamed, *changes.removed)).matching(anchor.symbol)
    meant = sorted(left)[:MOVED_INSIDE_MAX]
    renamed = {path: changes.renamed.get(path) for path in meant}
    if 2 * sum(to is not None for to in renamed.values()) > len(renamed):
        return renamed
    followed = (replace(anchor, path=path, symbol="", method=Method.FILE) for path in meant)
    return {one.path: head.renamed_to(one) for one in islice(followed, FOLLOWED_MAX)}


def _now(meant: Mapping[str, str | None], view: View, head: AtHead) -> dict[str, str]:
    """Return the files that exist, also those that moved without a commit; first paths only."""
    found: dict[str, str] = {}
    for old, committed in meant.items():
        place = committed if committed is not None and view.find(committed) is not None else None
        if committed is not None and place is None and isinstance(view, WorkTree):
            blob = head.find(committed)
            place = view.moved_to(committed, (blob.blob,) if blob is not None else ())
        if place is not None:
            found[old] = place
    return found


def _see_word(anchor: Anchor, view: View, head: AtHead) -> Seen:
    place = file_state.see(replace(anchor, method=Method.FILE), view, head)
    if place.unknown:
        return place
    if place.same_bytes:
        return replace(place, span=Span.SAME)
    if place.place is not None:
        data = view.read(place.place)
        if data is None:
            return Seen(unknown=f"{as_name(place.place)} could not be read")
        stored = file_state.of_pointer(anchor, place.place, data, head)
        if stored is not None:
            return stored
        if has_word(data, anchor.symbol.encode()):
            return Seen(place=place.place, span=Span.SAME)
    holding = [path for path in view.using(anchor.symbol) if file_state.is_code(path)]
    if not file_state.is_page(anchor.path) and all(map(file_state.is_page, holding)):
        holding = []  # a page shows what a program said once, or names what no program has
    if not holding and view.listing().is_name(last_part(anchor.symbol)):
        return Seen(place=place.place, span=Span.SAME)
    return Seen(place=place.place, span=Span.MISSING, elsewhere=tuple(holding[:ELSEWHERE_MAX]))


def _see_target(anchor: Anchor, view: View, head: AtHead) -> Seen:
    text, seen = _text(anchor, view, head)
    if text is None:
        return _unless_below(anchor, seen)
    place = seen.place or anchor.path
    if targets.defines_target(place, text, anchor.symbol) or _is_included(
        anchor.symbol, place, text, view
    ):
        return _unless_below(anchor, replace(seen, span=Span.SAME))
    if targets.is_broken(place, text):
        return Seen(unknown=f"{as_name(place)} does not parse as JSON at the moment")
    then = (head.history.read_blob(anchor.blob) if anchor.blob else None) or b""
    heir = targets.renamed(place, then.decode("utf-8", "replace"), text, anchor.symbol)
    likely = None if heir else _defining_target(anchor, place, view)
    return replace(seen, span=Span.MISSING, heir=heir, likely=likely)


def _unless_below(anchor: Anchor, seen: Seen) -> Seen:
    """Return `seen`; as missing where a build file at the top of the work tree went into a folder.

    At the top a command finds its build file there, and nowhere below.
    """
    place = seen.place or ""
    if seen.span is Span.SAME and "/" in place and "/" not in anchor.path:
        return replace(seen, span=Span.MISSING, likely=place)
    return seen


def _is_included(target: str, place: str, text: str, view: View) -> bool:
    """Return whether an included file of a build file defines a target."""
    found: list[str] = []
    for pattern in targets.included(place, text):
        found += islice(view.listing().matching(f"**/{pattern}"), INCLUDED_MAX)
    return any(
        targets.defines_target(place, (view.read(path) or b"").decode("utf-8", "replace"), target)
        for path in found[:INCLUDED_MAX]
    )


def _defining_target(anchor: Anchor, place: str, view: View) -> str | None:
    """Return the one other build file of this name that defines a target; None for several."""
    name = place.rpartition("/")[2]
    others = [path for path in view.listing().named(name) if path != place]
    found = [
        path
        for path in sorted(others, key=lambda path: (path.count("/"), path))[:SYMBOL_FILES_MAX]
        if targets.defines_target(
            path, (view.read(path) or b"").decode("utf-8", "replace"), anchor.symbol
        )
    ]
    return found[0] if len(found) == 1 else None


def _see_value(anchor: Anchor, view: View, head: AtHead) -> Seen:
    if anchor.is_declared:
        return file_state.see_declared(anchor, view, head)
    text, seen = _text(anchor, view, head)
    if text is None:
        is_lost = anchor.is_members and seen.place is None
        return replace(seen, span=Span.SAME) if is_lost else seen  # it may be in another file
    if anchor.is_members:
        place = seen.place or anchor.path
        return members.observed(anchor, members.in_file(anchor, place, text), place)
    if anchor.is_spot:
        is_there = literals.is_at_spot(anchor.symbol, anchor.fingerprint, text)
        return replace(seen, span=Span.SAME if is_there else Span.MISSING)
    if anchor.is_held:
        then = head.history.read_blob(anchor.blob) if anchor.blob else None
        number = number_now(anchor, then, seen.place or anchor.path, text.encode())
        if number == anchor.value:
            return replace(seen, span=Span.SAME)
        return replace(seen, span=Span.DIFFERENT, instead=number)
    now = value_in(anchor, seen.place or anchor.path, text.encode())
    if anchor.symbol.endswith(ASSIGNED) or anchor.is_in_place:
        # What is given elsewhere, or worked out, may be the same.
        now = now or anchor.value
    if now is None:
        return replace(seen, span=Span.MISSING)
    span = Span.SAME if value_holds(anchor, now) else Span.DIFFERENT
    return replace(seen, span=span, instead=now)


def number_now(anchor: Anchor, then: bytes | None, path: str, data: bytes) -> str:
    """Return the number that a definition now has where the anchored number was.

    The anchored number itself where nothing else is certain.

    Args:
        anchor: on a number inside a definition.
        then: the anchored version of its file; None when git never had it, or lost it.
        path: the name of the file now.
        data: the file now.
    """
    old = (anchor.path, then.decode("utf-8", "replace")) if then is not None else None
    new = (path, data.decode("utf-8", "replace"))
    now = inner_literals.now_in_place(old, new, anchor.name, anchor.value, anchor.places)
    return now or anchor.value


def value_in(anchor: Anchor, path: str, data: bytes) -> str | None:
    """Return the value that a file gives what is anchored; None when that is not certain."""
    if anchor.symbol.endswith(ASSIGNED):
        return inner_literals.assigned_literal(data, path, anchor.name)
    text = data.decode("utf-8", "replace")
    if anchor.is_declared:
        found = facts.declared(path.rpartition("/")[2], text)
        return (
            anchor.fingerprint
            if found is None or facts.is_among(anchor.name, found.names)
            else None
        )
    if anchor.is_members:
        return members.state(anchor, members.in_file(anchor, path, text))
    if anchor.is_spot:
        is_there = literals.is_at_spot(anchor.symbol, anchor.fingerprint, text)
        return anchor.fingerprint if is_there else None
    if anchor.is_in_place:
        return literals.now_at(anchor.fingerprint, text)
    if anchor.symbol == values.LINES:
        return str(values.lines_in(text))
    return values.version_in(path, text, anchor.symbol)


def value_holds(anchor: Anchor, now: str) -> bool:
    """Return whether the anchored value is still true where the file now says `now`."""
    if anchor.symbol == values.LINES:
        return values.lines_hold(int(anchor.fingerprint), int(now))
    if anchor.is_members:
        return now == anchor.fingerprint
    if anchor.symbol.endswith(ASSIGNED) or anchor.is_read_in_words:
        return now.strip('"') == anchor.value.strip('"')
    return values.same_version(anchor.fingerprint, now)


def _text(anchor: Anchor, view: View, head: AtHead) -> tuple[str | None, Seen]:
    """Return the content of the anchored file now; None when it is not needed or not readable."""
    seen = file_state.see(replace(anchor, method=Method.FILE), view, head)
    if seen.unknown:
        return None, seen
    if seen.place is None:
        return None, replace(seen, span=Span.MISSING)
    if seen.same_bytes:
        return None, replace(seen, span=Span.SAME)
    data = view.read(seen.place)
    if data is None:
        return None, Seen(unknown=f"{as_name(seen.place)} could not be read")
    stored = file_state.of_pointer(anchor, seen.place, data, head)
    if stored is not None:
        return None, stored
    if not file_state.is_valid(seen.place, data):
        what = "does not parse as JSON" if seen.place.endswith(".json") else "is not valid"
        return None, Seen(unknown=f"{as_name(seen.place)} {what} at the moment")
    return data.decode("utf-8", "replace"), seen


_OBSERVERS = {
    Method.FOLDER: _see_folder,
    Method.GLOB: _see_pattern,
    Method.WORD: _see_word,
    Method.TARGET: _see_target,
    Method.VALUE: _see_value,
}
