"""Locate a repository and read its HEAD from its files, without running anything.

The files are untrusted. Only plain files are read, so that a pipe cannot block us and a link cannot
lead outside; unusual layouts are left to the git command, which runs under a limit.
"""

# ruff: noqa: PTH112, PTH113, PTH114, PTH116, PTH118, PTH120, PTH208
# These are asked with each call, folder by folder, and texts are cheaper than paths.

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from yaadwatch.plain_files import read_plain
from yaadwatch.system import files
from yaadwatch.text import privacy

_HEX = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FILE_BYTES_MAX = 4096
_SECTION = re.compile(r"\[\s*([\w.-]+)\s*(\"[^\"]*\")?\s*\](.*)")
_SETTING = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*\"?([^\"#;]*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The folders of a repository, links resolved; `root` is None for a bare repository."""

    root: Path | None
    git_dir: Path
    common_dir: Path

    def is_own(self) -> bool:
        """Return whether all of its folders belong to this user; by default git trusts no others.

        False if a folder is missing or cannot be read.
        """
        try:
            return all(
                os.stat(place).st_uid == os.geteuid()
                for place in {self.root or self.git_dir, self.git_dir, self.common_dir}
            )
        except OSError:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where HEAD is: commit (hex, '' before the first one), branch (short, '' when detached)."""

    commit: str
    branch: str


def find(folder: Path) -> Layout | None:
    """Return the repository that `folder` is in, or None; `$GIT_DIR` plays no part.

    None also when a `.git` claims a repository that belongs to another work tree: what is known
    about that one is not for this folder.
    """
    try:
        here = os.path.realpath(folder, strict=True)
    except (OSError, ValueError):
        return None
    while True:
        git = os.path.join(here, ".git")
        if os.path.isdir(git) and os.path.lexists(f"{git}/HEAD"):
            place = _path(git)
            return _main(_path(here), _resolved(place) if os.path.islink(git) else place)
        if os.path.isfile(git):
            return _linked(Path(here))
        if _is_git_dir(here):
            place = Path(here)
            return _main(place.parent if place.name == ".git" else None, place)
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def main_root(layout: Layout) -> Path | None:
    """Return the main work tree; None for a bare repository."""
    if layout.common_dir.name == ".git":
        return layout.common_dir.parent
    return layout.root if layout.git_dir == layout.common_dir else None


def project_id(common_dir: Path) -> str:
    """Return the project's id as the repository's own configuration has it; '' if there is none.

    What is not of the form of our ids is none: an id becomes the name of a folder.
    """
    found = _setting(common_dir, "yaad", "project") or ""
    return found if re.fullmatch(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", found) else ""


def remote(common_dir: Path) -> str:
    """Return the address of `origin` in a form that can be compared: without the way to get there,
    user, password and ending; '' if there is none.

    Where a secret is part of the path, its hash is in its place.
    """
    url = (_setting(common_dir, "remote", "url", "origin") or "").strip()
    scheme, separator, rest = url.rpartition("://")
    if not separator and ":" in url.partition("/")[0]:  # user@host:path, as scp has it
        rest = url.replace(":", "/", 1)
        separator = ":"
    if separator and scheme != "file":
        host, slash, path = rest.partition("/")
        host = host.rpartition("@")[2].partition(":")[0].lower()
        rest = f"{host}{slash}{path.lstrip('/')}"
    address = rest.rstrip("/").removesuffix(".git").rstrip("/")
    masked = privacy.mask(address)
    if not masked.kinds:
        return address
    return f"{masked.text}#{hashlib.sha256(address.encode('utf-8', 'replace')).hexdigest()[:16]}"


def logged(folder: Path, log: str, since: int = 0) -> list[str]:
    """Return the commits of the reflog of a reference, newest first, each once.

    Args:
        folder: with the logs.
        log: the file in it; ignored if it is very large, or not a plain file.
        since: bytes to skip at the beginning; none where the file is shorter.
    """
    seen = files.observe(folder, log, bytes_max=4 * 1024 * 1024, now_ns=0)
    data = seen.data or b""
    lines = data[since if since <= len(data) else 0 :].splitlines()
    fields = [line.split(b" ", 2) for line in reversed(lines)]
    ids = dict.fromkeys(one for row in fields for one in (row[1:2] + row[:1]))
    return [one.decode() for one in ids if _HEX.fullmatch(one) and one.strip(b"0")]


def made_here(folder: Path) -> set[bytes]:
    """Return the commits that git made in a work tree, from its reflog; none that it fetched.

    The author of a commit proves nothing: its sender can write any name.

    Args:
        folder: with the logs.
    """
    data = files.observe(folder, "logs/HEAD", bytes_max=4 * 1024 * 1024, now_ns=0).data or b""
    made = re.compile(rb"\S+ (\S+) .*\t(?:commit|revert|(?:merge|pull)\b.*: Merge made by )")
    return {found[1] for line in data.splitlines() if (found := made.match(line))}


def has_linked(layout: Layout) -> bool:
    """Return whether git may have linked other work trees to this repository."""
    return os.path.isdir(f"{layout.common_dir}/worktrees")


def worktrees(layout: Layout) -> list[Layout]:
    """Return the main work tree (unless bare) and every linked one that still exists.

    A linked work tree counts when its own `.git` file points back here.
    """
    common = layout.common_dir
    found = []
    if common.name == ".git":
        main = _main(common.parent, common)
        if main is not None and main.root is not None:
            found.append(main)
    elif layout.root is not None and layout.git_dir == common:
        found.append(layout)
    for entry in _entries(common / "worktrees"):
        text = _text(entry / "gitdir")
        root = _resolved(entry / text).parent if text else None
        linked = _linked(root) if root is not None else None
        if linked is not None and linked.git_dir == entry:
            found.append(linked)
    return found


def registered(layout: Layout) -> set[Path]:
    """Return the linked work trees that git knows, also those on an absent disk."""
    named = {entry: _text(entry / "gitdir") for entry in _entries(layout.common_dir / "worktrees")}
    return {_resolved(entry / text).parent for entry, text in named.items() if text}


def read_head(layout: Layout) -> Head | None:
    """Return where HEAD is; None when only git can find out (other ref storage, unusual refs)."""
    if os.path.lexists(f"{layout.common_dir}/reftable"):
        return None
    text = _plain(f"{layout.git_dir}/HEAD", _FILE_BYTES_MAX)
    if text is None:
        return None
    text = text.strip()
    if _HEX.fullmatch(text):
        return Head(commit=text.decode(), branch="")
    reference = text.removeprefix(b"ref:").lstrip()
    branch = reference.removeprefix(b"refs/heads/").decode("utf-8", "replace")
    if not text.startswith(b"ref:") or not reference.startswith(b"refs/heads/") or not branch:
        return None
    loose = files.observe(
        layout.common_dir, os.fsdecode(reference), bytes_max=_FILE_BYTES_MAX, now_ns=0
    )
    if loose.kind == "absent":
        commit = _packed(layout.common_dir, reference)
    else:
        commit = (loose.data or b"").strip()
        commit = commit if _HEX.fullmatch(commit) else None
    return Head(commit=commit.decode(), branch=branch) if commit is not None else None


_AT_WORK = frozenset(
    {
        *("index.lock", "HEAD.lock", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
        *("rebase-merge", "rebase-apply", "BISECT_LOG"),
    }
)


def at_work(layout: Layout) -> str | None:
    """Return the file that shows an operation of git in progress or interrupted; None without."""
    try:
        return min(_AT_WORK.intersection(os.listdir(layout.git_dir)), default=None)
    except OSError:
        return None


def at_work_since(layout: Layout) -> tuple[str, int] | None:
    """Like `at_work`, with the time at which the file was made, as Unix nanoseconds."""
    name = at_work(layout)
    if name is None:
        return None
    try:
        return name, (layout.git_dir / name).lstat().st_mtime_ns
    except OSError:  # git has just ended
        return None


def object_format(layout: Layout, head: Head) -> str:
    """Return 'sha1' or 'sha256': how this repository names its objects."""
    if head.commit:
        return "sha256" if len(head.commit) == 64 else "sha1"
    named = _setting(layout.common_dir, "extensions", "objectformat") or ""
    return "sha256" if named.lower() == "sha256" else "sha1"


def cut_at(layout: Layout) -> frozenset[str]:
    """Return the commits whose parents a shallow repository does not have; none in a whole one."""
    found = _plain(f"{layout.common_dir}/shallow", 8 * 1024 * 1024) or b""
    return frozenset(line.decode("ascii", "replace") for line in found.split())


def _main(root: Path | None, git_dir: Path) -> Layout | None:
    """Return the repository whose main work tree is `root`, or has none there."""
    common = _common(git_dir)
    if common is None:
        return None
    is_bare = common == git_dir and (_setting(common, "core", "bare") or "").lower() == "true"
    return Layout(root=None if is_bare else root, git_dir=git_dir, common_dir=common)


def _linked(root: Path) -> Layout | None:
    """Return the repository that the file `root`/.git points to, unless it is another tree's."""
    text = _text(root / ".git")
    if text is None or not text.startswith("gitdir:"):
        return None
    git_dir = _resolved(root / text.removeprefix("gitdir:").strip())
    if not os.path.lexists(f"{git_dir}/HEAD"):
        return None
    if git_dir.name == ".git" and git_dir.parent != root:
        return None
    back = _text(f"{git_dir}/gitdir")
    if back and _resolved(git_dir / back) != root / ".git" and _points_to(git_dir / back, git_dir):
        return None
    meant = _setting(git_dir, "core", "worktree")
    place = git_dir / meant if meant else root
    if _resolved(place) != root and _points_to(place / ".git", git_dir):
        return None  # a submodule's, whose configuration names its work tree
    return _main(root, git_dir)


def _points_to(file: Path, git_dir: Path) -> bool:
    text = _text(file)
    return text is not None and (
        _resolved(file.parent / text.removeprefix("gitdir:").strip()) == git_dir
    )


def _common(git_dir: Path) -> Path | None:
    """Return the folder that holds refs and objects; None when it does not know of `git_dir`."""
    text = _text(f"{git_dir}/commondir")
    if not text:
        return git_dir
    common = _resolved(git_dir / text)
    return common if git_dir.parent == common / "worktrees" else None


def _packed(common: Path, reference: bytes) -> bytes | None:
    """Return the commit that packed-refs has for a branch, b'' when none, None when unreadable."""
    packed = files.observe(common, "packed-refs", bytes_max=64 * 1024 * 1024, now_ns=0)
    if packed.kind == "absent":
        return b""
    if packed.data is None:
        return None
    found = re.search(rb"^([0-9a-f]+) " + re.escape(reference) + rb"$", packed.data, re.MULTILINE)
    if found is None:
        return b""
    return found.group(1) if _HEX.fullmatch(found.group(1)) else None


def _setting(common: Path, section: str, name: str, of: str = "") -> str | None:
    """Return a setting of the repository's own configuration as it is; the last one wins."""
    config = _plain(f"{common}/config", 256 * 1024) or b""
    read = _kept_setting if len(config) <= _FILE_BYTES_MAX else _setting_in
    return read(config, section, name, of)


def _setting_in(config: bytes, section: str, name: str, of: str = "") -> str | None:
    if name.encode() not in config.lower():
        return None  # it need not be read line by line
    value = None
    inside = False
    for line in config.decode("utf-8", "replace").splitlines():
        heading = _SECTION.match(line.strip())
        if heading:
            subsection = (heading.group(2) or "").strip('"')
            inside = heading.group(1).lower() == section and subsection == of
        found = _SETTING.match((heading.group(3) if heading else line).strip())
        if inside and found and found.group(1).lower() == name:
            value = (found.group(2) or "true").strip()
    return value


_path = lru_cache(maxsize=256)(Path)
"""A path that was made before has its parts, its hash and its text."""
_kept_setting = lru_cache(maxsize=32)(_setting_in)


def _text(place: str | Path) -> str | None:
    """Return the stripped text of a small plain file of git's, or None."""
    data = _plain(str(place), _FILE_BYTES_MAX)
    return os.fsdecode(data.strip()) if data is not None and b"\0" not in data else None


def _plain(place: str, bytes_max: int) -> bytes | None:
    """Return the bytes of a file; None when it is not a plain file, or larger than the limit."""
    try:
        return read_plain(place, bytes_max)
    except (OSError, ValueError):
        return None


def _entries(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names:
        yield folder / name


def _resolved(path: Path) -> Path:
    """Return `path` without links; unchanged where they form a cycle or cannot be read."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path


def _is_git_dir(folder: str) -> bool:
    has_folders = os.path.isdir(f"{folder}/objects") and os.path.isdir(f"{folder}/refs")
    return has_folders and os.path.isfile(f"{folder}/HEAD")
