"""The command that says what is wrong: what a person reads."""

from recording import command

from yaadwatch import places


def test_what_mends_it_stands_in_one_line_that_can_be_copied(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "a home of mine"))
    places.data_folder().mkdir()
    (places.data_folder() / "config.toml").write_text("[watch\n")

    ran = command("doctor", width=40)

    assert f"    fix: ${{EDITOR:-vi}} '{places.data_folder()}/config.toml'" in ran.lines
