"""Where definitions are found, by which names, and what counts as a change of them."""

import os

import pytest

from yaadwatch.anchors.naming import Definition, State
from yaadwatch.anchors.python_definitions import define

SOURCE = '''"""Words."""

import os

LIMIT = 3
A, (B, *C) = D = 1, (2, 3)
width: int
type Pair[T] = tuple[T, T]

if os.name == "posix":
    def platform():
        return 1
else:
    def platform():
        return 2

try:
    import fast
except ImportError as error:
    fast = None
finally:
    done = True

with open("x") as stream:
    inside_with = 1

for index in range(3):
    inside_for = 1

match LIMIT:
    case 3:
        inside_match = 1


def retry(attempts):
    total = attempts
    def inner():
        return total
    return inner


class Retry(Base, metaclass=Meta):
    """Words."""

    limit = 3
    wait: float = 0.5

    @property
    def size(self):
        return self.limit

    @size.setter
    def size(self, value):
        self.limit = value

    class Inner:
        def run(self):
            pass

    async def run(self):
        await other()


@decorated
def last(): pass
'''


def found(symbol, source=SOURCE):
    definition = define(source.encode(), symbol)
    assert definition.state is State.FOUND, (symbol, definition)
    return definition


def same(one, other, symbol="f"):
    return found(symbol, one).fingerprint == found(symbol, other).fingerprint


@pytest.mark.parametrize(
    ("symbol", "line"),
    [
        *(("LIMIT", 5), ("A", 6), ("B", 6), ("C", 6), ("D", 6), ("width", 7), ("Pair", 8)),
        *(("platform", 11), ("fast", 20), ("done", 22), ("inside_with", 25), ("inside_for", 28)),
        *(("inside_match", 32), ("retry", 35), ("inner", 37), ("retry.inner", 37)),
        *(
            ("Retry", 42),
            ("Retry.limit", 45),
            ("limit", 45),
            ("Retry::wait", 46),
            ("Retry#run", 60),
        ),
        *(("Inner", 56), ("Retry.Inner.run", 57), ("Inner.run", 57), ("last", 64)),
        *(("package.module.Retry.run", 60), ("module.retry", 35), ("Retry.size", 48)),
    ],
)
def test_definitions_are_found_by_their_names(symbol, line):
    assert found(symbol).line == line


@pytest.mark.parametrize(
    "symbol",
    [
        *("total", "attempts", "os", "Base", "index", "stream", "error", "decorated", "self"),
        *("Retry.retry", "Retry.gone", "module.Retry.gone", "retry.Retry", "Inner.Retry"),
        *("", ".", "Retry.", ".Retry", "retr", "Retry.Inner.run.x", "return", "def"),
    ],
)
def test_what_is_not_defined_is_missing(symbol):
    assert define(SOURCE.encode(), symbol) == Definition(state=State.MISSING)


def test_a_method_that_is_gone_is_not_taken_for_a_function_of_that_name():
    source = "class Retry:\n    pass\n\n\ndef limit():\n    pass\n"

    assert define(source.encode(), "Retry.limit").state is State.MISSING
    assert define(source.encode(), "module.Retry.limit").state is State.MISSING
    assert define(source.encode(), "module.limit").state is State.FOUND


def test_a_function_of_the_module_is_meant_before_methods_of_that_name():
    source = "class A:\n    def run(self):\n        1\n\n\ndef run():\n    2\n"

    assert found("run", source).line == 6
    assert same(source, source.replace("        1", "        3"), "run")
    assert not same(source, source.replace("    2", "    4"), "run")


def test_methods_of_one_name_count_together_where_no_class_is_named():
    source = (
        "class A:\n    def run(self):\n        1\n\n\nclass B:\n    def run(self):\n        2\n"
    )
    other = source.replace("2", "3")

    assert found("run", source).line == 2
    assert not same(source, other, "run")
    assert same(source, other, "A.run")
    assert not same(source, other, "B.run")


def test_all_branches_of_a_definition_count():
    assert not same(SOURCE, SOURCE.replace("return 2", "return 3"), "platform")


def test_a_getter_and_its_setter_count_together():
    assert not same(SOURCE, SOURCE.replace("self.limit = value", "pass"), "Retry.size")


def test_a_name_defined_more_than_three_times_is_ambiguous():
    source = "def f(): 1\n" * 3

    assert define(source.encode(), "f").state is State.FOUND
    assert define((source + source).encode(), "f").state is State.AMBIGUOUS


@pytest.mark.parametrize(
    "changed",
    [
        SOURCE.replace("return self.limit", "return 7"),
        SOURCE.replace("await other()", "pass"),
        SOURCE.replace('"""Words."""', '"""Other words."""'),
        SOURCE.replace("    limit = 3\n", "    limit = 0x3  # three\n"),
        SOURCE.replace("(Base, metaclass=Meta)", "(\n    Base,\n    metaclass=Meta,\n)"),
        SOURCE.replace("        def run(self):\n            pass", "        x = 1"),
        SOURCE.replace("    async def run(self):", "    def run(self, times):"),
    ],
)
def test_the_outline_of_a_class_ignores(changed):
    assert changed != SOURCE
    assert same(SOURCE, changed, "Retry")


@pytest.mark.parametrize(
    "changed",
    [
        SOURCE.replace("(Base, metaclass=Meta)", "(Other, metaclass=Meta)"),
        SOURCE.replace("(Base, metaclass=Meta)", "(Base)"),
        SOURCE.replace("    limit = 3\n", "    limit = 4\n"),
        SOURCE.replace("wait: float", "wait: int"),
        SOURCE.replace("    async def run", "    async def walk"),
        SOURCE.replace("    class Inner:", "    class Other:"),
        SOURCE.replace("class Retry(", "@final\nclass Retry("),
        SOURCE.replace("class Retry(", "class Retry[T]("),
        SOURCE.replace("    limit = 3\n", "    if DEBUG:\n        limit = 3\n"),
    ],
)
def test_the_outline_of_a_class_holds(changed):
    assert changed != SOURCE
    assert not same(SOURCE, changed, "Retry")


def test_members_in_another_order_are_the_same_class():
    one = "class f:\n    x = 1\n    def a(self): 1\n    def b(self): 2\n"
    other = "class f:\n    def b(self): 2\n    x = 1\n    def a(self): 1\n"

    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f():\n    return 1", "def f():\n\n  # why\n\n  return (1)  # one\n"),
        ("def f():\n    '''doc'''\n    a", "def f():\n    # first\n    '''other'''\n    a"),
        ("def f():\n    ('doc')\n    a", "def f(): a"),
        ("def f():\n    a\n    '''words'''", "def f(): a; pass"),
        ("def f(a, b): pass", "def f(\n    a,\n    b,\n): pass"),
        ("def f(): x = 'a'", 'def f(): x = "a"'),
        ("def f(): x = 'it\\'s'", 'def f(): x = "it\'s"'),
        ("def f(): x = '''a\nb'''", "def f(): x = 'a\\nb'"),
        ("def f(): x = 'a' 'b'", "def f(): x = ('a'\n    'b')"),
        ("def f(): x = 'ab'", "def f(): x = 'a' u'b'"),
        ("def f(): x = r'\\d'", "def f(): x = '\\\\d'"),
        ("def f(): x = '\\d'", "def f(): x = '\\\\d'"),
        ("def f(): x = '\\x41\\u0041\\101\\N{DASH}'", "def f(): x = 'AAA\\N{DASH}'"),
        ("def f(): x = rb'a'", "def f(): x = BR'a'"),
        ("def f(): x = b'\\xff'", "def f(): x = b'\\377'"),
        ("def f(): x = f'{a}b'", 'def f(): x = f"{a}" "b"'),
        ("def f(): x = f'{ a }'", "def f(): x = f'{(a)}'"),
        ("def f(): x = f'{a = }'", "def f(): x = f'a = {a!r}'"),
        ("def f(): x = f'{{}}'", "def f(): x = f'{{' f'}}'"),
        ("def f(): x = 0xFF + 1_000 + 1E3 + 2J", "def f(): x = 255 + 1000 + 1e3 + 2j"),
        ("def f(): x[1, 2]", "def f(): x[(1, 2)]"),
        ("def f(): x[1:2:]", "def f(): x[1:2]"),
        ("def f(): return 1, 2", "def f(): return (1, 2)"),
        ("def f(): a, b = b, a", "def f(): (a, b) = (b, a)"),
        ("def f(): (a) = b", "def f(): a = b"),
        ("def f(): g(x for x in y)", "def f(): g((x for x in y))"),
        ("def f(): g(a, b=1, *c)", "def f(): g(a, *c, b=1)"),
        ("def f():\n if a: b\n elif c: d", "def f():\n if a: b\n else:\n  if c: d"),
        ("def f():\n if a: b\n else: pass", "def f():\n if a: b"),
        ("def f(x: a[int] | b | c): 1", "def f(x: (a[int] | b) | c): 1"),
        ("def f(x: (list[int, str])): 1", "def f(x: list[int, str]): 1"),
        ("def f():\n with (a as b, c): 1", "def f():\n with a as b, c: 1"),
        ("def f():\n  match a, b:\n    case [1, 2]: 1", "def f():\n match (a, b):\n  case 1, 2: 1"),
        ("def f(): a not in b", "def f(): a not \\\n    in b"),
        ("class f: x = 1", "class f(): x = 1"),
        ("def f():\n    return 1\n", "def f():\r\n    return 1\r\n"),
        ("def f():\n    return 1\n", "\ufeffdef f():\r\treturn 1\r"),
        ("def f(): ﬁ = 1", "def f(): fi = 1"),
    ],
)
def test_a_formatter_changes_nothing(one, other):
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(a, b): 1", "def f(b, a): 1"),
        ("def f(a): 1", "def f(a=1): 1"),
        ("def f(a, b): 1", "def f(a, *, b): 1"),
        ("def f(a, b): 1", "def f(a, /, b): 1"),
        ("def f(a): 1", "def f(*a): 1"),
        ("def f(a): 1", "def f(a: int): 1"),
        ("def f(): 1", "def f() -> int: 1"),
        ("def f(): 1", "async def f(): 1"),
        ("def f(): 1", "@a\ndef f(): 1"),
        ("@a\n@b\ndef f(): 1", "@b\n@a\ndef f(): 1"),
        ("@a\ndef f(): 1", "@a()\ndef f(): 1"),
        ("def f(): (a + b) * c", "def f(): a + b * c"),
        ("def f(): a < b < c", "def f(): (a < b) < c"),
        ("def f(): a and b or c", "def f(): a and (b or c)"),
        ("def f(): a is not b", "def f(): a is (not b)"),
        ("def f(): x[1,]", "def f(): x[1]"),
        ("def f(): x[1:]", "def f(): x[:1]"),
        ("def f(): x[1:2]", "def f(): x[1::2]"),
        ("def f(): x = (1,)", "def f(): x = (1)"),
        ("def f(): x = (1, 2)", "def f(): x = [1, 2]"),
        ("def f(): x = {1, 2}", "def f(): x = {1: 2}"),
        ("def f(): [a] = b", "def f(): (a,) = b"),
        ("def f(): x = 'a b'", "def f(): x = 'ab'"),
        ("def f(): x = 'a'", "def f(): x = b'a'"),
        ("def f(): x = 'a'", "def f(): x = f'a'"),
        ("def f(): x = '\\d'", "def f(): x = '\\\\\\\\d'"),
        ("def f(): x = r'\\n'", "def f(): x = '\\n'"),
        ("def f(): x = r'\\\\'", "def f(): x = r''"),
        ("def f(): x = f'{a}'", "def f(): x = f'{a!r}'"),
        ("def f(): x = f'{a:>8}'", "def f(): x = f'{a:>9}'"),
        ("def f(): x = f'{a} b'", "def f(): x = f'{a}b'"),
        ("def f(): x = f'{a=}'", "def f(): x = f'{a}'"),
        ("def f(): x = f'{{a}}'", "def f(): x = f'{a}'"),
        ("def f(): f'{g()}'", "def f(): pass"),
        ("def f(): x = 1", "def f(): x = 1.0"),
        ("def f(): x = 1", "def f(): x: int = 1"),
        ("def f(): x = 1", "def f(): x += 1"),
        ("def f(): yield 1", "def f(): yield from 1"),
        ("def f(): [x for x in y]", "def f(): (x for x in y)"),
        ("def f(): g(*a)", "def f(): g(**a)"),
        ("def f(): g(a=1)", "def f(): g(a == 1)"),
        ("def f(): lambda a: b", "def f(): lambda: b"),
        ("def f(): (x := 1)", "def f(): x = 1"),
        ("def f():\n    if a: b\n    c", "def f():\n    if a:\n        b\n        c"),
        ("def f():\n    if a: b\n    if c: d", "def f():\n    if a: b\n    elif c: d"),
        ("def f():\n try: a\n except: pass", "def f():\n try: a\n finally: pass"),
        ("def f(): from . import a", "def f(): from .. import a"),
        ("def f(): import a as b", "def f(): import a"),
        ("def f():\n class A: 1", "def f():\n class B: 1"),
        ("def f():\n def g(): 1", "def f():\n def g(): 2"),
        ("f = 1", "f: int = 1"),
        ("f = lambda: 1", "f = lambda: 2"),
    ],
)
def test_a_change_of_meaning_is_seen(one, other):
    assert not same(one, other)


def test_a_name_that_became_another_kind_of_thing_has_changed():
    kinds = ["def f(): 1", "class f: 1", "f = 1", "async def f(): 1", "f: int", "type f = int"]

    assert len({found("f", source).fingerprint for source in kinds}) == len(kinds)


@pytest.mark.parametrize(
    "around",
    [
        "{}\n\n\nx = (\n",
        "x = = 1\n\n{}\n",
        "{}\n\n\ndef g(:\n    pass\n",
        "class A:\n    def g(:\n        pass\n\n{}\n",
        "<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n\n{}\n",
        "{}\n\n\nprint 'two'\n",
    ],
)
def test_an_error_elsewhere_leaves_a_good_definition_known(around):
    source = "def f(a):\n    return a + 1\n"

    assert same(around.format(source), source)


@pytest.mark.parametrize(
    "source",
    [
        "def f(:\n    pass\n",
        "def f():\n    return (\n",
        "def f():\n    x = = 1\n",
        "def f():\n<<<<<<< ours\n    1\n=======\n    2\n>>>>>>> theirs\n",
        "<<<<<<< ours\ndef f():\n    1\n=======\ndef f():\n    2\n>>>>>>> theirs\n",
        "x = 1\n<<<<<<< ours\n=======\ndef f():\n    2\n\n>>>>>>> theirs\n",
        'x = """\ndef f():\n    pass\n',
        "class A\n    def f(self): pass\n" + "x = (",
    ],
)
def test_a_definition_that_cannot_be_read_is_unknown(source):
    assert define(source.encode(), "f").state is State.BROKEN


def test_nobody_can_say_that_a_definition_is_missing_from_a_broken_file():
    assert define(b"def g(:\n", "f").state is State.BROKEN
    assert define(b"def g(): pass\n", "f").state is State.MISSING


def test_a_method_that_lost_its_class_is_unknown():
    """The parser takes a line of the wrong depth for the end of the class; Python does not."""
    source = "class A:\n    def f(self):\n        pass\n  x = 1\n    def g(self):\n        pass\n"

    assert define(source.encode(), "A.g").state is State.BROKEN


LARGE = 256 * 1024


@pytest.mark.parametrize(
    "piece",
    [
        *(b"(", b"[", b"'", b"def ", b"[{(", b'f"{', b"\0", b"\n", b"\\", b"@", b":", b"a ", b"a="),
        *(b"x\n", b"\xff", b"class a:\n", b"def f(): pass\n", b"if f: f\n", b"lambda:"),
    ],
)
def test_many_of_anything_have_an_answer(piece):
    found_here = define(piece * (LARGE // len(piece)), "f")

    assert found_here.state in State


def test_two_mebibytes_of_noise_have_an_answer():
    assert define(os.urandom(8 * LARGE), "f").state in (State.BROKEN, State.MISSING)


@pytest.mark.parametrize(
    "value",
    [
        "(" * 20_000 + "1" + ")" * 20_000,
        "x[" * 20_000 + "1" + "]" * 20_000,
        "1 + " * 20_000 + "1",
        "x" + ".y" * 20_000,
        "not " * 20_000 + "x",
        "'a' " * 20_000,
        "lambda: " * 20_000 + "1",
    ],
    ids=lambda value: value[:8],
)
def test_deep_and_long_expressions_are_read(value):
    definition = found("f", f"def f():\n    return {value}\n")

    assert definition.line == 1


def test_a_table_of_data_is_compared_as_text():
    table = ",\n    ".join(f"'key {number}': {number}" for number in range(5000))
    one, other = f"f = {{\n    {table}\n}}\n", f"f = {{{table.replace('    ', ' ')}}}"

    assert same(one, other)
    assert not same(one, one.replace("4999}", "0}").replace(": 4999", ": 0"))
