"""Add or remove a value in JSON with comments, leaving every other byte unchanged."""

import json
from collections.abc import Iterator
from typing import Any, Final

from yaadwatch.text.toml import (
    BLANKS,
    Added,
    Container,
    NotUnderstoodError,
    Path,
    Scanned,
    find,
    has,
    line_end,
    scan,
    with_pieces,
    without_spans,
)

_UNIT: Final = "  "


def read(text: str) -> Any:
    """Return the value of a text; None when it is empty.

    Raises:
        NotUnderstoodError: it is not JSON, even with comments.
    """
    return scan(text).value


def strict_json_error(text: str) -> int:
    """Return the line, from 1, where a text stops being strict JSON; 0 when it is, or is empty."""
    if not text.strip():
        return 0
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno
    except (ValueError, RecursionError):
        return 1
    return 0


def put(text: str, path: tuple[str, ...], value: object) -> tuple[str, Added]:
    """Add a member to the object at `path[:-1]`, creating missing parents.

    Args:
        text: of the settings.
        path: keys only, at least one.
        value: any JSON value.

    Raises:
        NotUnderstoodError: the text is not JSON, `path` leads through something other than objects,
            or is already taken.
    """
    scanned = scan(text)
    _require_free(scanned, path)
    return _add(scanned, path, path, value)


def append(text: str, path: tuple[str, ...], value: object) -> tuple[str, Added]:
    """Append an element to the list at `path`, creating it and missing parents.

    Raises:
        NotUnderstoodError: the text is not JSON, or the value at `path` is not a list.
    """
    scanned = scan(text)
    if not has(scanned.value, path):
        _require_free(scanned, path)
        return _add(scanned, path, (*path, 0), [value])
    there = find(scanned.value, path)
    if not isinstance(there, list):
        raise NotUnderstoodError(f"{_name(path)} is no list")
    at: Path = (*path, len(there))
    return _add(scanned, at, at, value)


def replace(text: str, added: Added, value: object) -> tuple[str, Added]:
    """Replace a value of ours by `value`; nothing else moves.

    Raises:
        NotUnderstoodError: the text is not JSON, or has no such value.
    """
    scanned = scan(text)
    if not has(scanned.value, added.at):
        raise NotUnderstoodError(f"there is nothing at {_name(added.at)}")
    container, item = scanned.container(added.at[:-1]), scanned.item(added.at)
    old = text[item.value : item.end]
    new = _written(scanned, value, _indent(scanned, container) if "\n" in old else None)
    pieces = added.pieces
    if sum(piece.count(old) for piece in pieces) == 1:
        pieces = tuple(piece.replace(old, new) for piece in pieces)
    else:
        pieces = ()
    after = text[: item.value] + new + text[item.end :]
    return after, Added(at=added.at, made=added.made, pieces=pieces)


def take(text: str, added: Added) -> str:
    """Return `text` without a value of ours, and without parents created for it that are empty now.

    With nothing changed since, the result equals the text before, to the byte.

    Raises:
        NotUnderstoodError: the text is not JSON, or has no such value.
    """
    scanned = scan(text)
    at = _outermost(scanned, added)
    if not at:
        return _without_root(scanned, added)
    wanted = _without(scanned.value, at)
    item = scanned.item(at)
    kept = [text[a:b] for a, b in scanned.comments if not item.begin <= a < item.end]
    for spans in _ways(scanned, at, added):
        after = without_spans(text, spans)
        try:
            found = scan(after)
        except NotUnderstoodError:
            continue
        if found.value == wanted and [after[a:b] for a, b in found.comments] == kept:
            return after
    raise NotUnderstoodError(f"{_name(at)} cannot be taken out of what stands around it")


def _add(scanned: Scanned, path: Path, at: Path, value: object) -> tuple[str, Added]:
    """Add `value` at `path` with missing parents; `at`: its resulting place."""
    made: Path = ()
    if scanned.is_blank:
        pieces = _whole(scanned, _inside(path, value))
    else:
        depths = range(len(path) - 1, -1, -1)
        depth = next(depth for depth in depths if has(scanned.value, path[:depth]))
        made = path[: depth + 1]
        inside = _inside(path[depth + 1 :], value)
        pieces = _member(scanned, scanned.container(path[:depth]), path[depth], inside)
    after = with_pieces(scanned.text, pieces)
    return after, Added(at=at, made=made, pieces=tuple(piece for _, piece in pieces))


def _inside(path: Path, value: object) -> object:
    for step in reversed(path):
        value = {step: value}
    return value


def _whole(scanned: Scanned, value: object) -> list[tuple[int, str]]:
    text = scanned.text
    lead = "" if not text.strip("\ufeff") or text.endswith("\n") else line_end(text)
    return [(len(text), lead + _written(scanned, value, "") + line_end(text))]


def _member(
    scanned: Scanned, container: Container, key: str | int, value: object
) -> list[tuple[int, str]]:
    """Return the insertions that give a container one more item at its end."""
    spread = _is_spread(scanned, container)
    indent = _indent(scanned, container)
    named = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
    said = named + _written(scanned, value, indent if spread else None)
    lead = f"{line_end(scanned.text)}{indent}" if spread else ""
    if not container.items:
        place = _past_comments(scanned, container.open + 1, container.close, everywhere=True)
        tail = scanned.text[place : container.close]
        after = f"{line_end(scanned.text)}{_margin(scanned, container.open)}"
        return [(place, lead + said + (after if spread and "\n" not in tail else ""))]
    if container.comma >= 0:
        place = _past_comments(scanned, container.comma + 1, container.close)
        return [(place, f"{lead or ' '}{said},")]
    end = container.items[-1].end
    place = _past_comments(scanned, end, container.close)
    if place == end:
        return [(end, f",{lead or ' '}{said}")]
    return [(end, ","), (place, f"{lead or ' '}{said}")]


def _is_spread(scanned: Scanned, container: Container) -> bool:
    """Return whether the items of a container are, or should be, on lines of their own."""
    bare = scanned.bare
    if not container.items:
        root = scanned.root()
        return container.open == root or "\n" in bare[root:].rstrip(BLANKS)
    between = [container.open, *(item.end for item in container.items)]
    begins = [*(item.begin for item in container.items), container.close]
    if any(
        begin <= a < end
        for begin, end in zip(between, begins, strict=True)
        for a, b in scanned.comments
        if scanned.text[a:b].startswith("//")
    ):
        return True
    return "\n" in bare[container.open : container.items[0].begin]


def _indent(scanned: Scanned, container: Container) -> str:
    """Return the white space before each item of a container."""
    if container.items:
        own = _before(scanned, container.items[-1].begin)
        if own is not None:
            return own
    return _margin(scanned, container.open) + _unit(scanned)


def _unit(scanned: Scanned) -> str:
    """Return one level of indentation of this text."""
    if not scanned.is_blank and scanned.bare[scanned.root()] == "{":
        items = scanned.container(()).items
        if items:
            return (_before(scanned, items[0].begin) or "") or _UNIT
    return _UNIT


def _before(scanned: Scanned, at: int) -> str | None:
    """Return the blanks before `at` on its line; None when there is anything else."""
    begin = scanned.text.rfind("\n", 0, at) + 1
    blanks = scanned.text[begin:at]
    return blanks if begin and not blanks.strip(" \t") else None


def _margin(scanned: Scanned, at: int) -> str:
    """Return the blanks with which the line of `at` begins."""
    begin = scanned.text.rfind("\n", 0, at) + 1
    line = scanned.text[begin:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _written(scanned: Scanned, value: object, indent: str | None) -> str:
    """Return a value as JSON; on lines that begin with `indent`, or on one line if that is None."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, ensure_ascii=False, indent=_unit(scanned))
    return text.replace("\n", line_end(scanned.text) + indent)


def _past_comments(scanned: Scanned, at: int, end: int, *, everywhere: bool = False) -> int:
    """Return where the comments behind `at` end, on its line or `everywhere` up to `end`."""
    place = at
    blanks = BLANKS if everywhere else " \t"
    comments = dict(scanned.comments)
    while at < end:
        if at in comments:
            at = place = comments[at]
        elif scanned.text[at] in blanks:
            at += 1
        else:
            break
    return place


def _outermost(scanned: Scanned, added: Added) -> Path:
    """Return the place of the outermost parent that would be empty without a value."""
    at = added.at
    if not has(scanned.value, at):
        raise NotUnderstoodError(f"there is nothing at {_name(at)}")
    while len(at) > len(added.made):
        container = scanned.container(at[:-1])
        item = scanned.item(at)
        commented = any(
            container.open < a < container.close and not item.begin <= a < item.end
            for a, _ in scanned.comments
        )
        if len(container.items) > 1 or commented:
            break
        at = at[:-1]
    return at


def _without_root(scanned: Scanned, added: Added) -> str:
    text = scanned.text
    for piece in added.pieces:
        if text.endswith(piece):
            return text[: -len(piece)]
    begin = scanned.root()
    return text[:begin] + text[scanned.container(()).close + 1 :].lstrip(BLANKS)


def _without(value: Any, at: Path) -> Any:
    copy = json.loads(json.dumps(value))
    inner = find(copy, at[:-1])
    del inner[at[-1]]
    return copy


def _ways(scanned: Scanned, at: Path, added: Added) -> Iterator[list[tuple[int, int]]]:
    """Yield spans that may be removed, best result first."""
    text, container, item = scanned.text, scanned.container(at[:-1]), scanned.item(at)
    number, end = container.items.index(item), item.end
    commas: list[tuple[int, int]] = []
    if number < len(container.items) - 1:
        end = scanned.bare.index(",", end) + 1
    elif container.comma >= 0:
        commas = [(container.comma, container.comma + 1)]
    elif number:
        comma = scanned.bare.index(",", container.items[number - 1].end)
        commas = [(comma, comma + 1)]
    main = added.pieces[-1] if at == added.made and added.pieces else ""
    if main and text.count(main) == 1:
        begin = text.index(main)
        yield [*commas[: len(added.pieces) - 1], (begin, begin + len(main))]
    yield [*commas, (len(text[: item.begin].rstrip(BLANKS)), end)]
    yield [*commas, (item.begin, end)]


def _require_free(scanned: Scanned, path: tuple[str, ...]) -> None:
    """Require that `path` leads through objects, as far as it exists.

    Raises:
        NotUnderstoodError: it does not, or it exists already.
    """
    if scanned.is_blank:
        return
    value = scanned.value
    for number, key in enumerate(path):
        if not isinstance(value, dict):
            raise NotUnderstoodError(f"{_name(path[:number])} is no object")
        if key not in value:
            return
        value = value[key]
    raise NotUnderstoodError(f"{_name(path)} is there already, and not ours")


def _name(path: Path) -> str:
    return ".".join(str(step) for step in path) or "what it says"
