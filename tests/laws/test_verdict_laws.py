"""Laws of verdicts: they are the same in any order, and never less grave for knowing more."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.model.anchors import Anchor, Method, Verdict
from yaadwatch.staleness.proposals import proposal, suggest
from yaadwatch.staleness.verdict import STALE_VERDICTS, Seen, Span, combine, judge_anchor

PATHS = ("src/net.py", "src/http.py", "net.py")
GRAVITY = ["fresh", "touched", "unknown", "changed", "moved", "gone"]

anchors = st.builds(
    Anchor,
    node=st.just("n1"),
    path=st.sampled_from(PATHS),
    symbol=st.sampled_from(["", "fetch", "Retry.limit"]),
    commit=st.just("c" * 40),
    blob=st.just("b" * 40),
    method=st.sampled_from(Method),
    fingerprint=st.just(""),
    line=st.none(),
).filter(lambda anchor: (anchor.method in (Method.FILE, Method.FOLDER)) == (not anchor.symbol))
sights = st.builds(
    Seen,
    place=st.sampled_from([None, *PATHS]),
    same_bytes=st.booleans(),
    span=st.sampled_from([None, *Span]),
    elsewhere=st.sampled_from([(), ("a.py",), ("a.py", "b.py"), ("a", "b", "c", "d")]),
    unknown=st.sampled_from(["", "", "git did not answer"]),
)
judgements = st.builds(judge_anchor, anchors, sights)


@given(st.lists(judgements, min_size=1, max_size=4))
def test_the_order_of_judgements_plays_no_part(judged):
    combined = {combine(order) for order in itertools.permutations(judged)}

    assert combined <= set(judged)
    assert (
        len({(j.verdict, j.anchor.path, j.anchor.symbol, j.reason, j.place) for j in combined}) == 1
    )


@given(st.lists(judgements, min_size=1, max_size=6), judgements)
def test_one_more_judgement_never_makes_a_node_less_grave_but_for_a_file_that_was_split(
    judged, another
):
    """A file that is gone says less once it is known where its definition went."""
    before, after = combine(judged), combine([*judged, another])

    grave = GRAVITY.index
    assert grave(after.verdict) >= grave(before.verdict) or (
        before.verdict is Verdict.GONE and after.verdict is Verdict.MOVED
    )


@given(anchors, sights)
def test_a_sight_is_always_judged_alike_and_a_place_is_where_it_is(anchor, seen):
    judged = judge_anchor(anchor, seen)

    assert judged == judge_anchor(anchor, seen)
    assert judged.place in {None, seen.place, *seen.elsewhere}
    assert (judged.verdict in STALE_VERDICTS) == (judged.verdict in ("changed", "moved", "gone"))


words = st.lists(
    st.sampled_from(
        [
            "src/net.py",
            "net.py",
            "lib/src/net.py",
            "a.py",
            "see",
            "subnet.py",
            "src/net.pyi",
            "`",
            ",",
        ]
    ),
    max_size=8,
)


@given(words)
def test_a_text_is_rewritten_word_by_word(parts):
    moved = judge_anchor(
        Anchor(
            node="n1",
            path="src/net.py",
            symbol="fetch",
            commit="",
            blob="",
            method=Method.TREE,
            fingerprint="",
            line=None,
        ),
        Seen(place="a.py", span=Span.SAME),
    )
    renamed = {"src/net.py": "a.py", "net.py": "a.py"}

    suggestion = suggest(" ".join(parts), moved)

    assert suggestion is not None
    assert suggestion.path == "a.py"
    expected = " ".join(renamed.get(part, part) for part in parts)
    assert suggestion.text == (expected if set(parts) & set(renamed) else None)


STEMS = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=4, unique=True)


def moved(old, new, method=Method.FILE, symbol=""):
    """Return the judgement of a file, or of a definition in it, that is elsewhere now."""
    anchor = Anchor(
        node="n1",
        path=old,
        symbol=symbol,
        commit="c" * 40,
        blob="b" * 40,
        method=method,
        fingerprint="",
        line=None,
    )
    return judge_anchor(anchor, Seen(place=new, span=Span.SAME))


@given(stems=STEMS, data=st.data())
def test_every_file_that_moved_is_named_at_its_new_place_whatever_comes_first(stems, data):
    new = {f"src/{stem}.py": f"{stem}/there/{at}.py" for at, stem in enumerate(stems)}
    judged = data.draw(st.permutations([moved(old, place) for old, place in new.items()]))

    proposed = proposal("see " + " and ".join(new), judged)

    assert proposed.text == "see " + " and ".join(new.values())
    assert proposed.path == new[judged[0].anchor.path]


@given(stems=STEMS, data=st.data())
def test_files_that_took_one_another_s_names_are_never_mixed_up(stems, data):
    others = data.draw(st.permutations(stems))
    new = {f"{old}.py": f"{now}.py" for old, now in zip(stems, others, strict=True) if old != now}
    judged = [moved(old, place) for old, place in new.items()]

    proposed = proposal(" ".join(new), judged)

    if proposed is not None:
        named = proposed.text.split()
        assert all(now in (old, new[old]) for old, now in zip(new, named, strict=True))


@given(stems=STEMS, places=st.lists(st.sampled_from(["lib", "app"]), min_size=4, max_size=4))
def test_no_text_is_proposed_for_a_split_folder_wherever_the_files_named_of_it_went(stems, places):
    folder = judge_anchor(
        moved("src", "src", Method.FOLDER).anchor, Seen(elsewhere=("app", "lib"), likely="app")
    )
    named = [
        moved(f"src/{stem}.py", f"{place}/{stem}.py")
        for stem, place in zip(stems, places, strict=False)
    ]
    text = f"src/ has {' and '.join(one.anchor.path for one in named)}"

    proposed = proposal(text, [folder, *named])

    assert (proposed.path, proposed.text) == (None, None)
    assert set(proposed.places) == {"app", "lib", *(one.place for one in named)}
