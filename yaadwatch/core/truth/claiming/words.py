"""Words that claims are made of: units, names of tools, what a project has one of, and of what.

Tables, so that a claim can be judged by looking at them.
"""

from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _units() -> dict[str, tuple[str, float]]:
    table = (
        ("ms", 1, "ms millisecond milliseconds msec msecs"),
        ("ms", 1e3, "s sec secs second seconds"),
        ("ms", 6e4, "m min mins minute minutes"),
        ("ms", 3.6e6, "h hr hrs hour hours"),
        ("ms", 8.64e7, "d day days"),
        ("ms", 6.048e8, "w week weeks"),
        ("bytes", 1, "b byte bytes"),
        ("bytes", 1e3, "kb kilobyte kilobytes"),
        ("bytes", 1e6, "mb megabyte megabytes"),
        ("bytes", 1e9, "gb gigabyte gigabytes"),
        ("bytes", 1024, "kib"),
        ("bytes", 1024**2, "mib"),
        ("bytes", 1024**3, "gib"),
        ("percent", 1, "% percent"),
        ("characters", 1, "char chars character characters column columns"),
        ("spaces", 1, "space spaces"),
        ("times", 1, "time times attempt attempts try tries retry retries"),
        ("lines", 1, "line lines"),
        ("requests", 1, "request requests"),
        ("connections", 1, "connection connections"),
        ("items", 1, "item items entry entries row rows"),
        ("px", 1, "px pixel pixels"),
    )
    return {name: (base, factor) for base, factor, names in table for name in _words(names)}


UNITS: Final = _units()
"""A unit, the base it is compared in, and how many of these it is."""
SAME: Final = {
    "postgres": "postgresql",
    "node.js": "node",
    "nodejs": "node",
    "tab": "tabs",
    "warn": "warning",
    "etc/utc": "utc",
    "gmt": "utc",
    **dict.fromkeys(("yes", "on", "enabled"), "true"),
    **dict.fromkeys(("no", "off", "disabled"), "false"),
}
"""Values that are others in other words."""

TOOLS: Final = {
    name: name
    for name in _words(
        """
        python node postgresql ruby go java kotlin scala rust php perl swift elixir erlang dart
        flutter deno bun npm pnpm yarn poetry pip uv mysql mariadb sqlite redis mongodb
        elasticsearch kafka rabbitmq nginx django flask fastapi rails laravel spring react vue
        angular svelte next.js nuxt typescript javascript webpack vite babel eslint prettier jest
        vitest pytest mypy ruff black tailwind bootstrap jquery express nestjs graphql terraform
        ansible kubernetes helm docker gradle maven cmake gcc clang llvm .net tensorflow pytorch
        pandas numpy pydantic sqlalchemy celery ubuntu debian alpine
        """
    )
} | {
    "cpython": "python",
    "node.js": "node",
    "nodejs": "node",
    "postgres": "postgresql",
    "golang": "go",
}
"""Names that a version is said of, and what they are compared by."""

CHOICES: Final = {
    name: attribute
    for attribute, names in (
        ("javascript package manager", "npm pnpm yarn bun"),
        ("python package manager", "poetry pipenv pdm uv conda"),
        ("javascript test runner", "jest vitest mocha jasmine"),
        ("python test runner", "pytest unittest nose"),
        ("python formatter", "black yapf autopep8"),
        ("indentation", "tabs spaces"),
    )
    for name in _words(names)
}
"""Of those with one attribute, a project uses one."""

NAMED_VALUES: Final = _words(
    """
    timeout limit port ttl size interval retries version branch length width depth threshold
    coverage indentation indent delay period lifetime expiry quota capacity timezone count rate
    level license region locale encoding charset attempts workers replicas retention
    """
)
"""The last word of what has one value."""
ALONE: Final = frozenset(
    (*_words("timeout port license timezone region indentation"), "default branch")
)
"""Those that a project may have one of, so that no subject is needed."""
WORD_VALUES: Final = frozenset(
    _words("branch timezone license region locale encoding charset level indentation version")
)
"""Those whose value may be a word; of the others it is a number."""
EMPTY_WORDS: Final = frozenset(
    _words(
        """
        a an the set unset wrong right fine good bad too very important required optional
        configurable here there this that missing empty unknown high low same different correct
        known defined deprecated protected slow fast large small available enforced fixed
        pending latest lts current newest up-to-date irrelevant broken green red
        """
    )
)
"""What "is" is followed by without a value being said."""
PHRASES: Final = {"time zone": "timezone"}
"""Names in two words that are one elsewhere."""

ONE_OF: Final = {
    "minute": "1 minute",
    "hour": "1 hour",
    "day": "1 day",
    "week": "1 week",
    "hourly": "1 hour",
    "daily": "1 day",
    "nightly": "1 day",
    "weekly": "1 week",
}
"""Spans of time that are said without a number."""
REPEATED: Final = {
    form: named
    for named, forms in (
        ("", "run runs"),
        ("check", "check checks checked"),
        ("flush", "flush flushes flushed"),
        ("ping", "ping pings pinged"),
        ("poll", "poll polls polled"),
        ("refresh", "refresh refreshes refreshed"),
        ("reload", "reload reloads reloaded"),
        ("renewal", "renew renews renewed"),
        ("retry", "retry retries retried"),
        ("rotation", "rotate rotates rotated"),
        ("scan", "scan scans scanned"),
        ("sync", "sync syncs synced"),
        ("update", "update updates updated"),
    )
    for form in _words(forms)
}
"""What is done again and again, and the noun that its interval is named by."""
SHARED_LIMITS: Final = {
    form: named
    for named, forms in (
        ("", "allow allows accept accepts permit permits serve serves take takes"),
        ("make", "make makes"),
        ("open", "open opens"),
        ("send", "send sends"),
        ("start", "start starts"),
    )
    for form in _words(forms)
}
"""What a limit is put on, and how that is named; to allow and to accept is the same."""
NO_NOUNS: Final = frozenset(
    _words(
        """
        a an the and or so that which who whom whose what where why how then else as
        is are be been being am do does did has have having can cannot must should shall let lets
        i it they he she we you me him her us them this these those there one everything something
        anything nothing
        say says said claim claims claimed think thinks believe believes know knows expect expects
        suppose imagine assume assuming assumes suspect guess hope ensure make makes sure
        already still even ever eventually generally mostly apparently reportedly allegedly
        supposedly hopefully ideally occasionally rarely theoretically possibly soon later earlier
        yesterday today tomorrow first next please
        """
    )
)
"""What stands in no name of a thing, so that a clause is not taken for one."""
ANY_OF_MANY: Final = frozenset(
    _words(
        """
        argument call column command default field flag function job key method name number option
        parameter property script setting step task test thing value variable
        """
    )
)
"""Names for one of many, that tell which only where they stand: "the option defaults to 5"."""
ENVIRONMENTS: Final = {
    name: where
    for where, names in (
        ("production", "production prod"),
        ("staging", "staging stage"),
        ("development", "development dev"),
        ("tests", "test tests testing"),
        ("ci", "ci"),
        ("local", "local locally"),
        ("preview", "preview"),
        ("examples", "example examples"),
    )
    for name in _words(names)
}
"""Words of a heading that say where what stands under it holds."""
TOPICS: Final = frozenset(("development", "tests", "local", "examples"))
"""Those that head what is true everywhere, too: "Development" stands over a Python version."""
OF_THE_PROJECT: Final = frozenset(
    (
        *CHOICES.values(),
        *_words(
            """
            version branch length width depth threshold coverage indent license encoding charset
            """
        ),
    )
)
"""What is the same in each of the topics."""
PARTS: Final = frozenset(
    _words(
        """
        service server client worker app application frontend backend cluster gateway proxy database
        job module package library plugin daemon bot website site dashboard lambda android ios
        windows linux macos mobile desktop web api cli
        """
    )
)
"""The last word of a heading that names a part of a project: what stands under it is of that."""
