"""The table of operations: names, requests and wires."""

import pytest

from yaadwatch.api.messages import memories
from yaadwatch.api.operations import BY_NAME, OPERATIONS


def test_no_name_stands_twice():
    assert len(BY_NAME) == len(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)
def test_every_operation_is_on_the_socket_and_says_what_it_does_in_a_line(operation):
    assert "socket" in operation.wires
    assert operation.help == operation.help.strip(".").strip()
    assert operation.help[0].islower()


def test_a_request_is_equal_by_value_and_cannot_be_changed():
    asked = memories.Show(id="5c01f2e4")

    assert asked == memories.Show(id="5c01f2e4", view="current")
    assert asked != memories.Show(id="5c01f2e4", view="all")
    with pytest.raises(AttributeError):
        asked.id = "7d3e8a11"


def test_a_request_names_what_it_lacks_and_what_it_does_not_know():
    with pytest.raises(TypeError, match="Show needs id"):
        memories.Show()
    with pytest.raises(TypeError, match="Show has no field ids"):
        memories.Show(id="5c01f2e4", ids=())


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda row: row.name)
def test_every_declared_option_has_a_help_and_no_field_is_called_like_the_folder(operation):
    for field in operation.request.FIELDS.values():
        assert field.name != "project"
        assert field.help or field.option is None, field.name
