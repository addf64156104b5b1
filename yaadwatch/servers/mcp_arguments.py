"""Accept arguments as clients write them, where only one meaning is possible.

Some clients send a list as the text of its JSON, a number or a truth value as text, or a single
text for a list. Anything else is left as it is: the operation then says what is wrong with it.
"""

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote, urlsplit

from yaadwatch.api.message import Message

Arguments = Mapping[str, object]

_WHOLE: Final = re.compile(r"[+-]?\d{1,18}")
_REAL: Final = re.compile(r"[+-]?\d{1,18}(?:\.\d{1,18})?")
_TRUTHS: Final = MappingProxyType({"true": True, "false": False})


def accepted(message: type[Message], given: Arguments) -> dict[str, object]:
    """Return the arguments of an operation in the types that its request takes.

    Args:
        message: the request.
        given: the arguments, by their names on the wire.
    """
    types = {one.name.removesuffix("_"): one.type for one in message.FIELDS.values()}
    found = {name: _read(types.get(name), value) for name, value in given.items()}
    if isinstance(given.get("project"), str):
        found["project"] = folder_of(str(given["project"]))
    return found


def object_of(given: object) -> object:
    """Return the object that a text of JSON is; anything else as it is."""
    found = _json(given, "{") if isinstance(given, str) else None
    return given if found is None else found


def folder_of(given: str) -> str:
    """Return the path of a `file://` URI of this machine; any other text as it is."""
    try:
        uri = urlsplit(given)
    except ValueError:
        return given
    if uri.scheme != "file" or uri.netloc not in ("", "localhost"):
        return given
    return unquote(uri.path) or given


def _read(kind: object, value: object) -> object:
    if isinstance(value, float) and value.is_integer() and kind in _WHOLES:
        return int(value)
    reader = _READERS.get(kind)
    return reader(value) if reader is not None and isinstance(value, str) else value


def _number(value: str) -> object:
    return int(value) if _WHOLE.fullmatch(value.strip()) else value


def _real(value: str) -> object:
    return float(value) if _REAL.fullmatch(value.strip()) else value


def _truth(value: str) -> object:
    return _TRUTHS.get(value.strip().lower(), value)


def _texts(value: str) -> object:
    """Return a list of texts; a name like `[id].tsx` is no JSON, and one text."""
    found = _json(value, "[")
    if found is not None:
        return found
    return [value] if value.strip() else []


def _list(value: str) -> object:
    found = _json(value, "[")
    return value if found is None else found


def _json(value: str, start: str) -> object:
    """Return what a text of JSON says; None when it is none, or does not begin so."""
    if not value.lstrip().startswith(start):
        return None
    try:
        found: object = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found


_WHOLES: Final = (int, int | None)
_READERS: Final[Mapping[object, Callable[[str], object]]] = {
    bool: _truth,
    int: _number,
    int | None: _number,
    float | None: _real,
    tuple[str, ...]: _texts,
    "tuple[GivenNode, ...]": _list,
    "tuple[GivenEdge, ...]": _list,
    dict[str, object] | None: object_of,
}
"""How a text is read for each type that a field of a request may have."""
