"""A commit that git cannot show costs the answers that need it, and no other."""

import pytest

from yaadwatch.sessions import context

LIMITS, TIMES = "Limits are in `src/limits.py`.", "`TIMES` is 3, see `src/times.py`."


def broken(repo, id):
    """Have the object be there and be no object."""
    place = repo.path / ".git" / "objects" / id[:2] / id[2:]
    place.chmod(0o644)
    kept = place.read_bytes()
    place.write_bytes(b"nothing that git wrote")
    return place, kept


@pytest.fixture
def both(repo):
    """Two memories of two commits; of the second one the value changed since."""
    first = repo.commit("limits", {"src/limits.py": "MAX_RETRIES = 3\n"})
    limits = repo.remember(LIMITS)
    repo.commit("times", {"src/times.py": "TIMES = 3\n"})
    times = repo.remember(TIMES)
    repo.commit("four", {"src/times.py": "TIMES = 4\n"})
    return repo, first, limits, times


@pytest.mark.parametrize("away", [False, True], ids=["there", "away"])
def test_of_a_memory_of_a_commit_that_cannot_be_read_it_is_told_and_of_the_others_what_they_are(
    both, away
):
    repo, first, limits, times = both
    if away:
        repo.commit("away", gone=["src/limits.py"])
    place, kept = broken(repo, first)

    answer = repo.stale(all=True)

    assert [(row["id"], row["verdict"]) for row in answer["stale"]] == [(times, "changed")]
    (unknown,) = answer["unknown"]
    assert unknown["id"] == limits
    assert f"Object {first}" in unknown["reason"]
    assert [row["id"] for row in repo.impact("src/times.py")["memories"]] == [times]
    assert repo.check()["checked"] == 2

    place.write_bytes(kept)
    assert repo.verdict(limits) == ("gone" if away else "fresh")
    assert repo.stale()["unknown"] == []


def test_what_cannot_be_read_of_a_commit_is_never_refused_in_a_brief(both):
    repo, first, _, _ = both
    broken(repo, first)

    answer = context.context(repo.home, repo.call)

    assert answer["checked"] is True
    assert "`TIMES` is 3" in answer["brief"]
