"""A literal that a text states of a file is flagged when another one stands in its place."""

import pytest

from yaadwatch.staleness import stale


def rows(repo, path, before, said, after):
    repo.commit("before", {path: before})
    repo.remember(said)
    repo.commit("the change", {path: after})
    return [row for row in stale.stale(repo.home, repo.call, all=True)["stale"] if row["level"]]


COMPOSE = 'services:\n  web:\n    image: nginx:1.25\n    ports:\n      - "8080:80"\n'
VITE = "export default { server: { port: 5173, open: true } }\n"
FLAGGED = [
    ("src/limits.ts", "const c = { waitMs: 5000, n: 20 };\n", "5000", "7000", "`waitMs` is 5000"),
    ("k8s/app.yaml", "spec:\n  replicas: 3\n", "3", "5", "`spec.replicas` is 3"),
    ("settings.py", "DEBUG = True\n", "True", "False", "`DEBUG` is True"),
    (
        "settings.py",
        'BASE = "https://a.example/v1"\n',
        "v1",
        "v2",
        "`BASE` is https://a.example/v1",
    ),
    ("settings.py", "class S:\n    retries: int = 3\n", "3", "5", "`S.retries` is 3"),
    (
        "tsconfig.json",
        '{"compilerOptions": {"target": "ES2020"}}',
        "2020",
        "2022",
        "`target` ES2020",
    ),
    ("compose.yml", COMPOSE, "8080", "8090", "The web service listens on port 8080"),
    ("compose.yml", COMPOSE, "1.25", "1.27", "The proxy is `nginx:1.25`"),
    ("vite.config.ts", VITE, "5173", "3000", "The dev server is at http://localhost:5173"),
    ("Dockerfile", "FROM x\nEXPOSE 3000\n", "3000", "4000", "The container exposes port 3000"),
    ("Dockerfile", "FROM node:18-alpine\n", "18", "20", "The image is based on node:18-alpine"),
    ("net.py", "def fetch(url, tries=3):\n    return url\n", "3", "5", "`tries` defaults to 3"),
    ("cli.py", 'p.add("--jobs", type=int, default=4)\n', "=4", "=8", "`--jobs` defaults to 4"),
    ("app.properties", "server.port=8081\n", "8081", "8082", "The server's port is 8081"),
    ("Cargo.toml", '[package]\nversion = "1.2.0"\n', "1.2.0", "1.3.0", "The version is 1.2.0"),
    ("app.rb", "set :port, 4567\n", "4567", "9292", "It listens on port 4567"),
    (".env.example", "CACHE_TTL=900\n", "900", "600", "`CACHE_TTL` is 900"),
    ("main.tf", 'resource "a" "b" {\n  count = 2\n}\n', "2", "4", "The count is 2"),
]


@pytest.mark.parametrize(("path", "before", "old", "new", "said"), FLAGGED)
def test_another_literal_in_its_place_is_flagged(repo, path, before, old, new, said):
    (row,) = rows(repo, path, before, f"{said} (`{path}`)", before.replace(old, new))

    assert (row["verdict"], row["level"]) == ("changed", "warn")
    assert old.strip("=") in row["reason"]
    assert new.strip("=") in row["reason"]
    assert row["evidence"][0]["commit"]["subject"] == "the change"


@pytest.mark.parametrize(
    ("path", "before", "old", "new", "said"),
    [
        (".prettierrc", '{"printWidth": 100}', "100", "80", "`printWidth` is 100"),
        ("requirements.txt", "flask==2.3.0\n", "2.3.0", "3.0.0", "Flask 2.3"),
        ("build.gradle", "sourceCompatibility = 17\n", "17", "21", "Java 17"),
        (
            ".github/workflows/ci.yml",
            "jobs:\n  t:\n    runs-on: ubuntu-22.04\n",
            "22",
            "24",
            "CI: ubuntu-22.04",
        ),
    ],
)
def test_the_only_file_that_has_it_need_not_be_named(repo, path, before, old, new, said):
    (row,) = rows(repo, path, before, said, before.replace(old, new))

    assert row["level"] == "warn"


@pytest.mark.parametrize(
    ("path", "before", "after", "said"),
    [
        (
            "a.ts",
            "const c = { wait: 5000 };\n",
            "const c = {\n  wait: 5_000,\n};\n",
            "`wait` is 5000",
        ),
        ("a.ts", "const c = { wait: 5000 };\n", "const c = { wait: WAIT };\n", "`wait` is 5000"),
        ("a.py", "WAIT_S = 300\n", "WAIT_S = 60 * 5\n", "`WAIT_S` is 300"),
        ("a.ts", "const c = { wait: 5 };\n", "const c = { wait: 5000 };\n", "The wait is 5 s"),
        ("a.yml", "port: 8080\n", 'port: "8080"\nname: x\n', "The port is 8080"),
        ("a.yml", "port: 8080\n", "x:\n  port: 8080\ny:\n  port: 9090\n", "The port is 8080"),
        (
            "a.yml",
            "a:\n  port: 8080\nb:\n  port: 81\n",
            "a:\n  port: 8080\nb:\n  port: 82\n",
            "port 8080",
        ),
        ("a.py", "# port = 8080\nport = 8080\n", "# port = 1\nport = 8080\n", "The port is 8080"),
        ("a.py", "port = 8080\n", "port = 9090\n", "The port was 8080 before"),
        ("a.py", "port = 8080\n", "port = 9090\n", "Use any port above 8080"),
        ("a.py", "port = 8080\n", "port = 9090\n", "If the port is 8080, the proxy is off"),
        ("a.py", "port = 8080\n", "port = 9090\n", "Start it with `serve --port 8080`"),
        ("a.py", "port = 8080\n", "port = 9090\n", "The port is 8080 or 9090"),
        ("a.py", "port = 8080\nother = 1\n", "other = 2\n", "The port is 8080"),
        ("a.py", "port = 8080\n", "port_number = 8080\n", "The port is 8080"),
        ("a.py", "limit = 3\nretries = 7\n", "limit = 5\nretries = 7\n", "There are 3 stages"),
        ("Dockerfile", "FROM node:18\n", "FROM node:18 AS build\n", "The image is node:18"),
        ("Dockerfile", "EXPOSE 3000\n", "EXPOSE $PORT\n", "It exposes port 3000"),
        (
            "a.json",
            '{"a": "x", "port": 8080}',
            '{\n  "port": 8080,\n  "a": "y"\n}',
            "The port is 8080",
        ),
    ],
)
def test_what_is_written_otherwise_or_said_of_another_case_is_not(repo, path, before, after, said):
    assert [row["reason"] for row in rows(repo, path, before, f"{said} (`{path}`)", after)] == []


def test_the_flag_goes_when_the_literal_is_back(repo):
    path, said = (
        "vite.config.ts",
        "The dev server is at http://localhost:5173, see `vite.config.ts`",
    )
    assert rows(repo, path, VITE, said, VITE.replace("5173", "3000"))

    repo.commit("back", {path: VITE})

    assert stale.stale(repo.home, repo.call, all=True)["stale"] == []


SETUP = "# Setup\n\n## Install it, then run\n\nx\n\n## Run\n\ny\n"
LINES = "\n" * 40 + "LIMIT = 30\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "said", "reason"),
    [
        (
            "docs/setup.md",
            SETUP,
            SETUP.replace("Install it", "Get it"),
            "docs/setup.md#install-it-then-run",
            "docs/setup.md has no heading #install-it-then-run any more",
        ),
        ("a.md", '<a id="x"></a>\n', "none\n", "a.md#x", ""),
        ("a.md", "Old way\n=======\n", "New way\n=======\n", "a.md#old-way", "no heading #old-way"),
        ("src/a.py", LINES, "x = 1\n", "src/a.py:41", "src/a.py has fewer than 41 lines now"),
        ("src/a.py", LINES, "import os\n" * 20 + LINES, "src/a.py:41", ""),
        ("src/a.py", LINES, LINES.replace("30", "31"), "src/a.py:41", ""),
        ("docs/setup.md", SETUP, SETUP.replace("## Run", "## Start"), "docs/setup.md#run", "#run"),
        ("docs/setup.md", SETUP, "# Setup\n\n### Run\n", "docs/setup.md#run", ""),
    ],
)
def test_a_heading_or_a_line_that_is_named_has_to_be_there(repo, path, before, after, said, reason):
    found = rows(repo, path, before, f"See `{said}` for that", after)

    if reason:
        (row,) = found
        assert reason in row["reason"]
    else:
        assert [row["reason"] for row in found] == []


BUILD = {"Makefile": "test:\n\tpytest\n", "package.json": '{"scripts": {"lint": "eslint ."}}\n'}


@pytest.mark.parametrize("said", ["Run the tests with `make test`", "Lint with `npm run lint`"])
def test_a_command_at_the_top_is_stale_when_its_build_file_moves_into_a_folder(repo, said):
    repo.commit("before", BUILD)
    repo.remember(said)

    repo.write("app/main.py", "x = 1\n")
    repo.git("mv", *BUILD, "app")
    repo.commit("into app")

    (row,) = stale.stale(repo.home, repo.call, all=True)["stale"]
    assert (row["verdict"], row["level"]) == ("gone", "warn")
    assert "app/" in row["reason"]
