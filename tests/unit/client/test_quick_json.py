"""JSON read and written as `json` does it, for a fraction of its imports."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yaadwatch.client import quick_json

ROOT = Path(__file__).parents[3]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(values)
def test_what_is_written_is_what_json_writes(value):
    assert quick_json.dumps(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(values, st.sampled_from(["", " ", "\r\n"]), st.booleans())
def test_what_is_read_is_what_json_reads(value, around, spread):
    text = around + json.dumps(value, indent=1 if spread else None) + around

    assert quick_json.loads(text.encode()) == json.loads(text)


@given(st.binary() | st.text().map(str.encode))
@example(b"")
@example(b"1 2")
@example(b'{"a": 1,}')
@example(b'"\x01"')
@example(b"\xff")
@example(b"1" * 5000)
def test_what_json_refuses_is_refused(data):
    try:
        wanted = json.loads(data.decode("utf-8").removeprefix("\ufeff"))
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011
            quick_json.loads(data)
    else:
        assert repr(quick_json.loads(data)) == repr(wanted)


def test_what_is_nested_too_deep_is_refused():
    with pytest.raises((ValueError, RecursionError)):
        quick_json.loads(b"[" * 100_000)


@pytest.mark.parametrize("text", ["{", "", "[1,]", "1 2", '"', "nul"])
def test_what_is_wrong_is_said_where_json_was_never_imported(text):
    code = f"""
import sys; sys.path.append({str(ROOT)!r})
from yaadwatch.client import quick_json
try:
    quick_json.loads({text.encode()!r})
except ValueError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60
    )

    assert done.stderr == ""
    assert "line 1 column" in done.stdout


def test_what_json_cannot_say_is_refused():
    with pytest.raises(TypeError):
        quick_json.dumps({"a": {1, 2}})


def test_a_hook_imports_neither_json_nor_what_that_imports():
    code = (
        "import sys, yaadwatch.client.hook;"
        "print(*({'json', 're', 'enum', 'collections', 'signal', 'socket'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(ROOT)!r}); {code}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.split() == []
