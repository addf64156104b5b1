"""What a memory rests on besides files and definitions, and what becomes of it in a work tree."""

import json

import pytest
from verb_world import FIVE_TRIES, prepared

from yaadwatch.model.errors import YaadError

FILES = {
    "web/views/home.ts": "export const home = 1;\n",
    "web/views/about.ts": "export const about = 2;\n",
    "web/rules/one.rule": "a\n",
    "web/rules/two.rule": "b\n",
    "Makefile": "lint:\n\truff check\n\nserve:\n\tnode web\n",
    "package.json": json.dumps({"engines": {"node": ">=18"}, "scripts": {"check": "tsc"}}),
    "conf/app.ini": "[app]\nretry-budget = 3\nAPP_TOKEN_FILE = x\n",
}


@prepared
def site(world):
    repo = world.watched()
    for path, text in FILES.items():
        repo.write(path, text)
    repo.commit("a site")
    return repo


SAYINGS = {
    "directory": "Pages live in `web/views/`, one file each",
    "glob": "Checks are written as `web/rules/*.rule`",
    "command": "Run `make lint` before you push",
    "script": "Run `npm run check` before you push",
    "word": "The key `retry-budget` says how often",
    "variable": "Set APP_TOKEN_FILE first",
    "value": "Node 18 is what we run",
}


def drop_views(repo):
    repo.git("rm", "-rq", "web/views")


def drop_rules(repo):
    repo.git("rm", "-q", "web/rules/one.rule", "web/rules/two.rule")


ENDS = {
    "directory": (drop_views, "gone"),
    "glob": (drop_rules, "gone"),
    "command": (lambda repo: repo.write("Makefile", "serve:\n\tnode web\n"), "gone"),
    "script": (lambda repo: repo.write("package.json", '{"engines": {"node": ">=18"}}'), "gone"),
    "word": (lambda repo: repo.write("conf/app.ini", "[app]\nAPP_TOKEN_FILE = x\n"), "gone"),
    "variable": (lambda repo: repo.write("conf/app.ini", "[app]\nretry-budget = 3\n"), "gone"),
    "value": (
        lambda repo: repo.write("package.json", FILES["package.json"].replace(">=18", ">=22")),
        "changed",
    ),
}


@pytest.mark.parametrize("sort", ENDS)
def test_what_is_gone_is_flagged_with_its_commit_until_it_comes_back(site, sort):
    end, verdict = ENDS[sort]
    answer = site.remembered(SAYINGS[sort])
    assert answer["anchors"]
    assert site.verdict(answer["id"]) == "fresh"

    end(site)
    site.commit("away")

    flag = site.flag_of(answer["id"])
    assert (flag["verdict"], flag["uncommitted"]) == (verdict, False)
    found = [
        (row["commit"] and row["commit"]["subject"], row["summary"]) for row in flag["evidence"]
    ]
    assert found
    if sort in ("directory", "glob"):
        place = "web/views" if sort == "directory" else "web/rules/*.rule"
        assert found == [("away", f"took 2 files out of {place}")]
    site.git("revert", "--no-edit", "HEAD")
    assert site.verdict(answer["id"]) == "fresh"
    site.git("reset", "-q", "--hard", "HEAD~1")
    assert site.verdict(answer["id"]) == verdict


def test_a_folder_that_was_renamed_has_moved_and_the_new_text_is_proposed(site):
    memory = site.remember(SAYINGS["directory"])

    site.commit("pages", moved={"web/views": "web/pages"})

    flag = site.flag_of(memory)
    assert flag["verdict"] == "moved"
    assert flag["suggestion"]["path"] == "web/pages"
    assert flag["suggestion"]["text"] == SAYINGS["directory"].replace("views", "pages")


@pytest.mark.parametrize("staged", [True, False], ids=["staged", "by hand"])
def test_a_folder_that_was_renamed_and_not_committed_has_moved_too(site, staged):
    memory = site.remember(SAYINGS["directory"])

    if staged:
        site.git("mv", "web/views", "web/pages")
    else:
        (site.path / "web/views").rename(site.path / "web/pages")

    assert site.flag_of(memory)["verdict"] == "moved"
    assert site.flag_of(memory)["suggestion"]["path"] == "web/pages"


RENAMES = {
    "command": ("Makefile", "lint:", "tidy:", "make tidy"),
    "script": ("package.json", '"check"', '"types"', "npm run types"),
}


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "in the work tree"])
@pytest.mark.parametrize("sort", RENAMES)
def test_a_target_that_has_another_name_is_proposed_by_it_and_accepted(site, sort, committed):
    path, old, new, command = RENAMES[sort]
    memory = site.remember(SAYINGS[sort])

    site.write(path, FILES[path].replace(old, new))
    if committed:
        site.commit("another name")

    flag = site.flag_of(memory)
    assert (flag["verdict"], flag["uncommitted"]) == ("gone", not committed)
    assert flag["suggestion"]["text"] == f"Run `{command}` before you push"
    assert flag["reason"].endswith(f"; {new.strip(chr(34) + chr(58))} does the same")
    (done,) = site.reanchor(memory)["reanchored"]
    assert done["text"] == f"Run `{command}` before you push"
    assert site.verdict(memory) == "fresh"
    site.write(path, FILES[path])
    assert site.verdict(memory) == "gone"


def test_a_build_file_that_moved_may_have_given_its_target_another_name(site):
    memory = site.remember(SAYINGS["command"])

    site.git("mv", "Makefile", "GNUmakefile")
    site.write("GNUmakefile", FILES["Makefile"].replace("lint:", "tidy:"))
    site.commit("another name in another file")

    assert site.flag_of(memory)["suggestion"]["text"] == "Run `make tidy` before you push"


@pytest.mark.parametrize(
    ("sort", "old", "new"),
    [
        ("directory", "web/views/home.ts", "web/views/start.ts"),
        ("glob", "web/rules/one.rule", "web/rules/first.rule"),
    ],
)
def test_what_was_renamed_and_stayed_inside_was_not_taken_out(site, sort, old, new):
    memory = site.remember(SAYINGS[sort])
    site.commit("another name", moved={old: new})
    site.commit("away", gone=[old.rpartition("/")[0]])

    told = [row["commit"]["subject"] for row in site.flag_of(memory)["evidence"]]
    assert told == ["away"]


def split_views(site):
    """Send the files of a folder to two places, one each."""
    site.write("web/front/.keep", "")
    site.write("web/inside/.keep", "")
    site.git("mv", "web/views/home.ts", "web/front/home.ts")
    site.git("mv", "web/views/about.ts", "web/inside/about.ts")
    site.commit("two places")


def test_a_folder_that_was_split_is_in_several_places_and_no_new_text_is_guessed(site):
    memory = site.remember(SAYINGS["directory"])

    split_views(site)

    flag = site.flag_of(memory)
    assert flag["verdict"] == "moved"
    assert "web/views was split; what was in it is now in web/front and web/in" in flag["reason"]
    assert flag["suggestion"] == {
        "path": None,
        "text": None,
        "places": ["web/front", "web/inside"],
    }


def test_a_place_of_a_split_folder_is_nothing_to_accept(site):
    memory = site.remember(SAYINGS["directory"])
    split_views(site)

    with pytest.raises(YaadError, match="There is nothing to accept"):
        site.reanchor(memory)


@pytest.mark.parametrize(
    "said",
    [
        "Pages live in `web/views/`, the first is `web/views/home.ts`",
        "All views are in `web/views/`, such as `web/views/home.ts`.",
        "`web/views/home.ts` is the entry; what it shows is in `web/views/`",
    ],
)
def test_a_split_folder_is_not_where_the_one_file_of_it_went_that_a_text_names(site, said):
    memory = site.remember(said)

    split_views(site)

    suggestion = site.flag_of(memory)["suggestion"]
    assert (suggestion["path"], suggestion["text"]) == (None, None)
    assert suggestion["places"] == ["web/front", "web/inside", "web/front/home.ts"]


def test_a_memory_that_names_both_halves_of_a_split_folder_gets_the_new_place_of_each(site):
    memory = site.remember("Home: `web/views/home.ts`, and about: `web/views/about.ts`")

    split_views(site)

    text = site.flag_of(memory)["suggestion"]["text"]
    assert text == "Home: `web/front/home.ts`, and about: `web/inside/about.ts`"


@pytest.mark.parametrize(
    "said",
    [
        "In `web/views/`: `web/views/home.ts` and `web/views/about.ts`",
        "`web/front/home.ts` is made from `web/views/home.ts`",
        "Never import `web/views/home.ts` in `web/front/home.ts`",
    ],
)
def test_a_text_that_speaks_of_both_places_is_not_proposed_with_the_new_one(site, said):
    memory = site.remember(said)

    split_views(site)

    suggestion = site.flag_of(memory)["suggestion"]
    assert suggestion.get("text") is None
    assert "web/front/home.ts" in suggestion["places"]


def test_a_folder_that_lost_most_of_its_files_was_not_split(site):
    for number in range(4):
        site.write(f"web/views/page{number}.ts", f"export const page = {number * 77777};\n")
    site.commit("more")
    memory = site.remember(SAYINGS["directory"])

    site.git("rm", "-q", *(f"web/views/page{number}.ts" for number in range(4)))
    split_views(site)

    assert site.flag_of(memory)["verdict"] == "gone"


def test_a_file_that_was_split_is_the_folder_now(site):
    memory = site.remember("Home is made in web/views/home.ts")

    site.git("rm", "-q", "web/views/home.ts")
    site.write("web/views/home/head.ts", "export const head = 11;\nexport const title = 5;\n")
    site.write("web/views/home/body.ts", "export const body = 12;\nexport const foot = 6;\n")
    site.commit("split")

    flag = site.flag_of(memory)
    assert (flag["verdict"], flag["suggestion"]["path"]) == ("moved", "web/views/home")


def test_a_word_that_went_to_another_file_is_not_gone(site):
    memory = site.remember(SAYINGS["word"])

    site.write("conf/app.ini", "[app]\nAPP_TOKEN_FILE = x\n")
    site.write("conf/retry.ini", "[app]\nretry-budget = 3\n")
    site.commit("conf")

    assert site.verdict(memory) in ("fresh", "changed")
    assert memory not in [row["id"] for row in site.stale()["stale"]]


def test_a_thing_that_everything_else_was_taken_off_is_replaced(site):
    for number in range(6):
        lines = (f"step {number}.{line}: node bin/tool.js go{line}\n" for line in range(4))
        site.write(f"steps/{number}.txt", "".join(lines))
    site.commit("steps", {"bin/tool.js": "run()\n"})
    memory = site.remember("Start with `node bin/tool.js`")
    for number in range(6):
        lines = (f"step {number}.{line}: taskly go{line}\n" for line in range(4))
        site.write(f"steps/{number}.txt", "".join(lines))
    site.commit("taskly", {"bin/tool.js": "run( )\n"})

    flag = site.flag_of(memory)

    assert flag["verdict"] == "changed"
    assert "taskly" in flag["reason"]


def renamed_everywhere(site, old, new, times):
    """Have steps that call `old` call `new` instead; commit before and after."""
    for name in (old, new):
        for number in range(times):
            site.write(f"steps/{number}.txt", f"step {number} of all: {name} go on\n")
        if name == old:
            site.commit("before", {"conf/names.ini": f"{old} = 1\n"})
            yield
    site.commit("after")
    yield


@pytest.mark.parametrize("times", [6, 10], ids=["six", "ten"])
def test_what_stands_in_place_of_a_name_is_named_and_not_put_into_the_text(site, times):
    steps = renamed_everywhere(site, "run_steps", "launch_all", times)
    next(steps)
    memory = site.remember("Call `run_steps` at the end")

    next(steps)

    flag = site.flag_of(memory)
    assert flag["verdict"] == "changed"
    assert "launch_all is in its place" in flag["reason"]
    assert "suggestion" not in flag


def test_a_command_in_place_of_a_file_is_named_and_not_put_into_the_text(site):
    steps = renamed_everywhere(site, "web/views/home.ts", "taskly", 6)
    next(steps)
    memory = site.remember("Start with `node web/views/home.ts`")

    next(steps)

    flag = site.flag_of(memory)
    assert "taskly is in its place" in flag["reason"]
    assert flag.get("suggestion") is None


def test_a_file_in_place_of_a_file_is_named_and_not_proposed(site):
    steps = renamed_everywhere(site, "web/views/home.ts", "web/views/about.ts", 6)
    next(steps)
    memory = site.remember("Start with `node web/views/home.ts`")

    next(steps)

    flag = site.flag_of(memory)
    assert "web/views/about.ts is in its place" in flag["reason"]
    assert "suggestion" not in flag


def test_what_a_deprecated_definition_names_beside_it_is_named_and_not_proposed(site):
    site.write("web/cart.py", "def total_of():\n    return 1\n\n\ndef sum_of():\n    return 2\n")
    site.commit("cart")
    memory = site.remember("Sums are made by `total_of` in `web/cart.py`")

    site.write(
        "web/cart.py",
        "# Deprecated: use sum_of instead.\ndef total_of():\n    return 1\n\n\n"
        "def sum_of():\n    return 2\n",
    )

    flag = site.flag_of(memory)
    assert "it names sum_of instead" in flag["reason"]
    assert "suggestion" not in flag


def test_what_says_that_it_is_deprecated_is_flagged_until_it_says_so_no_more(site):
    site.commit("cart", {"web/cart.py": "def total():\n    return 1\n"})
    memory = site.remember("Sums are made in `web/cart.py`")

    site.write(
        "web/cart.py", '"""Deprecated; use web.orders instead."""\n\nfrom web.orders import total\n'
    )
    flag = site.flag_of(memory)
    assert flag["verdict"] == "changed"
    assert "web/cart.py is deprecated now; it names web.orders instead" in flag["reason"]

    site.git("checkout", "-q", "web/cart.py")
    assert site.flag_of(memory) is None


def test_a_word_that_only_a_page_of_html_shows_is_gone_from_the_code(site):
    memory = site.remember(SAYINGS["word"])

    site.write("conf/app.ini", "[app]\nAPP_TOKEN_FILE = x\n")
    site.write("site/shown.html", "<pre>retry-budget = 3</pre>\n")
    site.commit("shown")

    assert site.flag_of(memory)["verdict"] == "gone"


def test_a_list_that_is_taken_from_elsewhere_is_flagged(site):
    site.commit("kinds", {"web/kinds.py": 'KINDS = ["small", "large", "huge"]\n'})
    memory = site.remember("A new size goes into `KINDS` in `web/kinds.py`")

    site.write("web/kinds.py", "from web.sizes import every\n\nKINDS = list(every)\n")
    site.write("web/sizes.py", 'every = ("small", "large", "huge")\n')

    flag = site.flag_of(memory)
    assert flag["verdict"] == "changed"
    assert "KINDS in web/kinds.py lists next to nothing of what it did" in flag["reason"]


def test_a_definition_that_many_files_use_is_found_where_it_went(site):
    site.write("web/old.py", "class OrderSheet:\n    pass\n")
    for number in range(20):
        site.write(f"web/use{number}.py", "from web.old import OrderSheet\n\nOrderSheet()\n")
    site.commit("sheets")
    memory = site.remember("`OrderSheet` is defined in `web/old.py`")

    for number in range(20):
        site.write(f"web/use{number}.py", "from web.new import OrderSheet\n\nOrderSheet()\n")
    site.write("web/old.py", "pass\n")
    site.write("web/new.py", "class OrderSheet:\n    pass\n")
    site.commit("elsewhere")

    flag = site.flag_of(memory)
    assert (flag["verdict"], flag["suggestion"]["path"]) == ("moved", "web/new.py")


def test_hints_in_any_order_lead_to_the_same_verdicts(site):
    memories = {sort: site.remember(text) for sort, text in SAYINGS.items()}
    site.check()
    for sort in ("command", "word", "value"):
        ENDS[sort][0](site)
    site.write("src/net.py", FIVE_TRIES)
    for path in ("package.json", "conf/app.ini", "src/net.py", "Makefile", "Makefile"):
        site.check_tree(frozenset({path}))
    by_hints = {row["id"]: row["verdict"] for row in site.stale(all=True, check=False)["stale"]}

    site.check()

    now = {row["id"]: row["verdict"] for row in site.stale(all=True, check=False)["stale"]}
    assert by_hints == now
    assert set(now) == {memories["command"], memories["word"], memories["value"]}


def test_a_removed_file_is_a_hint_about_its_folder(site):
    memory = site.remember(SAYINGS["directory"])
    site.check()
    for name in ("home", "about"):
        (site.path / f"web/views/{name}.ts").unlink()

    site.check_tree(frozenset({"web/views/home.ts", "web/views/about.ts"}))

    assert [row["id"] for row in site.stale(all=True, check=False)["stale"]] == [memory]


@pytest.mark.parametrize(
    ("text", "path", "then", "now"),
    [
        ("We need Python 3.11.", "pyproject.toml", 'requires-python = ">=3.11"', "3.12"),
        ("Run `cargo xtask`.", ".cargo/config.toml", '[alias]\nxtask = "run"', "other"),
        ("`web/long.py` has 40 lines.", "web/long.py", "x = 1\n" * 39 + "y = 2", "y = 2" * 9),
        ("`web/long.py` has 40 lines.", "web/long.py", "x = 1\r" * 39 + "y = 2", "y = 2" * 9),
    ],
    ids=["version", "target", "lines", "lines of an old Macintosh"],
)
def test_the_commit_that_made_another_value_is_told(site, text, path, then, now):
    site.commit("as it is said", {path: then + "\n"})
    memory = site.remember(text)
    site.commit("a remark", {path: "# a remark\n" + then + "\n"})
    assert site.verdict(memory) in ("fresh", "touched")
    changed = then.replace("xtask", now) if "xtask" in then else now
    site.write(path, changed.join(("requires-python = '", "'\n")) if "3.1" in now else changed)
    site.commit("another value")

    flag = site.flag_of(memory)

    assert flag["verdict"] in ("changed", "gone")
    subjects = [one["commit"] and one["commit"]["subject"] for one in flag["evidence"]]
    assert subjects == ["another value"]


def test_what_others_use_instead_is_told_once_it_is_committed_and_goes_with_it(site):
    site.write("web/old.py", "def call_by_wire(x):\n    return x\n")
    users = [f"web/use_{number}.py" for number in range(8)]
    for path in users:
        site.write(path, "from old import call_by_wire\n\nprint(call_by_wire(1))\n")
    site.commit("by wire")
    memory = site.remember("Servers are called with `call_by_wire`")
    assert site.verdict(memory) == "fresh"

    for path in users:
        site.write(path, "from new import call_by_air\n\nprint(call_by_air(1))\n")
    assert site.verdict(memory) == "fresh"  # the use of a word is counted in commits only
    site.commit("by air")
    flag = site.flag_of(memory)

    assert flag["verdict"] == "changed"
    assert "8 files no longer name it; call_by_air is in its place" in flag["reason"]
    assert not flag["uncommitted"]
    (evidence,) = flag["evidence"]
    assert evidence["summary"].endswith("(by the commits since this was remembered)")
    site.git("revert", "--no-edit", "HEAD")
    assert site.verdict(memory) == "fresh"


@pytest.mark.parametrize(
    "text",
    [
        "Use `fetch_all` of src/net.py instead of `fetch_one`",
        "`fetch_one` is no longer needed: src/net.py has `fetch_all`",
    ],
)
def test_what_a_text_says_not_to_use_may_go(repo, text):
    repo.write("src/net.py", "def fetch_all():\n    return 1\n\n\ndef fetch_one():\n    return 2\n")
    repo.commit("both")
    node = repo.remember(text)
    repo.commit("as was said", {"src/net.py": "def fetch_all():\n    return 1\n"})
    assert repo.verdict(node) == "fresh"
    repo.commit("the other way round", {"src/net.py": "def fetch_one():\n    return 2\n"})
    assert repo.verdict(node) == "gone"


@pytest.mark.parametrize("sort", ENDS)
def test_what_is_confirmed_without_what_it_named_is_not_flagged(site, sort):
    memory = site.remember(SAYINGS[sort])
    ENDS[sort][0](site)
    site.commit("away")
    assert site.verdict(memory) != "fresh"

    site.confirm(memory, anyway=True)

    assert site.verdict(memory) == "fresh"
    for path in ("Makefile", "package.json", "conf/app.ini"):
        site.write(path, f"{site.read(path)}\n")
    site.commit("line ends")
    assert site.verdict(memory) == "fresh"


@pytest.mark.parametrize(
    ("path", "before", "after", "reason"),
    [
        (
            "docs/setup.md",
            "# Setup\n\nRun it.\n",
            "# Setup\n\nThis page has moved to the wiki.\n",
            "says",
        ),
        ("web/cart.py", "TOTAL = 1\n", '"""This module is deprecated."""\n\nTOTAL = 1\n', "is dep"),
        (
            "web/old.ts",
            "export const a = 1\n",
            "// This file was moved to lib.\n",
            "says that it has",
        ),
    ],
)
def test_commit_that_made_a_shell_of_a_file_is_its_evidence(site, path, before, after, reason):
    site.commit("the file", {path: before})
    memory = site.remember(f"What is asked often stands in `{path}`")
    site.commit("an empty line", {path: f"{before}\n"})
    site.commit("a shell", {path: after})
    site.commit("another empty line", {path: f"{after}\n"})

    flag = site.flag_of(memory)

    assert flag["reason"].startswith(f"{path} {reason}")
    (found,) = flag["evidence"]
    assert (found["commit"]["subject"], found["summary"]) == ("a shell", f"changed {path}")


@pytest.mark.parametrize(
    ("path", "definition", "mark"),
    [
        ("web/pay.ts", "export function payNow(x) {\n  return x\n}\n", "/** @deprecated */\n"),
        ("web/pay.py", "def payNow(x):\n    return x\n", "@deprecated('use pay')\n"),
        ("web/pay.go", "func payNow(x int) int {\n\treturn x\n}\n", "// Deprecated: use pay.\n"),
    ],
)
def test_a_deprecation_is_told_with_its_commit_and_one_that_was_known_is_no_news(
    site, path, definition, mark
):
    head = "package web\n\n" if path.endswith(".go") else ""
    site.commit("pay", {path: head + definition})
    memory = site.remember(f"Pay with `payNow` in {path}")
    site.commit("deprecate it", {path: head + mark + definition})

    flag = site.flag_of(memory)

    assert "payNow" in flag["reason"]
    assert "is deprecated now" in flag["reason"]
    assert [row["commit"]["subject"] for row in flag["evidence"]] == ["deprecate it"]
    known = site.remember(f"`payNow` in {path} still pays")
    site.commit("more", {path: head + mark + definition + "\n// more\n"})
    assert site.verdict(known) == "fresh"
    site.commit("free of charge", {path: head + mark + definition.replace("return x", "return 1")})
    found = site.flag_of(known)["evidence"]
    assert [row["commit"]["subject"] for row in found] == ["free of charge"]


@pytest.mark.parametrize(
    ("old", "new", "source"),
    [
        ("web/OrderBook.java", "web/Ledger.java", "class OrderBook {\n  int a = 1;\n%s}\n"),
        ("web/OrderBook.ts", "web/Ledger.ts", "export class OrderBook {\n  a = 1;\n%s}\n"),
        ("web/order_book.py", "web/ledger.py", "class OrderBook:\n    a = 1\n%s"),
    ],
)
def test_class_that_was_renamed_with_its_file_is_not_called_gone_from_the_new_one(
    site, old, new, source
):
    text = source % "".join(f"    // or {number}\n" for number in range(9))
    text = text.replace("//", "#") if old.endswith(".py") else text
    site.commit("book", {old: text})
    memory = site.remember("Orders are kept by `OrderBook`")
    site.commit("call it ledger", {new: text.replace("OrderBook", "Ledger")}, moved={old: new})

    flag = site.flag_of(memory)

    assert (flag["verdict"], flag["reason"]) == ("gone", f"{old} is now {new}, without OrderBook")
