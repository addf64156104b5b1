"""What the lines and the syntax say of definitions, language by language: changed, or not."""

import pytest
from languages import LANGUAGES

from yaadwatch.anchors.definitions import State, define, define_by_lines, defines, locate

each_language = pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.path)

TOUCHING = ["body_edited", "signature_edited", "reindented_and_edited"]
LEAVING = [
    *("first_edited", "last_edited", "around_edited", "reindented", "with_more_behind"),
    *("with_more_in_front", "without_the_next", "without_the_one_before", "moved_to_the_front"),
]


def is_touched(symbol, old, new):
    then, now = (define_by_lines(text.encode(), "a", symbol) for text in (old, new))
    return (then.state, then.fingerprint) != (now.state, now.fingerprint)


@each_language
@pytest.mark.parametrize("edit", TOUCHING)
def test_an_edit_of_a_function_touches_it_and_no_other(language, edit):
    new = getattr(language, edit)
    assert new != language.source

    touched = {
        name: is_touched(name, language.source, new) for name in ("before", "limit", "after")
    }

    assert touched == {"before": False, "limit": True, "after": False}


@each_language
@pytest.mark.parametrize("edit", LEAVING)
def test_an_edit_elsewhere_leaves_a_function_untouched(language, edit):
    new = getattr(language, edit)
    assert new != language.source

    assert not is_touched("limit", language.source, new)
    assert not is_touched("limit", new, language.source)


@each_language
def test_a_function_that_is_taken_out_is_touched_and_its_neighbours_are_not(language):
    touched = {
        name: is_touched(name, language.source, language.without_it)
        for name in ("before", "limit", "after")
    }

    assert touched == {"before": False, "limit": True, "after": False}


@each_language
def test_the_defining_line_is_told_from_the_calls(language):
    lines = language.source.split("\n")
    at = language.source.index(language.signature[0])
    expected = language.source.count("\n", 0, at) + 1

    assert locate(language.source, "limit") == expected
    assert [number for number, line in enumerate(lines, 1) if defines(line, "limit")] == [expected]


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


@each_language
@pytest.mark.parametrize("edit", TOUCHING)
def test_by_syntax_an_edit_of_a_function_changes_it_and_no_other(language, edit):
    new = getattr(language, edit)

    assert changed_by_syntax(language, new) == {"limit"}


@each_language
@pytest.mark.parametrize("edit", LEAVING)
def test_by_syntax_an_edit_elsewhere_leaves_a_function_as_it_was(language, edit):
    new = getattr(language, edit)

    if language.depth and edit in ("without_the_one_before", "moved_to_the_front"):
        # The head of the class goes with its first function: what is left is no method any more.
        assert define(new.encode(), language.path, "limit").state is not State.MISSING
    else:
        assert "limit" not in changed_by_syntax(language, new)


@each_language
def test_by_syntax_a_function_that_is_taken_out_is_missing(language):
    found = define(language.without_it.encode(), language.path, "limit")

    assert found.state is State.MISSING
    assert changed_by_syntax(language, language.without_it) == {"limit"}


def changed_by_syntax(language, new):
    """Return what is not what it was; a file that lost the head of its class may be unreadable."""
    old, now = (
        {name: define(text.encode(), language.path, name) for name in ("before", "limit", "after")}
        for text in (language.source, new)
    )
    assert all(one.state is State.FOUND for one in old.values())
    return {
        name
        for name, one in now.items()
        if one.state is not State.BROKEN and one.fingerprint != old[name].fingerprint
    }
