"""Where a repository is and which commit it is at, read from its files without running anything."""

import re
from dataclasses import dataclass
from pathlib import Path

_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FILE_BYTES_MAX = 4096
_PACKED_REFS_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The folders of a repository, links resolved; `root` is None for a bare repository."""

    root: Path | None
    git_dir: Path
    common_dir: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where HEAD is: commit (hex, '' before the first one), branch (short, '' when detached)."""

    commit: str
    branch: str


def find(folder: Path) -> Layout | None:
    """Return the repository that `folder` is in, or None; `$GIT_DIR` plays no part."""
    try:
        folder = folder.resolve(strict=True)
    except OSError:
        return None
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_dir() and (git / "HEAD").exists():
            return Layout(root=place, git_dir=git.resolve(), common_dir=_common(git.resolve()))
        if git.is_file():
            return _linked(place, git)
        if place.name == ".git" and _is_git_dir(place):
            return Layout(root=place.parent, git_dir=place, common_dir=_common(place))
        if _is_git_dir(place):
            return Layout(root=None, git_dir=place, common_dir=_common(place))
    return None


def worktrees(layout: Layout) -> list[Layout]:
    """Return the main work tree (unless bare) and every linked one that still exists."""
    common = layout.common_dir
    found = []
    if common.name == ".git":
        found.append(Layout(root=common.parent, git_dir=common, common_dir=common))
    elif layout.root is not None and layout.git_dir == common:
        found.append(layout)
    linked = common / "worktrees"
    entries = sorted(linked.iterdir()) if linked.is_dir() else []
    for entry in entries:
        text = _read(entry / "gitdir")
        root = Path(text).parent if text else None
        if root is not None and root.is_dir() and (root / ".git").is_file():
            found.append(Layout(root=root.resolve(), git_dir=entry, common_dir=common))
    return found


def read_head(layout: Layout) -> Head | None:
    """Return where HEAD is, or None when only git itself can tell (other ref storage, odd refs)."""
    if (layout.common_dir / "reftable").exists():
        return None
    text = _read(layout.git_dir / "HEAD")
    if text is None:
        return None
    if _HEX.fullmatch(text):
        return Head(commit=text, branch="")
    if not text.startswith("ref: refs/heads/"):
        return None
    reference = text.removeprefix("ref: ")
    if ".." in reference:
        return None
    branch = reference.removeprefix("refs/heads/")
    loose = _read(layout.common_dir / reference)
    if loose is not None:
        return Head(commit=loose, branch=branch) if _HEX.fullmatch(loose) else None
    return Head(commit=_packed(layout.common_dir / "packed-refs", reference), branch=branch)


def busy(layout: Layout) -> bool:
    """Return whether a git command is at work on the index right now."""
    return (layout.git_dir / "index.lock").exists()


def object_format(layout: Layout, head: Head) -> str:
    """Return 'sha1' or 'sha256': how this repository names its objects."""
    if head.commit:
        return "sha256" if len(head.commit) == 64 else "sha1"
    config = _read(layout.common_dir / "config", 256 * 1024) or ""
    return "sha256" if re.search(r"(?im)^\s*objectformat\s*=\s*sha256\s*$", config) else "sha1"


def _is_git_dir(folder: Path) -> bool:
    return (
        (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
    )


def _common(git_dir: Path) -> Path:
    text = _read(git_dir / "commondir")
    return (git_dir / text).resolve() if text else git_dir


def _linked(root: Path, file: Path) -> Layout | None:
    text = _read(file)
    if not text or not text.startswith("gitdir:"):
        return None
    git_dir = (root / text.removeprefix("gitdir:").strip()).resolve()
    if not (git_dir / "HEAD").exists():
        return None
    return Layout(root=root, git_dir=git_dir, common_dir=_common(git_dir))


def _read(path: Path, bytes_max: int = _FILE_BYTES_MAX) -> str | None:
    """Return the stripped text of a small file of git's, or None."""
    try:
        with path.open("rb") as stream:
            return stream.read(bytes_max).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return None


def _packed(path: Path, reference: str) -> str:
    text = _read(path, _PACKED_REFS_BYTES_MAX) or ""
    for line in text.splitlines():
        commit, _, name = line.partition(" ")
        if name == reference and _HEX.fullmatch(commit):
            return commit
    return ""
