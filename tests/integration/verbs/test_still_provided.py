"""A file that passes a name on, or a class that inherits it, has lost nothing by that name."""

import pytest

SCRIPT = "export function parseRow(row) {\n  return row.split(',')\n}\n\nexport const rest = 1\n"
INNER = "function inner(row) {\n  return row.split(';')\n}\n\nexport const rest = 1\n"
PYTHON = "def parse_row(row):\n    return row.split(',')\n\n\nREST = 1\n"
PASSED_ON = {
    "renamed": ("rows.ts", SCRIPT, f"{INNER}export {{ inner as parseRow }}\n"),
    "from elsewhere": (
        "rows.ts",
        SCRIPT,
        "export const rest = 1\nexport { parseRow } from 'rows'\n",
    ),
    "among others": (
        "rows.js",
        SCRIPT,
        "export const rest = 1\nexport {\n  other, // old\n  inner as parseRow,\n} from 'rows'\n",
    ),
    "default": (
        "rows.ts",
        SCRIPT,
        "import parseRow from 'rows'\nexport const rest = 1\nexport default parseRow\n",
    ),
    "import": (
        "rows.py",
        PYTHON,
        "from rows_c import (\n    other,\n    parse_row,\n)\n\nREST = 1\n",
    ),
    "import as": ("rows.py", PYTHON, "from rows_c import inner as parse_row  # fast\n\nREST = 1\n"),
    "import module as": ("rows.py", PYTHON, "import rows_c.fast as parse_row\n\nREST = 1\n"),
    "import in try": (
        "rows.py",
        PYTHON,
        "try:\n    from rows_c import parse_row\nexcept ImportError:\n    REST = 1\n",
    ),
    "import in except": (
        "rows.py",
        PYTHON,
        "try:\n    import fast\nexcept ImportError:\n    import slow as parse_row\n\nREST = 1\n",
    ),
    "import for types": (
        "rows.py",
        PYTHON,
        "if TYPE_CHECKING:\n    from rows_c import (\n        rest,\n        parse_row,\n    )\n",
    ),
    "namespace": (
        "rows.ts",
        SCRIPT,
        "export * as parseRow from 'rows'\nexport const rest = 1\n",
    ),
    "assigned": ("rows.py", PYTHON, "def inner(row):\n    return row\n\n\nparse_row = inner\n"),
}
LOST = {
    "block comment": ("rows.ts", SCRIPT, f"{INNER}/*\nexport {{ inner as parseRow }}\n*/\n"),
    "comment with stars": (
        "rows.js",
        SCRIPT,
        f"{INNER}/**\n * as it was:\nexport {{ inner as parseRow }}\n * * */\n",
    ),
    "text of several lines": (
        "rows.ts",
        SCRIPT,
        f"{INNER}export const how = `\nexport {{ inner as parseRow }}\n`\n",
    ),
    "docstring": (
        "rows.py",
        PYTHON,
        '"""How it was:\nfrom rows_c import parse_row\n"""\nREST = 1\n',
    ),
    "import of a function": (
        "rows.py",
        PYTHON,
        "def read(row):\n    from rows_c import parse_row\n    return parse_row(row)\n",
    ),
    "import of a package": ("rows.py", PYTHON, "import rows_c.parse_row\n\nREST = 1\n"),
    "renamed": ("rows.ts", SCRIPT, f"{INNER}export {{ inner as readRow }}\n"),
    "renamed away": (
        "rows.ts",
        SCRIPT,
        "export const rest = 1\nexport { parseRow as b } from 'c'\n",
    ),
    "remark": ("rows.ts", SCRIPT, f"{INNER}// export {{ inner as parseRow }}\n"),
    "imported as": ("rows.py", PYTHON, "from rows_c import parse_row as inner\n\nREST = 1\n"),
}
ALL_TS, ALL_PY = "export * from './{}'\nexport const rest = 1\n", "from {} import *\n\nREST = 1\n"
OTHER, OTHER_PY = (text.replace("','", "'|'") for text in (SCRIPT, PYTHON))
ALL_PASSED_ON = {
    "script": ("src/rows.ts", ALL_TS.format("lib"), {"src/lib.ts": OTHER}),
    "with its suffix": ("src/rows.ts", ALL_TS.format("lib.js"), {"src/lib.ts": OTHER}),
    "folder": ("src/rows.js", ALL_TS.format("lib"), {"src/lib/index.js": OTHER}),
    "two steps": (
        "src/rows.ts",
        ALL_TS.format("lib"),
        {"src/lib.ts": "export * from '../c/all'\n", "c/all.tsx": OTHER},
    ),
    "renamed on the way": (
        "src/rows.ts",
        ALL_TS.format("lib"),
        {"src/lib.ts": f"{INNER}export {{ inner as parseRow }}\n"},
    ),
    "in a circle": (
        "src/rows.ts",
        ALL_TS.format("lib"),
        {"src/lib.ts": f"export * from './rows'\n{OTHER}"},
    ),
    "python": ("src/rows.py", ALL_PY.format(".lib"), {"src/lib.py": OTHER_PY}),
    "python package": (
        "src/rows.py",
        ALL_PY.format("shop.lib"),
        {"shop/lib/__init__.py": OTHER_PY},
    ),
    "python above": ("src/shop/rows.py", ALL_PY.format("..lib"), {"src/lib.py": OTHER_PY}),
}
SAVE_PY = "    def save(self, row):\n        self.rows.append(row)\n"
SAVE_TS = "  save(row: string) {\n    this.rows.push(row)\n  }\n"
SAVE_JAVA = "  void save(String row) {\n    rows.add(row);\n  }\n"
STORE_OF_MIDDLE = "class Store(\n    Middle,\n):\n    size = 1\n"
INHERITED = {
    "python": (
        "store.py",
        f"class Store:\n    size = 1\n\n{SAVE_PY}",
        f"class Base:\n{SAVE_PY}\n\nclass Store(Base):\n    size = 1\n",
    ),
    "two steps": (
        "store.py",
        f"class Store:\n    size = 1\n\n{SAVE_PY}",
        f"class Base:\n{SAVE_PY}\n\nclass Middle(Base): ...\n\n\n{STORE_OF_MIDDLE}",
    ),
    "typescript": (
        "store.ts",
        f"export class Store {{\n  size = 1\n{SAVE_TS}}}\n",
        f"class Base {{\n{SAVE_TS}}}\n\nexport class Store extends Base {{\n  size = 1\n}}\n",
    ),
    "java": (
        "Store.java",
        f"public class Store {{\n  int size = 1;\n{SAVE_JAVA}}}\n",
        f"class Base {{\n{SAVE_JAVA}}}\n\nclass Store extends Base {{\n  int size = 1;\n}}\n",
    ),
}


def after(repo, path, before, now, said, others=()):
    """Return the verdict on what was said of a file before it was written anew, beside others."""
    for other, text in dict(others).items():
        repo.write(other, text)
    repo.commit("first", {path: before})
    memory = repo.remember(said)
    repo.commit("anew", {path: now})
    return repo.verdict(memory)


def said_of(path):
    return f"`{'parse_row' if path.endswith('.py') else 'parseRow'}` in {path} splits at commas"


@pytest.mark.parametrize("how", PASSED_ON)
def test_a_name_that_a_file_passes_on_is_not_gone(repo, how):
    name, before, now = PASSED_ON[how]
    assert after(repo, f"src/{name}", before, now, said_of(f"src/{name}")) == "changed"


@pytest.mark.parametrize("how", ALL_PASSED_ON)
def test_a_name_of_a_file_that_another_one_passes_on_whole_is_not_gone(repo, how):
    path, now, others = ALL_PASSED_ON[how]
    before = PYTHON if path.endswith(".py") else SCRIPT
    assert after(repo, path, before, now, said_of(path), others) == "changed"


@pytest.mark.parametrize("how", ALL_PASSED_ON)
def test_a_name_that_the_file_passed_on_whole_lacks_is_gone(repo, how):
    path, now, others = ALL_PASSED_ON[how]
    before = PYTHON if path.endswith(".py") else SCRIPT
    others = {
        other: text.replace("parseRow", "readRow").replace("parse_row", "read_row")
        for other, text in others.items()
    }
    assert after(repo, path, before, now, said_of(path), others) == "gone"


@pytest.mark.parametrize("how", LOST)
def test_a_name_that_a_file_does_not_pass_on_is_gone(repo, how):
    name, before, now = LOST[how]
    assert after(repo, f"src/{name}", before, now, said_of(f"src/{name}")) == "gone"


STAR_TS, STAR_PY = "export * from 'rows'\n", "from rows_c import *\n"


@pytest.mark.parametrize(
    ("path", "before", "now"),
    [
        ("rows.ts", SCRIPT, f"{INNER}{STAR_TS}"),
        ("rows.js", SCRIPT, f"export * from '@acme/rows'\n{STAR_TS}"),
        ("rows.py", PYTHON, f"{STAR_PY}\nREST = 1\n"),
    ],
)
def test_a_name_that_another_package_may_have_is_unknown(repo, path, before, now):
    path = f"src/{path}"
    assert after(repo, path, before, now, said_of(path)) == "unknown"
    assert "not in this repository and may define it" in repo.stale()["unknown"][0]["reason"]


@pytest.mark.parametrize(
    ("path", "before", "now"),
    [
        ("rows.ts", f"{SCRIPT}{STAR_TS}", f"{INNER}{STAR_TS}"),
        ("rows.ts", SCRIPT, f"{INNER}export * as rows from 'rows'\n"),
        ("rows.py", f"{STAR_PY}{PYTHON}", f"{STAR_PY}REST = 1\n"),
    ],
)
def test_a_name_that_goes_beside_an_old_package_is_gone(repo, path, before, now):
    path = f"src/{path}"
    assert after(repo, path, before, now, said_of(path)) == "gone"


@pytest.mark.parametrize("how", INHERITED)
def test_a_member_that_a_class_inherits_in_its_file_is_as_it_was(repo, how):
    name, before, now = INHERITED[how]
    verdict = after(repo, f"src/{name}", before, now, f"`Store.save` in src/{name} appends a row")
    assert verdict in ("fresh", "touched")


@pytest.mark.parametrize("how", INHERITED)
def test_a_member_of_a_class_that_is_not_inherited_from_is_gone(repo, how):
    name, before, now = INHERITED[how]
    for base in ("(Base)", "(\n    Middle,\n)", " extends Base"):
        now = now.replace(f"class Store{base}", "class Store")
    assert (
        after(repo, f"src/{name}", before, now, f"`Store.save` in src/{name} appends a row")
        == "gone"
    )


@pytest.mark.parametrize(
    "passed_on",
    [
        "export { parseRow } from './inner/parse'\nexport const rest = 1\n",
        "export * from './inner/parse'\nexport const rest = 1\n",
        "import { parseRow } from './inner/parse'\nexport { parseRow }\nexport const rest = 1\n",
    ],
)
def test_a_name_whose_definition_moved_behind_its_file_is_not_flagged(repo, passed_on):
    repo.commit("rows", {"src/rows.ts": SCRIPT})
    memory = repo.remember("Rows are read by `parseRow` of src/rows.ts")
    repo.commit("inner", {"src/inner/parse.ts": SCRIPT, "src/rows.ts": passed_on})

    flag = repo.flag_of(memory)

    assert flag is None or not flag["level"]
