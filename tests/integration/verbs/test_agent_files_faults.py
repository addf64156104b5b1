"""Agent files when something goes wrong: killed in between, raced by writers, out of space."""

import contextlib
import os
import signal
import subprocess
import threading
from itertools import cycle

import pytest
from verb_world import World, prepared

from yaadwatch.model.errors import YaadError
from yaadwatch.sync import committing
from yaadwatch.sync import tree as sync_tree
from yaadwatch.system import safe_write

CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
AGENTS = "# For agents\n\n- Run `make test` first\n"
RULE = "Always use jose for tokens"


def killed_at(folder, beat):
    """Sync in another process, which kills itself at a beat; return how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        _sync_until(folder, beat)
    finally:
        os._exit(0)


def _sync_until(folder, beat):
    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    real = safe_write.replace_expected

    def replace_until(path, expected, new, **given):
        real(path, expected, new, step=lambda name: name == beat and die(), **given)

    if beat == "committed":
        sync_tree.Sync._write = die
    elif beat == "kept":
        safe_write.replace_expected = die
    elif beat == "acted":
        committing._store_agreement = die
    else:
        safe_write.replace_expected = replace_until
    World(folder).tree("repo").sync()


BEATS = ("committed", "kept", "checked", "written", "compared", "exchanged", "settled", "acted")


@prepared
def tree(world):
    tree = world.repo()
    tree.commit("rules", {"CLAUDE.md": CLAUDE, "AGENTS.md": AGENTS})
    tree.add(mode="inline")
    tree.sync()
    return tree


def rules_of(tree, path):
    text = tree.read(path)
    inner = text.partition("yaad:begin")[2].partition("<!-- yaad:end")[0]
    return [line[2:] for line in inner.splitlines() if line.startswith("- ")]


@pytest.mark.parametrize(
    ("beat", "edit"), list(zip(BEATS, cycle(["new", "changed", "deleted"]), strict=False))
)
def test_a_sync_that_was_killed_between_any_two_beats_is_made_up_for(tree, beat, edit):
    """Nothing is lost, nothing is made twice, and no file of ours is left behind."""
    tree.remember(RULE, kind="convention")
    tree.remember("Never log tokens", kind="convention")
    tree.sync_until_quiet()
    claude = tree.read("CLAUDE.md")
    match edit:
        case "new":
            tree.write("CLAUDE.md", claude.replace(f"- {RULE}\n", f"- {RULE}\n- Use httpx\n"))
        case "changed":
            tree.write("CLAUDE.md", claude.replace(RULE, RULE + " and cookies"))
        case "deleted":
            tree.write("CLAUDE.md", claude.replace(f"- {RULE}\n", ""))
    tree.world.home.close()

    assert killed_at(tree.world.folder, beat) == -signal.SIGKILL
    tree.world.reopen()
    tree.sync_until_quiet()

    wanted = {
        "new": [RULE, "Use httpx", "Never log tokens"],
        "changed": [RULE + " and cookies", "Never log tokens"],
        "deleted": ["Never log tokens"],
    }[edit]
    texts = tree.memories()
    assert sorted(rules_of(tree, "CLAUDE.md")) == sorted(wanted)
    assert sorted(rules_of(tree, "AGENTS.md")) == sorted(wanted)
    assert len(texts) == len(set(texts))
    assert set(wanted) <= set(texts)
    assert list(tree.path.glob(".*.yaad")) == []


def test_lines_that_come_through_an_open_descriptor_are_not_lost(tree):
    """An appender that opened the file before we replaced it writes to what the file was."""
    with (tree.path / "CLAUDE.md").open("ab") as appender:
        tree.remember(RULE, kind="convention")
        tree.sync()
        assert rules_of(tree, "CLAUDE.md") == [RULE]
        appender.write(b"- Never push on Fridays\n")

    done = tree.sync()
    assert done.watching
    tree.sync_until_quiet()

    assert tree.read("CLAUDE.md").count("- Never push on Fridays\n") == 1
    assert "Never push on Fridays" in tree.memories()
    assert "Never push on Fridays" in rules_of(tree, "AGENTS.md")


def test_late_lines_that_the_file_has_by_now_are_not_said_twice(tree):
    """As when whoever wrote the file since had seen them."""
    with (tree.path / "CLAUDE.md").open("ab") as appender:
        tree.remember(RULE, kind="convention")
        tree.sync()
        appender.write(b"- Never push on Fridays\n")
    with (tree.path / "CLAUDE.md").open("ab") as other:
        other.write(b"- Never push on Fridays\n")

    tree.sync_until_quiet()

    assert tree.read("CLAUDE.md").count("- Never push on Fridays\n") == 1


def test_a_text_that_was_rewritten_through_an_open_descriptor_is_kept_as_a_copy(tree):
    with (tree.path / "CLAUDE.md").open("r+b") as writer:
        tree.remember(RULE, kind="convention")
        tree.sync()
        writer.truncate(0)
        writer.write(b"- All of it anew\n")

    tree.sync()

    copies = [path.read_bytes() for path in (tree.store.parent / "snapshots").iterdir()]
    assert b"- All of it anew\n" in copies
    assert rules_of(tree, "CLAUDE.md") == [RULE]


def test_nobody_watches_a_former_file_for_ever(tree):
    tree.remember(RULE, kind="convention")
    assert tree.sync().watching
    before = len(os.listdir("/proc/self/fd"))

    threading.Event().wait(2.1)

    assert not tree.sync().watching
    assert len(os.listdir("/proc/self/fd")) < before


def test_a_full_disk_leaves_every_file_as_it_was_and_is_made_up_for(world, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        tree = world.tree("small/repo")
        tree.git("init", "-q", "-b", "main")
        tree.commit("rules", {"CLAUDE.md": CLAUDE})
        tree.add(mode="inline")
        tree.remember(RULE, kind="convention")
        filler = small / "filler"
        fill(filler)
        with contextlib.suppress(YaadError):  # when the store has no room either
            tree.sync()
        assert tree.read("CLAUDE.md") == CLAUDE
        assert list(tree.path.glob(".*.yaad")) == []
        filler.unlink()
        tree.sync_until_quiet()
        assert rules_of(tree, "CLAUDE.md") == [RULE]
    finally:
        world.home.stores.close()
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_copies_that_a_killed_process_did_not_note_are_swept_up(tree):
    folder = tree.store.parent / "snapshots"
    folder.mkdir(mode=0o700, exist_ok=True)
    old, fresh = folder / "old.bytes", folder / "fresh.bytes"
    for path in (old, fresh):
        path.write_bytes(b"- words\n")
    os.utime(old, (0, 0))

    tree.remember(RULE, kind="convention")
    tree.sync()

    assert not old.exists()
    assert fresh.exists()
    assert len(list(folder.iterdir())) == 3  # and a copy of each file that was written


def fill(path):
    """Write a file until there is no room left."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (1 << 20, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    os.write(descriptor, b"x" * size)
    finally:
        os.close(descriptor)
