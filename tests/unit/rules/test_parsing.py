"""The parser reads every file that people wrote, and keeps none of what it was given."""

import gc
import tracemalloc

import pytest

from yaadwatch.anchors import definitions, parsing
from yaadwatch.anchors.languages import language_of
from yaadwatch.text import words

FILES = 40
LINES = 2_000


def source(number: int) -> bytes:
    return b"".join(
        b"def name_%d_%d(): return 'caf\xc3\xa9'\n" % (number, line) for line in range(LINES)
    )


def test_a_file_that_was_parsed_is_not_kept_for_ever():
    """A daemon that looked into many commits took 150 MiB more, and never gave them back."""
    grammar = parsing.grammar("tree_sitter_python")
    parsing.parse(source(0), grammar)
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(FILES):
            assert parsing.parse(source(number), grammar) is not None
        words.clear_caches()
        gc.collect()
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert left < len(source(1))  # of 40 such files


def test_a_file_is_read_whole_wherever_a_piece_of_it_ends():
    grammar = parsing.grammar("tree_sitter_python")
    for shift in range(8):
        text = b"#" + b"x" * shift + b"\n" + source(1)
        root = parsing.parse(text, grammar)

        assert root is not None
        assert not root.has_error
        assert root.end_byte == len(text)
        assert root.named_child_count == LINES + 1


def test_a_large_file_is_read_wherever_its_third_ends():
    """Pieces from its middle were parsed first, and half of all large files were refused."""
    calls = b"".join(b"    if a(%d) { b(%d); }\n" % (line, line) for line in range(2_000))
    large = b"pub fn one() {\n" + calls + b"}\n\npub fn two() {\n" + calls + b"}\n"

    assert len(large) > 64 * 1024
    found = definitions.define(large, "src/a.rs", "two")
    assert (found.state, found.line) == (definitions.State.FOUND, 2_004)


@pytest.mark.parametrize(
    ("path", "again"),
    [("a.c", b"/* "), ("a.go", b"/* "), ("a.cs", b"<!-- "), ("a.java", b"<!-- ")],
)
def test_what_makes_the_parser_go_the_same_way_again_is_let_be(path, again):
    language = language_of(path)
    grammar = parsing.grammar(language.module, language.function)

    assert parsing.parse(again * 400, grammar) is None
    assert parsing.parse(again * 40_000, grammar) is None


def test_what_reads_to_the_end_of_the_file_again_and_again_is_let_be():
    grammar = parsing.grammar(language_of("a.rs").module)

    assert parsing.parse(b'r#" ' * 100_000, grammar) is None
