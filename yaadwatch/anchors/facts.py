"""Read what a project declares, and which of it a text names.

A package is declared by a manifest, a package manager by its lock file, its table or
`packageManager`, a tool by its file or hook. Everything here is read from one file at a time.
"""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from yaadwatch.text.words import cached_short, word_set

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
    **dict.fromkeys(("Cargo.toml", "Cargo.lock"), "cargo"),
    **dict.fromkeys(("Gemfile", "Gemfile.lock"), "bundler"),
    **dict.fromkeys(("composer.json", "composer.lock"), "composer"),
    **dict.fromkeys(("appveyor.yml", ".appveyor.yml"), "appveyor"),
    ".travis.yml": "travis",
    ".cirrus.yml": "cirrus",
    ".drone.yml": "drone",
    "Jenkinsfile": "jenkins",
    "azure-pipelines.yml": "azure-pipelines",
    "bitbucket-pipelines.yml": "bitbucket-pipelines",
    ".gitlab-ci.yml": "gitlab-ci",
    "uv.lock": "uv",
    "pdm.lock": "pdm",
    "deno.lock": "deno",
    "turbo.json": "turbo",
    "nx.json": "nx",
    "lerna.json": "lerna",
    "biome.json": "biome",
    "biome.jsonc": "biome",
    **dict.fromkeys(("tox.ini", "tox.toml"), "tox"),
    "noxfile.py": "nox",
    **dict.fromkeys(("justfile", "Justfile", ".justfile"), "just"),
    **dict.fromkeys(("Taskfile.yml", "Taskfile.yaml"), "task"),
    "dprint.json": "dprint",
    **dict.fromkeys((".golangci.yml", ".golangci.yaml", ".golangci.toml"), "golangci-lint"),
    **dict.fromkeys((".goreleaser.yml", ".goreleaser.yaml"), "goreleaser"),
    **dict.fromkeys(("lefthook.yml", "lefthook.yaml"), "lefthook"),
    **dict.fromkeys(("wrangler.toml", "wrangler.jsonc"), "wrangler"),
    **dict.fromkeys(("renovate.json", "renovate.json5"), "renovate"),
    "mkdocs.yml": "mkdocs",
    "skaffold.yaml": "skaffold",
    "devbox.json": "devbox",
    "flake.nix": "nix",
    "netlify.toml": "netlify",
    "vercel.json": "vercel",
}
"""Files whose being there declares a package manager or another tool."""
_RIVALS: Final = (
    frozenset(("npm", "pnpm", "yarn", "bun")),
    frozenset(("poetry", "pipenv", "pdm", "uv", "pixi", "conda", "hatch")),
    frozenset(("maven", "gradle")),
)
"""Package managers of which a project has one. It declares one no more when it declares another:
a lock file that git ignores says nothing."""
_MANAGERS: Final = frozenset(name for rivals in _RIVALS for name in rivals)
_TOOL_FILES: Final = (".pre-commit-config.yaml", "mise.toml", ".mise.toml")
DECLARING: Final = tuple(dict.fromkeys((*PACKAGE_FILES, *_LOCKS, *_TOOL_FILES)))
"""File names of everything that declares something."""

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]{0,100})")
_MODULE = re.compile(
    r"^[ \t]{0,8}(?:require[ \t]{1,4})?((?=[\w-]{1,100}\.)[\w.-]{1,100}(?:/[\w.~-]{1,100}){1,12})"
    r"[ \t]{1,8}v\d",
    re.MULTILINE,
)
_HOOK = re.compile(r"^[ \t-]{0,12}id:[ \t]{0,4}([\w-]{2,60})", re.MULTILINE)
_MAVEN_PART = re.compile(r"<(?:dependency|plugin|parent)>")
_MAVEN_NAME = re.compile(r"<artifactId>([\w.-]{1,100})</artifactId>")
_DECLARING_ENDINGS: Final = (".gradle", ".gradle.kts", ".toml", ".cfg", ".ini", ".gemspec")
_INVALID: Final = (ValueError, AttributeError, RecursionError, KeyError)
_CHARS_MAX: Final = 512 * 1024
_LINE_CHARS_MAX: Final = 10_000
"""A file with a longer line is no manifest that a person wrote; parsers take long over it."""


def plain_name(name: str) -> str:
    """Return the normal form of a package name."""
    return re.sub(r"[-_.]+", "-", name).lower() if "/" not in name else name


_DENIED: Final = re.compile(
    r"(?i)\b(?:never|not|no|avoid|don['’]t|instead of|rather than|without|from|than|unlike|was|were"
    r"|legacy|former|deprecated|migrat\w{1,3}|deleted?|removing|still see|drop|dropped|removed?"
    r"|replaced?|replaces)[\s`*_(]{1,4}"
    r"(?:[\w'-]{1,20}[\s`*_(]{1,4}){0,2}\Z"
)
"""Text before a name that is not used, or no longer."""
_SCOPED: Final = re.compile(r"@(?!types/)([\w-]{3,60})/[\w.-]{3,60}")
"""A package that people call by its scope, as `@changesets/cli`."""
_REGISTRY: Final = re.compile(r"`? (?:modules?|packages?|registry|account|token)\b")
"""Text behind `npm` where that is the registry of packages."""
_JOINTS: Final = re.compile(r"[@/-]")
_MENTION = re.compile(r"(?<![\w@/.-])(`?)(@?[A-Za-z0-9][\w.-]{0,100}(?:/[\w.~-]{1,100}){0,8})")
_FILE_ENDINGS: Final = (".json", ".lock", ".md", ".toml", ".txt", ".xml")
_FAMILIES: Final = frozenset(
    ("rspec", "minitest", "pytest", "jest", "eslint", "storybook", "sentry")
)
"""Tools of which a project may declare only a part."""
_MAJOR: Final = re.compile(r"/v\d{1,3}\Z")
_SHORT_LETTERS_MIN: Final = 5
_LETTERS_MIN: Final = 3
"""A shorter name is too often something else."""
_SECOND_WORD: Final = re.compile(r" ([A-Z][\w.]{1,60})(?<!\.)")
_BEGINS: Final = (". ", "! ", "? ", ": ", "- ", "* ", "> ", "\n", "*", "_", "(", '"', "|", "| ")
"""What stands before the first word of a sentence, which has a capital letter anyway: also behind
a heading, and of words in bold.
"""
# Packages that are called like an everyday word count in backticks only.
_BRANDS: Final = frozenset(
    ("apple", "aws", "azure", "github", "gitlab", "google", "java", "linux", "microsoft", "python")
)
"""Words that mean no package in capital letters either."""
_WORDS: Final = word_set(
    """
    account action actions active admin agent agents alias ansi api app apps archive archiver
    args arrow assert assets async atomic attrs auth auto aws azure backend backoff backup base
    batch bin binary bird black blessed block blog board body bold book boot bot box brace
    branch bridge browser buffer bug build builder bundle bus button bytes cache calendar call
    camel camera canvas capital card case catalog chain chalk chance change channel char charset
    chart chat check checker child choice chunk circle class clean cli click client clock clone
    cloud cluster code codec codegen color colors column command commander comment commit common
    compact compare compile compiler complete component compose compress compression concurrent
    concurrently config configure connect connection console constant content context contract
    control convert cookie cookies copy core cors count counter coverage create cron crypto css
    csv cursor custom cycle data database date days db debug decimal deep default defaults
    deferred delay delegate delete deploy deprecated depth desk diff digest dir directory disk
    dispatch docs document dom domain domains dot dotenv download draft draw driver dynamic each
    editor effect element email emitter emotion empty encode encoding end engine enum env
    environment equal error errors escape esm event events exact example exec execute exit
    expand expect export express extend extension extra faker false fast fastest favicon fetch
    field file files filter final find finder fire fixture flag flags flash flat flow folder
    follow font foreign forever form format formatter frame framework fresh front frontend
    function fuse future gate gateway generate generator get git github glob global globals go
    google graph greenlet grid group grpc guard handler hash have head header headers health
    heap hello helmet help helper helpers hex highlight history hoist home hook hooks host hot
    html http hub icon icons id image import index info ini init ink inline input inquirer
    insert inspect install int interact interface invariant invoice io is issue item iterator
    java job jobs joi join json just jwt kernel key keys keyword kit knife lab label language
    last latest layer layout lazy lib library license light limit line link linker lint linter
    list listen loader local locale lock log logger logging login logs long loop loose machine
    mail main make manager manual map markdown marked mask match math matrix mcp media memory
    menu meow merge message meta method metrics microsoft middleware migrate mime mirror mobile
    mock mode model models module modules moment money monitor morgan mount mouse move multi
    mustache name native nest nested network new next node normalize not note notes notice
    number oauth object observable offer on once only open operator optional options ora
    orchestration order os other outdent output override pack package page pages paint panel
    parallel param params parcel parse parser part patch path paths pattern pause payload pdf
    performance person phone pick picture pillow pin pipe pipeline pixel plan platform play
    playground plot plugin plugins plural point policy pool popup port portal post prefix preset
    press pretty preview print priority private problem process product profile progress project
    projects promise prompt prompts properties property proto provider proxy public pull pump
    punch pure push python query queue quick quote race random range rate raw react read reader
    recast record redirect reducer ref reference refresh regex registry release reload remote
    render repeat replace report repository request requests require reset resize resolve
    resource response rest restart result retry return review rich right ring role rollup root
    rotate route router row rpc rule rules run runner runtime safe sample sanitize save scaffold
    scale scan schedule scheduler schema scope screen script scripts sdk search seconds secret
    section secure security seed select semver send separate serde serial serialize serve server
    service services session set settings setup shape share sharp shelf shell shop short should
    show signal simple single sinon site six size slash sleep slice slim slot slug small smart
    snapshot socket solid sort source space span spawn spec speed spinner split spread sprite
    sql ssh ssl stack stage standard start state static stats status step sticky stop storage
    store stream string strip style styles suite super support suspend switch symbol sync syntax
    system tab table tag tags tap tape target task tasks team temp template terminal test tester
    testing tests text theme thread threads throttle through time timeline timeout timer title
    tls toast toggle token tokens tool toolkit tools tooltip top total trace tracing track
    transaction transform translate transport tree trigger trim true try turbo type types typing
    ui unify unit universal update upgrade upload url user users util utils uuid valid validate
    validation validator value values vector version video view views virtual visit void volume
    wait walk warning warp watch watcher web webhook wheel when which widget window windows wire
    with word words work worker workers workflow workspace wrap wrapper write writer xml yaml
    year zip zone
    """
)


@dataclass(frozen=True, slots=True)
class Declared:
    """What one file declares, as plain names.

    `names` are packages, package managers and tools. `beside` is what else it names: the project
    itself, runtimes, tools by their settings only. No text is tied to one of these, and
    none of them is called gone.
    """

    names: frozenset[str]
    beside: frozenset[str] = frozenset()


@cached_short(128, 64_000)
def packages(name: str, text: str) -> Mapping[str, str]:
    """Return the packages that a manifest of this name declares, plain name to ecosystem.

    An invalid manifest declares none.
    """
    try:
        return _packages(name, text)
    except _INVALID:
        return {}


@cached_short(128, 64_000)
def declared(name: str, text: str) -> Declared | None:
    """Return what a file declares; None when it is not valid at the moment.

    Args:
        name: the file's name, one of `DECLARING`.
        text: its content; a lock file needs none.
    """
    names = {_LOCKS[name]} if name in _LOCKS else set()
    beside: list[str] = []
    try:
        if name in _READERS:
            names |= _packages(name, text).keys()
        if name == "package.json":
            read = json.loads(text)
            names |= _short_names(_of_npm(text), str(read.get("name", "")))
            beside += [str(read.get("name", "")), *_keys(read, "engines")]
            beside.append(str(read.get("packageManager", "")).partition("@")[0])
        elif name == "pyproject.toml":
            read = tomllib.loads(text)
            names |= {*_requirements(_part(read, "build-system").get("requires"))}
            beside += [str(_part(read, "project").get("name", "")), *_keys(read, "tool")]
        elif name == "Cargo.toml":
            beside.append(str(_part(tomllib.loads(text), "package").get("name", "")))
        elif name in ("mise.toml", ".mise.toml"):
            _require_plain(text)
            tools = _keys(tomllib.loads(text), "tools")
            names |= {tool.rpartition(":")[2].rpartition("/")[2] for tool in tools}
        elif name == ".pre-commit-config.yaml":
            _require_plain(text)
            names |= {"pre-commit", *_HOOK.findall(text)}
    except _INVALID:
        return None
    names |= _MANAGERS.intersection(beside)
    return Declared(*(frozenset(map(plain_name, part)) - {""} for part in (names, beside)))


def _short_names(packages: Iterable[str], own: str) -> set[str]:
    """Return what people call scoped packages; a command has its scope without the plural.

    Those of the project's own scope are called like parts of the project.
    """
    scoped = [found for one in packages if (found := _SCOPED.fullmatch(one))]
    others = [found for found in scoped if not own.startswith(f"@{found[1]}/")]
    return {name for found in others for name in (found[1], found[1].removesuffix("s"))}


def _packages(name: str, text: str) -> Mapping[str, str]:
    """Return the packages of a manifest.

    Raises:
        ValueError, AttributeError, RecursionError, KeyError: it is none, or not valid.
    """
    sort, found = _READERS[name]
    _require_plain(text)
    return {plain_name(one): sort for one in islice(found(text), 2_000)}


def _require_plain(text: str) -> None:
    """Refuse a text that is too long, as is a line of it, or has the marks of an unfinished merge.

    Raises:
        ValueError: it has one.
    """
    is_long = len(text) > _CHARS_MAX or max(map(len, text.split("\n"))) > _LINE_CHARS_MAX
    if is_long or "<<<<<<< " in text:
        raise ValueError("no manifest has such lines")


def rivals(name: str) -> frozenset[str]:
    """Return the package managers that take the place of this one; none for anything else."""
    return next((one for one in _RIVALS if name in one), frozenset()) - {name}


def needs_text(name: str) -> bool:
    """Return whether what a file of this name declares depends on its content."""
    return name in _READERS or name in _TOOL_FILES


def may_declare(path: str) -> bool:
    """Return whether a file may declare packages in a form that is not read: no lock file does."""
    name = path.rpartition("/")[2]
    is_lock = "lock" in name or name == "npm-shrinkwrap.json"
    is_list = name.endswith((".txt", ".in")) and "requirements" in path
    is_build = name.startswith(("Dockerfile", "Containerfile", "Makefile"))
    may = is_list or is_build or name in DECLARING or name.endswith(_DECLARING_ENDINGS)
    return may and not is_lock


def is_among(name: str, declared: Iterable[str]) -> bool:
    """Return whether a name, or one of its family, is declared: `tree-sitter-bash` is one."""
    return any(
        name == one or f"-{name}-" in f"-{_JOINTS.sub('-', one)}-" or name in short_names(one)
        for one in declared
    )


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


def _of_maven(text: str) -> Iterator[str]:
    for part in _MAVEN_PART.split(text)[1:]:
        found = _MAVEN_NAME.search(part[:_LINE_CHARS_MAX])
        if found is not None:
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
    "pom.xml": ("maven", _of_maven),
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


def named_packages(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yield start, name and ecosystem of the packages in `known` that a text names.

    A package that is called like an everyday word counts in backticks only.
    """
    for match in _MENTION.finditer(text) if known else ():
        name = match[2].rstrip(".-")
        ecosystem = known.get(plain_name(name))
        is_ticked = _is_ticked(match)
        if ecosystem and (is_ticked or (name == name.lower() and name not in _WORDS)):
            yield match.start(), name, ecosystem


def short_names(name: str) -> Iterator[str]:
    """Yield what people call a declared thing without the rest of its name.

    The last part of a Go module, but of those that are called like a package of Go itself; the
    first part of a package with a well known family: `rspec` of `rspec-rails`.
    """
    if "." in name.partition("/")[0] and not name.startswith(("@", "golang.org/x/")):
        yield _MAJOR.sub("", name).rpartition("/")[2]
    elif (first := name.partition("-")[0]) in _FAMILIES:
        yield first


def named(
    text: str, known: Mapping[str, object], short: Collection[str] = frozenset()
) -> Iterator[str]:
    """Yield the keys of `known` that a text names, also as people write them: `Vue.js`, `Django`.

    Args:
        text: the text.
        known: from `plain_name` of what is declared to anything.
        short: those of the keys that are only a part of a declared name; a text has to mean them.
    """
    for match in _MENTION.finditer(text):
        name = match[2].rstrip(".-")
        lower = name.lower()
        keys = (plain_name(lower), plain_name(lower.removesuffix(".js")), name)
        key = next((key for key in keys if key in known), None) or _joined(match, known)
        if (
            key is None
            or lower.endswith(_FILE_ENDINGS)
            or _DENIED.search(text, max(0, match.start() - 48), match.start())
        ):
            continue
        if key == NPM and _REGISTRY.match(text, match.end()):
            continue
        begins = match.start() == 0 or text.endswith(_BEGINS, 0, match.start())
        is_name = name != lower and not (name.isupper() or begins or lower in _BRANDS)
        letters_min = _SHORT_LETTERS_MIN if key in short else _LETTERS_MIN
        is_word = lower in _WORDS or (len(lower) < letters_min and lower not in _MANAGERS)
        if not is_word or is_name or _is_ticked(match):
            yield key


def _joined(match: re.Match[str], known: Mapping[str, object]) -> str | None:
    """Return the key in `known` of a name in two words with capital letters: `React Query`."""
    behind = _SECOND_WORD.match(match.string, match.end())
    key = plain_name(f"{match[2]}-{behind[1]}".lower()) if behind is not None else ""
    return key if match[2][0].isupper() and key in known else None


def _is_ticked(match: re.Match[str]) -> bool:
    return bool(match[1]) and match.string[match.end() : match.end() + 1] == "`"
