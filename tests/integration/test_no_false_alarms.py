"""What raises no flag: ignored files, Git LFS, placeholders, members, pages that moved."""

import hashlib
import shutil
from datetime import timedelta

import pytest
from repositories import Repo

from yaadwatch.repo.command import GitRunner
from yaadwatch.staleness import anchoring, assessing
from yaadwatch.staleness.anchor_search import Source
from yaadwatch.staleness.worktree import look_at


class Tree:
    """A repository with one memory; `verdict` judges it in the work tree as it is now."""

    def __init__(self, path):
        self.repo = Repo.new(path)
        self.root = self.repo.path
        self.runner = GitRunner(timedelta(seconds=60))
        self.repository = self.repo.open(self.runner)
        self.text, self.page, self.anchors = "", "", []

    def remember(self, text, page="AGENTS.md"):
        tree, head = look_at(self, (), 0)
        folder = page.rpartition("/")[0]
        found = anchoring.anchor([Source(text=text, folder=folder)], tree, head.head.commit)
        self.text, self.page, self.anchors = text, page, found[0]
        return self.anchors

    def verdict(self, page=None):
        tree, head = look_at(self, (), 0)
        assessing.expect_anchors(self.anchors, head)
        pages = (page or self.page,)
        found = assessing.assess(self.text, self.anchors, tree, head, pages=pages)
        return found.level, found.worst.verdict.value


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path / "repo")
    made.repo.write("AGENTS.md", "# Rules\n")
    yield made
    made.runner.close()


NOT_FLAGGED = ("", "fresh"), ("", "touched")


def of_lfs(content):
    digest = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"


@pytest.mark.parametrize(
    ("ignored", "path", "content", "text"),
    [
        ("dist/", "dist/app.js", "export function run() {}\n", "The bundle is `dist/app.js`."),
        ("/target", "target/report.txt", "ok\n", "`target/report.txt` has the result."),
        (
            "*.gen.ts",
            "src/api.gen.ts",
            "export const limit = 3\n",
            "`limit` is 3 in `src/api.gen.ts`.",
        ),
        ("coverage/", "coverage/index.html", "<p>\n", "See the folder `coverage/`."),
        (".env.local", "web/.env.local", "PORT=3000\n", "`PORT` is in `web/.env.local`."),
        (
            "generated",
            "src/generated/types.py",
            "class Order:\n    pass\n",
            "`Order` is in `src/generated/types.py`.",
        ),
    ],
)
def test_ignored_file_that_was_cleaned_is_not_flagged(tree, ignored, path, content, text):
    tree.repo.write(".gitignore", f"{ignored}\n")
    tree.repo.write(path, content)
    tree.repo.commit()
    assert tree.remember(text)

    (tree.root / path).unlink()
    if path.count("/"):
        shutil.rmtree((tree.root / path).parent)

    assert tree.verdict() in NOT_FLAGGED
    tree.repo.add("other.py", "x = 1\n")
    assert tree.verdict() in NOT_FLAGGED


def test_file_that_was_committed_and_is_ignored_now_is_still_flagged(tree):
    tree.repo.write("build/out.txt", "x\n")
    tree.repo.commit()
    tree.remember("The build writes `build/out.txt`.")

    tree.repo.write(".gitignore", "build/\n")
    tree.repo.git("rm", "-q", "-r", "build")
    tree.repo.commit()

    assert tree.verdict() == ("warn", "gone")


def test_untracked_file_that_git_does_not_ignore_is_still_flagged(tree):
    tree.repo.commit()
    tree.repo.write("notes/plan.txt", "x\n")
    tree.remember("The plan is in `notes/plan.txt`.")

    shutil.rmtree(tree.root / "notes")

    assert tree.verdict()[1] == "gone"


@pytest.mark.parametrize(
    ("path", "content", "text"),
    [
        ("data/model.json", '{\n "layers": 12\n}\n', "`layers` is 12 in `data/model.json`."),
        ("data/words.py", "def stem():\n    return 1\n", "`stem` is in `data/words.py`."),
        ("data/big.csv", "id,price\n1,2\n", "Prices are in `data/big.csv`."),
        ("data/limits.yaml", "maximum_rows: 40\n", "`maximum_rows` is in `data/limits.yaml`."),
    ],
)
@pytest.mark.parametrize("pulled", [True, False])
def test_file_that_went_to_lfs_is_not_flagged(tree, path, content, text, pulled):
    tree.repo.write(path, content)
    tree.repo.write("use.py", "import json\n")
    tree.repo.commit()
    assert tree.remember(text)

    tree.repo.add(path, of_lfs(content.encode()), "to LFS")
    if pulled:
        tree.repo.write(path, content)

    assert tree.verdict() in NOT_FLAGGED


def test_pointer_to_other_content_that_was_not_pulled_is_unknown(tree):
    tree.repo.add("data/words.py", "def stem():\n    return 1\n")
    tree.remember("`stem` is in `data/words.py`.")

    tree.repo.add("data/words.py", of_lfs(b"def root():\n    return 2\n"))

    level, verdict = tree.verdict()
    assert (level, verdict) == ("", "unknown")


@pytest.mark.parametrize(
    "text",
    [
        "Ask `GET /orders/{order_id}` for one order.",
        "Run `deploy.sh <order_id>` for each.",
        "Names look like `price_<order_id>`.",
        "Set {order_id} in the address.",
        "Export `<ORDER_ID>` first.",
    ],
)
def test_placeholder_is_not_a_reference(tree, text):
    tree.repo.write("shop.py", "order_id = 1\nORDER_ID = 2\n")
    tree.repo.write("use.py", "from shop import order_id, ORDER_ID\n")
    tree.repo.commit()

    assert tree.remember(text) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/a/index.ts", "Each feature has `src/<name>/index.ts`."),
        ("src/a/index.ts", "Each feature has `src/[feature]/index.ts`."),
        ("apps/web/Dockerfile", "Images are built from `apps/{app}/Dockerfile`."),
    ],
)
def test_a_file_below_a_placeholder_is_not_the_one_that_happens_to_be_there(tree, path, text):
    tree.repo.add(path, "FROM base\nRUN make\nCOPY . .\n")
    anchors = tree.remember(text)
    top, below, _ = path.split("/")
    tree.repo.git("mv", f"{top}/{below}", f"{top}/b")
    tree.repo.commit()

    assert path not in {anchor.path for anchor in anchors}
    assert not anchors or tree.verdict() in NOT_FLAGGED


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "src/a.ts",
            "export const old = 1\nexport const limit = 2\n",
            "/** @deprecated use limit */\nexport const old = 1\nexport const limit = 2\n",
        ),
        (
            "src/a.py",
            '"""Tools."""\nLIMIT = 3\nOLD = 4\n',
            '"""Tools. `OLD` is deprecated, use LIMIT."""\nLIMIT = 3\nOLD = 4\n',
        ),
        (
            "src/a.go",
            "package a\n\nconst Old = 1\n",
            "package a\n\n// Deprecated: use New.\nconst Old = 1\n",
        ),
        (
            "src/A.java",
            "package a;\nclass A {\n  int old;\n}\n",
            "package a;\nclass A {\n  @Deprecated\n  int old;\n}\n",
        ),
        (
            "src/a.rs",
            "pub const OLD: u8 = 1;\npub const NEW: u8 = 2;\n",
            "#[deprecated]\npub const OLD: u8 = 1;\npub const NEW: u8 = 2;\n",
        ),
    ],
)
def test_deprecated_member_does_not_retire_its_file(tree, path, before, after):
    tree.repo.add(path, before)
    tree.remember(f"Limits are in `{path}`.")

    tree.repo.add(path, after)

    assert tree.verdict() in NOT_FLAGGED


def test_deprecated_file_is_flagged(tree):
    tree.repo.add("src/a.ts", "export const old = 1\n")
    tree.remember("Limits are in `src/a.ts`.")

    tree.repo.add("src/a.ts", "/** @deprecated import from src/b.ts */\n\nexport const old = 1\n")

    assert tree.verdict()[1] == "changed"


@pytest.mark.parametrize(
    ("page", "text", "moves"),
    [
        ("docs/guide.md", "See [the picture](img/flow.svg).", [("docs", "handbook")]),
        ("docs/guide.md", "Settings are in `settings.yaml`.", [("docs", "site/docs")]),
        ("pkg/web/AGENTS.md", "Routes are in `./routes.ts`.", [("pkg/web", "apps/web")]),
        ("pkg/web/AGENTS.md", "Pages are in `src/pages/`.", [("pkg/web", "apps/site")]),
    ],
)
def test_file_that_moved_with_the_page_that_names_it_is_not_flagged(tree, page, text, moves):
    folder = page.rpartition("/")[0]
    for name in ("img/flow.svg", "settings.yaml", "routes.ts", "src/pages/home.ts"):
        tree.repo.write(f"{folder}/{name}", f"what is in {name}\nand more\n")
    tree.repo.write(page, f"# Guide\n\n{text}\n")
    tree.repo.commit()
    assert tree.remember(text, page)

    for old, new in moves:
        tree.repo.move(old, new)
        page = page.replace(old, new, 1)
    tree.repo.commit()

    assert tree.verdict(page) in NOT_FLAGGED
    assert tree.verdict("AGENTS.md")[1] == "moved"


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("Use `utils.py` (not `helpers.py`).", "utils.py", "helpers.py"),
        ("Copy `conf/a.toml` to `etc/a.toml`.", "conf/a.toml", "etc/a.toml"),
        ("`src/api.ts` is the one we call; `lib/api.ts` is built.", "src/api.ts", "lib/api.ts"),
        ("Rows move at night. Use `utils.py` (not `helpers.py`).", "utils.py", "helpers.py"),
        ("Use `a.py`, not `b.py`! We replaced the parser in May.", "a.py", "b.py"),
        ("Call `a.py`, never `b.py`. Data goes rows → columns.", "a.py", "b.py"),
    ],
)
def test_a_text_that_names_the_new_place_without_announcing_it_is_flagged(tree, text, old, new):
    tree.repo.write(old, "one = 1\ntwo = 2\n")
    tree.repo.write("AGENTS.md", f"# Rules\n\n- {text}\n")
    tree.repo.commit()
    tree.remember(text)

    tree.repo.move(old, new)
    tree.repo.commit()

    assert tree.verdict("AGENTS.md")[1] == "moved"


@pytest.mark.parametrize(
    "text",
    [
        "`conf/a.toml` moves to `etc/a.toml` with the next release.",
        "We are renaming `conf/a.toml` to `etc/a.toml`.",
        "`conf/a.toml` -> `etc/a.toml`",
        "Limits are read once. `conf/a.toml` becomes `etc/a.toml`. Ask before you edit it.",
        "`conf/a.toml` moves soon. Its new place is `etc/a.toml`.",
    ],
)
def test_a_text_that_announces_the_new_place_is_not_flagged(tree, text):
    tree.repo.write("conf/a.toml", "one = 1\ntwo = 2\n")
    tree.repo.write("AGENTS.md", f"# Rules\n\n- {text}\n")
    tree.repo.commit()
    tree.remember(text)

    tree.repo.move("conf/a.toml", "etc/a.toml")
    tree.repo.commit()

    assert tree.verdict("AGENTS.md") in NOT_FLAGGED
