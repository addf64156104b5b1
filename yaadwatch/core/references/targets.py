"""Does a build file define what a command runs: a rule, a script, a session, a package?"""

import itertools
import json
import re
from collections.abc import Iterable, Mapping

_MAKE = re.compile(r"^([A-Za-z0-9_.%/-][^:=#\n]*?)\s*::?(?!=)", re.MULTILINE)
_INCLUDE = re.compile(r"^ *(?:-|s)?include[ \t]+([^#\n]+)", re.MULTILINE)
_IMPORT = re.compile(r"^import\??[ \t]+['\"]([^'\"\n]+)['\"]", re.MULTILINE)
_WILDCARD = re.compile(r"\$\(wildcard ([^()\n]*)\)")
_VARIABLE = re.compile(r"\$\([^()\n]*\)|\$\{[^{}\n]*\}")
_JUST = re.compile(r"^@?([A-Za-z_][\w-]*)(?:\s[^:=\n]*)?:(?!=)", re.MULTILINE)
_YAML_TASK = re.compile(r"^  ['\"]?([A-Za-z_][\w:.-]*)['\"]?:", re.MULTILINE)
_TOX = re.compile(r"^\[(?:testenv:([^\]\s]+)|tox:?.*)\]|^\s*env_?list\s*=(.*(?:\n[ \t]+.*)*)", re.M)
_TABLE = re.compile(r"^\[([^\]\n]+)\]\s*$", re.MULTILINE)
_KEY = re.compile(r"^[\"']?([A-Za-z_][\w:.-]*)[\"']?\s*=", re.MULTILINE)
_NAME = re.compile(r"^name\s*=\s*[\"']([^\"'\n]+)[\"']", re.MULTILINE)
_NOX = re.compile(r"^def (\w+)|name=[\"']([\w.:-]+)[\"']", re.MULTILINE)
_RAKE = re.compile(r"^\s*task\s+:?[\"']?(\w+)", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z_][\w.:-]{0,79}")
_TARGET_NAMED = ("$@", "$(@", "$*", "$(*", "MAKECMDGOALS")
STEPS_CHARS_MAX = 8_000
"""Characters of what a target does that are compared."""
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
    """Return whether the build file at `path`, which says `text`, defines `target`.

    A pattern rule of make (`lint-%`) defines each target that it matches; one of all targets (`%`)
    does only if what it does depends on the target.
    """
    defined = _defined(path, text)
    patterns = (one for one in defined if path.rpartition("/")[2] in PLACES["make"] and "%" in one)
    return target in defined or any(
        _is_of(target, *one.split("%", 1)) and (one != "%" or _names_target(defined[one], text))
        for one in patterns
    )


def _names_target(steps: str, text: str) -> bool:
    """Return whether a rule of make passes on which target it is for, itself or by a variable."""
    said = text if "$(" in steps or "${" in steps else steps
    return "%" in steps or any(one in said for one in _TARGET_NAMED)


def _is_of(target: str, begins: str, ends: str) -> bool:
    is_longer = len(target) > len(begins) + len(ends)
    return is_longer and target.startswith(begins) and target.endswith(ends)


def included(path: str, text: str) -> list[str]:
    """Return patterns of the files that a build file of make or just includes.

    What a variable holds is not known: of `$(TOP)/mk/*.mk` the rest is the pattern.
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


def renamed(path: str, then: str, now: str, target: str) -> str:
    """Return the one target that does now just what `target` did, which is defined no more.

    Args:
        path: of the build file.
        then: what it said when it defined `target`.
        now: what it says.
        target: a name.

    Returns:
        A name of letters that every tool takes; '' where none does the same, where several do, and
        where it is not known what a target of such a file does.
    """
    steps, defined = _defined(path, then).get(target, ""), _defined(path, now)
    same = [name for name, its in defined.items() if its == steps]
    if not steps or target in defined or len(same) != 1:
        return ""
    return same[0] if _PLAIN.fullmatch(same[0]) else ""


def _defined(path: str, text: str) -> Mapping[str, str]:
    """Return the targets of a build file, each with what it does; '' where that is not known."""
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
    """Return the rules of a file in which what a rule does is indented below its first line.

    Args:
        text: of the file.
        begins: matches the beginning of that line, up to what stands behind the names.
        indent: the characters with which a line of what it does begins.
        but: so many of them begin another rule.
    """
    found: dict[str, str] = {}
    for rule in begins.finditer(text):
        first, *rest = text[rule.end() : rule.end() + STEPS_CHARS_MAX].split("\n")
        inside = itertools.takewhile(
            lambda line: not line.strip() or line[but : but + 1] in tuple(indent), rest
        )
        steps = [line.strip() for line in (first.partition("#")[0], *inside) if line.strip()]
        for name in rule.group(1).split():
            found[name] = "\n".join(steps)
    return found


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
    """Return the keys of the tables of a TOML file that list scripts, and the names of packages."""
    found = dict.fromkeys(_NAME.findall(text), "")
    tables = list(_TABLE.finditer(text))
    for at, table in enumerate(tables, 1):
        end = tables[at].start() if at < len(tables) else len(text)
        name = table.group(1).strip("[] ")
        listing = _TASK_TABLES.fullmatch(name)
        if listing:
            for key in _KEY.finditer(text, table.end(), end):
                # More than a line of it is not taken apart.
                does = text[key.end() : end].partition("\n")[0].strip()
                found[key.group(1)] = does if does.endswith(('"', "'", "}")) else ""
            found |= dict.fromkeys((one.strip("\"' ") for one in listing.groups() if one), "")
        elif name.startswith(("tasks.", "tool.poe.tasks.")):
            found[name.rpartition(".")[2]] = ""
    return found
