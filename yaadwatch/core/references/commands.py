"""Which commands does a text give, and which target of which tool do they run?

A target is a name that a file of the project defines: a rule of a Makefile, a script of
package.json. Where that file is, and whether it defines the name, is asked elsewhere.
"""

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

WORDS_MAX = 24
"""Words of one command line that are looked at."""

_SEPARATORS = re.compile(r"&&|\|\||[;|\n]")
_TARGET = re.compile(r"[A-Za-z_][\w.:/@-]{0,79}")
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,63}=\S*")
_BEFORE = frozenset({"$", "%", ">", "#", "sudo", "time", "env", "exec", "npx", "bunx"})

_SCRIPTS = {
    "npm": frozenset(("run", "run-script")),
    "pnpm": frozenset(("run",)),
    "yarn": frozenset(("run",)),
    "bun": frozenset(("run",)),
    "composer": frozenset(("run", "run-script")),
    "deno": frozenset(("task",)),
    "mise": frozenset(("run", "r")),
    "uv": frozenset(("run",)),
    "poetry": frozenset(("run",)),
    "pdm": frozenset(("run",)),
    "hatch": frozenset(("run",)),
    "rye": frozenset(("run",)),
    "pixi": frozenset(("run",)),
}
"""Tools whose scripts stand behind one of these words."""
_SHORT = frozenset({"npm", "pnpm", "yarn", "bun", "composer", "pdm"})
"""Those that run a script without that word too (`npm test`, `pnpm lint`)."""
_DIRECT = frozenset({"make", "gmake", "just", "task", "rake", "invoke", "inv", "mage", "earthly"})
_WITH_OPTION = {
    "tox": ("-e", "--env", "run"),
    "nox": ("-s", "--session", "-e"),
    "cargo": ("-p", "--package", "--bin", "--example", "--test", "--bench"),
    "go": (),
}
_OF_ANOTHER = frozenset(("--filter", "-F", "--workspace"))
"""With these the script is that of a package of the workspace, which its file alone names."""
_BETWEEN = r"(?:[^\s`&|;]{1,80}[ \t]{1,3}){0,8}?"
"""Other words of the command, before the one that is meant."""
_OPTIONS = r"(?:-[^\s`&|;]{0,80}[ \t]{1,3}){0,4}"
_TAKES_VALUE = frozenset(
    ("-C", "-f", "-j", "-o", "--directory", "--file", "--filter", "-F", "--prefix", "--cwd", "-w")
)


@dataclass(frozen=True, slots=True)
class Command:
    """A target that a tool is told to run: ('make', 'lint'), ('npm', 'test')."""

    tool: str
    target: str


def commands(span: str) -> Iterator[Command]:
    """Yield the targets of the command lines in a piece of code; never raises."""
    for line in _SEPARATORS.split(span):
        words = line.split(maxsplit=WORDS_MAX)[:WORDS_MAX]
        while words and (words[0] in _BEFORE or _VARIABLE.fullmatch(words[0])):
            words = words[1:]
        if len(words) > 1:
            yield from _of(words[0].rpartition("/")[2], words[1:])


def renamed(text: str, tools: Collection[str], old: str, new: str) -> str:
    """Return `text` with a target put as `new` wherever it tells one of these tools to run it.

    Where a script stands without the word `run` it is left: `npm test` is a word of npm's own, and
    so may the new name be.
    """
    for tool in sorted({*tools, "gmake"} if "make" in tools else tools):
        if tool in _DIRECT:
            between = _BETWEEN
        elif tool in _SCRIPTS:
            between = rf"{_BETWEEN}(?:{'|'.join(sorted(_SCRIPTS[tool]))})[ \t]{{1,3}}{_OPTIONS}"
        else:
            continue
        said = rf"(?<![\w./@-])({tool}[ \t]{{1,3}}{between}){re.escape(old)}(?![\w:/@-]|\.\w)"
        text = re.sub(said, lambda found: found[1] + new, text)
    return text


def _of(tool: str, rest: list[str]) -> Iterator[Command]:
    if tool in _DIRECT:
        for target in _plain(rest):
            yield Command("make" if tool == "gmake" else tool, target)
    elif tool in _SCRIPTS:
        if any(word.partition("=")[0] in _OF_ANOTHER for word in rest):
            return
        plain = list(_plain(rest))
        if plain and plain[0] in _SCRIPTS[tool]:
            yield from (Command(tool, target) for target in plain[1:2])
        elif plain and tool in _SHORT:
            yield Command(tool, plain[0])
    elif tool in _WITH_OPTION:
        yield from _after_options(tool, rest)


def _plain(rest: list[str]) -> Iterator[str]:
    """Yield the words that are neither options, nor their values, nor settings."""
    skip = False
    for word in rest:
        if word == "--":
            return
        if skip:
            skip = False
        elif word in _TAKES_VALUE:
            skip = True
        elif _TARGET.fullmatch(word) and "=" not in word:
            yield word.rstrip(".:")


def _after_options(tool: str, rest: list[str]) -> Iterator[Command]:
    options = _WITH_OPTION[tool]
    for option, value in itertools.pairwise(rest):
        if option in options:
            for name in value.split(","):
                if _TARGET.fullmatch(name):
                    yield Command(tool, name.rstrip(".:"))
    if tool == "cargo" and rest and _TARGET.fullmatch(rest[0]):
        yield Command(tool, rest[0])
