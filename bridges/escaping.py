"""Escape the words of a rule for a list item of an agent file, and compare words without escapes.

Agents read some signs as syntax: `@path` imports a file, `<!--` hides what follows. Formatters add
escapes of their own. Neither changes what a rule says, so words are compared without them.
"""

import re
from typing import Final

_CODE = re.compile(r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_AT_WORD = re.compile(r"(?<![\w@`/.:-])@(?=[\w.~/\\-])\S+")
_COMMENT = "<!--"
_STARTS_BLOCK = re.compile(
    r"(?P<sign>#{1,6}(?=\s|$)|[-*+>|](?=\s|$)|>|~{3}|(?:-{3,}|\*{3,}|_{3,}|={3,})$|\[[ xX]\](?=\s))"
)
_NUMBER = re.compile(r"(?P<number>\d{1,9})(?P<dot>[.)])(?=\s|$)")
_LINK = re.compile(r"<(https?://[^<>\s]+)>")
_TICKED_AT = re.compile(r"`(@[^`]*)`")
_STARS = re.compile(r"\s*([*_]+)\s*")

_END_OF_SENTENCE: Final = ".,;:!?)"


def escaped(words: str) -> str:
    """Return words in which nothing imports a file or opens a comment; code is left as it is."""
    parts, done = [], 0
    for code in _CODE.finditer(words):
        parts += [_escaped_text(words[done : code.start()]), code.group()]
        done = code.end()
    # A marker of the block is one even in code.
    return "".join((*parts, _escaped_text(words[done:]))).replace(_COMMENT, "<\\!--")


def escaped_start(words: str) -> str:
    """Return words that begin no heading, list, quote, ruler or task box, and are `escaped`."""
    words = escaped(words)
    if _STARTS_BLOCK.match(words):
        return "\\" + words
    return _NUMBER.sub(r"\g<number>\\\g<dot>", words, count=1) if _NUMBER.match(words) else words


def bare(text: str) -> str:
    """Return what texts have in common that differ in Markdown escapes and marks of emphasis only.

    For comparing; nobody reads it. Stars are counted, because they stand in patterns of files.
    """
    text = _LINK.sub(r"\1", text.replace("\\", ""))
    text = _TICKED_AT.sub(r"\1", text)
    return " ".join(_STARS.sub(lambda found: "*" * len(found[1]), text).split())


def _escaped_text(words: str) -> str:
    # Beside a tick that opens no code, another one would.
    return _AT_WORD.sub(r"\\\g<0>" if "`" in words else _in_code, words)


def _in_code(found: re.Match[str]) -> str:
    """Put `@path` into code, where no agent follows it; the end of a sentence stays outside."""
    word = found.group()
    path = word.rstrip(_END_OF_SENTENCE)
    return word if path == "@" else f"`{path}`{word[len(path) :]}"
