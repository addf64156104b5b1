"""Encode and decode one line on the wire; connect to and identify the peer of a Unix socket.

Both client and daemon use it, so it imports nothing that a client does not need anyway.
"""

import json
import os
import socket
import sys
from collections.abc import Callable

from yaadwatch.model.errors import Code, YaadError


class Stopping(YaadError):
    """The daemon is ending, and the request was not done: it can be repeated with the next one."""

    def __init__(self) -> None:
        super().__init__(
            Code.UNAVAILABLE,
            "The daemon is stopping; the request was not done.",
            hint="Ask again; a command starts the daemon.",
        )


def encode(frame: dict[str, object]) -> bytes:
    """Return `frame` as one line of UTF-8 that ends in a line feed.

    Aware datetimes become RFC 3339 in UTC with milliseconds. File names that are not UTF-8 keep
    their place: each byte that is no text becomes '?'.

    Raises:
        ValueError: a number in it is not finite, or it nests too deeply.
        TypeError: something in it is neither JSON nor an aware datetime.
    """
    return to_text(frame).encode("utf-8", "replace") + b"\n"


def to_text(value: object) -> str:
    """Return `value` as compact JSON, with aware datetimes as in `encode`.

    Raises:
        ValueError, TypeError: as for `encode`.
    """
    try:
        return _encoder.encode(value)
    except RecursionError:
        raise ValueError("a frame must not nest so deeply") from None


def decode(line: bytes) -> dict[str, object]:
    """Return the object in `line`.

    Raises:
        ValueError: it is not UTF-8, not JSON, not an object, or has a duplicate name.
    """
    try:
        found = _strict.decode(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("a line must be UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"a line must be JSON; {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError("a line must not nest so deeply") from None
    if not isinstance(found, dict):
        raise ValueError(f"a line must be a JSON object, got {kind_of(found)}")
    return found


def lenient_id(line: bytes) -> object:
    """Return the id of a request that `decode` refuses, such as one with NaN; None if unknown."""
    try:
        found = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or ("method" not in found and {"result", "error"} & set(found)):
        return None
    return found.get("id")


def kind_of(value: object) -> str:
    """Return the JSON type of `value`, for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {str: "text", int: "a number", float: "a number with a fraction", dict: "an object"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a list")


def answer(identity: int | str | None, result: dict[str, object]) -> dict[str, object]:
    """Return the frame that answers request `identity`."""
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def failure(identity: int | str | None, error: YaadError) -> dict[str, object]:
    """Return the frame that refuses request `identity`, or the connection when that is None."""
    return {"jsonrpc": "2.0", "id": identity, "error": error_object(error)}


def error_object(error: YaadError) -> dict[str, object]:
    """Return the `error` object of an answer."""
    told: dict[str, object] = {
        "code": str(error.code),
        "message": error.message,
        "hint": error.hint,
    }
    if isinstance(error, Stopping):
        told["again"] = True
    return told


def to_error(found: object) -> YaadError:
    """Return the exception for what stood under `error`; a code we do not know becomes internal."""
    if not isinstance(found, dict):
        return YaadError(Code.INTERNAL, "The daemon answered with an error and gave no reason.")
    try:
        code = Code(str(found.get("code")))
    except ValueError:
        code = Code.INTERNAL
    if found.get("again") is True:
        return Stopping()
    return YaadError(code, str(found.get("message", "")), str(found.get("hint") or ""))


def _time(value: object) -> str:
    import datetime  # here, because a client that sends no time goes without it

    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        raise TypeError(f"{type(value).__name__} is not JSON")
    if value.tzinfo is not datetime.UTC:
        value = value.astimezone(datetime.UTC)
    return value.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands twice in one object")
    return found


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


_encoder = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_time
)
_strict = json.JSONDecoder(object_pairs_hook=_each_once, parse_constant=_refuse)


PATH_BYTES_MAX = 107 if sys.platform == "linux" else 103
"""The longest socket path the kernel takes, in bytes."""


def at_address(path: str, act: "Callable[[str], None]") -> None:
    """Call `act`, the `bind` or `connect` of a socket, with an address for `path`.

    A longer path than the kernel takes is reached through an open descriptor of its folder.

    Raises:
        YaadError: unavailable, when the path is too long and this system has no such way.
        OSError: what `act` raises, or the folder cannot be opened.
    """
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        act(path)
        return
    if sys.platform != "linux":
        raise YaadError(
            Code.UNAVAILABLE,
            f"The socket path {path} is longer than the {PATH_BYTES_MAX} bytes that fit here.",
            hint="Set YAAD_HOME to a folder with a shorter path.",
        )
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        act(f"/proc/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)


def peer_uid(connected: socket.socket) -> int:
    """Return the user id of the process at the other end, as the kernel knows it.

    Raises:
        OSError: the kernel does not know, for instance because the other end is gone.
    """
    if sys.platform == "linux":
        found = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(found[4:8], sys.byteorder)
    # LOCAL_PEERCRED at level SOL_LOCAL (0): struct xucred {u_int version; uid_t uid; ...}.
    found = connected.getsockopt(0, 1, 76)
    return int.from_bytes(found[4:8], sys.byteorder)


def require_same_user(connected: socket.socket) -> None:
    """Return when the other end of `connected` runs as this process's user.

    Raises:
        YaadError: refused, for every other user, root included.
        OSError: the kernel does not know its user.
    """
    uid = peer_uid(connected)
    if uid != os.geteuid():
        raise YaadError(
            Code.REFUSED,
            f"This daemon serves user {os.geteuid()}; user {uid} was not served.",
            hint="Run the command as the user who owns the daemon; each user has their own.",
        )
