"""The page of contracts and the code say the same: operations, events, tables, settings, codes."""

import dataclasses
import re
from pathlib import Path

import pytest

from bridges.registry import BRIDGES
from tests import answers
from yaadwatch.api.operations import OPERATIONS
from yaadwatch.cli.main import COMMANDS
from yaadwatch.model import events, settings
from yaadwatch.model.errors import Code

EVENTS = [kind for name, kind in vars(events).items() if name.isupper() and name != "UTC"]

ROOT = Path(__file__).parents[2]
CONTRACTS = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
SCHEMA = "".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "yaadwatch" / "db" / "schema").glob("*.sql"))
)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)
def test_every_operation_is_in_the_contract(operation):
    assert f"`{operation.name}`" in CONTRACTS


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)
def test_the_answer_of_every_operation_is_declared(operation):
    assert answers.shapes_of(operation.request)


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_in_the_contract(event):
    assert event in CONTRACTS


@pytest.mark.parametrize("code", Code)
def test_every_error_code_is_in_the_contract(code):
    assert f"| `{code}` |" in CONTRACTS


@pytest.mark.parametrize(
    "table", re.findall(r"CREATE (?:VIRTUAL )?TABLE (\w+)", SCHEMA), ids=lambda name: name
)
def test_every_table_is_in_the_contract_and_says_what_a_row_means(table):
    assert f"`{table}`" in CONTRACTS
    assert re.search(rf"--[^\n]+\nCREATE (VIRTUAL )?TABLE {table}\b", SCHEMA)


def test_the_schema_was_found():
    assert "CREATE TABLE nodes" in SCHEMA


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md", "docs/memory.md"])
def test_modules_named_in_a_page_exist(page):
    """A path is relative to the top, to yaadwatch/ or to tests/."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|txt|sql))`", text))
    folders = (ROOT, ROOT / "yaadwatch", ROOT / "tests")
    assert [
        path for path in sorted(named) if not any((top / path).exists() for top in folders)
    ] == []


@pytest.mark.parametrize("bridge", BRIDGES, ids=lambda bridge: bridge.name)
def test_every_format_is_in_the_table_of_formats(bridge):
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    files = re.findall(rf"^\| `{bridge.name}` \| (.*?) \|", page, re.MULTILINE)
    assert [re.findall(r"`(.*?)`", row) for row in files] == [list(bridge.paths)]


def test_every_setting_is_in_the_contract_with_its_default():
    for section in dataclasses.fields(settings.Settings):
        for setting in dataclasses.fields(
            section.type
            if isinstance(section.type, type)
            else getattr(settings, section.name.capitalize())
        ):
            default = setting.default
            shown = list(default) if isinstance(default, tuple) else default
            shown = shown if isinstance(shown, str | list) else f"{shown:g}"
            assert f"| `{section.name}.{setting.name}` | {shown} |" in CONTRACTS


def test_every_limit_is_read_somewhere():
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "yaadwatch").rglob("*.py")
        if path.name != "settings.py"
    )
    names = [name for name in vars(settings) if name.isupper() and name != "HALF_LIFE_DAYS"]
    assert [name for name in names if not re.search(rf"\b{name}\b", code)] == []


RUNNING = [ROOT / "Makefile", ROOT / ".pre-commit-hooks.yaml", *(ROOT / "service-units").iterdir()]
CALL = re.compile(r"(?:BIN\)/|ExecStart=\S*/|entry: |`|Undo: |\()yaadwatch ([a-z]+)")


@pytest.mark.parametrize(
    "file",
    [
        *RUNNING,
        ROOT / "README.md",
        *sorted((ROOT / "yaadwatch").rglob("*.py")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ],
    ids=lambda file: file.relative_to(ROOT).as_posix(),
)
def test_commands_named_in_a_file_exist(file):
    unknown = {*CALL.findall(file.read_text("utf-8"))} - COMMANDS.keys()

    assert unknown == set()


def test_make_run_runs_a_command():
    assert CALL.findall(RUNNING[0].read_text("utf-8")) == ["up"]
