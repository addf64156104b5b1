import pytest

from yaadwatch.text.words import (
    case_parts,
    estimate_tokens,
    normalise,
    subtokens,
    summarise,
    text_hash,
)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Use jose.", "Use jose"),
        ("  - Use\n  jose.\n", "Use jose"),
        ("1. Use jose", "Use jose"),
        ("* 2) Use jose", "Use jose"),
        ("-5 is the limit", "-5 is the limit"),
        ("Token and token", "Token and token"),
        ("Read src/..", "Read src/.."),
        ("Tests are in tests/.", "Tests are in tests/"),
        ("Use jose...", "Use jose"),
        ("Run eslint .", "Run eslint ."),
        ("Run eslint ..", "Run eslint .."),
        ("Run  eslint\n.\n", "Run eslint ."),
        ("Run go test ./...", "Run go test ./..."),
        ("Run go test ./....", "Run go test ./..."),
        ("Wait . . .", "Wait . . ."),
        (". . .", ""),
        ("- .", ""),
        ("cafe\u0301", "café"),
        ("...", ""),
        ("", ""),
    ],
)
def test_the_normal_form_drops_what_makes_no_difference(text, normal):
    assert normalise(text) == normal


def test_case_makes_a_difference():
    assert text_hash("Use Token") != text_hash("Use token")


def test_the_hash_of_a_half_surrogate_is_a_hash():
    assert len(text_hash("\ud800")) == 32


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("Use jose. It runs on the Edge.", "Use jose."),
        ("Use e.g. jose. Not others.", "Use e.g. jose."),
        ("Does it work? No.", "Does it work?"),
        ("# Retries\n\nThe limit is 3.", "Retries"),
        ("- Use jose\n- Use zod", "Use jose"),
        ("Version 2.0 is out. Update.", "Version 2.0 is out."),
        ("See src/net.py for it", "See src/net.py for it"),
        ('She said "no." Then left.', 'She said "no."'),
        ("使用 jose。不要用别的。", "使用 jose。"),
        ("\n\n  \n", ""),
    ],
)
def test_a_summary_is_the_first_sentence(text, summary):
    assert summarise(text) == summary


def test_a_long_sentence_ends_after_a_whole_word():
    summary = summarise("retry " * 60)

    assert summary == "retry " * 25 + "retry…"


def test_only_a_word_longer_than_a_line_is_cut():
    assert summarise("x" * 500) == "x" * 159 + "…"


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("getUserName", ["get", "user", "name"]),
        ("HTTPServer", ["http", "server"]),
        ("HTTP2Server", ["http2", "server"]),
        ("getURLs", ["get", "urls"]),
        ("APIs", ["apis"]),
        ("sha256Sum", ["sha256", "sum"]),
        ("utf8", ["utf8"]),
        ("retry", ["retry"]),
        ("ÉtéX", ["été", "x"]),
    ],
)
def test_a_word_is_split_where_its_case_changes(word, parts):
    assert case_parts(word) == parts


def test_subtokens_hold_the_identifiers_that_the_index_cannot_split():
    text = "RetryPolicy in src/net_io.py calls getUserName; RetryPolicy again"

    assert subtokens(text) == "retry policy get user name"


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("retry", 1, 2),
        ("Use jose instead of jsonwebtoken for Edge compatibility", 9, 14),
        ("The retry limit lives in src/net.py and is 3 by default.", 14, 20),
        ("def f(a, b):\n    return a + b\n", 11, 18),
        ("1234567890", 4, 5),
    ],
)
def test_tokens_are_estimated_close_enough(text, least, most):
    assert least <= estimate_tokens(text) <= most
