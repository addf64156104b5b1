"""Which rules the committed blocks have together: the same answer in every clone."""

from contextlib import contextmanager

import pytest
from verb_world import prepared

from yaadwatch.sync.block_history import HeadRules
from yaadwatch.sync.reconcile import Terms
from yaadwatch.text.words import text_hash
from yaadwatch.workspace import agent_files

TERMS = Terms(as_stored=lambda text: text, hashed=text_hash)
A, C = "AGENTS.md", "CLAUDE.md"
OLD, ANN, BOB = "Use tabs for indents", "Use tabs for indents, of 4", "Use tabs for indents, of 8"


@prepared
def tree(world):
    tree = world.repo()
    write(tree, A, OLD)
    write(tree, C, OLD)
    tree.commit("blocks")
    tree.add(mode="inline")
    tree.sync()
    return tree


def write(tree, path, *rules):
    lines = "".join(f"- {rule}\n" for rule in rules)
    tree.write(path, f"# T\n\n<!-- yaad:begin v=1 nl=1 -->\n{lines}<!-- yaad:end -->\n")


def commit(tree, path, *rules):
    write(tree, path, *rules)
    tree.commit("rules")


@contextmanager
def rules(tree):
    with tree.home.space(tree.call) as space:
        yield space.repository, HeadRules(space, agent_files.fleet(tree.home, space).files, TERMS)


def resolved(tree):
    with rules(tree) as (repository, found):
        return found.resolved(repository.head().commit)


def alive(tree):
    keys = {text_hash(text): text for text in (OLD, ANN, BOB)}
    return {keys[key] for key in resolved(tree).alive}


def test_commits_of_other_files_do_not_matter(tree):
    commit(tree, C, ANN)
    for number in range(3):
        tree.commit("other work", {"other.txt": str(number)})

    assert alive(tree) == {ANN}


def test_line_of_a_rule_is_the_one_that_a_block_has(tree):
    commit(tree, C, ANN)

    with rules(tree) as (repository, found):
        keys = {text_hash(ANN), text_hash(BOB)}
        assert found.lines(repository.head().commit, keys) == {text_hash(ANN): f"- {ANN}"}


def test_rule_stays_where_commits_took_its_new_words_back(tree):
    commit(tree, A, ANN)
    tree.sync()
    tree.commit("both files")
    tree.git("checkout", "-q", "HEAD~1", "--", A, C)
    tree.commit("as before")

    tree.sync()

    assert sum(OLD in tree.read(path) for path in (A, C)) == 2


def test_line_typed_in_the_place_of_a_reverted_rule_is_a_rule_of_its_own(tree):
    other = "Use spaces for indents"
    for path in (A, C):
        write(tree, path, OLD, other)
    tree.commit("one more")
    tree.sync()
    tree.git("revert", "--no-edit", "HEAD")
    write(tree, C, OLD, "Use spaces for tables")

    tree.sync()

    for path in (A, C):
        assert "Use spaces for tables" in tree.read(path)
        assert other not in tree.read(path)


NEW, MOST = "Run make lint before a commit", tuple(f"Keep module {n} small" for n in range(6))


@pytest.fixture
def pulled(tree):
    """Return a function that commits rules to both files as another author would."""

    def pull(*rules):
        for path in (A, C):
            write(tree, path, *rules)
        tree.git("commit", "-q", "-a", "-m", "rules", "--author", "Bob <bob@example.org>")
        return tree

    return pull


def test_pulled_rule_deleted_from_one_file_before_the_first_look_is_deleted(pulled):
    tree = pulled(OLD, NEW)
    write(tree, C, OLD)

    tree.sync()

    assert NEW not in tree.read(A) + tree.read(C)
    assert OLD in tree.read(A)
    assert NEW not in tree.memories()


def test_pulled_rule_changed_in_one_file_before_the_first_look_is_changed(pulled):
    tree = pulled(OLD, NEW)
    write(tree, A, OLD, f"{NEW} of code")

    tree.sync()

    for path in (A, C):
        assert tree.read(path).count(NEW) == tree.read(path).count(f"{NEW} of code") == 1


def test_pulled_rule_moved_to_another_file_stays(tree):
    write(tree, A, OLD, NEW)
    tree.git("commit", "-q", "-a", "-m", "one file", "--author", "Bob <bob@example.org>")
    write(tree, A, OLD)
    write(tree, C, OLD, NEW)

    tree.sync()

    assert NEW in tree.read(C)


def test_pulled_rule_stays_where_git_restored_an_older_version_of_a_file(pulled):
    tree = pulled(OLD, NEW)
    tree.git("checkout", "-q", "HEAD~1", "--", C)

    tree.sync()

    assert NEW in tree.read(A)


def test_pulled_rules_stay_where_head_moved_without_the_files(tree, pulled):
    before = tree.git("rev-parse", "HEAD").strip()
    pulled(OLD, NEW)
    tree.git("reset", "-q", "--hard", before)
    tree.sync()
    tree.git("reset", "-q", "ORIG_HEAD")

    tree.sync()
    tree.git("checkout", "-q", "--", A)
    tree.sync()

    assert NEW in tree.read(A)


def test_many_pulled_rules_that_one_file_lost_at_once_stay(pulled):
    tree = pulled(OLD, *MOST)
    write(tree, C, OLD)

    tree.sync()

    assert all(rule in tree.read(A) for rule in MOST)


OTHER = "Never push on Fridays"


@pytest.fixture(params=["commit", "rebase"])
def own_commit(tree, request):
    """Return a function that commits an edit of CLAUDE.md, over a rule that was not committed."""

    def commit_edit(line):
        tree.git("config", "user.email", "ada@example.org")
        tree.git("checkout", "-q", "-b", "up")
        for path in (A, C):
            tree.write(path, tree.read(path).replace("# T\n", f"# T\n\n- {OTHER}\n"))
        tree.git("commit", "-q", "-a", "-m", "rules", "--author", "Bob <bob@example.org>")
        tree.git("checkout", "-q", "main")
        tree.sync()
        tree.remember(NEW, kind="convention")
        tree.sync()
        tree.write(C, tree.read(C).replace(f"- {NEW}\n", line))
        tree.git("commit", "-q", "-a", "-m", "mine")
        if request.param == "rebase":
            tree.git("rebase", "-q", "up")
        tree.sync()

    return commit_edit


def test_rule_deleted_from_one_file_before_its_first_commit_is_deleted(tree, own_commit):
    own_commit("- Prefer short names in loops\n")

    assert NEW not in tree.read(A) + tree.read(C)
    assert "short names" in tree.read(C)


def test_rule_changed_in_one_file_before_its_first_commit_is_changed(tree, own_commit):
    own_commit(f"- {NEW} of code\n")

    for path in (A, C):
        assert tree.read(path).count(NEW) == tree.read(path).count(f"{NEW} of code") == 1


def test_rule_discarded_from_one_file_before_its_first_commit_stays(tree):
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("as synced")
    tree.remember(NEW, kind="convention")
    tree.sync()
    tree.git("checkout", "-q", "--", C)
    tree.git("commit", "-q", "-a", "-m", "mine")

    tree.sync()

    assert NEW in tree.read(A)
    assert NEW in tree.memories()


def test_lines_typed_after_a_reset_are_rules_of_their_own(tree):
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("as synced")
    for path, library in ((C, "jose"), (A, "attrs"), (C, "click")):
        if library == "attrs":
            tree.sync()
            tree.commit("rules")
            tree.git("reset", "-q", "--hard", "HEAD~1")
        line = f"- Always use {library} and ruff for tests\n"
        tree.write(path, tree.read(path).replace("<!-- yaad:end", f"{line}<!-- yaad:end"))

    tree.sync()

    for path in (A, C):
        assert "Always use attrs" in tree.read(path)
        assert "Always use click" in tree.read(path)


@pytest.fixture
def discarded(tree):
    """Return a tree where git discarded a rule from one file, and another file's commit has it."""
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("as synced")
    tree.remember(NEW, kind="convention")
    tree.sync()
    tree.git("commit", "-q", "-m", "one file", A)
    tree.git("checkout", "-q", "--", C)
    return tree


@pytest.mark.parametrize(
    ("author", "changed"), [("Bob <bob@example.org>", (C,)), ("T <ada@example.org>", (A, C))]
)
def test_rule_discarded_from_one_file_stays_when_a_pull_changes_that_file(
    discarded, author, changed
):
    tree = discarded
    tree.git("checkout", "-q", "-b", "up")
    for path in changed:
        tree.write(path, tree.read(path).replace("<!-- yaad:end", f"- {OTHER}\n<!-- yaad:end"))
    tree.git("commit", "-q", "-a", "-m", "rules", "--author", author)
    tree.git("checkout", "-q", "main")
    tree.git("merge", "-q", "--ff-only", "up")

    for _ in range(2):
        tree.sync()
        tree.git("commit", "-q", "-a", "--allow-empty", "-m", "as synced")

    assert NEW in tree.read(A)
    assert NEW in tree.memories()
    assert OTHER in tree.read(C)


def test_rule_discarded_from_one_file_stays_when_it_was_committed_before_the_agreement(tree):
    tree.git("config", "user.email", "ada@example.org")
    tree.commit("as synced")
    tree.remember(NEW, kind="convention")
    write(tree, A, OLD, NEW)
    write(tree, C, OLD, OTHER)
    tree.git("commit", "-q", "-a", "-m", "mine")
    tree.sync()
    tree.write(C, tree.read(C).replace("<!-- yaad:end", f"- {NEW}\n<!-- yaad:end"))
    tree.sync()
    tree.git("checkout", "-q", "--", C)
    commit(tree, C, OLD, OTHER, "Name tests by what they claim")

    tree.sync()

    assert NEW in tree.read(A)
    assert NEW in tree.memories()


def test_rule_discarded_from_one_file_stays_when_a_merge_changes_that_file(discarded):
    tree = discarded
    tree.git("checkout", "-q", "-b", "up", "HEAD~1")
    write(tree, C, OLD, OTHER)
    tree.git("commit", "-q", "-a", "-m", "rules", "--author", "Bob <bob@example.org>")
    tree.git("checkout", "-q", "main")
    tree.git("merge", "-q", "--no-edit", "up")

    tree.sync()

    assert NEW in tree.read(A)
    assert NEW in tree.memories()
