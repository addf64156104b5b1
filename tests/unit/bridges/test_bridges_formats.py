"""Bytes in, statements or one clear reason out; and which path has which format."""

import pytest

from bridges.reading import STATEMENTS_MAX, parse
from bridges.registry import BRIDGES, for_path, listed
from bridges.rules import Bridge, Problem, Statement


def test_a_file_is_read():
    document = parse(b"\xef\xbb\xbf# Rules\r\n\r\n- Use tabs.\r\n")

    assert document.problems == ()
    assert document.statements == (
        Statement(text="Use tabs.", line=3, end_line=3, headings=("Rules",), kind="convention"),
    )


def test_an_empty_file_says_nothing_and_is_no_problem():
    assert parse(b"") == parse(b"\n") == parse(b"\xef\xbb\xbf")
    assert parse(b"").problems == ()


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"- ok\n- caf\xe9\n", 2, "Byte 0xe9 in line 2 is not UTF-8; nothing was read."),
        (b"- ok\n\n- \0", 3, "Byte 0x00 in line 3 is NUL; nothing was read."),
        ("- ok".encode("utf-16"), 1, "Byte 0xff in line 1 is not UTF-8; nothing was read."),
    ],
)
def test_bytes_that_are_not_text_are_not_read_and_the_place_is_named(content, line, message):
    document = parse(content)

    assert document.statements == ()
    assert document.problems == (
        Problem(line=line, message=f"{message} Save the file as UTF-8 text to have it read."),
    )


def test_too_many_statements_are_cut_and_that_is_said():
    full = "\n".join(f"- rule {number}" for number in range(STATEMENTS_MAX))

    assert parse(full.encode()).problems == ()

    document = parse(f"{full}\n- one\n- two".encode())
    assert len(document.statements) == STATEMENTS_MAX
    assert document.problems == (
        Problem(
            line=STATEMENTS_MAX + 1,
            message="The file holds 2002 statements; the first 2000 were read."
            " Split the file to have all of them read.",
        ),
    )


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("CLAUDE.md", "claude"),
        (".claude/CLAUDE.md", "claude"),
        ("web/CLAUDE.md", "claude"),
        ("web/.claude/CLAUDE.md", "claude"),
        ("CLAUDE.local.md", "claude-local"),
        ("web/CLAUDE.local.md", "claude-local"),
        (".claude/rules/go.md", "claude-rules"),
        (".claude/rules/deep/er/go.md", "claude-rules"),
        (".claude/rules/CLAUDE.md", "claude-rules"),
        ("web/.claude/rules/CLAUDE.md", "claude-rules"),
        ("AGENTS.md", "agents"),
        ("packages/web/AGENTS.md", "agents"),
        (".cursorrules", "cursorrules"),
        (".cursor/rules/go.mdc", "cursor-rules"),
        (".cursor/rules/deep/er/go.mdc", "cursor-rules"),
        ("web/.cursor/rules/go.mdc", "cursor-rules"),
        ("GEMINI.md", "gemini"),
        ("web/GEMINI.md", "gemini"),
        (".github/copilot-instructions.md", "copilot"),
        (".github/instructions/go.instructions.md", "copilot-rules"),
        (".github/instructions/deep/go.instructions.md", "copilot-rules"),
        (".windsurfrules", "windsurf"),
        (".windsurf/rules/go.md", "devin-rules"),
        (".devin/rules/deep/go.md", "devin-rules"),
        (".clinerules", "cline"),
        (".clinerules/go.md", "cline-rules"),
        (".clinerules/go.txt", "cline-rules"),
        (".kiro/steering/tech.md", "kiro"),
    ],
)
def test_a_path_has_the_format_of_its_name(path, name):
    bridge = for_path(path)

    assert bridge is not None
    assert bridge.name == name


@pytest.mark.parametrize(
    "path",
    [
        *("", "README.md", "claude.md", "MYCLAUDE.md", "CLAUDE.md/x", "CONVENTIONS.md"),
        *(".clinerules/workflows/release.md", ".clinerules/hooks/TaskStart", ".clinerules/a.mdc"),
        *(".cursor/rules/go.md", ".cursor/rules", ".github/instructions/go.md", "web/.cursorrules"),
        *(
            ".github/x/copilot-instructions.md",
            ".kiro/steering/deep/tech.md",
            "x.claude/rules/a.md",
        ),
        *("web/.github/copilot-instructions.md", "web/.clinerules", ".claude/rules/go.mdx"),
    ],
)
def test_other_paths_have_none(path):
    assert for_path(path) is None


def test_names_and_paths_are_taken_once():
    assert len({bridge.name for bridge in BRIDGES}) == len(BRIDGES)
    paths = [path for bridge in BRIDGES for path in bridge.paths]
    assert len(set(paths)) == len(paths)


def test_files_that_stand_many_in_a_folder_are_not_given_a_block():
    assert {bridge.name for bridge in BRIDGES if not bridge.block} == {
        *("claude-rules", "cursor-rules", "copilot-rules", "devin-rules", "cline-rules", "kiro")
    }


PATHS_EVERYWHERE = ["", "---\n---\n", "---\ntitle: Go\n---\n", "---\npaths:\n---\n"]

EVERYWHERE = {
    "claude": ["", "---\npaths: src\n---\n"],
    "claude-rules": [
        *PATHS_EVERYWHERE,
        '---\npaths: "**"\n---\n',
        "---\npaths:\n  - **/*\n---\n",
        "---\npaths: []\n---\n",
    ],
    "cursor-rules": [
        "---\nalwaysApply: true\n---\n",
        "---\ndescription: x\nglobs:\nalwaysApply: true # always\n---\n",
        "---\nglobs: []\nalwaysApply: true\n---\n",
    ],
    "copilot-rules": [
        '---\napplyTo: "**"\n---\n',
        "---\napplyTo: '**/*'\n---\n",
        "---\napplyTo: **/*.ts,**\n---\n",
        "---\napplyTo: ['**']\n---\n",
    ],
    "devin-rules": ["---\ntrigger: always_on\n---\n", "---\ntrigger: 'always_on'\n---\n"],
    "cline-rules": [*PATHS_EVERYWHERE, "---\npaths: ['**']\n---\n"],
    "kiro": ["", "---\ninclusion: always\n---\n", "---\ntitle: x\n---\n", "---\ninclusion:\n---\n"],
}
DAMAGED = ["---\n- Use jose.\n---\n", "---\na: b\n", "---\na: b\na: c\n---\n"]
NOT_EVERYWHERE = {
    "claude-rules": [
        *DAMAGED,
        "---\npaths: src/**\n---\n",
        "---\npaths:\n  - '**/*.ts'\n---\n",
        "---\nglobs: *.ts\n---\n",
        "---\npaths: true\n---\n",
    ],
    "cursor-rules": [
        *DAMAGED,
        "",
        "---\n---\n",
        '---\nalwaysApply: "true"\n---\n',
        "---\nalwaysApply: false\n---\n",
        "---\nalwaysApply: yes\n---\n",
        "---\nglobs: src/**\nalwaysApply: true\n---\n",
        "---\nglobs:\n  - '*.ts'\nalwaysApply: true\n---\n",
        "---\ndescription: Ask for it\n---\n",
    ],
    "copilot-rules": [
        *DAMAGED,
        "",
        "---\ndescription: x\n---\n",
        "---\napplyTo:\n---\n",
        '---\napplyTo: "**/*.ts,**/*.tsx"\n---\n',
    ],
    "devin-rules": [
        *DAMAGED,
        "",
        "---\ntrigger: glob\nglobs: *.ts\n---\n",
        "---\ntrigger: manual\n---\n",
        "---\ntrigger: model_decision\n---\n",
        "---\ntrigger: |\n  always_on\n---\n",
    ],
    "cline-rules": [*DAMAGED, "---\npaths: []\n---\n", "---\npaths:\n  - src/**\n---\n"],
    "kiro": [
        *DAMAGED,
        "---\ninclusion: manual\n---\n",
        "---\ninclusion: auto\n---\n",
        "---\ninclusion: fileMatch\nfileMatchPattern: '*.ts'\n---\n",
    ],
}
HEADERS = [
    (name, header, everywhere)
    for table, everywhere in ((EVERYWHERE, True), (NOT_EVERYWHERE, False))
    for name, headers in table.items()
    for header in headers
]


@pytest.mark.parametrize(("name", "header", "everywhere"), HEADERS)
def test_a_header_says_for_whom_a_file_holds(name, header, everywhere):
    bridge = next(bridge for bridge in BRIDGES if bridge.name == name)
    text = header + "\n- Use tabs.\n"

    for content in (text, "\ufeff" + text, text.replace("\n", "\r\n")):
        document = bridge.parse(content.encode())
        assert document.everywhere is everywhere
        assert document.problems == ()
        assert document.statements[-1].text.endswith("Use tabs.")
        if header not in DAMAGED:
            assert [s.line for s in document.statements] == [text.count("\n")]


def test_files_that_a_person_names_are_read_and_written_like_any_other():
    bridge = listed(("CONVENTIONS.md", "docs/**/*-rules.md"))

    assert bridge.name == "conventions"
    assert bridge.block
    assert bridge.is_at("CONVENTIONS.md")
    assert bridge.is_at("docs/go/style-rules.md")
    assert not bridge.is_below("web/CONVENTIONS.md")
    assert for_path("CONVENTIONS.md", more=[bridge]) is bridge
    assert for_path("CLAUDE.md", more=[listed(("CLAUDE.md",))]).name == "claude"
    assert bridge.parse(b"- Use tabs.\n") == parse(b"- Use tabs.\n")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "characters"),
        ("a" * 201, "characters"),
        ("a\0.md", "printable"),
        ("a\n.md", "printable"),
        ("docs\\rules.md", "printable"),
        ("/etc/rules.md", "must lead from the top"),
        ("~/rules.md", "must lead from the top"),
        ("C:/rules.md", "must lead from the top"),
        ("../rules.md", "must lead from the top"),
        ("docs/../rules.md", "must lead from the top"),
        ("./rules.md", "must lead from the top"),
        ("docs//rules.md", "must lead from the top"),
        ("docs/", "must lead from the top"),
        ("docs/[ab].md", "no other sign"),
        ("docs/rule?.md", "no other sign"),
        ("docs/{a,b}.md", "no other sign"),
        ("docs/a**/b.md", "only as a folder"),
        ("docs/**", "only as a folder"),
        ("docs/*", "must name its files"),
        ("**/a/**/b/*c*.md", "up to 3 wildcards"),
    ],
)
def test_a_damaged_path_is_told_by_its_name(path, reason):
    with pytest.raises(ValueError, match="of the format conventions") as told:
        listed((path,))

    assert reason in str(told.value)
    assert repr(path) in str(told.value)


def test_a_format_without_a_name_or_path_cannot_exist():
    with pytest.raises(ValueError, match="needs a path"):
        listed(())
    for name in ("", "Two Words", "-x", "x_y", "x-"):
        with pytest.raises(ValueError, match="named by small letters"):
            Bridge(name=name, paths=("X.md",), parse=parse)


@pytest.mark.parametrize(("line", "end_line"), [(0, 1), (2, 1), (-1, -1)])
def test_a_statement_without_a_place_cannot_exist(line, end_line):
    with pytest.raises(ValueError, match="lines count from 1"):
        Statement(text="Use tabs.", line=line, end_line=end_line)


def test_a_statement_without_words_cannot_exist():
    with pytest.raises(ValueError, match="has words"):
        Statement(text="", line=1, end_line=1)
