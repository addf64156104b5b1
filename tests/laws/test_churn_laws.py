"""What else changes in a repository changes no verdict, whatever is committed there."""

from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from repositories import Repo

from tests.bench import verdicts as bench
from yaadwatch.staleness.commits import FILES_MAX

FILES = {
    "GUIDE.md": "How it works.\n",
    "src/net.py": "def fetch_page(tries):\n    return tries\n\n\nMAX_TRIES = 3\n",
    "src/shop.ts": "export function orderTotal(a: number) {\n  return a;\n}\n",
    "src/old_client.py": "class Client:\n    pass\n",
    "src/user_a.py": "from old_words import warm_cache\nwarm_cache(1)\n",
    "src/user_b.py": "from old_words import warm_cache\nwarm_cache(2)\n",
    "lib/data/rows.json": '{"row_limit": 4}\n',
    "Makefile": "build:\n\tcc a.c\n\nlint:\n\truff .\n",
    "package.json": '{"dependencies": {"left-pad": "1.3.0"}}\n',
}
TEXTS = {
    "definition": "`fetch_page()` asks again.",
    "definition in its file": "`orderTotal` in `src/shop.ts` adds up.",
    "file": "The client is `src/old_client.py`.",
    "folder": "Rows are in `lib/data/`.",
    "pattern": "Rows are `lib/data/*.json`.",
    "word": "Call `warm_cache` first.",
    "target": "Run `make lint` before a commit.",
    "value": "`MAX_TRIES` is 3.",
    "version": "We use left-pad 1.3.0.",
}
LOSSES = {
    "src/net.py": "def other_thing():\n    return 1\n\n\nMAX_TRIES = 5\n",
    "src/shop.ts": "export const nothing = 1;\n",
    "src/old_client.py": None,
    "src/user_a.py": "print(1)\n",
    "src/user_b.py": "print(2)\n",
    "lib/data/rows.json": None,
    "Makefile": "build:\n\tcc a.c\n",
    "package.json": '{"dependencies": {"left-pad": "2.0.0"}}\n',
}


def begun(folder):
    """Return a repository in which all that the texts speak of was lost, and when it was said."""
    repo = Repo.new(Path(folder) / "repo")
    for path, content in FILES.items():
        repo.write(path, content)
    base = repo.commit()
    for path, content in LOSSES.items():
        if content is None:
            (repo.path / path).unlink()
        else:
            repo.write(path, content)
    repo.commit()
    return repo, base


def verdicts(repo, base, head):
    """Return of each text the level, verdict and score at a commit."""
    judge = bench.Judge(repo.layout, head, frozenset({"GUIDE.md"}))
    memories = [
        bench.Memory(id=name, text=text, base=base, doc="GUIDE.md") for name, text in TEXTS.items()
    ]
    rests_on = judge.anchor(memories)
    found = {answer.memory.id: answer.assessed for answer in judge.judge(memories, rests_on)}
    judge.close()
    assert all(found.values()), "a text rests on nothing"
    return {
        name: (one.level, one.worst.verdict, round(one.score, 9)) for name, one in found.items()
    }


contents = st.sampled_from(
    ["alpha = 1\n", "def beta():\n    return 2\n", "export const gamma = 3\n", "text\n", ""]
)
steps = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 40), contents),
    st.tuples(st.just("many"), st.integers(1, 60), contents),
    st.tuples(st.just("rename"), st.integers(0, 40), st.integers(41, 80)),
    st.tuples(st.just("delete"), st.integers(0, 40), st.just(0)),
    st.tuples(st.just("edit page"), st.integers(0, 40), contents),
)


def apply(repo, step, number):
    """Do something in a repository that has to do with none of the texts; commit it."""
    what, one, other = step
    path = repo.path / f"more/part_{one}.py"
    if what == "many":
        for at in range(one):
            repo.write(f"bulk_{number}/file_{at}.py", f"{other}# {at}\n")
    elif what == "rename" and path.exists():
        path.rename(repo.path / f"more/part_{other}.py")
    elif what == "delete":
        path.unlink(missing_ok=True)
    elif what == "edit page":
        repo.write("NOTES.md", f"{other}{one}\n")
    else:
        repo.write(f"more/part_{one}.py", str(other))
    return repo.commit(f"step {number}")


@given(done=st.lists(steps, min_size=1, max_size=5))
@settings(deadline=None, max_examples=6)
def test_flag_for_something_gone_never_clears_through_unrelated_commits(done):
    with TemporaryDirectory() as folder:
        repo, base = begun(folder)
        before = verdicts(repo, base, repo.git("rev-parse", "HEAD"))
        assert {level for level, _, _ in before.values()} == {"warn"}, before

        heads = [apply(repo, step, number) for number, step in enumerate(done)]

        for head in heads[-2:]:
            assert verdicts(repo, base, head) == before


@pytest.mark.parametrize("files", [300, FILES_MAX + 100])
def test_verdicts_are_the_same_among_hundreds_of_changed_files(tmp_path, files):
    repo, base = begun(tmp_path)
    before = verdicts(repo, base, repo.git("rev-parse", "HEAD"))

    for number in range(files):
        repo.write(f"aaa/part_{number}.py", f"value_{number} = {number}\n")

    assert verdicts(repo, base, repo.commit()) == before


def test_uses_that_were_lost_are_seen_among_hundreds_of_changed_files(tmp_path):
    """`warm_up` is still defined; all that called it call another function now."""
    repo = Repo.new(tmp_path / "repo")
    repo.write("GUIDE.md", "How it works.\n")
    repo.write("src/cache.py", "def warm_up(size):\n    return size\n")
    for number in range(FILES_MAX + 100):
        repo.write(f"aaa/part_{number}.py", f"value_{number} = 1\n")
    for name in "abcdef":
        repo.write(f"zzz/{name}.py", f"from src import cache\nresult = cache.warm_up({name!r})\n")
    base = repo.commit()
    levels = []
    for churn in (False, True):
        for name in "abcdef":
            text = f"from src import cache\nresult = cache.preload_all({name!r})\n"
            repo.write(f"zzz/{name}.py", text)
        for number in range(FILES_MAX + 100) if churn else ():
            repo.write(f"aaa/part_{number}.py", f"value_{number} = 2\n")
        judge = bench.Judge(repo.layout, repo.commit(), frozenset({"GUIDE.md"}))
        memory = bench.Memory(id="a", text="Call `warm_up()` first.", base=base, doc="GUIDE.md")
        found = next(iter(judge.judge([memory], judge.anchor([memory])))).assessed
        judge.close()
        levels.append((found.level, round(found.score, 9), found.worst.reason))

    assert levels[0] == levels[1]
    assert levels[0][0]


def test_flag_clears_when_what_was_lost_comes_back(tmp_path):
    repo, base = begun(tmp_path)

    for path, content in FILES.items():
        repo.write(path, content)

    assert {level for level, _, _ in verdicts(repo, base, repo.commit()).values()} == {""}
