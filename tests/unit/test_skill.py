"""The skill for agents: short, with the header that they look for, and true of the tools."""

import re

from yaadwatch.api.operations import OPERATIONS
from yaadwatch.cli.main import COMMANDS
from yaadwatch.connect import table
from yaadwatch.text.words import estimate_tokens

TOKENS_MAX = 600
TEXT = table.skill()


def test_it_costs_less_than_600_tokens():
    assert estimate_tokens(TEXT) < TOKENS_MAX


def test_its_header_says_its_name_and_when_to_use_it():
    header = re.match(r"---\nname: ([a-z-]+)\ndescription: (.+)\n---\n", TEXT)

    assert header[1] == "yaadwatch"
    assert 50 < len(header[2]) <= 1024


def test_every_tool_and_command_that_it_names_is_there():
    tools = {f"yaad_{row.name}" for row in OPERATIONS if "mcp" in row.wires}
    named = set(re.findall(r"`(yaad_[a-z]+(?:_[a-z]+)*)`", TEXT))
    commands = set(re.findall(r"`yaadwatch ([a-z]+)", TEXT))

    assert named
    assert named <= tools
    assert commands <= COMMANDS.keys()
