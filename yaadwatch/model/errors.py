"""Expected failures: one exception with a code, a message and the next step."""

from enum import StrEnum


class Code(StrEnum):
    """Why a request was not done; docs/contracts.md says which exit status each becomes."""

    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    INTERNAL = "internal"


class YaadError(Exception):
    """Something we expect can happen. The message says what happened and what was not done.

    Args:
        code: the kind of error, for programs.
        message: facts with numbers, for people; masked before it leaves the process.
        hint: what the reader can do next; empty when there is nothing.
    """

    def __init__(self, code: Code, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
