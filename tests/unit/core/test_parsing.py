"""What the parser is given to read does not stay in memory."""

import gc
import tracemalloc

from yaadwatch.core import kept
from yaadwatch.core.truth import parsing

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
        kept.forget()
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
