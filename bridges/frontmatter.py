"""What the small header on top of an agent file says: flat keys with a word, a list or nothing.

It looks like YAML, and agents say that it is, but what people write in it is not: `globs: **/*.ts`
is an alias there, `*.ts, *.tsx` an error, and both work. So this reads lines: a key at the margin,
its value on the same line, or as a list below. Whatever is more than that stays a text, which
nobody takes for `true`, for a known word or for nothing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

Value = str | bool | tuple[str, ...] | None
Fields = Mapping[str, Value]

HEADER_CHARS_MAX: Final = 20_000
"""A longer header is not read."""

_KEY = re.compile(r"[\"']?[\w.-]+[\"']?[ \t]*:")
_LINE = re.compile(rf"{_KEY.pattern}|[\]}}]")
_FIELD = re.compile(r"(?P<quote>[\"']?)(?P<key>[\w.-]+)(?P=quote)[ \t]*:(?:[ \t]+(?P<value>.*))?")
_QUOTED = re.compile(r"(?P<quote>[\"'])(?P<text>(?:(?!(?P=quote)).)*)(?P=quote)(?:\s+#.*|\s*)")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_PART = re.compile(r"(?:\"[^\"]*\"|'[^']*'|[^,\"'])+")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}


def length(lines: Sequence[str]) -> int:
    """Return how many lines at the top of a text are a header, with its two lines of dashes."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return number + 1 if _looks_like_yaml(lines[1:number]) else 0
    return 0


def fields(lines: Sequence[str]) -> Fields | None:
    """Return what the header of a text says: nothing if it has none, None if it is damaged.

    A value is the boolean for a bare `true` or `false`, None if there is nothing, the parts of a
    list, and else its text. Never raises.
    """
    count = length(lines)
    if not count:
        return None if lines and lines[0].rstrip() == "---" else {}
    if sum(map(len, lines[:count])) > HEADER_CHARS_MAX:
        return None
    values: dict[str, list[str]] = {}
    last: list[str] | None = None
    for line in lines[1 : count - 1]:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        field = _FIELD.fullmatch(line.rstrip())
        if field is not None and field["key"] not in values:
            last = values[field["key"]] = [(field["value"] or "").strip()]
        elif last is not None and line[0] in " \t-]}":
            last.append(line.strip())
        else:
            return None
    return {key: _value(first, below) for key, (first, *below) in values.items()}


def patterns(value: Value) -> tuple[str, ...]:
    """Return the patterns that a value lists: as a list, or in one text with commas between."""
    if isinstance(value, str):
        value = tuple(part.strip() for part in value.split(","))
    return tuple(filter(None, value)) if isinstance(value, tuple) else ()


def _looks_like_yaml(lines: Sequence[str]) -> bool:
    """Tell YAML from text between two rulers: a key first, at the margin nothing but YAML."""
    said = [line for line in lines if line and not line.startswith("#")]
    at_margin = (line for line in said if not line.startswith((" ", "\t", "-")))
    return not any(lines) or (
        bool(said) and _KEY.match(said[0]) is not None and all(map(_LINE.match, at_margin))
    )


def _value(first: str, below: Sequence[str]) -> Value:
    first = _COMMENT.sub("", first).strip() if below else first
    if not first and below and all(line == "-" or line.startswith("- ") for line in below):
        return _texts(line[1:] for line in below)
    whole = " ".join([first, *below]).strip()
    bare = _COMMENT.sub("", whole).strip()
    if bare.startswith("[") and bare.endswith("]"):
        return _texts(_PART.findall(bare[1:-1]))
    return _scalar(whole)


def _texts(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of a list that say something."""
    scalars = (_scalar(source.strip()) for source in sources)
    return tuple(str(scalar) for scalar in scalars if scalar not in (None, ""))


def _scalar(source: str) -> str | bool | None:
    """Return what a value says that is no list; only bare words are more than their text."""
    quoted = _QUOTED.fullmatch(source)
    if quoted is not None:
        return quoted["text"]
    words = _COMMENT.sub("", source).strip()
    return _WORDS.get(words.lower(), words)
