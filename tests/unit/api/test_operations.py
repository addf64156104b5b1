"""The table of operations: names, requests and wires."""

import dataclasses

import pytest

from yaadwatch.api.operations import BY_NAME, OPERATIONS


def test_no_name_stands_twice():
    assert len(BY_NAME) == len(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)
def test_every_operation_is_on_the_socket_and_says_what_it_does_in_a_line(operation):
    assert "socket" in operation.wires
    assert operation.help == operation.help.strip(".").strip()
    assert operation.help[0].islower()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)
def test_every_request_is_frozen_slotted_and_given_by_keyword(operation):
    fields = dataclasses.fields(operation.request)

    assert operation.request.__dataclass_params__.frozen
    assert "__slots__" in vars(operation.request)
    assert all(field.kw_only and field.name != "project" for field in fields)
