"""Which kind of file system is a path on? One on the network tells nobody what others change."""

import functools
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

# fmt: off
_NETWORK_FILE_SYSTEMS: Final = frozenset({
    "9p", "afpfs", "afs", "beegfs", "ceph", "ceph-fuse", "cifs", "coda", "curlftpfs", "davfs",
    "davfs2", "drvfs", "gcsfuse", "gfs2", "glusterfs", "goofys", "gpfs", "gvfsd-fuse",
    "juicefs", "lustre", "moosefs", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs",
    "prl_fs", "rclone", "s3fs", "smb", "smb2", "smb3", "smbfs", "smbnetfs", "sshfs", "v9fs",
    "vboxsf", "virtiofs", "vmhgfs", "vmhgfs-fuse", "webdav",
})
# fmt: on
"""Kinds that other machines may write to, or a host around this one; 'fuse.' is cut off first."""

_ROOM_MIN: Final = 256 * 1024
"""With less room than this a change of some memories may not fit."""
_TABLE: Final = Path("/proc/self/mounts")
_ESCAPE: Final = re.compile(rb"\\([0-7]{3})")

_Mounts = tuple[tuple[str, str], ...]
"""Where each is mounted, without a slash at the end, and its kind; in the order of mounting."""


def _kind(real: str, mounts: _Mounts) -> str:
    """Return the kind of file system that a path without links is on; '' if unknown."""
    best, kind = -1, ""
    for mounted, of_kind in mounts:
        # The last of two on one place is the one that is seen.
        if len(mounted) >= best and (real == mounted or real.startswith(f"{mounted}/")):
            best, kind = len(mounted), of_kind
    return kind


def networks(folder: Path) -> frozenset[Path]:
    """Return the places at or below `folder`, itself among them, that are on network file systems.

    A disk that stands below such a place counts as part of it.
    """
    mounts = _mounts()
    # First by its name: to ask a disk that does not answer for links would take for ever.
    if _is_network_kind(_kind(str(folder), mounts)):
        return frozenset({folder})
    real = os.path.realpath(folder)
    if _is_network_kind(_kind(real, mounts)):
        return frozenset({folder})
    below = f"{real.rstrip('/')}/"
    return frozenset(
        folder / mounted[len(below) :]
        for mounted, kind in mounts
        if mounted.startswith(below) and _is_network_kind(kind)
    )


def near(places: Iterable[Path]) -> list[Path]:
    """Return those of `places` that are not below a network file system, to go by their names.

    To look at the others may take for ever. All of them, where the whole machine is on one.
    """
    root = Path("/")
    afar = networks(root) - {root}
    return [place for place in places if not any(place.is_relative_to(one) for one in afar)]


def takes_nothing(path: Path) -> str:
    """Return why nothing can be stored at `path`: "full", "read-only"; '' if it can, or unknown.

    A disk that does not answer keeps whoever asks waiting.
    """
    try:
        found = os.statvfs(path)
    except OSError:
        return ""
    if found.f_flag & os.ST_RDONLY:
        return "read-only"
    is_full = found.f_blocks > 0 and found.f_bavail * found.f_frsize < _ROOM_MIN
    return "full" if is_full else ""


def _is_network_kind(kind: str) -> bool:
    return kind.lower().rpartition(".")[2] in _NETWORK_FILE_SYSTEMS


def _mounts() -> _Mounts:
    if sys.platform == "linux":
        try:
            return _parsed(_TABLE.read_bytes())
        except OSError:  # no /proc here
            return ()
    import psutil

    found = psutil.disk_partitions(all=True)
    return tuple((each.mountpoint.rstrip("/"), each.fstype) for each in found)


@functools.lru_cache(maxsize=1)
def _parsed(table: bytes) -> _Mounts:
    """Return what a table says; kept, because it is asked for often and rarely changes."""
    rows = (line.split(b" ") for line in table.splitlines())
    return tuple((_place(row[1]), os.fsdecode(row[2])) for row in rows if len(row) > 2)


def _place(written: bytes) -> str:
    """Return a place as it is; spaces and the like are written as `\\040` in the table."""
    plain = _ESCAPE.sub(lambda found: bytes([int(found[1], 8) & 255]), written)
    return os.fsdecode(plain).rstrip("/")
