"""What statements rested on in the commit that gave them their words."""

from collections.abc import Iterator, Sequence

from yaadwatch.engine.anchored import anchoring, seeing
from yaadwatch.engine.anchored.anchoring import Source
from yaadwatch.engine.anchored.commit import AtHead
from yaadwatch.engine.anchored.worktree import WorkTree
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.settings import ANCHORS_PER_NODE_MAX
from yaadwatch.system.git.layout import Head

Numbered = tuple[int, list[Anchor]]


def as_written(written: Sequence[tuple[str, Source]], head: AtHead) -> Iterator[Numbered]:
    """Yield what the statements of an older commit rested on in that, with their places.

    Args:
        written: the commit of each, '' where it counts from now, and the statement.
        head: where HEAD is.

    Raises:
        YaadError: from git.
    """
    groups: dict[str, list[int]] = {}
    for at, (commit, _) in enumerate(written):
        if commit not in ("", head.head.commit):
            groups.setdefault(commit, []).append(at)
    begun = []
    for commit, places in groups.items():
        view = AtHead(history=head.history, head=Head(commit=commit, branch=""), names={})
        begun.append((view, places, anchoring.begin([written[at][1] for at in places], view)))
    head.history.expect(word for _, _, sought in begun for word in anchoring.words_of(sought))
    for view, places, sought in begun:
        yield from zip(places, anchoring.found(sought, view, view.head.commit), strict=True)


def and_since(
    then: Sequence[Anchor], now: Sequence[Anchor], tree: WorkTree, head: AtHead
) -> list[Anchor]:
    """Return what a statement rested on when it was written, and what it speaks of that came later.

    What it speaks of now in another place is not new: it went there.
    """
    later = {(one.path, one.symbol): one for one in now}
    for anchor in then:
        later.pop((anchor.path, anchor.symbol), None)
    for anchor in then if later else ():
        seen = seeing.see(anchor, tree, head)
        for place in (seen.place or anchor.path, *seen.elsewhere):
            later.pop((place, anchor.symbol), None)
    return [*then, *later.values()][:ANCHORS_PER_NODE_MAX]
