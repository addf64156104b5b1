"""Classify a text: its kind, its tier with the reason, and the entities it names.

No model: the first matching cue decides. Plain cues come first, then the heading above the text,
then fainter cues. A text without any cue is a statement of fact: kind `spec`, which is warm. Hot
kinds are shown to every agent at every start, so a text must earn them by words such as `always`,
`use X instead of Y`, `we decided`.

Entities are addresses, ports and the packages that a manifest of the project lists. Files and
definitions are found by the anchors.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Final

from yaadwatch.anchors.facts import PIP, named_packages, plain_name
from yaadwatch.model.memories import canonical_kind, tier_of
from yaadwatch.text.words import normalise

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
"""A kind, the words for `why`, and a pattern: verbose, in any case of letters, searched in the
beginning of the text without list markers and asterisks. A pattern that begins with `^` matches at
the beginning only, in all its alternatives."""

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
       |^\$[ ]?\w"""),
    ("command", "a command to run", rf"\brun(?:ning)?[ ]{_PROGRAM}[ ][\w./:-]+"),
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
    head = normalise(text.replace("*", " "))[:400]
    if plain := _first(_PLAIN, head):
        return plain
    for heading in reversed(headings[-2:]):
        if under := _first(_HEADINGS, heading):
            return under[0], f'{under[0]}: under the heading "{normalise(heading)[:60]}"'
    return _first(_FAINT, head) or ("spec", "spec: a plain statement")


def _first(cues: tuple[_Cue, ...], head: str) -> tuple[str, str] | None:
    for kind, why, pattern in cues:
        cue = _compiled(pattern)
        if found := (cue.match if pattern.startswith("^") else cue.search)(head):
            return kind, f'{kind}: {why} ("{found[0].strip()[:60]}")'
    return None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


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


def entities(text: str, known: Mapping[str, str]) -> list[str]:
    """Return the ids of the entities that `text` names, each once and in its order.

    Args:
        text: masked; what is masked in it is named by nothing.
        known: the packages that the project uses, plain name to ecosystem.
    """
    found: list[tuple[int, str]] = []
    for match in _ADDRESS.finditer(text) if "://" in text else ():
        parts = _PARTS.match(match[0].rstrip(".,;:!?)*_"))
        if parts is not None and "masked:" not in match[0]:
            place = f"{parts['host'].lower()}{parts['path'].rstrip('/')}"
            found.append((match.start(), f"{parts['scheme'].lower()}://{place}"))
    for match in _PORT.finditer(text):
        found += [
            (match.start(), f"port {int(number)}")
            for number in match.groups()
            if number is not None and 0 < int(number) < 65_536
        ]
    plain = _ADDRESS.sub(lambda match: " " * len(match[0]), text) if "://" in text else text
    for start, name, ecosystem in named_packages(plain, known):
        shown = plain_name(name) if ecosystem == PIP else name
        found.append((start, f"{shown} ({ecosystem} package)"))
    ordered = dict.fromkeys(name for _, name in sorted(found, key=itemgetter(0)))
    return [name for name in ordered if len(name) <= NAME_CHARS_MAX][:ENTITIES_MAX]
