"""Laws of fingerprints: what a formatter does leaves no trace, and what changes a meaning does."""

import ast
import random
from collections import Counter
from itertools import product

import hypothesis.strategies as st
from hypothesis import assume, example, given
from python_sources import dump, edit, function, indented, rewrite

from yaadwatch.anchors.naming import State, may_define
from yaadwatch.anchors.parsing import grammar, parse
from yaadwatch.anchors.python_definitions import define

sizes = st.integers(min_value=0, max_value=12)
seeds = st.integers(min_value=0, max_value=2**32)


def fingerprint(source, symbol="target"):
    """Return it; a source that the parser cannot read (Python can) is not counted."""
    definition = define(source.encode(), symbol)
    assume(definition.state is not State.BROKEN)
    assert definition.state is State.FOUND, source
    return definition.fingerprint


def test_hardly_any_valid_source_is_unreadable():
    states = Counter(
        define(function(random.Random(seed), seed % 12).encode(), "target").state
        for seed in range(1000)
    )

    assert states[State.FOUND] >= 995, states


@given(seeds, sizes)
def test_writing_a_function_differently_changes_nothing(seed, size):
    chance = random.Random(seed)
    source = function(chance, size)
    other = rewrite(chance, source)

    assert fingerprint(other) == fingerprint(source), f"{source}\n{other}"


@given(seeds, sizes)
def test_a_change_is_seen_exactly_when_python_sees_one(seed, size):
    chance = random.Random(seed)
    source = function(chance, size)
    other = edit(chance, source)

    seen = fingerprint(other) != fingerprint(source)
    assert seen == (dump(other) != dump(source)), f"{source}\n{other}"


@given(seeds, st.integers(min_value=0, max_value=2))
def test_two_functions_are_the_same_exactly_when_python_reads_the_same(seed, size):
    chance = random.Random(seed)
    one, other = function(chance, size), function(chance, size)

    same = fingerprint(one) == fingerprint(other)
    assert same == (dump(one) == dump(other)), f"{one}\n{other}"


def test_operators_bind_as_python_has_them():
    shapes = ("a{}b{}c{}d", "(a{}b){}c{}d", "a{}(b{}c){}d", "a{}b{}(c{}d)", "a{}(b{}(c{}d))")
    written = [shape.format(*signs) for shape in shapes for signs in product("&^|+", repeat=3)]
    meant = {text: ast.dump(ast.parse(text)) for text in written}
    read = {text: define(f"target = {text}\n".encode(), "target") for text in written}
    found = {text: definition.fingerprint for text, definition in read.items()}

    assert {definition.state for definition in read.values()} == {State.FOUND}
    assert len(set(meant.values())) == len(set(found.values()))
    assert len(set(meant.values())) == len({(meant[text], found[text]) for text in written})


@given(seeds, sizes)
def test_what_stands_around_a_definition_does_not_count(seed, size):
    chance = random.Random(seed)
    source = function(chance, size)
    around = function(chance, size).replace("target", "neighbour")

    assert fingerprint(f"{around}\n{source}\n{around}") == fingerprint(source)
    assert fingerprint(f"if a:\n{indented(source)}\n{around}") == fingerprint(source)


@given(seeds, sizes)
def test_methods_are_named_by_their_class_and_its_outline_ignores_their_bodies(seed, size):
    source = function(random.Random(seed), size)
    whole = f"class Outer:\n    x = 1\n{indented(source)}"
    other = "class Outer:\n    def target(): 0\n    x = 1\n"

    assert fingerprint(whole, "Outer.target") == fingerprint(source)
    assert fingerprint(whole, "Outer") == fingerprint(other, "Outer")


BROKEN = ["def g(:\n    1\n", "x = = 1\n", ")\n", "x = (\n", "class\n", "@\n", "<<<<<<< a\n"]


@given(seeds, sizes, st.sampled_from(BROKEN))
def test_an_error_elsewhere_never_makes_a_definition_look_changed_or_gone(seed, size, broken):
    source = function(random.Random(seed), size)
    known = fingerprint(source)

    for text in (f"{source}\n{broken}", f"{broken}\n{source}"):
        found = define(text.encode(), "target")
        assert found.state is State.BROKEN or found.fingerprint == known, text


@given(seeds, sizes, st.sampled_from(BROKEN[:3]))
def test_an_error_behind_a_definition_leaves_it_known(seed, size, broken):
    source = function(random.Random(seed), size)
    fingerprint(source)

    assert define(f"{source}\n{broken}".encode(), "target").state is State.FOUND


sources = st.one_of(
    st.binary(max_size=200),
    st.text(alphabet="abx=():[]{},.'\"\\#@*\n\t \0é\ufeff", max_size=200).map(str.encode),
    st.lists(
        st.sampled_from(["def a():", "class a:", "x", "=", "(", '"""', "\n", "    ", "@", "f'{"]),
        max_size=60,
    ).map(lambda parts: " ".join(parts).encode()),
)
symbols = st.one_of(
    st.text(max_size=20), st.sampled_from(["a", "a.a", "x", "", ".", "a.", ".a", "a::b#c", "..."])
)


@given(sources, symbols)
@example(b"def a(): f'{", "a")
@example(b"\xff\xfe", "\ud800")
def test_any_bytes_and_any_name_have_an_answer(source, symbol):
    found = define(source, symbol)

    assert (found.state is State.FOUND) == (found.line is not None) == bool(found.fingerprint)
    assert found.line is None or 1 <= found.line <= source.count(b"\n") + source.count(b"\r") + 1
    assert define(source, symbol) == found


pieces = st.sampled_from(
    [
        *("target", "target", "target", "a", "b", "int", "1", '"x"', "'", '"""', "# ", "é"),
        *(" ", " ", "\n", "\n    ", "\\\n", "\n\n", ";", ":", ",", ".", "*", "=", "=", " = "),
        *("(", ")", "[", "]", "{", "}", "==", "+=", ":=", "->", "@", "_", "\f"),
        *("def ", "class ", "type ", "if a:", "else:", "try:", "lambda ", "async def ", "import "),
        *(
            "from a import ",
            "return ",
            "for ",
            " in ",
            "with a as ",
            "target = 1\n",
            "(a,\ntarget)",
        ),
        *(
            "\nif (a and\n    b): ",
            "\nclass \\\n A: ",
            "d['k'], ",
            "f(a).b, ",
            "\nx: ",
            "match a:\n",
        ),
        *("\ufeff", "\u200b", "if (a): ", "while(1):", "with(a): ", "if a:\n b\nelif(a): "),
        *('if"x":', "if [a]: ", "if {1}: ", "if(a)and(b): ", "for(a)in(b): ", "class a(b): "),
        *("match(a):\n case(b): ", "try: a\nexcept(b): ", """if f"{a["("]}": """),
    ]
)


@given(st.lists(pieces, max_size=14).map("".join))
@example("(a,\n d['k'], target,\n) = f(\n)\n")
@example("if a and \\\n b: target = 1\n")
@example("a[target] = target = 1\n")
@example("[a, *target] = b")
@example("class A: target: int\n")
@example("x = '''\n'''; target = 2")
@example("\ufefftarget = 5\n")
@example("\ufefftarget: int = 5\n")
@example("target\u200b= 5\n")
@example("class\u2060target: pass\n")
@example("if (a): target = 5\n")
@example("while(1): target = 5\n")
@example("with(a): target = 5\n")
@example("if a:\n b\nelif(a): target = 5\n")
@example('if"x": target = 5\n')
@example("if [a]: target = 5\n")
@example("if {1}: target = 5\n")
@example("if(a)and(b): target = 5\n")
@example("""if f"{a["("]}": target = 5\n""")
@example("match(a):\n case(b): target = 5\n")
def test_what_is_defined_is_never_passed_over_unparsed(source):
    tree = parse(source.encode(), grammar("tree_sitter_python"))
    if not tree.has_error and define(source.encode(), "target").state is State.FOUND:
        assert may_define(source.encode(), "target")


@given(seeds, sizes)
def test_a_name_that_is_only_called_or_imported_is_not_parsed_for(seed, size):
    body = function(random.Random(seed), size)
    uses = "from a import one\nimport one.b\nx = one(1)\nprint(a, one.b)\n"

    assert not may_define((uses + body).encode(), "one")
