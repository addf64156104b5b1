"""A rename alone moves what rests on it; nothing is gone, and nothing else is in flag."""

from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import Repo

from tests.bench import verdicts as bench

STEMS = ["retry", "limits", "session", "parser", "writer"]
FOLDERS = ["", "src/", "src/net/", "lib/", "deep/er/place/"]
ENDINGS = [".py", ".go", ".md", ".toml", ".unheard"]
SOURCES = {
    ".py": "def {name}_all(given):\n    return [given, '{name}', {name!r}]\n",
    ".go": "package p\n\nfunc {name}_all(given int) int {{\n\treturn given // {name}\n}}\n",
    ".md": "# {name}_all\n\nHow {name} works.\n",
    ".toml": '[{name}_all]\n{name} = "{name}"\n',
    ".unheard": "{name}_all of {name}\n",
}
FILES = st.dictionaries(
    st.sampled_from(STEMS),
    st.tuples(st.sampled_from(FOLDERS), st.sampled_from(ENDINGS)),
    min_size=1,
)


@given(
    files=FILES,
    went=st.dictionaries(
        st.sampled_from(STEMS), st.tuples(st.sampled_from(FOLDERS), st.booleans()), min_size=1
    ),
    empty=st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_what_was_only_renamed_has_moved_and_what_was_not_is_fresh(
    tmp_path_factory, files, went, empty
):
    repo = Repo.new(tmp_path_factory.mktemp("law") / "repo")
    old, new = {}, {}
    for stem, (folder, ending) in files.items():
        old[stem] = f"{folder}{stem}{ending}"
        to, renamed = went.get(stem, (folder, False))
        new[stem] = f"{to}{stem}{'_now' if renamed else ''}{ending}"
        repo.write(old[stem], SOURCES[ending].format(name=stem))
    if empty:
        repo.write("src/__init__.py", "")
    base = repo.commit()
    for stem in files:
        if new[stem] != old[stem]:
            repo.move(old[stem], new[stem])
    if empty:
        repo.move("src/__init__.py", "other/__init__.py")
        old["empty"], new["empty"] = "src/__init__.py", "other/__init__.py"
    head = repo.commit()
    memories = [
        bench.Memory(id=stem, text=f"{stem} is in `{path}`.", base=base, doc="GUIDE.md")
        for stem, path in old.items()
    ]
    judge = bench.Judge(repo.layout, head, frozenset())
    answers = list(judge.judge(memories, judge.anchor(memories)))
    judge.close()

    for answer in answers:
        stem = answer.memory.id
        found = {
            (one.verdict.value, one.place)
            for one in answer.assessed.observations
            if one.anchor.path == old[stem]
        }
        if new[stem] == old[stem]:
            assert found == {("fresh", old[stem])}
        else:
            assert found == {("moved", new[stem])}
