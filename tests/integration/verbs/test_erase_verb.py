"""What is erased is in none of our files any more, byte for byte; what is merely near it stays."""

import json
import logging
import tracemalloc
from contextlib import closing
from datetime import timedelta

import apsw
import pytest
from refusals import refusal
from verb_world import every_byte_below, table

from yaadwatch import places
from yaadwatch.db import database
from yaadwatch.db.database import Database
from yaadwatch.db.erasing import WORDS as WORDS_OF
from yaadwatch.memory import gaps
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.projects import erasing, exporting, upkeep, verifying
from yaadwatch.recall import recall
from yaadwatch.sessions import sessions
from yaadwatch.system import files

SECRET = "Quuxbertha lives at Zanzibarstrasse 17 and calls herself Wolkenkuckuck"
WORDS = ("quuxbertha", "zanzibarstrass", "wolkenkuckuck")
"""As the index has them: lower case, stemmed."""


def erase(tree, id):
    return erasing.erase(tree.home, tree.call, id=id)


def left(tree):
    """Return which of the words which files of ours still hold."""
    paths = [*files.files_below(tree.store.parent), *files.files_below(places.data_folder())]
    return [
        (path.name, word)
        for path in paths
        for word in WORDS
        if word.encode() in path.read_bytes().lower()
    ]


def test_no_byte_of_it_is_left_in_any_file(repo, world):
    for number in range(40):
        repo.remember(f"Memory {number} about src/net.py")
    memory = repo.remember(SECRET + " in src/net.py", tags=["wolkenkuckuck"])
    repo.edit(memory, SECRET + ", near src/net.py")
    repo.forget(memory, f"because {SECRET}")
    repo.restore(memory)
    with repo.home.space(repo.call) as space:
        project = space.project
        space.db.backup(places.backups(project.id) / "20260101T000000000000.db")
        space.db.backup(places.project_store(project.id).with_name("yaad.db.copy"))
    places.log_file().parent.mkdir(exist_ok=True)
    places.log_file().write_text(
        json.dumps({"event": "x", "what": SECRET + " in src/net.py"}) + "\n"
    )
    assert {word for _, word in left(repo)} == set(WORDS)

    done = erase(repo, memory[-8:])

    assert left(repo) == []
    assert done["erased"] == [memory]
    assert done["backups"] == {"rewritten": 2, "dropped": 0}
    assert (done["also"], done["returns"], done["remains"]) == ([], [], [])
    assert len(repo.memories()) == 40
    assert json.loads(places.log_file().read_text())["event"] == "x"
    with repo.db() as db:
        about = [row for row in table(db, "events") if row[3] == memory]
        assert {row[4] for row in about} == {"{}"}
        assert about[-1][1] == "node.erased"
        assert db.read(database.get_meta, gaps.UNSCRUBBED) is None
    assert refusal(repo.show, memory).code is Code.NOT_FOUND


def test_a_rewritten_backup_has_everything_else(repo, world):
    kept = repo.remember("Pagers are off at night")
    memory = repo.remember(SECRET)
    target = places.backups(repo.home.project_at(repo.path)[0].id) / "20260101T000000000000.db"
    with repo.db() as db:
        db.backup(target)

    erase(repo, memory)

    assert target.stat().st_mode & 0o777 == 0o600
    copy = Database.open(target, role="project")
    texts = copy.read(
        lambda conn: [
            row[0] for row in conn.execute("SELECT text FROM nodes WHERE kind <> 'session'")
        ]
    )
    found = copy.read(
        lambda conn: conn.execute("SELECT count(*) FROM nodes_fts WHERE nodes_fts MATCH 'pagers'")
    ).get
    copy.close()
    assert texts == ["Pagers are off at night"]
    assert found == 1
    assert repo.show(kept)["text"] == "Pagers are off at night"


def test_what_a_session_told_of_it_is_in_no_backup_either(repo):
    sessions.session_start(repo.home, repo.call, wait_ms=0)
    memory = repo.remember(SECRET)
    kept = repo.remember("Pagers are off at night")
    session = sessions.session_end(repo.home, repo.call)["session"]["id"]
    with repo.home.space(repo.call) as space:
        space.db.backup(places.backups(space.project.id) / "20260101T000000000000.db")
        space.db.write(
            lambda conn: conn.execute(
                "UPDATE nodes SET text = 'a session' WHERE id = ?", (session,)
            )
        )
        space.db.backup(places.backups(space.project.id) / "20260102T000000000000.db")
    assert {name for name, _ in left(repo)} >= {"20260101T000000000000.db"}

    done = erase(repo, memory)

    assert left(repo) == []
    assert done["backups"] == {"rewritten": 2, "dropped": 0}
    assert done["remains"] == []
    answer = recall.recall(repo.home, repo.call, query="pagers off session")
    assert [row["id"] for row in answer["results"]] == [kept]


@pytest.mark.parametrize("said", ["接続キーは青い鳥", "The key is a blue bird"])
def test_what_another_session_noted_of_it_is_not_found_any_more(repo, said):
    memory = repo.remember(said)
    for noted in (f"{said}, as it seems", "Pagers are off at night, 夜は鳴らない"):
        session = sessions.session_start(repo.home, repo.call, wait_ms=0)["session"]
        sessions.session_note(repo.home, repo.call, text=noted, session=session)
        sessions.session_end(repo.home, repo.call, session=session)
    with repo.home.space(repo.call) as space:
        space.db.backup(places.backups(space.project.id) / "20260101T000000000000.db")

    erase(repo, memory)

    for query in ("青い鳥", "blue bird"):
        assert sessions.sessions(repo.home, repo.call, query=query)["sessions"] == []
    for query in ("seems", "鳴らない", "pagers"):
        assert len(sessions.sessions(repo.home, repo.call, query=query)["sessions"]) == 1
    (backup,) = places.backups(repo.project).glob("*.db")
    with closing(apsw.Connection(str(backup))) as copy:
        for letters, count in (('"青 い"', 0), ("blue", 0), ('"夜"', 1), ("seems", 1)):
            rows = copy.execute(
                "SELECT rowid FROM sessions_fts WHERE sessions_fts MATCH ?", (letters,)
            )
            assert len(rows.fetchall()) == count


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("learned", [True, False])
def test_a_session_goes_with_what_was_noted_in_it(repo, ended, learned):
    """Somebody's data may stand in a note alone; a session that learned nothing has no node."""
    session = sessions.session_start(repo.home, repo.call, wait_ms=0)["session"]
    sessions.session_note(repo.home, repo.call, text=SECRET)
    sessions.session_note(repo.home, repo.call, text="Wolkenk")
    kept = repo.remember("Pagers are off at night") if learned else None
    if ended:
        sessions.session_end(repo.home, repo.call)
    with repo.home.space(repo.call) as space:
        space.db.backup(places.backups(space.project.id) / "20260101T000000000000.db")

    done = erase(repo, session)

    assert left(repo) == []
    assert done["remains"] == []
    assert done["backups"] == {"rewritten": 1, "dropped": 0}
    with pytest.raises(YaadError, match="No session"):
        sessions.sessions(repo.home, repo.call, id=session)
    if kept is not None:
        assert repo.show(kept)["text"] == "Pagers are off at night"
    assert repo.remember("Pagers are on at noon")
    assert verifying.verify(repo.home, repo.call)["findings"] == []


def test_an_open_session_that_is_erased_goes_on_no_more(repo):
    """Its name is a person's words, too."""
    session = sessions.session_start(repo.home, repo.call, name="Wolkenk", wait_ms=0)["session"]
    sessions.session_note(repo.home, repo.call, text=SECRET)

    erase(repo, session)

    assert sessions.session_note(repo.home, repo.call, text="Pagers are on")["session"] != session
    with repo.home.space(repo.call) as space:
        assert space.db.read(
            lambda conn: [row[0] for row in conn.execute("SELECT name FROM sessions")]
        ) != ["Wolkenk"]
    with pytest.raises(YaadError, match="No session"):
        sessions.sessions(repo.home, repo.call, id=session)


def test_a_memory_that_says_what_was_noted_in_an_erased_session_stays(repo):
    session = sessions.session_start(repo.home, repo.call, wait_ms=0)["session"]
    sessions.session_note(repo.home, repo.call, text="The tests need redis")
    kept = repo.remember("The tests need redis")
    sessions.session_end(repo.home, repo.call)

    done = erase(repo, session)

    assert repo.show(kept)["text"] == "The tests need redis"
    assert done["also"] == [kept]


def test_a_backup_that_cannot_be_rewritten_is_dropped_only_if_it_says_it(repo):
    memory = repo.remember(SECRET)
    folder = places.backups(repo.home.project_at(repo.path)[0].id)
    folder.mkdir(parents=True)
    (folder / "20260101T000000000000.unreadable").write_bytes(b"broken " + SECRET.encode())
    (folder / "20260102T000000000000.unreadable").write_bytes(b"broken, and nothing of it")
    (folder / "0199 CLAUDE.md").write_text("- " + SECRET.replace(" ", "\n  ", 3))

    done = erase(repo, memory)

    assert done["backups"] == {"rewritten": 0, "dropped": 2}
    assert [path.name for path in folder.iterdir()] == ["20260102T000000000000.unreadable"]


@pytest.mark.parametrize(
    ("damage", "rewritten"),
    [
        ("DELETE FROM worktrees", 1),
        ("INSERT INTO learned (node, commit_id, at_ms) VALUES ('gone', 'c0ffee', 1)", 1),
        ("PRAGMA user_version = 9", 1),
        ("DELETE FROM worktrees; PRAGMA user_version = 0", 0),
        ("DROP TABLE gaps", 0),
        ("DROP TABLE nodes_fts", 0),
    ],
)
def test_a_backup_with_faults_keeps_nothing_from_being_erased(repo, damage, rewritten):
    repo.remember("Pagers are off at night")
    memory = repo.remember(SECRET)
    target = places.backups(repo.home.project_at(repo.path)[0].id) / "20260101T000000000000.db"
    with repo.db() as db:
        db.backup(target)
    with closing(apsw.Connection(str(target))) as conn:
        conn.pragma("foreign_keys", 0)
        conn.execute(damage).fetchall()

    done = erase(repo, memory)

    assert left(repo) == []
    assert done["backups"] == {"rewritten": rewritten, "dropped": 1 - rewritten}
    assert target.exists() == bool(rewritten)


@pytest.mark.parametrize("folder", ["damaged", "damaged/2"])
@pytest.mark.parametrize("long", ["", " and so on" * 1000], ids=["short", "over several pages"])
def test_a_store_that_was_put_aside_as_damaged_is_dropped_only_if_it_holds_it(
    repo, world, long, folder
):
    others = repo.store.parent / "damaged/other.db"
    text = SECRET + long
    memory = repo.remember(text)
    aside = repo.store.parent / folder / "yaad.db"
    aside.parent.mkdir(parents=True)
    with repo.db() as db:
        db.backup(aside)
    with aside.open("r+b") as stream:
        stream.write(b"no database any more")
    others.write_bytes(b"no database, and nothing of it")

    done = erase(repo, memory)

    assert not aside.exists()
    assert others.exists()
    assert (done["backups"]["dropped"], done["remains"]) == (1, [])
    assert left(repo) == []


@pytest.mark.parametrize("name", ["damaged", "snapshots"])
def test_a_folder_of_ours_that_is_a_link_leads_to_nothing_that_is_erased(repo, world, name):
    """What is in the repository may come from somebody else."""
    memory = repo.remember(SECRET)
    own = world.folder / "mine" / name
    own.mkdir(parents=True)
    letter = own / "letter.txt"
    letter.write_text(f"Dear all, {SECRET}.")
    store = own / "yaad.db"
    with repo.db() as db:
        db.backup(store)
    before = store.read_bytes()
    (repo.store.parent / name).symlink_to(own)

    done = erase(repo, memory)

    assert letter.read_text() == f"Dear all, {SECRET}."
    assert store.read_bytes() == before
    assert done["remains"] == []


def test_memories_that_say_or_said_the_same_go_too_and_quotations_are_named(repo):
    old = repo.remember(SECRET)
    repo.forget(old)
    memory = repo.remember(SECRET)
    reworded = repo.remember("Pagers are on")
    repo.edit(reworded, SECRET + " as well")
    repo.edit(reworded, "Pagers are off")
    quoting = repo.remember(f"Somebody said: {SECRET}")

    done = erase(repo, memory)

    assert set(done["erased"]) == {old, memory}
    assert done["also"] == [quoting]
    assert done["remains"] != []
    erase(repo, quoting)
    assert repo.memories() == ["Pagers are off"]


def test_what_another_memory_once_said_is_emptied_there(repo):
    reworded = repo.remember(SECRET)
    repo.edit(reworded, "Pagers are off")
    memory = repo.remember(SECRET)

    erase(repo, memory)

    assert left(repo) == []
    assert repo.show(reworded)["versions"][0]["text"] == "[erased]"
    assert repo.memories() == ["Pagers are off"]


def test_what_a_persons_file_says_is_refused_with_the_place(repo):
    repo.write("CLAUDE.md", f"# Rules\n\n- {SECRET}\n")
    repo.add()
    with repo.db() as db:
        memory = next(row[1] for row in table(db, "nodes") if row[5] == SECRET)

    error = refusal(erase, repo, memory)

    assert error.code is Code.REFUSED
    assert "CLAUDE.md (line 3)" in error.message
    assert repo.show(memory)["text"] == SECRET


def test_one_that_stands_in_blocks_is_taken_out_of_them_first(repo, world):
    repo.commit("rules", {"CLAUDE.md": "# Rules\n\n- Written by a person\n"})
    repo.add(mode="inline")
    memory = repo.remember(SECRET, kind="convention")
    repo.sync()
    assert SECRET in repo.read("CLAUDE.md")
    repo.remember("Another rule", kind="convention")
    repo.sync()

    repo.settle()
    done = erase(repo, memory)

    assert SECRET not in repo.read("CLAUDE.md")
    assert "Another rule" in repo.read("CLAUDE.md")
    assert done["snapshots"] >= 1
    assert left(repo) == []
    world.clock.advance(timedelta(minutes=2))
    repo.sync()
    assert SECRET not in repo.read("CLAUDE.md")
    assert repo.memories() == ["Another rule", "Written by a person"]


def test_a_copy_of_a_persons_file_that_says_the_secret_itself_goes_too(repo):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    repo.write("CLAUDE.md", f"- Deploy with {token} from the north office\n")
    repo.add(mode="inline")
    repo.remember("Another rule", kind="convention")
    repo.sync()
    snapshots = repo.store.parent / "snapshots"
    assert token in every_byte_below(snapshots).decode()
    repo.write("CLAUDE.md", repo.read("CLAUDE.md").replace(token, "care"))
    repo.add()
    memory = repo.remember(f"Deploy with {token} from the north office")

    erase(repo, memory)

    assert token.encode() not in every_byte_below(repo.store.parent, places.data_folder())


def test_an_erase_that_was_cut_off_before_its_bytes_were_gone_is_finished_by_upkeep(
    repo, world, monkeypatch
):
    memory = repo.remember(SECRET)

    def killed(self):
        raise YaadError(Code.UNAVAILABLE, "There is no space left.")

    with monkeypatch.context() as patched:
        patched.setattr(Database, "scrub", killed)
        with pytest.raises(YaadError):
            erase(repo, memory)
    world.reopen()
    assert repo.memories() == []

    upkeep.run(repo.home)

    assert left(repo) == []
    with repo.db() as db:
        assert db.read(database.get_meta, gaps.UNSCRUBBED) is None


def test_a_reader_meanwhile_keeps_nothing_and_loses_nothing(repo):
    """Readers see the store before or after; the log is emptied once they are done."""
    memory = repo.remember(SECRET)
    with repo.db() as db:

        def look(conn):
            before = conn.execute("SELECT count(*) FROM nodes").get
            return before, conn.execute("SELECT count(*) FROM nodes").get

        one, other = db.read(look)
    erase(repo, memory)

    assert one == other
    assert left(repo) == []


def test_short_words_are_erased_and_their_like_inside_other_words_is_not(repo):
    memory = repo.remember("Tabs")
    kept = repo.remember("Tabs are 4 wide")

    done = erase(repo, memory)

    assert (done["erased"], done["also"]) == ([memory], [])
    assert repo.show(kept)["text"] == "Tabs are 4 wide"


def test_files_that_only_it_was_about_are_erased_with_it(repo):
    repo.commit("two", {"src/wolkenkuckuck.py": "x = 1\n"})
    memory = repo.remember("Quuxbertha wrote src/wolkenkuckuck.py for the Zanzibarstrasse")

    erase(repo, memory)

    assert left(repo) == []


@pytest.mark.covering
@pytest.mark.parametrize(
    "named",
    ["the file src/wolkenkuckuck.py", "http://wolkenkuckuck/api", "the package wolkenkuckuck"],
)
@pytest.mark.parametrize("was", ["the last", "edited", "beside things that nothing names now"])
def test_what_only_the_erased_memory_names_is_in_no_file_and_no_backup(repo, named, was):
    repo.write("src/wolkenkuckuck.py", "x = 1\n")
    repo.write("package.json", '{"dependencies": {"wolkenkuckuck": "1", "left-pad": "1"}}')
    repo.commit("two")
    others = [repo.remember(f"Port 80{number} is taken") for number in range(10, 20)]
    memory = repo.remember(f"We deploy with {named} and the package left-pad")
    kept = repo.remember("The package left-pad is pinned")
    with repo.home.space(repo.call) as space:
        space.db.backup(places.backups(space.project.id) / "20260101T000000000000.db")
    if was == "edited":
        repo.edit(memory, "We deploy at noon")
    if was == "beside things that nothing names now":
        for number, one in enumerate(others):
            repo.edit(one, f"Note {number}")

    erase(repo, memory)

    assert left(repo) == []
    ends = {edge["text"] for edge in repo.show(kept)["edges"] if edge["kind"] == "touches"}
    assert ends == {"left-pad (npm package)"}


@pytest.mark.parametrize("said", ["src/net.py", "relates_to", "agent:quux"])
def test_paths_kinds_and_ids_that_read_the_same_stay(repo, said):
    kept = repo.remember("The retries of src/net.py are three")
    other = repo.remember("Pagers are off at night")
    repo.link(kept, "relates_to", other, attributes={"path": said, "why": f"see {said} there"})
    memory = repo.remember(f"{said}", tags=["x"])
    before = structure(repo)

    erase(repo, memory)

    left_over = structure(repo)
    assert all(row in before[name] for name, rows in left_over.items() for row in rows)
    assert {"src/net.py"} <= {path for (path,) in left_over["file_watch"]}
    with repo.db() as db:
        edge = json.loads(
            db.read(
                lambda conn: (
                    conn.execute(
                        "SELECT attributes FROM edges WHERE from_node = ? AND to_node = ?",
                        (kept, other),
                    ).get
                )
            )
        )
    assert (edge["path"], edge["why"]) == (said, "see [erased] there")


def structure(tree):
    queries = {
        "file_watch": "SELECT path FROM file_watch",
        "edges": "SELECT kind FROM edges",
        "worktrees": "SELECT path FROM worktrees",
    }
    with tree.db() as db:
        return {
            name: db.read(lambda conn, sql=sql: conn.execute(sql).fetchall())
            for name, sql in queries.items()
        }


OWN = {"nodes": {"text", "summary", "tags"}, "node_versions": {"text"}}
# What memories say themselves: `memories_saying` and its callers see to it.

STRUCTURE = {
    "agent_files": {
        *("path", "mode", "state", "digest", "block", "head", "branch", "written_ms", "adopted")
    },
    "agreements": {"path", "block", "node", "line"},
    "branch_blocks": {"path", "branch", "head", "block"},
    "claims": {"node", "subject", "attribute", "place", "source"},
    "contradictions": {"name", "kind", "decision", "kept", "actor"},
    "dismissals": {"text_hash", "node", "how"},
    "edges": {"from_node", "to_node", "kind"},
    "embedding_models": {"space", "name", "state"},
    "embeddings": {"space"},
    "events": {"kind", "subject"},
    "file_snapshots": {"path", "name", "digest"},
    "file_watch": {
        *("node", "path", "reference", "symbol", "commit_id", "blob", "method", "fingerprint"),
        "trust",
    },
    "gaps": {"hash", "approved_by"},
    "imports": {"id", "format"},
    "job_runs": {"job"},
    "learned": {"node", "commit_id"},
    "provisional": {"node", "branch", "base"},
    "meta": {"key", "value"},
    "node_versions": {"node", "change", "actor", "kind"},
    "nodes": {"id", "kind", "scope", "text_hash", "key", "origin", "session"},
    "proposals": {"node", "actor", "decision"},
    "projects": {"id", "root", "common_dir", "remote", "root_commit"},
    "provenance": {"node", "path"},
    "session_files": {"session", "path"},
    "session_nodes": {"session", "node", "role"},
    "session_notes": {"session"},
    "sessions": {"id", "agent", "ended_by", "branch", "start_commit"},
    "sightings": {"path", "signature", "blob"},
    "stale_flags": {"node", "verdict", "level", "branch"},
    "tombstones": {"path", "text_hash"},
    "worktrees": {"path", "head", "branch", "lookback"},
}
# Columns of paths, kinds, ids and hashes: no words, whatever they look like. Never changed.


def test_every_column_of_text_is_named_as_words_or_as_structure(repo):
    with repo.db() as db:
        rows = db.read(
            lambda conn: conn.execute(
                """
                SELECT tables.name, columns.name
                  FROM pragma_table_list AS tables, pragma_table_xinfo(tables.name) AS columns
                 WHERE tables.schema = 'main' AND tables.type = 'table'
                   AND tables.name NOT LIKE 'sqlite_%' AND columns.type LIKE 'TEXT%'
                """
            ).fetchall()
        )
    others = [
        {(name, column) for name, columns in sort.items() for column in columns}
        for sort in (OWN, STRUCTURE)
    ]
    sorts = [set(WORDS_OF), *others]

    assert set().union(*sorts) == set(rows)
    assert sum(map(len, sorts)) == len(rows)


def test_a_rule_of_the_store_that_forbids_it_is_told_in_words(repo):
    memory = repo.remember(SECRET)
    with repo.db() as db:
        db.write(
            lambda conn: conn.execute(
                "INSERT INTO events (kind, at_ms, subject, body) VALUES ('x', 1, 'y', ?)",
                (json.dumps({"reason": SECRET}),),
            )
        )
        db.write(
            lambda conn: conn.execute(
                "CREATE TRIGGER strict BEFORE UPDATE ON events WHEN old.kind = 'x'"
                " BEGIN SELECT RAISE(ABORT, 'not this one'); END"
            )
        )

    error = refusal(erase, repo, memory)

    assert error.code is Code.UNAVAILABLE
    assert "events.body" in error.message
    assert repo.show(memory)["text"] == SECRET


@pytest.mark.parametrize("before", [0, 1024 * 1024 - 20, 5 * 1024 * 1024])
def test_a_large_file_is_searched_without_being_read_into_memory(repo, before):
    memory = repo.remember(SECRET)
    large = places.backups(repo.home.project_at(repo.path)[0].id) / "large.db"
    large.parent.mkdir(parents=True, exist_ok=True)
    large.write_bytes(b"x" * before + SECRET.encode() + b"y" * (24 * 1024 * 1024))

    tracemalloc.start()
    found = [erasing._file_holds(large, [word.encode()]) for word in (SECRET, "Nobody")]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found == [True, False]
    assert peak < 8 * 1024 * 1024
    assert erase(repo, memory)["backups"] == {"rewritten": 0, "dropped": 1}
    assert left(repo) == []


def test_erasing_says_nothing_in_the_log(repo, caplog):
    caplog.set_level(logging.DEBUG)
    erase(repo, repo.remember(SECRET))

    assert "Quuxbertha" not in caplog.text


def test_a_memory_of_the_users_own_is_erased_from_the_users_store(repo):
    memory = repo.remember(SECRET, scope="user")
    assert {word for _, word in left(repo)} == set(WORDS)

    assert erase(repo, memory)["erased"] == [memory]
    assert left(repo) == []


def test_what_is_on_its_way_in_or_out_goes(repo):
    memory = repo.remember(SECRET)
    begun = exporting.make(repo.home.clock)
    begun.path().write_text(SECRET)

    assert erase(repo, memory)["remains"] == []

    assert not begun.folder.exists()
    assert refusal(exporting.find, begun.id).code is Code.NOT_FOUND


def test_a_first_sentence_that_others_begin_with_too_stays_theirs(repo):
    memory = repo.remember(f"Please note the following. {SECRET}")
    kept = repo.remember("Please note the following. Pagers are off at night")

    done = erase(repo, memory)

    assert done["also"] == []
    assert repo.show(kept)["text"] == "Please note the following. Pagers are off at night"
