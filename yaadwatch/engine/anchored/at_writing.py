"""What statements rested on in the commit that gave them their words."""

from collections.abc import Iterator, Sequence

from yaadwatch.engine.anchored import anchor_state, anchoring
from yaadwatch.engine.anchored.anchoring import Source
from yaadwatch.engine.anchored.commit import AtHead
from yaadwatch.engine.anchored.worktree import View
from yaadwatch.engine.git_queries import History
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.settings import ANCHORS_PER_NODE_MAX
from yaadwatch.system.git.layout import Head

Numbered = tuple[int, list[Anchor]]


def as_written(written: Sequence[tuple[str, Source]], history: History) -> Iterator[Numbered]:
    """Yield what statements rested on in the commits that gave them their words, with their places.

    Args:
        written: the commit of each, and the statement.
        history: who knows the commits.

    Raises:
        YaadError: from git.
    """
    groups: dict[str, list[int]] = {}
    for at, (commit, _) in enumerate(written):
        groups.setdefault(commit, []).append(at)
    begun = []
    for commit, places in groups.items():
        view = at_commit(history, commit)
        begun.append((view, places, anchoring.begin([written[at][1] for at in places], view)))
    history.expect(word for _, _, sought in begun for word in anchoring.words_of(sought))
    for view, places, sought in begun:
        yield from zip(places, anchoring.found(sought, view, view.head.commit), strict=True)


def at_commit(history: History, commit: str) -> AtHead:
    """Return the files as a commit has them, whatever is checked out."""
    return AtHead(history=history, head=Head(commit=commit, branch=""), names={})


def and_since(
    then: Sequence[Anchor], now: Sequence[Anchor], view: View, head: AtHead
) -> list[Anchor]:
    """Return what a statement rested on when it was written, and what it speaks of that came later.

    What it speaks of now in another place is not new: it went there.

    Args:
        then: what it rested on when it was written.
        now: what it rested on when it was read.
        view: the files as they were when it was read.
        head: the commit that was checked out then.
    """
    later = {(one.path, one.symbol): one for one in now}
    for anchor in then:
        later.pop((anchor.path, anchor.symbol), None)
    for anchor in then if later else ():
        seen = anchor_state.see(anchor, view, head)
        for place in (seen.place or anchor.path, *seen.elsewhere):
            later.pop((place, anchor.symbol), None)
    return [*then, *later.values()][:ANCHORS_PER_NODE_MAX]
