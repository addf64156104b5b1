"""List what a file of a project declares, with its line: packages, tools, runtimes, ports, images.

What a package is used for comes from one table of names.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from yaadwatch.anchors import facts, targets
from yaadwatch.text.words import word_set

LINES_MAX: Final = 4_000
"""Lines of a file that are read."""
ROWS_MAX: Final = 400
"""Declarations of one file that are listed."""
PACKAGE: Final = "package"
RUNTIME: Final = "runtime"
MANAGER: Final = "package manager"
COMMANDS: Final = "commands"

_SLOTS: Final[Mapping[str, frozenset[str]]] = {
    "test runner": word_set(
        "vitest jest mocha ava jasmine karma playwright cypress pytest nose2 tox nox unittest rspec"
        " minitest phpunit pest junit testng kotest spock xunit nunit ginkgo testify hypothesis"
    ),
    "formatter": word_set(
        "prettier biome dprint black yapf autopep8 isort rustfmt gofmt gofumpt standard csharpier"
    ),
    "linter": word_set(
        "eslint oxlint tslint stylelint ruff flake8 pylint pyflakes golangci-lint rubocop phpstan"
        " psalm clippy ktlint detekt checkstyle spotbugs credo shellcheck hadolint markdownlint"
    ),
    "type checker": word_set("typescript mypy pyright pyrefly pytype sorbet flow-bin dialyxir"),
    "bundler": word_set(
        "vite webpack rollup esbuild parcel rspack turbopack tsup swc babel metro gulp grunt"
    ),
    "task runner": word_set("turbo nx lerna just task make rake invoke poethepoet taskipy wireit"),
    "hooks": word_set("husky lefthook pre-commit lint-staged simple-git-hooks overcommit"),
    "framework": word_set(
        "react vue svelte angular solid-js preact next nuxt remix astro gatsby express fastify hono"
        " koa nestjs django flask fastapi starlette litestar tornado aiohttp sanic rails sinatra"
        " laravel symfony spring-boot quarkus micronaut ktor gin echo fiber axum actix-web rocket"
        " warp phoenix flutter electron tauri expo react-native streamlit"
    ),
    "database and its access": word_set(
        "prisma drizzle-orm typeorm sequelize mongoose knex sqlalchemy sqlmodel alembic peewee"
        " tortoise-orm psycopg psycopg2 asyncpg pymongo redis ioredis pg mysql2 better-sqlite3 gorm"
        " sqlx diesel sea-orm activerecord ecto hibernate doctrine"
    ),
}
"""What a tool or library is used for; the names are those of their packages."""
_SLOT_OF: Final = {name: slot for slot, names in _SLOTS.items() for name in names}
_BUILD_FILES: Final = frozenset(
    place.rpartition("/")[2] for places in targets.PLACES.values() for place in places
)
_WHOLE: Final = {
    **dict.fromkeys((".nvmrc", ".node-version"), "node"),
    ".python-version": "python",
    ".ruby-version": "ruby",
    ".go-version": "go",
    ".java-version": "java",
    "rust-toolchain": "rust",
}
"""Files that hold nothing but the version of a runtime."""
_RUNTIMES: Final[Mapping[str, re.Pattern[str]]] = {
    "package.json": re.compile(r'^\s{0,20}"(node|bun|deno)"\s?:\s?"([^"]{1,40})"'),
    "pyproject.toml": re.compile(r"^requires-(python)\s{0,4}=\s{0,4}[\"']([^\"']{1,40})"),
    "Pipfile": re.compile(r"^(python)_version\s{0,4}=\s{0,4}[\"']([^\"']{1,40})"),
    "go.mod": re.compile(r"^(go)\s{1,4}(\d[\w.]{0,20})"),
    "Cargo.toml": re.compile(r"^(rust)-version\s{0,4}=\s{0,4}[\"']([^\"']{1,40})"),
    "rust-toolchain.toml": re.compile(r"^channel()\s{0,4}=\s{0,4}[\"']([^\"']{1,40})"),
    "composer.json": re.compile(r'^\s{0,20}"(php)"\s?:\s?"([^"]{1,40})"'),
    "Gemfile": re.compile(r"^(ruby)\s{1,4}[\"']([^\"']{1,40})"),
    "mix.exs": re.compile(r"^\s{1,8}(elixir):\s{1,4}\"([^\"]{1,40})"),
    **dict.fromkeys(
        (".tool-versions", "mise.toml", ".mise.toml"),
        re.compile(
            r"^(node|nodejs|python|go|golang|ruby|rust|java|php|deno|bun|elixir|erlang)"
            r"[ \t]{0,8}=?[ \t]{0,8}[\"']?(\d[\w.+-]{0,30})"
        ),
    ),
}
"""How a line gives the version of a runtime: its name, and the version."""
_COMPOSE: Final = re.compile(r"(?:docker-)?compose[\w.-]{0,40}\.ya?ml")
_DOCKERFILE: Final = re.compile(
    r"(?:[\w.-]{1,40}\.)?(?:Dockerfile|Containerfile)(?:\.[\w.-]{1,40})?"
)
_IMAGE: Final = re.compile(r"\s{0,20}image:\s{0,4}[\"']?([\w./-]{1,100}(?::[\w.-]{1,60})?)")
_FROM: Final = re.compile(r"FROM\s{1,4}(?:--\S{1,60}\s{1,4})?([\w./-]{1,100}(?::[\w.-]{1,60})?)")
_MAPPED: Final = re.compile(r"\s{0,20}-\s{1,4}[\"']?(?:[\d.]{7,15}:)?(\d{2,5}):\d{2,5}")
_EXPOSED: Final = re.compile(r"EXPOSE\s{1,4}(\d{2,5})")
_PORT: Final = re.compile(r"(?i)(?:\bport[\"']?\s{0,4}[:=]\s{0,4}[\"']?|--port[ =])(\d{4,5})\b")
_SERVED: Final = re.compile(
    r"(?:\.env(?:\.[\w-]{1,30})?|application\.(?:ya?ml|properties)|(?:vite|next|nuxt|webpack|astro)\.config\.\w{2,4})"
)
_NAME: Final = re.compile(r"@?[A-Za-z0-9][\w.@-]{0,100}(?:/[\w.~-]{1,100}){0,8}")
_SPEC: Final = re.compile(r"(?:[^\w\n]{0,12}?[\"'\s])?((?:[~^<>=!]{1,2}\s?)?v?\d[\w.*+-]{0,30})")


@dataclass(frozen=True, slots=True)
class Declaration:
    """One fact of a project.

    Args:
        slot: what it is: 'package', 'test runner', 'runtime', 'port', ...
        name: its name; of a port, its number.
        value: the version as the file writes it, or the targets of a build file; '' for none.
        line: where, from 1.
    """

    slot: str
    name: str
    value: str
    line: int


def is_declaring(name: str) -> bool:
    """Return whether a file of this name may declare something of `declarations`."""
    return (
        name in facts.DECLARING
        or name in _WHOLE
        or name in _RUNTIMES
        or name in _BUILD_FILES
        or bool(_COMPOSE.fullmatch(name) or _DOCKERFILE.fullmatch(name) or _SERVED.fullmatch(name))
    )


def needs_text(path: str) -> bool:
    """Return whether what a file declares depends on its content; a lock file is never read."""
    name = path.rpartition("/")[2]
    return name not in facts.DECLARING or facts.needs_text(name) or name in _RUNTIMES


def declarations(path: str, text: str) -> list[Declaration] | None:
    """Return what a file declares, in the order of its lines; None when it is not valid now.

    Args:
        path: its name.
        text: its content; '' is enough for a lock file.
    """
    name = path.rpartition("/")[2]
    lines = list(islice(text.split("\n"), LINES_MAX))
    found: list[Declaration] = []
    if name in facts.DECLARING:
        declared = facts.declared(name, text)
        if declared is None:
            return None
        found += _named(declared.names, lines)
    found += _runtimes(name, lines)
    found += _served(name, lines)
    if name in _BUILD_FILES and (names := targets.names_in(path, text)):
        tool = min(targets.tools_of(path), default=name)
        found.append(Declaration(COMMANDS, tool, ", ".join(names), 1))
    return sorted(dict.fromkeys(found), key=lambda one: (one.line, one.slot, one.name))[:ROWS_MAX]


def _named(names: frozenset[str], lines: list[str]) -> Iterator[Declaration]:
    """Yield what is declared by name, at the first line that has it as a key or a whole value."""
    left = set(names)
    for is_alone in (True, False):
        for number, line in enumerate(lines if left else (), 1):
            for token in _NAME.finditer(line[:400]):
                whole = facts.plain_name(token[0])
                first, at, version = token[0].rpartition("@")  # `pnpm@9.1.0`
                name = whole if whole in left or not at else facts.plain_name(first)
                if name in left and (not is_alone or _stands_alone(line, token)):
                    left.discard(name)
                    spec = _SPEC.match(line, token.end())
                    value = version if name != whole else spec[1] if spec else ""
                    yield Declaration(_slot_of(name), name, value, number)
    yield from (Declaration(_slot_of(name), name, "", 1) for name in sorted(left))


def _stands_alone(line: str, token: re.Match[str]) -> bool:
    """Return whether a name begins a line, or a quoted text that does not go on with words."""
    begins_line = not line[: token.start()].strip(" \t-")
    is_quoted = line[token.start() - 1 : token.start()] in {'"', "'"}
    return begins_line or (is_quoted and line[token.end() : token.end() + 1] != " ")


def _slot_of(name: str) -> str:
    if facts.rivals(name):
        return MANAGER
    bare = name.rpartition("/")[2]
    return _SLOT_OF.get(name) or _SLOT_OF.get(bare) or PACKAGE


def _runtimes(name: str, lines: list[str]) -> Iterator[Declaration]:
    if name in _WHOLE:
        written = next((line.strip() for line in lines if line.strip()), "")
        yield from [Declaration(RUNTIME, _WHOLE[name], written[:40], 1)] if written else ()
    wanted = _RUNTIMES.get(name)
    for number, line in enumerate(lines if wanted else (), 1):
        found = wanted.match(line) if wanted else None
        if found is not None:
            yield Declaration(RUNTIME, found[1] or "rust", found[2], number)


def _served(name: str, lines: list[str]) -> Iterator[Declaration]:
    """Yield images and ports."""
    is_docker, is_compose = _DOCKERFILE.fullmatch(name), _COMPOSE.fullmatch(name)
    images, ports = (_FROM, _EXPOSED) if is_docker else (_IMAGE, _MAPPED)
    may_port = _SERVED.fullmatch(name) or name == "package.json"
    for number, line in enumerate(lines if is_docker or is_compose or may_port else (), 1):
        if is_docker or is_compose:
            if (image := images.match(line)) is not None:
                base, _, tag = image[1].partition(":")
                yield Declaration("image", base, tag, number)
            elif (port := ports.match(line)) is not None:
                yield Declaration("port", port[1], "", number)
        elif not line.lstrip().startswith(("#", "//")):
            yield from (Declaration("port", port, "", number) for port in _PORT.findall(line[:400]))
