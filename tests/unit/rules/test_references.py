import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.anchors.mentions import MENTIONS_MAX, mentions
from yaadwatch.anchors.tree import Tree

TREE = Tree.of(
    [
        *("src/net.py", "src/retry/limits.py", "tests/net.py", "Makefile", "docs/setup.md"),
        *("web/app.ts", ".env", ".github/workflows/ci.yml", "docs/my notes.md", "rules"),
        *("web/app/[id]/(shop)/page.tsx", "web/[slug].tsx", "web/routes/+page.svelte"),
        *("docs/gr\u00f6\u00dfe.md", "src/my_file.py", "CODEOWNERS", "bin/env", "bin/py"),
    ]
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("The limit is in src/net.py, in fetch.", "src/net.py"),
        ("See `src/net.py:42`.", "src/net.py"),
        ("See (src/net.py#L3-L9)", "src/net.py"),
        ("[net](./src/net.py)", "src/net.py"),
        ("Read @docs/setup.md first", "docs/setup.md"),
        ("limits.py holds them", "src/retry/limits.py"),
        ("retry/limits.py holds them", "src/retry/limits.py"),
        ("The Makefile says how", "Makefile"),
        ("**src/net.py**, 'src/net.py' and <src/net.py>.", "src/net.py"),
        ("[src/net.py]", "src/net.py"),
        ("[src/net.py](src/net.py)", "src/net.py"),
        ("(see src/net.py)", "src/net.py"),
        ("src/net.py: there", "src/net.py"),
        ("src/net.py\u2014there", "src/net.py"),
        ("src/net.py's limit", "src/net.py"),
        ('Read "src/net.py".', "src/net.py"),
        ("src/net.py::test_fetch fails", "src/net.py"),
        ("src/net.py:12:5: error", "src/net.py"),
        ("in src\\net.py", "src/net.py"),
        ("in `.\\src\\net.py`", "src/net.py"),
        ("in C:\\work\\src\\retry\\limits.py", None),
        ("in src/retry\\_x/../limits.py", None),
        ("/src/net.py at the top", "src/net.py"),
        ("`git show HEAD:src/net.py`", "src/net.py"),
        ("```\ncat src/net.py\n```", "src/net.py"),
        ("`` src/net.py ``", "src/net.py"),
        ("a lone ` tick, src/net.py", "src/net.py"),
        ("./src/./net.py", "src/net.py"),
        ("in .env and .github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("in .env", ".env"),
        ("`docs/my notes.md` says", "docs/my notes.md"),
        ("app/[id]/(shop)/page.tsx", "web/app/[id]/(shop)/page.tsx"),
        ("`[slug].tsx`", "web/[slug].tsx"),
        ("routes/+page.svelte", "web/routes/+page.svelte"),
        ("docs/gr\u00f6\u00dfe.md", "docs/gr\u00f6\u00dfe.md"),
        ("my\\_file.py", "src/my_file.py"),
        ("`CODEOWNERS`", "CODEOWNERS"),
        ("`rules`", "rules"),
    ],
)
def test_a_file_is_found_by_path_end_or_name(text, path):
    assert path in {TREE.match(mention) for mention in mentions(text).paths}


@pytest.mark.parametrize(
    "text",
    [
        *("net.py is ambiguous", "see https://example.org/src/net.py", "../outside.py"),
        *("no file here", "ada@src/net.py.org", "www.src/net.py", "files that end in .py", "src/"),
        *("lib/src/net.py", "src/net.pyc", "ssrc/net.py", "src/net.py/x", ".", "..", "/", "./"),
        *("docs/../../src/net.py", "the env, py and rules of it"),
    ],
)
def test_what_is_ambiguous_outside_or_no_file_anchors_nothing(text):
    assert {TREE.match(mention) for mention in mentions(text).paths} <= {None}


def test_a_relative_path_starts_where_the_text_stands():
    assert TREE.match("../src/net.py", folder="docs") == "src/net.py"
    assert TREE.match("net.py", folder="tests") == "tests/net.py"
    assert TREE.match("../../src/net.py", folder="docs") is None


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("in fetch_with_retry", "fetch_with_retry"),
        ("call fetch() twice", "fetch"),
        ("the RetryPolicy decides", "RetryPolicy"),
        ("see `run`", "run"),
        ("see `Retry.limit`", "Retry.limit"),
        ("Retry::limit is old", "Retry::limit"),
        ("MAX_TRIES is 5", "MAX_TRIES"),
        ("parseUrl(x) fails", "parseUrl"),
        ("fetch(url, 3) fails", "fetch"),
        ("the @app.route decorator", "app.route"),
        ("src/net.py::test_fetch", "test_fetch"),
        ("_private_name is one", "_private_name"),
        ("HTTPServer2 is one", "HTTPServer2"),
        ("response.json() is one", "response.json"),
        ("`GitHub` the class", "GitHub"),
        ("größe_maximal is one", "größe_maximal"),
        ("`$limit` of PHP", "$limit"),
        ("Retry#limit of Ruby", "Retry#limit"),
        ("``run``", "run"),
    ],
)
def test_names_that_look_like_code_are_taken(text, symbol):
    assert symbol in mentions(text).symbols


@pytest.mark.parametrize(
    "text",
    [
        "Use tabs, never spaces, in every file of this project.",
        "We decided to ship on Fridays; ask Ada before you do.",
        "Run `make test` before you push",
        "See https://example.org/fetch_with_retry",
        "Mail ada.byron@example.org or see www.example.com, e.g. at 9 a.m., i.e. early.",
        "GitHub, macOS, JavaScript, iPhone, PostgreSQL and Node.js are names of products.",
        "Set the file(s), the word(ed) and the index(es) right.",
        "It is _never_ so, __never__, and *never*.",
        "Use README.md, package.json, and/or net.py in client/server code.",
        "C#, F# and C++ are languages; python3.11 and v2.0 are versions.",
        "The U.S.-based team (see above) said: yes/no?",
        "`a` and `ab` are too short",
    ],
)
def test_plain_words_are_no_names(text):
    assert mentions(text).symbols == ()


@given(st.text(max_size=2_000), st.text(max_size=50))
def test_any_text_has_an_answer_within_the_limit(text, mention):
    found = mentions(text)

    assert len(found.paths) <= MENTIONS_MAX
    assert len(found.symbols) <= MENTIONS_MAX
    assert TREE.match(mention) in {None, *TREE.every()}


@given(st.lists(st.from_regex(r"[a-z]{1,4}(/[a-z]{1,4}){0,3}\.py", fullmatch=True), max_size=8))
def test_an_exact_path_is_always_itself(paths):
    tree = Tree.of(paths)

    assert [tree.match(path) for path in paths] == paths


def test_at_the_top_a_name_is_the_file_of_the_top():
    tree = Tree.of(["README.md", "docs/README.md"])

    assert tree.match("README.md") == "README.md"
    assert tree.match("README.md", folder="docs") == "docs/README.md"
    assert tree.match("docs/README.md") == "docs/README.md"


def test_a_name_without_its_dot_is_another_file():
    assert Tree.of(["bin/env"]).match(".env") is None
    assert Tree.of(["config/.env"]).match(".env") == "config/.env"
    assert Tree.of(["bin/py"]).match(".py") is None


def test_what_stands_in_backticks_is_not_crowded_out():
    noise = " ".join(f"noise{number}/file.py made_up_{number}" for number in range(100))
    found = mentions(f"{noise} `src/net.py` `fetch`")

    assert "src/net.py" in found.paths
    assert "fetch" in found.symbols


@pytest.mark.parametrize(
    "text",
    [
        "GET `/api/users` lists them",
        "`POST /api/users` makes one",
        "DELETE /api/users/:id",
        "The endpoint `/api/users` lists them",
        "The route **/api/users** lists them",
        "`/api/users` endpoint",
        "The /api/users route needs a token",
    ],
)
def test_the_address_of_an_endpoint_is_no_path(text):
    assert not [path for path in mentions(text).paths if "api" in path]


@pytest.mark.parametrize(
    "text",
    [
        "Routes are in `/api/users`",
        "See `/api/users` for routes",
        "The route `api/users` is a folder",
        "GET handlers are in api/users",
        "`api/users` endpoints",
        "The route /app/api/users/page.tsx",
    ],
)
def test_a_path_beside_a_word_of_servers_is_one(text):
    assert any("api/users" in path for path in mentions(text).paths)


def test_endpoints_made_to_be_slow_are_read_quickly():
    for piece in ("GET /", "endpoint /a", "/a", "/a ", "`/a` ", "GET ` * "):
        mentions(piece * 8_000)
