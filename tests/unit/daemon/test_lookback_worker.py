"""Which project is looked back in next, and when one is asked again."""

import asyncio
from datetime import timedelta

from waiting import PATIENCE_S

from yaadwatch.daemon.lookback_worker import CRASHES_MAX, Looker
from yaadwatch.model.errors import Code, YaadError

NOW = timedelta(0)
LATER = timedelta(milliseconds=1)


def looked(answers, wake, asks):
    """Return which projects were asked until there were so many, and in which something was found.

    Args:
        answers: what each project answers, one after the other; the last one from then on.
        wake: those that are woken at the start.
        asks: how many questions to wait for.
    """
    asked, found = [], []

    async def run():
        enough = asyncio.Event()
        loop = asyncio.get_running_loop()

        def go_on(project):
            asked.append(project)
            if len(asked) == asks:
                loop.call_soon_threadsafe(enough.set)
            left = answers[project]
            answer = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(answer, Exception):
                raise answer
            return answer

        looker = Looker(go_on, found.append)
        for project in wake:
            looker.wake(project)
        running = asyncio.create_task(looker.run())
        await asyncio.wait_for(enough.wait(), PATIENCE_S)
        running.cancel()

    asyncio.run(run())
    return asked, found


def test_each_project_has_a_piece_in_turn():
    answers = {"a": [NOW, NOW, None], "b": [NOW, None]}
    assert looked(answers, "ab", 5) == (["a", "b", "a", "b", "a"], ["a", "b", "a"])


def test_what_is_to_be_tried_later_is_asked_again_by_itself():
    assert looked({"a": [LATER, NOW, None]}, "a", 3) == (["a", "a", "a"], ["a"])


def test_one_that_goes_wrong_keeps_no_other_waiting():
    gone = YaadError(Code.NOT_FOUND, "It is not there.")
    answers = {"a": [gone], "b": [ValueError("odd")], "c": [NOW, None]}
    assert looked(answers, "abc", 4) == (["a", "b", "c", "c"], ["c"])


def test_one_in_which_we_fail_ourselves_again_and_again_is_let_be():
    asked = []

    def go_on(project):
        asked.append(project)
        if project == "odd" and asked.count("odd") != 2:
            raise ValueError("odd")
        return

    async def run():
        looker = Looker(go_on, asked.append)
        running = asyncio.create_task(looker.run())
        for told in range(1, 9):
            looker.wake("odd")
            looker.wake(f"other{told}")
            async with asyncio.timeout(PATIENCE_S):
                while f"other{told}" not in asked:
                    await asyncio.sleep(0)
        running.cancel()

    asyncio.run(run())
    # One piece that goes well counts anew.
    assert asked.count("odd") == 2 + CRASHES_MAX
