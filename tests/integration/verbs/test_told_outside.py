"""What leaves the store is masked, and what went wrong outside of it is told."""

import json

from verb_world import dump

from yaadwatch.projects import projects

TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def test_a_secret_in_the_name_of_a_branch_is_masked(repo):
    memory = repo.remember()
    repo.git("switch", "-q", "-c", TOKEN)
    repo.write("src/net.py", "gone = True\n")

    told = json.dumps([repo.flag_of(memory), projects.status(repo.home, repo.call)], default=str)

    assert TOKEN not in told
    assert "[masked:" in told
    with repo.db() as db:
        assert TOKEN not in str(dump(db))


def test_a_secret_in_the_name_of_a_file_is_masked_in_every_word_about_it(repo):
    path = f"src/{TOKEN}.py"
    repo.commit("add it", {path: "def renew(x, n=3):\n    return x\n"})
    memory = repo.remember("Tokens are renewed in renew", symbols=("renew",), files=(path,))
    repo.write(path, "def renew(x, n=5):\n    return x\n")

    flag = repo.flag_of(memory)

    assert flag["verdict"] == "changed"
    assert TOKEN not in flag["reason"]
    assert [row for row in flag["evidence"] if TOKEN in row["summary"]] == []


def test_what_could_not_be_judged_is_a_problem_that_status_shows(repo):
    repo.remember()
    repo.write("src/net.py", "def fetch_with_retry(:\n")
    repo.check()

    status = projects.status(repo.home, repo.call)

    (problem,) = status["problems"]
    assert "1 memory could not be judged" in problem["what"]
    assert problem["mend"].startswith("yaadwatch stale")
