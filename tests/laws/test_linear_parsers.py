"""Every parser that reads a file of a repository takes time in proportion to the file, whatever
repeats in it: one that does not keeps Python's lock, and all projects wait.
"""

import contextlib
import os
import sys
import time
from functools import partial
from pathlib import Path

from bridges import block, frontmatter, reading, registry
from yaadwatch.anchors import counts, definitions, facts, literals, mentions, targets, values
from yaadwatch.repo import attributes, changes, layout
from yaadwatch.text import jsonc, privacy, toml, words

sys.path.append(str(Path(__file__).parents[1] / "unit" / "rules"))
from definition_sources import SAMPLES

SOAK = os.environ.get("YAAD_SOAK") == "1"
SIZE = (64 if SOAK else 8) * 1024
ENOUGH_S = 0.010
"""For 8 KiB. What takes longer is compared with a quarter of the text."""
GROWTH_MAX = 9
"""A linear parser takes 4 times as long for it, a quadratic one 16 times."""
LIMIT_S = 4.0
"""Of 128 KiB: twice for parsing, 2 s each, and less than that for the rest."""
ENDINGS = ("c", "cpp", "ts", "rs", "rb", "cs", "go", "py", "json", "toml", "yaml")
FEW = ("\n", " ", "a", ".", "a.b.", '"', "(", "[", "<a>\n", "a<!--", "a:\n", "- a\n")
"""What the short form repeats, beside what the format of the parser is made of."""
UNITS = (
    *(
        "\n",
        "\r\n",
        " ",
        "\t",
        "\n\t",
        "\n  ",
        "a",
        "A",
        "1",
        ".",
        "a.b.",
        ",",
        ";",
        ":",
        "a:\n",
        "a: b\n",
        "é",
        "\\",
        "/",
    ),
    *(
        '"',
        "'",
        "`",
        '\\"',
        '"""',
        "```\n",
        "~~~\n",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "[[",
        "[a]\n",
        "a = 1\n",
        'a = "b"\n',
    ),
    *(
        "<",
        "<!--",
        "-->",
        "a<!--",
        "<a>",
        "<details>\n",
        "&",
        "%",
        "$(",
        "${",
        "@",
        "|",
        "*",
        "**",
        "_",
        "~",
        "![",
    ),
    *(
        "- a\n",
        "- `a`\n",
        "  - a\n",
        "# a\n",
        "#",
        "> ",
        "1. a\n",
        "| a | b |\n",
        "---\n",
        "===\n",
        "[a](b)",
        "[a]: b\n",
    ),
    *(
        "//",
        "/*",
        "*/",
        "a,",
        '{"a":',
        "[1,",
        "if a:\n",
        "def a():\n",
        "=",
        "a=",
        "a += 1\n",
        "x: y: ",
        "&a ",
        "*a ",
    ),
)
STATED = literals.StatedLiteral("3000", frozenset(("port",)), frozenset(("port",)))
FILES = {
    "Makefile": ("a: b\n\tc\n", "include x.mk\n", ".PHONY: a\n", "%: $(a)\n"),
    "justfile": ("a b='c':\n  d\n", "import 'x'\n", "@a:\n"),
    "Taskfile.yml": ("  a:\n    cmds:\n", "tasks:\n"),
    "tox.ini": ("[testenv:a]\n", "envlist = a,b\n", "\n a"),
    "pyproject.toml": (
        "[tool.poetry.scripts]\n",
        'a = "b:c"\n',
        "[project.scripts]\n",
        "name = 'a'\n",
    ),
    "Rakefile": ("task :a\n", "  task a => b\n"),
    "package.json": ('"scripts":{"a":"b"},', '{"scripts":{', '"a":"b",'),
    "noxfile.py": ("def a(x):\n", "name='a'\n"),
    "go.mod": ("require a/b v1\n", "require (\n", "\ta/b v1.0.0 // indirect\n", "module a\n"),
    "Cargo.toml": ("[dependencies]\n", 'a = "1"\n', "[dependencies.a]\n"),
    "requirements.txt": ("a==1\n", "-r a\n", "a[b]>=1; c\n", "a @ b\n"),
    "Gemfile": ("gem 'a', '1'\n", "group :a do\n"),
    "composer.json": ('"require":{"a/b":"1"},',),
    "pom.xml": ("<dependency>\n", "<artifactId>a</artifactId>\n", "<!--"),
    "build.gradle": ("implementation 'a:b:1'\n", "dependencies {\n"),
    ".pre-commit-config.yaml": ("  - id: a\n", "repos:\n"),
}


def parsers():
    """Yield each parser: its name, the function, what texts of its format are made of."""
    for name, own in FILES.items():
        yield f"{name}: defines", partial(with_target, targets.defines_target, name), own
        yield f"{name}: nearest", partial(with_target, targets.nearest_target, name), own
        yield (
            f"{name}: renamed",
            lambda text, name=name: targets.renamed(name, text, text + "x", "a"),
            own,
        )
    for name in facts.DECLARING:
        yield f"{name}: declared", partial(facts.declared, name), FILES.get(name, ())
    for path in (sample.path for sample in SAMPLES):
        yield f"{path}: by lines", partial(by_lines, path), ()
    read = {bridge.name: bridge.parse for bridge in registry.bridges()}
    for name in read if SOAK else ("claude", "copilot-rules"):
        yield f"agent file {name}", partial(agent_file, read[name]), ("- a\n", "globs: a\n")
    yield "imports", reading.imports, ("@a ", "@a/b.md\n", "`@a`")
    yield (
        "block",
        lambda text: block.find(text.encode()),
        ("<!-- yaadwatch -->\n", "<!-- yaadwatch: begin -->\n"),
    )
    yield "no markers", lambda text: block.without_markers(text.encode()), ("<!-- yaadwatch -->\n",)
    yield "header", lambda text: frontmatter.fields(text.split("\n")), ("---\n", "a: [b,", "- a\n")
    yield "jsonc", quietly(jsonc.read), ('"a":1,', "// a\n", "/* */", '\\"', '{"a":{')
    yield "json error", quietly(jsonc.strict_json_error), ('"a":1,', "// a\n")
    yield (
        "jsonc put",
        quietly(lambda text: jsonc.put(text, ("a", "b"), 1)),
        ('"a":1,', "// a\n", "/* */"),
    )
    yield (
        "toml",
        quietly(toml.read),
        ("[a]\n", "[[a]]\n", "a.b.", "a = 1\n", '"""', "'''", "a = [", "a = {b = 1}\n"),
    )
    yield (
        "toml scan",
        quietly(toml.scan),
        ("[a]\n", "[[a]]\n", "a.b.", "a = 1\n", '"""', "'''", "a = [", "a = {b = 1}\n"),
    )
    yield (
        "toml put",
        quietly(lambda text: toml.put(text, ("a", "b"), {"c": 1})),
        ("[a]\n", "a = 1\n"),
    )
    yield (
        "gitattributes",
        lambda text: attributes.parsed_attributes(text.encode()),
        ("* -diff\n", "[attr]a b\n"),
    )
    yield (
        "git config",
        lambda text: layout._setting_in(text.encode(), "core", "a", ""),
        ("[core]\n", "a = b\n", '[a "b"]\n'),
    )
    yield (
        "changes",
        quietly(lambda text: changes.parsed(text.encode())),
        (":100644 100644 a b M\0a\0",),
    )
    yield (
        "literal place",
        lambda text: literals.place_of(text + "\nport = 3000\n", STATED),
        ("port = 3000 ", "port=", "3000"),
    )
    yield (
        "literal now",
        lambda text: literals.now_at("3000\nport\nport = \n", text),
        ("port = 3000\n", "port="),
    )
    yield (
        "literal lines",
        lambda text: literals.now_at("3000\n\nport = \n;", text),
        ("port = 3000;\n", "port = "),
    )
    yield "heading", lambda text: literals.at_spot("#zz", text), ("# a\n", "a\n---\n", 'id="a"')
    yield "line", lambda text: literals.is_at_spot(":7", "zz", text), ()
    yield (
        "assigned",
        lambda text: values.assigned(text + "\nlimit = 3\n", "limit"),
        ("limit = 3\n", "limit", "limit="),
    )
    yield (
        "meant",
        lambda text: values.meant_name(text + "\nretry_limit = 3\n", "retry limit", "3"),
        ("retry", "retry_limit = 3\n"),
    )
    yield (
        "version",
        lambda text: values.version_in("package.json", text, "node"),
        ('"node": "1"', "node"),
    )
    yield "stated", lambda text: [*literals.stated(text)], ("`3000`", "port 3000 ", "true ")
    yield "spots", lambda text: [*literals.spots(text)], ("a.md#b ", "a.py:1 ")
    yield "mentions", mentions.mentions, ("`a.b` ", "src/a.py ", "a() ")
    yield "counts", lambda text: [*counts.counts(text)], ("three a ", "3 a. ")
    yield "endpoints", lambda text: [*mentions.endpoints(text)], ("GET /a ", "/a/b ")
    yield (
        "servers",
        lambda text: [*literals.said_of_servers(text)],
        ("port 3000 ", "localhost:3000 "),
    )
    yield "commands", lambda text: [*targets.commands(text)], ("make a && ", "npm run a; ", "$ ")
    yield "versions", lambda text: [*values.versions(text)], ("node 1.2 ", "v1.2 ")
    yield (
        "named packages",
        lambda text: [*facts.named_packages(text, {"a": "npm"})],
        ("`a` ", "@a/b "),
    )
    yield "mask", privacy.mask, ("token=a ", "password: a\n", "AKIA", "a@b.c ")
    yield "kept", privacy.kept, ("token=a ", "key AKIA and secret ")
    yield "words", words.words, ()
    yield "hash", words.text_hash, ()
    yield "summary", words.summarise, ()


def with_target(ask, name, text):
    return ask(name, text, "abcdef")


def agent_file(parse, text):
    parse(text.encode())


def by_lines(path, text):
    return definitions.define_by_lines(text.encode(), path, "a")


def quietly(parse):
    """Return a function that parses a text, which may be refused."""

    def call(text):
        with contextlib.suppress(ValueError, RecursionError, KeyError):
            parse(text)

    return call


def seconds(parse, text, enough_s):
    """Return the least CPU time of up to three tries, each with another text: answers are kept."""
    best = 600.0
    for number in range(3):
        began = time.thread_time()
        parse(f"{text}\n{number}")
        best = min(best, time.thread_time() - began)
        if best < enough_s:
            break
    return best


def grows(parse, unit, size):
    """Return whether the time grows faster than the text."""
    enough_s = ENOUGH_S * size / 8192
    whole = seconds(parse, unit * (size // len(unit)), enough_s)
    if whole < enough_s:
        return False
    return whole > GROWTH_MAX * seconds(parse, unit * (size // 4 // len(unit)), 0)


def test_no_parser_takes_long_for_a_file_that_repeats_itself():
    late = [
        (name, unit, size)
        for name, parse, own in parsers()
        for unit, size in (
            *((unit, SIZE) for unit in dict.fromkeys([*own, *(UNITS if SOAK else FEW)])),
            *((unit, 512 * 1024) for unit in (own[:2] if SOAK else ())),
        )
        # Under load, one measurement may be wrong.
        if grows(parse, unit, size) and grows(parse, unit, size)
    ]

    assert late == []


def test_no_syntax_tree_takes_longer_than_its_limit():
    """A grammar may take time that grows with the square: it is stopped, and the tree unknown."""
    late = [
        (path, unit)
        for path, unit in trees()
        if seconds(partial(names, path), unit * (128 * 1024 // len(unit)), LIMIT_S) > LIMIT_S
    ]

    assert late == []


def trees():
    """Yield files and what repeats in them; the short form has what took longest."""
    if not SOAK:
        yield from (("a.cpp", "a<!--"), ("a.ts", "a<!--"))
        return
    for sample in SAMPLES:
        own = (f"{one}\n" for one in sample.source.split("\n")[:12])
        yield from ((sample.path, unit) for unit in dict.fromkeys([*own, *UNITS]))


def names(path, text):
    definitions.names(text.encode(), path)
    definitions.is_only_laid_out(text.encode(), f"{text}a".encode(), path, "a")


CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
"""Small files that were, or may be, too much for a parser; each such bug adds one."""


def test_every_parser_reads_every_file_of_the_corpus():
    texts = {path.name: path.read_bytes().decode("utf-8", "replace") for path in CORPUS}
    trees_of = ((end, partial(names, f"a.{end}"), ()) for end in ENDINGS)
    read = [*parsers(), *trees_of]
    raised = []

    for name, parse, _ in read:
        for file, text in texts.items():
            try:
                parse(text)
            except Exception as error:
                raised.append((name, file, repr(error)))

    assert len(texts) > 40
    assert raised == []
