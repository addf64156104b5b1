"""Where files and definitions went: what commits say, and what was there before."""

import pytest

IMAGE = 'FROM node:18\nCOPY . .\nRUN npm ci\nCMD ["node", "."]\n'
HANDLER = "import os\n\n\ndef {name}(event):\n    return {value}\n"


def proposed(tree, id):
    return tree.doubt(id)["suggestion"]


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
        repo.move("services/orders", "legacy/orders")
        repo.commit("orders is legacy")

        assert [proposed(repo, one)["path"] for one in memories] == [
            "services/payments/Dockerfile",
            "legacy/orders/Dockerfile",
        ]

    def test_one_that_was_removed_is_not_where_the_other_went(self, repo, memories):
        repo.git("rm", "-q", "services/billing/Dockerfile")
        repo.commit("no billing")
        repo.move("services/orders", "legacy/orders")
        repo.commit("orders is legacy")

        billing, orders = memories
        assert repo.doubt(billing)["verdict"] == "gone"
        assert "suggestion" not in repo.doubt(billing)
        assert proposed(repo, orders)["path"] == "legacy/orders/Dockerfile"

    def test_a_new_file_that_says_the_same_is_not_where_it_went(self, repo, memories):
        repo.move("services/billing", "services/payments")
        repo.commit("billing is payments")
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
        repo.write(old, functions(*range(8)))
        repo.commit("module")
        memory = repo.remember(f"All of the wire format is in `{old}`")

        repo.move(old, new)
        repo.commit("package")

        assert proposed(repo, memory) == {
            "path": new,
            "text": f"All of the wire format is in `{new}`",
        }

    def test_a_module_whose_parts_are_in_a_package_is_the_package(self, repo):
        repo.write("src/wire.py", functions(*range(9)))
        repo.commit("module")
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
        repo.write("src/wire.py", functions(*range(9)))
        repo.commit("module")
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
        doubt = tree.doubt(memory)
        assert doubt["verdict"] == "gone"
        assert "fn/a/main.py" not in str(doubt)

    @pytest.mark.parametrize("commit", [False, True])
    def test_a_renamed_definition_did_not_go_to_its_namesake(self, repo, memory, commit):
        repo.write("fn/b/main.py", HANDLER.format(name="on_event", value=2))
        if commit:
            repo.commit("renamed in b")

        self.gone(repo, memory)

    def test_nor_did_one_whose_file_is_gone(self, repo, memory):
        repo.git("rm", "-q", "fn/b/main.py")
        repo.commit("no b")

        self.gone(repo, memory)

    def test_nor_to_a_namesake_that_was_moved_since(self, repo, memory):
        repo.move("fn/a/main.py", "fn/c/main.py")
        repo.commit("a is c")
        repo.write("fn/b/main.py", HANDLER.format(name="on_event", value=2))
        repo.commit("renamed in b")

        self.gone(repo, memory)
        assert "fn/c/main.py" not in str(repo.doubt(memory))

    def test_a_definition_that_came_to_another_file_is_there(self, repo, memory):
        repo.write("fn/b/main.py", "import os\n")
        repo.write("fn/b/handlers.py", HANDLER.format(name="handler", value=2))
        repo.commit("split")

        assert proposed(repo, memory) == {
            "path": "fn/b/handlers.py",
            "text": "`handler` in `fn/b/handlers.py` returns 2",
        }

    def test_one_that_says_the_same_is_where_it_is_now(self, repo, memory):
        repo.write("fn/a/main.py", HANDLER.format(name="handler", value=2))
        repo.commit("a does what b does")
        repo.write("fn/b/main.py", "from fn.a.main import handler\n")
        repo.commit("b takes it from a")

        assert proposed(repo, memory)["path"] == "fn/a/main.py"
