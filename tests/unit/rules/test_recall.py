import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

import yaadwatch.db
from yaadwatch.model.settings import Settings
from yaadwatch.recall import rank as recall_rank
from yaadwatch.recall.fitting import Item, ShownMemory, fit
from yaadwatch.recall.rank import Candidate, is_exact, rank
from yaadwatch.text.words import TERMS_MAX, match_expression, subtokens

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SCHEMA = Path(yaadwatch.db.__file__).parent / "schema" / "0001-store.sql"


def candidate(name, relevance, **other):
    given = {"confidence": 1.0, "updated_at": NOW, "tier": 2} | other
    return Candidate(id=name, relevance=relevance, **given)


def order(*candidates):
    ranked = rank(candidates, now=NOW, settings=Settings())
    return [each.candidate.id for each in ranked]


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("retry limit", '"retry" OR "limit"'),
        ("Where is the retry limit?", '"retry" OR "limit"'),
        ('the "retry limit" of the client', '"retry limit" OR "client"'),
        ("“retry limit”", '"retry limit"'),
        ("getUserName", '"getusername" OR "get user name"'),
        ("src/net_io.py", '"src" OR "net" OR "io" OR "py"'),
        ("retry Retry RETRY", '"retry"'),
        ("do not retry my job", '"not" OR "retry" OR "my" OR "job"'),
        ("what is it", '"what" OR "is" OR "it"'),
        ('"" the', '"the"'),
        ("NEAR(a b) AND c*", '"near" OR "b" OR "c"'),
        ("tabs\0spaces", '"tabs" OR "spaces"'),
        ("cafe\u0301", '"café"'),
        ("接続", '"接 続"'),
        ("データの接続", '"デ ー" OR "ー タ" OR "タ の" OR "の 接" OR "接 続"'),
        ("超时", '"超 时"'),
        ("時", '"時"'),
        ("使用JWT认证", '"使 用" OR "jwt" OR "认 证"'),
        ("接続ですか", '"接 続" OR "続 で"'),
        ("ですか", '"で す" OR "す か"'),
        ("ﾃﾞｰﾀ", '"デ ー" OR "ー タ"'),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", '"한 글"'),
        ('"接続先" retry', '"接 続 先" OR "retry"'),
        ("", None),
        ("?!", None),
        ('""', None),
    ],
)
def test_a_question_becomes_words_joined_by_or(query, expression):
    assert match_expression(query) == expression


def test_a_question_as_long_as_a_document_is_cut_to_its_first_words():
    expression = match_expression(" ".join(f"word{number}" for number in range(2000)))

    assert expression.count(" OR ") == TERMS_MAX - 1


def test_the_index_takes_the_longest_question():
    conn = apsw.Connection(":memory:")
    conn.execute(SCHEMA.read_text(encoding="utf-8"))
    expression = match_expression(" ".join(f"camelCase{number}" for number in range(2000)))

    rows = conn.execute("SELECT rowid FROM nodes_fts WHERE nodes_fts MATCH ?", (expression,))

    assert list(rows) == []


@pytest.fixture(scope="module")
def thousand():
    """An index of a thousand texts of common words, each with one word of its own."""
    random.seed(7)
    common = [f"word{number}" for number in range(300)]
    texts = [
        " ".join(random.choices(common, k=random.randint(5, 60))) + f" unique{number}x"
        for number in range(1000)
    ]
    conn = apsw.Connection(":memory:")
    conn.execute(SCHEMA.read_text(encoding="utf-8"))
    conn.executemany(
        "INSERT INTO nodes_fts (rowid, text, sub, tags) VALUES (?, ?, ?, '')",
        [(number, text, subtokens(text)) for number, text in enumerate(texts)],
    )
    return conn, texts


def test_a_word_that_one_memory_has_alone_finds_it_first_however_old_and_cold_it_is(thousand):
    conn, texts = thousand
    random.seed(8)
    first = 0

    for number in range(0, 1000, 5):
        others = " and ".join(random.sample(texts[number].split()[:-1], 2))
        asked = f"why does unique{number}x need {others}"
        rows = conn.execute(
            """
            SELECT rowid, -bm25(nodes_fts, 1.0, 0.4, 0.6) AS score
              FROM nodes_fts WHERE nodes_fts MATCH ? ORDER BY score DESC LIMIT 200
            """,
            (match_expression(asked),),
        )
        # The right one is the oldest and least certain of all.
        bm25 = dict(rows)
        shares = recall_rank.shares(asked, {row: texts[row] for row in bm25})
        lengths = {row: len(texts[row].split()) for row in bm25}
        found = [
            candidate(
                str(row),
                score,
                confidence=0.1 if row == number else 1.0,
                updated_at=NOW - timedelta(days=900 if row == number else 0),
                tier=3 if row == number else 1,
            )
            for row, score in recall_rank.relevances(bm25, lengths, shares).items()
        ]
        first += order(*found)[0] == str(number)

    assert first >= 198  # of 200


def relevant(question, text, bm25):
    shares = recall_rank.shares(question, {"it": text})
    return recall_rank.relevances({"it": bm25}, {"it": len(text.split())}, shares)["it"]


def test_words_side_by_side_weigh_more_than_the_same_words_apart():
    apart = relevant("retry limit", "the limit of the queue; retry it", 5.0)
    together = relevant("retry limit", "the retry limits of the queue it is", 4.5)

    assert together > apart


def test_stop_words_side_by_side_weigh_nothing():
    assert recall_rank.shares("what is the queue", {"it": "this is the queue"}) == {}


def test_of_two_that_match_alike_the_short_one_is_the_answer():
    short = relevant("retry", "Retry three times, then give up and tell somebody.", 5.0)
    long = relevant("retry", "Retry. " + "And much else besides that. " * 20, 5.0)

    assert short > long


@pytest.mark.parametrize(
    ("question", "text", "covered"),
    [
        ("where are retries configured", "Retry is configured in net.py", 1.0),
        ("the retry limit", "We retry three times", 0.5),
        ("jose", "Use authlib", 0.0),
        ("what is it", "what is it", 1.0),
        ("?", "anything", 0.0),
        ("接続はどこ", "データベースの接続は30秒で切れる", 1.0),
        ("超时设置", "连接超时为30秒", 1 / 3),
        ("時", "接続は時々切れる", 1.0),
    ],
)
def test_coverage_is_the_share_of_the_telling_words_in_any_form(question, text, covered):
    assert recall_rank.coverage(question, text) == covered


def test_an_exact_hit_is_first_even_when_the_words_never_matched():
    exact = candidate("exact", 0.0, exact=True, confidence=0.1, tier=3)
    relevant = candidate("relevant", 30.0, confidence=1.0, tier=1, pinned=True)

    ranked = rank([relevant, exact], now=NOW, settings=Settings())

    assert [each.candidate.id for each in ranked] == ["exact", "relevant"]
    assert ranked[0].score == 1.0
    assert 0.0 < ranked[1].score < 1.0


def test_a_pin_decides_between_equals():
    assert order(candidate("a", 1.0), candidate("b", 1.0, pinned=True)) == ["b", "a"]


def test_equals_keep_their_order():
    assert order(candidate("b", 1.0), candidate("a", 1.0)) == ["b", "a"]


def test_candidates_without_any_relevance_are_ranked_too():
    assert order(candidate("a", 0.0), candidate("b", 0.0)) == ["a", "b"]


def test_nothing_found_is_nothing_ranked():
    assert order() == []


@pytest.mark.parametrize(
    ("query", "exact"),
    [
        ("use jose.", True),
        ("- Use jose", True),
        ("jwt-library", True),
        ("src/auth/token.ts", True),
        ("./src/auth/token.ts", True),
        ("auth/token.ts", True),
        ("`token.ts`", True),
        ("oken.ts", False),
        ("jose", False),
        ("why do we use jose", False),
        ("", False),
        ("  ", False),
    ],
)
def test_exact_is_the_whole_text_the_key_or_the_end_of_a_path(query, exact):
    found = is_exact(query, text="Use jose", key="jwt-library", paths=["src/auth/token.ts"])

    assert found is exact


def item(name, words, summary_words=2):
    text = " ".join(["retry"] * words)
    return Item(id=name, text=text, summary=" ".join(["retry"] * summary_words))


def test_full_texts_are_shown_while_there_is_room_then_summaries():
    fitted = fit([item("a", 10), item("b", 10), item("c", 10)], tokens_max=20)

    assert [(each.id, each.depth) for each in fitted.items] == [
        ("a", "full"),
        ("b", "summary"),
        ("c", "summary"),
    ]
    assert fitted.used + fitted.left == 20


def test_the_best_is_shown_by_its_summary_when_even_that_is_over_the_budget():
    fitted = fit([item("a", 50, summary_words=10), item("b", 1)], tokens_max=1)

    assert [(each.id, each.depth) for each in fitted.items] == [("a", "summary")]
    assert fitted.left == 0
    assert fitted.used > 1


def test_a_small_one_behind_a_large_one_still_has_its_chance():
    fitted = fit([item("a", 8), item("b", 90, summary_words=40), item("c", 2)], tokens_max=14)

    assert [each.id for each in fitted.items] == ["a", "c"]


def test_what_is_shown_says_what_it_costs():
    fitted = fit([Item(id="a", text="Use jose", summary="Use jose")], tokens_max=100)

    assert fitted.items == (ShownMemory(id="a", text="Use jose", depth="full", tokens=fitted.used),)
    assert fitted.left == 100 - fitted.used


def test_nothing_to_show_uses_nothing():
    fitted = fit([], tokens_max=100)

    assert (fitted.items, fitted.used, fitted.left) == ((), 0, 100)
