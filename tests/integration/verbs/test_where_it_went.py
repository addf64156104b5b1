"""Where files and definitions went: what commits say, and what was there before."""

import pytest
from refusals import refusal

IMAGE = 'FROM node:18\nCOPY . .\nRUN npm ci\nCMD ["node", "."]\n'
MINIFIED = f"!function(){{{';'.join(f'function f{n}(x){{return x}}' for n in range(60_000))}}}();"
HANDLER = "import os\n\n\ndef {name}(event):\n    return {value}\n"


def proposed(tree, id):
    return tree.flag_of(id)["suggestion"]


def functions(*numbers):
    return "".join(f"def f{n}(a):\n    return a + {n}\n\n\n" for n in numbers)


class TestEqualFiles:
    @pytest.fixture
    def memories(self, repo):
        for name in ("billing", "orders"):
            repo.write(f"services/{name}/Dockerfile", IMAGE)
        repo.commit("two services")
        return [
            repo.remember(f"The image of {name} is built by services/{name}/Dockerfile")
            for name in ("billing", "orders")
        ]

    @pytest.mark.parametrize("commits", [1, 2])
    def test_each_is_where_its_commit_put_it(self, repo, memories, commits):
        repo.move("services/billing", "services/payments")
        if commits == 2:
            repo.commit("billing is payments")
        repo.commit("orders is legacy", moved={"services/orders": "legacy/orders"})

        assert [proposed(repo, one)["path"] for one in memories] == [
            "services/payments/Dockerfile",
            "legacy/orders/Dockerfile",
        ]

    def test_one_that_was_removed_is_not_where_the_other_went(self, repo, memories):
        repo.commit("no billing", gone=["services/billing/Dockerfile"])
        repo.commit("orders is legacy", moved={"services/orders": "legacy/orders"})

        billing, orders = memories
        assert repo.flag_of(billing)["verdict"] == "gone"
        assert "suggestion" not in repo.flag_of(billing)
        assert proposed(repo, orders)["path"] == "legacy/orders/Dockerfile"

    def test_a_new_file_that_says_the_same_is_not_where_it_went(self, repo, memories):
        repo.commit("billing is payments", moved={"services/billing": "services/payments"})
        repo.write("services/payments/Dockerfile", IMAGE.replace("18", "22"))
        repo.write("services/new/Dockerfile", IMAGE)
        repo.commit("another service")

        assert proposed(repo, memories[0])["path"] == "services/payments/Dockerfile"


class TestPackages:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("src/wire.rs", "src/wire/mod.rs"),
            ("src/wire.py", "src/wire/__init__.py"),
            ("src/wire.ts", "src/wire/index.ts"),
        ],
    )
    def test_a_module_that_became_a_package_is_its_file(self, repo, old, new):
        repo.commit("module", {old: functions(*range(8))})
        memory = repo.remember(f"All of the wire format is in `{old}`")

        repo.commit("package", moved={old: new})

        assert proposed(repo, memory) == {
            "path": new,
            "text": f"All of the wire format is in `{new}`",
        }

    def test_a_module_whose_parts_are_in_a_package_is_the_package(self, repo):
        repo.commit("module", {"src/wire.py": functions(*range(9))})
        memory = repo.remember("All of the wire format is in `src/wire.py`")

        repo.git("rm", "-q", "src/wire.py")
        repo.write("src/wire/__init__.py", "from .f import *\nfrom .last import f8\n")
        repo.write("src/wire/f.py", functions(*range(8)))
        repo.write("src/wire/last.py", functions(8))
        repo.commit("package")

        assert proposed(repo, memory) == {
            "path": "src/wire",
            "text": "All of the wire format is in `src/wire`",
        }

    def test_a_package_that_says_something_else_is_proposed_by_place_only(self, repo):
        repo.commit("module", {"src/wire.py": functions(*range(9))})
        memory = repo.remember("Eight is added in `src/wire.py`")

        repo.git("rm", "-q", "src/wire.py")
        repo.write("src/wire/__init__.py", "from .f import *\n")
        repo.write("src/wire/f.py", functions(*range(8)))
        repo.commit("package")

        assert proposed(repo, memory) == {"path": "src/wire", "text": None, "also_changed": True}

    def test_a_folder_that_was_split_below_one_new_folder_is_that_folder(self, repo):
        for part in ("core", "web"):
            for number in range(3):
                repo.write(f"lib/{part}{number}.py", functions(number) + f"# {part}\n")
        repo.commit("lib")
        memory = repo.remember("Our own code is in `lib/`")

        for part in ("core", "web"):
            for number in range(3):
                repo.move(f"lib/{part}{number}.py", f"packages/{part}/part{number}.py")
        repo.commit("packages")

        assert proposed(repo, memory)["path"] == "packages"

    def test_a_folder_that_was_split_below_an_old_folder_is_in_its_parts(self, repo):
        repo.write("packages/old/a.py", "a = 1\n")
        for part in ("core", "web"):
            repo.write(f"lib/{part}.py", functions(*range(len(part))))
        repo.commit("lib")
        memory = repo.remember("Our own code is in `lib/`")

        for part in ("core", "web"):
            repo.move(f"lib/{part}.py", f"packages/{part}/it.py")
        repo.commit("packages")

        assert proposed(repo, memory)["path"] is None
        assert proposed(repo, memory)["places"] == ["packages/core", "packages/web"]


class TestNamesakes:
    """A definition that was there before is not where another one of its name went."""

    @pytest.fixture
    def memory(self, repo):
        for number, folder in enumerate("ab", 1):
            repo.write(f"fn/{folder}/main.py", HANDLER.format(name="handler", value=number))
        repo.commit("two handlers")
        return repo.remember("`handler` in `fn/b/main.py` returns 2")

    def gone(self, tree, memory):
        flag = tree.flag_of(memory)
        assert flag["verdict"] == "gone"
        assert "fn/a/main.py" not in str(flag)

    @pytest.mark.parametrize("commit", [False, True])
    def test_a_renamed_definition_did_not_go_to_its_namesake(self, repo, memory, commit):
        repo.write("fn/b/main.py", HANDLER.format(name="on_event", value=2))
        if commit:
            repo.commit("renamed in b")

        self.gone(repo, memory)

    def test_nor_did_one_whose_file_is_gone(self, repo, memory):
        repo.commit("no b", gone=["fn/b/main.py"])

        self.gone(repo, memory)

    def test_nor_to_a_namesake_that_was_moved_since(self, repo, memory):
        repo.commit("a is c", moved={"fn/a/main.py": "fn/c/main.py"})
        repo.commit("renamed in b", {"fn/b/main.py": HANDLER.format(name="on_event", value=2)})

        self.gone(repo, memory)
        assert "fn/c/main.py" not in str(repo.flag_of(memory))

    def test_a_definition_that_came_to_another_file_is_there(self, repo, memory):
        repo.write("fn/b/main.py", "import os\n")
        repo.write("fn/b/handlers.py", HANDLER.format(name="handler", value=2))
        repo.commit("split")

        assert proposed(repo, memory) == {
            "path": "fn/b/handlers.py",
            "text": "`handler` in `fn/b/handlers.py` returns 2",
        }

    def test_where_it_went_unchanged_a_new_namesake_hides_nothing(self, repo, memory):
        repo.write("fn/b/main.py", "import os\n")
        repo.write("fn/b/handlers.py", HANDLER.format(name="handler", value=2))
        repo.write("web/views.py", HANDLER.format(name="handler", value="event.page"))
        repo.commit("split, and a web page")

        assert proposed(repo, memory)["path"] == "fn/b/handlers.py"
        assert repo.flag_of(memory)["level"] == "warn"

    @pytest.mark.parametrize(
        ("path", "later"),
        [
            (
                "web/views.py",
                "def handler(request):\n    for page in request:\n        show(page)\n",
            ),
            ("cli/run.py", "class handler:\n    verbose = True\n    colour = palette.find(7)\n"),
            ("fn/c/main.py", "@app.get('/')\nasync def handler():\n    yield b'', 200, dict()\n"),
        ],
    )
    def test_a_later_namesake_that_says_something_else_is_not_where_it_went(
        self, repo, path, later
    ):
        pays = "def handler(event):\n    bill = event.bill\n    return billing.pay(bill)\n"
        repo.commit("a handler that pays", {"fn/d/main.py": pays})
        memory = repo.remember("`handler` in `fn/d/main.py` pays the bill")
        repo.commit("nothing is paid", {"fn/d/main.py": "import os\n"})
        repo.commit("another handler", {path: later})

        flag = repo.flag_of(memory)
        assert (flag["verdict"], flag["level"]) == ("gone", "warn")
        assert path not in str(flag)

    @pytest.mark.parametrize("others", [["fn/x/main.py"], ["fn/x/main.py", "fn/y/main.py"]])
    def test_copies_that_were_always_there_are_not_where_it_went(self, repo, others):
        for path in ("fn/e/main.py", *others):
            repo.write(path, HANDLER.format(name="handler", value=7))
        repo.commit("one handler each")
        memory = repo.remember("`handler` in `fn/e/main.py` answers a request")
        repo.commit("e answers none", {"fn/e/main.py": "import os\n"})

        flag = repo.flag_of(memory)

        assert (flag["verdict"], flag.get("suggestion")) == ("gone", None)
        assert "is now in" not in flag["reason"]
        assert ("had the same before" in flag["reason"]) == (len(others) == 1)

    def test_one_that_says_the_same_is_where_it_is_now(self, repo, memory):
        repo.commit("a does what b does", {"fn/a/main.py": HANDLER.format(name="handler", value=2)})
        repo.commit("b takes it from a", {"fn/b/main.py": "from fn.a.main import handler\n"})

        assert proposed(repo, memory)["path"] == "fn/a/main.py"


class TestFolders:
    """A text is proposed for a folder only when all of it, as it was, is in the new place."""

    @pytest.fixture
    def memory(self, repo):
        for name in ("read", "write", "lock"):
            repo.write(f"store/sqlite/{name}.py", f"def {name}():\n    return '{name}'\n" * 9)
        repo.commit("store")
        return repo.remember("The SQLite store is in `store/sqlite/`")

    def test_a_folder_that_moved_whole_is_proposed(self, repo, memory):
        repo.commit("data", moved={"store/sqlite": "data/sqlite"})

        assert proposed(repo, memory)["text"] == "The SQLite store is in `data/sqlite/`"

    def test_a_folder_whose_files_were_rewritten_is_proposed_by_place_only(self, repo, memory):
        repo.move("store/sqlite", "store/lake")
        for name in ("read", "write", "lock"):
            path = f"store/lake/{name}.py"
            repo.write(path, repo.read(path).replace("return", "return lake and", 3))
        repo.commit("lake")

        assert proposed(repo, memory) == {
            "path": "store/lake",
            "text": None,
            "also_changed": True,
        }

    def test_a_folder_of_which_a_part_went_elsewhere_is_proposed_by_place_only(self, repo, memory):
        repo.write("misc/a.py", "a = 1\n")
        repo.move("store/sqlite", "data/sqlite")
        repo.move("data/sqlite/lock.py", "misc/lock.py")
        repo.commit("data")

        assert proposed(repo, memory)["text"] is None


class TestNames:
    def test_a_bare_name_becomes_the_way_from_its_folder(self, repo):
        repo.write("docs/rules.md", "# Rules\n")
        repo.write("docs/CLAUDE.md", "- Follow [the rules](rules.md)\n")
        repo.commit("rules")
        memory = repo.remember("Follow docs/rules.md and [these](rules.md)")

        repo.commit("folder", moved={"docs/rules.md": "docs/rules/overview.md"})

        text = proposed(repo, memory)["text"]
        assert text == "Follow docs/rules/overview.md and [these](rules/overview.md)"

    def test_an_escaped_path_is_put_right_with_the_plain_one(self, repo):
        repo.commit("net", {"web/_net.ts": "export const a = 1\n"})
        memory = repo.remember(r"Calls are in [web/\_net.ts](web/_net.ts)")

        repo.commit("app", moved={"web/_net.ts": "app/_net.ts"})

        assert proposed(repo, memory)["text"] == "Calls are in [app/_net.ts](app/_net.ts)"


class TestAnnounced:
    """What a text says is about to go may go."""

    @pytest.mark.parametrize(
        "text",
        [
            "`npm run old` is replaced by `npm run new`",
            "`npm run old` is deprecated in favour of `npm run new`",
            "We migrate from `npm run old` to `npm run new`",
            "`npm run new` replaces `npm run old`",
            "`npm run old` will be removed; run `npm run new`",
            "We move from `npm run old` to `npm run new`",
            "Delete `npm run old` once everybody runs `npm run new`",
            "Replace `npm run old` with `npm run new`",
            "`npm run old` can be dropped as soon as `npm run new` is fast",
        ],
    )
    def test_it_raises_no_flag_when_it_goes(self, repo, text):
        repo.commit("scripts", {"package.json": '{"scripts": {"old": "a", "new": "b"}}\n'})
        memory = repo.remember(text)

        repo.commit("old is gone", {"package.json": '{"scripts": {"new": "b"}}\n'})
        assert repo.verdict(memory) == "fresh"
        repo.commit("so is new", {"package.json": '{"scripts": {}}\n'})
        assert repo.verdict(memory) == "gone"

    @pytest.mark.parametrize(
        "text",
        [
            "Never delete `npm run old` once it is there; `npm run new` is no help",
            "Do not replace `npm run old` by `npm run new`",
            "`npm run old` cannot be removed after `npm run new`",
            "Rows move from `npm run old` to `npm run new`",
        ],
    )
    def test_a_name_near_such_words_is_flagged_when_it_goes(self, repo, text):
        repo.commit("scripts", {"package.json": '{"scripts": {"old": "a", "new": "b"}}\n'})
        memory = repo.remember(text)

        repo.commit("old is gone", {"package.json": '{"scripts": {"new": "b"}}\n'})

        assert repo.verdict(memory) == "gone"


class TestRefusals:
    """A refusal says why a definition was not found."""

    @pytest.mark.parametrize(
        ("path", "source"),
        [
            ("src/a.ts", "".join(f"export function get(a: {t}): {t};\n" for t in "ABCD")),
            ("src/a.py", "@overload\ndef get(a): ...\n" * 4),
            ("src/A.java", f"class A {{ {'int get() {{ return 1; }} ' * 4} }}"),
            ("conf/a.toml", "".join(f"[s{n}]\nget = {n}\n" for n in range(5))),
        ],
    )
    def test_a_name_that_is_defined_too_often_is_refused_for_that(self, repo, path, source):
        repo.commit("often", {path: source})

        error = refusal(repo.remember, f"`get` in {path} is what you want", symbols=["get"])

        assert f"{path} defines get more than 3 times" in error.message
        assert "defined in none" not in error.message

    @pytest.mark.parametrize(
        ("source", "why"),
        [(MINIFIED, "cannot be read as JavaScript"), (MINIFIED * 2, "larger than 2 MiB")],
        ids=["minified", "large"],
    )
    def test_a_file_that_cannot_be_read_is_named_as_such(self, repo, source, why):
        repo.commit("odd", {"dist/app.min.js": source})

        error = refusal(repo.remember, "It is there", files=["dist/app.min.js"], symbols=["f5000"])

        assert "dist/app.min.js" in error.message
        assert why in error.message

    def test_refusal_names_a_definition_that_is_nowhere(self, repo):
        error = refusal(
            repo.remember, "f is in it", files=["src/net.py"], symbols=["nowhere_at_all"]
        )

        assert "No named file defines nowhere_at_all" in error.message


class TestNamesThatSayNothing:
    def test_one_empty_file_is_not_where_another_went(self, repo):
        repo.commit("cart", {"src/cart/marker.txt": "", "src/cart/rows.py": "rows = 1\n" * 9})
        memory = repo.remember("The marker is src/cart/marker.txt")
        repo.git("rm", "-q", "src/cart/marker.txt")
        repo.commit("other", {"lib/other/__init__.py": ""})

        found = repo.flag_of(memory)

        assert found["verdict"] == "gone"
        assert [row["summary"] for row in found["evidence"]] == ["removed src/cart/marker.txt"]

    def test_empty_file_is_followed_by_its_name(self, repo):
        repo.commit("marker", {"src/cart/py.typed": ""})
        memory = repo.remember("The marker is src/cart/py.typed")
        repo.move("src/cart/py.typed", "lib/py.typed")
        repo.commit("moved")

        assert repo.flag_of(memory)["suggestion"]["path"] == "lib/py.typed"

    @pytest.mark.parametrize("name", ["index.ts", "mod.rs", "__init__.py", "main.go"])
    def test_first_file_of_another_folder_is_not_where_one_went(self, repo, name):
        repo.commit("cart", {f"src/cart/{name}": "one two three\n" * 9})
        memory = repo.remember(f"Carts begin in src/cart/{name}")
        repo.git("rm", "-q", f"src/cart/{name}")
        repo.commit("orders", {f"src/orders/{name}": "four five six\n" * 9})

        assert repo.verdict(memory) == "gone"
