"""How much each feature speaks for a memory being stale: a fitted logistic model, as one table."""

import math
from collections.abc import Mapping

WEIGHTS = {
    "intercept": -4.145,  # what a memory starts from: most are true
    "anchors": 0.854,  # how many anchors it has, log(1 + n)
    "definition_gone": 30.711,  # a definition, and nothing graver; 1 / (3 + log(1 + changed files))
    "place_lost": 5.001,  # a file, folder or pattern that it names is nowhere, elsewhere, a shell
    "replaced_dense": 5.328,  # lines for each changed file on which one thing took a place, 0..1
    "target_gone": 6.147,  # a build file does not define what a command runs
    "unused": 35.765,  # the share of its places that a thing lost / (3 + log(1 + changed files))
    "value_changed": 5.896,  # a length or version is another one now
    "word_gone": 5.552,  # a word of the code stands nowhere in it
}
"""Fitted by `python -m tests.bench.stale fit`; docs/decisions/0011-verdicts.md says on what."""
SUSPECT = 0.66
"""Shown on request: where at most 3 % of what people left as it was are doubted; see there."""
WARN = 0.8
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
