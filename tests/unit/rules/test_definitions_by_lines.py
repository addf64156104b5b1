import pytest

from yaadwatch.anchors.definitions import define_by_lines, defines, locate

DEFINING = [
    ("func Run(a int) int {", "Run"),
    ("func (s *Server) Run(a int) error {", "Run"),
    ("pub fn helper<T>(x: T) -> T {", "helper"),
    ("export const load = async (x) => {", "load"),
    ("export default function load(x) {", "load"),
    ("export interface Retry {", "Retry"),
    ("class Client extends Base {", "Client"),
    ("    public int sum(int a) {", "sum"),
    ("static int add(int a, int b) {", "add"),
    ("fun find(id: Int): User {", "find"),
    ("  def perform", "perform"),
    ("deploy() {", "deploy"),
    ("struct Point {", "Point"),
]


@pytest.mark.parametrize(("line", "symbol"), DEFINING)
def test_a_defining_line_is_known(line, symbol):
    assert defines(line, symbol)


@pytest.mark.parametrize(
    ("line", "symbol"),
    [
        ("class Client extends Base {", "Base"),
        ("    return add(1, 2);", "add"),
        ("  run(load(x));", "load"),
        ("// deploy is called at night", "deploy"),
    ],
)
def test_a_line_that_only_uses_a_name_is_not(line, symbol):
    assert not defines(line, symbol)


@pytest.mark.parametrize(("line", "symbol"), DEFINING)
def test_a_definition_is_located(line, symbol):
    assert locate(f"// {symbol} is used above\n\n{line}\n", symbol) == 3


LUA = "local function run(a)\n{}\nend\n"
SCALA = "  def run(a: Int): Int = {{\n{}\n  }}\n"


def fingerprint(source, body):
    return define_by_lines(source.format(body).encode(), "run").fingerprint


@pytest.mark.parametrize(
    ("source", "old", "new", "same"),
    [
        (LUA, "  return send(\n    a,\n    2\n  )", "  return send(a, 2)", True),
        (LUA, "  local t = { a, b }", "  local t = {\n    a, b\n  }", True),
        (LUA, "  if a then b() end", "  if a then\n    b()\n  end", True),
        (LUA, "  -- twice\n  b()", "  b()", True),
        (LUA, "  local t = {a, b}", "  local t = {\n    a,\n    b,\n  }", True),
        (LUA, "  send('a', '')", '  send("a", "")', True),
        (SCALA, "    send(a, List(b))", "    send(\n      a,\n      List(b),\n    )", True),
        (LUA, "  local t = {a, b}", "  local t = {a, b, c}", False),
        (LUA, "  send('$a')", '  send("$a")', False),
        (LUA, "  send('\\n')", '  send("\\n")', False),
        (SCALA, "    a.map(x =>\n      x + 1\n    )", "    a.map(x => x + 1)", True),
        (LUA, "  return send(\n    a,\n    2\n  )", "  return send(a, 3)", False),
        (LUA, "  return send(\n    a\n  ) + b", "  return send(a + b)", False),
        (LUA, "  if a then b() end", "  if a then\n    b()\n    c()\n  end", False),
        (SCALA, "    a.map(x =>\n      x + 1\n    )", "    a.map(x => x - 1)", False),
    ],
)
def test_layout_is_no_change_and_another_word_is_one(source, old, new, same):
    assert (fingerprint(source, old) == fingerprint(source, new)) is same


ELIXIR = "defmodule Rows do\n  def run(:a) do\n    1\n  end\nend\n"
ZIG = "const Rows = struct {\n    fn run(a: u8)\n    u8 {\n        return a;\n    }\n};\n"
HASKELL = "module Rows where\n\ndef run a = 1\n"


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        # What closes the code around it is none of it.
        (ELIXIR, ELIXIR.replace("  end\nend", "  end\n\n  def stop, do: 1\nend"), True),
        (ELIXIR, ELIXIR.replace("  end\nend", "  end\nend\n\ndefmodule B do\nend"), True),
        (ZIG, ZIG.replace("    }\n};", "    }\n\n    fn stop() void {}\n};"), True),
        # Each clause of its name is.
        (
            ELIXIR,
            ELIXIR.replace("  end\nend", "  end\n\n  def run(:b) do\n    2\n  end\nend"),
            False,
        ),
        (ELIXIR, ELIXIR.replace("  end\nend", "  end\n\n  def runs do\n    2\n  end\nend"), True),
        (HASKELL, f"{HASKELL}def run b = 2\n", False),
    ],
)
def test_all_clauses_of_a_definition_belong_to_it_and_nothing_around_it(old, new, same):
    then, now = (define_by_lines(text.encode(), "run").fingerprint for text in (old, new))

    assert (then == now) is same
