"""Answer what only reads without a daemon: this process reads the stores in place, read-only."""

import os
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import cast

from yaadwatch import places
from yaadwatch.api import codec
from yaadwatch.api.frames import decode, to_error
from yaadwatch.api.operations import BY_NAME
from yaadwatch.core.privacy import mask_tree
from yaadwatch.engine.compose import open_home
from yaadwatch.engine.workspace import PERSON, Call
from yaadwatch.servers.dispatch import VERBS, Dispatcher
from yaadwatch.system import config
from yaadwatch.system.clock import Clock


def can_answer(operation: str) -> bool:
    """Return whether an operation only reads what is stored."""
    return operation in VERBS and operation != "health" and BY_NAME[operation].kind == "read"


def answer(operation: str, fields: Mapping[str, object], folder: Path) -> dict[str, object]:
    """Return what the daemon would answer to `operation`, with `offline: true`.

    Args:
        operation: one for which `can_answer` returns True.
        fields: of its request.
        folder: the caller's folder; `fields` may name another project.

    Raises:
        YaadError: as the operation; UNAVAILABLE when a store cannot be read, REFUSED when it
            belongs to another user.
    """
    request = codec.request(
        {"jsonrpc": "2.0", "id": 1, "method": operation, "params": dict(fields)}
    )
    call = Call(folder=Path(request.project) if request.project else folder, origin=PERSON)
    # Settings that cannot be used keep the daemon from starting, which the caller reports.
    settings = config.load_or_usual(places.home() / config.FILE, os.environ).settings
    with closing(open_home(settings, read_only=True)) as home:
        frame = decode(Dispatcher(home, mask_tree).answered(call, request))
    if "error" in frame:
        raise to_error(frame["error"])
    return cast("dict[str, object]", frame["result"]) | {"offline": True}


def now() -> datetime:
    """Return the present time by the clock that the times in answers are of."""
    return Clock().now()
