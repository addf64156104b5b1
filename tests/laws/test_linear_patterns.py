"""Every regular expression of the package takes time in proportion to the text, whatever repeats.

A quadratic one keeps Python's lock, so a file of 64 KB would have all projects wait for seconds.
"""

import importlib
import itertools
import os
import pkgutil
import re
import re._constants as sre
import re._parser as parser
import time
from pathlib import Path

SOAK = os.environ.get("YAAD_SOAK") == "1"
ROOT = Path(__file__).parents[2]
CHARS = 6_000
# A quadratic pattern takes 18 million steps for so many characters, which is more than this.
LOOKED_AT_S = 0.004
GROWTH_MAX = 9  # for a text of four times the length: a linear pattern takes 4, a quadratic one 16
UNITS = (
    *(
        "\n",
        "\r\n",
        " ",
        "\t",
        "\n ",
        "a\n",
        " a",
        ".",
        "a.b.",
        "0.",
        "a",
        "A",
        "1",
        "_",
        "-",
        "a-",
    ),
    *('"', "'", "`", '\\"', "\\", "[", "](", "(", "{", "${", "<", "<a", "a<!--", "/", "a/", "#"),
    *("*", "- ", ">", ":", "a:", "a-", ",", "a,", "=", "x=", "~", "é"),
)
_METHOD = r"\.(match|fullmatch|search|sub|subn|split|findall|finditer)\b"
_IN_PLACE = re.compile(
    r"\bre\.(match|fullmatch|search|sub|subn|split|findall|finditer)\(\s*(r?b?\"(?:[^\"\\\n]|\\.)*\"|r?b?'(?:[^'\\\n]|\\.)*')(?=,)"
)


def modules():
    """Import every module of the package."""
    for package in ("yaadwatch", "bridges"):
        folder = importlib.import_module(package).__path__
        for found in pkgutil.walk_packages(folder, f"{package}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def held(value, depth=0):
    """Yield the patterns in a value: itself, in a table, in a row of one."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, dict):
        for one in itertools.chain(value, value.values()):
            yield from held(one, depth + 1)
    elif depth < 4 and isinstance(value, (tuple, list, set, frozenset)):
        for one in value:
            yield from held(one, depth + 1)
    elif depth < 4 and hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        for name in value.__dataclass_fields__:
            yield from held(getattr(value, name, None), depth + 1)


def collected():
    """Return where each pattern is, by pattern, and how it is used."""
    found = {}
    for module in modules():
        source = Path(module.__file__).read_text()
        for name, value in vars(module).items():
            for pattern in held(value):
                used = set(re.findall(rf"\b{name}{_METHOD}", source))
                # A bare name is handed to something else; what that does with it is not known.
                bare = re.search(rf"\b{name}\b(?!{_METHOD}|\.pattern|\s*(?::[^=\n]*)?=)", source)
                if value is not pattern or (bare and not used):
                    used = {"finditer"}
                found.setdefault(pattern, (f"{module.__name__}.{name}", set()))[1].update(used)
        for method, text in _IN_PLACE.findall(source):
            pattern = re.compile(eval(text))
            found.setdefault(pattern, (f"{module.__name__}: {text}", set()))[1].add(method)
    return found


def pieces(tree):
    """Yield what a parsed pattern has one after another, each as short as may be."""
    run = ""
    for op, about in tree:
        if op is sre.LITERAL:
            run += chr(about)
            yield chr(about)
        elif op is sre.IN:
            chars = list(sample(about))
            yield from chars
            run += chars[0]
        elif op in (sre.ANY, sre.NOT_LITERAL):
            run += "x"
        else:
            yield run
            run = ""
            yield from inner(op, about)
    yield run


def inner(op, about):
    """Yield the pieces of what is repeated, grouped, or one of several."""
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        yield from pieces(about[2])
    elif op is sre.SUBPATTERN:
        yield from pieces(about[3])
    elif op in (sre.ASSERT, sre.ASSERT_NOT):
        yield from pieces(about[1])
    elif op is sre.ATOMIC_GROUP:
        yield from pieces(about)
    elif op is sre.BRANCH:
        for branch in about[1]:
            yield from pieces(branch)


def sample(members):
    """Yield characters of a class."""
    kinds = {sre.CATEGORY_SPACE: " ", sre.CATEGORY_DIGIT: "1", sre.CATEGORY_WORD: "a"}
    for op, about in members:
        if op is sre.NEGATE:
            yield "x"
            return
        if op is sre.CATEGORY:
            yield kinds.get(about, "-")
        else:
            yield chr(about[0] if op is sre.RANGE else about)


def seconds(search, text):
    """Return the least CPU time of up to three tries."""
    best = 60.0
    for _ in range(3):
        began = time.thread_time()
        search(text)
        best = min(best, time.thread_time() - began)
        if best < LOOKED_AT_S:
            break
    return best


def grows(search, begin, unit, end):
    """Return whether the time grows faster than the text."""

    def takes(chars):
        return seconds(search, begin + unit * (chars // len(unit)) + end)

    if takes(CHARS // 16) > LOOKED_AT_S:
        return True
    whole = takes(CHARS)
    return whole > LOOKED_AT_S and whole > GROWTH_MAX * takes(CHARS // 4)


def slow(pattern, uses):
    """Return the first text that takes too long, or ''."""
    own = sorted(set(pieces(parser.parse(pattern.pattern, pattern.flags))) - {""})
    own.sort(key=len)
    units = dict.fromkeys([*own[:12], *own[-8:], *UNITS])
    if SOAK:
        units = dict.fromkeys([*units, *map("".join, itertools.permutations([*units][:40], 2))])
    searches = [getattr(pattern, use) for use in uses & {"match", "fullmatch"}]
    if uses - {"match", "fullmatch"}:
        searches.append(lambda text: sum(1 for _ in pattern.finditer(text)))
    for unit in units:
        given = [own[0] if own else "", unit, "\x01"]
        if isinstance(pattern.pattern, bytes):
            given = [one.encode() for one in given]
        # Under load, one measurement may be wrong.
        if any(grows(search, *given) and grows(search, *given) for search in searches):
            return repr(unit)
    return ""


def test_no_pattern_takes_long_for_a_text_that_repeats_itself():
    found = collected()

    late = {where: unit for at, (where, uses) in found.items() if (unit := slow(at, uses))}

    assert len(found) > 400
    assert not late
