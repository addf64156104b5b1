"""Is a name still provided by a file that no longer defines it? By an export, or by inheritance."""

import re

from yaadwatch.core.truth import definitions
from yaadwatch.core.truth.definitions import Definition, State
from yaadwatch.core.truth.found import parts_of

_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
_EXPORTED = re.compile(r"^export\s*(?:type\s*)?\{([^{}]*)\}", re.MULTILINE)
_EXPORTED_ALONE = re.compile(r"^export\s+default\s+([\w$]+)\s*;?[ \t]*$", re.MULTILINE)
_IMPORTED = re.compile(r"^from[ \t]+\S+[ \t]+import[ \t]*(\([^()]*\)|[^\n]*)", re.MULTILINE)
_REMARK = re.compile(r"/\*[^*]*\*/|(?://|#)[^\n]*")
_CLASSES_MAX = 16
"""Classes of one file that are asked for a member that one of them inherits."""


def is_passed_on(data: bytes, path: str, symbol: str) -> bool:
    """Return whether a file exports or imports, for others to use, what it does not define itself.

    `export { inner as parse }` in a script, and in Python `from .rows import parse`.
    """
    if len(parts_of(symbol)) > 1:
        return False
    text = data.decode("utf-8", "replace")
    lowered = path.lower()
    if lowered.endswith(_SCRIPTS):
        alone = _EXPORTED_ALONE.findall(text)
        return symbol in alone or symbol in _listed(_EXPORTED.findall(text))
    return lowered.endswith((".py", ".pyi")) and symbol in _listed(_IMPORTED.findall(text))


def _listed(lists: list[str]) -> set[str]:
    """Return the names by which others know what is listed: of `a as b` that is `b`."""
    items = (item for one in lists for item in _REMARK.sub("", one).strip("() \t").split(","))
    return {words[-1] for item in items if (words := item.split())}


def member(data: bytes, path: str, symbol: str) -> Definition | None:
    """Return the definition that a class of a file inherits from another class of that file.

    None where it inherits none. `Store.save` is that of `Base` where `Store` extends `Base`.
    """
    *scope, name = parts_of(symbol)
    if not scope:
        return None
    text = data.decode("utf-8", "replace")
    known = [scope[-1]]
    for one in known:  # it grows
        for base in _bases(text, one):
            if base in known or len(known) > _CLASSES_MAX:
                continue
            found = definitions.define(data, path, f"{base}.{name}")
            if found.state is State.FOUND:
                return found
            known.append(base)
    return None


def _bases(text: str, name: str) -> list[str]:
    """Return the names in the head of a class behind its own: what it extends is among them."""
    head = re.search(
        rf"^[ \t]*(?:[\w@]+[ \t]+)*?class[ \t]+{re.escape(name)}\b"
        r"((?:\s*\([^()]*\))?(?:[^{\n]|\n\s*(?=extends\b|:))*)",
        text,
        re.MULTILINE,
    )
    extends = head.group(1).partition("implements")[0] if head is not None else ""
    return re.findall(r"[A-Za-z_]\w*", extends)
