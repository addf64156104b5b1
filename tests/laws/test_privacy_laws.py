import json
import re
import string
import time
import unicodedata
from re import _parser as sre_parser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yaadwatch.text.privacy import cleaned, kept, mask, mask_tree, readings
from yaadwatch.text.secret_shapes import SHORTEST, TOKENS

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
DIGITS = string.digits

# Beginning (in two parts, so that no scanner takes this file for a leak), alphabet, length.
SHAPES = [
    (("AK", "IA"), string.ascii_uppercase + DIGITS, 16),
    (("gh", "p_"), LETTERS, 36),
    (("github", "_pat_"), LETTERS, 82),
    (("gl", "pat-"), LETTERS, 20),
    (("xo", "xb-"), DIGITS, 24),
    (("sk", "_live_"), LETTERS, 24),
    (("sk", "-"), LETTERS, 48),
    (("sk", "-proj-"), LETTERS, 90),
    (("sk", "-ant-api03-"), LETTERS, 93),
    (("AI", "za"), LETTERS, 35),
    (("ya", "29."), LETTERS, 60),
    (("np", "m_"), LETTERS, 36),
    (("py", "pi-AgE"), LETTERS, 100),
    (("S", "K"), HEX, 32),
    (("h", "f_"), LETTERS, 34),
    (("do", "p_v1_"), HEX, 64),
    (("hv", "s."), LETTERS, 40),
    (("lin", "_api_"), LETTERS, 40),
    (("sh", "pat_"), HEX, 32),
    (("AGE-SECRET", "-KEY-1"), string.ascii_uppercase, 58),
]


@st.composite
def secrets(draw):
    beginning, alphabet, length = draw(st.sampled_from(SHAPES))
    return "".join(beginning) + draw(st.text(alphabet, min_size=length, max_size=length))


@st.composite
def passwords(draw):
    """A password with letters and digits that is no name of something else."""
    letters = draw(st.text("bcdfghjkmnpqrtvwxyz", min_size=6, max_size=12))
    return (
        f"{letters}{draw(st.integers(10_000, 99_999))}{draw(st.sampled_from(['', '!', '!q', 'w']))}"
    )


UNSEEN = [
    "\u200b",
    "\ufeff",
    "\u00ad",
    "\u2060",
    "\u202e",
    "\ufe0f",
    "\0",
    "\x1b[31m",
    "\x1b[m",
    "\x9b0m",
    "\x1b(B",
    "\x1b=",
    "\x1bP1q\x1b\\",
    "\x9d8;;x\x9c",
    "\u2065",
    "\ufff0",
    "\U000e0080",
]
FULL_WIDTH = {ord(char): ord(char) - 0x20 + 0xFF00 for char in LETTERS + "_"} | {ord("-"): 0x2011}


@st.composite
def disguised(draw, plain):
    """A text with what is not seen anywhere in it, some of its letters full-width."""
    text = draw(plain)
    odd = draw(st.sets(st.integers(0, len(text) - 1), max_size=4))
    pieces = [char.translate(FULL_WIDTH) if at in odd else char for at, char in enumerate(text)]
    for at in draw(st.lists(st.integers(0, len(text) - 1), max_size=4)):
        pieces[at] = draw(st.sampled_from(UNSEEN)) + pieces[at]
    return "".join(pieces)


prose = st.text(string.ascii_letters + string.digits + " .,:;!?()'\"`*_-/\n", max_size=60)
frames = st.sampled_from(
    [
        "{}",
        "'{}'",
        '"{}"',
        "`{}`",
        "**{}**",
        "({})",
        "[{}]",
        "<{}>",
        "- {}\n- next",
        "key {}.",
        "a,{},b",
        "https://example.org/x?y={}&z=1",
        "https://example.org/{}/x",
        "| a | {} |",
        "token={}",
        "Authorization: Bearer {}",
        "x = f('{}')",
        "{};",
        "\\n{}\\n",
        "?q=%22{}%22",
    ]
)
places = st.sampled_from(
    [
        "password={}",
        "PASSWORD={}",
        "DB_PASSWORD='{}'",
        'password: "{}"',
        "password: {}",
        "the password is {}",
        "The password for the database is `{}`.",
        "postgres://app:{}@db/app",
        "--password {}",
        "<password>{}</password>",
        '{{"password": "{}"}}',
    ]
)
fragments = st.one_of(
    prose,
    secrets(),
    st.builds(str.format, places, passwords()),
    st.builds(str.format, frames, secrets()),
    st.sampled_from(
        ["[masked:password]", "[masked:aws-key]", "[masked:", "password=", "token: ", "api_key"]
    ),
    st.sampled_from(["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "eyJ", "Bearer "]),
    st.sampled_from(
        ["secret", "is ", "İ", "ß", "\u2028", "\0", "=", ":", '"', "'", "\\", " ", "://a:"]
    ),
    st.sampled_from([".", "&", "]", "@", ";", ",", "(", ")", "**", "\\n"]),
    st.sampled_from(UNSEEN),
    st.builds(str.format, frames, disguised(secrets())),
    st.builds(str.format, places, disguised(passwords())),
)
texts = st.lists(fragments, max_size=8).map("".join)


@pytest.mark.parametrize("row", TOKENS, ids=lambda row: row[0] + " " + row[1].split()[0])
def test_a_token_is_no_shorter_than_its_triggers_promise(row):
    """A text without so long a run of characters that are no white space is not searched for it."""
    assert not re.search(r"[\s]|\\s", row[2])
    for trigger in row[1].split():
        assert sre_parser.parse(row[2]).getwidth()[0] >= SHORTEST.get(trigger, 15)


@given(texts)
@example("PASSWORD=[masked:aws-key]hunter" + "2")
@example("password=[masked:password]")
@example("token: [masked:github-token]).")
def test_masking_twice_is_masking_once(text):
    once = mask(text)
    twice = mask(once.text)

    assert twice.text is once.text
    assert twice.kinds == ()


@given(prose, frames, secrets(), prose)
def test_no_token_survives_in_any_surroundings(before, frame, secret, after):
    text = f"{before} {frame.format(secret)} {after}"

    masked = mask(text).text

    assert secret not in masked
    assert secret[8:] not in masked or secret[8:] in before + after


@given(prose, places, passwords(), prose)
def test_no_password_survives_where_passwords_stand(before, place, password, after):
    masked = mask(f"{before}\n{place.format(password)} {after}").text

    assert password not in masked


@given(prose, frames, disguised(secrets()), prose)
@example("", "{}", "g\u200bhp_" + "a1B2c3D4e5" * 4, "")
@example("a\x1b[1m", "{}", "gh\x1b[mp_" + "a1B2c3D4e5" * 4, "")
@example("", "{}", "ghp_\x1b(B\x1b[m" + "a1B2c3D4e5" * 4, "")
@example("", "\x1b(B{}", "ghp_" + "a1B2c3D4e5" * 4, "")
@example("", "\x1bM{}", "ghp_" + "a1B2c3D4e5" * 4, "")
@example("", "\x1b7{}", "ghp_" + "a1B2c3D4e5" * 4, "")
def test_no_token_survives_in_letters_that_are_not_seen_or_not_plain(before, frame, secret, after):
    text = f"{before} {frame.format(secret)} {after}"

    masked = cleaned(mask(text).text)

    plain = cleaned(secret)
    assert plain in cleaned(text)
    assert plain not in masked
    assert plain[8:] not in masked or plain[8:] in before + after


@given(prose, places, disguised(passwords()), prose)
def test_no_password_survives_in_letters_that_are_not_seen(before, place, password, after):
    masked = mask(f"{before}\n{place.format(password)} {after}").text

    assert password not in masked
    assert cleaned(password) not in cleaned(masked)


@given(st.text())
def test_a_reading_says_where_each_of_its_characters_stands(text):
    for reading in readings(text):
        assert len(reading.text) == len(reading.at)
        assert list(reading.at) == sorted(reading.at)
        for char, at in zip(reading.text, reading.at, strict=True):
            assert 0 <= at < len(text)
            assert char in (text[at], " ") or char in unicodedata.normalize("NFKC", text[at]) + "-"


@given(st.text())
def test_what_was_cleaned_is_read_as_it_stands(text):
    once = cleaned(text)

    assert cleaned(once) == once


@given(secrets(), st.lists(prose, min_size=1, max_size=3))
def test_no_token_survives_in_json(secret, lines):
    document = json.dumps({"lines": lines, "note": f"use {secret} here", "n": 1})

    masked = json.loads(mask(document).text)

    assert secret not in masked["note"]
    assert masked["note"].startswith("use [masked:")
    assert masked["note"].endswith("] here")


@given(st.text("abdfghijlmnoquvxyz0123456789 \n,!()"))
def test_a_text_without_a_secret_comes_back_as_the_same_object(text):
    masked = mask(text)

    assert masked.text is text
    assert masked.kinds == ()


@given(st.text())
def test_any_text_can_be_masked(text):
    assert isinstance(mask(text).text, str)


@given(texts)
@example("password=ab\x07")
def test_a_text_as_it_is_kept_is_kept_as_it_is_and_steers_nothing(text):
    once = kept(text)
    twice = kept(once.text)

    assert twice.text is once.text
    assert twice.kinds == ()
    assert not re.search("[\x00-\x08\x0e-\x1b\x7f\x80-\x84\x86-\x9f\u202e\u2066]", once.text)


@given(texts)
def test_the_kinds_are_those_of_the_masks_that_were_put_in(text):
    masked = mask(text)

    found = set(re.findall(r"\[masked:([a-z0-9-]+)\]", masked.text))
    assert len(set(masked.kinds)) == len(masked.kinds)
    assert (masked.text == text) == (masked.kinds == ())
    assert found or not masked.kinds


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(prose, inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_masking_a_tree_twice_is_masking_it_once(tree):
    once = mask_tree(tree)

    assert mask_tree(once) == once


@given(
    secrets(),
    st.recursive(st.none(), lambda inner: st.lists(inner) | st.dictionaries(prose, inner)),
)
def test_no_token_survives_in_a_tree(secret, tree):
    masked = mask_tree({"a": [tree, {"b": f"with {secret}"}], "password": secret})

    assert secret not in json.dumps(masked)


UNITS = [
    "password",
    "token=",
    "token=a.b ",
    "password=a1",
    "password|a1",
    "passphrase: abcd abcd abcd abcd ",
    "eyJ-",
    "eyJabcdefgh.",
    "-----BEGIN PRIVATE KEY-----",
    "-----",
    "://:",
    "://a:b",
    "sk-proj-",
    "password='",
    'password="a',
    "authorization: ",
    "bearer a1",
    "[masked:aws-key]",
    "mysql ",
    "cookie: a=",
    "0/1234567890:",
    "a1b2c3d4",
    "password is ",
    "password for x ",
    "MNO.",
    "password: a | a ",
    "SG.a",
    "AKIA",
    " ",
    "pw=",
    "psk=",
    "密码是",
    "密码\uff1a",
    "mysql -p ",
    "mysql a -b ",
    'login "a" ',
    "grant a to ",
    "create user a ",
    "redis-cli a ",
    "echo a1",
    "-u a:",
    "machine a.a.a",
    "backup codes: a1b2-c3d4 ",
    "a:*:",
    "a\u200b",
    "\x1b[",
    "\x1b]",
    "\x9d",
    "\x1bP",
    "\x1b(",
    "\uff47\uff48p_",
    "xghp_\u200b",
]


@pytest.mark.parametrize("unit", UNITS)
def test_eight_times_the_text_takes_about_eight_times_the_work(unit):
    """Quadratic patterns would take sixty-four times, in each try; the sizes are 8 and 64 KB."""

    def work(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        start = time.process_time()
        mask(text)
        return time.process_time() - start

    assert any(work(64_000) < 24 * max(work(8_000), 0.0005) for _ in range(3))


ONE_LINE = re.compile(r"(?:[^\s;]|;(?! ))*")


@pytest.mark.parametrize("unit", ["pw=", "psk=", "token=", "password="])
def test_a_name_that_is_its_own_value_costs_little_more_than_reading_the_value(unit):
    """Linear is not enough: every name looks at the 200 characters that stand behind it."""
    text = unit * 8_000

    def taken(work) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    def read() -> None:
        for at in range(0, len(text), len(unit)):
            ONE_LINE.match(text, at, at + 200)

    assert any(taken(lambda: mask(text)) < 3.5 * taken(read) for _ in range(5))


@given(texts)
def test_what_is_left_stood_in_the_text_in_the_same_order(text):
    """Masking shows nothing new, and nothing twice: what can be read is never more than before."""
    position = 0
    for piece in re.split(r"\[masked:[a-z0-9-]{1,30}\]", mask(text).text):
        found = text.find(piece, position)
        assert found >= 0
        position = found + len(piece)
