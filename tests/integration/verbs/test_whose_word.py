"""Each answer that holds the words of a memory says whose they are and where they hold."""

import json
from datetime import timedelta

import pytest
from test_review import agent

from yaadwatch.api.codec import message
from yaadwatch.api.frames import answer, encode
from yaadwatch.api.operations import BY_NAME
from yaadwatch.daemon.dispatch import VERBS


class Asked:
    """Ask operations by name, as an agent or a person; answers are JSON as on the wire."""

    def __init__(self, repo):
        self.repo = repo

    def __call__(self, operation, *, by="", **fields):
        call = agent(self.repo, by) if by else self.repo.call
        request = message(BY_NAME[operation].request, json.loads(json.dumps(fields)))
        found = VERBS[operation](self.repo.home, call, *[request] * bool(request.FIELDS))
        return json.loads(encode(answer(1, found)))["result"]


def memories_in(found):
    """Yield every part of an answer that has the words of a memory."""
    if isinstance(found, dict):
        if "text" in found and ("id" in found or "node" in found):
            yield found
        if "to_text" in found:
            yield {name.removeprefix("to_"): value for name, value in found.items()} | {
                name: found[f"to_{name}"] for name in ("by", "reach")
            }
        for name, value in found.items():
            if name != "proposed":
                yield from memories_in(value)
    elif isinstance(found, list):
        for one in found:
            yield from memories_in(one)


@pytest.fixture
def asked(world):
    repo = world.repo()
    repo.write("CLAUDE.md", "# Rules\n\n- Run the linter first\n- The config is in src/net.py\n")
    repo.commit("rules")
    repo.add(mode="read")
    return Asked(repo)


def test_each_operation_names_the_author_and_the_reach_of_each_memory(asked):
    a = asked("remember", by="codex", text="The API port is 9090", files=["src/net.py"])["id"]
    b = asked("remember", text="The API port is 8080", key="port", files=["src/net.py"])["id"]
    file = asked("recall", query="run the linter first")["results"][0]["id"]
    task = asked("task_update", by="codex", text="Move the port")["id"]
    asked("skill_add", by="codex", name="deploy", description="how to deploy", body="run it")
    session = asked("sessions")["sessions"][0]["id"]
    answers = {
        "recall": asked("recall", query="API port"),
        "show": asked("show", id=a),
        "claims": asked("claims"),
        "contradictions": asked("contradictions"),
        "review": asked("review"),
        "tasks": asked("tasks"),
        "skills": asked("skills"),
        "impact": asked("impact", file="src/net.py"),
        "link": asked("link", by="codex", id=a, kind="depends_on", to=b),
        "subgraph": asked("subgraph", id=a),
        "traverse": asked("traverse", id=a),
        "stats": asked("graph_stats"),
        "history": asked("history", id=a),
        "sessions": asked("sessions", id=session),
        "update": asked("update", by="codex", id=b, text="The API port is 7070"),
        "proposal": asked("review"),
        "dismiss": asked("decide", id=b, verdict="dismiss"),
        "undo": asked("decide", id=b, verdict="undo"),
        "approve": asked(
            "decide", id=b, verdict="approve", proposal=asked("review")["waiting"][0]["proposal"]
        ),
        "edit": asked("update", id=b, text="The API port is 6060"),
        "key": asked("remember", text="The API port is 5050", key="port"),
        "restore": asked("restore", id=b, version=1),
        "confirm": asked("confirm", id=a),
        "pin": asked("pin", id=a),
        "unpin": asked("unpin", id=a),
        "tag": asked("tag", id=a, add=["net"]),
        "statements": asked("files_statements"),
        "share": asked("files_share", path="CLAUDE.md"),
        "unlink": asked("unlink", id=a, kind="depends_on", to=b),
        "forget": asked("forget", id=a),
        "task": asked("task_update", id=task, state="done"),
        "delete": asked("delete_node", id=a),
    }
    asked.repo.git("mv", "src/net.py", "src/http.py")
    asked.repo.commit("Move net")
    c = asked("remember", text="Retries are in src/http.py", by="codex")["id"]
    answers["stale"] = asked("stale", all=True)
    answers["flagged"] = asked("remember", by="codex", text="The API port is 4040")
    answers["reanchor"] = asked("reanchor", all=True)
    asked.repo.world.clock.advance(timedelta(days=4000))
    answers["upkeep"] = asked("upkeep", dry_run=True)

    for name, found in answers.items():
        for row in memories_in(found):
            assert {"by", "unverified", "reach"} <= row.keys(), (name, row)
    for name in ("recall", "review", "tasks", "link", "unlink", "reanchor", "share", "upkeep"):
        assert [*memories_in(answers[name])], name
    assert {"by", "reach"} <= answers["history"].keys()
    assert {row["by"] for row in memories_in(answers["recall"])} >= {"agent codex", "person"}
    assert asked("show", id=c)["reach"]["scope"] == "project"
    assert file


def test_reach_names_the_file_the_folder_and_the_branch(asked):
    repo = asked.repo
    repo.commit("web", {"packages/web/CLAUDE.md": "# Web\n\n- The web port is 8080\n"})
    repo.write("CLAUDE.local.md", "# Mine\n\n- Use my own mirror\n")
    repo.sync()
    repo.write("src/draft.py", "def draft():\n    return 1\n")
    draft = asked("remember", text="draft returns one", files=["src/draft.py"])["id"]
    own = asked("remember", text="Prefer short names", scope="user")["id"]

    reach = {
        row["text"]: row["reach"]
        for row in (
            *asked("recall", query="web port")["results"],
            *asked("recall", query="my own mirror")["results"],
            asked("show", id=draft),
            asked("show", id=own),
        )
    }

    web = reach["The web port is 8080"]
    assert (web["folder"], web["file"]) == ("packages/web", "packages/web/CLAUDE.md")
    assert reach["Use my own mirror"]["personal"]
    assert reach["draft returns one"]["branch"] == repo.git("branch", "--show-current").strip()
    assert (reach["Prefer short names"]["scope"], reach["Prefer short names"]["personal"]) == (
        "user",
        True,
    )


@pytest.mark.parametrize("ignored_by", [".gitignore", ".git/info/exclude"])
@pytest.mark.parametrize("path", ["AGENTS.md", ".cursor/rules/mine.mdc", "GEMINI.md"])
def test_what_an_ignored_file_says_is_personal(asked, path, ignored_by):
    repo = asked.repo
    repo.write(path, "---\nalwaysApply: true\n---\n- Use my own mirror\n")
    repo.write(ignored_by, f"{path}\n")
    repo.sync()

    def is_personal():
        (row,) = asked("recall", query="my own mirror")["results"]
        return row["reach"]["personal"]

    assert is_personal()
    repo.write(ignored_by, "")
    repo.sync()
    assert not is_personal()


def test_what_a_shared_file_says_too_is_not_personal(asked):
    repo = asked.repo
    repo.write(".gitignore", "GEMINI.md\n")
    repo.write("GEMINI.md", "- Use our own mirror\n")
    repo.write("AGENTS.md", "- Use our own mirror\n")
    repo.sync()

    (row,) = asked("recall", query="our own mirror")["results"]
    assert row["reach"]["personal"] is None
