"""What is found by which facts: each problem with what mends it, and nothing where all is well."""

import shlex
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.projects.diagnosis import (
    CHECKS,
    FREE_BYTES_MIN,
    AgentFacts,
    DaemonFacts,
    Facts,
    HomeFacts,
    HookFacts,
    ServiceFacts,
    SettingsFacts,
    StoreFacts,
    diagnose,
)

HOME = "/home/ada/.yaad"
WELL = Facts(
    home=HomeFacts(path=HOME, state="ok", free_bytes=FREE_BYTES_MIN),
    settings=SettingsFacts(path=f"{HOME}/config.toml"),
    daemon=DaemonFacts(state="answers", pid=7, version="1.0", ours="1.0"),
    git="git version 2.39.5",
    hooks=HookFacts(path=f"{HOME}/log/hook.log"),
    stores=(
        StoreFacts(path=f"{HOME}/yaad.db"),
        StoreFacts(path="/src/a/.yaad/yaad.db", root="/src/a"),
    ),
    agents=(AgentFacts(agent="claude", title="Claude Code", state="connected"),),
)
USER = WELL.stores[0]
LOST = replace(USER, state="damaged", aside=f"{HOME}/damaged")
PROJECT = replace(WELL.stores[1], root="/src/my shop", path="/src/my shop/.yaad/yaad.db")


def found(**changed):
    """Return what is found, as (check, level, what, remedy), when this is changed in a well one."""
    return [
        (one.check, one.level, one.what, "\n".join(filter(None, (one.mend, one.advice))))
        for one in diagnose(replace(WELL, **changed))
    ]


def test_where_all_is_well_nothing_is_found():
    assert found() == []


@pytest.mark.parametrize(
    ("changed", "check", "what", "mend"),
    [
        ({"git": ""}, "git", "git cannot be run", "Install git"),
        ({"git": "", "git_silent": "/x/git"}, "git", "/x/git does not answer", "first on the PATH"),
        (
            {"daemon": DaemonFacts(state="silent")},
            "daemon",
            "A process holds the daemon's lock",
            f"fuser {HOME}/daemon.lock",
        ),
        (
            {"home": HomeFacts(path=HOME, state="foreign")},
            "home",
            "belongs to another user",
            'export YAAD_HOME="$HOME/.yaad-$(id -u)"',
        ),
        (
            {"home": HomeFacts(path=HOME, state="closed")},
            "home",
            "may not be written to",
            f"chmod u+rwx {HOME}",
        ),
        (
            {"home": HomeFacts(path=HOME, state="read-only")},
            "home",
            "is on a disk that is mounted read-only",
            "Have it mounted for writing, or set YAAD_HOME",
        ),
        ({"home": HomeFacts(path=HOME, state="file")}, "home", "is no folder", f"mv -n {HOME} "),
        (
            {"home": HomeFacts(path=HOME, state="barred", above="/")},
            "home",
            f"{HOME} is not there, and cannot be made in /.",
            "Set YAAD_HOME to a folder of your own",
        ),
        (
            {"home": HomeFacts(path=HOME, state="ok", is_open=True)},
            "home",
            f"Other users may look into {HOME}",
            f"chmod go-rwx {HOME}",
        ),
        (
            {"home": HomeFacts(path=HOME, state="ok", free_bytes=FREE_BYTES_MIN - 1)},
            "space",
            "199 MiB are free",
            "yaadwatch compact",
        ),
        (
            {"settings": SettingsFacts(path="c.toml", error="c.toml is not TOML", hint="Mend it")},
            "settings",
            "c.toml is not TOML Mend it",
            "vi} c.toml",
        ),
        (
            {"settings": SettingsFacts(path="c.toml", warnings=("recal.top_k is no setting",))},
            "settings",
            "recal.top_k",
            "vi} c.toml; yaadwatch stop",
        ),
        (
            {"settings": SettingsFacts(path="c.toml", warnings=("YAAD_A_B must be a number",))},
            "settings",
            "YAAD_A_B must be",
            "unset YAAD_A_B; yaadwatch stop",
        ),
        ({"daemon": DaemonFacts(state="absent")}, "daemon", "is not running", "yaadwatch start"),
        (
            {"daemon": DaemonFacts(state="absent", said="no space")},
            "daemon",
            "The last one said: no space",
            "yaadwatch start",
        ),
        ({"daemon": DaemonFacts(state="silent", pid=9)}, "daemon", "Process 9", "kill 9"),
        (
            {"daemon": DaemonFacts(state="silent", pid=9, is_suspended=True)},
            "daemon",
            "Process 9 is the daemon, and is suspended",
            "kill -CONT 9",
        ),
        (
            {"daemon": DaemonFacts(state="odd", said="It speaks protocol 7.")},
            "daemon",
            "protocol 7",
            "yaadwatch stop",
        ),
        (
            {"daemon": DaemonFacts(state="answers", version="0.9", ours="1.0")},
            "daemon",
            "version 0.9, and this program 1.0",
            "yaadwatch stop; yaadwatch start",
        ),
        (
            {"daemon": DaemonFacts(state="answers", problems=(("/x is polled", "sysctl"),))},
            "daemon",
            "/x is polled",
            "sysctl",
        ),
        (
            {"hooks": HookFacts(path="hook.log", failed=3, said="3 hooks sent nothing")},
            "hooks",
            "3 hooks sent nothing.",
            "tail hook.log",
        ),
        (
            {"odd_logs": (("log/daemon.log", "log/daemon.log.odd"),)},
            "logs",
            "log/daemon.log is no plain file",
            "mv -n log/daemon.log log/daemon.log.odd",
        ),
        (
            {"receipt": ("/h/receipt.json cannot be read (it is empty).", "mv a b")},
            "receipt",
            "in other programs' files is not known: /h/receipt.json cannot be read (it is empty).",
            "mv a b",
        ),
        (
            {"settings": SettingsFacts(path="/h/my c", error="No.", is_read=False, aside="/h/c 2")},
            "settings",
            "No.",
            "mv -n '/h/my c' '/h/c 2'",
        ),
        (
            {"home": HomeFacts(path="/h", state="file", aside="/h.away2")},
            "home",
            "is no folder",
            "mv -n /h /h.away2",
        ),
        (
            {"odd_logs": (("/l/d.log", "/l/d.log.odd2"),)},
            "logs",
            "is no plain file",
            "mv -n /l/d.log /l/d.log.odd2",
        ),
        (
            {"not_gathered": (("your agents", "the receipt makes no sense"),)},
            "doctor",
            "with your agents is not known: the receipt makes no sense",
            "yaadwatch doctor",
        ),
        (
            {
                "stores": (
                    replace(
                        USER,
                        state="damaged",
                        aside=f"{HOME}/damaged",
                        said="malformed",
                        backup="/b/1.db",
                    ),
                )
            },
            "stores",
            "is damaged: malformed",
            f"mkdir -p {HOME}/damaged && mv -n {HOME}/yaad.db* {HOME}/damaged/ && yaadwatch start",
        ),
        (
            {"stores": (replace(USER, state="absent", backup="/b/1.db"),)},
            "stores",
            "is gone",
            "takes the newest copy that is whole: /b/1.db",
        ),
        (
            {"stores": (replace(LOST, said="malformed"),)},
            "stores",
            "is damaged",
            "yaadwatch add --adopt.",
        ),
        (
            {"stores": (replace(PROJECT, state="damaged", said="malformed", backup="/b/1.db"),)},
            "stores",
            "is damaged",
            "yaadwatch add --restore '/src/my shop'",
        ),
        (
            {"stores": (replace(PROJECT, state="absent"),)},
            "stores",
            "The store of /src/my shop is not at",
            "yaadwatch add '/src/my shop'",
        ),
        (
            {"stores": (replace(PROJECT, state="absent", has_root=False),)},
            "stores",
            "/src/my shop is not there any more",
            "yaadwatch remove '/src/my shop'",
        ),
        (
            {"stores": (replace(PROJECT, state="newer", said="it has version 99"),)},
            "stores",
            "version 99",
            "uv tool upgrade yaadwatch",
        ),
        (
            {"stores": (replace(PROJECT, state="unusable", said="locked"),)},
            "stores",
            "cannot be used: locked",
            "ls -l ",
        ),
        (
            {"agents": (replace(WELL.agents[0], state="outdated", said="/h/.claude.json"),)},
            "agents",
            "not as `connect` writes it today: /h/.claude.json",
            "yaadwatch connect claude",
        ),
        (
            {"agents": (replace(WELL.agents[0], state="refused", said="no JSON", hint="Mend"),)},
            "agents",
            "Claude Code: no JSON",
            "Mend",
        ),
    ],
)
def test_a_problem_is_told_with_what_mends_it(changed, check, what, mend):
    ((where, level, told, remedy),) = found(**changed)

    assert (where, level) == (check, "problem")
    assert what in told
    assert mend in remedy


def test_a_block_below_a_restricting_heading_is_left_to_the_person():
    why = 'CLAUDE.md: its block is below "Never"'

    ((check, level, what, remedy),) = found(misplaced=(("/src/a", why),))

    assert (check, level, what) == ("files", "todo", f"/src/a: {why}.")
    assert remedy.startswith("yaadwatch files list /src/a")


def test_what_is_left_to_the_person_is_no_problem():
    codex = AgentFacts(agent="codex", title="Codex", state="connected", todo="type /hooks")
    gemini = AgentFacts(
        agent="gemini", title="Gemini CLI", state="unconnected", todo="In /x it is."
    )

    assert found(agents=(codex, gemini)) == [
        ("agents", "todo", "Codex needs you", "type /hooks"),
        (
            "agents",
            "todo",
            "Gemini CLI is not connected.",
            "yaadwatch connect gemini\nIn /x it is.",
        ),
    ]


def test_a_unit_that_no_receipt_knows_is_left_to_the_person():
    assert found(service=ServiceFacts(unlisted="/u/yaadwatch.service")) == [
        (
            "service",
            "todo",
            "/u/yaadwatch.service was written by `yaadwatch install`, and no receipt says so.",
            "yaadwatch install\nThen `yaadwatch uninstall` can take it away.",
        )
    ]


def test_a_service_that_cannot_start_is_told_before_the_daemon_that_does_not_run():
    told = found(daemon=DaemonFacts(state="absent"), service=ServiceFacts(program="/gone"))

    assert [check for check, *_ in told] == ["service", "daemon"]


def test_a_machine_on_which_nothing_was_ever_done_has_no_problem():
    facts = replace(
        WELL,
        home=HomeFacts(path=HOME, state="absent"),
        daemon=DaemonFacts(state="absent"),
        stores=(StoreFacts(path=f"{HOME}/yaad.db", state="absent"),),
        agents=(),
    )

    assert [(one.level, one.mend) for one in diagnose(facts)] == [("todo", "yaadwatch add .")]


def test_what_a_daemon_lacks_is_told_after_what_keeps_it_from_starting():
    told = found(
        daemon=DaemonFacts(state="absent"),
        stores=(replace(LOST, said="malformed"),),
        settings=SettingsFacts(path="c.toml", error="c.toml is not TOML"),
    )

    assert [check for check, *_ in told] == ["settings", "stores", "daemon"]


def test_a_setting_that_makes_no_sense_is_told_once_although_the_daemon_tells_it_too():
    told = found(
        settings=SettingsFacts(path="c.toml", warnings=("a.b is not a setting.",)),
        daemon=replace(
            WELL.daemon, problems=(("a.b is not a setting.", "c.toml"), ("a.c is none.", "c.toml"))
        ),
    )

    assert [(check, what) for check, _, what, *_ in told] == [
        ("settings", "a.b is not a setting."),
        ("daemon", "a.c is none."),
    ]


@pytest.mark.parametrize(
    "changed", [{"state": "damaged"}, {"state": "absent"}, {"has_root": False}], ids=str
)
def test_a_store_that_is_lost_is_told_once_although_the_daemon_tells_it_too(changed):
    problems = ((f"{PROJECT.root}: it is damaged.", "Move it"), ("/src/other: slow.", "Wait"))
    told = found(
        stores=(USER, replace(PROJECT, **changed)), daemon=replace(WELL.daemon, problems=problems)
    )

    assert [check for check, *_ in told] == ["stores", "daemon"]
    assert told[1][2] == "/src/other: slow."


ODD = "/src/it's (my) shop"
PARTS = {
    "home": [
        *(
            HomeFacts(path=ODD, state=state)
            for state in ("absent", "barred", "file", "foreign", "closed", "read-only")
        ),
        HomeFacts(path=ODD, state="ok", is_open=True, free_bytes=0),
    ],
    "settings": [
        SettingsFacts(path=f"{ODD}/c.toml", error="It's no TOML (line 1)", hint="Mend it;"),
        SettingsFacts(path=f"{ODD}/c.toml", warnings=("a.b is no setting", "YAAD_(B is none")),
    ],
    "daemon": [
        *(DaemonFacts(state=one, said="no (") for one in ("silent", "absent", "odd")),
        DaemonFacts(state="silent", pid=9),
        DaemonFacts(state="answers", version="0.9", problems=(("a", "raise it (as root)"),)),
    ],
    "git": [""],
    "hooks": [HookFacts(path=f"{ODD}/hook.log", failed=1, said="(")],
    "stores": [
        (StoreFacts(path=f"{ODD}/yaad.db", root=root, state=state, backup=copy, has_root=there),)
        for root in ("", ODD)
        for state in ("absent", "damaged", "older", "newer", "unusable")
        for copy in ("", f"{ODD}/1.db")
        for there in (True, not root)
    ],
    "agents": [
        (AgentFacts(agent="a", title="A", state=state, said="(", hint="Do (", todo="type (/x"),)
        for state in ("connected", "outdated", "unconnected", "refused")
    ],
    "service": [
        ServiceFacts(altered=(ODD,), program=ODD),
        ServiceFacts(runs=False),
        ServiceFacts(unlisted=ODD),
        ServiceFacts(masked=(f"{ODD}/yaadwatch.service",)),
    ],
    "odd_logs": [((f"{ODD}/daemon.log", f"{ODD}/daemon.log.odd"),)],
    "not_gathered": [(("a part", "it (is"),)],
}


@pytest.mark.parametrize("part", PARTS)
def test_a_shell_takes_every_command_as_it_is(part):
    for one in PARTS[part]:
        told = diagnose(replace(WELL, **{part: one}))
        for finding in told:
            assert finding.mend or finding.advice
            done = subprocess.run(
                ["bash", "-n"], input=finding.mend, capture_output=True, text=True, check=False
            )
            assert (done.returncode, done.stderr) == (0, ""), finding
            words = shlex.split(finding.mend, comments=True)
            first = words[0].rpartition("/")[2].partition("=")[0] if words else "ls"
            assert first in COMMANDS, finding


COMMANDS = (
    "yaadwatch",
    "systemctl",
    "unset",
    "ls",
    "mv",
    "chmod",
    "export",
    "fuser",
    "kill",
    "tail",
    "uv",
    "${EDITOR:-vi}",
)


def test_every_check_has_a_name_of_its_own():
    names = [name for name, _ in CHECKS]

    assert len(names) == len(set(names))


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40),
    st.sampled_from(["absent", "damaged"]),
)
def test_a_command_that_mends_names_the_folder_as_a_shell_takes_it(name, state):
    """Whatever a folder is called, the command is about it, and does nothing else."""
    store = StoreFacts(
        path=f"/src/{name}/.yaad/yaad.db", root=f"/src/{name}", state=state, backup="/b/1.db"
    )

    ((_, _, _, mend),) = found(stores=(store,))

    assert shlex.split(mend)[-3:] == ["add", "--restore", f"/src/{name}"]
