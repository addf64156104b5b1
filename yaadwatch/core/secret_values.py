"""Is a value that stands where secrets stand a secret? Or a name, a type, a path, a placeholder?

Nothing here measures randomness: short passwords are not random and digests are. What tells them
apart is what else such a value could be, and that is what the tables of this module list.
"""

import re
from collections.abc import Callable
from typing import Final

Judgement = tuple[str, int, int]
"""Kind, start and end of a secret."""

Judge = Callable[[re.Match[str]], Judgement | None]

KEYWORD: Final = re.compile(
    r"pass(?:word|phrase|code|wd)?|pwd|secret|token|credential|key|login|auth", re.IGNORECASE
)
DIGIT: Final = re.compile(r"\d")

_LETTER = re.compile(r"[^\W\d_]")
_SEPARATORS = re.compile(r"[-_./:@]+")
_NO_WORD = re.compile(r"[^\w./:@ -]")
_MARK = re.compile(r"[!#$%^&*+~?@]")
_INNER_MARK = re.compile(r"(?<=\w)[!#$%^&*+~?@]+\w")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d{16,}")
_BASE64 = re.compile(r"(?=[A-Za-z0-9+/]{6,}={1,2}\Z)(?=.*[a-z])(?=.*[A-Z]).*")
_NUMBERS = re.compile(r"\d{4,}|(?=.{6})[\d\W]*[!#$%^&*+~?@][\d\W]*")

_FILLER = re.compile(
    r"[x*.•]{8,}|(?:\A|[-_.\s])(?:your|example|sample|dummy|fake|placeholder|redacted|changeme"
    r"|replace|insert)(?:\Z|[-_.\s])",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[x*.•?_-]{3,}|…|none|null|nil|true|false|undefined|str(?:ing)?|bytes|boolean|test|testing"
    r"|change[-_ ]?(?:me|this)|change[-_ ]it"
    r"|(?:my|the|test|some|new|old|current)?[-_ ]?(?:pass(?:word|wd|phrase|code)?|pwd|secret|token"
    r"|key)\d?",
    re.IGNORECASE,
)

# Variables, templates, calls, members, types, names of environment variables, addresses of secrets.
_REFERENCE = re.compile(
    r"""\$(?:\w+\Z|[({]) | [<{(] | \[(?!masked:) | [&*:@]\w+\Z | %\w+%\Z | %\(?\w*\)?[sdr]\Z
    | !(?:Ref|Sub|vault|env)\b | @?[A-Za-z_][\w.:]*[(\[] | \w+(?:::|->)\w+
    | (?:process|os|self|this|cls|env|import|secrets?|config|settings|vars?|req|args|opts|options)
      \??[.\[]
    | [A-Za-z_]+(?:\??\.[A-Za-z_]+)+\d?\Z | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z
    | [A-Za-z_][\w.]*(?:Key|Token|Secret|Credential|Password|Auth)[A-Za-z]*\Z | \#[0-9a-fA-F]{3,8}\Z
    | (?:arn|op|vault|ref|env|file|ssm|kms|keyring|sha\d{1,3}|md5):""",
    re.VERBOSE,
)
_FILE = re.compile(
    r"[\w./~-]+\."
    r"(?:pem|key|crt|json|ya?ml|toml|ini|txt|env|py|pyi|tsx?|jsx?|go|rs|rb|java|kt|sh|md)\Z"
)

# Parts of names that hold digits: versions, numbers with a unit, algorithms, names like s3 and k8s.
_TECHNICAL = re.compile(
    r"v?\d{1,4}[a-z]?|[a-z]\d{1,2}[a-z]?"
    r"|\d+(?:ms|min|hr|days?|kb|mb|gb|tb|px|r?em|v[hw]|[cm]m|pt|dpi|fps|k?hz|bits?|bytes?|chars?|x"
    r"|st|nd|rd|th)|(?:\d{0,2}x|x\d{1,2})?(?:small|medium|large)"
    r"|(?:sha|md|rsa|aes|secp|ed|curve|utf|base|o?auth|http|ipv|argon|pbkdf|bcrypt|blake|crc|des|ec"
    r"|es|rs|hs|ps|web|win|arm|amd|aws|py|python|node|int|uint|float|tls|ssl|mp|iso|rfc|json|xml|wpa)"
    r"\d{1,5}(?:url|id|ctr|gcm|cbc|pss|k1|r1|[a-z])?",
    re.IGNORECASE,
)

_VERSIONED = re.compile(r"[A-Za-z]{2,20}\d{1,3}(?:\.\d{1,3}){1,2}")

# Words that are said of a password, or stand in its place in a schema.
_STATES = frozenset(
    (
        *("required", "optional", "mandatory", "present", "missing", "available", "nullable"),
        *("enabled", "disabled", "hidden", "protected", "encrypted", "hashed", "salted"),
        *("incorrect", "invalid", "expired", "confirmed", "changed", "unchanged", "forgotten"),
        *("generated", "automatic", "anonymous", "username", "bearer", "refresh", "access"),
        *("authentication", "authorization", "environment", "development", "production"),
        *("postgres", "postgresql"),
    )
)
# Words that are said of nothing else: those that people choose most.
_COMMON = frozenset(
    (
        *("letmein", "qwerty", "qwertyuiop", "qwertz", "asdfgh", "asdfghjkl", "zxcvbnm"),
        *("iloveyou", "opensesame", "swordfish", "changeit"),
    )
)
_LABEL_END = re.compile(
    r"(?:field|type|str|string|input|schema|encoder|manager|provider|service)\Z"
)
_GRAMMAR = re.compile(
    r"\b(?:the|an?|to|is|are|must|should|never|not|for|with|and|or|your|this|from|has|have|will|can"
    r"|if|in|of|on|at|be|by|it|please|enter|least)\b"
)


def is_secret(value: str, *, strong: bool) -> bool:
    """Decide whether a value that stands where a secret may stand is one.

    `strong`: the place hardly ever holds anything else (a password, a variable that is exported).
    """
    if len(value) < (4 if strong else 6) or " " in value:
        return False
    # What it could be instead is asked last: most values have nothing of a secret to begin with.
    return _looks_secret(value, strong=strong) and not (
        is_placeholder(value) or is_reference(value) or _EMAIL.fullmatch(value)
    )


def _looks_secret(value: str, *, strong: bool) -> bool:
    if _UUID.fullmatch(value):
        return True
    if not _LETTER.search(value):
        return strong and bool(_NUMBERS.fullmatch(value))
    if strong and _BASE64.fullmatch(value) and not len(value) % 4:
        return True
    if not DIGIT.search(value):
        marked = strong and len(value) >= 6 and _MARK.search(value)
        return bool(marked and _INNER_MARK.search(value))
    if is_name(value):
        return strong and _ends_like_a_password(value)
    return strong or _is_random(value)


def is_lone_password(value: str, *, chars_min: int) -> bool:
    """Decide whether letters alone are a password (`letmeinnow`), or words that speak of one."""
    if len(value) < chars_min or _NO_WORD.search(value):
        return False
    spaced = " " in value
    words = value.split(" ") if spaced else _SEPARATORS.split(value)
    if not all(map(str.isalpha, words)) or is_placeholder(value):
        return False
    if spaced:
        return 4 <= len(words) <= 24 and value.islower() and not _GRAMMAR.search(value)
    if len(words) > 1:
        return len(words) >= 4 and not KEYWORD.search(value)
    lowered = value.lower()
    if lowered in _STATES or _LABEL_END.search(lowered):
        return False
    return value.islower() or value.isupper() or not KEYWORD.search(value)


def is_common(value: str) -> bool:
    """Tell a word that is known everywhere for being somebody's password."""
    return value.lower() in _COMMON


def is_placeholder(value: str) -> bool:
    """Tell `changeme`, `****` and `your-key` from a secret."""
    return bool(_PLACEHOLDER.fullmatch(value)) or is_filler(value)


def is_filler(value: str) -> bool:
    """Tell whether a part of `value` says that it is not real: `sk-xxxxxxxx`, `ghp_your_token`."""
    return bool(_FILLER.search(value))


def is_reference(value: str) -> bool:
    """Tell `$TOKEN`, `os.environ[...]`, `/run/secrets/db2` or `TOKEN_V2` from a secret."""
    return bool(_REFERENCE.match(value) or _FILE.match(value) or _is_path(value))


def is_name(value: str) -> bool:
    """Tell `base64-encoded` or `db-credentials-v1` from a secret: words, numbers with a sense."""
    if _VERSIONED.fullmatch(value):
        return True
    parts = filter(None, _SEPARATORS.split(value))
    return all(part.isalpha() or bool(_TECHNICAL.fullmatch(part)) for part in parts)


def trimmed(value: str) -> str:
    """Return `value` without the punctuation and brackets of the sentence it stands in."""
    while value:
        last = value[-1]
        opener = {")": "(", "]": "[", "}": "{", ">": "<"}.get(last, "")
        if last in ".,;:" or (opener and value.count(opener) < value.count(last)):
            value = value[:-1]
        elif value.endswith("**"):
            value = value[:-2]
        else:
            break
    return value


def _is_path(value: str) -> bool:
    """Tell `/run/secrets/db2` from a secret in base64 that happens to have slashes."""
    if "/" not in value or "+" in value or "=" in value:
        return False
    parts = [part for part in value.removeprefix("~").split("/") if part]
    return bool(parts) and all(part.islower() or is_name(part) for part in parts)


def _ends_like_a_password(value: str) -> bool:
    """Tell `blue-horse-42` from `base64-encoded` and `32-bytes`."""
    words = _SEPARATORS.split(value)
    return len(value) >= 8 and len(words) > 1 and words[0].isalpha() and words[-1].isdecimal()


def _is_random(value: str) -> bool:
    """Tell what somebody generated from a variable with a number at its end."""
    if re.fullmatch(r"[A-Za-z_]+\d{1,2}", value) and KEYWORD.search(value):
        return False
    many_digits = len(DIGIT.findall(value)) >= 2
    return many_digits or len(value) >= 20 or bool(_INNER_MARK.search(value))
