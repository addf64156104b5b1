"""Renames that the kernel does in one step: two names change places, or a name must not be taken.

renameat2(2) on Linux, renameatx_np(2) on macOS; some file systems have neither.
"""

import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Final

_LINUX: Final = sys.platform == "linux"
_EXCHANGE: Final = 2  # RENAME_EXCHANGE of renameat2(2), RENAME_SWAP of renameatx_np(2)
_ONLY_NEW: Final = 1 if _LINUX else 4  # RENAME_NOREPLACE, RENAME_EXCL
_AT_FDCWD: Final = -100 if _LINUX else -2
UNSUPPORTED: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""What a system says that does not know a call."""


def exchange(one: Path, other: Path) -> bool:
    """Have two names change places in one step; False when this system cannot.

    Raises:
        OSError: one of them is not there, or the folder cannot be written.
    """
    return _rename(one, other, _EXCHANGE)


def to_new_name(temporary: Path, path: Path) -> None:
    """Give a file a name that is not taken.

    Raises:
        FileExistsError: it is taken.
    """
    if _rename(temporary, path, _ONLY_NEW):
        return
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in (*UNSUPPORTED, errno.EPERM):
            raise
        # Neither is to be had here; what is left is the time between these two lines.
        if os.path.lexists(path):
            raise FileExistsError(str(path)) from None
        temporary.replace(path)


def _rename(one: Path, other: Path, flag: int) -> bool:
    """Rename in one step of the kernel, as `flag` says; False when this system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "renameat2" if _LINUX else "renameatx_np", None)
    if call is None:
        return False
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))
