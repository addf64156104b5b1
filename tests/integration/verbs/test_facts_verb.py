"""What a project is made of, where that is declared, and which memories rest on it."""

import json

import pytest

from yaadwatch.api.messages.memories import Facts
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.projects.facts import facts

PACKAGE = {
    "name": "shop",
    "packageManager": "pnpm@9.1.0",
    "engines": {"node": ">=20"},
    "scripts": {"test": "vitest run", "dev": "vite --port 5173"},
    "dependencies": {"zod": "^3.22.0", "left-pad": "1.3.0"},
    "devDependencies": {"vitest": "^1.6.0", "@changesets/cli": "2"},
}
FILES = {
    "package.json": json.dumps(PACKAGE, indent=1),
    ".nvmrc": "20\n",
    "compose.yml": 'services:\n  db:\n    image: postgres:15\n    ports: \n      - "5432:5432"\n',
    "Dockerfile": "FROM node:20-alpine AS build\nEXPOSE 3000\n",
    "Makefile": "test:\n\tpnpm test\nseed:\n\tnode seed.js\n",
    "api/pyproject.toml": '[project]\nname = "api"\nrequires-python = ">=3.11"\n'
    'dependencies = ["fastapi>=0.110"]\n[tool.ruff]\nline-length = 100\n',
    "api/uv.lock": "",
    "examples/package.json": '{"dependencies": {"express": "4"}}',
}


def asked(repo, **fields):
    return facts(repo.home, repo.call, Facts(**fields))


def rows(answer):
    return {(one["slot"], one["name"]): one for one in answer["facts"]}


def test_each_thing_comes_with_where_it_is_declared(repo):
    repo.commit("before", FILES)

    found = rows(asked(repo))

    said = {key: (one["value"], one["path"], one["line"]) for key, one in found.items()}
    assert said["package manager", "pnpm"] == ("9.1.0", "package.json", 3)
    assert said["package manager", "uv"] == (None, "api/uv.lock", 1)
    assert said["test runner", "vitest"] == ("^1.6.0", "package.json", 16)
    assert said["framework", "fastapi"] == (">=0.110", "api/pyproject.toml", 4)
    assert said["runtime", "python"] == (">=3.11", "api/pyproject.toml", 3)
    assert said["image", "postgres"] == ("15", "compose.yml", 3)
    assert said["port", "5432"] == (None, "compose.yml", 5)
    assert said["port", "5173"][1] == "package.json"
    assert said["port", "3000"] == (None, "Dockerfile", 2)
    assert said["commands", "make"][0] == "test, seed"
    # An example is no part of the project, and packages that nothing is said of are only counted.
    assert not {name for _, name in found} & {"express", "zod", "left-pad"}


def test_the_memories_that_rest_on_it_stand_below(repo):
    repo.commit("before", FILES)
    said = {
        "Input is validated with zod.": ("package", "zod"),
        "We use pnpm, not npm.": ("package manager", "pnpm"),
        "Tests run with vitest.": ("test runner", "vitest"),
        "The database is Postgres 15.": ("image", "postgres"),
        "Seed the database with `make seed`.": ("commands", "make"),
    }
    for text in said:
        repo.remember(text)

    found = rows(asked(repo))

    for text, key in said.items():
        assert [one["text"] for one in found[key]["memories"]] == [text], key


def test_a_folder_and_every_package_can_be_asked_for(repo):
    repo.commit("before", FILES)

    assert {row["path"].partition("/")[0] for row in asked(repo, path="api")["facts"]} == {"api"}
    assert ("package", "left-pad") in rows(asked(repo, all=True))
    with pytest.raises(YaadError) as refused:
        asked(repo, path="../elsewhere")
    assert refused.value.code is Code.NOT_FOUND


def test_what_is_not_valid_is_named_and_declares_nothing(repo):
    broken = {
        "package.json": '{"dependencies": {',
        "a/pyproject.toml": b"\xff\xfe[\x00p\x00",
        "b/Cargo.toml": "[package\n",
        "c/package.json": "[]",
        "d/package.json": '{"dependencies": "none"}',
    }
    repo.commit("before", broken)

    answer = asked(repo)

    assert answer["invalid"] == [
        "package.json",
        "a/pyproject.toml",
        "b/Cargo.toml",
        "c/package.json",
    ]
    assert [one for one in answer["facts"] if one["slot"] != "package manager"] == []


def test_of_many_files_those_near_the_top_are_read_and_no_lock_file(repo):
    many = {f"p{at}/package.json": '{"dependencies": {"zod": "3"}}' for at in range(450)}
    repo.commit("before", {**many, "package-lock.json": "x" * 3_000_000, "yarn.lock": "y\n" * 9})
    answer = asked(repo, all=True)

    assert answer["not_read"] == 52
    assert len(answer["facts"]) == 400
