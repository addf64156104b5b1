"""Search the texts of a commit, or of a work tree, for whole words, with one `git grep` for many.

Also finds words in the bytes of one file, with the same result.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo.changes import path_texts
from yaadwatch.repo.command import NO_TEXT, Git

WORDS_PER_SCAN = 128
"""Words looked for in one scan of a tree."""
_GREP = (
    *("grep", "-I", "-o", "-z", "--full-name", "--no-color", "--no-line-number"),
    *("-f", "-", "--no-column", "--no-heading", "--no-break"),
    *("--no-textconv", "--no-recurse-submodules"),
)


def may_be_searched(word: str) -> bool:
    """Return whether a line of a text can hold a word; nothing does that is empty, or no text."""
    return bool(word) and not re.search("[\0\n\ud800-\udfff]", word)


def may_be_text(path: str) -> bool:
    """Return whether a search reads a file: not if its name marks it as binary."""
    return not path.endswith(_no_text())


@functools.cache
def _no_text() -> tuple[str, ...]:
    lines = NO_TEXT.read_text("utf-8").splitlines()
    return tuple(line.split()[0].removeprefix("*") for line in lines if line.startswith("*"))


def words_in(words: Iterable[str], data: bytes) -> Iterator[str]:
    """Yield those of `words` that a file's bytes hold, with the result of `files_with`."""
    if is_binary(data):
        return
    for word in words:
        if may_be_searched(word) and has_word(data, word.encode()):
            yield word


def is_binary(data: bytes) -> bool:
    """Return whether git takes a file for binary: it looks for a zero at its beginning."""
    return b"\0" in data[:8000]


def has_word(data: bytes, word: bytes) -> bool:
    """Return whether a text holds a whole word: no letter, digit or `_` is next to it."""
    if word not in data:
        return False
    only = re.escape(word)
    # A pattern that begins with plain bytes is found many times as fast.
    return bool(re.search(only + rb"(?<!\w" + only + rb")(?!\w)", data))


def files_with(
    git: Git,
    words: Sequence[str],
    *,
    at: str | None,
    untracked: bool,
    whole: bool,
    without: Sequence[str] = (),
) -> dict[str, list[str]]:
    """Return for each word the text files that hold it, but those of `without`.

    As `Repository.files_with`.
    """
    wanted = [word for word in dict.fromkeys(words) if may_be_searched(word)]
    found: dict[str, set[str]] = {word: set() for word in words}
    # Of a commit only one thread reads at a time; more of them cost a tenth more.
    scan = [*_GREP, *(("--threads=1",) if at is not None else ())]
    scan += ["--untracked"] if untracked and at is None else []
    # A blob that is missing (a partial clone) is reported as an error, and the rest is answered;
    # that is good enough only where no text can be missing.
    strict = whole and at is not None
    there = [*([at] if at else []), "--", *(f":(top,exclude,literal){path}" for path in without)]
    for start in range(0, len(wanted), WORDS_PER_SCAN):
        piece = wanted[start : start + WORDS_PER_SCAN]
        try:
            found |= _scan(git, scan, piece, there, strict=strict)
        except YaadError as error:
            if error.code is not Code.TOO_LARGE:
                raise
            for word in piece:
                found |= _scan(git, [*scan, "-l"], [word], there, strict=strict)
    return {word: sorted(paths) for word, paths in found.items()}


def names_like(git: Git, name: str) -> list[str]:
    """Return the words of tracked files that begin or end as a name does, to the half of it.

    They are two characters longer or shorter at most. None where git lacks Perl's expressions.
    """
    if not git.has_perl:
        return []
    half = len(name) // 2
    rest = len(name) - half
    given = (
        rf"(?<!\w)(?:{name[:half]}\w{{{max(0, rest - 2)},{rest + 2}}}"
        rf"|\w{{{max(0, half - 2)},{half + 2}}}{name[half:]})(?!\w)"
    )
    options = ("-P", "-o", "-h", "-I", "-f", "-", "--no-color", "--no-recurse-submodules")
    output = git.ask(["grep", *options, "--"], given=given.encode(), allowed=(0, 1))
    return sorted(set(output.decode("utf-8", "replace").split()))


def _search_output(git: Git, arguments: list[str], words: Sequence[str], *, strict: bool) -> bytes:
    """Return git's output for a search for the words.

    With Perl support all words are one expression: git searches for fixed strings one by one, again
    after every matching line.
    """
    command, *options = arguments
    if git.has_perl:
        longest_first = sorted(words, key=lambda word: (-len(word), word))
        given = rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)".encode()
        try:
            return git.ask([command, "-P", *options], given=given, allowed=(0, 1), strict=strict)
        except YaadError as error:
            if "Perl-compatible" not in error.message:
                raise
            git.has_perl = False
    given = "\n".join(words).encode()
    return git.ask([command, "-w", "-F", *options], given=given, allowed=(0, 1), strict=strict)


def _scan(
    git: Git, scan: Sequence[str], words: Sequence[str], there: Sequence[str], *, strict: bool
) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {word: set() for word in words}
    output = _search_output(git, [*scan, *there], words, strict=strict)
    # One by one: git prints megabytes where a word is common, each use of it.
    each = re.finditer(rb"([^\0]+)(?:\0([^\n]*)\n?|\Z)", output)
    hits = dict.fromkeys((hit[1], hit[2] or b"") for hit in each)
    if "-l" in scan:
        only = words[0].encode()
        hits = dict.fromkeys((name, only) for name in output.split(b"\0") if name)
    commit = "" if there[0] == "--" else f"{there[0]}:"
    paths: dict[bytes, str] = {}  # one text of a path, however many words are in the file
    for name, hit in hits:
        word = hit.decode("utf-8", "replace")
        if name not in paths:
            paths[name] = path_texts([name])[0].removeprefix(commit)
        if paths[name] and word in found:
            found[word].add(paths[name])
    # Where one word is part of another, git reports only the longer one.
    for short, long in product(words, words):
        if short != long and short in long and has_word(long.encode(), short.encode()):
            found[short] |= found[long]
    return found
