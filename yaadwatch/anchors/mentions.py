"""Extract the files, names, commands and values that a text mentions, and the ones it rules out.

Extracting too much is harmless: a candidate counts only if the repository has it. Without backticks
a name must look like code (RetryPolicy, retry_limit, retry.limit(), retry()).

Nothing is anchored to a name that the text declares unused, missing or about to go: "use `fetch()`
instead of `requests.get`", "`client.on()` does not exist", "`make old` is replaced by `make new`".
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from yaadwatch.anchors.targets import Command, commands
from yaadwatch.anchors.values import Version, line_counts, versions
from yaadwatch.text.words import cached

# No pattern may backtrack: a text may be 64,000 arbitrary characters.
_A_NAME = (
    r"(?:`[^`\n]{1,120}`|(?<![\w$.:/-])[\w$]{1,60}(?:(?:[.:/#]|::)[\w$]{1,60}){1,6}(?:\(\))?"
    r"|(?<![\w$.:/-])(?:[\w$]{1,60}\(\)|[A-Za-z0-9]{1,30}(?:_[A-Za-z0-9]{1,30}){1,6}))"
)
_THINGS = rf"{_A_NAME}(?:(?:, ?(?:or |and )?| or | and | ?/ ?){_A_NAME}){{0,5}}"
_EXAMPLE_OF_WRONG = re.compile(
    r"(?i)\b(?:do not|don['’]t|never|avoid)\b[^.!?()\n]{0,200}"
    r"\((?:for (?:example|instance)|e\.g\.|such as|like)[,:]?\s([^()\n]{1,400})\)"
)
"""What is not to be written: "never put input into commands (for example, `echo $x`)"."""
_TO_USE = (
    r"(?:(?:us(?:e|ing)|call(?:ing)?|pass(?:ing)?|import(?:ing)?|rely(?:ing)? on|reach(?:ing)? for"
    r"|the|an?|any|your own|raw|plain|bare|old|legacy|direct|manual|hand-written|deprecated)"
    r"\s{1,3})"
)
_INSTEAD = re.compile(
    r"(?i)\b(?:instead of|rather than|in place of|as opposed to)\s{1,3}"
    rf"{_TO_USE}{{0,4}}({_THINGS})"
)
_NO_HEIR = re.compile(
    r"(?i)(?:\bdo not|\bdon['’]t|\bnever)\s{1,3}(?:replace|swap|switch)\s{1,3}"
    r"(?:it|them|this|that|these|those)\s{1,3}(?:out\s{1,3})?(?:with|by|for|to)\s{1,3}"
    rf"(?:(?:the|an?|any|another|\w{{1,30}}['’]s)\s{{1,3}}){{0,3}}({_THINGS})"
)
# Only a noun for its kind may follow a name: "`prune()` removes rows that are gone" is
# about `prune()`, and no list of verbs is ever complete.
_SORT = (
    r"(?:api|argument|attribute|class|column|command|component|config|constant|decorator|dependency"
    r"|directory|endpoint|enum|env|event|field|file|fixture|flag|folder|function|header|helper|hook"
    r"|import|interface|job|key|library|macro|method|mixin|module|option|package|param|parameter"
    r"|plugin|prop|property|route|script|service|setting|struct|switch|table|target|task|test|trait"
    r"|type|variable|view|workaround|workflow|wrapper)s?"
)
_THING = rf"({_THINGS})(?:\s{{1,3}}{_SORT}){{0,2}}(?:\s{{1,3}}(?:in|of|from)\s{{1,3}}{_A_NAME})?"
"""Names, and what they are or where: "`fetch` helper in src/net.py"."""
_NO_MORE = r"no longer\s(?:needed|used|supported|available|required|necessary|there)"
_GONE = re.compile(
    rf"(?i){_THING},?\s{{1,3}}(?:(?:which|that)\s)?"
    r"(?:do(?:es)?(?:\snot|n['’]t)\sexist|no longer exists?"
    rf"|(?:is|are)\s(?:gone|{_NO_MORE})|(?:was|were|has been|have been)\sremoved)\b"
)
_BE = r"(?:is|are|was|were|has been|have been|will be|gets?|(?:is|are) (?:to be|being|going to be))"
_HEIR = rf"(?:(?:the|an?|its|our|new)\s{{1,3}}){{0,3}}{_A_NAME}"
_RELEASE = r"v?\d[\d.]*\b(?!\s?(?:ms|[smhd]|(?:second|minute|hour|day|week|month|year)s?)\b)"
_ONCE = (
    r"(?:(?:once|as soon as)\b|(?:in|with|by)\s(?:(?:the|a|an|our|some)\s)?"
    rf"(?:next|future|later|coming|upcoming|following|version|release|{_RELEASE})"
    r"|soon\b|shortly\b|eventually\b"
    rf"|(?:after|when)\b(?=[^.!?;\n]{{0,80}}\b(?:{_RELEASE}|releas|ship|migrat|merg|land|drop"
    r"|port|switch|deprecat|rollout|all\b|no (?:one|more|longer)\b|nobody|nothing|last\b"
    r"|is (?:out|gone)\b)))"
)
"""What happens once: a release, a migration. "After each run" is no such thing."""
_FOR_GOOD = rf"\b(?:\s{{1,3}}(?:{_ONCE}|in favou?r of\b)|(?=\s*(?:$|[.,:;!)\n]|and\b|but\b|so\b)))"
"""What may stand behind a thing that goes: when, once, or nothing. "At logout" is each time."""
_ANNOUNCED = re.compile(
    rf"(?i){_THING},?\s{{1,3}}(?:"
    rf"{_BE}\s(?:(?:now|soon|gradually|slowly)\s)?(?:"
    rf"(?:(?:replaced|superseded)\s(?:by|with)|(?:renamed|migrated)\sto)\s{{1,3}}{_HEIR}"
    r"(?!\s{1,3}(?:at|during|on|upon|per)\b)"
    r"|deprecated\b|phased out\b|obsolete\b)"
    rf"|(?:was|were|(?:has|have) been|will be)\s(?:merged|folded)\sinto\s{{1,3}}{_HEIR}"
    r"|(?:(?:will be|(?:is|are) (?:to be|being|going to be))\s(?:removed|deleted|dropped)"
    rf"|(?:goes|go|will go|(?:is|are) going)\saway){_FOR_GOOD})"
)
"""What is said to go, or to be on its way out."""
_SUCCEEDED = re.compile(
    rf"(?i){_A_NAME}(?:\s{{1,3}}{_SORT}){{0,2}}\s{{1,3}}"
    rf"(?:(?:has|have|will)\s)?(?:replace[sd]?|supersede[sd]?)\s{{1,3}}"
    rf"(?:(?:the|our|its|old|legacy|former)\s{{1,3}}){{0,3}}({_THINGS})(?!\s{{1,3}}(?:with|by)\b)"
)
_MIGRATED = re.compile(
    rf"(?i)\bmigrat(?:e|es|ed|ing|ion)\s(?:away\s)?from\s{{1,3}}({_THINGS})\s{{1,3}}to\s{{1,3}}{_HEIR}"
)
_PLAN = (
    r"(?:(?:^|(?<=\n)|(?<=[.!?:;]\s)|(?<=[-*+]\s)|(?<=\]\s))"
    r"|\b(?:we|let['’]s|please|then|todo|fixme)(?:['’](?:re|ll|ve))?\s{1,3})"
    r"(?:(?:now|soon|gradually|slowly|currently|are|will|have to|should|must|plan to|want to"
    r"|going to|have|let['’]s|please|then|we)\s{1,3}){0,4}"
)
"""What begins a sentence that says what its writers do: "We are", "todo:", nothing at all."""
_WE = r"(?:\b(?:we|let['’]s|todo|fixme)\b:?\s{1,3}|(?<=\]\s))(?:\w{1,12}\s{1,3}){0,2}"
_MOVED = re.compile(
    rf"(?im)(?:{_PLAN}(?:mov|switch|chang|port)(?:ed|ing)|{_WE}(?:move|switch|change|port))"
    rf"\s(?:(?:away|over)\s)?from\s{{1,3}}(?:the\s{{1,3}})?({_THINGS})\s{{1,3}}(?:over\s)?to\s"
)
"""Without "we", "switch from `a` to `b`" is what a reader is to do, with both at hand."""
_REPLACED = re.compile(
    rf"(?im){_PLAN}(?:replac(?:e|ing)|swap(?:ping)?)\s{{1,3}}"
    rf"(?:(?:all|any|the|old|every)\s{{1,3}}){{0,3}}{_THING}\s{{1,3}}(?:with|by|for)\s{{1,3}}{_HEIR}"
)
_DELETED = re.compile(
    rf"(?im){_PLAN}(?:(?:delet|remov|retir)(?:e|ing)|drop(?:ping)?)\s{{1,3}}"
    rf"(?:(?:the|old|legacy)\s{{1,3}}){{0,2}}{_THING},?\s{{1,3}}{_ONCE}"
)
_TODO = re.compile(
    r"(?i)\b(?:todo|fixme)(?:\([^)\n]{0,40}\))?:?\s{1,3}(?:delete|remove|retire|drop)\s{1,3}"
    rf"(?:(?:the|old|legacy)\s{{1,3}}){{0,2}}{_THING}(?=\s*(?:$|[.,;!)\n]|and\b|but\b))"
)
_TO_BE_DELETED = re.compile(
    rf"(?i){_THING}\s{{1,3}}(?:"
    r"(?:can|could|may|should|must|has to|have to)\sbe\s(?:removed|deleted|dropped|retired),?"
    rf"\s{{1,3}}(?:{_ONCE}|before\s(?:version\s|release\s)?v?\d{{1,4}}\.\d)"
    r"|(?:is|are)\s(?:scheduled|slated|due|up|marked)\sfor\s(?:removal|deletion)\b"
    r"|(?:(?:is|are)\s(?:being\s)?|will be\s)(?:retired|sunset)\b)"
)
_REST = r"(?:[^.!?\n]|[.!?](?=\S))*"
"""What may stand between a word and another one of its sentence: `a.py` ends none."""
_QUOTED = re.compile(r"`[^`\n]*`")
_AGAIN = re.compile(
    rf"(?i)(?:\s*(?:done|finished)\b|{_REST}\b(?:you(?:r|['’](?:re|ve))?|each|whenever|when|if|during"
    r"|every (?:time|run|build|test|day|release)|the (?:tests?|suite|build|run)|fails?"
    r"|for (?:an?|each|every|local|testing|debugging|development)|by running|before|ends?"
    r"|logs? out|exits?|closes?|expires?|at (?:\w+ time|runtime|start|shutdown|log(?:in|out)))\b)"
)
"""What makes an instruction one for each time: "Delete `a` once you are done" needs `a`."""
_PLANS = (_MOVED, _REPLACED, _DELETED, _TODO, _TO_BE_DELETED)
"""What a text announces to go. When that comes true, the text is as true as it was."""
_GOES: Final = ("removed", "deleted", "dropped")
_PATTERNS: Final = (
    (_INSTEAD, ("instead of", "rather than", "in place of", "as opposed to")),
    (_EXAMPLE_OF_WRONG, ("for example", "for instance", "e.g.", "such as", "like")),
    (_NO_HEIR, ("replace", "swap", "switch")),
    (_GONE, ("exist", "gone", "no longer", "removed")),
    (
        _ANNOUNCED,
        (
            *("replaced", "superseded", "renamed", "migrated", "merged", "folded", "deprecated"),
            *("phased out", "obsolete", "away", *_GOES),
        ),
    ),
    (_SUCCEEDED, ("replace", "supersede")),
    (_MIGRATED, ("migrat",)),
    (_MOVED, ("from",)),
    (_REPLACED, ("replac", "swap")),
    (_DELETED, ("delet", "remov", "retir", "drop")),
    (_TODO, ("todo", "fixme")),
    (_TO_BE_DELETED, (*_GOES, "retired", "sunset", "removal", "deletion")),
)
"""Each pattern, and the words of which a text that it matches has one."""
_REFUSED = re.compile(r"(?i)\b(?:not|never|no|avoid|cannot|without|nobody)\b|n['’]t\b")
_SENTENCE_ENDS = re.compile(r"[.!?]\s")
_ONE = re.compile(r"(?i)\b(?:does|exists|is|was|has)\b")
"""What is said of one thing: of `a`, and `b` is gone says nothing of `a`."""
_LAST_NAME = re.compile(rf".*(?:, ?(?:and )?| and )(?={_A_NAME}\Z)", re.DOTALL)
_WHEN = r"\b(?:if|when|whenever|unless|whether|until|while|where|in case)\b"
_CONDITION = re.compile(rf"(?i){_WHEN}{_REST}\Z")
_CONDITION_BEHIND = re.compile(rf"(?i)[^.!?;\n]*{_WHEN}")
_NOT = re.compile(
    r"(?i)(?:\b(?:not|never|no|nobody|nothing|avoid|why|cannot|without)|n['’]t)\b"
    r"(?:[^.!?;:\n]|[.!?:](?=\S))*\Z"
)
_PUT = re.compile(
    r"(?i)\b(?:put(?:s|ting)?|insert(?:s|ed|ing)?|substitut(?:es?|ed|ing)|paste[sd]?|type[sd]?"
    r"|writ(?:es?|ten|ing)|fill(?:s|ed|ing)?|enter(?:s|ed|ing)?)\b"
    r"(?:[^.!?;:\n]|[.!?:](?=\S))*\bin place of\b[^.!?;\n]*\Z"
)
"""What is put in place of a name needs the name to be there."""
_SENTENCE_MAX = 200
"""Characters before a name in which a condition, or a `not`, is looked for; behind it the same."""


def without(text: str) -> str:
    """Return a text with the names blanked that it declares unused or about to go.

    "If `config.toml` does not exist" does not count, nor does "never use `a()` instead of `b()`".
    """
    lowered = text.lower()
    for pattern, words in _PATTERNS:
        if not any(map(lowered.__contains__, words)):
            continue
        for found in list(pattern.finditer(text)):
            start, end = found.span(1)
            if pattern is _GONE and _ONE.search(text, end, found.end()):
                others = _LAST_NAME.match(text, start, end)
                start = others.end() if others is not None else start
            before = text[max(0, start - _SENTENCE_MAX) : start]
            behind = text[found.end() : found.end() + _SENTENCE_MAX]
            if pattern is _EXAMPLE_OF_WRONG:
                kept = False
            elif pattern is _INSTEAD:
                kept = bool(_NOT.search(before) or _PUT.search(before))
            elif pattern is _ANNOUNCED:
                kept = _conditional(before, behind) or bool(_AGAIN.match(behind))
            elif pattern in _PLANS:
                said = _SENTENCE_ENDS.split(before)[-1]
                kept = bool(
                    _REFUSED.search(said)
                    or _CONDITION.search(said)
                    or _AGAIN.match(_QUOTED.sub("", behind))
                )
            else:
                kept = _conditional(before, behind)
            if not kept:
                text = text[:start] + " " * (end - start) + text[end:]
    return text


def _conditional(before: str, behind: str) -> bool:
    return bool(_CONDITION.search(before) or _CONDITION_BEHIND.match(behind))


MENTIONS_MAX = 64
"""Candidates of each sort taken from one text."""
PATH_CHARS_MAX = 400
NAME_CHARS_MAX = 200

# No pattern may backtrack: a text may be 64,000 arbitrary characters.
_ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,15}://\S+|\bwww\.[\w-]+\.\w\S*|(?<![\w.+/-])[\w.+-]{1,64}@[\w-]+\.[\w.-]+",
    re.IGNORECASE,
)
_AT_SERVER = r"/[\w@:{}~.-][\w@:{}<>$*~./-]*+"
_ENDPOINT = re.compile(
    rf"\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b[ `*]{{1,5}}(?P<asked>{_AT_SERVER})"
    rf"|\b(?i:endpoints?|webhooks?|routes?|urls?)[ `*]{{1,5}}(?P<called>{_AT_SERVER})(?<!\.\w\w)"
    r"(?<!\.\w\w\w)(?<!\.\w\w\w\w)"
    r"|(?<![\w/.])(?P<before>/[\w@:~-][\w@:~/-]*+)[ `*]{1,5}"
    r"(?i:endpoints?|webhooks?|routes?|urls?)\b"
)
"""What a server answers at, `GET /api/users`: it begins like a path from the top, and is none."""
_OWN_LINK = re.compile(
    r"https://(?:github|gitlab)\.com/[\w.-]{1,80}/[\w.-]{1,120}/(?:-/)?(?:blob|tree)/[\w.-]{1,80}/"
    r"([\w@./+-]{1,300})"
)
"""A file or folder of a repository, as its host shows it; whose it is, the tree tells."""
_PERSON = re.compile(r"https://(?:github|gitlab)\.com/([\w-]{1,40})(?![\w/.-])")
_WORD = re.compile(r"(?<![\w$-])(?:--?)?[A-Za-z_$][\w$]*(?:-[\w$]+)*(?![\w$])")
_OPTION = re.compile(r"(?<![\w$-])--[a-z][\w-]{2,60}(?![\w$-])")
_METHOD = re.compile(r"(?<![\w)\]\"'.])\.([A-Za-z_]\w{2,80})\(")
"""A method of something that the text leaves out: `.close()`."""
_GLOB = re.compile(r"(?<![\w*{])[\w@.~/*{-](?:[\w@./*~+{}-]|,(?=[\w.]))*")
_PATTERN_HAS = re.compile(r"\A(?=.*\*)(?=.*[/.])|\{[\w@./*-]+,")
_FOREIGN = re.compile(r"(?:gh|glab|git|brew|apt|apt-get)\s|mcp__")
"""How a command of another program begins, whose words and options are not the project's; and the
name under which an agent sees a tool, which no code holds.
"""
_SPAN_WORDS_MAX = 5
"""A longer piece of code is a sentence, or has one in it: its plain words mean nothing."""
_TICKS = re.compile(r"`+")
# A folder or file in brackets is a part of a path only beside another part: app/[id]/page.tsx.
_BRACKETED = r"(?:\[{1,2}[\w.@-]{1,80}\]{1,2}|\([\w.@-]{1,80}\))"
_PATH = re.compile(
    rf"@?(?:{_BRACKETED}(?=[/.]\w)|[\w~.+])(?:[\w@.+~-]|[/\\]{_BRACKETED}(?![(\[])|[/\\])*"
)
_FILLED_IN_BEFORE = re.compile(r"(?<![-=])>\Z|[\]}*]\Z")
_FILLED_IN_ABOVE = re.compile(r"[\w./](?:<[^<>\s]{1,80}>|[{\[][^{}\[\]\s]{1,80}[}\]]|\*{1,2})/\Z")
_FILLED_IN_BEHIND = re.compile(r"[<{$*]|\[(?!\d)")
"""Beside a part of a path: something that stands for many names, `[Name]`, `<name>` or a star."""
_PLACEHOLDER = re.compile(
    r"\b[A-Za-z0-9]\w*(?<=[_-])<[a-z][\w .|/-]{0,60}>"
    r"|(?<![A-Za-z0-9>)\]<])<(?:[a-z]+[_ ][\w .|/-]{0,60}|[A-Z][A-Z0-9_ -]{1,60})>"
    r"|(?<![${A-Za-z0-9)\]])\{[A-Za-z][\w.-]{0,60}\}(?!\})"
)
"""What is to be filled in, `<name>` or `{name}`; not `Map<Key>`, `<Row>`, `${HOME}` or `{a, b}`."""
_MARKUP = re.compile(r"\\(?=[_*.\-+()\[\]])")
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_NAME = r"[^\W\d][\w$]*|\$\w[\w$]*"
_NAMES = re.compile(
    rf"(?<![\w$./\\-])(?:{_NAME})(?:(?:\.|::|\#)(?:{_NAME}))*(?![\w$/\\-])(?:\(\))?"
)
_LOOKS_LIKE_CODE = re.compile(
    r"""
    _*[^\W_](?:\w*[^\W_])?_+[^\W_](?:\w*[^\W_])?  # retry_limit, MAX_TRIES; not _stressed_
    | [A-Z]{2,}[a-z][a-z0-9]\w*     # HTTPServer; not URLs
    | [A-Z]+[a-z0-9]+[A-Z]\w*        # RetryPolicy
    | [a-z][a-z0-9]*[A-Z]\w*         # retryLimit
    """,
    re.VERBOSE,
)
_JOINTS = re.compile(r"\.|::|#")
_PLURAL = re.compile(r"\((?:s|es|ies|en|ren|d|ed|r|n)?\)")
_ORDINARY = frozenset(
    (
        *("github", "gitlab", "javascript", "typescript", "postgresql", "mysql", "sqlite"),
        *("macos", "ios", "iphone", "ipad", "youtube", "linkedin", "openai", "chatgpt", "pypi"),
        *("mongodb", "graphql", "devops", "wifi", "latex", "powershell", "paypal", "phd", "ebay"),
        *("mcdonald", "nodejs", "nextjs", "vscode", "xcode", "webassembly", "kubectl", "dynamodb"),
        *(
            "oauth",
            "ipv4",
            "ipv6",
            "coffeescript",
            "rubygems",
            "bigquery",
            "fastapi",
            "pytorch",
            "tensorflow",
            "numpy",
        ),
    )
)
"""Written like code by everybody; names only in backticks or with brackets behind them."""
_NOT_JOINED = frozenset(
    (
        *("com", "org", "net", "io", "dev", "edu", "gov", "md", "py", "pyi", "js", "ts", "jsx"),
        *("tsx", "json", "yaml", "yml", "toml", "txt", "html", "css", "go", "rs", "java", "kt"),
        *("rb", "php", "sh", "cpp", "hpp", "cs", "swift", "sql", "cfg", "ini", "lock", "xml"),
        *("csv", "svg", "png", "jpg", "pdf", "mdc", "mjs", "cjs", "env", "log", "example"),
    )
)
"""The ends of hosts and files: what ends so is no name of a definition."""
_KNOWN_FILES = frozenset(
    (
        *("Makefile", "Dockerfile", "Containerfile", "Justfile", "justfile", "Procfile"),
        *("Jenkinsfile", "Gemfile", "Rakefile", "Vagrantfile", "Brewfile", "Tiltfile"),
        *("Snakefile", "CODEOWNERS", "LICENSE"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """What a text may mention, in order of first mention; one word may be in several fields.

    `words` are words in backticks that may be a key, an option, a variable, or part of a name.
    """

    paths: tuple[str, ...]
    symbols: tuple[str, ...]
    globs: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    lines: tuple[int, ...] = ()
    versions: tuple[Version, ...] = ()


@cached(4)  # one statement is read for its work tree, its anchors and its typing errors
def mentions(text: str) -> Mentions:
    """Return what `text` may mention; at most 64 of each kind.

    Names it rules out are left out; see `without`. Backticked names come first, then text order.
    """
    linked = [found.group(1) for found in _OWN_LINK.finditer(text)] if "://" in text else []
    may_address = "://" in text or "@" in text or "www." in text.lower()
    plain = without(_ADDRESS.sub(" ", text) if may_address else text)
    spans, prose = _code_of(plain)
    placed = _ENDPOINT.sub(_without_place, plain) if "/" in plain else plain
    places, written = _code_of(placed) if placed != plain else (spans, prose)
    paths: dict[str, None] = {}
    names: dict[str, None] = {}
    globs: dict[str, None] = {}
    words: dict[str, None] = {}
    runs: dict[Command, None] = {}
    for code in places:
        paths |= dict.fromkeys(_paths(code, quoted=True))
    for code in spans:
        span = _PLACEHOLDER.sub(" ", code)
        span = "" if _FOREIGN.match(span) else span
        names |= dict.fromkeys(_names(span, quoted=len(code.split()) == 1))
        found = _WORD.findall(span)
        short = len(span.split()) <= _SPAN_WORDS_MAX
        words |= dict.fromkeys(word for word in found if short or not word.isalpha())
        runs |= dict.fromkeys(commands(code))
        names |= dict.fromkeys(_METHOD.findall(span))
    if "(" in prose:
        names |= dict.fromkeys(_METHOD.findall(prose))
    for path in linked:
        paths |= dict.fromkeys(_spellings(path))
    for piece in (*spans, prose):
        for pattern in _patterns(piece):
            listed = _braced(pattern)
            sort = globs if "*" in pattern else paths
            sort |= dict.fromkeys(listed)
    paths |= dict.fromkeys(_paths(written, quoted=False))
    names |= dict.fromkeys(_names(_PLACEHOLDER.sub(" ", prose), quoted=False))
    if "$ " in prose:
        for line in prose.split("\n"):
            if line.lstrip().startswith("$ "):
                runs |= dict.fromkeys(commands(line))
    if "--" in prose:
        words |= dict.fromkeys(_OPTION.findall(prose))
    return Mentions(
        paths=tuple(paths)[:MENTIONS_MAX],
        symbols=tuple(_without_people(names, text))[:MENTIONS_MAX],
        globs=tuple(globs)[:MENTIONS_MAX],
        words=tuple(words)[:MENTIONS_MAX],
        commands=tuple(runs)[:MENTIONS_MAX],
        lines=tuple(line_counts(text))[:MENTIONS_MAX],
        versions=tuple(versions(plain))[:MENTIONS_MAX],
    )


def _without_people(names: Iterable[str], text: str) -> list[str]:
    """Return names without those of people whose page the text links to."""
    people = set(_PERSON.findall(text))
    return [name for name in names if name not in people]


def endpoints(text: str) -> Iterator[str]:
    """Yield the addresses at which a server answers, `/api/users`, that a text names in full."""
    for found in _ENDPOINT.finditer(text) if "/" in text else ():
        place = found.group(found.lastgroup or 0).rstrip("/.")
        if place.count("/") > 1 and not set("<>{}[]*") & set(place):
            yield place


def _without_place(found: re.Match[str]) -> str:
    """Return what names an endpoint without its address."""
    start, end = found.span(found.lastgroup or 0)
    start, end = start - found.start(), end - found.start()
    return found.group()[:start] + " " * (end - start) + found.group()[end:]


def _patterns(text: str) -> Iterator[str]:
    """Yield possible path patterns: with a star, or with a list in braces."""
    if "*" not in text and "{" not in text:
        return
    for found in _GLOB.finditer(text):
        token = found.group().rstrip(".,;:")
        if len(token) <= PATH_CHARS_MAX and _PATTERN_HAS.search(token):
            yield token.removeprefix("./")


def _braced(pattern: str) -> list[str]:
    """Expand the first list in braces of a pattern."""
    before, opening, rest = pattern.partition("{")
    inside, closing, after = rest.partition("}")
    if not (opening and closing and "," in inside):
        return [pattern]
    return [f"{before}{member.strip()}{after}" for member in inside.split(",")[:16]]


def _code_of(text: str) -> tuple[list[str], str]:
    """Return the spans between backticks, and the text without them.

    As in Markdown, a span ends with as many ticks as it began with; unmatched ticks are plain text.
    """
    if "`" not in text:
        return [], text
    ticks = list(_TICKS.finditer(text))
    closing: dict[int, int] = {}
    last: dict[int, int] = {}
    for index in range(len(ticks) - 1, -1, -1):
        length = len(ticks[index].group())
        if length in last:
            closing[index] = last[length]
        last[length] = index
    spans: list[str] = []
    prose: list[str] = []
    index = position = 0
    while index < len(ticks):
        end = closing.get(index)
        if end is not None:
            prose.append(text[position : ticks[index].start()])
            spans.append(text[ticks[index].end() : ticks[end].start()].strip())
            position = ticks[end].end()
            index = end
        index += 1
    prose.append(text[position:])
    return spans, " ".join(prose)


def _paths(text: str, *, quoted: bool) -> Iterator[str]:
    """Yield possible paths; `quoted`: the text is in backticks, and may be a path as a whole."""
    if quoted and "\n" not in text and (" " in text or "." in text or "/" in text):
        yield from _spellings(_without_line(text))
    for match in _PATH.finditer(text):
        if not quoted and match.group().isalpha() and match.group() not in _KNOWN_FILES:
            continue
        whole = _whole(text, match) if quoted else match.group()
        token = whole.lstrip("@").rstrip(".,;:~\\-")
        looks_like_one = "/" in token or "\\" in token or _SUFFIX.search(token) is not None
        alone = quoted and token == text
        if looks_like_one or alone or token in _KNOWN_FILES:
            yield from _spellings(token)


def _whole(text: str, match: re.Match[str]) -> str:
    """Return the part of a code span that is a path by itself, when another part is a placeholder.

    `src/orders/Get[Name]Test.cs` gives `src/orders/`, neither `src/orders/Get` nor `Test.cs`, and
    `src/<name>/index.ts` gives `src/`.
    """
    token = match.group()
    behind = _FILLED_IN_BEHIND.match(text, match.end())
    if _FILLED_IN_BEFORE.search(
        text, max(0, match.start() - 2), match.start()
    ) or _FILLED_IN_ABOVE.search(text, max(0, match.start() - 84), match.start()):
        return ""
    if behind is not None:
        folder, slash, _ = token.rpartition("/")
        return folder + slash if behind.group() != "*" else ""
    return token


def _spellings(path: str) -> Iterator[str]:
    """Yield a path with '/' separators, however it is written."""
    if 0 < len(path) <= PATH_CHARS_MAX:
        yield _MARKUP.sub("", path).replace("\\", "/")
        if _MARKUP.search(path):
            yield path.replace("\\", "/")


def _without_line(path: str) -> str:
    """Return `src/net.py` of `src/net.py:12-20`, `src/net.py#L12` and `src/net.py(12)`."""
    return re.sub(r"(?:[:#(].*|(?<![.,;])[.,;]+)$", "", path.strip("'\"@ "))


def _names(text: str, *, quoted: bool) -> Iterator[str]:
    """Yield names; `quoted`: the text is one word in backticks, which may have any form."""
    for match in _NAMES.finditer(text):
        token = match.group()
        if not quoted and _is_plain(token) and text[match.end() : match.end() + 1] != "(":
            continue
        name = token.removesuffix("()")
        called = token != name or (
            text[match.end() : match.end() + 1] == "("
            and not _PLURAL.match(text, match.end(), match.end() + 5)
        )
        if not 3 <= len(name) <= NAME_CHARS_MAX:
            continue
        if called or (_last(name) not in _NOT_JOINED and (quoted or _is_code(name))):
            yield name


def _is_plain(word: str) -> bool:
    """Return whether a word is lower case after its first letter, and so does not look like
    code.
    """
    return word.isascii() and word.isalpha() and word[1:].islower()


def _is_code(name: str) -> bool:
    """Return whether a name looks like code, and is not an everyday spelling."""
    parts = _JOINTS.split(name)
    if len(parts) > 1:
        return all(len(part) > 1 for part in parts)
    return _LOOKS_LIKE_CODE.fullmatch(name) is not None and name.lower() not in _ORDINARY


def _last(name: str) -> str:
    """Return the last part of a dotted name in lower case; '' without a dot."""
    return name.rpartition(".")[2].lower() if "." in name else ""
