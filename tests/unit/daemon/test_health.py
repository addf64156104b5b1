import logging
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from yaadwatch.daemon.supervisor import Health, Problem, error_in_words
from yaadwatch.daemon.wiring import problems


def test_a_problem_is_shown_until_its_part_is_well():
    health = Health()

    health.degraded("watch", "No folders can be watched.", mend="yaadwatch status")
    health.degraded("git", "git is not there.", mend="apt install git")

    assert health.problems() == [
        Problem(what="git is not there.", mend="apt install git"),
        Problem(what="No folders can be watched.", mend="yaadwatch status"),
    ]
    health.well("git")
    health.well("watch")
    health.well("never heard of")
    assert health.problems() == []


def test_a_problem_is_logged_when_it_is_news_and_when_it_is_over(caplog):
    health = Health()

    with caplog.at_level(logging.INFO):
        for _ in range(3):
            health.degraded("git", "git is not there.", mend="apt install git")
        health.degraded("git", "git is too old.", mend="apt install git")
        for _ in range(3):
            health.well("git")

    assert caplog.messages == ["health.degraded", "health.degraded", "health.restored"]


def test_of_projects_that_are_there_no_more_nothing_is_kept():
    health = Health()
    health.degraded("check p 1", "It could not be checked.", mend="yaadwatch stale", project="p")
    health.degraded("check q 1", "It could not be checked.", mend="yaadwatch stale", project="q")
    health.degraded("git", "git is not there.", mend="apt install git")

    health.keep_only({"q"})

    assert [problem.project for problem in health.problems()] == ["q", ""]


@pytest.mark.parametrize("part", ["check p 1", "job backup", "socket"])
def test_a_secret_in_an_error_is_not_in_the_answers(part):
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    health = Health()
    health.degraded(part, error_in_words(KeyError(secret)), mend="yaadwatch stale")

    (problem,) = problems(SimpleNamespace(stuck=list), health, lambda: datetime.now(UTC))

    assert problem["what"].startswith("KeyError: ")
    assert secret not in problem["what"]
