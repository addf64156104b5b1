"""Classify a text: its kind, its tier with the reason, and the entities it names.

No model: the first matching cue decides. Plain cues come first, then the heading above the text,
then fainter cues. A text without any cue is a statement of fact: kind `spec`, which is warm. Hot
kinds are shown to every agent at every start, so a text must earn them by words such as `always`,
`use X instead of Y`, `we decided`.

Entities are packages, addresses and ports that are written as such: an address, `port 8080`, the
arguments of an install command, "the npm package lodash", or a package that the project uses. A
capitalised word alone is none of them. Files and definitions are found by the anchors.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from yaadwatch.anchors.tree import CARGO, GO, NPM, PIP, plain_name
from yaadwatch.model.memories import canonical_kind, tier_of
from yaadwatch.text.words import normalise

_HEAD_CHARS: Final = 400
"""The beginning of a text decides its kind."""

_PROGRAM = r"""(?:make|just|task|npm|npx|pnpm|yarn|bunx?|deno|node|uvx?|pipx?|poetry|hatch|tox|nox
    |pytest|python3?|ruff|mypy|cargo|rustup|go|gradlew?|mvn|sbt|dotnet|swift|xcodebuild|bundle|rake|rails
    |composer|php|mix|cmake|ctest|ninja|bazel|meson|docker|podman|kubectl|helm|terraform|ansible|git
    |gh|glab|curl|psql|sqlite3|redis-cli|aws|gcloud|fly|vercel|systemctl|journalctl|yaadwatch
    |pre-commit|playwright|vitest|jest|tsc|eslint|prettier|turbo|nx|lerna|sudo|env
    |\./[\w./-]+|(?:bin|scripts?|tools)/[\w./-]+)"""

# Short names are words of English too, unless something follows: `task`, but `task build`.
_CALL = (
    rf"(?:{_PROGRAM}[ ]|(?:make|pytest|tox|nox|ruff|mypy|jest|vitest|tsc|eslint"
    r"|\./[\w./-]+|(?:bin|scripts?|tools)/[\w./-]+)`)"
)

_Cue = tuple[str, str, str]
"""A kind, what is said about it in `why`, and a pattern: verbose, in any case of letters, searched
in the beginning of the text without list markers and asterisks."""

# fmt: off
_PLAIN: Final[tuple[_Cue, ...]] = (
    # The text says what it is.
    ("decision", "labelled so", r"^(?:decision|decided|adr(?:[- ]?\d+)?)[ ]?:"),
    ("convention", "labelled so", r"^(?:conventions?|rules?|guidelines?)[ ]?:"),
    ("preference", "labelled so", r"^preferences?[ ]?:"),
    ("task", "labelled so",
     r"^(?:\[[ ]?\]|(?:todo|to-do|fixme)\b|(?:task|follow-?up|next[ ]step|action[ ]item)s?[ ]?:)"),
    ("bug", "labelled so", r"^(?:bug|known[ ](?:issue|bug|problem)|gotcha|regression|issue)[ ]?:"),
    ("fix", "labelled so", r"^(?:fix|fixed|solution|workaround|resolved)[ ]?:"),
    ("spec", "labelled so", r"^(?:spec|requirement|fact|api)[ ]?:"),
    ("command", "labelled so", r"^commands?[ ]?:"),
    ("skill", "labelled so", r"^(?:(?:skill|recipe)[ ]?:|how[- ]to\b|steps[ ]to\b)"),
    # A person speaks of themself.
    ("preference", "a person's wish",
     r"""\b(?:i|he|she|user)[ ](?:\w+[ ])?
         (?:prefers?|likes?|loves?|hates?|dislikes?|wants?|would[ ]rather|favou?rs?)\b
       |\bmy[ ](?:preferred|favou?rite|preference)\b|\bi['’]d[ ]rather\b"""),
    ("preference", "how to answer",
     r"^(?:please[ ])?(?:always[ ])?(?:answer|reply|respond|speak|talk|address[ ]me|call[ ]me)\b"),
    # Something was settled.
    ("decision", "something was decided",
     r"""\b(?:we|they|team|i)(?:['’]ve|[ ]have|[ ]had)?[ ](?:\w+[ ])?
         (?:decided|chose|chosen|agreed|settled[ ]on|opted|went[ ]with|picked|rejected|ruled[ ]out
         |(?:switched|moved|migrated)[ ](?:\w+[ ]){0,3}(?:from|to))\b
       |\b(?:was|were|been)[ ](?:decided|agreed|chosen)\b|\bdecision[ ](?:is|was)[ ]to\b"""),
    # What must never be overlooked, whatever else the text speaks of.
    ("convention", "a rule",
     r"""^(?:(?:if|when(?:ever)?|before|after|for|during|on|in)\b[^.;:,]{2,80},[ ]
            |in[ ](?:\S+[ ]){1,3})?
         (?:(?:never|always)(?![ ](?!embed|alias)(?:\w+(?<!e)ed|\w+(?<![su])s|had|been)\b)
            |do[ ]not|don['’]t|must[ ]not|avoid|prefer|only[ ]use|ensure|make[ ]sure)"""),
    # Something is to be done, once. (The brackets keep searches for such words out of here.)
    ("task", "something is left to do",
     r"""(?-i:\b(?:TO[D]O|FIX[M]E)\b)(?![ ](?:list|comment|app))|\b(?:remains|left|yet)[ ]to[ ]be\b
       |\bstill[ ](?:has|have|needs?)[ ]to\b|\b(?:we|i)[ ]need[ ]to\b
       |^(?!you\b|if\b)(?:(?!not\b|no\b)\S+[ ]){0,4}(?<!n['’]t[ ])needs?[ ](?:to\b|\w+ing\b)
       |^(?:fix|investigate|finish|look[ ]into|figure[ ]out|follow[ ]up|find[ ]out)\b
        (?!.*\b(?:before|every|each|whenever|always|all|any|should|must)\b)"""),
    # It was broken, and this mended it.
    ("fix", "what mended it",
     r"""\b(?:fixed|solved|resolved|cured|mended)[ ](?:it[ ])?(?:by|in|with|via|when|after)\b
       |\b(?:fix|solution|cure|workaround)[ ](?:is|was)\b|\bwork(?:ed)?[ -]?around\b"""),
    ("command", "a command to run",
     rf"""^(?:to[ ][^.:`]{{1,60}}[,:]?[ ])?(?:(?:please|then)[ ])?
          (?:(?:run|execute|invoke|start|build|test|lint|deploy|install)\b[^.`]{{0,40}})?
          `\$?[ ]?{_CALL}
       |^use[ ]`{_PROGRAM}[ ][^`]+`[ ](?:to|for)\b
       |^[^.`]{{1,60}}(?::|\bwith|\bby[ ]running|\bvia|\brun|\bis|\bare)[ ]?`\$?[ ]?{_CALL}
       |\brun(?:ning)?[ ]{_PROGRAM}[ ][\w./:-]+|^\$[ ]?\w"""),
    # How things are done here: verbs that are hardly anything else.
    ("convention", "a rule",
     r"""^(?:use|follow|keep|put|write|add|commit|wrap|include|favou?r|choose|define|validate|adhere
            |stick|treat|respect|reuse|annotate|refer|consider|remember|stay|be|place|ask|confirm
            |verify|preserve|sanitize|declare|notify|reject|obey)\b
         (?![ ](?:(?!what|that|which)\S+[ ])?(?:is|are|was|were|ha[sd]|fails?|hangs|loses)\b)"""),
    ("convention", "a rule",
     r"""\binstead[ ]of\b|\brather[ ]than\b|\bby[ ]convention\b
       |\b(?:must|should)[ ](?:always|never|not|only)\b
       |\bwe[ ](?:(?:always|never|only)[ ])?
         (?:use|name|write|keep|put|follow|prefer|avoid|don['’]t)\b"""),
    # What is broken.
    ("bug", "something goes wrong",
     r"""\b(?:crash(?:es|ed|ing)|segfaults?|deadlocks?|hangs|panics|memory[ ]leak|race[ ]condition
            |data[ ]loss|flaky|regression|corrupts|buggy)\b|\b(?:is|are)[ ]broken\b
       |\b(?:a|known)[ ]bug\b|\bbug[ ](?:in|where|when|with)\b
       # "times out after 30 s", and nothing more, is what is meant to happen.
       |\b(?:fails?|failed|breaks?|dies|times[ ]out(?![ ]after[ ]\d[\d.,]*[ ]?\w+[.]?$))
         [ ](?:\w+[ ])?(?:when|if|on|with|because|after|for|unless|under|in)\b
       |\b(?:do|does|did)(?:[ ]not|n['’]t)[ ]work\b|\bwrong[ ](?:result|output|value)s?\b"""),
)

# What a heading says of the texts under it: its last words count (`Task structure` is no task).
_HEADINGS: Final[tuple[_Cue, ...]] = (
    ("preference", "", r"\b(?:preferences?|about[ ]me)\W*$"),
    ("decision", "", r"\b(?:decisions?|adrs?|rationale)\W*$"),
    ("task", "",
     r"^\W*(?:(?:open|current|remaining)[ ])?(?:to-?dos?|tasks|roadmap|backlog|next[ ]steps)\W*$"),
    ("bug", "",
     r"\b(?:(?:known|open)[ ](?:issues|problems)|bugs|gotchas|pitfalls|troubleshooting)\W*$"),
    ("command", "", r"\b(?:commands|cheat[ ]?sheet)\W*$"),
    ("convention", "",
     r"""\b(?:conventions?|rules|guidelines?|styles?|standards?|naming|practices|principles|patterns
         |do(?:['’]?s)?[ ](?:and|&)[ ]don['’]?ts?)\W*$"""),
    ("skill", "", r"\b(?:how[- ]tos?|recipes?|procedures?|steps)\W*$"),
)

_FAINT: Final[tuple[_Cue, ...]] = (
    # Verbs that may as well be nouns: `Test the parser`, `Test runs take a minute`.
    ("convention", "a rule",
     r"""^(?:name|document|format|run|import|return|test|update|limit|check|store|group|sort|create
            |remove|read|ask|stop|leave|split|declare|handle|log|pin|set|call|pass|build|start)[ ]
         (?:\w+ly[ ])?(?:the|an?|all|every|each|any|new|your|this|these|it|them|only|`)"""),
    ("convention", "a rule", r"\bshould\b"),
    ("spec", "what holds or is required",
     r"""\b(?:must|shall|ha(?:s|ve)[ ]to|required[ ]to|returns?|accepts?|supports?|expects?
         |responds?|requires?|defaults?[ ]to|limited[ ]to|at[ ]most|at[ ]least|maximum)\b"""),
)
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """Kind and tier (1 hot, 2 warm, 3 cold) of a text, and the reason in words."""

    kind: str
    tier: int
    why: str


def classify(
    text: str, *, headings: Sequence[str] = (), kind: str | None = None, tier: int | None = None
) -> Classified:
    """Return what kind of memory `text` is and the tier it starts in.

    Args:
        text: the memory, masked.
        headings: the headings it stands under, outermost first; the nearest two are asked.
        kind: given by the caller; it always wins.
        tier: given by the caller, 1 to 3; it always wins.

    Raises:
        ValueError: `kind` does not look like `[a-z][a-z0-9-]{0,31}`, or `tier` is not 1, 2 or 3.
    """
    if tier is not None and tier not in (1, 2, 3):
        raise ValueError(f"tier must be 1, 2 or 3, got {tier!r}")
    found, why = (canonical_kind(kind), "kind given") if kind else _scored(text, headings)
    if tier is None:
        return Classified(kind=found, tier=tier_of(found), why=why)
    return Classified(kind=found, tier=tier, why=f"{why}; tier given")


def _scored(text: str, headings: Sequence[str]) -> tuple[str, str]:
    """Return the kind of the first matching cue, and the words that matched."""
    head = normalise(text.replace("*", " "))[:_HEAD_CHARS]
    if plain := _first(_COMPILED_PLAIN, head):
        return plain
    for heading in reversed(headings[-2:]):
        if under := _first(_COMPILED_HEADINGS, heading):
            return under[0], f'{under[0]}: under the heading "{normalise(heading)[:60]}"'
    return _first(_COMPILED_FAINT, head) or ("spec", "spec: a plain statement")


HOLDS: Final = {
    r"\b(?:i|he|she|user)[ ]": "prefer like love hate want rather favo",
    r"\b(?:we|they|team|i)(?:": (
        "decid decision chose agreed settled opted went picked rejected ruled switched moved "
        "migrated"
    ),
    r"(?-i:\b(?:TO[D]O": (
        "todo fix to_be still need investigate finish look_into figure_out follow_up find_out"
    ),
    r"\b(?:fixed|solved": "fix solv cured cure mend solution work",
    r"^(?:to[ ][^.:`]": "` $ run",
    r"\binstead[ ]of": "instead rather convention must should we_",
    r"\b(?:crash(?:es": (
        "crash segfault deadlock hangs panic leak race loss flaky regression corrupt bug broken "
        "fail break dies times_out work wrong"
    ),
    r"\bshould\b": "should",
    r"\b(?:must|shall|ha": (
        "must shall has_to have_to require return accept support expect respond default limited "
        "at_most at_least maximum"
    ),
}
"""Per cue, words of which any ASCII match holds one, `_` for a space. They rule out most texts in a
tenth of the time."""

_Look = Callable[[str], re.Match[str] | None]
_Compiled = tuple[tuple[str, str, _Look, tuple[str, ...]], ...]


def begins_only(pattern: str) -> bool:
    """Return whether a cue, all of it, can match at the beginning of a text only."""
    depth = 0
    plain = re.sub(r"\\.|\[(?:\\.|[^\]])*\]", "", pattern).strip()
    for at, char in enumerate(plain):
        depth += (char == "(") - (char == ")")
        if char == "|" and depth == 0 and not plain[at + 1 :].lstrip().startswith("^"):
            return False
    return plain.startswith("^")


def _compiled(cues: tuple[_Cue, ...]) -> _Compiled:
    flags = re.IGNORECASE | re.VERBOSE
    found = []
    for kind, said, pattern in cues:
        cue = re.compile(pattern, flags)
        found.append(
            (kind, said, cue.match if begins_only(pattern) else cue.search, held_words(pattern))
        )
    return tuple(found)


def held_words(pattern: str) -> tuple[str, ...]:
    """Return words, in lower case, of which any ASCII match holds one; empty when unknown."""
    plain = pattern.strip()
    words = next((words for start, words in HOLDS.items() if plain.startswith(start)), "")
    return tuple(word.replace("_", " ") for word in words.split())


_COMPILED_PLAIN: Final = _compiled(_PLAIN)
_COMPILED_HEADINGS: Final = _compiled(_HEADINGS)
_COMPILED_FAINT: Final = _compiled(_FAINT)


def _first(cues: _Compiled, head: str) -> tuple[str, str] | None:
    lower = head.lower() if head.isascii() else ""
    for kind, said, look, held_ in cues:
        if lower and held_ and not any(map(lower.__contains__, held_)):
            continue
        if found := look(head):
            return kind, f'{kind}: {said} ("{found[0].strip()[:60]}")'
    return None


ENTITIES_MAX: Final = 16
"""Entities of one text, the first ones."""
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
    """Return the ids of the entities that `text` names, each once and in its order.

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
    """Return an address without the parts of a single request; '' without a host."""
    parts = _PARTS.match(raw.rstrip(".,;:!?)*_"))
    if parts is None or "masked:" in raw:
        return ""
    return f"{parts['scheme'].lower()}://{parts['host'].lower()}{parts['path'].rstrip('/')}"


def _installed(rest: str) -> Iterator[str]:
    """Yield the packages of an install command, until the sentence continues."""
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
    """Yield where a text calls something a package, and the package.

    Only a name in backticks or with a scope needs no "package" before it: "npm only" is none.
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
    """Return whether the word after "npm package" is a name and not the next word of a sentence."""
    if word != word.lower() or word in _PROSE or word in _WORDS:
        return False
    return not (word.isalpha() and word.endswith(("ed", "ing", "ly")))


def _used(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield where the text names a package that the project uses, and its name."""
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
