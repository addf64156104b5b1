"""Find the sets of names that a file declares: members of an enum, array or table, or calls.

One scan of a file's words and brackets serves all languages: a comma ends a member, and the name
before the bracket is the name of the set. Settings files are read by their syntax tree. A set with
a part that is worked out (`*others`, a comprehension) has no known size and is left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from yaadwatch.anchors import settings
from yaadwatch.anchors.definitions import tree_of_settings
from yaadwatch.text.words import cached_short, word_set

if TYPE_CHECKING:
    from tree_sitter import Node

SOURCE_CHARS_MAX: Final = 256 * 1024
"""A larger file is generated, or data."""
MEMBERS_MAX: Final = 400
"""A set with more members is data."""
_MEMBER_CHARS_MAX: Final = 100
_HASH: Final = (".py", ".pyi", ".rb", ".sh", ".php", ".ex", ".exs", ".tf", ".hcl", ".pl", ".r")
_STRING: Final = (
    r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'|(?<!\\)(?:"(?:\\.|[^"\\\n])*+"|`(?:\\.|[^`\\])*+`)'
)
_REST: Final = (
    r"(?P<name>[^\W\d][\w$]*(?:(?:\.|::)[^\W\d][\w$]*)*)|(?P<number>\d[\w.]*)|(?P<line>\n)"
    r"|(?P<sign>[:=]=|=>|->|[^\s\w])"
)
_SLASHED: Final = r"//[^\n]*|/\*(?:.|\n)*?(?:\*/|\Z)"
_SINGLE: Final = r"(?<!\\)'(?:\\.|[^'\\\n])*+'"
_TOKENS: Final = {
    "hash": re.compile(rf"(?P<comment>#[^\n]*)|(?P<string>{_STRING}|{_SINGLE})|{_REST}"),
    "slash": re.compile(rf"(?P<comment>{_SLASHED})|(?P<string>{_STRING}|{_SINGLE})|{_REST}"),
    # A single quote begins the name of a lifetime, too.
    "rust": re.compile(rf"(?P<comment>{_SLASHED})|(?P<string>{_STRING}|'[^'\\\n]')|{_REST}"),
}
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_BEFORE_LIST: Final = frozenset((*"=:([{,&!", "return", ":=", "=>"))
_BEFORE_TABLE: Final = frozenset((*"=:([{,]", "return", ":="))
_COLLECTIONS: Final = word_set(
    """
    listOf setOf arrayOf mapOf mutableListOf mutableSetOf linkedSetOf of asList tuple frozenset set
    list dict array OrderedDict Map Set freeze Literal vec
    """
)
"""Calls whose arguments are the members of a set."""
_ENUMS: Final = frozenset(("enum", "newtype"))
_NO_CALLS: Final = word_set(
    """
    if elif for while switch return catch and or not in is await yield else match when super print
    def function fn func fun class new assert isinstance len str int list dict set tuple
    """
)
_DEFINES: Final = frozenset(("def", "function", "fn", "func", "fun", "class", "async", "const"))
_STATEMENTS: Final = word_set("return if const let def func fn function for while var throw raise")
_SKIPPED: Final = frozenset(("new", "await", "async", "case", "pub", "static", "const"))
_TYPE_TOKENS_MAX: Final = 24
_NAMING: Final = frozenset(("name", "id", "key", "slug", "title", "label", "command", "value"))
"""Keys of an entry that say what it is called."""
_NAMED: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(_NAMING))})[\"']?[ \t]{{0,4}}[:=]([^\n,}}]{{1,100}})"
)
_VERBS: Final = frozenset(("get", "post", "put", "patch", "delete", "route"))
_UNION: Final = re.compile(
    r"\btype[ \t]{1,4}(\w{1,80})[ \t]{0,4}=\s{0,40}(?:\|\s{0,4})?"
    r"([\"'][^\"'\n]{1,80}[\"'](?:\s{0,40}\|\s{0,4}[\"'][^\"'\n]{1,80}[\"']){1,100})"
)
_WORDS: Final = re.compile(r"\b(\w{1,80})[ \t]{0,4}=[ \t]{0,4}%[wi][\[(]([^\])%]{1,4000})[\])]")
_NOT_BUILT: Final = re.compile(r"#\[(?:cfg\(test\)|doc\(hidden\))\]\s{0,40}\w{1,80}")
"""A member that is only there for tests, or is no part of what others see."""
_QUOTED: Final = re.compile(r"[\"']([^\"'\n]{1,80})[\"']")
_CLASS: Final = re.compile(
    r"^class[ \t]{1,4}(\w{1,80})\([^()\n]{0,100}(?:Enum|Flag)\b[^()\n]{0,60}\):"
)
_ASSIGNED: Final = re.compile(r"([A-Za-z]\w{0,80})[ \t]{0,4}(?::[^=\n]{0,80})?=")
_LINES: Final = {
    "variable": (re.compile(r"^(?:export[ \t]{1,4})?([A-Za-z_]\w{1,100})=", re.MULTILINE), ".env"),
    "table": (
        re.compile(
            r"^[ \t]{0,8}create[ \t]{1,4}table[ \t]{1,4}(?:if[ \t]not[ \t]exists[ \t]{1,4})?"
            r"[\"'`]?([\w.]{1,100})",
            re.MULTILINE | re.IGNORECASE,
        ),
        ".sql",
    ),
    "model": (re.compile(r"^model[ \t]{1,4}(\w{1,100})", re.MULTILINE), ".prisma"),
}
"""What a line declares, by the end of the file's name."""


@dataclass(frozen=True, slots=True)
class CodeSet:
    """A set of a file: how it is declared, its name, and its members as the file writes them."""

    sort: str
    name: str
    members: tuple[str, ...]


def member(name: str) -> str:
    """Return the normal form of a member: the last part of a name or path, lower case, no marks."""
    last = re.split(r"[/:.]", re.sub(r"\.\w{1,5}\Z", "", name.strip(" ./:()\"'`")))[-1]
    return re.sub(r"[\W_]", "", last.lower().replace("++", "pp").replace("#", "sharp"))


@cached_short(16, 64_000)
def sets_in(path: str, source: str) -> tuple[CodeSet, ...]:
    """Return the sets of a file; of several with one name the only one with two members or more.

    Args:
        path: the file's name, which decides how it is read.
        source: its text.
    """
    if len(source) > SOURCE_CHARS_MAX or "<<<<<<< " in source:  # an unfinished merge
        return ()
    found = [
        one
        for one in _found(path.lower(), source)
        if 1 <= len(one.members) <= MEMBERS_MAX
        and all(0 < len(name) <= _MEMBER_CHARS_MAX for name in one.members)
        and (one.sort == "calls" or len(set(one.members)) == len(one.members))
    ]
    times = Counter((one.sort, one.name) for one in found)
    large = Counter((one.sort, one.name) for one in found if len(one.members) > 1)
    return tuple(
        one
        for one in found
        if times[key := (one.sort, one.name)] == 1 or (large[key] == 1 and len(one.members) > 1)
    )


def _found(path: str, source: str) -> Iterator[CodeSet]:
    root = tree_of_settings(source.encode(), path)
    if root is not None:
        yield from _of_settings(root, source.encode()) if not root.has_error else ()
        return
    file = path.rpartition("/")[2]
    for name, (pattern, ending) in _LINES.items():
        if file.endswith(ending) or file.startswith(f"{ending}."):
            yield CodeSet("lines", name, tuple(dict.fromkeys(pattern.findall(source))))
            return
    sort = "rust" if path.endswith(".rs") else "hash" if path.endswith(_HASH) else "slash"
    source = _NOT_BUILT.sub("", source) if sort == "rust" else source
    yield from _Scan(_tokens(source, sort), is_go=path.endswith(".go")).sets()
    for name, members in _WORDS.findall(source) if path.endswith(".rb") else ():
        yield CodeSet("array", name, tuple(members.split()))
    for name, members in _UNION.findall(source):
        yield CodeSet("union", name, tuple(_QUOTED.findall(members)))
    if path.endswith((".py", ".pyi")):
        yield from _python_enums(source)


def _python_enums(source: str) -> Iterator[CodeSet]:
    name, depth = "", 0
    members: list[str] = []
    for line in [*source.split("\n"), "end"]:
        inside = len(line) - len(line.lstrip())
        if name and line.strip() and not inside:
            yield CodeSet("enum", name, tuple(members))
            name = ""
        begun = _CLASS.match(line)
        if begun is not None:
            name, members, depth = begun[1], [], 0
        elif name and (found := _ASSIGNED.match(line, inside)) and inside == (depth or inside):
            value, depth = line[found.end() :].partition("#")[0].strip(), inside
            members += [found[1]] if value not in members else []  # else another name of that


def _of_settings(root: "Node", source: bytes) -> Iterator[CodeSet]:
    """Yield the tables and lists of a settings file, by their whole key."""
    for key in settings.keys(root, source):
        name = ".".join(key.name)
        if key.below:
            yield CodeSet("table", name, tuple(key.below))
        elif key.items:
            labels = (_label_of(item, source) for item in key.items)
            yield CodeSet("list", name, tuple(labels))
        elif len(key.values) == 1:
            inner = settings.bare(key.values[0])
            if inner.type in ("array", "block_sequence", "flow_sequence"):
                parts = [one for one in inner.named_children if one.type != "comment"]
                yield CodeSet("list", name, tuple(_scalar(one, source) for one in parts))


def _label_of(item: settings.Key, source: bytes) -> str:
    for name in _NAMING:
        if name in item.below and item.below[name].values:
            return _scalar(item.below[name].values[0], source)
    first = next((key.values[0] for key in item.below.values() if key.values), None)
    return _scalar(first, source) if first is not None else "?"


def _scalar(node: "Node", source: bytes) -> str:
    """Return the first plain value in a node, the one of `name` or `id` before others."""
    text = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
    found = _NAMED.search(text)
    written = found[1] if found is not None else text.lstrip("- {").partition("\n")[0]
    return written.strip(" \"'")[:_MEMBER_CHARS_MAX] or "?"


@dataclass(slots=True)
class _Token:
    kind: str
    text: str


def _tokens(source: str, sort: str) -> list[_Token]:
    found = []
    for one in _TOKENS[sort].finditer(source):
        kind = one.lastgroup or ""
        if kind == "string":
            found.append(_Token(kind, one[0].strip("\"'`")))
        elif kind != "comment":
            found.append(_Token(kind, one[0]))
    return found


@dataclass(slots=True)
class _Frame:
    """A bracket that is open.

    Args:
        opening: the bracket.
        sort: how a set is declared with it; '' when it is none.
        name: the name of the set.
        by_lines: a line ends a member.
        items: the members so far.
        first: the word by which the member that was begun is known.
        subject: the name that is given something at the moment.
        label: the first text in it; that of a `name` comes before others.
        call: what is called with it.
        argument: the first word in it.
        is_ended: what follows is no member.
        has_begun: the member that was begun is a bracket.
    """

    opening: str
    sort: str = ""
    name: str = ""
    by_lines: bool = False
    items: list[str] = field(default_factory=list)
    first: str = ""
    subject: str = ""
    label: str = ""
    call: str = ""
    argument: str = ""
    is_ended: bool = False
    has_begun: bool = False


class _Scan:
    """One pass over the tokens of a file."""

    def __init__(self, tokens: list[_Token], *, is_go: bool) -> None:
        self._tokens = tokens
        self._is_go = is_go
        self._found: list[CodeSet] = []
        self._calls: dict[str, list[str]] = {}
        self._decorators: list[str] = []
        self._enum = ""

    def sets(self) -> list[CodeSet]:
        """Return the sets, those of calls last."""
        stack = [_Frame("")]
        for at, token in enumerate(self._tokens):
            if token.kind == "sign" and token.text in "([{":
                stack.append(self._opened(stack[-1], at, token.text))
            elif token.kind == "sign" and token.text in _PAIRS:
                if any(one.opening == _PAIRS[token.text] for one in stack[1:]):
                    while stack[-1].opening != _PAIRS[token.text]:
                        stack.pop()
                    closed = stack.pop()
                    self._close(closed, stack[-1])
            else:
                self._read(stack[-1], at, token)
        self._found += [
            CodeSet("calls", name, tuple(members)) for name, members in self._calls.items()
        ]
        return self._found

    def _before(self, at: int) -> _Token:
        """Return the token before a place, on whatever line."""
        while at > 0 and self._tokens[at - 1].kind == "line":
            at -= 1
        return self._tokens[at - 1] if at > 0 else _Token("", "")

    def _called(self, at: int) -> _Token:
        """Return the token before a bracket; before the type arguments that stand there."""
        before = self._before(at)
        if before.text == ">":
            for back in range(at - 2, max(at - _TYPE_TOKENS_MAX, 0), -1):
                if self._tokens[back].text == "<":
                    return self._before(back)
        return before

    def _opened(self, outer: _Frame, at: int, opening: str) -> _Frame:
        before = self._called(at) if opening == "(" else self._before(at)
        frame = _Frame(opening)
        last = before.text.rpartition(".")[2].rpartition("::")[2]
        if opening == "(" and before.kind == "name":
            two_before = self._tokens[at - 2].text if at > 1 else ""
            is_defined = two_before in _DEFINES
            frame.call = before.text if not is_defined and last not in _NO_CALLS else ""
        is_wrapped = outer.opening == "(" and not outer.items and not outer.has_begun
        inherits = outer.name if outer.sort and is_wrapped else ""
        name = outer.subject or inherits
        if self._enum and opening == "{":
            frame.sort, frame.name, frame.by_lines = "enum", self._enum, True
            self._enum = ""
        elif opening == "(" and self._is_go and before.text == "const":
            frame.sort, frame.by_lines = "enum", True
        elif name and self._holds_members(opening, at, before, last):
            frame.sort, frame.name = "array", name
        if outer.sort and not outer.first:
            outer.has_begun = True
        return frame

    def _is_map(self, at: int) -> bool:
        """Return whether `map` stands before a bracket on its line, as in `map[string]func(){`."""
        for one in reversed(self._tokens[max(at - _TYPE_TOKENS_MAX, 0) : at]):
            if one.kind == "line" or one.text == "map":
                return one.text == "map"
        return False

    def _holds_members(self, opening: str, at: int, before: _Token, called: str) -> bool:
        """Return whether a bracket behind a token holds the members of a list or table."""
        if opening == "[":
            return before.text in _BEFORE_LIST or called == "Literal"
        if opening == "{":
            is_go = self._is_go and (before.kind == "name" or self._is_map(at))
            return before.text in _BEFORE_TABLE or is_go
        return before.text in ("=", "(", ",") or called in _COLLECTIONS

    def _close(self, frame: _Frame, outer: _Frame) -> None:
        self._end_item(frame)
        is_value = frame.opening == "(" and len(frame.items) < 2  # `(load())`, `tuple(others)`
        if frame.sort and frame.name and not is_value:
            self._found.append(CodeSet(frame.sort, frame.name, tuple(frame.items)))
        if frame.call:
            self._call(frame)
        label = frame.label or (frame.items[0] if frame.items else "")
        is_entry = outer.first == frame.call and outer.opening in "[("
        if label and outer.sort == "array" and (not outer.first or is_entry):
            outer.first = label
        outer.label = outer.label or label

    def _call(self, frame: _Frame) -> None:
        members = self._calls.setdefault(frame.call, [])
        if self._decorators and self._decorators[-1] == frame.call and not frame.label:
            return  # what it decorates is its member
        if self._decorators and self._decorators[-1] == frame.call:
            self._decorators.pop()
        members.append(frame.argument or frame.label or "?")
        verb = frame.call.rpartition(".")[2].lower()
        if verb in _VERBS and frame.argument.startswith("/"):
            routes = self._calls.setdefault("route", [])
            routes.append(f"{verb.upper()} {frame.argument}")

    def _read(self, frame: _Frame, at: int, token: _Token) -> None:
        if token.kind == "line":
            if frame.by_lines and self._before(at).kind != "sign":
                self._end_item(frame)
        elif token.kind == "sign":
            self._read_sign(frame, at, token.text)
        else:
            self._read_word(frame, at, token)

    def _read_sign(self, frame: _Frame, at: int, sign: str) -> None:
        before = self._before(at)
        if sign == ";" and frame.opening == "[":
            frame.sort = ""  # an array of so many: `[&str; 3]`
        elif sign == ",":
            self._end_item(frame)
            frame.subject = frame.subject if not frame.opening else ""
        elif sign == ";":
            if frame.sort == "enum" and not frame.is_ended:
                self._end_item(frame)
                frame.is_ended = True
            elif frame.sort == "array":
                frame.sort = ""
            frame.subject = ""
        elif sign in (":", "=", ":="):
            if frame.argument == before.text:
                frame.argument = ""  # it names an argument: `name="search"`
            if before.kind in ("name", "string") and (sign != "=" or not frame.subject):
                frame.subject = before.text.rpartition(".")[2]
            elif sign == "=" and before.kind == "name":
                frame.subject = frame.subject if self._is_typed(at) else before.text
        elif sign in "&|?" and frame.sort == "array" and frame.first:
            frame.sort = ""  # a member by a condition
        elif sign in "*." and frame.sort == "array" and not frame.first and not frame.has_begun:
            frame.sort = "" if frame.opening != "{" or sign == "." else frame.sort

    def _is_typed(self, at: int) -> bool:
        """Return whether the names before an equals sign are a type: `tools: Tool[] =`."""
        for back in range(at - 1, max(at - _TYPE_TOKENS_MAX, -1), -1):
            if self._tokens[back].text == ":":
                return True
            if self._tokens[back].kind == "line" or self._tokens[back].text in ";,=":
                return False
        return False

    def _read_word(self, frame: _Frame, at: int, token: _Token) -> None:
        before = self._before(at).text
        if token.kind == "string":
            is_named = before in (":", "=") and frame.subject.lower() in _NAMING
            if token.text and (not frame.label or is_named):
                frame.label = token.text
        elif before in _ENUMS or (before in ("class", "struct") and self._is_enum_class(at)):
            self._enum = token.text if token.text not in ("class", "struct") else self._enum
        elif before == "@":
            self._decorators.append(token.text)
        elif before in _DEFINES and self._decorators and token.text not in _DEFINES:
            for name in self._decorators:
                self._calls.setdefault(name, []).append(token.text)
            self._decorators.clear()
        if (
            frame.sort == "array"
            and token.kind == "name"
            and (token.text == "for" or (not frame.first and token.text in _STATEMENTS))
        ):
            frame.sort = ""
        if frame.first or before == "@" or (token.kind == "name" and token.text in _SKIPPED):
            return
        frame.first = token.text
        frame.argument = frame.argument or token.text
        if frame.by_lines and self._is_go and not frame.name and not frame.items:
            following = self._tokens[at + 1] if at + 1 < len(self._tokens) else _Token("", "")
            frame.name = following.text if following.kind == "name" else ""

    def _is_enum_class(self, at: int) -> bool:
        """Return whether `enum` stands before `class` or `struct`, as in Kotlin and C++."""
        return at > 1 and self._tokens[at - 2].text == "enum"

    def _end_item(self, frame: _Frame) -> None:
        if frame.first and not frame.is_ended:
            frame.items.append(frame.first)
        frame.first, frame.has_begun = "", False


def with_member(found: Iterable[CodeSet], wanted: CodeSet) -> CodeSet | None:
    """Return the set that has become `wanted`; the one of its name, else the one most like it.

    One without half of its members is another set, or writes them in another way.
    """
    alike = []
    old = set(map(member, wanted.members))
    for one in found:
        shared = old & set(map(member, one.members))
        if one.sort != wanted.sort or not shared or 2 * len(shared) < len(old):
            continue
        if one.name == wanted.name:
            return one
        alike.append(one)
    return alike[0] if len(alike) == 1 else None
