"""What goes out of a store: lines, pages, or a single file.

It is written down whole first, as the store is at one moment, then handed out a piece at a time;
who asked for it writes the files, with their own rights.
"""

import base64
import json
from collections.abc import Callable, Mapping
from typing import BinaryIO

from yaadwatch.api.messages.store import Export
from yaadwatch.engine.inout import lines, pages, spool
from yaadwatch.engine.inout.spool import Spool
from yaadwatch.engine.inout.stores import Meant, meant
from yaadwatch.engine.workspace import Call, Home


def export(home: Home, call: Call, ask: Export) -> dict[str, object]:
    """Return the first piece of an export, or the next; the answer is Exported.

    Raises:
        YaadError: NOT_FOUND (no watched project here, no such export), BAD_REQUEST,
            UNAVAILABLE when it cannot be written down.
    """
    counts: Mapping[str, int] = {}
    if ask.upload is None:
        made = spool.make(home.clock)
        try:
            with meant(home, call, user=ask.user) as store:
                counts = _fill(home, store, made, ask.format)
        except BaseException:
            made.drop()
            raise
    else:
        made = spool.find(ask.upload)
    data, following, total = made.piece(ask.after)
    if following >= total:
        made.drop()
    return {
        "upload": made.id,
        "data": base64.b64encode(data).decode(),
        "after": following if following < total else None,
        "total": total,
        "counts": dict(counts),
    }


def _fill(home: Home, store: Meant, made: Spool, format: str) -> Mapping[str, int]:
    if format == "store":
        store.db.backup(made.path())
        return {}
    fillers: dict[str, Callable[[BinaryIO], Mapping[str, int]]] = {
        "jsonl": lambda stream: lines.write(store, stream, home.clock.now()),
        "markdown": lambda stream: _pages(store, stream),
    }
    with made.writing() as stream:
        return fillers[format](stream)


def _pages(store: Meant, stream: BinaryIO) -> Mapping[str, int]:
    count = 0
    for path, text in store.db.read(lambda conn: list(pages.of_store(conn))):
        data = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
        stream.write(json.dumps({"path": path, "data": data}).encode() + b"\n")
        count += 1
    return {"files": count}
