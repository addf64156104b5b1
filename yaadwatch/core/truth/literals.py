"""What value does a Python literal stand for, however it is written?"""

import re
import unicodedata

_ESCAPE = re.compile(
    rb"\\(?:(\n)|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"
    rb"|N\{([^}\n]{1,100})\}|([abfnrtv\\'\"]))"
    rb"|(\{\{|\}\})"
)
_PLAIN = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def number(text: bytes) -> bytes:
    """Return a number so that `0xFF` and `255` are the same, and `1` and `1.0` are not."""
    digits = text.decode("ascii", "replace")
    try:
        if digits[-1:] in "jJ" and not digits.lower().startswith("0x"):
            return b"j:" + repr(complex(digits)).encode()
        if re.fullmatch(r"[\d_]+|0[xXoObB][\da-fA-F_]+", digits):
            return b"i:" + hex(int(digits, 0)).encode()
        return b"f:" + repr(float(digits)).encode()
    except ValueError:
        return text


def word(text: bytes) -> bytes:
    """Return a name, keyword or operator as Python reads it."""
    if text.isascii():
        return b" ".join(text.split())
    return unicodedata.normalize("NFKC", text.decode("utf-8", "replace")).encode()


def value(content: bytes, letters: str, is_formatted: bool) -> bytes:
    """Return the bytes that a literal's content stands for, as UTF-8 unless it is of bytes."""

    def replace(found: re.Match[bytes]) -> bytes:
        newline, octal, *hexadecimal, name, plain, braces = found.groups()
        if braces:
            return braces[:1] if is_formatted else braces
        if "r" in letters:
            return found.group()
        if plain:
            return _PLAIN.get(plain, plain)
        if newline:
            return b""
        code = int(octal, 8) if octal else None
        for digits in hexadecimal:
            code = int(digits, 16) if digits else code
        if "b" in letters:
            is_byte = name is None and hexadecimal[1:] == [None, None]
            return bytes([code & 0xFF]) if is_byte and code is not None else found.group()
        try:
            char = chr(code) if code is not None else unicodedata.lookup(name.decode())
        except (ValueError, KeyError, OverflowError):
            return found.group()
        return char.encode("utf-8", "surrogatepass")

    return _ESCAPE.sub(replace, content)
