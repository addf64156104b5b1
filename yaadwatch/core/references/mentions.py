"""Which files, names, commands and values does a text speak of?

Candidates come from the words; files are matched with a tree. Taking too much here is harmless: a
candidate counts only when it is found in the tree. What is taken for a name without backticks must
look like code (RetryPolicy, retry_limit, retry.limit(), retry()).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from yaadwatch.core.references import denied
from yaadwatch.core.references.commands import Command, commands
from yaadwatch.core.references.values import Version, line_counts, versions
from yaadwatch.core.text_cache import kept

MENTIONS_MAX = 64
"""Candidates of each sort taken from one text."""
PATH_CHARS_MAX = 400
NAME_CHARS_MAX = 200

# No pattern may look at a character again and again: a text may be 64,000 characters of anything.
_ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,15}://\S+|\bwww\.[\w-]+\.\w\S*|(?<![\w.+/-])[\w.+-]{1,64}@[\w-]+\.[\w.-]+",
    re.IGNORECASE,
)
_OWN_LINK = re.compile(
    r"https://(?:github|gitlab)\.com/[\w.-]{1,80}/[\w.-]{1,120}/(?:-/)?(?:blob|tree)/[\w.-]{1,80}/"
    r"([\w@./+-]{1,300})"
)
"""A file or folder of a repository, as its host shows it; whose it is, the tree tells."""
_WORD = re.compile(r"(?<![\w$-])(?:--?)?[A-Za-z_$][\w$]*(?:-[\w$]+)*(?![\w$])")
_OPTION = re.compile(r"(?<![\w$-])--[a-z][\w-]{2,60}(?![\w$-])")
_METHOD = re.compile(r"(?<![\w)\]\"'.])\.([A-Za-z_]\w{2,80})\(")
"""A method of something that the text leaves out: `.close()`."""
_GLOB = re.compile(r"(?<![\w*{])[\w@.~/*{-](?:[\w@./*~+{}-]|,(?=[\w.]))*")
_PATTERN_HAS = re.compile(r"\*.*[/.]|[/.].*\*|\{[\w@./*-]+,")
_SPAN_WORDS_MAX = 5
"""A longer piece of code is a sentence, or has one in it: its plain words mean nothing."""
_TICKS = re.compile(r"`+")
# A folder or file in brackets is a part of a path only beside another part: app/[id]/page.tsx.
_BRACKETED = r"(?:\[{1,2}[\w.@-]{1,80}\]{1,2}|\([\w.@-]{1,80}\))"
_PATH = re.compile(
    rf"@?(?:{_BRACKETED}(?=[/.]\w)|[\w~.+])(?:[\w@.+~-]|[/\\]{_BRACKETED}(?![(\[])|[/\\])*"
)
_FILLED_IN_BEFORE = re.compile(r"(?<![-=])>\Z|[\]}*]\Z")
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
    """What a text may speak of, in the order of first mention; one word may be several things.

    `words` are words in backticks that may be a key, an option, a variable, or a part of a name.
    """

    paths: tuple[str, ...]
    symbols: tuple[str, ...]
    globs: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    lines: tuple[int, ...] = ()
    versions: tuple[Version, ...] = ()


@kept(4)  # one statement is asked about for its work tree, its anchors, and its typing errors
def mentions(text: str) -> Mentions:
    """Return what `text` may speak of; at most 64 of each sort.

    What it says not to use, or not to be there, is left out; see `denied`.
    What stands in backticks is taken first, and then the order of the text counts.
    """
    linked = [found.group(1) for found in _OWN_LINK.finditer(text)] if "://" in text else []
    may_address = "://" in text or "@" in text or "www." in text.lower()
    plain = denied.without(_ADDRESS.sub(" ", text) if may_address else text)
    spans, prose = _code_of(plain)
    paths: dict[str, None] = {}
    names: dict[str, None] = {}
    globs: dict[str, None] = {}
    words: dict[str, None] = {}
    runs: dict[Command, None] = {}
    for code in spans:
        span = _PLACEHOLDER.sub(" ", code)
        paths |= dict.fromkeys(_paths(code, quoted=True))
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
    paths |= dict.fromkeys(_paths(prose, quoted=False))
    names |= dict.fromkeys(_names(_PLACEHOLDER.sub(" ", prose), quoted=False))
    if "$ " in prose:
        for line in prose.split("\n"):
            if line.lstrip().startswith("$ "):
                runs |= dict.fromkeys(commands(line))
    if "--" in prose:
        words |= dict.fromkeys(_OPTION.findall(prose))
    return Mentions(
        paths=tuple(paths)[:MENTIONS_MAX],
        symbols=tuple(names)[:MENTIONS_MAX],
        globs=tuple(globs)[:MENTIONS_MAX],
        words=tuple(words)[:MENTIONS_MAX],
        commands=tuple(runs)[:MENTIONS_MAX],
        lines=tuple(line_counts(text))[:MENTIONS_MAX],
        versions=tuple(versions(plain))[:MENTIONS_MAX],
    )


def _patterns(text: str) -> Iterator[str]:
    """Yield what may be a pattern of paths: with a star, or with a list in braces."""
    if "*" not in text and "{" not in text:
        return
    for found in _GLOB.finditer(text):
        token = found.group().rstrip(".,;:")
        if len(token) <= PATH_CHARS_MAX and _PATTERN_HAS.search(token):
            yield token.removeprefix("./")


def _braced(pattern: str) -> list[str]:
    """Return a pattern once for each member of its first list in braces."""
    before, opening, rest = pattern.partition("{")
    inside, closing, after = rest.partition("}")
    if not (opening and closing and "," in inside):
        return [pattern]
    return [f"{before}{member.strip()}{after}" for member in inside.split(",")[:16]]


def _code_of(text: str) -> tuple[list[str], str]:
    """Return what stands between backticks, and the text without it.

    As in Markdown, as many ticks end a span as began it; ticks without others are plain text.
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
    """Yield what may be a path; `quoted`: the text stands in backticks, and may be one as it is."""
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
    """Return what of a piece of code is a path by itself, where a part of it stands for many names.

    Of `src/orders/Get[Name]Test.cs` it is `src/orders/`: neither `src/orders/Get` nor `Test.cs` is
    named.
    """
    token = match.group()
    behind = _FILLED_IN_BEHIND.match(text, match.end())
    if _FILLED_IN_BEFORE.search(text, max(0, match.start() - 2), match.start()):
        return ""
    if behind is not None:
        folder, slash, _ = token.rpartition("/")
        return folder + slash if behind.group() != "*" else ""
    return token


def _spellings(path: str) -> Iterator[str]:
    """Yield a path with '/' between its parts, however it is written."""
    if 0 < len(path) <= PATH_CHARS_MAX:
        yield _MARKUP.sub("", path).replace("\\", "/")
        if _MARKUP.search(path):
            yield path.replace("\\", "/")


def _without_line(path: str) -> str:
    """Return `src/net.py` of `src/net.py:12-20`, `src/net.py#L12` and `src/net.py(12)`."""
    return re.sub(r"(?:[:#(].*|[.,;]+)$", "", path.strip("'\"@ "))


def _names(text: str, *, quoted: bool) -> Iterator[str]:
    """Yield names; `quoted`: the text is one word in backticks, which may look like anything."""
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
    """Return whether a word is one of small letters, its first one aside: it looks like no code."""
    return word.isascii() and word.isalpha() and word[1:].islower()


def _is_code(name: str) -> bool:
    """Return whether a name looks like code by itself, and like nothing that everybody writes."""
    parts = _JOINTS.split(name)
    if len(parts) > 1:
        return all(len(part) > 1 for part in parts)
    return _LOOKS_LIKE_CODE.fullmatch(name) is not None and name.lower() not in _ORDINARY


def _last(name: str) -> str:
    """Return the last of names that a full stop joins, in lower case; '' when there is none."""
    return name.rpartition(".")[2].lower() if "." in name else ""
