"""Where is the program that the service should run, and will it still be there tomorrow?"""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from yaadwatch.model.errors import Code, YaadError

NAME = "yaadwatch"


def installed(environ: Mapping[str, str], *, python: str = sys.executable) -> tuple[str, ...]:
    """Return the absolute command, without arguments.

    A name on PATH that leads to the program that runs now is best: `~/.local/bin/yaadwatch` stays
    the same when the program is upgraded. Else it is the script beside the interpreter, else the
    interpreter itself.

    Raises:
        YaadError: REFUSED when the program lies in a cache, from where it may vanish.
    """
    folder = Path(python).parent
    script = folder / NAME
    _refuse_cache(folder, environ)
    if not os.access(script, os.X_OK):
        return (python, "-I", "-m", NAME)
    known = shutil.which(NAME, path=environ.get("PATH"))
    if known is not None and Path(known).is_absolute() and Path(known).samefile(script):
        return (known,)
    return (str(script),)


def folders(environ: Mapping[str, str], usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return where programs are found: the folder of this person's git, and the usual ones."""
    git = shutil.which("git", path=environ.get("PATH"))
    found = () if git is None else (str(Path(git).parent),)
    own = tuple(one for one in found if one not in usual and Path(one).is_absolute())
    return own + usual


def _refuse_cache(folder: Path, environ: Mapping[str, str]) -> None:
    real = folder.resolve()
    caches = (
        environ.get("UV_CACHE_DIR"),
        environ.get("XDG_CACHE_HOME"),
        "~/.cache",
        "~/Library/Caches",
    )
    for cache in filter(None, caches):
        if real.is_relative_to(Path(cache).expanduser().resolve()):
            raise YaadError(
                Code.REFUSED,
                f"The program lies in a cache ({folder}), from where it may vanish any day;"
                " no service was installed.",
                hint="Install it first: uv tool install yaadwatch. Then: yaadwatch install",
            )
