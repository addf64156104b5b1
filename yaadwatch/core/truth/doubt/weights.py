"""How much each feature speaks for a memory being stale: a fitted logistic model, as one table."""

import math
from collections.abc import Mapping

WEIGHTS = {
    "intercept": -3.879,  # what a memory starts from: most are true
    "anchors": 0.884,  # how many anchors it has, log(1 + n)
    "definition_gone": 5.922,  # a definition, and nothing graver
    "place_lost": 5.897,  # a file, folder or pattern that it names is nowhere, elsewhere, a shell
    "replaced": 0.45,  # lines on which another thing took the place of one, log(1 + n) squared
    "target_gone": 5.876,  # a build file does not define what a command runs
    "unused": 4.502,  # a thing lost four fifths of the places that named it, two at least
    "value_changed": 5.618,  # a length or version is another one now
    "word_gone": 5.877,  # a word of the code stands nowhere in it
}
"""Fitted by `python -m tests.bench.stale fit`; docs/decisions/0011-verdicts.md says on what."""
SUSPECT = 0.78
"""Shown on request: where next to nothing of what people left as it was is doubted; see there."""
WARN = 0.8
"""Shown everywhere: where more than half of what is true is still caught; see there."""


def score(features: Mapping[str, float]) -> float:
    """Return how likely a memory with these features is stale, 0..1; 0 when there are none."""
    if not features:
        return 0.0
    total = WEIGHTS["intercept"]
    total += sum(WEIGHTS.get(name, 0.0) * value for name, value in features.items())
    return 1.0 / (1.0 + math.exp(-total))


def at_most_suspect(score: float) -> float:
    """Return a score that is no warning."""
    return min(score, WARN - 0.01)


def level(score: float) -> str:
    """Return 'warn', 'suspect' or '', whichever `score` deserves."""
    if score >= WARN:
        return "warn"
    return "suspect" if score >= SUSPECT else ""
