"""What a call says that is refused, and how every such answer reads."""

import pytest

from yaadwatch.model.errors import YaadError

NOT_FOR_PEOPLE = ("Traceback", "apsw", "errno")


def refusal(call, /, *given, **fields):
    """Return the error that `call` ends with, which is a sentence for people."""
    with pytest.raises(YaadError) as refused:
        call(*given, **fields)
    error = refused.value
    assert error.message.endswith((".", "?")) or "wrote:" in error.message, error.message
    assert not [word for word in NOT_FOR_PEOPLE if word in error.message], error.message
    return error


def refusal_with_hint(call, /, *given, **fields):
    """Return such an error, which also says what can be done."""
    error = refusal(call, *given, **fields)
    assert error.hint
    return error
