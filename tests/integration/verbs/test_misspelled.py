"""A file or definition that a statement names and that is not there is reported at once."""

import pytest
from refusals import refusal

from yaadwatch.remember import drafts, remember

CART = (
    "class Cart:\n    def total(self):\n        return 1\n\n    def add(self, row):\n        pass\n"
)


@pytest.fixture
def shop(repo):
    repo.write("src/order.py", CART)
    repo.write("web/pages/checkout.ts", "export function pay(): void {}\n")
    repo.write("src/basket.py", "def basket_total():\n    # not basket_totals\n    return 1\n")
    scripts = '{"scripts": {"build": "vite build", "lint": "eslint ."}}'
    repo.write("web/package.json", scripts)
    repo.write("Makefile", "tests:\n\tpytest\nformat:\n\truff format\n")
    repo.write("docs/Makefile", "include ../common.mk\nhtmls:\n\tsphinx\n")
    repo.write("src/rows.py", "row_limit = 1\nrow_limiq = 2\n")
    repo.commit("shop")
    return repo


def missing(repo, said, **fields):
    answer = remember.remember(repo.home, repo.call, text=said, **fields)
    return [(one["name"], one["nearest"]) for one in answer["missing"] or ()]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Orders are settled nightly, in src/orders.py", ("src/orders.py", "src/order.py")),
        ("Orders are in src/orders.py, retries in src/net.py", ("src/orders.py", "src/order.py")),
        ("Payment is in web/page/checkuot.ts", ("web/page/checkuot.ts", "web/pages/checkout.ts")),
        ("Payment is in web/page/checkout.ts", ("web/page/checkout.ts", "web/pages/checkout.ts")),
        ("Orders are settled nightly, in scr/order.py", ("scr/order.py", "src/order.py")),
        ("Orders are settled in `srcs/order.py`", ("srcs/order.py", "src/order.py")),
        ("Settlement is in `src/settlement.py`", ("src/settlement.py", "")),
        ("Sums come from `Cart.totl`", ("Cart.totl", "Cart.total")),
        ("Sums come from `Cart.totl` in src/order.py", ("Cart.totl", "Cart.total")),
        ("`fetch_with_rety` is in src/net.py", ("fetch_with_rety", "fetch_with_retry")),
        ("Calls go through `fetch_with_rety`", ("fetch_with_rety", "fetch_with_retry")),
        ("Calls go through fetch_wiht_retry()", ("fetch_wiht_retry", "fetch_with_retry")),
        ("Calls go through `fetchwith_retry`", ("fetchwith_retry", "fetch_with_retry")),
        ("Sums are kept by `basket_totle`", ("basket_totle", "basket_total")),
        ("Build it with `npm run biuld`", ("biuld", "build")),
        ("Run `make test` before a push", ("test", "tests")),
        ("Run `cd web && pnpm lint && pnpm run biuld`", ("biuld", "build")),
        ("Before a commit: `make fromat`", ("fromat", "format")),
    ],
)
def test_a_name_that_is_not_there_is_reported_with_the_nearest_one(shop, said, found):
    assert missing(shop, said) == [found]


@pytest.mark.parametrize(
    "said",
    [
        "Orders are in src/order.py and Cart.total",
        "Pages are `web/**/*.ts`",
        "Pages are in web/pages/*.ts",
        "See order.py",
        "The tests are in spec/unit/order.py of the other repository",
        "Read and/or write, e.g. 3.5/4 of docs.python.org/3/library/os.html",
        "`src/old.py` was removed",
        "Use `requests.get` in src/net.py",
        "Write `Cart.total_with_tax` once taxes are known",
        "Prices are in cents",
        "Put snapshots into `build/out.json`",
        "Calls go through `fetch_with_care`",
        "Say fetch with rety in plain words",
        "Old notes call it `basket_totals`",
        "Rows are capped by `row_limis`",
        "`pay_twise`, once it is written",
        "Run `npm install`, then `npm run build`",
        "Deploy with `make ship`",
        "Install with `make formats-all`",
        "Build the manual with `make -C docs html`",
        "Run `npm link` or `yarn link` for the local package",
        "Check with `uv run lind`",
        "Run `cargo build` first",
    ],
)
def test_a_name_that_is_there_or_is_no_typing_error_is_not_reported(shop, said):
    assert missing(shop, said) == []


@pytest.mark.parametrize("name", ["lib/srder{}.py", "srder{}.py", "src/lord{}er.py"])
def test_few_of_many_missing_files_are_compared_with_the_project(shop, monkeypatch, name):
    compared = []
    nearest_file = drafts.nearest_file
    monkeypatch.setattr(
        drafts, "nearest_file", lambda *given: compared.append(given[0]) or nearest_file(*given)
    )
    files = [name.format(number) for number in range(50)]

    lost = missing(shop, f"We took over {' '.join(files)}")

    assert compared == files[:8]
    assert len(lost) <= 5


def test_a_file_that_is_not_committed_or_ignored_is_there(shop):
    shop.write("src/orders.py", "x = 1\n")
    shop.write(".gitignore", "*.gen.py\n")
    shop.write("src/order.gen.py", "x = 1\n")

    assert missing(shop, "Orders are in src/orders.py and src/order.gen.py") == []


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"files": ("src/orders.py",)}, "Did you mean src/order.py?"),
        ({"symbols": ("Cart.totl",)}, "Did you mean Cart.total?"),
        ({"symbols": ("Cart.totl",), "files": ("src/order.py",)}, "Did you mean Cart.total?"),
    ],
)
def test_what_a_caller_gives_is_refused_with_the_nearest_name(shop, fields, hint):
    error = refusal(remember.remember, shop.home, shop.call, text="Sums are exact", **fields)

    assert error.hint == hint
