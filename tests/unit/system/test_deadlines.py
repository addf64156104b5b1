"""What may never answer is waited for by one thread, and by nobody else for long."""

import threading

from yaadwatch.system.clock import Patience

LONG_S = 30.0


def test_what_answers_in_time_is_the_answer():
    assert Patience[int](LONG_S).ask("a", lambda: 7) == 7


def test_what_does_not_answer_is_asked_once_and_again_when_it_has():
    patience = Patience[int](0.05)
    answers, asked = threading.Event(), []

    def slow():
        asked.append(1)
        answers.wait(LONG_S)
        return 7

    first, second = patience.ask("a", slow), patience.ask("a", slow)
    other = patience.ask("b", lambda: 8)
    answers.set()
    while patience._open:
        pass

    assert (first, second, other, len(asked)) == (None, None, 8, 1)
    assert Patience[int](LONG_S).ask("a", slow) == 7
