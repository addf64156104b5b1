"""Declare commands: the docstring is the help, and the request has the options.

Options of a request are declared with its fields, see `yaadwatch.api.message.Field`.
"""

import math
import os
from argparse import ArgumentTypeError, Namespace

from yaadwatch.api.message import Each, OneOf
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from yaadwatch.api.message import Field, Message
    from yaadwatch.cli.terminal import Terminal
    from yaadwatch.client.connection import Client

    Answer = dict[str, Any]
    Run = Callable[[Namespace, Client, Terminal], int]
    Ask = Callable[[Namespace, Client, Terminal], Answer | None]
    Show = Callable[[Answer, Terminal, Namespace], None]
    Option = tuple[Sequence[str], str, str, dict[str, Any]]
    """Names, group, `one_of`, and the arguments of `ArgumentParser.add_argument`."""


def option(*names: str, group: str = "", one_of: str = "", **how: "Any") -> "Option":
    """Declare what only the command line takes.

    Args:
        names: `--name`, or what a positional argument is called.
        group: its heading in the help.
        one_of: options that exclude one another share this name; with "required" in it, one of
            them must be given.
        how: as for `ArgumentParser.add_argument`.
    """
    return names, group, one_of, how


def actions(*names: str) -> "Option":
    """Declare what a command can do; the first is done when none is named."""
    usual = names[0]
    text = f"what to do (default: {usual})"
    return option("action", choices=names, nargs="?", default=usual, help=text)


class Command:
    """A declared command.

    Args:
        run: carries it out and returns the exit status.
        text: the help: a line, more sentences, "examples:" and command lines.
        options: what it takes.
        defaults: more attributes for its parsed arguments.
    """

    def __init__(
        self, run: "Run", text: str, options: "Iterable[Option]", **defaults: object
    ) -> None:
        self.description, _, examples = text.replace("\n    ", "\n").partition("\n\nexamples:\n")
        self.epilog = f"examples:\n{examples.rstrip()}"
        first = text.partition("\n")[0]
        self.help = f"{first[:1].lower()}{first[1:].rstrip('.')}"
        # Words come first in the help, as they do on a command line.
        self._options = sorted(options, key=lambda one: one[0][0].startswith("-"))
        self._defaults = {"run": run, **defaults}

    def add_options(self, parser: "ArgumentParser") -> None:
        """Add everything that the command takes to its parser."""
        groups: dict[str, Any] = {}
        for names, group, one_of, how in self._options:
            place: Any = parser
            if group:
                place = groups.get(group) or parser.add_argument_group(group)
                groups[group] = place
            if one_of:
                required = "required" in one_of
                place = groups.get(one_of) or place.add_mutually_exclusive_group(required=required)
                groups[one_of] = place
            place.add_argument(*names, **how)
        parser.set_defaults(**self._defaults)


DECLARED: dict[str, Command] = {}
"""The commands of the modules that were imported, by name."""


def command(
    name: str,
    *takes: "type[Message]",
    options: "Sequence[Option]" = (),
    **defaults: "Any",
) -> "Callable[[Run], Run]":
    """Declare that the decorated function is the command `name`.

    Args:
        name: of the command.
        takes: the requests whose options it takes.
        options: what only the command line takes.
        defaults: `starts_daemon=False`, when a missing daemon is not started for it;
            `exit_on_error`, the exit status of all errors but wrong usage.
    """

    def declare(run: "Run") -> "Run":
        _declare(name, takes, run, run, options, **defaults)
        return run

    return declare


def prints(
    name: str,
    *takes: "type[Message]",
    operation: str = "",
    ask: "Ask | None" = None,
    each: bool = False,
    further: "Callable[[Namespace, Client], list[str]]" = lambda _, __: [],
    status: "Callable[[Answer], int]" = lambda _: 0,
    options: "Sequence[Option]" = (),
    **defaults: "Any",
) -> "Callable[[Show], Show]":
    """Declare that the decorated function prints the answer to the command `name` for a person.

    With `--json`, the answer is printed as it is. What undoes the command is printed last.

    Args:
        name, takes, options, defaults: as for `command`.
        operation: what the daemon is asked for, by default `name`, with the options of `takes`.
        ask: returns the answer instead; None when nothing is to be printed.
        each: whether it is asked once for each `id`; a failure does not stop the rest.
        further: returns ids that other options stand for.
        status: returns the exit status for an answer.
    """

    def declare(show: "Show") -> "Show":
        def run(args: Namespace, client: "Client", terminal: "Terminal") -> int:
            if each:
                args.id = [*args.id, *further(args, client)]
                return _for_each(args, lambda one: run_one(one, client, terminal))
            return run_one(args, client, terminal)

        def run_one(args: Namespace, client: "Client", terminal: "Terminal") -> int:
            if ask is not None:
                answer = ask(args, client, terminal)
            else:
                fields = given_fields(args, takes[0]) if takes else {}
                answer = client.call(operation or name, **fields)
            if answer is None:
                return 0
            if args.json:
                terminal.json(answer)
            else:
                show(answer, terminal, args)
                if answer.get("undo"):
                    terminal.command("Undo: ", str(answer["undo"]))
            return status(answer)

        _declare(name, takes, run, show, options, **defaults)
        return show

    return declare


def _declare(
    name: str,
    takes: "Sequence[type[Message]]",
    run: "Run",
    function: object,
    options: "Sequence[Option]",
    **defaults: object,
) -> None:
    fields = [one for request in takes for one in request.FIELDS.values() if one.option is not None]
    declared = {one.name: _of_field(one) for one in fields}
    defaults = {"command": name, "starts_daemon": True, "exit_on_error": None} | defaults
    text = function.__doc__ or ""
    DECLARED[name] = Command(run, text, (*options, *declared.values()), **defaults)


def _for_each(args: Namespace, run: "Callable[[Namespace], int]") -> int:
    """Run once for each named memory.

    Raises:
        YaadError: what failed, and with which; the code is that of the first; BAD_REQUEST when
            none is named.
    """
    ids = dict.fromkeys(args.id)
    if not ids:
        raise YaadError(
            Code.BAD_REQUEST,
            "No memory is named. Nothing was changed.",
            hint=f"Which: yaadwatch {args.command} ID",
        )
    failed: dict[str, YaadError] = {}
    for one in ids:
        try:
            run(Namespace(**{**vars(args), "id": one}))
        except YaadError as error:
            if len(ids) == 1:
                raise
            failed[one] = error
    if failed:
        first = next(iter(failed.values()))
        why = " ".join(f"{one}: {error.message}" for one, error in failed.items())
        done = len(ids) - len(failed)
        raise YaadError(first.code, f"{why} It was done for {done} of {len(ids)}.", hint=first.hint)
    return 0


def refused_status(answer: "Answer") -> int:
    """Return 4 when an agent's files were left alone, also if the others are connected."""
    return 4 if any(one["state"] == "refused" for one in answer.get("agents", ())) else 0


def words(args: Namespace, *forms: str) -> list[str]:
    """Return the words behind the action of a command.

    Args:
        args: the parsed arguments.
        forms: what may stand there: "ID SUBJECT VALUE"; a last "WORD..." is one or more; NUMBER is
            a whole number.

    Raises:
        YaadError: bad_request, when they have none of these forms.
    """
    given: list[str] = args.words
    for names in map(str.split, forms or ("",)):
        is_open = bool(names) and names[-1].endswith("...")
        fits = len(given) >= len(names) if is_open else len(given) == len(names)
        if fits and all(
            one.isdecimal() for one, name in zip(given, names, strict=False) if name == "NUMBER"
        ):
            return given
    takes = " or ".join(forms).replace("...", "") or "nothing more"
    raise usage(args, f"`{args.command} {args.action}` takes {takes}")


def usage(args: Namespace, what: str) -> YaadError:
    """Return the error of a command line that makes no sense."""
    return YaadError(
        Code.BAD_REQUEST,
        f"{what}. Nothing was done.",
        hint=f"How it is used: yaadwatch {args.command} --help",
    )


def given_fields(args: Namespace, request: "type[Message]") -> "dict[str, Any]":
    """Return the fields of a request that the command line gives; the rest is as declared.

    In `args`, what was not given is None, [] or, for a flag, its default.
    """
    given: dict[str, Any] = {}
    for one in request.FIELDS.values():
        value = getattr(args, one.name, None)
        if one.option is None or value in (None, [], one.default):
            continue
        if isinstance(value, list):
            is_text = one.type in (str, str | None)
            is_object = one.type == dict[str, object] | None
            value = " ".join(value) if is_text else dict(value) if is_object else value
        given[one.name] = value
    return given


def _of_field(one: "Field") -> "Option":
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
        return option(one.name, group=one.group, one_of=one.one_of, **how, **_choices(one, given))
    how["dest"] = one.name
    if one.type is bool:
        how["action"] = "store_false" if one.default else "store_true"
        return option(name, group=one.group, one_of=one.one_of, **how)
    if metavar:
        how["metavar"] = metavar
    if metavar == "NAME=VALUE" or one.type == tuple[str, ...]:
        how |= {"action": "append", "default": []}
    if one.type in (int, int | None):
        how["type"] = whole_number
    elif one.type == float | None:
        how["type"] = _fraction
    elif one.type == dict[str, object] | None:
        how["type"] = _attribute if metavar == "NAME=VALUE" else _object
    return option(name, group=one.group, one_of=one.one_of, **how, **_choices(one, metavar))


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
            f"An argument is not text in UTF-8: {shown[:200]}\nNothing was done.",
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
