"""Does a build file define what a command runs: a rule, a script, a session, a package?"""

import json
import re
from collections.abc import Iterable

_MAKE = re.compile(r"^([A-Za-z0-9_.%/-][^:=#\n]*?)\s*::?(?!=)", re.MULTILINE)
_JUST = re.compile(r"^@?([A-Za-z_][\w-]*)(?:\s[^:=\n]*)?:(?!=)", re.MULTILINE)
_YAML_TASK = re.compile(r"^  ['\"]?([A-Za-z_][\w:.-]*)['\"]?:", re.MULTILINE)
_TOX = re.compile(r"^\[(?:testenv:([^\]\s]+)|tox:?.*)\]|^\s*env_?list\s*=(.*(?:\n[ \t]+.*)*)", re.M)
_TABLE = re.compile(r"^\[([^\]\n]+)\]\s*$", re.MULTILINE)
_KEY = re.compile(r"^[\"']?([A-Za-z_][\w:.-]*)[\"']?\s*=", re.MULTILINE)
_NAME = re.compile(r"^name\s*=\s*[\"']([^\"'\n]+)[\"']", re.MULTILINE)
_NOX = re.compile(r"^def (\w+)|name=[\"']([\w.:-]+)[\"']", re.MULTILINE)
_RAKE = re.compile(r"^\s*task\s+:?[\"']?(\w+)", re.MULTILINE)
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
    """Return whether the build file at `path`, which says `text`, defines `target`."""
    return target in targets_of(path, text)


def targets_of(path: str, text: str) -> frozenset[str]:
    """Return the targets that a build file defines; none when it is of no known sort."""
    name = path.rpartition("/")[2]
    if name in PLACES["make"]:
        return frozenset(word for rule in _MAKE.findall(text) for word in rule.split())
    if name in PLACES["just"]:
        return frozenset(_JUST.findall(text))
    if name in PLACES["task"]:
        return frozenset(_YAML_TASK.findall(text))
    if name.endswith((".json", ".jsonc")):
        return _scripts(text)
    if name in ("tox.ini", "setup.cfg"):
        return frozenset(_tox(text))
    if name in ("noxfile.py", "tasks.py"):
        return frozenset(part for found in _NOX.findall(text) for part in found if part)
    if name == "Rakefile":
        return frozenset(_RAKE.findall(text))
    return _tables(text) if name.endswith(".toml") else frozenset()


def _scripts(text: str) -> frozenset[str]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return frozenset()
    found: set[str] = set()
    if isinstance(read, dict):
        for key in ("scripts", "tasks"):
            if isinstance(read.get(key), dict):
                found |= read[key].keys()
    return frozenset(found)


def _tox(text: str) -> Iterable[str]:
    for found in _TOX.finditer(text):
        if found.group(1):
            yield found.group(1)
        yield from re.findall(r"[\w.-]+", found.group(2) or "")


def _tables(text: str) -> frozenset[str]:
    """Return the keys of the tables of a TOML file that list scripts, and the names of packages."""
    found = set(_NAME.findall(text))
    tables = list(_TABLE.finditer(text))
    ends = [table.start() for table in tables[1:]] + [len(text)]
    for table, end in zip(tables, ends, strict=True):
        name = table.group(1).strip("[] ")
        listing = _TASK_TABLES.fullmatch(name)
        if listing:
            found |= set(_KEY.findall(text, table.end(), end))
            found |= {group.strip("\"' ") for group in listing.groups() if group}
        elif name.startswith(("tasks.", "tool.poe.tasks.")):
            found.add(name.rpartition(".")[2])
    return frozenset(found)
