"""Real repositories for tests, made and changed by the real git."""

import os
import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from plain_git import GIT, head_of

from yaadwatch.repo import layout
from yaadwatch.repo.command import GitRunner
from yaadwatch.repo.layout import Layout
from yaadwatch.repo.repository import Repository

GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_ALLOW_PROTOCOL": "file",
}


class Repo:
    """A repository at `path`; `git` runs in it as the person would run it."""

    TIMEOUT = timedelta(seconds=10)

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def new(cls, path: Path, *options: str) -> "Repo":
        """Make a repository with `git init`; its first branch is `main`."""
        path.mkdir(parents=True, exist_ok=True)
        repo = cls(path)
        repo.git("init", "-q", "-b", "main", *options, ".")
        return repo

    def git(self, *arguments: str | bytes, given: bytes | None = None, check: bool = True) -> str:
        """Return what git prints, without the last line end."""
        done = subprocess.run(
            [*GIT, *arguments],
            cwd=self.path,
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            env={**os.environ, **GIT_ENVIRONMENT},
            check=False,
        )
        assert done.returncode == 0 or not check, done.stderr.decode("utf-8", "replace")
        return os.fsdecode(done.stdout).removesuffix("\n")

    def write(self, path: str | bytes, content: str | bytes) -> Path:
        """Put a file into the work tree, with the folders above it."""
        file = self.path / os.fsdecode(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def commit(
        self, message: str = "change", files: Mapping[str, str | bytes] | None = None
    ) -> str:
        """Write `files`, commit all that is there, and return the commit's id."""
        for path, content in (files or {}).items():
            self.write(path, content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "--no-verify", "-m", message)
        return head_of(self.path) or self.git("rev-parse", "HEAD")

    def add(self, path: str, content: str | bytes, message: str = "change") -> str:
        """Write one file and commit; return the commit's id."""
        self.write(path, content)
        return self.commit(message)

    def move(self, old: str, new: str) -> None:
        """Rename a tracked file, as `git mv` does."""
        (self.path / new).parent.mkdir(parents=True, exist_ok=True)
        self.git("mv", old, new)

    @property
    def layout(self) -> Layout:
        """What is found at `path`."""
        found = layout.find(self.path)
        assert found is not None, f"no repository was found at {self.path}"
        return found

    def open(self, runner: GitRunner) -> Repository:
        """Open it as the program does."""
        return Repository(self.layout, runner)
