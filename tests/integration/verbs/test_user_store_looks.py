"""A daemon sees soon that its user store was damaged, and reads little of it while nobody does."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from yaadwatch import places
from yaadwatch.projects import verifying

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LOOK = timedelta(seconds=5)


class Counted:
    """A store that counts how often it is read."""

    def __init__(self, db):
        self.db = db
        self.reads = 0

    def is_in_place(self):
        return self.db.is_in_place()

    def read(self, ask, *given):
        self.reads += 1
        return self.db.read(ask, *given)


@pytest.fixture
def opened(environment):
    found = verifying.open_own()
    yield found
    found.db.close()


def test_while_nobody_touches_the_file_it_is_read_once_a_minute(opened):
    db = Counted(opened.db)
    clock = [NOW]
    standing = verifying.UserStoreHealth(replace(opened, db=db), lambda: clock[0])

    for _ in range(60):
        clock[0] += LOOK
        assert standing.restart_reason() == ""

    assert db.reads == 5


def test_after_a_clock_went_back_it_is_read_as_before(opened):
    db = Counted(opened.db)
    clock = [NOW]
    standing = verifying.UserStoreHealth(replace(opened, db=db), lambda: clock[0])

    clock[0] -= timedelta(days=1)
    standing.restart_reason()

    assert db.reads == 1


def test_a_file_that_was_changed_is_read_at_the_next_look(opened):
    clock = [NOW]
    standing = verifying.UserStoreHealth(opened, lambda: clock[0])
    opened.db.read(lambda conn: conn.pragma("wal_checkpoint"))
    path = places.user_store()
    path.write_bytes(b"this is no database " * 1000)

    clock[0] += LOOK

    assert standing.restart_reason() == "the user store is damaged"


def test_a_file_that_is_deleted_is_a_reason_to_begin_again(opened):
    standing = verifying.UserStoreHealth(opened, lambda: NOW)
    assert standing.restart_reason() == ""

    opened.db.path.unlink()

    assert "deleted or replaced" in standing.restart_reason()
