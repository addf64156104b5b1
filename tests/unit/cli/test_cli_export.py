"""What people read after an export and an import."""

import base64
import shlex
from pathlib import Path

import pytest
from recording import command

from yaadwatch.cli.terminal import UNLIMITED


@pytest.mark.parametrize("name", ["memories.jsonl", "my memories.jsonl"])
def test_the_command_that_brings_an_export_back_can_be_pasted(tmp_path, monkeypatch, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    answer = {"data": base64.b64encode(b"{}\n").decode(), "counts": {"nodes": 1}, "after": None}

    ran = command("export", tmp_path / name, answers={"export": answer}, width=UNLIMITED)

    said, _, again = ran.lines[-1].partition(": ")
    assert (ran.status, said) == (0, "To bring it back")
    *verb, path = shlex.split(again)  # a shell puts the home folder for its sign
    assert (verb, Path(path).expanduser()) == (["yaadwatch", "import"], tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"{}\n"


def test_of_an_import_it_is_told_what_was_not_understood_and_how_much_more_there_is(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("---\nname: [broken\n---\nWords.\n")
    answer = {
        "import": None,
        "upload": "1",
        "dry_run": True,
        "counts": {"nodes": {"new": 1}},
        "conflicts": [],
        "left_out": [{"row": "other.md", "reason": "it is no UTF-8"}] * 25,
        "left_out_count": 25,
        "misread": [{"row": "page.md", "line": 2, "reason": "name: a list that has no end"}],
        "misread_count": 1,
        "masked": 0,
    }

    ran = command("import", page, "--dry-run", answers={"import": answer})

    assert "not understood: page.md, line 2: name: a list that has no end" in ran.lines
    assert "… and 5 more left out: --json" in ran.lines
    assert "more not understood" not in ran.out


def test_of_a_folder_that_is_not_there_the_command_is_told_that_makes_it(tmp_path):
    answer = {"data": base64.b64encode(b"{}\n").decode(), "counts": {}, "after": None}

    ran = command("export", tmp_path / "a b/m.jsonl", answers={"export": answer}, width=UNLIMITED)

    assert ran.status == 3
    assert f"There is no folder {tmp_path / 'a b'}. Nothing was written." in ran.err
    assert f"mkdir -p '{tmp_path / 'a b'}'" in ran.err
