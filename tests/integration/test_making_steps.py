"""A new store, one system call after another: how often who makes it waits for the disk."""

import pytest
from stepping import CAN_FAIL, Stepped, require_stepping

from yaadwatch.db.database import Database

require_stepping()


@pytest.mark.skipif(not CAN_FAIL, reason="calls have names on x86-64 only")
def test_a_new_store_waits_for_the_disk_once_for_the_file_and_once_for_its_name(tmp_path):
    """What it is opened with stands in it already: nothing is changed in a second transaction."""
    path = tmp_path / "yaad.db"

    with Stepped(lambda: Database.open(path, role="user", create=True)) as child:
        names = []
        while child.to_call(child.calls):
            names.append(child.name())

    assert child.end() == 0
    seen = [name for name in names if name in ("fsync", "fdatasync", "rename")]
    assert seen == ["fsync", "rename", "fsync"]
