"""Words of Chinese, Japanese and Korean, which stand side by side without a space.

The full-text index takes a stretch without a space for one word. So every such letter is indexed as
a word of its own, and a question is looked for by every two of them that stand side by side.
"""

import re
import unicodedata
from typing import Final

# Bopomofo, Han, Hangul, Hiragana and Katakana in the form that NFKC gives them.
_LETTERS: Final = (
    r"\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u303c\u3041-\u312f\u31a0-\u31bf"
    r"\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufad9"
    r"\U0001aff0-\U0001b16f\U00020000-\U0003fffd"
)
_LETTER: Final = re.compile(f"[{_LETTERS}]")
_RUN: Final = re.compile(f"[{_LETTERS}]+")
# And the forms that become such letters, or stand among them: radicals, half and full width.
_ANY_FORM: Final = re.compile(rf"[{_LETTERS}\u2e80-\u2fd5\u3131-\u318e\u3200-\u33ff\uff01-\uffdc]")


def spaced(text: str) -> str:
    """Return `text` as it is indexed: each of these letters by itself, in the form of NFKC.

    A text without any of them stays as it is.
    """
    return text if _is_without(text) else _LETTER.sub(r" \g<0> ", _composed(text))


def apart(text: str) -> str:
    """Return `text` with stretches of these letters apart from all others, in the form of NFKC.

    A text without any of them stays as it is.
    """
    return text if _is_without(text) else _RUN.sub(r" \g<0> ", _composed(text))


def is_cjk(word: str) -> bool:
    """Return whether a word of a text that was set `apart` is of these letters."""
    return not word.isascii() and _LETTER.match(word) is not None


def is_hiragana(word: str) -> bool:
    """Return whether a word is of Hiragana only: mostly particles and endings, no subject."""
    return not word.isascii() and all("\u3041" <= letter <= "\u309f" for letter in word)


def bigrams(word: str) -> list[str]:
    """Return every two letters side by side of a word of these letters; or the only one."""
    return [word[at : at + 2] for at in range(len(word) - 1)] or [word]


def letters(text: str) -> set[str]:
    """Return these letters of `text`, in the form of NFKC."""
    return set() if _is_without(text) else {*_LETTER.findall(_composed(text))}


def _is_without(text: str) -> bool:
    return text.isascii() or _ANY_FORM.search(text) is None


def _composed(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
