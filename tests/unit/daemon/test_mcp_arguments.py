"""Arguments as clients write them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.api import codec
from yaadwatch.api.message import Message
from yaadwatch.api.operations import BY_NAME
from yaadwatch.daemon.mcp_tools import accepted, folder_of, object_of


class Asked(Message):
    """A field of each type that a request may have."""

    text: str = ""
    perhaps: str | None = None
    number: int = 0
    limit: int | None = None
    share: float | None = None
    all: bool = False
    paths: tuple[str, ...] = ()
    attributes: dict[str, object] | None = None


@pytest.mark.parametrize(
    ("given_", "meant"),
    [
        ({"paths": '["a.py", "b.py"]'}, {"paths": ["a.py", "b.py"]}),
        ({"paths": "a.py"}, {"paths": ["a.py"]}),
        ({"paths": "[id]/page.tsx"}, {"paths": ["[id]/page.tsx"]}),
        ({"paths": "  "}, {"paths": []}),
        ({"paths": ["a.py"]}, {"paths": ["a.py"]}),
        ({"number": "3"}, {"number": 3}),
        ({"number": 3.0}, {"number": 3}),
        ({"limit": " 20 "}, {"limit": 20}),
        ({"share": "0.5"}, {"share": 0.5}),
        ({"all": "true"}, {"all": True}),
        ({"all": "False"}, {"all": False}),
        ({"attributes": '{"a": 1}'}, {"attributes": {"a": 1}}),
    ],
    ids=str,
)
def test_text_is_read_where_only_one_meaning_is_possible(given_, meant):
    assert accepted(Asked, given_) == meant


@pytest.mark.parametrize(
    "given_",
    [
        {"text": "3"},
        {"text": "true"},
        {"text": '["a"]'},
        {"perhaps": "null"},
        {"number": "three"},
        {"number": 3.5},
        {"number": ""},
        {"number": True},
        {"all": "yes"},
        {"all": 1},
        {"attributes": "a=1"},
        {"unknown": "3"},
        {"number": None},
    ],
    ids=str,
)
def test_what_may_mean_something_else_is_left_as_it_is(given_):
    found = accepted(Asked, given_)

    assert found == given_
    assert [type(one) for one in found.values()] == [type(one) for one in given_.values()]


@pytest.mark.parametrize(
    ("given_", "folder"),
    [
        ("file:///srv/shop", "/srv/shop"),
        ("file://localhost/srv/shop", "/srv/shop"),
        ("file:///srv/my%20shop/caf%C3%A9", "/srv/my shop/café"),
        ("/srv/shop", "/srv/shop"),
        ("file://elsewhere/srv/shop", "file://elsewhere/srv/shop"),
        ("https://example.org/srv", "https://example.org/srv"),
        ("file://[", "file://["),
        ("shop", "shop"),
    ],
)
def test_project_may_be_a_file_uri(given_, folder):
    assert folder_of(given_) == folder
    assert accepted(Asked, {"project": given_}) == {"project": folder}


def test_object_may_be_the_text_of_its_json():
    assert object_of('{"query": "x"}') == {"query": "x"}
    assert object_of("{query}") == "{query}"
    assert object_of(None) is None


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_NAMES = st.sampled_from([*Asked.FIELDS, "project", "other"])


@given(st.dictionaries(_NAMES, _VALUES, max_size=4))
def test_nothing_raises_and_what_is_accepted_is_accepted_again(arguments):
    found = accepted(Asked, arguments)

    assert found.keys() == arguments.keys()
    assert repr(accepted(Asked, found)) == repr(found)


@given(
    st.fixed_dictionaries({"query": st.just("3"), "tokens_max": st.integers(100, 1000)}),
    st.lists(st.sampled_from(["spec", "fix", "bug"]), min_size=1, max_size=3),
)
def test_stringified_request_means_the_same_as_the_request(fields, kinds):
    request = BY_NAME["recall"].request
    whole = fields | {"kinds": kinds, "all_branches": True}
    texts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in whole.items()
    }

    assert codec.message(request, accepted(request, texts)) == codec.message(request, whole)
