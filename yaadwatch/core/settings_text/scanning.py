"""JSON with comments and commas at the end, read strictly: its values, and where each one stands.

Comments and the commas are blanked first; then the parser of the standard library reads what is
left, which has the same offsets.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from yaadwatch.core.settings_text.edits import NotUnderstoodError, Path

BLANKS: Final = " \t\r\n"
_TOKENS: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n\r]*|/\*.*?\*/|,|[^"/,]+|.', re.DOTALL)
_MARK: Final = "\ufeff"
_OPEN: Final = ("", ",", "{", "[", ":")
_VISIBLE: Final = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Item:
    """A member of an object, or an element of a list (then `key` is None).

    `begin` is where its key stands, or it itself; `value` to `end` is its value.
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
    """A text of settings, understood.

    Args:
        text: as it is.
        bare: the same length, comments and last commas blanked: JSON, or nothing but blanks.
        comments: begin and end of each.
        commas: where last commas stand.
        value: what it says; None when it says nothing.
    """

    text: str
    bare: str
    comments: tuple[tuple[int, int], ...]
    commas: frozenset[int]
    value: Any

    @property
    def is_blank(self) -> bool:
        """Tell whether nothing is said at all: no bytes, or blanks and comments."""
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
        """Return what stands at `path`, which is not empty.

        Raises:
            KeyError: nothing does.
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
    """Read a text of settings.

    Raises:
        NotUnderstoodError: it is no JSON, or an object of it says one key twice; with the line.
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
    """Return what stands at `path` in a value.

    Raises:
        KeyError: nothing does.
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


def _bared(text: str) -> tuple[str, list[tuple[int, int]], list[int]]:
    """Return `text` with blanks for comments and last commas, and where those stand."""
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
