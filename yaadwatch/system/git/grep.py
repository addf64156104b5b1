"""In which files does a word stand? One scan of a tree answers for many words."""

import re
from collections.abc import Sequence
from itertools import product

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.changes import path_texts
from yaadwatch.system.git.question import Git
from yaadwatch.system.git.words import may_be_searched

_GREP = (
    *("grep", "-I", "-o", "-z", "--full-name", "--no-color", "--no-line-number"),
    *("-f", "-", "--no-column", "--no-heading", "--no-break"),
    *("--no-textconv", "--no-recurse-submodules"),
)
_ONE_THREAD = ("--threads=1",)
"""Of a commit only one thread reads at a time; more of them cost a tenth more."""
WORDS_PER_SCAN = 128
"""Words looked for in one scan of a tree."""
_PATH = re.compile(rb"([^\0]+)\0")
_PATH_AND_WORD = re.compile(rb"([^\0]+)\0([^\n]*)\n?")
_NO_PERL = re.compile("Perl-compatible")


def files_with(
    git: Git, words: Sequence[str], *, at: str | None, untracked: bool, whole: bool
) -> dict[str, list[str]]:
    """Return for each word the text files that hold it; as `Repository.files_with`."""
    wanted = [word for word in dict.fromkeys(words) if may_be_searched(word)]
    found: dict[str, set[str]] = {word: set() for word in words}
    scan = [*_GREP, *(_ONE_THREAD if at is not None else ())]
    scan += ["--untracked"] if untracked and at is None else []
    # A blob that is missing (a partial clone) is told as an error, and the rest is answered;
    # that is good enough only where no text can be missing.
    strict = whole and at is not None
    for start in range(0, len(wanted), WORDS_PER_SCAN):
        piece = wanted[start : start + WORDS_PER_SCAN]
        try:
            found |= _scan(git, scan, piece, at, strict=strict)
        except YaadError as error:
            if error.code is not Code.TOO_LARGE:
                raise
            for word in piece:
                found |= _scan(git, [*scan, "-l"], [word], at, strict=strict)
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
    said = git.ask(["grep", *options, "--"], given=given.encode(), allowed=(0, 1))
    return sorted(set(said.decode("utf-8", "replace").split()))


def _told(git: Git, arguments: list[str], words: Sequence[str], *, strict: bool) -> bytes:
    """Return what git says of the words.

    All of them are one expression where git was built with those of Perl: of texts to be taken
    literally it looks for each by itself, again behind every line that was found.
    """
    command, *options = arguments
    if git.has_perl:
        longest_first = sorted(words, key=lambda word: (-len(word), word))
        given = rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)".encode()
        try:
            return git.ask([command, "-P", *options], given=given, allowed=(0, 1), strict=strict)
        except YaadError as error:
            if not _NO_PERL.search(error.message):
                raise
            git.has_perl = False
    given = "\n".join(words).encode()
    return git.ask([command, "-w", "-F", *options], given=given, allowed=(0, 1), strict=strict)


def _scan(
    git: Git, scan: Sequence[str], words: Sequence[str], at: str | None, *, strict: bool
) -> dict[str, set[str]]:
    """Return which files hold which of `words`."""
    found: dict[str, set[str]] = {word: set() for word in words}
    output = _told(git, [*scan, *([at] if at else []), "--"], words, strict=strict)
    only = words[0] if "-l" in scan else None
    hits = (_PATH if only else _PATH_AND_WORD).findall(output)
    paths: dict[bytes, str] = {}  # one text of a path, however many words are in the file
    for name, said in dict.fromkeys((hit, b"") if only else hit for hit in hits):
        word = only or said.decode("utf-8", "replace")
        if name not in paths:
            paths[name] = path_texts([name])[0].removeprefix(f"{at}:" if at else "")
        if paths[name] and word in found:
            found[word].add(paths[name])
    # Where one word stands inside another, git tells only of the longer one.
    for short, long in product(words, words):
        inside = short != long and short in long
        if inside and _is_word_of(short, long):
            found[short] |= found[long]
    return found


def _is_word_of(short: str, long: str) -> bool:
    """Return whether a text that holds `long` holds `short`, too, as a word; as git takes words."""
    return re.search(rf"(?<!\w){re.escape(short)}(?!\w)", long, re.ASCII) is not None
