"""Find another commit to compare with, when the one at which a memory was made has disappeared.

A branch is squashed or rebased, and garbage collection removes its commits. The history of HEAD
mostly has what they held: the newest commit there that holds what is anchored serves as well.
"""

from collections.abc import Sequence
from dataclasses import replace

from yaadwatch.engine.anchored import anchoring, uncommitted
from yaadwatch.engine.anchored.at_writing import at_commit
from yaadwatch.engine.anchored.commit import AtHead
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import YaadError


def with_bases(anchors: Sequence[Anchor], head: AtHead) -> tuple[Anchor, ...]:
    """Return anchors, those whose commit is not in the repository as another commit holds them."""
    return tuple(_based(anchor, head) for anchor in anchors)


def _based(anchor: Anchor, head: AtHead) -> Anchor:
    try:
        if not head.is_of_another_history(anchor):
            return anchor
        return head.history.worked_out(("base", anchor), _in_history, anchor, head)
    except YaadError:  # then nothing is known of its history, as before
        return anchor


def _in_history(anchor: Anchor, head: AtHead) -> Anchor:
    for commit in (head.head.commit, *head.history.commits_of(anchor.path, head.head.commit)):
        at = head if commit == head.head.commit else at_commit(head.history, commit)
        if uncommitted.is_held(anchor, at):
            found = anchoring.again(anchor, anchor.path, at, commit)
            return anchor if found is None else replace(found, node=anchor.node)
    return anchor
