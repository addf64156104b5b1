"""How much each feature speaks for a memory being stale: a fitted logistic model, as one table."""

import math
from collections.abc import Mapping

WEIGHTS = {
    "intercept": -4.193,  # what a memory starts from: most are true
    "anchors": 0.762,  # how many anchors it has, log(1 + n)
    "definition_gone": 1.157,  # a definition is nowhere
    "definition_moved": -0.102,  # a definition is in another file
    "focus": 0.766,  # its own files among those that changed, 0..1
    "left_file": 1.504,  # a word left the file that the text names
    "left_home": 1.470,  # a rare word left the file it was anchored in
    "length": 0.181,  # how long the text is, log(1 + characters)
    "name_unused": 1.522,  # the same of a name or word, 0..1
    "place_gone": 2.947,  # a file, folder or pattern that it names is nowhere
    "place_moved": 2.431,  # a file or folder that it names is elsewhere
    "place_unused": 3.547,  # the share of the files that named a place and do so no more, 0..1
    "replaced": 0.729,  # lines on which one other thing stands in its place, log(1 + n)
    "replaced_dense": 2.774,  # those lines for each changed file, 0..1
    "share_changed": 0.779,  # the share whose definition or value changed, 0..1
    "share_lost": 2.900,  # the share of its anchors that are gone or moved, 0..1
    "share_touched": 0.391,  # the share whose file changed around it, 0..1
    "target_gone": 3.903,  # a build file does not define what a command runs
    "value_changed": 5.496,  # a length or version is another one now
    "window": -0.150,  # files that changed meanwhile, log(1 + n)
    "word_gone": 2.696,  # a word of the code stands nowhere in it
}
"""Fitted by `python -m tests.bench.stale fit`; docs/decisions/0011-verdicts.md says on what."""
SUSPECT = 0.4
"""Shown on request: the best F1 of the fit."""
WARN = 0.75
"""Shown everywhere: as a year of history bears it, see there."""


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
