"""Definitions of every language: their names, their places, and what counts as a change of them."""

import pytest
from definition_sources import SAMPLES

from yaadwatch.core.truth.definitions import State, define, names

each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.path)


@each_sample
def test_all_definitions_of_a_file_are_listed(sample):
    listed = [
        (one.name, str(one.kind), f"{one.line}-{one.end_line}")
        for one in names(sample.source.encode(), sample.path)
    ]

    assert listed == sample.rows


@each_sample
def test_each_definition_is_found_by_its_whole_name(sample):
    for name, _, lines in sample.rows:
        found = define(sample.source.encode(), sample.path, name)
        first = next(row for row in sample.rows if row[0] == name)

        assert found.state is State.FOUND, name
        assert f"{found.line}-{found.end_line}" == first[2], (name, lines)
