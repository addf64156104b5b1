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
    "assigned": ("rows.py", PYTHON, "def inner(row):\n    return row\n\n\nparse_row = inner\n"),
}
LOST = {
    "renamed": ("rows.ts", SCRIPT, f"{INNER}export {{ inner as readRow }}\n"),
    "renamed away": (
        "rows.ts",
        SCRIPT,
        "export const rest = 1\nexport { parseRow as b } from 'c'\n",
    ),
    "remark": ("rows.ts", SCRIPT, f"{INNER}// export {{ inner as parseRow }}\n"),
    "imported as": ("rows.py", PYTHON, "from rows_c import parse_row as inner\n\nREST = 1\n"),
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


def after(repo, name, before, now, said):
    """Return the verdict on what was said of a file before it was written anew."""
    repo.write(f"src/{name}", before)
    repo.commit("first")
    memory = repo.remember(said)
    repo.write(f"src/{name}", now)
    repo.commit("anew")
    return repo.verdict(memory)


def said_of(name):
    return f"`{'parse_row' if name.endswith('.py') else 'parseRow'}` in src/{name} splits at commas"


@pytest.mark.parametrize("how", PASSED_ON)
def test_a_name_that_a_file_passes_on_is_not_gone(repo, how):
    name, before, now = PASSED_ON[how]
    assert after(repo, name, before, now, said_of(name)) == "changed"


@pytest.mark.parametrize("how", LOST)
def test_a_name_that_a_file_does_not_pass_on_is_gone(repo, how):
    name, before, now = LOST[how]
    assert after(repo, name, before, now, said_of(name)) == "gone"


@pytest.mark.parametrize("how", INHERITED)
def test_a_member_that_a_class_inherits_in_its_file_is_as_it_was(repo, how):
    name, before, now = INHERITED[how]
    verdict = after(repo, name, before, now, f"`Store.save` in src/{name} appends a row")
    assert verdict in ("fresh", "touched")


@pytest.mark.parametrize("how", INHERITED)
def test_a_member_of_a_class_that_is_not_inherited_from_is_gone(repo, how):
    name, before, now = INHERITED[how]
    for base in ("(Base)", "(\n    Middle,\n)", " extends Base"):
        now = now.replace(f"class Store{base}", "class Store")
    assert after(repo, name, before, now, f"`Store.save` in src/{name} appends a row") == "gone"
