"""Python functions for the laws of symbols, and ways to write each of them differently.

What two functions have in common is said by Python itself: `dump` is its own syntax tree, without
positions, documentation and `pass`. Everything is drawn from a `random.Random`, which is a hundred
times as fast as drawing each node by itself; a small `size` makes small functions.
"""

import ast
import io
import tokenize

_ATOMS = [
    *("a", "b", "limit", "größe", "None", "...", "True"),
    *("0", "255", "1_000", "0xFF", "0Xff", "0b11", "0o17", "1.0", "1.", "1e5", "1E5", "2j"),
    *("''", "'a b'", r"'it\'s'", '"it\'s"', r"'tab\t'", "'é'", r"r'a\d'", r"'a\\d'", "'{x}'"),
    *("'''new\nline'''", "b'a'", r"rb'a\d'", r"b'\xff'", r"'\x00'", "'a' 'b'", "b'a' b'b'"),
    *("u'a'", "f''", "f'{a}'", "f'{a!r}'", "f'{a:>8}'", "f'{a:{b}.{limit}}'", "f'{{a}}'"),
    *("f'{a = }'", "f'{a=:>3}'", r"'x' f'{a}' r'\d'", r"f'a\t{a}' 'b'", "f'''{a}'''"),
    *(r"rf'\d{a}'", "f'{a}' f'{b}'", r"r'\\'", r"'\N{DASH}'", r"'\u00e9'"),
]
_OPERATORS = [
    *("+", "-", "*", "/", "//", "%", "@", "<<", ">>", "&", "|", "^"),
    *("and", "or", "<", "<=", "==", "!=", "is", "in", "is not", "not in"),
]
_ONE = [
    *("not ({})", "-({})", "~({})", "({}).limit", "[(a := ({}))]", "(yield ({}))", "(await ({}))"),
    *("lambda: ({})", "[{}]", "({},)", "{{{}}}", "(yield)", "[]", "()", "{{}}", "a[::({})]"),
    *("a ** ({})", "f'{{({})}}'", "f'{{({})!r:>{{a}}}} b'", "(yield from ({}))"),
]
_TWO = [
    *("({})({})", "limit({}, *({}), a=1)", "a < ({}) < ({})", "a[({}), ({})]", "({}), ({})"),
    *("limit(b=({}), **({}))", "limit(({}) for a in ({}))", "[({}) for a, b in ({}) if a if b]"),
    *("{{({}): ({}) async for a in b}}", "({})[({})]", "a[({}):({})]", "a[({})::({}), ...]"),
    *("a[({}),], ({})", "lambda a, /, b=({}), *c, d, **e: ({})", "a if ({}) else ({})"),
    *("[*({}), ({})]", "{{**a, ({}): ({})}}", "a[({}):, :({})]", "(*({}), ({}))"),
    *("({}) and ({}) and a", "a or (({}) or ({}))", "limit(a, ({}), b=({}))"),
]
_ANNOTATIONS = [
    *("int", "list[int]", "a.b", "'a'", "dict[str, int] | None", "a | b | None", "a[b].c", "(a)"),
    *("a[b] | c | d", "list[int,]", "tuple[()]", "a[b, 'c', 1]", "(a[b])", "a[b[c]]"),
]
_PARAMETERS = [
    *("", "a", "a, b", "a, /, b", "a, *, b", "*a, b, **c", "a={value}", "*a: {note}"),
    *("a: {note}", "a: {note} = {value}, *, b={value}"),
]
_SIMPLE = [
    *("return {}", "return {},", "a = {}", "a, b = {}", "c = [a, *b] = {}", "a.limit += {}", "{}"),
    *("assert {}, b", "raise limit from {}", "a: list[int] = {}", "print(a, {})", "return", "pass"),
    *("'''words'''", "f'''words'''", "b'words'", "('words')", "f'{{limit}}'", "global limit"),
    *("import a.b as c", "from .a import b, c as d", "del a, b[0]", "a; b", "a: int"),
    *("(a) = {}", "(a, b) = {}", "a[0], *b.c = {}", "...", "a = b = {}", "nonlocal a"),
]
_COMPOUND = [
    "if {e}:\n{b}",
    "if {e}:\n{b}else:\n{c}",
    "if a:\n    b\nelif {e}:\n{b}elif b:\n    a\nelse:\n{c}",
    "if a:\n    b\nelse:\n    if {e}:\n        a\n    else:\n        b\n",
    "for a, b in {e}:\n{b}",
    "async for (a) in {e}:\n{b}else:\n{c}",
    "while {e}:\n{b}",
    "with limit({e}) as a, b as c:\n{b}",
    "with (a as b, c):\n{b}",
    "async with limit({e}):\n{b}",
    "try:\n{b}except (a, b) as c:\n{c}",
    "try:\n{b}except a:\n{c}else:\n    a\nfinally:\n    b\n",
    "@a.b(c)\n@b\nasync def inner({p}) -> {n}:\n{b}",
    "def inner({p}):\n{b}",
    "class Inner(a, b=c):\n{b}",
    "class Inner():\n{b}",
    "match limit({e}):\n    case [a, (1 | 2) as b]:\n        a\n",
    "match limit({e}):\n    case {{'k': b, **c}} if a:\n        b\n",
    "match limit({e}):\n    case Limit(a, b=2), *c:\n        a\n    case (a):\n        b\n",
    "match limit({e}):\n    case 'a' | b.c | -1 | None:\n        a\n",
    "match limit({e}):\n    case (a, b) | [b, a]:\n        b\n",
]


def function(random, size):
    """Return a function called `target`, as text; it is valid Python."""
    while True:
        source = _Author(random, size).function()
        if is_valid(source):
            return source


def indented(source):
    """Return it as it stands in a block; what is inside a string stays where it is."""
    inside = _inside_strings(source)
    return "".join(
        line if number in inside else f"    {line}" for number, line in enumerate(_lines(source), 1)
    )


class _Author:
    """Writes until `size` is used up, then only what is small."""

    def __init__(self, random, size):
        self.random = random
        self.left = size

    def pick(self, choices):
        return self.random.choice(choices)

    def function(self):
        decorator = self.pick(["", "", "@a\n", "@a.b(c, d=1)\n"])
        start = self.pick(["async def", "def"])
        result = self.pick(["", "", f" -> {self.pick(_ANNOTATIONS)}"])
        return f"{decorator}{start} target({self.parameters()}){result}:\n{self.block()}"

    def parameters(self):
        text = self.pick(_PARAMETERS)
        return text.format(note=self.pick(_ANNOTATIONS), value=self.pick(_ATOMS))

    def block(self):
        statements = [self.statement() for _ in range(self.random.randint(1, 3))]
        return "".join(f"    {line}" for line in "".join(statements).splitlines(keepends=True))

    def statement(self):
        self.left -= 1
        if self.left > 0 and self.random.random() < 0.4:
            return self.pick(_COMPOUND).format(
                e=self.expression(),
                b=self.block(),
                c=self.block(),
                p=self.parameters(),
                n=self.pick(_ANNOTATIONS),
            )
        return self.pick(_SIMPLE).format(self.expression()) + "\n"

    def expression(self):
        self.left -= 1
        kind = self.random.random()
        if self.left <= 0 or kind < 0.3:
            return self.pick(_ATOMS)
        if kind < 0.5:
            return self.pick(_ONE).format(self.expression())
        if kind < 0.7:
            return f"({self.expression()}) {self.pick(_OPERATORS)} ({self.expression()})"
        return self.pick(_TWO).format(self.expression(), self.expression())


def is_valid(source):
    """Return whether Python can read it (names out of place are no matter here)."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


class _Plain(ast.NodeTransformer):
    """Takes away what means nothing."""

    def generic_visit(self, node):
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, [one for one in statements if not _means_nothing(one)])
        return node

    def visit_Constant(self, node):
        node.kind = None
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        first = node.values[0]
        if isinstance(first, ast.BoolOp) and type(first.op) is type(node.op):
            node.values = first.values + node.values[1:]
        return node


def _means_nothing(statement):
    if isinstance(statement, ast.Pass):
        return True
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    if isinstance(value, ast.JoinedStr):
        return not any(isinstance(part, ast.FormattedValue) for part in value.values)
    return isinstance(value, ast.Constant) and isinstance(value.value, str | bytes)


def dump(source):
    """Return what Python reads in `source`, apart from what means nothing."""
    return ast.dump(_Plain().visit(ast.parse(source)))


# The same function, written differently


def rewrite(random, source):
    """Return the same function after a formatter, or a person, has been at it."""
    steps = [_unparsed, _in_brackets, _spread, _commented, _reindented, _requoted]
    last = random.choice([_unparsed, _with_crlf, _commented])
    for step in (*random.choices(steps, k=random.randint(1, 5)), last):
        changed = step(random, source)
        if is_valid(changed) and dump(changed) == dump(source):
            source = changed
    return source


def _unparsed(random, source):
    return ast.unparse(ast.parse(source)) + "\n"


def _in_brackets(random, source):
    """Put brackets around an expression."""
    spots = [
        (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    ]
    if not spots:
        return source
    line, column, end_line, end_column = random.choice(spots)
    lines = [text.encode() for text in source.split("\n")]
    end = lines[end_line - 1]
    lines[end_line - 1] = end[:end_column] + b")" + end[end_column:]
    start = lines[line - 1]
    lines[line - 1] = start[:column] + b"(" + start[column:]
    return b"\n".join(lines).decode("utf-8", "replace")


def _spread(random, source):
    """Break lines inside brackets, with comments and a comma before the closing one."""
    depth, before, out = 0, "", []
    position = (1, 0)
    lines = _lines(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.ENDMARKER:
            break
        between = _between(lines, position, token.start)
        opens = token.type == tokenize.OP and token.string in "([{"
        closes = token.type == tokenize.OP and token.string in ")]}"
        if depth and token.type != tokenize.NL and random.random() < 0.2:
            wide = " " * random.randint(20, 30)
            between += random.choice([f"\n{wide}", f"\n\n{wide}", f" # words, (w\n{wide}", "  "])
        if closes and before not in tuple("([{,") and random.random() < 0.3:
            between = "," + between
        out += [between, token.string]
        depth += opens - closes
        before, position = token.string, token.end
    return "".join(out)


def _lines(source):
    """Return the lines with their ends, as Python counts them."""
    return [f"{line}\n" for line in source.split("\n")][:-1]


def _between(lines, start, end):
    if start[0] > len(lines):
        return ""
    text = "".join(lines[start[0] - 1 : end[0]])
    last = lines[end[0] - 1] if end[0] <= len(lines) else ""
    return text[start[1] : len(text) - (len(last) - end[1])]


def _inside_strings(source):
    """Return the numbers of the lines that begin inside a token."""
    inside = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        inside |= set(range(token.start[0] + 1, token.end[0] + 1))
    return inside


def _commented(random, source):
    """Add comments and empty lines, and documentation where a function begins."""
    inside = _inside_strings(source)
    out = []
    for number, line in enumerate(source.split("\n"), 1):
        indent = line[: len(line) - len(line.lstrip())]
        decorated = bool(out) and out[-1].lstrip().startswith("@")
        if number not in inside and not decorated and random.random() < 0.3:
            out.append(random.choice(["", "# words", f"{indent}# words", "        # words", "   "]))
        out.append(line)
        if line.lstrip().startswith(("def ", "async def ")) and line.endswith(":"):
            unit = "    " + indent
            out.append(random.choice(["# words", f'{unit}"""Words."""', f"{unit}pass"]))
    return "\n".join(out)


def _reindented(random, source):
    unit = random.choice([" ", "  ", "\t", "        "])
    inside = _inside_strings(source)
    out = []
    for number, line in enumerate(source.split("\n"), 1):
        plain = line.lstrip(" ")
        depth, rest = divmod(len(line) - len(plain), 4)
        out.append(line if rest or number in inside else unit * depth + plain)
    return "\n".join(out)


def _requoted(random, source):
    """Write plain strings with other quotes, prefixes and escapes."""
    lines = source.split("\n")
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for token in reversed(tokens):
        if token.type == tokenize.STRING and token.start[0] == token.end[0]:
            prefix = token.string[: len(token.string) - len(token.string.lstrip("bBfFrRuU"))]
            if "f" not in prefix.lower() and random.random() < 0.6:
                text = _literal(random, ast.literal_eval(token.string))
                line = lines[token.start[0] - 1]
                lines[token.start[0] - 1] = line[: token.start[1]] + text + line[token.end[1] :]
    return "\n".join(lines)


def _literal(random, value):
    quote = random.choice(['"', "'", '"""', "'''"])
    if isinstance(value, bytes):
        digits = "".join(f"\\x{byte:02X}" for byte in value)
        return random.choice([repr(value), "B" + repr(value)[1:], f"b{quote}{digits}{quote}"])
    spelled = [
        random.choice([f"\\u{ord(char):04x}", f"\\U{ord(char):08X}", f"\\{ord(char) % 512:03o}"])
        for char in value
    ]
    first, second = "".join(spelled[: len(spelled) // 2]), "".join(spelled[len(spelled) // 2 :])
    prefix = random.choice(["", "u", "U"])
    return random.choice(
        [
            repr(value),
            f"{prefix}{quote}{first}{second}{quote}",
            f"{quote}{first}{quote} {quote}{second}{quote}",
        ]
    )


def _with_crlf(random, source):
    return source.replace("\n", "\r\n")


# A function that says something else


def edit(random, source):
    """Return the function after one small change of its tree; now and then that is none."""
    tree = ast.parse(source)
    spots = [node for node in ast.walk(tree) if type(node) in _EDITS]
    node = random.choice(spots)
    random.choice(_EDITS[type(node)])(node)
    try:
        changed = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, TypeError, AttributeError):  # a tree that no text stands for
        return source
    return changed if is_valid(changed) else source


def _set(**values):
    def change(node):
        for name, value in values.items():
            setattr(node, name, value)

    return change


def _drop(name, index=-1):
    def change(node):
        if getattr(node, name):
            del getattr(node, name)[index]

    return change


def _swap(name):
    return lambda node: getattr(node, name).reverse()


def _operator(node):
    if not isinstance(node.op, ast.BitOr):  # annotations hold no other operators
        node.op = ast.Sub()


def _drop_statement(node):
    node.body = node.body[:-1] or [ast.Pass()]


def _toggle_constant(node):
    if isinstance(node.value, str):
        node.value = node.value + " "
    elif isinstance(node.value, bytes):
        node.value = node.value.decode("latin-1")
    elif type(node.value) is int:
        node.value = float(node.value)
    else:
        node.value = 7


_EDITS = {
    ast.Name: [_set(id="other")],
    ast.Attribute: [_set(attr="other")],
    ast.Constant: [_toggle_constant],
    ast.BinOp: [_operator],
    ast.BoolOp: [_set(op=ast.And()), _set(op=ast.Or()), _swap("values")],
    ast.UnaryOp: [_set(op=ast.Invert())],
    ast.Compare: [_set(ops=[ast.Is()]), _drop("ops", 0)],
    ast.Call: [_drop("args"), _drop("keywords"), _swap("args")],
    ast.Tuple: [_drop("elts"), _swap("elts")],
    ast.List: [_drop("elts"), _swap("elts")],
    ast.Slice: [_set(lower=None), _set(upper=None), _set(step=None)],
    ast.FormattedValue: [_set(conversion=97), _set(format_spec=None)],
    ast.arguments: [
        *(_drop("defaults"), _drop("posonlyargs"), _drop("kwonlyargs"), _set(kwarg=None)),
        *(_set(vararg=None), _swap("args")),
    ],
    ast.arg: [_set(annotation=None), _set(arg="other")],
    ast.FunctionDef: [_drop_statement, _drop("decorator_list"), _set(returns=None), _swap("body")],
    ast.AsyncFunctionDef: [_drop_statement, _drop("decorator_list"), _set(returns=None)],
    ast.ClassDef: [_drop("bases"), _drop("keywords"), _set(name="Other")],
    ast.If: [_set(orelse=[]), _drop_statement],
    ast.For: [_drop_statement],
    ast.With: [_drop("items", 0), _drop_statement],
    ast.ExceptHandler: [_set(name=None), _set(type=None), _drop_statement],
    ast.Return: [_set(value=None)],
    ast.AnnAssign: [_set(value=None)],
    ast.ImportFrom: [_set(level=2), _drop("names")],
}
