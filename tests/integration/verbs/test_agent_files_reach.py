"""What of an agent file reaches other agents: whole rules, with their conditions."""

import json
import os

import pytest
from verb_world import prepared

from yaadwatch.recall import recall
from yaadwatch.remember.remember import remember
from yaadwatch.sessions import context as sessions_context
from yaadwatch.sync import files
from yaadwatch.workspace.workspace import Call

CLAUDE = "# Claude\n\n- Be kind\n"
AGENTS = "# Agents\n\n- Be brief\n"
BODIES = {
    "nested": "- Never do any of these:\n  - push to main\n  - skip the tests\n",
    "fence": "- Always format dates like this:\n  ```\n  2026-01-31\n  ```\n",
    "table": "- Never import these:\n\n  | name | why |\n  |---|---|\n  | moment | old |\n",
    "paragraph": "- Never commit secrets;\n\n  they go into the vault\n",
    "wrapped": "- Always run the suite with the database in a container before you\npush to main\n",
    "labelled": "Never do any of these:\n\n- push to main\n- skip the tests\n",
}


@prepared
def tree(world):
    """A repository with two agent files that have a block each, which says one rule."""
    tree = world.repo()
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
    tree.add(mode="inline")
    tree.remember("Always deploy through canary")
    tree.sync()
    return tree


def block(tree, path):
    text = tree.read(path)
    return text.partition("keep this block.\n")[2].partition("<!-- yaad:end")[0]


def type_in_block(tree, path, lines):
    tree.write(path, tree.read(path).replace("<!-- yaad:end", f"{lines}<!-- yaad:end"))
    tree.sync()


def type_outside(tree, path, lines):
    tree.write(path, tree.read(path).replace("\n\n- Be", f"\n\n{lines}\n## Own\n\n- Be", 1))
    tree.sync()


def context(tree, *, agent="", folder=""):
    call = Call(folder=tree.path / folder, origin=f"agent:{agent}" if agent else "cli")
    return sessions_context.context(tree.home, call)["brief"]


@pytest.mark.parametrize("lines", BODIES.values(), ids=BODIES)
def test_a_rule_is_one_memory_and_travels_and_goes_with_its_body(tree, lines):
    type_in_block(tree, "CLAUDE.md", lines)

    words = block(tree, "AGENTS.md").split()
    assert " ".join(lines.split()[2:4]) in " ".join(words)
    assert lines.split()[-1] in words
    assert lines in block(tree, "CLAUDE.md")
    known = [one for one in tree.memories() if "canary" not in one and "Be " not in one]
    assert len(known) == 1

    kept = tree.read("AGENTS.md").partition("- Always deploy through canary\n")
    tree.write("AGENTS.md", kept[0] + kept[1] + "<!-- yaad:end -->\n")
    tree.sync()

    assert block(tree, "CLAUDE.md").strip() == "- Always deploy through canary"
    assert block(tree, "AGENTS.md") == "- Always deploy through canary\n"


class TestConditions:
    @pytest.mark.parametrize("heading", ["If you write SQL", "For the mobile app:", "Backend"])
    def test_a_rule_below_a_heading_that_says_when_goes_with_it(self, tree, heading):
        type_outside(tree, "CLAUDE.md", f"## {heading}\n\n- Use lower-case keywords\n")

        (line,) = [one for one in block(tree, "AGENTS.md").splitlines() if "keywords" in one]

        assert heading in line

    def test_such_a_heading_in_a_block_goes_with_its_rules(self, tree):
        type_in_block(tree, "CLAUDE.md", "## Never do this\n\n- Force-push to main\n")

        assert "- Never do this > Force-push to main" in block(tree, "AGENTS.md")
        assert "## Never do this\n\n- Force-push to main\n" in block(tree, "CLAUDE.md")

    def test_new_rules_come_above_such_a_heading(self, tree):
        type_in_block(tree, "CLAUDE.md", "## Never do this\n\n- Force-push to main\n")
        tree.remember("Always use tabs")
        tree.sync()

        said = block(tree, "CLAUDE.md")

        assert said.index("Always use tabs") < said.index("## Never")

    def test_a_sentence_over_a_list_that_says_when_goes_with_it(self, tree):
        lines = "If you change the schema, keep to these.\n\n- Use reversible steps\n"
        type_outside(tree, "CLAUDE.md", lines)

        (line,) = [one for one in block(tree, "AGENTS.md").splitlines() if "reversible" in one]

        assert line.startswith("- If you change the schema")

    def test_a_rule_of_a_folder_reaches_no_other_file(self, tree):
        tree.write("web/AGENTS.md", "- Always use lower-case keywords\n")
        tree.sync()

        assert "keywords" not in block(tree, "AGENTS.md")


class TestWhatIsNoRule:
    @pytest.mark.parametrize(
        "lines",
        [
            "Conventions came up in March.\n\nSee [the wiki](https://example.com) for more.\n",
            "The list below is generated.\n\nTODO: write this\n\nThanks to Bob for these.\n",
            "- [ ] Always write this\n- [Avoid barrels](#21-avoid)\n- https://example.com/style\n",
            "| rule | why |\n|---|---|\n| Always use tabs | width |\n",
            "- Always release like this\n\n  ```\n  make release\n  ```\n",
        ],
    )
    def test_it_stays_in_its_file_and_can_be_recalled(self, tree, lines):
        type_outside(tree, "CLAUDE.md", f"## Rules\n\n{lines}")

        assert block(tree, "AGENTS.md") == "- Always deploy through canary\n"

    @pytest.mark.parametrize(
        "line",
        ["Always use tabs.", "- **Tabs**: use tabs"],
    )
    def test_what_instructs_reaches_the_others(self, tree, line):
        type_outside(tree, "CLAUDE.md", f"## Rules\n\n{line}\n")

        assert len(block(tree, "AGENTS.md").splitlines()) == 2

    def test_installed_skills_are_not_read(self, tree):
        tree.write("web/.agents/skills/react/AGENTS.md", "- Always avoid barrel files\n")
        tree.commit("skills")
        tree.sync()

        assert not any("barrel" in one for one in tree.memories())


class TestPersonal:
    @pytest.mark.parametrize("path", ["CLAUDE.local.md", ".cursorrules"])
    def test_what_an_ignored_file_says_reaches_no_shared_file(self, tree, path):
        exclude = tree.path / ".git" / "info" / "exclude"
        exclude.write_text(f"{exclude.read_text()}{path}\n")
        tree.write(path, "# Mine\n\n- Always answer in Dutch\n")
        tree.sync()
        tree.write(path, "# Mine\n\n- Always answer in Dutch\n- Always use my fork\n")
        tree.sync()

        assert "fork" not in block(tree, "AGENTS.md") + block(tree, "CLAUDE.md")
        assert "Dutch" not in block(tree, "AGENTS.md") + block(tree, "CLAUDE.md")

    @pytest.mark.parametrize(
        ("origin", "order"), [("agent:claude", "agent first"), ("import:mem0", "person first")]
    )
    def test_what_an_agent_says_of_it_makes_nothing_public(self, tree, origin, order):
        said = "Always answer me in Dutch"
        tree.write("CLAUDE.local.md", "# Mine\n\n- Be fast\n")
        tree.sync()
        agent = Call(folder=tree.path, origin=origin)
        if order == "agent first":
            remember(tree.home, agent, text=said, kind="preference")
        tree.write("CLAUDE.local.md", f"# Mine\n\n- Be fast\n- {said}\n")
        tree.sync()
        if order == "person first":
            remember(tree.home, agent, text=said, kind="preference")
        tree.sync()

        assert "Dutch" not in block(tree, "AGENTS.md") + block(tree, "CLAUDE.md")
        tree.remember(said)
        tree.sync()
        assert "Dutch" in block(tree, "AGENTS.md")

    @pytest.fixture
    def own(self, tree):
        """The tree with a block in a file that git ignores."""
        exclude = tree.path / ".git" / "info" / "exclude"
        exclude.write_text(f"{exclude.read_text()}CLAUDE.local.md\n")
        tree.write("CLAUDE.local.md", "# Mine\n\n- Be fast\n")
        tree.sync()
        files.files_adopt(tree.home, tree.call, path="CLAUDE.local.md")
        assert "canary" in block(tree, "CLAUDE.local.md")
        return tree

    def test_an_edit_in_a_personal_block_stays_there(self, own):
        text = own.read("CLAUDE.local.md").replace("through canary", "through canary as ann")
        own.write("CLAUDE.local.md", text)
        own.sync()

        assert own.read("CLAUDE.local.md") == text
        for path in ("AGENTS.md", "CLAUDE.md"):
            assert block(own, path) == "- Always deploy through canary\n"
        own.sync()
        own.remember("Never force push")
        own.sync()
        assert block(own, "CLAUDE.local.md").count("canary") == 1
        assert "Never force push" in block(own, "CLAUDE.local.md")
        assert "ann" not in block(own, "AGENTS.md")

    def test_a_line_deleted_in_a_personal_block_stays_elsewhere(self, own):
        text = own.read("CLAUDE.local.md").replace("- Always deploy through canary\n", "")
        own.write("CLAUDE.local.md", text)
        own.sync()
        own.sync()

        assert "canary" not in own.read("CLAUDE.local.md")
        for path in ("AGENTS.md", "CLAUDE.md"):
            assert block(own, path) == "- Always deploy through canary\n"

    def test_what_a_shared_file_says_too_is_not_personal(self, tree):
        tree.write("CLAUDE.local.md", "# Mine\n\n- Always use my fork\n")
        tree.sync()
        type_outside(tree, "CLAUDE.md", "- Always use my fork\n")

        assert "- Always use my fork" in block(tree, "AGENTS.md")


class TestWhatIsLoaded:
    """A rule in a file that an agent does not load is in its brief."""

    RULE = "Always deploy through canary"

    def test_codex_is_told_nothing_twice(self, tree):
        assert self.RULE not in context(tree, agent="codex")

    def test_what_codex_cuts_off_is_told(self, tree):
        text = tree.read("AGENTS.md")
        at = text.index("<!-- yaad:begin")
        filler = "".join(f"Part {number} of the long story.\n" for number in range(1400))
        tree.write("AGENTS.md", f"{text[:at]}{filler}\n{text[at:]}")
        tree.sync()

        assert self.RULE in context(tree, agent="codex")
        assert self.RULE not in context(tree, agent="opencode")

    def test_what_stands_in_a_file_that_another_replaces_is_told(self, tree):
        tree.write("AGENTS.override.md", "# Mine\n\n- Only my words\n")

        assert self.RULE in context(tree, agent="codex")
        assert self.RULE not in context(tree, agent="opencode")

    def test_an_own_limit_of_codex_counts(self, tree, tmp_path):
        (tmp_path / ".codex").mkdir()
        (tmp_path / ".codex" / "config.toml").write_text("project_doc_max_bytes = 40\n")

        found = files.files(tree.home, tree.call)

        assert self.RULE in context(tree, agent="codex")
        (codex,) = [one for one in found["agents"] if one["agent"] == "codex"]
        assert codex["obstacles"][0].startswith("Codex loads 40 of the ")
        assert codex["ours"] == 0

    def test_a_fallback_name_of_codex_counts(self, world, tmp_path):
        (tmp_path / ".codex").mkdir()
        settings = 'project_doc_fallback_filenames = ["CLAUDE.md"]\n'
        (tmp_path / ".codex" / "config.toml").write_text(settings)
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": CLAUDE})
        tree.add(mode="inline")
        tree.remember(self.RULE)
        tree.sync()

        assert self.RULE not in context(tree, agent="codex")

    @pytest.mark.parametrize("where", ["home", "project"])
    def test_the_file_name_in_the_settings_of_gemini_counts(self, tree, tmp_path, where):
        folder = tmp_path if where == "home" else tree.path
        assert self.RULE in context(tree, agent="gemini")  # there is no GEMINI.md
        (folder / ".gemini").mkdir()
        settings = '{ // mine\n  "context": {"fileName": ["AGENTS.md"]},\n}\n'
        (folder / ".gemini" / "settings.json").write_text(settings)

        assert self.RULE not in context(tree, agent="gemini")

    @pytest.mark.parametrize("where", ["home", "project", "local"])
    @pytest.mark.parametrize(
        "pattern", ["{root}/CLAUDE.md", "**/CLAUDE.md", "{root}/{{CLAUDE,AGENTS}}.md", "/**/C*E.m?"]
    )
    def test_a_block_that_claude_code_excludes_is_told(self, world, tmp_path, where, pattern):
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": CLAUDE, ".gitignore": ".claude\n"})
        (tmp_path / ".claude").mkdir()
        tree.add(mode="inline")
        tree.remember(self.RULE)
        tree.sync()
        assert self.RULE not in context(tree, agent="claude")
        folder = tmp_path if where == "home" else tree.path
        name = "settings.local.json" if where == "local" else "settings.json"
        (folder / ".claude").mkdir(exist_ok=True)
        said = json.dumps({"claudeMdExcludes": [pattern.format(root=tree.path)]})
        (folder / ".claude" / name).write_text(f"// mine\n{said}\n")

        assert self.RULE in context(tree, agent="claude")
        (claude,) = files.files(tree.home, tree.call)["agents"]
        (obstacle,) = claude["obstacles"]
        assert obstacle.startswith("The settings of Claude Code exclude CLAUDE.md (claudeMdEx")
        assert claude["ours"] == 0

    @pytest.mark.parametrize(
        "name", [".claude/settings.json", ".codex/config.toml", ".gemini/settings.json"]
    )
    def test_a_pipe_in_the_place_of_settings_blocks_nothing(self, world, tmp_path, name):
        for agent in ("claude", "codex", "gemini"):
            (tmp_path / f".{agent}").mkdir()
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": CLAUDE})
        (tree.path / name).parent.mkdir()
        os.mkfifo(tree.path / name)
        tree.add(mode="private")

        assert len(files.files(tree.home, tree.call)["agents"]) == 3

    def test_a_rules_file_that_claude_code_excludes_is_told(self, world, tmp_path):
        tree = world.repo()
        tree.commit("rules", {"CLAUDE.md": CLAUDE})
        (tmp_path / ".claude").mkdir()
        tree.add(mode="private")
        tree.remember(self.RULE)
        tree.sync()
        assert self.RULE not in context(tree, agent="claude")
        excludes = '{"claudeMdExcludes": ["**/.claude/rules/**", "**/web/CLAUDE.md", "{", 3]}'
        (tmp_path / ".claude" / "settings.json").write_text(excludes)

        assert self.RULE in context(tree, agent="claude")
        (claude,) = files.files(tree.home, tree.call)["agents"]
        assert len(claude["obstacles"]) == 1
        assert claude["reads"] == ["CLAUDE.md"]

    @pytest.mark.parametrize(
        ("agent", "name", "other"),
        [
            ("claude", "CLAUDE.md", "claude.md"),
            ("codex", "AGENTS.md", "agents.md"),
            ("gemini", "GEMINI.md", "Gemini.md"),
        ],
    )
    def test_a_file_whose_name_has_another_case_is_named(self, world, tmp_path, agent, name, other):
        (tmp_path / f".{agent}").mkdir()
        tree = world.repo()
        tree.write(other, CLAUDE)
        if (tree.path / name).exists():
            pytest.skip("case does not matter here")
        tree.add()

        (found,) = files.files(tree.home, tree.call)["agents"]

        assert found["reads"] == []
        words = f"{found['title']} loads {name}, but not {other}, whose name has another case"
        assert words in found["obstacles"]


class TestPlaceOfABlock:
    """The rules of a block stand below no heading that restricts them."""

    RULE = "Always deploy through canary"

    @pytest.mark.parametrize(
        ("title", "section"),
        [
            ("# Shop\n\nA shop.\n\n", "## Never do this\n\n- Push to main\n"),
            ("", "## Style\n\n### Windows\n\n- Use CRLF\n"),
        ],
    )
    def test_a_new_block_comes_before_the_sections(self, world, title, section):
        tree = world.repo()
        tree.commit("rules", {"AGENTS.md": f"{title}{section}"})
        tree.add(mode="inline")
        tree.remember(self.RULE)
        tree.sync()

        above, _, below = tree.read("AGENTS.md").partition("<!-- yaad:begin")
        assert above == title
        assert below.endswith(f"- {self.RULE}\n<!-- yaad:end -->\n{section}")
        assert not tree.sync().changed
        files.files_release(tree.home, tree.call, path="AGENTS.md")
        assert tree.read("AGENTS.md") == f"{title}{section}"

    def test_a_text_without_headings_has_it_above_a_label(self, world):
        tree = world.repo()
        tree.write(".cursorrules", "You are careful.\n\nNever do these:\n- Push to main\n")
        tree.commit("rules")
        tree.add(mode="inline")
        tree.remember(self.RULE)
        tree.sync()

        assert tree.read(".cursorrules").startswith("<!-- yaad:begin")

    def test_a_block_that_a_person_moved_stays_and_is_named(self, tree):
        data = tree.read("CLAUDE.md")
        start = data.index("<!-- yaad:begin")
        end = data.index("<!-- yaad:end -->\n") + len("<!-- yaad:end -->\n")
        moved = f"{data[:start]}## If you write SQL\n\n{data[start:end]}{data[end:]}"
        tree.write("CLAUDE.md", moved)
        tree.sync()

        assert tree.read("CLAUDE.md") == moved
        found = files.files(tree.home, tree.call)
        words = (
            'CLAUDE.md: its block is below "If you write SQL", which changes what its rules mean'
        )
        assert [one.partition(";")[0] for one in found["misplaced"]] == [words]
        (row,) = [one for one in found["files"] if one["path"] == "CLAUDE.md"]
        assert found["misplaced"][0].removeprefix("CLAUDE.md: ") in row["reason"]

        files.files_release(tree.home, tree.call, path="CLAUDE.md")
        files.files_adopt(tree.home, tree.call, path="CLAUDE.md")

        assert files.files(tree.home, tree.call)["misplaced"] == []
        assert self.RULE in tree.read("CLAUDE.md").partition("## If you write SQL")[0]


class TestRestOfARule:
    """What is left of a rule whose beginning was deleted is passed on to nobody."""

    RULES = (
        ("Never do these:\n\n- Use eval in code\n- Use exec in code\n", "Never do these:\n\n"),
        ("- Never do these:\n  - use eval\n  - use exec\n", "- Never do these:\n"),
        (
            "- Never commit secrets,\ntokens or keys\nto the repository\n",
            "- Never commit secrets,\n",
        ),
    )

    @pytest.mark.parametrize(("rule", "beginning"), RULES)
    def test_the_file_waits_for_the_person(self, tree, rule, beginning):
        type_in_block(tree, "AGENTS.md", rule)
        others = block(tree, "CLAUDE.md")
        assert len(others.splitlines()) > 1
        tree.write("AGENTS.md", tree.read("AGENTS.md").replace(beginning, ""))
        tree.sync()

        assert block(tree, "CLAUDE.md") == others
        found = files.files(tree.home, tree.call)["files"]
        (row,) = [one for one in found if one["path"] == "AGENTS.md"]
        assert row["state"] == "paused"
        assert row["reason"].startswith("the beginning of the rule")

        rest = rule.replace(beginning, "")
        tree.write("AGENTS.md", tree.read("AGENTS.md").replace(rest, ""))
        tree.sync()
        assert block(tree, "CLAUDE.md") == "- Always deploy through canary\n"

    @pytest.mark.parametrize("body", ["- use eval\n- use exec", "1. use eval", "> eval", "eval"])
    def test_the_file_waits_also_where_it_was_the_only_rule(self, tree, body):
        type_in_block(tree, "AGENTS.md", "")
        tree.forget(tree.id_of("Always deploy through canary"))
        tree.remember(f"Never do these:\n\n{body}", kind="convention")
        tree.sync()
        others = block(tree, "CLAUDE.md")
        assert "Never do these:" in others
        tree.write("AGENTS.md", tree.read("AGENTS.md").replace("- Never do these:\n", ""))

        tree.sync()

        assert block(tree, "CLAUDE.md") == others
        found = files.files(tree.home, tree.call)["files"]
        (row,) = [one for one in found if one["path"] == "AGENTS.md"]
        assert row["reason"].startswith("the beginning of the rule")

    UNFINISHED = (
        ("- Never do these:\n\n", "\n"),
        ("- Never do these:\n\n  - use eval\n  - use exec\n", "- use eval\n  - use exec\n"),
        (
            "  - use exec\n",
            "<<<<<<< HEAD\n  - use exec\n=======\n  - use compile\n>>>>>>> theirs\n",
        ),
    )

    @pytest.mark.parametrize(("there", "left"), UNFINISHED)
    def test_a_paused_file_deletes_nothing_when_another_file_is_committed(self, tree, there, left):
        tree.remember("Never do these:\n\n- use eval\n- use exec", kind="convention")
        tree.sync()
        tree.commit("blocks")
        tree.sync()
        others = block(tree, "CLAUDE.md")
        assert there in tree.read("AGENTS.md")
        tree.write("AGENTS.md", tree.read("AGENTS.md").replace(there, left))
        tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace("- Be kind", "- Be very kind"))
        tree.git("commit", "-qm", "kind", "CLAUDE.md")

        for _ in range(3):
            tree.sync()

        assert block(tree, "CLAUDE.md") == others
        assert tree.rows()["AGENTS.md"].state == "paused"

    def test_a_fence_of_the_persons_own_is_no_rest_of_a_rule(self, tree):
        type_in_block(tree, "AGENTS.md", "\n```\nown words\n```\n")
        memory = tree.remember("Format like this:\n\n```\nmake format\n```", kind="convention")
        tree.sync()
        lines = "- Format like this:\n\n  ```\n  make format\n  ```\n"
        assert lines in tree.read("AGENTS.md")

        tree.write("AGENTS.md", tree.read("AGENTS.md").replace(lines, ""))
        tree.sync()

        assert "Format like this" not in tree.read("CLAUDE.md")
        assert tree.show(memory)["tier"] > 1

    @pytest.mark.parametrize("words", ["deploy through canary", "through canary we deploy"])
    def test_a_rule_that_loses_its_first_word_is_edited(self, tree, words):
        text = tree.read("AGENTS.md").replace("Always deploy through canary", words)
        tree.write("AGENTS.md", text)
        tree.sync()

        assert block(tree, "CLAUDE.md") == f"- {words}\n"

    def test_a_person_may_mean_it(self, tree):
        type_in_block(tree, "AGENTS.md", "- Always do these:\n  - use the linter\n  - use tabs\n")
        text = (
            tree.read("AGENTS.md").replace("- Always do these:\n", "").replace("  - use", "- Use")
        )
        tree.write("AGENTS.md", text)
        tree.sync()
        files.files_sync(tree.home, tree.call, accept_deletions=["AGENTS.md"])

        assert {"- Use the linter", "- Use tabs"} <= set(block(tree, "CLAUDE.md").splitlines())


class TestRoom:
    def test_the_newest_rules_and_prohibitions_have_their_place(self, tree):
        tree.remember("Never drop the production database")
        for number in range(30):
            tree.remember(f"Always name handler number {number} by its route")
        tree.sync()

        said = block(tree, "CLAUDE.md")

        assert "production database" in said
        assert "number 29 " in said
        assert "number 2 " not in said
        assert len(said.splitlines()) == 25
        assert not tree.sync().changed

    def test_what_a_person_typed_into_the_block_stays(self, tree):
        type_in_block(tree, "CLAUDE.md", "- Use tabs in this house\n")
        for number in range(30):
            tree.remember(f"Always name handler number {number} by its route")
        tree.sync()

        assert "- Use tabs in this house\n" in block(tree, "CLAUDE.md")

    def test_files_names_what_has_no_room_and_what_has_no_form(self, tree):
        long = tree.remember("Always " + "be careful " * 400)
        for number in range(30):
            tree.remember(f"Always name handler number {number} by its route")
        tree.sync()

        (row,) = [
            one for one in files.files(tree.home, tree.call)["files"] if "CLAUDE" in one["path"]
        ]

        room, form, *_ = row["reason"].split("; ")
        assert room.startswith("no room in its block for ")
        assert form.startswith("too long for a block")
        assert long[-8:] in form


class TestPackages:
    @pytest.fixture
    def packages(self, world):
        tree = world.repo()
        for name in "web", "api":
            tree.write(f"packages/{name}/src/main.py", "def main():\n    return 1\n")
        tree.commit("packages", {"tools/package.json": "{}\n"})
        tree.add()
        return tree

    @staticmethod
    def state(tree, folder, text):
        from yaadwatch.remember import remember as remember_verbs

        return remember_verbs.remember(
            tree.home, Call(folder=tree.path / folder, origin="cli"), text=text
        )

    @pytest.mark.parametrize("folder", ["packages/web", "packages/web/src", "tools"])
    def test_a_rule_is_told_in_its_package_and_at_the_top_only(self, packages, folder):
        told = self.state(packages, folder, "Always use Vue components here")

        assert "Vue" not in context(packages, folder="packages/api")
        assert "Vue" in context(packages, folder=folder)
        package = folder.removesuffix("/src")
        assert told["holds_in"] == package
        assert f"In {package}: Always use Vue" in context(packages)

    def test_a_rule_of_any_other_folder_holds_everywhere(self, packages):
        self.state(packages, "src", "Always use httpx for calls")

        assert "httpx" in context(packages, folder="packages/api")

    def test_a_rule_that_two_packages_state_holds_everywhere(self, packages):
        for folder in "packages/web", "packages/api":
            told = self.state(packages, folder, "Always use Vue components here")

        assert not told.get("holds_in")
        assert "Vue" in context(packages, folder="tools")

    def test_values_of_two_packages_do_not_contradict(self, packages):
        web = self.state(packages, "packages/web", "Node version: 18")["id"]
        api = self.state(packages, "packages/api", "Node version: 20")["id"]
        packages.claim(web, "node", "version", "18")

        assert "contradicts" not in packages.claim(api, "node", "version", "20")

    def test_recall_leaves_out_the_rules_of_other_packages(self, packages):
        from yaadwatch.recall import recall

        self.state(packages, "packages/web", "Always use Vue components here")

        def recalled(folder):
            call = Call(folder=packages.path / folder, origin="cli")
            return [
                one["text"]
                for one in recall.recall(packages.home, call, query="components")["results"]
            ]

        assert recalled("packages/api") == []
        assert len(recalled("packages/web")) == len(recalled(".")) == 1

    def test_it_reaches_no_file_of_the_whole_project(self, tree):
        tree.write("packages/web/main.py", "")
        self.state(tree, "packages/web", "Always use Vue components here")
        tree.sync()

        assert "Vue" not in block(tree, "CLAUDE.md")


def test_one_sentence_in_three_packages_is_judged_in_each(world):
    tree = world.repo()
    for name in "abc":
        tree.write(f"packages/{name}/src/index.py", f"ID = {name!r}\n")
        tree.write(f"packages/{name}/CLAUDE.md", "# P\n\n- The config is in `src/index.py`\n")
    tree.commit("packages")
    tree.add()
    (tree.path / "packages/b/src/index.py").unlink()
    tree.commit("b lost it")
    tree.check()

    (flag,) = tree.stale()["stale"]

    assert "packages/b/src/index.py is gone" in flag["reason"]


def test_the_escapes_of_a_formatter_change_no_memory(tree):
    tree.remember("Always put scratch files into C:\\dir, see https://example.org")
    tree.sync()
    text = tree.read("CLAUDE.md")
    text = text.replace("C:\\dir", "C:\\\\dir").replace(
        "https://example.org", "<https://example.org>"
    )
    tree.write("CLAUDE.md", text)
    other = tree.read("AGENTS.md")

    tree.sync()

    assert tree.read("CLAUDE.md") == text
    assert tree.read("AGENTS.md") == other


def test_a_path_with_an_at_sign_imports_nothing(tree):
    tree.remember("Always follow the guide in @docs/style.md, and hide <!-- nothing -->")

    tree.sync()

    assert "in `@docs/style.md`, and hide <\\!-- nothing -->" in block(tree, "CLAUDE.md")


class TestFilesOfARule:
    """A rule for some files says in words for which, where the other file cannot."""

    HEADERS = (
        (".cursor/rules/sql.mdc", 'globs: "src/**/*.sql"\nalwaysApply: false'),
        (".kiro/steering/sql.md", 'inclusion: fileMatch\nfileMatchPattern: "src/**/*.sql"'),
    )
    WORDS = "- For files matching `src/**/*.sql`: Always use CTEs\n"

    @pytest.mark.parametrize(("path", "header"), HEADERS)
    def test_the_files_stand_in_front(self, tree, path, header):
        tree.write(path, f"---\n{header}\n---\n\n- Be careful\n")
        tree.git("add", path)
        tree.sync()
        tree.write(path, f"---\n{header}\n---\n\n- Be careful\n- Always use CTEs\n")
        tree.sync()

        assert self.WORDS in block(tree, "AGENTS.md")
        assert not tree.sync().changed
        known = [one for one in tree.memories() if "CTEs" in one]
        assert known == [self.WORDS.removeprefix("- ").strip()]

        tree.write(path, f"---\n{header}\n---\n\n- Be careful\n")
        tree.sync()
        assert "CTEs" not in block(tree, "AGENTS.md")

    @pytest.mark.parametrize(
        "header",
        [
            "description: For SQL\nalwaysApply: false",
            "globs: a, b, c, d, e\nalwaysApply: false",
        ],
    )
    def test_what_words_cannot_say_stays(self, tree, header):
        path = ".cursor/rules/sql.mdc"
        tree.write(path, f"---\n{header}\n---\n\n- Be careful\n")
        tree.sync()
        tree.write(path, f"---\n{header}\n---\n\n- Be careful\n- Always use CTEs\n")
        tree.sync()

        assert "CTEs" not in block(tree, "AGENTS.md")

    def test_other_patterns_are_no_lost_rules(self, tree):
        path = ".claude/rules/sql.md"
        rules = "".join(f"- Always use feature {number}\n" for number in range(8))
        tree.write(path, f'---\npaths: "src/**/*.sql"\n---\n\n{rules}')
        tree.sync()
        tree.write(path, f'---\npaths: "db/**/*.{{sql,psql}}"\n---\n\n{rules}')
        tree.sync()

        known = [one for one in tree.memories() if "feature 3" in one]
        assert known == ["For files matching `db/**/*.{sql,psql}`: Always use feature 3"]


def told(tree, query):
    """The ids of what is recalled, by text."""
    found = recall.recall(tree.home, tree.call, query=query)["results"]
    return {row["text"]: row["id"] for row in found}


class TestHeadings:
    def test_a_new_heading_passes_on_no_rule_that_was_there_before(self, tree):
        tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace("\n\n- Be", "\n\n## Own\n\n- Be", 1))
        tree.sync()

        assert "Be kind" not in tree.read("AGENTS.md")
        assert "Own > Be kind" in told(tree, "be kind")

    def test_a_heading_that_changes_is_changed_in_the_other_files(self, tree):
        type_outside(tree, "CLAUDE.md", "## Backend\n\n- Always use tabs\n- Never use eval\n")
        before = block(tree, "AGENTS.md")
        ids = set(told(tree, "eval").values())
        tree.write("CLAUDE.md", tree.read("CLAUDE.md").replace("## Backend", "## Server"))
        tree.sync()

        assert "- Backend > Never use eval\n" in before
        assert block(tree, "AGENTS.md") == before.replace("Backend >", "Server >")
        assert set(told(tree, "eval").values()) == ids

    def test_a_heading_of_a_block_stands_in_front_in_the_other_files(self, tree):
        type_in_block(tree, "CLAUDE.md", "\n## Alice\n\n- Always ask me first\n")

        assert "- Alice > Always ask me first\n" in block(tree, "AGENTS.md")
        assert "## Alice\n\n- Always ask me first\n" in block(tree, "CLAUDE.md")
