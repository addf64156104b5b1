"""An id is told so that whoever reads it can type it."""

import shlex

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.model.limits import short_id

OURS = "0199b1c2-7d3e-7f00-8a11-5c01f2e4ab37"


def test_of_our_ids_the_end_is_told():
    assert short_id(OURS) == "f2e4ab37"


def test_an_id_that_a_caller_gave_is_told_whole():
    assert short_id("req-login") == "req-login"
    assert short_id("x-deploys") == "x-deploys"
    assert short_id("f2e4ab37") == "f2e4ab37"


@given(st.text(min_size=1, max_size=128))
def test_what_is_told_of_a_callers_id_is_that_id_to_a_shell(identity):
    told = short_id(identity)

    assert told == identity[-8:] or shlex.split(told) == [identity]
