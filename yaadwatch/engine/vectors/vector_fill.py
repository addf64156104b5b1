"""Vectors for what is remembered: made a batch at a time, from what is missing, not from a plan.

What is missing is computed from the store, so a fill that was cut off goes on where it stopped,
and one that is done twice makes nothing twice.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeVar

from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.model.recall import Model, Unembedded
from yaadwatch.model.settings import FILL_BATCH, FILL_WAIT_S
from yaadwatch.store import nodes, projects
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite.database import Database
from yaadwatch.store.vectors import embeddings

USER: Final = ""
"""What the user store is called among the stores; the others by the id of their project."""

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many memories live in a store, and how many of them have a vector."""

    memories: int
    filled: int


def wanted(home: Home) -> list[Model]:
    """Return the models that every living memory should have a vector of."""
    return [model for model in home.user.read(embeddings.everything) if model.state != "kept"]


def stores(home: Home) -> list[str]:
    """Return the names of all stores, also of those that cannot be had just now."""
    own = [] if home.user.stands_in else [USER]
    return own + [project.id for project in home.user.read(projects.everything)]


def batch(home: Home, store: str, model: Model, after: int = 0, size: int = FILL_BATCH) -> int:
    """Make the vectors of the next memories without one; return the number of the last, or 0.

    Args:
        home: what may be reached.
        store: where the memories are.
        model: makes the vectors.
        after: the number that the batch before ended with.
        size: memories at most.

    Raises:
        YaadError: the store or the model cannot be had, or the worker broke; nothing was written.
    """
    found = _missing(home, store, model, after, size)
    if found:
        with _opened(home, store) as db:
            _make(home, db, model, found)
    return found[-1].num if found else 0


def skip(home: Home, store: str, model: Model, after: int) -> int:
    """Return the number of the next memory without a vector after a number, 0 at the end."""
    found = _missing(home, store, model, after, 1)
    return found[-1].num if found else 0


def these(home: Home, store: str, model: Model, ids: Iterable[str]) -> None:
    """Make the vectors of some memories, as far as they live and have none.

    Raises:
        YaadError: as for `batch`.
    """
    with _opened(home, store) as db:
        found = db.read(embeddings.missing_of, model.space, ids)
        for begin in range(0, len(found), FILL_BATCH):
            _make(home, db, model, found[begin : begin + FILL_BATCH])


def complete(home: Home) -> None:
    """Make every vector that is missing, and have the model that is being filled take over.

    For those who can wait: benchmarks, and tests. The daemon does the same in small steps.

    Raises:
        YaadError: as for `batch`.
    """
    for model in wanted(home):
        for store in stores(home):
            after = 0
            while after := batch(home, store, model, after):
                pass
        take_over(home, model.space)


def take_over(home: Home, space: str) -> bool:
    """Have the model that was being filled answer questions; return whether it was that one.

    One transaction: before it all questions are answered by the other model, after it by this one.
    """
    return home.user.write(_take_over, space, home.clock.now())


def tidy(home: Home, store: str) -> int:
    """Remove the vectors of models that are known no more; return how many."""
    known = {model.space for model in home.user.read(embeddings.everything)}
    unknown = [space for space in _look(home, store, embeddings.spaces) if space not in known]
    if not unknown:
        return 0
    with _opened(home, store) as db:
        return sum(_drop_all(db, space) for space in unknown)


def drop(home: Home, store: str, space: str) -> int:
    """Remove all vectors of a space from a store; return how many."""
    with _opened(home, store) as db:
        return _drop_all(db, space)


def coverage(home: Home, store: str, space: str) -> Coverage:
    """Return how far a store is filled."""
    with _opened(home, store) as db:
        return db.read(_coverage, space)


def _make(home: Home, db: Database, model: Model, found: Sequence[Unembedded]) -> None:
    if not found:
        return
    worker = home.vectors.of(model.name)
    vectors = worker.embed([one.text for one in found], wait_s=FILL_WAIT_S)
    if worker.space != model.space:
        raise YaadError(
            Code.CONFLICT,
            f"{model.name} holds another model now than the one that was enabled; nothing was"
            " embedded with it.",
            f"Enable it anew: yaadwatch embed enable {model.name}",
        )
    made = [(one, vector) for one, vector in zip(found, vectors, strict=True) if any(vector)]
    db.write(embeddings.put, model.space, [one for one, _ in made], [vector for _, vector in made])


def _drop_all(db: Database, space: str) -> int:
    dropped = 0
    while done := db.write(embeddings.drop, space, 1_000):
        dropped += done
    return dropped


def _coverage(conn: Connection, space: str) -> Coverage:
    return Coverage(memories=nodes.count(conn), filled=embeddings.count(conn, space))


def _take_over(conn: Connection, space: str, now: datetime) -> bool:
    filling = embeddings.in_state(conn, "filling")
    if filling is None or filling.space != space:
        return False
    before = embeddings.in_state(conn, "active")
    for model in embeddings.everything(conn):
        # One can go back one step: to the model that was active until now.
        if model.state == "kept":
            embeddings.drop_model(conn, model.space)
    if before is not None:
        embeddings.put_model(conn, replace(before, state="kept"))
    embeddings.put_model(conn, replace(filling, state="active", active_at=now))
    return True


def _missing(home: Home, store: str, model: Model, after: int, size: int) -> list[Unembedded]:
    return _look(
        home, store, lambda conn: embeddings.missing(conn, model.space, after=after, limit=size)
    )


def _look(home: Home, store: str, ask: Callable[[Connection], R]) -> R:
    """Return what `ask(conn)` reads in a store; one at rest stays so.

    Raises:
        YaadError: as for `_opened`.
    """
    if store == USER:
        return home.user.read(ask)
    return home.stores.look(_project(home, store), ask)


@contextlib.contextmanager
def _opened(home: Home, store: str) -> Iterator[Database]:
    """Lend a store.

    Raises:
        YaadError: NOT_FOUND when that project is not watched any more; see `Stores.use`.
    """
    if store == USER:
        yield home.user
        return
    with home.stores.use(_project(home, store)) as db:
        yield db


def _project(home: Home, store: str) -> Project:
    project = home.user.read(projects.get, store)
    if project is None or project.removed_at is not None:
        raise YaadError(Code.NOT_FOUND, f"Project {store} is not watched any more.")
    return project
