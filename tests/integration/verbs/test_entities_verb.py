"""What the words of a memory name besides files, and the other memories that name it."""

import pytest

from yaadwatch.db import nodes
from yaadwatch.model.queries import GivenNode
from yaadwatch.remember import inject
from yaadwatch.remember.write_batch import RARE_MAX, RELATED_MAX

JOSE = "jose (npm package)"


@pytest.fixture
def shop(repo):
    repo.write("package.json", '{"dependencies": {"jose": "^5"}}')
    repo.commit("uses jose")
    return repo


def ends(tree, id, kind):
    return sorted(row["text"] for row in tree.show(id)["edges"] if row["kind"] == kind)


def things(tree):
    with tree.db() as db:
        return sorted(node.text for node in db.read(nodes.of_kind, "entity", 1000))


def test_what_is_named_is_touched(shop):
    one = shop.remember("Sign tokens with jose, see https://example.org/jose, on port 8080")

    assert ends(shop, one, "touches") == ["https://example.org/jose", JOSE, "port 8080"]
    assert shop.show(one)["anchors"] == []


def test_a_plain_capitalised_word_is_nothing(shop):
    one = shop.remember("The Server of Paris restarts the Queue on Mondays")

    assert ends(shop, one, "touches") == []
    assert things(shop) == []


def test_memories_that_share_a_rare_thing_are_related(shop):
    first = shop.remember("Sign tokens with jose")
    second = shop.remember("Keys for jose are rotated monthly")

    assert ends(shop, second, "relates_to") == ["Sign tokens with jose"]
    assert ends(shop, first, "relates_to") == ["Keys for jose are rotated monthly"]
    edge = next(row for row in shop.show(second)["edges"] if row["kind"] == "relates_to")
    assert edge["attributes"]["shared"] == JOSE


def test_what_everything_names_relates_nothing(shop):
    """No hub: however many memories name it, each is related to a few."""
    memories = [shop.remember(f"jose has quirk number {number}") for number in range(12)]

    related = [len(ends(shop, one, "relates_to")) for one in memories]
    assert max(related) <= RARE_MAX
    assert related[RARE_MAX:] == [0] * (12 - RARE_MAX)


def test_one_memory_is_related_to_a_few_others_at_most(shop):
    for number in range(20):
        shop.remember(f"Service {number} is on port {8000 + number}")
    ports = " and ".join(f"port {8000 + number}" for number in range(12))

    one = shop.remember(f"The firewall opens {ports}")

    assert len(ends(shop, one, "relates_to")) == RELATED_MAX


def test_new_words_name_other_things(shop):
    first = shop.remember("Sign tokens with jose")
    second = shop.remember("Keys for jose are rotated monthly")

    shop.edit(second, "Keys are rotated monthly, on port 8080")

    assert ends(shop, second, "touches") == ["port 8080"]
    assert ends(shop, second, "relates_to") == []
    assert ends(shop, first, "relates_to") == []


def test_confirming_changes_nothing_of_it(shop):
    one = shop.remember("Sign tokens with jose, in src/net.py")
    before = ends(shop, one, "touches")

    shop.confirm(one)

    assert ends(shop, one, "touches") == before == [JOSE, "src/net.py"]


def test_said_twice_it_is_related_once(shop):
    shop.remember("Sign tokens with jose")
    for _ in range(2):
        one = shop.remember("Keys for jose are rotated monthly")

    assert ends(shop, one, "relates_to") == ["Sign tokens with jose"]
    assert ends(shop, one, "touches") == [JOSE]


def test_a_thing_that_nothing_names_any_more_is_collected(shop):
    one = shop.remember("Sign tokens with jose")
    shop.edit(one, "Sign tokens by hand")
    shop.forget(one)
    with shop.db() as db:
        db.write(nodes.erase, [one])

    shop.upkeep()

    assert things(shop) == []


def test_statements_of_a_persons_file_and_batches_are_related_to_nothing(world):
    tree = world.repo()
    tree.write("package.json", '{"dependencies": {"jose": "^5"}}')
    tree.write("CLAUDE.md", "# Rules\n\n- Sign tokens with jose\n- Rotate the keys of jose\n")
    tree.commit("uses jose")
    tree.add()
    given = [GivenNode(id="one", text="Never log what jose returns")]
    inject.inject(tree.home, tree.call, nodes=given)

    assert ends(tree, "one", "relates_to") == []
    assert ends(tree, "one", "touches") == [JOSE]


def test_memories_of_the_users_own_name_things_too(repo):
    one = repo.remembered("My mirror is https://pypi.example.org/simple/", scope="user")["id"]

    assert ends(repo, one, "touches") == ["https://pypi.example.org/simple"]
    assert things(repo) == []
