"""Add or remove a table in TOML, leaving every other byte unchanged; parse JSON with comments.

An edit returns the new text and what is needed to undo it exactly. JSON is parsed strictly, with
the position of each value: comments and trailing commas are blanked first, then the standard
library parses a text with the same offsets.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

Path = tuple[str | int, ...]
"""The place of a value: keys of objects, indices of lists."""


class NotUnderstoodError(ValueError):
    """A text is invalid, so nothing may be written to it. The message names the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A value of ours in another program's settings.

    Args:
        at: its place.
        made: the place of the outermost container that was created for it, or its own. Empty if the
            whole text was created.
        pieces: the inserted texts, in order; with nothing else changed, removing them restores the
            original. Empty when unknown.
    """

    at: Path
    made: Path
    pieces: tuple[str, ...] = ()


def with_pieces(text: str, pieces: Iterable[tuple[int, str]]) -> str:
    """Return `text` with each piece put in at its place, an offset into `text`."""
    for at, piece in sorted(pieces, key=lambda one: one[0], reverse=True):
        text = text[:at] + piece + text[at:]
    return text


def without_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return `text` without some spans, which do not overlap."""
    for begin, end in sorted(spans, reverse=True):
        text = text[:begin] + text[end:]
    return text


def line_end(text: str) -> str:
    """Return the line end of a text, taken from its first line."""
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


BLANKS: Final = " \t\r\n"
_TOKENS: Final = re.compile(
    r'(?<!\\)"(?:[^"\\\n]|\\.)*+"|//[^\n\r]*|/\*.*?(?:\*/|\Z)|,|[^"/,]+|.', re.DOTALL
)
_OPEN: Final = ("", ",", "{", "[", ":")
_VISIBLE: Final = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Item:
    """A member of an object, or an element of a list (then `key` is None).

    `begin` is the offset of its key, or of its value in a list; `value` to `end` is its value.
    """

    key: str | None
    begin: int
    value: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """An object or a list: `[open, close]` are the places of its brackets.

    `comma` is where its last item has a comma that none follows; -1 when it has none.
    """

    open: int
    close: int
    items: tuple[Item, ...]
    comma: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """A parsed text of settings.

    Args:
        text: the original text.
        bare: of the same length, with comments and trailing commas blanked: JSON, or only blanks.
        comments: begin and end of each.
        commas: offsets of trailing commas.
        value: the parsed value; None when empty.
    """

    text: str
    bare: str
    comments: tuple[tuple[int, int], ...]
    commas: frozenset[int]
    value: Any

    @property
    def is_blank(self) -> bool:
        """Return whether the text holds only blanks and comments."""
        return not self.bare.strip(BLANKS)

    def root(self) -> int:
        """Return where the outermost value begins."""
        return _past_blanks(self.bare, 0)

    def container(self, path: Path) -> Container:
        """Return the object or list at `path`.

        Raises:
            KeyError: there is none.
        """
        at = self.root()
        for step in path:
            at = self._step(self._items(at), step).value
        return self._items(at)

    def item(self, path: Path) -> Item:
        """Return the item at `path`, which must not be empty.

        Raises:
            KeyError: there is none.
        """
        return self._step(self.container(path[:-1]), path[-1])

    def _step(self, container: Container, step: str | int) -> Item:
        if isinstance(step, int):
            if self.bare[container.open] == "[" and 0 <= step < len(container.items):
                return container.items[step]
        else:
            for item in container.items:
                if item.key == step:
                    return item
        raise KeyError(step)

    def _items(self, at: int) -> Container:
        opening = self.bare[at : at + 1]
        if opening not in ("{", "["):
            raise KeyError(at)
        closing = "}" if opening == "{" else "]"
        items = []
        here = _past_blanks(self.bare, at + 1)
        while self.bare[here] != closing:
            item = self._item(here, named=opening == "{")
            items.append(item)
            here = _past_blanks(self.bare, item.end)
            if self.bare[here] == ",":
                here = _past_blanks(self.bare, here + 1)
        last = items[-1].end if items else here
        comma = next((place for place in range(last, here) if place in self.commas), -1)
        return Container(open=at, close=here, items=tuple(items), comma=comma)

    def _item(self, at: int, *, named: bool) -> Item:
        begin, key = at, None
        if named:
            key, at = _READER.raw_decode(self.bare, at)
            at = _past_blanks(self.bare, _past_blanks(self.bare, at) + 1)
        _, end = _READER.raw_decode(self.bare, at)
        return Item(key, begin, at, end)


def scan(text: str) -> Scanned:
    """Parse a text of settings.

    Raises:
        NotUnderstoodError: it is not JSON, or an object has a duplicate key; with the line.
    """
    bare, comments, commas = _bared(text)
    value = None
    if bare.strip(BLANKS):
        try:
            value = _READER.decode(bare)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise NotUnderstoodError(f"{error.msg} at {where}") from None
        except RecursionError:
            raise NotUnderstoodError("it is nested too deep") from None
        except ValueError as error:  # a number that is too long, or ours
            raise NotUnderstoodError(str(error)) from None
    return Scanned(
        text=text, bare=bare, comments=tuple(comments), commas=frozenset(commas), value=value
    )


def find(value: Any, path: Path) -> Any:
    """Return the element at `path` of a value.

    Raises:
        KeyError: there is none.
    """
    for step in path:
        match value, step:
            case dict(), str() if step in value:
                value = value[step]
            case list(), int() if 0 <= step < len(value):
                value = value[step]
            case _:
                raise KeyError(path)
    return value


def has(value: Any, path: Path) -> bool:
    """Return whether a value has an element at `path`."""
    try:
        find(value, path)
    except KeyError:
        return False
    return True


def _bared(text: str) -> tuple[str, list[tuple[int, int]], list[int]]:
    """Return `text` with comments and trailing commas blanked, and their offsets."""
    parts: list[str] = []
    comments: list[tuple[int, int]] = []
    commas: list[int] = []
    before = before_comma = ""  # what means something before this token, and before the comma
    waiting = -1  # the part that is a comma, until it is known whether it is a last one
    for found in _TOKENS.finditer(text):
        token, at = found.group(), found.start()
        if token.startswith(("//", "/*")):
            comments.append((at, found.end()))
            parts.append(_VISIBLE.sub(" ", token))
            continue
        if at == 0 and token[0] == _MARK:
            token = " " + token[1:]
        said = token.strip(BLANKS)
        if said and waiting >= 0:
            if said[0] in "}]" and before_comma not in _OPEN:
                parts[waiting] = " "
            else:
                commas.pop()
            waiting = -1
        if said == ",":
            waiting, before_comma = len(parts), before
            commas.append(at)
        before = said[-1:] or before
        parts.append(token)
    return "".join(parts), comments, commas if waiting < 0 else commas[:-1]


def _past_blanks(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in BLANKS:
        at += 1
    return at


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands there twice in one object")
    return made


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


_READER: Final = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_refuse)


_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_MARK: Final = "\ufeff"
DOTS_MAX: Final = 1_000


def read(text: str) -> dict[str, Any]:
    """Parse a text.

    Raises:
        NotUnderstoodError: it is not TOML; with the line.
    """
    # The time that a dotted key takes grows with the square of its parts.
    if any(line.count(".") > DOTS_MAX for line in text.split("\n")):
        raise NotUnderstoodError(f"a line has more than {DOTS_MAX} dots")
    try:
        return tomllib.loads(text.removeprefix(_MARK))
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise NotUnderstoodError(str(error)) from None
    except RecursionError:
        raise NotUnderstoodError("it is nested too deep") from None


def put(text: str, path: tuple[str, ...], value: Mapping[str, object]) -> tuple[str, Added]:
    """Append a table.

    Args:
        text: of the settings.
        path: the name of the table.
        value: strings, numbers, booleans, lists and flat objects of those, by key.

    Raises:
        NotUnderstoodError: the text is not TOML, the name is taken, or its parent is an inline
            table, which cannot be extended.
    """
    before = read(text)
    piece = _piece(text, path, value)
    after = text + piece
    try:
        found = read(after)
    except NotUnderstoodError:
        raise NotUnderstoodError(
            f"a table {'.'.join(path)} cannot be added below what it says already"
        ) from None
    if found != _with(before, path, value):
        raise NotUnderstoodError(f"a table {'.'.join(path)} would change what it says")
    return after, Added(at=path, made=path, pieces=(piece,))


def replace(text: str, added: Added, value: Mapping[str, object]) -> tuple[str, Added]:
    """Say `value` in a table of ours: in its place if it is as it was put in, else at the end.

    Raises:
        NotUnderstoodError: the text is no TOML, or the table cannot be taken out.
    """
    path = tuple(str(step) for step in added.at)
    for piece in added.pieces:
        if text.count(piece) == 1:
            before, after = text.split(piece)
            lead = piece[: len(piece) - len(piece.lstrip("\r\n"))]
            new = lead + _table(path, value, line_end(text))
            changed = before + new + after
            if _without(read(changed), path) == _without(read(text), path):
                return changed, Added(at=path, made=path, pieces=(new,))
    return put(take(text, added), path, value)


def take(text: str, added: Added) -> str:
    """Return `text` without a table of ours, and without those in it.

    With nothing changed since, it is what it was before, to the byte.

    Raises:
        NotUnderstoodError: the text is no TOML, or the table is not written as a table.
    """
    path = tuple(str(step) for step in added.at)
    said = read(text)
    wanted = _without(said, path)
    if not has(said, path):
        raise NotUnderstoodError(f"there is no table {'.'.join(path)}")
    ways = [text.replace(piece, "") for piece in added.pieces if text.count(piece) == 1]
    for after in (*ways, _without_tables(text, path)):
        try:
            found = read(after)
            # The table around it may stay, with nothing in it.
            if not has(found, path) and _without(found, path) == wanted:
                return after
        except NotUnderstoodError:
            continue
    raise NotUnderstoodError(f"{'.'.join(path)} is not written as a table of its own")


def _piece(text: str, path: tuple[str, ...], value: Mapping[str, object]) -> str:
    end = line_end(text)
    body = text.removeprefix(_MARK)
    lead = "" if not body or body.endswith("\n") else end
    gap = end if body.strip() and not re.search(r"\n[ \t]*\r?\n\Z", body + lead) else ""
    return lead + gap + _table(path, value, end)


def _table(path: tuple[str, ...], value: Mapping[str, object], end: str) -> str:
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(name)} = {toml_value(one)}" for name, one in value.items()]
    return "".join(line + end for line in lines)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: object) -> str:
    """Render a string, a number, a boolean, a list or a flat object of those as TOML."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        return (
            "{ "
            + ", ".join(f"{_key(key)} = {toml_value(one)}" for key, one in value.items())
            + " }"
        )
    # JSON's texts, numbers and truths are TOML's, but for the one character that it leaves bare.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with(value: dict[str, Any], path: tuple[str, ...], ours: object) -> dict[str, Any]:
    key, *rest = path
    inner = value.get(key, {})
    if not rest:
        return value | {key: ours}
    return value | {key: _with(inner if isinstance(inner, dict) else {}, tuple(rest), ours)}


def _without(value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the value without a table, and without parents that only held it."""
    key, *rest = path
    inner = value.get(key)
    left = {name: one for name, one in value.items() if name != key}
    if not rest or not isinstance(inner, dict):
        return left if not rest else value
    kept = _without(inner, tuple(rest))
    return value | {key: kept} if kept else left


def _without_tables(text: str, path: tuple[str, ...]) -> str:
    """Return `text` without the lines of a table, and of those whose names begin with its name."""
    import tree_sitter_toml
    from tree_sitter import Language, Parser

    source = text.encode()
    spans = []
    for node in Parser(Language(tree_sitter_toml.language())).parse(source).root_node.children:
        if node.type not in ("table", "table_array_element"):
            continue
        if (
            _named(source[node.named_children[0].start_byte : node.named_children[0].end_byte])[
                : len(path)
            ]
            != path
        ):
            continue
        pairs = [child for child in node.children if child.type == "pair"]
        last = source.find(b"\n", (pairs[-1] if pairs else node.children[2]).end_byte)
        spans.append((node.start_byte, len(source) if last < 0 else last + 1))
    return without_spans(source.decode("latin-1"), spans).encode("latin-1").decode()


def _named(name: bytes) -> tuple[str, ...]:
    value: Any = tomllib.loads(f"[{name.decode()}]")
    parts = []
    while value:
        ((part, value),) = value.items()
        parts.append(part)
    return tuple(parts)


_HEADER: Final = re.compile(r"\s*+\[\s*+((?:[^\[\]\s]++|\s++(?!\]))++)\s*+\]\s*(#.*)?")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
"""What TOML takes for one; Python knows more ways to end a line."""
_COMMENT: Final = re.compile(r"""(?:[^#"'\s]|\s++(?!#)|"(?:[^"\\]|\\.)*+"|'[^']*')*+(\s+#.*)""")


def assign(text: str, section: str, key: str, value: object) -> str:
    """Return `text` with `section.key` set to `value`.

    Args:
        text: of the settings.
        section: the name of a top-level table.
        key: a name in it.
        value: a string, a number, a boolean, or a list of those.

    Raises:
        NotUnderstoodError: the text is not TOML, or gives this key in an unsupported form.
    """
    wanted = read(text)
    inner = wanted.get(section, {})
    if not isinstance(inner, dict):
        raise NotUnderstoodError(f"{section} is not a table there")
    wanted = wanted | {section: inner | {key: value}}
    for candidate in _with_line(text, section, key, f"{key} = {toml_value(value)}"):
        if _holds_value(candidate, wanted):
            return candidate
    raise _unusual(section, key)


def drop(text: str, section: str, key: str) -> str:
    """Return `text` without `section.key`; unchanged when it is not set.

    Args:
        text: of the settings.
        section: the name of a top-level table; "" for keys outside any table.
        key: a name in it.

    Raises:
        NotUnderstoodError: as for `assign`.
    """
    wanted = read(text)
    inner = wanted.get(section) if section else wanted
    if not isinstance(inner, dict) or key not in inner:
        return text
    left = {name: value for name, value in inner.items() if name != key}
    emptied = [wanted | {section: left} if section else left]
    if section and not left:
        emptied.append({name: value for name, value in wanted.items() if name != section})
    lines = _LINES.findall(text)
    for one, (number, _) in product(emptied, _lines_of(lines, section, key)):
        candidate = "".join([*lines[:number], *lines[number + 1 :]])
        if _holds_value(candidate, one):
            return candidate
    raise _unusual(section, key)


def _with_line(text: str, section: str, key: str, line: str) -> Iterator[str]:
    lines = _LINES.findall(text)
    end = line_end(text)
    for number, name in _lines_of(lines, section, key):
        comment = _COMMENT.match(lines[number].rstrip("\r\n"))
        behind = comment.group(1) if comment else ""
        shown = line if name == key else f"{name}{line.removeprefix(key)}"
        yield "".join([*lines[:number], f"{shown}{behind}{end}", *lines[number + 1 :]])
    for number, one in enumerate(lines):
        if _name_of(one) == section:
            header = one if one.endswith("\n") else one + end
            yield "".join([*lines[:number], header, line + end, *lines[number + 1 :]])
    whole = text if not text or text.endswith("\n") else text + end
    gap = end if whole.strip() else ""
    yield f"{whole}{gap}[{section}]{end}{line}{end}"


def _lines_of(lines: list[str], section: str, key: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that may set the key, with the name they use."""
    inside = ""
    for number, line in enumerate(lines):
        header = _name_of(line)
        if header is not None:
            inside = header
        name = key if inside == section else f"{section}.{key}" if not inside else ""
        if name and re.match(rf"\s*{re.escape(name)}\s*=", line):
            yield number, name


def _name_of(line: str) -> str | None:
    found = _HEADER.fullmatch(line.rstrip("\r\n"))
    return found.group(1) if found else None


def _holds_value(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return read(text) == wanted
    except NotUnderstoodError:
        return False


def _unusual(section: str, key: str) -> NotUnderstoodError:
    named = f"{section}.{key}" if section else key
    return NotUnderstoodError(f"{named} is written there in a way that is not understood")
