"""Requests: one class per request, whose fields are the only declaration of an option.

The codec, the command line, the tools of agents and the reference are all generated from `FIELDS`.
Limits of fields are data: the allowed values, and the error otherwise.

Not dataclasses: the command line reads these at every start, and importing `dataclasses` alone
costs as much as all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from yaadwatch.model.limits import ID_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self, dataclass_transform

else:

    def dataclass_transform(**_about: object) -> object:
        """Return a decorator without effect: type checkers read the real one."""
        return lambda one: one


MISSING = object()
"""The default of a field that must be given."""


class Field:
    """The declaration of one value of a request.

    Args:
        said: its form on the command line, two blanks, and its meaning in one line, such as
            `--tag T  a word to find it by`. The form may be `ID`, `[ID]` or `WORDS...`, too; a flag
            whose default is true is named `--no-NAME`. '': no option.
        default: the value when it is not given.
        limit: the allowed values; None is always allowed where it is the default.
        help: the meaning of a field without an option.
        tool: its description for agents; None: not offered to them.
        group: its heading in the help of the command.
        one_of: options that exclude one another share this name.
    """

    __slots__ = ("default", "group", "help", "limit", "name", "one_of", "option", "tool", "type")

    def __init__(
        self,
        said: str = "",
        *,
        default: object = MISSING,
        limit: "Limit | None" = None,
        help: str = "",
        tool: str | None = None,
        group: str = "",
        one_of: str = "",
    ) -> None:
        self.name = ""
        """Of the attribute; a trailing `_` is not part of the name on the wire."""
        self.type: object = object
        option, _, meaning = said.partition("  ")
        self.option = option or None
        self.help = meaning or help
        self.default = default
        self.limit = limit
        self.tool = tool
        self.group = group
        self.one_of = one_of

    @property
    def is_needed(self) -> bool:
        """Return whether the value must be given."""
        return self.default is MISSING


def field(said: str = "", **given: "Any") -> "Any":
    """Declare a field of a request; see `Field`."""
    return Field(said, **given)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Message:
    """Base of all requests: immutable, equal by value, checked when it is made."""

    FIELDS: "ClassVar[Mapping[str, Field]]" = MappingProxyType({})
    """By name, in the order of declaration."""
    ANSWER: "ClassVar[str]" = ""
    """The name of the shape of its answer in docs/contracts.md."""

    def __init_subclass__(cls, *, answer: str = "") -> None:
        cls.ANSWER = answer
        own = dict(cls.FIELDS)
        for name, kind in cls.__annotations__.items():
            declared = cls.__dict__.get(name, MISSING)
            found = declared if isinstance(declared, Field) else field(default=declared)
            found.name, found.type = name, kind
            own[name] = found
            if name in cls.__dict__:
                delattr(cls, name)
        cls.FIELDS = MappingProxyType(own)

    def __init__(self, **given: object) -> None:
        """Take the values of the fields.

        Raises:
            ValueError: a value is outside its limits, or two do not go together.
            TypeError: a field is missing or unknown.
        """
        values = {}
        for name, one in self.FIELDS.items():
            value = given.pop(name, one.default)
            if value is MISSING:
                raise TypeError(f"{type(self).__name__} needs {name}")
            if one.limit is not None and (value is not None or one.default is not None):
                one.limit.check(name, value)
            values[name] = value
        if given:
            raise TypeError(f"{type(self).__name__} has no field {min(given)}")
        self.__dict__.update(values)
        self.validate()

    def validate(self) -> None:
        """Raise ValueError unless the values go together."""

    def but(self, **given: object) -> "Self":
        """Return the same with other values of some fields."""
        return type(self)(**{**vars(self), **given})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({given})"


TOKENS_MAX = 100_000
KINDS_MAX = 32
NAME_CHARS_MAX = 4_096
"""A path, a symbol or a cursor."""
NUMBER_MAX = 2**63 - 1
"""The number of an edge, a claim or a version, as SQLite counts."""


class Limit:
    """The allowed values of a field."""

    __slots__ = ()

    def check(self, name: str, value: object) -> None:
        """Raise ValueError that names the field, unless `value` keeps to the limit."""
        raise AssertionError(f"{type(self).__name__} checks nothing, asked for {name}={value!r}")


class Text(Limit):
    """A text of at most `chars_max` characters, with words in it unless it `may_be_empty`."""

    __slots__ = ("chars_max", "may_be_empty")

    def __init__(self, chars_max: int, *, may_be_empty: bool = False) -> None:
        self.chars_max = chars_max
        self.may_be_empty = may_be_empty

    def check(self, name: str, value: object) -> None:
        """Raise ValueError unless it has words, and not too many characters."""
        text = str(value)
        if not self.may_be_empty and not text.strip():
            raise ValueError(f"{name} must not be empty")
        if len(text) > self.chars_max:
            raise ValueError(
                f"{name} must have at most {self.chars_max} characters, got {len(text)}"
            )


class Within(Limit):
    """A number from `low`, unless it `excludes_low`, to `high`."""

    __slots__ = ("excludes_low", "high", "low")

    def __init__(self, low: int, high: int, *, excludes_low: bool = False) -> None:
        self.low = low
        self.high = high
        self.excludes_low = excludes_low

    def check(self, name: str, value: object) -> None:
        """Raise ValueError unless the number is in the range."""
        assert isinstance(value, int | float)  # noqa: S101  (the codec has read it)
        shown = f"{value:g}" if isinstance(value, float) else value
        if self.excludes_low and not self.low < value <= self.high:
            raise ValueError(
                f"{name} must be above {self.low} and at most {self.high}, got {shown}"
            )
        if not self.low <= value <= self.high:
            raise ValueError(f"{name} must be within {self.low} and {self.high}, got {shown}")


class OneOf(Limit):
    """One of these words."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[str]) -> None:
        self.values = values

    def check(self, name: str, value: object) -> None:
        """Raise ValueError unless the value is one of the words."""
        if value not in self.values:
            raise ValueError(f"{name} must be one of {', '.join(self.values)}, got {value!r}")


class Form(Limit):
    """A value that `checker(name, value)` accepts without a ValueError."""

    __slots__ = ("checker",)

    def __init__(self, checker: Callable[[str, str], object]) -> None:
        self.checker = checker

    def check(self, name: str, value: object) -> None:
        """Raise ValueError unless the function takes the value."""
        self.checker(name, str(value))


class Each(Limit):
    """At most `count_max` values, each within `limit`; errors call one of them `singular`."""

    __slots__ = ("count_max", "limit", "singular")

    def __init__(self, count_max: int, limit: Limit | None = None, singular: str = "") -> None:
        self.count_max = count_max
        self.limit = limit
        self.singular = singular

    def check(self, name: str, value: object) -> None:
        """Raise ValueError when there are too many, or one is outside its limit."""
        assert isinstance(value, list | tuple)  # noqa: S101  (the codec has read it)
        if len(value) > self.count_max:
            raise ValueError(f"{name} must have at most {self.count_max} entries, got {len(value)}")
        if self.limit is not None:
            for one in value:
                self.limit.check(self.singular or f"a value of {name}", one)


def _kind(_name: str, given: str) -> None:
    from yaadwatch.model.memories import canonical_kind

    canonical_kind(given)


def _edge_kind(_name: str, given: str) -> None:
    from yaadwatch.model.memories import canonical_relation

    canonical_relation(given)


def _key(_name: str, given: str) -> None:
    from yaadwatch.model.memories import canonical_key

    canonical_key(given)


def _time(name: str, given: str) -> None:
    from yaadwatch.model.events import instant

    instant(name, given)


def check_folder(name: str, folder: str) -> None:
    """Raise ValueError unless `folder` could be a folder's absolute path; it need not exist."""
    if not folder.startswith("/"):
        raise ValueError(f"{name} must be an absolute folder, got {folder!r}")
    PATH.check(name, folder)


ID = Text(ID_CHARS_MAX)
"""An id, or a part of one."""
PATH = Text(NAME_CHARS_MAX)
"""A path, or another name: of an agent, a session or a symbol."""
REASON = Text(1_000, may_be_empty=True)
WORDS = Text(256)
"""A subject, an attribute or a value."""
NUMBER = Within(1, NUMBER_MAX)
TOKENS = Within(1, TOKENS_MAX)
SHARE = Within(0, 1)
KIND = Form(_kind)
EDGE_KIND = Form(_edge_kind)
KEY = Form(_key)
TIME = Form(_time)
FOLDER = Form(check_folder)
