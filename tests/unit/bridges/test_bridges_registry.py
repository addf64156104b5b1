"""Formats of other packages: found by their entry points, checked, and never able to raise."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bridges.registry import _guarded
from bridges.rules import Bridge, Document, Statement

ROOT = Path(__file__).parents[3]

FORMATS = """
from bridges.reading import parse
from bridges.rules import Bridge, Document

def fail(content):
    raise RuntimeError("not today")

ONE = Bridge(name="goose", paths=(".goosehints",), parse=parse, nested=True)
TWO = (
    Bridge(name="failing", paths=("FAIL.md",), parse=fail),
    Bridge(name="odd", paths=("ODD.md",), parse=lambda content: None),
)
SAME_NAME = Bridge(name="claude", paths=("OTHER.md",), parse=parse)
SAME_PATH = (
    Bridge(name="mine", paths=("MINE.md", "AGENTS.md"), parse=parse),
    Bridge(name="still-good", paths=("GOOD.md",), parse=parse),
)
SECOND = Bridge(name="second", paths=(".goosehints",), parse=parse)
NO_BRIDGE = "CLAUDE.md"
"""

ENTRIES = """
[yaadwatch.bridges]
a-one = more_formats:ONE
b-two = more_formats:TWO
c-same-name = more_formats:SAME_NAME
d-same-path = more_formats:SAME_PATH
e-second = more_formats:SECOND
f-no-bridge = more_formats:NO_BRIDGE
g-no-name = more_formats:NOTHING
h-no-module = no_such_module:ONE
i-broken = broken_formats:ONE
"""

ASK = """
import json, sys
from bridges import registry

assert "more_formats" not in sys.modules, "looked for before anybody asked"
known = registry.bridges()
assert known is not None and registry.bridges() == known
by_name = {bridge.name: bridge for bridge in known}
print(json.dumps({
    "added": [bridge.name for bridge in known[len(registry.BRIDGES):]],
    "first": known[:len(registry.BRIDGES)] == registry.BRIDGES,
    "goose": [s.text for s in by_name["goose"].parse(b"- Use tabs.").statements],
    "below": registry.for_path("web/.goosehints").name,
    "failing": [p.message for p in by_name["failing"].parse(b"x").problems],
    "odd": [p.message for p in by_name["odd"].parse(b"x").problems],
    "problems": registry.problems(),
}))
"""


def _installed(folder, name, modules, entries):
    """Put a distribution into a folder, as an installer does."""
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries)


def _ask(folder):
    code = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]\n{ASK}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_formats_of_an_installed_package_are_found_and_broken_ones_are_told(tmp_path):
    modules = {"more_formats": FORMATS, "broken_formats": "import no_such_module"}
    _installed(tmp_path, "more-formats", modules, ENTRIES)

    told = _ask(tmp_path)

    assert told["added"] == ["goose", "failing", "odd", "still-good"]
    assert told["first"]
    assert told["goose"] == ["Use tabs."]
    assert told["below"] == "goose"
    assert told["failing"] == [
        "The file was not read: the format failing failed on it with RuntimeError."
    ]
    assert told["odd"] == [
        "The file was not read: the format odd failed on it with AttributeError."
    ]
    left_out = [
        ("c-same-name", "is left out: there is a format named claude already"),
        ("d-same-path", "is left out: files at AGENTS.md have the format agents already"),
        ("e-second", "is left out: files at .goosehints have the format goose already"),
        ("f-no-bridge", "is left out: str is no Bridge"),
        ("g-no-name", "cannot be loaded: AttributeError: module 'more_formats' has no attribute"),
        ("h-no-module", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
        ("i-broken", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
    ]
    assert len(told["problems"]) == len(left_out)
    for problem, (entry, reason) in zip(told["problems"], left_out, strict=True):
        assert problem.startswith(f"the format '{entry}' of more-formats {reason}")


@pytest.mark.parametrize(
    "statements",
    [
        (1, 2),
        (Statement(text=12, line=1, end_line=1),),
        (Statement(text="Use\ntabs.", line=1, end_line=1),),
        (Statement(text="Use \ud800.", line=1, end_line=1),),
        (Statement(text="x" * 3_000, line=1, end_line=1),),
        (Statement(text="Use tabs.", line=1, end_line=1),) * 2_001,
    ],
)
def test_statements_that_are_none_cost_the_file_its_statements_only(statements):
    bridge = Bridge(name="odd", paths=(".odd",), parse=lambda _: Document(statements=statements))

    document = _guarded(bridge)(b"")

    assert document.statements == ()
    assert document.problems[0].message.startswith("The file was not read: the format odd ")


def test_a_format_that_wants_to_end_the_program_costs_its_file_only():
    bridge = Bridge(name="odd", paths=(".odd",), parse=lambda _: sys.exit(3))

    assert "SystemExit" in _guarded(bridge)(b"").problems[0].message
