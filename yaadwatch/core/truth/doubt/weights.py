"""How much each feature speaks for a memory being stale: a fitted logistic model, as one table."""

import math
from collections.abc import Mapping

WEIGHTS = {
    "intercept": -3.691,  # what a memory starts from: most are true
    "anchors": 1.027,  # how many anchors it has, log(1 + n)
    "definition_gone": 1.132,  # a definition is nowhere
    "left_file": 1.512,  # a word left the file that the text names
    "left_home": 1.468,  # a rare word left the file it was anchored in
    "name_unused": 1.511,  # the same of a name or word, 0..1
    "place_gone": 2.920,  # a file, folder or pattern that it names is nowhere
    "place_moved": 2.445,  # a file or folder that it names is elsewhere
    "place_unused": 3.475,  # the share of the files that named a place and do so no more, 0..1
    "replaced": 0.714,  # lines on which one other thing stands in its place, log(1 + n)
    "replaced_dense": 2.887,  # those lines for each changed file, 0..1
    "share_changed": 0.787,  # the share whose definition or value changed, 0..1
    "share_lost": 2.992,  # the share of its anchors that are gone or moved, 0..1
    "share_touched": 0.502,  # the share whose file changed around it, 0..1
    "target_gone": 3.923,  # a build file does not define what a command runs
    "value_changed": 5.430,  # a length or version is another one now
    "window": -0.152,  # files that changed meanwhile, log(1 + n)
    "word_gone": 2.770,  # a word of the code stands nowhere in it
}
"""Fitted by `python -m tests.bench.stale fit`; docs/decisions/0011-verdicts.md says on what."""
SUSPECT = 0.45
"""Shown on request: in the middle of the thresholds between which F1 hardly differs."""
WARN = 0.75
"""Shown everywhere: where more than half of what is true is still caught; see there."""


def score(features: Mapping[str, float]) -> float:
    """Return how likely a memory with these features is stale, 0..1; 0 when there are none."""
    if not features:
        return 0.0
    total = WEIGHTS["intercept"]
    total += sum(WEIGHTS.get(name, 0.0) * value for name, value in features.items())
    return 1.0 / (1.0 + math.exp(-total))


def level(score: float) -> str:
    """Return 'warn', 'suspect' or '', whichever `score` deserves."""
    if score >= WARN:
        return "warn"
    return "suspect" if score >= SUSPECT else ""
