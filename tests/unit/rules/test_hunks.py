import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.anchors.definitions import defines, locate, touches
from yaadwatch.model.anchors import Hunk

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


def hunk(header="", removed=(), added=()):
    return Hunk(header=header, removed=tuple(removed), added=tuple(added))


def test_a_hunk_belongs_to_the_definition_its_header_names():
    change = hunk("func Run(a int) int {", ["\treturn 1"], ["\treturn 2"])

    assert touches("Run", [change])
    assert not touches("Stop", [change])


def test_a_hunk_that_changes_the_defining_line_belongs_to_it():
    change = hunk("func Stop() {", ["func Run(a int) int {"], ["func Run(a, b int) int {"])

    assert touches("Run", [change])


@given(st.lists(st.sampled_from(["a", "b(", ") {", "return 1;"]), min_size=1, max_size=6))
def test_moving_white_space_about_is_no_change(words):
    change = hunk("func Run() {", [" ".join(words)], ["\t".join(words)])

    assert not touches("Run", [change])


LUA = "local function run(a)"
SCALA = "  def run(a: Int): Int = {"


@pytest.mark.parametrize(
    ("header", "removed", "added"),
    [
        (LUA, ["  return send(", "    a,", "    2", "  )"], ["  return send(a, 2)"]),
        (LUA, ["  local t = { a, b }"], ["  local t = {", "    a, b", "  }"]),
        (LUA, ["  if a then b() end"], ["  if a then", "    b()", "  end"]),
        (SCALA, ["    a.map(x =>", "      x + 1", "    )"], ["    a.map(x => x + 1)"]),
    ],
)
def test_joining_and_breaking_lines_is_no_change(header, removed, added):
    assert not touches("run", [hunk(header, removed, added)])
    assert not touches("run", [hunk(header, added, removed)])


@pytest.mark.parametrize(
    ("header", "removed", "added"),
    [
        (LUA, ["  return send(", "    a,", "    2", "  )"], ["  return send(a, 3)"]),
        (LUA, ["  return send(", "    a", "  ) + b"], ["  return send(a + b)"]),
        (LUA, ["  if a then b() end"], ["  if a then", "    b()", "    c()", "  end"]),
        (SCALA, ["    a.map(x =>", "      x + 1", "    )"], ["    a.map(x => x - 1)"]),
    ],
)
def test_a_change_under_joined_lines_is_one(header, removed, added):
    assert touches("run", [hunk(header, removed, added)])
