"""Expected failures: one exception with a code, a message and the next step."""

from enum import StrEnum


class Code(StrEnum):
    """Why a request failed; docs/contracts.md lists the exit status of each."""

    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    INTERNAL = "internal"


class YaadError(Exception):
    """An expected failure. The message names what happened and what was not done.

    Args:
        code: the kind of error, for programs.
        message: facts with numbers, for people; masked before it leaves the process.
        hint: the next step for the reader; empty when there is none.
    """

    def __init__(self, code: Code, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle all of it: another process may have met it."""
        return _made, (type(self), self.code, self.message, self.hint)


def _made(kind: type[YaadError], code: Code, message: str, hint: str) -> YaadError:
    error = kind.__new__(kind, message)
    YaadError.__init__(error, code, message, hint)
    return error
