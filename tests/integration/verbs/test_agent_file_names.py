"""Under which name a folder has a file, on a disk where case does not matter."""

import pytest

from yaadwatch.workspace.agent_files import spelled, target


@pytest.mark.parametrize(
    ("name", "listed", "found"),
    [
        ("CLAUDE.md", {"claude.md", "src"}, "claude.md"),
        ("CLAUDE.md", {"CLAUDE.md", "claude.md"}, "CLAUDE.md"),
        ("CLAUDE.md", {"Claude.MD", "CLAUDE.md.bak"}, "Claude.MD"),
        ("CLAUDE.md", {"src"}, "CLAUDE.md"),
        ("CLAUDE.md", set(), "CLAUDE.md"),
        ("STRASSE.md", {"straße.md"}, "straße.md"),
    ],
)
def test_the_name_that_is_there_is_the_one_that_git_knows(name, listed, found):
    assert spelled(name, listed) == found


def test_where_case_matters_both_are_files_of_their_own(tmp_path):
    for name in ("CLAUDE.md", "claude.md"):
        (tmp_path / name).write_text(name)
    if len(list(tmp_path.iterdir())) == 1:
        pytest.skip("case does not matter here")

    assert target(tmp_path, "CLAUDE.md") == ("CLAUDE.md", "")
    assert target(tmp_path, "claude.md") == ("claude.md", "")
