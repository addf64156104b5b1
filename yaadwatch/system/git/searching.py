"""In which files does a word stand? One scan of a tree answers for many words."""

import re
from collections.abc import Sequence
from itertools import product

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.changes import path_texts
from yaadwatch.system.git.question import Git

_UNSEARCHABLE = re.compile("[\0\n\ud800-\udfff]")
_GREP = (
    *("grep", "-I", "-o", "-z", "-w", "-F", "--full-name", "--no-color", "--no-line-number"),
    *("-f", "-", "--no-column", "--no-heading", "--no-break"),
    *("--no-textconv", "--no-recurse-submodules"),
)


def files_with(
    git: Git, words: Sequence[str], *, at: str | None, untracked: bool, whole: bool
) -> dict[str, list[str]]:
    """Return for each word the text files that hold it; as `Repository.files_with`."""
    wanted = [word for word in dict.fromkeys(words) if word and not _UNSEARCHABLE.search(word)]
    found: dict[str, set[str]] = {word: set() for word in words}
    if wanted:
        scan = [*_GREP, *(["--untracked"] if untracked and at is None else [])]
        # A blob that is missing (a partial clone) is told as an error, and the rest is answered;
        # that is good enough only where no text can be missing.
        strict = whole and at is not None
        try:
            found |= _scan(git, scan, wanted, at, strict=strict)
        except YaadError as error:
            if error.code is not Code.TOO_LARGE:
                raise
            for word in wanted:
                found |= _scan(git, [*scan, "-l"], [word], at, strict=strict)
    return {word: sorted(paths) for word, paths in found.items()}


def _scan(
    git: Git, scan: Sequence[str], words: Sequence[str], at: str | None, *, strict: bool
) -> dict[str, set[str]]:
    """Return which files hold which of `words`."""
    found: dict[str, set[str]] = {word: set() for word in words}
    given = "\n".join(words).encode()
    arguments = [*scan, *([at] if at else []), "--"]
    output = git.ask(arguments, given=given, allowed=(0, 1), strict=strict)
    only = words[0] if "-l" in scan else None
    position = 0
    while (end := output.find(b"\0", position)) >= 0:
        paths = path_texts([output[position:end]])
        position = end + 1
        word = only
        if only is None:
            position = output.find(b"\n", end) + 1 or len(output)
            word = output[end + 1 : position].removesuffix(b"\n").decode("utf-8", "replace")
        for path in paths:
            if path and word in found:
                found[word].add(path.removeprefix(f"{at}:") if at else path)
    # Where one word stands inside another, git tells only of the longer one.
    for short, long in product(words, words):
        inside = short != long and short in long
        if inside and re.search(rf"(?<!\w){re.escape(short)}(?!\w)", long):
            found[short] |= found[long]
    return found
