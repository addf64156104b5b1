"""What is masked, and what stays as it is: a corpus of secrets and of look-alikes."""

import json

import pytest
from secret_corpus import DRAWN, HEX, HUNTER, IN_PLACE, LOOK_ALIKES, TOKENS, body

from yaadwatch.text.privacy import mask, mask_tokens, mask_tree


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_of_a_provider_is_masked_and_its_neighbours_stay(name):
    token = TOKENS[name]

    masked = mask(f"Set up with {token} before the demo.")

    assert masked.text.startswith("Set up with ")
    assert masked.text.endswith(" before the demo.")
    assert token[-12:] not in masked.text
    assert "[masked:" in masked.text
    assert len(masked.kinds) == 1


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_in_a_name_is_masked_in_a_serialised_answer(name):
    path = f"src/{TOKENS[name]}"
    answer = {"id": "0199b1c2-7d3e-7f00-8a11-5c01f2e4ab37", "path": path, "text": f'in\n"{path}"'}

    line = mask_tokens(json.dumps(answer).encode())

    told = json.loads(line)
    assert TOKENS[name][-12:] not in line.decode()
    assert told["id"] == answer["id"]
    assert told["path"] == mask(path).text
    assert mask_tokens(line) == line


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_an_answer_without_a_secret_stays_as_it_is(name):
    line = json.dumps({"path": name, "commit": "f" * 40, "data": body(4000)}).encode()

    assert mask_tokens(line) is line


KEY_LINES = "\n".join(body(64) for _ in range(4))


@pytest.mark.parametrize(
    "label",
    [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
def test_a_private_key_is_masked_from_the_first_line_to_the_last(label, newline):
    armour = "-" * 5
    lines = [
        f"{armour}BEGIN {label}{armour}",
        *KEY_LINES.split("\n"),
        f"{armour}END {label}{armour}",
    ]

    masked = mask(f"before {newline.join(lines)} after")

    assert masked.text == "before [masked:private-key] after"


def test_a_private_key_that_was_cut_short_is_masked_and_the_text_after_it_stays():
    armour = "-" * 5

    masked = mask(
        f"{armour}BEGIN PRIVATE KEY{armour}\n{KEY_LINES}\n\nThen restart the service, please."
    )

    assert masked.text == "[masked:private-key]\n\nThen restart the service, please."


def test_the_private_part_of_a_putty_key_is_masked():
    lines = "\n".join(body(64) for _ in range(3))

    masked = mask(f"Private-Lines: 3\n{lines}\nPrivate-MAC: {body(40, HEX)}")

    assert masked.text.startswith("Private-Lines: 3\n[masked:private-key]")
    assert "Private-MAC:" in masked.text


def test_what_belongs_to_the_id_of_a_key_is_masked_with_it():
    key = TOKENS["aws access key"]

    assert mask(f"{key} / {body(40)}").text == "[masked:aws-key] / [masked:aws-key]"
    assert mask(f'"{key}",\n"{body(40)}"').text == '"[masked:aws-key]",\n"[masked:aws-key]"'
    for said in ("Sign with {} and secret {} here", "Use {} with {} for the bucket", "{} ({})"):
        masked = said.format("[masked:aws-key]", "[masked:aws-key]")
        assert mask(said.format(key, DRAWN)).text == masked
        assert mask(said.format(DRAWN, key)).text == masked


@pytest.mark.parametrize(("place", "secret"), IN_PLACE)
def test_a_secret_is_masked_where_secrets_stand_and_the_words_around_it_stay(place, secret):
    before, after = place.format("\0").split("\0")

    masked = mask(place.format(secret))

    assert masked.text.startswith(before)
    assert masked.text.endswith(after)
    assert secret not in masked.text
    assert masked.text[len(before) : len(masked.text) - len(after)].startswith("[masked:")
    assert masked.kinds


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_like_a_secret_stays_as_it_is(text):
    masked = mask(text)

    assert masked.text is text
    assert masked.kinds == ()


@pytest.mark.parametrize("beside", [body(40, HEX), "src/config/parser/ReadsEveryKeyOfAWS1.go"])
def test_a_commit_or_a_path_beside_the_id_of_a_key_is_no_secret(beside):
    masked = mask(f"The id {TOKENS['aws access key']} is read at {beside} only.")

    assert masked.text == f"The id [masked:aws-key] is read at {beside} only."


def test_a_text_is_masked_in_every_place_and_each_kind_is_named_once():
    github = TOKENS["github classic"]
    text = f"push with {github}, pull with {github}; db password is {HUNTER}"

    masked = mask(text)

    assert masked.text == (
        "push with [masked:github-token], pull with [masked:github-token];"
        " db password is [masked:password]"
    )
    assert masked.kinds == ("github-token", "password")


def test_a_token_under_a_name_keeps_the_kind_of_the_token():
    assert (
        mask(f"GITHUB_TOKEN={TOKENS['github classic']}").text
        == "GITHUB_TOKEN=[masked:github-token]"
    )


def test_a_mask_that_names_a_secret_does_not_make_what_follows_one():
    text = f"[masked:password]: {HUNTER} is the name of the game"

    assert mask(text).text == text


def test_a_value_with_a_mask_inside_is_masked_whole():
    assert mask(f"PASSWORD=[masked:aws-key]{HUNTER}").text == "PASSWORD=[masked:password]"


def test_the_values_of_a_tree_are_masked_and_its_shape_stays():
    token = TOKENS["npm"]
    tree = {
        "op": "remember",
        "args": ["publish with", token, 3, None, True, 1.5],
        "env": {"DB_PASSWORD": HUNTER, "TOKEN": "$TOKEN", "HOME": "/root"},
    }

    assert mask_tree(tree) == {
        "op": "remember",
        "args": ["publish with", "[masked:npm-token]", 3, None, True, 1.5],
        "env": {"DB_PASSWORD": "[masked:password]", "TOKEN": "$TOKEN", "HOME": "/root"},
    }


def test_a_secret_used_as_a_key_is_masked():
    assert mask_tree({TOKENS["npm"]: 1}) == {"[masked:npm-token]": 1}
