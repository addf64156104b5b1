"""A text is proposed only when nothing but the place changed; a change outlives `reanchor`."""

import pytest
from refusals import refusal
from verb_world import FIVE_TRIES, NET, RETRY

from yaadwatch.cli import check_rules
from yaadwatch.model.errors import Code
from yaadwatch.sessions import context

TRIES = "Downloads are tried three times, in src/net.py"
SETTINGS = "retries: 3\nhost: example.org\n"
SCALA = "object Net {\n  def fetchIt(x: Int): Int = {\n    x + 3\n  }\n}\n"


def proposed(tree, id):
    return tree.flag_of(id)["suggestion"]


def renamed_and_changed(tree):
    tree.commit("Try five times", {"src/net.py": FIVE_TRIES})
    tree.commit("Rename net", moved={"src/net.py": "src/http.py"})


class TestText:
    @pytest.mark.parametrize(
        ("text", "new"),
        [
            ("Never bypass the store of `store/`", "Never bypass the store of `internal/store/`"),
            ("Code of store/ is the store", "Code of internal/store/ is the store"),
            ("See ./store for the store", "See ./internal/store for the store"),
            (
                "The store, `store/`: run `cd store && make`",
                "The store, `internal/store/`: run `cd internal/store && make`",
            ),
        ],
    )
    def test_a_word_that_a_moved_folder_is_called_by_stays_a_word(self, repo, text, new):
        repo.commit("store", {"store/a.txt": "one\n", "store/b.txt": "two\n"})
        memory = repo.remember(text)

        repo.write("internal/c.txt", "three\n")
        repo.git("mv", "store", "internal/store")
        repo.commit("move it")

        assert proposed(repo, memory)["text"] == new

    def test_a_definition_that_moved_and_changed_is_proposed_by_place_only(self, repo):
        memory = repo.remember(TRIES, symbols=["fetch_with_retry"])

        renamed_and_changed(repo)

        assert proposed(repo, memory) == {
            "path": "src/http.py",
            "text": None,
            "also_changed": True,
        }

    def test_a_file_that_moved_and_changed_is_proposed_by_place_only(self, repo):
        memory = repo.remember(TRIES)

        renamed_and_changed(repo)

        assert proposed(repo, memory)["text"] is None

    def test_settings_that_moved_and_changed_are_proposed_by_place_only(self, repo):
        repo.commit("settings", {"conf/app.yaml": SETTINGS})
        memory = repo.remember("Three retries are set in conf/app.yaml")

        repo.git("mv", "conf/app.yaml", "conf/main.yaml")
        repo.commit("more retries", {"conf/main.yaml": SETTINGS.replace("3", "5")})

        assert proposed(repo, memory) == {
            "path": "conf/main.yaml",
            "text": None,
            "also_changed": True,
        }

    def test_a_definition_that_changed_on_its_way_to_another_file_is_proposed_by_place_only(
        self, repo
    ):
        memory = repo.remember("`fetch_with_retry` in src/net.py tries three times")

        start, end = NET.index("def fetch"), NET.index("def last")
        repo.write("src/net.py", NET[:start] + NET[end:])
        repo.write("src/retry.py", "import time\n\n\n" + FIVE_TRIES[start:end])
        repo.commit("split retries")

        flag = repo.flag_of(memory)
        assert flag["suggestion"]["path"] == "src/retry.py"
        assert flag["suggestion"]["text"] is None
        assert flag["reason"].endswith("and changed")

    @pytest.mark.parametrize("body", ["x + 3", "x + 5"])
    def test_a_definition_without_a_grammar_is_compared_line_by_line(self, repo, body):
        repo.commit("scala", {"src/Net.scala": SCALA + "\nobject Rest\n"})
        memory = repo.remember("`fetchIt()` in src/Net.scala adds three")

        repo.write("src/Net.scala", "object Rest\n")
        repo.write("src/Retry.scala", SCALA.replace("x + 3", body))
        repo.commit("split")

        changed = body != "x + 3"
        assert (proposed(repo, memory)["text"] is None) is changed

    def test_imports_and_relative_paths_that_follow_the_move_are_no_change(self, repo):
        source = "import { a } from './a'\n\nexport const limit = 3\nload('./data.json')\n"
        repo.commit("net", {"src/net.ts": source})
        memory = repo.remember("The limit is set in src/net.ts")

        repo.move("src/net.ts", "src/http/net.ts")
        repo.commit("move", {"src/http/net.ts": source.replace("'./", "'../")})

        assert proposed(repo, memory)["text"] == "The limit is set in src/http/net.ts"

    def test_a_change_to_one_of_two_definitions_keeps_the_text_back(self, repo):
        memory = repo.remember("`last` and `fetch_with_retry` are in src/net.py")

        renamed_and_changed(repo)

        assert proposed(repo, memory)["text"] is None

    @pytest.mark.parametrize(
        "said",
        [
            "`tools/a.py` is the only module of `tools/`",
            "No other code than `tools/a.py` is in `tools/`",
            "All of `tools/` is read from two modules",
            "There are 2 modules in `tools/`",
        ],
    )
    def test_what_is_said_of_all_in_a_folder_that_moved_is_proposed_by_place_only(self, repo, said):
        repo.commit("tools", {"tools/a.py": NET, "tools/data.json": "{}\n"})
        memory = repo.remember(said)

        repo.commit("a library", {"lib/b.py": FIVE_TRIES}, moved={"tools": "lib"})

        suggestion = proposed(repo, memory)
        assert suggestion["text"] is None
        assert "lib" in suggestion["places"]

    @pytest.mark.parametrize(
        "said",
        [
            "Helpers for net are in `tools/`",
            "Ports from 8080 up are taken; see `tools/`. Only people may push",
            "`make all-tools` reads `tools/`",
        ],
    )
    def test_what_is_said_of_the_folder_itself_has_its_new_place(self, repo, said):
        repo.commit("tools", {"tools/a.py": NET})
        memory = repo.remember(said)

        repo.commit("a library", moved={"tools": "lib"})

        assert proposed(repo, memory)["text"] == said.replace("`tools/`", "`lib/`")


class TestShown:
    def test_the_brief_names_the_place_and_the_change(self, repo):
        repo.remember(TRIES, symbols=["fetch_with_retry"])
        renamed_and_changed(repo)
        repo.check()

        told = context.context(repo.home, repo.call)["brief"]

        assert "now at src/http.py; more than its place changed" in told
        assert "would be true" not in told

    def test_check_proposes_no_text_either(self, repo):
        repo.commit("rules", {"CLAUDE.md": f"# Rules\n\n- {TRIES}, by `fetch_with_retry`\n"})
        renamed_and_changed(repo)

        (found,) = check_rules.check(repo.path, base="HEAD~2")["false"]

        assert found["suggestion"] == {"path": "src/http.py", "text": None, "also_changed": True}


class TestReanchor:
    @pytest.mark.parametrize("every", [False, True])
    def test_the_place_is_followed_and_the_change_stays_flagged(self, repo, every):
        memory = repo.remember(TRIES, symbols=["fetch_with_retry"])
        renamed_and_changed(repo)
        confirmed = repo.show(memory)["confirmed_at"]

        answer = repo.reanchor(**({"all": True} if every else {"id": memory}))

        (done,) = answer["reanchored"]
        assert done["text"] == "Downloads are tried three times, in src/http.py"
        assert done["still_flagged"]["verdict"] == "changed"
        assert "fetch_with_retry in src/http.py" in done["still_flagged"]["reason"]
        flag = repo.flag_of(memory)
        assert (flag["verdict"], flag["level"]) == ("changed", "warn")
        assert "Try five times" in [row["commit"]["subject"] for row in flag["evidence"]]
        assert repo.show(memory)["confirmed_at"] == confirmed

    def test_a_change_that_is_accepted_clears_the_flag(self, repo):
        memory = repo.remember(TRIES, symbols=["fetch_with_retry"])
        renamed_and_changed(repo)

        (done,) = repo.reanchor(memory, accept_change=True)["reanchored"]

        assert done["still_flagged"] is None
        assert repo.verdict(memory) == "fresh"

    def test_the_kept_flag_clears_when_the_change_is_taken_back(self, repo):
        memory = repo.remember(TRIES, symbols=["fetch_with_retry"])
        renamed_and_changed(repo)
        repo.reanchor(memory)

        repo.commit("three again", {"src/http.py": NET})

        assert repo.verdict(memory) == "fresh"

    def test_a_plain_move_is_accepted_whole(self, repo):
        memory = repo.remember()
        repo.commit("rename", moved={"src/net.py": "src/http.py"})

        (done,) = repo.reanchor(memory)["reanchored"]

        assert done["text"] == RETRY.replace("net.py", "http.py")
        assert repo.verdict(memory) == "fresh"

    @pytest.mark.parametrize("every", [False, True])
    def test_what_is_proposed_anew_is_not_accepted_unseen(self, repo, every):
        memory = repo.remember()
        repo.commit("rename", moved={"src/net.py": "src/http.py"})
        repo.check()
        repo.commit("rename again", moved={"src/http.py": "src/web.py"})

        if every:
            answer = repo.reanchor(all=True)
            assert answer["reanchored"] == []
            assert "changed meanwhile" in answer["skipped"][0]["reason"]
        else:
            error = refusal(repo.reanchor, memory)
            assert error.code is Code.CONFLICT
            assert "Nothing was changed" in error.message
        assert repo.verdict(memory) == "moved"
        assert repo.reanchor(memory)["reanchored"][0]["path"] == "src/web.py"


@pytest.mark.parametrize(
    ("said", "proposed"),
    [
        ("We use express 4.18", "We use express 5.0.0"),
        ("We use express 4.18 with node 20", "We use express 5.0.0 with node 20"),
        ("We use express 4.18 because 5 breaks the router", None),
        ("We use express 4.18, v5 breaks the router", None),
        ("We use express 4.18; 4 is the last with callbacks", None),
    ],
)
def test_version_is_not_replaced_beside_a_part_of_the_old_or_new_one(repo, said, proposed):
    repo.commit("express", {"package.json": '{"dependencies": {"express": "^4.18.0"}}\n'})
    memory = repo.remember(said)
    repo.commit("express 5", {"package.json": '{"dependencies": {"express": "^5.0.0"}}\n'})

    found = repo.flag_of(memory)

    assert found["verdict"] == "changed"
    assert (found.get("suggestion") or {}).get("text") == proposed


ROWS = "def load_rows(a):\n    x = a + 1\n    return [x, x * 2, 'row']\n"
GO = "package {}\n\nfunc TotalRows(a int) int {{\n\treturn a + 1\n}}\n"


@pytest.mark.parametrize(
    ("said", "old", "new", "proposed"),
    [
        ("Keep `src/a.py` in the top of it, never in src/old/", "src/a.py", "src/old/a.py", None),
        ("`load_rows` is in `src/a.py`, next to `net.py`", "src/a.py", "lib/a.py", None),
        ("`src/a.py` is in the same folder as `src/net.py`", "src/a.py", "lib/a.py", None),
        (
            "`load_rows` is in `src/a.py`, next to `net.py`",
            "src/a.py",
            "src/b.py",
            "`load_rows` is in `src/b.py`, next to `net.py`",
        ),
        ("`rows.load_rows` is in src/rows.py", "src/rows.py", "src/cart.py", None),
        (
            "`rows.load_rows` is in src/rows.py",
            "src/rows.py",
            "lib/rows.py",
            "`rows.load_rows` is in lib/rows.py",
        ),
    ],
)
def test_text_that_would_say_more_of_the_new_place_is_not_proposed(repo, said, old, new, proposed):
    repo.commit("rows", {old: ROWS})
    memory = repo.remember(said)
    repo.commit("moved", moved={old: new})

    found = repo.flag_of(memory)

    assert found["verdict"] == "moved"
    assert found["suggestion"]["text"] == proposed
    assert proposed or found["suggestion"]["places"] == [new]


@pytest.mark.parametrize(
    ("said", "proposed"),
    [
        ("The web client is set up in `web/types.json`", None),
        ("Types are set up in `web/types.json`", "Types are set up in `api/types.json`"),
        ("Types: `web/types.json`, see `web/`", None),
        pytest.param(
            f"Types: web/types.json {'a' * 60_000}",
            f"Types: api/types.json {'a' * 60_000}",
            id="in time that grows with the text",
        ),
    ],
)
def test_text_that_speaks_of_the_folder_left_is_not_proposed(repo, said, proposed):
    repo.commit("web", {"web/types.json": '{"extends": "../base.json"}\n', "web/a.ts": "a\n"})
    memory = repo.remember(said)
    repo.git("rm", "-q", "web/types.json")
    repo.commit("api", {"api/types.json": '{"extends": "../base.json"}\n'})

    found = repo.flag_of(memory)

    assert found["verdict"] == "moved"
    assert found["suggestion"]["text"] == proposed


@pytest.mark.parametrize(
    ("old", "new"),
    [("services/billing", "services/payments"), ("billing", "payments"), ("a/billing", "b")],
)
def test_text_that_has_the_name_of_a_folder_that_is_called_otherwise_now(repo, old, new):
    repo.commit("image", {f"{old}/Dockerfile": "FROM node:18\nCOPY . .\nRUN npm ci\n"})
    memory = repo.remember(f"Billing is built by `{old}/Dockerfile`")
    repo.commit("renamed", moved={old: new})

    assert proposed(repo, memory)["text"] == f"Billing is built by `{new}/Dockerfile`"


def test_files_that_moved_together_are_beside_each_other_still(repo):
    repo.commit("rows", {"src/a.py": ROWS, "src/b.py": "b = 1\n"})
    memory = repo.remember("`src/a.py` is next to `src/b.py`")
    repo.commit("moved", moved={"src/a.py": "lib/a.py", "src/b.py": "lib/b.py"})

    assert proposed(repo, memory)["text"] == "`lib/a.py` is next to `lib/b.py`"


def test_definition_is_not_proposed_under_the_name_of_a_former_package(repo):
    repo.commit("cart", {"pkg/cart/cart.go": GO.format("cart")})
    memory = repo.remember("`cart.TotalRows` sums, in pkg/cart/cart.go")
    repo.move("pkg/cart", "pkg/basket")
    repo.commit("basket", {"pkg/basket/cart.go": GO.format("basket")})

    assert proposed(repo, memory)["text"] is None
