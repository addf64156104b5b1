"""What a view shows of an anchored pattern: does a file match, and where are those that did?"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

from yaadwatch.core.quoting import as_name
from yaadwatch.core.references import patterns
from yaadwatch.core.references.tree import Tree
from yaadwatch.core.truth.verdict import Seen, Span
from yaadwatch.engine.anchored import file_state
from yaadwatch.engine.anchored.commit import AtHead
from yaadwatch.engine.anchored.worktree import MOVED_INSIDE_MAX, View, WorkTree
from yaadwatch.model.anchors import Anchor, Method

ELSEWHERE_MAX = 8
"""Places named of those in which a word stands now, or what was in a folder or of a pattern is."""
FOLLOWED_MAX = 8
"""Files that are followed through the history, one by one, where its ends show no renames."""


def see(anchor: Anchor, view: View, head: AtHead) -> Seen:
    """Return whether a file matches the anchored pattern, else where most of its files are now.

    Args:
        anchor: on a pattern.
        view: the work tree, or a commit.
        head: the commit that is checked out, which knows what happened since the anchor's.

    Raises:
        YaadError: git did not answer, or refused.
    """
    pattern = anchor.symbol
    if view.matching(pattern):
        return Seen(place=anchor.path, same_bytes=True, span=Span.SAME)
    meant = _at_head(anchor, head)
    if not meant and head.is_of_another_history(anchor):
        return file_state.untold(anchor, f"no file matches {as_name(pattern)}")
    went = _now(meant, view, head)
    named = Counter(
        found for old, new in went.items() if (found := patterns.following(pattern, old, new))
    )
    best, count = named.most_common(1)[0] if named else (None, 0)
    if best is not None and 2 * count > len(meant) and not _means_others(best, went, anchor, head):
        return Seen(place=best, span=Span.MISSING)
    if 2 * len(went) > len(meant):
        return Seen(span=Span.MISSING, elsewhere=_folders(went)[:ELSEWHERE_MAX])
    likely = best if 2 * count > len(went) and 4 * count >= len(meant) else None
    return Seen(span=Span.MISSING, likely=likely)


def _means_others(pattern: str, went: Mapping[str, str], anchor: Anchor, head: AtHead) -> bool:
    """Return whether a pattern means files that were there before others came to it.

    What a text says of all files of a pattern may not be so of those.
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
    """Return the files that a pattern meant, and where each is at HEAD; None: it is nowhere.

    Of many the first ones, by path, tell of all.
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
    """Return the files that are there, by their first paths: also those moved without a commit."""
    found: dict[str, str] = {}
    for old, committed in meant.items():
        place = committed if committed is not None and view.find(committed) is not None else None
        if committed is not None and place is None and isinstance(view, WorkTree):
            blob = head.find(committed)
            place = view.moved_to(committed, (blob.blob,) if blob is not None else ())
        if place is not None:
            found[old] = place
    return found


def _folders(went: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders of files, those with most of them first; of one at the top the file."""
    places = Counter(new.rpartition("/")[0] or new for new in went.values())
    return tuple(sorted(places, key=lambda place: (-places[place], place)))
