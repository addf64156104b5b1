"""Where do programs take secrets? Arguments, lines of their files, statements given to them.

A row is a judge, triggers and a pattern, as in `secret_places`. What stands there is hardly ever
anything but a secret; but sentences name options too (`redis-cli -a is kept in the history`), so
that a word without a digit counts only where a command goes on, or ends.
"""

import re
from typing import Final

from yaadwatch.core.secret_values import (
    DIGIT,
    Judge,
    Judgement,
    is_common,
    is_lone_password,
    is_secret,
    trimmed,
)

_LONE_CHARS_MIN: Final = 6
_PROGRAMS_WITH_USERS: Final = re.compile(
    r"\b(?:git|docker|podman|nerdctl|kubectl|chown|date|sort|systemd-run|useradd|usermod)\b[^\n|;&]*\Z"
)
"""These have an option `-u` after which no password stands."""
_COMMAND_GOES_ON: Final = re.compile(
    r"[\"'`@]|[ \t]*(?:\n|\Z|[;|&)`]|\\\n)|[ \t]+(?:--?[A-Za-z]|https?://|[\w.-]+@|[/<>])"
)
_SAID_OF_OPTIONS: Final = frozenset(
    (
        *("option", "options", "argument", "arguments", "parameter", "parameters", "switch"),
        *("prompt", "prompts", "string", "command", "setting", "settings", "instead", "always"),
        *("before", "without", "please", "twice", "ignored", "deprecated", "removed", "omitted"),
        *("interactive", "interactively"),
    )
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


def argument(found: re.Match[str]) -> Judgement | None:
    """Judge what a program takes as a password on its command line."""
    secret = trimmed(found["secret"])
    start, end = found.start("secret"), found.start("secret") + len(secret)
    if _OTHER_USE.fullmatch(secret):
        return None
    lone = is_lone_argument(secret, found.string, end)
    return ("password", start, end) if lone or is_secret(secret, strong=True) else None


def _attached(found: re.Match[str]) -> Judgement | None:
    """Judge `-pX`: nothing but a password is given so, though other options may be named there."""
    secret = trimmed(found["secret"])
    start = found.start("secret")
    if secret.partition("=")[0].lower() in _LONG_OPTIONS:
        return None
    if is_lone_password(secret, chars_min=_LONE_CHARS_MIN):
        return "password", start, start + len(secret)
    return argument(found)


def _users_argument(found: re.Match[str]) -> Judgement | None:
    """Judge `-u user:X`, which means something else to some programs."""
    before = found.string[max(0, found.start() - 80) : found.start()]
    if _PROGRAMS_WITH_USERS.search(before):
        return None
    return argument(found)


def _with_digit(found: re.Match[str]) -> Judgement | None:
    """Judge where words stand as often: only what has a digit or is known everywhere."""
    secret = trimmed(found["secret"])
    return argument(found) if DIGIT.search(secret) or is_common(secret) else None


def _hash(found: re.Match[str]) -> Judgement | None:
    return "password-hash", *found.span("secret")


def _code(found: re.Match[str]) -> Judgement | None:
    """Judge a list of codes that are good once each: one has a digit."""
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

# fmt: off
ARGUMENTS: Final[tuple[tuple[Judge, str, str], ...]] = (
    (argument, "sshpass", rf"sshpass\s{{1,3}}-p\s{{0,3}}{_IT}"),
    (argument, "redis-cli requirepass masterauth", rf"""
        (?:redis-cli[ ][^\n|;]{{0,80}}?-a|requirepass|masterauth)[ ]{{1,3}}{_IT}"""),
    (argument, "storepass keypass",
     rf"-(?:src|dest|new)?(?:store|key)pass(?:wd)?[ ]{{1,3}}{_IT}"),
    (argument, "pass:", rf"""-pass(?:in|out)?[ ]{{1,3}}["']?pass:{_IT}"""),
    (argument, "openssl", rf"\bopenssl[ ]enc{_OPTIONS}(?-i:-[kK])[ ]{_IT}"),
    (argument, "zip 7z", rf"""
        \b(?:7|un)?zip[ ][^\n|;]{{0,80}}?(?-i:-P)[ ]{{0,3}}{_IT}"""),
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
    (_attached, "mysql mariadb",
     rf"\b(?:mysql|mariadb)(?:-?dump|-?admin|sh)?{_OWN_OPTIONS}(?-i:-p){_IT}"),
    (argument, "login", rf"\blogin{_OWN_OPTIONS}(?-i:-p)[ ]{{1,3}}{_IT}"),
    (argument, "mongo",
     rf"\bmongo(?:sh|dump|restore|export|import)?{_OWN_OPTIONS}(?-i:-p)[ ]{{1,3}}{_IT}"),
    (argument, "ldap", rf"\bldap[a-z]{{3,8}}{_OPTIONS}(?-i:-w)[ ]{{1,3}}{_IT}"),
    (argument, "sqlcmd bcp mosquitto_",
     rf"\b(?:sqlcmd|bcp|mosquitto_[ps]ub){_OPTIONS}(?-i:-P)[ ]{{0,3}}{_IT}"),
    (argument, "sqlplus",
     r"\bsqlplus[ ](?:-\w{1,8}[ ]){0,4}[\w.-]{1,60}/(?P<secret>[^\s/@\"'`]{4,200})@"),
    (argument, "pscp plink psftp", rf"\b(?:pscp|plink|psftp){_OPTIONS}-pw[ ]{{1,3}}{_IT}"),
    (argument, "htpasswd", rf"""\bhtpasswd[ ](?:-\w{{1,8}}[ ]){{0,4}}(?-i:-\w{{0,6}}b\w{{0,6}})[ ]
        (?:-\w{{1,8}}[ ]){{0,4}}(?:[\w./~-]{{1,80}}[ ])?[\w.@-]{{1,40}}[ ]{_IT}"""),
    (argument, "smbclient", rf"""\bsmbclient{_OPTIONS}-U[ ]?["']?[^\s%"']{{1,60}}%{_IT}"""),
    (argument, "lftp", rf"\blftp{_OPTIONS}-u[ ]{{1,3}}[^\s,]{{1,60}},{_IT}"),
    (argument, "xfreerdp mstsc", rf"\b(?:xfreerdp|mstsc){_OPTIONS}/p:{_IT}"),
    (argument, "wpa_passphrase", rf"\bwpa_passphrase[ ](?:\"[^\"\n]{{1,40}}\"|\S{{1,40}})[ ]{_IT}"),
    (argument, "\\\\", rf"\bnet[ ]use[ ](?:[A-Z]:[ ])?\\\\\S{{1,120}}[ ](?!/){_IT}"),
    (_with_digit, "/add", rf"\bnet[ ]user[ ][\w.-]{{1,40}}[ ](?!/){_IT}[ ]/add"),
    (_with_digit, "config", rf"""\bconfig(?:ure)?[ ]set[ ](?:--\w{{1,20}}[ ])?
        \S{{0,120}}?(?:password|token|secret|_auth|access_key)[ =]{_IT}"""),
    (_with_digit, "authtoken", rf"\bngrok[ ](?:config[ ])?(?:add-)?authtoken[ ]{_IT}"),
    (_with_digit, "ssh-keygen", rf"\bssh-keygen{_OPTIONS}(?-i:-[NP])[ ]{_IT}"),
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
    (_hash, "htpasswd", r"""(?<![^\s"'`])[\w.@-]{1,40}:(?=[./\w]{0,12}\d)(?=[./\w]{0,12}[A-Z])
        (?P<secret>[./A-Za-z0-9]{13})(?![^\s"'`])"""),
    # Statements.
    (argument, "identified", rf"""
        (?:(?-i:IDENTIFIED)
        |\b(?:create|alter)[ ]user[ ](?:if[ ](?:not[ ])?exists[ ])?\S{{1,80}}[ ]identified
        |\bgrant[ ][^\n;]{{1,120}}?[ ]to[ ]\S{{1,80}}[ ]identified)
        [ ](?:with[ ]\w{{1,40}}[ ])?by[ ]{{1,3}}{_IT}"""),
    (argument, "password", rf"""\bset[ ]password[ ](?:for[ ]\S{{1,80}}[ ])?(?:=|to)[ ]{{0,2}}
        (?:password\()?["']{_IT}"""),
    # Codes that stand for a second factor.
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
"""Judge, triggers (one of them, lower case, is in the text), pattern (verbose, any case)."""
# fmt: on
