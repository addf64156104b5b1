"""Memories of the user's own: they hold in every project, and need none."""

import dataclasses
from functools import partial

import pytest
from refusals import refusal
from verb_world import every_byte_below

from yaadwatch import places
from yaadwatch.db import nodes
from yaadwatch.model.errors import Code
from yaadwatch.projects import exporting, importing, verifying
from yaadwatch.recall import recall, walks
from yaadwatch.remember import curate, edit, links, remember
from yaadwatch.workspace.workspace import Call

SHORT = "Answer in short sentences, and in English"
LIKED = "I like examples before rules"


@pytest.fixture
def own(repo):
    """Return the id of a memory of the user's own, remembered inside a project."""
    return repo.remembered(SHORT, scope="user")["id"]


@pytest.fixture
def nowhere(world):
    """Return a call from a folder that is in no repository."""
    folder = world.folder / "nowhere"
    folder.mkdir()
    return Call(folder=folder, origin="cli")


def of_store(db):
    return sorted(node.text for node in db.read(nodes.batch, after="", limit=100, archived=False))


class TestWhereItIs:
    def test_a_memory_of_the_users_own_is_in_the_user_store_alone(self, repo):
        answer = repo.remembered(SHORT, scope="user")

        assert answer["scope"] == "user"
        assert answer["decision"] == "new"
        assert answer["anchors"] == []
        assert of_store(repo.home.user) == [SHORT]
        assert repo.memories() == []

    def test_what_is_in_neither_store_is_said_to_be_in_neither(self, repo, own):
        told = refusal(repo.show, "12345678")

        assert (told.code, told.message) == (
            Code.NOT_FOUND,
            "No memory of this project, and none of your own, has the id, or the key, 12345678.",
        )

    def test_it_needs_no_project(self, world, nowhere):
        said = remember.remember(world.home, nowhere, text=SHORT, scope="user")
        again = remember.remember(world.home, nowhere, text=f"- {SHORT}.", scope="user")

        assert again["id"] == said["id"]
        assert again["decision"] == "same"
        assert of_store(world.home.user) == [SHORT]

    def test_what_is_said_for_the_project_is_not_taken_for_it(self, repo, own):
        said = repo.remembered(SHORT)

        assert said["decision"] == "new"
        assert said["scope"] == "project"
        assert of_store(repo.home.user) == [SHORT]
        assert repo.memories() == [SHORT]

    def test_it_survives_a_restart(self, repo, own):
        repo.world.reopen()

        assert repo.show(own)["text"] == SHORT

    def test_files_are_refused_for_it_because_it_holds_everywhere(self, repo):
        for given in ({"files": ["src/net.py"]}, {"symbols": ["fetch_with_retry"]}):
            refused = refusal(repo.remembered, "Retries", scope="user", **given)

            assert refused.code is Code.BAD_REQUEST
            assert "--scope project" in refused.hint
        assert of_store(repo.home.user) == []

    def test_a_path_in_its_words_anchors_nothing(self, repo):
        answer = repo.remembered("Look at src/net.py when the network fails", scope="user")

        assert answer["anchors"] == []

    def test_secrets_in_it_are_masked(self, repo):
        token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zB9dF1hJ3lN5"
        answer = repo.remembered(f"My token is {token}", scope="user", tags=[token])
        repo.edit(answer["id"], f"My token is still {token}")

        assert answer["masked"] == ["github-token"]
        assert token.encode() not in every_byte_below(places.data_folder())

    def test_no_agent_file_carries_it(self, repo, own):
        repo.write("CLAUDE.md", "# Rules\n\n- Be brief\n")
        repo.add(mode="inline")
        repo.remembered("Use tabs in Go files", tier=1)
        repo.remembered(LIKED, scope="user", tier=1, pin=True)
        repo.sync()

        assert "Use tabs in Go files" in repo.read("CLAUDE.md")
        assert LIKED not in repo.read("CLAUDE.md")
        assert SHORT not in repo.read("CLAUDE.md")


class TestOneAtATime:
    def test_every_verb_finds_it_by_its_id_from_inside_a_project(self, repo, own):
        assert repo.show(own[-8:])["scope"] == "user"
        assert repo.pin(own)["pinned"]
        assert not repo.unpin(own)["pinned"]
        assert repo.confirm(own)["id"] == own
        assert repo.edit(own, LIKED, expected_version=4)["version"] == 5
        assert repo.forget(own)["archived"]
        assert not repo.restore(own)["archived"]
        assert of_store(repo.home.user) == [LIKED]

    def test_every_verb_finds_it_where_nothing_is_watched(self, world, nowhere):
        home = world.home
        own = remember.remember(home, nowhere, text=SHORT, scope="user")["id"]

        assert curate.show(home, nowhere, id=own[-8:])["text"] == SHORT
        assert curate.pin(home, nowhere, id=own)["pinned"]
        assert curate.confirm(home, nowhere, id=own)["id"] == own
        assert edit.update(home, nowhere, id=own, text=LIKED)["version"] == 4
        assert curate.forget(home, nowhere, id=own)["archived"]
        assert not curate.restore(home, nowhere, id=own)["archived"]
        assert curate.delete_node(home, nowhere, id=own)["deleted"]
        assert of_store(home.user) == []

    def test_where_nothing_is_watched_recall_says_how_to_ask_for_it(self, world, nowhere):
        error = refusal(recall.recall, world.home, nowhere, query=SHORT)

        assert error.code is Code.NOT_FOUND
        assert error.hint.startswith("Your own memories: yaadwatch recall --scope user WORDS.")
        remember.remember(world.home, nowhere, text=SHORT, scope="user")
        found = recall.recall(world.home, nowhere, query=SHORT, scope="user")["results"]
        assert [result["text"] for result in found] == [SHORT]

    def test_where_nothing_is_watched_an_unknown_id_is_told_with_the_reason(self, world, nowhere):
        refused = refusal(curate.show, world.home, nowhere, id="0123456789")

        assert refused.code is Code.NOT_FOUND
        assert "not in a git repository" in refused.message

    def test_the_project_comes_first(self, repo, world):
        shared = "0000-same-end"
        with repo.home.space(repo.call) as space:
            mine = repo.remember("Something of the project")
            node = dataclasses.replace(
                space.db.read(nodes.get, mine), id=shared, text="Of the project", text_hash="1"
            )
            space.db.write(nodes.insert, node)
        repo.home.user.write(
            nodes.insert,
            dataclasses.replace(node, scope="user", text="Of the user", text_hash="2"),
        )

        assert repo.show(shared)["text"] == "Of the project"
        assert repo.show("same-end")["text"] == "Of the project"

    def test_an_id_that_is_nowhere_is_told_as_before(self, repo, own):
        refused = refusal(repo.show, "ffffffffffff")

        assert refused.code is Code.NOT_FOUND
        assert "ffffffffffff" in refused.message

    def test_another_version_is_a_conflict_that_says_how_it_reads_now(self, repo, own):
        repo.edit(own, LIKED)

        refused = refusal(repo.edit, own, SHORT, expected_version=1)

        assert refused.code is Code.CONFLICT
        assert "version 2, not 1" in refused.message
        assert LIKED in refused.message

    def test_forgotten_from_one_project_it_is_forgotten_in_all(self, repo, own, world):
        other = world.repo("other")
        other.add()

        repo.forget(own)

        assert other.show(own)["archived_at"] is not None


class TestRelations:
    def test_two_of_the_users_own_can_be_linked_and_walked(self, repo, own):
        liked = repo.remembered(LIKED, scope="user")["id"]

        made = repo.link(liked, "depends_on", own)
        walked = walks.traverse(repo.home, repo.call, id=liked)
        around = walks.subgraph(repo.home, repo.call, id=own)
        ended = repo.unlink(liked, "depends_on", own)

        assert made["made"]
        assert {row["id"] for row in walked["nodes"]} == {own, liked}
        assert {row["id"] for row in around["nodes"]} == {own, liked}
        assert ended["ended"]

    def test_no_relation_crosses_stores(self, repo, own):
        rule = repo.remember("Use tabs in Go files")

        for start, end in ((own, rule), (rule, own)):
            for act in (repo.link, repo.unlink):
                refused = refusal(act, start, "depends_on", end)

                assert refused.code is Code.REFUSED
                assert own[-8:] in refused.message
                assert rule[-8:] in refused.message
        assert repo.show(own)["edges"] == []

    def test_numbers_of_edges_are_those_of_the_users_own_where_nothing_is_watched(
        self, repo, own, nowhere
    ):
        liked = repo.remembered(LIKED, scope="user")["id"]
        number = repo.link(liked, "depends_on", own)["edge"]

        inside = refusal(links.close_link, repo.home, repo.call, edge=number)
        ended = links.close_link(repo.home, nowhere, edge=number)

        assert inside.code is Code.NOT_FOUND
        assert ended["ended"]


@pytest.mark.parametrize(
    "ask",
    [
        verifying.verify,
        exporting.compact,
        exporting.backup,
        partial(exporting.export, format="jsonl"),
        importing.list_imports,
    ],
)
def test_where_no_project_is_what_is_for_a_store_says_how_to_ask_for_ones_own(world, nowhere, ask):
    error = refusal(ask, world.home, nowhere)

    assert error.code is Code.NOT_FOUND
    assert error.hint.startswith("For your own store: --user. Name a folder")
    ask(world.home, nowhere, user=True)


def test_pages_which_never_enter_the_user_store_are_not_sent_there(world, nowhere):
    part = importing.import_file(world.home, nowhere, format="markdown", data="")

    error = refusal(
        partial(importing.import_file, format="markdown", upload=part["upload"], last=True),
        world.home,
        nowhere,
    )

    assert "--user" not in error.hint
