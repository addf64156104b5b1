"""The main job as a story: remember, change, be told, clear up; be killed, and be told again."""

import json
import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest
from machine import NET, alive, wait_until

from tests import answers

ROOT = Path(__file__).parents[2]
TEXT = "The retry limit lives in src/net.py, in fetch_with_retry"
SYMBOL = "fetch_with_retry"
EDITED = NET.replace("tries=3", "tries=5")


@pytest.fixture
def watched(machine, checkout):
    machine.ask("add", checkout.root)
    return checkout


@pytest.fixture
def memory(machine, watched):
    return machine.ask("remember", TEXT, "--symbol", SYMBOL, "--project", watched.root)["id"]


def flagged(machine, checkout, memory):
    """Return the flag about `memory` that the daemon has found by itself, or None."""
    found = machine.ask("stale", "--no-check", cwd=checkout.root)["stale"]
    return next((flag for flag in found if flag["id"] == memory), None)


def told(machine, checkout, memory, verdict, **wanted):
    """Wait until the daemon has come to `verdict` by itself; return the flag."""

    def met():
        flag = flagged(machine, checkout, memory)
        fits = flag is not None and flag["verdict"] == verdict
        return flag if fits and all(flag[key] == value for key, value in wanted.items()) else None

    return wait_until(met)


def cleared(machine, checkout, memory):
    wait_until(lambda: flagged(machine, checkout, memory) is None)


def store_of(machine, checkout):
    named = checkout.git("config", "--local", "yaad.project").strip()
    return Path(machine.env["YAAD_HOME"]) / "projects" / named / "yaad.db"


def test_adding_a_repository_starts_the_daemon_and_says_what_it_did(machine, checkout):
    assert machine.pid() is None

    said = machine.run("add", checkout.root)

    assert said.status == 0
    assert "CLAUDE.md" in said.out
    assert "yaadwatch remove" in said.out
    assert alive(machine.pid())
    assert not (checkout.root / ".yaad").exists()
    store = store_of(machine, checkout).parent
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in store.iterdir()} == {0o600}
    assert checkout.git("status", "--porcelain") == ""


def test_one_daemon_answers_every_command_that_changes_no_file(machine, watched):
    _statements_of_agent_files_are_the_baseline(machine, watched)
    memory = _remembering_answers_with_what_it_rests_on(machine, watched)
    _no_second_daemon_runs(machine, watched)
    _bad_input_gets_one_clear_message(machine, watched)
    _every_answer_is_json_that_a_program_can_read(machine, watched, memory)


def _statements_of_agent_files_are_the_baseline(machine, watched):
    found = machine.ask("recall", "how do I call the shop's API", cwd=watched.root)["results"]

    shown = machine.ask("show", found[0]["id"], cwd=watched.root)
    assert found[0]["text"] == "Use `fetch_with_retry` for every call to the shop's API."
    assert shown["origin"] == "file:CLAUDE.md"
    assert shown["tier"] == 2
    assert [(place["path"], place["line"]) for place in shown["provenance"]] == [("CLAUDE.md", 3)]
    assert [(a["path"], a["symbol"]) for a in shown["anchors"]] == [
        ("src/net.py", "fetch_with_retry")
    ]


def _remembering_answers_with_what_it_rests_on(machine, watched):
    answer = machine.ask("remember", TEXT, "--symbol", SYMBOL, "--project", watched.root)

    assert answer["decision"] == "new"
    assert answer["text"] == TEXT
    assert {(a["path"], a.get("symbol")) for a in answer["anchors"]} == {
        ("src/net.py", None),
        ("src/net.py", "fetch_with_retry"),
    }
    again = machine.ask("remember", TEXT, "--symbol", SYMBOL, "--project", watched.root)
    assert again["decision"] == "same"
    return answer["id"]


def test_a_definition_that_changes_is_told_and_what_is_undone_is_forgotten(
    machine, watched, memory
):
    watched.write("src/net.py", EDITED)
    flag = told(machine, watched, memory, "changed", uncommitted=True)
    assert flag["evidence"][-1]["commit"] is None

    watched.write("src/net.py", NET)
    cleared(machine, watched, memory)

    commit = watched.commit("five tries", {"src/net.py": EDITED})
    flag = told(machine, watched, memory, "changed", uncommitted=False)
    assert [(e["commit"]["id"], e["commit"]["subject"]) for e in flag["evidence"]] == [
        (commit, "five tries")
    ]

    watched.git("checkout", "-q", "HEAD~1")
    cleared(machine, watched, memory)
    watched.git("checkout", "-q", "main")
    told(machine, watched, memory, "changed", uncommitted=False)

    said = machine.ask("confirm", memory, cwd=watched.root)
    assert said["id"] == memory
    cleared(machine, watched, memory)


def test_a_file_that_moves_is_followed_and_one_that_goes_is_missed(machine, watched, memory):
    watched.git("mv", "src/net.py", "src/http.py")
    flag = told(machine, watched, memory, "moved", uncommitted=True)
    assert flag["suggestion"]["path"] == "src/http.py"

    commit = watched.commit("rename net")
    flag = told(machine, watched, memory, "moved", uncommitted=False)
    assert flag["suggestion"]["text"] == TEXT.replace("src/net.py", "src/http.py")
    assert flag["evidence"][-1]["commit"]["id"] == commit

    (watched.root / "src/http.py").unlink()
    told(machine, watched, memory, "gone", uncommitted=True)

    commit = watched.commit("drop http")
    flag = told(machine, watched, memory, "gone", uncommitted=False)
    assert flag["evidence"][-1]["commit"]["id"] == commit

    watched.git("revert", "--no-edit", "HEAD")
    told(machine, watched, memory, "moved", uncommitted=False)


def _no_second_daemon_runs(machine, watched):
    pid = machine.pid()

    second = machine.run("daemon")
    foreground = machine.run("up", watched.root)

    assert second.status == foreground.status == 4
    assert str(pid) in second.err
    assert str(pid) in foreground.err
    assert machine.pid() == pid


@pytest.mark.parametrize("other", ["deleted", "without git", "damaged store"])
def test_up_prints_each_flag_as_it_comes_and_goes_and_ends_on_ctrl_c(
    machine, checkout, tmp_path, other
):
    """Beside a project that cannot be asked."""
    folder = tmp_path / "other"
    subprocess.run(["git", "init", "-q", folder], check=True)
    store = Path(machine.ask("add", folder)["store"])
    machine.run("stop")
    if other == "deleted":
        shutil.rmtree(folder)
    elif other == "without git":
        shutil.rmtree(folder / ".git")
    else:
        store.write_text("damaged")
    process = machine.start("up", checkout.root)
    lines = []

    def read_until(words):
        while not lines or words not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], (lines, process.stderr.read())

    try:
        read_until("Watching. Ctrl-C ends it.")
        (checkout.root / "src/net.py").unlink()
        read_until("gone")
        assert "fetch_with_retry" in lines[-1]
        checkout.write("src/net.py", NET)
        read_until("no longer flagged")
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 0, (lines, out, err)
    assert "Traceback" not in err
    assert machine.pid() is None


def test_up_of_a_folder_that_cannot_be_watched_ends_and_says_why(machine, tmp_path):
    ran = machine.run("up", tmp_path / "nowhere")

    assert ran.status != 0
    assert "nowhere" in ran.err
    assert machine.pid() is None


def test_forgetting_pinning_listing_and_removing(machine, watched, memory):
    assert machine.ask("pin", memory[-8:], cwd=watched.root)["pinned"] is True
    assert machine.ask("forget", memory[-8:], cwd=watched.root)["archived"] is True
    found = machine.ask("recall", "retry limit", cwd=watched.root)["results"]
    assert memory not in {result["id"] for result in found}
    assert machine.ask("restore", memory[-8:], cwd=watched.root)["archived"] is False
    assert [p["path"] for p in machine.ask("list")["projects"]] == [str(watched.root)]
    removed = machine.ask("remove", watched.root)

    assert removed["memories"] == 3
    assert os.path.exists(removed["kept"])
    assert "yaad" not in (watched.root / ".git" / "config").read_text()
    assert machine.ask("list")["projects"] == []
    machine.ask("add", watched.root, "--adopt")
    assert machine.ask("show", memory, cwd=watched.root)["pinned"] is True


def test_upkeep_shows_what_would_go_and_changes_nothing(machine, watched, memory):
    before = machine.ask("show", memory, cwd=watched.root)

    answer = machine.ask("upkeep", "--dry-run")

    assert answer["dry_run"] is True
    assert answer["archived"] == []
    assert answer["checked"] == 3
    assert machine.ask("show", memory, cwd=watched.root) == before


def test_status_fits_on_one_screen_and_stop_stops(machine, watched, memory):
    watched.write("src/net.py", EDITED)
    told(machine, watched, memory, "changed")

    bare = machine.run()
    status = machine.ask("status")

    assert bare.status == 0
    assert len(bare.out.splitlines()) <= 24
    assert "~/code/shop" in bare.out
    assert status["daemon"]["running"] is True
    assert status["projects"][0]["watch"] == "full"
    assert status["projects"][0]["stale"] == 1
    assert {job["name"] for job in status["jobs"]} == {"upkeep", "sweep", "backup", "trim"}
    assert status["problems"] == []
    answers.check("status", status)
    answers.check("config", machine.ask("config", "list"))
    pid = status["daemon"]["pid"]
    assert machine.run("stop").status == 0
    wait_until(lambda: not alive(pid))
    assert machine.ask("status")["daemon"]["running"] is False
    assert machine.run("stop").status == 0


BAD_INPUT = [
    (["add", "/"], 1, "not_found"),
    (["add", "/nowhere"], 1, "not_found"),
    (["remember", "  "], 2, "bad_request"),
    (["remember", "x" * 100_000], 1, "too_large"),
    (["show", "ffffffff"], 1, "not_found"),
    (["forget", "zz"], 1, "not_found"),
    (["recall", "a question", "--project", "/"], 1, "not_found"),
]


def _bad_input_gets_one_clear_message(machine, watched):
    for arguments, status, code in BAD_INPUT:
        said = machine.run(*arguments, cwd=watched.root)
        as_json = machine.run(*arguments, "--json", cwd=watched.root)

        told = (said, as_json)
        assert said.status == as_json.status == status, told
        assert as_json.json["error"]["code"] == code
        assert said.out == ""
        assert said.err.startswith("yaadwatch: ")
        assert as_json.json["error"]["message"].split()[0] in said.err
        assert "Traceback" not in said.err


def _every_answer_is_json_that_a_program_can_read(machine, watched, memory):
    for arguments in (
        ["add", watched.root],
        ["list"],
        ["status"],
        ["stale"],
        ["stale", "--all"],
        ["recall", "retry"],
        ["show", memory],
        ["confirm", memory],
        ["pin", memory],
        ["unpin", memory],
        ["upkeep", "--dry-run"],
        ["upkeep"],
    ):
        ran = machine.run(*arguments, "--json", cwd=watched.root)
        assert ran.status == 0, (arguments, ran)
        assert isinstance(json.loads(ran.out), dict)
        assert ran.err == ""


def test_the_main_job_runs_on_this_checkout(machine):
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    clone = machine.home / "code" / "yaadwatch"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True, env=machine.env)
    added = machine.ask("add", clone)
    text = "Texts are compared in the form that normalise in yaadwatch/text/words.py gives"
    answer = machine.ask("remember", text, "--project", clone)
    assert added["again"] is False
    assert ("yaadwatch/text/words.py", None) in {
        (anchor["path"], anchor.get("symbol")) for anchor in answer["anchors"]
    }

    (clone / "yaadwatch" / "text" / "words.py").unlink()

    wait_until(
        lambda: (
            [
                flag["verdict"]
                for flag in machine.ask("stale", "--no-check", cwd=clone)["stale"]
                if flag["id"] == answer["id"]
            ]
            == ["gone"]
        )
    )
    subprocess.run(["git", "checkout", "-q", "."], cwd=clone, check=True, env=machine.env)
    wait_until(lambda: machine.ask("stale", "--no-check", cwd=clone)["stale"] == [])


def old_rule(checkout):
    """Let a rule become false before anybody watches."""
    checkout.write("CLAUDE.md", "# Conventions\n\n- Calls are made in `src/calls.py`.\n")
    checkout.write("src/calls.py", "def call():\n    return 1\n")
    checkout.commit("calls")
    (checkout.root / "src/calls.py").unlink()
    checkout.commit("no calls")


def gone(machine, checkout):
    found = machine.ask("stale", "--no-check", cwd=checkout.root)
    return [(one["verdict"], one["evidence"][0]["commit"]["subject"]) for one in found["stale"]]


def test_a_rule_that_was_false_before_we_came_is_told_by_and_by(machine, checkout):
    old_rule(checkout)

    assert "1 statement" in machine.run("add", checkout.root).out

    wait_until(lambda: gone(machine, checkout) == [("gone", "no calls")])
    wait_until(lambda: not machine.ask("stale", "--no-check", cwd=checkout.root)["looking"])
