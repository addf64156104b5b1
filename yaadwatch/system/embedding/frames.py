"""Frames between the daemon and the worker that embeds: a head of JSON, and bytes after it.

Eight bytes come first: the lengths of both, little-endian. Either side takes what does not fit for
a broken other side, and ends the conversation.
"""

import json
import struct
from collections.abc import Callable
from typing import Final

Head = dict[str, object]
PART_BYTES_MAX: Final = 8 * 1024 * 1024
"""Of a head, and of the bytes after it."""
_LENGTHS: Final = struct.Struct("<II")


class BadFrame(Exception):
    """What came is no frame; the message says why."""


def encode(head: Head, body: bytes = b"") -> bytes:
    """Return the bytes of a frame.

    Raises:
        ValueError: a part is over `PART_BYTES_MAX`.
    """
    written = json.dumps(head).encode()
    if max(len(written), len(body)) > PART_BYTES_MAX:
        raise ValueError(f"a frame of {len(written)} and {len(body)} bytes is too long")
    return _LENGTHS.pack(len(written), len(body)) + written + body


def read(take: Callable[[int], bytes]) -> tuple[Head, bytes] | None:
    """Return the next frame; None at the end.

    Args:
        take: returns at most so many bytes, at least one, and none at the end.

    Raises:
        BadFrame: it is none, or ends in the middle.
    """
    lengths = _exactly(take, _LENGTHS.size)
    if not lengths:
        return None
    if len(lengths) < _LENGTHS.size:
        raise BadFrame("it ends within the lengths")
    head_length, body_length = _LENGTHS.unpack(lengths)
    if max(head_length, body_length) > PART_BYTES_MAX:
        raise BadFrame(f"it would have {head_length} and {body_length} bytes")
    written, body = _exactly(take, head_length), _exactly(take, body_length)
    if len(written) < head_length or len(body) < body_length:
        raise BadFrame("it ends in the middle")
    try:
        head = json.loads(written)
    except ValueError as error:
        raise BadFrame(f"its head is not JSON ({error})") from None
    except RecursionError:
        raise BadFrame("its head is nested too deep") from None
    if not isinstance(head, dict):
        raise BadFrame("its head is no object")
    return head, body


def _exactly(take: Callable[[int], bytes], length: int) -> bytes:
    """Return `length` bytes, or fewer when the end comes before."""
    parts = []
    while length:
        part = take(length)
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
