"""The story of agent files: what a person types in one reaches the graph and the others."""

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
    since = time.monotonic()
    wait_until(lambda: typed in text_of(checkout, "AGENTS.md"))
    wait_until(lambda: typed in text_of(checkout, ".cursorrules"))
    print(f"edit to sibling: {time.monotonic() - since:.2f} s")
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


def test_the_private_carrier_is_invisible_to_git(machine, checkout):
    root = checkout.root
    answer = machine.ask("add", root)
    assert {row["mode"] for row in answer["files"]} == {"private"}

    machine.ask("remember", "Always use httpx for calls", "--kind", "convention", cwd=root)
    carrier = root / ".claude/rules/yaad.md"
    wait_until(lambda: carrier.exists() and "httpx" in carrier.read_text())

    assert checkout.git("status", "--porcelain") == ""
    machine.ask("remove", root)
    assert not (root / ".claude").exists()


def test_a_branch_switch_is_not_an_edit(machine, checkout):
    root = checkout.root
    machine.ask("add", root, "--mode", "inline")
    checkout.git("checkout", "-q", "-b", "less")
    checkout.write("CLAUDE.md", "# Rules\n")
    checkout.commit("less")
    checkout.git("checkout", "-q", "main")
    machine.ask("files", "sync", root)
    for branch in ("less", "main") * 5:
        checkout.git("checkout", "-q", branch)
        machine.ask("files", "sync", root)

    found = machine.ask("recall", "tabs in Go files", cwd=root)["results"]
    assert [row["text"] for row in found].count("Use tabs in Go files") == 1
    assert machine.ask("status")["projects"][0]["memories"] == 3
