"""A secret comes in on every way there is; on none of them does it reach the disk, or an answer."""

import json
import logging

import pytest
from in_process import ask
from refusals import refusal
from secret_corpus import TOKENS
from verb_world import every_byte_below

from yaadwatch import places
from yaadwatch.api import codec
from yaadwatch.api.operations import BY_NAME
from yaadwatch.daemon import supervisor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.projects import exporting
from yaadwatch.recall import recall
from yaadwatch.remember import curate, remember
from yaadwatch.remember import inject as remember_inject
from yaadwatch.sessions import sessions
from yaadwatch.text import privacy
from yaadwatch.workspace.workspace import Call

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "Tr0ub" + "4dor-and-3"
SAID = f"The token is {TOKEN} and password: {PASSWORD}"


@pytest.fixture
def one(repo):
    return repo.remember("Tokens are rotated monthly")


def inject(repo, nodes, edges=()):
    asked = codec.message(BY_NAME["inject"].request, {"nodes": list(nodes), "edges": list(edges)})
    return remember_inject.inject(repo.home, repo.call, asked)


def agent(repo):
    return Call(folder=repo.path, origin="agent:claude", session="s1")


def in_pages(repo):
    folder = repo.path.parent / "pages"
    folder.mkdir()
    (folder / "a.md").write_text(f"---\nname: a\nid: a\n---\n\n{SAID}\n")
    answer = ask(repo, "import", folder)
    for path in repo.store.parent.glob("imports/*"):  # byte for byte what the person's files were
        path.unlink()
    return answer


def in_lines(repo, one):
    path = repo.path.parent / "out.jsonl"
    ask(repo, "export", path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    node = next(line for line in lines if line.get("id") == one)
    path.write_text(
        "".join(f"{json.dumps(row)}\n" for row in [*lines, node | {"id": "a", "text": SAID}])
    )
    answer = ask(repo, "import", path)
    path.unlink()
    return answer


def noted(repo):
    begun = sessions.session_start(repo.home, agent(repo), name=SAID)
    sessions.session_note(repo.home, agent(repo), text=SAID)
    return begun, sessions.session_end(repo.home, agent(repo))


def logged(repo):
    handlers = supervisor.begin(repo.store.parent / "log.jsonl", privacy.mask_tree, echo=None)
    try:
        logging.getLogger("yaadwatch.test").warning("something", extra={"why": SAID})
    finally:
        supervisor.end(handlers)


WAYS = {
    "pages": lambda repo, one: in_pages(repo),
    "lines": in_lines,
    "a session, its name and its note": lambda repo, one: noted(repo),
    "the log": lambda repo, one: logged(repo),
    "remember": lambda repo, one: repo.remembered(SAID),
    "remember for the user": lambda repo, one: repo.remembered(SAID, scope="user"),
    "remember under a key": lambda repo, one: repo.remembered(SAID, key="token"),
    "new words under a key": lambda repo, one: [
        repo.remembered("There is a token", key="token"),
        repo.remembered(SAID, key="token"),
    ],
    "more words": lambda repo, one: repo.remembered(f"Tokens are rotated monthly: {SAID}"),
    "an agent": lambda repo, one: remember.remember(repo.home, agent(repo), text=SAID),
    "tags": lambda repo, one: repo.remembered("A token", tags=[TOKEN]),
    "attributes": lambda repo, one: repo.remembered(
        "A token", attributes={"password": PASSWORD, TOKEN: 1, "deep": [{"is": SAID}]}
    ),
    "update": lambda repo, one: repo.edit(one, SAID),
    "tag": lambda repo, one: curate.tag(repo.home, repo.call, id=one, add=[TOKEN]),
    "untag": lambda repo, one: curate.tag(repo.home, repo.call, id=one, remove=[TOKEN]),
    "forget": lambda repo, one: repo.forget(one, SAID),
    "link": lambda repo, one: repo.link(
        one, "led_to", repo.remember("Another"), attributes={"why": SAID}
    ),
    "inject": lambda repo, one: inject(
        repo,
        [{"id": "a", "text": SAID, "tags": [TOKEN], "attributes": {"password": PASSWORD}}],
        [{"from": "a", "kind": "led_to", "to": one, "attributes": {"why": SAID}}],
    ),
    "an agent file": lambda repo, one: [
        repo.write("CLAUDE.md", f"# Rules\n\n- {SAID}\n"),
        repo.sync(),
        (repo.path / "CLAUDE.md").unlink(),
        *[copy.unlink() for copy in repo.store.parent.glob("snapshots/*")],
    ],
    "the name of a branch": lambda repo, one: [
        repo.git("checkout", "-q", "-b", f"use-{TOKEN}"),
        repo.write("CLAUDE.md", "# Rules\n\n- Be brief\n"),
        repo.sync(),
    ],
    "a question": lambda repo, one: recall.recall(repo.home, repo.call, query=SAID),
}


SHORT_TOKEN = "glpat-" + "a1b2c3d4e5f6g7h8i9j0"


@pytest.mark.parametrize(
    "ask",
    [
        lambda repo, one: repo.remembered("A rule", kind=SHORT_TOKEN),
        lambda repo, one: repo.link(one, SHORT_TOKEN, repo.remember("Another")),
    ],
)
def test_a_kind_that_is_a_secret_is_refused(repo, one, ask):
    with pytest.raises(YaadError, match="looks like a secret") as refused:
        ask(repo, one)

    assert refused.value.code is Code.BAD_REQUEST
    assert SHORT_TOKEN.encode() not in every_byte_below(repo.store.parent)


@pytest.mark.parametrize("way", WAYS)
def test_no_secret_gets_in(way, repo, one):
    answer = WAYS[way](repo, one)

    stored = every_byte_below(places.data_folder(), repo.store.parent)
    told = json.dumps(answer, default=str)
    for secret in (TOKEN, PASSWORD):
        assert secret.encode() not in stored
        assert secret not in told


@pytest.mark.parametrize(
    "ask",
    [
        lambda repo: repo.remembered("A token", key=TOKEN),
        lambda repo: inject(repo, [{"id": "a", "text": "A token", "key": TOKEN}]),
        lambda repo: inject(repo, [{"id": TOKEN, "text": "A token"}]),
    ],
    ids=["key", "key in a batch", "id in a batch"],
)
def test_what_must_stay_as_it_is_is_refused_when_it_is_a_secret(ask, repo):
    error = refusal(ask, repo)

    assert error.code is Code.BAD_REQUEST
    assert TOKEN not in f"{error.message} {error.hint}"
    assert repo.memories() == []


def test_a_conflict_tells_the_words_without_their_secret(repo):
    repo.remember(SAID, key="token")

    error = refusal(repo.remember, "Something else", key="token", expected_version=7)

    assert "[masked:github-token]" in error.message
    assert TOKEN not in error.message


def test_masks_are_what_the_index_knows(repo):
    found = repo.remember(SAID)

    results = recall.recall(repo.home, repo.call, query="masked github token")["results"]
    assert [row["id"] for row in results] == [found]


def test_the_name_of_an_unknown_table_is_told_and_kept_by_nothing(repo):
    repo.add()
    path = repo.path.parent / "out.jsonl"
    ask(repo, "export", path)
    with path.open("a") as stream:
        for token in TOKENS.values():
            stream.write(json.dumps({"table": token}) + "\n")

    answer = ask(repo, "import", path)

    assert answer["counts"]["?"] == {"left_out": len(TOKENS)}
    with repo.db() as db:
        db.backup(repo.path / "copy.db")
    kept = (repo.path / "copy.db").read_bytes() + json.dumps(answer).encode()
    assert [name for name, token in TOKENS.items() if token[:40].encode() in kept] == []


def test_no_text_of_an_import_is_kept_in_memory_after_it(repo):
    repo.add()
    repo.remember("Deploys go through the ship")
    path = repo.path.parent / "out.jsonl"
    ask(repo, "export", path)

    ask(repo, "import", path)

    kept = [one for one in vars(exporting).values() if hasattr(one, "cache_info")]
    assert [
        one for one in kept if one.cache_info().currsize and one.__module__ == exporting.__name__
    ] == []
