"""Which packages, addresses and ports does a text name? A plain capitalised word is none of them.

Files and definitions are found in the tree, by the anchors. What counts here is written as such: an
address, `port 8080`, what an install command installs, what is called a package ("the npm package
lodash"), or a package that the project itself uses.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from yaadwatch.core.ingest.manifests import CARGO, GO, NPM, PIP, plain_name

ENTITIES_MAX: Final = 16
"""Taken from one text at most, in their order."""
NAME_CHARS_MAX: Final = 200

# No pattern may look at a character again and again: a text may be 64,000 characters of anything.
_ADDRESS = re.compile(r"\b(?:https?|wss?|ftp)://[^\s<>\"'`|\\^{}\[\]]{3,400}", re.IGNORECASE)
_PARTS = re.compile(
    r"(?P<scheme>\w+)://(?P<host>[\w.-]+(?::\d{1,5})?)(?P<path>(?:/[^?#]*)?)(?=[?#]|$)"
)
_PORT = re.compile(
    r"\bports?[ :]{1,2}`?(\d{2,5})\b(?:(?:, ?| and | or )`?(\d{2,5})\b)?"
    r"|\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(\d{2,5})\b",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d\d")
"""What every port has."""
_INSTALL = re.compile(
    r"\b(?:(?P<npm>(?:npm (?:i|install|add)|(?:pnpm|yarn|bun) add))"
    r"|(?P<pip>(?:pip3?|uv pip|pipx) install|(?:uv|poetry|pdm) add)"
    r"|(?P<cargo>cargo (?:add|install))|(?P<go>go (?:get|install)))(?P<rest> [^\n`;&|]{1,300})"
)
_OF_TOOL: Final = {"npm": NPM, "pip": PIP, "cargo": CARGO, "go": GO}
# "the npm package lodash", "Rust crates serde and tokio", "npm `lodash`", "npm @acme/ui".
_A_NAME = r"`?@?[A-Za-z0-9][\w.-]{0,100}(?:/[\w.~-]{1,100}){0,8}`?"
_CALLED = re.compile(
    r"\b(?:(?P<npm>npm)|(?P<pip>pip|PyPI)|(?P<cargo>cargo|Rust|crates\.io)|(?P<go>Go))"
    r"(?P<sort> (?:package|module|crate|librar(?:y|ies))s?)? (?:(?:called|named) )?"
    rf"(?P<names>{_A_NAME}(?:(?:, | and |, and ){_A_NAME}){{0,3}})"
)
_TOOLS: Final = ("npm", "pip", "PyPI", "cargo", "Rust", "crates.io", "Go ")
"""Of these every match has one, and most texts have none."""
_BETWEEN = re.compile(r", and |, | and ")
_NAME = re.compile(r"@?[A-Za-z0-9][\w.-]{0,100}(?:/[\w.~-]{1,100}){0,8}")
_PROSE = frozenset(
    (
        *("and", "or", "to", "for", "in", "on", "with", "from", "then", "first", "before", "after"),
        *("instead", "the", "a", "when", "if", "is", "it", "again", "at", "by", "into", "once"),
    )
)
_MENTION = re.compile(r"(?<![\w@/.-])`?(@?[A-Za-z0-9][\w.-]{0,100}(?:/[\w.~-]{1,100}){0,8})`?")
_TICKED = re.compile(r"`(@?[A-Za-z0-9][\w./~-]{0,200})`")

# Packages whose names are words of every day; in running text they are meant by neither.
_WORDS: Final = frozenset(
    re.findall(
        r"\S+",
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
    """,
    )
)


# What else is said behind "npm package", or behind "npm" in ticks.
_NO_NAMES: Final = frozenset(
    re.findall(
        r"\S+",
        """
    access account all also alone an any are as author authors both bump but cache caches can
    cannot changes ci command data dependencies dependency dir directory do does docs documentation
    downloads each ecosystem exec exports file files folder for format get had has have help here
    imports index init install installs instead its itself json layout level levels link list lists
    lock locks lockfile login ls maintainer maintainers management manager managers manifest may
    metadata might mirror must name namespace names no not now of only our outdated owner owners
    pack page paths per prefix proxies publish publisher registries registry release releases remove
    repository resolution root run scope scopes script scripts search shall should site size sizes
    so source sources still structure support system than that their there these they this those
    token tokens too tree uninstall update updates upgrade upgrades usage users vendor version
    versions view was we well were where while who why will without workspace workspaces would you
    your
    """,
    )
)


def entities(text: str, known: Mapping[str, str]) -> list[str]:
    """Return what `text` names, each once and in its order, as the node of it is called.

    Args:
        text: masked; what is masked in it is named by nothing.
        known: the packages that the project uses, plain name to ecosystem.
    """
    found: dict[int, list[str]] = {}
    may_address = "://" in text
    for match in _ADDRESS.finditer(text) if may_address else ():
        address = _address(match.group())
        if address:
            found.setdefault(match.start(), []).append(address)
    for match in _PORT.finditer(text) if _DIGITS.search(text) else ():
        numbers = (group for group in match.groups() if group is not None)
        found.setdefault(match.start(), []).extend(
            f"port {int(number)}" for number in numbers if 0 < int(number) < 65_536
        )
    plain = _ADDRESS.sub(lambda match: " " * len(match.group()), text) if may_address else text
    for match in _INSTALL.finditer(plain):
        ecosystem = next(_OF_TOOL[sort] for sort in _OF_TOOL if match.group(sort))
        names = [_package(name, ecosystem) for name in _installed(match.group("rest"))]
        found.setdefault(match.start(), []).extend(names)
    for start, name in _called(plain):
        found.setdefault(start, []).append(name)
    for start, name in _used(plain, known):
        found.setdefault(start, []).append(_package(name, known[plain_name(name)]))
    ordered = (name for start in sorted(found) for name in found[start])
    return [name for name in dict.fromkeys(ordered) if len(name) <= NAME_CHARS_MAX][:ENTITIES_MAX]


def _address(raw: str) -> str:
    """Return an address without what only one call of it has; '' for one that names no host."""
    parts = _PARTS.match(raw.rstrip(".,;:!?)*_"))
    if parts is None or "masked:" in raw:
        return ""
    return f"{parts['scheme'].lower()}://{parts['host'].lower()}{parts['path'].rstrip('/')}"


def _installed(rest: str) -> Iterator[str]:
    """Yield what an install command names, until the sentence goes on."""
    any_yet = False
    for word in rest.split():
        bare = word.rstrip(".,:)")
        if bare.startswith("-"):
            if any_yet:  # what follows may be the value of an option
                return
            continue
        name = re.split(r"[=<>!~\[]|(?<=.)@", bare.strip("'\""))[0]
        if not _NAME.fullmatch(name) or name.lower() in _PROSE or name.endswith(".txt"):
            return
        yield name
        any_yet = True
        if bare != word:
            return


def _called(text: str) -> Iterator[tuple[int, str]]:
    """Yield where a text says that something is a package, and the package.

    Only a name in ticks or with a scope needs no "package" before it: "npm only" is none.
    """
    for match in _CALLED.finditer(text) if any(map(text.__contains__, _TOOLS)) else ():
        ecosystem = next(_OF_TOOL[sort] for sort in _OF_TOOL if match.group(sort))
        for name in _BETWEEN.split(match.group("names")):
            bare = name.strip("`").rstrip(".-")
            ticked = name.startswith("`") and name.endswith("`")
            plain = ticked or bare.startswith("@") or (match.group("sort") and _is_name(bare))
            if not plain or bare.lower() in _NO_NAMES or (ecosystem == GO and "/" not in bare):
                break
            yield match.start(), _package(bare, ecosystem)


def _is_name(word: str) -> bool:
    """Return whether a word behind "npm package" is its name: no other word of a sentence."""
    if word != word.lower() or word in _PROSE or word in _WORDS:
        return False
    return not (word.isalpha() and word.endswith(("ed", "ing", "ly")))


def _used(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield where a package stands that the project uses, and its name."""
    if not known:
        return
    for match in _TICKED.finditer(text):
        if plain_name(match.group(1)) in known:
            yield match.start(), match.group(1)
    for match in _MENTION.finditer(text):
        name = match.group(1).rstrip(".-")
        if name == name.lower() and name not in _WORDS and plain_name(name) in known:
            yield match.start(), name


def _package(name: str, ecosystem: str) -> str:
    return f"{plain_name(name) if ecosystem == PIP else name} ({ecosystem} package)"
