"""Where the settings of agents are; compared with platformdirs where they follow the system."""

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from yaadwatch.connect.places import Program
from yaadwatch.connect.table import CONNECTIONS, Place
from yaadwatch.system.settings_files import is_used

PROGRAM = Program(python="/opt/python", client="/opt/client")
ROWS = {row.agent: row for row in CONNECTIONS}


def settings(agent, home, *, platform="linux", project=None, **env):
    place = Place(home=home, project=project, env=env, platform=platform)
    return ROWS[agent].spots(PROGRAM, place)[0].path


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


@pytest.mark.parametrize("agent", ["vscode", "zed", "opencode"])
@pytest.mark.parametrize("moved", [None, "elsewhere", "relative/folder"])
def test_settings_on_linux_are_in_the_config_folder_of_the_user(home, monkeypatch, agent, moved):
    env = {}
    if moved is not None:
        folder = moved if moved.startswith("relative") else f"{home}/{moved}"
        env = {"XDG_CONFIG_HOME": folder}
        if not moved.startswith("relative"):  # the standard has relative paths ignored
            monkeypatch.setenv("XDG_CONFIG_HOME", folder)
    names = {"vscode": "Code/User/mcp.json", "zed": "zed/settings.json"}
    name = names.get(agent, "opencode/opencode.json")

    assert settings(agent, home, **env) == f"{Unix().user_config_dir}/{name}"


def test_vscode_on_macos_is_in_application_support(home):
    assert settings("vscode", home, platform="darwin") == (
        f"{MacOS('Code').user_config_dir}/User/mcp.json"
    )


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        ("vscode", "Library/Application Support/Code/User/mcp.json"),
        ("zed", ".config/zed/settings.json"),
    ],
)
def test_agents_that_ignore_the_variable_on_macos_are_not_moved_by_it(home, agent, path):
    """Here platformdirs would name a folder that these agents never read."""
    found = settings(agent, home, platform="darwin", XDG_CONFIG_HOME=f"{home}/elsewhere")

    assert found == f"{home}/{path}"


def test_opencode_reads_the_variable_on_macos_too(home):
    found = settings("opencode", home, platform="darwin", XDG_CONFIG_HOME=f"{home}/elsewhere")

    assert found == f"{home}/elsewhere/opencode/opencode.json"


@pytest.mark.parametrize("agent", ["vscode", "zed", "opencode"])
def test_settings_of_a_project_do_not_depend_on_the_user(home, agent):
    project = home / "project"

    found = settings(agent, home, project=project, XDG_CONFIG_HOME=f"{home}/elsewhere")

    assert found.startswith(f"{project}/")


def test_an_agent_is_found_where_the_variable_moved_its_folder(home, monkeypatch):
    assert not is_used(ROWS["zed"].homes)
    (home / "elsewhere" / "zed").mkdir(parents=True)

    monkeypatch.setenv("XDG_CONFIG_HOME", f"{home}/elsewhere")

    assert is_used(ROWS["zed"].homes)
    assert not is_used(ROWS["vscode"].homes)
