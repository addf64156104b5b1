"""Settings on the command line: what holds, where it is from, and how one is set."""

import json
import os

import pytest
import recording

from yaadwatch import places
from yaadwatch.cli.terminal import UNLIMITED
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.model.settings import Settings

FILE = "config.toml"
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def command(*argv, answers):
    """Run a command on a terminal on which nothing has to be wrapped."""
    return recording.command(*argv, answers=answers, width=UNLIMITED)


@pytest.fixture(autouse=True)
def home(environment):
    return places.data_folder()


def row(key="watch.poll_s", value=60, source="default", default=60):
    return {"key": key, "value": value, "from": source, "default": default}


def answers(*rows, warnings=(), running=True):
    return {
        "config": {
            "settings": list(rows),
            "project": None,
            "warnings": list(warnings),
            "running": running,
        }
    }


def alone():
    return {"config": DaemonNotRunning()}


def test_the_list_says_what_holds_and_what_set_it(home):
    rows = (row(), row("watch.quiet_ms", 50, "YAAD_WATCH_QUIET_MS", 100))

    ran = command("config", "list", answers=answers(*rows, warnings=["x is not a setting."]))

    assert ran.calls == [("config", {})]
    assert ran.lines == [
        "watch.poll_s    60  default",
        "watch.quiet_ms  50  $YAAD_WATCH_QUIET_MS (default: 100)",
        "x is not a setting.",
    ]
    assert command("config", answers=answers(row())).lines == ["watch.poll_s  60  default"]


def test_without_a_daemon_it_is_what_the_next_one_would_have(home, monkeypatch):
    (home / FILE).write_text("[watch]\npoll_s = 30\nquite_ms = 1\n")
    monkeypatch.setenv("YAAD_GIT_TIMEOUT_MS", "500")

    ran = command("config", "list", answers=alone())

    assert any(line.split()[:2] == ["watch.poll_s", "30"] and FILE in line for line in ran.lines)
    assert any("$YAAD_GIT_TIMEOUT_MS (default: 10000)" in line for line in ran.lines)
    assert any("Did you mean watch.quiet_ms?" in line for line in ran.lines)
    assert ran.lines[-1] == "The daemon is not running; the next one would have these."


def test_one_value_is_told_for_scripts(home):
    known = answers(row(value=30, source="/f"), row("memory.half_lives", ["task=7"], "/f", []))

    assert command("config", "get", "watch.poll_s", answers=known).out == "30\n"
    assert command("config", "get", "memory.half_lives", answers=known).out == '["task=7"]\n'
    assert command("config", "get", "watch.poll_s", "--json", answers=known).json == row(
        value=30, source="/f"
    )


@pytest.mark.parametrize(
    "action", [("get", "watch.pol_s"), ("set", "watch.pol_s", "1"), ("unset", "watch.pol_s")]
)
def test_a_key_that_is_none_is_told_with_the_nearest_one(home, action):
    ran = command("config", *action, answers=answers(row()))

    assert ran.status == 2
    assert "watch.pol_s is not a setting; nothing was done. Did you mean watch.poll_s?" in ran.err
    assert not (home / FILE).exists()


def test_setting_one_writes_it_and_says_when_it_holds(home):
    (home / FILE).write_text("# mine\n[watch]\nquiet_ms = 50\n")

    ran = command("config", "set", "watch.poll_s", "30", answers=answers(row()))

    assert (home / FILE).read_text() == "# mine\n[watch]\npoll_s = 30\nquiet_ms = 50\n"
    assert ran.lines == [
        f"watch.poll_s = 30 in {home}/{FILE}",
        "The running daemon still has the old value. To apply it: yaadwatch restart",
    ]
    again = command("config", "set", "watch.poll_s", "30", answers=alone())
    assert again.lines == [f"watch.poll_s = 30 in {home}/{FILE}"]


def test_taking_one_out_brings_the_default_back(home):
    command("config", "set", "watch.poll_s", "30", answers=alone())

    ran = command("config", "unset", "watch.poll_s", "--json", answers=answers(row(value=30)))

    assert ran.json == row() | {"restart": True}
    assert "poll_s" not in (home / FILE).read_text()
    said = command("config", "unset", "watch.poll_s", answers=alone())
    assert said.lines == [f"watch.poll_s is not in {home}/{FILE}"]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("watch.poll_s", "often", "watch.poll_s must be a whole number"),
        ("watch.poll_s", "0", "within 1 and 3600"),
        ("memory.half_lives", "task", "must be rows like 'task=14'"),
    ],
)
def test_a_value_that_makes_no_sense_is_told_and_not_written(home, key, value, words):
    ran = command("config", "set", key, value, answers=alone())

    assert ran.status == 2
    assert words in ran.err
    assert not (home / FILE).exists()


def test_a_file_that_is_no_toml_is_left_as_it_is(home):
    (home / FILE).write_text("[watch\n")

    ran = command("config", "set", "watch.poll_s", "30", answers=alone())

    assert ran.status == 2
    assert "was left as it is" in ran.err
    assert (home / FILE).read_text() == "[watch\n"


def test_a_variable_of_this_shell_is_named_that_says_otherwise(home, monkeypatch):
    monkeypatch.setenv("YAAD_WATCH_POLL_S", "5")

    ran = command("config", "set", "watch.poll_s", "30", answers=alone())

    assert "YAAD_WATCH_POLL_S is set in this shell, and says 5." in ran.lines


def test_a_secret_where_a_number_belongs_is_not_told(monkeypatch):
    monkeypatch.setenv("YAAD_WATCH_POLL_S", TOKEN)

    (told,) = command("config", "--json", answers=alone()).json["warnings"]

    assert "'[masked:github-token]'" in told


@pytest.mark.parametrize(
    "words", [("list", "x"), ("get",), ("set", "a"), ("unset",), ("set", "a", "b", "c")]
)
def test_too_few_or_many_words_are_a_usage_error(words):
    ran = command("config", *words, answers=alone())

    assert ran.status == 2
    assert "yaadwatch config --help" in ran.err


def test_every_setting_is_listed():
    listed = command("config", "--json", answers=alone()).json

    assert len(listed["settings"]) == sum(
        len(getattr(Settings(), section).__dataclass_fields__)
        for section in Settings.__dataclass_fields__
    )
    assert json.dumps(listed)


@pytest.mark.parametrize("ask", [("set", "watch.poll_s", "30"), ("unset", "watch.poll_s")])
def test_a_pipe_in_place_of_the_file_keeps_no_change_waiting(home, ask):
    home.mkdir(parents=True, exist_ok=True)
    os.mkfifo(home / FILE)

    ran = command("config", *ask, answers=alone())

    assert ran.status == 3
    assert "cannot be changed" in ran.err
