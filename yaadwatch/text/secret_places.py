"""Find secrets by their place: after a name (`PASSWORD=`), in a header, URI, argument or armour.

A row is a check, triggers and a pattern with a group `secret`; the check returns the kind and the
span of the secret, or None. Patterns take time linear in the text: repeats are bounded, or run over
characters in which no other match starts.

Arguments and statements of programs that take secrets hardly ever hold anything else; but sentences
name options too (`redis-cli -a is kept in the history`), so a word without a digit counts only
where a command goes on, or ends.
"""

import re
from collections.abc import Iterator
from typing import Final

from yaadwatch.text.secret_shapes import (
    DIGIT,
    Check,
    SecretKind,
    is_common,
    is_drawn,
    is_filler,
    is_lone_password,
    is_name,
    is_placeholder,
    is_reference,
    is_secret,
    trimmed,
)
from yaadwatch.text.words import word_set

_LONE_CHARS_MIN: Final = 6
_PROGRAMS_WITH_USERS: Final = re.compile(
    r"\b(?:git|docker|podman|nerdctl|kubectl|chown|date|sort|systemd-run|useradd|usermod)\b[^\n|;&]*\Z"
)
"""Programs whose option `-u` takes no password."""
_COMMAND_GOES_ON: Final = re.compile(
    r"[\"'`@]|[ \t]*(?:\n|\Z|[;|&)`]|\\\n)|[ \t]+(?:--?[A-Za-z]|https?://|[\w.-]+@|[/<>])"
)
_SAID_OF_OPTIONS: Final = word_set(
    """
    option options argument arguments parameter parameters switch prompt prompts string command
    setting settings instead always before without please twice ignored deprecated removed omitted
    interactive interactively
    """
)
_LONG_OPTIONS: Final = frozenset(("rotocol", "assword", "lugin-dir", "refix", "ort", "ager"))
_OTHER_USE: Final = re.compile(r"\d+(?::\d+)?|[\w.-]*:\d+(?::\d+)?")
"""A port, a user's number, what is forwarded where."""


def is_lone_argument(value: str, text: str, end: int) -> bool:
    """Decide whether letters alone, behind an option and up to `end`, are a password."""
    if is_common(value):
        return True
    if value.lower() in _SAID_OF_OPTIONS:
        return False
    lone = is_lone_password(value, chars_min=_LONE_CHARS_MIN)
    return lone and bool(_COMMAND_GOES_ON.match(text, end))


def argument(found: re.Match[str]) -> SecretKind | None:
    """Check the password argument of a program."""
    secret = trimmed(found["secret"])
    start, end = found.start("secret"), found.start("secret") + len(secret)
    if _OTHER_USE.fullmatch(secret):
        return None
    lone = is_lone_argument(secret, found.string, end)
    return ("password", start, end) if lone or is_secret(secret, strong=True) else None


def _attached(found: re.Match[str]) -> SecretKind | None:
    """Check `-pX`: only a password is written so, though other options may share the form."""
    secret = trimmed(found["secret"])
    start = found.start("secret")
    if secret.partition("=")[0].lower() in _LONG_OPTIONS:
        return None
    if is_lone_password(secret, chars_min=_LONE_CHARS_MIN):
        return "password", start, start + len(secret)
    return argument(found)


def _users_argument(found: re.Match[str]) -> SecretKind | None:
    """Check `-u user:X`, which means something else to some programs."""
    before = found.string[max(0, found.start() - 80) : found.start()]
    if _PROGRAMS_WITH_USERS.search(before):
        return None
    return argument(found)


def _with_digit(found: re.Match[str]) -> SecretKind | None:
    """Check a place that often holds words: only values with a digit, or common passwords."""
    secret = trimmed(found["secret"])
    return argument(found) if DIGIT.search(secret) or is_common(secret) else None


def _code(found: re.Match[str]) -> SecretKind | None:
    """Check a list of codes that are good once each: one has a digit."""
    if not DIGIT.search(found["secret"]):
        return None
    return "credential", *found.span("secret")


_IT = r"""["']?(?P<secret>[^\s"'`]{4,200})"""
_OPTIONS = r"[ ](?:[^\n|;`]{0,80}?[ ])?"
# Of a program whose name is a word of sentences, too: one word at most, then options, so that
# `the login tests run with x -p y` speaks of x.
_WORD = r"""(?:"[^"\n]{0,80}"|'[^'\n]{0,80}'|[^\s|;`"'-][^\s|;`]{0,79})[ ]{1,3}"""
_OWN_OPTIONS = (
    rf"[ ]{{1,3}}(?:{_WORD})??(?:-[^\s|;`]{{1,80}}[ ]{{1,3}}(?:{_WORD}){{0,2}}?){{0,12}}?"
)


def _option(
    triggers: str, program: str, option: str, *, options: str = _OPTIONS, check: Check = argument
) -> tuple[Check, str, str]:
    """Return the row of a program that takes a password behind an option."""
    return check, triggers, rf"\b{program}{options}(?-i:{option}){_IT}"


# fmt: off
ARGUMENTS: Final[tuple[tuple[Check, str, str], ...]] = (
    (argument, "sshpass", rf"sshpass\s{{1,3}}-p\s{{0,3}}{_IT}"),
    (argument, "redis-cli requirepass masterauth", rf"""
        (?:redis-cli[ ][^\n|;]{{0,80}}?-a|requirepass|masterauth)[ ]{{1,3}}{_IT}"""),
    (argument, "storepass keypass",
     rf"-(?:src|dest|new)?(?:store|key)pass(?:wd)?[ ]{{1,3}}{_IT}"),
    (argument, "pass:", rf"""-pass(?:in|out)?[ ]{{1,3}}["']?pass:{_IT}"""),
    _option("openssl", "openssl[ ]enc", "-[kK][ ]"),
    _option("zip 7z", "(?:7|un)?zip", "-P[ ]{0,3}"),
    (argument, "chpasswd", r"""
        ["']?[\w.-]{1,40}["']?:["']?(?P<secret>[^\s"'|]{4,200})["']?
        [ ]{0,3}\|[ ]{0,3}(?:sudo[ ])?chpasswd"""),
    (argument, "sudo --password-stdin passwd", r"""\becho[ ]{1,3}(?:-n[ ])?["']?
        (?P<secret>[^\s"'|]{4,200})["']?[ ]{0,3}\|[ ]{0,3}
        (?:sudo[ ]{1,3}(?:-\w{1,8}[ ]{1,3}){0,4}?(?-i:-k?S)\b
        |[^\n|;]{0,80}?(?:--password-|passwd[ ]--)stdin\b)"""),
    (_with_digit, "--stdin", r"""\becho[ ]{1,3}(?:-n[ ])?["']?
        (?P<secret>[^\s"'|]{4,200})["']?[ ]{0,3}\|[ ]{0,3}[^\n|;]{0,80}?--stdin\b"""),
    (argument, "jdbc:oracle", r"jdbc:oracle:\w{1,10}:[^\s/:@]{1,60}/(?P<secret>[^\s@]{4,200})@"),
    _option("mysql mariadb", "(?:mysql|mariadb)(?:-?dump|-?admin|sh)?", "-p",
            options=_OWN_OPTIONS, check=_attached),
    _option("login", "login", "-p[ ]{1,3}", options=_OWN_OPTIONS),
    _option("mongo", "mongo(?:sh|dump|restore|export|import)?", "-p[ ]{1,3}", options=_OWN_OPTIONS),
    _option("ldap", "ldap[a-z]{3,8}", "-w[ ]{1,3}"),
    _option("sqlcmd bcp mosquitto_", "(?:sqlcmd|bcp|mosquitto_[ps]ub)", "-P[ ]{0,3}"),
    (argument, "sqlplus",
     r"\bsqlplus[ ](?:-\w{1,8}[ ]){0,4}[\w.-]{1,60}/(?P<secret>[^\s/@\"'`]{4,200})@"),
    _option("pscp plink psftp", "(?:pscp|plink|psftp)", "-pw[ ]{1,3}"),
    (argument, "htpasswd", rf"""\bhtpasswd[ ](?:-\w{{1,8}}[ ]){{0,4}}(?-i:-\w{{0,6}}b\w{{0,6}})[ ]
        (?:-\w{{1,8}}[ ]){{0,4}}(?:[\w./~-]{{1,80}}[ ])?[\w.@-]{{1,40}}[ ]{_IT}"""),
    _option("smbclient", "smbclient", r"""-U[ ]?["']?[^\s%"']{1,60}%"""),
    _option("lftp", "lftp", r"-u[ ]{1,3}[^\s,]{1,60},"),
    _option("xfreerdp mstsc", "(?:xfreerdp|mstsc)", "/p:"),
    (argument, "wpa_passphrase", rf"\bwpa_passphrase[ ](?:\"[^\"\n]{{1,40}}\"|\S{{1,40}})[ ]{_IT}"),
    (argument, "\\\\", rf"\bnet[ ]use[ ](?:[A-Z]:[ ])?\\\\\S{{1,120}}[ ](?!/){_IT}"),
    (_with_digit, "/add", rf"\bnet[ ]user[ ][\w.-]{{1,40}}[ ](?!/){_IT}[ ]/add"),
    (_with_digit, "config", rf"""\bconfig(?:ure)?[ ]set[ ](?:--\w{{1,20}}[ ])?
        \S{{0,120}}?(?:password|token|secret|_auth|access_key)[ =]{_IT}"""),
    (_with_digit, "authtoken", rf"\bngrok[ ](?:config[ ])?(?:add-)?authtoken[ ]{_IT}"),
    _option("ssh-keygen", "ssh-keygen", "-[NP][ ]", check=_with_digit),
    (_users_argument, "-u --user --auth",
     r"""(?<!\S)(?:-u|--user|--auth)[ =]{0,2}["']?[^\s:"'$]{1,60}:(?P<secret>[^\s"']{4,200})"""),
    # Files that programs read.
    (argument, "password", rf"""
        (?:machine[ ][\w-]{{1,60}}(?:\.[\w-]{{1,60}})+|(?<!\S)default)\s{{1,8}}
        login\s{{1,8}}\S{{1,60}}\s{{1,8}}password\s{{1,8}}{_IT}"""),
    (_with_digit, "password", r"login\s{1,8}\S{1,60}\s{1,8}password\s{1,8}(?P<secret>\S{4,200})"),
    (_with_digit, "password", rf"""\buser(?:name)?[ ][\w.@-]{{1,60}},?[ ](?:(?:with|and)[ ])?
        (?:the[ ])?password[ ]{_IT}"""),
    (argument, ":*: :5432: :5433: :5434: :6432: :6543: pgpass", r"""
        (?<![^\s"'`])[\w.*-]{1,80}:(?:\d{4,5}|\*):(?!\d{1,9}:)[\w.*-]{1,60}:
        [\w.@+-]{1,60}:(?P<secret>[^\s:"'`]{4,200})(?=["'`.,;]{0,2}(?:\s|\Z))"""),
    (lambda found: ("password-hash", *found.span("secret")), "htpasswd",
     r"""(?<![^\s"'`])[\w.@-]{1,40}:(?=[./\w]{0,12}\d)(?=[./\w]{0,12}[A-Z])
        (?P<secret>[./A-Za-z0-9]{13})(?![^\s"'`])"""),
    # Statements.
    (argument, "identified", rf"""
        (?:(?-i:IDENTIFIED)
        |\b(?:create|alter)[ ]user[ ](?:if[ ](?:not[ ])?exists[ ])?\S{{1,80}}[ ]identified
        |\bgrant[ ][^\n;]{{1,120}}?[ ]to[ ]\S{{1,80}}[ ]identified)
        [ ](?:with[ ]\w{{1,40}}[ ])?by[ ]{{1,3}}{_IT}"""),
    (argument, "password", rf"""\bset[ ]password[ ](?:for[ ]\S{{1,80}}[ ])?(?:=|to)[ ]{{0,2}}
        (?:password\()?["']{_IT}"""),
    # Recovery codes that replace a second factor.
    (_code, "code", r"""
        \b(?:backup|recovery|scratch|rescue|2fa)[ ]codes?["'*`]{0,3}[ ]?(?:[:=]|are|is)\s{1,3}
        (?P<secret>[a-z0-9]{4,10}-[a-z0-9]{4,10}(?:[\s,;]{1,3}[a-z0-9]{4,10}-[a-z0-9]{4,10}){0,30})\b"""),
    (_code, "otp 2fa mfa", r"""
        \b(?:t?otp|2fa|mfa)[ ](?:secret|seed|key)["'*`]{0,3}[ ]?(?:[:=]|is)?[ ]{0,2}
        ["'`]?(?P<secret>(?-i:[A-Z2-7]{16,128}))(?![A-Za-z0-9])"""),
    (_code, "sessid sessionid connect.sid", r"""
        (?:phpsessid|jsessionid|asp\.net_sessionid|connect\.sid)
        ["']?[=:][ ]?["']?(?P<secret>[\w.%:+/-]{16,300})"""),
)
"""Check, triggers (one of them, lower case, is in the text), pattern (verbose, any case)."""
# fmt: on


_VALUE_CHARS: Final = 200
"""So much of a value is looked at before it is known to be secret; then all of it is masked."""

# Names are found by these words (lower case); `_NAME` and `_SPOKEN` are tried at each.
_CORE = re.compile(
    "pass|pwd?|pin|psk|kennwort|contrase|senha|пароль|密码|密碼|secret|token|credential|key"
)
_KEY_OF_WHAT = re.compile(
    r"(?:api|access|account|admin|app|auth|client|consumer|deploy|encryption|hmac|jwt|license"
    r"|master|private|secret|service|session|shared|signing|storage|subscription|webhook|wi-?fi|wlan|wep"
    r"|wpa\d?)[_ -]?\Z",
    re.IGNORECASE,
)
# The text before a name with a harmless value, or before a name within an address.
_HARMLESS = re.compile(
    r"(?:next|page|paging|starting|continuation|change|cancellation|stop|pad|special|public"
    r"|publishable|public[_-]?key)[_-]?\Z|:\d{12}:\Z|\$\{\w*\Z",
    re.IGNORECASE,
)
_IN_URI = re.compile(r"://[^\s/]{0,40}\Z")
_PASSWORD = re.compile(r"pass|pwd?|pin|psk|kennwort|contrase|senha|пароль|密[码碼]", re.IGNORECASE)

_NAME = r"""(?P<key>passw(?:or)?d|passphrase|passcode|passwd|passwort|pwd|(?<![A-Za-z])(?:psk|pw)
    |kennwort|contraseña|senha|(?<=mot[ ]de[ ])passe|пароль|密[码碼]
    |(?<![A-Za-z])pass|(?-i:(?<=[a-z])Pass)|secret|token|credential|key)
    (?:[_-]?(?:base(?:64)?|b64|hex|value|prod(?:uction)?|dev|staging|test|live|v?\d{1,2}))?"""
_SPOKEN = r"""(?P<key>pass(?:word|phrase|code|wd|wort|e)|kennwort|contraseña|senha|pin(?:[ ]code)?
    |psk|pwd?|secret|token|key)\b"""
# Between name and value: closing quotes, then `=`, `:`, `=>`, `: str =`, ` value=`, `|` in a table.
_GIVEN = r"""[\\"'`\])*]{0,4}[ \t]{0,8}
    (?P<sep>:[ \t]{0,4}[A-Za-z_][\w.]{0,30}(?:\[[\w., ]{0,30}\])?(?:[ ]?\|[ ]?\w{1,20}){0,2}
        [ \t]{1,4}=
    |[?|+]{0,2}:?={1,3}>?|:(?!:)|：|是|value=|\||→)[ \t*]{0,8}"""
_IS = r"""(?P<link>[^.\n:=]{0,60}?[ ](?:is|was|are|ist|es|est|to)
    (?:[ ](?:now|currently|still|(?:set|changed|reset|rotated|updated)[ ]to))?:?[ ]
    |[ ](?:for|of|on|in|at|\()[^.\n:=]{0,50}:[ ]{1,2}|(?-i:(?<=PIN))[:=][ ]?)"""
# A value without quotes ends at a space, at the next argument, and at an escaped end of line.
_PLAIN = r"""[^\s"'`,;&<\\]"""  # so many of these are the beginning of a run that is read faster
_RUN = rf"""(?:{_PLAIN}|\\(?![nrt"'`])|<(?!/)|&(?![\w.-]{{1,30}}=)
    |[,;](?![\s,;]|\Z|[\w.-]{{1,30}}[ ]?[=:]))"""
_VALUE = rf"""(?:[bruf@]{{1,2}}(?=["']))?
    (?:\\?(?P<quote>["'`])(?=(?:(?!(?P=quote))[^\n]){{1,300}}(?P=quote)))?["'`]?
    (?P<secret>(?(quote)(?:(?!\\?(?P=quote))[^\n]){{1,300}}
        |(?:{_PLAIN}{{{_VALUE_CHARS}}}|{_RUN}{{1,{_VALUE_CHARS}}}+)))"""

_REST = re.compile(_RUN + "*", re.VERBOSE)
_SIZE_DIGITS_MAX: Final = 5
_WHAT_PASSES = re.compile(r"(?:tests?|checks?|cases|specs|suites?|all|\d)[ ]\Z", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?\w*\Z")
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
# `pw` is short for much else; of the others it is not known what is said besides passwords.
_WITH_DIGIT = re.compile(r"pw|passe|пароль|密[码碼]", re.IGNORECASE)
_LETTER_AND_DIGIT = re.compile(r"\A(?=\S*\d)(?=\S*[A-Za-z])")
_FOLDER = re.compile(r"src|libs?|apps?|tests?|docs?|pkg|packages|cmd|internal|config|modules")
_TYPE = re.compile(r"(?:[A-Z][a-z]+\d{0,2}|V\d{1,2}|\.){2,12}")
"""Humps of a name in code: `Page2View`, `Models2.User`."""
_STRANGE = re.compile(r"\A(?=\S*\d)(?=\S*[A-Z!#$%^&*?])(?=\S*[a-z])")
# No space is needed between a value and the words after it: `密码是6到20位`.
_CHINESE = re.compile("[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]")
_PORT = re.compile(r"\d{1,5}[?#,]")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")
_KEY_BODY = re.compile(r"(?=[A-Za-z+/]{0,60}\d)[A-Za-z0-9+/]{24}")
_KEY_LINES = re.compile(
    r"(?:(?:\s|\\[nr]){0,4}(?:[A-Za-z][A-Za-z-]{2,20}: [^\n]{0,100}|[A-Za-z0-9+/=]{24,}))*"
    r"(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/]{0,63}={1,2})?"
)


def names(text: str, lowered: str) -> Iterator[int]:
    """Yield where a name begins that secrets are given to; `lowered` is as long as `text`."""
    for core in _CORE.finditer(lowered):
        start = core.start()
        if core[0] != "key" or _KEY_OF_WHAT.search(text, max(0, start - 16), start):
            yield start


def secret_kind_of_member(name: str, value: str) -> str | None:
    """Return the kind of secret that `value` is under this name, or None."""
    for start in names(name, name.lower()):
        found = _WHOLE_NAME.match(name, start)
        if found and not _HARMLESS.search(name, 0, start):
            password = bool(_PASSWORD.search(found["key"]))
            lone = password and is_lone_password(value, chars_min=8)
            return _kind(found["key"]) if lone or is_secret(value, strong=password) else None
    return None


def token_check(kind: str) -> Check:
    """Return a check that takes everything but a placeholder for a secret of this kind."""

    def check(found: re.Match[str]) -> SecretKind | None:
        return None if is_filler(found["secret"]) else (kind, *found.span("secret"))

    return check


def _kind(name: str) -> str:
    return "password" if _PASSWORD.search(name) else "credential"


def _armour(found: re.Match[str]) -> SecretKind | None:
    """Check the text between armour lines: a sentence that only names them holds no key."""
    if not _KEY_BODY.search(found["secret"]):
        return None
    if found["end"]:
        return "private-key", *found.span()
    lines = _KEY_LINES.match(found.string, found.start("secret"))
    return ("private-key", found.start(), lines.end()) if lines and lines[0] else None


def web_token(found: re.Match[str]) -> SecretKind | None:
    """Check a run that begins like a JSON web token: one has a head and a body at least."""
    return ("jwt", *found.span()) if "." in found["secret"] else None


def _user_and_password(found: re.Match[str]) -> SecretKind | None:
    """Check `scheme://user:password@host`: a password equal to the user's name is a default."""
    secret = found["secret"]
    if secret == found["user"] or is_placeholder(secret) or is_reference(secret):
        return None
    return None if _PORT.match(secret) else ("uri-password", *found.span("secret"))


def _member(found: re.Match[str]) -> SecretKind | None:
    """Check the value of a variable whose name is on a line of its own."""
    kind = secret_kind_of_member(found["key"], found["secret"])
    return None if kind is None else (kind, *found.span("secret"))


def _pair(found: re.Match[str]) -> SecretKind | None:
    """Check `admin / X`: X is as often a path, so it must look like a password."""
    secret = trimmed(found["secret"])
    start = found.start("secret")
    if secret.startswith("/") or not is_secret(secret, strong=True):
        return None
    path = found["between"] == "/"
    if path and (_FOLDER.fullmatch(found["user"]) or _TYPE.fullmatch(secret)):
        return None
    looks = _STRANGE if path else _LETTER_AND_DIGIT
    return ("password", start, start + len(secret)) if looks.match(secret) else None


def _header(found: re.Match[str]) -> SecretKind | None:
    """Check `Bearer X`: without `Authorization:` before it, and if it is a word, X is no secret."""
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


def _assignment(found: re.Match[str]) -> SecretKind | None:
    """Check a value by its name and its form: `PASSWORD=x` is stronger than `token: x`."""
    name, separator = found["key"], found["sep"]
    start, end = found.span("secret")
    quoted = found["quote"] is not None or separator == ">"
    secret = found["secret"] if quoted else trimmed(found["secret"])
    if not quoted and _CHINESE.search(f"{name}{separator}"):
        words = _CHINESE.search(found["secret"])
        if words is not None:
            end = start + words.start()
            secret = trimmed(found.string[start:end])
    before = found.string[max(0, found.start() - 48) : found.start()]
    # A number may be a width, or count tests.
    is_count = secret.isdecimal() and (
        len(secret) <= _SIZE_DIGITS_MAX
        if name.lower() == "pw"
        else name == "pass"
        and not (_LINE_END.match(found.string, end) and not _WHAT_PASSES.search(before))
    )
    if is_count or (separator == "|" and _VARIABLE.search(before)):
        return None  # `echo $PASS | program`
    password = bool(_PASSWORD.search(name))
    exported = name.isupper() and separator.endswith("=")
    if not is_secret(secret, strong=password or exported):
        ends_line = bool(_LINE_END.match(found.string, start + len(secret))) and secret.islower()
        # How long letters alone must be to count as a secret; else they never do.
        if password:
            chars_min = 6 if exported else 8 if quoted or ends_line else 0
        else:
            chars_min = 10 if exported else 16 if quoted else 0
        may_be_letters = chars_min and not _WITH_DIGIT.fullmatch(name)
        lone = bool(may_be_letters) and is_lone_password(secret, chars_min=chars_min)
        if password and before.endswith("-"):
            lone = lone or is_lone_argument(secret, found.string, start + len(secret))
        if not lone and not (password and is_common(secret)):
            return None
    if _HARMLESS.search(before) or _IN_URI.search(before):
        return None
    if not quoted and end - start == _VALUE_CHARS:
        rest = _REST.match(found.string, end)
        secret = trimmed(found.string[start : rest.end() if rest else end])
    return _kind(name), start, start + len(secret)


def _beside_id(found: re.Match[str]) -> SecretKind | None:
    """Check what is as long as the secret of an AWS key: a commit or a path has no such mixture."""
    secret = found["secret"]
    near = not any(map(str.isalnum, found["between"]))
    mixed = any(map(str.isupper, secret)) and any(map(str.islower, secret))
    good = near or (mixed and DIGIT.search(secret) and not is_reference(secret))
    return ("aws-key", *found.span("secret")) if good else None


def _phrase(found: re.Match[str]) -> SecretKind | None:
    """Check words to the end of the line: a sentence has words of grammar, a phrase has none."""
    if not is_lone_password(found["secret"], chars_min=12):
        return None
    if not found["own"] and found["secret"].count(" ") < 7:
        return None
    return "password", *found.span("secret")


def _prose(found: re.Match[str]) -> SecretKind | None:
    """Check `the password for staging is X`: X must look like one, or be in quotes."""
    name, start = found["key"], found.start("secret")
    quoted = found["quote"] is not None
    secret = found["secret"] if quoted else trimmed(found["secret"])
    password = bool(_PASSWORD.search(name))
    first = (found["link"].split() or [""])[0]
    verbs = ("is", "was", "are", "to", "for", "of", "on", "in", "at")
    if name.lower() in ("pw", "pwd", "psk") and first not in verbs:
        good = False  # a column, a file, an argument of that name
    elif name.lower() == "pw" and secret.isdecimal():
        good = len(secret) > _SIZE_DIGITS_MAX
    elif name.lower().startswith("pin"):
        good = 4 <= len(secret) <= 8 and secret.isdecimal()
    elif found["link"].isspace():
        strange = bool(DIGIT.search(secret)) and not secret.islower() and not secret.isdecimal()
        good = (quoted or strange) and is_secret(secret, strong=True)
        good = password and (good or (quoted and is_common(secret)))
        good = good or (is_drawn(secret) and is_secret(secret, strong=True))
    else:
        lone = quoted and password and is_lone_password(secret, chars_min=6)
        may_be = not secret.isdecimal() or found["link"].strip() in ("is", "is:")
        lone = lone or (password and is_common(secret))
        good = lone or (may_be and is_secret(secret, strong=password))
    return (_kind(name), start, start + len(secret)) if good else None


def _named(check: Check, pattern: str) -> tuple[re.Pattern[str], Check]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE), check


_WHOLE_NAME = re.compile(_NAME + r"\Z", re.IGNORECASE | re.VERBOSE)

# fmt: off
NAMED: Final = (
    # `name = value`, `--name value`, `<name>value</name>`.
    _named(_assignment, _NAME + _GIVEN + _VALUE),
    _named(_assignment, rf"(?<=-){_NAME}(?P<sep>[ ]){{1,3}}{_VALUE}"),
    _named(_assignment, _NAME + r"(?P<sep>>)(?P<quote>(?!))?(?P<secret>[^<>\s]{4,200})</"),
    # Sentences: `the password is X`, `password for Y: X`, `with password X`.
    _named(_prose, r"(?<![\w.-])" + _SPOKEN + _IS + _VALUE),
    _named(_prose, r"(?<![\w.-])" + _SPOKEN + r"(?P<link>[ ])" + _VALUE),
)
"""Pattern and check; the pattern is tried where a name begins."""

PLACES: Final[tuple[tuple[Check, str, str], ...]] = (
    # Keys in armour, from the first line to the last.
    (_armour, "private", r"""-{4,5}[ ]?BEGIN[ ][A-Z0-9 ]{0,30}PRIVATE[ ]KEY(?:[ ]BLOCK)?[ ]?-{4,5}
        (?P<secret>(?:[^-]|-(?!---))*+)(?P<end>-{4,5}[ ]?END[ ][A-Z0-9 ]{0,40}-{4,5})?"""),
    (token_check("private-key"), "private-lines:",
     r"private-lines:\s{0,4}\d{1,4}\s{1,4}(?P<secret>(?:[A-Za-z0-9+/=]{1,64}\s{1,2})+)"),
    # What is sent along with requests.
    (web_token, "eyj",
     r"(?:(?<![\w-])|(?<=[^\w-]_)|(?<=\\[nrt]))(?-i:eyJ)(?P<secret>[\w-]{8,}(?:\.[\w-]+){0,4})"),
    (_user_and_password, "://",
     r"""://(?P<user>[^\s:/@"'`<>]{0,100}):(?P<secret>[^\s/"'`<>]{2,300})@(?=[\w\[.-])"""),
    (_header, "authorization bearer basic",
     r"""(?:(?P<header>authorization["'`]?\s{0,3}[:=]\s{0,3}["'`]?)
        (?:(?:bearer|basic|token|apikey|api-key|bot)[ ]{1,3})?|(?<![\w-])(?:bearer|basic)[ ]{1,3})
        (?P<secret>[A-Za-z0-9._~+/=-]{8,})"""),
    (token_check("authorization"), "_auth",
     r"""_auth[ ]{0,2}=[ ]{0,2}["']?(?P<secret>[A-Za-z0-9+/]{12,}={0,2})"""),
    (token_check("authorization"), '"auth"',
     r"""\"auth\"[ ]{0,2}:[ ]{0,2}\"(?P<secret>[A-Za-z0-9+/]{12,}={0,2})\""""),
    (token_check("cookie"), "cookie",
     r"""cookie["']?:[ ]{0,2}["']?[\w.-]{1,60}=(?P<secret>[^\s;"'<${]{12,400}
        (?:;[ ]?[\w.-]{1,60}=[^\s;"']{1,400}){0,20})"""),
    # The name of a variable, and its value in the next line.
    (_member, "value",
     r"""\bname["']?:[ ]{0,3}["']?(?P<key>[\w.-]{3,80})["']?[ ]{0,3},?\s{1,60}
        ["']?value["']?:[ ]{0,3}["']?(?P<secret>[^\s"'{}]{4,200})"""),
    (_member, "variable",
     r"""\bvariable[ ]{1,3}"(?P<key>[\w.-]{3,80})"[ ]{0,3}\{[^{}"]{0,200}
        \bdefault[ ]{0,20}=[ ]{0,3}"(?P<secret>[^\s"]{4,200})\""""),
    (_pair, "credentials creds login user/pass username/pass",
     r"""\b(?:cred(?:ential)?s|log[ ]?in|user(?:name)?/pass(?:word)?)
        (?:[ ]{0,2}[:=][ ]{0,2}|[ ](?:as|with|are)[ ])["'`]?(?P<user>[\w.@-]{2,40})["'`]?
        (?P<between>[ ]?[/:][ ]?)["'`]?
        (?P<secret>[^\s"'`]{6,100})"""),
    # The secret of 40 characters beside the id of an AWS key, whatever stands between.
    (_beside_id, "akia asia",
     r"""(?-i:A(?:KIA|SIA)[A-Z0-9]{16})
        (?P<between>["'\s,:;/|]{1,8}|[^\n]{1,200}?(?<![A-Za-z0-9/+=_-]))
        (?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=_-])"""),
    (_beside_id, "akia asia",
     r"""(?<![A-Za-z0-9/+=_-])(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=_-])
        (?P<between>[^\n]{1,100}?)(?-i:A(?:KIA|SIA)[A-Z0-9]{16})"""),
    # Words that were drawn by lot.
    (_phrase, "phrase mnemonic",
     r"""(?:(?P<own>pass[ ]?phrase)|(?:seed|recovery|backup|secret)[ ]phrase|mnemonic)["'*]{0,3}[ ]?
        (?:[:=]|is:?)[ *"'`]{1,4}(?P<secret>[a-z]{3,12}(?:[ ][a-z]{3,12}){3,23})
        (?=[*"'`.]{0,3}[ ]?(?:\n|\Z))"""),
    *ARGUMENTS,
)
"""Check, triggers (one of them, lower case, is in the text), pattern (verbose, any case)."""
# fmt: on
