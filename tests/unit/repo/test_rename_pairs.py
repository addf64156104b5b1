"""Which of several equal or generated files became which: their paths tell."""

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.repo.changes import Change, rematched

SAME = "1" * 40


def equal(pairs):
    return [Change(old, new, SAME, SAME) for old, new in pairs]


def renames(changes):
    return {one.old: one.new for one in changes if one.old and one.new}


@pytest.mark.parametrize(
    ("git", "meant"),
    [
        (
            [
                ("services/billing/Dockerfile", "legacy/orders/Dockerfile"),
                ("services/orders/Dockerfile", "services/payments/Dockerfile"),
            ],
            {
                "services/billing/Dockerfile": "services/payments/Dockerfile",
                "services/orders/Dockerfile": "legacy/orders/Dockerfile",
            },
        ),
        (
            [
                ("src/a/__init__.py", "lib/b/__init__.py"),
                ("src/b/__init__.py", "lib/a/__init__.py"),
            ],
            {"src/a/__init__.py": "lib/a/__init__.py", "src/b/__init__.py": "lib/b/__init__.py"},
        ),
        (
            [("conf/dev.env", "deploy/prod.env"), ("conf/prod.env", "deploy/dev.env")],
            {"conf/dev.env": "deploy/dev.env", "conf/prod.env": "deploy/prod.env"},
        ),
    ],
)
def test_equal_files_are_paired_by_their_paths(git, meant):
    assert renames(rematched(equal(git))) == meant


def test_equal_files_whose_paths_do_not_tell_are_paired_with_none():
    changes = rematched(equal([("a/Dockerfile", "x/Dockerfile"), ("b/Dockerfile", "y/Dockerfile")]))

    assert renames(changes) == {}
    assert {one.old for one in changes} == {"a/Dockerfile", "b/Dockerfile", None}


def test_a_generated_file_goes_where_its_name_goes():
    changes = [
        Change("gen/users_pb2.py", "api/orders_pb2.py", "1", "2"),
        Change("gen/orders_pb2.py", "api/users_pb2.py", "3", "4"),
    ]

    assert renames(rematched(changes)) == {
        "gen/users_pb2.py": "api/users_pb2.py",
        "gen/orders_pb2.py": "api/orders_pb2.py",
    }


def test_a_new_file_of_the_old_name_is_the_file():
    changes = [
        Change("gen/schema.snap", "api/other.snap", "1", "2"),
        Change(None, "api/schema.snap", "", "3"),
    ]

    assert renames(rematched(changes)) == {"gen/schema.snap": "api/schema.snap"}


def test_a_name_that_many_files_have_does_not_overrule_what_a_file_says():
    changes = [
        Change("src/net/index.ts", "src/http.ts", "1", "2"),
        Change(None, "web/ui/index.ts", "", "3"),
    ]

    assert renames(rematched(changes)) == {"src/net/index.ts": "src/http.ts"}


def test_one_rename_stays_as_git_found_it():
    changes = [Change("a.py", "b/c.py", SAME, SAME), Change("d.py", "d.py", "1", "2")]

    assert rematched(changes) == changes


def test_long_paths_of_equal_files_are_compared_in_a_moment():
    start = time.process_time()

    rematched(equal([(f"{'a-' * 900}{at}", f"{'a-b-' * 450}{at}") for at in range(4)]))

    assert time.process_time() - start < 1


paths = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)


@given(
    st.lists(st.tuples(paths, st.sampled_from("12")), unique_by=lambda row: row[0], max_size=6),
    st.lists(st.tuples(paths, st.sampled_from("12")), unique_by=lambda row: row[0], max_size=6),
)
def test_each_file_leaves_once_and_comes_once(olds, news):
    changes = [
        Change(f"old/{old}", f"new/{new}", blob, other)
        for (old, blob), (new, other) in zip(olds, news, strict=False)
    ]
    changes += [Change(f"old/{old}", None, blob, "") for old, blob in olds[len(news) :]]
    changes += [Change(None, f"new/{new}", "", blob) for new, blob in news[len(olds) :]]

    found = rematched(changes)

    for part in (0, 1):
        assert Counter(filter(None, (one[part] for one in found))) == Counter(
            filter(None, (one[part] for one in changes))
        )
    blobs = {f"old/{old}": blob for old, blob in olds}
    assert all(one.old_blob == blobs[one.old] for one in found if one.old)
