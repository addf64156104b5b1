"""How much each feature speaks for a memory being stale: a fitted logistic model, as one table."""

import math
from collections.abc import Mapping

WEIGHTS = {
    "intercept": -3.897,  # what a memory starts from: most are true
    "anchors": 1.120,  # how many anchors it has, log(1 + n)
    "definition_gone": 2.578,  # a definition is nowhere, and nothing graver was lost
    "place_lost": 4.041,  # a file, folder or pattern that it names is nowhere, or elsewhere
    "replaced_dense": 4.732,  # lines for each changed file on which one thing took a place, 0..1
    "share_lost": 1.809,  # the share of its anchors that are gone or moved, 0..1
    "share_touched": 0.359,  # the share whose file changed around it, 0..1
    "target_gone": 4.916,  # a build file does not define what a command runs
    "unused": 39.065,  # the share of its places that a thing lost / (3 + log(1 + changed files))
    "value_changed": 5.997,  # a length or version is another one now
    "window": -0.160,  # files that changed meanwhile, log(1 + n)
    "word_gone": 4.387,  # a word of the code stands nowhere in it
}
"""Fitted by `python -m tests.bench.stale fit`; docs/decisions/0011-verdicts.md says on what."""
SUSPECT = 0.5
"""Shown on request: one of the thresholds between which F1 hardly differs."""
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
