"""What one commit flagged is accepted at once, and nothing else with it."""

from refusals import refusal

from yaadwatch.model.errors import Code

NAMES = ("auth", "cart", "mail")


def moved(repo, *, alike=False):
    """Return ids of memories about files that one commit moved, and of one that another did.

    `alike`: the ids of both commits begin with the same digit.
    """
    repo.commit("files", {f"api/{name}.py": f"def {name}(): pass\n" for name in (*NAMES, "tax")})
    ids = [repo.remember(f"Logging is set up in api/{name}.py") for name in NAMES]
    other = repo.remember("Rates come from api/tax.py")
    repo.git("mv", "api/tax.py", "tax.py")
    repo.git("commit", "-qm", "tax")
    repo.git("mv", "api", "http")
    repo.git("commit", "-qm", "http")
    for attempt in range(500 if alike else 0):
        if repo.git("rev-parse", "HEAD")[0] == repo.git("rev-parse", "HEAD~1")[0]:
            break
        repo.git("commit", "-q", "--amend", "-m", f"http {attempt}")
    repo.stale()
    return ids, other, repo.git("rev-parse", "HEAD").strip()


def test_all_that_one_commit_moved_are_accepted(repo):
    ids, other, commit = moved(repo)
    assert len(repo.stale()["stale"]) == 4

    done = repo.reanchor(cause=commit[:10].upper())

    assert {row["id"] for row in done["reanchored"]} == set(ids)
    assert [row["id"] for row in repo.stale()["stale"]] == [other]
    assert repo.show(ids[0])["text"] == "Logging is set up in http/auth.py"


def test_a_commit_that_flagged_nothing_changes_nothing(repo):
    moved(repo)

    for cause in (repo.git("rev-parse", "HEAD~2").strip(), "not a commit"):
        assert refusal(repo.reanchor, cause=cause).code is Code.NOT_FOUND

    assert refusal(repo.reanchor, all=True, cause="abcd").code is Code.BAD_REQUEST
    assert len(repo.stale()["stale"]) == 4


def test_a_beginning_of_both_commits_changes_nothing(repo):
    *_, commit = moved(repo, alike=True)

    assert refusal(repo.reanchor, cause=commit[0]).code is Code.CONFLICT

    assert len(repo.stale()["stale"]) == 4
