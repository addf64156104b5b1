"""The filler looks where something may be missing, goes on after faults, and flips when full."""

import asyncio
from datetime import UTC, datetime

import pytest

from yaadwatch.daemon import vector_filler
from yaadwatch.daemon.supervisor import Health
from yaadwatch.daemon.vector_filler import TRIES_MAX, Filler
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.queries import Model
from yaadwatch.system.embedding_process import NotEmbedded, NotTried

AT = datetime(2026, 11, 21, tzinfo=UTC)
PATIENCE_S = 30.0


class Paper:
    """Stores of numbered memories on paper, and a model that embeds them: for `vectors`."""

    USER = ""

    def __init__(self, **stores: int) -> None:
        self.missing = {store: set(range(1, count + 1)) for store, count in stores.items()}
        self.models = [Model(space="a", name="a", dimensions=8, state="filling", enabled_at=AT)]
        self.poison: set[int] = set()
        self.faults: list[YaadError] = []
        self.looked: list[tuple[str, int]] = []
        self.damaged: set[str] = set()

    def wanted(self, home: None) -> list[Model]:
        return list(self.models)

    def stores(self, home: None) -> list[str]:
        return list(self.missing)

    def skip(self, home: None, store: str, model: Model, after: int) -> int:
        return min(self._after(store, after), default=0)

    def _after(self, store: str, after: int) -> list[int]:
        return sorted(number for number in self.missing[store] if number > after)

    def tidy(self, home: None, store: str) -> int:
        if store in self.damaged:
            raise YaadError(Code.UNAVAILABLE, "The store cannot be read.")
        return 0

    def batch(self, home: None, store: str, model: Model, after: int, size: int) -> int:
        self.looked.append((store, after))
        if self.faults:
            raise self.faults.pop()
        found = self._after(store, after)[:size]
        if self.poison & set(found):
            raise NotEmbedded(Code.UNAVAILABLE, "The worker ended.")
        self.missing[store] -= set(found)
        return found[-1] if found else 0

    def take_over(self, home: None, space: str) -> bool:
        self.models = [Model(space=space, name=space, dimensions=8, state="active", enabled_at=AT)]
        return True

    @property
    def left(self) -> int:
        return sum(map(len, self.missing.values()))


def follow(paper: Paper, story, pause_s: float = 0.001) -> Health:
    """Run a filler while `story(filler, until)` happens."""
    health = Health()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_filler, "vectors", paper)
        _follow(paper, story, pause_s, health)
    return health


def _follow(paper: Paper, story, pause_s: float, health: Health) -> None:

    async def whole() -> None:
        filler = Filler(None, health, pause_s=pause_s)
        running = asyncio.create_task(filler.run())

        async def until(true) -> None:
            async with asyncio.timeout(PATIENCE_S):
                while not true():
                    await asyncio.sleep(0.001)

        await story(filler, until)
        running.cancel()

    asyncio.run(whole())


def test_at_the_start_every_store_is_filled_and_then_the_model_takes_over():
    paper = Paper(**{"": 3, "p": 100, "q": 0})

    async def story(filler, until):
        await until(lambda: paper.models[0].state == "active")
        assert paper.left == 0

    assert follow(paper, story).problems() == []


def test_a_store_that_cannot_be_had_keeps_no_other_from_being_filled():
    paper = Paper(**{"": 3, "p": 5, "q": 5})
    paper.damaged.add("p")

    async def story(filler, until):
        await until(lambda: paper.models[0].state == "active")

    assert follow(paper, story).problems() == []
    assert {store for store, _ in paper.looked} == {"", "q"}


def test_a_memory_that_is_new_later_is_embedded():
    paper = Paper(p=20)

    async def story(filler, until):
        await until(lambda: paper.models[0].state == "active")
        paper.missing["p"].add(21)
        filler.wake("p")
        await until(lambda: paper.left == 0)

    follow(paper, story)


def test_what_went_wrong_is_told_and_tried_again():
    paper = Paper(p=20)
    paper.faults = [
        YaadError(Code.UNAVAILABLE, "The disk is full."),
        NotEmbedded(Code.TIMEOUT, "x"),
    ]

    async def story(filler, until):
        await until(lambda: paper.models[0].state == "active")
        await until(lambda: not filler._health.problems())
        assert paper.left == 0

    follow(paper, story)


def test_a_memory_that_breaks_the_worker_again_and_again_is_passed_over():
    paper = Paper(p=50)
    paper.poison = {20}

    async def story(filler, until):
        await until(lambda: paper.models[0].state == "active")
        assert paper.missing["p"] == {20}

    follow(paper, story)
    assert TRIES_MAX < len(paper.looked) < 200


def test_no_memory_is_passed_over_while_the_worker_rests():
    paper = Paper(p=1)
    paper.faults = [NotTried(Code.UNAVAILABLE, "It rests.") for _ in range(TRIES_MAX + 1)]

    async def story(filler, until):
        await until(lambda: paper.models[0].state == "active")
        assert paper.left == 0

    follow(paper, story)


def test_when_another_model_is_wanted_in_the_middle_that_one_is_filled():
    paper = Paper(p=2_000)
    spaces = []
    take_over = paper.take_over

    async def story(filler, until):
        await until(lambda: len(paper.looked) > 2)
        paper.models = [Model(space="b", name="b", dimensions=8, state="filling", enabled_at=AT)]
        filler.wake("")
        await until(lambda: spaces)
        assert spaces == ["b"]

    def taken(home: None, space: str) -> bool:
        spaces.append(space)
        return take_over(home, space)

    paper.take_over = taken
    follow(paper, story)


def test_without_a_model_nothing_is_looked_at():
    paper = Paper(p=5)
    paper.models = []

    async def story(filler, until):
        filler.wake("p")
        await asyncio.sleep(0.05)
        assert paper.looked == []

    follow(paper, story)


def test_stores_are_looked_through_when_the_models_change_while_they_are_filled():
    paper = Paper(**{"": 0, "q": 0})
    paper.models = [Model(space="a", name="a", dimensions=8, state="active", enabled_at=AT)]
    only_a, batch = list(paper.models), paper.batch

    async def story(filler, until):
        await until(lambda: filler._full_of is not None)
        other = Model(space="b", name="b", dimensions=8, state="filling", enabled_at=AT)
        paper.models = [*only_a, other]

        def changing(home, store, model, after, size):
            if paper.models != only_a:
                paper.models = only_a
                paper.missing["q"] = {1}
                filler.wake("q")
                filler.wake("")
            return batch(home, store, model, after, size)

        paper.batch = changing
        filler.wake("")
        await until(lambda: paper.left == 0 and paper.models == only_a)

    assert follow(paper, story).problems() == []


def test_news_ends_the_pause_after_a_fault():
    paper = Paper(**{"": 1})
    paper.faults = [YaadError(Code.UNAVAILABLE, "The worker broke.")]

    async def story(filler, until):
        await until(lambda: not paper.faults)
        filler.wake("")
        await until(lambda: paper.left == 0)

    follow(paper, story, pause_s=10 * PATIENCE_S)
