"""What is told of sessions keeps its budget, stays data, and says no more than there is."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.memory import lessons as memory_lessons
from yaadwatch.memory.lessons import Lesson
from yaadwatch.model.projects import Facts, Session, SessionCommit, Touched
from yaadwatch.recall import brief
from yaadwatch.recall.brief import Clash, FlaggedMemory, Gap, Statement
from yaadwatch.sessions import news
from yaadwatch.sessions.news import Backed, Item
from yaadwatch.text.words import estimate_tokens

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
names = st.text("abcdef0123456789-", min_size=1, max_size=36)
budgets = st.integers(1, 3_000)
sessions = st.builds(
    Session,
    id=names,
    worktree=st.none(),
    agent=st.sampled_from(["agent:claude", "cli"]),
    branch=words,
    started_at=st.just(NOW),
    last_at=st.just(NOW),
)
facts = st.builds(
    Facts,
    commits=st.lists(st.builds(SessionCommit, id=names, subject=words), max_size=12).map(tuple),
    files=st.lists(
        st.builds(
            Touched,
            path=words,
            how=st.sampled_from(["added", "changed", "removed"]),
            committed=st.booleans(),
        ),
        max_size=30,
    ).map(tuple),
)
lessons = st.lists(
    st.builds(Lesson, id=names, kind=st.sampled_from(["decision", "task"]), text=words), max_size=12
)
statements = st.lists(
    st.builds(
        Statement, id=names, text=words, summary=words, state=st.sampled_from(["", "under way"])
    ),
    max_size=12,
)
flagged = st.lists(st.tuples(names, words, words), max_size=12)


@given(sessions, facts, lessons, st.lists(words, max_size=5))
def test_a_session_in_which_nothing_happened_has_nothing_to_tell(session, facts, learned, notes):
    told = memory_lessons.session_lines(
        session, facts=facts, learned=learned, notes=notes, ended_at=NOW
    )

    something = bool(facts.commits or facts.files or learned or notes)
    assert bool(told) == something


@given(sessions, facts, lessons, st.lists(words, max_size=5))
def test_every_line_of_a_summary_is_one_line(session, facts, learned, notes):
    """A branch, a file or a subject with a line end in it begins no line of its own."""
    told = memory_lessons.session_lines(
        session, facts=facts, learned=learned, notes=notes, ended_at=None
    )

    begin = ("Noted: ", "Learned: ", "Tasks: ", "Commits: ", "Files: ", "Files not committed: ")
    assert all(line.startswith(begin) for line in told.split("\n")[1:])


hostile = st.tuples(words, words).map("IGNORE".join)


@given(sessions, st.lists(hostile, max_size=5), st.lists(hostile, max_size=5))
def test_words_of_others_never_leave_their_quotes(session, said, subjects):
    """Notes, lessons, tasks, commits, names of files: quotes or line ends in them end nothing."""
    learned = [Lesson(id="a", kind=kind, text=text) for text in said for kind in ("bug", "task")]
    made = Facts(
        commits=tuple(SessionCommit(id="abcdef12", subject=subject) for subject in subjects),
        files=tuple(Touched(path=f"do {one}", how="added", committed=True) for one in subjects),
    )
    at_work = replace(session, branch="main")
    told = memory_lessons.session_lines(
        at_work, facts=made, learned=learned, notes=said, ended_at=None
    )
    tasks = [Statement(id="a", text=text, summary=text, source="an import") for text in said]

    prompt = news.compose(
        done=told,
        going_on=False,
        tasks=tasks,
        flagged=[("a", text, "") for text in said],
        tokens_max=100_000,
    ).text

    for text in (told, prompt):
        assert text.count("IGNORE") >= len(said)
        assert "IGNORE" not in re.sub(r'"[^"\n]*"', "", text)


@given(words)
def test_what_stood_there_before_is_no_news(text):
    assert memory_lessons.new_names(text, text) == frozenset()


@given(words, st.text("abcdefgh", min_size=4, max_size=12))
def test_a_name_that_was_put_in_is_found(text, name):
    called = f"{name}_{name}"
    assert called in memory_lessons.names(f"Call {called} there")
    assert called in memory_lessons.new_names(text, f"{text}\n{called}(1)\n")


@given(st.lists(st.text("abcdefghij", min_size=1, max_size=12), max_size=8))
def test_plain_words_are_no_names(plain):
    assert memory_lessons.names(" ".join(plain)) == frozenset()


@given(words, st.booleans(), statements, flagged, budgets)
def test_a_handoff_keeps_its_budget(done, going_on, tasks, flagged, tokens_max):
    told = news.compose(
        done=done, going_on=going_on, tasks=tasks, flagged=flagged, tokens_max=tokens_max
    )

    assert estimate_tokens(told.text) <= tokens_max
    assert told.used + told.left == tokens_max
    assert told.left >= 0
    assert told.open <= len(tasks)
    assert told.flagged <= len(flagged)


@given(statements, flagged)
def test_a_handoff_with_room_tells_everything(tasks, flagged):
    told = news.compose(
        done="claude.\nNoted: it", going_on=False, tasks=tasks, flagged=flagged, tokens_max=100_000
    )

    assert (told.open, told.flagged) == (len(tasks), len(flagged))


@given(
    st.lists(st.builds(Item, id=names, kind=st.just("fix"), text=words, reason=words), max_size=9),
    budgets,
)
def test_news_keep_their_budget(items, tokens_max):
    text, told = news.compose_news(items, tokens_max=tokens_max)

    assert estimate_tokens(text) <= tokens_max
    assert told.keys() <= {item.id for item in items}
    assert bool(text) == bool(told)


@given(
    st.lists(
        st.builds(Backed, path=words, rules=st.integers(0, 3), memories=st.integers(0, 3)),
        max_size=9,
        unique_by=lambda file: file.path,
    ),
    budgets,
)
def test_only_a_file_on_which_something_rests_is_spoken_of(files, tokens_max):
    text, told = news.blast(files, tokens_max=tokens_max)

    assert estimate_tokens(text) <= tokens_max
    assert set(told) <= {file.path for file in files if file.rules + file.memories}
    assert len(text.splitlines()) <= len(told) or not told


@given(
    st.lists(
        st.builds(
            FlaggedMemory,
            id=names,
            text=words,
            summary=words,
            verdict=st.just("gone"),
            reason=words,
        ),
        max_size=9,
    ),
    statements,
    statements,
    st.lists(st.builds(Clash, id=names, one=words, other=words, reason=words), max_size=5),
    st.lists(words, max_size=6),
    st.lists(st.builds(Gap, question=words, times=st.integers(1, 9)), max_size=5),
    budgets,
    st.integers(1, 12_000),
    words,
)
def test_the_brief_keeps_both_budgets_with_every_section(
    flagged, rules, tasks, clashes, last, gaps, tokens_max, chars_max, note
):
    told = brief.compose(
        flagged,
        rules,
        tasks,
        clashes=clashes,
        last=last,
        gaps=gaps,
        tokens_max=tokens_max,
        chars_max=chars_max,
        note=note,
    )

    assert told.left >= 0
    assert estimate_tokens(told.text) <= tokens_max
    assert len(told.text) <= chars_max
    assert told.used + told.left == tokens_max
    assert sum(told.shown.values()) <= told.used
    headings = [line for line in told.text.split("\n") if line.startswith("## ")]
    order = [
        "## May no longer be true",
        "## Contradictions",
        "## Rules",
        "## Open tasks",
        "## The last session here",
        "## Asked, and not answered",
    ]
    assert headings == [heading for heading in order if heading in headings]


def test_a_long_session_tells_from_when_to_when():
    session = Session(
        id="1", worktree=None, agent="agent:claude", started_at=NOW, last_at=NOW, branch="main"
    )

    told = memory_lessons.session_lines(
        session, facts=Facts(), learned=(), notes=["it"], ended_at=NOW + timedelta(days=1)
    )

    assert told.splitlines()[0] == "claude on main, 2026-11-21 09:30 to 2026-11-22 09:30 UTC."
