"""Requests: a class per request, whose fields are the only place where an option is declared.

The codec, the command line, the tools of agents and the reference are all made from `FIELDS`.
Not dataclasses: the command line reads these at every start, and the module `dataclasses` alone
costs as much as all of them.
"""

from collections.abc import Mapping
from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self, dataclass_transform

    from yaadwatch.api.limits import Limit
else:

    def dataclass_transform(**_about: object) -> object:
        """Return a decorator that changes nothing: type checkers read the real one."""
        return lambda one: one


MISSING = object()
"""The default of a field that must be given."""


class Field:
    """How a request takes one value.

    Args:
        name: of the attribute; a trailing `_` is not part of the name on the wire.
        type: of the value, as annotated.
        default: what holds when it is not given.
        limit: what the value must keep to; None is always allowed where it is the default.
        help: what it means, in a line.
        option: how the command line takes it: `--tag T`, `ID`, `[ID]`, `WORDS...`; None: not at
            all. A flag whose default is true is named `--no-NAME`.
        tool: what agents are told of it; None: it is not listed for them.
        group: the heading it stands under in the help of the command.
        one_of: options that exclude one another share this name.
    """

    __slots__ = ("default", "group", "help", "limit", "name", "one_of", "option", "tool", "type")

    def __init__(
        self,
        *,
        default: object,
        limit: "Limit | None",
        help: str,
        option: str | None,
        tool: str | None,
        group: str,
        one_of: str,
    ) -> None:
        self.name = ""
        self.type: object = object
        self.default = default
        self.limit = limit
        self.help = help
        self.option = option
        self.tool = tool
        self.group = group
        self.one_of = one_of

    @property
    def is_needed(self) -> bool:
        """Return whether the value must be given."""
        return self.default is MISSING


def field(
    *,
    default: object = MISSING,
    limit: "Limit | None" = None,
    help: str = "",
    option: str | None = None,
    tool: str | None = None,
    group: str = "",
    one_of: str = "",
) -> "Any":
    """Declare a field of a request; see `Field`."""
    return Field(
        default=default,
        limit=limit,
        help=help,
        option=option,
        tool=tool,
        group=group,
        one_of=one_of,
    )


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Message:
    """Base of all requests: immutable, equal by value, checked when it is made."""

    FIELDS: "ClassVar[Mapping[str, Field]]" = MappingProxyType({})
    """By name, in the order of declaration."""
    ANSWER: "ClassVar[str]" = ""
    """The name of the shape of its answer in docs/contracts.md."""

    def __init_subclass__(cls, *, answer: str = "") -> None:
        cls.ANSWER = answer
        own = {}
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
        """Refuse to change anything."""
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        """Return whether the other one asks for the same."""
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        """Return a hash that fits `__eq__`."""
        return hash((type(self), repr(self)))

    def __repr__(self) -> str:
        """Return how it is made."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({given})"
