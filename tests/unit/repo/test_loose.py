"""An object in a file of its own: all of it or nothing, and never more than was asked for."""

import hashlib
import os
import subprocess
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.repo.objects import Loose, NotPlain, read_loose

KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
texts = st.binary(max_size=300)


def put(folder, packed):
    name = "ab" * 20
    place = folder / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(packed)
    return name


def object_of(kind, data, size=None):
    return f"{kind} {len(data) if size is None else size}\0".encode() + data


@given(kind=st.sampled_from(sorted(KINDS)), data=texts, level=st.integers(0, 9))
def test_what_was_written_is_what_is_read(tmp_path_factory, kind, data, level):
    folder = tmp_path_factory.mktemp("objects")
    name = put(folder, zlib.compress(object_of(kind, data), level))

    assert read_loose(str(folder), name, 1000) == Loose(KINDS[kind], len(data), data)


@given(data=texts.filter(len), spare=st.integers(1, 300))
def test_what_is_larger_than_asked_for_is_only_described(tmp_path_factory, data, spare):
    folder = tmp_path_factory.mktemp("objects")
    name = put(folder, zlib.compress(object_of("blob", data)))

    found = read_loose(str(folder), name, max(len(data) - spare, 0))

    assert found == Loose(KINDS["blob"], len(data), None)


@given(data=texts, at=st.integers(min_value=0), flip=st.integers(1, 255))
def test_a_damaged_file_is_left_to_git(tmp_path_factory, data, at, flip):
    folder = tmp_path_factory.mktemp("objects")
    packed = bytearray(zlib.compress(object_of("blob", data)))
    packed[2 + at % (len(packed) - 2)] ^= flip

    found = read_loose(str(folder), put(folder, bytes(packed)), 1000)

    assert found is None or found.data in (None, data)


@given(data=texts, keep=st.integers(min_value=0))
def test_a_file_that_was_cut_off_is_left_to_git(tmp_path_factory, data, keep):
    folder = tmp_path_factory.mktemp("objects")
    packed = zlib.compress(object_of("blob", data))

    assert read_loose(str(folder), put(folder, packed[: keep % len(packed)]), 1000) is None


@pytest.mark.parametrize("size", [0, 3, 5, 10**17])
def test_a_size_that_is_not_the_size_is_left_to_git(tmp_path, size):
    name = put(tmp_path, zlib.compress(object_of("blob", b"four", size)))

    found = read_loose(str(tmp_path), name, 1000)

    assert found is None or found.data is None


@pytest.mark.parametrize(
    "raw", [b"", b"blob", b"blob -1\0", b"\xc3\xa9 4\0four", b"blob 04", b"bob 4\0four"]
)
def test_what_is_no_object_is_left_to_git(tmp_path, raw):
    assert read_loose(str(tmp_path), put(tmp_path, zlib.compress(raw)), 1000) is None


def test_of_what_unpacks_to_very_much_no_more_is_unpacked_than_it_said(tmp_path):
    name = put(tmp_path, zlib.compress(object_of("blob", bytes(10_000_000), 4)))

    assert read_loose(str(tmp_path), name, 1000) is None


def test_what_is_not_there_is_none(tmp_path):
    assert read_loose(str(tmp_path), "ab" * 20, 1000) is None


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_plain_file_is_not_opened(tmp_path, kind):
    place = tmp_path / "ab" / ("ab" * 19)
    place.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to(tmp_path)
    else:
        place.mkdir()

    with pytest.raises(NotPlain):
        read_loose(str(tmp_path), "ab" * 20, 1000)


@pytest.mark.parametrize("data", [b"", b"a\n", b"\0" * 5000])
def test_what_git_wrote_is_read(tmp_path, data):
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    made = subprocess.run(
        [*git, "hash-object", "-w", "--stdin"], input=data, capture_output=True, check=True
    )
    name = made.stdout.decode().strip()
    assert name == hashlib.sha1(object_of("blob", data)).hexdigest()

    found = read_loose(str(tmp_path / ".git" / "objects"), name, 10_000)

    assert found == Loose(3, len(data), data)
