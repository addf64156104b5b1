"""How much each feature speaks for a memory being stale: a fitted logistic model, as one table."""

import math
from collections.abc import Mapping

WEIGHTS = {
    "intercept": -4.192,
    "anchors": 0.757,
    "definition_gone": 1.165,
    "definition_moved": -0.082,
    "focus": 0.766,
    "left_file": 1.506,
    "left_home": 1.470,
    "length": 0.182,
    "name_unused": 1.522,
    "place_gone": 2.969,
    "place_moved": 2.416,
    "place_unused": 3.548,
    "replaced": 0.730,
    "replaced_dense": 2.769,
    "share_changed": 0.779,
    "share_lost": 2.888,
    "share_touched": 0.389,
    "target_gone": 3.914,
    "value_changed": 5.500,
    "window": -0.150,
    "word_gone": 2.704,
}
SUSPECT = 0.35
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
