"""Blocks stand on the lines on which the file has them, whatever ends or holds them."""

from textwrap import dedent

from bridges.outline import NESTING_MAX, outline


def placed(blocks, depth=0):
    for block in blocks:
        yield f"{' ' * depth}{block.kind} {block.line}-{block.end_line}"
        yield from placed(block.children, depth + 1)


def lines(text):
    return dedent(text).split("\n")


def test_every_kind_of_block_has_its_line():
    text = """\
        # one
        two
        ---
        para
        graph

            code
        > quote
        * * *
        <div>
        html
        </div>

        [ref]: http://example.com
        ```
        fence
        ```
        | a | b |
        |---|---|
        | c | d |
        after
        """

    assert list(placed(outline(lines(text)))) == [
        "heading 1-1",
        "heading 2-2",
        "paragraph 4-5",
        "other 7-7",
        "other 8-8",
        "other 9-9",
        "other 10-10",
        "other 15-15",
        "table 18-18",
        " row 18-18",
        " row 20-20",
        "paragraph 21-21",
    ]


def test_items_count_from_their_marker_even_when_it_stands_alone():
    text = """\
        -
          text
        - - inner
          - second

            more
        1. other list
        """

    assert list(placed(outline(lines(text), first_line=11))) == [
        "list 11-11",
        " item 11-11",
        "  paragraph 12-12",
        " item 13-13",
        "  list 13-13",
        "   item 13-13",
        "    paragraph 13-13",
        "   item 14-14",
        "    paragraph 14-14",
        "    paragraph 16-16",
        "list 17-17",
        " item 17-17",
        "  paragraph 17-17",
    ]


def test_what_ends_a_list_or_a_quote_has_its_own_line():
    text = """\
        - a
        - b
        > quote
        - c
        # heading
        > quote
        ```
        code
        ```
        - d
        <!-- comment -->
        """

    assert [line for line in placed(outline(lines(text))) if not line.startswith(" ")] == [
        "list 1-1",
        "other 3-3",
        "list 4-4",
        "heading 5-5",
        "other 6-6",
        "other 7-7",
        "list 10-10",
        "other 11-11",
    ]


def test_tables_in_items_are_seen():
    (table,) = (
        outline(["- x", "", "  | a | b |", "  |---|---|", "  | c \\| d | e |"])[0]
        .children[0]
        .children[1:]
    )

    assert [(row.line, row.cells) for row in table.children] == [
        (3, ("a", "b")),
        (5, ("c | d", "e")),
    ]


def test_nesting_ends_at_the_limit():
    def depth(blocks):
        return max((1 + depth(block.children) for block in blocks), default=0)

    deep = outline(["- " * 500 + "a"])

    assert depth(deep) <= 2 * NESTING_MAX + 1
