"""A repository from somewhere else: nothing that it names is run, nothing that it links is read.

Each program that git could be made to run leaves a trace file. Every public method of `Repository`
is called on each repository, and the traces are counted.
"""

import inspect
import os
import shutil
import subprocess
import threading
from datetime import timedelta

import pytest
from repositories import GIT_ENVIRONMENT, Repo

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo import branches
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.command import Git, GitRunner
from yaadwatch.repo.repository import Repository, blob_id

TEXT = "".join(f"line {number}\n" for number in range(30))


class Trap:
    """A program that leaves a trace; `line` is a command line that runs it."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.program = folder / "program"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> {folder}/trace\ncat\n')
        self.program.chmod(0o755)
        self.line = str(self.program)

    def traces(self):
        trace = self.folder / "trace"
        return trace.read_text().splitlines() if trace.exists() else []


@pytest.fixture
def trap(tmp_path):
    return Trap(tmp_path / "trap")


@pytest.fixture(scope="module")
def first_victim(tmp_path_factory):
    """A repository with a history in which each question has something to look at."""
    repo = Repo.new(tmp_path_factory.mktemp("first") / "repo")
    repo.git("config", "user.email", GIT_ENVIRONMENT["GIT_AUTHOR_EMAIL"])
    repo.write("src/b.py", TEXT.upper())
    repo.write("c.dat", b"\0\1\2")
    repo.first = repo.add("a.py", TEXT)
    repo.move("a.py", "moved.py")
    repo.last = repo.commit()
    repo.write("new.py", TEXT)
    return repo


@pytest.fixture
def victim(first_victim, tmp_path, environment):
    """A copy of it, whose files are as young as those that git has just made."""
    repo = Repo(tmp_path / "work" / "repo")
    shutil.copytree(first_victim.path, repo.path, copy_function=shutil.copy)
    repo.first, repo.last = first_victim.first, first_victim.last
    return repo


QUIET = frozenset(("reads_here", "remember", "remembered", "searched", "root_commit"))
"""Calls that return nothing where a repository is refused."""


def ask_everything(repo, runner):
    """Call every public method; return what came back, or the error, by name."""
    layout = repo_layout.find(repo.path)
    if layout is None:
        return {"find": None}
    repo_layout.worktrees(layout)
    repo_layout.at_work(layout)
    repo_layout.cut_at(layout)
    opened = Repository(layout, runner)
    first, last = repo.first, repo.last
    blob = blob_id(TEXT.encode())
    calls = {
        "head": opened.head,
        "verify": opened.verify,
        "require_ours": opened.require_ours,
        "blob_at": lambda: opened.blob_at(last, "moved.py"),
        "has_commit": lambda: opened.has_commit(first),
        "read_blob": lambda: opened.read_blob(blob),
        "commit": lambda: opened.commit(last),
        "tracked": opened.tracked,
        "untracked": opened.untracked,
        "left_out": opened.left_out,
        "paths_at": lambda: opened.paths_at(last),
        "commit_named": lambda: opened.commit_named("HEAD"),
        "merge_base": lambda: opened.merge_base(first, last),
        "snapshot": opened.snapshot,
        "is_tracked": lambda: opened.is_tracked("moved.py"),
        "staged_blob": lambda: opened.staged_blob("moved.py"),
        "conversions": lambda: opened.conversions("moved.py"),
        "is_left_out": lambda: opened.is_left_out("moved.py"),
        "unmerged": lambda: branches.unmerged(Git(layout, runner)),
        "is_own_work": lambda: opened.is_own_work(first, last),
        "staged_renames": opened.staged_renames,
        "departures": lambda: opened.departures(first, last),
        "departure": lambda: opened.departure("a.py", first, last),
        "departures_in": lambda: opened.departures_in("src", first, last),
        "departures_like": lambda: opened.departures_like("*.py", first, last),
        "touched": lambda: opened.touched(first, last),
        "file_changes": lambda: opened.file_changes(first, last),
        "differing": lambda: opened.differing(first, last),
        "differing_little": lambda: opened.differing_little(first, last, 9),
        "has_folder": lambda: opened.has_folder(last, "src"),
        "is_submodule": lambda: opened.is_submodule(last, "src"),
        "remember": lambda: opened.remember({}, at=last),
        "remembered": lambda: opened.remembered([], at=last),
        "searched": lambda: opened.searched(["nowhere, and by nobody"]),
        "texts_only": lambda: opened.texts_only({"line": ["a.py"]}, at=last),
        "wrote": lambda: opened.wrote(last, "moved.py"),
        "has_blob": lambda: opened.has_blob(blob),
        "changes": lambda: opened.changes(["moved.py"], first, last),
        "files_with": lambda: opened.files_with(["line"], at=last),
        "files_with, untracked": lambda: opened.files_with(["line"], untracked=True),
        "commits_of": lambda: opened.commits_of("moved.py", last),
        "others": lambda: opened.others(["moved.py", "built.py"], ignored=True),
        "is_ignored": lambda: opened.is_ignored("built.py"),
        "is_as_indexed": lambda: opened.is_as_indexed("moved.py", blob),
        "is_sparse": lambda: opened.is_sparse("moved.py"),
        "logged": lambda: opened.logged("main"),
        "are_in_order": lambda: opened.are_in_order(first, last),
        "log_size": opened.log_size,
        "lineage": lambda: opened.lineage(last, ["a.py"], limit=9, days=9),
        "root_commit": opened.root_commit,
        "names_like": lambda: opened.names_like("moved"),
        "checked_out": lambda: opened.checked_out(0, 8),
        "commits_changing": lambda: opened.commits_changing("moved.py", first, last, 8),
        "stashes": opened.stashes,
        "tips_above": lambda: opened.tips_above(first),
        "stray": lambda: opened.stray([first, last]),
        "made": lambda: opened.made(last, "--max-count=1"),
        "link_at": lambda: opened.link_at(last, "moved.py"),
        "reads_here": lambda: opened.reads_here(last),
        "tracked_where": lambda: opened.tracked_where(lambda path: path.endswith(".py")),
        "is_replaced_by": lambda: opened.is_replaced_by(first, last),
    }
    public = {name for name, _ in inspect.getmembers(Repository, inspect.isfunction)}
    assert {name for name in public if not name.startswith("_")} <= set(calls)
    answers = {}
    for name, call in calls.items():
        try:
            answers[name] = call()
        except YaadError as error:
            answers[name] = error
    return answers


def answers_like_the_honest_one(answers, repo):
    assert answers["head"].commit == repo.last
    assert answers["blob_at"] == blob_id(TEXT.encode())
    assert answers["read_blob"] == TEXT.encode()
    assert answers["commit"].subject == "change"
    assert answers["tracked"] == [*repo.also_tracked, "c.dat", "moved.py", "src/b.py"]
    assert answers["untracked"] == ["new.py"]
    assert answers["is_tracked"]
    assert answers["staged_blob"] == blob_id(TEXT.encode())
    assert answers["is_left_out"] is False
    assert answers["unmerged"] == frozenset()
    assert answers["is_own_work"]
    assert [(one.old, one.new) for one in answers["file_changes"]] == [("a.py", "moved.py")]
    assert [row.to for row in answers["departures"]] == ["moved.py"]
    assert answers["departure"].to == "moved.py"
    assert answers["changes"] == [repo.last]
    assert answers["files_with"] == {"line": ["moved.py"]}
    assert answers["files_with, untracked"] == {"line": ["moved.py", "new.py"]}
    return True


Repo.also_tracked = []

SETTINGS = {
    "fsmonitor": ["core.fsmonitor={run}"],
    "fsmonitor, version 2": ["core.fsmonitor={run}", "core.fsmonitorHookVersion=2"],
    "hooks": ["core.hooksPath={folder}"],
    "pager": ["core.pager={run}", "pager.grep={run}", "pager.diff={run}", "pager.ls-files={run}"],
    "external diff": ["diff.external={run}"],
    "diff driver": ["diff.x.command={run}", "diff.x.textconv={run}", "diff.x.cachetextconv=true"],
    "filter": ["filter.x.clean={run}", "filter.x.smudge={run}", "filter.x.required=true"],
    "filter process": ["filter.x.process={run}", "filter.x.required=true"],
    "merge driver": ["merge.x.driver={run}"],
    "signatures": ["gpg.program={run}", "log.showSignature=true", "gpg.ssh.program={run}"],
    "aliases": [f"alias.{name}=!{{run}}" for name in ("ls-files", "grep", "rev-list", "diff")],
    "passwords": ["core.askPass={run}", "credential.helper=!{run}"],
    "editors": ["core.editor={run}", "sequence.editor={run}"],
    "transport": ["core.sshCommand={run}", "core.gitProxy={run}"],
    "alternate refs": ["core.alternateRefsCommand={run}"],
    "trailers": ["trailer.x.command={run}", "trailer.x.key=X", "format.pretty=%(trailers)"],
    "maintenance": ["gc.auto=1", "gc.autoDetach=false", "maintenance.auto=true"],
    "untracked cache": ["core.untrackedCache=true", "core.splitIndex=true"],
    "attributes": ["core.attributesFile={folder}/attributes", "diff.x.textconv={run}"],
    "text": ["grep.lineNumber=true", "color.ui=always", "core.quotePath=true", "diff.renames=no"],
}


def test_the_trap_works(victim, trap):
    victim.git("config", "core.fsmonitor", trap.line)

    victim.git("status")

    assert trap.traces() != []


@pytest.mark.parametrize("kind", SETTINGS)
def test_no_program_that_the_configuration_names_is_run(victim, trap, runner, kind):
    (trap.folder / "attributes").write_text("* diff=x filter=x merge=x\n")
    for hook in ("post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        (trap.folder / hook).symlink_to(trap.program)
        (victim.path / ".git/hooks").mkdir(exist_ok=True)
        (victim.path / ".git/hooks" / hook).symlink_to(trap.program)
    for setting in SETTINGS[kind]:
        key, _, value = setting.partition("=")
        victim.git("config", "--add", key, value.format(run=trap.line, folder=trap.folder))
    (victim.path / ".git/info").mkdir(exist_ok=True)
    (victim.path / ".git/info/attributes").write_text("* diff=x filter=x merge=x\n")
    os.utime(victim.path / "moved.py")  # git must look at the file to know that it is the same

    answers = ask_everything(victim, runner)

    assert trap.traces() == []
    assert answers_like_the_honest_one(answers, victim)


def test_no_program_is_run_for_attributes_that_are_committed(victim, trap, runner):
    victim.write(".gitattributes", "* diff=x filter=x text eol=crlf\n")
    victim.git("add", ".gitattributes")
    victim.also_tracked = [".gitattributes"]
    for setting in (*SETTINGS["diff driver"], *SETTINGS["filter"]):
        key, _, value = setting.partition("=")
        victim.git("config", key, value.format(run=trap.line))
    os.utime(victim.path / "moved.py")

    answers = ask_everything(victim, runner)

    assert trap.traces() == []
    assert answers_like_the_honest_one(answers, victim)


@pytest.mark.parametrize("where", ["include", "includeIf", "worktree"])
def test_no_program_that_an_included_configuration_names_is_run(victim, trap, runner, where):
    more = trap.folder / "more"
    more.write_text(f"[core]\n\tfsmonitor = {trap.line}\n[diff]\n\texternal = {trap.line}\n")
    if where == "include":
        victim.git("config", "include.path", str(more))
    elif where == "includeIf":
        victim.git("config", f"includeIf.gitdir:{victim.path}/.path", str(more))
    else:
        victim.git("config", "extensions.worktreeConfig", "true")
        (victim.path / ".git/config.worktree").write_text(more.read_text())

    answers = ask_everything(victim, runner)

    assert trap.traces() == []
    assert answers_like_the_honest_one(answers, victim)


@pytest.mark.parametrize(
    "remote",
    [
        {"url": "ext::{run} %S"},
        {"url": "{path}/../other", "uploadpack": "{run}"},
        {"url": "ssh://nobody@localhost/x"},
        {"url": "trap::x", "vcs": "trap"},
        {"url": "https://localhost:1/x"},
    ],
)
@pytest.mark.parametrize("kind", ["promisor", "partial"])
def test_nothing_is_fetched_for_a_partial_clone(victim, trap, runner, monkeypatch, remote, kind):
    """Blobs are missing, and the remote that promised them is a program."""
    helper = trap.folder / "git-remote-trap"
    helper.symlink_to(trap.program)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{trap.folder}")
    for setting in SETTINGS["transport"]:
        key, _, value = setting.partition("=")
        victim.git("config", key, value.format(run=trap.line))
    for name, value in remote.items():
        victim.git("config", f"remote.origin.{name}", value.format(run=trap.line, path=victim.path))
    victim.git("config", "core.repositoryFormatVersion", "1")
    if kind == "promisor":
        victim.git("config", "remote.origin.promisor", "true")
    victim.git("config", "extensions.partialClone", "origin")
    victim.git("config", "protocol.allow", "always")
    blob = victim.git("rev-parse", f"{victim.last}:moved.py")
    (victim.path / ".git/objects" / blob[:2] / blob[2:]).unlink()

    answers = ask_everything(victim, runner)

    assert trap.traces() == []
    assert answers["head"].commit == victim.last
    assert answers["blob_at"] == blob
    assert answers["read_blob"] is None
    assert isinstance(answers["files_with"], YaadError)
    assert answers["files_with"].code is Code.UNAVAILABLE


def test_a_partial_clone_that_only_git_can_read_fetches_nothing_either(victim, trap, runner):
    victim.git("config", "remote.origin.url", f"ext::{trap.line} %S")
    victim.git("config", "remote.origin.promisor", "true")
    victim.git("config", "core.repositoryFormatVersion", "1")
    victim.git("config", "extensions.partialClone", "origin")
    victim.git("config", "protocol.ext.allow", "always")
    (victim.path / ".git/objects/info/alternates").write_text(f"{trap.folder}\n")
    blob = victim.git("rev-parse", f"{victim.last}:moved.py")
    (victim.path / ".git/objects" / blob[:2] / blob[2:]).unlink()

    ask_everything(victim, runner)

    assert trap.traces() == []


def test_submodules_are_not_entered(victim, trap, runner):
    inner = Repo.new(victim.path / "vendor")
    inner.add("a.py", TEXT)
    victim.git("-c", "advice.addEmbeddedRepo=false", "add", "vendor")
    victim.git("config", "submodule.recurse", "true")
    victim.git("config", "submodule.vendor.update", f"!{trap.line}")
    victim.git("config", "diff.submodule", "log")
    inner.git("config", "core.fsmonitor", trap.line)
    inner.write("a.py", "changed\n")

    answers = ask_everything(victim, runner)

    assert trap.traces() == []
    assert "vendor/a.py" not in answers["files_with, untracked"]["line"]


def test_a_repository_that_is_committed_into_another_is_a_repository_of_its_own(victim, runner):
    """A folder that looks bare inside a clone brings its own configuration."""
    bare = Repo.new(victim.path / "docs" / "evil", "--bare")
    (bare.path / "inside").mkdir()

    found = repo_layout.find(bare.path / "inside")

    assert found is not None
    assert found.root is None
    assert found.common_dir == bare.path


@pytest.mark.parametrize("key", ["core.worktree", "core.bare"])
def test_the_configuration_cannot_move_the_work_tree(victim, runner, tmp_path, key):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret.txt").write_text("line\n")
    value = "false" if key == "core.bare" else str(tmp_path / "private")
    victim.git("config", key, value, check=False)
    if key == "core.worktree":
        victim.git("config", "core.bare", "false")

    answers = ask_everything(victim, runner)

    assert answers_like_the_honest_one(answers, victim)


def test_a_bare_repository_cannot_claim_a_work_tree(new_repo, runner, tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret.txt").write_text("line\n")
    bare = new_repo("bare.git", "--bare")
    bare.first = bare.last = "1" * 40
    with (bare.path / "config").open("a") as config:
        config.write(f"[core]\n\tbare = false\n\tworktree = {tmp_path / 'private'}\n")

    answers = ask_everything(bare, runner)

    assert answers["files_with, untracked"] == {"line": []}
    assert answers["tracked"] == answers["untracked"] == []


def test_variables_of_the_environment_have_no_effect(victim, trap, runner, monkeypatch, tmp_path):
    other = Repo.new(tmp_path / "other")
    other.add("secret.py", TEXT)
    for name, value in {
        "GIT_DIR": f"{other.path}/.git",
        "GIT_WORK_TREE": str(other.path),
        "GIT_COMMON_DIR": f"{other.path}/.git",
        "GIT_INDEX_FILE": f"{other.path}/.git/index",
        "GIT_OBJECT_DIRECTORY": f"{other.path}/.git/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{other.path}/.git/objects",
        "GIT_NAMESPACE": "other",
        "GIT_CEILING_DIRECTORIES": "/",
        "GIT_EXTERNAL_DIFF": trap.line,
        "GIT_PAGER": trap.line,
        "PAGER": trap.line,
        "GIT_EDITOR": trap.line,
        "GIT_ASKPASS": trap.line,
        "GIT_SSH_COMMAND": trap.line,
        "GIT_PROXY_COMMAND": trap.line,
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": trap.line,
        "GIT_CONFIG_KEY_1": "diff.external",
        "GIT_CONFIG_VALUE_1": trap.line,
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={trap.line}'",
        "GIT_CONFIG_GLOBAL": f"{trap.folder}/more",
        "GIT_CONFIG_SYSTEM": f"{trap.folder}/more",
        "GIT_EXEC_PATH": str(trap.folder),
        "GIT_TEMPLATE_DIR": str(trap.folder),
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_ICASE_PATHSPECS": "1",
        "GIT_DIFF_OPTS": "-u9",
        "GIT_TRACE": f"{trap.folder}/trace",
        "GIT_TRACE2_EVENT": f"{trap.folder}/trace",
        "GIT_REPLACE_REF_BASE": "refs/heads",
        "GIT_GRAFT_FILE": f"{trap.folder}/grafts",
        "GIT_SHALLOW_FILE": f"{trap.folder}/shallow",
        "GIT_DEFAULT_HASH": "sha256",
    }.items():
        monkeypatch.setenv(name, value)
    (trap.folder / "more").write_text(f"[core]\n\tfsmonitor = {trap.line}\n")
    (trap.folder / "grafts").write_text(f"{victim.last}\n")

    answers = ask_everything(victim, runner)

    assert trap.traces() == []
    assert answers_like_the_honest_one(answers, victim)


def test_grafts_of_the_repository_do_not_rewrite_its_history(victim, runner):
    (victim.path / ".git/info").mkdir(exist_ok=True)
    (victim.path / ".git/info/grafts").write_text(f"{victim.last}\n")

    assert answers_like_the_honest_one(ask_everything(victim, runner), victim)


# Pieces of .git that are links, pipes or huge


def in_time(call, seconds=60):
    """Return what `call` returns; fail when it holds us, as a pipe could hold us for ever."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert answers, f"still held after {seconds} s"
    return answers[0]


PIECES = [
    *("HEAD", "config", "config.worktree", "index", "packed-refs", "refs/heads/main", "commondir"),
    *("shallow", "info/exclude", "info/attributes", "info/grafts", "objects/info/alternates"),
    *("objects/info/commit-graph", "objects/pack/pack-x.idx", "objects/pack/multi-pack-index"),
    *("logs/HEAD", "worktrees/x/gitdir", "gitdir", "reftable", "modules"),
]


@pytest.mark.covering
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("as_what", ["pipe", "link to a pipe", "device", "folder", "huge"])
def test_no_odd_piece_of_a_repository_holds_us(victim, piece, as_what, tmp_path):
    """Python would hang in open(), libgit2 with the whole process; git is ended at its limit."""
    place = victim.path / ".git" / piece
    if place.is_dir():
        place.rename(tmp_path / "aside")
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(tmp_path / "pipe")
    if as_what == "pipe":
        os.mkfifo(place)
    elif as_what == "folder":
        place.mkdir()
    elif as_what == "huge":
        with place.open("wb") as stream:
            stream.truncate(1024**4)
    else:
        place.symlink_to(tmp_path / "pipe" if as_what == "link to a pipe" else "/dev/zero")
    runner = GitRunner(timedelta(milliseconds=100))

    answers = in_time(lambda: ask_everything(victim, runner))

    for answer in answers.values():
        if isinstance(answer, YaadError):
            known = (Code.TIMEOUT, Code.UNAVAILABLE, Code.TOO_LARGE, Code.REFUSED)
            assert answer.code in known
            assert answer.message


@pytest.mark.parametrize("as_what", ["pipe", "link to a pipe"])
def test_no_odd_pack_that_comes_while_we_look_holds_us(victim, as_what, tmp_path):
    """Whoever asks libgit2 for what is not there has it open all packs that are new."""
    opened = victim.open(GitRunner(timedelta(milliseconds=100)))
    assert opened.has_commit(victim.last)
    place = victim.path / ".git/objects/pack/pack-x.idx"
    os.mkfifo(tmp_path / "pipe")
    if as_what == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(tmp_path / "pipe")

    def refused():
        with pytest.raises(YaadError) as error:
            opened.has_commit("1" * 40)
        return error.value

    error = in_time(refused)
    assert error.code is Code.UNAVAILABLE
    assert "no plain file" in error.message


@pytest.mark.parametrize("of_what", ["commit", "tree", "blob"])
@pytest.mark.parametrize("as_what", ["pipe", "link to a pipe", "link", "device", "folder", "huge"])
def test_no_odd_object_holds_us_or_leads_out(victim, of_what, as_what, tmp_path):
    odd = {
        "commit": victim.last,
        "tree": victim.git("rev-parse", "HEAD^{tree}"),
        "blob": victim.git("rev-parse", "HEAD:moved.py"),
    }[of_what]
    place = victim.path / ".git/objects" / odd[:2] / odd[2:]
    os.mkfifo(tmp_path / "pipe")
    outside = tmp_path / "outside"
    outside.write_bytes(place.read_bytes())
    place.unlink()
    if as_what == "pipe":
        os.mkfifo(place)
    elif as_what == "folder":
        place.mkdir()
    elif as_what == "huge":
        with place.open("wb") as stream:
            stream.truncate(1024**4)
    else:
        links = {"link to a pipe": tmp_path / "pipe", "link": outside, "device": "/dev/zero"}
        place.symlink_to(links[as_what])
    runner = GitRunner(timedelta(milliseconds=100))

    answers = in_time(lambda: ask_everything(victim, runner))

    asked = {"commit": "commit", "tree": "blob_at", "blob": "read_blob"}[of_what]
    assert isinstance(answers[asked], YaadError)


def test_an_odd_object_in_a_folder_made_while_we_read_leads_nowhere(victim, runner, tmp_path):
    blob = victim.git("rev-parse", "HEAD:moved.py")
    objects = victim.path / ".git/objects"
    new = next(f"{at:02x}" for at in range(256) if not (objects / f"{at:02x}").exists())
    outside = tmp_path / "outside"
    outside.write_bytes((objects / blob[:2] / blob[2:]).read_bytes())
    opened = victim.open(runner)
    assert opened.has_blob(blob)
    (objects / new).mkdir()
    (objects / new / blob[2:]).symlink_to(outside)

    with pytest.raises(YaadError, match="not a plain file"):
        opened.read_blob(new + blob[2:])


def test_a_small_object_that_unpacks_to_a_large_one_is_not_unpacked(victim, runner):
    data = b"\0" * (64 * 1024 * 1024)
    blob = victim.git("hash-object", "-w", "--stdin", given=data)

    assert victim.open(runner).read_blob(blob) is None


def test_a_commit_without_times_is_a_commit(victim, runner):
    tree = victim.git("rev-parse", "HEAD^{tree}")
    odd = f"tree {tree}\nauthor nobody\ncommitter nobody\n\nodd\n".encode()
    commit = victim.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", given=odd)
    repository = victim.open(runner)

    assert [one.commit for one in repository.made(commit, "--max-count=1")] == [commit]
    assert repository.is_replaced_by(commit, victim.last)
    assert not repository.is_replaced_by(victim.last, commit)


def test_trees_that_hold_one_another_over_and_over_are_not_unfolded(victim, runner):
    names = [f"{number}" for number in range(1_000)]
    held = "100644 blob " + victim.git("rev-parse", "HEAD:moved.py")
    for _ in range(9):
        rows = "".join(f"{held}\t{name}\n" for name in names)
        held = "040000 tree " + victim.git("mktree", given=rows.encode())
    bomb = victim.git("commit-tree", held.rpartition(" ")[2], "-p", "HEAD", "-m", "bomb")
    repository = victim.open(runner)
    with pytest.raises(YaadError, match=r"More than 300,000 files") as raised:
        repository.differing(victim.last, bomb)
    assert raised.value.code is Code.TOO_LARGE
    assert repository.differing_little(victim.last, bomb, 9) is None


def test_a_pipe_that_the_configuration_includes_does_not_stop_the_process(victim, tmp_path):
    """libgit2 would wait in it while it holds the interpreter: no other thread would run."""
    os.mkfifo(tmp_path / "pipe")
    victim.git("config", "include.path", str(tmp_path / "pipe"))
    script = (
        "import sys, threading, datetime, pathlib\n"
        "from yaadwatch.model.errors import YaadError\n"
        "from yaadwatch.repo import layout; from yaadwatch.repo import repository; from "
        "yaadwatch.repo import command\nfound = layout.find(pathlib.Path(sys.argv[1]))\n"
        "runner = command.GitRunner(datetime.timedelta(seconds=1))\n"
        "opened = repository.Repository(found, runner)\n"
        "print(opened.head().commit, opened.blob_at(sys.argv[2], 'moved.py'))\n"
    )

    done = subprocess.run(
        [os.sys.executable, "-c", script, str(victim.path), victim.last],
        capture_output=True,
        timeout=30,
        check=True,
        text=True,
    )

    assert done.stdout.split() == [victim.last, blob_id(TEXT.encode())]


def test_work_tree_files_that_are_links_and_pipes_are_not_searched(victim, runner, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.py").write_text("line\n")
    (victim.path / "moved.py").unlink()
    (victim.path / "moved.py").symlink_to(outside / "b.py")
    (victim.path / "new.py").unlink()
    os.mkfifo(victim.path / "new.py")

    answers = in_time(lambda: ask_everything(victim, runner))

    assert answers["files_with, untracked"] == {"line": []}


# Whose is it?


@pytest.fixture
def somebody_else():
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    return 12345


@pytest.mark.parametrize("whose", ["all", ".git"])
def test_a_repository_of_another_user_is_refused_in_plain_words(
    victim, runner, somebody_else, whose
):
    top = victim.path if whose == "all" else victim.path / ".git"
    for place in (top, *top.rglob("*")):
        os.lchown(place, somebody_else, somebody_else)

    answers = ask_everything(victim, runner)

    for name, answer in answers.items():
        # files that everybody may read; nothing to be ended
        if name in ("head", "close"):
            continue
        # what was read before, or is indexed; nothing was
        if name in QUIET:
            assert not answer
            continue
        assert isinstance(answer, YaadError), name
        assert answer.code is Code.REFUSED, name
        assert str(victim.path) in answer.message
        assert "another user" in answer.message
        assert "safe.directory" in answer.hint


def test_a_repository_that_the_person_trusts_is_read(victim, runner, somebody_else, environment):
    (environment / "home/.gitconfig").write_text(f"[safe]\n\tdirectory = {victim.path}\n")
    for place in (victim.path, *victim.path.rglob("*")):
        os.lchown(place, somebody_else, somebody_else)

    assert answers_like_the_honest_one(ask_everything(victim, runner), victim)


def test_a_repository_that_this_user_cannot_enter_is_none(victim, somebody_else):
    os.chown(victim.path / ".git", 0, 0)
    (victim.path / ".git").chmod(0o700)
    for place in (victim.path, *victim.path.parents):
        if place != place.parent and place.stat().st_uid == 0:
            place.chmod(place.stat().st_mode | 0o055)
    os.seteuid(somebody_else)
    try:
        found = repo_layout.find(victim.path)
    finally:
        os.seteuid(0)

    assert found is None
