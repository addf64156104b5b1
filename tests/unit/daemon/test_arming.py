from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import Tree, repository

from yaadwatch.daemon.arming import ANY, ITSELF, Arms, key_of, plan, report
from yaadwatch.daemon.supervisor import Health
from yaadwatch.model.settings import Watch
from yaadwatch.repo.watch import Watcher


class PaperWatcher:
    """Watches on paper: knows which folders it was asked to watch, and refuses the given ones."""

    overflows = 0
    events = 0

    def __init__(
        self,
        refusing: frozenset[Path] = frozenset(),
        unreadable: frozenset[Path] = frozenset(),
    ) -> None:
        self.watched: list[Path] = []
        self.refusing = refusing
        self.unreadable = unreadable

    @property
    def folders(self) -> frozenset[Path]:
        return frozenset(self.watched)

    @property
    def refused(self) -> int:
        return len(self.refusing)

    def watch(self, folder: Path) -> bool:
        if folder in self.refusing or not folder.is_dir() or folder.is_symlink():
            return False
        if folder not in self.watched:
            self.watched.append(folder)
        return True

    def unwatch(self, folder: Path) -> None:
        if folder in self.watched:
            self.watched.remove(folder)

    def close(self) -> None:
        self.watched.clear()


def arms_of(watcher, budget: int = 100, silent=lambda folder: ()) -> Arms:
    return Arms(watcher, budget=budget, silent=silent)


def test_the_folders_on_the_way_to_each_anchored_file_are_watched_and_no_other(tmp_path):
    tree = repository(tmp_path / "r", "a.py", "src/auth/jwt.py")
    (tmp_path / "r" / "node_modules" / "deep").mkdir(parents=True)
    watcher = PaperWatcher()

    arms_of(watcher).arm(tree)

    found = {str(folder.relative_to(tmp_path)) for folder in watcher.folders}
    git = {"r/.git", "r/.git/logs", "r/.git/refs/heads", "r/.git/refs/heads/feature"}
    assert found == {".", "r", "r/src", "r/src/auth"} | git


def test_a_file_means_itself_and_a_folder_means_what_is_below_it(tmp_path):
    tree = repository(tmp_path / "r", "src/auth/jwt.py", "src/main.py")
    arms = arms_of(PaperWatcher())
    arms.arm(tree)
    src = tree.root / "src"

    ((key, file),) = arms.meanings(src, "main.py")
    ((_, folder),) = arms.meanings(tree.root, "src")
    ((_, gone),) = arms.meanings(src, ITSELF)

    assert key == key_of(tree)
    assert (file.paths, file.shape) == (("src/main.py",), False)
    assert (folder.paths, folder.shape) == (("src/auth/jwt.py", "src/main.py"), True)
    assert gone == folder


def test_every_name_in_a_folder_may_matter_and_known_ones_mean_themselves(tmp_path):
    tree = repository(tmp_path / "r", ".claude/rules/a.md", ".claude/rules/*")
    arms = arms_of(PaperWatcher())
    arms.arm(tree)
    rules = tree.root / ".claude" / "rules"

    ((_, known),) = arms.meanings(rules, "a.md")
    ((_, new),) = arms.meanings(rules, "new.md")

    assert known.paths == (".claude/rules/a.md",)
    assert new.paths == (".claude/rules/*",)
    assert arms.cares(rules, "new.md")
    assert not arms.cares(tree.root / ".claude", "settings.json")


@pytest.mark.parametrize(
    ("folder", "name", "cared"),
    [
        ("r", "src", True),
        ("r", "README.md", False),
        ("r", ".git", True),
        ("r", ".yaad", False),
        ("r/src", "a.py", True),
        ("r/src", "b.py", False),
        ("r/src", ITSELF, True),
        ("r/.git", "HEAD", True),
        ("r/.git", "HEAD.lock", False),
        ("r/.git", "index", False),
        ("r/.git", "index.lock", True),
        ("r/.git", "packed-refs", True),
        ("r/.git", "FETCH_HEAD", False),
        ("r/.git", "COMMIT_EDITMSG", False),
        ("r/.git/logs", "HEAD", True),
        ("r/.git/logs", "refs", False),
        ("r/.git/refs/heads", "main", True),
        ("r/.git/refs/heads", "main.lock", False),
        ("r/.git/refs/heads/feature", "x", True),
        ("elsewhere", "a.py", False),
    ],
)
def test_names_that_are_neither_anchored_nor_gits_are_ignored(tmp_path, folder, name, cared):
    arms = arms_of(PaperWatcher())
    arms.arm(repository(tmp_path / "r", "src/a.py"))

    assert arms.cares(tmp_path / folder, name) is cared
    if not name.endswith("HEAD.lock"):
        assert bool(arms.meanings(tmp_path / folder, name)) is cared or name == "main.lock"


def test_a_linked_work_tree_is_told_by_its_own_git_folder(tmp_path):
    main = repository(tmp_path / "r", "a.py")
    own = tmp_path / "r/.git/worktrees/two"
    (own / "logs").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    linked = Tree(
        project="p",
        worktree=2,
        root=tmp_path / "two",
        git_dir=own,
        common_dir=main.common_dir,
        paths=main.paths,
    )
    arms = arms_of(PaperWatcher())
    arms.arm(main)
    arms.arm(linked)

    assert [key for key, meaning in arms.meanings(own, "HEAD") if meaning.head] == [("p", 2)]
    assert [key for key, meaning in arms.meanings(own, "index.lock") if meaning.lock] == [("p", 2)]
    assert {key for key, _ in arms.meanings(main.common_dir / "refs/heads", "main")} == {
        ("p", 1),
        ("p", 2),
    }
    assert all(meaning.trees for _, meaning in arms.meanings(own.parent, "three"))


def test_a_missing_folder_is_waited_for_by_its_nearest_parent(tmp_path):
    tree = repository(tmp_path / "r", "src/auth/jwt.py")
    (tmp_path / "r/src/auth/jwt.py").unlink()
    (tmp_path / "r/src/auth").rmdir()
    watcher = PaperWatcher()
    arms = arms_of(watcher)

    arms.arm(tree)
    before = watcher.folders
    ((_, meaning),) = arms.meanings(tmp_path / "r/src", "auth")
    (tmp_path / "r/src/auth").mkdir()
    arms.arm(tree)

    assert meaning.shape
    assert watcher.folders - before == {tmp_path / "r/src/auth"}
    assert arms.mode(key_of(tree)) == "full"


def test_a_link_on_the_way_is_not_followed(tmp_path):
    (tmp_path / "outside/deep").mkdir(parents=True)
    tree = repository(tmp_path / "r", "a.py")
    (tmp_path / "r/lib").symlink_to(tmp_path / "outside")
    watcher = PaperWatcher()
    arms = arms_of(watcher)

    arms.arm(Tree(**{**tree.__dict__, "paths": frozenset({"lib/deep/x.py"})}))

    assert not any("lib" in folder.parts or "outside" in folder.parts for folder in watcher.folders)
    assert arms.mode(key_of(tree)) == "full"


def test_a_tree_that_does_not_fit_is_polled_until_there_is_room(tmp_path):
    trees = [repository(tmp_path / name / "r", "a/b/c/d.py", project=name) for name in "xyz"]
    watcher = PaperWatcher()
    arms = arms_of(watcher, budget=3 * len(plan(trees[0], [], files=True)) - 2)

    for tree in trees:
        arms.arm(tree)
    modes = [arms.mode(key_of(tree)) for tree in trees]
    demoted = arms.demoted
    folders = watcher.folders
    arms.disarm(key_of(trees[0]))
    arms.arm(trees[2])

    assert modes == ["full", "full", "poll"]
    assert demoted == 1
    assert trees[2].git_dir in folders
    assert trees[2].root / "a" not in folders
    assert arms.mode(key_of(trees[2])) == "full"


def test_without_a_budget_everything_is_polled(tmp_path):
    tree = repository(tmp_path / "r", "a.py")
    watcher = PaperWatcher()
    arms = arms_of(watcher, budget=0)

    arms.arm(tree)

    assert watcher.folders == frozenset()
    assert arms.mode(key_of(tree)) == "poll"


def test_a_refused_folder_makes_the_tree_polled_until_it_is_watched(tmp_path):
    tree = repository(tmp_path / "r", "src/a.py")
    watcher = PaperWatcher(refusing=frozenset({tmp_path / "r/src"}))
    arms = arms_of(watcher)

    arms.arm(tree)
    refused = arms.mode(key_of(tree))
    watcher.refusing = frozenset()
    arms.arm(tree)

    assert (refused, arms.mode(key_of(tree))) == ("poll", "full")


def told(watcher, arms=None) -> list[tuple[str, str]]:
    health = Health()
    report(health, watcher, arms or arms_of(watcher), Watch())
    problems = [(one.what, one.mend) for one in health.problems()]
    report(health, PaperWatcher(), arms_of(PaperWatcher()), Watch())
    assert health.problems() == []
    return problems


def test_each_reason_for_polling_is_told_with_what_mends_it(tmp_path):
    limited = PaperWatcher(refusing=frozenset({tmp_path / "a", tmp_path / "b"}))
    unreadable = PaperWatcher(unreadable=frozenset({tmp_path / "y", tmp_path / "x"}))
    nobody = Watcher()
    nobody.watch(tmp_path)

    ((watches, more_watches),) = told(limited)
    ((rights, look),) = told(unreadable)
    ((watchers, more_watchers),) = told(nobody)

    assert "refuses to watch 2 folders" in watches
    assert "max_user_watches" in more_watches
    assert rights.startswith("2 folders may not be read by you")
    assert rights.endswith(f"for instance {tmp_path / 'x'}.")
    assert look == f"ls -ld {tmp_path / 'x'}"
    assert "no watcher left" in watchers
    assert "max_user_instances" in more_watchers


def test_where_the_file_system_does_not_tell_nothing_is_watched(tmp_path):
    tree = repository(tmp_path / "r", "src/a.py")
    watcher = PaperWatcher()
    arms = arms_of(watcher, silent=lambda folder: {folder})

    arms.arm(tree)

    assert watcher.folders == frozenset()
    assert arms.mode(key_of(tree)) == "poll"


def test_a_tree_whose_folder_is_gone_is_off_and_its_return_is_noticed(tmp_path):
    tree = repository(tmp_path / "r", "src/a.py")
    (tmp_path / "r").rename(tmp_path / "away")
    arms = arms_of(PaperWatcher())

    arms.arm(tree)

    assert arms.mode(key_of(tree)) == "off"
    ((_, meaning),) = arms.meanings(tmp_path, "r")
    assert meaning.shape
    assert meaning.paths == ("src/a.py",)


def test_a_disarmed_tree_leaves_only_what_others_need(tmp_path):
    one = repository(tmp_path / "one", "src/a.py", project="one")
    two = repository(tmp_path / "two", "src/a.py", project="two")
    watcher = PaperWatcher()
    arms = arms_of(watcher)
    arms.arm(two)
    alone = watcher.folders
    arms.arm(one)

    arms.disarm(key_of(one))
    arms.disarm(key_of(one))

    assert watcher.folders == alone
    assert [key for key, _ in arms.meanings(tmp_path, "one")] == []
    assert arms.mode(key_of(one)) == "off"


names = st.sampled_from(["a", "b", "c.py", "d.py"])
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


@given(st.frozensets(paths, max_size=12))
def test_every_anchored_file_can_be_told_by_each_step_on_its_way(given_paths):
    tree = Tree(
        project="p",
        worktree=1,
        root=Path("/r"),
        git_dir=Path("/r/.git"),
        common_dir=Path("/r/.git"),
        paths=given_paths,
    )

    folders = plan(tree, [], files=True)

    order = list(folders)
    for path in given_paths:
        steps = path.split("/")
        for depth, name in enumerate(steps):
            folder = Path("/r", *steps[:depth])
            assert path in folders[folder][name].paths
            assert folders[folder][name].shape or depth == len(steps) - 1
            if depth:
                assert path in folders[folder][ITSELF].paths
                assert order.index(folder.parent) < order.index(folder)
    assert ANY not in folders[Path("/r")]
