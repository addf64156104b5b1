"""What goes out and comes in again makes an equal store; what is here already stays."""

import json
import os
import stat
from datetime import UTC, datetime

import pytest
from in_process import ask, command
from verb_world import NET, dump, prepared

from yaadwatch import places
from yaadwatch.db import history, rows, vectors
from yaadwatch.db import sessions as db_sessions
from yaadwatch.memory import gaps
from yaadwatch.model.limits import TEXT_CHARS_MAX
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.model.settings import STORED_TEXT_CHARS_MAX
from yaadwatch.projects import exporting, verifying
from yaadwatch.remember import inject
from yaadwatch.sessions import sessions

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def content(repo):
    """Return every row that is exported; a version that reads as its memory does has no words."""
    with repo.db() as db:
        found = db.read(
            lambda conn: {
                table.name: sorted(
                    (
                        {name: value for name, value in row.items() if name != "worktree"}
                        for row in rows.everything(conn, table)
                    ),
                    key=repr,
                )
                for table in rows.tables(conn)
            }
        )
    said = {row["id"]: row["text"] for row in found["nodes"]}
    for row in found["node_versions"]:
        row["text"] = None if row["text"] == said[row["node"]] else row["text"]
    found["node_versions"].sort(key=repr)
    return found


@prepared
def full(world):
    """A store with history, archived memories, ended relations, anchors, keys and tags."""
    repo = world.watched()
    repo.write("CLAUDE.md", "# Rules\n\n- Prices are integers, in cents.\n- Ask before deploys.\n")
    repo.commit("rules")
    repo.add()
    first = repo.remember()
    second = repo.remember("Deploys go through `make ship`", tags=["deploy", "später ☂"], pin=True)
    repo.edit(second, "Deploys go through `make ship`, after the tests")
    repo.link(first, "led_to", second, weight=0.5, attributes={"why": ["a", {"b": None}]})
    repo.link(second, "depends_on", first)
    repo.unlink(second, "depends_on", first)
    repo.world.clock.wait(5)
    repo.link(second, "depends_on", first)
    repo.forget(repo.remember("The staging server is called otter"), "gone")
    given = [
        GivenNode(id="req-1", text="Twins read alike", created_at="2026-01-02T03:04:05Z"),
        GivenNode(id="req-2", text="Twins read alike", tier=3),
    ]
    inject.inject(
        repo.home, repo.call, nodes=given, edges=[GivenEdge(from_="req-1", kind="is_a", to="req-2")]
    )
    return repo


def other(world, name="other"):
    repo = world.repo(name)
    repo.add()
    return repo


# JSON Lines


def test_what_was_exported_makes_an_equal_store(full):
    path = full.path.parent / "out.jsonl"
    told = ask(full, "export", path)
    there = other(full.world)

    answer = ask(there, "import", path, "--mine")

    assert content(there) == content(full)
    assert told["counts"] == {table: len(found) for table, found in content(full).items() if found}
    assert {table: found["new"] for table, found in answer["counts"].items()} == told["counts"]
    assert answer["conflicts"] == answer["left_out"] == []
    assert verifying.verify(there.home, there.call)["findings"] == []
    assert there.memories() == full.memories()


def test_a_text_that_is_stored_longer_than_it_was_said_comes_in(world):
    """Control characters are told in letters, so that each of them is four to six."""
    repo, there = world.repo(), world.repo("there")
    repo.add()
    memory = repo.remember(
        "What the terminal says: " + "\x1b[1m\u202e" * ((TEXT_CHARS_MAX - 24) // 5)
    )
    assert len(repo.show(memory)["text"]) > TEXT_CHARS_MAX
    there.add()
    path = repo.path.parent / "out.jsonl"
    ask(repo, "export", path)

    answer = ask(there, "import", path, "--mine")

    assert answer["left_out"] == []
    assert there.show(memory)["text"] == repo.show(memory)["text"]


def test_lines_in_which_something_steers_a_terminal_come_in_letters(full):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    lines = path.read_text()
    for word in ("deploy", "integers", "otter", "gone"):
        assert word in lines
        lines = lines.replace(word, r"\u001b[31m" + word)
    path.write_text(lines)
    there = other(full.world)

    answer = ask(there, "import", path, "--mine")

    assert answer["left_out"] == []
    assert "otter" in str(content(there))
    assert b"\x1b" not in b"".join(
        str(value).encode()
        for rows in content(there).values()
        for row in rows
        for value in row.values()
    )
    assert verifying.verify(there.home, there.call)["findings"] == []


@pytest.mark.parametrize("how", ["jsonl", "markdown"])
def test_a_memory_of_long_ago_comes_in(full, how):
    """A year of fewer than four digits goes out with four."""
    given = [GivenNode(id="old-1", text="Bees know the way", created_at="0033-04-05T06:07:08Z")]
    inject.inject(full.home, full.call, nodes=given)
    path = full.path.parent / ("out.jsonl" if how == "jsonl" else "out")
    ask(full, "export", path, "--format", how)
    there = other(full.world)

    answer = ask(there, "import", path, "--mine")

    assert {one["row"] for one in answer["left_out"]} <= {".archive, 2 pages"}
    assert there.show("old-1")["created_at"] == datetime(33, 4, 5, 6, 7, 8, tzinfo=UTC)


def test_notes_that_say_the_same_at_the_same_time_are_as_many_afterwards(world):
    repo, there = world.repo(), world.repo("there")
    repo.add()
    there.add()
    with repo.home.space(repo.call) as space:
        begun = sessions.session_start(repo.home, repo.call)["session"]
        at = datetime(2026, 3, 1, tzinfo=UTC)
        for _ in range(3):
            space.db.write(db_sessions.add_note, begun, "The same again", at)
    path = repo.path.parent / "out.jsonl"
    ask(repo, "export", path)

    ask(there, "import", path, "--mine")

    assert content(there)["session_notes"] == content(repo)["session_notes"]
    assert len(content(there)["session_notes"]) == 3


def test_an_approved_gap_goes_on_being_counted_under_another_home_s_key(full):
    path = full.path.parent / "out.jsonl"
    for question in ("How do we deploy?", "Who owns billing?"):
        full.home.poorly_answered(full.home.project_at(full.path)[0].id, question)
    gaps.approve_gap(full.home, full.call, question="how do we deploy", reason="often asked")
    told = ask(full, "export", path)
    assert told["counts"]["gaps"] == 1
    assert "billing" not in path.read_text()
    places.key_file().unlink()
    there = other(full.world)

    answer = ask(there, "import", path, "--mine")

    assert answer["counts"]["gaps"] == {"new": 1}
    there.home.poorly_answered(there.home.project_at(there.path)[0].id, "deploy, how do we?")
    (gap,) = gaps.gaps(there.home, there.call)["gaps"]
    assert (gap["text"], gap["asked"], gap["reason"]) == ("how do we deploy", 2, "often asked")


def test_a_gap_without_words_is_left_out_and_told(full):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    at = "2026-11-21T09:30:00.000Z"
    row = {"table": "gaps", "hash": "ab" * 32, "asked": 3, "first_at": at, "last_at": at}
    path.write_text(path.read_text() + json.dumps(row) + "\n")

    answer = ask(other(full.world), "import", path, "--mine")

    (left,) = answer["left_out"]
    assert (left["table"], "not approved" in left["reason"]) == ("gaps", True)


def test_an_export_of_the_import_is_the_same_file(full):
    path, again = full.path.parent / "one.jsonl", full.path.parent / "two.jsonl"
    ask(full, "export", path)
    there = other(full.world)
    ask(there, "import", path, "--mine")

    ask(there, "export", again)

    head, *lines = path.read_bytes().splitlines()
    head_again, *lines_again = again.read_bytes().splitlines()
    assert lines == lines_again
    assert json.loads(head).keys() == json.loads(head_again).keys()


def test_a_memory_reworded_and_back_goes_out_the_same_from_both_stores(full):
    one, two, three = (full.path.parent / f"{name}.jsonl" for name in ("one", "two", "three"))
    memory = full.remember("Pagers are off at night")
    full.edit(memory, "Pagers are off from ten to six")
    full.edit(memory, "Pagers are off at night")
    ask(full, "export", one)
    there = other(full.world)
    ask(there, "import", one, "--mine")
    ask(there, "export", two)

    answer = ask(full, "import", two, "--mine")
    ask(full, "export", three)

    assert {what for found in answer["counts"].values() for what in found} == {"same"}
    first, *others = (path.read_bytes().splitlines()[1:] for path in (one, two, three))
    assert others == [first, first]
    said = [version["text"] for version in there.show(memory)["versions"]]
    assert said == [version["text"] for version in full.show(memory)["versions"]]


def test_importing_twice_changes_nothing(full):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    before = content(full)

    answer = ask(full, "import", path, "--mine")

    assert {what for found in answer["counts"].values() for what in found} == {"same"}
    assert content(full) == before


def test_a_memory_that_was_reworded_and_back_is_the_same_in_both_ways(full):
    memory = full.remember("Pagers are on at night")
    full.edit(memory, "Pagers are off at night")
    full.edit(memory, "Pagers are on at night")
    path, again = full.path.parent / "one.jsonl", full.path.parent / "two.jsonl"
    ask(full, "export", path)
    there = other(full.world)
    ask(there, "import", path, "--mine")
    ask(there, "export", again)

    answers = [
        ask(full, "import", path, "--mine"),
        ask(full, "import", again, "--mine"),
        ask(there, "import", path, "--mine"),
    ]

    for answer in answers:
        assert answer["conflicts"] == []
        assert {what for found in answer["counts"].values() for what in found} == {"same"}
    for tree in (full, there):
        with tree.db() as db:
            said = [version.text for version in db.read(history.versions_of_node, memory)]
        assert said == [f"Pagers are {how} at night" for how in ("on", "off", "on")]


def test_a_dry_run_counts_and_changes_nothing(full):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    there = other(full.world)
    with there.db() as db:
        before = dump(db)

    tried = ask(there, "import", path, "--mine", "--dry-run")

    with there.db() as db:
        assert dump(db) == before
    done = ask(there, "import", path, "--mine")
    assert tried["dry_run"] is True
    assert tried["counts"] == done["counts"]
    assert tried["import"] is None


def test_what_says_otherwise_here_stays_and_is_told(full):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    there = other(full.world)
    ask(there, "import", path, "--mine")
    with there.db() as db:
        node = db.read(
            lambda conn: conn.execute("SELECT id FROM nodes WHERE text LIKE 'Deploys%'").get
        )
    there.edit(node, "Deploys are made by the pipeline")
    before = content(there)

    answer = ask(there, "import", path, "--mine")

    assert content(there) == before
    (conflict,) = answer["conflicts"]
    assert (conflict["table"], conflict["row"]) == ("nodes", node)
    assert "text" in conflict["reason"]
    ran = command(there, "import", path, "--mine")
    assert "kept as it is here" in ran.out


def test_a_memory_whose_key_is_taken_here_comes_without_it_and_that_is_told(full):
    theirs = full.remember("Wages are paid on Mondays", key="wages")
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    there = other(full.world)
    mine = there.remember("Wages are paid on Fridays", key="wages")

    answer = ask(there, "import", path, "--mine")

    assert there.show(mine)["key"] == "wages"
    assert there.show(theirs)["key"] is None
    assert there.show(theirs)["text"] == "Wages are paid on Mondays"
    assert answer["left_out"] == []
    (conflict,) = answer["conflicts"]
    assert (conflict["table"], conflict["row"]) == ("nodes", theirs)
    assert "wages" in conflict["reason"]
    assert mine[-8:] in conflict["reason"]


def test_a_memory_that_is_here_under_another_id_is_that_one(full):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    there = other(full.world)
    here = there.remember("Deploys go through `make ship`, after the tests")

    answer = ask(there, "import", path, "--mine")

    assert answer["counts"]["nodes"]["merged"] >= 1
    assert there.memories().count("Deploys go through `make ship`, after the tests") == 1
    shown = there.show(here)
    assert [edge["kind"] for edge in shown["edges"] if edge["kind"] == "depends_on"]
    assert verifying.verify(there.home, there.call)["findings"] == []


def test_secrets_are_masked_on_the_way_in(full):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    data = path.read_text().replace("after the tests", f"with {TOKEN}")
    path.write_text(data)
    there = other(full.world)

    answer = ask(there, "import", path, "--mine")

    assert answer["masked"] > 0
    with there.db() as db:
        db.backup(there.path / "copy.db")
    assert TOKEN.encode() not in (there.path / "copy.db").read_bytes()
    assert any("[masked:" in text for text in there.memories())


def test_an_export_larger_than_a_line_on_the_socket_comes_in_pieces(full, monkeypatch):
    monkeypatch.setattr(exporting, "PIECE_BYTES", 700)
    path = full.path.parent / "out.jsonl"

    ran = command(full, "export", path)

    assert ran.client.calls > 5
    there = other(full.world)
    ask(there, "import", path, "--mine")
    assert content(there) == content(full)
    assert list((exporting.places.data_folder() / "spool").iterdir()) == []


def test_how_the_vectors_of_a_store_stand_stays_there(full):
    path = full.path.parent / "out.jsonl"
    there = other(full.world)
    with full.db() as db:
        missing = db.read(vectors.missing, "a-space", after=0, limit=1)
        db.write(vectors.put, "a-space", missing, [b"\1" * 8])
    ask(full, "export", path)

    answer = ask(there, "import", path, "--mine")

    assert not [table for table in answer["counts"] if table.startswith("embedding")]
    with there.db() as db:
        assert db.read(vectors.count, "a-space") == 0


def test_thousands_of_memories_go_out_and_come_in_without_a_limit(repo):
    nodes = [GivenNode(id=f"n{number}", text=f"Number {number}") for number in range(2_500)]
    inject.inject(repo.home, repo.call, nodes=nodes)
    path = repo.path.parent / "out.jsonl"
    told = ask(repo, "export", path)
    there = other(repo.world)

    ask(there, "import", path, "--mine")

    assert told["counts"]["nodes"] >= 2_500
    assert len(there.memories()) == 2_500


def test_a_circle_is_refused_and_nothing_comes(full):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    led = next(line for line in lines if line.get("kind") == "led_to")
    back = led | {"from_node": led["to_node"], "to_node": led["from_node"], "id": 99_999}
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, back]))
    there = other(full.world)
    before = content(there)

    ran = command(there, "import", path, "--mine")

    assert ran.status == 4
    assert "circle" in ran.err
    assert content(there) == before


BAD = {
    "cut off": lambda text: text[: len(text) // 2],
    "no head": lambda text: text.partition("\n")[2],
    "empty": lambda _text: "",
    "not JSON": lambda text: text + "{\n",
    "a later version": lambda text: text.replace('"format":1', '"format":2', 1),
    "deep": lambda text: text + "[" * 100_000 + "\n",
}


@pytest.mark.parametrize("spoil", BAD.values(), ids=BAD.keys())
def test_a_file_that_is_no_export_brings_nothing_and_says_why(full, spoil):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    path.write_text(spoil(path.read_text()))
    there = other(full.world)
    before = content(there)

    ran = command(there, "import", path, "--mine", "--format", "jsonl")

    assert ran.status in (2, 4)
    assert "Traceback" not in ran.err
    assert content(there) == before


ODD = [
    {"table": "nodes"},
    {"table": "nope", "x": 1},
    {"table": 7},
    {"table": "meta", "key": "role", "value": "user"},
    {"table": "node_versions", "node": "nobody", "version": 1},
    {"table": "edges", "from_node": "req-1", "to_node": "nobody", "kind": "a"},
]
NODE = {
    "table": "nodes",
    "id": "odd",
    "kind": "bug",
    "tier": 2,
    "scope": "project",
    "text": "Odd",
    "origin": "cli",
    "confidence": 1.0,
    "confirmed_at": "2026-01-01T00:00:00.000Z",
    "created_at": "2026-01-01T00:00:00.000Z",
    "updated_at": "2026-01-01T00:00:00.000Z",
}
ODD += [
    NODE | wrong
    for wrong in (
        {"tier": 9},
        {"kind": "Not a kind!"},
        {"text": ""},
        {"text": "x" * (STORED_TEXT_CHARS_MAX + 1)},
        {"text": 5},
        {"id": "x" * 200},
        {"id": TOKEN},
        {"scope": "user"},
        {"confidence": "high"},
        {"confidence": 7},
        {"created_at": "yesterday"},
        {"created_at": 10**30},
        {"tags": {"a": 1}},
        {"tags": [1]},
        {"attributes": []},
        {"unknown": 1},
        {"num": 1},
        {"text_hash": "0"},
        {"text": "a\0b"},
        {"text": "half \ud800"},
        {"id": "half \ud800"},
        {"tags": ["half \ud800"]},
        {"attributes": {"half \ud800": 1}},
        {"half \ud800": 1},
    )
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:400])
def test_a_line_that_makes_no_sense_is_left_out_and_told_and_the_others_come(full, odd):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    with path.open("a") as stream:
        stream.write(json.dumps(odd) + "\n")
    there = other(full.world)

    answer = ask(there, "import", path, "--mine")

    assert answer["left_out_count"] == 1
    assert answer["left_out"][0]["reason"]
    assert TOKEN not in json.dumps(answer)
    assert content(there) == content(full)


def test_the_users_own_store_goes_out_and_comes_in_too(full):
    path = full.path.parent / "user.jsonl"
    own = full.remembered("I prefer tabs", scope="user")["id"]
    ask(full, "export", path, "--user")
    full.forget(own)

    again = ask(full, "import", path, "--mine", "--user")

    assert [one["row"] for one in again["conflicts"]] == [own]
    wrong = ask(full, "import", path, "--mine")
    assert wrong["counts"]["nodes"] == {"left_out": 1}


def test_every_table_is_exported_or_named_as_staying(full):
    with full.db() as db:
        exported = {table.name for table in db.read(rows.tables)}
        every = {
            name
            for (name,) in db.read(
                lambda conn: conn.execute(
                    """
                    SELECT name FROM pragma_table_list
                     WHERE schema = 'main' AND type IN ('table', 'virtual')
                       AND name NOT LIKE 'sqlite_%'
                    """
                ).fetchall()
            )
        }

    assert exported | rows.STAYS.keys() >= every
    assert not exported & rows.STAYS.keys()
    assert {"nodes", "node_versions", "edges", "file_watch", "provenance", "sessions"} <= exported


# A single file


def test_a_store_goes_elsewhere_as_a_single_file_for_us_alone(full):
    path = full.path.parent / "memories.db"

    ask(full, "export", path, "--format", "store")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.glob("memories.db*")] == ["memories.db"]
    there = other(full.world)
    answer = ask(there, "import", path, "--mine")
    assert answer["format"] == "store"
    assert content(there) == content(full)


# Files of a person


def test_a_file_that_is_there_is_not_written_over_unless_asked(full):
    path = full.path.parent / "mine.jsonl"
    path.write_text("mine")

    ran = command(full, "export", path)

    assert ran.status == 4
    assert path.read_text() == "mine"
    ask(full, "export", path, "--force")
    assert path.read_text() != "mine"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_never_written_through(full):
    target = full.path.parent / "theirs"
    target.write_text("theirs")
    link = full.path.parent / "link.jsonl"
    link.symlink_to(target)

    ran = command(full, "export", link, "--force")

    assert ran.status == 4
    assert target.read_text() == "theirs"


def test_pages_do_not_go_where_a_file_is(full):
    file = full.path.parent / "notes.md"
    file.write_text("theirs")

    ran = command(full, "export", file, "--format", "markdown", "--force")

    assert ran.status == 4
    assert f"{file.name} is no folder. Nothing was written" in " ".join(ran.err.split())
    assert file.read_text() == "theirs"


def test_standard_output_gets_the_lines_alone(full):
    ran = command(full, "export", "-")

    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert lines[0]["yaadwatch"]
    assert {line["table"] for line in lines[1:]} >= {"nodes", "edges"}


def test_what_was_imported_is_listed(full):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    there = other(full.world)
    done = ask(there, "import", path, "--mine")

    (row,) = ask(there, "import", "--list")["imports"]

    assert (row["id"], row["format"], row["source"]) == (done["import"], "jsonl", "out.jsonl")
    assert row["counts"] == done["counts"]
    assert done["import"][-8:] in command(there, "import", "--list").out


def test_what_nobody_came_back_for_goes_after_a_day(full):
    made = exporting.make(full.home.clock)
    made.append("data", "YQ==")
    exporting.trim_all(full.home)
    assert made.folder.exists()
    old = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
    os.utime(made.folder, (old, old))

    exporting.trim_all(full.home)

    assert not made.folder.exists()


def test_the_file_the_memories_rest_on_is_watched_after_an_import(full):
    path = full.path.parent / "out.jsonl"
    ask(full, "export", path)
    there = other(full.world)
    ask(there, "import", path, "--mine")
    with there.db() as db:
        node = db.read(
            lambda conn: conn.execute("SELECT id FROM nodes WHERE text LIKE 'The retry%'").get
        )
    assert there.verdict(node) in ("fresh", "unknown")

    there.commit("gone", {"src/net.py": NET.replace("fetch_with_retry", "fetch")})

    assert there.verdict(node) != "fresh"
