"""Names in git may be secrets: no answer, brief, page or file of ours has one, and no name that is
only told is stored.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from in_process import command
from verb_world import NET, every_byte_below

from yaadwatch import places
from yaadwatch.client import hook_agents
from yaadwatch.daemon.dispatch import Dispatcher
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo import layout
from yaadwatch.sessions import context
from yaadwatch.text import privacy
from yaadwatch.workspace.workspace import Call

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
RULE = "# Rules\n\n- Always use httpx in src/net.py\n"


def branch(repo):
    repo.git("checkout", "-qb", f"use/{TOKEN}/now")


def detached(repo):
    repo.git("branch", f"use-{TOKEN}")
    repo.git("checkout", "-q", "--detach")


def upstream(repo):
    bare = repo.world.folder / "bare.git"
    repo.git("init", "-q", "--bare", str(bare))
    repo.git("remote", "add", TOKEN, str(bare))
    repo.git("push", "-q", "-u", TOKEN, "main")


def tag(repo):
    repo.git("tag", "-a", "-m", TOKEN, TOKEN)


def stash(repo):
    repo.write("notes.md", "Others.\n")
    repo.git("stash", "push", "-qm", TOKEN)


def author(repo):
    repo.git("config", "user.name", f"Ann {TOKEN}")
    repo.git("config", "user.email", f"{TOKEN}@example.org")


def remote(repo):
    repo.git("remote", "add", "origin", f"https://ann:{TOKEN}@example.org/{TOKEN}/shop.git")


def subject(repo):
    repo.git("commit", "-q", "--allow-empty", "-m", f"Use {TOKEN}")


def targets(repo):
    repo.write("Makefile", f"{TOKEN}:\n\techo\n")
    repo.write("package.json", json.dumps({"name": TOKEN, "scripts": {TOKEN: "x"}}))


def agent_file(repo):
    repo.write(f".claude/rules/{TOKEN}.md", RULE)


def nested_file(repo):
    repo.write(f"pkg-{TOKEN}/CLAUDE.md", RULE)


def imported_file(repo):
    repo.write("CLAUDE.md", f"# Rules\n\n@docs/{TOKEN}.md\n- Be brief\n")
    repo.write(f"docs/{TOKEN}.md", RULE)


def file(repo):
    repo.move("src/net.py", f"src/{TOKEN}.py")


def folder(repo):
    repo.move("src/net.py", f"{TOKEN}/net.py")


def definition(repo):
    repo.write("src/net.py", NET.replace("fetch_with_retry", TOKEN))


TOLD = ((branch, upstream, tag, stash, author, remote, subject), (detached,))
"""What is only told: masked before it is stored."""
FOUND_AGAIN = ((targets, agent_file, imported_file), (nested_file,), (file,), (folder, definition))
"""What is found again by its name: stored, and masked wherever it is told."""

COMMANDS = (
    ("stale",),
    ("status",),
    ("files",),
    ("files", "--statements"),
    ("files", "diff"),
    ("recall", "httpx calls"),
    ("context",),
    ("handoff",),
    ("history",),
    ("sessions",),
    ("review",),
    ("impact", "src"),
    ("files", "adopt", "CLAUDE.md", "--mode", "inline"),
    ("files", "share", "CLAUDE.md"),
    ("add",),
)


def used(world, *kinds, name="repo"):
    """Return a repository that has the secret as a name, with a flagged memory and a session."""
    repo = world.repo(name)
    repo.write("CLAUDE.md", "# Rules\n\n- Use tabs\n")
    for kind in kinds:
        kind(repo)
    repo.commit("prepared")
    repo.add(mode="private")
    path = next(path for path in repo.git("ls-files").split() if path.endswith(".py"))
    symbol = TOKEN if definition in kinds else "fetch_with_retry"
    repo.remember("The limit is in one place", symbols=[symbol], files=[path])
    repo.remember(f"Always fetch with {path}", kind="convention")
    repo.write(path, repo.read(path).replace("tries=3", "tries=5"))
    repo.git("commit", "-qam", "five tries")
    (repo.path / "lib").mkdir()
    repo.git("mv", path, f"lib/{Path(path).name}")
    repo.write("loose.py", NET)
    repo.remember("The loose one is in loose.py", files=["loose.py"])
    repo.sync()
    repo.check_tree()
    return repo


def leaks(text):
    """Return what stands before each secret in a text."""
    return [text[max(0, at.start() - 80) : at.start()] for at in re.finditer(TOKEN, text)]


@pytest.mark.parametrize("kinds", [*TOLD, *FOUND_AGAIN], ids=lambda kinds: kinds[0].__name__)
def test_no_answer_brief_or_rules_file_has_a_name_that_is_a_secret(kinds, world):
    repo = used(world, *kinds)
    with repo.home.space(repo.call) as space:
        context.prepare(repo.home, space.project.id, space.worktree.id, force=True)

    told = {"rules file": leaks(repo.read(".claude/rules/yaad.md"))}
    for argv in COMMANDS:
        for form in ((), ("--json",)):
            ran = command(repo, *argv, *form)
            told[" ".join((*argv, *form))] = leaks(ran.out + ran.err)
    told["page"] = leaks(command(repo, "export", world.folder / "out", "--format", "markdown").err)
    told["pages"] = leaks(every_byte_below(world.folder / "out").decode())
    told["hook"] = leaks(hook_agents.prepared_brief(str(repo.path), "claude", is_short=False)[0])
    told["briefs"] = leaks(every_byte_below(Path(places.prepared_briefs())).decode())
    assert {way: found for way, found in told.items() if found} == {}


@pytest.mark.parametrize("kinds", TOLD, ids=lambda kinds: kinds[0].__name__)
def test_name_that_is_only_told_is_masked_before_it_is_stored(kinds, world):
    repo = used(world, *kinds)

    stored = every_byte_below(places.data_folder(), repo.store.parent)
    assert TOKEN.encode() not in stored


def test_prepared_brief_of_a_branch_with_the_name_of_a_secret_is_found(world):
    repo = used(world, branch)
    with repo.home.space(repo.call) as space:
        context.prepare(repo.home, space.project.id, space.worktree.id)

    assert "The limit" in hook_agents.prepared_brief(str(repo.path), "claude", is_short=False)[0]
    repo.git("checkout", "-qf", "main")
    assert hook_agents.prepared_brief(str(repo.path), "claude", is_short=False) == ("", "")


def test_project_is_found_by_its_masked_folder(world):
    repo = used(world, tag, name=f"shop-{TOKEN}")
    shown = command(repo, "status", "--json").json["projects"][0]["path"]

    answered = Dispatcher(repo.home, str)
    there = replace(repo.call, folder=Path(shown))

    assert shown.endswith("shop-[masked:github-token]")
    assert repo.home.unmasked(there) == repo.call
    assert repo.home.unmasked(Call(folder=Path("/[masked:x]"), origin="cli")).folder.name
    answered.close()


def test_masked_folder_of_two_projects_is_neither(world):
    first = used(world, tag, name=f"shop-{TOKEN}")
    world.repo(f"shop-{TOKEN[:-2]}zz").add()
    shown = command(first, "status", "--json").json["projects"][0]["path"]

    with pytest.raises(YaadError) as raised:
        first.home.unmasked(replace(first.call, folder=Path(shown)))

    assert raised.value.code is Code.CONFLICT


@pytest.mark.parametrize("url", ["https://example.org/{}/shop.git", "git@example.org:{}/shop.git"])
def test_remotes_that_differ_in_a_secret_are_different_projects(url, repo):
    other = TOKEN[:-1] + "Z"
    repo.git("remote", "add", "origin", url.format(TOKEN))
    first = layout.remote(repo.path / ".git")
    repo.git("remote", "set-url", "origin", url.format(other))
    second = layout.remote(repo.path / ".git")

    assert first.startswith("example.org/[masked:github-token]/shop#")
    assert first != second
    assert not privacy.mask(first).kinds
