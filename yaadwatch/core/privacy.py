"""Is there a secret in this text? Find it and put `[masked:KIND]` in its place.

Two tables decide. `TOKENS` are credentials that their providers made recognisable. `_CONTEXTS` are
places where secrets stand (`PASSWORD=`, `Bearer`, `the password is`); `secret_values` judges what
stands there. Looking harmless is the harder half: a memory that loses its words is of no use.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, overload

from yaadwatch.core.secret_shapes import TOKENS
from yaadwatch.core.secret_values import (
    DIGIT,
    is_filler,
    is_lone_password,
    is_name,
    is_placeholder,
    is_reference,
    is_secret,
    trimmed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A text without its secrets, and the kinds of secret that were in it: each once, in order."""

    text: str
    kinds: tuple[str, ...] = ()


def mask(text: str) -> Masked:
    """Return `text` with every secret replaced by `[masked:KIND]`; the words around it stay.

    Masking twice is masking once. A text without a secret comes back as the same object.
    """
    kinds: dict[str, None] = {}
    # Again until nothing is found, for a mask may uncover a neighbour. This ends: every round puts
    # at least one character behind a mask that was not behind one before.
    while spans := _spans(text):
        pieces = []
        end = 0
        for span in spans:
            pieces += [text[end : span.start], f"[masked:{span.kind}]"]
            end = span.end
            kinds[span.kind] = None
        text = "".join(pieces) + text[end:]
    return Masked(text=text, kinds=tuple(kinds))


@overload
def mask_tree(value: str) -> str: ...
@overload
def mask_tree(value: dict[str, object]) -> dict[str, object]: ...
@overload
def mask_tree(value: object) -> object: ...
def mask_tree(value: object) -> object:
    """Return a JSON value (dict, list, str, number, None) with the secrets in its strings masked.

    Keys are masked too. A string under a key such as `password` is judged as if `password=` stood
    before it.
    """
    match value:
        case str():
            return mask(value).text
        case dict():
            return {mask(key).text: _mask_member(key, item) for key, item in value.items()}
        case list() | tuple():
            return [mask_tree(item) for item in value]
        case _:
            return value


def _mask_member(key: str, value: object) -> object:
    name = _SECRET_NAME.search(key)
    if name and isinstance(value, str) and not _MASK.fullmatch(value):
        strong = _is_password_name(name["key"])
        if is_secret(value, strong=strong) or (strong and is_lone_password(value, chars_min=8)):
            return f"[masked:{_kind(name['key'])}]"
    return mask_tree(value)


class _Span(NamedTuple):
    """Where a secret stands. Of two that overlap, the one with the lower rank names both."""

    start: int
    end: int
    rank: int
    kind: str


_Judgement = tuple[str, int, int]
"""Kind, start and end of a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """A row of the tables, ready to use.

    Without any of the `triggers` (lower case) in a text the pattern is not tried. A pattern takes
    time linear in the text: its repeats are bounded, or are runs in which no other match starts.
    `judge` says which part of a match is secret, if any.
    """

    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    judge: Callable[[re.Match[str]], _Judgement | None]


_MASK = re.compile(r"\[masked:[a-z0-9-]{1,30}\]")


def _spans(text: str) -> list[_Span]:
    """Return where the secrets are: in order, none overlapping another."""
    lowered = text.lower()
    shapes = [
        (rank, shape)
        for rank, shape in enumerate(_SHAPES)
        if any(trigger in lowered for trigger in shape.triggers)
    ]
    if not shapes:
        return []
    masks = [found.span() for found in _MASK.finditer(text)]
    merged: list[_Span] = []
    for span in sorted(each for row in shapes for each in _matches(*row, text, masks)):
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            named = min(last, span, key=lambda each: each.rank)
            merged.append(_Span(last.start, max(last.end, span.end), named.rank, named.kind))
        else:
            merged.append(span)
    return merged


def _matches(
    rank: int, shape: _Shape, text: str, masks: Sequence[tuple[int, int]]
) -> Iterator[_Span]:
    """Yield what `shape` finds, except what is masked already."""
    at = 0
    while found := shape.pattern.search(text, at):
        at = max(found.start() + 1, found.start("secret"))
        judgement = None if _mask_at(found.start(), masks) else shape.judge(found)
        if judgement is None:
            continue
        kind, start, end = judgement
        # A mask is replaced whole or not at all.
        if cut := _mask_at(start, masks):
            start = cut[0]
        if cut := _mask_at(end - 1, masks):
            end = cut[1]
        at = max(at, end)
        if _MASK.sub("", text[start:end]):
            yield _Span(start, end, rank, kind)


def _mask_at(position: int, masks: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the start and end of the mask that covers `position`."""
    index = bisect_right(masks, position, key=lambda span: span[0]) - 1
    return masks[index] if index >= 0 and position < masks[index][1] else None


# What a secret is given to, in any case of letters, also as the end of a longer name (dbPassword).
_NAME = r"""(?P<key>passw(?:or)?d|passphrase|passcode|passwd|pwd|passwort|kennwort|contraseña|senha
    |(?<![A-Za-z])pass|(?-i:(?<=[a-z])Pass)|secret|token|credential|api[_ -]?key
    |(?:access|account|admin|app|auth|client|consumer|deploy|encryption|hmac|jwt|license|master
    |private|secret|service|session|shared|signing|storage|subscription|webhook)[_ -]?key)
    (?:[_-]?(?:base(?:64)?|b64|hex|value|prod(?:uction)?|dev|staging|test|live|v?\d{1,2}))?"""
# What stands between: closing quotes, then `=`, `:`, `=>`, `: str =`, ` value=`.
_GIVEN = r"""[\\"'`\])*]{0,4}[ \t]{0,8}
    (?P<sep>:[ \t]{0,4}[A-Za-z_][\w.]{0,30}(?:\[[\w., ]{0,30}\])?(?:[ ]?\|[ ]?\w{1,20}){0,2}
        [ \t]{1,4}=
    |[?|+]{0,2}:?={1,3}>?|:(?!:)|value=)[ \t*]{0,8}"""
# A value without quotes ends at a space, at the next argument, and at an escaped end of line.
_RUN = r"""(?:[^\s"'`,;&<\\]|\\(?![nrt"'`])|<(?!/)|&(?![\w.-]{1,30}=)
    |[,;](?![\s,;]|\Z|[\w.-]{1,30}[ ]?[=:]))"""
_VALUE_CHARS: Final = 200
_VALUE = rf"""(?:[bruf@]{{1,2}}(?=["']))?
    (?:\\?(?P<quote>["'`])(?=(?:(?!(?P=quote))[^\n]){{1,300}}(?P=quote)))?["'`]?
    (?P<secret>(?(quote)(?:(?!\\?(?P=quote))[^\n]){{1,300}}|{_RUN}{{1,{_VALUE_CHARS}}}+))"""

_SECRET_NAME = re.compile(_NAME + r"\Z", re.IGNORECASE | re.VERBOSE)
_PASSWORD_NAME = re.compile(r"pass|pwd|kennwort|contrase|senha", re.IGNORECASE)
_REST = re.compile(_RUN + "*", re.VERBOSE)
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
_PORT = re.compile(r"\d{1,5}[?#,]")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")
_KEY_BODY = re.compile(r"(?=[A-Za-z+/]{0,200}\d)[A-Za-z0-9+/]{24}")
_KEY_LINES = re.compile(
    r"(?:(?:\s|\\[nr]){0,4}(?:[A-Za-z][A-Za-z-]{2,20}: [^\n]{0,100}|[A-Za-z0-9+/=]{24,}))*"
    r"(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/]{0,63}={1,2})?"
)


def _is_password_name(name: str) -> bool:
    return bool(_PASSWORD_NAME.search(name))


def _kind(name: str) -> str:
    return "password" if _is_password_name(name) else "credential"


def _token(kind: str) -> Callable[[re.Match[str]], _Judgement | None]:
    """Judge a token by its look: everything but a placeholder is one."""

    def judge(found: re.Match[str]) -> _Judgement | None:
        return None if is_filler(found["secret"]) else (kind, *found.span("secret"))

    return judge


def _armour(found: re.Match[str]) -> _Judgement | None:
    """Judge what stands between armour lines: a sentence that only names them holds no key."""
    if not _KEY_BODY.search(found["secret"]):
        return None
    if found["end"]:
        return "private-key", *found.span()
    lines = _KEY_LINES.match(found.string, found.start("secret"))
    return ("private-key", found.start(), lines.end()) if lines and lines[0] else None


def _web_token(found: re.Match[str]) -> _Judgement | None:
    """Judge a run that begins like a JSON web token: one has a head and a body at least."""
    return ("jwt", *found.span()) if "." in found["secret"] else None


def _user_and_password(found: re.Match[str]) -> _Judgement | None:
    """Judge `scheme://user:password@host`: a password equal to the user's name is a default."""
    secret = found["secret"]
    if secret == found["user"] or is_placeholder(secret) or is_reference(secret):
        return None
    return None if _PORT.match(secret) else ("uri-password", *found.span("secret"))


def _argument(found: re.Match[str]) -> _Judgement | None:
    """Judge what a program takes as a password on its command line."""
    secret = trimmed(found["secret"])
    start = found.start("secret")
    return ("password", start, start + len(secret)) if is_secret(secret, strong=True) else None


def _header(found: re.Match[str]) -> _Judgement | None:
    """Judge `Bearer X`: without `Authorization:` before it, and if it is a word, X is no secret."""
    secret = found["secret"].rstrip(".")
    start = found.start("secret")
    if is_placeholder(secret) or is_reference(secret):
        return None
    wordy = is_name(secret.rstrip("=")) and len(_INNER_CAPITAL.findall(secret)) < 2
    if found["header"]:
        harmless = wordy and not secret.endswith("=")
    else:
        harmless = wordy or len(secret) < 16 or not DIGIT.search(secret)
    return None if harmless else ("authorization", start, start + len(secret))


def _assignment(found: re.Match[str]) -> _Judgement | None:
    """Judge a value by its name and by how it is given: `PASSWORD=x` says more than `token: x`."""
    name, separator = found["key"], found["sep"]
    start, end = found.span("secret")
    quoted = found["quote"] is not None or separator == ">"
    secret = found["secret"] if quoted else trimmed(found["secret"])
    password = _is_password_name(name)
    exported = name.isupper() and separator.endswith("=")
    if not is_secret(secret, strong=password or exported):
        ends_line = secret.islower() and bool(_LINE_END.match(found.string, start + len(secret)))
        chars_min = _lone_chars_min(password, exported=exported, quoted=quoted, ends_line=ends_line)
        if chars_min is None or not is_lone_password(secret, chars_min=chars_min):
            return None
    if not quoted and end - start == _VALUE_CHARS:
        # The pattern looks at so many characters only, to be quick where nothing is secret.
        rest = _REST.match(found.string, end)
        secret = trimmed(found.string[start : rest.end() if rest else end])
    return _kind(name), start, start + len(secret)


def _lone_chars_min(password: bool, *, exported: bool, quoted: bool, ends_line: bool) -> int | None:
    """Return how long letters alone must be to count as a secret; None: they never do."""
    if password:
        return 6 if exported else 8 if quoted or ends_line else None
    return 12 if exported else 16 if quoted else None


def _prose(found: re.Match[str]) -> _Judgement | None:
    """Judge `the password for staging is X`: X must look like one, or stand in quotes."""
    name, start = found["key"], found.start("secret")
    quoted = found["quote"] is not None
    secret = found["secret"] if quoted else trimmed(found["secret"])
    password = _is_password_name(name)
    if name.lower().startswith("pin"):
        good = 4 <= len(secret) <= 8 and secret.isdecimal()
    elif found["link"].isspace():
        strange = bool(DIGIT.search(secret)) and not secret.islower() and not secret.isdecimal()
        good = (quoted or strange) and is_secret(secret, strong=True)
    else:
        lone = quoted and password and is_lone_password(secret, chars_min=6)
        good = lone or is_secret(secret, strong=password)
    return (_kind(name), start, start + len(secret)) if good else None


_SPOKEN = r"""(?<![\w.-])(?P<key>pass(?:word|phrase|code|wd)|passwort|kennwort|contraseña|senha
    |mot[ ]de[ ]passe|pin(?:[ ]code)?|secret(?:[ ]key)?|token|api[ -]?key
    |(?:access|private|signing|encryption|master)[ ]key)\b"""
_IS = r"""(?P<link>[^.\n:=]{0,60}?[ ](?:is|was|are|ist|es|est|to)
    (?:[ ](?:now|currently|still|set[ ]to))?:?[ ]
    |[ ](?:for|of|on|in|at|\()[^.\n:=]{0,50}:[ ]{1,2})"""

# fmt: off
_CONTEXTS: Final = (
    # Keys in armour, from the first line to the last.
    (_armour, "private", r"""-{4,5}[ ]?BEGIN[ ][A-Z0-9 ]{0,30}PRIVATE[ ]KEY(?:[ ]BLOCK)?[ ]?-{4,5}
        (?P<secret>(?:[^-]|-(?!---))*+)(?P<end>-{4,5}[ ]?END[ ][A-Z0-9 ]{0,40}-{4,5})?"""),
    (_token("private-key"), "private-lines:",
     r"private-lines:\s{0,4}\d{1,4}\s{1,4}(?P<secret>(?:[A-Za-z0-9+/=]{1,64}\s{1,2})+)"),
    # What is sent along with requests.
    (_web_token, "eyj",
     r"(?:(?<![\w-])|(?<=[^\w-]_))(?-i:eyJ)(?P<secret>[\w-]{8,}(?:\.[\w-]+){0,4})"),
    (_user_and_password, "://",
     r"""://(?P<user>[^\s:/@"'`<>]{0,100}):(?P<secret>[^\s/"'`<>]{2,300})@(?=[\w\[.-])"""),
    (_header, "authorization bearer basic",
     r"""(?:(?P<header>authorization["'`]?\s{0,3}[:=,]\s{0,3}["'`]?)
        (?:(?:bearer|basic|token|apikey|api-key|bot)[ ]{1,3})?|(?<![\w-])(?:bearer|basic)[ ]{1,3})
        (?P<secret>[A-Za-z0-9._~+/=-]{8,})"""),
    (_token("cookie"), "cookie",
     r"""cookie["']?:[ ]{0,2}["']?(?P<secret>[\w.-]{1,60}=[^\s;"'<${]{12,400}
        (?:;[ ]?[\w.-]{1,60}=[^\s;"']{1,400}){0,20})"""),
    # Arguments of programs.
    (_argument, "sshpass", r"""sshpass\s{1,3}-p\s{0,3}["']?(?P<secret>[^\s"']{4,200})"""),
    (_argument, "mysql",
     r"""mysql(?:dump|admin)?[ ][^\n|;]{0,80}?[ ]-p["']?(?P<secret>[^\s"']{4,200})"""),
    (_argument, "-u --user",
     r"""(?<!\S)(?:-u|--user)[ =]{0,2}["']?[^\s:"'$]{1,60}:(?P<secret>[^\s"']{4,200})"""),
    (_argument, "password",
     r"login\s{1,4}\S{1,60}\s{1,4}password\s{1,4}(?P<secret>\S{4,200})"),
    (_argument, "identified", r"""identified[ ]by[ ]{1,3}["'](?P<secret>[^"'\n]{4,200})"""),
    # Values of names: `name = value`, `--name value`, `<name>value</name>`.
    (_assignment, "pass pwd kennwort contrase senha secret token credential key",
     _NAME + _GIVEN + _VALUE),
    (_assignment, "pass pwd secret token key", rf"(?<=-){_NAME}(?P<sep>[ ]){{1,3}}{_VALUE}"),
    (_assignment, "pass pwd secret token key",
     _NAME + r"(?P<sep>>)(?P<quote>(?!))?(?P<secret>[^<>\s]{4,200})</"),
    # Sentences.
    (_prose, "pass kennwort contrase senha pin secret token key", _SPOKEN + _IS + _VALUE),
    (_prose, "pass kennwort contrase senha", _SPOKEN + r"(?P<link>[ ])" + _VALUE),
)
# fmt: on


def _compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern of a row of `TOKENS`, with its left border and its group."""
    whole = pattern if "(?P<secret>" in pattern else f"(?P<secret>{pattern})"
    return re.compile(f"(?<![A-Za-z0-9]){whole}")


_SHAPES: Final = (
    *(
        _Shape(triggers=tuple(triggers.split()), pattern=_compiled(pattern), judge=_token(kind))
        for kind, triggers, pattern in TOKENS
    ),
    *(
        _Shape(
            triggers=tuple(triggers.split()),
            pattern=re.compile(pattern, re.IGNORECASE | re.VERBOSE),
            judge=judge,
        )
        for judge, triggers, pattern in _CONTEXTS
    ),
)
