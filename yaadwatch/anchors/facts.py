"""Read what a project declares, and which of it a text names.

A package is declared by a manifest, a package manager by its lock file or by `packageManager`, a
tool by its table, script or hook. Everything here is read from one file at a time; an invalid
file declares nothing.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from yaadwatch.text.words import cached, word_set

NPM: Final = "npm"
PIP: Final = "pip"
GO: Final = "go"
CARGO: Final = "cargo"

PACKAGE_FILES: Final = (
    *("package.json", "pyproject.toml", "requirements.txt", "go.mod", "Cargo.toml"),
    *("Gemfile", "composer.json", "Pipfile", "pom.xml", "build.gradle", "build.gradle.kts"),
    *("libs.versions.toml", "pubspec.yaml", "mix.exs", "Package.swift", "deno.json"),
    *("requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt"),
)
"""File names of package manifests."""
_LOCKS: Final = {
    **dict.fromkeys(("pnpm-lock.yaml", "pnpm-workspace.yaml"), "pnpm"),
    **dict.fromkeys(("package-lock.json", "npm-shrinkwrap.json"), "npm"),
    **dict.fromkeys(("yarn.lock", ".yarnrc.yml"), "yarn"),
    **dict.fromkeys(("bun.lock", "bun.lockb", "bunfig.toml"), "bun"),
    **dict.fromkeys(("poetry.lock", "poetry.toml"), "poetry"),
    **dict.fromkeys(("Pipfile", "Pipfile.lock"), "pipenv"),
    **dict.fromkeys(("pixi.lock", "pixi.toml"), "pixi"),
    **dict.fromkeys(("environment.yml", "environment.yaml"), "conda"),
    **dict.fromkeys(("mise.toml", ".mise.toml", "mise.lock"), "mise"),
    **dict.fromkeys(("gradlew", "build.gradle", "build.gradle.kts", "settings.gradle"), "gradle"),
    **dict.fromkeys(("pom.xml", "mvnw"), "maven"),
    "uv.lock": "uv",
    "pdm.lock": "pdm",
    "Cargo.lock": "cargo",
    "Gemfile.lock": "bundler",
    "composer.lock": "composer",
    "deno.lock": "deno",
    "turbo.json": "turbo",
    "nx.json": "nx",
    "lerna.json": "lerna",
    "biome.json": "biome",
    "biome.jsonc": "biome",
    "tox.ini": "tox",
    "noxfile.py": "nox",
    "justfile": "just",
    "Taskfile.yml": "task",
    "dprint.json": "dprint",
}
"""Files whose being there declares a package manager or another tool."""
_TOOL_FILES: Final = (".pre-commit-config.yaml", "mise.toml", ".mise.toml")
DECLARING: Final = tuple(dict.fromkeys((*PACKAGE_FILES, *_LOCKS, *_TOOL_FILES)))
"""File names of everything that declares something."""

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]{0,100})")
_MODULE = re.compile(
    r"^[ \t]{0,8}(?:require[ \t]{1,4})?((?=[\w-]{1,100}\.)[\w.-]{1,100}(?:/[\w.~-]{1,100}){1,12})"
    r"[ \t]{1,8}v\d",
    re.MULTILINE,
)
_LINE_CHARS_MAX: Final = 10_000
"""A file with a longer line is no manifest that a person wrote; parsers take long over it."""


def plain_name(name: str) -> str:
    """Return the normal form of a package name."""
    return re.sub(r"[-_.]+", "-", name).lower() if "/" not in name else name


_DENIED: Final = re.compile(
    r"(?i)\b(?:never|not|no|avoid|don['’]t|instead of|rather than|without|from|than|unlike|was|were"
    r"|legacy|former|deprecated|drop|dropped|removed?|replaced?|replaces)[\s`*_(]{1,4}"
    r"(?:[\w'-]{1,20}[\s`*_(]{1,4}){0,2}\Z"
)
"""Text before a name that is not used, or no longer."""
_OF_SCOPE: Final = re.compile(r"@([\w-]{3,60})/(?:cli|core)")
"""A package that people call by its scope: `@changesets/cli`."""
_JOINTS: Final = re.compile(r"[@/-]")
_MENTION = re.compile(r"(?<![\w@/.-])(`?)(@?[A-Za-z0-9][\w.-]{0,100}(?:/[\w.~-]{1,100}){0,8})")
_BEGINS: Final = frozenset((". ", "! ", "? ", ": ", "- ", "* ", "\n"))
"""What stands before the first word of a sentence, which has a capital letter anyway."""
# Packages whose names are words of every day count in backticks only.
_WORDS: Final = word_set(
    """
    attrs async babel black blessed build bytes cache chalk chance click clean cli clone colors
    commander concurrently config connect cookie cookies core cors crypto data dash date debug
    decimal delegate docs dotenv email engine env errors esm events express faker fast fetch fire
    flask forever form glob graph greenlet hash helmet history http ink jest joi json log logger
    long loose marked merge meow mime mocha moment morgan mustache next nest ora parse parcel path
    pillow pin plan prompts proxy pump pure queue random react regex request requests rest rich
    rollup router safe schema semver send serde serve server session sharp shell should signal sinon
    six slash sort source split stack standard state store stream string style table tap tape test
    text through time tokens tools tracing typing types url user util utils validator warp watch
    wheel which winston words wrap zone
    """
)


@cached(256)
def packages(name: str, text: str) -> Mapping[str, str]:
    """Return the packages that a manifest of this name declares, plain name to ecosystem.

    An invalid manifest declares none.
    """
    try:
        sort, found = _READERS[name]
        _require_lines(text)
        return {plain_name(one): sort for one in islice(found(text), 2_000)}
    except (ValueError, RecursionError):
        return {}


@cached(256)
def declared(name: str, text: str) -> frozenset[str]:
    """Return the plain names of all that a file declares: packages, tools, the project itself.

    Args:
        name: the file's name, one of `DECLARING`.
        text: its content; a lock file needs none.
    """
    known = set(packages(name, text)) if name in _READERS else set()
    try:
        _require_lines(text)
        known |= {plain_name(one.lower()) for one in islice(_tools_of(name, text), 2_000)}
    except (ValueError, RecursionError, AttributeError):
        if name in _LOCKS:
            known.add(_LOCKS[name])
    return frozenset(known - {""})


def _require_lines(text: str) -> None:
    """Refuse a text with too long a line.

    Raises:
        ValueError: it has one.
    """
    if len(text) > _LINE_CHARS_MAX and max(map(len, text.split("\n"))) > _LINE_CHARS_MAX:
        raise ValueError("no manifest has such long lines")


def needs_text(name: str) -> bool:
    """Return whether what a file of this name declares depends on its content."""
    return name in _READERS or name in _TOOL_FILES


def is_among(name: str, declared: Iterable[str]) -> bool:
    """Return whether a name, or one of its family (`eslint-plugin-x`), is declared."""
    return any(name == one or name in _JOINTS.split(one) for one in declared)


def _of_npm(text: str) -> Iterator[str]:
    read = json.loads(text)
    for part in ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"):
        yield from _keys(read, part)


def _of_python(text: str) -> Iterator[str]:
    read = tomllib.loads(text)
    project = _part(read, "project")
    yield from _requirements(project.get("dependencies"))
    for groups in (_part(project, "optional-dependencies"), _part(read, "dependency-groups")):
        for group in groups.values():
            yield from _requirements(group)
    poetry = _part(_part(read, "tool"), "poetry")
    yield from (name for name in _keys(poetry, "dependencies") if name != "python")
    for group in _part(poetry, "group").values():
        yield from _keys(group, "dependencies")


def _of_requirements(text: str) -> Iterator[str]:
    yield from _requirements(line for line in text.splitlines() if line[:1] not in ("#", "-"))


def _of_go(text: str) -> Iterator[str]:
    yield from _MODULE.findall(text)


def _of_cargo(text: str) -> Iterator[str]:
    read = tomllib.loads(text)
    for place in (read, _part(read, "workspace"), *_part(read, "target").values()):
        for part in ("dependencies", "dev-dependencies", "build-dependencies"):
            yield from _keys(place, part)


def _requirements(lines: object) -> Iterator[str]:
    if isinstance(lines, str) or not isinstance(lines, Iterable):
        return
    for line in lines:
        found = _REQUIREMENT.match(line) if isinstance(line, str) else None
        if found is not None:
            yield found.group(1)


def _part(read: object, name: str) -> dict[str, object]:
    found = read.get(name) if isinstance(read, dict) else None
    return found if isinstance(found, dict) else {}


def _keys(read: object, name: str) -> Iterator[str]:
    yield from (str(key) for key in _part(read, name))


def _of_composer(text: str) -> Iterator[str]:
    read = json.loads(text)
    for part in ("require", "require-dev"):
        yield from (name for name in _keys(read, part) if "/" in name)


def _of_pipfile(text: str) -> Iterator[str]:
    read = tomllib.loads(text)
    for part in ("packages", "dev-packages"):
        yield from _keys(read, part)


def _of_catalog(text: str) -> Iterator[str]:
    for alias, given in _part(tomllib.loads(text), "libraries").items():
        module = given.get("module") if isinstance(given, dict) else given
        yield str(module).split(":")[1] if ":" in str(module) else alias


def _of_deno(text: str) -> Iterator[str]:
    for alias, given in _part(json.loads(text), "imports").items():
        found = re.match(r"(?:npm|jsr):(@?[\w./-]{1,200})", str(given))
        yield found[1] if found is not None else alias


def _of_pubspec(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        if line[:1] not in ("", " ", "#"):
            inside = line.split(":")[0] in ("dependencies", "dev_dependencies")
        elif inside and (found := re.match(r"  ([a-z]\w{1,100}):", line)):
            yield found[1]


def _matches_of(pattern: str) -> Callable[[str], Iterator[str]]:
    wanted = re.compile(pattern, re.MULTILINE)

    def found(text: str) -> Iterator[str]:
        return (str(one) for one in wanted.findall(text))

    return found


_GRADLE = _matches_of(r"[\"'][\w.-]{1,100}:([\w.-]{1,100}):[\w.$\[\](){},+-]{1,60}[\"']")
_READERS: Final[Mapping[str, tuple[str, Callable[[str], Iterator[str]]]]] = {
    "package.json": (NPM, _of_npm),
    "pyproject.toml": (PIP, _of_python),
    **dict.fromkeys(
        (name for name in PACKAGE_FILES if "requirements" in name), (PIP, _of_requirements)
    ),
    "Pipfile": (PIP, _of_pipfile),
    "go.mod": (GO, _of_go),
    "Cargo.toml": (CARGO, _of_cargo),
    "Gemfile": ("gem", _matches_of(r"^[ \t]*gem[ \t(]{1,4}[\"']([\w.-]{1,100})[\"']")),
    "composer.json": ("composer", _of_composer),
    "pom.xml": ("maven", _matches_of(r"<artifactId>([\w.-]{1,100})</artifactId>")),
    "build.gradle": ("maven", _GRADLE),
    "build.gradle.kts": ("maven", _GRADLE),
    "libs.versions.toml": ("maven", _of_catalog),
    "pubspec.yaml": ("pub", _of_pubspec),
    "mix.exs": ("hex", _matches_of(r"\{:(\w{1,100}),[ \t]*(?:\"|path:|git:|github:|~>)")),
    "Package.swift": (
        "swift",
        _matches_of(r"url:[ \t]{0,4}\"[^\"\n]{1,200}/([\w.-]{1,100}?)(?:\.git)?\""),
    ),
    "deno.json": (NPM, _of_deno),
}


def _tools_of(name: str, text: str) -> Iterator[str]:
    """Yield the tools that a file declares beside its packages, and the project's own name."""
    if name in _LOCKS:
        yield _LOCKS[name]
    if name == "package.json":
        read = json.loads(text)
        yield str(read.get("packageManager", "")).partition("@")[0]
        yield str(read.get("name", ""))
        yield from _keys(read, "engines")
        scoped = (_OF_SCOPE.fullmatch(one) for one in _of_npm(text))
        yield from (one[1] for one in scoped if one is not None)
    elif name == "pyproject.toml":
        read = tomllib.loads(text)
        yield str(_part(read, "project").get("name", ""))
        yield from _keys(read, "tool")
        yield from _requirements(_part(read, "build-system").get("requires"))
    elif name == "Cargo.toml":
        yield str(_part(tomllib.loads(text), "package").get("name", ""))
        yield "cargo"
    elif name in ("mise.toml", ".mise.toml"):
        tools = _keys(tomllib.loads(text), "tools")
        yield from (tool.rpartition(":")[2].rpartition("/")[2] for tool in tools)
    elif name == ".pre-commit-config.yaml":
        yield "pre-commit"
        yield from re.findall(r"^[ \t-]{0,12}id:[ \t]{0,4}([\w-]{2,60})", text, re.MULTILINE)


def named_packages(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yield start, name and ecosystem of the packages in `known` that a text names.

    A package that is called like a word of every day counts in backticks only.
    """
    for match in _MENTION.finditer(text) if known else ():
        name = match[2].rstrip(".-")
        ecosystem = known.get(plain_name(name))
        is_ticked = bool(match[1]) and text[match.end() : match.end() + 1] == "`"
        if ecosystem and (is_ticked or (name == name.lower() and name not in _WORDS)):
            yield match.start(), name, ecosystem


def named(text: str, known: Mapping[str, object]) -> Iterator[str]:
    """Yield the keys of `known` that a text names, also as people write them: `Vue.js`, `Django`.

    `known`: from `plain_name` of what is declared to anything.
    """
    for match in _MENTION.finditer(text):
        name = match[2].rstrip(".-")
        if _DENIED.search(text, max(0, match.start() - 48), match.start()):
            continue
        lower = name.lower()
        for key in (plain_name(lower), plain_name(lower.removesuffix(".js")), name, f"{lower}s"):
            if key in known:
                begins = match.start() == 0 or text[match.start() - 2 : match.start()] in _BEGINS
                is_ticked = bool(match[1])
                is_name = name != lower and not begins
                if is_ticked or is_name or lower not in _WORDS:
                    yield key
                break
