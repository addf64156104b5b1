"""What a commit costs is how many pages it writes: those of the trees that a memory is in."""

import struct
from contextlib import closing

import apsw

FRAME_HEADER, LOG_HEADER = 24, 32

WORDS = {"nodes_fts_data", "nodes_fts_docsize", "nodes_fts_idx"}
MEMORY = {
    *("nodes", "sqlite_autoindex_nodes_1", "nodes_by_text"),
    *("node_versions", "learned", "learned_by_commit", "events"),
}
WHERE_LEARNED = {
    *("sessions", "session_nodes", "session_nodes_by_node"),
    *("edges", "edges_by_start", "edges_by_end"),
}
ANCHORS = {"file_watch", "file_watch_once", "file_watch_by_path"}


def _written(repo, text):
    """Remember a text; return the names of the trees of which a page was written."""
    with repo.db() as db:
        db.scrub()  # its log is empty then
    repo.remember(text)
    with closing(apsw.Connection(str(repo.store), flags=apsw.SQLITE_OPEN_READONLY)) as conn:
        size = conn.pragma("page_size")
        trees = dict(conn.execute("SELECT pageno, name FROM dbstat"))
    log = repo.store.with_name(f"{repo.store.name}-wal").read_bytes()
    frames = range(LOG_HEADER, len(log), FRAME_HEADER + size)
    pages = {struct.unpack_from(">I", log, start)[0] for start in frames}
    return {trees[page] for page in pages if page in trees} - {"sqlite_schema"}


def test_a_memory_that_names_nothing_is_written_once_to_each_of_its_trees(repo):
    repo.add()
    repo.remember("We keep it simple")

    written = _written(repo, "Tests come before code")

    assert written == WORDS | MEMORY | WHERE_LEARNED


def test_a_memory_that_names_a_definition_writes_its_anchors_too(repo):
    repo.add()
    repo.remember()

    written = _written(repo, "Nobody calls fetch_with_retry more than nine times")

    assert written == WORDS | MEMORY | WHERE_LEARNED | ANCHORS
