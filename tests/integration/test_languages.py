"""What git's hunks and the syntax say of definitions, language by language: touched, or not."""

import pytest
from languages import LANGUAGES
from repositories import Repo

from yaadwatch.anchors.definitions import State, define, defines, locate, touches
from yaadwatch.repo.command import GitRunner

each_language = pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.path)

TOUCHING = ["body_edited", "signature_edited", "reindented_and_edited"]
LEAVING = [
    *("first_edited", "last_edited", "around_edited", "reindented", "with_more_behind"),
    *("with_more_in_front", "without_the_next", "without_the_one_before", "moved_to_the_front"),
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    runner = GitRunner(Repo.TIMEOUT)
    yield Repo.new(tmp_path_factory.mktemp("work")).open(runner)
    runner.close()


def is_touched(opened, symbol, path, old, new):
    hunks = opened.hunks(old.encode(), new.encode(), path)
    assert hunks or "".join(old.split()) == "".join(new.split())
    return touches(symbol, hunks, new)


@each_language
@pytest.mark.parametrize("edit", TOUCHING)
def test_an_edit_of_a_function_touches_it_and_no_other(opened, language, edit):
    new = getattr(language, edit)
    assert new != language.source

    touched = {
        name: is_touched(opened, name, language.path, language.source, new)
        for name in ("before", "limit", "after")
    }

    assert touched == {"before": False, "limit": True, "after": False}


@each_language
@pytest.mark.parametrize("edit", LEAVING)
def test_an_edit_elsewhere_leaves_a_function_untouched(opened, language, edit):
    new = getattr(language, edit)
    assert new != language.source

    assert not is_touched(opened, "limit", language.path, language.source, new)
    assert not is_touched(opened, "limit", language.path, new, language.source)


@each_language
def test_a_function_that_is_taken_out_is_touched_and_its_neighbours_are_not(opened, language):
    touched = {
        name: is_touched(opened, name, language.path, language.source, language.without_it)
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
        ("one\n", "two\n", {"onClick"}),
        ("return 5", "return 6", {"total"}),
        ("  total() {", "  more() {}\n\n  total() {", {"Other"}),
        ("  total() {", "  total(a: number) {", {"Other", "total"}),
        ("  limits = {", "  // words\n  limits = {", set()),
    ],
)
def test_a_function_holds_what_is_inside_of_it_and_a_class_what_it_declares(
    opened, old, new, touched
):
    changed = COMPONENT.replace(old, new)
    assert changed != COMPONENT

    assert {
        name
        for name in ("Cart", "onClick", "Other", "total")
        if is_touched(opened, name, "cart.tsx", COMPONENT, changed)
    } == touched


SCRIPT = """\
usage() {
    cat <<EOF
usage: deploy [options]
options: none
EOF
    exit 1
}

deploy() {
    echo "$1"
}
"""


@pytest.mark.parametrize(
    ("old", "new", "touched"),
    [
        ("exit 1", "exit 2", {"usage"}),
        ("options: none", "options: many", {"usage"}),
        ('echo "$1"', 'echo "$2"', {"deploy"}),
    ],
)
def test_the_lines_of_a_text_are_no_code(opened, old, new, touched):
    changed = SCRIPT.replace(old, new)

    assert {
        name
        for name in ("usage", "deploy")
        if is_touched(opened, name, "deploy.sh", SCRIPT, changed)
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
def test_a_long_signature_is_known_to_its_end(opened, old, new):
    source = LONG % "limit"

    assert is_touched(opened, "limit", "Retry.java", source, source.replace(old, new))


def test_shifts_are_no_texts(opened):
    """`<< WIDTH` begins a text in a shell, and none in C++."""
    source = (
        "int a(int x) {\n  out << WIDTH;\n  return x << WIDTH;\n}\n\nint b() {\n  return 1;\n}\n"
    )
    changed = source.replace("return 1", "return 2")

    assert is_touched(opened, "b", "a.cpp", source, changed)
    assert not is_touched(opened, "a", "a.cpp", source, changed)


def test_a_change_of_bytes_that_are_no_text_is_seen(opened):
    old, new = (b'func a() {\n\tprint("\xe4")\n}\n', b'func a() {\n\tprint("\xf6")\n}\n')

    assert touches("a", opened.hunks(old, new, "a.go"))


@pytest.mark.parametrize("name", ["a", ".bashrc", "a.<>|.go", "ü.go", "a" * 300 + ".go", "a.g\0o"])
def test_any_name_of_a_file_will_do(opened, name):
    (hunk,) = opened.hunks(b"func a() {\n\t1\n}\n", b"func a() {\n\t2\n}\n", name)

    assert (hunk.removed, hunk.added) == (("\t1",), ("\t2",))
    assert hunk.header == "func a() {"


def test_lines_that_look_like_a_diff_are_lines(opened):
    old = b"func a() {\n@@ -1 +1 @@ x\n--- a\n+++ b\n\\ No newline\n}\n"
    new = b"func a() {\n@@ -2 +2 @@ x\n--- b\n+++ c\n\\ No newline\n}"

    (hunk,) = opened.hunks(old, new, "a.go")

    assert hunk.removed == ("@@ -1 +1 @@ x", "--- a", "+++ b")
    assert hunk.added == ("@@ -2 +2 @@ x", "--- b", "+++ c")


def test_large_texts_with_many_changes_are_compared(opened):
    old = b"".join(b"func a%d() {\n\treturn %d\n}\n\n" % (n, n) for n in range(20_000))
    new = old.replace(b"7\n", b"8\n")

    hunks = opened.hunks(old, new, "a.go")

    assert touches("a17", hunks, new.decode())
    assert not touches("a18", hunks, new.decode())


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
