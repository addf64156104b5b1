"""Find the lines that stand inside a tag, such as `<details>` or `<bad_example>`.

A tag may say when the words in it hold, or that they are wrong. Tags that only frame instructions
say nothing of the kind.
"""

import re
from collections.abc import Sequence
from typing import Final

_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]*)(?:\s[^<>]*)?(?P<empty>/?)>")
_STARTS = re.compile(r" {0,3}</?[A-Za-z]")
_FENCE = re.compile(r" {0,3}(?:`{3}|~{3})")
_PLAIN: Final = re.compile(
    r"(?:project|coding|code|general|core|global|agent|critical|system|key|my|our|the)?[-_]?"
    r"(?:rules?|instructions?|guidelines?|conventions?|important|policy|policies|requirements?"
    r"|principles?|standards?|system|reminder|styles?|preferences?|memory|memories|context|project"
    r"|div|p|section|center|span|a|b|i|em|strong|ul|ol|li|br|hr|img|input)",
    re.IGNORECASE,
)
"""Names of tags that change nothing of what stands in them, or that hold no lines."""


def tagged(lines: Sequence[str]) -> frozenset[int]:
    """Return the lines, from 0, inside a tag that may change what they mean; its own among them.

    A name in angle brackets that is never closed is no tag.
    """
    found: set[int] = set()
    opened: list[str] = []
    in_fence = False
    for index, line in enumerate(lines):
        in_fence ^= _FENCE.match(line) is not None
        if in_fence or not _STARTS.match(line):
            found |= {index} if opened else set()
            continue
        for tag in _TAG.finditer(line):
            name = tag["name"].lower()
            if tag["end"]:
                if name in opened:
                    found.add(index)
                    del opened[opened.index(name) :]
            elif not tag["empty"] and not _PLAIN.fullmatch(name):
                closing = re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE)
                rest = (line[tag.end() :], *lines[index + 1 :])
                if any(map(closing.search, rest)):
                    opened.append(name)
        found |= {index} if opened else set()
    return frozenset(found)
