import os
from dataclasses import replace
from pathlib import Path

import pytest
from trees import Tree, repository

from yaadwatch.daemon.arming import key_of
from yaadwatch.daemon.polling import Differences, Poller

NOTHING = Differences(paths=frozenset(), head=False, replaced=False)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = repository(tmp_path / "r", "a.py", "src/b.py", "gone.py")
    (tmp_path / "r/gone.py").unlink()
    (tmp_path / "r/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "r/.git/refs/heads/main").write_text("1" * 40)
    return made


def edit(root: Path) -> None:
    (root / "a.py").write_text("longer than before")


def keep_size_and_mtime(root: Path) -> None:
    before = (root / "a.py").stat()
    (root / "new").write_text("")
    os.utime(root / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (root / "new").replace(root / "a.py")


def delete(root: Path) -> None:
    (root / "a.py").unlink()


def make_executable(root: Path) -> None:
    (root / "a.py").chmod(0o755)


def replace_by_a_link(root: Path) -> None:
    (root / "a.py").unlink()
    (root / "a.py").symlink_to("src/b.py")


@pytest.mark.parametrize(
    "change", [edit, keep_size_and_mtime, delete, make_executable, replace_by_a_link]
)
def test_a_change_of_an_anchored_file_is_seen_once(tree, change):
    poller = Poller()
    poller.look(tree)

    change(tree.root)

    assert poller.look(tree).paths == {"a.py"}
    assert poller.look(tree) == NOTHING


def test_an_anchored_file_that_appears_is_seen(tree):
    poller = Poller()
    poller.look(tree)

    (tree.root / "gone.py").touch()

    assert poller.look(tree).paths == {"gone.py"}


def test_files_that_come_and_go_with_their_folder_are_seen(tree):
    tree = replace(tree, paths=tree.paths | {".agent/rules.md", ".agent/more/*"})
    poller = Poller()
    poller.look(tree)

    (tree.root / ".agent/more").mkdir(parents=True)
    (tree.root / ".agent/rules.md").touch()
    came = poller.look(tree).paths
    (tree.root / ".agent").rename(tree.root / "elsewhere")
    went = poller.look(tree).paths
    (tree.root / ".agent").symlink_to("elsewhere")

    assert came == went == poller.look(tree).paths == {".agent/rules.md", ".agent/more/*"}


def test_the_first_look_finds_nothing(tree):
    assert not Poller().look(tree)


def test_a_new_anchor_is_no_change(tree):
    poller = Poller()
    poller.look(replace(tree, paths=frozenset({"a.py"})))

    assert not poller.look(tree)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("HEAD", "ref: refs/heads/other\n"),
        ("HEAD", "2" * 40),
        ("refs/heads/main", "2" * 41),
        ("packed-refs", "# pack-refs"),
        ("logs/HEAD", "a line"),
        ("reftable/tables.list", "a table"),
    ],
)
def test_every_way_in_which_head_can_move_is_seen(tree, file, text):
    poller = Poller()
    poller.look(tree)

    (tree.git_dir / file).parent.mkdir(exist_ok=True)
    (tree.git_dir / file).write_text(text)

    assert poller.look(tree) == replace(NOTHING, head=True)
    assert poller.look(tree) == NOTHING


@pytest.mark.parametrize("head", ["", "ref: refs/heads/../../../etc/passwd", "ref: x\0y", "\xff"])
def test_a_broken_head_is_just_another_head(tree, head):
    poller = Poller()
    poller.look(tree)

    (tree.git_dir / "HEAD").write_text(head)

    assert poller.look(tree).head


def test_a_folder_that_was_replaced_or_went_away_is_seen(tree):
    poller = Poller()
    poller.look(tree)

    tree.root.rename(tree.root.parent / "old")
    gone = poller.look(tree)
    repository(tree.root, "a.py", "src/b.py")
    back = poller.look(tree)

    assert gone.replaced
    assert back.replaced


def test_a_forgotten_tree_is_looked_at_anew(tree):
    poller = Poller()
    poller.look(tree)
    edit(tree.root)

    poller.forget(key_of(tree))
    poller.forget(key_of(tree))

    assert not poller.look(tree)
