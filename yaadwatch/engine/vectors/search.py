"""Which memories mean what a question means? Asked of a warm worker only, and never waited for."""

from collections.abc import Sequence

from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import YaadError
from yaadwatch.model.recall import Model
from yaadwatch.model.settings import QUESTION_WAIT_MS, STOCK_VECTORS_MAX
from yaadwatch.store.sqlite.database import Database
from yaadwatch.store.vectors import embeddings, scan
from yaadwatch.system.embedding.process import Near, Stock, Worker


def nearest(
    home: Home, db: Database, text: str, *, limit: int
) -> Sequence[tuple[int, float]] | None:
    """Return the numbers of the memories of a store that mean what `text` does, best first.

    A text that was asked for lately costs no second embedding, so that asking two stores the same
    is asking once. New texts are compared with stored ones in the same way.

    Args:
        home: what may be reached.
        db: the store, of a project or the user's.
        text: a question, or what somebody wants to have remembered.
        limit: memories at most.

    Returns:
        Numbers with their cosine, -1 to 1; None when no model is active, or its worker is not warm,
        broken, or slow: then words have to do. A cold worker is started for the next question.
    """
    model = active(home)
    if model is None:
        return None
    worker = worker_of(home, model)
    if worker is None:
        return None
    held = db.read(embeddings.stamp, model.space)
    if held.vectors == 0 and worker.state == "warm":
        return []
    if held.vectors > STOCK_VECTORS_MAX:
        vector = worker.ask(text, QUESTION_WAIT_MS / 1000)
        near = None if vector is None else Near(vector=vector, found=None)
    else:
        stock = Stock(
            key=f"{db.path} {model.space}",
            stamp=held.stamp,
            rows=lambda: db.read(embeddings.rows, model.space, model.dimensions),
        )
        near = worker.near(text, stock, limit, QUESTION_WAIT_MS / 1000)
    if near is None or worker.space != model.space:
        return None
    if near.found is None:
        return db.read(scan.nearest, model.space, near.vector, limit)
    return near.found


def warm_up(home: Home, wait_s: float) -> bool:
    """Have the worker of the active model warm, for those who can wait; return whether it is.

    Raises:
        YaadError: the model is not on this machine, or its worker does not start.
    """
    model = active(home)
    if model is None:
        return False
    space, _ = home.vectors.of(model.name).meet(wait_s)
    return space == model.space


def active(home: Home) -> Model | None:
    """Return the model that questions are answered with, None without one."""
    return home.user.read(embeddings.in_state, "active")


def worker_of(home: Home, model: Model) -> Worker | None:
    """Return the worker of a model; None when the model is not on this machine any more."""
    try:
        return home.vectors.of(model.name)
    except YaadError:
        return None
