"""The command that says what is wrong: what a person reads."""

from recording import command

from yaadwatch import places
from yaadwatch.cli import doctor
from yaadwatch.model.errors import Code, YaadError


def test_what_mends_it_stands_in_one_line_that_can_be_copied(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "a home of mine"))
    places.data_folder().mkdir()
    (places.data_folder() / "config.toml").write_text("[watch\n")

    ran = command("doctor", width=40)

    assert f"    fix: ${{EDITOR:-vi}} '{places.data_folder()}/config.toml'" in ran.lines


def test_agent_files_that_could_not_be_read_are_named():
    states = {"late": "ok", "locked": "ok", "gone": "missing", "shop": "ok"}
    rows = [{"path": f"/{name}", "state": state} for name, state in states.items()]

    def briefly(_operation, project):
        if project == "/late":
            raise YaadError(Code.TIMEOUT, "too late")
        if project == "/locked":
            raise YaadError(Code.UNAVAILABLE, "The disk does not answer.")
        return {"misplaced": ["block"], "agents": [{"obstacles": ["no file"]}]}

    assert doctor._files(lambda _: {"projects": rows}, briefly) == (
        (("/shop", "no file"),),
        (("/shop", "block"),),
        (
            ("the agent files of /locked", "The disk does not answer."),
            ("the agent files of /late", "the daemon did not answer within 4 s"),
        ),
    )
