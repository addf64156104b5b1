"""Flag goes along links, and memories are made true again: the real command and daemon."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from machine import NET, wait_until

ROOT = Path(__file__).parents[2]
RETRY = "The retry limit lives in src/net.py, in fetch_with_retry"
ALARM = "The night alarm waits until all retries are over"
FIVE_TRIES = NET.replace("tries=3", "tries=5")


@pytest.fixture
def watched(machine, checkout):
    machine.ask("add", checkout.root)
    return checkout


def found(machine, checkout, memory):
    """Return the flag about a memory that the daemon knows of by itself, or None."""
    rows = machine.ask("stale", "--all", "--no-check", cwd=checkout.root)["stale"]
    return next((row for row in rows if row["id"] == memory), None)


def test_flag_goes_along_a_link_and_goes_again(machine, watched):
    named = ("--symbol", "fetch_with_retry")
    retry = machine.ask("remember", RETRY, *named, cwd=watched.root)["id"]
    alarm = machine.ask("remember", ALARM, cwd=watched.root)["id"]
    linked = machine.ask("link", alarm, "depends_on", retry, cwd=watched.root)
    assert (linked["made"], linked["weight"]) == (True, 1.0)

    refused = machine.run("link", retry, "depends_on", retry, cwd=watched.root)
    assert refused.status == 2

    watched.write("src/net.py", FIVE_TRIES)
    flag = wait_until(lambda: found(machine, watched, alarm))
    assert (flag["via"], flag["level"]) == ([retry], "suspect")

    resting = machine.ask("impact", "src/net.py", cwd=watched.root)["memories"]
    rows = {row["id"]: row for row in resting}
    assert rows[retry]["stale"]["verdict"] == "changed"
    assert (rows[alarm]["via"], rows[alarm]["weight"]) == ([retry], 0.8)
    shown = machine.run("impact", "net.py:fetch_with_retry", cwd=watched.root / "src")
    assert f"{retry[-8:]} <-depends_on- this" in shown.out

    machine.ask("confirm", retry, cwd=watched.root)
    wait_until(lambda: found(machine, watched, alarm) is None)
    assert machine.ask("unlink", alarm, "depends_on", retry, cwd=watched.root)["ended"]


def test_a_memory_follows_its_file_and_is_edited(machine, watched):
    memory = machine.ask("remember", RETRY, cwd=watched.root)["id"]
    watched.git("mv", "src/net.py", "src/http.py")
    flag = wait_until(lambda: found(machine, watched, memory))
    assert flag["verdict"] == "moved"
    told = machine.run("stale", cwd=watched.root)
    assert f"accept that: yaadwatch reanchor {memory[-8:]}" in told.out

    dry = machine.ask("reanchor", "--all", "--dry-run", cwd=watched.root)
    assert {row["id"]: row["text"] for row in dry["reanchored"]}[memory].endswith(
        "lives in src/http.py, in fetch_with_retry"
    )
    done = machine.ask("reanchor", memory, cwd=watched.root)["reanchored"][0]
    assert done["text"] == RETRY.replace("src/net.py", "src/http.py")
    wait_until(lambda: found(machine, watched, memory) is None)

    version = machine.ask("show", memory, cwd=watched.root)["version"]
    words = "Three tries, says fetch_with_retry in src/http.py"
    edited = machine.ask("edit", memory, words, "--version", version, cwd=watched.root)
    assert (edited["text"], edited["version"]) == (words, version + 1)
    late = machine.run("edit", memory, "too late", "--version", version, cwd=watched.root)
    assert late.status == 4
    assert words in " ".join(late.err.split())

    watched.write("src/http.py", FIVE_TRIES)
    wait_until(lambda: found(machine, watched, memory))


def test_check_fails_a_commit_that_makes_a_rule_false(machine, checkout):
    before = machine.run("check", cwd=checkout.root)
    assert (before.status, machine.pid()) == (0, None)
    hook = checkout.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m yaadwatch check --staged\n")
    hook.chmod(0o755)
    commit = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qam"]
    # The hook is run by git, with the environment that git gives it, wherever the package is.
    env = checkout.env | {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}

    checkout.write("src/net.py", NET.replace("fetch_with_retry", "fetch_again"))
    refused = subprocess.run(
        [*commit, "five"], cwd=checkout.root, env=env, capture_output=True, text=True
    )
    assert refused.returncode == 1
    assert "CLAUDE.md:3: gone" in refused.stdout + refused.stderr

    checkout.write("src/net.py", NET.replace("host.upper()", "host.lower()"))
    fine = subprocess.run(
        [*commit, "lower"], cwd=checkout.root, env=env, capture_output=True, text=True
    )
    assert fine.returncode == 0, fine
    assert machine.pid() is None
    assert not (checkout.root / ".yaad").exists()
