"""Remembering: what is answered, what is anchored, what is masked, and what is refused."""

import stat
import threading
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refusal
from verb_world import FIVE_TRIES, NET, RETRY, table

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import TEXT_CHARS_MAX
from yaadwatch.recall import recall
from yaadwatch.text.privacy import kept


def places(answer):
    return [
        (anchor["path"], anchor.get("symbol"), anchor.get("line")) for anchor in answer["anchors"]
    ]


def test_the_answer_names_the_file_and_the_definition(repo):
    answer = repo.remembered()

    assert answer["text"] == RETRY
    assert answer["decision"] == "new"
    assert answer["masked"] == []
    assert answer["kind"]
    assert answer["tier"] in (1, 2, 3)
    assert answer["why"]
    assert places(answer) == [("src/net.py", "fetch_with_retry", 10), ("src/net.py", None, None)]


def test_what_was_answered_is_what_is_shown(repo):
    answer = repo.remembered(tags=["net", "retry"], kind="decision", tier=3, pin=True)

    shown = repo.show(answer["id"])

    for key in ("id", "kind", "tier", "text"):
        assert shown[key] == answer[key]
    assert (shown["kind"], shown["tier"]) == ("decision", 3)
    assert shown["tags"] == ["net", "retry"]
    assert shown["pinned"]
    assert [anchor["path"] for anchor in shown["anchors"]] == ["src/net.py", "src/net.py"]
    assert {anchor["commit"] for anchor in shown["anchors"]} == {repo.head()}
    assert [version["change"] for version in shown["versions"]] == ["created"]


def test_saying_it_twice_is_one_memory_confirmed(repo):
    first = repo.remembered()
    again = repo.remembered(f"  - {RETRY}.\n")

    assert (again["id"], again["decision"]) == (first["id"], "same")
    assert repo.memories() == [RETRY]
    assert [row["change"] for row in repo.show(first["id"])["versions"]] == ["created", "confirmed"]


def test_a_full_stop_that_is_a_word_makes_another_memory_and_that_of_a_sentence_does_not(repo):
    """`eslint` alone looks at nothing, `go test ./` at one folder."""
    said = ["Run eslint", "Run eslint .", "Run go test ./", "Run go test ./..."]

    ids = [repo.remember(one) for one in said]
    again = [repo.remember(f"{one}\n") for one in said]

    assert len({*ids}) == 4
    assert again == ids
    assert repo.remember("Run eslint.") == ids[0]


def test_saying_it_again_settles_a_flag(repo):
    memory = repo.remember()
    repo.write("src/net.py", FIVE_TRIES)
    assert repo.verdict(memory) == "changed"

    repo.remember()

    assert repo.verdict(memory) == "fresh"


def test_saying_it_again_keeps_the_files_that_were_given(repo):
    memory = repo.remember("Be careful here", files=["src/net.py"], symbols=["other"])
    assert places(repo.show(memory)) == [("src/net.py", "other", 6), ("src/net.py", None, None)]

    repo.remember("Be careful here")

    assert places(repo.show(memory)) == [("src/net.py", "other", 6), ("src/net.py", None, None)]
    repo.write("src/net.py", NET.replace("x + 1", "x + 2"))
    assert repo.verdict(memory) == "changed"


def test_saying_it_again_with_a_kind_a_tier_or_tags_changes_them(repo):
    memory = repo.remember("Be careful here", tags=["one"])

    answer = repo.remembered("Be careful here", kind="Decision", tier=3, tags=["two"])

    shown = repo.show(memory)
    assert (answer["kind"], answer["tier"]) == ("decision", 3)
    assert (shown["kind"], shown["tier"], shown["tags"]) == ("decision", 3, ["one", "two"])
    again = repo.remembered("Be careful here")
    assert (again["kind"], again["tier"]) == ("decision", 3)


def test_what_was_forgotten_can_be_said_anew(repo):
    first = repo.remember()
    repo.forget(first)

    second = repo.remembered()

    assert second["decision"] == "new"
    assert second["id"] != first


@pytest.mark.parametrize(
    "given",
    ["src/net.py", "./src/net.py", "ABSOLUTE", "net.py"],
    ids=["from the top", "with a dot", "absolute", "from here"],
)
def test_given_files_are_found_however_they_are_written(repo, given):
    """Agents give absolute paths, a shell completes paths from where it is."""
    repo.write("src/more.py", NET)
    call = type(repo)(repo.world, repo.path / "src") if given == "net.py" else repo
    path = str(repo.path / "src/net.py") if given == "ABSOLUTE" else given

    answer = call.remembered("Be careful here", files=[path])

    assert places(answer) == [("src/net.py", None, None)]


@pytest.mark.parametrize(
    "given",
    ["src/missing.py", "../outside.py", "/etc/passwd", "src", ".git/config", ".yaad/yaad.db"],
)
def test_a_given_file_that_cannot_be_watched_is_an_error_that_names_it(repo, given):
    (repo.path.parent / "outside.py").write_text(NET)

    error = refusal(repo.remember, "Be careful here", files=["src/net.py", given])

    assert error.code is Code.NOT_FOUND
    assert repr(given) in error.message or given in error.message
    assert "nothing was stored" in error.message
    assert repo.memories() == []


def test_a_given_file_that_is_a_link_is_an_error(repo):
    (repo.path / "link.py").symlink_to("src/net.py")

    with pytest.raises(YaadError, match=r"link\.py is a link") as refused:
        repo.remember("Be careful here", files=["link.py"])
    assert refused.value.code is Code.NOT_FOUND


def test_a_given_definition_that_is_nowhere_is_an_error(repo):
    with pytest.raises(YaadError, match="no_such_name") as refused:
        repo.remember("Be careful here", symbols=["no_such_name"])

    assert refused.value.code is Code.NOT_FOUND
    assert repo.memories() == []


def test_a_given_definition_is_found_without_its_file(repo):
    assert places(repo.remembered("Be careful here", symbols=["other"])) == [
        ("src/net.py", "other", 6)
    ]


def test_a_definition_in_two_files_is_anchored_as_a_word_alone(repo):
    repo.commit("two of them", {"src/more.py": NET})

    assert places(repo.remembered("Retries are in `fetch_with_retry`")) == [
        ("src/more.py", "fetch_with_retry", None)
    ]
    assert places(repo.remembered("See `fetch_with_retry` in src/more.py"))[0][0] == "src/more.py"


def test_a_file_that_git_does_not_know_yet_can_be_named(repo):
    repo.write("src/fresh.py", "def brand_new():\n    return 1\n")

    assert places(repo.remembered("See src/fresh.py, `brand_new`")) == [
        ("src/fresh.py", "brand_new", 1),
        ("src/fresh.py", None, None),
    ]


def test_a_text_about_nothing_in_the_tree_rests_on_nothing(repo):
    answer = repo.remembered("Ada likes tea; see src/nothing.py and https://example.org/src/net.py")

    assert answer["anchors"] == []


def test_our_own_store_is_never_watched(repo):
    """Each check writes to it: the daemon would wake itself for ever."""
    assert repo.remembered("Memories are in .yaad/yaad.db")["anchors"] == []


def test_paths_in_a_text_cannot_leave_the_work_tree(repo):
    (repo.path.parent / "secret.py").write_text("def secret_name():\n    return 1\n")
    (repo.path / "out").symlink_to(repo.path.parent)

    for text in ("See ../secret.py", "See out/secret.py", "See .git/config and /etc/passwd"):
        assert repo.remembered(text)["anchors"] == []


def test_odd_names_of_files_are_anchored_like_any_other(repo):
    for name in ("docs/läs mig.md", "docs/[x].md", "-rf.md", "docs/~$a.md", "a" * 200 + ".md"):
        repo.write(name, "Text.\n")
    repo.commit("odd names")

    for name in ("docs/läs mig.md", "docs/[x].md", "-rf.md", "docs/~$a.md", "a" * 200 + ".md"):
        memory = repo.remember(f"About {name}", files=[name])
        assert places(repo.show(memory))[0][0] == name
        repo.move(name, "elsewhere.md")
        assert repo.flag_of(memory)["suggestion"]["path"] == "elsewhere.md"
        repo.move("elsewhere.md", name)
        assert repo.verdict(memory) == "fresh"


def test_the_store_is_for_its_owner_alone(repo, world):
    repo.remember()

    assert stat.S_IMODE((repo.store.parent).stat().st_mode) == 0o700
    assert stat.S_IMODE((world.folder / "home").stat().st_mode) == 0o700
    for folder in (repo.store.parent, world.folder / "home"):
        for path in folder.rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize("text", ["", "   \n\t ", "\u200b\u200e", "\ufeff \u00ad\u2060\n"])
def test_an_empty_text_is_refused(repo, text):
    assert refusal(repo.remember, text).code is Code.BAD_REQUEST
    assert repo.memories() == []


def test_a_megabyte_of_text_is_refused_with_the_limit(repo):
    with pytest.raises(YaadError, match=str(TEXT_CHARS_MAX)) as refused:
        repo.remember("word " * 200_000)

    assert refused.value.code is Code.TOO_LARGE
    assert repo.memories() == []


def test_the_longest_text_there_may_be_is_stored(repo):
    text = "About src/net.py. " + "x " * ((TEXT_CHARS_MAX - 18) // 2 - 1) + "y"

    assert repo.show(repo.remember(text))["text"] == text


@pytest.mark.parametrize(
    ("kind", "length", "pin", "is_told"),
    [
        ("convention", 2_000, False, False),
        ("convention", 2_001, False, True),
        (None, 4_000, False, True),
        ("note", 4_000, False, False),
        ("note", 4_000, True, True),
    ],
)
def test_a_rule_that_no_rules_file_takes_is_kept_and_the_answer_says_so(
    repo, kind, length, pin, is_told
):
    text = f"Always ask first. {'x' * (length - 18)}"

    answer = repo.remembered(text, kind=kind, pin=pin)

    assert ("too long for a rules file" in answer["why"]) is is_told
    assert repo.show(answer["id"])["text"] == text


@pytest.mark.parametrize(
    ("kind", "why"), [("Entity", "what memories touch"), ("Session", "sessions")]
)
def test_a_memory_cannot_be_taken_for_a_thing_or_a_session(repo, kind, why):
    """Upkeep erases things that nothing touches, and no question finds a session."""
    with pytest.raises(YaadError, match=f"kept for {why}") as refused:
        repo.remember("Be careful here", kind=kind)

    assert refused.value.code is Code.BAD_REQUEST


def test_tags_are_kept_once_each(repo):
    assert repo.show(repo.remember("x y", tags=["b", "a", "b"]))["tags"] == ["b", "a"]


def test_outside_of_any_project_nothing_is_remembered(world):
    bare = world.tree("plain")

    with pytest.raises(YaadError, match="not in a git repository") as refused:
        bare.remember()
    assert refused.value.code is Code.NOT_FOUND
    unwatched = world.repo("unwatched")
    with pytest.raises(YaadError, match="not watched") as refused:
        unwatched.remember("Answer briefly")
    assert "yaadwatch add" in refused.value.hint
    assert "For all your projects: yaadwatch remember --scope user TEXT." in refused.value.hint
    with pytest.raises(YaadError) as refused:
        unwatched.remember(files=["src/net.py"])
    assert "--scope user" not in refused.value.hint  # which rests on no file
    with pytest.raises(YaadError) as refused:
        unwatched.remember("Tidy up", kind="task")
    assert "--scope user" not in refused.value.hint  # where nobody would look for it
    assert not unwatched.store.parent.exists()


def test_a_folder_that_is_not_there_is_said_to_be_so(world):
    missing = world.tree("gone")
    missing.path.rmdir()

    with pytest.raises(YaadError, match="no folder") as refused:
        missing.remember()
    assert refused.value.code is Code.NOT_FOUND


def test_a_folder_below_the_top_is_the_same_project(repo):
    below = type(repo)(repo.world, repo.path / "src")

    memory = below.remember("Retries are in `fetch_with_retry`")

    assert repo.show(memory)["id"] == memory


def test_relative_names_in_a_text_start_where_it_was_said(repo):
    repo.commit("two nets", {"lib/net.py": NET})
    below = type(repo)(repo.world, repo.path / "src")

    assert places(below.remembered("See net.py, fetch_with_retry"))[0] == (
        "src/net.py",
        "fetch_with_retry",
        10,
    )


def test_one_memory_and_all_that_goes_with_it_are_one_transaction(repo):
    repo.remember()

    with repo.db() as db:
        nodes_in_store = table(db, "nodes")
        assert sorted(row[3] for row in table(db, "edges")) == ["learned_in", "touches", "touches"]
        assert len(table(db, "file_watch")) == 2
        assert len(table(db, "node_versions")) == 2
    assert sorted(row[2] for row in nodes_in_store) == ["entity", "file", "session", "spec"]


def test_many_threads_can_remember_while_checks_run(repo):
    """No write is lost, no thread fails, and every verdict is right in the end."""
    names = [f"part{number:02}" for number in range(12)]
    for name in names:
        repo.write(f"src/{name}.py", f"def {name}():\n    return 1\n")
    repo.commit("parts")
    failures = []
    done = threading.Event()

    def remember(name):
        try:
            for turn in range(5):
                repo.remember(f"Turn {turn} of `{name}` in src/{name}.py")
                repo.remember("All of them say this, see src/net.py")
        except BaseException as error:
            failures.append(error)

    def check():
        try:
            while not done.is_set():
                repo.check()
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=remember, args=(name,)) for name in names]
    checker = threading.Thread(target=check)
    checker.start()
    for writer in writers:
        writer.start()
    for number, name in enumerate(names[:6]):
        # At once, as editors do: what is remembered of a file that is just empty rests on that.
        beside = repo.world.folder / name
        beside.write_text(f"def {name}():\n    return {number + 2}\n", encoding="utf-8")
        beside.replace(repo.path / "src" / f"{name}.py")
    for writer in writers:
        writer.join()
    done.set()
    checker.join()

    assert failures == []
    assert len(repo.memories()) == 12 * 5 + 1
    for name in names:
        repo.write(f"src/{name}.py", f"def {name}():\n    return 99\n")
    assert len(repo.stale(all=True)["stale"]) == 12 * 5


SAYINGS = st.text(max_size=200) | st.text(alphabet="`/._-a(){}[]*\\\n :#~@$'\"", max_size=60)


def is_seen(text):
    """Say whether anything of a text can be seen: of a soft hyphen alone, nothing can."""
    return any(not one.isspace() and unicodedata.category(one) != "Cf" for one in text)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=SAYINGS.filter(is_seen))
def test_any_text_is_stored_as_it_was_said(repo, text):
    """But for characters that would steer what shows it: these are told in letters."""
    memory = repo.remembered(text)

    assert memory["masked"] or repo.show(memory["id"])["text"] == kept(text).text.strip()
    repo.forget(memory["id"])


def test_a_file_too_large_to_be_read_is_watched_for_being_there(repo):
    repo.write("models/net.onnx", b"\0" * (3 * 1024 * 1024))
    repo.write("models/other.onnx", b"\1" * (3 * 1024 * 1024))
    repo.commit("model")
    memory = repo.remember("The model is models/net.onnx")
    given = repo.remember("Be careful here", files=["models/net.onnx"])

    assert places(repo.show(memory)) == [("models/net.onnx", None, None)]
    assert repo.verdict(memory) == repo.verdict(given) == "fresh"
    repo.move("models/net.onnx", "net.onnx")
    assert repo.verdict(memory) == "gone"
    repo.commit("moved")
    assert repo.flag_of(memory)["suggestion"]["path"] == "net.onnx"


def test_what_a_person_repeats_is_hidden_no_more(repo):
    repo.write("CLAUDE.md", "- See src/net.py\n")
    repo.add()
    repo.write("CLAUDE.md", "")
    repo.add()
    hidden = [row["id"] for row in recalled(repo, "net.py")]

    memory = repo.remember("See src/net.py")

    assert hidden == []
    assert [row["id"] for row in recalled(repo, "net.py")] == [memory]
    assert repo.show(memory)["provenance"] == []


def test_what_was_said_by_other_means_too_outlives_the_file(repo):
    memory = repo.remember("See src/net.py")
    repo.write("CLAUDE.md", "- See src/net.py\n")
    repo.add()
    repo.write("CLAUDE.md", "")
    repo.add()

    assert [row["id"] for row in recalled(repo, "net.py")] == [memory]
    assert repo.show(memory)["provenance"] == []


def recalled(tree, query):
    return recall.recall(tree.home, tree.call, query=query)["results"]
