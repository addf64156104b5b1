"""A number inside a definition that a plain sentence states is flagged once another is there."""

import pytest

from yaadwatch.staleness import stale

PYTHON = """def fetch(url, tries=3, timeout=30):
    for attempt in range(tries):
        get(url, timeout=timeout)


def publish(row):
    for _ in range(3):
        send(row)


class Cart:
    def merge(self, rows):
        return chunked(rows, 50)


def page():
    LIMIT = 25
    return rows[:LIMIT]
"""
FOR_GO = "func load() {{\n\tfor try := {}; try++ {{ get() }}\n}}\n"
FOR_PY = "def load():\n    for attempt in {}:\n        get()\n"
GIVES_UP_PY = "def load(tries):\n    if tries {}:\n        stop()\n"
GIVES_UP_TS = "function load(tries: number) {{\n  if (tries {}) stop();\n}}\n"
GIVES_UP_GO = "func load(tries int) {{\n\tif tries {} {{ stop() }}\n}}\n"
COUNTED_PY = "def load():\n    tries = 0\n    while tries {}:\n        tries += 1\n"


def flagged(repo, said, before, after, path="src/net.py"):
    """Return the reasons of the warnings after a commit changes the file."""
    repo.commit("before", {path: before})
    repo.remember(said)
    repo.commit("the change", {path: after})
    rows = stale.stale(repo.home, repo.call, all=True)["stale"]
    return [row["reason"] for row in rows if row["level"] == "warn"]


@pytest.mark.parametrize(
    ("said", "old", "new", "reason"),
    [
        (
            "Downloads are tried three times, in src/net.py",
            "tries=3",
            "tries=5",
            "fetch in src/net.py: 3 is now 5",
        ),
        ("`fetch` is tried 3 times", "tries=3", "tries=5", "fetch in src/net.py: 3 is now 5"),
        (
            "`publish` is retried three times",
            "range(3)",
            "range(5)",
            "publish in src/net.py: 3 is now 5",
        ),
        (
            "`fetch` gives up after thirty seconds",
            "=30",
            "=60",
            "fetch in src/net.py: 30 is now 60",
        ),
        ("`fetch` has a timeout of 30 s", "=30", "=45", "fetch in src/net.py: 30 is now 45"),
        (
            "Merging a cart works in batches of 50 rows (src/net.py)",
            "rows, 50",
            "rows, 80",
            "Cart.merge in src/net.py: 50 is now 80",
        ),
        (
            "`publish` is retried three times",
            "range(3)",
            "range(TRIES_MAX)",
            "publish in src/net.py: 3 is now 5",
        ),
    ],
)
def test_a_number_that_was_replaced_is_flagged_from_a_plain_sentence(repo, said, old, new, reason):
    after = PYTHON.replace(old, new) + "\n\nTRIES_MAX = 5\n"
    assert flagged(repo, said, PYTHON, after) == [reason]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("src/net.ts", "export function load(u: string, tries = 2) {}", "tries = 4"),
        ("src/net.go", "func load(u string) {\n\tfor i := 0; i < 2; i++ { retry(u) }\n}", "i < 4"),
        ("src/net.rs", "fn load(u: &str) {\n    for attempt in 0..2 { get(u); }\n}", "0..4"),
        ("src/net.rb", "def load(u)\n  2.times { get(u) }\nend", "4.times"),
        ("src/net.js", "function load(u) {\n  let n = 0\n  while (n < 2) n += get(u)\n}", "n < 4"),
        ("src/net.ts", "function load(u) {\n  for (let i = 0; i < 2; i++) get(u)\n}", "i < 4"),
        ("src/n.go", "func load(u U) {\n\tfor i := 0; i < 2; i++ {\n\t\tget(u)\n\t}\n}", "i < 4"),
    ],
)
def test_it_is_flagged_in_other_languages(repo, path, before, after):
    old = after.replace("4", "2")

    found = flagged(
        repo, "`load` is retried twice", f"{before}\n", before.replace(old, after) + "\n", path
    )

    assert found == [f"load in {path}: 2 is now 4"]


@pytest.mark.parametrize("sort", ["node", "`node`", "**Node**", "Python"])
def test_a_version_behind_its_name_counts_nothing(repo, sort):
    code = "def serve():\n    for attempt in range(18):\n        get()\n"
    said = f"`serve` in src/net.py was tried with {sort} 18"

    assert flagged(repo, said, code, code.replace("18", "20")) == []


@pytest.mark.parametrize("often", ["3 times after an error", "three times over", "3 times each"])
def test_how_often_a_loop_runs_is_followed(repo, often):
    code = "package n\n\nfunc Send() {\n\tfor i := 0; i < 3; i++ {\n\t\tpost()\n\t}\n}\n"

    found = flagged(repo, f"`Send` tries {often}", code, code.replace("< 3", "< 5"), "src/n.go")

    assert found == ["Send in src/n.go: 3 is now 5"]


@pytest.mark.parametrize("often", ["three times a day", "3 times faster", "three times as often"])
def test_a_rate_or_a_comparison_is_no_number_of_the_code(repo, often):
    code = "package n\n\nfunc Draw() {\n\tfor i := 0; i < 3; i++ {\n\t\tcell()\n\t}\n}\n"

    assert flagged(repo, f"`Draw` runs {often}", code, code.replace("< 3", "< 4"), "src/n.go") == []


@pytest.mark.parametrize("said", ["`Draw` draws two columns", "Two rows come from `Draw`"])
def test_a_loop_counts_nothing_but_tries_and_times(repo, said):
    code = "package n\n\nfunc Draw() {\n\tfor i := 0; i < 2; i++ {\n\t\tcell()\n\t}\n}\n"

    assert flagged(repo, said, code, code.replace("< 2", "< 3"), "src/n.go") == []


@pytest.mark.parametrize(
    ("said", "old", "new"),
    [
        ("`fetch` is called in 3 places", "tries=3", "tries=5"),
        ("Three modules use src/net.py", "tries=3", "tries=5"),
        ("`publish` is retried three times", "range(3)", "range(0, 3)"),
        ("`publish` is retried three times", "range(3)", "range(1, 4)"),
        ("`publish` is retried three times", "range(3)", "range(2, -1, -1)"),
        ("`publish` is retried three times", "range(3)", "range(STEPS * 3)"),
        ("`fetch` gives up after thirty seconds", "timeout=30", "timeout=SECOND * 30"),
        ("`publish` is retried three times", "range(3)", "range(THREE)"),
        ("`publish` is retried three times", "range(3)", "range(tries_of(row))"),
        ("`publish` is retried three times", "def publish(row):", "def publish(a_row, extra=9):"),
        ("`fetch` gives up after thirty seconds", "=30", "=30.0"),
        ("`fetch` gives up after thirty seconds (#3)", "tries=3", "tries=5"),
        ("Run `fetch --tries 3 --retry` by hand", "tries=3", "tries=5"),
        ("`fetch` is retried as in example 3 of the page", "tries=3", "tries=5"),
        ("Step 3: call `publish` again and retry", "range(3)", "range(5)"),
        ("`publish` is retried by one of them", "range(3)", "range(1)"),
        ("`Cart.merge` keeps 80 % of the rows", "rows, 50", "rows, 80"),
        ("`fetch` and `publish` are tried three times", "tries=3", "tries=5"),
        ("`fetch` gives up after thirty seconds", "timeout=30", "timeout_ms=30_000"),
        ("`fetch` gives up after 30 minutes", "timeout=30", "timeout=1800"),
        ("`Cart.merge` serves 50 customers a night", "rows, 50", "rows, 80"),
        ("`page` is read by 200 people", "LIMIT = 25", "LIMIT = 200"),
    ],
)
def test_what_is_not_certainly_another_number_raises_nothing(repo, said, old, new):
    after = PYTHON.replace(old, new) + "\n\nTHREE = 3\n"
    assert flagged(repo, said, PYTHON, after) == []


@pytest.mark.parametrize(
    ("path", "code", "before", "after"),
    [
        (
            "a.go",
            "func load() {{\n\tfor try := {}; try++ {{ get() }}\n}}\n",
            "0; try < 3",
            "0; try <= 2",
        ),
        (
            "a.go",
            "func load() {{\n\tfor try := {}; try-- {{ get() }}\n}}\n",
            "0; try < 3",
            "2; try >= 0",
        ),
        ("a.rs", "fn load() {{\n    for _try in {} {{ get(); }}\n}}\n", "0..3", "0..=2"),
        ("a.swift", "func load() {{\n    for attempt in {} {{ get() }}\n}}\n", "0..<3", "0...2"),
        ("a.rb", "def load\n  for attempt in ({})\n    get\n  end\nend\n", "0...3", "0..2"),
        ("a.ts", "function load() {{ get({{ tries: {} }}); }}\n", "3", "LIMIT / 2"),
        ("a.go", FOR_GO, "1; try <= 3", "1; try < 4"),
        ("a.go", FOR_GO, "1; try <= 3", "3; try >= 1"),
        ("a.go", FOR_GO, "0; try < 3", "3; try > 0"),
        ("a.py", GIVES_UP_PY, "> 3", ">= 4"),
        ("a.py", GIVES_UP_PY, ">= 3", "> 2"),
        ("a.ts", GIVES_UP_TS, "> 3", ">= 4"),
        ("a.go", FOR_GO, "0; try < 3", "5; try >= 3"),
        ("a.py", FOR_PY, "range(0, 3)", "range(3)"),
        ("a.py", FOR_PY, "range(3)", "range(2, 5)"),
        ("a.py", FOR_PY, "range(3)", "range(0, 5, 2)"),
        ("a.rs", "fn load() {{\n    for _try in {} {{ get(); }}\n}}\n", "0..=3", "0..4"),
    ],
)
def test_another_bound_of_as_many_rounds_raises_nothing(repo, path, code, before, after):
    old, new = code.format(before), code.format(after)

    assert flagged(repo, "`load` is tried 3 times", old, new, path) == []


@pytest.mark.parametrize(
    ("path", "code", "before", "after"),
    [
        (
            "a.go",
            "func load() {{\n\tfor try := {}; try++ {{ get() }}\n}}\n",
            "1; try <= 3",
            "1; try <= 5",
        ),
        ("a.rs", "fn load() {{\n    for _try in {} {{ get(); }}\n}}\n", "1..=3", "1..=5"),
        (
            "a.py",
            "def load():\n    for attempt in {}:\n        get()\n",
            "range(0, 3)",
            "range(0, 5)",
        ),
        ("a.sh", "load() {{\n  tries={}\n  get\n}}\n", "${TRIES:-3}", "${TRIES:-5}"),
        ("a.ts", "function load() {{ get({{ tries: {} }}); }}\n", "3", "5"),
        (
            "b.go",
            "func load() {{\n\ttries(Opts{{tries: {}}})\n}}\n",
            "3 * many.Times",
            "5 * many.Times",
        ),
        ("a.rb", "def load\n  {} {{ get }} -1\nend\n", "tries(3)", "tries(5)"),
    ],
)
def test_another_end_of_the_same_bound_is_flagged(repo, path, code, before, after):
    old, new = code.format(before), code.format(after)

    found = flagged(repo, "`load` is tried 3 times", old, new, path)

    assert found == [f"load in {path}: 3 is now 5"]


@pytest.mark.parametrize(
    ("path", "code", "before", "after", "now"),
    [
        ("a.go", FOR_GO, "0; try < 3", "0; try <= 4", 5),
        ("a.go", FOR_GO, "1; try <= 3", "1; try < 6", 5),
        ("a.ts", "function load() {{\n  while (tries {}) get();\n}}\n", "<= 3", "< 5", 4),
        ("a.py", "def load():\n    while tries {}:\n        get()\n", "< 3", "<= 1", 2),
        ("a.py", COUNTED_PY, "<= 3", "< 5", 4),
        ("a.py", COUNTED_PY, "< 3", "<= 4", 5),
        ("a.py", GIVES_UP_PY, "> 3", ">= 6", 5),
        ("a.py", GIVES_UP_PY, ">= 3", "> 4", 5),
        ("a.ts", GIVES_UP_TS, "> 3", ">= 5", 4),
        ("a.go", GIVES_UP_GO, ">= 3", "> 6", 7),
        ("a.py", FOR_PY, "range(3)", "range(0, 5)", 5),
        ("a.py", FOR_PY, "range(0, 3)", "range(5)", 5),
        ("a.py", FOR_PY, "range(3)", "range(1, 6)", 5),
        ("a.rs", "fn load() {{\n    for _try in {} {{ get(); }}\n}}\n", "0..3", "0..=4", 5),
    ],
)
def test_number_behind_another_sign_of_the_same_bound_is_flagged(
    repo, path, code, before, after, now
):
    old, new = code.format(before), code.format(after)

    found = flagged(repo, "`load` is tried 3 times", old, new, path)

    assert found == [f"load in {path}: 3 is now {now}"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("120", "2 * 60"),
        ("ofMinutes(2)", "ofSeconds(120)"),
        ("ofSeconds(120)", "ofMinutes(2)"),
        ("ofSeconds(120)", "ofMillis(120000)"),
    ],
)
def test_the_same_time_in_another_unit_raises_nothing(repo, before, after):
    code = "class Net {{\n  Duration timeout = {};\n}}\n"
    said = "`Net` has a timeout of 2 minutes"

    assert flagged(repo, said, code.format(before), code.format(after), "src/Net.java") == []


@pytest.mark.parametrize(
    ("said", "before", "after"),
    [
        ("`keep` lasts 2 days", "timedelta(days=2)", "timedelta(hours=48)"),
        ("`keep` lasts 2 weeks", "timedelta(weeks=2)", "timedelta(days=14)"),
        ("`keep` expires after 1 day", 'expire(1, "day")', 'expire(24, "hours")'),
        ("`keep` limits the size to 2 MB", "limit(size_mb=2)", "limit(size_kb=2048)"),
        ("`keep` limits the size to 64 kB", "limit(kb=64)", "limit(size=65536)"),
    ],
)
def test_the_same_amount_in_a_unit_of_another_name_raises_nothing(repo, said, before, after):
    code = "def keep():\n    return {}\n"

    assert flagged(repo, said, code.format(before), code.format(after)) == []
    more = code.format(before.replace("2", "14").replace("1,", "7,").replace("64", "448"))
    assert flagged(repo, f"{said}, always", code.format(before), more) != []


@pytest.mark.parametrize(
    "later", ["get(url, 3)\n", "get(url)\n    sleep(3)\n", "get(url)\n    return [3]\n"]
)
def test_the_old_number_elsewhere_in_the_definition_clears_no_flag(repo, later):
    code = "def fetch(url):\n    for attempt in range({}):\n        {}"
    said = "`fetch` is tried three times"
    assert flagged(repo, said, code.format(3, "get(url)\n"), code.format(5, "get(url)\n"))

    repo.commit("another 3", {"src/net.py": code.format(5, later)})

    (row,) = repo.stale()["stale"]
    assert (row["level"], row["reason"]) == ("warn", "fetch in src/net.py: 3 is now 5")


def test_the_flag_names_the_commit_and_clears_when_the_number_is_back(repo):
    said = "Downloads are tried three times, in src/net.py"
    assert flagged(repo, said, PYTHON, PYTHON.replace("tries=3", "tries=5"))
    (row,) = repo.stale()["stale"]
    assert [one["commit"]["subject"] for one in row["evidence"]] == ["the change"]
    assert row.get("suggestion") is None

    repo.commit("back", {"src/net.py": PYTHON})

    assert repo.stale()["stale"] == []


def test_a_bullet_of_an_agent_file_is_flagged(repo):
    repo.write("src/net.py", PYTHON)
    repo.write("CLAUDE.md", "- Downloads are tried three times, in src/net.py\n")
    repo.commit("before")
    repo.sync()
    repo.commit("the change", {"src/net.py": PYTHON.replace("tries=3", "tries=5")})

    (row,) = repo.stale()["stale"]
    assert (row["level"], row["reason"]) == ("warn", "fetch in src/net.py: 3 is now 5")


def test_where_the_file_moved_too_no_text_with_the_old_number_is_proposed(repo):
    repo.commit("before", {"src/net.py": PYTHON})
    repo.remember("Downloads are tried three times, in src/net.py")
    repo.commit("five", {"src/net.py": PYTHON.replace("tries=3", "tries=5")})
    repo.commit("moved", moved={"src/net.py": "src/http.py"})

    (row,) = repo.stale()["stale"]

    assert row["verdict"] == "moved"
    assert row["reason"] == "fetch moved and changed: src/net.py is now src/http.py; 3 is now 5"
    assert (row["suggestion"]["path"], row["suggestion"]["text"]) == ("src/http.py", None)
    repo.reanchor(row["id"])
    (row,) = repo.stale()["stale"]
    assert row["reason"] == "fetch in src/http.py: 3 is now 5"


def test_a_number_that_moved_with_its_file_is_not_flagged_itself(repo):
    repo.commit("before", {"src/net.py": PYTHON})
    repo.remember("Downloads are tried three times, in src/net.py")
    repo.commit("moved", moved={"src/net.py": "src/http.py"})

    (row,) = repo.stale()["stale"]

    assert row["suggestion"]["text"] == "Downloads are tried three times, in src/http.py"


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        (
            "beside it",
            "range(3):\n        send(row)",
            "range(5):\n        send(row)\n        sleep(3)",
        ),
        ("before it", "    for _ in range(3):", "    sleep(3)\n    for _ in range(5):"),
        ("on its line", "range(3):", "range(5) or step(3):"),
        ("in another keyword", "send(row)", "send(row, pause=3)"),
        ("in a comparison of something else", "send(row)", "assert len(row) < 3"),
    ],
)
def test_the_old_number_in_another_place_clears_no_flag(repo, change, old, new):
    after = PYTHON.replace("range(3)", "range(5)").replace(old.replace("range(3)", "range(5)"), new)
    said = "`publish` is retried three times"

    assert "3" in after.partition("def publish")[2].partition("class")[0], change
    assert flagged(repo, said, PYTHON, after) == ["publish in src/net.py: 3 is now 5"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("range(3)", "range(1, 3)"),
        ("range(3)", "range(start, 3, step)"),
        ("range(3)", "range(int(3))"),
        ("range(3)", "range(TRIES)"),
        ("for _ in range(3):", "tries = 3\n    for _ in range(tries):"),
        ("for _ in range(3):", "sleep(5)\n    for _ in range(3):"),
        ("for _ in range(3):", "for _ in range(5):\n        pass\n    for _ in range(3):"),
    ],
)
def test_the_number_in_its_own_place_holds(repo, old, new):
    after = PYTHON.replace(old, new) + "\n\nTRIES = 3\n"

    assert flagged(repo, "`publish` is retried three times", PYTHON, after) == []


@pytest.mark.parametrize(
    ("said", "path", "before", "old", "new"),
    [
        ("`load` waits 30 s", "a.ts", "function load() { wait(30, x); }", "wait(30", "wait(45"),
        ("`Load` is retried twice", "a.go", "func Load() { retry(u, 2); }", "u, 2", "u, 4"),
        ("`PAGES` is tried twice", "a.js", "const PAGES = {tries: 2, size: 9};", "s: 2", "s: 4"),
        ("`load` is tried twice", "a.rs", "fn load() { let tries: u32 = 2; }", "= 2", "= 4"),
        ("`load` is tried twice", "A.java", "class A { void load() { int tries = 2; } }", "2", "4"),
    ],
)
def test_a_number_is_followed_in_its_place_in_other_languages(repo, said, path, before, old, new):
    after = before.replace(old, new).replace("}", " pause(2); pause(30); }", 1)
    if path.endswith(".js"):
        after = before.replace(old, new).replace("9}", "9, pause: [2]}")

    (reason,) = flagged(repo, said, f"{before}\n", f"{after}\n", path)

    assert reason.endswith(f" is now {new[-2:].strip()}")


def edited_on(repo, said, before, remembered, committed, *, is_watched, path="src/net.py"):
    """Return the reasons of the warnings where a file was edited between `remember` and commit."""
    if before is None:
        repo.write("README.md", "a project\n")
    else:
        repo.write(path, before)
    repo.commit("before")
    repo.write(path, remembered)
    assert repo.remember(said)
    if is_watched:
        repo.check_tree()
    repo.write(path, committed)
    if is_watched:
        repo.check_tree()
    repo.commit("the work")
    rows = stale.stale(repo.home, repo.call, all=True)["stale"]
    return [row["reason"] for row in rows if row["level"] == "warn"]


@pytest.mark.covering
@pytest.mark.parametrize("is_watched", [True, False])
@pytest.mark.parametrize(
    ("said", "before", "seen", "held"),
    [
        ("`publish` is retried three times", None, "range(3)", "range(5)"),
        ("`publish` is retried three times", "range(4)", "range(3)", "range(5)"),
        ("`publish` is retried three times", "range(4)", "range(3)", "range(4)"),
        ("`publish` is retried three times", "range(3)", "range(3)", "range(5)"),
        ("Downloads are tried three times, in src/net.py", None, "tries=3", "tries=5"),
        ("`publish` is retried three times", None, "range(3)", "range(TRIES)"),
    ],
)
def test_a_number_edited_between_remember_and_commit_is_flagged(
    repo, said, before, seen, held, is_watched
):
    mark = "range(3)" if "range" in seen else "tries=3"
    then = None if before is None else PYTHON.replace(mark, before)
    noted = PYTHON.replace(mark, seen) + "\n\nTRIES = 4\nSEEN = 'never committed'\n"
    committed = PYTHON.replace(mark, held) + "\n\nTRIES = 4\nSEEN = 'committed'\n"
    now = held[-2] if held[-2].isdigit() else "4" if "TRIES" in held else held[-1]

    (reason,) = edited_on(repo, said, then, noted, committed, is_watched=is_watched)

    assert reason.endswith(f": 3 is now {now}")


@pytest.mark.covering
@pytest.mark.parametrize("is_watched", [True, False])
@pytest.mark.parametrize(
    "held", ["range(3)", "range(1, 3)", "range(TRIES)", "tries_of(row)", "range(tries_of(row))"]
)
def test_a_number_that_may_be_in_the_commit_is_not_flagged(repo, held, is_watched):
    noted = PYTHON + "\n\nSEEN = 'never committed'\n"
    committed = PYTHON.replace("range(3)", held) + "\n\nTRIES = 3\n"
    said = "`publish` is retried three times"

    assert edited_on(repo, said, None, noted, committed, is_watched=is_watched) == []


def test_a_number_noted_before_its_commit_is_followed_after_it(repo):
    said = "`publish` is retried three times"
    noted = PYTHON + "\n\nSEEN = 'never committed'\n"
    assert edited_on(repo, said, None, noted, PYTHON, is_watched=True) == []

    repo.commit("six", {"src/net.py": PYTHON.replace("range(3)", "range(6)")})

    (row,) = repo.stale()["stale"]
    assert (row["level"], row["reason"]) == ("warn", "publish in src/net.py: 3 is now 6")
    assert [one["commit"]["subject"] for one in row["evidence"]] == ["six"]


RETURNS_PY = "class Cart:\n    def size(self):\n        {}\n"
RETURNS_TS = "export function size(): number {{\n  {};\n}}\n"
RETURNS_GO = "package n\n\nfunc size() int {{\n\t{}\n}}\n"


@pytest.mark.parametrize(
    "said",
    [
        "`size` returns 2",
        "`size()` always returns `2`, in src/cart",
        "`size()` returns the number 2 because carts are small.",
        "The method size() returns 2.",
    ],
)
@pytest.mark.parametrize(
    ("path", "code"),
    [("src/cart.py", RETURNS_PY), ("src/cart.ts", RETURNS_TS), ("src/cart.go", RETURNS_GO)],
)
def test_another_number_that_a_function_returns_is_flagged(repo, said, path, code):
    before, after = code.format("return 2"), code.format("return 33")

    assert flagged(repo, said, before, after, path) == [f"size in {path}: 2 is now 33"]


@pytest.mark.parametrize(
    ("said", "old", "new"),
    [
        ("`size` returns 2", "return 2", "return 1 + 1"),
        ("`size` returns 2", "return 2", "return self.limit"),
        ("`size` returns 2", "return 2", "return 33 if self.old else 2"),
        ("`size` returns 2", "return 2", "return int('2')"),
        ("`size` returns 2", "return 2", "return (2)"),
        ("`size` returns 2", "return 2", "return 0x2"),
        ("`size` returns 2", "return 2", "return 3 if self.old else self.limit"),
        ("`size` returns 2", "return 2", "if self.old:\n            return 3\n        return 4"),
        ("`size` returns 2", "if self.old:\n            return 3\n        return 2", "return 33"),
        ("`size` returns 2 rows", "return 2", "return 33"),
        ("`size` returns 2 or 3", "return 2", "return 33"),
        ("`size` returns 2 if it is empty", "return 2", "return 33"),
        ("`size` returns a row; `merge` returns 2", "return 2", "return 33"),
        ("`size` never returns 2", "return 2", "return 33"),
        ("`size` returned 2 once", "return 2", "return 33"),
    ],
)
def test_what_a_function_returns_is_flagged_for_nothing_else(repo, said, old, new):
    before, after = RETURNS_PY.format(old), RETURNS_PY.format(new)

    assert flagged(repo, said, before, after) == []
