"""Writes docs/reference.md, operations and answers in docs/contracts.md, and the sizes in
docs/architecture.md, from the code: `python -m tests.reference`.
"""

import argparse
import json
import re
from pathlib import Path

from tests import shapes_page, size_page
from yaadwatch.api.operations import OPERATIONS
from yaadwatch.cli.main import GROUPS, full_parser

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
CONTRACTS = PAGE.with_name("contracts.md")
ARCHITECTURE = PAGE.with_name("architecture.md")
TABLE = re.compile(r"\| operation \| fields .*?\n\n", re.DOTALL)
SIZES = re.compile(r"\| package \| modules \| lines of code .*?\n\n", re.DOTALL)
SHAPES = re.compile(r"### Shared shapes\n.*?(?=### Errors\n)", re.DOTALL)
HEAD = """\
# Command reference

Every command with all its arguments and options. `python -m tests.reference` writes this page from
the declarations of the commands; `yaadwatch COMMAND --help` prints the same. Settings are in
[contracts](contracts.md).

Each command also takes `--json` (print the answer as one line of JSON), `--project DIR` (a folder
in the repository to use; default: the current folder) and `--help`.
"""
EVERYWHERE = {"help", "json", "project"}


def commands():
    """Return the parser of each command, by name."""
    (chosen,) = (
        one for one in full_parser()._actions if isinstance(one, argparse._SubParsersAction)
    )
    return chosen.choices


def own_arguments(parser):
    """Return the arguments of a command that not every command takes."""
    return [
        one
        for one in parser._actions
        if one.dest not in EVERYWHERE and one.help != argparse.SUPPRESS
    ]


def rendered():
    """Return the whole page."""
    parsers, parts = commands(), [HEAD]
    for group, names in GROUPS.items():
        parts.append(f"\n## {group[0].upper()}{group[1:]}\n")
        parts += [_section(name, parsers[name]) for name in names]
    return "".join(parts)


def operations():
    """Return the table of operations: what each is asked with, and what it answers."""
    rows = [
        f"| `{row.name}` | {', '.join(map(_field, row.request.FIELDS.values()))} | {row.kind} |"
        f" {row.request.ANSWER.replace(' | ', ' or ')} |\n"
        for row in OPERATIONS
    ]
    return "".join(
        ["| operation | fields (default) | kind | answer |\n|---|---|---|---|\n", *rows, "\n"]
    )


def _field(one):
    if one.is_needed:
        return one.name
    return f"{one.name}?" if one.default is None else f"{one.name} {json.dumps(one.default)}"


def _section(name, parser):
    first, _, more = parser.description.partition("\n\n")
    told = [f"\n### `yaadwatch {name}`\n\n{first}\n"]
    if more:
        told.append("\n" + "\n".join(line.strip() for line in _prose(more)) + "\n")
    rows = [f"| `{_shown(one)}` | {_cell(one.help)} |\n" for one in own_arguments(parser)]
    if rows:
        told += ["\n| argument | meaning |\n|---|---|\n", *rows]
    lines = (parser.epilog or "").split("\n")[1:]
    if lines:
        told.append("\n```\n" + "".join(f"{line.strip()}\n" for line in lines if line) + "```\n")
    return "".join(told)


def _prose(more):
    """Yield the lines of a text; where angle brackets would vanish from a page, as code."""
    for line in more.split("\n"):
        yield line.replace("<", "`<").replace(">", ">`") if "<" in line and ">" in line else line


def _shown(argument):
    if argument.option_strings:
        names = ", ".join(argument.option_strings)
        value = "" if argument.nargs == 0 else f" {_value(argument)}"
        return names + value
    return _value(argument).replace("|", "\\|")


def _value(argument):
    choices = ",".join(map(str, argument.choices or ()))
    named = argument.metavar or (f"{{{choices}}}" if choices else argument.dest.upper())
    named = " ".join(named) if isinstance(named, tuple) else named
    if argument.nargs in {"*", "?"}:
        return f"[{named}]"
    return named


def _cell(text):
    return (text or "").replace("|", "\\|").replace("%%", "%")


if __name__ == "__main__":
    PAGE.write_text(rendered(), encoding="utf-8")
    contracts = CONTRACTS.read_text(encoding="utf-8")
    contracts = TABLE.sub(lambda _: operations(), contracts, count=1)
    contracts = SHAPES.sub(lambda _: shapes_page.rendered(), contracts, count=1)
    CONTRACTS.write_text(contracts, encoding="utf-8")
    architecture = ARCHITECTURE.read_text(encoding="utf-8")
    architecture = SIZES.sub(lambda _: size_page.table(), architecture, count=1)
    ARCHITECTURE.write_text(architecture, encoding="utf-8")
