"""What a memory rests on besides files and definitions, and what becomes of it in a work tree."""

import json

import pytest
from engine_world import FIVE_TRIES

FILES = {
    "web/views/home.ts": "export const home = 1;\n",
    "web/views/about.ts": "export const about = 2;\n",
    "web/rules/one.rule": "a\n",
    "web/rules/two.rule": "b\n",
    "Makefile": "lint:\n\truff check\n\nserve:\n\tnode web\n",
    "package.json": json.dumps({"engines": {"node": ">=18"}, "scripts": {"check": "tsc"}}),
    "conf/app.ini": "[app]\nretry-budget = 3\nAPP_TOKEN_FILE = x\n",
}


@pytest.fixture
def site(repo):
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


@pytest.mark.parametrize("sort", SAYINGS)
def test_each_sort_of_reference_is_anchored_and_fresh(site, sort):
    answer = site.remembered(SAYINGS[sort])

    assert answer["anchors"]
    assert site.verdict(answer["id"]) == "fresh"


@pytest.mark.parametrize("sort", ENDS)
def test_what_is_gone_is_in_doubt_until_it_comes_back(site, sort):
    end, verdict = ENDS[sort]
    memory = site.remember(SAYINGS[sort])

    end(site)
    site.commit("away")

    assert site.verdict(memory) == verdict
    assert site.doubt(memory)["evidence"]
    site.git("revert", "--no-edit", "HEAD")
    assert site.verdict(memory) == "fresh"


def test_a_folder_that_was_renamed_has_moved_and_the_new_text_is_proposed(site):
    memory = site.remember(SAYINGS["directory"])

    site.git("mv", "web/views", "web/pages")
    site.commit("pages")

    doubt = site.doubt(memory)
    assert doubt["verdict"] == "moved"
    assert doubt["suggestion"]["path"] == "web/pages"
    assert doubt["suggestion"]["text"] == SAYINGS["directory"].replace("views", "pages")


def test_a_file_that_was_split_is_the_folder_now(site):
    memory = site.remember("Home is made in web/views/home.ts")

    site.git("rm", "-q", "web/views/home.ts")
    site.write("web/views/home/head.ts", "export const head = 11;\nexport const title = 5;\n")
    site.write("web/views/home/body.ts", "export const body = 12;\nexport const foot = 6;\n")
    site.commit("split")

    doubt = site.doubt(memory)
    assert (doubt["verdict"], doubt["suggestion"]["path"]) == ("moved", "web/views/home")


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
    site.write("bin/tool.js", "run()\n")
    site.commit("steps")
    memory = site.remember("Start with `node bin/tool.js`")
    for number in range(6):
        lines = (f"step {number}.{line}: taskly go{line}\n" for line in range(4))
        site.write(f"steps/{number}.txt", "".join(lines))
    site.write("bin/tool.js", "run( )\n")
    site.commit("taskly")

    doubt = site.doubt(memory)

    assert doubt["verdict"] == "changed"
    assert "taskly" in doubt["reason"]


def test_what_says_that_it_is_deprecated_is_in_doubt_until_it_says_so_no_more(site):
    site.write("web/cart.py", "def total():\n    return 1\n")
    site.commit("cart")
    memory = site.remember("Sums are made in `web/cart.py`")

    site.write(
        "web/cart.py", '"""Deprecated; use web.orders instead."""\n\nfrom web.orders import total\n'
    )
    doubt = site.doubt(memory)
    assert doubt["verdict"] == "changed"
    assert "web/cart.py is deprecated now; it names web.orders instead" in doubt["reason"]

    site.git("checkout", "-q", "web/cart.py")
    assert site.doubt(memory) is None


def test_a_word_that_only_a_page_of_html_shows_is_gone_from_the_code(site):
    memory = site.remember(SAYINGS["word"])

    site.write("conf/app.ini", "[app]\nAPP_TOKEN_FILE = x\n")
    site.write("site/shown.html", "<pre>retry-budget = 3</pre>\n")
    site.commit("shown")

    assert site.doubt(memory)["verdict"] == "gone"


def test_a_list_that_is_taken_from_elsewhere_is_in_doubt(site):
    site.write("web/kinds.py", 'KINDS = ["small", "large", "huge"]\n')
    site.commit("kinds")
    memory = site.remember("A new size goes into `KINDS` in `web/kinds.py`")

    site.write("web/kinds.py", "from web.sizes import every\n\nKINDS = list(every)\n")
    site.write("web/sizes.py", 'every = ("small", "large", "huge")\n')

    doubt = site.doubt(memory)
    assert doubt["verdict"] == "changed"
    assert "KINDS in web/kinds.py lists next to nothing of what it did" in doubt["reason"]


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

    doubt = site.doubt(memory)
    assert (doubt["verdict"], doubt["suggestion"]["path"]) == ("moved", "web/new.py")


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
