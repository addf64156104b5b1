"""Which model makes vectors: enable one, see how far it is, go back to the one before, do without.

Enabling loads the model once, to know that it runs; the vectors are made in the background. It
answers questions when it has one of every memory; until then the one before does, or words do.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from yaadwatch.api.messages.store import EmbedDisable, EmbedEnable
from yaadwatch.engine.vectors import search, vector_fill
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.recall import Model
from yaadwatch.model.settings import MODEL_WAIT_S
from yaadwatch.store import projects
from yaadwatch.store.connection import Connection
from yaadwatch.store.vectors import embeddings, scan
from yaadwatch.system import processes
from yaadwatch.system.embedding import sources

_ENABLE: Final = "yaadwatch embed enable"


def embed_status(home: Home, call: Call) -> dict[str, object]:  # noqa: ARG001
    """Return which models there are, and how far each is; the answer is Embedding."""
    return told(home)


def embed_enable(home: Home, call: Call, ask: EmbedEnable) -> dict[str, object]:  # noqa: ARG001
    """Have a model make vectors, and answer questions once all are there; the answer is Embedding.

    Nothing is fetched: the model is a known one that is installed, or in a folder. Vectors of its
    space that are there already are kept.

    Raises:
        YaadError: NOT_FOUND, with what would have to be fetched, when it is not on this machine;
            UNAVAILABLE when it does not run. Nothing was changed.
    """
    name = ask.model or _installed()
    home.vectors.forget(name)
    space, dimensions = home.vectors.of(name).meet(MODEL_WAIT_S)
    home.user.write(_enable, space, name, dimensions, home.clock.now())
    return told(home)


def embed_disable(home: Home, call: Call, ask: EmbedDisable) -> dict[str, object]:  # noqa: ARG001
    """Answer questions by words; the answer is Embedding.

    The vectors stay for when the model is enabled again, unless `erase`.
    """
    known = home.user.write(_disable, erase=ask.erase)
    for model in known:
        home.vectors.forget(model.name)
    if ask.erase:
        for model in known:
            _drop_everywhere(home, model.space)
    return told(home)


def embed_rebuild(home: Home, call: Call) -> dict[str, object]:  # noqa: ARG001
    """Make all vectors anew, with words answering until they are there; the answer is Embedding.

    Raises:
        YaadError: NOT_FOUND when no model is enabled.
    """
    model = home.user.write(_refill)
    _drop_everywhere(home, model.space)
    return told(home)


def embed_rollback(home: Home, call: Call) -> dict[str, object]:  # noqa: ARG001
    """Go back to the model before, at once; the answer is Embedding.

    A model that is being filled is given up instead; what has been remembered since then gets its
    vectors in the background.

    Raises:
        YaadError: NOT_FOUND when there is none to go back to.
    """
    home.user.write(_roll_back, home.clock.now())
    return told(home)


def told(home: Home) -> dict[str, object]:
    """Return Embedding: how questions are answered and why, the models, and what is installed."""
    by, why = how(home)
    known = home.user.read(embeddings.everything)
    return {
        "search": by,
        "why": why,
        "models": [_model(home, model) for model in known],
        "known": [
            {
                "name": one.name,
                "provider": one.provider,
                "missing": sources.missing(one),
                "fetches": one.fetches,
            }
            for one in sources.KNOWN
        ],
        "extension": scan.extension() is not None,
        "problems": _problems(home),
    }


def how(home: Home) -> tuple[str, str]:
    """Return how questions are answered, `words` or `vectors` (with words), and why."""
    model, coming = search.active(home), home.user.read(embeddings.in_state, "filling")
    progress = "" if coming is None else f"{coming.space} is {_percent(home, coming)} % filled"
    if model is None:
        return "words", progress or f"no model is enabled; see: {_ENABLE}"
    try:
        worker = home.vectors.of(model.name)
    except YaadError as error:
        return "words", error.message
    if worker.state == "broken":
        return "words", f"the worker of {model.space} broke: {worker.why}"
    return "vectors", f"{model.space}, {progress}" if progress else model.space


def _installed() -> str:
    """Return the first known model that is installed; the first of all when none is."""
    ready = (one.name for one in sources.KNOWN if not sources.missing(one))
    return next(ready, sources.KNOWN[0].name)


def _enable(conn: Connection, space: str, name: str, dimensions: int, now: datetime) -> None:
    known = {model.space: model for model in embeddings.everything(conn)}
    before = known.get(space)
    if before is not None and before.state == "active":
        # The same vectors, made by somebody else from now on.
        embeddings.put_model(conn, replace(before, name=name, enabled_at=now))
        return
    _give_up_filling(conn, but=space)
    embeddings.put_model(
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
    known = embeddings.everything(conn)
    for model in known:
        if erase or (model.state == "filling" and model.active_at is None):
            embeddings.drop_model(conn, model.space)
        else:
            embeddings.put_model(conn, replace(model, state="kept"))
    return known


def _refill(conn: Connection) -> Model:
    model = embeddings.in_state(conn, "active") or embeddings.in_state(conn, "filling")
    if model is None:
        raise YaadError(
            Code.NOT_FOUND,
            "No model is enabled, so there is nothing to make anew.",
            f"Enable one: {_ENABLE}",
        )
    _give_up_filling(conn, but=model.space)
    embeddings.put_model(conn, replace(model, state="filling"))
    return model


def _roll_back(conn: Connection, now: datetime) -> None:
    if (
        embeddings.in_state(conn, "filling") is not None
        and embeddings.in_state(conn, "active") is not None
    ):
        _give_up_filling(conn)
        return
    before = embeddings.in_state(conn, "kept")
    if before is None:
        raise YaadError(
            Code.NOT_FOUND,
            "There is no model to go back to; nothing was changed.",
            "Do without one: yaadwatch embed disable",
        )
    _give_up_filling(conn)
    model = embeddings.in_state(conn, "active")
    if model is not None:
        embeddings.put_model(conn, replace(model, state="kept"))
    embeddings.put_model(conn, replace(before, state="active", active_at=now))


def _give_up_filling(conn: Connection, but: str = "") -> None:
    """Forget the model that is being filled, unless one was active with it; or it is `but`."""
    model = embeddings.in_state(conn, "filling")
    if model is None or model.space == but:
        return
    if model.active_at is None:
        embeddings.drop_model(conn, model.space)
    else:
        embeddings.put_model(conn, replace(model, state="kept"))


def _drop_everywhere(home: Home, space: str) -> None:
    """Take the vectors of a space out of every store that can be had; `_stores` names the rest."""
    for store, _ in _stores(home):
        vector_fill.drop(home, store, space)


def _stores(home: Home) -> Iterator[tuple[str, str]]:
    """Yield the stores that can be had, and where each is."""
    yield vector_fill.USER, str(home.user.path)
    for project in home.user.read(projects.everything):
        try:
            with home.stores.use(project):
                pass
        except YaadError:
            continue
        yield project.id, str(project.root)


def _problems(home: Home) -> list[str]:
    """Return which stores cannot be had, and why: their vectors are as they were."""
    found = []
    for project in home.user.read(projects.everything):
        try:
            with home.stores.use(project):
                pass
        except YaadError as error:
            found.append(f"{project.root}: {error.message}")
    return found


def _model(home: Home, model: Model) -> dict[str, object]:
    worker = home.vectors.known(model.name)
    rows = []
    for store, where in _stores(home):
        found = vector_fill.coverage(home, store, model.space)
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
    """Return how much is filled, 0 to 100, rounded down."""
    memories = filled = 0
    for store, _ in _stores(home):
        found = vector_fill.coverage(home, store, model.space)
        memories, filled = memories + found.memories, filled + min(found.filled, found.memories)
    return 100 * filled // memories if memories else 100
