"""What a person sets is read from the file, then from the environment; what is odd is told."""

import dataclasses
import json
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import ALWAYS, WIDE_TOOLS, Settings
from yaadwatch.system import config

KEYS = [
    (section.name, row.name, row.default)
    for section in dataclasses.fields(Settings)
    for row in dataclasses.fields(getattr(Settings(), section.name))
]
each_key = pytest.mark.parametrize(("section", "name", "default"), KEYS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "config.toml"


def _other(default, name=""):
    """A value in range that is not the default; a list fits files and half-lives of kinds."""
    if name == "wide":
        return WIDE_TOOLS
    if isinstance(default, str):
        return ALWAYS
    if isinstance(default, tuple):
        return (*default, "task=7", "note=0.5")
    return default / 2 if isinstance(default, float) else default + 1


def _toml(value):
    if isinstance(value, str):
        return json.dumps(value)
    return json.dumps(list(value)) if isinstance(value, tuple) else value


def _variable(value):
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def refused(path, environ=None):
    """Return what is told of the one value that is left out; all is as it comes."""
    loaded = config.load(path, environ or {})

    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {"default"}
    (told,) = loaded.warnings
    return told


def test_without_a_file_everything_is_as_it_comes(path):
    loaded = config.load(path, {})

    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {"default"}
    assert loaded.warnings == ()


@each_key
def test_every_setting_is_read_from_the_file(path, section, name, default):
    path.write_text(f"[{section}]\n{name} = {_toml(_other(default, name))}\n")

    loaded = config.load(path, {})

    assert getattr(getattr(loaded.settings, section), name) == _other(default, name)
    assert loaded.sources[f"{section}.{name}"] == str(path)
    assert list(loaded.sources.values()).count("default") == len(KEYS) - 1


@each_key
def test_every_setting_is_read_from_the_environment_over_the_file(path, section, name, default):
    path.write_text(f"{section}.{name} = {_toml(default)}\n")
    variable = f"YAAD_{section}_{name}".upper()

    loaded = config.load(path, {variable: _variable(_other(default, name))})

    assert getattr(getattr(loaded.settings, section), name) == _other(default, name)
    assert loaded.sources[f"{section}.{name}"] == variable
    assert loaded.warnings == ()


def test_a_wide_tool_that_there_is_not_is_named(path):
    told = refused(path, {"YAAD_MCP_WIDE": "grap"})

    assert "must hold graph and curate only, got 'grap'" in told


def test_a_whole_number_will_do_where_a_fraction_may_stand(path):
    path.write_text("[memory]\nhalf_life_days = 7\n")

    assert config.load(path, {}).settings.memory.half_life_days == 7.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[watch]\nquiet_mss = 5\n", ["watch.quiet_mss", "Did you mean watch.quiet_ms?"]),
        ("[wacth]\nquiet_ms = 5\n", ["wacth.quiet_ms", "Did you mean watch.quiet_ms?"]),
        ("quiet_ms = 5\n", ["quiet_ms is not a setting", "watch.quiet_ms"]),
        ("[colours]\nneon = true\n", ["colours.neon is not a setting."]),
        ("[watch.deep]\nquiet_ms = 5\n", ["watch.deep is not a setting."]),
    ],
)
def test_an_unknown_key_is_told_with_the_nearest_one_and_hurts_nothing(path, text, words):
    path.write_text(text)

    loaded = config.load(path, {})

    assert loaded.settings == Settings()
    (warning,) = loaded.warnings
    for word in [str(path), *words]:
        assert word in warning


def test_an_unknown_variable_is_told_and_others_are_none_of_our_business(path):
    loaded = config.load(
        path, {"YAAD_WATCH_QUITE_MS": "5", "YAAD_HOME": "/x", "YAAD_REQUIRE": "uid", "PATH": "/"}
    )

    assert loaded.settings == Settings()
    assert loaded.warnings == (
        "YAAD_WATCH_QUITE_MS is not a setting. Did you mean YAAD_WATCH_QUIET_MS?",
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("YAAD_HOEM", " Did you mean YAAD_HOME?"),
        ("YAAD_HOMES", " Did you mean YAAD_HOME?"),
        ("YAAD_ROOM", ""),
        ("YAAD_DIR", ""),
        ("YAAD_SOAP", ""),
        ("YAAD_WATCH_POL_S", " Did you mean YAAD_WATCH_POLL_S?"),
    ],
)
def test_only_a_variable_that_is_like_it_is_proposed_for_an_unknown_one(path, name, told):
    """That all of them begin alike makes none like another."""
    assert config.load(path, {name: "/x"}).warnings == (f"{name} is not a setting.{told}",)


@pytest.mark.parametrize(
    "value",
    ['"50"', "true", "5.5", "-1", "2001", "[50]", "nan", "1979-05-27", "99999999999999999999"],
)
def test_a_bad_value_in_the_file_is_told_with_file_and_key(path, value):
    path.write_text(f"[watch]\nquiet_ms = {value}\n")

    told = refused(path)

    assert told.startswith(f"{path}: watch.quiet_ms must be")
    assert "not used" in told


@pytest.mark.parametrize("value", ['"CONVENTIONS.md"', "1", "[1]", '["a", true]', "{}"])
def test_a_list_of_texts_is_nothing_else(path, value):
    path.write_text(f"[agent_files]\nalso = {value}\n")

    assert "agent_files.also must be a list of texts" in refused(path)


@pytest.mark.parametrize(
    "value", ["nan", "inf", "-inf", "0", "1e-300", "0x" + "f" * 400, "'30'", "false"]
)
def test_a_number_that_is_none_is_no_half_life(path, value):
    path.write_text(f"memory.half_life_days = {value}\n")

    assert "memory.half_life_days must be" in refused(path)


@pytest.mark.parametrize("value", ["", "fast", "5.5", "-1", "nan", "9" * 5000])
def test_a_bad_variable_is_told_by_its_name(path, value):
    assert refused(path, {"YAAD_WATCH_QUIET_MS": value}).startswith("YAAD_WATCH_QUIET_MS must be")


def test_a_bad_value_leaves_what_says_less_and_all_others(path):
    path.write_text("[watch]\nquiet_ms = 50\npoll_s = -1\n[recall]\ntop_k = 7\n")

    loaded = config.load(path, {"YAAD_WATCH_QUIET_MS": "soon", "YAAD_GIT_TIMEOUT_MS": "500"})

    usual = Settings()
    assert loaded.settings == dataclasses.replace(
        usual,
        watch=dataclasses.replace(usual.watch, quiet_ms=50),
        recall=dataclasses.replace(usual.recall, top_k=7),
        git=dataclasses.replace(usual.git, timeout_ms=500),
    )
    assert loaded.sources["watch.quiet_ms"] == str(path)
    assert loaded.sources["watch.poll_s"] == "default"
    assert [told.split(" must be")[0] for told in loaded.warnings] == [
        f"{path}: watch.poll_s",
        "YAAD_WATCH_QUIET_MS",
    ]


@pytest.mark.parametrize(
    "data", [b"[watch\n", b"quiet_ms = \n", b"\xff\xfe", b"[watch]\nquiet_ms = 1\nquiet_ms = 2\n"]
)
def test_a_file_that_is_no_toml_is_told(path, data):
    path.write_bytes(data)

    error = refusal(config.load, path, {})

    assert error.code is Code.BAD_REQUEST
    assert str(path) in error.message


def test_a_number_of_too_many_digits_is_told(path):
    path.write_text(f"[store]\nbudget_mib = 0x{'f' * 5_000}\n")

    assert "store.budget_mib must be a whole number" in refused(path)

    path.write_text(f"[store]\nbudget_mib = {'9' * 5_000}\n")
    with pytest.raises(YaadError, match="is not TOML"):
        config.load(path, {})


@given(st.binary(max_size=200) | st.text("[]{}='\".\n#a1", max_size=200).map(str.encode))
def test_no_file_of_a_project_makes_it_fall_over(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "beside"
    folder.mkdir(exist_ok=True)
    (folder / config.FILE).write_bytes(data)

    loaded = config.ProjectSettings(folder / "home", time.time_ns).load(folder, Settings(), {})

    assert loaded.settings == Settings()


def test_a_file_just_written_is_read_again_until_its_time_can_be_trusted(path):
    path.write_text("[store]\nbudget_mib = 20\n")
    now = [path.stat().st_mtime_ns]
    beside = config.ProjectSettings(path.parent / "home", lambda: now[0])
    first = beside.load(path.parent, Settings(), {})

    assert beside.load(path.parent, Settings(), {}) is not first
    now[0] += 10_000_000_000
    again = beside.load(path.parent, Settings(), {})
    assert beside.load(path.parent, Settings(), {}) is again


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("CONVENTIONS.md, docs/*.md", ["CONVENTIONS.md", "docs/*.md"]),
        ('["CONVENTIONS.md", "docs/*.md"]', ["CONVENTIONS.md", "docs/*.md"]),
        (" ['a,b.md'] ", ["a,b.md"]),
        ("[]", []),
        ("[a-z]*.md", ["[a-z]*.md"]),
        ("", []),
    ],
)
def test_a_list_is_written_with_commas_or_as_the_file_has_it(path, text, value):
    assert config.understood("agent_files.also", text) == value
    loaded = config.load(path, {"YAAD_AGENT_FILES_ALSO": text})
    assert list(loaded.settings.agent_files.also) == value


@pytest.mark.parametrize("text", ['["a.md"', '["a.md", 1]', "['a' 'b']"])
def test_half_a_list_is_none(text):
    with pytest.raises(YaadError, match=r"must be a list of texts.*; nothing was changed\."):
        config.understood("agent_files.also", text)


def test_what_could_not_be_set_changed_nothing():
    error = refusal(config.understood, "watch.poll_s", "0")

    assert error.message == ("watch.poll_s must be within 1 and 3600, got 0; nothing was changed.")
    assert error.hint == "What it is now: yaadwatch config get watch.poll_s"


def test_a_pipe_in_its_place_keeps_nobody_waiting(path):
    os.mkfifo(path)

    with pytest.raises(YaadError, match="it is no plain file") as refused:
        config.load(path, {})
    assert refused.value.code is Code.UNAVAILABLE


def test_a_file_that_cannot_be_read_is_told(path):
    path.mkdir()

    assert refusal(config.load, path, {}).code is Code.UNAVAILABLE


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=30)))
def test_no_environment_makes_it_fall_over(tmp_path_factory, environ):
    path = tmp_path_factory.getbasetemp() / "no-such-config.toml"
    named = {f"YAAD_{name}": value for name, value in environ.items()}

    assert config.load(path, environ | named).settings == Settings()
