"""What is there is taken at once, what is not is not waited for, and an end is seen."""

import socket

import pytest

from yaadwatch.client.arriving import at_once


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_what_is_there_is_returned(ends):
    ours, theirs = ends
    theirs.sendall(b"an answer\n")

    assert at_once(ours) == b"an answer\n"


def test_nothing_is_none_and_what_comes_later_is_still_there(ends):
    ours, theirs = ends

    assert at_once(ours) is None

    theirs.sendall(b"later\n")
    ours.settimeout(10)
    assert ours.recv(100) == b"later\n"


def test_the_end_of_a_connection_is_seen(ends):
    ours, theirs = ends
    theirs.close()

    assert at_once(ours) == b""


def test_a_connection_that_broke_is_an_error(ends):
    ours, theirs = ends
    ours.sendall(b"unread")
    theirs.close()

    with pytest.raises(ConnectionError):
        at_once(ours)
