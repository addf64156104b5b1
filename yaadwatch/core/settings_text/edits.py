"""What an edit of settings did: the text after it, and what is needed to take it back exactly."""

from collections.abc import Iterable
from dataclasses import dataclass

Path = tuple[str | int, ...]
"""Where a value stands: keys of objects, places in lists."""


class NotUnderstoodError(ValueError):
    """A text is not what it should be, so nothing may be written to it. The message says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A value of ours in somebody's text.

    Args:
        at: where it stands.
        made: where the outermost thing stands that was made for it: itself, or what it is in. Empty
            for the whole of a text that held nothing.
        pieces: what was put in, in the order of the text; with nothing else changed, taking out
            just these gives back what was there. Empty when that is not known.
    """

    at: Path
    made: Path
    pieces: tuple[str, ...] = ()


def with_pieces(text: str, pieces: Iterable[tuple[int, str]]) -> str:
    """Return `text` with each piece put in at its place, an offset into `text`."""
    for at, piece in sorted(pieces, key=lambda one: one[0], reverse=True):
        text = text[:at] + piece + text[at:]
    return text


def without_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return `text` without some spans, which do not overlap."""
    for begin, end in sorted(spans, reverse=True):
        text = text[:begin] + text[end:]
    return text


def line_end(text: str) -> str:
    """Return how the lines of a text end: as the first one does."""
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"
