"""edit and reanchor: what they ask, what a person reads, and that written words are never lost."""

import io
import stat
from pathlib import Path

import pytest
from recording import ID, RecordingClient, command

from yaadwatch.cli.main import run
from yaadwatch.cli.terminal import Terminal
from yaadwatch.model.errors import Code, YaadError

OLD = "Use jose, not jsonwebtoken"
UPDATED = {
    "id": ID,
    "text": "Use authlib",
    "kind": "decision",
    "tier": 1,
    "pinned": False,
    "archived": False,
    "undo": f"yaadwatch edit f2e4ab37 '{OLD}'",
    "version": 3,
    "anchors": [{"path": "src/auth.py"}],
    "masked": ["github-token"],
}
MOVED = {
    "id": ID,
    "before": "Tokens are signed in src/auth.ts",
    "text": "Tokens are signed in src/security/auth.ts",
    "reason": "src/auth.ts is now src/security/auth.ts",
    "path": "src/security/auth.ts",
    "anchors": [{"path": "src/security/auth.ts"}],
    "undo": "yaadwatch edit f2e4ab37 'Tokens are signed in src/auth.ts'",
}


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_edit_says_how_it_reads_now_and_how_to_undo_it():
    ran = command("edit", "f2e4ab37", "Use", "authlib", answers={"update": UPDATED})

    assert ran.calls == [("update", {"id": "f2e4ab37", "text": "Use authlib"})]
    assert ran.lines == [
        "Edited f2e4ab37  Use authlib",
        "  rests on src/auth.py",
        "  masked: github-token",
        f"Undo: yaadwatch edit f2e4ab37 '{OLD}'",
    ]


def test_what_undoes_it_can_be_copied_from_a_narrow_window():
    ran = command("edit", "f2e4ab37", "Use", "authlib", answers={"update": UPDATED}, width=40)

    assert ran.lines[-1] == f"Undo: yaadwatch edit f2e4ab37 '{OLD}'"


def test_without_words_and_without_a_terminal_nothing_is_asked():
    ran = command("edit", "f2e4ab37")

    assert (ran.status, ran.calls) == (2, [])
    assert "no terminal" in ran.err


class TestEditor:
    @pytest.fixture(autouse=True)
    def own_folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", None)
        monkeypatch.delenv("VISUAL", raising=False)
        self.folder = tmp_path

    def edited(self, monkeypatch, script, **answers):
        """Run `edit` with an editor that is a line of shell; return status, calls and screen."""
        editor = self.folder / "an editor"
        editor.write_text(f"#!/bin/sh\n{script}\n")
        editor.chmod(0o700)
        monkeypatch.setenv("EDITOR", f"'{editor}' --wait")
        client = RecordingClient({"show": {"id": ID, "text": OLD, "version": 2}, **answers})
        screen = Screen()
        terminal = Terminal(screen, screen, keys=Screen())
        status = run(["edit", "f2e4ab37"], terminal, lambda args, terminal: client)
        calls = [call for call in client.calls if call[0] != "close"]
        return status, calls, screen.getvalue()

    def left(self):
        return [path for path in self.folder.iterdir() if path.name.startswith("yaadwatch-")]

    def test_it_shows_the_old_words_and_sends_the_new_ones_for_that_version(self, monkeypatch):
        status, calls, screen = self.edited(
            monkeypatch, 'sed -i "s/jose.*/authlib/" "$2"', update=UPDATED
        )

        assert status == 0
        assert calls == [
            ("show", {"id": "f2e4ab37"}),
            ("update", {"id": ID, "text": "Use authlib", "expected_version": 2}),
        ]
        assert "Edited f2e4ab37" in screen
        assert self.left() == []

    @pytest.mark.parametrize(
        ("script", "said"),
        [("true", "The text is the same."), (': > "$2"', "The text is empty.")],
    )
    def test_nothing_new_changes_nothing(self, monkeypatch, script, said):
        status, calls, screen = self.edited(monkeypatch, script)

        assert status == 0
        assert [name for name, _ in calls] == ["show"]
        assert f"{said} Nothing was changed." in screen
        assert self.left() == []

    def test_words_that_are_refused_are_kept_where_the_error_says(self, monkeypatch):
        conflict = YaadError(Code.CONFLICT, "Somebody else changed it.", hint="Look again.")

        status, _, screen = self.edited(monkeypatch, 'echo mine > "$2"', update=conflict)

        (kept,) = self.left()
        assert status == 4
        assert f"Look again. Your words are kept in {kept}" in screen
        assert Path(kept).read_text() == "mine\n"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    @pytest.mark.parametrize(
        ("script", "ends"),
        [
            ("exit 3", 3),
            (r'printf "\377" > "$2"', 2),
            ('head -c 500001 /dev/zero | tr "\\0" x > "$2"', 1),
        ],
    )
    def test_an_editor_that_goes_wrong_changes_nothing_and_loses_nothing(
        self, monkeypatch, script, ends
    ):
        status, calls, screen = self.edited(monkeypatch, script)

        (kept,) = self.left()
        assert status == ends
        assert [name for name, _ in calls] == ["show"]
        assert "Nothing was changed." in screen
        assert str(kept) in screen


def test_reanchor_prints_each_memory_before_and_after():
    answer = {"dry_run": False, "reanchored": [MOVED], "skipped": []}

    ran = command("reanchor", "f2e4ab37", answers={"reanchor": answer})

    assert ran.calls == [("reanchor", {"id": "f2e4ab37"})]
    assert ran.lines == [
        "f2e4ab37  src/auth.ts is now src/security/auth.ts",
        "          was: Tokens are signed in src/auth.ts",
        "          now: Tokens are signed in src/security/auth.ts",
        "          rests on src/security/auth.ts",
        "          Undo: yaadwatch edit f2e4ab37 'Tokens are signed in src/auth.ts'",
        "Reanchored 1 memory.",
    ]


def test_reanchoring_all_says_what_was_skipped_and_why():
    answer = {
        "dry_run": True,
        "reanchored": [MOVED | {"undo": None}],
        "skipped": [{"id": ID, "reason": "CLAUDE.md (line 3) says it.", "hint": "Write there: x"}],
    }

    ran = command("reanchor", "--all", "--dry-run", answers={"reanchor": answer})

    assert ran.calls == [("reanchor", {"all": True, "dry_run": True})]
    assert ran.lines[-3:] == [
        "f2e4ab37  CLAUDE.md (line 3) says it.",
        "          Write there: x",
        "Would reanchor 1 memory, skipped 1.",
    ]
    assert "Undo" not in ran.out
