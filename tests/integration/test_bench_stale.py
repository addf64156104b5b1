"""The staleness benchmark on a small history: its answers, and paths it must not read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": "/nonexistent",
    "PATH": "/usr/bin:/bin:/usr/local/bin",
}
GUIDE = "- Retries are in src/retry.py\n- Ping is in src/ping.py\n"


@pytest.fixture
def history(tmp_path):
    """A repository, its first commit, and one that renames a file and changes the guide."""
    root = tmp_path / "repo"
    root.mkdir()

    def git(*arguments):
        done = subprocess.run(
            ["git", *arguments],
            cwd=root,
            env=ENVIRONMENT,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    git("init", "-q")
    (root / "src").mkdir()
    (root / "src/retry.py").write_text("def retry_all(x):\n    return [x, x, x, x]\n")
    (root / "src/ping.py").write_text("def ping():\n    return 1\n")
    (root / "GUIDE.md").write_text(GUIDE)
    git("add", ".")
    git("commit", "-qm", "one")
    base = git("rev-parse", "HEAD")
    git("mv", "src/retry.py", "src/again.py")
    (root / "GUIDE.md").write_text(GUIDE.replace("retry.py", "again.py") + "secret_word\n")
    git("commit", "-qam", "two")
    return root, base, git("rev-parse", "HEAD")


def ask(history, *memories, mask="GUIDE.md\n"):
    root, base, head = history
    rows = [
        {"id": str(number), "text": text, "base": base, "doc": "GUIDE.md", "heading": ""}
        for number, text in enumerate(memories)
    ]
    (root.parent / "memories").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root.parent / "mask").write_text(mask)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.bench.verdicts", "--git-dir", root / ".git"),
            *("--base", base, "--head", head, "--memories", root.parent / "memories"),
            *("--mask", root.parent / "mask"),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def test_each_memory_is_answered_in_order(history):
    _, (gone, fresh, nothing) = ask(
        history, "Retries are in src/retry.py", "Ping is in src/ping.py", "Be kind"
    )

    assert (gone["id"], gone["stale"], gone["suggested_path"]) == ("0", True, "src/again.py")
    assert 0.5 < gone["score"] <= 1
    assert (fresh["stale"], fresh["suggested_path"]) == (False, None)
    assert nothing == {
        "id": "2",
        "score": 0.0,
        "stale": False,
        "reason": "",
        "suggested_path": None,
    }


def test_what_is_masked_is_there_but_says_nothing(history):
    _, (about_it, word) = ask(history, "See GUIDE.md", "The word `secret_word` is new")

    assert about_it["stale"] is False
    assert word["score"] == 0.0


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "1"}'])
def test_memories_that_make_no_sense_are_refused_in_plain_words(history, line):
    root, base, head = history
    (root.parent / "odd").write_text(line + "\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.bench.verdicts", "--git-dir", root),
            *("--base", base, "--head", head, "--memories", root.parent / "odd"),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert "makes no sense" in done.stderr
