"""Which names does a text mention only to say that they are not used, or not there any more?

"Use `fetch()` instead of `requests.get`" stays true when nothing calls `requests.get` any more, and
so does "`client.on()` does not exist": nothing rests on such a name.
"""

import re
from typing import Final

_MAY_BE: Final = (
    *("instead of", "rather than", "in place of", "as opposed to"),
    *("not exist", "n't exist", "no longer", "removed", "gone"),
)
# No pattern may look at a character again and again: a text may be 64,000 characters of anything.
_NAME = (
    r"(?:`[^`\n]{1,120}`|(?<![\w$.:/-])[\w$]{1,60}(?:(?:[.:/#]|::)[\w$]{1,60}){1,6}(?:\(\))?"
    r"|(?<![\w$.:/-])(?:[\w$]{1,60}\(\)|[A-Za-z0-9]{1,30}(?:_[A-Za-z0-9]{1,30}){1,6}))"
)
_NAMES = rf"{_NAME}(?:(?:, ?(?:or |and )?| or | and | ?/ ?){_NAME}){{0,5}}"
_TO_USE = (
    r"(?:(?:us(?:e|ing)|call(?:ing)?|pass(?:ing)?|import(?:ing)?|rely(?:ing)? on|reach(?:ing)? for"
    r"|the|an?|any|your own|raw|plain|bare|old|legacy|direct|manual|hand-written|deprecated)"
    r"\s{1,3})"
)
_INSTEAD = re.compile(
    r"(?i)\b(?:instead of|rather than|in place of|as opposed to)\s{1,3}"
    rf"{_TO_USE}{{0,4}}({_NAMES})"
)
_NO_MORE = r"no longer\s(?:needed|used|supported|available|required|necessary|there)"
_GONE = re.compile(
    rf"(?i)({_NAMES})(?:\s{{1,3}}[\w-]{{1,30}}){{0,3}}?,?\s{{1,3}}(?:(?:which|that)\s)?"
    r"(?:do(?:es)?(?:\snot|n['’]t)\sexist|no longer exists?"
    rf"|(?:is|are)\s(?:gone|{_NO_MORE})|(?:was|were|has been|have been)\sremoved)\b"
)
_CONDITION = re.compile(
    r"(?i)\b(?:if|when|whenever|unless|whether|until|while|where|in case)\b[^.!?\n]*\Z"
)
_SENTENCE_MAX = 200
"""Characters before a name in which a condition is looked for."""


def without(text: str) -> str:
    """Return a text with spaces in place of names of which it says that they are not used.

    "If `config.toml` does not exist" is no such thing.
    """
    lowered = text.lower()
    if not any(map(lowered.__contains__, _MAY_BE)):
        return text
    for pattern in (_INSTEAD, _GONE):
        for found in list(pattern.finditer(text)):
            start, end = found.span(1)
            before = text[max(0, start - _SENTENCE_MAX) : start]
            if pattern is _INSTEAD or _CONDITION.search(before) is None:
                text = text[:start] + " " * (end - start) + text[end:]
    return text
