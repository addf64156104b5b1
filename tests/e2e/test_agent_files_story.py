"""The story of agent files: what a person types in one reaches the graph and the others."""

import os
import random
import time

import pytest
from machine import Checkout, wait_until

CLAUDE = "# Rules\n\n- Use tabs in Go files\n"
AGENTS = "# For agents\n\n- Run `make test` first\n"
FILES = ("CLAUDE.md", "AGENTS.md", ".cursorrules")


@pytest.fixture
def checkout(machine):
    checkout = Checkout(machine.folder / "api", machine.env)
    checkout.write("CLAUDE.md", CLAUDE)
    checkout.write("AGENTS.md", AGENTS)
    checkout.write(".cursorrules", "- Be brief\n")
    checkout.commit("rules")
    return checkout


def text_of(checkout, name):
    return (checkout.root / name).read_text(encoding="utf-8")


def test_from_add_to_remove(machine, checkout):
    root = checkout.root
    before = {name: (root / name).read_bytes() for name in FILES}
    machine.ask("add", root, "--mode", "inline")
    assert {name: (root / name).read_bytes() for name in FILES} == before

    # A bullet typed outside reaches the siblings.
    typed = "- Never use print for logging"
    checkout.write("CLAUDE.md", CLAUDE + typed + "\n")
    wait_until(lambda: typed in text_of(checkout, "AGENTS.md"))
    wait_until(lambda: typed in text_of(checkout, ".cursorrules"))
    found = machine.ask("recall", "print for logging", cwd=root)["results"]
    assert found[0]["text"] == "Never use print for logging"
    assert found[0]["tier"] == 1

    # An edited line supersedes, a deleted one stays away.
    agents = text_of(checkout, "AGENTS.md").replace("print for logging", "print for any logging")
    checkout.write("AGENTS.md", agents)
    wait_until(lambda: "print for any logging" in text_of(checkout, ".cursorrules"))
    machine.ask("remember", "Always use httpx for calls", "--kind", "convention", cwd=root)
    wait_until(lambda: "httpx" in text_of(checkout, ".cursorrules"))
    wait_until(lambda: "httpx" in text_of(checkout, "AGENTS.md"))
    agents = text_of(checkout, "AGENTS.md").replace("- Always use httpx for calls\n", "")
    checkout.write("AGENTS.md", agents)
    wait_until(lambda: "httpx" not in text_of(checkout, ".cursorrules"))

    answer = machine.ask("files", "sync", root)
    assert answer["settled"]
    assert not answer["changed"]
    assert "httpx" not in text_of(checkout, "AGENTS.md")
    assert {row["state"] for row in answer["files"]} == {"synced"}

    # A damaged block is left alone and named.
    agents = text_of(checkout, "AGENTS.md")
    checkout.write("AGENTS.md", agents.replace("<!-- yaad:end -->\n", ""))
    wait_until(lambda: "no end marker" in str(machine.ask("files", cwd=root)["files"][1]["reason"]))
    checkout.write("AGENTS.md", agents)
    wait_until(lambda: machine.ask("files", cwd=root)["files"][1]["state"] == "synced")

    # Released and removed, every byte of ours is gone.
    machine.ask("files", "release", "AGENTS.md", cwd=root)
    assert (root / "AGENTS.md").read_bytes() == before["AGENTS.md"]
    machine.ask("remove", root)
    checkout.write("CLAUDE.md", text_of(checkout, "CLAUDE.md").replace(typed + "\n", ""))
    assert {name: (root / name).read_bytes() for name in FILES} == before
    assert checkout.git("status", "--porcelain") == ""


def test_files_of_other_agents_are_heard_of_when_they_come_up(machine, checkout):
    """Also in folders that were not there, and that nobody had watched."""
    root = checkout.root
    machine.ask("add", root, "--mode", "inline")

    checkout.write(".claude/rules/deep/style.md", "- Never use print for logging\n")
    wait_until(lambda: "print for logging" in text_of(checkout, "AGENTS.md"))
    checkout.write(".claude/rules/more.md", "- Always ask before a release\n")
    wait_until(lambda: "before a release" in text_of(checkout, "AGENTS.md"))
    checkout.write(".claude/rules/deep/style.md", "- Never use print for any logging\n")
    wait_until(lambda: "print for any logging" in text_of(checkout, "AGENTS.md"))
    checkout.write("GEMINI.md", "# Gemini\n")
    wait_until(lambda: "before a release" in text_of(checkout, "GEMINI.md"))
    (root / ".claude/rules/more.md").unlink()
    wait_until(lambda: "before a release" not in text_of(checkout, "GEMINI.md"))

    assert "before a release" not in text_of(checkout, "CLAUDE.md")
    history = machine.ask("files", "history", ".claude/rules/more.md", cwd=root)["entries"]
    assert {"learned", "read"} <= {entry["what"] for entry in history}

    # What a file said that is gone is hidden, and not deleted: it may come back with a branch.
    checkout.write(".claude/rules/more.md", "- Always ask before a release\n")
    wait_until(lambda: "before a release" in text_of(checkout, "GEMINI.md"))
    found = machine.ask("recall", "before a release", cwd=root)["results"]
    assert [row["text"] for row in found].count("Always ask before a release") == 1


KILLS = 100 if os.environ.get("YAAD_SOAK") else 10


def test_a_daemon_that_is_killed_while_a_person_types_loses_nothing(machine, checkout):
    """SIGKILL at random moments: every line typed is one memory, and stands in every file."""
    root = checkout.root
    chance = random.Random(7)
    machine.ask("add", root, "--mode", "inline")
    typed = []
    for number in range(KILLS):
        line = f"Never do thing number {number}"
        name = FILES[number % len(FILES)]
        if number % 3:  # else it is typed while nobody watches
            machine.ask("list")
        text = text_of(checkout, name)
        checkout.write(name, f"- {line}\n{text}" if number % 2 else f"{text}- {line}\n")
        typed.append(line)
        machine.ask("list")
        time.sleep(chance.uniform(0.0, 0.8))
        machine.kill()

    answer = machine.ask("files", "sync", root)
    assert answer["settled"]
    wait_until(lambda: not machine.ask("files", "sync", root)["changed"])

    budget = 25
    for name in FILES:
        text = text_of(checkout, name)
        said = [line for line in typed if f"- {line}\n" in text]
        assert len(said) >= min(len(typed), budget)
        assert all(text.count(f"- {line}\n") == 1 for line in said)
        assert text.count("yaad:begin") <= 1
    assert list(root.glob(".*.yaad")) == []
    assert machine.ask("status")["projects"][0]["memories"] == len(typed) + 3
