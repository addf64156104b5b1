import time

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
    return define_by_lines(source.format(body).encode(), "a", "run").fingerprint


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
    then, now = (define_by_lines(text.encode(), "a", "run").fingerprint for text in (old, new))

    assert (then == now) is same


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("Enum.sum [a]", "Enum.sum([a])", True),
        ("run(a, timeout: 30000)", "run(a, timeout: 30_000)", True),
        ("a = 0xff", "a = 0xFF", True),
        ("a = 1; b = 2", "a = 1\n    b = 2", True),
        ("a.b # of c", "# of c\n    a.b", True),
        ("a ~> '#' # it's d", "# it's d\n    a ~> '#'", True),
        ("not (a in b)", "a not in b", True),
        ("not (a = b(c)) in d", "(a = b(c)) not in d", True),
        ("not (a = b(c)) in d", "(a = b(c)) in d", False),
        ('"""\na\n"""\n    b', '"""\n    a\n    """\n    b', True),
        ('"""\na\n"""\n    b', '"""\na\n"""\n    c', False),
        ("send(a, [key: 1])", "send(a, key: 1)", True),
        ("if (a > b), do: c", "if a > b, do: c", True),
        ("fn(a) -> a end", "fn a -> a end", True),
        ("a = 'b c'", 'a = ~c"b c"', True),
        ("Enum.sum [a]", "Enum.sum([b])", False),
        ("Enum.sum [a]", "Enum.sum(a)", False),
        ('"a #{b} c"', '"a #{b}"', False),
        ('"a # b"', '"a # c"', False),
        ("a not in b", "a in b", False),
        ("a(1, 2)", "a(12)", False),
        ("run(a, timeout: 30000)", "run(a, timeout: 3_000)", False),
        ("[a: 1, b: [c: 2]]", "[a: 1, b: [c: 3]]", False),
    ],
)
def test_what_mix_format_changes_is_no_change(old, new, same):
    code = "defmodule Rows do\n  def run(a) do\n    {}\n  end\nend\n"
    both = (code.replace("{}", one).encode() for one in (old, new))
    then, now = (define_by_lines(text, "rows.ex", "run").fingerprint for text in both)

    assert (then == now) is same


@pytest.mark.parametrize("row", ["a#{x}" * 200, "#" * 5_000, '"a' * 2_001, '"#{' * 999])
def test_no_line_of_elixir_takes_long(row):
    code = f"defmodule Rows do\n  def run(a) do\n    {row}\n  end\nend\n"
    began = time.process_time()

    assert define_by_lines(code.encode(), "rows.ex", "run") is not None

    assert time.process_time() - began < 1


def test_a_line_that_only_calls_is_no_definition_where_there_is_another():
    code = "run()\n\ndef run do\n  1\nend\n"

    assert locate(code, "run") == 3
    assert locate("run()\n{\n  true\n}\n", "run") == 1


def is_touched(symbol, old, new):
    then, now = (define_by_lines(text.encode(), "a.ts", symbol) for text in (old, new))
    return (then.state, then.fingerprint) != (now.state, now.fingerprint)


COMPONENT = """\
export function Cart({ items }: Props) {
  const [open, setOpen] = useState(false);

  const onClick = () => {
    setOpen(!open);
  };

  return (
    <div onClick={onClick}>
      {items.length}
    </div>
  );
}

export class Other {
  limits = {
    small: 1,
  };

  onClick() {
    return `
one
${this.limits}
`;
  }

  total() {
    return 5;
  }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "touched"),
    [
        ("items.length", "items.size", {"Cart"}),
        ("setOpen(!open)", "setOpen(true)", {"Cart", "onClick"}),
        ("useState(false)", "useState(true)", {"Cart"}),
        ("small: 1", "small: 2", {"Other"}),
        ("return 5", "return 6", {"total"}),
        ("  total() {", "  more() {}\n\n  total() {", {"Other"}),
        ("  total() {", "  total(a: number) {", {"Other", "total"}),
        ("  limits = {", "  // words\n  limits = {", set()),
    ],
)
def test_a_function_holds_what_is_inside_of_it_and_a_class_what_it_declares(old, new, touched):
    changed = COMPONENT.replace(old, new)
    assert changed != COMPONENT

    assert {
        name
        for name in ("Cart", "onClick", "Other", "total")
        if is_touched(name, COMPONENT, changed)
    } == touched


LONG = """\
public final class Retry {
    /*
What a comment says is not code.
    */
    public static synchronized <T extends Comparable<T>, E extends Exception> java.util.List<T> %s(
            java.util.List<T> values,
            java.util.Map<String, java.util.List<E>> others
    ) throws Exception {
        int total = 1;
        if (total > 0) {
            total++;
        } else {
            total--;
        }
        return total;
    }
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("total = 1", "total = 2"),
        ("total++", "total += 2"),
        ("total--", "total -= 2"),
        ("return total", "return -total"),
        ("List<T> values", "Set<T> values"),
        ("throws Exception", "throws IOException"),
    ],
)
def test_a_long_signature_is_known_to_its_end(old, new):
    source = LONG % "limit"

    assert is_touched("limit", source, source.replace(old, new))
