"""Since when does an agent file say what it says? What it rests on is looked up as it was then.

A rule that was written long ago may have been false for long: the code that it tells of is that of
the commit that gave it its words, not that of the day on which we came.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bridges.rules import Statement
from yaadwatch.core.text import text_hash
from yaadwatch.engine.agent_files import finding
from yaadwatch.engine.agent_files.finding import Formats
from yaadwatch.engine.agent_files.reading import parsed
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.system.git.blamed import Wrote
from yaadwatch.system.git.repository import Repository

COMMITS_MAX: Final = 8
"""Commits in which is looked what statements rested on, for one look at the agent files."""
STATEMENTS_MAX: Final = 256
"""Statements looked up as they were then: each that tells of code costs some 50 ms."""


def since(
    repository: Repository, formats: Formats, said: Iterable[tuple[str, Sequence[Statement]]]
) -> dict[tuple[str, str], str]:
    """Return in which commit each statement got its words, by file and `text_hash`.

    What HEAD does not say is left out, and so is a file of which git cannot tell; after one of
    which it cannot in time, no other is asked for. Those count from now. Of more than 8 commits
    some stand for others that are older: what changed in between is not told, and nothing is told
    that did not change. Of more than 256 statements those of the last files count from now.

    Args:
        repository: whose files.
        formats: of the agent files.
        said: the path of each file, and what it says now.

    Raises:
        YaadError: from git.
    """
    head = repository.head().commit
    wrote: dict[tuple[str, str], Wrote] = {}
    asked = True
    for path, statements in said if head else ():
        left = STATEMENTS_MAX - len(wrote)
        wanted = {text_hash(one.text) for one in statements[:left]} if left > 0 else set()
        there = [
            (text_hash(one.text), one)
            for one in (_said_at(repository, formats, head, path) if wanted and asked else ())
        ]
        lines: Sequence[Wrote] | None = ()
        if wanted & {key for key, _ in there}:
            lines = _lines(repository, head, path)
            asked = lines is not None  # after one that took too long, no other is asked for
        for key, statement in there:
            own = (lines or ())[statement.line - 1 : statement.end_line]
            if key in wanted and own:
                wrote.setdefault((path, key), _newest(repository, own))
    return {key: one.commit for key, one in fewer(wrote).items()}


def _said_at(
    repository: Repository, formats: Formats, commit: str, path: str
) -> Sequence[Statement]:
    """Return what a file says in a commit."""
    blob = repository.blob_at(commit, path)
    data = repository.read_blob(blob, AGENT_FILE_BYTES_MAX) if blob is not None else None
    bridge = formats.of(path) or finding.IMPORTED
    return parsed(bridge, data).statements if data is not None else ()


def _lines(repository: Repository, commit: str, path: str) -> Sequence[Wrote] | None:
    """Return who wrote each line of a file that is in a commit.

    Nothing where git cannot tell (a part of the history is elsewhere); None where it took too long.
    """
    try:
        return repository.wrote(commit, path)
    except YaadError as error:
        if error.code not in (Code.TIMEOUT, Code.UNAVAILABLE, Code.TOO_LARGE):
            raise
        return None if error.code is Code.TIMEOUT else ()


def _newest(repository: Repository, wrote: Sequence[Wrote]) -> Wrote:
    """Return the last of some commits; of those with one time, the one that knows the others."""
    newest = wrote[0]
    for one in dict.fromkeys(wrote):
        if one.commit == newest.commit or one.at_s < newest.at_s:
            continue
        if (
            one.at_s > newest.at_s
            or repository.merge_base(one.commit, newest.commit) == newest.commit
        ):
            newest = one
    return newest


def fewer(wrote: Mapping[tuple[str, str], Wrote]) -> dict[tuple[str, str], Wrote]:
    """Return the same with 8 commits at most, evenly chosen by age, the newest among them."""
    every = sorted(set(wrote.values()), key=lambda one: (one.at_s, one.commit))
    count = len(every)
    kept = {
        one: every[-(-(at + 1) * COMMITS_MAX // count) * count // COMMITS_MAX - 1]
        for at, one in enumerate(every)
    }
    return {key: kept[one] for key, one in wrote.items()}
