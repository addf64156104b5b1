"""What is erased is in no memory of the daemon either that it keeps for the next time."""

import contextlib
import gc
import os
import re
import sys
import types
from pathlib import Path

import pytest
from verb_world import NET

import yaadwatch
from tests.integration.served import Served
from yaadwatch import places
from yaadwatch.client.connection import Client
from yaadwatch.daemon.dispatch import VERBS
from yaadwatch.projects import erasing
from yaadwatch.system.safe_write import StaleHandle

WORD = "Wolkenkuckuck"
SAID = f"{WORD} is who src/net.py, in {WORD}_hides, is written for"
SOURCE = NET + f"\n\ndef {WORD}_hides(it):\n    return it\n"
PACKAGES = '{{"dependencies": {{"{}": "1.0"}}}}\n'
PASSED_BY = (type, types.ModuleType, types.FrameType, types.BuiltinFunctionType)

KEPT_ELSEWHERE = {
    "anchors/language.py": "rules of languages",
    "anchors/languages.py": "endings of file names",
    "anchors/parsing.py": "grammars",
    "api/codec.py": "classes of messages",
    "daemon/dispatch.py": "folders and names of agents",
    "db/database.py": "a store with nothing in it",
    "db/migrations.py": "steps of the schema",
    "db/rows.py": "times, and statements by columns",
    "db/soundness.py": "the schema of an empty store",
    "db/vectors.py": "whether vectors can be compared",
    "model/settings.py": "settings",
    "projects/row_import.py": "of one import",
    "recall/gathering.py": "synonyms",
    "remember/classify.py": "patterns of cues",
    "remember/drafts.py": "kinds of memories",
    "remember/links.py": "kinds of relations",
    "repo/command.py": "whether git can be run",
    "repo/layout.py": "paths of repositories, and how they are set up",
    "repo/words.py": "endings of file names",
    "staleness/worktree.py": "paths that git tracks",
    "sync/rules_file.py": "rows of agents",
    "system/embedding_process.py": "vectors of questions, of a worker that erasing lets go",
    "system/files.py": "mounts",
    "text/privacy.py": "patterns of secrets, by their places",
    "workspace/agent_files.py": "formats, by patterns of the settings",
}
"""Modules with functions that keep answers in other ways, and what these are about: no words."""


HOLDING = {
    "yaadwatch.anchors.facts.packages",
    "yaadwatch.anchors.parsing._kept",
    "yaadwatch.workspace.agent_files.parsed",
    "patterns",
}
"""What holds the word before it is erased, or the test would show nothing."""


def holders(word, *roots):
    """Return what holds a word: texts and bytes that can be reached from some objects."""
    found, seen, waiting = [], set(), list(roots)
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, PASSED_BY):
            continue
        seen.add(id(one))
        if isinstance(one, str | bytes):
            if (word if isinstance(one, str) else word.encode()) in one:
                found.append(one)
        elif isinstance(one, types.FunctionType):
            waiting += [cell.cell_contents for cell in one.__closure__ or ()]
        elif isinstance(one, types.MethodType):
            waiting.append(one.__self__)
        elif isinstance(one, dict):  # of which the collector is not told the keys that are texts
            waiting += [*one.keys(), *one.values()]
        else:
            waiting += gc.get_referents(one)
    return found


def keeping_functions():
    """Return every function of ours that keeps what it was given, by its name."""
    return {
        f"{module.__name__}.{name}": value
        for module in list(sys.modules.values())
        if module.__name__.startswith(("yaadwatch", "bridges"))
        for name, value in vars(module).items()
        if hasattr(value, "cache_info")
    }


def kept_of(home):
    """Return which parts of the daemon's memory hold the word."""
    parts = keeping_functions() | {"home": home, "patterns": re._cache}
    return {name for name, part in parts.items() if holders(WORD, part)}


@pytest.fixture
def daemon(world):
    """The real socket, dispatch and verbs, in this process, so that their memory can be seen."""
    places.default_socket().parent.mkdir(mode=0o700, exist_ok=True)
    with Served(places.default_socket(), VERBS, home=world.home) as served:
        yield served


def test_no_cache_of_the_daemon_holds_what_was_erased(repo, daemon):
    repo.write("src/net.py", SOURCE)
    repo.write("package.json", PACKAGES.format(WORD.lower()) + f"\n// {WORD}")
    repo.write("CLAUDE.md", f"- {SAID}\n")
    repo.commit("who")
    with contextlib.closing(Client(cwd=str(repo.path))) as client:
        client.call("files_sync")
        client.call("check")
        memory = client.call("remember", text=SAID)["id"]
        repo.write("src/net.py", NET)
        repo.write("package.json", PACKAGES.format("left-pad"))
        repo.write("CLAUDE.md", "- Pagers are off\n")
        repo.commit("nobody")
        client.call("files_sync")
        client.call("check")
        client.call("stale")
        assert kept_of(repo.home) >= HOLDING

        done = client.call("erase", id=memory)

    assert done["erased"] == [memory]
    assert kept_of(repo.home) == set()


def test_a_file_that_was_replaced_is_let_go_when_it_held_what_was_erased(repo, tmp_path):
    former = tmp_path / "former"
    former.write_text(SAID)
    with former.open("rb") as stream:
        repo.home.formers.add(
            "a", StaleHandle(os.dup(stream.fileno()), SAID.encode()), until_s=1e12
        )
        repo.home.formers.add("b", StaleHandle(os.dup(stream.fileno()), b"other"), until_s=1e12)
    memory = repo.remember(SAID)

    erasing.erase(repo.home, repo.call, id=memory)

    assert not repo.home.formers.waits({"a"})
    assert repo.home.formers.waits({"b"})


def test_words_that_were_searched_in_commits_are_forgotten(repo):
    memory = repo.remember(SAID)
    repo.home.git.found.put(("repo", "c0ffee", f"{WORD}_hides"), ("src/net.py",))
    assert kept_of(repo.home) >= {"home"}

    erasing.erase(repo.home, repo.call, id=memory)

    assert kept_of(repo.home) == set()


def test_every_function_that_keeps_texts_is_one_that_can_forget():
    """Texts are cached by `text.words` alone; every other cache holds no words of memories."""
    top = Path(yaadwatch.__file__).parent
    found = {
        path.relative_to(top).as_posix()
        for path in top.rglob("*.py")
        if re.search(r"\blru_cache\b|@(?:functools\.)?cache\b", path.read_text())
    }

    assert found - {"text/words.py"} == KEPT_ELSEWHERE.keys()
