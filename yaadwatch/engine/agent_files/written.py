"""Since when does an agent file say what it says? What it rests on is looked up as it was then.

A rule that was written long ago may have been false for long: the code that it tells of is that of
the commit that gave it its words, not that of the day on which we came.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from bridges.rules import Statement
from yaadwatch.engine.agent_files import finding
from yaadwatch.engine.agent_files.finding import Formats
from yaadwatch.engine.agent_files.reading import parsed
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.system.git.hunks import Wrote
from yaadwatch.system.git.repository import Repository

COMMITS_MAX: Final = 8
"""Commits in which is looked what statements rested on, for one look at the agent files."""
LOOKS_MAX: Final = 32
"""Earlier commits of one file in which it is looked whether it said the same already."""
STATEMENTS_MAX: Final = 256
"""Statements looked up at a time as they were then: each that tells of code costs some 50 ms."""


class Since(NamedTuple):
    """Which commits gave statements their words, by file and hash, and which are looked into
    instead; of which files git cannot tell, and why.
    """

    wrote: dict[tuple[str, str], str]
    commits: dict[tuple[str, str], str]
    failed: dict[str, YaadError]


def since(
    repository: Repository,
    formats: Formats,
    head: str,
    said: Iterable[tuple[str, Collection[str]]],
    hash_of: Callable[[Statement], str],
) -> Since:
    """Return in which commit each statement got its words.

    What the commit does not say is left out: it counts from now. After a file of which git cannot
    tell in time no other is asked for. Of more than 8 commits some stand for others that are older:
    what changed in between is not told, and nothing is told that did not change. Of more than 256
    different statements those that come last are left out: they are for another call.

    Args:
        repository: whose files.
        formats: of the agent files.
        head: the commit in which the files are looked at; '' before the first one.
        said: the path of each file, and the hashes of what it says.
        hash_of: what tells a statement from others.
    """
    wrote: dict[tuple[str, str], Wrote] = {}
    failed: dict[str, YaadError] = {}
    late: YaadError | None = None
    asked: set[str] = set()
    for path, hashes in said if head else ():
        if late is not None:
            failed[path] = late
            continue
        try:
            new = [one for one in dict.fromkeys(hashes) if one not in asked]
            left_out = set(new[max(STATEMENTS_MAX - len(asked), 0) :])
            wanted = set(hashes) - left_out
            asked |= wanted
            wrote |= _wrote(repository, formats, (head, path), wanted, hash_of)
        except YaadError as error:
            failed[path] = error
            late = error if error.code is Code.TIMEOUT else None
    instead = {key: one.commit for key, one in fewer(wrote).items()}
    return Since({key: one.commit for key, one in wrote.items()}, instead, failed)


def _wrote(
    repository: Repository,
    formats: Formats,
    place: tuple[str, str],
    wanted: Collection[str],
    hash_of: Callable[[Statement], str],
) -> dict[tuple[str, str], Wrote]:
    """Return who wrote the wanted statements of a file in a commit; `place` is both, commit first.

    A commit that wrapped the lines of a statement anew, or gave its list other marks, is the last
    of its lines and has not given it its words: where the file said the same before, it is asked
    who wrote it there.

    Raises:
        YaadError: from git, asked for that place; where it cannot tell of what was before, the
            later commit stands.
    """
    found = _newest_of(repository, formats, place, wanted, hash_of)
    left = _before(found)
    for _ in range(LOOKS_MAX):
        if not left:
            break
        earlier, hashes = max(left.items(), key=lambda one: (len(one[1]), one[0]))
        del left[earlier]
        try:
            older = _newest_of(repository, formats, earlier, hashes, hash_of)
        except YaadError:
            break
        found |= older
        for another, own in _before(older).items():
            left.setdefault(another, []).extend(own)
    return {(place[1], key): wrote for key, wrote in found.items()}


def _before(found: Mapping[str, Wrote]) -> dict[tuple[str, str], list[str]]:
    """Return the hashes of statements by the place in which their file was before their commit."""
    places: dict[tuple[str, str], list[str]] = {}
    for key, wrote in found.items():
        if wrote.before[0]:
            places.setdefault(wrote.before, []).append(key)
    return places


def _newest_of(
    repository: Repository,
    formats: Formats,
    place: tuple[str, str],
    wanted: Collection[str],
    hash_of: Callable[[Statement], str],
) -> dict[str, Wrote]:
    """Return for each of the statements that a file has in a commit the last commit of its lines.

    Raises:
        YaadError: from git.
    """
    commit, path = place
    there = [
        (hash_of(one), one)
        for one in (_said_at(repository, formats, commit, path) if wanted else ())
    ]
    there = [(key, one) for key, one in there if key in wanted]
    lines = repository.wrote(commit, path) if there else ()
    found: dict[str, Wrote] = {}
    for key, statement in there:
        own = lines[statement.line - 1 : statement.end_line]
        if own:
            found.setdefault(key, _newest(repository, own))
    return found


def _said_at(
    repository: Repository, formats: Formats, commit: str, path: str
) -> Sequence[Statement]:
    """Return what a file says in a commit; nothing where it is not there.

    Raises:
        YaadError: from git; UNAVAILABLE when there is no such commit (any more).
    """
    blob = repository.blob_at(commit, path)
    if blob is None and not repository.has_commit(commit):
        raise YaadError(
            Code.UNAVAILABLE, f"The commit {commit}, in which it was read, is not there any more."
        )
    data = repository.read_blob(blob, AGENT_FILE_BYTES_MAX) if blob is not None else None
    bridge = formats.of(path) or finding.IMPORTED
    return parsed(bridge, data).statements if data is not None else ()


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
