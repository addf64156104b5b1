"""What a terminal shows: lines that fit, nothing that steers it, colours where they are welcome."""

import io
import re
import sys
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording import NOW
from refusals import refusal

from yaadwatch.cli import terminal
from yaadwatch.cli.terminal import Terminal, clock, columns, of_process, read_all, styled
from yaadwatch.model.errors import Code

widths = st.integers(min_value=40, max_value=120)


def printed(*parts, width=100, colour=False, **options):
    terminal = Terminal(io.StringIO(), io.StringIO(), width=width, colour=colour)
    terminal.line(*parts, **options)
    return terminal.out.getvalue()


@given(st.text(max_size=400))
def test_no_text_can_steer_the_terminal(text):
    shown = printed(text, width=10_000)

    assert shown.endswith("\n")
    assert all(one.isprintable() or not one.isascii() for one in shown[:-1])
    assert "\x9b" not in shown
    assert not any("\u202a" <= one <= "\u202e" or "\u2066" <= one <= "\u2069" for one in shown)


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=20), min_size=1), widths)
def test_every_word_is_shown_once_and_every_line_fits(parts, width):
    shown = printed(" ".join(parts), width=width, indent=4, hang=2)

    assert shown.split() == parts
    assert max(len(line) for line in shown.splitlines()) <= width


@given(st.lists(st.text("ab \u4e2d\u0301", max_size=30)), widths)
def test_colours_change_nothing_but_the_colour(parts, width):
    coloured = [styled(part, "red") if number % 2 else part for number, part in enumerate(parts)]

    shown = printed(*coloured, width=width, colour=True)

    plain = shown.replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert plain.split() == printed(*parts, width=width).split()


@pytest.mark.parametrize("colour", [False, True])
def test_a_line_of_a_diff_stays_one_line_and_steers_nothing(colour):
    terminal = Terminal(io.StringIO(), io.StringIO(), width=40, colour=colour)

    terminal.diff(f"+{'one two ' * 30}\x1b[2J\n-x", indent=4)

    shown = re.sub("\x1b\\[(32|31|0)m", "", terminal.out.getvalue())
    assert shown.splitlines() == [f"    +{'one two ' * 30}\\u001b[2J", "    -x"]


def test_a_word_longer_than_the_line_stays_whole():
    shown = printed("see " + "x" * 60 + " there", width=40)

    assert shown.splitlines() == ["see", "  " + "x" * 60, "  there"]


def test_what_does_not_fit_continues_under_its_text():
    shown = printed("f2e4ab37  ", "alpha beta gamma delta epsilon zeta", width=40, hang=10)

    assert shown.splitlines() == ["f2e4ab37  alpha beta gamma delta epsilon", "          zeta"]


def test_columns_line_up_by_what_is_seen():
    terminal = Terminal(io.StringIO(), io.StringIO())
    terminal.table([("\u4e2d\u6587", "a"), ("abc", "b"), ("", "c")])

    assert terminal.out.getvalue().splitlines() == ["  \u4e2d\u6587  a", "  abc   b", "        c"]


@pytest.mark.parametrize(
    ("given_columns", "expected"), [("72", 72), ("8", 40), ("wide", None), ("0", None)]
)
def test_the_width_is_what_the_environment_says(monkeypatch, given_columns, expected):
    monkeypatch.setenv("COLUMNS", given_columns)

    assert columns() == (expected or columns())
    assert columns() >= 40


def test_json_is_one_line_in_the_characters_of_the_stream():
    plain = Terminal(io.StringIO(), io.StringIO())
    plain.json({"text": "d\u00fcz\u011f\u00fcn\nline"})
    latin = Terminal(io.TextIOWrapper(io.BytesIO(), encoding="latin-1"), io.StringIO())
    latin.json({"text": "\u011f"})
    latin.out.flush()

    assert plain.out.getvalue() == '{"text": "d\u00fcz\u011f\u00fcn\\nline"}\n'
    assert latin.out.buffer.getvalue() == b'{"text": "\\u011f"}\n'


class Screen(io.StringIO):
    """A stream that says a person looks at it."""

    def isatty(self):
        return True


def test_progress_is_shown_to_people_and_taken_away():
    terminal = Terminal(io.StringIO(), Screen())
    terminal.progress("still at it, 1 s")
    terminal.progress("still at it, 2 s")
    terminal.line("done")

    assert terminal.err.getvalue() == "\r\x1b[Kstill at it, 1 s\r\x1b[Kstill at it, 2 s\r\x1b[K"
    assert terminal.out.getvalue() == "done\n"


@pytest.mark.parametrize(
    ("distance", "said"),
    [
        (timedelta(seconds=1), "just now"),
        (timedelta(seconds=59), "59 seconds ago"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=45), "1 month ago"),
        (timedelta(days=800), "2 years ago"),
        (timedelta(hours=-3), "in 3 hours"),
    ],
)
def test_times_are_told_by_their_distance(distance, said):
    assert terminal.ago((NOW - distance).isoformat(), NOW) == said


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (1, "memory", "1 memory"),
        (0, "memory", "0 memories"),
        (2, "day", "2 days"),
        (3, "repository", "3 repositories"),
    ],
)
def test_things_are_counted_in_english(number, noun, said):
    assert terminal.count(number, noun) == said


@pytest.mark.parametrize(
    ("number", "said"), [(512, "1 kB"), (38_400_000, "38 MB"), (None, "unknown")]
)
def test_sizes_are_for_people(number, said):
    assert terminal.size(number) == said


def test_the_home_folder_is_a_tilde(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada/")

    assert terminal.folder("/home/ada/src") == "~/src"
    assert terminal.folder("/home/ada") == "~"
    assert terminal.folder("/home/adam/src") == "/home/adam/src"


def stream(held=b"", **options):
    return io.TextIOWrapper(io.BytesIO(held), encoding="utf-8", **options)


def test_what_is_no_text_is_not_read_as_something_else(monkeypatch):
    """In the locale C, Python reads a byte that is no UTF-8 as half a character."""
    monkeypatch.setattr(sys, "stdin", stream(b"caf\xe9", errors="surrogateescape"))
    monkeypatch.setattr(sys, "stdout", stream())
    monkeypatch.setattr(sys, "stderr", stream())

    with pytest.raises(UnicodeDecodeError):
        of_process().keys.read()


def test_a_command_may_be_started_without_streams(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)

    terminal = of_process()

    terminal.line("told to nobody")
    terminal.progress("still at it")
    assert terminal.keys.read() == ""
    assert terminal.can_ask() is False


def test_an_input_that_is_not_utf_8_is_refused_with_what_to_do_about_it():
    latin1 = io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="utf-8")

    error = refusal(read_all, latin1, "Standard input", "Nothing was kept.")

    assert error.code is Code.BAD_REQUEST
    assert error.message == "Standard input is not text in UTF-8. Nothing was kept."
    assert "iconv" in error.hint


@pytest.mark.parametrize(
    ("then", "shown"),
    [
        (datetime(2026, 11, 24, 15, 2).astimezone(), "15:02"),
        (datetime(2026, 11, 23, 15, 2).astimezone(), "23 Nov 2026, 15:02"),
        (datetime(2025, 11, 24, 15, 2).astimezone(), "24 Nov 2025, 15:02"),
    ],
)
def test_a_time_of_another_day_has_its_day(then, shown):
    assert clock(then.isoformat(), datetime(2026, 11, 24, 18, 0).astimezone()) == shown
