"""Find the commands a text gives, the targets they run, and the files of a moved pattern.

A target is a name that a project file defines: a rule of a Makefile, a script of package.json, a
session, a package.
"""

import difflib
import itertools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from yaadwatch.anchors.tree import Tree
from yaadwatch.model.settings import SYMBOL_FILES_MAX

_MAKE = re.compile(r"^([\w.%/-](?:[^:=#\s]++|[^\S\n]++(?!:))*+)[^\S\n]*+::?(?!=)", re.MULTILINE)
_INCLUDE = re.compile(r"^ *(?:-|s)?include[ \t]+([^#\n]+)", re.MULTILINE)
_IMPORT = re.compile(r"^import\??[ \t]+['\"]([^'\"\n]+)['\"]", re.MULTILINE)
_WILDCARD = re.compile(r"\$\(wildcard ([^()\n]*)\)")
_VARIABLE = re.compile(r"\$\([^()\n]*\)|\$\{[^{}\n]*\}")
_JUST = re.compile(r"^@?([A-Za-z_][\w-]*)(?:\s[^:=\n]*)?:(?!=)", re.MULTILINE)
_YAML_TASK = re.compile(r"^  ['\"]?([A-Za-z_][\w:.-]*)['\"]?:", re.MULTILINE)
_TOX = re.compile(
    r"^\[(?:testenv:([^\]\s]+)|tox:?.*)\]|^[ \t]*env_?list[ \t]*=(.*(?:\n[ \t].*)*)", re.M
)
_TABLE = re.compile(r"^\[([^\]\n]+)\]\s*$", re.MULTILINE)
_KEY = re.compile(r"^[\"']?([A-Za-z_][\w:.-]*)[\"']?\s*=", re.MULTILINE)
_NAME = re.compile(r"^name\s*=\s*[\"']([^\"'\n]+)[\"']", re.MULTILINE)
_NOX = re.compile(r"^def (\w+)|name=[\"']([\w.:-]+)[\"']", re.MULTILINE)
_RAKE = re.compile(r"^[ \t]*task[ \t]+:?[\"']?(\w+)", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z_][\w.:-]{0,79}")
STEPS_CHARS_MAX = 8_000
"""Most characters of a recipe that are compared."""
_TASK_TABLES = re.compile(
    r"project\.(?:gui-)?scripts|tool\.poetry\.scripts|tool\.\w+(?:\.\w+)*\.(?:scripts|tasks)|tasks"
    r"|tool\.poe\.tasks|alias|tool\.tox\.env\.(.+)|env\.(.+)"
)

PLACES = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "invoke": ("tasks.py",),
    "inv": ("tasks.py",),
    "tox": ("tox.ini", "tox.toml", "setup.cfg", "pyproject.toml"),
    "nox": ("noxfile.py",),
    "cargo": ("Cargo.toml", ".cargo/config.toml"),
    "npm": ("package.json",),
    "pnpm": ("package.json",),
    "yarn": ("package.json",),
    "bun": ("package.json",),
    "composer": ("composer.json",),
    "deno": ("deno.json", "deno.jsonc"),
    "mise": ("mise.toml", ".mise.toml"),
    "uv": ("pyproject.toml",),
    "poetry": ("pyproject.toml",),
    "pdm": ("pyproject.toml",),
    "hatch": ("pyproject.toml", "hatch.toml"),
    "rye": ("pyproject.toml",),
    "pixi": ("pixi.toml", "pyproject.toml"),
}
"""Where the targets of each tool are defined: in a file of this name, the nearest one first."""


def defines_target(path: str, text: str, target: str) -> bool:
    """Return whether the build file at `path` with content `text` defines `target`.

    A pattern rule of make (`lint-%`) defines each target that it matches; a match-all rule (`%`)
    only if its recipe depends on the target.
    """
    defined = _defined(path, text)
    patterns = (one for one in defined if path.rpartition("/")[2] in PLACES["make"] and "%" in one)
    return target in defined or any(
        _is_of(target, *one.split("%", 1)) and (one != "%" or _names_target(defined[one], text))
        for one in patterns
    )


def is_broken(path: str, text: str) -> bool:
    """Return whether a build file that has to be JSON is none, as in the middle of an edit."""
    try:
        json.loads(text if path.endswith(".json") else "{}")
    except (ValueError, RecursionError):
        return True
    return False


def nearest_target(path: str, text: str, target: str) -> str:
    """Return the target of a build file that a misspelt one may mean; '' for none.

    '' too where the file includes others: the target may be theirs.
    """
    if len(target) < 4 or included(path, text):
        return ""
    alike = [
        name
        for name in _defined(path, text)
        if name[:1] == target[:1] and abs(len(name) - len(target)) <= 1
    ]
    return next(iter(difflib.get_close_matches(target, alike, 1, 0.75)), "")


def _names_target(steps: str, text: str) -> bool:
    """Return whether a make recipe uses its target, directly or through a variable."""
    said = text if "$(" in steps or "${" in steps else steps
    return "%" in steps or any(one in said for one in ("$@", "$(@", "$*", "$(*", "MAKECMDGOALS"))


def _is_of(target: str, begins: str, ends: str) -> bool:
    is_longer = len(target) > len(begins) + len(ends)
    return is_longer and target.startswith(begins) and target.endswith(ends)


def included(path: str, text: str) -> list[str]:
    """Return patterns of the files that a build file of make or just includes.

    Variables are unknown: for `$(TOP)/mk/*.mk` the rest is the pattern.
    """
    name = path.rpartition("/")[2]
    found = _INCLUDE.findall(text) if name in PLACES["make"] else []
    found += _IMPORT.findall(text) if name in PLACES["just"] else []
    words = (one for line in found for one in _WILDCARD.sub(r"\1", line).split())
    return [rest for one in words if (rest := _VARIABLE.sub("*", one).lstrip("*./"))]


def tools_of(path: str) -> frozenset[str]:
    """Return the tools whose targets a build file at `path` defines."""
    name = path.rpartition("/")[2]
    return frozenset(
        tool
        for tool, places in PLACES.items()
        if any(f"/{path}".endswith(f"/{place}") or name == place for place in places)
    )


def names_in(path: str, text: str) -> list[str]:
    """Return the targets of a build file by name, but patterns and what begins with a dot."""
    return [name for name in _defined(path, text) if _PLAIN.fullmatch(name)]


def renamed(path: str, then: str, now: str, target: str) -> str:
    """Return the target that now has the recipe of the removed `target`.

    Args:
        path: the build file.
        then: its content when it defined `target`.
        now: its current content.
        target: the removed name.

    Returns:
        A name of letters valid in every tool; '' when no target or several have the recipe, or
        when recipes of such a file are not known.
    """
    steps, defined = _defined(path, then).get(target, ""), _defined(path, now)
    same = [name for name, its in defined.items() if its == steps]
    if not steps or target in defined or len(same) != 1:
        return ""
    return same[0] if _PLAIN.fullmatch(same[0]) else ""


def _defined(path: str, text: str) -> Mapping[str, str]:
    """Return the targets of a build file, each with its recipe; '' where that is unknown."""
    name = path.rpartition("/")[2]
    if name in PLACES["make"]:
        return _rules(text, _MAKE, "\t")
    if name in PLACES["just"]:
        return _rules(text, _JUST, " \t")
    if name in PLACES["task"]:
        return _rules(text, _YAML_TASK, " ", but=2)
    if name.endswith((".json", ".jsonc")):
        return _scripts(text)
    if name in ("tox.ini", "setup.cfg"):
        return dict.fromkeys(_tox(text), "")
    if name in ("noxfile.py", "tasks.py"):
        return {part: "" for found in _NOX.findall(text) for part in found if part}
    if name == "Rakefile":
        return dict.fromkeys(_RAKE.findall(text), "")
    return _tables(text) if name.endswith(".toml") else {}


def _rules(text: str, begins: re.Pattern[str], indent: str, *, but: int = 0) -> dict[str, str]:
    """Return the rules of a file whose recipes are indented below their first line.

    Args:
        text: the content of the file.
        begins: matches the start of that line, up to the text after the names.
        indent: the characters that may start a recipe line.
        but: this many of them start another rule.
    """
    found: dict[str, str] = {}
    for rule in begins.finditer(text):
        lines = _lines(text, rule.end())
        steps = [next(lines).partition("#")[0].strip()]
        for line in lines:
            if line.strip() and line[but : but + 1] not in tuple(indent):
                break
            steps.append(line.strip())
        for name in rule.group(1).split():
            found[name] = "\n".join(filter(None, steps))
    return found


def _lines(text: str, start: int) -> Iterator[str]:
    """Yield the lines from a position on, as far as recipes are compared."""
    end = start + STEPS_CHARS_MAX
    while start < end:
        line_end = text.find("\n", start, end)
        yield text[start : line_end if line_end >= 0 else end]
        if line_end < 0:
            return
        start = line_end + 1


def _scripts(text: str) -> dict[str, str]:
    try:
        read = json.loads(text)
        listed = [read[key] for key in ("scripts", "tasks") if key in read]
        return {
            name: json.dumps(does) if does else ""
            for one in listed
            if isinstance(one, dict)
            for name, does in one.items()
        }
    except (ValueError, TypeError, RecursionError):  # no JSON, no object, or nested too deep
        return {}


def _tox(text: str) -> Iterable[str]:
    for found in _TOX.finditer(text):
        if found.group(1):
            yield found.group(1)
        yield from re.findall(r"[\w.-]+", found.group(2) or "")


def _tables(text: str) -> dict[str, str]:
    """Return the keys of the TOML tables that list scripts, and the names of packages."""
    found = dict.fromkeys(_NAME.findall(text), "")
    tables = list(_TABLE.finditer(text))
    for at, table in enumerate(tables, 1):
        end = tables[at].start() if at < len(tables) else len(text)
        name = table.group(1).strip("[] ")
        listing = _TASK_TABLES.fullmatch(name)
        if listing:
            for key in _KEY.finditer(text, table.end(), end):
                # Only a first line is parsed.
                does = text[key.end() : end].partition("\n")[0].strip()
                found[key.group(1)] = does if does.endswith(('"', "'", "}")) else ""
            found |= dict.fromkeys((one.strip("\"' ") for one in listing.groups() if one), "")
        elif name.startswith(("tasks.", "tool.poe.tasks.")):
            found[name.rpartition(".")[2]] = ""
    return found


PARTS_MAX = 256
"""Words and signs of two paths together; to compare longer ones takes minutes."""


def following(pattern: str, old: str, new: str) -> str | None:
    """Return the pattern that matches `new` as `pattern` matched `old`; None when uncertain.

    The words that were replaced in the path (`src/api/a.js` is `lib/api/a.ts` now) are replaced
    in the pattern, where it writes them out, each once. None, too, for a file that moved to the
    top: it would match names everywhere.

    Args:
        pattern: as `Tree.matching` takes it; `old` is one of its files.
        old: the old path of a file.
        new: its new path.
    """
    moved = Tree.of([new])
    if any(True for _ in moved.matching(pattern)):
        return pattern
    parts, were, are = (re.findall(r"[^\W_]+|[\W_]", one) for one in (pattern, old, new))
    if len(were) + len(are) > PARTS_MAX:
        return None
    changes = SequenceMatcher(None, were, are, autojunk=False).get_opcodes()
    for action, start, end, first, last in reversed(changes):
        # What was put in stands before the word behind it, or where a star is behind the one above.
        more = 2 if were[start : start + 1] == ["/"] else 1
        around = ((0, more), (min(2, start), 0)) if action == "insert" else ((0, 0),)
        for above, behind in around if action != "equal" else ():
            was, put = were[start - above : end + behind], are[first - above : last + behind]
            found = [at for at in range(len(parts)) if parts[at : at + len(was)] == was]
            if was and len(found) == 1:
                parts[found[0] : found[0] + len(was)] = put
                break
    found_pattern = "".join(parts)
    is_at_top = "/" in pattern and "/" not in found_pattern
    matches = any(True for _ in moved.matching(found_pattern))
    return found_pattern if matches and not is_at_top else None


WORDS_MAX = 24
"""Most words read of one command line."""

_SEPARATORS = re.compile(r"&&|\|\||[;|\n]")
_TARGET = re.compile(r"[A-Za-z_][\w.:/@-]{0,79}")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,63}=\S*")
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
"""Tools whose scripts follow one of these words."""
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
    """A tool with a target to run: ('make', 'lint'), ('npm', 'test').

    `only_target`: it can name nothing else; `npm link` is a word of npm's own, and `uv run mypy` a
    program.
    """

    tool: str
    target: str
    only_target: bool = field(default=False, compare=False)


def commands(span: str) -> Iterator[Command]:
    """Yield the targets of the command lines in a code span; never raises."""
    for line in _SEPARATORS.split(span):
        words = line.split(maxsplit=WORDS_MAX)[:WORDS_MAX]
        while words and (words[0] in _BEFORE or _ASSIGNMENT.fullmatch(words[0])):
            words = words[1:]
        if len(words) > 1:
            yield from _of(words[0].rpartition("/")[2], words[1:])


def renamed_target(text: str, tools: Collection[str], old: str, new: str) -> str:
    """Return `text` with a target renamed to `new` wherever one of these tools runs it.

    A script without the word `run` is unchanged: `npm test` is a word of npm's own, and `new` may
    be one too.
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
            yield Command("make" if tool == "gmake" else tool, target, only_target=True)
    elif tool in _SCRIPTS:
        if any(word.partition("=")[0] in _OF_ANOTHER for word in rest):
            return
        plain = list(_plain(rest))
        if plain and plain[0] in _SCRIPTS[tool]:
            only_target = tool in _SHORT - {"pdm"}
            yield from (Command(tool, target, only_target) for target in plain[1:2])
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


def build_files(tool: str, folder: str, tree: Tree) -> list[str]:
    """Return the files that may define a tool's targets, nearest first."""
    found: list[str] = []
    for name in PLACES.get(tool, ()):
        base = name.rpartition("/")[2]
        every = [path for path in tree.named(base) if path == name or path.endswith("/" + name)]
        near = [path for path in (f"{folder}/{name}", name) if tree.has_file(path)]
        found += [path for path in (*near, *every) if path not in found]
    return found[:SYMBOL_FILES_MAX]
