"""confirm: a person is asked before what is false for certain is confirmed; a script says --yes."""

import pytest
from recording import ID, command

from yaadwatch.model.errors import Code, YaadError

SHORT = "f2e4ab37"
REFUSAL = YaadError(
    Code.REFUSED,
    "What memory f2e4ab37 says is false: src/net.py is gone. It was not confirmed.",
    hint="Correct it: yaadwatch edit f2e4ab37. All the same: yaadwatch confirm f2e4ab37 --yes",
)
CONFIRMED = {"id": ID, "text": "See src/net.py", "kind": "fact", "tier": 2, "pinned": False}


def confirmed(*arguments, said=(REFUSAL, CONFIRMED), **more):
    return command("confirm", SHORT, *arguments, answers={"confirm": list(said)}, **more)


@pytest.mark.parametrize(("given", "calls"), [("y\n", 2), ("n\n", 1), ("", 1)])
def test_a_person_is_asked(given, calls):
    ran = confirmed(given=given, person=True)

    assert "src/net.py is gone" in ran.out + ran.err
    assert len(ran.calls) == calls
    assert (ran.status == 0) is (calls == 2)
    assert ("Confirmed" in ran.out) is (calls == 2)


def of_commit(id, commit):
    return {"id": id, "evidence": [{"commit": {"id": commit}}]}


def test_all_that_one_commit_flagged_are_confirmed():
    flagged = [of_commit(ID, "5711189c" * 5), of_commit(f"{ID[:-8]}00000000", "abcdabcd" * 5)]
    answers = {"stale": {"stale": flagged}, "confirm": [CONFIRMED]}

    ran = command("confirm", "--cause", "5711189C", answers=answers)

    assert ran.calls == [("stale", {"check": False}), ("confirm", {"id": SHORT})]
    assert "Confirmed" in ran.out


def test_a_beginning_of_several_commits_confirms_nothing():
    flagged = [of_commit(ID, "5711" * 10), of_commit(f"{ID[:-8]}00000000", "57aa" * 10)]

    ran = command("confirm", "--cause", "57", answers={"stale": {"stale": flagged}})

    assert ran.status != 0
    assert "beginning of several commits" in ran.err
    assert [call for call, _ in ran.calls] == ["stale"]


@pytest.mark.parametrize("given", [(), ("--cause", "5711"), ("--cause", "")])
def test_no_memory_is_confirmed_that_nobody_named(given):
    ran = command("confirm", *given, answers={"stale": {"stale": [of_commit(ID, "abcd" * 10)]}})

    assert ran.status == 2 if not given else ran.status != 0
    assert "confirm" not in [call for call, _ in ran.calls]
    assert "othing was changed" in ran.err


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_script_is_told_the_next_step(more):
    ran = confirmed(*more)

    assert ran.status != 0
    assert len(ran.calls) == 1
    assert "--yes" in ran.out + ran.err


def test_a_script_insists_with_yes():
    ran = confirmed("--yes", said=[CONFIRMED])

    assert ran.calls == [("confirm", {"id": SHORT, "anyway": True})]
    assert "Confirmed" in ran.out
