"""What people read after an export."""

import base64
import shlex
from pathlib import Path

import pytest
from recording import command


@pytest.mark.parametrize("name", ["memories.jsonl", "my memories.jsonl"])
def test_the_command_that_brings_an_export_back_can_be_pasted(tmp_path, monkeypatch, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    answer = {"data": base64.b64encode(b"{}\n").decode(), "counts": {"nodes": 1}, "after": None}

    ran = command("export", tmp_path / name, answers={"export": answer}, width=400)

    said, _, again = ran.lines[-1].partition(": ")
    assert (ran.status, said) == (0, "To bring it back")
    *verb, path = shlex.split(again)  # a shell puts the home folder for its sign
    assert (verb, Path(path).expanduser()) == (["yaadwatch", "import"], tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"{}\n"
