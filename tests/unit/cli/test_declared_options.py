"""What the `option` of a field means on the command line, and what is sent of it."""

from argparse import ArgumentError, ArgumentParser

import pytest

from yaadwatch.api.message import Each, Message, OneOf, field
from yaadwatch.cli.commands import DECLARED, command, given_fields
from yaadwatch.model.errors import YaadError


class Paint(Message):
    """A request with an option of each form."""

    wall: str = field("WALL  which wall")
    words: str | None = field("[WORDS...]  what to write", default=None)
    coats: int = field("--coats N  how many (default: {default})", default=2)
    shade: float | None = field("--shade S  how dark", default=None)
    colours: tuple[str, ...] = field(
        "--colour  which", default=(), limit=Each(3, OneOf(("red", "blue")))
    )
    notes: dict[str, object] | None = field(
        "--note NAME=VALUE  notes", default=None, one_of="notes"
    )
    plan: dict[str, object] | None = field("--plan JSON  a plan", default=None, one_of="notes")
    sand: bool = field("--no-sand  leave it rough", default=True)
    wet: bool = field("--wet  on wet paint", default=False)
    brush: str = field(default="wide", help="not on the command line")


@pytest.fixture
def parser(monkeypatch):
    """A parser of the command that takes it."""
    monkeypatch.setattr("yaadwatch.cli.commands.DECLARED", {})
    command("paint", Paint)(lambda *_: 0)
    from yaadwatch.cli import commands

    made = ArgumentParser(exit_on_error=False)
    commands.DECLARED["paint"].add_options(made)
    return made


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("north", {}),
        ("north keep off", {"words": "keep off"}),
        ("north --coats 3 --shade 0.5", {"coats": 3, "shade": 0.5}),
        ("north --coats 2", {}),
        ("north --colour red --colour blue", {"colours": ["red", "blue"]}),
        ("north --note a=1 --note b=", {"notes": {"a": "1", "b": None}}),
        ('north --plan {"a":1}', {"plan": {"a": 1}}),
        ("north --no-sand --wet", {"sand": False, "wet": True}),
    ],
)
def test_only_what_was_given_is_sent(parser, line, sent):
    assert given_fields(parser.parse_args(line.split()), Paint) == {"wall": "north"} | sent


@pytest.mark.parametrize(
    "line",
    [
        "north --colour green",
        "north --coats many",
        "north --shade nan",
        "north --note =1",
        "north --plan [1]",
        "north --note a=1 --plan {}",
        "north --brush small",
    ],
)
def test_what_the_declaration_does_not_allow_is_refused(parser, line):
    with pytest.raises((ArgumentError, SystemExit, YaadError)):
        parser.parse_args(line.split())


def test_the_help_names_the_default(parser):
    assert "how many (default: 2)" in parser.format_help()
    assert "--brush" not in parser.format_help()


def test_every_command_is_declared_under_its_name():
    from yaadwatch.cli.main import COMMANDS, full_parser

    full_parser()

    assert DECLARED.keys() >= COMMANDS.keys()
