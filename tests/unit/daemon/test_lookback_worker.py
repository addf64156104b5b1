"""Which project is compared next, and what becomes of one that fails."""

import asyncio

from waiting import PATIENCE_S

from yaadwatch.daemon.vector_filler import Looker
from yaadwatch.model.errors import Code, YaadError


def compared(answers, wake):
    """Return the projects in the order in which they were asked, and those with findings.

    Args:
        answers: what each project answers, one after the other; an exception is raised.
        wake: those that are woken, one after the other, each time all is quiet.
    """
    asked, found = [], []

    async def run():
        quiet = asyncio.Event()
        loop = asyncio.get_running_loop()

        def go_on(project):
            asked.append(project)
            answer = answers[project].pop(0)
            if not any(answers.values()) or answer is not True:
                loop.call_soon_threadsafe(quiet.set)
            if isinstance(answer, Exception):
                raise answer
            return answer

        looker = Looker(go_on, found.append)
        task = asyncio.create_task(looker.run())
        for project in wake:
            quiet.clear()
            looker.wake(project)
            await asyncio.wait_for(quiet.wait(), PATIENCE_S)
            await asyncio.sleep(0.05)
        task.cancel()

    asyncio.run(run())
    return asked, found


def test_a_project_is_compared_until_nothing_is_left():
    assert compared({"a": [True, True, False]}, ["a"]) == (["a"] * 3, ["a", "a"])


def test_a_project_that_cannot_be_reached_is_asked_at_its_next_change():
    away = YaadError(Code.NOT_FOUND, "away")
    assert compared({"a": [away, False]}, ["a", "a"]) == (["a", "a"], [])


def test_a_project_that_crashes_the_comparison_leaves_the_others_alone():
    asked, _ = compared({"a": [RuntimeError("bug")], "b": [False]}, ["a", "b"])
    assert asked == ["a", "b"]


def test_a_project_that_crashed_the_comparison_is_not_asked_again():
    looker = Looker(lambda project: 1 / 0, lambda project: None)

    async def run():
        task = asyncio.create_task(looker.run())
        for _ in range(3):
            looker.wake("a")
            await asyncio.sleep(0.05)
        task.cancel()
        return looker._crashed

    assert asyncio.run(run()) == {"a"}
