"""A judgement about a memory: it is right, it should say something else, or it is wrong."""

from yaadwatch.engine.memories import curate, mend
from yaadwatch.engine.workspace import Call, Home


def feedback(
    home: Home, call: Call, *, id: str, verdict: str, text: str | None = None, reason: str = ""
) -> dict[str, object]:
    """Act on a judgement; the answer is Changed, for an edit Updated, with the verdict.

    Args:
        home: what may be reached.
        call: who judges.
        id: of the memory.
        verdict: `approve` confirms it, `edit` makes a version of new words, `discard` archives it.
        text: the new words, for an edit; masked.
        reason: why it is discarded; masked.

    Raises:
        YaadError: as for `confirm`, `update` and `forget`.
    """
    if verdict == "approve":
        done = curate.confirm(home, call, id=id)
    elif verdict == "edit":
        done = mend.update(home, call, id=id, text=text or "")
    else:
        done = curate.forget(home, call, id=id, reason=reason or "discarded")
    return done | {"verdict": verdict}
