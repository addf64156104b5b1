"""Git LFS: a small text stands in git, and often in the work tree, for the content of a file."""

import re

_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\r?\n(?:[a-z0-9.-]+ [^\n]*\r?\n){0,16}?"
    rb"oid sha256:([0-9a-f]{64})\r?\n(?:[a-z0-9.-]+ [^\n]*\r?\n?){0,16}\s*"
)
BYTES_MAX = 1024
"""No pointer is larger, as its specification says."""


def object_id(data: bytes) -> str:
    """Return the SHA-256 of the content that a pointer stands for; '' for anything else."""
    found = _POINTER.fullmatch(data) if len(data) < BYTES_MAX else None
    return found[1].decode() if found else ""
