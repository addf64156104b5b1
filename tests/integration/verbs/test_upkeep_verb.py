"""What fades, what is pruned, and what upkeep never does."""

from datetime import timedelta

import pytest
from refusals import refusal
from verb_world import NET, RETRY, World, dump, table

from yaadwatch import places
from yaadwatch.db import edges, history, nodes
from yaadwatch.memory import gaps
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.memories import Edge
from yaadwatch.model.settings import Memory, Settings
from yaadwatch.projects import upkeep
from yaadwatch.projects.row_import import NamedStore

YEAR = timedelta(days=365)
DAY = timedelta(days=1)


def kept(tree):
    return set(tree.memories())


def texts(rows):
    return sorted(row["text"] for row in rows)


def relate(tree, one, other, kind):
    now = tree.world.clock.now()
    edge = Edge(from_node=one, to_node=other, kind=kind, created_at=now, valid_from=now)
    with tree.db() as db:
        db.write(edges.insert, edge)


def test_a_memory_fades_with_time_and_is_archived_with_the_reason(repo, world):
    memory = repo.remember("The cache holds 12 entries in src/net.py", kind="spec")
    assert repo.upkeep()["archived"] == []

    world.clock.advance(timedelta(days=99))
    assert repo.upkeep()["archived"] == []
    world.clock.advance(DAY)
    done = repo.upkeep()

    assert [(row["id"], row["confidence"]) for row in done["archived"]] == [(memory, 0.099)]
    shown = repo.show(memory)
    assert shown["archive_reason"] == "faded to 0.10"
    assert shown["versions"][-1]["by"] == "upkeep"
    assert repo.memories() == []
    assert repo.restore(memory)["archived"] is False
    assert repo.upkeep()["archived"] == []


def test_each_kind_fades_at_its_own_pace(repo, world):
    for kind in ("task", "spec", "command", "decision"):
        repo.remember(f"About {kind} in src/net.py", kind=kind)

    gone = []
    for _ in range(40):
        world.clock.advance(timedelta(days=25))
        faded = [row["text"].split() for row in repo.upkeep()["archived"]]
        gone += [words[1] for words in faded if words[0] == "About"]

    assert gone == ["task", "spec", "command", "decision"]


def test_what_rests_on_nothing_fades_twice_as_fast(repo, world):
    repo.remember("The cache is in src/net.py", kind="spec")
    repo.remember("The cache is nowhere", kind="spec")

    world.clock.advance(timedelta(days=60))

    assert texts(repo.upkeep()["archived"]) == ["The cache is nowhere"]


def test_of_two_memories_the_superseded_one_fades_faster(repo, world):
    old = repo.remember("The limit is 3, see src/net.py", kind="spec")
    new = repo.remember("The limit is 5, see src/net.py", kind="spec")
    relate(repo, new, old, "supersedes")

    world.clock.advance(timedelta(days=60))

    assert [row["id"] for row in repo.upkeep()["archived"]] == [old]
    assert repo.memories() == ["The limit is 5, see src/net.py"]


def test_pinned_and_written_memories_never_fade(repo, world):
    repo.write("CLAUDE.md", "- Written by a person\n")
    repo.add()
    pinned = repo.remember("Pinned", pin=True)

    world.clock.advance(10 * YEAR)

    assert repo.upkeep()["archived"] == []
    assert kept(repo) == {"Pinned", "Written by a person"}
    repo.unpin(pinned)
    assert texts(repo.upkeep()["archived"]) == ["Pinned"]


def test_what_only_another_branch_says_does_not_fade(repo, world):
    repo.write("CLAUDE.md", "- Written by a person\n")
    repo.add()
    repo.write("CLAUDE.md", "")
    repo.add()

    world.clock.advance(10 * YEAR)

    assert repo.upkeep()["archived"] == []


def test_confirming_keeps_a_memory(repo, world):
    memory = repo.remember("The cache is in src/net.py", kind="spec")
    for _ in range(10):
        world.clock.advance(timedelta(days=90))
        repo.confirm(memory)
        assert repo.upkeep()["archived"] == []


def test_two_runs_are_one(repo, world):
    for number in range(20):
        repo.remember(
            f"Memory {number} about src/net.py", kind="task" if number % 2 else "decision"
        )
    world.clock.advance(timedelta(days=120))
    first = repo.upkeep()
    with repo.db() as db:
        before = dump(db)

    again = repo.upkeep()

    assert len(first["archived"]) == 10
    assert (again["archived"], again["pruned"], again["orphans"]) == ([], [], 0)
    with repo.db() as db:
        assert dump(db) == before


@pytest.mark.parametrize("gap", [30, 365])
def test_one_late_run_finds_what_daily_runs_found(world, gap):
    daily, late = world.repo("daily"), world.repo("late")
    found = set()
    for tree in (daily, late):
        tree.add()
        for number, kind in enumerate(("task", "spec", "command", "decision", "bug", "fix") * 3):
            where = "src/net.py" if number % 2 else "nothing"
            tree.remember(f"Memory {number} about {where}", kind=kind, pin=number % 7 == 0)
    for _ in range(gap):
        world.clock.advance(DAY)
        with world.home.stores.use(project(daily)) as db:
            done = upkeep.UpkeepResult()
            store = NamedStore(id=project(daily).id, role="project", project=project(daily), db=db)
            upkeep._upkeep_store(world.home, store, done, dry_run=False, accept=False)
            found |= {row["text"] for row in done.archived}

    assert {
        row["text"] for row in late.upkeep()["archived"] if row["project"] == str(late.path)
    } == found
    assert kept(late) == kept(daily)


def project(tree):
    return tree.home.project_at(tree.path)[0]


def test_a_dry_run_says_what_a_run_would_do_and_changes_nothing(repo, world):
    for number in range(12):
        repo.write(f"src/part{number}.md", "Part.\n")
        repo.remember(
            f"Memory {number}: src/part{number}.md", kind="task" if number % 3 else "spec"
        )
    world.clock.advance(timedelta(days=50))
    repo.upkeep()
    world.clock.advance(timedelta(days=95))
    with world.home.stores.use(project(repo)) as db:
        before = dump(db)
        dry = repo.upkeep(dry_run=True)
        assert dump(db) == before

    done = repo.upkeep()

    assert dry["dry_run"]
    assert dry | {"dry_run": False} == done
    assert len(done["pruned"]) == 8
    assert len(done["archived"]) == 4
    assert done["orphans"] == 8


def test_a_dry_run_does_not_write_down_what_was_recalled(repo, world):
    memory = repo.remember()
    world.home.recalled.note(project(repo).id, [memory])

    repo.upkeep(dry_run=True)
    assert accessed(repo, memory) is None
    repo.upkeep()
    assert accessed(repo, memory) is not None


def accessed(tree, memory):
    with tree.db() as db:
        return db.read(nodes.get, memory).accessed_at


def test_a_recalled_memory_is_written_down_once_a_day(repo, world):
    memory = repo.remember()
    now = world.clock.now()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + DAY
    world.clock.advance(midnight - now)
    seen = []
    for hours in (0, 1, 30):
        world.clock.advance(timedelta(hours=hours))
        world.home.recalled.note(project(repo).id, [memory])
        upkeep.flush(world.home)
        seen.append(accessed(repo, memory))
        assert not world.home.recalled.has(project(repo).id)

    assert seen[0] is not None
    assert seen[1] == seen[0]
    assert seen[2] > seen[0]


def test_only_what_nothing_points_at_is_pruned(repo, world):
    old = repo.remember("The limit is 3", kind="task")
    pointing = repo.remember("The limit is 5", kind="decision", pin=True)
    alone = repo.remember("Something else", kind="task")
    relate(repo, pointing, old, "supersedes")
    world.clock.advance(timedelta(days=60))
    assert len(repo.upkeep()["archived"]) == 2

    world.clock.advance(timedelta(days=89))
    assert repo.upkeep()["pruned"] == []
    world.clock.advance(timedelta(days=2))
    done = repo.upkeep()

    assert [row["id"] for row in done["pruned"]] == [alone]
    assert repo.show(old)["archived_at"] is not None
    with pytest.raises(YaadError):
        repo.show(alone)
    with repo.db() as db:
        assert "node.erased" in [row[1] for row in table(db, "events")]
        for name in ("node_versions", "file_watch", "stale_flags", "provenance"):
            assert alone not in str(table(db, name))


def test_what_a_file_says_again_is_not_pruned(repo, world):
    """Archived by hand, hidden in the file, and then said by another branch."""
    repo.commit("rules", {"CLAUDE.md": "- Written by a person\n"})
    repo.add()
    repo.git("checkout", "-q", "HEAD~1")
    repo.sync()
    with repo.db() as db:
        memory = next(row[1] for row in table(db, "nodes") if row[5] == "Written by a person")
    repo.forget(memory)

    world.clock.advance(YEAR)

    assert repo.upkeep()["pruned"] == []
    with repo.db() as db:
        assert db.read(history.said_somewhere, [memory]) == {memory}


def test_files_and_symbols_that_nothing_touches_go(repo, world):
    memory = repo.remember()
    with repo.db() as db:
        assert len(table(db, "nodes")) == 4
    repo.write("src/net.py", "")
    repo.confirm(memory, anyway=True)

    assert repo.upkeep()["orphans"] == 1
    with repo.db() as db:
        assert len(table(db, "nodes")) == 3


def test_more_than_one_batch_is_no_limit(repo, world):
    with repo.db() as db:
        db.write(_insert_many, 1203, world)

    world.clock.advance(YEAR)
    dry = repo.upkeep(dry_run=True, accept=True)
    done = repo.upkeep(accept=True)

    assert len(dry["archived"]) == len(done["archived"]) == 1203
    assert done["checked"] == 1203
    world.clock.advance(YEAR)
    assert len(repo.upkeep(accept=True)["pruned"]) == 1203
    with repo.db() as db:
        assert table(db, "nodes") == []


def _insert_many(conn, count, world, said="Memory"):
    from yaadwatch.model.memories import Node
    from yaadwatch.text import words

    now = world.clock.now()
    for number in range(count):
        text_ = f"{said} {number}"
        nodes.insert(
            conn,
            Node(
                id=world.clock.new_id(),
                kind="task",
                tier=2,
                scope="project",
                text=text_,
                text_hash=words.text_hash(text_),
                summary=text_,
                origin="cli",
                confidence=1.0,
                confirmed_at=now,
                created_at=now,
                updated_at=now,
            ),
        )


def test_a_clock_that_went_back_fades_nothing(repo, world):
    repo.remember("The cache is in src/net.py", kind="task")
    world.clock.advance(-YEAR)

    assert repo.upkeep()["archived"] == []
    assert repo.upkeep()["pruned"] == []


def test_a_store_that_cannot_be_had_is_named_and_the_others_are_kept(world):
    fine, broken = world.repo("fine"), world.repo("broken")
    for tree in (fine, broken):
        tree.add()
        tree.remember("A task", kind="task")
    world.reopen()
    broken.store.write_bytes(b"not a database" * 1000)
    world.clock.advance(YEAR)

    done = fine.upkeep()

    assert [row["project"] for row in done["archived"]] == [str(fine.path)]
    assert len(done["skipped"]) == 1
    assert str(broken.path) in done["skipped"][0]


def test_a_row_that_we_never_wrote_is_mended_and_keeps_nobody_waiting(world, caplog):
    broken, fine = world.repo("broken"), world.repo("fine")
    for tree in (broken, fine):
        tree.add()
        tree.remember("A task", kind="task")
    with broken.db() as db:
        db.write(lambda conn: conn.execute("UPDATE nodes SET confirmed_ms = 1 << 60"))
    world.clock.advance(YEAR)

    done = fine.upkeep()

    assert [row["project"] for row in done["archived"]] == [str(fine.path)]
    assert done["skipped"] == []
    assert "store.mended" in caplog.text


@pytest.mark.parametrize(
    ("memory", "days"),
    [
        (Memory(half_life_days=1.0), 4),
        (Memory(min_confidence=0.9), 5),
    ],
)
def test_the_settings_of_ageing_are_read(tmp_path, monkeypatch, memory, days):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    world = World(tmp_path, settings=Settings(memory=memory))
    tree = world.repo()
    tree.add()
    tree.remember("The cache is in src/net.py", kind="spec")
    world.clock.advance(timedelta(days=days))

    assert len(tree.upkeep()["archived"]) == 1
    world.close()


def test_the_time_until_pruning_is_a_setting(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    world = World(tmp_path, settings=Settings(memory=Memory(prune_after_days=3)))
    tree = world.repo()
    tree.add()
    memory = tree.remember("Wrong")
    tree.forget(memory)
    world.clock.advance(timedelta(days=2))
    assert tree.upkeep()["pruned"] == []
    world.clock.advance(timedelta(days=2))

    assert [row["id"] for row in tree.upkeep()["pruned"]] == [memory]
    world.close()


def test_upkeep_leaves_flags_and_anchors_of_the_living_alone(repo, world):
    memory = repo.remember(RETRY, pin=True)
    repo.write("src/net.py", NET.replace("tries=3", "tries=4"))
    assert repo.verdict(memory) == "changed"
    world.clock.advance(YEAR)

    repo.upkeep()

    assert [row["id"] for row in repo.stale(check=False)["stale"]] == [memory]


def test_most_memories_never_fade_at_once_unless_somebody_accepts_it(repo, world):
    """A clock that jumped ahead looks like great age."""
    with repo.db() as db:
        db.write(_insert_many, 41, world)
    world.clock.advance(100 * YEAR)

    held = repo.upkeep()

    assert held["archived"] == []
    assert len(repo.memories()) == 41
    (row,) = held["held"]
    assert (row["where"], row["what"], row["count"], row["of"]) == (
        str(repo.path),
        "archived",
        41,
        41,
    )
    assert len(row["memories"]) == 10
    assert len(repo.upkeep(accept=True)["archived"]) == 41


def test_the_daily_job_leaves_a_store_alone_that_nobody_used_for_a_year(repo, world):
    """A clock that jumps by 56 years archives nothing and erases nothing, not even one memory."""
    kept, archived = repo.remember("The port is 8080"), repo.remember("The host is db1")
    repo.forget(archived)
    for years in (56, -112, 56, 56):
        world.clock.advance(years * YEAR)
        upkeep.run_daily(world.home)

    assert [node.id for node in repo.living()] == [kept]
    assert repo.show(archived)["id"] == archived

    with repo.db() as db:
        db.write(_insert_many, 41, world)
    world.clock.advance(300 * DAY)
    assert "would be archived" in refusal(upkeep.run_daily, world.home).message


def test_a_part_of_them_fades_by_itself_however_many(repo, world):
    with repo.db() as db:
        db.write(_insert_many, 60, world)
    world.clock.advance(300 * DAY)
    with repo.db() as db:
        db.write(_insert_many, 61, world, "Later")

    done = repo.upkeep()

    assert len(done["archived"]) == 60
    assert done["held"] == []


def test_archived_memories_are_not_all_erased_at_once_either(repo, world):
    with repo.db() as db:
        db.write(_insert_many, 41, world)
    world.clock.advance(YEAR)
    repo.upkeep(accept=True)
    world.clock.advance(100 * YEAR)

    assert repo.upkeep()["pruned"] == []
    assert [row["what"] for row in repo.upkeep()["held"]] == ["erased"]
    assert len(repo.upkeep(accept=True)["pruned"]) == 41


@pytest.mark.parametrize("column", ["confirmed_ms", "created_ms", "updated_ms"])
def test_a_column_of_zeros_archives_nothing(repo, world, column):
    for number in range(30):
        repo.remember(f"Memory {number} is in src/net.py")
    with repo.db() as db:
        db.write(lambda conn: conn.execute(f"UPDATE nodes SET {column} = 0").fetchall())

    done = repo.upkeep()

    assert (done["archived"], done["held"]) == ([], [])
    assert len(repo.memories()) >= 30


def test_archived_at_no_time_is_not_long_ago(repo, world):
    repo.forget(repo.remember("Wrong"))
    with repo.db() as db:
        db.write(lambda conn: conn.execute("UPDATE nodes SET archived_ms = 0").fetchall())

    assert repo.upkeep()["pruned"] == []


def test_what_is_recalled_now_and_then_does_not_fade(repo, world):
    """The stated confidence is 1.0 already: a recall lets the age count from there."""
    used = repo.remember("The cache is in src/net.py", kind="spec")
    unused = repo.remember("The queue is in src/net.py", kind="spec")
    gone = []
    for _ in range(12):
        world.clock.advance(20 * DAY)
        world.home.recalled.note(project(repo).id, [used])
        gone += [row["id"] for row in repo.upkeep()["archived"]]

    assert gone == [unused]
    assert 0.5 < repo.show(used)["confidence"] <= 1.0


def test_a_recall_raises_what_is_left_by_a_fifth_once_a_utc_day(repo, world):
    memory = repo.remember("The cache is in src/net.py", kind="spec")
    now = world.clock.now()
    world.clock.advance(now.replace(hour=0, minute=0, second=1, microsecond=0) + 61 * DAY - now)
    left = repo.show(memory)["confidence"]
    seen = []
    for hours in (0, 1, 5, 30):
        world.clock.advance(timedelta(hours=hours))
        world.home.recalled.note(project(repo).id, [memory])
        upkeep.flush(world.home)
        seen.append(repo.show(memory)["confidence"])

    assert seen[0] == pytest.approx(left + 0.2, abs=0.002)
    assert seen[1] == pytest.approx(seen[0], abs=0.002)
    assert seen[2] <= seen[1]
    assert seen[3] == pytest.approx(seen[2] + 0.2, abs=0.02)


def test_a_clock_that_jumped_ahead_and_back_leaves_memories_as_they_were(repo, world):
    memory = repo.remember("The cache is in src/net.py", kind="spec")
    world.clock.advance(50 * YEAR)
    world.home.recalled.note(project(repo).id, [memory])
    upkeep.flush(world.home)
    world.clock.advance(-50 * YEAR)

    assert repo.upkeep()["archived"] == []
    world.home.recalled.note(project(repo).id, [memory])
    upkeep.flush(world.home)
    assert repo.show(memory)["confidence"] == pytest.approx(0.4)
    assert repo.upkeep()["archived"] == []


def test_the_users_own_memories_fade_too(repo, world):
    repo.remember("I like short answers", kind="task", scope="user")
    world.clock.advance(60 * DAY)

    done = repo.upkeep()

    assert [(row["text"], row["project"]) for row in done["archived"]] == [
        ("I like short answers", "user")
    ]


def test_the_half_life_of_a_kind_is_a_setting(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    rows = ("task=400", "my kind=1")
    world = World(tmp_path, settings=Settings(memory=Memory(half_lives=rows)))
    tree = world.repo()
    tree.add()
    tree.remember("A task in src/net.py", kind="task")
    tree.remember("A kind of ours in src/net.py", kind="my-kind")
    world.clock.advance(60 * DAY)

    assert texts(tree.upkeep()["archived"]) == ["A kind of ours in src/net.py"]
    world.close()


def test_upkeep_that_was_killed_between_two_batches_goes_on(repo, world, monkeypatch):
    with repo.db() as db:
        db.write(_insert_many, 1203, world)
    world.clock.advance(YEAR)
    real, calls = upkeep._archive, []

    def killed(conn, ids, home, now):
        calls.append(len(ids))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(conn, ids, home, now)

    with monkeypatch.context() as patched:
        patched.setattr(upkeep, "_archive", killed)
        with pytest.raises(KeyboardInterrupt):
            repo.upkeep(accept=True)

    assert calls == [500, 500]
    assert len(repo.memories()) == 703
    assert len(repo.upkeep(accept=True)["archived"]) == 703


class TestOneStoreOutOfReach:
    @pytest.fixture
    def other(self, world):
        other = world.repo("other")
        other.add()
        return other

    def test_what_was_recalled_there_is_kept_and_the_others_are_written(self, repo, other, world):
        memories = {tree: tree.remember() for tree in (repo, other)}
        for tree, memory in memories.items():
            world.home.recalled.note(project(tree).id, [memory])
            world.home.poorly_answered(project(tree).id, "how do we deploy")

        with repo.without_store(), pytest.raises(YaadError) as caught:
            upkeep.flush(world.home)

        assert caught.value.code is Code.UNAVAILABLE
        assert str(repo.path) in caught.value.message
        assert accessed(other, memories[other]) is not None
        assert len(gaps.gaps(other.home, other.call)["gaps"]) == 1
        upkeep.flush(world.home)
        assert accessed(repo, memories[repo]) is not None
        assert [one["asked"] for one in gaps.gaps(repo.home, repo.call)["gaps"]] == [1]

    def test_an_upkeep_that_cannot_write_forgets_nothing_and_is_told(self, repo, world):
        memory = repo.remember()
        world.home.recalled.note(project(repo).id, [memory])
        world.home.poorly_answered(project(repo).id, "how do we deploy")

        with repo.without_store(), pytest.raises(YaadError) as caught:
            upkeep.run_daily(world.home)

        assert str(repo.path) in caught.value.message
        upkeep.run_daily(world.home)
        assert accessed(repo, memory) is not None
        assert len(gaps.gaps(repo.home, repo.call)["gaps"]) == 1

    def test_without_the_key_questions_are_kept_until_there_is_one(self, repo, world):
        world.home.poorly_answered(project(repo).id, "how do we deploy")
        key = places.key_file()
        key.write_bytes(b"too short")

        with pytest.raises(YaadError):
            upkeep.flush(world.home)
        world.home.poorly_answered(project(repo).id, "how do we deploy")
        key.unlink()

        assert [one["asked"] for one in gaps.gaps(repo.home, repo.call)["gaps"]] == [2]


def test_sessions_are_no_memories_that_were_looked_at(repo):
    repo.remember("The cache is cleared at night")

    done = repo.upkeep()

    with repo.db() as db:
        assert [row[0] for row in db.read(kinds)] == ["session", "spec"]
        assert done["checked"] == db.read(nodes.count) == 1


def kinds(conn):
    return conn.execute("SELECT kind FROM nodes ORDER BY kind").fetchall()
