"""A server that an editor starts in the home folder works on the workspace that is open."""

import contextlib

import pytest
from served import Log, Served, Wire

from yaadwatch.daemon import mcp
from yaadwatch.model.errors import Code, YaadError

HOME = "/home/ada"
WATCHED = ("/srv/shop", "/srv/web", "/srv/my shop")


class Project:
    id = "p"


class Projects:
    """A home that watches some folders."""

    def project_at(self, folder):
        if not str(folder).startswith(WATCHED):
            raise YaadError(Code.NOT_FOUND, f"{folder} is not watched.", hint="yaadwatch add")
        return Project(), None


class Verbs:
    def __init__(self, home):
        self.home = home

    def recall(self, home, call, *, query, **_):
        self.home.project_at(call.folder)
        return {"results": [{"id": "1", "text": f"{query} at {call.folder}", "kind": "bug"}]}

    def context(self, home, call, **_):
        self.home.project_at(call.folder)
        return {"brief": f"brief of {call.folder}"}


@pytest.fixture
def served(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", HOME)
    home = Projects()
    verbs = Verbs(home)
    found = {"recall": verbs.recall, "context": verbs.context}
    path = tmp_path / "run" / "daemon.sock"
    with Served(path, found, events=Log().events, home=home) as served:
        yield served


class Client:
    """An MCP client with a workspace; `roots` None: it does not answer when it is asked."""

    def __init__(self, wire, roots=("file:///srv/shop",), *, offers=True):
        self.wire = wire
        self.roots = roots
        self.questions = 0
        self.number = 0
        capabilities = {"roots": {"listChanged": True}} if offers else {}
        info = {"name": "cursor", "version": "1"}
        self.instructions = self.ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities=capabilities,
            clientInfo=info,
        )["instructions"]
        self.wire.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method, **params):
        self.number += 1
        self.wire.ask(self.number, method, **params)
        while True:
            frame = self.wire.hear()
            if frame.get("method") == "roots/list":
                self.questions += 1
                if self.roots is not None:
                    listed = [{"uri": uri} for uri in self.roots]
                    answer = {"jsonrpc": "2.0", "id": frame["id"], "result": {"roots": listed}}
                    self.wire.say(answer)
            else:
                assert frame["id"] == self.number
                return frame["result"]

    def recall(self, **more):
        result = self.ask("tools/call", name="yaad_recall", arguments={"query": "jose"} | more)
        return result["content"][0]["text"]


@contextlib.contextmanager
def client(served, roots=("file:///srv/shop",), cwd=HOME, **more):
    with Wire(served.path) as wire:
        wire.greet(speaks="mcp", cwd=cwd)
        yield Client(wire, roots, **more)


@pytest.mark.parametrize(
    ("cwd", "roots", "folder"),
    [
        (HOME, ["file:///srv/shop"], "/srv/shop"),
        ("/", ["file:///srv/shop/src"], "/srv/shop/src"),
        (HOME, ["file:///srv/my%20shop"], "/srv/my shop"),
        (HOME, ["file:///tmp", "file:///srv/web", "file:///srv/shop"], "/srv/web"),
        ("/opt/editor", ["file:///srv/web"], "/srv/web"),
        ("/srv/shop", ["file:///srv/web"], "/srv/shop"),
    ],
)
def test_work_is_done_in_the_workspace_unless_the_server_stands_in_a_project(
    served, cwd, roots, folder
):
    with client(served, roots, cwd) as one:
        assert f"jose at {folder}" in one.recall()
        assert f"jose at {folder}" in one.recall()
        assert one.questions == (cwd != folder)


def test_instructions_say_what_the_tools_work_on_and_take(served):
    with client(served) as one:
        assert "workspace" in one.instructions
        assert "`project`" in one.instructions
        assert "yaad_recall" in one.instructions
    with client(served, offers=False) as one:
        assert "`project`" in one.instructions
    with client(served, cwd="/srv/shop") as one:
        assert one.instructions.startswith("brief of /srv/shop")


def test_project_in_the_arguments_comes_before_the_workspace(served):
    with client(served) as one:
        assert "jose at /srv/web" in one.recall(project="/srv/web")
        assert "jose at /srv/my shop" in one.recall(project="file:///srv/my%20shop")


def test_brief_is_that_of_the_workspace(served):
    with client(served) as one:
        said = one.ask("tools/call", name="yaad_context", arguments={})

    assert "brief of /srv/shop" in said["content"][0]["text"]


def test_other_workspace_is_asked_for_when_it_changes(served):
    with client(served) as one:
        one.recall()
        one.roots = ["file:///srv/web"]
        one.wire.say({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})

        assert "jose at /srv/web" in one.recall()
        assert one.questions == 2


def test_client_without_roots_is_not_asked(served):
    with client(served, offers=False) as one:
        assert f"{HOME} is not watched" in one.recall()
        assert one.questions == 0


@pytest.mark.parametrize(
    "roots",
    [[], ["https://example.org"], ["file://elsewhere/srv/shop"], ["shop"], [7], None],
    ids=str,
)
def test_client_whose_roots_say_nothing_is_answered_all_the_same(served, monkeypatch, roots):
    monkeypatch.setattr(mcp, "ROOTS_TIME_S", 0.2)
    with client(served, roots) as one:
        assert f"{HOME} is not watched" in one.recall()
        assert one.questions == 1
        assert "jose at /srv/web" in one.recall(project="/srv/web")


def test_unwatched_workspace_is_named_so_that_it_can_be_added(served):
    with client(served, ["file:///srv/new"]) as one:
        assert "/srv/new is not watched" in one.recall()


def test_answer_to_a_question_that_was_not_asked_changes_nothing(served):
    with client(served) as one:
        for identity in ("yaadwatch-roots-1", "yaadwatch-roots-9", 4):
            answer = {"roots": [{"uri": "file:///srv/web"}]}
            one.wire.say({"jsonrpc": "2.0", "id": identity, "result": answer})

        assert "jose at /srv/shop" in one.recall()
