"""Decode a JSON object into a request, or an error that names the invalid field.

Strict, so that a typing error is never taken for a default: unknown fields, missing fields and
wrong types are rejected by name.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from sys import float_info
from typing import Final, NamedTuple, TypeVar

from yaadwatch.api.frames import kind_of
from yaadwatch.api.message import Message, check_folder
from yaadwatch.api.messages.store import Hello
from yaadwatch.api.operations import BY_NAME, Operation
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.places import PROTOCOL

Kind = TypeVar("Kind")

_Reader = Callable[[str, object], object]
NESTED_MAX: Final = 100
"""Depth to which objects and lists may be nested in the metadata of a caller."""


class Request(NamedTuple):
    """A valid request: its operation, its message, and the folder if given."""

    id: int | str
    operation: Operation
    message: Message
    project: str | None


def hello(frame: Mapping[str, object]) -> Hello:
    """Return the first frame of a connection.

    Raises:
        YaadError: refused, when the client speaks another protocol; bad_request, when the frame
            does not name the client.
    """
    spoken = frame.get("protocol")
    if isinstance(spoken, int) and not isinstance(spoken, bool) and spoken != PROTOCOL:
        raise YaadError(
            Code.REFUSED,
            f"The daemon speaks protocol {PROTOCOL} and the client {spoken}; nothing was done.",
            hint="One of them is older. Run: yaadwatch stop, then the command again.",
        )
    try:
        return message(Hello, frame)
    except ValueError as error:
        raise YaadError(
            Code.BAD_REQUEST,
            f"The first line must say who connects: {error}. The connection was closed.",
            hint="docs/contracts.md shows the line.",
        ) from None


def request_id(frame: Mapping[str, object]) -> int | str | None:
    """Return the id to answer `frame` under, or None when it has none that can be used."""
    found = frame.get("id")
    if isinstance(found, bool) or not isinstance(found, int | str):
        return None
    return found


def request(frame: Mapping[str, object]) -> Request:
    """Return the JSON-RPC request in `frame`.

    Raises:
        YaadError: not_found for an operation we do not have, else bad_request.
    """
    try:
        _refuse_unknown(frame, ("jsonrpc", "id", "method", "params"))
        if frame.get("jsonrpc") != "2.0":
            raise ValueError('jsonrpc must be "2.0"')
        identity = request_id(frame)
        if identity is None:
            raise ValueError(f"id must be a number or text, got {kind_of(frame.get('id'))}")
        name = _text("method", frame.get("method"))
        operation = BY_NAME.get(name)
        if operation is None:
            meant = nearest(name, BY_NAME)
            raise YaadError(
                Code.NOT_FOUND,
                f"There is no operation {name!r}; nothing was done.",
                hint=f"The nearest one is {meant!r}." if meant else "",
            )
        params = frame.get("params", {})
        if not isinstance(params, dict):
            raise ValueError(f"params must be an object, got {kind_of(params)}")
        project = None
        if "project" in params:
            params = dict(params)
            given = params.pop("project")
            if given is not None:
                # Names of files need not be UTF-8: a byte that is none is a lone surrogate.
                project = _text("project", given, "surrogateescape")
                check_folder("project", project)
        read = message(operation.request, params)
    except ValueError as error:
        raise YaadError(Code.BAD_REQUEST, f"The request was not done: {error}.") from None
    return Request(id=identity, operation=operation, message=read, project=project)


def message(kind: type[Kind], given: Mapping[str, object]) -> Kind:
    """Build the request or dataclass `kind` from `given`, in which lists represent tuples.

    Raises:
        ValueError: a field is unknown, missing, of the wrong type or outside its limits.
    """
    known, needed = _form(kind)  # type: ignore[arg-type]
    _refuse_unknown(given, known)
    if not all(map(given.__contains__, needed)):
        missing = [name for name in needed if name not in given]
        raise ValueError(f"{_listed(missing)} must be given")
    read = {known[name][0]: known[name][1](name, value) for name, value in given.items()}
    return kind(**read)


@cache
def _form(kind: type[object]) -> tuple[dict[str, tuple[str, _Reader]], tuple[str, ...]]:
    """Return the fields by their names on the wire, each with its attribute and what reads it; and
    those that must be given.
    """
    if issubclass(kind, Message):
        found = [(one.name, one.type, one.is_needed) for one in kind.FIELDS.values()]
    else:
        rows: tuple[Field[object], ...] = fields(kind)  # type: ignore[arg-type]
        found = [(one.name, one.type, one.default is MISSING) for one in rows]
    # A field called `from_` is `from` on the wire: that one is no name in Python.
    known = {name.removesuffix("_"): (name, _READERS[type_]) for name, type_, _ in found}
    return known, tuple(name.removesuffix("_") for name, _, is_needed in found if is_needed)


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the one of `known` that `name` was probably meant to be.

    One that has it as a part (`version` of `expected_version`) comes before what reads alike.
    """
    from difflib import get_close_matches

    whole = [one for one in sorted(known) if name in one.split("_")]
    if len(whole) == 1:
        return whole[0]
    found = get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    return found[0] if found else None


def _refuse_unknown(given: Iterable[str], known: Collection[str]) -> None:
    if all(map(known.__contains__, given)):
        return
    unknown = [name for name in given if name not in known]
    known = list(known)
    meant = nearest(unknown[0], known)
    if meant:
        raise ValueError(f"there is no field {unknown[0]!r}; the nearest one is {meant!r}")
    there_is = f"the fields are {_listed(known)}" if known else "it takes no fields"
    raise ValueError(f"there is no field {_listed(repr(name) for name in unknown)}; {there_is}")


def _listed(names: Iterable[str]) -> str:
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last


def _wrong(name: str, wanted: str, value: object) -> ValueError:
    return ValueError(f"{name} must be {wanted}, got {kind_of(value)}")


def _text(name: str, value: object, errors: str = "strict") -> str:
    if not isinstance(value, str):
        raise _wrong(name, "text", value)
    try:
        value.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} holds half a character at {error.start}") from None
    if "\0" in value:
        raise ValueError(f"{name} must not hold a NUL character")
    return value


def _number(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, "a whole number", value)
    return value


def _real(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, "a number", value)
    if not abs(value) <= float_info.max:  # infinite, or more than a float holds
        raise ValueError(f"{name} is out of range")
    return float(value)


def _truth(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, "true or false", value)
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong(name, "a list of texts", value)
    return tuple(_text(f"{name}[{place}]", entry) for place, entry in enumerate(value))


def _each(kind: type[object]) -> Callable[[str, object], object]:
    """Return a reader of a list of objects, each as the dataclass `kind`."""

    def read(name: str, value: object) -> object:
        if not isinstance(value, list | tuple):
            raise _wrong(name, "a list of objects", value)
        return tuple(one(f"{name}[{place}]", entry) for place, entry in enumerate(value))

    def one(name: str, value: object) -> object:
        if not isinstance(value, dict):
            raise _wrong(name, "an object", value)
        try:
            return message(kind, value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    return read


def _object(name: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _wrong(name, "an object", value)
    _plain(name, value, NESTED_MAX)
    return value


def _plain(name: str, value: object, levels: int) -> None:
    """Refuse what is JSON to Python alone: numbers that are none, and halves of characters.

    And what nests deeper than `levels`: we mask, compare and write it level by level.
    """
    match value:
        case str():
            _text(name, value)
        case float():
            _real(name, value)
        case dict() | list() if levels == 0:
            raise ValueError(
                f"{name.partition('.')[0]} must not nest over {NESTED_MAX} levels deep"
            )
        case dict():
            for key, entry in value.items():
                _text(f"a name in {name}", key)
                _plain(f"{name}.{key}", entry, levels - 1)
        case list():
            for place, entry in enumerate(value):
                _plain(f"{name}[{place}]", entry, levels - 1)


def _or_null(read: Callable[[str, object], object]) -> Callable[[str, object], object]:
    return lambda name, value: None if value is None else read(name, value)


_READERS: Final[dict[object, Callable[[str, object], object]]] = {
    str: _text,
    int: _number,
    float: _real,
    bool: _truth,
    tuple[str, ...]: _texts,
    str | None: _or_null(_text),
    int | None: _or_null(_number),
    float | None: _or_null(_real),
    dict[str, object] | None: _or_null(_object),
    "tuple[GivenNode, ...]": _each(GivenNode),
    "tuple[GivenEdge, ...]": _each(GivenEdge),
}
"""How a value of each type that a message may have is read from JSON."""
