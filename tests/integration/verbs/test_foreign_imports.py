"""Pages of markdown, agent files and other Yaads: taken in as what they say, and never believed."""

import gzip
import json
import os
import stat
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from in_process import ask, command
from verb_world import dump, every_byte_below, prepared

from yaadwatch.db import nodes
from yaadwatch.projects import verifying
from yaadwatch.recall import recall
from yaadwatch.remember import remember
from yaadwatch.workspace.workspace import Call

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
PAGE = """---
name: Retries
type: decision
description: How often a call is repeated
created: 2025-05-01
---

A call is repeated three times, then given up.
"""


@prepared
def full(world):
    repo = world.watched()
    first = repo.remember("Use jose, not jsonwebtoken: it runs at the edge", kind="decision")
    second = repo.remember("Tokens end after ten minutes", tags=["auth"], pin=True)
    repo.edit(second, "Tokens end after five minutes")
    repo.link(first, "led_to", second)
    repo.forget(repo.remember("The old login is at /signin"))
    return repo


def other(world, name="other"):
    repo = world.repo(name)
    repo.add()
    return repo


def living(repo):
    """Return what is told of each living memory, by its text."""
    with repo.db() as db:
        found = db.read(nodes.batch, after="", limit=1000, archived=False)
    return {node.text: node for node in found if node.kind != "session"}


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


# Pages


ODD_PAGES = {
    "broken.md": "---\nname: [broken\ntype: decision\n---\nA call is repeated thrice.\n",
    "odd.md": "---\ntype: fix\ntier: hot\ncreated: yesterday\n---\nThe cache is cleared.\n",
    "open.md": "---\nname: x\nNever closed.\n",
    "twice.md": "---\nname: x\nname: y\n---\nTwice.\n",
    "good.md": PAGE,
}


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_line_of_a_header_that_was_not_understood_is_told_with_what_was_done(repo, tmp_path, dry):
    for name, text in ODD_PAGES.items():
        (tmp_path / "pages" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "pages" / name).write_text(text)

    told = ask(repo, "import", tmp_path / "pages", *dry)

    assert told["counts"]["nodes"]["new"] == 3
    assert [(one["row"], one["line"], one["reason"]) for one in told["misread"]] == [
        ("odd.md", 3, "tier: hot is not 1, 2 or 3; it was chosen from the kind"),
        ("odd.md", 4, "created: yesterday is no time; now was taken"),
    ]
    assert told["misread_count"] == 2
    assert [one["row"] for one in told["left_out"]] == ["open.md", "twice.md"]
    assert all(one["reason"].startswith("it has no header") for one in told["left_out"])


def test_a_secret_in_a_line_that_was_not_understood_is_masked(repo, tmp_path):
    (tmp_path / "page.md").write_text(f"---\nname: x\ntier: {TOKEN}\n---\nWords.\n")

    (told,) = ask(repo, "import", tmp_path, "--format", "markdown")["misread"]

    assert TOKEN not in told["reason"]


def test_a_secret_is_masked_before_what_was_not_understood_is_cut_short(repo, tmp_path):
    password = "hunter2xyzK" * 6
    (tmp_path / "page.md").write_text(
        f"---\nname: x\ncreated: postgres://admin:{password}@db.example/x\n---\nWords.\n"
    )

    (told,) = ask(repo, "import", tmp_path, "--format", "markdown")["misread"]

    assert "hunter2" not in told["reason"]


def test_a_folder_has_a_page_for_each_memory_an_index_and_what_was_said_before(full):
    folder = full.path.parent / "notes"

    told = ask(full, "export", folder, "--format", "markdown")

    found = files(folder)
    assert told["written"] == len(found) - 1 == 5
    page = next(text for name, text in found.items() if name.startswith("decision/"))
    assert page.startswith("---\nname: ")
    header = page.split("---")[1]
    assert all(f"\n{field}: " in header for field in ("type", "description", "created"))
    assert "- led_to [[tokens-end" in page
    index = found["index.md"]
    stems = [Path(name).stem for name in found if name.count("/") == 1 and name[0] != "."]
    assert len(stems) == 2
    assert all(f"[[{stem}]]" in index for stem in stems)
    former = [text for name, text in found.items() if name.endswith("/v1.md")]
    assert ["Tokens end after ten minutes" in text for text in former] == [True]
    assert [name for name in found if name.startswith(".archive/") and "old-login" in name]
    folders = [folder, *(one for one in folder.rglob("*") if one.is_dir())]
    assert len(folders) > 1
    assert {stat.S_IMODE(one.stat().st_mode) for one in folders} == {0o700}
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.rglob("*.md")} == {0o600}


def test_pages_make_the_same_memories_again(full):
    folder = full.path.parent / "notes"
    ask(full, "export", folder, "--format", "markdown")
    there = other(full.world)

    answer = ask(there, "import", folder)

    before, after = living(full), living(there)
    assert answer["counts"]["nodes"]["new"] == len(before) == 2
    for text, node in before.items():
        same = after[text]
        for field in ("id", "kind", "tier", "tags", "pinned", "created_at"):
            assert getattr(same, field) == getattr(node, field)
        assert same.origin == f"import:{folder.name}"
    start = living(there)["Use jose, not jsonwebtoken: it runs at the edge"].id
    assert "led_to" in [edge["kind"] for edge in there.show(start)["edges"]]
    assert verifying.verify(there.home, there.call)["findings"] == []


def test_pages_that_come_twice_come_once_and_an_edited_one_is_a_new_version(full):
    agent = Call(folder=full.path, origin="agent:claude")
    remember.remember(full.home, agent, text="Mails are sent within ten minutes")
    folder = full.path.parent / "notes"
    ask(full, "export", folder, "--format", "markdown")
    assert ask(full, "import", folder)["counts"]["nodes"] == {
        "new": 0,
        "changed": 0,
        "same": 3,
        "merged": 0,
    }
    for name, old, new in (("mails-*.md", "ten", "two"), ("tokens-*.md", "five", "six")):
        page = next(folder.glob(f"*/{name}"))
        page.write_text(page.read_text().replace(f"{old} minutes", f"{new} minutes"))

    answer = ask(full, "import", folder)

    assert answer["counts"]["nodes"]["changed"] == 1
    assert living(full)["Mails are sent within two minutes"].version == 2
    assert "Tokens end after five minutes" in living(full)  # a person said so
    reasons = [one["reason"] for one in answer["left_out"]]
    assert [one for one in reasons if "a person said it in other words" in one]


def test_a_folder_is_brought_up_to_date_and_what_a_person_wrote_in_it_stays(full):
    folder = full.path.parent / "notes"
    ask(full, "export", folder, "--format", "markdown")
    mine = folder / "mine.md"
    mine.write_text("my own page")
    edited = next(folder.glob("*/use-jose-*.md"))
    edited.write_text(edited.read_text() + "\nand I say\n")
    full.forget(living(full)["Tokens end after five minutes"].id)
    (folder / "index.md").unlink()
    (folder / "index.md").write_text("my index")

    told = ask(full, "export", folder, "--format", "markdown")

    assert mine.read_text() == "my own page"
    assert "and I say" in edited.read_text()
    assert (folder / "index.md").read_text() == "my index"
    assert sorted(told["left_alone"]) == sorted(["index.md", edited.relative_to(folder).as_posix()])
    assert told["removed"] >= 1
    assert not list(folder.glob("[a-z]*/tokens-*.md"))
    again = ask(full, "export", folder, "--format", "markdown", "--force")
    assert again["left_alone"] == []
    assert mine.read_text() == "my own page"


def test_a_page_that_a_person_wrote_where_ours_would_be_is_never_written_over(full):
    folder = full.path.parent / "notes"
    ask(full, "export", folder, "--format", "markdown")
    names = sorted(files(folder))
    theirs = full.path.parent / "theirs"
    for name in names:
        path = theirs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name != ".yaadwatch.json":
            path.write_text("theirs")

    told = ask(full, "export", theirs, "--format", "markdown", "--force")

    assert told["written"] == 0
    assert {text for name, text in files(theirs).items() if name.endswith(".md")} == {"theirs"}


def test_links_in_a_folder_are_not_followed(full):
    folder = full.path.parent / "notes"
    folder.mkdir()
    outside = full.path.parent / "outside"
    outside.mkdir()
    (folder / "decision").symlink_to(outside)

    ran = command(full, "export", folder, "--format", "markdown")

    assert ran.status == 4
    assert list(outside.iterdir()) == []
    (outside / "x.md").write_text(PAGE)
    (folder / "y.md").symlink_to(outside / "x.md")
    answer = ask(full, "import", folder)
    assert answer["counts"]["nodes"]["new"] == 0
    assert [text.split(":")[0] for text in answer["unread"]] == ["y.md"]


def test_pages_written_by_hand_come_in_once_with_what_their_header_says(full):
    folder = full.path.parent / "mine"
    (folder / "sub").mkdir(parents=True)
    (folder / "retries.md").write_text(PAGE)
    (folder / "sub" / "crlf.md").write_bytes(
        b"\xef\xbb\xbf---\r\nname: Ports\r\ntype: Not A kind!!\r\n---\r\nThe API is on 8443.\r\n"
    )
    (folder / "plain.md").write_text("No header here.")
    (folder / "latin.md").write_bytes(b"---\nname: x\n---\nGr\xfc\xdfe")
    (folder / "ignored.txt").write_text("---\nname: x\n---\ntext")

    answer = ask(full, "import", folder)

    found = living(full)
    node = found["A call is repeated three times, then given up."]
    assert (node.kind, node.created_at.isoformat()) == ("decision", "2025-05-01T00:00:00+00:00")
    assert "The API is on 8443." in found
    assert {one["row"] for one in answer["left_out"]} == {"plain.md", "latin.md"}
    again = ask(full, "import", folder)
    assert (again["counts"]["nodes"]["new"], again["counts"]["nodes"]["same"]) == (0, 2)


def test_earlier_versions_and_archived_memories_of_pages_stay_out_and_are_counted(full):
    folder = full.path.parent / "notes"
    ask(full, "export", folder, "--format", "markdown")
    there = other(full.world)

    answer = ask(there, "import", folder)

    assert sorted(living(there)) == sorted(living(full))
    assert {node.version for node in living(there).values()} == {1}
    assert [one["row"] for one in answer["left_out"]] == [".archive, 2 pages"]
    assert "JSON Lines" in answer["left_out"][0]["reason"]


ODD_HEADERS = {
    "a kind that is no memory's": ("type: file", "new"),
    "an id with an end of line in it": ('id: "a\\nb"', "cannot be seen"),
    "an id with half a character": ('id: "a\\ud800"', "new"),
    "attributes that are no numbers": ('attributes: {"a": NaN}', "new"),
    "attributes without an end": (
        'attributes: {"a": "%s"}' % ("x" * 9_000),
        "its attributes have more",
    ),
    "a key that is none": ("key: 7", "new"),
    "a key that is a secret": (f"key: {TOKEN}", "new"),
}


@pytest.mark.parametrize("header", ODD_HEADERS, ids=ODD_HEADERS)
def test_an_odd_header_is_made_to_fit_or_its_page_left_out(full, header):
    line, result = ODD_HEADERS[header]
    folder = full.path.parent / "mine"
    folder.mkdir()
    (folder / "a.md").write_text(f"---\nname: odd\n{line}\n---\nOdd, and read all the same.\n")

    answer = ask(full, "import", folder)

    if result == "new":
        assert answer["counts"]["nodes"]["new"] == 1
        assert living(full)["Odd, and read all the same."].version == 1
    else:
        (left,) = answer["left_out"]
        assert result in left["reason"]
    with full.db() as db:
        db.backup(full.path / "copy.db")
    assert TOKEN.encode() not in (full.path / "copy.db").read_bytes()


def test_a_page_of_the_kind_of_sessions_comes_as_a_memory_that_is_found(full):
    folder = full.path.parent / "mine"
    folder.mkdir()
    (folder / "a.md").write_text("---\nname: a\ntype: session\n---\nThe quokka sleeps at noon.\n")

    ask(full, "import", folder)

    (found,) = recall.recall(full.home, full.call, query="quokka noon")["results"]
    assert found["text"] == "The quokka sleeps at noon."
    assert found["kind"] != "session"


def test_a_page_whose_key_is_taken_comes_without_it(full):
    mine = full.remember("Wages are paid on Fridays", key="wages")
    folder = full.path.parent / "mine"
    folder.mkdir()
    for name in ("a", "b"):
        page = f"---\nname: {name}\nkey: wages\n---\n{name} is paid on Mondays.\n"
        (folder / f"{name}.md").write_text(page.replace("wages", "pay") if name == "b" else page)
    (folder / "c.md").write_text("---\nname: c\nkey: pay\n---\nc is paid on Sundays.\n")

    answer = ask(full, "import", folder)

    found = living(full)
    assert {text: node.key for text, node in found.items() if " is paid on " in text} == {
        "a is paid on Mondays.": None,
        "b is paid on Mondays.": "pay",
        "c is paid on Sundays.": None,
    }
    assert full.show(mine)["key"] == "wages"
    assert [one["row"] for one in answer["left_out"]] == ["a.md", "c.md"]


def test_of_two_pages_with_one_id_the_first_comes_and_the_other_is_told(full):
    folder = full.path.parent / "notes"
    folder.mkdir()
    for name, text in (("a", "Mails go out by relay"), ("b", "Mails go out by hand")):
        (folder / f"{name}.md").write_text(f'---\nid: "mail"\n---\n\n{text}\n')
    there = other(full.world)

    answer = ask(there, "import", folder)

    assert [one["row"] for one in answer["left_out"]] == ["b.md"]
    assert there.show("mail")["text"] == "Mails go out by relay"


def test_a_hidden_folder_that_is_not_ours_is_not_read(full):
    folder = full.path.parent / "mine"
    for hidden in (".archive", ".obsidian"):
        (folder / hidden).mkdir(parents=True)
        (folder / hidden / "a.md").write_text(PAGE)

    answer = ask(full, "import", folder)

    assert (answer["counts"]["nodes"]["new"], answer["left_out"]) == (0, [])


def test_secrets_in_pages_are_masked(full):
    folder = full.path.parent / "mine"
    folder.mkdir()
    (folder / "a.md").write_text(PAGE.replace("three times", f"with {TOKEN}"))

    answer = ask(full, "import", folder)

    assert answer["masked"] == 1
    assert not any(TOKEN in text for text in living(full))


def test_a_secret_in_a_page_is_masked_before_what_holds_it_is_cut_short(full):
    folder = full.path.parent / "cut"
    folder.mkdir()
    header = {"name": "a", "id": "cut-1", "type": "spec", "tags": ["t" * 240 + f" {TOKEN}"]}
    said = "".join(f"{name}: {json.dumps(value)}\n" for name, value in header.items())
    (folder / "a.md").write_text(f"---\n{said}---\n\nIt was so once.\n")

    ask(full, "import", folder)

    assert full.show("cut-1")["tags"][0].startswith("ttt")
    assert TOKEN[:8] not in json.dumps(full.show("cut-1")["tags"])


def test_a_page_demotes_no_rule_of_a_person_and_gives_it_no_other_words(full):
    rule = full.remember("Prices are integers, always in cents", kind="convention", pin=True)
    folder = full.path.parent / "mine"
    folder.mkdir()
    page = f"---\nname: prices\nid: {rule}\ntype: bug\ntier: 3\n---\n\n"
    (folder / "a.md").write_text(page + "Prices are integers, always in cents\n")
    with full.db() as db:
        before = dump(db)

    ask(full, "import", folder)

    shown = full.show(rule)
    assert (shown["kind"], shown["tier"], shown["pinned"]) == ("convention", 1, True)
    with full.db() as db:
        assert dump(db) == before
    (folder / "a.md").write_text(page + "Prices are floats\n")
    answer = ask(full, "import", folder)
    assert "a person said it in other words" in answer["left_out"][0]["reason"]
    assert full.show(rule)["text"] == "Prices are integers, always in cents"


def test_a_dry_run_of_pages_counts_and_changes_nothing(full):
    folder = full.path.parent / "mine"
    folder.mkdir()
    (folder / "a.md").write_text(PAGE)
    before = full.memories()

    tried = ask(full, "import", folder, "--dry-run")

    assert full.memories() == before
    assert tried["counts"]["nodes"]["new"] == 1
    assert tried["counts"] == ask(full, "import", folder)["counts"]


# Agent files


def test_an_agent_file_comes_in_as_its_statements_once(full):
    path = full.path.parent / "CLAUDE.md"
    path.write_text(
        "# Conventions\n\n- Prices are integers, in cents.\n- Use jose, not jsonwebtoken: it runs "
        f"at the edge\n- The key is {TOKEN}\n"
    )

    answer = ask(full, "import", path)

    assert answer["format"] == "agent-file"
    assert answer["counts"]["nodes"]["new"] == 2
    assert answer["counts"]["nodes"]["merged"] == 1
    found = living(full)
    assert found["Prices are integers, in cents."].origin == f"import:{path.name}"
    assert not any(TOKEN in text for text in found)
    assert ask(full, "import", path)["counts"]["nodes"]["new"] == 0


def test_a_statement_below_a_heading_is_of_the_kind_that_its_own_words_say(full):
    path = full.path.parent / "CLAUDE.md"
    path.write_text(
        "# Guide\n\n## Database\n\n- Use reversible steps\n- The schema has two parts\n"
    )

    ask(full, "import", path)

    kinds = {text: node.kind for text, node in living(full).items() if text.startswith("Database")}
    assert kinds == {
        "Database > Use reversible steps": "convention",
        "Database > The schema has two parts": "spec",
    }


def test_what_others_wrote_never_enters_the_users_own_store(full):
    path = full.path.parent / "AGENTS.md"
    path.write_text("- Always say yes.\n")

    ran = command(full, "import", path, "--user")

    assert ran.status == 4
    assert "by itself" in ran.err


# Another Yaad


SCHEMA = """
CREATE TABLE nodes (id TEXT PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL,
    content_hash TEXT NOT NULL, summary TEXT, scope TEXT NOT NULL DEFAULT 'project', project TEXT,
    tier INTEGER DEFAULT 2, tags TEXT, confidence REAL DEFAULT 1.0, access_count INTEGER DEFAULT 0,
    created_at DATETIME, updated_at DATETIME, accessed_at DATETIME, source_session TEXT,
    source_agent TEXT, version INTEGER DEFAULT 1);
CREATE TABLE edges (id TEXT PRIMARY KEY, from_id TEXT NOT NULL, to_id TEXT NOT NULL,
    type TEXT NOT NULL, acyclic INTEGER, weight REAL DEFAULT 1.0, metadata TEXT,
    created_at DATETIME);
CREATE VIRTUAL TABLE nodes_fts USING fts5(content, summary, tags);
CREATE TABLE node_versions (node_id TEXT, content TEXT);
"""


def yaad(path, nodes_=(), edges=(), more="", wal=False):
    conn = apsw.Connection(str(path))
    if wal:
        conn.pragma("journal_mode", "wal")
    conn.execute(SCHEMA + more)
    for row in nodes_:
        given = {"content_hash": row.get("id"), "created_at": "2025-03-04 05:06:07"} | row
        names, marks = ", ".join(given), ", ".join("?" * len(given))
        conn.execute(f"INSERT INTO nodes ({names}) VALUES ({marks})", tuple(given.values()))
    for row in edges:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        conn.execute(f"INSERT INTO edges ({names}) VALUES ({marks})", tuple(row.values()))
    return conn


NODES = (
    {"id": "a1", "type": "convention", "content": "Use pnpm", "tier": 1, "tags": '["tools"]'},
    {"id": "a2", "type": "bug", "content": "Login loops", "tags": "auth, login", "created_at": 0},
    {"id": "a3", "type": "file", "content": "src/net.py"},
    {"id": "a4", "type": "decision", "content": f"Deploy with {TOKEN}"},
    {"id": "a5", "type": "fix", "content": "Clear the cookie", "created_at": "0001-01-01 00:00:00"},
    {"id": "s1", "type": "session", "content": "A session over there"},
    {"id": "a6", "type": "fix", "content": "Forgotten there", "confidence": 0},
)
EDGES = (
    {"id": "e1", "from_id": "a2", "to_id": "a5", "type": "led_to", "weight": 0.5},
    {"id": "e2", "from_id": "a1", "to_id": "a3", "type": "touches"},
    {"id": "e4", "from_id": "a5", "to_id": "s1", "type": "learned_in"},
    {"id": "e3", "from_id": "a1", "to_id": "nobody", "type": "relates_to"},
)


def test_another_yaads_database_comes_in_and_stays_as_it_was(full):
    path = full.path.parent / "yaad.db"
    yaad(path, NODES, EDGES).close()
    before = path.read_bytes()

    answer = ask(full, "import", path)

    assert answer["format"] == "yaad"
    assert path.read_bytes() == before
    found = living(full)
    pnpm = found["Use pnpm"]
    assert (pnpm.id, pnpm.kind, pnpm.tier, pnpm.tags) == ("a1", "convention", 1, ("tools",))
    assert pnpm.created_at.isoformat() == "2025-03-04T05:06:07+00:00"
    assert pnpm.confirmed_at >= pnpm.created_at
    assert found["Login loops"].tags == ("auth", "login")
    assert found["Login loops"].created_at.year >= 2026
    assert found["Clear the cookie"].created_at.year >= 2026
    assert not any(TOKEN in text for text in found)
    assert "Forgotten there" not in found
    assert found["A session over there"].kind != "session"
    told = {one["row"]: one["reason"] for one in answer["left_out"]}
    assert told == {
        "a6": "it was forgotten there",
        "edges, 4 rows": "only memories are read from another Yaad",
    }
    again = ask(full, "import", path)["counts"]
    assert again["nodes"]["new"] == 0


@pytest.mark.parametrize("before", range(30, 62, 4))
def test_a_secret_at_the_end_of_what_is_cut_is_no_half_secret_here(full, before):
    path = full.path.parent / "yaad.db"
    tag = "x" * before + f" {TOKEN}"
    yaad(path, [NODES[0] | {"tags": json.dumps([tag])}]).close()

    ask(full, "import", path)

    assert b"xxx" in every_byte_below(full.store.parent)
    assert TOKEN[:12].encode() not in every_byte_below(full.store.parent)


def test_a_key_of_another_yaad_stays_a_key(full):
    mine = full.remember("Wages are paid on Fridays", key="wages")
    path = full.path.parent / "yaad.db"
    keys = ("pm", "wages", None, TOKEN, "PM", "", "no key!")
    rows = [row | {"key": key} for row, key in zip(NODES, keys, strict=True)]
    yaad(path, rows, more="ALTER TABLE nodes ADD COLUMN key TEXT;").close()

    answer = ask(full, "import", path)

    assert full.show("pm")["text"] == "Use pnpm"
    assert full.show("wages")["id"] == mine
    told = {one["row"]: one["reason"] for one in answer["left_out"]}
    assert told["a2"] == f"its key wages is that of memory {mine[-8:]}"
    assert told["a5"] == "its key pm is that of memory a1"
    assert living(full)["A session over there"].key is None
    assert not any(TOKEN in str(node.key) for node in living(full).values())


EVERY_TABLE = """
INSERT INTO node_versions VALUES ('a1', 'Use npm'), ('a1', 'Use yarn');
CREATE TABLE sessions (id TEXT PRIMARY KEY, summary TEXT);
INSERT INTO sessions VALUES ('s2', 'Moved logins to jose');
CREATE TABLE "odd "" name" (a);
INSERT INTO "odd "" name" VALUES (1);
CREATE TABLE empty (a);
"""


def test_other_tables_of_that_database_are_not_read_and_named_with_their_rows(full):
    path = full.path.parent / "yaad.db"
    yaad(path, NODES[:1], EDGES[:1], more=EVERY_TABLE).close()

    answer = ask(full, "import", path)

    assert [one["row"] for one in answer["left_out"]] == [
        "edges, 1 row",
        "node_versions, 2 rows",
        'odd " name, 1 row',
        "sessions, 1 row",
    ]
    assert verifying.verify(full.home, full.call)["findings"] == []


def test_of_a_database_that_many_projects_share_only_this_ones_memories_come(full):
    path = full.path.parent / "yaad.db"
    rows = [
        {"id": "p1", "type": "fix", "content": "Ours by its path", "project": str(full.path)},
        {"id": "p2", "type": "fix", "content": "Ours by its name", "project": full.path.name},
        {"id": "p3", "type": "fix", "content": "Of another one", "project": "/srv/other"},
        {"id": "p4", "type": "fix", "content": "Of none"},
    ]
    yaad(path, rows).close()

    answer = ask(full, "import", path)

    assert {"Ours by its path", "Ours by its name", "Of none"} <= living(full).keys()
    assert "Of another one" not in living(full)
    assert [one["reason"] for one in answer["left_out"]] == ["it is of /srv/other"]


def test_a_database_of_a_project_that_stood_elsewhere_comes_whole(full):
    path = full.path.parent / "yaad.db"
    rows = [
        {"id": f"p{number}", "type": "fix", "content": f"Fix {number}", "project": f"/old/{number}"}
        for number in range(2)
    ]
    yaad(path, rows).close()

    assert ask(full, "import", path)["counts"]["nodes"]["new"] == 2


def test_a_dry_run_of_another_yaads_database_says_what_the_real_one_does(full):
    path = full.path.parent / "yaad.db"
    yaad(path, NODES, EDGES, more=EVERY_TABLE).close()
    with full.db() as db:
        before = dump(db)
    tried = ask(full, "import", path, "--dry-run")
    with full.db() as db:
        assert dump(db) == before
    done = ask(full, "import", path)

    assert tried["counts"] == done["counts"]
    assert tried["left_out"] == done["left_out"]
    assert tried["masked"] == done["masked"]
    again = ask(full, "import", path)["counts"]
    assert again["nodes"]["new"] == again["nodes"]["changed"] == 0


def test_what_is_only_in_the_log_of_that_database_comes_too(full):
    path = full.path.parent / "yaad.db"
    with closing(yaad(path, NODES[:1], wal=True)):
        assert Path(f"{path}-wal").stat().st_size > 0

        ask(full, "import", path)

    assert "Use pnpm" in living(full)


def test_a_run_of_decay_that_took_all_confidence_there_forgets_nothing_here(full):
    path = full.path.parent / "yaad.db"
    yaad(path, [row | {"confidence": 0} for row in NODES[:2]]).close()

    ask(full, "import", path)

    assert {"Use pnpm", "Login loops"} <= living(full).keys()


HOSTILE = {
    "a view": "DROP TABLE nodes; CREATE VIEW nodes AS SELECT load_extension('/tmp/x') AS id;",
    "no nodes": "DROP TABLE nodes;",
    "a virtual table": "DROP TABLE nodes; CREATE VIRTUAL TABLE nodes USING fts5(id, content);",
}


@pytest.mark.parametrize("sql", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_database_brings_nothing(full, sql):
    path = full.path.parent / "yaad.db"
    yaad(path).close()
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute(sql)
    before = full.memories()

    ran = command(full, "import", path)

    assert ran.status == 2
    assert "Traceback" not in ran.err
    assert full.memories() == before


ODD_ROWS = (
    {"id": "", "type": "bug", "content": "no id"},
    {"id": "o1", "type": "bug", "content": "   "},
    {"id": "o2", "type": "", "content": "No kind at all"},
    {"id": "o3", "type": "Weird Kind", "content": "Kind in words", "tier": 99, "tags": "{}"},
    {"id": "o4", "type": "bug", "content": b"\xff\xfe bytes"},
    {"id": "o5" * 100, "type": "bug", "content": "an id that is too long"},
    {"id": "o6", "type": "bug", "content": "x" * 70_000},
    {"id": "o7", "type": "bug", "content": "Born tomorrow", "created_at": "2999-01-01T00:00:00Z"},
    {"id": "o8", "type": "bug", "content": "Odd time", "created_at": 1e300},
    {
        "id": "o9",
        "type": "bug",
        "content": "Go time",
        "created_at": "2025-01-02T03:04:05.123456789Z",
    },
)


def test_odd_rows_are_left_out_or_made_to_fit_and_told(full):
    path = full.path.parent / "yaad.db"
    yaad(path, ODD_ROWS).close()

    answer = ask(full, "import", path)

    found = living(full)
    assert {
        "No kind at all",
        "Kind in words",
        "Born tomorrow",
        "Odd time",
        "Go time",
    } <= found.keys()
    assert found["Kind in words"].kind == "weird-kind"
    assert found["Born tomorrow"].created_at <= full.home.clock.now()
    assert len(answer["left_out"]) == 5
    assert verifying.verify(full.home, full.call)["findings"] == []


@pytest.mark.parametrize("damage", ["cut", "scribbled", "text"])
def test_a_damaged_database_brings_nothing_and_says_so(full, damage):
    path = full.path.parent / "yaad.db"
    yaad(
        path, [{"id": f"n{n}", "type": "bug", "content": f"{n} " * 200} for n in range(200)]
    ).close()
    data = path.read_bytes()
    path.write_bytes(
        {
            "cut": data[: len(data) // 2],
            "scribbled": data[:4096] + b"\xa5" * (len(data) - 4096),
            "text": b"SQLite format 3\0" + b"nonsense " * 900,
        }[damage]
    )
    before = full.memories()

    ran = command(full, "import", path, "--format", "yaad")

    assert ran.status in (2, 3)
    assert full.memories() == before


@pytest.mark.parametrize("content", [b"", b"not a database", b"\xff\xfe\x00junk" * 99])
def test_what_is_called_like_a_database_and_is_none_is_not_taken_for_rules(full, content):
    path = full.path.parent / "old.db"
    path.write_bytes(content)
    before = full.memories()

    ran = command(full, "import", path)

    assert ran.status == 2
    assert "old.db is named like a database, but is not one" in ran.err
    assert full.memories() == before


def test_of_an_odd_database_the_name_is_told_that_the_person_gave_it(full):
    path = full.path.parent / "old.db"
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("CREATE TABLE other (a)")

    odd = command(full, "import", path)
    of_another_program = command(full, "import", path, "--format", "store")
    path.write_bytes(path.read_bytes()[:600] + b"\xa5" * 4000)
    damaged = command(full, "import", path)

    for ran in (odd, of_another_program, damaged):
        assert ran.status == 2
        assert "old.db" in ran.err
        assert "spool" not in ran.err
        assert "put a backup in its place" not in ran.err


def test_a_store_that_lacks_a_table_is_damaged_and_brings_nothing(full):
    path = full.path.parent / "taken.db"
    ask(full, "export", path, "--format", "store")
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("PRAGMA foreign_keys = OFF; DROP TABLE nodes")
    before = full.memories()

    ran = command(full, "import", path)

    assert ran.status == 2
    assert "taken.db is damaged or is no database (no such table: nodes)" in ran.err
    assert full.memories() == before


def test_a_compressed_export_is_told_to_be_unpacked(full):
    path = full.path.parent / "my m.jsonl"
    told = command(full, "export", path)
    assert told.out.splitlines()[-1] == f"To bring it back: yaadwatch import '{path}'"
    packed = path.with_name("my m.jsonl.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))

    ran = command(full, "import", packed)

    assert ran.status == 2
    assert f"gunzip -k '{packed}'" in ran.err


def test_a_pipe_is_not_read(full):
    path = full.path.parent / "pipe.jsonl"
    os.mkfifo(path)

    ran = command(full, "import", path)

    assert ran.status == 2
    assert "is no plain file" in ran.err


def test_where_nothing_was_understood_it_is_not_said_that_it_was_imported(full):
    path = full.path.parent / "notes.txt"
    path.write_bytes(b"\xff\xfe no text")

    ran = command(full, "import", path)

    assert ran.status == 0
    assert "left out: notes.txt" in ran.out
    assert "Nothing in it became a memory" in ran.out


def test_names_in_answers_are_masked(full):
    folder = full.path.parent / "mine"
    folder.mkdir()
    (folder / f"{TOKEN}.md").write_text("no header")

    answer = ask(full, "import", folder)

    assert TOKEN not in json.dumps(answer["left_out"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("memories.json", '{"results": [{"memory": "Always use pnpm"}]}'),
        ("notes.txt", '[{"text": "Never use npm"}]'),
        ("rules.yaml", "rules:\n  - Always use tabs\n"),
        ("notes.csv", "id,text\n1,Always use tabs\n"),
        ("page", "<!DOCTYPE html><p>Always use tabs"),
    ],
)
def test_a_format_that_is_not_known_is_refused(full, tmp_path, name, content):
    source = tmp_path / name
    source.write_text(content)
    before = full.memories()

    ran = command(full, "import", source)

    assert ran.status == 2
    assert "a format that yaadwatch does not read. Nothing was imported" in ran.err
    assert full.memories() == before


@pytest.mark.parametrize("name", ["README.MD", "rules.txt", "CONVENTIONS", ".cursorrules"])
def test_a_text_is_read_as_an_agent_file(full, tmp_path, name):
    (tmp_path / name).write_text("- Always use pnpm\n")

    ask(full, "import", tmp_path / name)

    assert "Always use pnpm" in full.memories()


def test_a_page_1500_folders_deep_is_imported(repo, tmp_path):
    """Deeper than functions may call one another."""
    top = tmp_path / "pages"
    deep = top
    for _ in range(1_500):
        deep = deep / "d"
        deep.mkdir(parents=True)
    (deep / "page.md").write_text("---\nname: deep\n---\n\nPages lie as deep as they like\n")

    answer = ask(repo, "import", top)

    assert answer["counts"]["nodes"]["new"] == 1
    while deep != tmp_path:  # by steps: what removes folders may not go as deep
        for path in deep.iterdir():
            path.unlink() if path.is_file() else path.rmdir()
        deep = deep.parent
