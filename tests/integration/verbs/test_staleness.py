"""One memory, and what git and an editor do to the file it rests on."""

import os

import pytest
from verb_world import FIVE_TRIES, NET, RETRY

GO = """package main

import "fmt"

func other(x int) int {
	return x + 1
}

func FetchWithRetry(url string) error {
	limit := 3
	for i := 0; i < limit; i++ {
		fmt.Println(url)
	}
	return nil
}

func last(x int) int {
	return x - 1
}
"""
TYPESCRIPT = """import { open } from "./open";

export function other(x: number): number {
  return x + 1;
}

export async function fetchWithRetry(url: string): Promise<void> {
  const limit = 3;
  for (let i = 0; i < limit; i++) {
    await open(url);
  }
}

export function last(x: number): number {
  return x - 1;
}
"""
SHELL = """#!/bin/sh

other() {
  echo "x + 1"
}

fetch_with_retry() {
  limit=3
  for i in $(seq "$limit"); do
    curl "$1" && return
  done
}

last() {
  echo "x - 1"
}
"""
SCALA = """package net

def other(x: Int): Int = {
  return x + 1
}

def fetchWithRetry(url: String): Unit = {
  val limit = 3
  for (i <- 0 until limit) {
    println(url)
  }
}

def last(x: Int): Int = {
  return x - 1
}
"""
OTHER_LANGUAGES = [
    pytest.param("src/net.go", "FetchWithRetry", GO, "limit := 3", id="go"),
    pytest.param("src/net.ts", "fetchWithRetry", TYPESCRIPT, "limit = 3", id="typescript"),
    pytest.param("bin/net.sh", "fetch_with_retry", SHELL, "limit=3", id="shell"),
    pytest.param("src/net.scala", "fetchWithRetry", SCALA, "limit = 3", id="by-lines"),
]


@pytest.fixture
def retry(repo):
    return repo.remember()


def only_commit(flag):
    """Return the subject of the one commit in the evidence, or None when there is none."""
    commits = [row["commit"]["subject"] for row in flag["evidence"] if row["commit"]]
    assert len(commits) <= 1
    return commits[0] if commits else None


def test_a_memory_is_fresh_at_first(repo, retry):
    assert repo.stale(all=True)["stale"] == []
    assert repo.stale(all=True)["unknown"] == []


def test_an_edit_is_seen_before_it_is_committed(repo, retry):
    repo.write("src/net.py", FIVE_TRIES)

    flag = repo.flag_of(retry)

    assert flag["verdict"] == "changed"
    assert flag["uncommitted"]
    assert [(row["path"], row["symbol"], row["commit"]) for row in flag["evidence"]] == [
        ("src/net.py", "fetch_with_retry", None)
    ]
    assert "uncommitted" in flag["evidence"][0]["summary"]


def test_a_staged_edit_is_not_committed_yet(repo, retry):
    repo.write("src/net.py", FIVE_TRIES)
    repo.git("add", "-A")

    flag = repo.flag_of(retry)

    assert (flag["verdict"], flag["uncommitted"]) == ("changed", True)


def test_a_committed_edit_names_its_commit(repo, retry):
    commit = repo.commit("five tries", {"src/net.py": FIVE_TRIES})

    flag = repo.flag_of(retry)

    assert (flag["verdict"], flag["uncommitted"]) == ("changed", False)
    assert [row["commit"]["id"] for row in flag["evidence"]] == [commit]
    assert only_commit(flag) == "five tries"


def test_only_commits_that_touch_the_definition_are_evidence(repo, retry):
    repo.commit("another function", {"src/net.py": NET.replace("x + 1", "x + 2")})
    repo.commit("five tries", {"src/net.py": FIVE_TRIES.replace("x + 1", "x + 2")})
    repo.commit("another function again", {"src/net.py": FIVE_TRIES.replace("x + 1", "x + 3")})

    assert only_commit(repo.flag_of(retry)) == "five tries"


def test_what_is_committed_and_edited_further_shows_both(repo, retry):
    repo.commit("five tries", {"src/net.py": FIVE_TRIES})
    (repo.path / "src/net.py").unlink()

    flag = repo.flag_of(retry)

    assert (flag["verdict"], flag["uncommitted"]) == ("gone", True)
    assert [bool(row["commit"]) for row in flag["evidence"]] == [True, False]


@pytest.mark.parametrize(
    "harmless",
    [
        pytest.param(NET.replace("x + 1", "x + 2"), id="function before"),
        pytest.param(NET.replace("x - 1", "x - 2"), id="function after"),
        pytest.param(NET + "\n\ndef added(y):\n    return y\n", id="function added"),
        pytest.param(NET.replace("\ndef last(x):\n    return x - 1\n", ""), id="function removed"),
        pytest.param("# moved down\n\n" + NET, id="moved down"),
        pytest.param(NET.replace("\n", "\r\n"), id="line ends"),
        pytest.param(
            NET.replace("(url, tries=3)", "(\n    url,\n    tries=3,\n)"), id="signature wrapped"
        ),
        pytest.param(
            NET.replace("return open_url(url)", "# try\n            return (open_url(url))"),
            id="comment and brackets",
        ),
        pytest.param(NET.replace("    ", "\t"), id="tabs"),
    ],
)
def test_what_leaves_the_definition_alone_raises_nothing(repo, retry, harmless):
    repo.write("src/net.py", harmless)

    assert repo.verdict(retry) == "fresh"
    repo.commit("harmless")
    assert repo.verdict(retry) == "fresh"


@pytest.mark.parametrize(("path", "symbol", "source", "limit"), OTHER_LANGUAGES)
def test_other_languages_are_compared_by_their_syntax_or_by_lines(
    repo, path, symbol, source, limit
):
    repo.commit("another language", {path: source})
    memory = repo.remember(f"The retry limit lives in {path}, in `{symbol}`")

    assert repo.show(memory)["anchors"][0]["symbol"] == symbol
    for harmless in (
        source.replace("x + 1", "x + 2"),
        source.replace("x - 1", "x - 2"),
        source.replace(limit, f"  {limit}"),
        source.replace("\n\n", "\n\n\n"),
    ):
        repo.write(path, harmless)
        assert repo.verdict(memory) == "fresh"

    repo.write(path, source.replace(limit, limit.replace("3", "5")))
    assert repo.flag_of(memory)["uncommitted"]
    repo.commit("five tries")
    flag = repo.flag_of(memory)
    assert (flag["verdict"], only_commit(flag)) == ("changed", "five tries")

    repo.write(path, source)
    assert repo.verdict(memory) == "fresh"


@pytest.mark.parametrize(("path", "symbol", "source", "limit"), OTHER_LANGUAGES)
def test_a_definition_put_in_or_taken_out_behind_it_raises_nothing(
    repo, path, symbol, source, limit
):
    """For git, what stands right behind a function still has that function as its header."""
    repo.commit("another language", {path: source})
    memory = repo.remember(f"The retry limit lives in {path}, in `{symbol}`")
    head, _, last = source.rpartition("}\n\n")
    assert "x - 1" in last

    repo.write(path, f"{head}}}\n")
    assert repo.verdict(memory) == "fresh"

    repo.write(path, f"{head}}}\n\n{last.replace('last', 'added').rstrip()}\n\n{last}")
    assert repo.verdict(memory) == "fresh"


CALLERS = {
    "src/net.go": """package main

func before(url string) error {
	FetchWithRetry(url)
	if FetchWithRetry(url) != nil {
		return FetchWithRetry(url)
	}
	return nil
}

// FetchWithRetry is the function FetchWithRetry that fetches.
func FetchWithRetry(url string) error {
	return nil
}
""",
    "src/net.ts": """// The function fetchWithRetry fetches.
async function before(url: string) {
  await fetchWithRetry(url)
  fetchWithRetry(url, (done) => {
    console.log(done)
  })
  return fetchWithRetry(url)
}

export const fetchWithRetry = async (url: string) => {
  return null
}
""",
    "src/net.c": """static int before(char *url)
{
	if (retrying_fetch(url)) {
		return retrying_fetch(url);
	}
	retrying_fetch(url);
	return 0;
}

static int
other(int x)
{
	return x;
}

int retrying_fetch(char *url)
{
	return 0;
}
""",
    "src/Net.java": """class Net {
    int before(String url) {
        fetchWithRetry(url);
        return fetchWithRetry(url);
    }

    /* fetchWithRetry( is documented here */
    public int fetchWithRetry(String url)
    {
        return 0;
    }
}
""",
    "bin/net.sh": """#!/bin/sh

before() {
  retrying_fetch "$1"
  if retrying_fetch "$1"; then
    return
  fi
}

retrying_fetch() {
  return 0
}
""",
}


@pytest.mark.parametrize("path", list(CALLERS))
def test_a_call_is_no_definition(repo, path):
    source = CALLERS[path]
    symbol = next(
        name for name in ("FetchWithRetry", "fetchWithRetry", "retrying_fetch") if name in source
    )
    begins = ("func", "export", "int ", "    public", f"{symbol}()")
    repo.write(path, source)
    repo.write("README.md", f"Call {symbol}() often. The function {symbol} is good.\n")
    repo.write("docs/net.txt", f"{symbol}() {{\n")
    repo.commit("callers")
    (definition,) = [
        number
        for number, line in enumerate(source.splitlines(), 1)
        if symbol in line and line.startswith(begins)
    ]

    memory = repo.remembered(f"Retries are in `{symbol}`")

    anchors = [row for row in repo.show(memory["id"])["anchors"] if row.get("symbol")]
    assert [(row["path"], row["line"]) for row in anchors if row["path"] == path] == [
        (path, definition)
    ]
    head, found, tail = source.partition(source.splitlines()[definition - 1])
    repo.write(path, head.replace("url", "link").replace('"$1"', '"$2"') + found + tail)
    assert repo.verdict(memory["id"]) == "fresh"
    repo.write(
        path, head + found + tail.replace("0", "1").replace("nil", "err").replace("null", "1")
    )
    assert repo.verdict(memory["id"]) == "changed"


@pytest.mark.parametrize(("path", "symbol", "source", "limit"), OTHER_LANGUAGES)
def test_other_languages_lose_and_move_definitions_too(repo, path, symbol, source, limit):
    repo.commit("another language", {path: source})
    memory = repo.remember(f"The retry limit lives in {path}, in `{symbol}`")

    repo.write(path, source.replace(symbol, "renamed_it"))
    assert repo.verdict(memory) == "gone"

    folder, _, suffix = path.rpartition(".")
    repo.write(path, source.replace(symbol, "renamed_it"))
    repo.write(f"{folder}_two.{suffix}", source)
    repo.commit("split")
    flag = repo.flag_of(memory)
    assert flag["verdict"] == "moved"
    assert flag["suggestion"]["path"] == f"{folder}_two.{suffix}"


def test_reverting_the_edit_clears_the_flag_by_itself(repo, retry):
    repo.commit("five tries", {"src/net.py": FIVE_TRIES})
    assert repo.verdict(retry) == "changed"

    repo.git("revert", "--no-edit", "HEAD")

    assert repo.verdict(retry) == "fresh"


def test_switching_back_clears_the_flag_and_forth_brings_it_again(repo, retry):
    repo.git("switch", "-q", "-c", "faster")
    repo.commit("five tries", {"src/net.py": FIVE_TRIES})

    assert repo.flag_of(retry)["branch"] == "faster"
    repo.git("switch", "-q", "main")
    assert repo.verdict(retry) == "fresh"
    repo.git("switch", "-q", "faster")
    assert repo.verdict(retry) == "changed"


def test_a_memory_of_a_newer_commit_is_told_so_when_an_older_one_is_checked_out(repo):
    repo.commit("five tries", {"src/net.py": FIVE_TRIES})
    memory = repo.remember()

    repo.git("checkout", "-q", "HEAD~1")
    flag = repo.flag_of(memory)

    assert (flag["verdict"], flag["uncommitted"], flag["branch"]) == ("changed", False, None)
    assert only_commit(flag) == "five tries"
    assert "not checked out here" in flag["evidence"][0]["summary"]


def test_git_mv_is_a_move_with_the_new_place(repo, retry):
    repo.git("mv", "src/net.py", "src/http.py")

    staged = repo.flag_of(retry)
    repo.commit("rename net")
    committed = repo.flag_of(retry)

    assert (staged["verdict"], staged["uncommitted"]) == ("moved", True)
    assert (committed["verdict"], committed["uncommitted"]) == ("moved", False)
    assert only_commit(committed) == "rename net"
    for flag in (staged, committed):
        assert flag["suggestion"] == {
            "path": "src/http.py",
            "text": "The retry limit lives in src/http.py, in fetch_with_retry",
        }


def test_a_move_by_hand_is_seen_without_git(repo, retry):
    repo.move("src/net.py", "lib/http.py")

    flag = repo.flag_of(retry)

    assert (flag["verdict"], flag["suggestion"]["path"]) == ("moved", "lib/http.py")
    assert flag["uncommitted"]


def test_a_move_with_an_edit_is_still_a_move(repo, retry):
    repo.move("src/net.py", "src/http.py")
    repo.commit("rename and change", {"src/http.py": FIVE_TRIES})

    flag = repo.flag_of(retry)

    assert (flag["verdict"], flag["suggestion"]["path"]) == ("moved", "src/http.py")
    assert "changed" in flag["reason"]


def test_an_edit_after_a_committed_move_is_uncommitted(repo, retry):
    repo.commit("rename net", moved={"src/net.py": "src/http.py"})
    repo.write("src/http.py", FIVE_TRIES)

    flag = repo.flag_of(retry)

    assert flag["reason"] == "fetch_with_retry moved and changed: src/net.py is now src/http.py"
    assert flag["uncommitted"]
    assert [bool(row["commit"]) for row in flag["evidence"]] == [True, False]


@pytest.mark.parametrize("commit", [False, True])
def test_a_renamed_folder_moves_what_is_in_it(repo, commit):
    for number in range(250):
        repo.write(f"src/part{number:03}.py", f"def part{number:03}():\n    return {number}\n")
    repo.commit("many parts")
    early, late = repo.remember("See src/part000.py"), repo.remember("See src/part249.py")

    repo.move("src", "lib")
    if commit:
        repo.commit("src is lib now")

    assert repo.flag_of(early)["suggestion"]["path"] == "lib/part000.py"
    assert repo.flag_of(late)["suggestion"]["path"] == "lib/part249.py"


def test_a_file_that_was_renamed_twice_is_found_at_its_last_place(repo, retry):
    repo.commit("rename once", moved={"src/net.py": "src/http.py"})
    repo.commit("rename twice", moved={"src/http.py": "src/web.py"})

    flag = repo.flag_of(retry)

    assert (flag["verdict"], flag["suggestion"]["path"]) == ("moved", "src/web.py")
    assert [row["commit"]["subject"] for row in flag["evidence"]] == [
        "rename once",
        "rename twice",
    ]


def test_a_definition_that_went_to_another_file_has_moved(repo, retry):
    repo.commit("split", {"src/net.py": '"""Empty."""\n', "src/retry.py": "# header\n" + NET})

    flag = repo.flag_of(retry)

    assert (flag["verdict"], flag["suggestion"]["path"]) == ("moved", "src/retry.py")


def test_deleting_the_file_is_gone_with_the_commit(repo, retry):
    (repo.path / "src/net.py").unlink()
    at_first = repo.flag_of(retry)
    repo.commit("drop net")
    committed = repo.flag_of(retry)

    assert (at_first["verdict"], at_first["uncommitted"]) == ("gone", True)
    assert "uncommitted" in at_first["evidence"][0]["summary"]
    assert (committed["verdict"], committed["uncommitted"]) == ("gone", False)
    assert only_commit(committed) == "drop net"


def test_deleting_the_definition_is_gone_with_the_commit(repo, retry):
    start, end = NET.index("def fetch"), NET.index("def last")
    repo.commit("no retries", {"src/net.py": NET[:start] + NET[end:]})

    flag = repo.flag_of(retry)

    assert flag["verdict"] == "gone"
    assert flag["evidence"][0]["summary"] == "removed fetch_with_retry from src/net.py"
    assert only_commit(flag) == "no retries"


def test_a_file_without_a_definition_is_only_watched_for_being_there(repo):
    memory = repo.remember("Ideas are in notes.md")

    repo.write("notes.md", "Entirely new notes.\n")
    assert repo.verdict(memory) == "fresh"
    (repo.path / "notes.md").unlink()
    assert repo.verdict(memory) == "gone"


def test_what_was_never_committed_is_not_looked_for_in_the_history(repo):
    repo.write("scratch/plan.md", "A plan.\n")
    memory = repo.remember("The plan is scratch/plan.md")

    (repo.path / "scratch/plan.md").unlink()
    flag = repo.flag_of(memory)

    assert (flag["verdict"], flag["uncommitted"]) == ("gone", True)
    assert flag["evidence"][0]["summary"] == "scratch/plan.md is gone (it was never committed)"


def test_a_memory_of_uncommitted_text_flags_its_being_thrown_away(repo):
    repo.write("src/net.py", FIVE_TRIES)
    memory = repo.remember()
    assert repo.verdict(memory) == "fresh"

    repo.git("checkout", "-q", "--", "src/net.py")
    flag = repo.flag_of(memory)

    assert (flag["verdict"], flag["uncommitted"]) == ("changed", True)


def test_committing_what_was_remembered_uncommitted_changes_nothing(repo):
    repo.write("src/net.py", FIVE_TRIES)
    memory = repo.remember()

    repo.commit("five tries")

    assert repo.verdict(memory) == "fresh"


def test_a_file_that_became_a_link_is_unknown_and_then_known_again(repo, retry):
    notes = repo.remember("Ideas are in notes.md")
    for path in ("src/net.py", "notes.md"):
        repo.move(path, f"{path}.real")
        (repo.path / path).symlink_to(f"{path.rpartition('/')[2]}.real")

    assert repo.verdict(retry) == "unknown"
    assert repo.verdict(notes) == "unknown"
    reasons = {row["reason"] for row in repo.stale()["unknown"]}
    assert reasons == {
        "src/net.py is a link now; links are not followed",
        "notes.md is a link now; links are not followed",
    }
    for path in ("src/net.py", "notes.md"):
        (repo.path / path).unlink()
        repo.move(f"{path}.real", path)
    assert repo.verdict(retry) == "fresh"
    assert repo.verdict(notes) == "fresh"


def test_a_folder_that_became_a_link_out_of_the_repository_is_not_followed(repo, retry):
    outside = repo.path.parent / "outside"
    repo.path.joinpath("src").rename(outside)
    repo.path.joinpath("src").symlink_to(outside)

    assert repo.verdict(retry) == "unknown"


def test_a_file_that_became_a_folder_is_gone(repo, retry):
    notes = repo.remember("Ideas are in notes.md")
    for path in ("src/net.py", "notes.md"):
        (repo.path / path).unlink()
        repo.write(f"{path}/inside", "x")

    assert repo.verdict(notes) == "gone"
    assert repo.verdict(retry) == "gone"


def test_a_pipe_in_its_place_does_not_hang(repo, retry):
    (repo.path / "src/net.py").unlink()
    os.mkfifo(repo.path / "src/net.py")

    assert repo.verdict(retry) == "unknown"


def test_a_file_that_is_too_large_to_read_is_unknown(repo, retry):
    repo.write("src/net.py", NET + "#" * (2 * 1024 * 1024))

    assert repo.verdict(retry) == "unknown"
    assert "2 MiB" in repo.stale()["unknown"][0]["reason"]


def test_a_syntax_error_is_unknown_until_it_is_mended(repo, retry):
    repo.write("src/net.py", NET.replace("def fetch_with_retry(url, tries=3):", "def fetch_with("))

    assert repo.verdict(retry) == "unknown"
    assert "parse" in repo.stale()["unknown"][0]["reason"]
    repo.write("src/net.py", NET)
    assert repo.verdict(retry) == "fresh"


def test_a_file_that_is_not_utf8_is_judged_all_the_same(repo):
    source = NET.replace("Talks to", "Spricht über").encode("latin-1")
    repo.write("src/old.py", source)
    repo.write("src/old.go", GO.replace("fmt.Println(url)", 'fmt.Println("ü")').encode("latin-1"))
    repo.commit("latin")
    python = repo.remember("See src/old.py, `fetch_with_retry`")
    go = repo.remember("See src/old.go, `FetchWithRetry`")

    assert repo.verdict(python) == "fresh"
    repo.write("src/old.py", source.replace(b"tries=3", b"tries=5"))
    repo.write("src/old.go", GO.replace("fmt.Println(url)", 'fmt.Println("ö")').encode("latin-1"))
    assert repo.verdict(python) == "changed"
    assert repo.verdict(go) == "changed"


def test_a_file_that_went_while_history_was_rewritten_stays_gone(repo):
    repo.commit("extra", {"src/extra.md": "Extra.\n"})
    memory = repo.remember("Extras are in src/extra.md")

    repo.git("reset", "-q", "--hard", "HEAD~1")
    assert repo.verdict(memory) == "gone"
    collect_garbage(repo)
    repo.commit("later")
    assert repo.verdict(memory) == "gone"
    assert repo.stale()["unknown"] == []


def collect_garbage(repo):
    repo.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    repo.git("gc", "-q", "--prune=now")


def test_a_file_without_a_grammar_is_compared_when_its_old_text_was_collected(repo):
    repo.commit("scala", {"src/net.scala": SCALA})
    memory = repo.remember("See src/net.scala, fetchWithRetry()")
    repo.write("src/net.scala", SCALA.replace("x + 1", "x + 2"))
    repo.git("add", "-A")
    repo.git("commit", "-q", "--amend", "-m", "scala, amended")

    assert repo.verdict(memory) == "fresh"
    collect_garbage(repo)
    repo.write("src/net.scala", SCALA.replace("x + 1", "x + 3"))

    assert repo.verdict(memory) == "fresh"
    repo.write("src/net.scala", SCALA.replace("limit = 3", "limit = 5"))
    assert repo.verdict(memory) == "changed"


def test_a_merge_brings_its_commit_as_evidence(repo, retry):
    repo.git("switch", "-q", "-c", "topic")
    repo.commit("five tries", {"src/net.py": FIVE_TRIES})
    repo.git("switch", "-q", "main")
    repo.commit("meanwhile")
    repo.git("merge", "-q", "--no-ff", "-m", "merge topic", "topic")

    flag = repo.flag_of(retry)

    subjects = [row["commit"]["subject"] for row in flag["evidence"]]
    assert flag["verdict"] == "changed"
    assert "five tries" in subjects


def test_before_the_first_commit_edits_are_seen_too(world):
    repo = world.tree("young")
    repo.git("init", "-q", "-b", "main")
    repo.write("src/net.py", NET)
    repo.add()
    memory = repo.remember()
    assert repo.verdict(memory) == "fresh"

    repo.write("src/net.py", FIVE_TRIES)
    assert repo.flag_of(memory)["uncommitted"]
    (repo.path / "src/net.py").unlink()
    flag = repo.flag_of(memory)
    assert (flag["verdict"], flag["uncommitted"]) == ("gone", True)

    repo.commit("one", {"src/net.py": NET})
    assert repo.verdict(memory) == "fresh"
    repo.commit("five tries", {"src/net.py": FIVE_TRIES})
    assert repo.flag_of(memory)["verdict"] == "changed"
    assert not repo.flag_of(memory)["uncommitted"]


def test_what_does_not_parse_is_unknown_and_says_in_which_language(repo):
    repo.commit("go", {"src/net.go": GO})
    memory = repo.remember("See src/net.go, FetchWithRetry()")

    repo.write("src/net.go", GO.replace("limit := 3", "limit := := 3 ("))

    assert repo.verdict(memory) == "unknown"
    assert "does not parse as Go" in repo.stale()["unknown"][0]["reason"]


RAW_CS = 'class Net {\n  string FetchIt() {\n    return """\n    <a/>\n    """ + 3;\n  }\n}\n'
LAID_OUT_CS = (
    'class Net\n{\n  string FetchIt()\n  {\n    return "" "\n  <a />\n  "" " + 3;\n  }\n}\n'
)
SHORT_C = "int FetchIt(void) { return 3; }\nint other(void) { return FetchIt(); }\n"
LAID_OUT_C = "int FetchIt(void)\n{\n  return 3;\n}\nint other(void)\n{\n  return FetchIt(;\n"


@pytest.mark.parametrize(
    ("path", "old", "laid_out"),
    [
        ("Net.cs", RAW_CS, LAID_OUT_CS),
        (
            "net.c",
            f"#include <b>\n#include <a>\nint a;\n{SHORT_C}",
            f"#include <a>\n#include <b>\nint a;\n{LAID_OUT_C}",
        ),
    ],
)
def test_a_definition_with_the_same_words_in_a_file_that_does_not_parse_is_not_flagged(
    repo, path, old, laid_out
):
    repo.commit("first", {f"src/{path}": old})
    memory = repo.remember(f"`FetchIt()` in src/{path} gives three")

    repo.write(f"src/{path}", laid_out)
    assert repo.verdict(memory) in ("fresh", "touched")
    repo.write(f"src/{path}", laid_out.replace("3", "4"))
    assert repo.verdict(memory) in ("changed", "unknown")


def test_a_script_that_lost_its_suffix_is_still_read_as_what_it_was(repo):
    repo.commit("script", {"bin/net.sh": SHELL})
    memory = repo.remember("See bin/net.sh, `fetch_with_retry`")

    repo.commit("no suffix", moved={"bin/net.sh": "bin/net"})

    assert repo.flag_of(memory)["verdict"] == "moved"
    assert "changed" not in repo.flag_of(memory)["evidence"][0]["summary"]


def test_line_ends_that_git_turns_round_are_no_change(world):
    repo = world.repo("windows")
    repo.git("config", "core.autocrlf", "true")
    repo.commit("go", {"src/net.go": GO})
    for path in ("src/net.go", "src/net.py"):
        (repo.path / path).unlink()
    repo.git("checkout", "--", ".")
    assert b"\r\n" in (repo.path / "src/net.go").read_bytes()
    repo.add()
    go, python = repo.remember("See src/net.go, FetchWithRetry()"), repo.remember()

    repo.commit("nothing")
    assert (repo.verdict(go), repo.verdict(python)) == ("fresh", "fresh")
    turned = GO.replace("\n", "\r\n").replace("x + 1", "x + 2")
    repo.write("src/net.go", turned)
    assert repo.verdict(go) == "fresh"
    repo.write("src/net.go", turned.replace("limit := 3", "limit := 5"))
    assert repo.verdict(go) == "changed"


def test_two_memories_of_one_file_have_verdicts_of_their_own(repo, retry):
    other = repo.remember("Adding one is done by `other` in src/net.py")
    whole = repo.remember("Network code is in src/net.py")

    repo.write("src/net.py", FIVE_TRIES)
    assert [repo.verdict(one) for one in (retry, other, whole)] == ["changed", "fresh", "fresh"]
    repo.write("src/net.py", NET.replace("x + 1", "x + 2"))
    assert [repo.verdict(one) for one in (retry, other, whole)] == ["fresh", "changed", "fresh"]
    (repo.path / "src/net.py").unlink()
    assert [repo.verdict(one) for one in (retry, other, whole)] == ["gone", "gone", "gone"]


def test_the_gravest_of_several_places_decides(repo):
    repo.commit("more", {"src/more.py": "def more():\n    return 1\n"})
    memory = repo.remember("`fetch_with_retry` in src/net.py uses `more` of src/more.py")

    repo.write("src/net.py", FIVE_TRIES)
    assert repo.flag_of(memory)["verdict"] == "changed"
    (repo.path / "src/more.py").unlink()
    assert repo.flag_of(memory)["verdict"] == "gone"
    repo.write("src/net.py", NET)
    repo.write("src/more.py", "def more():\n    return 1\n")
    assert repo.verdict(memory) == "fresh"


def test_secrets_in_commit_subjects_are_masked(repo, retry, world):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    repo.commit(f"use {secret}", {"src/net.py": FIVE_TRIES})

    assert secret not in str(repo.flag_of(retry))
    assert "five" not in only_commit(repo.flag_of(retry))


def test_nothing_the_engine_does_changes_what_git_keeps(repo, retry):
    repo.write("src/net.py", FIVE_TRIES)
    before = kept_by_git(repo)

    repo.flag_of(retry)
    repo.confirm(retry)
    repo.remember("Another one about src/net.py")

    assert kept_by_git(repo) == before
    assert repo.git("status", "--porcelain") == " M src/net.py\n"


def kept_by_git(repo):
    found = (path for path in (repo.path / ".git").rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in found if path.name != "index"}


def test_the_reason_reads_like_a_sentence(repo, retry):
    repo.write("src/net.py", FIVE_TRIES)
    assert repo.flag_of(retry)["reason"] == "fetch_with_retry in src/net.py changed"
    repo.write("src/net.py", NET.replace("fetch_with_retry", "fetch"))
    assert repo.flag_of(retry)["reason"] == "fetch_with_retry is gone from src/net.py"
    (repo.path / "src/net.py").unlink()
    assert repo.flag_of(retry)["reason"] == "src/net.py is gone, and fetch_with_retry with it"
    assert repo.flag_of(retry)["text"] == RETRY


def test_a_file_remembered_before_it_was_added_is_followed_through_the_history(repo):
    repo.write("src/brand_new.py", "def brand_new():\n    return 1\n")
    memory = repo.remember("`brand_new` is in src/brand_new.py")
    repo.commit("brand new")
    repo.commit("rename", moved={"src/brand_new.py": "src/old.py"})

    flag = repo.flag_of(memory)

    assert (flag["verdict"], flag["suggestion"]["path"]) == ("moved", "src/old.py")
    assert only_commit(flag) == "rename"
    (repo.path / "src/old.py").unlink()
    repo.commit("drop")
    flag = repo.flag_of(memory)
    assert (flag["verdict"], flag["uncommitted"]) == ("gone", False)
    assert [row["commit"]["subject"] for row in flag["evidence"]] == ["rename", "drop"]


def test_a_file_remembered_while_it_was_edited_is_followed_through_its_rename(repo):
    repo.write("src/net.py", FIVE_TRIES)
    memory = repo.remember()
    repo.commit("five tries, renamed", moved={"src/net.py": "src/http.py"})

    flag = repo.flag_of(memory)

    assert flag["reason"] == "fetch_with_retry moved: src/net.py is now src/http.py"
    assert only_commit(flag) == "five tries, renamed"


def test_stashing_and_popping_are_an_edit_and_its_revert(repo, retry):
    repo.write("src/net.py", FIVE_TRIES)
    assert repo.verdict(retry) == "changed"
    repo.git("stash", "-q")
    assert repo.verdict(retry) == "fresh"
    repo.git("stash", "pop", "-q")
    assert repo.verdict(retry) == "changed"


def test_touching_a_file_or_its_mode_is_no_change(repo, retry):
    (repo.path / "src/net.py").touch()
    (repo.path / "src/net.py").chmod(0o755)

    assert repo.verdict(retry) == "fresh"


def test_show_and_stale_agree_on_what_changed_and_is_likely_true(repo):
    repo.write("src/rate.py", "def rate(x):\n    return x + 1\n")
    repo.commit("rate")
    memory = repo.remember("See `rate()` before you change amounts")
    repo.write("src/rate.py", "def rate(x):\n    return x * 77\n")

    found = repo.stale()

    assert (found["stale"], found["unlikely"]) == ([], 1)
    assert repo.stale(all=True)["unlikely"] == 0
    assert repo.show(memory)["stale"]["level"] == ""
