"""Fault 14: repositories of every sort, a git that is missing, and one that hangs."""

import os
import shutil
import subprocess
import time
from functools import partial

import pytest
from living_daemon import Shop, carrying, source
from refusals import refusal
from waiting import PATIENCE_S, wait_until


def plain(shop, machine):
    """Nothing special, to see that the test can tell."""


def split_index(shop, machine):
    shop.git("update-index", "--split-index")


def untracked_cache_and_new_index(shop, machine):
    shop.git("update-index", "--index-version", "4", "--untracked-cache")


def sparse_index(shop, machine):
    shop.commit("other", {"other/a.py": "a = 1\n"})
    shop.git("sparse-checkout", "set", "--cone", "--sparse-index", "src")


def packed(shop, machine):
    shop.git("pack-refs", "--all")
    shop.git("gc", "-q")


def in_a_merge(shop, machine):
    for branch in ("one", "two"):
        shop.git("checkout", "-q", "-b", branch, "main")
        shop.commit(branch, {"notes.txt": f"{branch}\n"})
    assert shop.tries("merge", "one") != 0


def detached(shop, machine):
    shop.git("checkout", "-q", "--detach")


SHAPES = [
    *(plain, split_index, untracked_cache_and_new_index, sparse_index, packed),
    *(in_a_merge, detached),
]


def test_in_repositories_of_any_shape_and_format_every_verdict_is_right(machine):
    machine.live()
    shops = []
    for shape in SHAPES:
        shops.append(Shop.new(machine, shape.__name__, files=3))
        shape(shops[-1], machine)
    formats = filter(partial(made_by, machine), ("--object-format=sha256", "--ref-format=reftable"))
    shops += [Shop.new(machine, option, files=3) for option in formats]

    said_false(*shops)
    assert machine.logged("service.crashed") == 0


def said_false(*shops):
    for changes in ({0: 7}, {0: 0, 1: 7}):
        for shop in shops:
            for number, value in changes.items():
                shop.edit(number, value)
        for shop in shops:
            shop.settles()
    assert [shop.false for shop in shops] == [{1}] * len(shops)


def made_by(machine, option):
    """Make a repository by `git init` with `option`, and of its name; say whether git knows it."""
    root = machine.home / "code" / option
    root.mkdir(parents=True)
    made = subprocess.run(
        ["git", "init", "-q", "-b", "main", option], cwd=root, capture_output=True
    )
    return made.returncode == 0


@pytest.mark.parametrize("options", [["--depth=1"], ["--filter=blob:none"]], ids=str)
def test_in_a_clone_that_lacks_much_every_verdict_is_right_and_nothing_is_fetched(machine, options):
    machine.live()
    source_shop = Shop.new(machine, "source", files=3)
    source_shop.git("config", "uploadpack.allowFilter", "true")
    source_shop.edit(2, 7)
    source_shop.commit("a")
    source_shop.edit(2, 0)
    source_shop.commit("b")
    root = machine.home / "code" / "shop"
    subprocess.run(
        ["git", "clone", "-q", *options, f"file://{source_shop.root}", str(root)],
        check=True,
        env=machine.env,
        capture_output=True,
    )
    shutil.rmtree(source_shop.root / ".git")  # whoever fetched would fail

    said_false(Shop.new(machine, files=3))


def test_in_a_submodule_and_around_it_every_verdict_is_right(machine):
    machine.live()
    inner = Shop.new(machine, "inner", files=2)
    outer = Shop.new(machine, "outer", files=2)
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "dep")
    outer.commit("dep")
    within = Shop(outer.root / "dep", machine)
    machine.call("add", cwd=within.root)
    within.remember(0)
    within.edit(0, 7)
    outer.edit(1, 7)

    within.settles()
    outer.settles()
    inner.settles()
    assert (within.false, outer.false, inner.false) == ({0}, {1}, set())


def test_a_bare_repository_is_refused_until_it_has_a_work_tree(machine):
    machine.live()
    shop = Shop.new(machine, files=2)
    bare = machine.home / "bare.git"
    shop.git("clone", "-q", "--bare", str(shop.root), str(bare))
    assert "bare repository" in refusal(machine.call, "add", cwd=bare).message

    tree = machine.home / "tree"
    subprocess.run(["git", "worktree", "add", "-q", str(tree), "main"], cwd=bare, check=True)
    beside = Shop(tree, machine)
    machine.call("add", cwd=tree)
    beside.remember(0)
    said = beside.said
    beside.edit(0, 7)
    beside.settles()
    assert beside.false == set(said)


def test_a_repository_without_any_commit_is_watched(machine):
    machine.live()
    shop = Shop(machine.home / "code" / "unborn", machine)
    for number in range(2):
        shop.write(shop.path(number), source(number))
    machine.call("add", cwd=shop.root)
    for number in range(2):
        shop.remember(number)
    shop.edit(0, 7)
    shop.settles()
    shop.commit("first")
    shop.settles()
    assert shop.false == {0}


@pytest.fixture
def odd_git(machine):
    """A folder that is the daemon's PATH, with a git that does as the test wants."""
    folder = machine.folder / "bin"
    folder.mkdir()

    def become(script):
        program = folder / "git"
        program.unlink(missing_ok=True)
        if script:
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)

    become(f'exec {shutil.which("git")} "$@"')
    become.path = f"{folder}:/nowhere"
    return become


def test_without_git_it_goes_on_and_says_so_and_with_it_all_is_right_again(machine, odd_git):
    machine.live(PATH=odd_git.path, YAAD_WATCH_POLL_S="1")
    shop = Shop.new(machine, files=3)
    odd_git(None)
    shop.edit(0, 7)
    shop.commit("unseen")

    assert shop.ask("recall", query="which rate is applied")["results"]
    status = machine.call("status")
    assert status["daemon"]["running"]
    assert any("git is not installed" in problem["what"] for problem in status["problems"])
    assert "git is not installed" in refusal(Shop.new, machine, "other", files=1).message

    odd_git(f'exec {shutil.which("git")} "$@"')
    shop.edit(1, 7)
    shop.settles()
    assert shop.false == {0, 1}
    wait_until(lambda: machine.call("status")["problems"] == [], "no problem left")
    assert machine.logged("service.crashed") == 0


WORK_WITHOUT_GIT = (
    ["list"],
    ["status"],
    ["recall", "which rate is applied"],
    ["context"],
    ["stale", "--all"],
    ["files"],
    ["files", "sync"],
    ["tasks"],
    ["sessions"],
    ["claims"],
    ["contradictions"],
    ["gaps"],
    ["impact", "{path}"],
    ["graph", "stats"],
    ["export", "memories.jsonl"],
    ["verify"],
    ["backup"],
    ["compact"],
    ["upkeep"],
    ["show", "{id}"],
    ["history", "{id}"],
    ["pin", "{id}"],
    ["unpin", "{id}"],
    ["reanchor", "--all"],
    ["forget", "{id}"],
    ["restore", "{id}"],
    ["remove"],
)


REFUSED_WITHOUT_GIT = (
    (["remember", "The rate is set in {path}"], "nothing was stored"),
    (["remember", "We like tea"], "nothing was stored"),
    (["task", "add", "Look at {path}"], "nothing was stored"),
    (["confirm", "{id}"], "nothing was changed"),
    (["edit", "{id}", "The rate of all is in {path}"], "nothing was changed"),
)


def test_daemon_without_git_refuses_only_what_git_has_to_tell(machine):
    machine.live()
    shop = Shop.new(machine, files=2)
    machine.stop()
    machine.env["PATH"] = "/nowhere"
    given = {"path": shop.path(0), "id": shop.said[0]}

    diff = machine.run("files", "diff", cwd=shop.root)
    assert (diff.status, "git is not installed" in diff.err) == (3, True)
    for command, outcome in REFUSED_WITHOUT_GIT:
        ran = machine.run(*(word.format(**given) for word in command), cwd=shop.root)
        assert (ran.status, "git is not installed" in ran.err) == (3, True), (command, ran)
        assert outcome in ran.err
    for command in WORK_WITHOUT_GIT:
        ran = machine.run(*(word.format(**given) for word in command), cwd=shop.root)
        assert ran.status == 0, (command, ran)
        if command == ["status"]:
            assert "git is not installed" in ran.out
    for command, status in (("add", 3), ("check", 5)):
        ran = machine.run(command, cwd=shop.root)
        assert (ran.status, command) == (status, command), ran
        assert "git is not installed" in ran.err
        assert f"nothing was {command}ed" in ran.err
    assert machine.log().count('"level": "error"') == 0, machine.log()


def test_a_git_that_hangs_is_ended_the_daemon_answers_meanwhile_and_all_is_right_later(
    machine, odd_git
):
    mark = f"mark-{os.getpid()}-{machine.folder.name}"
    machine.live(PATH=odd_git.path, YAAD_GIT_TIMEOUT_MS="1000", YAAD_WATCH_POLL_S="1")
    shop = Shop.new(machine, files=3)
    odd_git(f"MARK={mark} exec {shutil.which('sleep')} 1000")
    shop.edit(0, 7)
    shop.commit("unseen")
    wait_until(lambda: carrying("MARK", mark), "a git that hangs")

    assert shop.ask("recall", query="which rate is applied")["results"]
    wait_until(lambda: machine.call("status")["projects"][0]["git_silent_since"], "a silent git")
    said = machine.run("status").out
    assert "git does not answer since " in said
    assert ", watched" not in said

    odd_git(f'exec {shutil.which("git")} "$@"')
    wait_until(lambda: not carrying("MARK", mark), "the end of each git that hangs")
    shop.edit(1, 7)
    shop.settles()
    assert shop.false == {0, 1}
    assert machine.call("status")["projects"][0]["git_silent_since"] is None
    assert machine.logged("service.crashed") == 0


def test_doctor_waits_four_seconds_for_a_project_whose_git_hangs_and_says_so(machine, odd_git):
    machine.live(PATH=odd_git.path, YAAD_GIT_TIMEOUT_MS="60000")
    shop = Shop.new(machine, files=1)
    odd_git(f"exec {shutil.which('sleep')} 1000")
    shop.write("more.py", "")
    shop.git("add", "more.py")  # what git said of the index before does not count any more
    began = time.monotonic()

    ran = machine.run("doctor", env={"PATH": odd_git.path})

    assert time.monotonic() - began < PATIENCE_S  # git --version and the project take 9 s of it
    assert f"with the agent files of {shop.root} is not known" in " ".join(ran.out.split())
    assert "did not answer within 4 s" in " ".join(ran.out.split())
