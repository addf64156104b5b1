"""Find what is left of a rule whose beginning was deleted: alone it may say the opposite."""

import re
from collections.abc import Collection, Sequence

from yaadwatch.core.sync.guard import Paused
from yaadwatch.core.sync.match import Said
from yaadwatch.core.text import text_hash
from yaadwatch.model.agent_files import Agreed

_MARKER = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?")
_WORDS_MIN = 2
"""A shorter rest, such as one word, is said by other rules, too."""


def rest_of_a_rule(
    rows: Sequence[Agreed], said: Sequence[Said], known: Collection[str]
) -> Paused | None:
    """Return why a block waits for a person that holds the body of a rule without its beginning.

    Args:
        rows: what was agreed.
        said: what the block says now.
        known: keys of words that are a rule by themselves.
    """
    keys, lines = {one.key for one in said}, {one.hash for one in said}
    agreed = {text_hash(row.graph) for row in rows if row.graph}
    gone = [
        row.graph
        for row in rows
        if row.file and row.graph and row.file not in lines and text_hash(row.graph) not in keys
    ]
    changed = [one for one in said if one.key not in agreed and one.key not in known]
    for rule in gone:
        for one in changed:
            if _plain(one.text) in _body(rule) or any(
                one.text.startswith(row.graph) and _is_rest(rule, one.text[len(row.graph) :])
                for row in rows
                if row.graph and row.graph != rule
            ):
                beginning = " ".join(rule.split())[:60]
                return Paused(
                    reason=f'the beginning of the rule "{beginning}" is gone and the rest is left,'
                    " so nothing was read or written; delete the rest, or put the beginning back",
                    lost=1,
                    total=len(rows),
                )
    return None


def _is_rest(rule: str, words: str) -> bool:
    """Return whether words are all of a rule but its beginning, or a line of its body."""
    words = _plain(words)
    return words in _body(rule) or (
        len(words.split()) >= _WORDS_MIN and _plain(rule).endswith(f" {words}")
    )


def _body(rule: str) -> set[str]:
    return {_plain(line) for line in rule.split("\n")[1:] if line.strip()}


def _plain(text: str) -> str:
    """Return words on one line in small letters, without the markers of lists."""
    lines = (_MARKER.sub("", line, count=1) for line in text.split("\n"))
    return " ".join(" ".join(lines).split()).casefold()
