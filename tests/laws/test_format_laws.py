"""Every format keeps every law, and the laws catch formats that do not."""

import pytest
from hypothesis import Phase, settings

from bridges import laws
from bridges.laws import LAWS
from bridges.reading import parse, parse_part
from bridges.registry import BRIDGES, PLAIN, listed
from bridges.rules import Bridge, Document, Statement

# What laws can tell apart: rows that are read by one function and begin alike are one.
DISTINCT = {
    (bridge.parse, bridge.preamble): bridge
    for bridge in reversed((*BRIDGES, listed(("CONVENTIONS.md",))))
}
assert all(bridge.parse is parse for bridge in PLAIN)
assert listed(("CONVENTIONS.md",)).parse is parse_part


@pytest.fixture
def some_examples():
    """A law has as many examples as it has formats times this."""
    profile = settings.get_current_profile_name()
    settings.register_profile("one format", max_examples=settings.default.max_examples // 3)
    settings.load_profile("one format")
    yield
    settings.load_profile(profile)


@pytest.mark.usefixtures("some_examples")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("bridge", DISTINCT.values(), ids=lambda bridge: bridge.name)
def test_every_format_keeps_the_law(bridge, law):
    law(bridge)


def test_every_law_is_in_the_list():
    public = {
        value
        for name, value in vars(laws).items()
        if callable(value) and getattr(value, "__module__", "") == "bridges.laws" and name[0] != "_"
    }

    assert set(LAWS) == public


def _raising(content):
    return parse(content.decode().encode())


def _one_line_only(content):
    document = parse(content)
    return Document(
        statements=tuple(
            Statement(text=statement.text, line=1, end_line=1) for statement in document.statements
        ),
        problems=document.problems,
    )


def _with_line_feeds_only(content):
    document = parse(content)
    return document if b"\r" not in content else Document(statements=(), problems=document.problems)


def _reading_the_block_too(content):
    return parse(content.replace(b"<!-- yaad:", b"<!-- other:"))


def _restricted(content):
    document = parse(content)
    return Document(statements=document.statements, problems=document.problems, everywhere=False)


@pytest.fixture
def any_example():
    """The first example that breaks a law is enough; it need not be the smallest."""
    profile = settings.get_current_profile_name()
    settings.register_profile("any", phases=(Phase.explicit, Phase.generate))
    settings.load_profile("any")
    yield
    settings.load_profile(profile)


@pytest.mark.usefixtures("any_example")
@pytest.mark.parametrize(
    ("bad", "law"),
    [
        (_raising, laws.reading_never_raises),
        (_one_line_only, laws.statements_stand_in_the_file_in_order_and_apart),
        (_with_line_feeds_only, laws.line_ends_and_a_byte_order_mark_change_nothing),
        (_reading_the_block_too, laws.words_survive_the_block),
        (_restricted, laws.a_file_of_our_own_is_read_back),
    ],
)
def test_a_format_that_breaks_a_law_is_caught(bad, law):
    bridge = Bridge(name="bad", paths=("BAD.md",), parse=bad)

    with pytest.raises((AssertionError, UnicodeDecodeError)):
        law(bridge)


def test_a_preamble_that_opens_a_fence_is_caught():
    bridge = Bridge(name="bad", paths=("BAD.md",), parse=parse, preamble="```\n")

    with pytest.raises(AssertionError):
        laws.a_file_of_our_own_is_read_back(bridge)
