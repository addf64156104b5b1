"""Which commit gave each line of a file the words that it has: what `git blame` tells."""

import os
import re
from typing import Final, NamedTuple

from yaadwatch.system.git.question import Git

_HOW: Final = ("--porcelain", "-w", "-M", "--no-textconv", "--no-ignore-revs-file")
"""A list of commits to pass over that the repository names, and lacks, would be an error."""
_LINE: Final = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?) \d+ \d+(?: \d+)?")
_TIME: Final = b"committer-time "
_BEFORE: Final = re.compile(rb"previous ([0-9a-f]{40}(?:[0-9a-f]{24})?) ([^\"].*)")
"""A path in quotation marks has odd characters, and is not followed."""


class Wrote(NamedTuple):
    """A commit, and when it was made: Unix seconds, as whoever made it has them.

    `before`: the commit before it in which the file was, and what the file was called in that; both
    are empty where it made the file, or history was cut off.
    """

    commit: str
    at_s: int
    before: tuple[str, str] = ("", "")


def lines(git: Git, commit: str, path: str) -> list[Wrote]:
    """Return for each line of a file in a commit, in order, which commit wrote it.

    White space, and lines that only went elsewhere in the file, count as no change; a file that was
    renamed is followed. Where history was cut off it is the oldest commit that is there. No text
    filter of the repository is run.

    Raises:
        YaadError: as every method of `Repository`; UNAVAILABLE where the commit has no such file.
    """
    found = git.ask(["blame", *_HOW, commit, "--", path])
    wrote: list[Wrote] = []
    times: dict[bytes, int] = {}
    before: dict[bytes, tuple[str, str]] = {}
    current = b""
    for row in found.split(b"\n"):
        begun = _LINE.fullmatch(row) if not row.startswith(b"\t") else None
        if begun is not None:
            current = begun[1]
        elif row.startswith(_TIME):
            times[current] = int(row.removeprefix(_TIME))
        elif (previous := _BEFORE.fullmatch(row)) is not None:
            before[current] = (previous[1].decode(), os.fsdecode(previous[2]))
        elif row.startswith(b"\t"):
            since = before.get(current, ("", ""))
            wrote.append(Wrote(current.decode(), times.get(current, 0), since))
    return wrote
