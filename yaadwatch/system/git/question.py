"""Asks git about one repository; a failure becomes an error that a person can read."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.command import GitFailed, GitHangs, GitRunner
from yaadwatch.system.git.layout import Layout

_NOT_OURS = re.compile(r"dubious ownership|unsafe repository")
_NO_TEXT = re.compile(
    r"""
    ^error:[ ]'[^'\n]*
    (?: /(?:min|dist|vendor|node_modules)/[^'\n]* | \.min\.\w+
    | \.(?:pdf|png|jpe?g|gif|webp|ico|mp[34]|mov|webm|avi|wav|zip|gz|tgz|bz2|xz|7z|jar|war|whl|exe
         |dll|so|dylib|a|bin|dat|woff2?|ttf|otf|eot|db|sqlite3?|parquet|onnx|pt|pkl|npy|psd) )
    ':[ ]unable[ ]to[ ]read[ ][0-9a-f]+$
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Git tells of a blob that it does not have (a partial clone), and that would hold no text."""

_NO_INDEX = "yaad.no-index"


class Git:
    """The git command, run for one repository by one job.

    Once it hangs it is not asked again: the job would wait for it as many times as it asks.
    """

    def __init__(self, layout: Layout, runner: GitRunner) -> None:
        self._layout = layout
        self._runner = runner
        self._cwd = layout.root or layout.git_dir
        self._hangs: GitHangs | None = None

    @property
    def has_perl(self) -> bool:
        """Return whether git knows the expressions of Perl; true until it said no."""
        return self._runner.has_perl

    @has_perl.setter
    def has_perl(self, known: bool) -> None:
        self._runner.has_perl = known

    def ask(
        self,
        arguments: list[str],
        *,
        given: bytes | None = None,
        allowed: Sequence[int] = (0,),
        strict: bool = False,
        index: Path | None = None,
        inside: bool = False,
        bytes_max: int | None = None,
    ) -> bytes:
        """Return what git prints; `inside`: where it sees no file of the work tree.

        Raises:
            YaadError: as every method of `Repository`.
        """
        self.refuse_if_it_hangs()
        try:
            return self._runner.run(
                arguments,
                cwd=self._layout.git_dir if inside else self._cwd,
                given=given,
                allowed=allowed,
                strict=strict,
                work_tree=None if inside else self._layout.root,
                index=index,
                bytes_max=bytes_max,
            )
        except GitHangs as error:
            self._hangs = error
            raise
        except GitFailed as failure:
            if strict and failure.errors and all(map(_NO_TEXT.search, failure.errors)):
                return self.ask(arguments, given=given, allowed=allowed)
            if _NOT_OURS.search(failure.message):
                raise YaadError(
                    Code.REFUSED,
                    f"{self._cwd} belongs to another user; git did not read it, and nothing in it "
                    "was read.",
                    hint="If you trust it: git config --global --add safe.directory "
                    f"{shlex.quote(str(self._cwd))}",
                ) from failure
            raise YaadError(
                Code.UNAVAILABLE, f"git could not answer for {self._cwd}: {failure}."
            ) from failure

    def refuse_if_it_hangs(self) -> None:
        """Ask nothing more of a git that hung in this job.

        Raises:
            YaadError: TIMEOUT, as it was said then.
        """
        if self._hangs is not None:
            raise self._hangs

    def compare(self, arguments: list[str], *, given: bytes | None = None) -> bytes:
        """Return what `git diff-tree ARGUMENTS` prints of trees.

        Git would read the whole index first, of which two trees need nothing: it is given a name
        that no index has. Only attributes that are tracked and not in the work tree are in none.

        Raises:
            YaadError: as every method of `Repository`.
        """
        nowhere = self._layout.git_dir / _NO_INDEX
        return self.ask(["diff-tree", *arguments], given=given, index=nowhere)
