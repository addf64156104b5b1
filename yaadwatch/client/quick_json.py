"""JSON by the two C functions beneath `json`, without the modules that it imports for the rest.

`json` imports `re`, and that `enum` and `collections`: longer than all else that a hook does. Where
the two are not to be had in the form we know, it is `json` after all.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLANKS = " \t\r\n"


class _Rules:
    """What the scanner asks for: those of `json.loads`."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int
    memo: "dict[str, str]" = {}  # noqa: RUF012  (asked for by the form in Python, never written)


def _refuse(value: object) -> None:
    raise TypeError(f"{type(value).__name__} is no JSON")


try:
    from _json import encode_basestring, make_encoder, make_scanner

    _scan = make_scanner(_Rules)  # type: ignore[arg-type]
    _encode = make_encoder(None, _refuse, encode_basestring, None, ":", ",", False, False, True)
except (ImportError, TypeError):  # another Python
    from json import JSONDecoder, JSONEncoder

    _scan = JSONDecoder().scan_once  # type: ignore[attr-defined]
    _written = JSONEncoder(ensure_ascii=False, separators=(",", ":"))

    def _encode(value: object, level: int) -> "tuple[str, ...]":  # type: ignore[misc]  # noqa: ARG001
        return (_written.encode(value),)


def loads(data: "bytes | bytearray") -> "Any":
    """Return what a text of JSON in UTF-8 says.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested too deep.
    """
    text = data.decode("utf-8").removeprefix("\ufeff").strip(_BLANKS)
    try:
        value, end = _scan(text, 0)
    except (StopIteration, SystemError):  # what is wrong it can say only where `json` is imported
        end = -1
    if end == len(text):
        return value
    import json

    return json.loads(text)


def dumps(value: object) -> str:
    """Return a value as JSON on one line, with all characters as they are.

    Raises:
        TypeError: it holds what JSON cannot say.
    """
    return "".join(_encode(value, 0))


def line(value: object) -> bytes:
    """Return a value as the line that our wires and logs have it in: UTF-8, with its line feed.

    Raises:
        TypeError: it holds what JSON cannot say.
    """
    return dumps(value).encode("utf-8", "replace") + b"\n"
