"""Which packages, addresses and ports a text names; and that ordinary words are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.anchors.facts import PACKAGE_FILES, packages
from yaadwatch.remember.classify import ENTITIES_MAX, NAME_CHARS_MAX, entities

USED = {
    "jose": "npm",
    "@acme/ui": "npm",
    "left-pad": "npm",
    "requests": "pip",
    "typing-extensions": "pip",
    "github.com/gin-gonic/gin": "go",
    "serde": "cargo",
}

PYPROJECT = """
[project]
dependencies = ["Typing_Extensions>=4; python_version<'3.11'"]
[project.optional-dependencies]
x = ["rich"]
[dependency-groups]
dev = ["mypy"]
[tool.poetry.dependencies]
python = "^3.11"
httpx = "*"
"""
GO_MOD = """
module example.org/me

require github.com/x/y v1.2.3
require (
	golang.org/x/net v0.1.0 // indirect
)
"""


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Sign tokens with jose", ["jose (npm package)"]),
        ("Buttons come from @acme/ui, not from us", ["@acme/ui (npm package)"]),
        ("Use `requests` with a timeout", ["requests (pip package)"]),
        ("typing_extensions is needed on 3.10", ["typing-extensions (pip package)"]),
        ("Routes are in github.com/gin-gonic/gin", ["github.com/gin-gonic/gin (go package)"]),
        ("See https://Docs.Example.org/api/?page=2#top.", ["https://docs.example.org/api"]),
        ("The board is at https://b.example:8443/x", ["https://b.example:8443/x"]),
        ("The API listens on port 8080", ["port 8080"]),
        ("Ports 8080 and 9090 are taken", ["port 8080", "port 9090"]),
        ("Open localhost:3000 first", ["port 3000"]),
        ("jose, and jose again: jose", ["jose (npm package)"]),
    ],
)
def test_what_is_written_as_such_is_named(text, named):
    assert entities(text, USED) == named


@pytest.mark.parametrize(
    "text",
    [
        "The Server handles Requests from Paris",
        "It handles requests in order",
        "Jose wrote the parser",
        "Support for serde-like formats is planned for The Next Release",
        "port 99999 does not exist, and neither does port 0",
        "See section 8080 of the report",
        "https://ada:secret@example.org/x",
        "https://[masked:password]@example.org/x",
        "a://b and https:// alone",
    ],
)
def test_ordinary_words_name_nothing(text):
    assert entities(text, USED) == []


@given(st.text(), st.dictionaries(st.text(max_size=8), st.sampled_from(("npm", "pip"))))
def test_any_text_names_a_few_short_things_each_once(text, used):
    found = entities(text, used)

    assert len(found) == len(set(found)) <= ENTITIES_MAX
    assert all(0 < len(name) <= NAME_CHARS_MAX for name in found)


def test_a_long_text_of_anything_is_no_burden():
    for unit in ("https://", "a/", "port 1", "`a", "x@"):
        assert len(entities(unit * 10_000, USED)) <= ENTITIES_MAX


@pytest.mark.parametrize(
    ("name", "text", "used"),
    [
        (
            "package.json",
            '{"dependencies": {"jose": "^5"}, "devDependencies": {"@acme/ui": "1"}}',
            {"jose": "npm", "@acme/ui": "npm"},
        ),
        (
            "pyproject.toml",
            PYPROJECT,
            {"typing-extensions": "pip", "rich": "pip", "mypy": "pip", "httpx": "pip"},
        ),
        ("requirements.txt", "# all\nrequests==2\n-r more.txt\n\n", {"requests": "pip"}),
        (
            "go.mod",
            GO_MOD,
            {"github.com/x/y": "go", "golang.org/x/net": "go"},
        ),
        (
            "Cargo.toml",
            '[dependencies]\nserde = "1"\n[target."cfg(unix)".dependencies]\nnix = "0.29"\n',
            {"serde": "cargo", "nix": "cargo"},
        ),
    ],
)
def test_a_project_says_what_it_uses(name, text, used):
    assert packages(name, text) == used


@given(
    st.sampled_from(PACKAGE_FILES), st.text() | st.sampled_from(("[]", '"x"', "{}", "[" * 9_999))
)
def test_what_cannot_be_read_says_nothing(name, text):
    assert all(packages(name, text).values())


@pytest.mark.parametrize("text", ['{"dependencies": []}', "dependencies = 3", "[project]\nx = 1"])
def test_what_has_another_shape_says_nothing(text):
    assert {name: packages(name, text) for name in PACKAGE_FILES if "requirements" not in name} == {
        name: {} for name in PACKAGE_FILES if "requirements" not in name
    }
