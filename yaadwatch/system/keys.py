"""The key of this home: 32 random bytes that make hashes of people's lines tell nothing."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError

KEY_BYTES: Final = 32


def load(path: Path) -> bytes:
    """Return the key, made if there is none yet; the file is 0600.

    Raises:
        YaadError: UNAVAILABLE when it cannot be read or made, or is not 32 bytes long.
    """
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        if not path.exists():
            descriptor = os.open(temporary, flags, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(secrets.token_bytes(KEY_BYTES))
                stream.flush()
                os.fsync(stream.fileno())
            try:
                os.link(temporary, path)
            except FileExistsError:
                pass  # somebody else was faster; theirs is the key
            finally:
                temporary.unlink()
        key = path.read_bytes()
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"The key {path} cannot be read or made ({error.strerror}).",
            hint="Look at its permissions.",
        ) from error
    if len(key) != KEY_BYTES:
        raise YaadError(
            Code.UNAVAILABLE,
            f"The key {path} has {len(key)} bytes instead of {KEY_BYTES}; it was not used.",
            hint="Move it away: agreements are then made anew, and nothing is deleted meanwhile.",
        )
    return key


def keyed(key: bytes, data: bytes) -> str:
    """Return the keyed hash of `data`, hex."""
    return hmac.new(key, data, hashlib.sha256).hexdigest()
