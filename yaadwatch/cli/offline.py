"""Answer without a daemon: requests that only read are answered from the stores, in place."""

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
from yaadwatch.cli.terminal import Terminal
from yaadwatch.client.connection import DaemonUnresponsive
from yaadwatch.daemon.dispatch import VERBS, Dispatcher
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import config
from yaadwatch.system.clock import Clock
from yaadwatch.text.privacy import mask_tree
from yaadwatch.workspace.lookup import open_home
from yaadwatch.workspace.workspace import PERSON, Call


class Stores:
    """Answers requests that only read from the stores, where no daemon can be asked.

    Args:
        folder: that requests are about; absolute.
        why: no daemon can be asked; raised for all other requests.
        terminal: where a person is told so, once.
    """

    def __init__(self, folder: str, why: YaadError, terminal: Terminal) -> None:
        self._folder = Path(folder)
        self._why = why
        self._terminal: Terminal | None = terminal

    def call(self, operation: str, /, **fields: object) -> dict[str, object]:
        """Return the answer to `operation`; as `Client.call`."""
        if not can_answer(operation):
            raise self._why
        if self._terminal is not None:
            what = "No daemon can be started; this is what the stores hold."
            if isinstance(self._why, DaemonUnresponsive):
                what = "This is what the stores hold, without the daemon."
            hint = f"\n  {self._why.hint}" if self._why.hint else ""
            self._terminal.end_progress()
            self._terminal.err.write(f"yaadwatch: {what} {self._why.message}{hint}\n")
            self._terminal = None
        return answer(operation, fields, self._folder)

    def now(self) -> datetime:
        """Return the present time by the clock that the times in answers are of."""
        return Clock().now()


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
    data_folder = places.data_folder()
    if data_folder.exists() and not data_folder.is_dir():
        raise YaadError(
            Code.REFUSED,
            f"{data_folder} is not a folder; nothing was read from it or written to it.",
            hint="Set YAAD_HOME to a folder of your own.",
        )
    # Settings that cannot be used keep the daemon from starting, which the caller reports.
    settings = config.load_or_usual(data_folder / config.FILE, os.environ).settings
    with closing(open_home(settings, read_only=True)) as home:
        frame = decode(Dispatcher(home, mask_tree).run_verb(call, request))
    if "error" in frame:
        raise to_error(frame["error"])
    return cast("dict[str, object]", frame["result"]) | {"offline": True}
