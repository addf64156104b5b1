"""Agent files in folders further down, noticed by the times of folders alone."""

import os
import shutil

import pytest

from yaadwatch.daemon import polling
from yaadwatch.daemon.polling import Folders
from yaadwatch.workspace.agent_files import formats


@pytest.fixture
def root(tmp_path):
    for folder in ("src/net", "web", "node_modules/a", ".git/hooks", "lib/.git"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


@pytest.fixture
def look(root):
    watched = Folders(str(root), formats)
    assert watched.look(()) == frozenset()
    return lambda known=(): watched.look(known)


def write(root, path):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("- A rule\n")


def test_a_file_that_comes_up_further_down_is_found_once(root, look):
    write(root, "web/CLAUDE.md")
    write(root, "src/net/AGENTS.md")

    assert look() == {"web/CLAUDE.md", "src/net/AGENTS.md"}
    assert look() == frozenset()


def test_one_in_folders_that_came_up_with_it_is_found(root, look):
    write(root, "app/deep/deeper/CLAUDE.md")

    assert look() == {"app/deep/deeper/CLAUDE.md"}


def test_a_folder_that_came_up_before_its_file_is_known(root, look):
    (root / "app" / "deep").mkdir(parents=True)
    assert look() == frozenset()
    write(root, "app/deep/CLAUDE.md")

    assert look() == {"app/deep/CLAUDE.md"}


def test_after_a_folder_was_deleted_and_made_again_it_is_looked_at(root, look):
    shutil.rmtree(root / "web")
    assert look() == frozenset()
    write(root, "web/CLAUDE.md")

    assert look() == {"web/CLAUDE.md"}


@pytest.mark.parametrize(
    "path",
    [
        *("CLAUDE.md", "web/notes.md", "node_modules/a/CLAUDE.md", ".git/hooks/CLAUDE.md"),
        *("lib/CLAUDE.md", ".venv/x/CLAUDE.md"),
    ],
)
def test_what_is_elsewhere_or_something_else_is_not_found(root, look, path):
    write(root, path)

    assert look() == frozenset()


def test_what_is_known_is_left_out(root, look):
    write(root, "web/CLAUDE.md")

    assert look({"web/CLAUDE.md"}) == frozenset()


def test_links_lead_nowhere(root, look, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (root / "web" / "out").symlink_to(outside)
    (root / "web" / "up").symlink_to(root)
    look()
    write(outside, "CLAUDE.md")

    assert look() == frozenset()


def test_at_rest_a_look_lists_no_folder(root, look, monkeypatch):
    def listed(path):
        raise AssertionError(f"{path} was listed")

    monkeypatch.setattr(os, "scandir", listed)

    assert look() == frozenset()


def test_there_is_a_limit_and_what_is_near_the_top_comes_first(root, monkeypatch):
    monkeypatch.setattr(polling, "FOLDERS_MAX", 5)
    for number in range(10):
        (root / "web" / str(number) / "deep").mkdir(parents=True)
    watched = Folders(str(root), formats)
    watched.look(())
    write(root, "src/CLAUDE.md")
    write(root, "web/9/deep/CLAUDE.md")

    assert watched.look(()) == {"src/CLAUDE.md"}


def test_a_work_tree_that_is_gone_has_nothing(root, look):
    shutil.rmtree(root)

    assert look() == frozenset()
