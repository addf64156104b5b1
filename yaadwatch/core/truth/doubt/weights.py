"""How much each feature speaks for a memory being stale: a fitted logistic model, as one table."""

import math
from collections.abc import Mapping

WEIGHTS = {
    "intercept": -4.000,  # what a memory starts from: most are true
    "anchors": 1.065,  # how many anchors it has, log(1 + n)
    "definition_gone": 5.912,  # a definition, and nothing graver
    "place_lost": 5.829,  # a file, folder or pattern that it names is nowhere, elsewhere, replaced
    "target_gone": 5.843,  # a build file does not define what a command runs
    "unused": 3.002,  # a thing lost four fifths of the places that named it, two at least
    "value_changed": 5.531,  # a length or version is another one now
    "word_gone": 5.840,  # a word of the code stands nowhere in it
}
"""Fitted by `python -m tests.bench.stale fit`; docs/decisions/0011-verdicts.md says on what."""
WARN = 0.8
"""Shown everywhere: at least eight of ten such memories are stale; see there."""


def score(features: Mapping[str, float]) -> float:
    """Return how likely a memory with these features is stale, 0..1; 0 when there are none."""
    if not features:
        return 0.0
    total = WEIGHTS["intercept"]
    total += sum(WEIGHTS.get(name, 0.0) * value for name, value in features.items())
    return 1.0 / (1.0 + math.exp(-total))


def level(score: float) -> str:
    """Return 'warn', or '' for a score that is too low to be shown."""
    return "warn" if score >= WARN else ""
