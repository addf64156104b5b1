import itertools
from dataclasses import replace

import pytest

from yaadwatch.model.anchors import Anchor, Method, Verdict
from yaadwatch.staleness.proposals import proposal, suggest
from yaadwatch.staleness.verdict import STALE_VERDICTS, Seen, Span, combine, judge_anchor

PLACES = (None, "src/net.py", "src/http.py")
SPANS = (None, Span.SAME, Span.DIFFERENT, Span.MISSING)
ELSEWHERE = ((), ("src/tcp.py",), ("src/tcp.py", "src/udp.py"))
WHOLE = (Method.FILE, Method.FOLDER)
BY_NAME = (Method.GLOB, Method.WORD, Method.TARGET, Method.VALUE)
SIGHTS = list(itertools.product(PLACES, SPANS, ELSEWHERE, (False, True), ("", "no idea")))
KNOWN_SIGHTS = [sight for sight in SIGHTS if not sight[-1]]


def anchor(method=Method.TREE, *, path="src/net.py", node="n1"):
    symbol = "" if method in WHOLE else "fetch"
    return Anchor(
        node=node,
        path=path,
        symbol=symbol,
        commit="c" * 40,
        blob="b" * 40,
        method=method,
        fingerprint="f" if method is Method.TREE else "",
        line=1,
    )


def seen(place, span, elsewhere, same_bytes, unknown):
    return Seen(place=place, span=span, elsewhere=elsewhere, same_bytes=same_bytes, unknown=unknown)


@pytest.mark.parametrize("method", Method)
def test_every_sight_has_a_verdict_and_a_flag_has_a_reason(method):
    for sight in SIGHTS:
        judged = judge_anchor(anchor(method), seen(*sight))

        assert judged.verdict in Verdict, sight
        at_rest = judged.verdict in {Verdict.FRESH, Verdict.TOUCHED}
        assert bool(judged.reason) == (not at_rest), sight
        if sight[-1]:
            assert (judged.verdict, judged.reason) == (Verdict.UNKNOWN, "no idea"), sight


@pytest.mark.parametrize("method", [method for method in Method if method not in BY_NAME])
def test_what_is_where_it_was_and_says_what_it_said_is_never_flagged(method):
    for sight in KNOWN_SIGHTS:
        place, span, _, same_bytes, _ = sight
        in_place = place == "src/net.py" and (method in WHOLE or span in {None, Span.SAME})
        told = method in WHOLE or span is Span.SAME or same_bytes

        judged = judge_anchor(anchor(method), seen(*sight))

        assert (judged.verdict not in STALE_VERDICTS) == in_place, sight
        if in_place and told:
            assert judged.verdict is (Verdict.FRESH if same_bytes else Verdict.TOUCHED), sight
        elif in_place:
            assert judged.verdict is Verdict.UNKNOWN, sight


@pytest.mark.parametrize("method", BY_NAME)
def test_a_name_is_gone_only_when_it_stands_nowhere(method):
    for sight in KNOWN_SIGHTS:
        place, span, elsewhere, same_bytes, _ = sight
        found = elsewhere or (method is Method.GLOB and place is not None)

        judged = judge_anchor(anchor(method), seen(*sight))

        assert (judged.verdict is Verdict.GONE) == (span is Span.MISSING and not found), sight
        assert (judged.verdict is Verdict.CHANGED) == (span is Span.DIFFERENT), sight
        assert (judged.verdict is Verdict.UNKNOWN) == (span is None and not same_bytes), sight


@pytest.mark.parametrize(
    ("sight", "verdict", "place"),
    [
        (Seen(place="lib/*.py", span=Span.MISSING), Verdict.MOVED, "lib/*.py"),
        (Seen(span=Span.MISSING, elsewhere=("lib", "app")), Verdict.MOVED, None),
        (Seen(span=Span.MISSING, likely="lib/*.py"), Verdict.GONE, None),
        (Seen(place="src", span=Span.SAME, same_bytes=True), Verdict.FRESH, "src"),
    ],
)
def test_what_became_of_a_pattern(sight, verdict, place):
    judged = judge_anchor(replace(anchor(Method.GLOB), symbol="src/*.py"), sight)

    assert (judged.verdict, judged.place) == (verdict, place)


@pytest.mark.parametrize(
    ("pattern", "now", "said", "proposed"),
    [
        ("src/*.py", "lib/*.py", "See `src/*.py`.", "See `lib/*.py`."),
        ("src/*.py", "lib/*.py", "./src/*.py, not src/*.pyi", "./lib/*.py, not src/*.pyi"),
        (
            "src/*",
            "lib/*",
            "`src/*` and `src/**` and `a/src/*`",
            "`lib/*` and `src/**` and `a/src/*`",
        ),
        ("web/rules/*.yml", "web/checks/*.yml", "in `rules/*.yml`", "in `checks/*.yml`"),
        ("web/rules/*.yml", "checks/*.yml", "in `rules/*.yml`", None),
        ("web/rules/*.yml", "web/checks/*.yml", "each `*.yml` in `rules`", None),
        ("src/a/*.py", "lib/a/*.py", "in `src/{a,b}/*.py`", None),
    ],
)
def test_a_pattern_is_put_into_the_text_where_the_text_says_it(pattern, now, said, proposed):
    judged = judge_anchor(
        replace(anchor(Method.GLOB, path=""), symbol=pattern), Seen(place=now, span=Span.MISSING)
    )

    found = suggest(said, judged)

    assert found.text == proposed
    assert (found.path, found.places) == ((now, ()) if proposed else (None, (now,)))


def test_a_folder_and_a_pattern_in_it_are_both_put_where_they_are():
    folder = replace(anchor(Method.FOLDER), path="src/api")
    pattern = replace(anchor(Method.GLOB, path="src/api"), symbol="src/api/*.ts")
    judged = [
        judge_anchor(folder, Seen(place="lib/api")),
        judge_anchor(pattern, Seen(place="lib/api/*.ts", span=Span.MISSING)),
    ]

    for order in (judged, judged[::-1]):
        found = proposal("`src/api/` has `src/api/*.ts`", order)
        assert found.text == "`lib/api/` has `lib/api/*.ts`"


@pytest.mark.parametrize(
    ("sight", "verdict", "place"),
    [
        (Seen(place="src/net.py", span=Span.DIFFERENT), Verdict.CHANGED, "src/net.py"),
        (Seen(place="src/http.py", span=Span.SAME), Verdict.MOVED, "src/http.py"),
        (Seen(place="src/http.py", span=Span.DIFFERENT), Verdict.MOVED, "src/http.py"),
        (Seen(place="src/net.py", span=Span.MISSING), Verdict.GONE, None),
        (Seen(), Verdict.GONE, None),
        (Seen(elsewhere=("src/tcp.py",)), Verdict.MOVED, "src/tcp.py"),
        (Seen(elsewhere=("src/tcp.py", "src/udp.py")), Verdict.MOVED, None),
    ],
)
def test_what_became_of_a_definition(sight, verdict, place):
    judged = judge_anchor(anchor(), sight)

    assert (judged.verdict, judged.place) == (verdict, place)


def test_a_file_that_is_gone_says_less_than_where_its_definition_went():
    file = judge_anchor(anchor(Method.FILE), Seen())
    symbol = judge_anchor(anchor(), Seen(elsewhere=("src/tcp.py",)))

    assert combine([file, symbol]) == symbol
    assert combine([symbol, file]) == symbol


@pytest.mark.parametrize("verdicts", list(itertools.combinations(Verdict, 2)))
def test_the_gravest_stands_for_all_in_any_order(verdicts):
    sights = {
        Verdict.FRESH: Seen(place="src/net.py", span=Span.SAME, same_bytes=True),
        Verdict.TOUCHED: Seen(place="src/net.py", span=Span.SAME),
        Verdict.UNKNOWN: Seen(unknown="no idea"),
        Verdict.CHANGED: Seen(place="src/net.py", span=Span.DIFFERENT),
        Verdict.MOVED: Seen(place="src/http.py", span=Span.SAME),
        Verdict.GONE: Seen(),
    }
    one, other = (judge_anchor(anchor(), sights[verdict]) for verdict in verdicts)

    assert combine([one, other]).verdict == combine([other, one]).verdict
    assert (combine([one, other]).verdict in STALE_VERDICTS) == bool(STALE_VERDICTS & set(verdicts))


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("It is in src/net.py, in fetch", "It is in src/http.py, in fetch"),
        ("It is in net.py", "It is in http.py"),
        ("Use fetch for every call", None),
        ("In ./src/net.py:12, and `src/net.py`.", "In ./src/http.py:12, and `src/http.py`."),
        ("net.py (src/net.py)", "http.py (src/http.py)"),
        ("Read @src/net.py", "Read @src/http.py"),
        ("lib/src/net.py, src/net.pyi, my-src/net.py, src/net.py.bak", None),
        ("src/net.py/x, ~/src/net.py, other/net.py, subnet.py, net.py-old", None),
        ("..\\src\\net.py", None),
        ("It is in /src/net.py, or `/src/net.py`.", "It is in /src/http.py, or `/src/http.py`."),
        ("/net.py, //src/net.py, https://a.example/src/net.py, ../src/net.py", None),
    ],
)
def test_a_suggestion_rewrites_what_the_text_names_and_nothing_else(text, rewritten):
    moved = judge_anchor(anchor(), Seen(place="src/http.py", span=Span.SAME))

    suggestion = suggest(text, moved)

    assert (suggestion.path, suggestion.text) == ("src/http.py", rewritten)


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("Look into /src/rpc first", "Look into /lib/rpc first"),
        ("Look into /src/rpc/a.py", "Look into /lib/rpc/a.py"),
        ("Look into /usr/src/rpc", None),
    ],
)
def test_a_folder_named_from_the_top_is_rewritten_too(text, rewritten):
    moved = judge_anchor(anchor(method=Method.FOLDER, path="src/rpc"), Seen(place="lib/rpc"))

    assert suggest(text, moved).text == rewritten


def test_a_new_path_is_put_as_it_is():
    moved = judge_anchor(anchor(), Seen(place=r"src/\1\g<0>.py", span=Span.SAME))

    assert suggest("in src/net.py", moved).text == r"in src/\1\g<0>.py"


def test_a_file_that_only_changed_its_folder_keeps_its_name_in_the_text():
    moved = judge_anchor(anchor(), Seen(place="lib/net.py", span=Span.SAME))

    assert suggest("net.py holds it", moved).text is None
    assert suggest("src/net.py holds it", moved).text == "lib/net.py holds it"


def test_without_judgements_nothing_stands_for_the_node():
    with pytest.raises(ValueError, match="no verdict"):
        combine([])


@pytest.mark.parametrize("sight", [Seen(), Seen(place="src/net.py", span=Span.DIFFERENT)])
def test_only_what_moved_to_one_place_has_a_suggestion(sight):
    assert suggest("It is in src/net.py", judge_anchor(anchor(), sight)) is None
