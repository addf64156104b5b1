"""Limits of the fields of requests, as data: what a value must keep to, and the error if not."""

from collections.abc import Callable, Sequence

from yaadwatch.model.limits import ID_CHARS_MAX

TOKENS_MAX = 100_000
KINDS_MAX = 32
TAG_CHARS_MAX = 64
NAME_CHARS_MAX = 4_096
"""A path, a symbol or a cursor."""
REASON_CHARS_MAX = 1_000
WORDS_CHARS_MAX = 256
"""A subject, an attribute or a value."""
NUMBER_MAX = 2**63 - 1
"""The number of an edge, a claim or a version, as SQLite counts."""


class Limit:
    """What a value must keep to."""

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
    """What `checker(name, value)` takes without a ValueError."""

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
    from yaadwatch.model.nodes import canonical_kind

    canonical_kind(given)


def _edge_kind(_name: str, given: str) -> None:
    from yaadwatch.model.edges import canonical_kind

    canonical_kind(given)


def _key(_name: str, given: str) -> None:
    from yaadwatch.model.nodes import canonical_key

    canonical_key(given)


def _time(name: str, given: str) -> None:
    from yaadwatch.model.times import instant

    instant(name, given)


def check_folder(name: str, folder: str) -> None:
    """Raise ValueError unless `folder` could be a folder's absolute path; it need not exist."""
    if not folder.startswith("/"):
        raise ValueError(f"{name} must be an absolute folder, got {folder!r}")
    PATH.check(name, folder)


ID = Text(ID_CHARS_MAX)
"""An id, or a part of one."""
PATH = Text(NAME_CHARS_MAX)
REASON = Text(REASON_CHARS_MAX, may_be_empty=True)
WORDS = Text(WORDS_CHARS_MAX)
NUMBER = Within(1, NUMBER_MAX)
TOKENS = Within(1, TOKENS_MAX)
SHARE = Within(0, 1)
KIND = Form(_kind)
EDGE_KIND = Form(_edge_kind)
KEY = Form(_key)
TIME = Form(_time)
FOLDER = Form(check_folder)
