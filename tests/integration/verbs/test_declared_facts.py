"""A statement that names what the project declares is flagged when no file declares it any more."""

import json

import pytest

from yaadwatch.staleness import stale


def manifest(**fields):
    return json.dumps(fields, indent=1)


def rows(repo):
    return [row for row in stale.stale(repo.home, repo.call, all=True)["stale"] if row["level"]]


def changed(repo, before, said, after, gone=()):
    """Return the flags after a commit that writes `after` and deletes `gone`."""
    repo.commit("before", before)
    repo.remember(said)
    if gone:
        repo.git("rm", "-q", *gone)
    repo.commit("the change", after)
    return rows(repo)


JEST = {"package.json": manifest(devDependencies={"vitest": "1"}, dependencies={"zod": "3"})}
CHI = "module a\n\nrequire github.com/go-chi/chi/v5 v5.0.1\n"
GEMS = 'gem "rspec-rails"\ngem "rails"\n'
GONE = [
    # the last part of a module, the family of a package, a tool with a file of its own
    ({"go.mod": CHI}, "Routes are made with `chi`.", {"go.mod": "module a\n"}, ()),
    ({"Gemfile": GEMS}, "Specs run with RSpec.", {"Gemfile": 'gem "rails"\n'}, ()),
    (
        {".golangci.yml": "run: {}\n"},
        "golangci-lint checks each commit",
        {"go.mod": CHI},
        (".golangci.yml",),
    ),
    (
        JEST,
        "Tests run with vitest.",
        {"package.json": manifest(devDependencies={"jest": "29"})},
        (),
    ),
    (
        JEST,
        "We validate input with Zod",
        {"package.json": manifest(dependencies={"valibot": "1"})},
        (),
    ),
    (
        {"pnpm-lock.yaml": "x: 1\n", "package.json": manifest(packageManager="pnpm@9")},
        "We use pnpm, not npm",
        {"bun.lock": "{}\n", "package.json": manifest(packageManager="bun@1")},
        ("pnpm-lock.yaml",),
    ),
    (
        {"pyproject.toml": '[project]\nname = "x"\ndependencies = ["Django>=4"]\n'},
        "The admin pages are plain Django",
        {"pyproject.toml": '[project]\nname = "x"\ndependencies = ["fastapi"]\n'},
        (),
    ),
    ({"poetry.lock": "\n"}, "Install with Poetry", {"uv.lock": "\n"}, ("poetry.lock",)),
    (
        {"Gemfile": 'gem "sidekiq"\ngem "rails"\n'},
        "Jobs run in Sidekiq",
        {"Gemfile": 'gem "solid_queue"\ngem "rails"\n'},
        (),
    ),
    (
        {"composer.json": '{"require": {"guzzlehttp/guzzle": "^7"}}'},
        "Calls go through `guzzlehttp/guzzle`",
        {"composer.json": '{"require": {"symfony/http-client": "^7"}}'},
        (),
    ),
    (
        {"build.gradle.kts": 'implementation("com.squareup.okhttp3:okhttp:4.12.0")\n'},
        "Requests are made with okhttp",
        {"build.gradle.kts": 'implementation("io.ktor:ktor-client-core:2.3.0")\n'},
        (),
    ),
    (
        {"Cargo.toml": '[package]\nname = "x"\n[dependencies]\nreqwest = "0.12"\n'},
        "HTTP is done with reqwest",
        {"Cargo.toml": '[package]\nname = "x"\n[dependencies]\nureq = "3"\n'},
        (),
    ),
    (
        {"pubspec.yaml": "dependencies:\n  riverpod: ^2.0.0\n"},
        "State is in riverpod providers",
        {"pubspec.yaml": "dependencies:\n  bloc: ^8.0.0\n"},
        (),
    ),
    (
        {"mix.exs": '[{:cowboy, "~> 2.0"}]\n'},
        "The server is cowboy",
        {"mix.exs": '[{:bandit, "~> 1.0"}]\n'},
        (),
    ),
    (
        {"server.ts": 'app.get("/api/v1/users", f)\n'},
        "Users are at `GET /api/v1/users`",
        {"server.ts": 'app.get("/api/v2/users", f)\n'},
        (),
    ),
    (
        {"package.json": manifest(scripts={"dev": "vite --port 5173"})},
        "The dev server is at port 5173",
        {"package.json": manifest(scripts={"dev": "vite --port 8080"})},
        (),
    ),
    (
        {"compose.yaml": "services:\n  db:\n    image: postgres:15\n"},
        "The database is Postgres 15",
        {"compose.yaml": "services:\n  db:\n    image: postgres:17\n"},
        (),
    ),
    (
        {".travis.yml": "language: python\n", "setup.py": "\n"},
        "It runs against all of them on Travis CI",
        {".github/workflows/ci.yml": "on: push\n"},
        (".travis.yml",),
    ),
    (
        {"package.json": manifest(devDependencies={"@changesets/cli": "2"})},
        "Each pull request has a changeset",
        {"package.json": manifest(devDependencies={"astro": "4"})},
        (),
    ),
    (
        {"web/package.json": manifest(dependencies={"react-query": "3"})},
        "Requests are cached by React Query",
        {"web/package.json": manifest(dependencies={"swr": "2"})},
        (),
    ),
    (
        {"pyproject.toml": '[project]\nrequires-python = ">=3.8"\n'},
        "You need pnpm, GNU make, and Python (>=3.8) installed.",
        {"pyproject.toml": '[project]\nrequires-python = ">=3.9"\n'},
        (),
    ),
    ({".nvmrc": "20\n"}, "Node.js (20) is needed", {".nvmrc": "22\n"}, ()),
]


@pytest.mark.parametrize(("before", "said", "after", "gone"), GONE, ids=[one[1] for one in GONE])
def test_what_is_declared_nowhere_any_more_is_flagged(repo, before, said, after, gone):
    (row,) = changed(repo, before, said, after, gone)

    assert row["level"] == "warn"
    assert row["evidence"][0]["commit"]["subject"] == "the change"


ZOD = {"package.json": manifest(dependencies={"zod": "3", "date": "1"})}
PYTHON = '[project]\nname = "billing"\ndependencies = ["click", "coverage"]\n'
POM = "<project><dependencies>{}</dependencies><artifactId>billing</artifactId></project>"
JACKSON = "<dependency><artifactId>jackson-core</artifactId></dependency>"
KEPT = {
    "a newer version of a module": (
        {"go.mod": CHI},
        "Routes are made with `chi`.",
        {"go.mod": CHI.replace("v5", "v6")},
    ),
    "a module with a hyphen, beside another one": (
        {"go.mod": CHI.replace("go-chi/chi/v5", "redis/go-redis/v9")},
        "Locks are kept by go-redis",
        {"go.mod": CHI.replace("go-chi/chi/v5 v5.0.1", "redis/go-redis/v9 v9.1.0")},
    ),
    "a package of a scope that is called like a host": (
        {
            "package.json": manifest(dependencies={"@trigger.dev/redis-worker": "1"}),
            "a.js": "start('redis-worker')\n",
        },
        "Jobs are in `redis-worker`",
        {"package.json": manifest()},
    ),
    "a word that ends the name of a module": (
        {"go.mod": CHI},
        "The chi test compares both",
        {"go.mod": "module a\n"},
    ),
    "a package of Go itself": (
        {"go.mod": CHI.replace("github.com/go-chi/chi/v5", "golang.org/x/sync")},
        "Guard it with `sync`",
        {"go.mod": "module a\n"},
    ),
    "another version": (
        ZOD,
        "We use zod",
        {"package.json": manifest(dependencies={"pino": "9", "zod": "4"}, scripts={"a": "b"})},
    ),
    "another package of the repository": (
        ZOD,
        "We use zod",
        {"package.json": manifest(), "web/package.json": manifest(dependencies={"zod": "3"})},
    ),
    "one of its family": (
        ZOD,
        "We use zod",
        {"package.json": manifest(dependencies={"@zod/mini": "1"})},
    ),
    "a part of the project by its scope": (
        {"package.json": manifest(name="@shop/web", dependencies={"@shop/basket": "1"})},
        "The shop has one basket for each visitor",
        {"package.json": manifest(name="@shop/web")},
    ),
    "the registry of a package manager": (
        {"package-lock.json": "{}", "package.json": manifest()},
        "The npm package has the compiled files",
        {"package.json": manifest(packageManager="pnpm@9")},
        "package-lock.json",
    ),
    "an acronym": (
        {"package.json": manifest(dependencies={"mcp": "1"})},
        "The MCP server is started by the editor",
        {"package.json": manifest()},
    ),
    "a file": (
        {"package.json": manifest(dependencies={"package-json": "1"})},
        "Versions are in `package.json`",
        {"package.json": manifest()},
    ),
    "something that is not used": (ZOD, "We never use zod here", {"package.json": manifest()}),
    "a word in a sentence": (ZOD, "Each chunk has a date", {"package.json": manifest()}),
    "words in a sentence": (
        {"pyproject.toml": PYTHON},
        "Click the button, and the coverage of the map grows",
        {"pyproject.toml": '[project]\nname = "billing"\n'},
    ),
    "the project itself": (
        {"pyproject.toml": PYTHON},
        "Start it with billing serve",
        {"pyproject.toml": '[project]\nname = "invoices"\n'},
    ),
    "the project itself, of Maven": (
        {"pom.xml": POM.format(JACKSON)},
        "The jar of billing is built by CI",
        {"pom.xml": POM.format(JACKSON).replace("billing", "invoices")},
    ),
    "a form that is not read": (
        {"build.gradle": 'implementation "com.squareup.okhttp3:okhttp:4.0.0"\n'},
        "Requests are made with okhttp",
        {"build.gradle": "implementation group: 'com.squareup.okhttp3', name: 'okhttp'\n"},
    ),
    "another file of requirements": (
        {"requirements.txt": "httpx\n"},
        "Requests are made with httpx",
        {"requirements.txt": "-r requirements/base.txt\n", "requirements/base.txt": "httpx\n"},
    ),
    "an image that installs it": (
        {"requirements.txt": "gunicorn\n"},
        "The API is served by gunicorn",
        {"requirements.txt": "uvloop\n", "Dockerfile": "RUN pip install gunicorn==22\n"},
    ),
    "an environment of another tool": (
        {"requirements.txt": "polars\n"},
        "Tables are read with polars",
        {
            "requirements.txt": "# see environment.yml\n",
            "environment.yml": "dependencies:\n- polars\n",
        },
    ),
    "dependencies of a test environment": (
        {"requirements-test.txt": "hypothesis\n"},
        "Laws are tested with hypothesis",
        {"requirements-test.txt": "\n", "tox.ini": "[testenv]\ndeps = hypothesis\n"},
    ),
    "scripts that run it": (
        {"package.json": manifest(devDependencies={"vitest": "1"})},
        "Tests run with vitest",
        {"package.json": manifest(devDependencies={"@nx/vite": "1"}, scripts={"t": "vitest run"})},
    ),
    "a file of another name": (
        {"tox.ini": "[tox]\n", "setup.py": "\n"},
        "Run all of it with tox",
        {"tox.toml": "env_list = []\n"},
        "tox.ini",
    ),
    "a file that was renamed": (
        {"Jenkinsfile": "pipeline { agent any }\n", "a.py": "\n"},
        "Deploys go through Jenkins",
        {"ci/release.Jenkinsfile": "pipeline { agent any }\n"},
        "Jenkinsfile",
    ),
    "a rival below": (
        {"package-lock.json": "{}", "package.json": manifest()},
        "Install with npm",
        {"package.json": manifest(private=True), "docs/pnpm-lock.yaml": "x: 1\n"},
        "package-lock.json",
    ),
    "a rule about its end": (
        ZOD,
        "Migrate zod schemas to valibot",
        {"package.json": manifest(dependencies={"valibot": "1"})},
    ),
    "a runtime": (
        {"package.json": manifest(engines={"node": ">=20"})},
        "Runs on node in production",
        {"package.json": manifest()},
    ),
    "a tool that lost its table": (
        {"pyproject.toml": "[tool.coverage.run]\nbranch = true\n[tool.ruff]\nline-length = 100\n"},
        "Format with ruff",
        {"pyproject.toml": ""},
    ),
    "a lock file that git ignores from now on": (
        {"package-lock.json": "{}", "package.json": manifest()},
        "Install with npm",
        {"package.json": manifest(private=True), ".gitignore": "package-lock.json\n"},
        "package-lock.json",
    ),
    "a lock file without its lock": (
        {"Gemfile": 'gem "rails"\n', "Gemfile.lock": "GEM\n"},
        "Gems are installed by bundler",
        {"Gemfile": 'gem "rails"\n'},
        "Gemfile.lock",
    ),
}


@pytest.mark.parametrize("given", KEPT.values(), ids=KEPT)
def test_what_is_still_declared_or_not_meant_is_not(repo, given):
    before, said, after, *gone = given

    assert [row["reason"] for row in changed(repo, before, said, after, gone)] == []


BROKEN = {
    "JSON that is being edited": ("package.json", ZOD["package.json"].replace('"date"', "")),
    "an unfinished merge": (
        "package.json",
        ZOD["package.json"].replace(' "dependencies"', '<<<<<<< ours\n "dependencies"'),
    ),
    "TOML that is being edited": ("Cargo.toml", "[dependencies]\nzod = \n"),
    "requirements in the middle of a merge": (
        "requirements.txt",
        "<<<<<<< ours\nclick\n=======\n>>>>>>> theirs\n",
    ),
    "another encoding": ("package.json", "\0".join(manifest())),
    "a list instead of a table": ("package.json", "[]"),
}


@pytest.mark.parametrize(("name", "broken"), BROKEN.values(), ids=BROKEN)
def test_a_manifest_that_is_not_valid_at_the_moment_flags_nothing(repo, name, broken):
    whole = {
        "package.json": ZOD["package.json"],
        "Cargo.toml": '[dependencies]\nzod = "1"\n',
        "requirements.txt": "zod\n",
    }

    assert changed(repo, {name: whole[name]}, "We use zod", {name: broken}) == []
    (unknown,) = stale.stale(repo.home, repo.call, all=True)["unknown"]
    assert f"{name} is not valid at the moment" in unknown["reason"]


def test_a_manager_whose_commands_may_still_work_is_confirmed_at_once(repo):
    after = {"package.json": manifest(packageManager="pnpm@9"), "pnpm-lock.yaml": "x: 1\n"}
    said = "Lint with `npm run lint`"
    before = {"package-lock.json": "{}", "package.json": manifest()}
    (row,) = changed(repo, before, said, after, ["package-lock.json"])
    assert row["reason"] == "the project does not declare npm any more; it declares pnpm now"

    repo.confirm(row["id"])

    assert rows(repo) == []


def test_a_reason_names_what_came_in_its_place(repo):
    after = {"package.json": manifest(devDependencies={"jest": "29"}, dependencies={"zod": "3"})}

    (row,) = changed(repo, JEST, "Tests run with vitest.", after)

    assert row["reason"] == "the project does not declare vitest any more; it declares jest now"


def test_the_flag_goes_when_it_is_declared_again(repo):
    assert changed(repo, JEST, "Tests run with vitest.", {"package.json": manifest()})

    repo.commit("back", JEST)

    assert rows(repo) == []
