"""What kind of answer does a question want, and which relations lead to such answers?"""

import re
from collections.abc import Mapping
from typing import Final

WHY, WHEN, HOW, WHO, WHAT = INTENTS = ("why", "when", "how", "who", "what")

_ASKED: Final = (
    (WHY, re.compile(r"\bwhy\b|\bhow come\b|\breasons?\b|\bwhat for\b|\brationale\b|\bcaused?\b")),
    (WHEN, re.compile(r"\bwhen\b|\bsince\b|\bhow long\b|\bwhich (?:day|date|release|version)\b")),
    (WHO, re.compile(r"\bwho(?:m|se)?\b|\bby whom\b|\bowners?\b|\bmaintainers?\b")),
    (HOW, re.compile(r"\bhow\b|\bsteps?\b|\bway to\b")),
)
_ELSE: Final = 0.3  # of any kind of edge that a question has no opinion on
_WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    WHY: {"caused_by": 1.0, "led_to": 1.0, "supersedes": 0.8, "part_of": 0.4},
    WHEN: {"supersedes": 1.0, "learned_in": 0.8, "led_to": 0.6, "caused_by": 0.6},
    HOW: {"depends_on": 1.0, "part_of": 0.8, "touches": 0.8, "led_to": 0.4},
    WHO: {"learned_in": 1.0, "touches": 0.6, "part_of": 0.4},
    WHAT: {"relates_to": 0.8, "part_of": 0.8, "touches": 0.6, "depends_on": 0.6},
}


def intent_of(question: str) -> str:
    """Return what a question wants to hear: why, when, who, how, or else what."""
    lowered = question.lower()
    return next((intent for intent, asked in _ASKED if asked.search(lowered)), WHAT)


def edge_weight(intent: str, kind: str) -> float:
    """Return how much an edge of `kind` leads to an answer to such a question, 0.0 to 1.0."""
    return _WEIGHTS[intent].get(kind, _ELSE)
