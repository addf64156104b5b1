"""Agent files and the graph, both ways: real files, real git, the real store."""

import shutil
import time
from random import Random

import pytest
from verb_world import Tree, prepared

from bridges.rules import FIRST
from yaadwatch.db import authority
from yaadwatch.model.errors import YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.remember import remember
from yaadwatch.workspace.workspace import Call

CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
AGENTS = "# For agents\n\nRun `make test` first.\n"
CURSOR = "- Be brief\n"


@prepared
def tree(world):
    """A repository whose three agent files are inline."""
    tree = world.repo()
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS, ".cursorrules": CURSOR})
    tree.add(mode="inline")
    return tree


def block_of(tree, path):
    """Return the rules in the block of a file, without their markers."""
    text = tree.read(path)
    if "yaad:begin" not in text:
        return []
    inner = text.split("yaad:begin")[1].split("<!-- yaad:end")[0]
    return [line[2:] for line in inner.splitlines() if line.startswith("- ")]


def whose_word(tree, text):
    """Return whose word the living memory with a text is: yours, an agent's, or git's."""
    (node,) = [one for one in tree.living() if one.text == text]
    with tree.db() as db:
        return "you" if db.read(authority.approved, [node.id]) else "git"


def files(tree):
    return {name: tree.read(name) for name in ("CLAUDE.md", "AGENTS.md", ".cursorrules")}


class TestOut:
    """Hot rules reach the agent files."""

    def test_an_empty_hot_tier_writes_nothing_and_the_baseline_is_exported_nowhere(self, tree):
        tree.sync()

        assert files(tree) == {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS, ".cursorrules": CURSOR}
        assert not (tree.path / FIRST).exists()

    def test_a_hot_rule_stands_in_one_block_of_each_file_and_no_other_byte_changes(self, tree):
        tree.remember("Always use jose for tokens", kind="convention")

        tree.sync()

        for name, before in ("CLAUDE.md", CLAUDE), ("AGENTS.md", AGENTS), (".cursorrules", CURSOR):
            assert block_of(tree, name) == ["Always use jose for tokens"]
            assert tree.read(name).startswith(before)
            assert tree.read(name).count("yaad:begin") == 1

    def test_nothing_is_written_when_nothing_changed(self, tree):
        tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        before = {name: (tree.path / name).stat().st_ino for name in files(tree)}
        with tree.db() as db:
            events = db.read(lambda conn: conn.execute("SELECT count(*) FROM events").get)

        assert not tree.sync().changed

        assert {name: (tree.path / name).stat().st_ino for name in files(tree)} == before
        with tree.db() as db:
            assert db.read(lambda conn: conn.execute("SELECT count(*) FROM events").get) == events

    def test_a_forgotten_rule_leaves_every_file_as_it_was(self, tree):
        memory = tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        tree.forget(memory)

        tree.sync()

        assert files(tree) == {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS, ".cursorrules": CURSOR}

    def test_a_rule_that_the_file_says_itself_is_not_repeated(self, tree):
        tree.remember("Use tabs in Go files", kind="convention", tier=1)

        tree.sync()

        assert block_of(tree, "CLAUDE.md") == []
        assert block_of(tree, "AGENTS.md") == ["Use tabs in Go files"]

    def test_what_an_agent_said_is_not_in_a_block(self, tree):
        call = Call(folder=tree.path, origin="agent:claude")
        said = remember.remember(tree.home, call, text="Agents like tabs", tier=1)
        tree.sync()
        assert block_of(tree, "CLAUDE.md") == []

        tree.pin(said["id"])
        tree.sync()

        assert block_of(tree, "CLAUDE.md") == ["Agents like tabs"]


class TestIn:
    """What a person writes becomes a memory, and reaches the others."""

    def test_a_bullet_typed_outside_is_a_memory_and_the_siblings_have_it(self, tree):
        tree.write("CLAUDE.md", CLAUDE + "- Never use print for logging\n")

        tree.sync()

        assert "Never use print for logging" in tree.memories()
        assert tree.read("CLAUDE.md") == CLAUDE + "- Never use print for logging\n"
        assert block_of(tree, "AGENTS.md") == ["Never use print for logging"]
        assert block_of(tree, ".cursorrules") == ["Never use print for logging"]

    def test_a_line_typed_into_the_block_is_a_memory_and_stays_where_it_is(self, tree):
        tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        text = tree.read("AGENTS.md").replace(
            "<!-- yaad:end", "- Never use print for logging\n<!-- yaad:end"
        )
        tree.write("AGENTS.md", text)

        tree.sync()

        assert tree.read("AGENTS.md") == text
        for name in files(tree):
            assert block_of(tree, name) == [
                "Always use jose for tokens",
                "Never use print for logging",
            ]

    def test_a_line_deleted_from_the_block_does_not_come_back(self, tree):
        memory = tree.remember("Always use jose for tokens", kind="convention")
        tree.remember("Always use httpx for calls", kind="convention")
        tree.sync()
        text = tree.read("CLAUDE.md").replace("- Always use jose for tokens\n", "")
        tree.write("CLAUDE.md", text)

        tree.sync()
        tree.sync()

        for name in files(tree):
            assert block_of(tree, name) == ["Always use httpx for calls"]
        shown = tree.show(memory)
        assert (shown["tier"], shown["archived_at"]) == (2, None)

    def test_an_edited_line_supersedes_with_the_same_identity(self, tree):
        memory = tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        text = tree.read("CLAUDE.md").replace("jose for tokens", "jose for all tokens")
        tree.write("CLAUDE.md", text)

        tree.sync()

        shown = tree.show(memory)
        assert shown["text"] == "Always use jose for all tokens"
        assert [row["text"] for row in shown["versions"]].count("Always use jose for tokens") == 1
        assert block_of(tree, "AGENTS.md") == ["Always use jose for all tokens"]
        assert tree.memories().count("Always use jose for all tokens") == 1

    @pytest.mark.parametrize(
        "now",
        [
            "# Rules\n\n- Use tabs in all Go files\n",
            "# Rules\n\n- Be kind\n- Use spaces in Go files\n- Ask first\n",
            "# Style\n\n## Go\n\nAsk first.\n\n- Use tabs in Go files, always\n",
        ],
    )
    def test_a_line_edited_outside_keeps_its_memory_and_the_siblings_have_it(self, tree, now):
        memory = tree.id_of("Use tabs in Go files")
        tree.write("CLAUDE.md", now)

        tree.sync()

        shown = tree.show(memory)
        assert shown["text"] in tree.read("CLAUDE.md") or shown["text"].startswith("Go > ")
        assert shown["text"] != "Use tabs in Go files"
        assert [row["change"] for row in shown["versions"]] == ["created", "edited"]
        assert (shown["archived_at"], shown["unverified"]) == (None, False)
        assert shown["text"] in block_of(tree, "AGENTS.md")

    @pytest.mark.parametrize(("lines", "words"), [(4, 10), (50, 90), (300, 10)])
    def test_a_word_that_is_replaced_in_many_lines_changes_each_memory(self, tree, lines, words):
        random = Random(lines)
        plain = ["be", "brief", "and", "keep", "it", "plain", "for", "those", "who", "read"]
        rules = [
            f"Always run npm {' '.join(random.choices(plain, k=words))} for {number}"
            for number in range(lines)
        ]
        tree.write("CLAUDE.md", "".join(f"- {rule}\n" for rule in rules))
        tree.sync()
        before = {node.id: node.text for node in tree.living()}

        tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace("npm", "pnpm"))
        began_s = time.process_time()
        tree.sync()

        after = {node.id: node.text for node in tree.living()}
        assert after == {node: text.replace("npm", "pnpm") for node, text in before.items()}
        assert time.process_time() - began_s < 10

    def test_an_edit_outside_that_is_undone_is_the_same_memory_with_its_first_words(self, tree):
        memory = tree.id_of("Use tabs in Go files")
        tree.write("CLAUDE.md", CLAUDE.replace("tabs", "spaces"))
        tree.sync()

        tree.write("CLAUDE.md", CLAUDE)
        tree.sync()

        shown = tree.show(memory)
        assert (shown["text"], shown["archived_at"]) == ("Use tabs in Go files", None)
        assert block_of(tree, "AGENTS.md") == ["Use tabs in Go files"]

    def test_new_words_outside_rest_on_the_code_they_name(self, tree):
        tree.commit("code", {"src/net.py": "def fetch(tries=3):\n    pass\n"})
        memory = tree.id_of("Use tabs in Go files")
        tree.write("CLAUDE.md", CLAUDE.replace("Go files", "Go files, as `fetch`"))
        tree.sync()

        tree.write("src/net.py", "def load():\n    pass\n")

        assert [row["id"] for row in tree.stale()["stale"]] == [memory]

    def test_a_flagged_line_that_is_edited_is_another_memory_and_its_flag_comes_back_with_it(
        self, tree
    ):
        tree.write("src/net.py", "def fetch(tries=3):\n    pass\n")
        tree.write("CLAUDE.md", "- Always call `fetch` in src/net.py for downloads\n")
        tree.commit("code")
        tree.sync()
        memory = tree.id_of("Always call `fetch` in src/net.py for downloads")
        tree.write("src/net.py", "def load():\n    pass\n")
        assert [row["id"] for row in tree.stale()["stale"]] == [memory]

        tree.write("CLAUDE.md", "- Always call `load` in src/net.py for downloads\n")
        tree.sync()
        new = tree.id_of("Always call `load` in src/net.py for downloads")
        assert short_id(new) in tree.show(memory)["archive_reason"]
        assert tree.stale()["stale"] == []
        tree.write("CLAUDE.md", "- Always call `fetch` in src/net.py for downloads\n")
        tree.sync()

        assert [row["id"] for row in tree.stale()["stale"]] == [memory]

    @pytest.mark.covering
    @pytest.mark.parametrize("back", ["typed", "typed before a commit", "checkout", "branch"])
    @pytest.mark.parametrize("new", ["`load` in src/net.py", "`fetch` in src/net.py, politely"])
    @pytest.mark.parametrize("code_first", [True, False])
    def test_old_words_that_come_back_are_flagged_where_the_code_changed_meanwhile(
        self, tree, back, new, code_first
    ):
        rule = "Always call `fetch` in src/net.py for downloads"
        tree.commit("code", {"src/net.py": "def fetch(tries=3):\n    pass\n"})
        tree.write("CLAUDE.md", CLAUDE + f"- {rule}\n")
        tree.sync()
        if back != "typed before a commit":
            tree.commit("rule")
            tree.sync()
        memory = tree.id_of(rule)
        if code_first:
            tree.write("src/net.py", "def load():\n    pass\n")
        if back == "branch":
            tree.git("checkout", "-qb", "topic")
        tree.write("CLAUDE.md", CLAUDE + f"- {rule.replace('`fetch` in src/net.py', new)}\n")
        tree.sync()
        tree.write("src/net.py", "def load():\n    pass\n")
        tree.check_tree()

        if back == "branch":
            tree.git("commit", "-qm", "edit", "CLAUDE.md")
            tree.git("checkout", "-q", "main")
        elif back == "checkout":
            tree.git("checkout", "CLAUDE.md")
        else:
            tree.write("CLAUDE.md", CLAUDE + f"- {rule}\n")
        tree.sync()

        assert [row["id"] for row in tree.stale()["stale"]] == [memory]

    def test_a_rule_with_an_id_that_git_expands_is_one_memory_over_commits(self, tree):
        tree.write(".gitattributes", "CLAUDE.md ident\n")
        tree.write("CLAUDE.md", "- Keep the line $Id$ at the top\n")
        tree.commit("ident")
        tree.sync()
        for more in ("One", "Two"):
            tree.write("CLAUDE.md", tree.read("CLAUDE.md") + f"- {more} more rule to follow\n")
            tree.commit(more)
            (tree.path / "CLAUDE.md").unlink()
            tree.git("checkout", "CLAUDE.md")
            assert "$Id: " in tree.read("CLAUDE.md")
            tree.sync()

        assert len([text for text in tree.memories() if "Keep the line" in text]) == 1

    @pytest.mark.parametrize("origin", ["cli", "agent:claude"])
    def test_a_line_that_repeats_a_memory_changes_it_when_it_is_edited(self, tree, origin):
        call = Call(folder=tree.path, origin=origin)
        memory = remember.remember(tree.home, call, text="Never use print", tier=1)["id"]
        tree.write("CLAUDE.md", CLAUDE + "- Never use print\n")
        tree.sync()

        tree.write("CLAUDE.md", CLAUDE + "- Never use print for logs\n")
        tree.sync()

        assert tree.show(memory)["text"] == "Never use print for logs"
        assert block_of(tree, "AGENTS.md") == ["Never use print for logs"]
        assert block_of(tree, "CLAUDE.md") == []

    @pytest.mark.parametrize(
        "back",
        [
            ["checkout CLAUDE.md"],
            ["commit -qam edit", "reset -q --hard HEAD~1"],
            ["commit -qam edit", "revert --no-edit HEAD"],
            ["checkout -qb other", "commit -qam edit", "checkout -q main"],
        ],
    )
    def test_a_line_that_git_brings_back_after_an_edit_is_still_the_persons(self, tree, back):
        tree.write("CLAUDE.md", CLAUDE + "- Never use print\n")
        tree.sync()
        tree.commit("rule")
        tree.sync()
        tree.write("CLAUDE.md", CLAUDE + "- Never use print for logs\n")
        tree.sync()

        for command in back:
            tree.git(*command.split())
            tree.sync()

        assert not tree.show(tree.id_of("Never use print"))["unverified"]
        assert (whose_word(tree, "Never use print"), tree.read("CLAUDE.md")) == (
            "you",
            CLAUDE + "- Never use print\n",
        )
        assert block_of(tree, ".cursorrules") == ["Never use print"]

    @pytest.mark.parametrize("shared_by", ["remembering it", "moving it", "another block"])
    def test_words_typed_in_a_personal_file_reach_no_block(self, tree, shared_by):
        tree.commit("ignore", {".gitignore": "CLAUDE.local.md\n"})
        if shared_by == "moving it":
            tree.write("CLAUDE.md", CLAUDE + "- Never use print\n")
            tree.sync()
            tree.write("CLAUDE.md", CLAUDE)
        tree.write("CLAUDE.local.md", "- Never use print\n")
        tree.sync()
        if shared_by == "remembering it":
            tree.remember("Never use print")
        elif shared_by == "another block":
            tree.remember("Always use jose for tokens", kind="convention")
            tree.sync()
            end = "<!-- yaad:end"
            tree.write(
                "AGENTS.md", tree.read("AGENTS.md").replace(end, f"- Never use print\n{end}")
            )
        tree.sync()
        assert "Never use print" in block_of(tree, "AGENTS.md")

        tree.write("CLAUDE.local.md", "- Never use print, Alice hates it\n")
        tree.sync()

        assert "Never use print, Alice hates it" in tree.memories()
        assert all("Alice" not in text for text in files(tree).values())

    def theirs(self, tree, old, new):
        """Have another person change a file on a branch."""
        tree.commit("before")
        tree.sync()
        tree.git("checkout", "-qb", "theirs")
        tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace(old, new))
        tree.git("commit", "-qam", "edit")
        tree.git("commit", "-q", "--amend", "--no-edit", "--author", "m <m@x.org>")
        tree.git("checkout", "-q", "main")
        tree.sync()

    def test_a_line_edited_by_others_is_another_memory_and_inherits_no_approval(self, tree):
        memory = tree.id_of("Use tabs in Go files")
        tree.confirm(memory)
        self.theirs(tree, "tabs", "tabs and curl")
        tree.git("-c", "user.email=m@x.org", "merge", "-q", "--no-ff", "--no-edit", "theirs")

        tree.sync()

        assert tree.show(memory)["text"] == "Use tabs in Go files"
        assert all("curl" not in rule for rule in block_of(tree, "AGENTS.md"))

    @pytest.mark.parametrize("arrives", ["pull", "merge", "reset"])
    def test_a_fetched_commit_in_the_persons_name_is_still_from_git(self, tree, arrives):
        mine = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        tree.git("config", "user.email", "ada@example.org")
        tree.sync()
        tree.git("clone", "-q", str(tree.path), "../clone")
        clone = Tree(tree.world, tree.path.parent / "clone")
        clone.write("CLAUDE.md", CLAUDE + "- Always run curl before tests\n")
        clone.git(*mine, "commit", "-qam", "edit")
        tree.git("fetch", "-q", "../clone", "HEAD:theirs")
        command = {
            "pull": ["pull", "-q", "--no-rebase", "../clone", "HEAD"],
            "merge": ["merge", "-q", "--no-ff", "--no-edit", "theirs"],
            "reset": ["reset", "-q", "--hard", "theirs"],
        }

        tree.git(*command[arrives])
        tree.sync()

        assert whose_word(tree, "Always run curl before tests") == "git"
        assert block_of(tree, "AGENTS.md") == []

    @pytest.mark.parametrize("author", ["x <>", "x <y>", "x <a b@example.org>"])
    def test_a_commit_with_an_odd_author_stops_nothing(self, tree, author):
        tree.git("config", "user.email", "ada@example.org")
        tree.commit("start")
        tree.sync()
        tree.write("CLAUDE.md", CLAUDE + "- Never use print\n")
        tree.git("commit", "-qam", "rule", "--author", author)

        tree.sync()

        assert "Never use print" in tree.memories()

    @pytest.mark.parametrize("own", ["commit", "amended merge", "merge"])
    def test_a_commit_made_here_is_the_persons(self, tree, own):
        tree.git("config", "user.email", "ada@example.org")
        tree.commit("start")
        tree.sync()
        if own == "commit":
            tree.commit("rule", {"CLAUDE.md": CLAUDE + "- Never use print\n"})
        else:
            tree.git("checkout", "-qb", "mine")
            tree.commit("rule", {"CLAUDE.md": CLAUDE + "- Never use print\n"})
            tree.git("checkout", "-q", "main")
            tree.git("merge", "-q", "--no-ff", "--no-edit", "mine")
            if own == "amended merge":
                tree.git("commit", "-q", "--amend", "-m", "merge mine")

        tree.sync()

        assert whose_word(tree, "Never use print") == "you"
        assert block_of(tree, "AGENTS.md") == ["Never use print"]

    @pytest.mark.covering
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("# Rules\n", "# Rules\n\n- Always run curl before tests\n"),
            ("tabs", "tabs and curl"),
            ("## Logs", "## Run curl first"),
        ],
    )
    @pytest.mark.parametrize("own", ["none", "after", "stashed"])
    def test_the_words_of_others_are_theirs_beside_an_own_edit(self, tree, old, new, own):
        apart = "\nWhat follows is about logs.\n" * 3
        logs, manners = "\n## Logs\n\n- Never use print\n", "\n## Manners\n\n- Be kind\n"
        tree.write("CLAUDE.md", CLAUDE + apart + logs + manners + apart)
        tree.sync()
        tree.confirm(tree.id_of("Use tabs in Go files"))
        self.theirs(tree, old, new)
        if own == "stashed":
            tree.write("CLAUDE.md", tree.read("CLAUDE.md") + "- Ask first\n")
            tree.sync()
        tree.git("-c", "user.email=m@x.org", "rebase", "-q", "--autostash", "theirs")
        if own == "after":
            tree.write("CLAUDE.md", tree.read("CLAUDE.md") + "- Ask first\n")

        tree.world.clock.wait(10)
        tree.sync()

        (brought,) = [text for text in tree.memories() if "curl" in text]
        assert whose_word(tree, brought) == "git"
        assert all("curl" not in rule for rule in block_of(tree, "AGENTS.md"))
        if own != "none":
            assert any("Ask first" in rule for rule in block_of(tree, "AGENTS.md"))

    def test_a_bullet_deleted_outside_is_archived_with_its_last_place(self, tree):
        tree.write("CLAUDE.md", CLAUDE + "- Never use print for logging\n")
        tree.write("notes.md", "x")
        tree.sync()
        tree.write("CLAUDE.md", "# Rules\n\n- Never use print for logging\n")

        tree.sync()

        assert "Use tabs in Go files" not in tree.memories()
        assert "Never use print for logging" in tree.memories()

    def test_a_bullet_that_another_file_still_says_stays(self, tree):
        tree.write("AGENTS.md", AGENTS + "- Use tabs in Go files\n- Another one\n")
        tree.sync()
        tree.write("AGENTS.md", AGENTS + "- Another one\n")

        tree.sync()

        assert "Use tabs in Go files" in tree.memories()

    def test_deleting_and_typing_again_makes_no_second_memory(self, tree):
        tree.write("CLAUDE.md", CLAUDE + "- Never use print for logging\n- And more\n")
        tree.sync()
        ids = set(all_ids(tree))
        tree.write("CLAUDE.md", CLAUDE + "- And more\n")
        tree.sync()
        assert "Never use print for logging" not in tree.memories()
        tree.write("CLAUDE.md", CLAUDE + "- Never use print for logging\n- And more\n")

        tree.sync()

        assert "Never use print for logging" in tree.memories()
        assert set(all_ids(tree)) == ids

    def test_both_sides_edited_the_files_words_win_and_nothing_is_lost(self, tree):
        memory = tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        agents = tree.read("AGENTS.md").replace("jose for tokens", "jose for our tokens")
        claude = tree.read("CLAUDE.md").replace("jose for tokens", "jose for every token")
        tree.write("AGENTS.md", agents)
        tree.write("CLAUDE.md", claude)

        tree.sync()

        shown = tree.show(memory)
        said = {row["text"] for row in shown["versions"]} | {shown["text"]}
        assert {"Always use jose for our tokens", "Always use jose for every token"} <= said
        blocks = [block_of(tree, name) for name in files(tree)]
        assert blocks == [[shown["text"]]] * 3

    def test_a_secret_stays_in_the_file_and_is_masked_in_the_graph(self, tree):
        secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
        tree.write("CLAUDE.md", CLAUDE + f"- Always use the token {secret} here\n")

        tree.sync()

        assert secret in tree.read("CLAUDE.md")
        assert secret not in tree.read("AGENTS.md")
        assert not [text for text in tree.memories() if secret in text]


def all_ids(tree):
    with tree.db() as db:
        rows = db.read(
            lambda conn: conn.execute(
                "SELECT id FROM nodes WHERE kind NOT IN ('file', 'entity')"
            ).fetchall()
        )
    return [row[0] for row in rows]


class TestGuards:
    """What looks like an accident is left for a person to look at."""

    def test_many_lines_gone_at_once_pause_the_file_until_a_person_says_so(self, tree):
        for word in ("one", "two", "three", "four", "five", "six"):
            tree.remember(f"Always say {word}", kind="convention")
        tree.sync()
        lines = tree.read("CLAUDE.md").splitlines(keepends=True)
        text = "".join(line for line in lines if "Always say" not in line or "one" in line)
        tree.write("CLAUDE.md", text)

        tree.sync()

        assert tree.rows()["CLAUDE.md"].state == "paused"
        assert "lost 5 of 6" in tree.rows()["CLAUDE.md"].reason
        assert len(block_of(tree, "AGENTS.md")) == 6
        assert tree.read("CLAUDE.md") == text

        tree.sync(accept=frozenset({"CLAUDE.md"}))

        assert tree.rows()["CLAUDE.md"].state == "synced"
        assert block_of(tree, "AGENTS.md") == ["Always say one"]

    def test_a_block_that_is_gone_deletes_nothing(self, tree):
        tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        tree.write("CLAUDE.md", CLAUDE + "\n")

        tree.sync()

        assert tree.rows()["CLAUDE.md"].state == "paused"
        assert "its block is gone" in tree.rows()["CLAUDE.md"].reason
        assert block_of(tree, "AGENTS.md") == ["Always use jose for tokens"]

    @pytest.mark.parametrize(
        ("bad", "reason"),
        [
            (CLAUDE.encode() + b"<!-- yaad:begin v=1 nl=0 -->\n", "no end marker"),
            (b"- caf\xe9\n", "not UTF-8"),
            (b"- a\0b\n", "is NUL"),
            (
                b"<<<<<<< ours\n- a\n=======\n- b\n>>>>>>> theirs\n",
                "an unfinished merge stands in line 1",
            ),
        ],
        ids=["damaged", "latin", "nul", "conflict"],
    )
    def test_bad_bytes_are_left_alone_and_said_once(self, tree, bad, reason):
        tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        before = tree.memories()
        tree.write("CLAUDE.md", bad)

        tree.sync()
        tree.sync()

        assert (tree.path / "CLAUDE.md").read_bytes() == bad
        assert tree.rows()["CLAUDE.md"].state == "paused"
        assert reason in tree.rows()["CLAUDE.md"].reason
        assert tree.memories() == before
        assert paused_events(tree) == ["CLAUDE.md"]

    def test_a_stub_that_includes_another_agent_file_gets_no_block(self, tree):
        tree.commit("stub", {"CLAUDE.md": "@AGENTS.md\n"})
        tree.remember("Always use jose for tokens", kind="convention")

        tree.sync(accept=None)

        assert tree.read("CLAUDE.md") == "@AGENTS.md\n"
        assert block_of(tree, "AGENTS.md") == ["Always use jose for tokens"]

    def test_a_file_that_somebody_keeps_changing_back_is_paused(self, tree):
        tree.remember("Always use jose for tokens", kind="convention")
        tree.remember("Always use httpx for calls", kind="convention")
        tree.sync()
        for number in range(6):
            old = tree.read("CLAUDE.md")
            tree.write("CLAUDE.md", old + f"- Always use httpx for calls\n- Extra {number}\n")
            tree.sync()
            if tree.rows()["CLAUDE.md"].state == "paused":
                break
            tree.write("CLAUDE.md", old)
            tree.sync()

        assert "was written 3 times within 60 seconds" in tree.rows()["CLAUDE.md"].reason
        text = tree.read("CLAUDE.md")
        tree.sync()
        assert tree.read("CLAUDE.md") == text
        assert f"Extra {number}" in tree.memories()


def paused_events(tree):
    with tree.db() as db:
        rows = db.read(
            lambda conn: conn.execute(
                "SELECT subject FROM events WHERE kind = 'agent_file.paused' ORDER BY seq"
            ).fetchall()
        )
    return [row[0] for row in rows]


class TestGit:
    """What git writes is not an edit."""

    def test_a_branch_that_says_less_hides_and_the_way_back_makes_nothing_twice(self, tree):
        tree.git("checkout", "-q", "-b", "less")
        tree.commit("less", {"CLAUDE.md": "# Rules\n"})
        tree.git("checkout", "-q", "main")
        tree.sync()
        ids = sorted(all_ids(tree))

        tree.git("checkout", "-q", "less")
        tree.sync()
        assert "Use tabs in Go files" in tree.memories()
        tree.git("checkout", "-q", "main")
        tree.sync()

        assert sorted(all_ids(tree)) == ids
        assert "Use tabs in Go files" in tree.memories()

    def test_what_a_colleagues_branch_brings_is_a_baseline(self, tree):
        tree.git("checkout", "-q", "-b", "more")
        tree.commit("more", {"CLAUDE.md": CLAUDE + "- Never use print for logging\n"})
        tree.git("checkout", "-q", "main")
        tree.sync()

        tree.git("checkout", "-q", "more")
        tree.sync()

        assert "Never use print for logging" in tree.memories()
        assert block_of(tree, "AGENTS.md") == []

    def test_an_edit_that_was_committed_at_once_counts_as_typed(self, tree):
        tree.git("config", "user.email", "ada@example.org")
        tree.sync()
        tree.commit("typed", {"CLAUDE.md": CLAUDE + "- Never use print for logging\n"})

        tree.sync()

        assert block_of(tree, "AGENTS.md") == ["Never use print for logging"]

    @pytest.mark.parametrize("sign", ["index.lock", "MERGE_HEAD"])
    def test_nothing_is_written_while_git_works(self, tree, sign):
        tree.remember("Always use jose for tokens", kind="convention")
        (tree.path / ".git" / sign).write_text("x")
        tree.write("AGENTS.md", AGENTS + "- Never use print for logging\n")

        done = tree.sync()

        assert done.waiting
        assert block_of(tree, "CLAUDE.md") == []
        assert "Never use print for logging" not in tree.memories()
        (tree.path / ".git" / sign).unlink()
        tree.sync()
        assert len(block_of(tree, "CLAUDE.md")) == 2

    def test_a_stash_and_its_return_lose_nothing(self, world):
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
        tree.add(mode="private")
        tree.write("CLAUDE.md", CLAUDE + "- Never use print for logging\n")
        tree.sync()
        ids = sorted(all_ids(tree))

        tree.git("stash")
        tree.sync()
        assert "Never use print for logging" in tree.memories()
        tree.git("stash", "pop")
        tree.sync()

        assert sorted(all_ids(tree)) == ids
        assert "Never use print for logging" in tree.memories()


class TestPrivate:
    """A file of our own carries the rules, and git does not see it."""

    @pytest.fixture
    def private(self, world):
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": CLAUDE})
        tree.add(mode="private")
        return tree

    def test_the_rules_file_is_written_and_excluded_from_git(self, private):
        private.remember("Always use jose for tokens", kind="convention")

        private.sync()

        assert "- Always use jose for tokens\n" in private.read(FIRST)
        assert private.read("CLAUDE.md") == CLAUDE
        assert private.git("status", "--porcelain") == ""

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            (f"Always ask first. {'x' * 2_100}", "too long for a rules file"),
            (f"Never guess.\n\n{chr(10).join(['- and ask'] * 300)}", "too long for a rules file"),
        ],
    )
    def test_what_the_rules_file_cannot_hold_is_named_with_the_reason(self, private, text, why):
        private.remember("Always deploy through canary", kind="convention")
        left_out = private.remember(text, kind="convention")
        private.sync()

        reason = private.rows()[FIRST].reason

        assert why in reason
        assert short_id(left_out) in reason

    def test_rules_without_room_in_the_rules_file_are_named(self, private):
        for number in range(60):
            private.remember(f"Always mind thing {number} {'and more ' * 30}", kind="convention")
        private.sync()

        assert "no room for " in private.rows()[FIRST].reason

    def test_an_empty_hot_tier_writes_no_rules_file(self, private):
        memory = private.remember("Always use jose for tokens", kind="convention")
        private.sync()
        private.forget(memory)

        private.sync()

        assert not (private.path / ".claude").exists()

    def test_flags_stand_beside_the_rule(self, private):
        private.remember("Always call fetch_with_retry from src/net.py", kind="convention")
        private.sync()
        (private.path / "src/net.py").unlink()
        private.check()

        private.sync()

        assert (
            "(May be out of date: src/net.py is gone, and fetch_with_retry with it; check before"
            " relying on it.)"
        ) in private.read(FIRST)

    def test_a_carrier_that_somebody_changed_is_left_alone(self, private):
        private.remember("Always use jose for tokens", kind="convention")
        private.sync()
        private.write(FIRST, "mine\n")

        private.sync()

        assert private.read(FIRST) == "mine\n"
        assert private.rows()[FIRST].state == "paused"

    def test_a_repository_without_agent_files_gets_a_private_carrier(self, world):
        tree = world.repo()
        tree.add()
        tree.remember("Always use jose for tokens", kind="convention")

        tree.sync()

        assert "- Always use jose for tokens\n" in tree.read(FIRST)
        assert not (tree.path / "CLAUDE.md").exists()

    def test_by_default_a_tracked_file_is_private_and_an_untracked_one_inline(self, world):
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": CLAUDE})
        tree.write("AGENTS.md", AGENTS)

        answer = tree.add()

        modes = {row["path"]: row["mode"] for row in answer["files"]}
        assert modes == {"CLAUDE.md": "private", "AGENTS.md": "inline"}

    def test_read_only_imports(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", CLAUDE)
        tree.add(mode="read")
        tree.remember("Always use jose for tokens", kind="convention")

        tree.sync()

        assert tree.read("CLAUDE.md") == CLAUDE
        assert not (tree.path / FIRST).exists()


class TestRemove:
    """Nothing of ours is left."""

    @pytest.mark.parametrize(
        ("mode", "text"),
        [
            ("private", CLAUDE),
            ("inline", CLAUDE.rstrip()),
            ("inline", ""),
            ("inline", CLAUDE.replace("\n", "\r\n")),
        ],
    )
    def test_remove_leaves_the_tree_as_it_was(self, world, mode, text):
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": text, "AGENTS.md": AGENTS})
        exclude = (tree.path / ".git/info/exclude").read_bytes()
        tree.add(mode=mode)
        tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        if mode == "inline":
            assert block_of(tree, "CLAUDE.md")
        else:
            assert (tree.path / FIRST).exists()

        tree.remove()

        assert (tree.path / "CLAUDE.md").read_bytes() == text.encode()
        assert not (tree.path / ".claude").exists()
        assert (tree.path / ".git/info/exclude").read_bytes() == exclude
        assert tree.git("status", "--porcelain", "--ignored") == ""

    @pytest.mark.parametrize(("mode", "store"), [("inline", "there"), ("private", "gone")])
    def test_remove_leaves_nothing_where_git_is_gone(self, world, mode, store):
        tree = world.repo()
        tree.write("CLAUDE.md", CLAUDE)
        page = "<!-- yaad:begin -->\nHow a block looks.\n<!-- yaad:end -->\n"
        tree.commit("rules", {"docs/blocks.md": page})
        tree.add(mode=mode)
        tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        beside = tree.path.parent / "beside"
        tree.git("worktree", "add", "-q", str(beside))
        linked = Tree(world, beside)
        linked.add(mode=mode)
        trees = (tree, linked) if store == "there" else (tree,)
        for one in trees:
            assert "jose" in one.read("CLAUDE.md" if mode == "inline" else FIRST)
        kept = tree.store.parent
        shutil.rmtree(tree.path / ".git")
        if store == "gone":
            world.close()
            shutil.rmtree(kept)
            world.reopen()

        tree.remove()

        for one in trees:
            assert one.read("CLAUDE.md") == CLAUDE
            assert one.read("docs/blocks.md") == page
            assert not (one.path / ".claude").exists()

    def test_removed_and_adopted_the_block_comes_back(self, tree):
        tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        tree.remove()

        tree.add(adopt=True)
        tree.sync()

        assert block_of(tree, "AGENTS.md") == ["Always use jose for tokens"]
        assert tree.rows()["CLAUDE.md"].state == "synced"

    def test_a_damaged_block_stops_the_removal(self, tree):
        tree.remember("Always use jose for tokens", kind="convention")
        tree.sync()
        tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace("<!-- yaad:end -->\n", ""))

        with pytest.raises(YaadError, match="no end marker"):
            tree.remove()

        assert tree.memories()
