"""Which value does a file give a name? Read from its definition, wherever there is one."""

from yaadwatch.core.references import values
from yaadwatch.core.truth import definitions
from yaadwatch.core.truth.definitions import State
from yaadwatch.core.truth.hunks import last_part


def given(source: bytes, path: str, symbol: str) -> str | None:
    """Return the literal that a file gives a name; None when that is a formula, or not to be read.

    A number as `values.plain` writes it, anything else as `values.literal`.

    What the definition does not say is not looked for elsewhere: an example in a comment, or the
    same name in another class, is no answer. Only where the file defines no such name, as in a
    language or a format that is not known, all of it is looked at.

    Args:
        source: the file's bytes.
        path: its name, which tells the language.
        symbol: a name, or names joined as `definitions.define` takes them.
    """
    lines = source.decode("utf-8", "replace").split("\n")
    found = definitions.define(source, path, symbol)
    if found.state is State.FOUND and found.line is not None:
        lines = lines[found.line - 1 : found.end_line]
    elif found.state is not State.MISSING:
        return None
    return values.assigned("\n".join(lines), last_part(symbol))
