"""Laws of references: what is mentioned is found in any wrapping; plain words are no names."""

import re
import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yaadwatch.anchors import values
from yaadwatch.anchors.mentions import MENTIONS_MAX, mentions
from yaadwatch.anchors.tree import Tree

WORDS = """
    the of and a to in is that we use for every call only when retry limit client server file test
    build before after never always Ada Friday English API HTTP JSON URLs it's don't well-known
    and/or e.g. i.e. etc. vs. U.S. a.m. 3rd 10% 2,000 file(s) index(es) GitHub macOS JavaScript
    Node.js README.md *very* _very_ __very__ (so) [so] "so" C# C++ v2.0 x/y www.example.org OAuth
    https://example.org/a_b/c.d?e=f#g_h ada.b@example.org 12:30 #12 @ada & - -- : ; ? ! ...
"""
WRAPS = ["{}", "`{}`", "``{}``", "({})", "[{}]", "<{}>", "**{}**", '"{}"', "'{}'", "[it]({})"]
ENDS = ["", ".", ",", ";", ":", "!", "?", "...", ":12", ":12-20", "#L3", ":12:5", " is", "\u2014"]
parts = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
paths = st.builds(
    lambda folders, name, suffix: "/".join([*folders, f"{name}.{suffix}"]),
    st.lists(parts, max_size=3),
    parts,
    st.sampled_from(["py", "ts", "go", "md", "tar.gz"]),
)
names = st.one_of(
    st.builds("{}_{}".format, parts, st.from_regex(r"[a-z0-9]{1,5}", fullmatch=True)),
    st.builds(
        lambda one, two: one.title().replace("_", "") + two.title().replace("_", ""), parts, parts
    )
    .filter(lambda name: len(name) > 4 and name.lower() not in {"github"})
    .filter(lambda name: any(a.islower() and b.isupper() for a, b in pairwise(name))),
    st.builds("{}()".format, parts),
    st.builds("{}.{}()".format, parts, parts),
)
sentences = st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)


@given(sentences)
def test_plain_sentences_hold_no_names(sentence):
    assert mentions(sentence).symbols == ()


@given(sentences, paths, st.sampled_from(WRAPS), st.sampled_from(ENDS), sentences)
@example("", "www.py", "`{}`", ".", "")
def test_a_path_is_found_in_any_sentence_and_wrapping(before, path, wrap, end, after):
    tree = Tree.of([path, "other/file.txt"])

    found = mentions(f"{before} {wrap.format(path + end)} {after}").paths

    assert path in {tree.match(mention) for mention in found}


@given(sentences, names, st.sampled_from(WRAPS), sentences)
@example("", "OrderRow", "<{}>", "")
@example("", "order_row", "<{}>", "")
def test_a_name_that_looks_like_code_is_found_in_any_sentence(before, name, wrap, after):
    """In angle brackets `<OrderRow>` is a component and `<order_row>` a placeholder."""
    plain = name.removesuffix("()")

    found = mentions(f"{before} {wrap.format(name)} {after}").symbols

    is_placeholder = wrap == "<{}>" and name == name.lower() and name == plain
    assert (plain in found) != is_placeholder or len(plain) < 3


@given(st.lists(paths, min_size=1, max_size=6), st.data())
def test_a_mention_means_one_file_or_none(listed, data):
    tree = Tree.of(listed)
    path = data.draw(st.sampled_from(listed))
    tail = "/".join(path.split("/")[data.draw(st.integers(0, path.count("/"))) :])
    ending = [one for one in tree.every() if one == tail or one.endswith("/" + tail)]

    found = tree.match(tail)

    assert found == (tail if tree.has_file(tail) else ending[0] if len(ending) == 1 else None)


@given(st.lists(paths, min_size=1, max_size=6), st.lists(parts, max_size=3))
def test_a_relative_path_leads_from_a_folder_to_a_file(listed, folders):
    tree = Tree.of(listed)
    up = "../" * len(folders)

    for path in listed:
        assert tree.match(up + path, folder="/".join(folders)) == path
        assert tree.match("../" + up + path, folder="/".join(folders)) is None


texts = st.text(alphabet="ab_A1.:/\\`()[]@#$~-+ \n\té\ud800", max_size=300)


@given(st.one_of(st.text(max_size=300), texts), texts)
def test_any_text_has_an_answer_within_the_limits(text, folder):
    found = mentions(text)
    tree = Tree.of(found.paths)

    assert len(found.paths) <= MENTIONS_MAX
    assert len(found.symbols) <= MENTIONS_MAX
    assert found == mentions(text)
    for mention in found.paths:
        assert tree.match(mention, folder=folder) in {None, *tree.every()}


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            "a-",
            "a.",
            "a::",
            "a/",
            "a_",
            "_a",
            "a(",
            "(a",
            "[a]",
            "](",
            "`",
            "`a ",
            "` `` ",
            "a@",
        ),
        *(
            "a://",
            "../",
            "\\\\",
            "\\\\_",
            "aA",
            "@",
            "$",
            "#a",
            "word ",
            "é",
            "\n",
            "(((a/",
            "[[a]]/",
        ),
        *("`a/b.py c/d.py`", "a/b.py c/d.py ", "a/<b>/c.py ", "a{b", "a<b", "src/*/c.py "),
    ],
)
def test_a_longer_text_takes_no_more_than_its_share(unit):
    """The longest text a memory may have is read in a blink, whatever it is made of."""

    def seconds(chars):
        text = unit * (chars // len(unit))
        best = 1e9
        for _ in range(3):
            start = time.process_time()
            mentions(text)
            best = min(best, time.process_time() - start)
        return best

    short, long = seconds(8_000), seconds(64_000)

    assert long < 8 * 4 * max(short, 0.0005)


PIECES = [
    "LIMIT",
    "limit()",
    "a.LIMIT",
    "LIMITS",
    "-",
    "`",
    " is ",
    " = ",
    " returns ",
    "3",
    "five",
    ".",
]
said = st.lists(st.sampled_from([*PIECES, " ", "x", "if ", ", "]), max_size=12).map("".join)


@given(said, st.sampled_from(["LIMIT", "limit", "x", "LIMIT is", "3"]))
@example("LIMITLIMIT is 3", "LIMIT")
def test_what_is_said_of_a_name_is_what_one_pattern_with_the_name_finds(text, name):
    whole = re.compile(rf"(?<![\w.-]){re.escape(name)}{values._STATED.pattern}")
    found = [(start, one.end(), one.groups()) for start, one in values._stated(text, name)]

    assert found == [(one.start(), one.end(), one.groups()) for one in whole.finditer(text)]
