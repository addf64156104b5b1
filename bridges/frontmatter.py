"""Read the front matter of an agent file: flat keys with a word, a list or nothing.

Not parsed as YAML, because what people write there is not YAML: `globs: **/*.ts` is an alias,
`*.ts, *.tsx` an error, and agents accept both. So this reads lines: a key at the margin, its value
on the same line or as a list below. Anything more complex stays plain text, and is never taken for
`true`, a known word or an empty value.
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
_PATTERN = re.compile(r"(?:[^,{}]++|\{[^{}]*+\}|[{}])++")
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
    """Return the fields of the front matter: empty if there is none, None if it is damaged.

    A value is a boolean for a bare `true` or `false`, None if empty, a tuple for a list, otherwise
    text. Never raises.
    """
    count = length(lines)
    if not count:
        return None if lines and lines[0].rstrip() == "---" else {}
    if sum(map(len, lines[:count])) > HEADER_CHARS_MAX:
        return None
    values = _parts(lines[: count - 1])
    if values is None:
        return None
    return {key: _value(first, below) for key, (_, (first, *below)) in values.items()}


def places(lines: Sequence[str]) -> Mapping[str, int]:
    """Return the line, from 1, on which each field of a header begins."""
    values = _parts(lines[: max(length(lines) - 1, 0)])
    return {key: line for key, (line, _) in (values or {}).items()}


def patterns(value: Value) -> tuple[str, ...]:
    """Return the patterns in a value: a list, or one text separated by commas."""
    if isinstance(value, str):
        value = tuple(part.strip() for part in _PATTERN.findall(value))
    return tuple(filter(None, value)) if isinstance(value, tuple) else ()


def _looks_like_yaml(lines: Sequence[str]) -> bool:
    """Tell YAML from text between two rulers: a key first, at the margin nothing but YAML."""
    said = [line for line in lines if line and not line.startswith("#")]
    at_margin = (line for line in said if not line.startswith((" ", "\t", "-")))
    return not any(lines) or (
        bool(said) and _KEY.match(said[0]) is not None and all(map(_LINE.match, at_margin))
    )


def _parts(header: Sequence[str]) -> dict[str, tuple[int, list[str]]] | None:
    """Return line and parts of each value in a header without its last line of dashes, by key.

    None when a line is no field, or a field is there twice.
    """
    values: dict[str, tuple[int, list[str]]] = {}
    last: list[str] | None = None
    for number, line in enumerate(header[1:], 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        field = _FIELD.fullmatch(line.rstrip())
        if field is not None and field["key"] not in values:
            last = [(field["value"] or "").strip()]
            values[field["key"]] = (number, last)
        elif last is not None and line[0] in " \t-]}":
            last.append(line.strip())
        else:
            return None
    return values


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
    """Return the elements of a list that are not empty."""
    scalars = (_scalar(source.strip()) for source in sources)
    return tuple(str(scalar) for scalar in scalars if scalar not in (None, ""))


def _scalar(source: str) -> str | bool | None:
    """Return a value that is not a list; only bare words are converted."""
    quoted = _QUOTED.fullmatch(source)
    if quoted is not None:
        return quoted["text"]
    words = _COMMENT.sub("", source).strip()
    return _WORDS.get(words.lower(), words)
