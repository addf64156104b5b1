"""What one commit flagged is accepted at once, and nothing else with it."""

from refusals import refusal

from yaadwatch.model.errors import Code

NAMES = ("auth", "cart", "mail")


def moved(repo):
    """Return ids of memories about files that one commit moved, and of one that another did."""
    repo.commit("files", {f"api/{name}.py": f"def {name}(): pass\n" for name in (*NAMES, "tax")})
    ids = [repo.remember(f"Logging is set up in api/{name}.py") for name in NAMES]
    other = repo.remember("Rates come from api/tax.py")
    repo.git("mv", "api/tax.py", "tax.py")
    repo.git("commit", "-qm", "tax")
    repo.git("mv", "api", "http")
    repo.git("commit", "-qm", "http")
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
    many = {flag["evidence"][-1]["commit"]["id"][0] for flag in repo.stale()["stale"]}
    if len(many) == 1:  # both commits begin alike
        assert refusal(repo.reanchor, cause=many.pop()).code is Code.CONFLICT
    assert len(repo.stale()["stale"]) == 4
