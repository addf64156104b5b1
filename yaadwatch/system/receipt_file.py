"""The receipt: a JSON file in our home that says what was written into other programs' files.

Each who writes there has a part of it, under a name of its own; the parts of others stay.
"""

import json
import shlex
from pathlib import Path
from typing import Any

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.files import free_name, private_folder, replace_atomically


def load(path: Path) -> dict[str, Any]:
    """Return all parts by name; none when there is no receipt.

    Raises:
        YaadError: UNAVAILABLE when it cannot be read, or makes no sense.
    """
    try:
        said = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or f"it makes no sense: {error}"
        raise UnreadableError(path, why) from error
    if not isinstance(said, dict):
        raise UnreadableError(path, "it makes no sense: it holds no object")
    return said


def save(path: Path, said: dict[str, Any]) -> None:
    """Write all parts; where there are none, the receipt goes.

    Raises:
        YaadError: UNAVAILABLE when it cannot be written.
    """
    try:
        private_folder(path.parent)
        if said:
            text = json.dumps(said, ensure_ascii=False, indent=1)
            replace_atomically(path, text.encode() + b"\n")
        else:
            path.unlink(missing_ok=True)
    except (OSError, UnicodeEncodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be written ({why}). Nothing else was written, either.",
            hint="Look at the disk and at the permissions of the folder.",
        ) from error


class UnreadableError(YaadError):
    """A receipt that says nothing.

    `why`: the reason, with its path; `mend`: the command that puts it aside.
    """

    def __init__(self, path: Path, why: str) -> None:
        self.why = f"{path} cannot be read ({why})."
        aside = free_name(f"{path}.unreadable")
        self.mend = f"mv -n {shlex.quote(str(path))} {shlex.quote(aside)}"
        super().__init__(
            Code.UNAVAILABLE,
            f"{self.why} Nothing was written.",
            hint=f"Put it aside, then try again: {self.mend}",
        )
