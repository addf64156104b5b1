"""`yaadwatch check` as a process: with no home folder, as the GitHub action, in every format."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from repositories import Repo

ROOT = Path(__file__).parents[2]
CODE = "def fetch_with_retry(url):\n    return url\n"
RULES = "# Rules\n\n- Be kind.\n- Use `fetch_with_retry` of `src/net.py`, 100%: always.\n"
GH = """#!/bin/sh
# Stands in for GitHub's own command: notes what it is asked, and knows the comments of a file.
echo "$@" >> "$GH_ASKED"
case "$*" in *--jq*) cat "$GH_COMMENTS" ;; esac
"""


@pytest.fixture
def repo(tmp_path):
    repo = Repo.new(tmp_path / "shop")
    repo.write("src/net.py", CODE)
    repo.add("CLAUDE.md", RULES, "rules")
    repo.add("src/net.py", CODE.replace("fetch_with_retry", "fetch"), "rename, 100%: sure")
    return repo


def run(folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "yaadwatch", "check", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def everything(folder):
    return {path: path.lstat().st_mtime_ns for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("home", [{}, {"HOME": "/proc/nowhere"}, {"YAAD_HOME": "/proc/nowhere"}])
def test_it_needs_no_home_folder_and_leaves_no_file(repo, tmp_path, home):
    (tmp_path / "tmp").mkdir()
    before = everything(tmp_path)
    forms = ("--format=text", "--json", "--format=github", "--format=sarif", "--base=HEAD~1")

    for form in forms if not home else forms[:1]:
        ran = run(repo.path, form, TMPDIR=str(tmp_path / "tmp"), **home)
        assert (ran.returncode, ran.stderr) == (1, "")
        assert "fetch_with_retry is gone from src/net.py" in ran.stdout

    assert everything(tmp_path) == before


def test_a_hook_with_nothing_staged_reads_no_parser_and_no_store(repo):
    """It runs before each commit, so it must cost next to nothing."""
    heavy = ("apsw", "bridges", "mistune", "pygit2", "tree_sitter")
    code = (
        "import sys; from yaadwatch.cli.main import main; status = main(['check', '--staged']);"
        f"print(status, [one for one in sys.modules if one.startswith({heavy})])"
    )
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}

    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=repo.path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ran.stdout.splitlines() == ["Nothing is staged, so no rule was looked at.", "0 []"]


def test_sarif_has_what_the_published_schema_requires(repo):
    repo.write("a b%/CLAUDE.md", "- See `fetch` in `src/net.py`.\n")
    repo.commit("nested")
    repo.add("src/net.py", "def (\n", "broken")

    log = json.loads(run(repo.path, "--format", "sarif").stdout)

    (done,) = log["runs"]
    driver = done["tool"]["driver"]
    assert (log["version"], driver["name"]) == ("2.1.0", "yaadwatch")
    assert all(one["message"]["text"] for one in done["results"])
    assert all(driver["rules"][one["ruleIndex"]]["id"] == one["ruleId"] for one in done["results"])
    (noted,) = done["invocations"]
    assert noted["executionSuccessful"] is True
    texts = [one["message"]["text"] for one in noted["toolExecutionNotifications"]]
    assert "a b%/CLAUDE.md:1 could not be judged: src/net.py does not parse" in texts[-1]

    repo.add("src/net.py", "x = 1\n", "mended")
    (done,) = json.loads(run(repo.path, "--format", "sarif").stdout)["runs"]
    places = [one["locations"][0]["physicalLocation"] for one in done["results"]]
    assert [one["artifactLocation"]["uri"] for one in places] == ["CLAUDE.md", "a%20b%25/CLAUDE.md"]
    assert places[0]["region"] == {"startLine": 4, "endLine": 4}


class TestAction:
    """The step of action.yml that checks, as the shell of a runner runs it."""

    @pytest.fixture
    def step(self, repo, tmp_path):
        text = (ROOT / "action.yml").read_text()
        script = re.split(r"(?m)^      run: \|\n", text)[-1]
        assert "${{" not in script, "an expression in a script runs what a title says"
        (tmp_path / "yaadwatch/bin").mkdir(parents=True)
        ours = tmp_path / "yaadwatch/bin/yaadwatch"
        ours.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m yaadwatch "$@"\n')
        (tmp_path / "gh").write_text(GH)
        for one in (ours, tmp_path / "gh"):
            one.chmod(0o755)
        for one in ("asked", "comments", "summary"):
            (tmp_path / one).touch()

        def run_step(**environment):
            return subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
                cwd=repo.path,
                env={
                    "PATH": f"{tmp_path}:{os.environ['PATH']}",
                    "PYTHONPATH": str(ROOT),
                    "RUNNER_TEMP": str(tmp_path),
                    "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
                    "GITHUB_REPOSITORY": "ada/shop",
                    "GH_ASKED": str(tmp_path / "asked"),
                    "GH_COMMENTS": str(tmp_path / "comments"),
                    "FAIL": "true",
                    "COMMENT": "true",
                }
                | environment,
                capture_output=True,
                text=True,
                timeout=100,
            )

        return run_step

    def test_a_false_rule_is_annotated_summed_up_and_commented_on_once(self, step, tmp_path):
        ran = step(PULL_REQUEST="7", SARIF=str(tmp_path / "found.sarif"))

        assert ran.returncode == 1, ran.stderr
        first = ran.stdout.splitlines()[0]
        assert first.startswith("::warning file=CLAUDE.md,line=4,endLine=4,title=yaadwatch::fetch")
        assert "100%25: always.%0ASince" in first
        assert "    CLAUDE.md:4: gone" in (tmp_path / "summary").read_text()
        assert json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]
        asked = (tmp_path / "asked").read_text()
        assert "--method POST repos/ada/shop/issues/7/comments" in asked

        (tmp_path / "comments").write_text("41\n")
        assert step(PULL_REQUEST="7", FAIL="false").returncode == 0
        asked = (tmp_path / "asked").read_text().removeprefix(asked)
        assert "--method PATCH repos/ada/shop/issues/comments/41" in asked
        assert "POST" not in asked

    def test_a_pull_request_is_compared_with_its_base_and_nothing_is_said_of_the_rest(
        self, step, repo, tmp_path
    ):
        repo.git("update-ref", "refs/remotes/origin/main", "HEAD")

        ran = step(GITHUB_BASE_REF="main", PULL_REQUEST="7")

        assert (ran.returncode, "::" in ran.stdout) == (0, False), ran.stderr
        assert "POST" not in (tmp_path / "asked").read_text()
        assert step(GITHUB_BASE_REF="gone").returncode == 5
