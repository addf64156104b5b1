"""How does the service stand? What `doctor` has to know of it; nothing is changed."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from yaadwatch.installing import managers, plans, receipt
from yaadwatch.installing.managers import Manager, Run
from yaadwatch.installing.receipt import Written
from yaadwatch.model.errors import YaadError


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An installed service.

    Args:
        manager: by name.
        altered: files and links that are gone, or not as they were written.
        masked: units that lead nowhere, so that systemd does not start them.
        program: what the service starts, when that is not there any more; else ''.
        is_reached: the manager answers here; in a container that shares the home it may not.
        runs: the service runs, or does at the next request.
        unlisted: a unit that was written for this home, where no receipt says so; else ''.
    """

    manager: str
    unlisted: str = ""
    altered: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    program: str = ""
    is_reached: bool = True
    runs: bool = True


def standing(
    home: Path, environ: Mapping[str, str], *, asking: Run = managers.run
) -> Standing | None:
    """Return how the service stands, or None when none is installed.

    Args:
        home: of the person.
        environ: of the shell.
        asking: runs the commands of managers.

    Raises:
        YaadError: UNAVAILABLE when the receipt cannot be read.
    """
    known = receipt.load()
    here, _ = managers.here(home, environ, asking=asking)
    if known is None:
        return None if here is None else _unlisted(home, here)
    masked = tuple(
        one.path for one in known.written if not one.leads_to and plans.is_masked(Path(one.path))
    )
    manager = managers.by_name(known.manager, Path(known.folder), asking=asking)
    is_reached = manager is not None and here is not None
    return Standing(
        manager=known.manager,
        altered=tuple(
            one.path for one in known.written if one.path not in masked and not _stands(one)
        ),
        masked=masked,
        program="" if os.access(known.program or "/", os.X_OK) else known.program,
        is_reached=is_reached,
        runs=is_reached and manager is not None and manager.is_running(),
    )


def _unlisted(home: Path, manager: Manager) -> Standing | None:
    try:
        path = plans.unlisted(home, manager)
    except YaadError:  # another home's, or not to be read: nothing to tell of ours
        return None
    return None if path is None else Standing(manager=manager.name, unlisted=str(path))


def _stands(written: Written) -> bool:
    path = Path(written.path)
    try:
        if written.leads_to:
            return os.readlink(path) == written.leads_to  # noqa: PTH115
        return hashlib.sha256(path.read_bytes()).hexdigest() == written.digest
    except OSError:
        return False
