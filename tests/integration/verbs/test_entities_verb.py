"""What the words of a memory name besides files."""

import pytest

from yaadwatch.db import nodes

JOSE = "jose (npm package)"


@pytest.fixture
def shop(repo):
    repo.commit("uses jose", {"package.json": '{"dependencies": {"jose": "^5"}}'})
    return repo


def ends(tree, id, kind):
    return sorted(row["text"] for row in tree.show(id)["edges"] if row["kind"] == kind)


def things(tree):
    with tree.db() as db:
        return sorted(node.text for node in db.read(nodes.of_kind, "entity", 1000))


def test_what_is_named_is_touched(shop):
    one = shop.remember("Sign tokens with jose, see https://example.org/jose, on port 8080")

    assert ends(shop, one, "touches") == ["https://example.org/jose", JOSE, "port 8080"]
    assert [row["symbol"] for row in shop.show(one)["anchors"]] == ["jose"]


def test_a_plain_capitalised_word_is_nothing(shop):
    one = shop.remember("The Server of Paris restarts the Queue on Mondays")

    assert ends(shop, one, "touches") == []
    assert things(shop) == []


def test_new_words_name_other_things(shop):
    one = shop.remember("Keys for jose are rotated monthly")

    shop.edit(one, "Keys are rotated monthly, on port 8080")

    assert ends(shop, one, "touches") == ["port 8080"]


def test_confirming_changes_nothing_of_it(shop):
    one = shop.remember("Sign tokens with jose, in src/net.py")
    before = ends(shop, one, "touches")

    shop.confirm(one)

    assert ends(shop, one, "touches") == before == [JOSE, "src/net.py"]


def test_a_thing_that_nothing_names_any_more_is_collected(shop):
    one = shop.remember("Sign tokens with jose")
    shop.edit(one, "Sign tokens by hand")
    shop.forget(one)
    with shop.db() as db:
        db.write(nodes.erase, [one])

    shop.upkeep()

    assert things(shop) == []


def test_memories_of_the_users_own_name_things_too(repo):
    one = repo.remembered("My mirror is https://pypi.example.org/simple/", scope="user")["id"]

    assert ends(repo, one, "touches") == ["https://pypi.example.org/simple"]
    assert things(repo) == []
