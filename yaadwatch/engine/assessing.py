"""What became of a memory: each anchor is looked at and judged, then all of them together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from yaadwatch.core.truth import verdict as judging
from yaadwatch.core.truth.doubt.features import Sight, features
from yaadwatch.core.truth.verdict import Judgement
from yaadwatch.engine import seeing
from yaadwatch.engine.looking import AtHead, View
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import YaadError


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessed:
    """What became of a memory: the judgement that stands for it, and all it was taken from."""

    worst: Judgement
    sights: tuple[Sight, ...]
    features: dict[str, float]


def expect(anchors: Iterable[Anchor], head: AtHead) -> None:
    """Tell which anchors the job will ask about, so that files are read once for all."""
    for anchor in anchors:
        if anchor.commit and anchor.commit != head.head.commit:
            head.window(anchor.commit).expect([seeing.word_of(anchor)])


def assess(text: str, anchors: Sequence[Anchor], view: View, head: AtHead) -> Assessed:
    """Return what became of a memory that says `text` and rests on `anchors`.

    Raises:
        ValueError: it rests on nothing.
    """
    sights = []
    for anchor in anchors:
        seen = seeing.see(anchor, view, head)
        sights.append(Sight(judgement=judging.judge(anchor, seen), seen=seen))
    changed = max((_changed(anchor, head) for anchor in anchors), default=0)
    return Assessed(
        worst=judging.combine([sight.judgement for sight in sights]),
        sights=tuple(sights),
        features=features(sights, text=text, changed_files=changed),
    )


def _changed(anchor: Anchor, head: AtHead) -> int:
    commit = anchor.commit
    if not commit or commit == head.head.commit or not head.history.has_commit(commit):
        return 0
    try:
        return len(head.window(commit).changes.listed)
    except YaadError:  # a broken history costs this feature, not the verdict
        return 0
