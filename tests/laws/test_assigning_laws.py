"""Setting one key in a text of settings: just that changes, in what it says and in how it looks."""

import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yaadwatch.text.toml import NotUnderstoodError, assign, drop

values = st.one_of(
    st.integers(min_value=-(2**53), max_value=2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(max_size=12),
    st.lists(st.text(max_size=8), max_size=3),
)
names = st.sampled_from(["watch", "memory", "recall", "mine"])
keys = st.sampled_from(["poll_s", "quiet_ms", "top", "a-b"])
lines = st.one_of(
    st.just(""),
    st.just("# a comment = 1"),
    names.map("[{}]".format),
    names.map("  [ {} ]  # here".format),
    st.tuples(keys, st.sampled_from(["1", "'x # y'", '["a", "b"]', '"""\nx = 1\n"""'])).map(
        " = ".join
    ),
    st.tuples(names, keys).map(lambda two: f"{two[0]}.{two[1]} = 2  # why"),
    st.just("[watch.deep]\nx = 1"),
    st.just("[[rows]]\npoll_s = 3"),
    st.just("recall = { top = 1 }"),
)
texts = st.lists(lines, max_size=8).flatmap(
    lambda rows: st.sampled_from(["\n".join(rows), "\n".join(rows) + "\n", "\r\n".join(rows)])
)


def said(text):
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


@given(texts, names, keys, values)
@example("[watch]\npoll_s = 60 # why\n", "watch", "poll_s", 30)
@example("watch.poll_s = 60\n", "watch", "poll_s", 30)
@example("", "watch", "poll_s", [])
def test_it_says_what_it_said_and_the_one_key(text, section, key, value):
    before = said(text)
    try:
        after = assign(text, section, key, value)
    except NotUnderstoodError:
        return  # no TOML, or written in an unusual way: then nothing is done

    assert before is not None
    assert said(after) == before | {section: before.get(section, {}) | {key: value}}
    kept = text.splitlines()
    assert sum(line not in after.splitlines() for line in kept) <= 1


@given(texts, names, keys)
def test_taking_it_out_leaves_the_rest(text, section, key):
    before = said(text)
    try:
        after = drop(text, section, key)
    except NotUnderstoodError:
        return

    assert before is not None
    left = (
        {name: one for name, one in before.get(section, {}).items() if name != key}
        if (isinstance(before.get(section), dict))
        else before.get(section)
    )
    assert {**before, section: left} == {**said(after), section: said(after).get(section, left)}
    assert key not in (said(after).get(section) or {})


@given(texts, names, keys, values)
def test_setting_it_twice_is_setting_it_once(text, section, key, value):
    try:
        once = assign(text, section, key, value)
    except NotUnderstoodError:
        return

    assert assign(once, section, key, value) == once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[watch]\npoll_s = 60  # a minute\n", "[watch]\npoll_s = 5  # a minute\n"),
        ("watch.poll_s = 60\n", "watch.poll_s = 5\n"),
        ("[watch]\nquiet_ms = 1\n", "[watch]\npoll_s = 5\nquiet_ms = 1\n"),
        ("[watch]", "[watch]\npoll_s = 5\n"),
        ("", "[watch]\npoll_s = 5\n"),
        (
            "# mine\n[git]\ntimeout_ms = 9\n",
            "# mine\n[git]\ntimeout_ms = 9\n\n[watch]\npoll_s = 5\n",
        ),
        ("[watch]\r\npoll_s = 60\r\n", "[watch]\r\npoll_s = 5\r\n"),
    ],
)
def test_a_person_finds_it_where_they_would_have_written_it(text, expected):
    assert assign(text, "watch", "poll_s", 5) == expected


@pytest.mark.parametrize("text", ["[watch\n", "watch = 5\n", "watch = { poll_s = 60 }\n"])
def test_what_is_not_understood_is_left_alone(text):
    with pytest.raises(NotUnderstoodError):
        assign(text, "watch", "poll_s", 5)
