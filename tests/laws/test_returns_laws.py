"""Laws of what a function returns: what is said of it is what it does, whenever it is called."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.anchors import values
from yaadwatch.staleness import successors

LITERALS = {"5": 5, "-1.5": -1.5, "True": True, "None": None, '"on"': "on", "[]": [], "x": None}
simple = st.one_of(
    st.sampled_from(["pass", "z = 1", "raise ValueError", "continue", "break", "'said'"]),
    st.sampled_from(sorted(LITERALS)).map("return {}".format),
    st.just("return"),
)


def nested(inner):
    """Return statements with blocks of `inner` in them."""
    block = st.lists(inner, min_size=1, max_size=3).map("\n".join).map(indented)
    return st.one_of(
        st.tuples(
            st.sampled_from(["if x:", "while y:", "for z in (1, 2):", "def g():"]), block
        ).map("\n".join),
        st.tuples(block, block).map("if y:\n{0[0]}\nelse:\n{0[1]}".format),
        st.tuples(block, block).map("try:\n{0[0]}\nexcept ValueError:\n{0[1]}".format),
        st.tuples(block, block).map("try:\n{0[0]}\nfinally:\n{0[1]}".format),
    )


def indented(text):
    return "\n".join(f"    {line}" for line in text.split("\n"))


bodies = st.lists(st.recursive(simple, nested, max_leaves=6), min_size=1, max_size=4)


class TooLongError(Exception):
    """A loop has no end."""


def called(source, x, y):
    """Return what `limit` of a source gives for two truths; Ellipsis when it gives nothing."""
    world = {}
    exec(compile(source, "limit.py", "exec"), world)
    turns = iter([y] * 3)

    class Truth:
        def __bool__(self):
            try:
                return next(turns)
            except StopIteration:
                raise TooLongError from None

    try:
        return world["limit"](x, Truth())
    except (ValueError, TooLongError):
        return ...


@given(bodies)
def test_what_is_said_to_be_returned_is_what_every_call_returns(body):
    source = "def limit(x, y):\n" + indented("\n".join(body)) + "\n"
    try:
        compile(source, "limit.py", "exec")
    except SyntaxError:
        return  # `break` outside a loop

    said = successors.returned_literal(source.encode(), "limit.py", "limit")

    if said is not None:
        for x, y in product((True, False), repeat=2):
            given_back = called(source, x, y)
            assert given_back is ... or said == values.literal(
                f'"{given_back}"' if isinstance(given_back, str) else str(given_back)
            )
            assert not (said == "nothing" and "return None" not in source)


@given(st.text(max_size=40))
def test_anything_is_a_literal_or_not(text):
    said = values.literal(text)

    assert said is None or said == values.literal(text)


@given(st.binary(max_size=60), st.sampled_from(["a.py", "a.rs", "a.go", "a.kt", "a.cs", "a.sh"]))
def test_whatever_a_file_holds_nothing_is_raised(source, path):
    assert successors.returned_literal(source, path, "limit") is None or b"limit" in source
