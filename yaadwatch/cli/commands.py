"""Declare a command: its texts, the request it sends, and the options that only it has.

Options of a request are declared with its fields, see `yaadwatch.api.message.Field`.
"""

import math
import os
from argparse import ArgumentTypeError

from yaadwatch.api.message import Each, OneOf
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from yaadwatch.api.message import Field, Message
    from yaadwatch.cli.terminal import Terminal
    from yaadwatch.client.connection import Client


if TYPE_CHECKING:
    Run = Callable[[Namespace, Client, Terminal], int]

_SHOWN_CHARS_MAX = 200


class Option:
    """An argument or option, with its arguments for argparse."""

    __slots__ = ("group", "how", "names", "one_of")

    def __init__(self, names: "Sequence[str]", group: str, one_of: str, how: "Any") -> None:
        self.names = names
        self.group = group
        self.one_of = one_of
        self.how = how


def option(*names: str, group: str = "", one_of: str = "", **how: "Any") -> Option:
    """Declare what only the command line takes.

    Args:
        names: `--name`, or what a positional argument is called.
        group: its heading in the help.
        one_of: options that exclude one another share this name; with "required" in it, one of
            them must be given.
        how: as for `ArgumentParser.add_argument`.
    """
    return Option(names, group, one_of, how)


class Command:
    """A command; see `command`."""

    __slots__ = ("examples", "exit_on_error", "help", "more", "options", "run", "starts_daemon")

    def __init__(
        self,
        run: "Run",
        help: str,
        examples: "Sequence[tuple[str, str]]",
        more: str,
        options: "Sequence[Option]",
        *,
        starts_daemon: bool,
        exit_on_error: int | None,
    ) -> None:
        self.run = run
        self.help = help
        self.examples = examples
        self.more = more
        self.options = options
        self.starts_daemon = starts_daemon
        self.exit_on_error = exit_on_error

    def add_options(self, parser: "ArgumentParser") -> None:
        """Add everything that the command takes to its parser."""
        groups: dict[str, Any] = {}
        for one in self.options:
            place: Any = parser
            if one.group:
                if one.group not in groups:
                    groups[one.group] = parser.add_argument_group(one.group)
                place = groups[one.group]
            if one.one_of:
                if one.one_of not in groups:
                    groups[one.one_of] = place.add_mutually_exclusive_group(
                        required="required" in one.one_of
                    )
                place = groups[one.one_of]
            place.add_argument(*one.names, **one.how)


DECLARED: dict[str, Command] = {}
"""The commands of the modules that were imported, by name."""


def command(
    name: str,
    help: str,
    *,
    examples: "Sequence[tuple[str, str]]",
    more: str = "",
    takes: "type[Message] | Sequence[type[Message]]" = (),
    options: "Sequence[Option]" = (),
    starts_daemon: bool = True,
    exit_on_error: int | None = None,
) -> "Callable[[Run], Run]":
    """Declare that the decorated function is the command `name`.

    Args:
        name: of the command.
        help: a line: lower case, imperative, no full stop.
        examples: command lines, and what each is for.
        more: sentences for its own help.
        takes: the request whose options it takes, or several.
        options: what only the command line takes.
        starts_daemon: whether a missing daemon is started for it.
        exit_on_error: the exit status of all errors but wrong usage.
    """
    requests = [takes] if isinstance(takes, type) else takes
    fields = [one for request in requests for one in request.FIELDS.values()]
    declared = {one.name: _of_field(one) for one in fields if one.option is not None}

    def declare(run: "Run") -> "Run":
        DECLARED[name] = Command(
            run,
            help,
            examples,
            more,
            # Words come first in the help, as they do on a command line.
            sorted([*options, *declared.values()], key=lambda one: one.names[0].startswith("-")),
            starts_daemon=starts_daemon,
            exit_on_error=exit_on_error,
        )
        return run

    return declare


def given_fields(args: "Namespace", request: "type[Message]") -> "dict[str, Any]":
    """Return the fields of a request that the command line gives; the rest is as declared.

    In `args`, what was not given is None, [] or, for a flag, its default.
    """
    return dict(_given(args, request))


def _given(args: "Namespace", request: "type[Message]") -> "Iterator[tuple[str, Any]]":
    for one in request.FIELDS.values():
        value = getattr(args, one.name, None)
        if one.option is None or value in (None, [], one.default):
            continue
        if isinstance(value, list):
            is_text = one.type in (str, str | None)
            value = " ".join(value) if is_text else dict(value) if _is_object(one) else value
        yield one.name, value


def _is_object(one: "Field") -> bool:
    return one.type == dict[str, object] | None


def _of_field(one: "Field") -> Option:
    given = one.option or ""
    name, _, metavar = given.partition(" ")
    how: dict[str, Any] = {"help": one.help.replace("{default}", str(one.default))}
    if not name.startswith("-"):
        many, maybe = "..." in given, given.startswith("[")
        how["metavar"] = given.strip("[]").removesuffix("...") if maybe or many else given
        if many or maybe:
            how["nargs"] = "*" if many and maybe else "+" if many else "?"
        if many and maybe:
            how["default"] = []  # without it, argparse calls it required when others are missing
        return Option([one.name], one.group, one.one_of, how | _choices(one, given))
    how["dest"] = one.name
    if one.type is bool:
        how["action"] = "store_false" if one.default else "store_true"
        return Option([name], one.group, one.one_of, how)
    if metavar:
        how["metavar"] = metavar
    if metavar == "NAME=VALUE" or one.type == tuple[str, ...]:
        how |= {"action": "append", "default": []}
    if one.type in _READ_AS:
        how["type"] = _READ_AS[one.type]
    elif _is_object(one):
        how["type"] = _attribute if metavar == "NAME=VALUE" else _object
    return Option([name], one.group, one.one_of, how | _choices(one, metavar))


def _choices(one: "Field", metavar: str) -> "dict[str, Any]":
    limit = one.limit.limit if isinstance(one.limit, Each) else one.limit
    if isinstance(limit, OneOf) and (not metavar or metavar.startswith("{")):
        return {"choices": limit.values}
    return {}


def utf8_text(given: str) -> str:
    """Return an argument that is text, for argparse.

    Raises:
        YaadError: bad_request, when it is not UTF-8: a byte that is none would be lost.
    """
    try:
        given.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(given).decode("utf-8", "backslashreplace")
        raise YaadError(
            Code.BAD_REQUEST,
            f"An argument is not text in UTF-8: {shown[:_SHOWN_CHARS_MAX]}\nNothing was done.",
            hint="Convert the text: iconv -f ENCODING -t UTF-8. If it is the name of a file: "
            "rename the file.",
        ) from None
    return given


def json_value(text: str) -> object:
    """Return the parsed JSON of a text, which may begin with a byte order mark.

    Raises:
        ValueError: it is none, or holds half a character or a number that is not finite.
        RecursionError: it is nested too deep.
    """
    import json

    found: object = json.loads(text.removeprefix("\ufeff"))
    try:
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half a character stands in it") from None
    return found


def file_name(given: str) -> str:
    """Return the name of a file or folder that this process itself opens, for argparse.

    It may hold bytes that are no text, as `os` writes them.
    """
    return given


def whole_number(text: str) -> int:
    """Return the number in `text`, for argparse.

    Raises:
        ArgumentTypeError: it is no whole number.
    """
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None


def _fraction(text: str) -> float:
    """Return the number in `text`, for argparse; the daemon says whether it is from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ArgumentTypeError(f"{text!r} is not a number")
    return number


def _attribute(given: str) -> "tuple[str, str | None]":
    """Return the name and value of NAME=VALUE; the value is None when empty."""
    name, equals, value = utf8_text(given).partition("=")
    if not equals or not name.strip():
        raise ArgumentTypeError(f"must be NAME=VALUE, or NAME= to remove it, got {given!r}")
    return name.strip(), value or None


def _object(text: str) -> "dict[str, object]":
    try:
        found = json_value(utf8_text(text))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        shown = text if len(text) <= 80 else f"{text[:80]}…"
        raise ArgumentTypeError(f"{shown!r} is not a JSON object")
    return found


_READ_AS: "dict[object, Callable[[str], object]]" = {
    int: whole_number,
    int | None: whole_number,
    float | None: _fraction,
}
