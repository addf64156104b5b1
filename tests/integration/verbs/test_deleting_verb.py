"""A memory that is deleted is gone with all that hangs on it, and nothing brings it back."""

import json

import pytest
from refusals import refusal
from verb_world import TABLES, table

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.remember import curate, inject, links

RULE = "Never push on a Friday, whatever the reason"


def delete(repo, id):
    return curate.delete_node(repo.home, repo.call, id=id)


def everything(repo):
    with repo.db() as db:
        return {name: table(db, name) for name in (*TABLES, "agreements", "agent_files")}


def test_it_is_gone_with_its_history_its_words_and_every_relation(repo):
    kept = repo.remember("Pagers are off at night")
    found = repo.remember()
    repo.link(kept, "depends_on", found)
    repo.link(found, "led_to", kept)
    repo.unlink(found, "led_to", kept)
    repo.forget(found, "it was never so")
    repo.restore(found)

    gone = delete(repo, found[-8:])

    assert (gone["deleted"], gone["id"]) == (True, found)
    assert gone["edges"] >= 3
    assert [edge["kind"] for edge in repo.show(kept, view="all")["edges"]] == ["learned_in"]
    left = everything(repo)
    for name in ("nodes", "node_versions", "edges", "file_watch", "stale_flags", "provenance"):
        assert found not in repr(left[name])
    assert "fetch_with_retry, in" not in repr(left["nodes_fts"])
    about = sorted(row for row in left["events"] if found in row)
    assert about[-1][1] == "node.erased"
    assert "never so" not in repr(about)
    assert all(isinstance(json.loads(row[-1]), dict) for row in about)


def test_deleting_what_is_not_there_is_no_error(repo):
    found = repo.remember()
    delete(repo, found)
    before = everything(repo)

    assert delete(repo, found) == {"deleted": False, "edges": 0}
    assert everything(repo) == before


def test_what_is_not_named_exactly_is_not_deleted(repo):
    one, _ = repo.remember("Pagers are off at night"), repo.remember("Alarms are on by day")

    assert refusal(delete, repo, one[:4]).code is Code.CONFLICT
    assert len(repo.memories()) == 2


@pytest.mark.parametrize("others", [["task-10"], ["task-10", "task-11"]], ids=len)
def test_deleting_again_deletes_nothing_that_begins_alike(repo, others):
    given = [GivenNode(id=one, text=f"About {one}") for one in ("task-1", "z", *others)]
    edges = [GivenEdge(from_=one, kind="is_a", to="z") for one in ("task-1", *others)]
    inject.inject(repo.home, repo.call, nodes=given, edges=edges)

    done = [curate.delete_node(repo.home, repo.call, id="task-1") for _ in range(2)]
    ended = links.delete_edge(repo.home, repo.call, id="task-1", kind="is_a", to="z")
    short = [curate.delete_node(repo.home, repo.call, id="z") for _ in range(2)]

    assert [one["deleted"] for one in done] == [True, False]
    assert ended["deleted"] == 0
    assert [(one["deleted"], one["edges"]) for one in short] == [(True, len(others)), (False, 0)]
    assert repo.memories() == [f"About {one}" for one in others]


def test_what_a_persons_own_file_says_is_not_deleted(world):
    repo = world.repo()
    repo.commit("rules", {"CLAUDE.md": f"# Rules\n\n- {RULE}\n"})
    repo.add()
    with repo.db() as db:
        found = db.read(lambda conn: conn.execute("SELECT node FROM provenance").get)

    with pytest.raises(YaadError, match=r"CLAUDE.md \(line 3\) still says this") as refused:
        delete(repo, found)
    assert refused.value.code is Code.REFUSED
    assert repo.memories() == [RULE]


def test_what_stands_in_a_block_leaves_it_first_and_old_bytes_do_not_bring_it_back(world):
    repo = world.repo()
    repo.commit("rules", {"CLAUDE.md": "# Rules\n\n- Run the linter before you push\n"})
    repo.add(mode="inline")
    found = repo.remember(RULE, kind="convention")
    repo.sync()
    assert RULE in repo.read("CLAUDE.md")
    repo.commit("the block")

    with pytest.raises(YaadError, match=r"stands in the block of CLAUDE\.md") as refused:
        delete(repo, found)
    assert refused.value.code is Code.REFUSED
    assert RULE in repo.memories()

    repo.forget(found)
    repo.sync()
    assert delete(repo, found)["deleted"]
    repo.sync()
    assert RULE not in repo.read("CLAUDE.md")
    repo.commit("without it")
    repo.git("checkout", "-q", "HEAD~1")
    assert RULE in repo.read("CLAUDE.md")
    repo.sync()
    repo.sync()
    assert RULE not in repo.memories()
