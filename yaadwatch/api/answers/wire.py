"""Answers about the daemon itself."""

from typing import TypedDict

from yaadwatch.api.answers.shapes import Problem, Time


class Health(TypedDict):
    """Answered from memory."""

    ok: bool
    """there are no problems"""
    pid: int
    version: str
    since: Time | None
    problems: list[Problem]


class _Setting(TypedDict):
    key: str
    value: object
    from_: str
    """`default`, a file or a variable"""
    default: object


class Config(TypedDict):
    """The settings of the running daemon for the project of the request. Of `config set` and
    `unset`: the row, with `restart`: the running daemon has another value. `unset` also takes out
    what is in the file and is no setting; its `value` and `default` are null."""

    settings: list[_Setting]
    project: str | None
    """the folder of its store"""
    warnings: list[str]
    """what is set and not used, including what was set differently after the start"""
    running: bool
    """without a daemon: what the next one would have"""


class Subscribed(TypedDict):
    """What answers `subscribe`, before the events."""

    subscribed: bool
    cursor: str


class Event(TypedDict):
    """One line of a subscription."""

    cursor: str
    project: str
    """empty for the user store"""
    kind: str
    at: Time
    subject: str | None
    body: dict[str, object]


class Stopped(TypedDict):
    """The daemon ends."""

    stopping: bool
