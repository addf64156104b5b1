"""Manage the models of vectors, fill in missing vectors, and search by meaning.

Enabling loads the model once to prove that it runs; the vectors are made in the background. A model
answers questions once every memory has its vector; until then the previous model does, or words do.
A search asks only a warm worker and never waits for it.

Missing vectors are computed from the store, so an interrupted fill continues where it stopped and a
repeated fill makes nothing twice.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeVar

from yaadwatch.api.messages.store import EmbedDisable, EmbedEnable
from yaadwatch.db import nodes, projects
from yaadwatch.db import vectors as db_vectors
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.model.queries import Model, Unembedded
from yaadwatch.model.settings import (
    FILL_BATCH,
    QUESTION_WAIT_MS,
)
from yaadwatch.system import embedding_sources, processes
from yaadwatch.workspace.workspace import Call, Home


def nearest(
    home: Home, db: Database, text: str, *, limit: int
) -> Sequence[tuple[int, float]] | None:
    """Return the numbers of the memories of a store that are nearest to `text`, best first.

    The embedding of a recent text is cached, so two stores cost one embedding. New texts are
    compared with stored ones in the same way.

    Args:
        home: the machine's state.
        db: the store, of a project or the user's.
        text: a question, or a text to remember.
        limit: memories at most.

    Returns:
        Numbers with their cosine, -1 to 1; None when no model is active, or its worker is not warm,
        broken, or slow: the caller then uses words. A cold worker is started for the next question.
    """
    model = active(home)
    if model is None or not db_vectors.can_compare():
        return None
    try:
        worker = home.vectors.of(model.name)
    except YaadError:  # the model is not on this machine any more
        return None
    vector = worker.question(text, QUESTION_WAIT_MS / 1000)
    if vector is None or worker.space != model.space:
        return None
    return db.read(db_vectors.nearest, model.space, vector, limit)


def active(home: Home) -> Model | None:
    """Return the model that answers questions, or None."""
    return home.user.read(db_vectors.in_state, "active")


USER: Final = ""
"""The name of the user store; the other stores have the id of their project."""

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The number of living memories in a store, and how many of them have a vector."""

    memories: int
    filled: int


def wanted(home: Home) -> list[Model]:
    """Return the models for which every living memory should have a vector."""
    return [model for model in home.user.read(db_vectors.everything) if model.state != "kept"]


def stores(home: Home) -> list[str]:
    """Return the names of all stores, also of those that are unavailable now."""
    return [USER, *(project.id for project in home.user.read(projects.everything))]


def batch(home: Home, store: str, model: Model, after: int = 0, size: int = FILL_BATCH) -> int:
    """Make the next missing vectors; return the number of the last memory, or 0.

    Args:
        home: the machine's state.
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
    """Return the number of the next memory without a vector, 0 at the end."""
    found = _missing(home, store, model, after, 1)
    return found[-1].num if found else 0


def these(home: Home, store: str, model: Model, ids: Iterable[str]) -> None:
    """Make the missing vectors of some memories, if they are alive.

    Raises:
        YaadError: as for `batch`.
    """
    with _opened(home, store) as db:
        found = db.read(db_vectors.missing, model.space, ids=ids)
        for begin in range(0, len(found), FILL_BATCH):
            _make(home, db, model, found[begin : begin + FILL_BATCH])


def take_over(home: Home, space: str) -> bool:
    """Activate the model that was being filled; return whether it was that one.

    One transaction: before it all questions are answered by the other model, after it by this one.
    """
    return home.user.write(_take_over, space, home.clock.now())


def tidy(home: Home, store: str) -> int:
    """Remove the vectors of unknown models; return how many."""
    known = {model.space for model in home.user.read(db_vectors.everything)}
    unknown = [space for space in _look(home, store, db_vectors.spaces) if space not in known]
    if not unknown:
        return 0
    with _opened(home, store) as db:
        return sum(_drop_all(db, space) for space in unknown)


def coverage(home: Home, store: str, space: str) -> Coverage:
    """Return how far a store is filled."""
    with _opened(home, store) as db:
        return Coverage(memories=db.read(nodes.count), filled=db.read(db_vectors.count, space))


def _make(home: Home, db: Database, model: Model, found: Sequence[Unembedded]) -> None:
    if not found:
        return
    worker = home.vectors.of(model.name)
    vectors = worker.embed([one.text for one in found], wait_s=120.0)
    if worker.space != model.space:
        raise YaadError(
            Code.CONFLICT,
            f"{model.name} holds another model than when it was enabled; nothing was"
            " embedded with it.",
            f"Enable it again: yaadwatch embed enable {model.name}",
        )
    made = [(one, vector) for one, vector in zip(found, vectors, strict=True) if any(vector)]
    db.write(db_vectors.put, model.space, [one for one, _ in made], [vector for _, vector in made])


def _drop_all(db: Database, space: str) -> int:
    dropped = 0
    while done := db.write(db_vectors.drop, space, 1_000):
        dropped += done
    return dropped


def _take_over(conn: Connection, space: str, now: datetime) -> bool:
    filling = db_vectors.in_state(conn, "filling")
    if filling is None or filling.space != space:
        return False
    before = db_vectors.in_state(conn, "active")
    for model in db_vectors.everything(conn):
        # One can go back one step: to the model that was active until now.
        if model.state == "kept":
            db_vectors.drop_model(conn, model.space)
    if before is not None:
        db_vectors.put_model(conn, replace(before, state="kept"))
    db_vectors.put_model(conn, replace(filling, state="active", active_at=now))
    return True


def _missing(home: Home, store: str, model: Model, after: int, size: int) -> list[Unembedded]:
    return _look(
        home, store, lambda conn: db_vectors.missing(conn, model.space, after=after, limit=size)
    )


def _look(home: Home, store: str, ask: Callable[[Connection], R]) -> R:
    """Return `ask(conn)` of a store, without keeping it open.

    Raises:
        YaadError: as for `_opened`.
    """
    if store == USER:
        return home.user.read(ask)
    return home.stores.look(_project(home, store), ask)


@contextlib.contextmanager
def _opened(home: Home, store: str) -> Iterator[Database]:
    """Open a store for the block.

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


def embed_status(home: Home, call: Call) -> dict[str, object]:  # noqa: ARG001
    """Return the models and the coverage of each; the answer is Embedding."""
    return embedding_row(home)


def embed_enable(home: Home, call: Call, ask: EmbedEnable) -> dict[str, object]:  # noqa: ARG001
    """Enable a model, which answers questions once all vectors exist; the answer is Embedding.

    Nothing is fetched: the model is a known one that is installed, or in a folder. Vectors of its
    space that are there already are kept.

    Raises:
        YaadError: NOT_FOUND, with what would have to be fetched, when it is not on this machine;
            UNAVAILABLE when it does not run, or sqlite-vec is not installed. Nothing was changed.
    """
    if not db_vectors.can_compare():
        raise YaadError(
            Code.UNAVAILABLE,
            "sqlite-vec, which compares vectors, is not installed or cannot be loaded; nothing was "
            "enabled.",
            hint="pip install sqlite-vec (there is no build of it for musl, as in Alpine Linux)",
        )
    name = ask.model or _installed()
    home.vectors.forget(name)
    space, dimensions = home.vectors.of(name).meet(120.0)
    home.user.write(_enable, space, name, dimensions, home.clock.now())
    return embedding_row(home)


def embed_disable(home: Home, call: Call, ask: EmbedDisable) -> dict[str, object]:  # noqa: ARG001
    """Answer questions by words; the answer is Embedding.

    The vectors stay for when the model is enabled again, unless `erase`.
    """
    known = home.user.write(_disable, erase=ask.erase)
    for model in known:
        home.vectors.forget(model.name)
    for model in known if ask.erase else ():
        for store, _ in _stores(home):
            with _opened(home, store) as db:
                _drop_all(db, model.space)
    return embedding_row(home)


def embedding_row(home: Home) -> dict[str, object]:
    """Return Embedding: how questions are answered and why, the models, and what is installed."""
    by, why = how(home)
    problems: list[str] = []
    stores_now = list(_stores(home, problems))
    return {
        "search": by,
        "why": why,
        "models": [
            _model(home, model, stores_now) for model in home.user.read(db_vectors.everything)
        ],
        "known": [
            {
                "name": one.name,
                "provider": one.provider,
                "missing": embedding_sources.missing(one),
                "fetches": one.fetches,
            }
            for one in embedding_sources.KNOWN
        ],
        "problems": problems,
    }


def how(home: Home) -> tuple[str, str]:
    """Return how questions are answered, `words` or `vectors` (with words), and why."""
    model, coming = active(home), home.user.read(db_vectors.in_state, "filling")
    progress = "" if coming is None else f"{coming.space} is {_percent(home, coming)} % filled"
    if model is None:
        return "words", progress or "no model is enabled; see: yaadwatch embed enable"
    if not db_vectors.can_compare():
        return "words", "sqlite-vec, which compares vectors, is not installed or cannot be loaded"
    try:
        worker = home.vectors.of(model.name)
    except YaadError as error:
        return "words", error.message
    if worker.state == "broken":
        return "words", f"the worker of {model.space} broke: {worker.why}"
    return "vectors", f"{model.space}, {progress}" if progress else model.space


def _installed() -> str:
    """Return the first known model that is installed; else the first known one."""
    ready = (one.name for one in embedding_sources.KNOWN if not embedding_sources.missing(one))
    return next(ready, embedding_sources.KNOWN[0].name)


def _enable(conn: Connection, space: str, name: str, dimensions: int, now: datetime) -> None:
    known = {model.space: model for model in db_vectors.everything(conn)}
    before = known.get(space)
    filling = db_vectors.in_state(conn, "filling")
    if filling is not None and filling.space != space:
        _give_up(conn, filling)
    if before is not None and before.state == "active":
        # The same vectors, made by another model from now on.
        db_vectors.put_model(conn, replace(before, name=name, enabled_at=now))
        return
    db_vectors.put_model(
        conn,
        Model(
            space=space,
            name=name,
            dimensions=dimensions,
            state="filling",
            enabled_at=now,
            active_at=None if before is None else before.active_at,
        ),
    )


def _disable(conn: Connection, *, erase: bool) -> list[Model]:
    known = db_vectors.everything(conn)
    for model in known:
        if erase:
            db_vectors.drop_model(conn, model.space)
        else:
            _give_up(conn, model)
    return known


def _give_up(conn: Connection, model: Model) -> None:
    """Keep a model that was active once; forget another."""
    if model.active_at is None:
        db_vectors.drop_model(conn, model.space)
    else:
        db_vectors.put_model(conn, replace(model, state="kept"))


def _stores(home: Home, problems: list[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the stores that are available, and where each is; add why others are not."""
    yield USER, str(home.user.path)
    for project in home.user.read(projects.everything):
        try:
            with home.stores.use(project):
                pass
        except YaadError as error:
            if problems is not None:
                problems.append(f"{project.root}: {error.message}")
            continue
        yield project.id, str(project.root)


def _model(home: Home, model: Model, available: Sequence[tuple[str, str]]) -> dict[str, object]:
    worker = home.vectors.known(model.name)
    rows = []
    for store, where in available:
        found = coverage(home, store, model.space)
        rows.append({"path": where, "memories": found.memories, "filled": found.filled})
    return {
        "name": model.name,
        "space": model.space,
        "dimensions": model.dimensions,
        "state": model.state,
        "enabled_at": model.enabled_at,
        "active_at": model.active_at,
        "percent": _percent(home, model),
        "worker": None
        if worker is None
        else {
            "state": worker.state,
            "pid": worker.pid,
            "rss_bytes": None if worker.pid is None else processes.rss_bytes(worker.pid),
            "why": worker.why,
        },
        "stores": rows,
    }


def _percent(home: Home, model: Model) -> int:
    """Return the coverage, 0 to 100, rounded down."""
    found = [coverage(home, store, model.space) for store, _ in _stores(home)]
    memories = sum(one.memories for one in found)
    return (
        100 * sum(min(one.filled, one.memories) for one in found) // memories if memories else 100
    )
