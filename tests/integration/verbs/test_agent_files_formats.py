"""Every agent's files: which are read, which get a block, and where a file of our own is put."""

import os

import pytest
from refusals import refusal
from verb_world import Tree, World, prepared

from bridges import rules
from bridges.registry import for_path
from bridges.rules import AGENTS, FIRST, RULES_FILES
from yaadwatch.db import database, history, projects
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import AgentFiles, Settings
from yaadwatch.sync import files, sharing
from yaadwatch.sync import tree as sync_tree
from yaadwatch.workspace import agent_files
from yaadwatch.workspace.workspace import Call

JOSE = "Always use jose for tokens"
CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
AGENTS_MD = "# For agents\n\nRun `make test` first.\n"


@prepared
def inline(world):
    """A repository with two inline files, synced once."""
    tree = world.repo()
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS_MD})
    tree.add(mode="inline")
    tree.sync()
    return tree


@prepared
def private(world):
    tree = world.repo()
    tree.commit("readme", {"README.md": "Hello.\n"})
    return tree


def has_rule(tree: Tree, path: str, rule: str = JOSE) -> bool:
    """Whether a rule stands in the block of a file."""
    _, begin, block = tree.read(path).partition("yaad:begin")
    return bool(begin) and f"- {rule}\n" in block


def used(world: World, *agents: str) -> None:
    """Leave in the home folder what these agents leave there."""
    for agent in AGENTS:
        if agent.name in agents:
            (world.folder / agent.homes[0]).mkdir(parents=True, exist_ok=True)


def everything(tree: Tree) -> dict[str, bytes]:
    """Every file of a tree but git's objects and our store."""
    left_out = {".yaad", "objects", "logs", "index"}
    return {
        str(path.relative_to(tree.path)): path.read_bytes()
        for path in tree.path.rglob("*")
        if path.is_file() and left_out.isdisjoint(path.relative_to(tree.path).parts)
    }


def as_daemon(tree: Tree, paths: frozenset[str] | None = None):
    """Sync as the daemon does, which heeds agents at work."""
    tree.settle()
    with tree.home.space(tree.call) as space:
        project, worktree = space.project.id, space.worktree.id
    return sync_tree.sync_tree(tree.home, project, worktree, paths)


class TestCarriers:
    """A file of our own reaches each agent that gets the rules by no block."""

    @pytest.mark.parametrize(
        "agent", [one for one in AGENTS if one.rules_file], ids=lambda a: a.name
    )
    def test_who_is_used_gets_one_that_it_reads_always_and_git_never_sees(
        self, world, private, agent
    ):
        used(world, agent.name)
        if agent.beside:
            private.write(f"{agent.rules_file.rpartition('/')[0]}/theirs.md", "- Be brief\n")
            private.commit("theirs")
        before = everything(private)
        private.add(mode="private")
        private.remember(JOSE, kind="convention")

        private.sync()

        data = (private.path / agent.rules_file).read_bytes()
        document = for_path(agent.rules_file).parse(data)
        assert [one.text for one in document.statements] == [JOSE]
        assert document.everywhere
        assert private.git("status", "--porcelain") == ""
        assert {one for one in RULES_FILES if (private.path / one).exists()} == {agent.rules_file}
        private.remove()
        assert everything(private) == before

    def test_without_its_folder_one_that_would_hide_a_file_is_not_made(self, world, private):
        used(world, "cline")
        private.write(".clinerules", "- Be brief\n")
        private.add(mode="private")
        private.remember(JOSE, kind="convention")

        private.sync()

        assert (private.path / ".clinerules").is_file()
        assert private.rows().keys().isdisjoint(RULES_FILES - {FIRST})

    def test_an_agent_that_reads_a_block_needs_none(self, world, inline):
        used(world, "claude", "cursor", "kiro")
        inline.remember(JOSE, kind="convention")

        inline.sync()

        assert has_rule(inline, "AGENTS.md")
        assert not any((inline.path / one).exists() for one in RULES_FILES)

    def test_what_an_agent_reads_anyway_is_not_said_again(self, world, private):
        used(world, "claude")
        private.write(".claude/rules/style.md", f"- {JOSE}\n")
        private.add(mode="private")
        private.remember(JOSE, kind="convention")
        private.remember("Deploy with make ship", kind="convention")

        private.sync()

        assert "make ship" in private.read(FIRST)
        assert JOSE not in private.read(FIRST)


class TestWhoGetsABlock:
    """Each agent is reached once where that can be."""

    def test_a_file_whose_agents_read_another_block_gets_none(self, world, inline):
        inline.write("GEMINI.md", "# Gemini\n")
        inline.write(".github/copilot-instructions.md", "# Copilot\n")
        inline.remember(JOSE, kind="convention")

        inline.sync()

        assert has_rule(inline, "GEMINI.md")
        assert inline.read(".github/copilot-instructions.md") == "# Copilot\n"

    def test_alone_it_gets_one(self, private):
        private.write(".github/copilot-instructions.md", "# Copilot\n")
        private.add(mode="inline")
        private.remember(JOSE, kind="convention")

        private.sync()

        assert has_rule(private, ".github/copilot-instructions.md")

    def test_a_file_that_takes_another_one_in_gets_none(self, private):
        private.write("CLAUDE.md", "# Ours\n\n@AGENTS.md\n\n- Be brief\n")
        private.write("AGENTS.md", AGENTS_MD)
        private.add(mode="inline")
        private.remember(JOSE, kind="convention")

        private.sync()

        assert has_rule(private, "AGENTS.md")
        assert "yaad:begin" not in private.read("CLAUDE.md")

    def test_when_the_other_one_goes_it_gets_one_after_all(self, private):
        private.write("CLAUDE.md", "# Ours\n\n@AGENTS.md\n\n- Be brief\n")
        private.write("AGENTS.md", AGENTS_MD)
        private.add(mode="inline")
        private.remember(JOSE, kind="convention")
        private.sync()
        private.write("CLAUDE.md", "# Ours\n\n- Be brief\n")

        private.sync()

        assert has_rule(private, "CLAUDE.md")
        files.files_release(private.home, private.call, path="CLAUDE.md")
        private.sync()
        assert private.read("CLAUDE.md") == "# Ours\n\n- Be brief\n"

    def test_what_holds_for_a_part_only_can_have_none(self, inline):
        inline.commit("web", {"web/AGENTS.md": "- Use Vue\n"})

        error = refusal(files.files_adopt, inline.home, inline.call, path="web/AGENTS.md")

        assert error.code is Code.REFUSED
        assert inline.read("web/AGENTS.md") == "- Use Vue\n"


class TestRuleFolders:
    """Files of rules, with a header that says for what they hold."""

    def test_what_is_typed_there_reaches_the_agents_that_do_not_read_it(self, inline):
        inline.write(".claude/rules/style.md", f"- {JOSE}\n")
        inline.sync()
        inline.git("add", ".claude/rules/style.md")

        inline.sync()

        assert has_rule(inline, "AGENTS.md")
        assert not has_rule(inline, "CLAUDE.md")
        assert inline.read(".claude/rules/style.md") == f"- {JOSE}\n"

    @pytest.mark.parametrize(
        ("path", "header"),
        [
            (".claude/rules/api.md", 'paths: "!src/api/**"'),
            (".kiro/steering/api.md", "inclusion: manual"),
        ],
    )
    def test_what_holds_at_times_that_no_words_name_is_kept_and_goes_nowhere(
        self, inline, path, header
    ):
        inline.write(path, f"---\n{header}\n---\n- {JOSE}\n")

        inline.sync()

        assert not has_rule(inline, "AGENTS.md")
        assert not has_rule(inline, "CLAUDE.md")
        assert inline.rows()[path].state == "synced"
        assert JOSE in told(inline)

    def test_of_more_than_are_read_none_is_taken_for_a_new_one(self, world):
        tree = world.repo()
        tree.write("AGENTS.md", AGENTS_MD)
        for number in range(agent_files.FILES_MAX + 2):
            tree.write(f".claude/rules/{number:03}.md", f"- Rule of number {number:03}\n")
        tree.add(mode="inline")
        tree.sync()
        (tree.path / ".claude/rules/000.md").unlink()

        tree.sync()

        assert f"Rule of number {agent_files.FILES_MAX}" in told(tree)
        assert tree.read("AGENTS.md") == AGENTS_MD

    def test_deleted_from_it_the_memory_is_archived(self, inline):
        inline.write(".claude/rules/style.md", f"- {JOSE}\n- Be brief\n")
        inline.sync()
        inline.write(".claude/rules/style.md", "- Be brief\n")

        inline.sync()

        assert not has_rule(inline, "AGENTS.md")
        assert JOSE not in told(inline)

    def test_back_again_it_reaches_the_others_in_the_same_sync(self, inline):
        inline.write(".claude/rules/style.md", f"- {JOSE}\n")
        inline.sync()
        inline.git("add", ".claude/rules/style.md")
        inline.sync()
        (inline.path / ".claude/rules/style.md").unlink()
        inline.sync()
        assert not has_rule(inline, "AGENTS.md")
        inline.write(".claude/rules/style.md", f"- {JOSE}\n")

        inline.sync()

        assert has_rule(inline, "AGENTS.md")

    def test_a_link_out_of_the_repository_is_not_read(self, inline, tmp_path):
        (tmp_path / "theirs").mkdir()
        (tmp_path / "theirs" / "x.md").write_text(f"- {JOSE}\n")
        (inline.path / ".claude").mkdir()
        (inline.path / ".claude" / "rules").symlink_to(tmp_path / "theirs")

        inline.sync()

        assert JOSE not in told(inline)


class TestFurtherDown:
    """AGENTS.md and its like in folders hold there."""

    def test_it_is_read_and_goes_nowhere(self, inline):
        inline.write("web/src/app.py", "def start():\n    pass\n")
        inline.write("web/AGENTS.md", "- `start` in src/app.py comes first\n")
        inline.commit("web")

        inline.sync()

        (memory,) = (row for row in recalled(inline) if "comes first" in row["text"])
        anchors = inline.show(memory["id"])["anchors"]
        assert {anchor["path"] for anchor in anchors} == {"web/src/app.py"}
        assert inline.read("CLAUDE.md") == CLAUDE

    def test_it_is_found_without_git_knowing_it_when_somebody_asks(self, inline):
        inline.write("web/AGENTS.md", f"- {JOSE}\n")

        files.files(inline.home, inline.call)
        inline.sync()

        assert "web/AGENTS.md" in inline.rows()

    def test_other_peoples_work_is_left_alone(self, inline):
        for folder in ("node_modules/x", "vendor/x", "third_party/x"):
            inline.write(f"{folder}/AGENTS.md", f"- {JOSE}\n")
        inline.commit("theirs")

        inline.sync()

        assert JOSE not in told(inline)

    def test_a_submodule_is_left_alone(self, inline, world):
        other = world.repo("other")
        other.commit("rules", {"AGENTS.md": f"- {JOSE}\n"})
        inline.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path))
        inline.commit("module")

        inline.sync()

        assert JOSE not in told(inline)
        assert other.read("AGENTS.md") == f"- {JOSE}\n"

    def test_deleted_it_says_nothing_any_more(self, inline):
        inline.commit("web", {"web/AGENTS.md": f"- {JOSE}\n"})
        inline.sync()
        inline.commit("no web", gone=["web/AGENTS.md"])

        inline.sync()

        assert JOSE not in told(inline)
        assert "web/AGENTS.md" not in shown(inline)


class TestTakenIn:
    """What a CLAUDE.md takes in with '@' is read too."""

    @pytest.fixture
    def taking(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", "See @docs/rules.md and @package.json\n\n- Be brief\n")
        tree.write("docs/rules.md", "- Never log tokens\n\nMore: @more.md\n")
        tree.write("docs/more.md", "- Ask before a release\n\n@rules.md\n")
        tree.write("package.json", '{"name": "x"}\n')
        tree.write("AGENTS.md", AGENTS_MD)
        tree.commit("rules")
        tree.add(mode="inline")
        tree.sync()
        return tree

    def test_what_stood_there_is_a_baseline(self, taking):
        assert {"Never log tokens", "Ask before a release"} <= told(taking)
        assert taking.read("AGENTS.md") == AGENTS_MD
        assert taking.rows().keys() >= {"docs/rules.md", "docs/more.md"}
        assert "package.json" not in taking.rows()

    def test_what_is_typed_there_reaches_the_others_and_is_not_repeated(self, taking):
        taking.write("docs/rules.md", f"- Never log tokens\n- {JOSE}\n\nMore: @more.md\n")

        taking.sync()

        assert has_rule(taking, "AGENTS.md")
        assert not has_rule(taking, "CLAUDE.md")

    def test_taken_in_later_its_old_words_are_a_baseline_all_the_same(self, taking):
        taking.write("docs/old.md", f"- {JOSE}\n")
        taking.write("CLAUDE.md", taking.read("CLAUDE.md") + "\n@docs/old.md\n")

        taking.sync()

        assert JOSE in told(taking)
        assert not has_rule(taking, "AGENTS.md")

    def test_no_longer_taken_in_it_is_an_agent_file_no_more(self, taking):
        taking.write("CLAUDE.md", "- Be brief\n")

        taking.sync()

        assert "docs/rules.md" not in taking.rows()
        assert "Never log tokens" not in told(taking)
        assert taking.read("docs/rules.md").startswith("- Never log tokens")

    def test_what_is_not_of_the_repository_is_not_read(self, taking, tmp_path):
        (tmp_path / "outside.md").write_text(f"- {JOSE}\n")
        paths = ("../outside.md", "/etc/passwd", ".git/config", "missing.md")
        taking.write("CLAUDE.md", "".join(f"@{path}\n\n" for path in paths) + "- Be brief\n")

        taking.sync()

        assert JOSE not in told(taking)
        assert taking.rows().keys().isdisjoint({*paths, "docs/rules.md"})


class TestNamed:
    """Files that a person names in the settings."""

    def test_they_are_read_like_any_other(self, tmp_path, monkeypatch):
        monkeypatch.setenv("YAAD_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("HOME", str(tmp_path))
        also = AgentFiles(also=("CONVENTIONS.md", "docs/rules/*.md"))
        world = World(tmp_path, settings=Settings(agent_files=also))
        tree = world.repo()
        tree.write("CONVENTIONS.md", "- Never log tokens\n")
        tree.write("docs/rules/a.md", "- Ask before a release\n")
        tree.add()
        tree.sync()
        tree.write("CONVENTIONS.md", f"- Never log tokens\n- {JOSE}\n")

        tree.sync()

        assert {"Never log tokens", "Ask before a release", JOSE} <= told(tree)
        assert tree.read(FIRST).endswith(f"- {JOSE}\n")
        world.close()

    def test_one_that_is_named_later_brings_a_baseline(self, inline, world):
        inline.write("CONVENTIONS.md", f"# Conventions\n\n- {JOSE}\n")
        inline.sync()
        world.settings = Settings(agent_files=AgentFiles(also=("CONVENTIONS.md",)))
        world.reopen()

        inline.sync()

        assert JOSE in told(inline)
        assert not has_rule(inline, "AGENTS.md")

    def test_what_is_no_path_is_told(self):
        with pytest.raises(YaadError, match=r"agent_files\.also: .*\.\./x"):
            agent_files.formats(("../x",))

    def test_a_format_that_is_new_here_brings_a_baseline(self, inline):
        """As after an upgrade: the file stood there before anybody looked for such files."""
        inline.write("GEMINI.md", f"- {JOSE}\n")
        with inline.home.space(inline.call) as space:
            space.db.write(
                database.put_meta, f"formats {space.worktree.id}", '["claude", "agents"]'
            )
            space.db.write(projects.drop_agent_files, space.worktree.id, ["GEMINI.md"])

        inline.sync()

        assert JOSE in told(inline)
        assert not has_rule(inline, "AGENTS.md")


class TestAtWork:
    """Files that an agent may edit are left alone while it is at work."""

    @pytest.fixture
    def agent(self, inline):
        """Have an agent ask something."""

        def ask():
            call = Call(folder=inline.path, origin="agent:claude")
            files.files(inline.home, call)

        return ask

    def test_nothing_is_written_until_it_is_idle(self, inline, agent):
        inline.remember(JOSE, kind="convention")
        agent()

        assert as_daemon(inline).waiting
        assert inline.read("CLAUDE.md") == CLAUDE
        assert "at work" in inline.rows()["CLAUDE.md"].reason
        inline.world.clock.wait(61)

        assert not as_daemon(inline).waiting
        assert has_rule(inline, "CLAUDE.md")

    def test_what_changes_meanwhile_says_that_it_still_is(self, inline, agent):
        inline.remember(JOSE, kind="convention")
        agent()
        inline.world.clock.wait(40)
        as_daemon(inline, frozenset({"src/net.py"}))
        inline.world.clock.wait(40)

        assert as_daemon(inline).waiting

    def test_of_two_sessions_both_are_waited_for(self, inline):
        inline.remember(JOSE, kind="convention")
        calls = [
            Call(folder=inline.path, origin="agent:claude", session=name)
            for name in ("", "one", "two")
        ]
        for call in calls:
            files.files(inline.home, call)
        inline.home.left(calls[1])

        assert as_daemon(inline).waiting

        inline.home.left(calls[2])
        as_daemon(inline)
        assert has_rule(inline, "CLAUDE.md")

    def test_who_asks_for_a_sync_gets_it(self, inline, agent):
        inline.remember(JOSE, kind="convention")
        agent()

        files.files_sync(inline.home, inline.call)

        assert has_rule(inline, "CLAUDE.md")

    def test_what_a_person_types_is_read_at_once_and_stays_typed(self, inline, agent):
        agent()
        inline.write("CLAUDE.md", f"{CLAUDE}- {JOSE}\n")
        as_daemon(inline)
        assert JOSE in told(inline)
        inline.world.clock.wait(61)

        as_daemon(inline)

        assert has_rule(inline, "AGENTS.md")

    @pytest.mark.parametrize("typed", [f"- {JOSE} only\n", "", f"- {JOSE}\n- Use uv, never pip\n"])
    def test_what_a_person_takes_back_meanwhile_stays_taken_back(self, inline, agent, typed):
        inline.remember(JOSE, kind="convention")
        as_daemon(inline)
        before = inline.read("CLAUDE.md")
        agent()
        inline.remember("Never push to main", kind="convention")
        assert as_daemon(inline).waiting
        inline.write("CLAUDE.md", before.replace(f"- {JOSE}\n", typed))
        as_daemon(inline)
        inline.write("CLAUDE.md", before)
        as_daemon(inline)
        inline.world.clock.wait(61)

        as_daemon(inline)

        for path in ("CLAUDE.md", "AGENTS.md"):
            block = inline.read(path).partition("yaad:begin")[2]
            rules = [line for line in block.splitlines() if line.startswith("- ")]
            assert sorted(rules) == [f"- {JOSE}", "- Never push to main"]

    def test_what_is_typed_into_a_new_file_meanwhile_is_no_baseline(self, inline, world):
        other = Tree(world, world.folder / "other")
        inline.remember(JOSE, kind="convention")
        inline.sync()
        inline.commit("with a block")
        inline.git("worktree", "add", "-q", "-b", "other", str(other.path))
        files.files(other.home, Call(folder=other.path, origin="agent:claude"))
        as_daemon(other)
        other.remember("Never log tokens", kind="convention")
        assert as_daemon(other).waiting
        typed = other.read("CLAUDE.md").replace(CLAUDE, f"{CLAUDE}- Use uv, never pip\n")
        other.write("CLAUDE.md", typed)
        as_daemon(other)
        world.clock.wait(61)

        as_daemon(other)

        assert has_rule(other, "AGENTS.md", "Use uv, never pip")

    def test_a_file_of_our_own_changes_at_once(self, private):
        private.add(mode="private")
        private.remember(JOSE, kind="convention")
        files.files(private.home, Call(folder=private.path, origin="agent:claude"))

        as_daemon(private)

        assert JOSE in private.read(FIRST)

    def test_with_no_time_set_nobody_is_waited_for(self, tmp_path, monkeypatch):
        monkeypatch.setenv("YAAD_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("HOME", str(tmp_path))
        world = World(tmp_path, settings=Settings(agent_files=AgentFiles(idle_s=0)))
        tree = world.repo()
        tree.write("CLAUDE.md", CLAUDE)
        tree.add(mode="inline")
        tree.remember(JOSE, kind="convention")
        files.files(tree.home, Call(folder=tree.path, origin="agent:claude"))

        as_daemon(tree)

        assert has_rule(tree, "CLAUDE.md")
        world.close()


class TestTold:
    """What a person can ask about all that."""

    def test_the_history_of_a_file_tells_both_ways_newest_first(self, inline):
        inline.remember(JOSE, kind="convention")
        inline.sync()
        inline.write("CLAUDE.md", inline.read("CLAUDE.md").replace("tabs", "spaces"))
        inline.sync()

        told = sharing.files_history(inline.home, inline.call, path="CLAUDE.md")

        whats = [entry["what"] for entry in told["entries"]]
        assert {"written", "copied", "read", "learned"} <= set(whats)
        assert [entry["at"] for entry in told["entries"]] == sorted(
            (entry["at"] for entry in told["entries"]), reverse=True
        )
        (learned,) = (e for e in told["entries"] if "spaces" in e["text"] and e.get("id"))
        assert inline.show(learned["id"])["text"] == "Use spaces in Go files"

    def test_each_agent_that_is_used_is_told_with_its_tokens(self, world, inline):
        used(world, "claude", "copilot", "gemini")
        inline.write(".claude/rules/api.md", "---\npaths: '!src/api/**'\n---\n- Be brief\n")
        inline.remember(JOSE, kind="convention")
        inline.sync()

        rows = {row["agent"]: row for row in files.files(inline.home, inline.call)["agents"]}

        assert rows.keys() == {"claude", "copilot", "gemini"}
        assert rows["claude"]["reads"] == ["CLAUDE.md"]
        assert rows["copilot"]["reads"] == ["AGENTS.md", "CLAUDE.md"]
        assert (rows["claude"]["blocks"], rows["copilot"]["blocks"]) == (1, 2)
        assert rows["copilot"]["ours"] == 2 * rows["claude"]["ours"] > 0
        assert rows["claude"]["tokens"] > rows["claude"]["ours"]
        assert rows["gemini"]["reads"] == []


@pytest.mark.parametrize(
    ("name", "listed", "found"),
    [
        ("CLAUDE.md", ["CLAUDE.md", "claude.md"], "CLAUDE.md"),
        ("CLAUDE.md", ["Claude.md", "x"], "Claude.md"),
        (".github/copilot-instructions.md", ["Copilot-Instructions.md"], None),
        ("CLAUDE.md", [], "CLAUDE.md"),
    ],
)
def test_a_file_has_the_name_that_its_folder_tells(name, listed, found):
    assert agent_files.spelled(name, listed) == (found or ".github/Copilot-Instructions.md")


def recalled(tree: Tree) -> list[dict[str, object]]:
    """Return every living memory with its id and text, as the file of this work tree shows it."""
    with tree.home.space(tree.call) as space:
        rows = space.db.read(
            lambda conn: list(
                conn.execute("SELECT id, text FROM nodes WHERE archived_ms IS NULL AND tier < 4")
            )
        )
        hidden = space.db.read(history.hidden_by_git, space.worktree.id)
    return [{"id": node, "text": text} for node, text in rows if node not in hidden]


def told(tree: Tree) -> set[str]:
    return {str(row["text"]) for row in recalled(tree)}


def shown(tree: Tree) -> set[str]:
    return {row["path"] for row in files.files(tree.home, tree.call)["files"]}


def test_a_name_that_is_no_text_keeps_nobody_from_the_others(inline):
    for name in (b"\xff.md", b"a\n\x1b[31m.md", b"fine.md"):
        path = inline.path / ".claude/rules" / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"- {JOSE}, says {len(name)}\n")
    (inline.path / ".claude/rules/link.md").symlink_to(os.fsdecode(b"\xff.md"))

    inline.sync()

    assert {f"{JOSE}, says 7", f"{JOSE}, says 10"} <= told(inline)
    assert f"{JOSE}, says 4" not in told(inline)
    assert "no UTF-8 text" in inline.rows()[".claude/rules/link.md"].reason


def test_one_that_includes_a_file_further_down_hides_what_it_hides(inline):
    """Claude Code reads CLAUDE.md then, and not the AGENTS.md at the top."""
    inline.write("docs/AGENTS.md", "- Be brief\n")
    inline.write("CLAUDE.md", "@docs/AGENTS.md\n")
    inline.remember(JOSE, kind="convention")

    inline.sync()

    assert has_rule(inline, "AGENTS.md")
    assert has_rule(inline, "CLAUDE.md")


def test_what_many_rule_files_say_is_looked_up_once_each(inline, monkeypatch):
    """However many there are, a sync reads one row for a file, and asks once who reads it."""
    for number in range(60):
        inline.write(f".claude/rules/r{number}.md", f"- Say {number} twice\n")
    inline.sync()
    inline.sync()
    asked = []
    whole = projects.agent_files_of_worktree
    counted = rules.read_by
    monkeypatch.setattr(
        projects, "agent_files_of_worktree", lambda *a: asked.append("rows") or whole(*a)
    )
    monkeypatch.setattr(rules, "read_by", lambda *a: asked.append("readers") or counted(*a))

    inline.sync()

    assert asked.count("rows") < 12
    assert asked.count("readers") < 10 * len(AGENTS)


def hinted(tree, *paths):
    """Sync as the daemon does after a hint about these paths, once the files have settled."""
    tree.settle()
    with tree.home.space(tree.call) as space:
        project, worktree = space.project.id, space.worktree.id
    sync_tree.sync_tree(tree.home, project, worktree, frozenset(paths))


def test_a_file_further_down_that_git_does_not_track_is_read_once_a_hint_names_it(world):
    tree = world.repo()
    tree.add()
    tree.sync()
    tree.write("web/CLAUDE.md", "# Rules\n\n- Use Zod for every form\n")

    hinted(tree, "web/CLAUDE.md")

    assert tree.memories() == ["Use Zod for every form"]
    tree.write("web/CLAUDE.md", "# Rules\n\n- Use Valibot for every form\n")
    hinted(tree, "web/CLAUDE.md")
    assert tree.memories() == ["Use Valibot for every form"]


def test_one_that_git_ignores_is_not_read_though_a_hint_names_it(world):
    tree = world.repo()
    tree.commit("ignored", {".gitignore": "out/\n"})
    tree.add()
    tree.sync()
    tree.write("out/CLAUDE.md", "# Rules\n\n- Use Zod for every form\n")

    hinted(tree, "out/CLAUDE.md")

    assert tree.memories() == []
