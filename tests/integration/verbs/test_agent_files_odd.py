"""Every odd file there is, in the place of CLAUDE.md: its bytes stay, and one line says why."""

import os
import re
import struct
import subprocess
import sys
from contextlib import contextmanager, suppress

import pytest
from verb_world import prepared

from bridges import block
from bridges.rules import FIRST
from yaadwatch.sync import files

CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
AGENTS = "# For agents\n\n- Be brief\n"
RULE = "Always use jose for tokens"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do that")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="made for Linux")


@prepared
def tree(world):
    tree = world.repo()
    tree.git("config", "user.email", "ada@example.org")
    tree.write("AGENTS.md", AGENTS)
    return tree


def start(tree):
    tree.add(mode="inline")
    tree.sync()
    tree.remember(RULE, kind="convention")
    return tree.sync_until_quiet()


def has_block(tree, path):
    """Return whether a file has exactly one block with the rule, after what it held."""
    data = (tree.path / path).read_bytes()
    return data.count(b"yaad:begin") == 1 and data.count(RULE.encode()) == 1


def listed(tree):
    """Return the files as `files list` has them."""
    return {row["path"]: row for row in files.files(tree.home, tree.call)["files"]}


def paused_events(tree):
    with tree.db() as db:
        return db.read(
            lambda conn: conn.execute(
                "SELECT count(*) FROM events WHERE kind = 'agent_file.paused'"
            ).fetchone()
        )[0]


def is_left_alone(tree, why, path="CLAUDE.md", state="paused"):
    """Assert that a file is not dealt with, that it is said why and once, and the other one is."""
    before = paused_events(tree)
    tree.sync_until_quiet()
    row = listed(tree)[path]
    assert (row["state"], why in row["reason"]) == (state, True), row
    assert row["reason"].count(why) == 1
    assert paused_events(tree) == before
    assert has_block(tree, "AGENTS.md")
    assert [one.name for one in tree.path.rglob(".*.yaad")] == []


LEFT_ALONE = {
    "UTF-16": ("\ufeff" + CLAUDE).encode("utf-16-le"),
    "NUL": b"# Rules\n\n- Use tabs\0 in Go files\n",
    "latin-1": "# R\xe8gles\n".encode("latin-1"),
    "1.2 MB": b"- Use tabs in Go files\n" * 55_000,
    "half a marker": CLAUDE.encode() + b"<!-- yaad:begin v=1 nl=1 -->\n- Somebody's\n",
    "a conflict": b"<<<<<<< ours\n- Use tabs\n=======\n- Use spaces\n>>>>>>> theirs\n",
}
REASONS = {
    "UTF-16": "UTF-8",
    "NUL": "NUL",
    "latin-1": "UTF-8",
    "1.2 MB": "larger than 256 KiB",
    "half a marker": "no end marker",
    "a conflict": "merge",
}


@pytest.mark.parametrize("what", LEFT_ALONE)
def test_what_cannot_be_read_safely_is_left_alone(tree, what):
    tree.write("CLAUDE.md", LEFT_ALONE[what])

    start(tree)

    is_left_alone(tree, REASONS[what])
    assert (tree.path / "CLAUDE.md").read_bytes() == LEFT_ALONE[what]
    tree.write("CLAUDE.md", CLAUDE)
    tree.sync_until_quiet()
    assert has_block(tree, "CLAUDE.md")
    assert listed(tree)["CLAUDE.md"]["reason"] is None


WRITTEN = {
    "empty": b"",
    "only a BOM": b"\xef\xbb\xbf",
    "only a line end": b"\n",
    "only a CRLF": b"\r\n",
    "a BOM and CRLF": b"\xef\xbb\xbf# Rules\r\n\r\n- Use tabs\r\n",
    "no last line end": b"# Rules\n\n- Use tabs",
    "old Mac line ends": b"# Rules\r\r- Use tabs\r",
    "mixed line ends": b"# Rules\r\n\n- Use tabs\n- Be\r brief\r\n",
    "blanks only": b"   \n\t\n",
    "front matter only": b"---\ntitle: x\n---",
    "an open fence": b"# Rules\n\n```sh\nmake\n",
    "an open comment": b"# Rules\n\n<!-- to do\n- Use tabs\n",
    "a form feed and a zero-width space": "# Rules\x0c\n\n- Use\u200b tabs\u2028 in Go\n".encode(),
    "a long line": b"- " + b"x" * 200_000 + b"\n",
}


@pytest.mark.parametrize("what", WRITTEN)
def test_what_can_be_written_gets_the_block_and_is_given_back_to_the_byte(tree, what):
    before = WRITTEN[what]
    tree.write("CLAUDE.md", before)

    start(tree)

    after = (tree.path / "CLAUDE.md").read_bytes()
    if listed(tree).get("CLAUDE.md", {"state": "absent"})["state"] == "synced":
        assert has_block(tree, "CLAUDE.md")
        assert block.remove(after) == before
    else:
        assert after == before
        assert listed(tree)["CLAUDE.md"]["reason"]
    tree.remove()
    assert (tree.path / "CLAUDE.md").read_bytes() == before
    assert tree.read("AGENTS.md") == AGENTS


class TestNotOurs:
    """Files that somebody else answers for."""

    def test_a_read_only_file(self, tree):
        tree.write("CLAUDE.md", CLAUDE)
        (tree.path / "CLAUDE.md").chmod(0o444)

        start(tree)

        is_left_alone(tree, "read-only")
        assert tree.read("CLAUDE.md") == CLAUDE
        (tree.path / "CLAUDE.md").chmod(0o644)
        tree.sync_until_quiet()
        assert has_block(tree, "CLAUDE.md")

    def test_what_is_typed_into_a_read_only_file_is_a_rule_for_the_others(self, tree):
        """It was made writable for that, and read-only again."""
        tree.write("CLAUDE.md", CLAUDE)
        (tree.path / "CLAUDE.md").chmod(0o444)
        start(tree)

        (tree.path / "CLAUDE.md").chmod(0o644)
        tree.write("CLAUDE.md", CLAUDE + "- Never push on Fridays\n")
        (tree.path / "CLAUDE.md").chmod(0o444)
        tree.sync_until_quiet()

        assert "- Never push on Fridays\n" in tree.read("AGENTS.md")

    @as_root
    def test_a_file_of_another_user(self, tree):
        tree.write("CLAUDE.md", CLAUDE)
        os.chown(tree.path / "CLAUDE.md", 12345, 12345)

        start(tree)

        is_left_alone(tree, "another user")
        assert tree.read("CLAUDE.md") == CLAUDE
        assert (tree.path / "CLAUDE.md").stat().st_uid == 12345

    @as_root
    def test_a_file_of_another_group_keeps_it(self, tree):
        tree.write("CLAUDE.md", CLAUDE)
        os.chown(tree.path / "CLAUDE.md", -1, 12345)
        (tree.path / "CLAUDE.md").chmod(0o2664)

        start(tree)

        assert has_block(tree, "CLAUDE.md")
        found = (tree.path / "CLAUDE.md").stat()
        assert (found.st_gid, found.st_mode & 0o7777) == (12345, 0o2664)

    def test_a_file_with_a_second_name(self, tree):
        tree.write("CLAUDE.md", CLAUDE)
        os.link(tree.path / "CLAUDE.md", tree.path / "second.md")

        start(tree)

        is_left_alone(tree, "2 names")
        assert tree.read("second.md") == CLAUDE
        (tree.path / "second.md").unlink()
        tree.sync_until_quiet()
        assert has_block(tree, "CLAUDE.md")

    def test_claude_and_agents_as_two_names_of_one_file(self, tree):
        os.link(tree.path / "AGENTS.md", tree.path / "CLAUDE.md")

        start(tree)

        assert tree.read("CLAUDE.md") == tree.read("AGENTS.md") == AGENTS
        rows = listed(tree)
        assert "2 names" in rows["CLAUDE.md"]["reason"]
        assert "2 names" in rows["AGENTS.md"]["reason"]

    @as_root
    @on_linux
    def test_a_file_that_may_never_change(self, tree):
        tree.write("CLAUDE.md", CLAUDE)
        made = subprocess.run(
            ["chattr", "+i", tree.path / "CLAUDE.md"], capture_output=True, check=False
        )
        if made.returncode:
            pytest.skip("this file system has no such flag")
        try:
            start(tree)
            is_left_alone(tree, "could not be written", state="pending")
            assert tree.read("CLAUDE.md") == CLAUDE
        finally:
            subprocess.run(["chattr", "-i", tree.path / "CLAUDE.md"], check=True)
        tree.sync_until_quiet()
        assert has_block(tree, "CLAUDE.md")


class TestNoPlainFile:
    """Something else stands where a file is looked for."""

    def test_a_link_out_of_the_repository(self, tree):
        outside = tree.world.folder / "outside.md"
        outside.write_text(CLAUDE)
        (tree.path / "CLAUDE.md").symlink_to(outside)

        start(tree)

        is_left_alone(tree, "link out of the repository")
        assert outside.read_text() == CLAUDE

    def test_a_link_out_by_a_folder(self, tree):
        outside = tree.world.folder / "outside"
        outside.mkdir()
        (outside / "rules.md").write_text(CLAUDE)
        (tree.path / "docs").symlink_to(outside)
        (tree.path / "CLAUDE.md").symlink_to("docs/rules.md")

        start(tree)

        is_left_alone(tree, "link out of the repository")
        assert (outside / "rules.md").read_text() == CLAUDE

    def test_a_link_into_gits_own_folder(self, tree):
        tree.write(".git/rules.md", CLAUDE)
        (tree.path / "CLAUDE.md").symlink_to(".git/rules.md")

        start(tree)

        is_left_alone(tree, "link out of the repository")
        assert tree.read(".git/rules.md") == CLAUDE

    @pytest.mark.parametrize("to", ["nowhere.md", "CLAUDE.md"])
    def test_a_link_to_nothing_or_to_itself(self, tree, to):
        (tree.path / "CLAUDE.md").symlink_to(to)

        start(tree)

        is_left_alone(tree, "link to nothing")
        assert os.readlink(tree.path / "CLAUDE.md") == to

    def test_a_named_pipe(self, tree):
        os.mkfifo(tree.path / "CLAUDE.md")

        start(tree)

        is_left_alone(tree, "not a regular file")
        (tree.path / "CLAUDE.md").unlink()

    def test_a_folder(self, tree):
        tree.write("CLAUDE.md/rules.md", CLAUDE)

        start(tree)

        is_left_alone(tree, "not a regular file")
        assert tree.read("CLAUDE.md/rules.md") == CLAUDE

    def test_a_link_to_a_folder(self, tree):
        tree.write("docs/rules.md", CLAUDE)
        (tree.path / "CLAUDE.md").symlink_to("docs")

        start(tree)

        assert listed(tree)["docs"]["reason"] == "is not a regular file"
        assert tree.read("docs/rules.md") == CLAUDE


class TestLinks:
    """CLAUDE.md and AGENTS.md as one file, as most repositories have them."""

    @pytest.mark.parametrize(
        ("links", "real"),
        [
            ({"CLAUDE.md": "AGENTS.md"}, "AGENTS.md"),
            ({"AGENTS.md": "CLAUDE.md"}, "CLAUDE.md"),
            ({"CLAUDE.md": "AGENTS.md", "AGENTS.md": ".cursorrules"}, ".cursorrules"),
            ({".cursorrules": "CLAUDE.md", "CLAUDE.md": "./AGENTS.md"}, "AGENTS.md"),
            ({"CLAUDE.md": "docs/a.md", "AGENTS.md": "docs/../docs/a.md"}, "docs/a.md"),
            ({"CLAUDE.md": "docs/b.md", "docs/b.md": "../AGENTS.md"}, "AGENTS.md"),
        ],
        ids=lambda one: "+".join(one) if isinstance(one, dict) else one,
    )
    def test_each_real_file_gets_one_block_and_each_link_stays(self, tree, links, real):
        (tree.path / "AGENTS.md").unlink()
        tree.write(real, CLAUDE)
        for name, to in links.items():
            (tree.path / name).parent.mkdir(exist_ok=True)
            (tree.path / name).symlink_to(to)
        tree.commit("links")

        start(tree)

        assert has_block(tree, real)
        assert {name: os.readlink(tree.path / name) for name in links} == links
        assert [row["state"] for row in listed(tree).values()] == ["synced"]
        assert tree.memories() == sorted(["Use tabs in Go files", RULE])
        tree.remove()
        assert tree.read(real) == CLAUDE
        assert tree.git("status", "--porcelain") == ""


@on_linux
class TestKept:
    """What a file has besides its bytes."""

    def test_extended_attributes(self, tree):
        tree.write("CLAUDE.md", CLAUDE)
        set_attribute(tree.path / "CLAUDE.md", "user.colour", b"blue")

        start(tree)

        assert has_block(tree, "CLAUDE.md")
        assert os.getxattr(tree.path / "CLAUDE.md", "user.colour") == b"blue"

    def test_an_acl(self, tree):
        tree.write("CLAUDE.md", CLAUDE)
        set_attribute(tree.path / "CLAUDE.md", "system.posix_acl_access", acl(user=12345))
        before = (tree.path / "CLAUDE.md").stat().st_mode

        start(tree)

        assert has_block(tree, "CLAUDE.md")
        found = os.getxattr(tree.path / "CLAUDE.md", "system.posix_acl_access")
        assert found == acl(user=12345)
        assert (tree.path / "CLAUDE.md").stat().st_mode == before

    def test_no_acl_is_inherited_from_the_folder(self, tree):
        """The file was there before somebody gave the folder one for new files."""
        tree.write("CLAUDE.md", CLAUDE)
        set_attribute(tree.path, "system.posix_acl_default", acl(user=12345))

        start(tree)

        assert has_block(tree, "CLAUDE.md")
        assert os.listxattr(tree.path / "CLAUDE.md") == []


def set_attribute(path, name, value):
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        pytest.skip(f"this file system keeps no {name} ({error.strerror})")


def acl(*, user):
    """Return an ACL by which one more user may read and write, as the kernel keeps it."""
    nobody = 0xFFFFFFFF
    entries = [(1, 6, nobody), (2, 6, user), (4, 4, nobody), (16, 6, nobody), (32, 4, nobody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@contextmanager
def mounted(*arguments, on):
    done = subprocess.run(["mount", *arguments, str(on)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(on)], check=True)


CASELESS = {
    "ntfs": (["mkntfs", "-q", "-F", "-f"], ["lowntfs-3g", "-o", "ignore_case"]),
    "exfat": (["mkfs.exfat"], ["mount", "-t", "exfat-fuse", "-o", "loop"]),
}


@on_linux
class TestDisks:
    """What the disk does not let us do."""

    def test_a_file_that_is_mounted_on_its_own(self, tree):
        """As containers have it: it cannot be replaced, nor can its name."""
        tree.write("CLAUDE.md", CLAUDE)
        outside = tree.world.folder / "outside.md"
        outside.write_text(CLAUDE)
        with mounted("--bind", str(outside), on=tree.path / "CLAUDE.md"):
            start(tree)

            is_left_alone(tree, "could not be written", state="pending")
            assert outside.read_text() == CLAUDE

    def test_a_read_only_disk(self, tree):
        """What we know is kept elsewhere then; only the files cannot be written."""
        tree.write("CLAUDE.md", CLAUDE)
        tree.add(mode="inline")
        tree.sync()
        tree.remember(RULE, kind="convention")
        with mounted("--bind", "-o", "ro", str(tree.path), on=tree.path):
            assert tree.sync().waiting
            rows = listed(tree)
            for name, text in (("CLAUDE.md", CLAUDE), ("AGENTS.md", AGENTS)):
                assert tree.read(name) == text
                assert rows[name]["state"] == "pending"
                assert "Read-only file system" in rows[name]["reason"]
            tree.world.reopen()
        tree.sync_until_quiet()
        assert has_block(tree, "CLAUDE.md")

    @pytest.mark.parametrize("kind", CASELESS)
    def test_a_disk_where_case_does_not_matter(self, tree, kind):
        """A file that is found under a name that the folder does not have it under."""
        image = tree.world.folder / "image"
        image.write_bytes(b"")
        os.truncate(image, 16 << 20)
        disk = tree.world.folder / "disk"
        disk.mkdir()
        mount_caseless(kind, image, disk)
        try:
            story_of_a_caseless_disk(tree.world.tree("disk/repo"))
        finally:
            tree.world.home.stores.close()
            subprocess.run(["umount", "-l", str(disk)], check=True)


def mount_caseless(kind, image, disk):
    make, mount = CASELESS[kind]
    try:
        subprocess.run([*make, image], capture_output=True, check=True)
        subprocess.run([*mount, image, disk], capture_output=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        pytest.skip(f"no disk of this kind can be mounted here: {kind}")


def story_of_a_caseless_disk(tree):
    tree.git("init", "-q", "-b", "main")
    tree.git("config", "user.email", "ada@example.org")
    tree.git("config", "core.filemode", "false")
    tree.write("claude.md", CLAUDE)
    tree.write("agents.md", AGENTS)
    with suppress(OSError):  # where there are no links
        (tree.path / ".cursorrules").symlink_to("AGENTS.MD")
    tree.commit("rules")
    tree.add()
    tree.remember(RULE, kind="convention")
    tree.sync_until_quiet()

    # Both are tracked, so neither gets a block by itself.
    modes = {name: row["mode"] for name, row in listed(tree).items()}
    assert modes == dict.fromkeys(("claude.md", "agents.md", FIRST), "private")
    assert RULE in tree.read(FIRST)
    assert tree.git("status", "--porcelain") == ""

    files.files_adopt(tree.home, tree.call)
    tree.sync_until_quiet()
    assert has_block(tree, "claude.md")
    assert has_block(tree, "agents.md")
    assert tree.git("status", "--porcelain", "-uno").split() == ["M", "agents.md", "M", "claude.md"]
    names = {".git", "agents.md", "claude.md"}
    there = {name for name in os.listdir(tree.path) if not re.match(r"\.(fuse|ghost)", name)}
    assert there - {".cursorrules"} == names

    tree.remove()
    assert tree.git("status", "--porcelain", "-uno") == ""
